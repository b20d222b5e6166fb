/* check.h - CHECK() and NEVER(): our own bugs end the worker, with a page that says where.
 *
 * Always on. Never for what comes from the network, from a file or the world: those are values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include "bt_types.h"

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0))                                                          \
            check_failed(#cond, __FILE__, __LINE__);                                               \
    } while (0)

/* A place that the program cannot reach. */
#define NEVER() check_failed("never", __FILE__, __LINE__)

/* Writes the panic page to the diagnostics log, calls check_on_panic and aborts. */
void check_failed(const char *what, const char *file, int line)
    __attribute__((noreturn, cold, noinline));

/* Where the page goes; log_open() keeps it right. At first standard error. */
extern int check_fd;
/* Number of this worker for the page; 0: master. */
extern unsigned check_worker;
/* Upper floors say what was under way: text without a final newline into `buf`, its length back.
 * Called in a broken process: it may look, it must not allocate or lock. NULL: nothing to say. */
extern size_t (*check_describe)(char *buf, size_t cap);
/* Upper floors count the panic. NULL: nothing to do. */
extern void (*check_on_panic)(void);

#endif
