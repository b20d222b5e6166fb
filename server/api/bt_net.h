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

#endif
