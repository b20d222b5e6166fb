/* start.h - from a command line to a server that could serve: configuration, ports, logs, files.
 *
 * Shared by the master, by the one process of -N, and by everything that only looks (-k parse). All
 * faults are gathered and told at once; when there is one, nothing is left behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_START_H
#define PROC_START_H

#include "conf/complain.h"
#include "plug/generation.h"
#include "proc/admin.h"
#include "proc/handover.h"
#include "proc/options.h"
#include "proc/pidfile.h"
#include "proc/sockets.h"

/* The server's own modules. */
extern const struct bt_module *const start_modules[];
extern const size_t start_n_modules;

struct start {
    const struct options *options;
    struct bt_arena *arena;
    struct bt_error err;
    struct handover left;          /* by the image before us */
    bool resumed;                  /* there was one */
    struct generation *generation; /* NULL: the configuration has faults */
    unsigned workers;
    struct sockets sockets;
    struct segment segment;
    struct pidfile pidfile;
    struct admin admin;
    const char *log_path; /* of the log that is open; NULL: standard error */
};

void start_init(struct start *, const struct options *);

/* Read the configuration. Complaints stay in `err`. */
BT_MUST bool start_load(struct start *);
/* All that needs no process yet: no other instance, ports, diagnostics log. */
BT_MUST bool start_bind(struct start *);
/* Short of serving, for the child that tries a configuration. */
BT_MUST bool start_try(struct start *);
/* Print what was complained about on standard error; log it too where the log is elsewhere. */
void start_tell(struct start *);

/* Counters, pid file and control socket, in the process that is going to be the master. false: told
 * why, and nothing is left behind. */
BT_MUST bool start_files(struct start *, const struct admin_owner *);
/* The server serves: say so to --ready-fd and to whoever waits for a daemon. */
void start_ready(struct start *);
/* Remove what start_files() made. */
void start_undo(struct start *);
/* The last act of the process: the configuration goes, and nothing may look at it any more. So what a
 * checker of memory still finds at the end is a leak. */
void start_free(struct start *);

#endif
