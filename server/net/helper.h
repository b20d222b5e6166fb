/* helper.h - pools of helpers, beyond what modules may ask of them (bt_helper.h).
 *
 * A question is a job: it waits in the pool's queue, or in a slot of a process. A process has one
 * slot for each channel. A slot whose question was given up or timed out stays taken until its
 * answer comes, so that no answer can be taken for that of another question; a process that has said
 * nothing since a question that timed out is taken for hung, and ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_HELPER_H
#define NET_HELPER_H

#include "bt_helper.h"

enum {
    HELPER_ANSWER_MAX = 1024 * 1024, /* one answer; more ends the process */
    HELPER_TRIES = 3,                /* processes that a question is asked of */
    HELPER_PATIENCE = 3, /* deaths without an answer in between that are no crash loop */
    HELPER_BACKOFF_MAX_S = 30
};

/* What a pool is at, for tests and tools. */
struct helper_state {
    unsigned processes, waiting, busy;
    bool down; /* nothing runs, and nothing is started yet */
};
/* Is there any pool? */
bool helper_any(void);
struct helper_state helper_state(const struct bt_helper *);

#endif
