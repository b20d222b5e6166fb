/* chores.h - what bobtailctl asks of every worker at once, and of the master beside them.
 *
 *   exchanges           a line for each exchange under way (flow/survey.h)
 *   kill G.W.N          end that exchange
 *   set NAME VALUE      another value for a directive that is looked at whenever it is needed
 *   level [LEVEL [NAME]]  how much is told in cache_log, of a module or of all
 *
 * Answers go, a line each, into one file that all workers append to. Values last until the next reload,
 * and are the master's, too, so that a worker that is started later has them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_CHORES_H
#define PROC_CHORES_H

#include "bt_types.h"

struct worker_birth;

/* Whom a worker is. */
void chores_begin(const struct worker_birth *);
/* Worker: `fd` is closed. Nothing is said of what is wrong: the master has looked. */
void chores_run(int fd, bt_str text);
/* Master: the same for itself, first of all. false: nobody is to be asked; `why` says why. */
BT_MUST bool chores_here(bt_str text, char *why, size_t cap);

/* What `set` has said of that name; NONE: nothing. */
bt_str chores_value(bt_str name);

#endif
