/* limits.h - how large bodies may be, how fast they must come, how many connections a client has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_LIMITS_H
#define FLOW_LIMITS_H

#include "flow/core.h"
#include "flow/session.h"
#include "flow/txn.h"

/* .set of reply_body_max_size */
bool limits_reply_set(void *conf, const struct bt_line *, struct bt_error *);

/* ---- bodies ---- */

/* Does the request say that its body is larger than it may be? Counted. */
bool limits_request_too_big(const struct bt_txn *);
/* Has more of it come than may? GO_ON: no; else what came is not to be sent, and txn->step says what
 * follows: 413 when nothing was answered yet, else the end of the connection. */
BT_MUST bool limits_upload_fits(struct bt_txn *);

/* The response's head is known, and whether a body follows: find its limit. false: it says that it is larger; the
 * exchange is on its way to an answer about that. */
BT_MUST bool limits_reply_fits(struct bt_txn *, bool body);
/* Shorten the pieces of the answer's body to what may still pass. true: that was the limit. */
bool limits_reply_cut(struct bt_txn *, bt_str *slice, int *n);

/* The exchange waits for more of the request's body: it must come at a decent pace. */
void limits_feed(struct bt_txn *);
void limits_start(void);

/* ---- connections of a client ---- */

/* Master, before the fork: the table that all workers share, when client_ip_max_connections is
 * given or somebody wants to know. false: no memory. */
BT_MUST bool limits_share(unsigned workers);
/* One more connection of that address. false: it has enough. */
BT_MUST bool limits_enter(struct session *);
void limits_leave(struct session *);

/* Have them counted although there is no limit (an ACL wants to know); before limits_share(). */
void limits_count_connections(void);
/* Of the session's address, itself included; 0: not known. */
int64_t limits_connections(const struct session *);

#endif
