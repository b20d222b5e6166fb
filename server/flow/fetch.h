/* fetch.h - exchanges that a module has asked for (bt_fetch.h), as the steps see them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_FETCH_H
#define FLOW_FETCH_H

#include "bt_fetch.h"
#include "flow/txn.h"

/* A CONNECT to that host and port, whose client is at the other end of the session's socket. over() is
 * called when the exchange is gone: `error` is a word as in struct bt_fetch_reply, NULL: it was a tunnel. NULL:
 * it cannot be, *why says why; the session is gone, and over() not called. */
struct bt_fetch *fetch_connect(struct session *, const struct bt_fetch_request *,
                               void (*over)(void *arg, const char *error), void *arg,
                               const char **why);
/* over() is not to be called any more; it ends at once, or in a second, when all is delivered. */
void fetch_leave(struct bt_fetch *, bool at_once);
/* Its host must have public addresses alone. */
bool fetch_public_only(const struct bt_txn *);

#endif
