/* ram.c - the store in memory: one zone for all workers, and what a process knows of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "ram.h"

enum { ZONE_MIN = 1 << 20, FLIGHTS_MIN = 64, FLIGHTS_MAX = 8192 };
#define MAGIC UINT64_C(0x626f627461696c01)

struct ram ram;
void (*ram_counted)(enum ram_count what, int64_t by);

/* ---- geometry: the same in all processes for a size ---- */

static unsigned log2_floor(uint64_t n)
{
    return 63u - (unsigned)__builtin_clzll(n);
}

/* A thousandth of the zone; of a small one, more, so that not all bodies are cut up. */
static unsigned segment_shift(uint64_t bytes)
{
    uint64_t size = bytes / 1024;

    if (size < 65536)
        size = bytes / 256 < 65536 ? bytes / 256 : 65536;
    unsigned shift = log2_floor(size);
    return shift < SEGMENT_MIN_SHIFT   ? SEGMENT_MIN_SHIFT
           : shift > SEGMENT_MAX_SHIFT ? SEGMENT_MAX_SHIFT
                                       : shift;
}

static uint64_t up_to(uint64_t n, uint64_t step)
{
    return (n + step - 1) / step * step;
}

struct plan {
    uint64_t rows, flights, index, ghosts, states, notes, data, end;
};

/* The rows of members and the flights come on top of what was asked for; little of them is touched. */
static void plan_make(struct plan *plan, uint64_t bytes)
{
    unsigned shift = segment_shift(bytes);
    uint64_t size = UINT64_C(1) << shift;

    ram.size = bytes;
    ram.shift = shift - 3;
    ram.segment_size = (uint32_t)size;
    ram.buckets = (uint32_t)(bytes / (BYTES_PER_SLOT * BUCKET_SLOTS));
    ram.ghost_buckets = ram.buckets * 3 / 4;
    uint64_t tables = (uint64_t)ram.buckets * 64 + (uint64_t)ram.ghost_buckets * 64;
    ram.segments = (uint32_t)((bytes - tables) / (size + sizeof(struct segment_note) + WORD));
    ram.flight_entries = FLIGHTS_MIN;
    while (ram.flight_entries < FLIGHTS_MAX && ram.flight_entries < bytes / 16384)
        ram.flight_entries *= 2;
    ram.row_size = up_to(sizeof(struct member_row) + (uint64_t)ram.segments * sizeof(uint32_t), 64);
    plan->rows = up_to(sizeof(struct ram_zone), 64);
    plan->flights = plan->rows + ram.row_size * BT_MEMBERS_MAX;
    plan->index = up_to(plan->flights + flight_bytes(ram.flight_entries), 64);
    plan->ghosts = plan->index + (uint64_t)ram.buckets * 64;
    plan->states = plan->ghosts + (uint64_t)ram.ghost_buckets * 64;
    plan->notes = up_to(plan->states + (uint64_t)ram.segments * WORD, 64);
    plan->data = up_to(plan->notes + ram.segments * sizeof(struct segment_note), 4096);
    plan->end = plan->data + ram.segments * size;
}

static void plan_limits(int64_t object_max)
{
    uint32_t size = ram.segment_size;

    ram.plain_max = size / 8 < 4096 ? 4096 : size / 8;
    ram.extent_max = size - 64 < 131072 ? size - 64 : 131072;
    if (ram.extent_max < size / 4)
        ram.extent_max = size / 4;
    ram.reserve = ram.segments / 64;
    if (ram.reserve < 8) /* a few workers may begin something large at the same moment */
        ram.reserve = ram.segments / 16 < 8 ? ram.segments / 16 : 8;
    ram.object_max = (int64_t)(ram.size / 4);
    if (object_max >= 0 && object_max < ram.object_max)
        ram.object_max = object_max;
}

static void plan_use(const struct plan *plan, char *memory)
{
    ram.zone = (struct ram_zone *)(void *)memory;
    ram.rows = memory + plan->rows;
    ram.flights = memory + plan->flights;
    ram.index = (_Atomic uint64_t *)(void *)(memory + plan->index);
    ram.ghosts = (_Atomic uint32_t *)(void *)(memory + plan->ghosts);
    ram.states = (_Atomic uint64_t *)(void *)(memory + plan->states);
    ram.notes = (struct segment_note *)(void *)(memory + plan->notes);
    ram.data = memory + plan->data;
}

/* ---- a process begins and ends ---- */

static void forget_own(void)
{
    for (int queue = 0; queue < QUEUES; queue++)
        ram.open[queue] = (struct open_segment){.segment = NO_SEGMENT};
    ram.evict.segment = NO_SEGMENT;
}

bool ram_setup(int64_t bytes, int64_t object_max, enum ram_policy policy, struct bt_error *err)
{
    struct plan plan;
    struct bt_zone *zone;

    ram = (struct ram){.policy = policy};
    plan_make(&plan, bytes < ZONE_MIN ? ZONE_MIN : (uint64_t)bytes);
    plan_limits(object_max);
    zone = bt_zone_make("cache", plan.end, RAM_LAYOUT, BT_ZONE_HUGE, err);
    if (zone == NULL)
        return false;
    plan_use(&plan, bt_zone_memory(zone));
    if (ram.zone->magic != MAGIC) {
        if (getrandom(ram.zone->secret, sizeof ram.zone->secret, 0) !=
            (ssize_t)sizeof ram.zone->secret)
            return bt_complain(err, NULL, "the system gives no random numbers");
        for (uint32_t i = 0; i < ram.segments; i++)
            ram_segment_reset(i);
        ram.zone->magic = MAGIC;
    }
    forget_own();
    return true;
}

static void on_death(void *arg, unsigned member)
{
    (void)arg;
    ram_bury(member);
}

/* Who had our number before left cleanly, and perhaps in a hurry. */
bool ram_start(void)
{
    static const uint64_t any[QUEUES];
    struct ram_survey survey;
    unsigned member = bt_member();
    uint32_t high;

    if (ram.zone == NULL || member >= BT_MEMBERS_MAX)
        return true;
    ram.member = member;
    ram.row = ram_row(member);
    ram.hint = member * 7 % ram.segments;
    forget_own();
    ram_bury(member);
    high = atomic_load(&ram.zone->members);
    while (high <= member && !atomic_compare_exchange_weak(&ram.zone->members, &high, member + 1))
        ;
    ram_survey(&survey, any);
    flight_start();
    bt_on_death(on_death, NULL);
    return true;
}

void ram_stop(void)
{
    if (ram.row == NULL)
        return;
    ram_bury(ram.member);
    ram.row = NULL;
    forget_own();
}

/* May be begun again at any point: each step changes only what still bears its number. */
void ram_bury(unsigned member)
{
    if (member >= BT_MEMBERS_MAX)
        return;
    struct member_row *row = ram_row(member);
    bool owned = atomic_load(&row->doing) & 1;
    flight_bury(member);
    for (uint32_t i = 0; i < ram.segments; i++) {
        uint64_t word = atomic_load(&ram.states[i]);
        enum segment_state its = state_of(word);
        if ((its != SEGMENT_OPEN && its != SEGMENT_EVICTING && its != SEGMENT_CLAIMED) ||
            state_owner(word) != member)
            continue;
        owned |= its == SEGMENT_EVICTING;
        atomic_compare_exchange_strong(
            &ram.states[i], &word,
            state_word(SEGMENT_SEALED, state_queue(word), BT_MEMBERS_MAX, state_turn(word)));
    }
    for (uint32_t i = 0; i < ram.segments; i++)
        if (atomic_load_explicit(&row->pins[i], memory_order_relaxed) != 0)
            atomic_store(&row->pins[i], 0);
    if (owned) { /* it may have died between a change and its count */
        uint64_t was = atomic_load(&ram.zone->recount);
        while (!atomic_compare_exchange_weak(&ram.zone->recount, &was,
                                             ((was >> 32) + 1) << 32 | ram.segments))
            ;
    }
    atomic_store(&row->doing, atomic_load(&row->doing) & ~UINT64_C(1));
}

/* ---- sums ---- */

void ram_sums(struct ram_sums *sums)
{
    *sums = (struct ram_sums){.size = (int64_t)ram.size};
    if (ram.zone == NULL)
        return;
    if (ram.row != NULL)
        ram_recount_some(8);
    for (uint32_t i = 0; i < ram.segments; i++) {
        const struct segment_note *note = &ram.notes[i];
        uint64_t word = atomic_load_explicit(&ram.states[i], memory_order_relaxed);
        uint64_t live = atomic_load_explicit(&note->live, memory_order_relaxed);
        int64_t oldest = atomic_load_explicit(&note->oldest, memory_order_relaxed);
        if (state_of(word) == SEGMENT_FREE)
            continue;
        sums->used += ram.segment_size;
        sums->pinned += ram_pinned(i);
        if (state_of(word) == SEGMENT_CLOSING) /* nothing in it can be found */
            continue;
        sums->live += (int64_t)live_words(live) * WORD;
        sums->records += (int64_t)live_records(live);
        sums->bodies += atomic_load_explicit(&note->bodies, memory_order_relaxed);
        if (live_records(live) > 0 && oldest != 0 && (sums->oldest == 0 || oldest < sums->oldest))
            sums->oldest = oldest;
    }
}

const struct store store_ram = {
    .name = "ram",
    .find = ram_find,
    .release = ram_release,
    .hold = ram_hold,
    .read = ram_read,
    .begin = ram_begin,
    .write = ram_write,
    .commit = ram_commit,
    .cancel = ram_cancel,
    .peek = ram_peek,
    .renew = ram_renew,
    .remove = ram_remove,
    .walk = ram_walk,
};
