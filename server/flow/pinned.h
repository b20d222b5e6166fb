/* pinned.h - logins that are bound to a connection: NTLM, and Negotiate as most servers do it.
 *
 * Such a login counts for every request that comes on the same connection, so the connection to the
 * origin belongs to one client connection from then on: it never goes to the pool, serves only
 * requests of that client to the same host and port, and is closed with the client's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_PINNED_H
#define FLOW_PINNED_H

#include "flow/session.h"
#include "flow/txn.h"

/* The request is about to be sent: does it bring such a login? */
void pinned_note_request(struct bt_txn *);
/* The final head came: does it ask for one? With connection-auth=off the offer is left out. */
void pinned_note_response(struct bt_txn *);
/* The connection of the client for this request, now in use by it; NULL: there is none. */
struct origin *pinned_take(struct bt_txn *);
/* The parent that such a connection for this request leads to; NULL: none, or there is no connection. */
const struct bt_parent *pinned_parent(const struct bt_txn *);
/* The exchange is over: keep txn's connection for its client, or close it. */
void pinned_put(struct bt_txn *, struct origin *);
/* The client's connection ends. */
void pinned_drop(struct session *);
void pinned_start(void);

#endif
