/* probe.h - exchanges of our own with one parent: is it there, is it well; connections in advance.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_PROBE_H
#define FLOW_PROBE_H

#include "flow/txn.h"

/* The connection stands. true: that was all, and txn->step is set. */
bool probe_reached(struct bt_txn *);
/* The final head came. */
enum go probe_answered(struct bt_txn *);
/* The exchange is about to be freed. */
void probe_over(struct bt_txn *);

#endif
