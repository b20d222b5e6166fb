/* admin.h - the control socket: what bobtailctl asks, and who answers it.
 *
 * One line of words comes in; the answer is the line `ok` or `error: TEXT`, what there is to tell,
 * and the end of the stream. The socket can be used by its owner alone.
 *
 *   stats [--json|--openmetrics] [--kind KIND] [PATTERN]      counters
 *   workers [--json]                                          who serves
 *   segment                                                   where the shared segment can be mapped
 *   rules [--json]                                            how often each rule decided
 *   explain METHOD URL [from ADDR] [user NAME] [header NAME: VALUE]...   what http_access would say
 *   version
 *   status [--json]                                           how the server is, and its last reload
 *   config [--json] [all] [NAME]                              what is in force, without secrets
 *   top [--json]                                              exchanges under way
 *   kill G.W.N                                                end one of them
 *   set NAME VALUE                                            until the next reload
 *   log level [LEVEL [MODULE]]                                likewise
 *   tail                                                      the memory of stat/ring.h, as a descriptor
 *   reload, rotate, drain, stop, idle close, clock +SECONDS   done when the answer comes
 *   and what modules have (calls.h): a worker answers
 *
 * What only looks is answered here, out of the segment. What does something goes to the owner's
 * `act`, which may take its time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_ADMIN_H
#define PROC_ADMIN_H

#include <stdio.h>

#include "proc/hub.h"
#include "stat/segment.h"

enum admin_act {
    ADMIN_RELOAD,
    ADMIN_ROTATE,
    ADMIN_STOP,
    ADMIN_IDLE_CLOSE,
    ADMIN_CLOCK,
    ADMIN_LISTS,
    ADMIN_DRAIN
};

/* A question that is not answered yet. Lives until admin_done() or admin_failed(), also when the one
 * who asked is gone. */
struct admin_call;

/* What workers answered has come together in that file. Ends with admin_done() or admin_failed(). */
typedef void admin_tell(struct admin_call *, int gathered);

struct start;

struct admin_owner {
    /* The newest segment, after what older ones counted was taken over. */
    const struct segment *(*segment)(void);
    /* Call each() for every worker, newest generation first. */
    void (*workers)(void (*each)(void *arg, const struct segment *, unsigned generation,
                                 unsigned row),
                    void *arg);
    void (*act)(struct admin_call *, enum admin_act, int64_t number);
    /* A command of a module: its words, to be answered on that descriptor, which stays ours. */
    bool (*call)(int fd, bt_str text);
    /* A chore of every worker (chores.h); `tell` is called when all have answered. */
    void (*gather)(struct admin_call *, bt_str text, admin_tell *tell);
    /* What this process was started as, and what it is at: "serving". */
    const struct start *(*start)(const char **stage);
};

struct admin {
    struct hub hub; /* its descriptor is readable when admin_turn() has something to do */
    struct hub_item listener;
    char path[108]; /* "": closed */
    const struct admin_owner *owner;
    struct admin_call *calls;
    unsigned n_calls;
};

struct admin_why {
    char text[256];
};
/* A new socket at `path` (`make_folder`: its folder is made when it is missing); a file that nobody
 * listens on is replaced. false: *why says what is the matter and what to do. */
BT_MUST bool admin_open(struct admin *, const char *path, bool make_folder,
                        const struct admin_owner *, struct admin_why *why);
/* One that an earlier image of the master opened. */
BT_MUST bool admin_adopt(struct admin *, const char *path, int fd, const struct admin_owner *);
/* Whatever is ready. Does not wait. */
void admin_turn(struct admin *);
/* Closes all, and removes the file. */
void admin_close(struct admin *);
/* In a child: only lets go. */
void admin_leave(struct admin *);

/* ---- answers ---- */

/* Where more can be told before the answer is done: it stands after the first line. */
FILE *admin_out(struct admin_call *);
/* For whom it is asked. */
const struct admin_owner *admin_owner_of(const struct admin_call *);
/* It is answered later: nothing more is read from it. */
void admin_wait(struct admin_call *);
/* Its connection, for an answer that is given there at once; then it is over. */
int admin_fd(const struct admin_call *);
void admin_over(struct admin_call *);
/* A file for gather(); -1: errno. */
int admin_gather_file(void);
void admin_done(struct admin_call *);
void admin_failed(struct admin_call *, const char *format, ...) BT_PRINTF(2, 3);

/* For a call that outlives an exec: its descriptor, the call is gone; and back. */
int admin_give(struct admin_call *);
struct admin_call *admin_take(struct admin *, int fd);
/* Is nobody but `call` (may be NULL) in the middle of a question or an answer? */
bool admin_is_quiet(const struct admin *, const struct admin_call *call);
/* Connections on which nothing was said yet: the next one's descriptor, -1 when there is none; and
 * back. */
int admin_give_silent(struct admin *);
void admin_take_silent(struct admin *, int fd);

#endif
