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
    if (!ram_setup(bytes, -1, policy, NULL))
        return false;
    for (uint64_t i = 0; i < 4 && !kit_zone.kept; i++) /* so that each run is like the last */
        ram.zone->secret[i] = (i + 1) * 0x9e3779b97f4a7c15;
    return true;
}

/* In a worker. */
static inline bool kit_start(unsigned member)
{
    kit_member = member;
    return ram_start();
}

/* ---- keys, and bodies that say in their first bytes how all others must be ---- */

enum { KIT_BODY_MAX = 150000, KIT_SALTS = 65536 };
struct kit_stamp {
    uint64_t key, salt, length;
};
static uint8_t kit_pattern[KIT_BODY_MAX + KIT_SALTS];
static uint64_t kit_seed = 4711;

static inline uint32_t kit_dice(uint32_t sides)
{
    kit_seed ^= kit_seed << 13;
    kit_seed ^= kit_seed >> 7;
    kit_seed ^= kit_seed << 17;
    return (uint32_t)((kit_seed >> 32) * sides >> 32);
}

static inline void kit_pattern_make(void)
{
    for (size_t i = 0; i < sizeof kit_pattern; i++)
        kit_pattern[i] = (uint8_t)kit_dice(256);
}

static inline bt_str kit_key(char at[32], uint32_t n)
{
    return (bt_str){at, (size_t)snprintf(at, 32, "http://h/%u", n)};
}

static inline size_t kit_body_make(uint8_t *body, uint32_t key, size_t length)
{
    struct kit_stamp stamp = {key, kit_dice(KIT_SALTS), length};

    if (length < sizeof stamp)
        length = stamp.length = sizeof stamp;
    memcpy(body, kit_pattern + stamp.salt, length);
    memcpy(body, &stamp, sizeof stamp);
    return length;
}

/* Of that key (-1: of any); `to` bytes of it at least must be there (-1: all). */
static inline bool kit_body_right(const struct store_ref *ref, int64_t key, int64_t to)
{
    struct kit_stamp stamp;
    bt_str piece[5];
    int64_t at = 0, end = to < 0 ? ref->length : to;
    int n;

    if (end > ref->length)
        return false;
    if (end < (int64_t)sizeof stamp)
        return to >= 0;
    if (ram_read(ref, 0, piece, 1) != 1 || piece[0].len < sizeof stamp)
        return false;
    memcpy(&stamp, piece[0].at, sizeof stamp);
    if ((key >= 0 && stamp.key != (uint64_t)key) || stamp.salt >= KIT_SALTS ||
        (to < 0 && stamp.length != (uint64_t)ref->length))
        return false;
    at = sizeof stamp;
    while (at < end && (n = ram_read(ref, at, piece, 5)) > 0)
        for (int i = 0; i < n; i++) {
            if (at + (int64_t)piece[i].len > ref->length ||
                memcmp(piece[i].at, kit_pattern + stamp.salt + at, piece[i].len) != 0)
                return false;
            at += (int64_t)piece[i].len;
        }
    return at >= end;
}

/* A head names the key, and how often it was renewed. */
static inline bt_str kit_head(char at[40], uint32_t key, uint32_t renewed)
{
    return (bt_str){at, (size_t)snprintf(at, 40, "HEAD %u %u\r\n", key, renewed)};
}

static inline bool kit_head_right(const struct store_ref *ref, uint32_t key)
{
    char want[32];
    int n = snprintf(want, sizeof want, "HEAD %u ", key);

    return ref->head.len > (size_t)n && memcmp(ref->head.at, want, (size_t)n) == 0;
}

/* ---- is all accounted for? ---- */

/* Nobody changes anything meanwhile. How many records can be found? */
static inline uint64_t kit_assert_counted(void)
{
    struct ram_sums sums;
    struct tally all = {0}, one;
    uint64_t slots = 0;

    ram_sums(&sums);
    for (uint32_t i = 0; i < ram.segments; i++) {
        if (state_of(ram.states[i]) == SEGMENT_FREE)
            continue;
        assert_true(tally_segment(i, &one));
        if (state_of(ram.states[i]) == SEGMENT_CLOSING)
            assert_int_equal(one.words, 0);
        all.records += one.records;
        all.words += one.words;
        all.bodies += one.bodies;
    }
    for (uint64_t i = 0; i < (uint64_t)ram.buckets * BUCKET_SLOTS; i++)
        slots += ram.index[i] != 0;
    assert_int_equal(sums.records, all.records);
    assert_int_equal(sums.records, slots);
    assert_int_equal(sums.live, all.words * WORD);
    assert_int_equal(sums.bodies, all.bodies);
    assert_true(sums.live <= sums.used && sums.used <= (int64_t)ram.size);
    return slots;
}

/* Likewise; all others have left. */
static inline uint64_t kit_assert_left(void)
{
    struct ram_sums sums;

    for (int i = 0; i < 100000 && ram_recount_left() > 0; i++)
        ram_sums(&sums);
    assert_int_equal(ram_recount_left(), 0);
    for (uint32_t i = 0; i < ram.segments; i++) {
        enum segment_state its = state_of(ram.states[i]);
        assert_false(ram_pinned(i));
        assert_true(its == SEGMENT_FREE || its == SEGMENT_SEALED || its == SEGMENT_CLOSING);
    }
    for (uint32_t i = 0; i < ram.flight_entries; i++)
        assert_int_equal(word_state(entry_at(i)->word), FREE);
    return kit_assert_counted();
}

#endif
