/* program.h - a program started by a worker: its pipe, its end, and what it complains about.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_PROGRAM_H
#define NET_PROGRAM_H

#include <sys/types.h>

#include "bt_types.h"
#include "net/loop.h"

/* What a program writes to its standard error goes to the diagnostics log, line by line, with the
 * name of the pool in front; at most so many lines a second, the others are counted. */
enum { GRUMBLE_LINES = 20, GRUMBLE_LEN = 512 };
struct grumble {
    const char *name;
    int fd[2]; /* -1: closed */
    struct watch watch;
    char line[GRUMBLE_LEN];
    size_t len;
    int64_t second; /* that lines are counted of */
    unsigned lines, lost;
};
/* `name` must live as long. false: errno says why, and nothing is open. */
BT_MUST bool grumble_open(struct grumble *, const char *name);
void grumble_close(struct grumble *);

/* Start it, in a process group of its own; its standard input and output are one socket, whose
 * other end comes back (non-blocking). -1: errno says why. */
int program_start(char *const argv[], int err_fd, pid_t *pid);

/* Its pipe is closed: have it end, and take its exit status in time; SIGTERM now, SIGKILL when that
 * does not help. Says how it ended when that was not asked for. */
void program_end(pid_t pid, const char *name, bool asked);
/* How many have not ended yet. */
size_t program_ending(void);

#endif
