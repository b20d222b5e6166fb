/* ram_write.c - writing records: reserved in our own segments, filled as bytes come, found at commit.
 *
 * What is small lies in one piece with its head. A body of unknown length begins so, too, with room
 * for 16 KiB, and what it did not need is given back. A large one lies in extents, which are listed in
 * the record. Who writes has each segment of it pinned; when it dies, what it wrote is dead bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "ram.h"

enum { GUESS = 16 * 1024, EXTENTS_AT_FIRST = 8, PAST_CACHES = 4096 };

struct store_writer {
    uint64_t place; /* of the record, pinned; its extents are, too */
    uint64_t hash;
    int64_t length; /* -1: not known */
    int64_t written;
    uint32_t room; /* bytes left where we write: in the record, or in its last extent */
    char *at;      /* there */
    enum ram_queue queue;
    bool large, peeked;
};

static struct record *writer_record(const struct store_writer *w)
{
    return place_at(w->place);
}
static struct extents *writer_extents(const struct store_writer *w)
{
    return (struct extents *)(void *)(writer_record(w) + 1);
}

struct writer_place ram_writer_place(const struct store_writer *w)
{
    return (struct writer_place){.place = w->place,
                                 .written = w->written,
                                 .length = w->length,
                                 .extents = w->large ? writer_extents(w)->n : 0};
}

/* ---- a record's frame ---- */

struct frame {
    bt_str key, head;
    const struct store_meta *meta;
    uint32_t body; /* room for it in the record */
    uint32_t max;  /* room for extents; 0: it is PLAIN */
};

static uint64_t frame_size(const struct frame *frame)
{
    uint64_t size = sizeof(struct record) + frame->key.len + frame->head.len + frame->body;

    if (frame->max > 0)
        size += sizeof(struct extents) + (uint64_t)frame->max * WORD;
    return (size + WORD - 1) / WORD * WORD;
}

/* Its place, pinned; 0: there is no room. */
static uint64_t frame_put(const struct frame *frame, enum ram_queue queue)
{
    uint64_t place, size = frame_size(frame);
    struct record *record;
    char *text;

    if (size > ram.segment_size / 2)
        return 0;
    place = ram_append(queue, (uint32_t)size, true);
    if (place == 0)
        return 0;
    record = place_at(place);
    record->meta = *frame->meta;
    record->meta.own[0] = (uint16_t)frame->key.len;
    record->meta.own[1] = (uint16_t)(frame->head.len & 0xffff);
    record->meta.own[2] = (uint16_t)(frame->head.len >> 16);
    atomic_store_explicit(&record->len, 0, memory_order_relaxed);
    text = (char *)(record + 1);
    if (frame->max > 0) {
        struct extents *extents = (struct extents *)(void *)text;
        extents->length = 0;
        extents->max = frame->max;
        atomic_store_explicit(&extents->n, 0, memory_order_relaxed);
        text = (char *)&extents->at[frame->max];
    }
    memcpy(text, frame->key.at, frame->key.len);
    if (frame->head.len > 0)
        memcpy(text + frame->key.len, frame->head.at, frame->head.len);
    /* A hole may be a little larger than what was asked for. */
    uint32_t had = word_size(atomic_load_explicit(&record->word, memory_order_relaxed));
    atomic_store_explicit(&record->word,
                          record_word(frame->max > 0 ? RECORD_LONG : RECORD_PLAIN, had),
                          memory_order_release);
    return place;
}

/* ---- a body in extents ---- */

static struct frame frame_of(const struct store_writer *w)
{
    const struct record *record = writer_record(w);
    bt_str key = ram_key(record, record->word);

    return (struct frame){
        .key = key,
        .head = {key.at + key.len, record_head_len(record)},
        .meta = &record->meta,
    };
}

/* The record anew, with room for more extents; it has all that it had. */
static bool writer_widen(struct store_writer *w, uint32_t max)
{
    struct frame frame = frame_of(w);
    uint64_t old = w->place, place;
    struct extents *to;

    frame.max = max;
    place = frame_put(&frame, w->queue);
    if (place == 0)
        return false;
    to = (struct extents *)(void *)((struct record *)place_at(place) + 1);
    if (w->large) {
        const struct extents *from = writer_extents(w);
        to->length = from->length;
        for (uint32_t i = 0; i < from->n; i++)
            to->at[i] = from->at[i];
        atomic_store_explicit(&to->n, from->n, memory_order_release);
    }
    w->place = place;
    if (!w->peeked)
        ram_trim(old, 0);
    unpin(place_segment(old));
    return true;
}

static uint32_t extent_wanted(const struct store_writer *w)
{
    int64_t want = w->length >= 0       ? w->length - w->written
                   : w->written < GUESS ? GUESS
                                        : w->written;

    return want < ram.extent_max ? (uint32_t)want : ram.extent_max;
}

static bool writer_extend(struct store_writer *w)
{
    uint32_t want = round_up(extent_wanted(w) + (uint32_t)sizeof(struct extent)), got;
    struct extents *extents = writer_extents(w);

    if (extents->n == extents->max) {
        if (!writer_widen(w, extents->max * 2))
            return false;
        extents = writer_extents(w);
    }
    uint64_t place = ram_append_some(w->queue, want, &got, true);
    if (place == 0)
        return false;
    struct extent *extent = place_at(place);
    uint32_t size = word_size(atomic_load_explicit(&extent->word, memory_order_relaxed));
    extent->hash = w->hash;
    extent->spare = 0;
    atomic_store_explicit(&extent->word, record_word(RECORD_EXTENT, size), memory_order_release);
    w->room = got - (uint32_t)sizeof *extent;
    w->at = extent->data;
    extents->at[extents->n] = place | (uint64_t)w->room << PLACE_BITS;
    atomic_store_explicit(&extents->n, extents->n + 1, memory_order_release);
    return true;
}

/* It was to be small, and is not: what is there goes into the first extent. */
static bool writer_grow(struct store_writer *w)
{
    const struct record *old = writer_record(w);
    uint64_t was = w->place;
    bt_str key = ram_key(old, old->word);
    const char *body = key.at + key.len + record_head_len(old);
    uint32_t n = (uint32_t)w->written;
    bool peeked = w->peeked, done;

    pin(place_segment(was)); /* while we copy out of it */
    w->peeked = true;        /* and it stays as it is */
    done = writer_widen(w, EXTENTS_AT_FIRST);
    w->peeked = peeked;
    if (done) {
        w->large = true;
        w->room = 0;
        while (n > 0 && (done = writer_extend(w))) {
            uint32_t part = n < w->room ? n : w->room;
            memcpy(w->at, body, part);
            w->at += part;
            w->room -= part;
            body += part;
            n -= part;
        }
        if (!peeked)
            ram_trim(was, 0);
    }
    unpin(place_segment(was));
    return done;
}

/* ---- the writer ---- */

static uint32_t extents_for(int64_t length)
{
    if (length < 0)
        return EXTENTS_AT_FIRST;
    return (uint32_t)(length / (ram.extent_max - (int64_t)sizeof(struct extent)) * 2 + 4);
}

static bool writer_frame(struct store_writer *w, struct frame *frame)
{
    uint64_t fixed = frame_size(frame);
    int64_t body = w->length < 0 ? GUESS : w->length;

    if (w->length < 0 && fixed < ram.plain_max / 2 && fixed + GUESS > ram.plain_max)
        body = (int64_t)(ram.plain_max - fixed);
    w->large = (uint64_t)body + fixed > ram.plain_max && body > 0;
    if (w->large)
        frame->max = extents_for(w->length);
    else
        frame->body = (uint32_t)body;
    w->place = frame_put(frame, w->queue);
    if (w->place == 0)
        return false;
    if (!w->large) {
        bt_str key = ram_key(writer_record(w), writer_record(w)->word);
        w->at = (char *)(uintptr_t)key.at + key.len + frame->head.len;
        w->room = frame->body;
    }
    return true;
}

struct store_writer *ram_begin(bt_str key, const struct store_meta *meta, bt_str head,
                               int64_t length)
{
    struct frame frame = {.key = key, .head = head, .meta = meta};
    struct store_writer *w;

    if (ram.row == NULL)
        return NULL;
    if (key.len > UINT16_MAX || head.len > ram.segment_size || length > ram.object_max ||
        (w = malloc(sizeof *w)) == NULL) {
        ram_count(COUNT_ram_refused, 1);
        return NULL;
    }
    *w = (struct store_writer){.hash = ram_hash(key), .length = length, .queue = QUEUE_SMALL};
    if (ram.policy == RAM_LRU || ram_ghost_take(w->hash))
        w->queue = QUEUE_MAIN;
    if (writer_frame(w, &frame))
        return w;
    free(w);
    ram_count(COUNT_ram_refused, 1);
    return NULL;
}

static bool writer_room(struct store_writer *w)
{
    if (w->room > 0)
        return true;
    if (!w->large)
        return writer_grow(w) && (w->room > 0 || writer_extend(w));
    return writer_extend(w);
}

#ifdef __SSE2__
static inline void copy_line(char *to, const char *from)
{
    __m128i *out = (__m128i *)(void *)to;
    const __m128i *in = (const __m128i *)(const void *)from;
    __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
    __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
}
#endif

/* Much is written past the caches: so the old memory need not be read for it, which halves the time,
 * and what others have in there stays. */
static void writer_copy(char *to, const char *from, size_t n)
{
#ifdef __SSE2__
    enum { LINE = 64 };
    if (n >= PAST_CACHES) {
        size_t first = (0 - (uintptr_t)to) % LINE;
        memcpy(to, from, first);
        to += first, from += first, n -= first;
        for (; n >= LINE; to += LINE, from += LINE, n -= LINE)
            copy_line(to, from);
        _mm_sfence(); /* no later store may be seen before these */
    }
#endif
    memcpy(to, from, n);
}

bool ram_write(struct store_writer *w, const bt_str *piece, int n)
{
    int64_t sum = w->written;

    for (int i = 0; i < n; i++)
        sum += (int64_t)piece[i].len;
    if (sum > (w->length >= 0 ? w->length : ram.object_max))
        return false;
    for (int i = 0; i < n; i++) {
        bt_str left = piece[i];
        while (left.len > 0) {
            if (!writer_room(w)) {
                ram_count(COUNT_ram_refused, 1);
                return false;
            }
            size_t part = left.len < w->room ? left.len : w->room;
            writer_copy(w->at, left.at, part);
            w->at += part;
            w->room -= (uint32_t)part;
            w->written += (int64_t)part;
            left.at += part;
            left.len -= part;
        }
    }
    return true;
}

static void writer_end(struct store_writer *w)
{
    if (w->large) {
        const struct extents *extents = writer_extents(w);
        for (uint32_t i = 0; i < extents->n; i++)
            unpin(place_segment(extents->at[i] & PLACE_MASK));
    }
    unpin(place_segment(w->place));
    free(w);
}

void ram_cancel(struct store_writer *w)
{
    if (!w->peeked) {
        if (w->large) {
            const struct extents *extents = writer_extents(w);
            for (uint32_t i = 0; i < extents->n; i++)
                ram_trim(extents->at[i] & PLACE_MASK, 0);
        }
        ram_trim(w->place, 0);
    }
    writer_end(w);
}

/* Nobody reads behind what was written, so what is there can be given back. */
static void writer_trim(struct store_writer *w)
{
    struct record *record = writer_record(w);

    if (w->large) {
        struct extents *extents = writer_extents(w);
        extents->length = w->written;
        if (extents->n == 0)
            return;
        uint64_t last = extents->at[extents->n - 1], len = (last >> PLACE_BITS) - w->room;
        extents->at[extents->n - 1] = (last & PLACE_MASK) | len << PLACE_BITS;
        ram_trim(last & PLACE_MASK, (uint32_t)(len + sizeof(struct extent)));
    } else {
        atomic_store_explicit(&record->len, (uint32_t)w->written, memory_order_relaxed);
        ram_trim(w->place, (uint32_t)(sizeof *record + record_key_len(record) +
                                      record_head_len(record) + (uint64_t)w->written));
    }
}

bool ram_commit(struct store_writer *w)
{
    bool done;

    if (w->length >= 0 && w->written != w->length) {
        ram_cancel(w);
        return false;
    }
    writer_trim(w);
    const struct record *record = writer_record(w);
    done = ram_index_put(w->hash, ram_key(record, record->word), w->place);
    if (done)
        writer_end(w);
    else
        ram_cancel(w);
    return done;
}

bool ram_peek(struct store_writer *w, struct store_ref *ref)
{
    if (!ram_pin_place(w->place, UINT32_MAX, ref))
        return false;
    w->peeked = true;
    ref->length = w->written;
    return true;
}

/* ---- a new head ---- */

static bool renew_plain(const struct store_ref *old, struct frame *frame, enum ram_queue queue,
                        uint64_t hash)
{
    uint64_t place;
    bool done;

    frame->body = (uint32_t)old->length;
    place = frame_put(frame, queue);
    if (place == 0)
        return false;
    struct record *record = place_at(place);
    bt_str key = ram_key(record, record->word);
    memcpy((char *)(uintptr_t)key.at + key.len + frame->head.len, old->head.at + old->head.len,
           frame->body);
    atomic_store_explicit(&record->len, frame->body, memory_order_relaxed);
    done = ram_index_swap(hash, old, place, RAM_USES_KEPT);
    if (!done)
        ram_trim(place, 0);
    unpin(place_segment(place));
    return done;
}

static bool renew_long(const struct store_ref *old, struct frame *frame, enum ram_queue queue,
                       uint64_t hash)
{
    const struct extents *from = record_extents(ref_record(old));
    uint64_t place;
    bool done;

    frame->max = (uint32_t)old->at[1];
    place = frame_put(frame, queue);
    if (place == 0)
        return false;
    struct extents *to = (struct extents *)(void *)((struct record *)place_at(place) + 1);
    to->length = from->length;
    for (uint32_t i = 0; i < frame->max; i++)
        to->at[i] = from->at[i];
    atomic_store_explicit(&to->n, frame->max, memory_order_release);
    done = ram_index_swap(hash, old, place, RAM_USES_KEPT);
    if (!done)
        ram_trim(place, 0);
    unpin(place_segment(place));
    return done;
}

bool ram_renew(const struct store_ref *old, const struct store_meta *meta, bt_str head)
{
    struct frame frame = {.key = old->key, .head = head, .meta = meta};
    enum ram_queue queue;

    if (ram.row == NULL || old->store == NULL || head.len > ram.segment_size)
        return false;
    queue = state_queue(ram.states[place_segment(old->at[0])]);
    if (old->at[1] > 0) /* a long one with nothing in it becomes a plain one */
        return renew_long(old, &frame, queue, ram_hash(old->key));
    return renew_plain(old, &frame, queue, ram_hash(old->key));
}
