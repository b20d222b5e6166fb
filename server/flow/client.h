/* client.h - what an exchange may ask of its client, and nothing more.
 *
 * HTTP/1.1 is the first implementation (client_h1.c). No step may assume one exchange a connection
 * at a time: a step that needs something of its client finds it here.
 *
 * Contract of writing: head(), then body() any number of times, the last time with `last`. Bytes
 * are taken at once; what the network did not take counts in pending(), and while that is not 0 the
 * exchange must not produce more: it is run again when it is 0. false from any of them: the client
 * is gone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_CLIENT_H
#define FLOW_CLIENT_H

#include "bt_types.h"
#include "http/body.h"

struct bt_txn;

/* Pieces of a body whose memory stands: only what the network takes now is taken of them. */
struct client_offer {
    const bt_str *slice;
    int n;        /* at most SLICES_MAX */
    bool last;    /* the body ends with them; false afterwards when that was not said yet */
    bool full;    /* out: the network takes no more now */
    size_t taken; /* out: bytes of the pieces */
};

/* How a body is delimited to this client; decided by head() from what is known of its length. */
struct client_ops {
    const char *name;
    bool nobody; /* there is no client: nothing need be said */
    /* Prepare the head of txn->rep (fields that are .drop are left out) with `length` bytes of body
     * to follow; -1: unknown; -2: none, and no length is said. It leaves with the next body() or flush(). */
    void (*head)(struct bt_txn *, int64_t length);
    /* An interim response (1xx), at once. */
    bool (*interim)(struct bt_txn *, const struct head *);
    bool (*body)(struct bt_txn *, const bt_str *slice, int n, bool last);
    /* As body(), but what is not taken is not kept either, and offered again when the exchange is run
     * again. Only while nothing is pending. */
    bool (*offer)(struct bt_txn *, struct client_offer *);
    size_t (*pending)(struct bt_txn *);
    /* The next pieces of the request's body, at most `max`. DATA: *n > 0, ask again; END: *n pieces,
     * and that was all; MORE: nothing now, the exchange is run again; BAD: malformed, or (txn->ended
     * says so) the client is gone. */
    enum body_result (*read_body)(struct bt_txn *, bt_str *slice, int max, int *n);
    /* Say with a broken connection that the answer is not whole. */
    void (*cut)(struct bt_txn *);
};
enum { LENGTH_UNKNOWN = -1, LENGTH_UNSAID = -2 };

extern const struct client_ops client_h1;

#endif
