/* serve.h - answers out of memory (serve.c), and the origin's body into a sink (fill.c).
 *
 * An exchange that has a sink gives it each piece before the client gets it (deliver.c). When the
 * client is too slow, and the sink can be read again, the two part: step serve gives the client what
 * the sink has, and beside it, whenever it is run, fill_move() takes what the origin has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_SERVE_H
#define FLOW_SERVE_H

#include "bt_cache.h"
#include "flow/txn.h"

struct serve {
    struct bt_source *source; /* NULL: there is no body */
    bt_str head;              /* of bt_answer_from() */
    int64_t length;           /* of the body; -1: not known */
    int64_t at;               /* bytes of it that the client was given */
    bool parsed;              /* txn->rep is the head */
    bool bodiless;            /* by method and status */
    bool parted;              /* the source is the sink's, of the origin's body */
    bool over;                /* the client was given all */
    int64_t waited;           /* `at` when its write_timeout began */
    unsigned rounds;          /* answers of bt_answer_from() before this one */
};

enum tap_state {
    TAP_OPEN,
    TAP_REFUSED, /* it takes no more: the origin's body goes on without it */
    TAP_WHOLE,
    TAP_CUT
};
struct tap {
    struct bt_sink *sink;
    enum tap_state state;
    int64_t taken;      /* bytes */
    bool alone;         /* it cannot be read: the origin waits for the client */
    bool kept_last;     /* the body ends with `kept` */
    bt_str kept;        /* what it refused while the client was behind */
    enum txn_end ended; /* TAP_CUT: why */
};

/* ---- serve.c ---- */

/* Let go of the source, if any. */
void serve_stop(struct bt_txn *);
/* The client is behind what the sink has: it goes on from there, out of this source. */
void serve_take_over(struct bt_txn *, struct bt_source *);

/* ---- fill.c ---- */

static inline bool tap_open(const struct bt_txn *txn)
{
    return txn->tap != NULL && txn->tap->state == TAP_OPEN;
}
/* The next pieces to the sink, if it takes any. */
void tap_write(struct bt_txn *, const bt_str *slice, int n);
/* The body is over. Does nothing when that was said already. */
void tap_end(struct bt_txn *, bool whole);
/* The client has not taken what it was given: part the two. false: it cannot be done. */
BT_MUST bool fill_part(struct bt_txn *);
/* Take what the origin has, or wait for more. */
void fill_move(struct bt_txn *);
/* The body will not become whole; the client gets what the sink has. */
void fill_cut(struct bt_txn *, enum txn_end why);

#endif
