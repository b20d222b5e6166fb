/* samples.c - what the counters were, once a minute for an hour: for averages and recent quantiles.
 *
 * A ring in shared memory, kept over reloads. Each second every worker looks whether the newest sample
 * is a minute old; the one that gets the lock takes the next. A reader copies one under the lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "page.h"

enum { MINUTE_MS = 60000, SET_BACK_MS = 600000, LAYOUT = 1 };

struct ring {
    struct bt_lock lock;
    uint32_t taken; /* in all; the newest is at (taken - 1) % SAMPLES */
    struct sample sample[SAMPLES];
};

static struct ring *ring;

#define NAME_(id, name) name,
static const char *const counts[] = {SAMPLE_COUNTS(NAME_)};
static const char *const times[] = {SAMPLE_TIMES(NAME_)};

bool samples_make(struct bt_error *err)
{
    struct bt_zone *zone = bt_zone_make("page-samples", sizeof *ring,
                                        LAYOUT + sizeof(struct sample), 0, err);

    if (zone == NULL)
        return false;
    ring = bt_zone_memory(zone);
    if (!bt_zone_kept(zone))
        bt_lock_init(&ring->lock);
    return true;
}

void samples_now(struct sample *out)
{
    struct bt_stat stat;

    memset(out, 0, sizeof *out);
    out->wall_ms = bt_wall_ms();
    for (int i = 0; i < SAMPLE_COUNTS_END; i++)
        out->count[i] = page_stat(counts[i]);
    for (int i = 0; i < SAMPLE_TIMES_END; i++)
        if (!bt_stats_get(times[i], &stat, out->bucket[i]))
            memset(out->bucket[i], 0, sizeof out->bucket[i]);
}

/* Somebody died in here: what may be half a sample is forgotten. */
static void lock_taken(enum bt_lock_taken taken)
{
    if (taken == BT_LOCK_HELD_DIRTY)
        ring->taken = 0;
}

/* A clock that was set back far begins anew. */
static bool is_time(const struct sample *newest)
{
    int64_t age = bt_wall_ms() - newest->wall_ms;

    return ring->taken == 0 || age >= MINUTE_MS || age < -SET_BACK_MS;
}

void samples_tick(void)
{
    const struct sample *newest = &ring->sample[(ring->taken + SAMPLES - 1) % SAMPLES];

    if (!is_time(newest))
        return;
    enum bt_lock_taken taken = bt_lock_try(&ring->lock);
    if (taken == BT_LOCK_BUSY)
        return;
    lock_taken(taken);
    newest = &ring->sample[(ring->taken + SAMPLES - 1) % SAMPLES];
    if (is_time(newest)) {
        samples_now(&ring->sample[ring->taken % SAMPLES]);
        ring->taken++;
    }
    bt_lock_release(&ring->lock);
}

static unsigned there(void)
{
    return ring->taken < SAMPLES ? ring->taken : SAMPLES;
}

bool samples_nth(unsigned i, struct sample *out)
{
    bool found = false;

    lock_taken(bt_lock_take(&ring->lock));
    if (i < there()) {
        *out = ring->sample[(ring->taken - there() + i) % SAMPLES];
        found = true;
    }
    bt_lock_release(&ring->lock);
    return found;
}

void samples_ago(unsigned minutes, struct sample *out)
{
    int64_t until = bt_wall_ms() - (int64_t)minutes * MINUTE_MS;
    const struct sample *best = NULL;

    lock_taken(bt_lock_take(&ring->lock));
    for (unsigned i = 0; i < there(); i++) {
        const struct sample *one = &ring->sample[(ring->taken - there() + i) % SAMPLES];
        /* Half a minute too young is near enough: the first was taken just after the start. */
        if (best == NULL || one->wall_ms <= until + MINUTE_MS / 2)
            best = one;
    }
    if (best != NULL)
        *out = *best;
    bt_lock_release(&ring->lock);
    if (best == NULL)
        samples_now(out);
}

int64_t samples_quantile(const struct sample *from, const struct sample *to, int time, double share)
{
    int64_t bucket[BT_HISTOGRAM_BUCKETS];

    for (int i = 0; i < BT_HISTOGRAM_BUCKETS; i++) {
        bucket[i] = to->bucket[time][i] - from->bucket[time][i];
        if (bucket[i] < 0)
            bucket[i] = 0;
    }
    return bt_stats_quantile(bucket, share);
}

int64_t samples_observed(const struct sample *from, const struct sample *to, int time)
{
    int64_t sum = 0;

    for (int i = 0; i < BT_HISTOGRAM_BUCKETS; i++)
        sum += to->bucket[time][i] - from->bucket[time][i];
    return sum;
}

double samples_seconds(const struct sample *from, const struct sample *to)
{
    return (double)(to->wall_ms - from->wall_ms) / 1000.0;
}
