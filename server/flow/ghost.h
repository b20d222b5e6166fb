/* ghost.h - exchanges without a client: whose client has left or had enough, and those that
 * bt_background() makes. Each has a session of its own, without a connection (session_ghost()).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_GHOST_H
#define FLOW_GHOST_H

#include "flow/txn.h"

/* The client's side is over: END_WHOLE, it has its answer; else it has left, or is cut. true: the
 * sink wants the rest; the exchange was logged, its session goes its own way, and txn->step is set.
 * false: nothing has changed, but that the sink may have been asked, and its body was cut. */
BT_MUST bool ghost_leave(struct bt_txn *, enum txn_end);
/* One of nobody's making, without a request yet. NULL: there are too many. */
struct bt_txn *ghost_new(void);
/* One of them has ended. */
void ghost_over(void);

#endif
