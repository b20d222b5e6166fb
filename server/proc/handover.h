/* handover.h - what one image of the master leaves to the next, across exec.
 *
 * Descriptors survive an exec; what they are is written down in a memfd whose number stands in an
 * environment variable. The child that tries a new configuration gets the same text, without the
 * descriptors: it learns which ports are ours already.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_HANDOVER_H
#define PROC_HANDOVER_H

#include <sys/types.h>

#include "bt_mem.h"
#include "stat/zone.h"

enum { HANDOVER_KEY = 128, HANDOVER_PATH = 4096, HANDOVER_SILENT = 64 };

struct handover_socket {
    char key[HANDOVER_KEY]; /* sockets.c: the port as configured */
    int fd;
};
struct handover_crew { /* the workers of one generation */
    unsigned generation;
    int segment;
};
struct handover_worker {
    unsigned generation;
    unsigned row;
    pid_t pid;
    int line;
    bool accepting;
};
struct handover_wake { /* the eventfd of a member (stat/member.h) */
    unsigned member;
    int fd;
};
/* What became of the last reload. */
enum { RELOAD_TEXT = 8192 };
struct reload_outcome {
    int64_t when;     /* wall clock, seconds; 0: there was none */
    int64_t begun_ms; /* when it was asked for, of a clock that tests do not move */
    bool good;
    char text[RELOAD_TEXT]; /* what was said of the configuration; may be long, and is cut */
};
struct handover {
    unsigned generation; /* of the image that leaves */
    int64_t started;     /* wall clock of the first one */
    int64_t shift_ms;    /* of the clock, by tests */
    bool ready;          /* it was */
    int control, pidfile,
        waiting; /* -1: none; waiting: a control connection that is owed an answer */
    int silent[HANDOVER_SILENT]; /* control connections that have said nothing yet */
    size_t n_silent;
    char control_path[HANDOVER_PATH], pidfile_path[HANDOVER_PATH];
    char log_path[HANDOVER_PATH]; /* "": the log is standard error or the like */
    struct handover_socket *socket;
    size_t n_sockets;
    struct handover_crew *crew; /* newest first */
    size_t n_crews;
    struct handover_worker *worker;
    size_t n_workers;
    struct zone_paper *zone;
    size_t n_zones;
    struct handover_wake *wake;
    size_t n_wakes;
    struct reload_outcome reload;
};

/* Write it down, and set the variable. `keep` lets the descriptors survive the exec. Returns the
 * memfd; -1: errno. */
int handover_write(const struct handover *, bool keep);
/* After an exec that failed: all as before. */
void handover_undo(const struct handover *, int memfd);

enum handover_found { HANDOVER_NONE, HANDOVER_FOUND, HANDOVER_BROKEN };
/* What was left to us, if anything; unsets the variable, and marks the descriptors (all but when
 * `look` is set, since a child has none). BROKEN: not ours to understand; logged. */
enum handover_found handover_read(struct handover *, struct bt_arena *, bool look);

#endif
