/* gauges.c - what the memory holds, told once a second by one worker for all of them.
 *
 * Tools add up the gauges of all workers, so only one may tell: whoever holds a small zone's word,
 * which goes to another when its holder was not heard for a few seconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "gauges.h"

#include <time.h>

#include "counts.h"

enum { EVERY_MS = 1000, SILENT_S = 4, LAYOUT = 1 };

/* In the zone. The low half of `holder` is a member's number and one, the upper one seconds of a
 * clock that nobody moves. */
struct shared {
    _Atomic uint64_t holder;
};

static struct bt_zone *zone;
static struct bt_timer *timer;

bool gauges_setup(struct bt_error *err)
{
    zone = bt_zone_make("cache-gauges", sizeof(struct shared), LAYOUT, 0, err);
    return zone != NULL;
}

static void set(unsigned slot, int64_t value)
{
    atomic_store_explicit(&bt_self.row[slot], value, memory_order_relaxed);
}

static void tell(const struct ram_sums *sums)
{
    set(N_size, sums->size);
    set(N_used, sums->used);
    set(N_live, sums->live);
    set(N_bodies, sums->bodies);
    set(N_records, sums->records);
    set(N_oldest, sums->oldest > 0 ? (bt_wall_ms() - sums->oldest) / 1000 : 0);
}

static uint32_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec;
}

/* Is it this worker that tells? */
static bool holds(void)
{
    struct shared *shared = bt_zone_memory(zone);
    uint64_t was = atomic_load(&shared->holder);
    uint32_t me = bt_member() + 1, now = now_s();
    bool mine = (uint32_t)was == me;

    if (!mine && (uint32_t)was != 0 && now - (uint32_t)(was >> 32) < SILENT_S)
        return false;
    return atomic_compare_exchange_strong(&shared->holder, &was, (uint64_t)now << 32 | me);
}

static void again(void *arg)
{
    struct ram_sums sums = {0};

    (void)arg;
    if (holds())
        ram_sums(&sums);
    tell(&sums);
    timer = bt_timer_start((bt_duration){EVERY_MS}, again, NULL);
}

void gauges_start(void)
{
    again(NULL);
}

void gauges_stop(void)
{
    struct shared *shared = bt_zone_memory(zone);
    uint64_t was = atomic_load(&shared->holder);
    struct ram_sums none = {0};

    bt_timer_cancel(timer);
    timer = NULL;
    tell(&none);
    if ((uint32_t)was == bt_member() + 1)
        (void)atomic_compare_exchange_strong(&shared->holder, &was, 0);
}
