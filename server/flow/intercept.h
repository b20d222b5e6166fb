/* intercept.h - connections that the firewall redirected: where they were to go, and whether their
 * requests say the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_INTERCEPT_H
#define FLOW_INTERCEPT_H

#include "flow/session.h"
#include "flow/txn.h"

/* Master, before the fork: what workers tell each other, where there are such ports. false: no memory. */
BT_MUST bool intercept_share(void);

/* A connection to a port with intercept or tproxy: session.local becomes where the client went. false: that
 * cannot be found out, or it is one of our own, and it cannot be served; counted, logged. */
BT_MUST bool intercept_enter(struct session *);
/* Is it one of our own, which the firewall has redirected? Asked until it has been served once, as another
 * worker may be a moment late to say so; counted, logged. */
bool intercept_loops(const struct session *);
/* A connection to an origin for a redirected client stands: should the firewall redirect that, too, it
 * is known again. */
void intercept_dialled(struct origin *);

/* The URL of a request in the form that an origin gets. */
enum head_fault intercept_url(struct bt_txn *);

/* Before any rule is asked: is the host of the request where the client went? What is not so goes to
 * where the client went, is marked (txn->forged), and is 409 with host_verify_strict. GO_WAIT: a
 * look-up is under way. GO_ON: look at txn->step. */
enum go intercept_check(struct bt_txn *);

/* The exchange, which has no request yet, becomes a CONNECT to where the client went, to which nobody gets an
 * answer. */
void intercept_connect(struct bt_txn *);
/* on_unsupported_protocol, when a client's first bytes are not what its port speaks: `page` is what
 * else would be said, for squid_error. true: make a tunnel of it. */
bool intercept_tunnels(struct bt_txn *, const char *page);

/* Another exchange for the same client goes where the first one went. */
void intercept_follow(struct bt_txn *, const struct bt_txn *of);

/* tproxy: the address of the client, for connections to origins; NULL: spoof_client_ip forbids it, or
 * it was not redirected so. */
const struct sockaddr *intercept_spoof(struct bt_txn *);

#endif
