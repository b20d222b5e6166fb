/* secure.h - TLS for exchanges: with the origin of an https URL, and with clients; what bt_tls.h says.
 *
 * The module that speaks TLS is found by its row. Without it https URLs are not forwarded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_SECURE_H
#define FLOW_SECURE_H

#include "bt_tls.h"
#include "flow/session.h"
#include "flow/txn.h"

/* NULL: there is no such module. */
const struct bt_tls *secure_tls(void);

/* A client that connected to a port with TLS. false: it cannot be served. */
BT_MUST bool secure_accept(struct session *);

/* What kept connections to the exchange's origin have in common beside the address; NONE: they speak no
 * TLS. */
bt_str secure_key(struct bt_txn *);

/* The connection that was just dialled, or is being secured: TLS with it. READY: it stands. WAIT: the exchange
 * is run again. FAILED: it was closed, and txn->deny_detail says why. */
enum bt_tls_state secure_origin(struct bt_txn *);
/* The same with the parent that was just dialled, which wants TLS. */
enum bt_tls_state secure_parent(struct bt_txn *);
/* It speaks TLS, and that it is not proven to be the host of the URL was overlooked. */
bool secure_unproven(struct bt_txn *);

/* ---- a connection within a CONNECT that was bumped ---- */

struct inside {
    bt_str host; /* as CONNECT has it */
    uint16_t port;
    bt_str name;                         /* who the client asked for within: the host of all URLs */
    const struct sockaddr *const *addrs; /* where that CONNECT may lead, and nothing else */
    size_t n_addrs;
    int fail_status; /* all is answered so; 0: it is not */
    const char *fail_page;
    const char *fail_detail;
    const char *fail_tag;
    const struct bt_line *fail_rule; /* that refused it; NULL: none */
    bt_str who[BT_WHO_END];          /* who the CONNECT was from */
};
/* From now on the requests of this connection come from within the exchange, a CONNECT. */
struct inside *inside_open(struct bt_txn *);
/* The URL of a request that came within; its exchange is made for it. */
enum head_fault inside_url(struct bt_txn *);
/* 0: it is for who the CONNECT was for, or its hello, or the origin's certificate. 421: it is for somebody
 * else; 503: the certificate is not for who the CONNECT was for. */
int inside_refusal(struct bt_txn *);

#endif
