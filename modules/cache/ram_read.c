/* ram_read.c - pins on records, and reading what is pinned.
 *
 * What a slot points to is looked at with suspicion: sizes are held against the segment's, whatever
 * wrote them. A record that makes no sense is a miss, and counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "ram.h"

/* Its kind and size fit its segment; the size in *size. */
static bool place_sane(uint64_t place, uint32_t *word)
{
    uint32_t segment = place_segment(place), at = place_offset(place), size;
    const struct record *record;

    if (segment >= ram.segments || at < WORD || at > ram.segment_size - 2 * WORD)
        return false;
    record = place_at(place);
    *word = atomic_load_explicit(&record->word, memory_order_acquire);
    size = word_size(*word);
    return size >= 2 * WORD && size <= ram.segment_size - at;
}

const struct record *ram_record_now(uint64_t place, uint32_t *now)
{
    const struct record *record;
    uint64_t need;
    uint32_t word;

    if (!place_sane(place, &word) || word_size(word) < sizeof *record)
        return NULL;
    record = place_at(place);
    need = sizeof *record + record_key_len(record) + (uint64_t)record_head_len(record);
    if (word_kind(word) == RECORD_PLAIN) {
        need += atomic_load_explicit(&record->len, memory_order_relaxed);
    } else if (word_kind(word) == RECORD_LONG) {
        if (word_size(word) < sizeof *record + sizeof(struct extents))
            return NULL;
        const struct extents *extents = record_extents(record);
        need += sizeof *extents + (uint64_t)extents->max * sizeof *extents->at;
        if (atomic_load_explicit(&extents->n, memory_order_acquire) > extents->max)
            return NULL;
    } else {
        return NULL;
    }
    *now = word;
    return need <= word_size(word) ? record : NULL;
}

const struct record *ram_record(uint64_t place)
{
    uint32_t word;

    return ram_record_now(place, &word);
}

const struct extent *ram_extent(uint64_t place)
{
    uint32_t word;

    if (!place_sane(place, &word) || word_kind(word) != RECORD_EXTENT)
        return NULL;
    return place_at(place);
}

static const char *record_text(const struct record *record, uint32_t word)
{
    const struct extents *extents = record_extents(record);

    if (word_kind(word) == RECORD_PLAIN)
        return (const char *)(record + 1);
    return (const char *)&extents->at[extents->max];
}

bt_str ram_key(const struct record *record, uint32_t word)
{
    return (bt_str){record_text(record, word), record_key_len(record)};
}

/* at[0]: its place. at[1]: extents that are pinned, at[2]: bytes of body there; both LONG only. */
static void ref_fill(struct store_ref *ref, const struct record *record, uint64_t place)
{
    const char *text = record_text(record,
                                   atomic_load_explicit(&record->word, memory_order_relaxed));
    uint32_t key_len = record_key_len(record);

    ref->store = &store_ram;
    ref->meta = &record->meta;
    ref->key = (bt_str){text, key_len};
    ref->head = (bt_str){text + key_len, record_head_len(record)};
    ref->length = atomic_load_explicit(&record->len, memory_order_relaxed);
    ref->at[0] = place;
    ref->at[1] = ref->at[2] = ref->at[3] = 0;
}

static bool record_long(const struct record *record)
{
    return word_kind(atomic_load_explicit(&record->word, memory_order_relaxed)) == RECORD_LONG;
}

/* The first n extents; false, and none: one makes no sense. */
static bool extents_pin(const struct extents *extents, uint32_t n, struct store_ref *ref)
{
    int64_t length = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = atomic_load_explicit(&extents->at[i], memory_order_acquire);
        uint32_t segment = place_segment(at & PLACE_MASK);
        if (segment >= ram.segments) {
            while (i-- > 0)
                unpin(place_segment(extents->at[i] & PLACE_MASK));
            return false;
        }
        pin(segment);
        length += (int64_t)(at >> PLACE_BITS);
    }
    ref->at[1] = n;
    ref->at[2] = (uint64_t)length;
    return true;
}

static void extents_unpin(const struct extents *extents, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        unpin(place_segment(atomic_load_explicit(&extents->at[i], memory_order_relaxed) &
                            PLACE_MASK));
}

/* Are they extents of the same key, as far as a slot tells, and as long as the list says? All are pinned. */
static bool extents_sane(const struct extents *extents, uint32_t n, uint64_t slot)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = atomic_load_explicit(&extents->at[i], memory_order_relaxed);
        const struct extent *extent = ram_extent(at & PLACE_MASK);
        if (extent == NULL || (extent->hash ^ slot) >> SLOT_TAG_SHIFT != 0 ||
            (at >> PLACE_BITS) + sizeof *extent >
                word_size(atomic_load_explicit(&extent->word, memory_order_relaxed)))
            return false;
    }
    return true;
}

static bool slot_same(_Atomic uint64_t *slot, uint64_t value)
{
    uint64_t now = atomic_load_explicit(slot, memory_order_acquire);

    return ((now ^ value) & ~SLOT_USES) == 0;
}

enum pinned { PINNED, PIN_AGAIN, PIN_NO };

static enum pinned pin_long(_Atomic uint64_t *slot, uint64_t value, const struct record *record,
                            struct store_ref *ref)
{
    const struct extents *extents = record_extents(record);
    uint32_t n = atomic_load_explicit(&extents->n, memory_order_acquire);

    if (!extents_pin(extents, n, ref)) {
        ram_count(COUNT_ram_corrupt, 1);
        return PIN_NO;
    }
    pin_fence();
    bool same = slot_same(slot, value);
    if (same && extents_sane(extents, n, value) && (int64_t)ref->at[2] == extents->length) {
        ref->length = extents->length;
        return PINNED;
    }
    extents_unpin(extents, n);
    if (same)
        ram_count(COUNT_ram_corrupt, 1);
    return same ? PIN_NO : PIN_AGAIN;
}

static enum pinned pin_once(_Atomic uint64_t *slot, uint64_t value, bt_str key,
                            struct store_ref *ref)
{
    uint64_t place = value & PLACE_MASK;
    uint32_t segment = place_segment(place);
    const struct record *record;
    enum pinned pinned = PINNED;

    if (segment >= ram.segments)
        return PIN_NO;
    /* Memory comes while the fence is waited for. Whatever is there by now, looking does no harm. */
    __builtin_prefetch(place_at(place));
    __builtin_prefetch((const char *)place_at(place) + 64);
    __builtin_prefetch((const char *)place_at(place) + 128);
    pin(segment);
    pin_fence();
    if (!slot_same(slot, value)) {
        unpin(segment);
        return PIN_AGAIN;
    }
    record = ram_record(place);
    if (record == NULL) {
        ram_count(COUNT_ram_corrupt, 1);
        pinned = PIN_NO;
    } else {
        ref_fill(ref, record, place);
        if (key.at != NULL &&
            (key.len != ref->key.len || memcmp(key.at, ref->key.at, key.len) != 0))
            pinned = PIN_NO;
        else if (record_long(record))
            pinned = pin_long(slot, value, record, ref);
    }
    if (pinned != PINNED)
        unpin(segment);
    return pinned;
}

bool ram_pin_slot(_Atomic uint64_t *slot, uint64_t *value, bt_str key, struct store_ref *ref)
{
    uint64_t tag = *value >> SLOT_TAG_SHIFT;

    while (*value != 0 && *value >> SLOT_TAG_SHIFT == tag) {
        enum pinned pinned = pin_once(slot, *value, key, ref);
        if (pinned != PIN_AGAIN)
            return pinned == PINNED;
        *value = atomic_load_explicit(slot, memory_order_acquire);
    }
    return false;
}

bool ram_pin_place(uint64_t place, uint32_t n, struct store_ref *ref)
{
    uint32_t segment = place_segment(place), has = 0;
    const struct record *record = NULL;

    if (segment >= ram.segments)
        return false;
    pin(segment);
    pin_fence();
    record = ram_record(place);
    if (record != NULL && record_long(record))
        has = atomic_load_explicit(&record_extents(record)->n, memory_order_acquire);
    if (record == NULL) {
        unpin(segment);
        return false;
    }
    ref_fill(ref, record, place);
    n = n < has ? n : has;
    if (n > 0 && !extents_pin(record_extents(record), n, ref)) {
        unpin(segment);
        return false;
    }
    pin_fence();
    return true;
}

void ram_release(struct store_ref *ref)
{
    const struct record *record;

    if (ref->store == NULL)
        return;
    record = ref_record(ref);
    if (ref->at[1] > 0)
        extents_unpin(record_extents(record), (uint32_t)ref->at[1]);
    unpin(place_segment(ref->at[0]));
    ref->store = NULL;
}

void ram_hold(const struct store_ref *ref, struct store_ref *also)
{
    const struct record *record = ref_record(ref);

    *also = *ref;
    pin(place_segment(ref->at[0]));
    for (uint32_t i = 0; i < ref->at[1]; i++)
        pin(place_segment(record_extents(record)->at[i] & PLACE_MASK));
}

static int read_long(const struct store_ref *ref, int64_t from, bt_str *piece, int max)
{
    const struct extents *extents = record_extents(ref_record(ref));
    int64_t end = ref->length, start = 0;
    int n = 0;

    for (uint32_t i = 0; i < ref->at[1] && n < max && from < end; i++) {
        uint64_t at = atomic_load_explicit(&extents->at[i], memory_order_relaxed);
        int64_t len = (int64_t)(at >> PLACE_BITS);
        const struct extent *extent = place_at(at & PLACE_MASK);
        if (from < start + len) {
            int64_t stop = start + len < end ? start + len : end;
            piece[n++] = (bt_str){extent->data + (from - start), (size_t)(stop - from)};
            from = stop;
        }
        start += len;
    }
    return n;
}

int ram_read(const struct store_ref *ref, int64_t from, bt_str *piece, int max)
{
    if (from < 0 || from >= ref->length || max <= 0)
        return 0;
    if (record_long(ref_record(ref)))
        return read_long(ref, from, piece, max);
    piece[0] = (bt_str){ref->head.at + ref->head.len + from, (size_t)(ref->length - from)};
    return 1;
}
