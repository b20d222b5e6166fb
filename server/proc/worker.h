/* worker.h - the life of a process that carries traffic, from its fork until it has drained.
 *
 * Born by crew.c with a struct worker_birth and nothing else of the master's. It makes its loop,
 * gives up its rights, starts the modules and the exchanges, begins to accept, says so, and turns
 * until it is told to end (or until its line to the master ends, since nobody would look after it).
 * Then it stops accepting, finishes what it carries, and leaves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_WORKER_H
#define PROC_WORKER_H

#include "proc/privs.h"
#include "proc/sockets.h"
#include "stat/segment.h"

/* What passes on the line between master and worker: one datagram each. A worker answers every word
 * with WORKER_DONE and the same stamp, once it has done it. */
enum worker_what {
    WORKER_DRAIN = 1, /* finish what there is, however long it takes: a new generation is here */
    WORKER_STOP,      /* finish it within shutdown_lifetime */
    WORKER_CUT,       /* end now */
    WORKER_LOGS,      /* the files have been renamed: open them anew */
    WORKER_CLOCK,     /* the segment has another clock_shift_ms */
    WORKER_IDLE,      /* close idle origin connections */
    WORKER_DEBUG,     /* stamp 1: full diagnostics; 0: as configured */
    WORKER_CALL,      /* a command of a module, see calls.h */
    WORKER_ACCEPTING, /* worker to master: it serves */
    WORKER_DONE,      /* worker to master */
    WORKER_LISTS,     /* list files have been read anew: use them */
    WORKER_CHORE      /* see chores.h */
};
struct worker_word {
    uint32_t what;
    uint32_t stamp;
};

/* Everything that a worker gets. */
struct worker_birth {
    unsigned row;     /* its number, from 1, and its row of the segment */
    unsigned workers; /* of its generation: which sockets are its own */
    int line;         /* to the master; -1: it is its own master (-N) */
    struct segment *segment;
    struct sockets *sockets;
    const struct privs *privs;
    int debug; /* -d */
    bool loud; /* -k debug is on */
};

/* How a worker ends. */
enum {
    WORKER_FINE = 0,
    WORKER_UNABLE = 7 /* it could not start; it has logged why */
};

/* In a child: never returns. */
_Noreturn void worker_run(const struct worker_birth *);

/* ---- the same in pieces, for the one process of -N ---- */

/* From the loop to listening. false: logged why. */
BT_MUST bool worker_open(const struct worker_birth *);
/* What the master would send. */
void worker_obey(enum worker_what, uint32_t stamp);
/* After the loop has ended. true: nothing looks at the configuration any more. */
BT_MUST bool worker_close(void);

#endif
