/* epoch.c - what was fetched before something was changed or purged is not found afterwards.
 *
 * A number in shared memory for many URLs together: when another one of them is changed, an answer
 * is not kept, which does no harm. One more number stands for all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "epoch.h"

enum { PLACES = 1 << 16, LAYOUT = 1 };

/* In the zone. */
struct shared {
    _Atomic uint32_t all;
    _Atomic uint32_t of[PLACES];
};

static struct bt_zone *zone;

bool epoch_setup(struct bt_error *err)
{
    zone = bt_zone_make("cache-epochs", sizeof(struct shared), LAYOUT, 0, err);
    return zone != NULL;
}

static _Atomic uint32_t *place(bt_str primary)
{
    struct shared *shared = bt_zone_memory(zone);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < primary.len; i++)
        hash = (hash ^ (unsigned char)primary.at[i]) * UINT64_C(0x100000001b3);
    return &shared->of[(hash ^ hash >> 32) % PLACES];
}

uint64_t epoch_now(bt_str primary)
{
    struct shared *shared = bt_zone_memory(zone);

    return (uint64_t)atomic_load(&shared->all) << 32 | atomic_load(place(primary));
}

void epoch_end(bt_str primary)
{
    atomic_fetch_add(place(primary), 1);
}

void epoch_end_all(void)
{
    struct shared *shared = bt_zone_memory(zone);

    atomic_fetch_add(&shared->all, 1);
}
