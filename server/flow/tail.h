/* tail.h - each exchange that ends, into a ring that `bobtailctl tail` reads (stat/ring.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_TAIL_H
#define FLOW_TAIL_H

#include "bt_module.h"

struct bt_txn;

/* Texts of a record. The keys are what a reader may choose by, separated by blanks: client, user,
 * status, method, host, result; then the line in the format squid, and in the format json. */
enum { TAIL_KEYS, TAIL_LINE, TAIL_JSON, TAIL_TEXTS };

/* Master, in setup. */
BT_MUST bool tail_make(struct bt_error *);
/* The memory's descriptor; -1: there is none. */
int tail_fd(void);
/* Before zone_leave(), where this process goes on to be asked for it. */
void tail_keep(void);
/* Worker, at the end of an exchange. */
void tail_note(struct bt_txn *);

#endif
