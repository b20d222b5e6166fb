/* tally.h - what an exchange was, counted: result, method, status, and how long that took.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_TALLY_H
#define FLOW_TALLY_H

#include "flow/txn.h"

/* It is over, and txn->time.end stands. */
void tally(const struct bt_txn *);

#endif
