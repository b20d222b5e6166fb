/* leaf_gauges.c - what is the same for all workers, told by one of them, since tools add up what each
 * of them tells: when a CA expires, and how full the shared store is.
 *
 * Whoever holds the word in a small zone tells; it goes to another when its holder was not heard for a
 * while.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf.h"

#include <time.h>

#include "counts.h"

enum { EVERY_MS = 2000, SILENT_S = 7, GAUGES_LAYOUT = 1 };

/* In the zone: in the low half a member's number and one, in the upper one seconds of a clock that
 * nobody moves. */
struct gauges {
    _Atomic uint64_t holder;
};

static struct bt_zone *gauges_zone;
static struct bt_timer *gauges_timer;

bool leaf_gauges_setup(struct bt_error *err)
{
    gauges_zone = bt_zone_make("tls-leaf-gauges", sizeof(struct gauges), GAUGES_LAYOUT, 0, err);
    return gauges_zone != NULL;
}

static void set(unsigned slot, int64_t value)
{
    atomic_store_explicit(&bt_self.row[slot], value, memory_order_relaxed);
}

/* Is it this worker that tells? */
static bool tells(void)
{
    struct gauges *gauges = bt_zone_memory(gauges_zone);
    uint64_t was = atomic_load(&gauges->holder);
    uint32_t me = bt_member() + 1, now_s;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    now_s = (uint32_t)now.tv_sec;
    if ((uint32_t)was != me && (uint32_t)was != 0 && now_s - (uint32_t)(was >> 32) < SILENT_S)
        return false;
    return atomic_compare_exchange_strong(&gauges->holder, &was, (uint64_t)now_s << 32 | me);
}

static void again(void *arg)
{
    struct bt_dict_state state = {0};
    int64_t left = 0;

    (void)arg;
    if (tells()) {
        left = leaf_ca_expires() - bt_wall_ms() / 1000;
        if (!leaf_store_state(&state))
            state = (struct bt_dict_state){0};
        if (left < LEAF_WARN_S)
            bt_log_limited(
                NULL, left > 0 ? BT_WARN : BT_ERROR, LEAF_DAY_S,
                "a CA that signs for bumped hosts %s %d days; make a new one (bobtailctl "
                "ca init) and install it on clients",
                left > 0 ? "expires in" : "has been expired for",
                (int)((left > 0 ? left : -left) / LEAF_DAY_S));
    }
    set(N_ca_days, left > 0 ? left / LEAF_DAY_S : 0);
    set(N_shared_leaves, (int64_t)state.entries);
    set(N_shared_leaf_bytes, (int64_t)state.bytes);
    set(N_shared_leaf_room, (int64_t)state.room);
    gauges_timer = bt_timer_start((bt_duration){EVERY_MS}, again, NULL);
}

void leaf_gauges_start(void)
{
    again(NULL);
}

void leaf_gauges_stop(void)
{
    bt_timer_cancel(gauges_timer);
    gauges_timer = NULL;
}
