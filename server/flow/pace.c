/* pace.c - bodies and tunnels that take their bytes out of buckets.
 *
 * An exchange buys a piece at a time, and waits until the bucket has paid for all that was bought
 * before: so all who share one have their turn, one after the other, and those who come anew stand
 * behind. What it does not use is given back at its end. A piece is small at first, and then what
 * comes in a twentieth of a second, so that slow ones are not woken often, and their bytes come evenly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/pace.h"

#include "base/clock.h"
#include "flow/route.h"
#include "flow/session.h"
#include "net/relay.h"
#include "stat/counts.h"

enum {
    PIECES = 20, /* a second */
    PIECE_LEAST = 256,
    PIECE_FIRST = 2048,
    PIECE_MOST = 64 * 1024
};

struct side {
    struct bt_bucket bucket[BT_PACES_MAX];
    unsigned n;
    int64_t credit; /* bytes that were bought */
    int64_t ready;  /* clock_us() from which on they may be moved */
    int64_t piece;  /* that is bought at a time, at most; where there is enough, more is */
    int64_t step;   /* that is bought next */
    struct timeout timeout;
    struct bt_txn *txn;
};

struct pace {
    struct side side[2];
};

static struct timeout_class waiting;

static int64_t piece_of(const struct bt_pace *pace)
{
    int64_t piece = pace->rate / PIECES;

    return piece < PIECE_LEAST ? PIECE_LEAST : piece > PIECE_MOST ? PIECE_MOST : piece;
}

void bt_pace_by(struct bt_txn *txn, enum bt_pace_side which, const struct bt_bucket *bucket)
{
    int64_t piece = piece_of(&bucket->pace);
    struct side *side;

    if (txn->pace == NULL)
        txn->pace = bt_alloc(txn->arena, sizeof *txn->pace);
    side = &txn->pace->side[which];
    if (side->n == BT_PACES_MAX)
        return;
    side->txn = txn;
    side->piece = side->n == 0 || piece < side->piece ? piece : side->piece;
    side->step = side->piece < PIECE_FIRST ? side->piece : PIECE_FIRST;
    side->bucket[side->n++] = *bucket;
}

static void pace_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct side, timeout)->txn;

    if (txn->relay != NULL)
        relay_again(txn->relay);
    else
        txn_run(txn);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next piece, and what was moved without having been bought. */
static void side_buy(struct side *side, int64_t want)
{
    int64_t level = PIECE_MOST, n;

    for (unsigned i = 0; i < side->n; i++)
        level = least(level, bt_bucket_level(&side->bucket[i]));
    n = least(want, level > side->step ? level : side->step) - side->credit;
    side->step = least(side->step * 2, side->piece);
    for (unsigned i = 0; i < side->n; i++) {
        struct bt_bucket *bucket = &side->bucket[i];
        int64_t paid = bt_bucket_take(bucket, n);
        int64_t begins = paid - (int64_t)((double)n / (double)bucket->pace.rate * 1e6);
        if (clock_us() + begins > side->ready)
            side->ready = clock_us() + begins;
    }
    side->credit += n;
}

/* 0: later. */
static int64_t side_room(struct side *side, int64_t want)
{
    int64_t wait;

    if (side->n == 0)
        return INT64_MAX;
    if (side->credit <= 0)
        side_buy(side, want);
    wait = side->ready - clock_us();
    if (wait <= 0)
        return side->credit;
    if (!timeout_is_set(&side->timeout)) {
        timeout_set_after(&waiting, &side->timeout, (bt_duration){(wait + 999) / 1000});
        count(pace_waits);
    }
    return 0;
}

/* Of some parents the bytes do not count. */
static unsigned sides_of(const struct bt_txn *txn, unsigned sides)
{
    const struct bt_parent *parent = route_parent(txn);

    return parent != NULL && parent->not_shaped ? sides & ~(unsigned)PACE_ORIGIN : sides;
}

int64_t pace_ask(struct bt_txn *txn, unsigned sides, int64_t want)
{
    int64_t room = INT64_MAX;

    sides = sides_of(txn, sides);
    for (unsigned i = 0; i < 2; i++)
        if ((sides & 1u << i) != 0)
            room = least(room, side_room(&txn->pace->side[i], want));
    if (room == 0)
        session_notice(txn->session); /* a client that leaves need not be waited for */
    return room;
}

void pace_charge(struct bt_txn *txn, unsigned sides, int64_t n)
{
    bool any = false;

    sides = sides_of(txn, sides);
    for (unsigned i = 0; i < 2; i++) {
        struct side *side = &txn->pace->side[i];
        if ((sides & 1u << i) == 0 || side->n == 0)
            continue;
        side->credit -= n;
        any = true;
    }
    if (any)
        count_by(pace_bytes, n);
}

void pace_stop(struct bt_txn *txn)
{
    for (unsigned i = 0; txn->pace != NULL && i < 2; i++) {
        struct side *side = &txn->pace->side[i];
        timeout_clear(&side->timeout);
        for (unsigned k = 0; k < side->n; k++)
            (void)bt_bucket_take(&side->bucket[k], -side->credit);
        side->credit = 0;
    }
}

void pace_start(void)
{
    timeout_class_init(&waiting, (bt_duration){1000}, pace_expired);
}

void bt_delay_pool_set(struct bt_txn *txn, unsigned pool)
{
    txn->delay_pool = pool + 1;
}

int bt_delay_pool(struct bt_txn *txn)
{
    return (int)txn->delay_pool - 1;
}
