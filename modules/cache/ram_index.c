/* ram_index.c - the index: which key lies where. Two buckets of eight slots for each key, no lock.
 *
 * A slot is one word, so a record is found, replaced, moved or gone in one step. What stands in for
 * another takes its slot: there is no moment at which a key is missing that was not removed. Two
 * who insert the same new key at the same moment may both lose it, which is a miss; nobody finds the
 * older one after a commit of a newer one has returned.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "ram.h"

/* The slots of a key, the first bucket first. */
static inline _Atomic uint64_t *slot_of(uint64_t hash, unsigned n)
{
    uint64_t spread = n < BUCKET_SLOTS ? hash : (hash * 0x9e3779b97f4a7c15) >> 32;
    uint64_t bucket = (uint64_t)(uint32_t)spread * ram.buckets >> 32;

    return &ram.index[bucket * BUCKET_SLOTS + n % BUCKET_SLOTS];
}
enum { KEY_SLOTS = 2 * BUCKET_SLOTS };

static inline bool slot_tagged(uint64_t value, uint64_t hash)
{
    return ((value ^ hash) >> SLOT_TAG_SHIFT) == 0 && value != 0;
}

/* ---- counting ---- */

/* The recount of a segment (ram_evict.c) must know who is between the two. */
void ram_doing(bool begin)
{
    uint64_t was = atomic_load_explicit(&ram.row->doing, memory_order_relaxed);

    atomic_store_explicit(&ram.row->doing, begin ? was | 1 : (was | 1) + 1, memory_order_release);
}

static void account(uint32_t segment, int records, int64_t words, int64_t bodies)
{
    struct segment_note *note = &ram.notes[segment];
    uint64_t was = atomic_load_explicit(&note->live, memory_order_relaxed), now;

    atomic_fetch_add_explicit(&note->bodies, bodies, memory_order_relaxed);
    do {
        now = live_add(was, records, words);
    } while (!atomic_compare_exchange_weak(&note->live, &was, now));
}

static void account_record(const struct store_ref *ref, int sign)
{
    const struct record *record = ref_record(ref);
    int64_t body = ref->at[1] == 0 && word_kind(record->word) == RECORD_PLAIN ? ref->length : 0;
    const struct extents *extents = record_extents(record);

    account(place_segment(ref->at[0]), sign, sign * (int64_t)word_size(record->word) / WORD,
            sign * ((int64_t)ref->head.len + body));
    for (uint32_t i = 0; i < ref->at[1]; i++) {
        uint64_t at = atomic_load_explicit(&extents->at[i], memory_order_relaxed);
        const struct extent *extent = place_at(at & PLACE_MASK);
        account(place_segment(at & PLACE_MASK), 0, sign * (int64_t)word_size(extent->word) / WORD,
                sign * (int64_t)(at >> PLACE_BITS));
    }
    if (sign > 0) {
        _Atomic int64_t *oldest = &ram.notes[place_segment(ref->at[0])].oldest;
        int64_t was = atomic_load_explicit(oldest, memory_order_relaxed);
        while ((was == 0 || was > ref->meta->stored) &&
               !atomic_compare_exchange_weak(oldest, &was, ref->meta->stored))
            ;
    }
}

/* ---- changing a slot ---- */

/* From one place to another (0: to nothing), whatever its uses are by now; they stay when `uses` is
 * negative. */
static bool slot_change(_Atomic uint64_t *slot, uint64_t value, uint64_t to, int uses)
{
    uint64_t now = value, next;

    do {
        if (((now ^ value) & ~SLOT_USES) != 0)
            return false;
        next = to | (to == 0 ? 0 : uses < 0 ? now & SLOT_USES : SLOT_USE * (uint64_t)uses);
    } while (!atomic_compare_exchange_weak(slot, &now, next));
    return true;
}

/* The pinned record leaves that slot, and another one comes or none (NULL). */
static bool slot_exchange(_Atomic uint64_t *slot, uint64_t value, const struct store_ref *out,
                          const struct store_ref *in, int uses)
{
    uint64_t to = in == NULL ? 0 : value >> SLOT_TAG_SHIFT << SLOT_TAG_SHIFT | in->at[0];

    ram_doing(true);
    bool done = slot_change(slot, value, to, uses);
    if (done && in != NULL)
        account_record(in, 1);
    if (done && out != NULL)
        account_record(out, -1);
    ram_doing(false);
    return done;
}

/* ---- finding ---- */

static void slot_used(_Atomic uint64_t *slot, uint64_t value)
{
    if (slot_uses(value) < USES_MAX)
        atomic_compare_exchange_strong_explicit(slot, &value, value + SLOT_USE,
                                                memory_order_relaxed, memory_order_relaxed);
}

enum store_found ram_find(bt_str key, struct store_ref *ref, void (*wake)(void *), void *arg)
{
    (void)wake, (void)arg;
    ref->store = NULL;
    if (ram.row == NULL)
        return STORE_MISS;
    uint64_t hash = ram_hash(key);
    __builtin_prefetch(slot_of(hash, BUCKET_SLOTS));
    for (unsigned n = 0; n < KEY_SLOTS; n++) {
        _Atomic uint64_t *slot = slot_of(hash, n);
        uint64_t value = atomic_load_explicit(slot, memory_order_acquire);
        if (slot_tagged(value, hash) && ram_pin_slot(slot, &value, key, ref)) {
            slot_used(slot, value);
            return STORE_HIT;
        }
    }
    ref->store = NULL;
    return STORE_MISS;
}

_Atomic uint64_t *ram_index_slot(uint64_t hash, uint64_t place)
{
    for (unsigned n = 0; n < KEY_SLOTS; n++) {
        _Atomic uint64_t *slot = slot_of(hash, n);
        if ((atomic_load_explicit(slot, memory_order_acquire) & PLACE_MASK) == place)
            return slot;
    }
    return NULL;
}

bool ram_index_owner(uint64_t hash, uint64_t place, struct store_ref *ref, uint32_t *nth)
{
    for (unsigned n = 0; n < KEY_SLOTS; n++) {
        _Atomic uint64_t *slot = slot_of(hash, n);
        uint64_t value = atomic_load_explicit(slot, memory_order_acquire);
        if (!slot_tagged(value, hash) || !ram_pin_slot(slot, &value, BT_STR_NONE, ref))
            continue;
        for (uint32_t i = 0; i < ref->at[1]; i++)
            if ((record_extents(ref_record(ref))->at[i] & PLACE_MASK) == place) {
                *nth = i;
                return true;
            }
        ram_release(ref);
    }
    return false;
}

/* ---- changing ---- */

bool ram_index_drop(uint64_t hash, const struct store_ref *old)
{
    _Atomic uint64_t *slot = ram_index_slot(hash, old->at[0]);

    return slot != NULL && slot_exchange(slot, slot_make(hash, old->at[0]), old, NULL, 0);
}

bool ram_index_swap(uint64_t hash, const struct store_ref *old, uint64_t place, int uses)
{
    _Atomic uint64_t *slot = ram_index_slot(hash, old->at[0]);
    struct store_ref ref;
    bool done;

    if (slot == NULL || !ram_pin_place(place, UINT32_MAX, &ref))
        return false;
    done = slot_exchange(slot, slot_make(hash, old->at[0]), old, &ref, uses);
    ram_release(&ref);
    return done;
}

/* Take all of that key out but the one at `keep`. How many? */
static unsigned remove_but(uint64_t hash, bt_str key, uint64_t keep)
{
    unsigned gone = 0;

    for (unsigned n = 0; n < KEY_SLOTS; n++) {
        _Atomic uint64_t *slot = slot_of(hash, n);
        uint64_t value = atomic_load_explicit(slot, memory_order_acquire);
        struct store_ref ref;
        while (slot_tagged(value, hash) && (value & PLACE_MASK) != keep &&
               ram_pin_slot(slot, &value, key, &ref)) {
            bool done = ref.at[0] != keep && slot_exchange(slot, value, &ref, NULL, 0);
            gone += done;
            ram_release(&ref);
            if (done)
                break;
            value = atomic_load_explicit(slot, memory_order_acquire);
        }
    }
    return gone;
}

bool ram_remove(bt_str key)
{
    return ram.row != NULL && remove_but(ram_hash(key), key, 0) > 0;
}

/* All slots of a key are taken: somebody must go, the least used first. */
static bool crowd_out(uint64_t hash)
{
    _Atomic uint64_t *least = NULL;
    uint64_t of_least = 0;
    struct store_ref ref;
    bool done = false;

    for (unsigned n = 0; n < KEY_SLOTS; n++) {
        _Atomic uint64_t *slot = slot_of(hash, n);
        uint64_t value = atomic_load_explicit(slot, memory_order_acquire);
        if (value == 0)
            return true;
        if (least == NULL || slot_uses(value) < slot_uses(of_least)) {
            least = slot;
            of_least = value;
        }
    }
    uint64_t tag = of_least >> SLOT_TAG_SHIFT;
    if (ram_pin_slot(least, &of_least, BT_STR_NONE, &ref)) {
        done = slot_exchange(least, of_least, &ref, NULL, 0);
        ram_release(&ref);
    } else if (of_least != 0 && of_least >> SLOT_TAG_SHIFT == tag) {
        /* It makes no sense, and leads nowhere. (With another tag it was nobody's look that failed:
         * somebody else is there by now.) */
        done = slot_change(least, of_least, 0, 0);
    }
    if (done)
        ram_count(COUNT_ram_crowded, 1);
    return true;
}

/* In its own slot when its key has one already. */
static bool put_instead(uint64_t hash, bt_str key, const struct store_ref *in)
{
    for (unsigned n = 0; n < KEY_SLOTS; n++) {
        _Atomic uint64_t *slot = slot_of(hash, n);
        uint64_t value = atomic_load_explicit(slot, memory_order_acquire);
        struct store_ref ref;
        while (slot_tagged(value, hash) && ram_pin_slot(slot, &value, key, &ref)) {
            bool done = slot_exchange(slot, value, &ref, in, -1);
            ram_release(&ref);
            if (done)
                return true;
            value = atomic_load_explicit(slot, memory_order_acquire);
        }
    }
    return false;
}

static bool put_empty(uint64_t hash, const struct store_ref *in)
{
    for (unsigned n = 0; n < KEY_SLOTS; n++) {
        _Atomic uint64_t *slot = slot_of(hash, n);
        uint64_t value = 0;
        if (atomic_load_explicit(slot, memory_order_relaxed) != 0)
            continue;
        ram_doing(true);
        bool done = atomic_compare_exchange_strong(slot, &value, slot_make(hash, in->at[0]));
        if (done)
            account_record(in, 1);
        ram_doing(false);
        if (done)
            return true;
    }
    return false;
}

bool ram_index_put(uint64_t hash, bt_str key, uint64_t place)
{
    struct store_ref ref;
    bool done = false;

    if (!ram_pin_place(place, UINT32_MAX, &ref))
        return false;
    for (int tries = 0; tries < 64 && !done; tries++) {
        done = put_instead(hash, key, &ref) || put_empty(hash, &ref);
        if (!done)
            crowd_out(hash);
    }
    if (done)
        remove_but(hash, key, place);
    ram_release(&ref);
    return done;
}

/* A segment is about to be free, and still something in it counts as found: what was there makes no sense
 * any more, so that its slot was not met by its key. Looks at the whole index; must never be needed. */
void ram_index_sweep(uint32_t segment)
{
    uint64_t slots = (uint64_t)ram.buckets * BUCKET_SLOTS;

    for (uint64_t i = 0; i < slots; i++) {
        uint64_t value = atomic_load_explicit(&ram.index[i], memory_order_relaxed);
        if (value != 0 && place_segment(value & PLACE_MASK) == segment &&
            slot_change(&ram.index[i], value, 0, 0))
            ram_count(COUNT_ram_corrupt, 1);
    }
}

/* ---- all of them ---- */

static int64_t now_us(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

/* A record stays in its slot as long as it is found, and so does what comes in its stead. */
void ram_walk(uint64_t *place, bool (*visit)(void *arg, const struct store_ref *), void *arg)
{
    uint64_t slots = (uint64_t)ram.buckets * BUCKET_SLOTS, from = *place, at = from;
    int64_t end = now_us() + 1000;

    *place = 0;
    if (ram.row == NULL)
        return;
    for (; at < slots; at++) {
        _Atomic uint64_t *slot = &ram.index[at];
        uint64_t value = atomic_load_explicit(slot, memory_order_acquire);
        struct store_ref ref;
        if (at % 64 == 0 && at != from && now_us() > end) {
            *place = at;
            return;
        }
        if (value == 0 || !ram_pin_slot(slot, &value, BT_STR_NONE, &ref))
            continue;
        if (visit(arg, &ref))
            slot_exchange(slot, value, &ref, NULL, 0);
        ram_release(&ref);
    }
}
