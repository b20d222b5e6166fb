/* pidfile.h - the file that says which process is the server, and that there is only one.
 *
 * Its owner holds a lock on it, so that a file left behind by a crash, or a number that somebody
 * else has by now, is never taken for a running server.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_PIDFILE_H
#define PROC_PIDFILE_H

#include <sys/types.h>

#include "bt_types.h"

struct pidfile {
    int fd; /* -1: none */
    char path[4096];
};

enum pidfile_result {
    PIDFILE_FINE,
    PIDFILE_TAKEN, /* a live server holds it: *holder */
    PIDFILE_FAILED /* errno */
};
enum pidfile_result pidfile_take(struct pidfile *, const char *path, pid_t *holder);
/* Remove the file and let go. */
void pidfile_release(struct pidfile *);
/* In a child that must not hold the lock. */
void pidfile_close(struct pidfile *);

enum pidfile_state {
    PIDFILE_LIVE,
    PIDFILE_MISSING,
    PIDFILE_STALE,     /* it has a number, but no server holds it */
    PIDFILE_UNREADABLE /* errno */
};
enum pidfile_state pidfile_look(const char *path, pid_t *pid);

#endif
