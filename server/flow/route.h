/* route.h - the ways that an exchange may go (bt_route.h), and the one that it is on.
 *
 * Without a module that routes there are no ways: everything goes directly, and nothing of this is asked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_ROUTE_H
#define FLOW_ROUTE_H

#include "bt_route.h"
#include "flow/txn.h"

/* What a connection that was dialled still needs before the request may go. */
enum layer {
    LAYER_READY,
    LAYER_PARENT, /* TLS with the parent */
    LAYER_ASK,    /* CONNECT to the parent is to be sent */
    LAYER_ASKED,  /* its answer is waited for */
    LAYER_ORIGIN  /* TLS with the origin */
};

struct route {
    unsigned at; /* ways.way[at] is the one under way */
    bool sent;   /* a request went out on it */
    bool begun;  /* its parent's host was asked for */
    bool resolving;
    bool taken;             /* the parent counts a connection that is being dialled */
    struct resolve resolve; /* of the parent's host */
    const struct sockaddr *const *addrs;
    size_t n_addrs;
    bt_str key; /* of its kept connections; .at NULL: not made yet */
    enum layer layer;
    struct bt_ways ways; /* the last member: its end is not cleared */
};

/* Ask for ways, once. GO_ON with *done: there is one, perhaps the direct one; else an answer about why not is
 * on its way. */
enum go route_ask(struct bt_txn *, bool *done);

/* The parent that it is on the way to; NULL: none. */
static inline const struct bt_parent *route_parent(const struct bt_txn *txn)
{
    return txn->route != NULL ? txn->route->ways.way[txn->route->at].parent : NULL;
}
/* ... which is a proxy, and no web server. */
static inline bool route_by_proxy(const struct bt_txn *txn)
{
    return route_parent(txn) != NULL && !route_parent(txn)->origin;
}
/* TLS with the origin is spoken through a CONNECT of ours to the parent. */
bool route_connects(const struct bt_txn *);

/* Squid's word for the way under way. */
static inline const char *route_code(const struct bt_txn *txn)
{
    return txn->route != NULL ? txn->route->ways.way[txn->route->at].code : "HIER_DIRECT";
}

/* Addresses that this way leads to, the parent's or the host's. YES: route_addr() has them. */
enum bt_match route_addrs(struct bt_txn *);
size_t route_n_addrs(const struct bt_txn *);
const struct sockaddr *route_addr(const struct bt_txn *, size_t i);
/* What kept connections of this way have in common beside the address. */
bt_str route_key(struct bt_txn *);
/* A connection by this way is about to be dialled. false: its parent has as many as it may have. */
BT_MUST bool route_take(struct bt_txn *);
/* It stands, and belongs to `origin`. */
void route_opened(struct bt_txn *, struct origin *);

/* From LAYER_ASK on: CONNECT to the parent. GO_ON with layer LAYER_ORIGIN: it said yes. */
enum go route_connect(struct bt_txn *);

/* A CONNECT was sent to the parent: it has connect_timeout to answer. */
void route_wait(struct bt_txn *);

/* Tell the module how it went with the parent under way, if there is one. */
void route_tell(struct bt_txn *, enum bt_parent_event);
/* The way under way leads nowhere. true: there is another one, and txn->step leads to it. Its connection is
 * closed in any case. */
bool route_next(struct bt_txn *);
/* The same, and when there is no other way, fail so. */
enum go route_fail(struct bt_txn *, int status, const char *page, const char *detail);
/* The final head came. true: it is no answer for the client, and txn->step leads elsewhere. */
bool route_refused(struct bt_txn *);

/* The exchange is over. */
void route_end(struct bt_txn *);
/* Worker: make the timeout class. */
void route_start(void);

#endif
