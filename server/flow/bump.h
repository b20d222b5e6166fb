/* bump.h - step: a CONNECT on a port with ssl-bump, from its first rule to where the client speaks TLS
 * with somebody: with the origin (a tunnel), or with the proxy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_BUMP_H
#define FLOW_BUMP_H

#include "flow/txn.h"

/* Is it one? */
bool bump_wanted(const struct bt_txn *);
/* With the request as the client made it; only when txn->bump is set. */
const struct url *bump_url(const struct bt_txn *);
/* Its origin is to speak TLS with the proxy, and may be one out of the pool. */
bool bump_secures(const struct bt_txn *);
/* An answer about a failure is on its way (STEP_refuse): when it is an exchange that is being bumped the client
 * gets it over TLS. */
void bump_failed(struct bt_txn *);
/* Its origin is being connected, for a look or to speak TLS with it. */
bool bump_under_way(const struct bt_txn *);
/* The same of a CONNECT that its client did not send, and that was refused: nothing was said yet. */
void bump_refused(struct bt_txn *);
/* Its client is in the handshake, which knows better than the socket why it left. */
bool bump_shakes(const struct bt_txn *);
void bump_start(void);

#endif
