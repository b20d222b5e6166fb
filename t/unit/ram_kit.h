/* ram_kit.h - the RAM store by itself: its files, with a zone of our own and members that are told.
 *
 * The whole of it is in one program, so that tests may look inside. A process is a member as
 * kit_start() says; who it wakes is written down in the zone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RAM_KIT_H
#define RAM_KIT_H

#include <sys/mman.h>

#include "cache/flight.c"
#include "cache/ram.c"
#include "cache/ram_evict.c"
#include "cache/ram_hash.c"
#include "cache/ram_index.c"
#include "cache/ram_read.c"
#include "cache/ram_segment.c"
#include "cache/ram_write.c"

struct bt_zone {
    char *memory;
    uint64_t size;
    bool kept;
    _Atomic bool *woken;
};
static struct bt_zone kit_zone;
static unsigned kit_member = BT_NO_MEMBER;
static int64_t kit_ms = 1000000;
static void (*kit_on_wake)(void *);
static int64_t kit_counts[RAM_COUNTS];

struct bt_zone *bt_zone_make(const char *name, uint64_t size, uint64_t layout, unsigned flags,
                             struct bt_error *err)
{
    (void)name, (void)layout, (void)flags, (void)err;
    if (kit_zone.memory != NULL && kit_zone.size == size) {
        kit_zone.kept = true;
        return &kit_zone;
    }
    kit_zone.size = size;
    kit_zone.kept = false;
    kit_zone.memory = mmap(NULL, size + BT_MEMBERS_MAX, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    kit_zone.woken = (_Atomic bool *)(void *)(kit_zone.memory + size);
    return kit_zone.memory == MAP_FAILED ? NULL : &kit_zone;
}
void *bt_zone_memory(const struct bt_zone *zone)
{
    return zone->memory;
}
uint64_t bt_zone_size(const struct bt_zone *zone)
{
    return zone->size;
}
bool bt_zone_kept(const struct bt_zone *zone)
{
    return zone->kept;
}
unsigned bt_member(void)
{
    return kit_member;
}
void bt_on_death(void (*fn)(void *arg, unsigned member), void *arg)
{
    (void)fn, (void)arg;
}
void bt_wake(unsigned member)
{
    kit_zone.woken[member] = true;
}
void bt_on_wake(void (*fn)(void *arg), void *arg)
{
    (void)arg;
    kit_on_wake = fn;
}
int64_t bt_wall_ms(void)
{
    return kit_ms;
}

static inline void kit_counted(enum ram_count what, int64_t by)
{
    kit_counts[what] += by;
}

/* As the loop would. */
static inline void kit_look(void)
{
    if (atomic_exchange(&kit_zone.woken[kit_member], false))
        kit_on_wake(NULL);
}

static inline void kit_drop(void)
{
    if (kit_zone.memory != NULL)
        munmap(kit_zone.memory, kit_zone.size + BT_MEMBERS_MAX);
    kit_zone.memory = NULL;
}

/* In the master. */
static inline bool kit_setup(int64_t bytes, enum ram_policy policy)
{
    memset(kit_counts, 0, sizeof kit_counts);
    ram_counted = kit_counted;
    return ram_setup(bytes, -1, policy, NULL);
}

/* In a worker. */
static inline bool kit_start(unsigned member)
{
    kit_member = member;
    return ram_start();
}

#endif
