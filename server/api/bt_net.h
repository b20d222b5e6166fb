/* bt_net.h - what a module asks of the network by itself, beside whole requests (bt_fetch.h).
 *
 * For workers, in the loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_NET_H
#define BT_NET_H

#include "bt_fetch.h"

struct sockaddr;

/* ---- names, by the server's own resolver: hosts file, memory, name servers ---- */

struct bt_lookup;
/* What came of it; stands during the call alone. */
struct bt_lookup_reply {
    const char *why; /* NULL: there is an answer; else a phrase ("no such name") */
    const struct sockaddr *const *addr;
    size_t n;
    bt_str name; /* of bt_lookup_reverse() */
};
/* The addresses of a name. `done` is called once, from the loop and never from within this. */
BT_API struct bt_lookup *bt_lookup_start(bt_str name,
                                         void (*done)(void *arg, const struct bt_lookup_reply *),
                                         void *arg);
/* The name of an address. */
BT_API struct bt_lookup *bt_lookup_reverse(const struct sockaddr *,
                                           void (*done)(void *arg, const struct bt_lookup_reply *),
                                           void *arg);
/* Give it up: done() is not called. Not after it was, nor from within it. */
BT_API void bt_lookup_cancel(struct bt_lookup *);

/* ---- connections of a module's own: as a client's CONNECT, with the module for its client ---- */

/* http_access judges it as `CONNECT host:port`, it goes the way of tunnels, and is logged as one; our own
 * ports are out of reach. Bytes are the module's. */
struct bt_wire;
enum bt_wire_state {
    BT_WIRE_OPENING,
    BT_WIRE_OPEN,
    BT_WIRE_ENDED, /* the other side is done; what it said may still be there */
    BT_WIRE_FAILED /* it never was open: bt_wire_error() */
};
/* `host` is a name or an address. ready() is called from the loop when something has changed. NULL: *why
 * says why not, a phrase. */
BT_API BT_MUST struct bt_wire *bt_wire_open(bt_str host, unsigned port, enum bt_initiator by,
                                            void (*ready)(void *arg), void *arg, const char **why);
BT_API enum bt_wire_state bt_wire_state(const struct bt_wire *);
/* A word as in struct bt_fetch_reply. */
BT_API const char *bt_wire_error(const struct bt_wire *);
/* What came and was not used; at most 256 KB, the other side then waits. Stands until the next call of any
 * of these. */
BT_API bt_str bt_wire_bytes(const struct bt_wire *);
BT_API void bt_wire_used(struct bt_wire *, size_t n);
/* Send; what the network does not take now is kept. false: it is not open, or a megabyte waits. */
BT_API BT_MUST bool bt_wire_send(struct bt_wire *, bt_str bytes);
/* It is gone; ready() is not called any more. What was sent is still delivered. Safe within ready(). */
BT_API void bt_wire_close(struct bt_wire *);

#endif
