/* crew.h - the workers of one generation, as the master sees them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_CREW_H
#define PROC_CREW_H

#include "proc/hub.h"
#include "proc/worker.h"

struct crew;

/* One worker, or the place of one that is to be started. */
struct hand {
    struct hub_item line; /* our end; fd -1: there is no process */
    struct crew *crew;
    unsigned row; /* from 1 */
    pid_t pid;    /* 0: none */
    bool accepting;
    bool leaving;     /* it was told to */
    bool again;       /* the next one takes over from one that died */
    uint32_t done;    /* the newest stamp that it has dealt with */
    int64_t born_ms;  /* crew_now_ms() */
    int64_t due_ms;   /* when to start one; INT64_MAX: not at all */
    unsigned pause_s; /* that was waited last time */
    unsigned tries;   /* 0: none has died here since a calm one */
};

struct crew {
    struct segment segment;
    unsigned generation;
    unsigned n;
    struct hub *hub;
    struct hand *hand; /* n of them, row 1 first */
    bool leaving;      /* nobody is started any more */
    struct crew *older;
};

/* Milliseconds of a clock that tests do not move. */
int64_t crew_now_ms(void);

struct crew *crew_new(const struct segment *, unsigned generation, unsigned n);
void crew_free(struct crew *);

/* Fork one. In the child, `leave` is called to close what is the master's alone, and the worker's
 * life begins. false: there is no process to be had; logged, and tried again later. */
struct crew_birth {
    struct hub *hub;
    void (*said)(struct hand *, const struct worker_word *); /* something came on its line */
    void (*leave)(void);
    struct worker_birth worker; /* row and line are filled in */
    uint32_t stamp;             /* of the newest word: it need not hear older ones */
};
BT_MUST bool crew_start(struct hand *, const struct crew_birth *);
/* A worker of an earlier image of the master. */
void crew_adopt(struct hand *, const struct crew_birth *, pid_t pid, int line, bool accepting);

/* A word to each worker that lives; those told to go are no longer started anew. */
void crew_tell(struct crew *, enum worker_what, uint32_t stamp);
void crew_kill(struct crew *, int signo);

/* It has ended. Its row is tidied; when one is to follow, `due_ms` is set: at once after a calm
 * life, else 1 to 30 s later. */
void crew_ended(struct hub *, struct hand *, int status);
struct hand *crew_find(struct crew *newest, pid_t pid);

bool crew_all_accepting(const struct crew *);
bool crew_empty(const struct crew *); /* no process is left */
/* All workers of all crews have dealt with the word of that stamp. */
bool crew_all_did(const struct crew *newest, uint32_t stamp);
/* In a child: their lines are not for it. */
void crew_leave(struct crew *newest, const struct hand *but);

#endif
