/* bt_fetch.h - a module asks for a URL by itself: an exchange whose client is the module.
 *
 * It goes the way of all requests: the hooks of modules, http_access, the cache, the resolver, the
 * pool of kept connections, TLS as tls_outgoing_options has it, header rules, the access log. It has
 * no client address, no port and no login, so ACLs about these do not match; the ACL type
 * transaction_initiator says who asks, and what the rules do not allow is not fetched. Our own ports
 * are out of reach. Redirects are answers like others, and not followed.
 *
 * A hook that could fetch because of a fetch must ask bt_initiator() first.
 *
 * For workers, in the loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_FETCH_H
#define BT_FETCH_H

#include "bt_txn.h"

enum bt_initiator {
    BT_BY_CLIENT,       /* not for fetches */
    BT_BY_CERTIFICATES, /* Squid's certificate-fetching */
    BT_BY_SCRIPT,       /* script */
    BT_BY_SERVER        /* internal: any other reason */
};
/* Who began that exchange. */
BT_API enum bt_initiator bt_initiator(struct bt_txn *);

struct bt_fetch; /* one under way; the server's */

struct bt_fetch_field {
    bt_str name, value;
};
/* What is asked for; all of it is copied. */
struct bt_fetch_request {
    bt_str method; /* NONE: GET. Not CONNECT */
    bt_str url;    /* http or https */
    const struct bt_fetch_field *field;
    size_t n;            /* at most 64 */
    bt_str body;         /* at most 1 MB; NONE: none */
    bt_duration timeout; /* of all of it; 0: 30 seconds */
    bt_size max;         /* bytes of body that are wanted, more is an error; 0: 1 MB */
    enum bt_initiator by;
    bool public_only; /* only if no address of the host is private (as ACL to_private) */
};
/* What came of it; stands during the call alone. */
struct bt_fetch_reply {
    /* NULL: there is a whole answer. Else a literal: "denied" (by rules, or an address that is out of
     * reach), "dns", "connect", "tls", "timeout", "invalid" (no proper answer), "large", "cut" (it
     * ended before its end), "unavailable" (anything else). */
    const char *error;
    const char *detail; /* a phrase for people about the error; never NULL */
    int status;
    const struct bt_fetch_field *field; /* that travel on: no hop-by-hop fields, no framing */
    size_t n;
    bt_str body;
};
/* Ask. `done` is called once, from the loop and never from within bt_fetch_start(). NULL: it cannot
 * even begin; *why is a phrase (a bad URL or field; 1024 are under way in this worker already). */
BT_API BT_MUST struct bt_fetch *bt_fetch_start(const struct bt_fetch_request *,
                                               void (*done)(void *arg,
                                                            const struct bt_fetch_reply *),
                                               void *arg, const char **why);
/* Give it up: done() is not called. Not after it was, nor from within it. */
BT_API void bt_fetch_cancel(struct bt_fetch *);

#endif
