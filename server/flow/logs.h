/* logs.h - access logs: which exchange is written where, in which format; batches of lines.
 *
 * Lines are formatted into a buffer of the worker, one for each place, and given to its writer (a
 * row of some module) when it is full, or 50 ms after the first of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_LOGS_H
#define FLOW_LOGS_H

#include "bt_module.h"

struct bt_txn;

/* Directives access_log, logformat and their like; a module of the server beside flow_module. */
extern const struct bt_module logs_module;

/* Whom log files belong to when the master is root; said before setup. -1: whoever makes them. */
void logs_owner(unsigned uid, unsigned gid);

/* Step finish: a line in each log whose ACLs match. */
void logs_write(struct bt_txn *);

/* Worker: give what is buffered to the writers now. */
void logs_flush(void);
/* Worker: the master has renamed the files: open them anew. Flush before. */
void logs_reopen(void);
/* Master: rename the files, keeping as many old ones as configured. */
void logs_rotate(void);
/* logfile_rotate, which cache_log follows, too. */
int logs_keep(void);

/* URL of the request as %ru has it: whole, or cut after its "?" with strip_query_terms. In
 * the exchange's arena where it has to be made. */
bt_str logs_url(struct bt_txn *);

#endif
