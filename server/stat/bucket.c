/* bucket.c - buckets that fill at a rate, in memory that all workers share (bt_pace.h).
 *
 * A bucket is one number: the moment at which it was, or will be, empty. What is in it is the time
 * since then, times its rate. So taking is one compare-and-swap, and no lock can be left behind.
 *
 * Buckets lie in a table of fixed size, found by a hash of key and pace. One that is full again is as
 * good as none, and its place is given to another key. When all places that a key may have are in
 * use, it shares the first of them: it is too slow then, and counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/table.h"
#include "bt_pace.h"
#include "bt_shared.h"
#include "stat/counts.h"

enum {
    SLOTS = 256 * 1024, /* buckets that are not full, at most */
    WINDOW = 16,        /* places that one key may have */
    LAYOUT = 1,
    TAKING = 1 /* a tag: somebody is putting his own there */
};
#define SECOND INT64_C(1000000000)

/* Times are nanoseconds of the monotonic clock; 0: not used yet. */
struct slot {
    _Atomic uint64_t tag;
    _Atomic int64_t empty;
    _Atomic int64_t span; /* from empty to full */
    int64_t room_;
};

struct buckets {
    uint64_t key[2];
    uint64_t room_[6];
    struct slot slot[SLOTS];
};

static struct buckets *buckets;

bool bt_buckets_want(struct bt_error *err)
{
    struct bt_zone *zone;

    if (buckets != NULL)
        return true;
    zone = bt_zone_make("buckets", sizeof *buckets, LAYOUT, 0, err);
    if (zone == NULL)
        return false;
    buckets = bt_zone_memory(zone);
    if (!bt_zone_kept(zone) &&
        getrandom(buckets->key, sizeof buckets->key, 0) != (ssize_t)sizeof buckets->key)
        buckets->key[0] = (uint64_t)clock_wall_us();
    return true;
}

static int64_t now_ns(void)
{
    return clock_us() * 1000;
}

/* So long takes so much, without leaving the range: days are enough. */
static int64_t time_of(int64_t amount, int64_t rate)
{
    double ns = (double)amount / (double)rate * 1e9;

    return ns > 1e17 ? (int64_t)1e17 : ns < -1e17 ? -(int64_t)1e17 : (int64_t)ns;
}

static int64_t span_of(const struct bt_pace *pace)
{
    return time_of(pace->most > 0 ? pace->most : 1, pace->rate);
}

/* Is it of nobody, or full? */
static bool idle(struct slot *slot, uint64_t tag)
{
    return tag == 0 || (tag != TAKING && slot->empty + slot->span < now_ns());
}

static struct slot *slot_find(uint64_t tag, const struct bt_pace *pace)
{
    uint32_t first = (uint32_t)(tag >> 20) % SLOTS;

    for (uint32_t i = 0; i < WINDOW; i++) {
        struct slot *slot = &buckets->slot[(first + i) % SLOTS];
        if (slot->tag == tag)
            return slot;
    }
    for (uint32_t i = 0; i < WINDOW; i++) {
        struct slot *slot = &buckets->slot[(first + i) % SLOTS];
        uint64_t was = slot->tag;
        if (!idle(slot, was) || !atomic_compare_exchange_strong(&slot->tag, &was, TAKING))
            continue;
        slot->span = span_of(pace);
        slot->empty = now_ns() - time_of(pace->begin, pace->rate);
        slot->tag = tag;
        return slot;
    }
    count(pace_crowded);
    return &buckets->slot[first];
}

struct bt_bucket bt_bucket_find(bt_str key, const struct bt_pace *pace)
{
    struct bt_bucket b = {.pace = *pace};
    uint64_t tag = table_hash_with(buckets->key, key);

    tag ^= (uint64_t)pace->rate * UINT64_C(0x9e3779b97f4a7c15);
    tag ^= (uint64_t)pace->most * UINT64_C(0xc2b2ae3d27d4eb4f);
    b.tag = tag <= TAKING ? 2 : tag;
    b.slot = slot_find(b.tag, pace);
    return b;
}

/* Its place may be somebody else's by now. */
static struct slot *slot_of(struct bt_bucket *b)
{
    struct slot *slot = b->slot;

    if (slot->tag != b->tag)
        b->slot = slot = slot_find(b->tag, &b->pace);
    return slot;
}

int64_t bt_bucket_level(struct bt_bucket *b)
{
    int64_t since = now_ns() - slot_of(b)->empty;

    if (since > span_of(&b->pace))
        return b->pace.most;
    return (int64_t)((double)since / (double)SECOND * (double)b->pace.rate);
}

int64_t bt_bucket_take(struct bt_bucket *b, int64_t n)
{
    struct slot *slot = slot_of(b);
    int64_t now = now_ns(), span = span_of(&b->pace), cost = time_of(n, b->pace.rate);
    int64_t was = slot->empty, then;

    do
        then = (was < now - span ? now - span : was) + cost;
    while (n != 0 && !atomic_compare_exchange_weak(&slot->empty, &was, then));
    return then > now ? (then - now + 999) / 1000 : 0;
}
