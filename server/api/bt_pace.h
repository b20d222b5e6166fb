/* bt_pace.h - how fast bytes pass, and how often something may happen: buckets that all workers share.
 *
 * A bucket fills at its rate up to the most that it holds, and who takes more than there is leaves it
 * in debt, which is paid back before anybody else gets something: so nobody is passed by, and the sum
 * of all that is taken is never more than the rate says. Buckets are found by a key and are there as
 * long as they are not full; nothing need be made, and nothing given back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_PACE_H
#define BT_PACE_H

#include "bt_mem.h"
#include "bt_module.h"
#include "bt_types.h"

struct bt_pace {
    int64_t rate;  /* a second, > 0; bytes, or what the caller counts */
    int64_t most;  /* that the bucket holds */
    int64_t begin; /* that it holds at first */
};
struct bt_bucket {
    struct bt_pace pace;
    uint64_t tag; /* the server's */
    void *slot;
};

/* From .setup, of each module that uses buckets. false: there is no memory; complained. */
BT_API BT_MUST bool bt_buckets_want(struct bt_error *);
/* Worker: the bucket of that key (any bytes), which is another one for another pace. */
BT_API struct bt_bucket bt_bucket_find(bt_str key, const struct bt_pace *);
/* How much is in it; negative: what it owes. */
BT_API int64_t bt_bucket_level(struct bt_bucket *);
/* Take `n` (0: nothing; less: give back) whatever is there. The result is when the bucket will have paid
 * for it, in microseconds from now; 0: it had enough. */
BT_API int64_t bt_bucket_take(struct bt_bucket *, int64_t n);

/* ---- bodies and tunnels ---- */

enum bt_pace_side {
    BT_PACE_ORIGIN, /* what is read from the origin (or parent): not what a cache gives */
    BT_PACE_CLIENT  /* what the client gets */
};
enum { BT_PACES_MAX = 6 }; /* of an exchange, on each side; more are not heeded */

/* From hooks of phase UPSTREAM or RESPONSE: the body of the answer (of a CONNECT what comes down the
 * tunnel) takes its bytes out of this bucket, beside others. Requests and heads are free. */
BT_API void bt_pace_by(struct bt_txn *, enum bt_pace_side, const struct bt_bucket *);

/* Which pool of delay_pools it is to be, whatever delay_access says; 0: none. Until phase UPSTREAM. */
BT_API void bt_delay_pool_set(struct bt_txn *, unsigned pool);
BT_API int bt_delay_pool(struct bt_txn *); /* -1: nobody has said */

#endif
