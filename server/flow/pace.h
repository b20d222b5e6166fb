/* pace.h - bodies and tunnels that take their bytes out of buckets (bt_pace.h).
 *
 * Before bytes are moved pace_room() says how many may be, and afterwards pace_took() how many were.
 * Whoever finds no room is run again when there is some. An exchange with no pace costs a look at a
 * pointer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_PACE_H
#define FLOW_PACE_H

#include "bt_pace.h"
#include "flow/txn.h"

enum { PACE_ORIGIN = 1 << BT_PACE_ORIGIN, PACE_CLIENT = 1 << BT_PACE_CLIENT, PACE_BOTH = 3 };

int64_t pace_ask(struct bt_txn *, unsigned sides, int64_t want);
void pace_charge(struct bt_txn *, unsigned sides, int64_t n);

/* Of `want` bytes, as many as are still to come (INT64_MAX: not known): those that may be moved now, or
 * 0: the exchange is run again. */
static inline int64_t pace_room(struct bt_txn *txn, unsigned sides, int64_t want)
{
    return txn->pace == NULL || want == 0 ? INT64_MAX : pace_ask(txn, sides, want);
}
static inline void pace_took(struct bt_txn *txn, unsigned sides, int64_t n)
{
    if (txn->pace != NULL)
        pace_charge(txn, sides, n);
}
/* The exchange is over. */
void pace_stop(struct bt_txn *);
/* Make the timeout class. */
void pace_start(void);

#endif
