/* ring.c - lines of all workers for whoever looks on, in memory that nobody waits for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/ring.h"

#include <string.h>

#define MAGIC "BTRING1"

void ring_init(struct ring *ring)
{
    memcpy(ring->magic, MAGIC, sizeof ring->magic);
    bt_lock_init(&ring->lock);
}

bool ring_is_read(struct ring *ring, int64_t now_ms)
{
    int64_t until = atomic_load_explicit(&ring->wanted_ms, memory_order_relaxed);

    if (until == 0 || now_ms <= until)
        return until != 0;
    /* Unless a reader was here just now. */
    (void)atomic_compare_exchange_strong(&ring->wanted_ms, &until, 0);
    return false;
}

static void copy_in(struct ring *ring, uint64_t at, const void *from, size_t len)
{
    size_t place = (size_t)(at % RING_BYTES), first = RING_BYTES - place;

    if (first > len)
        first = len;
    memcpy(ring->bytes + place, from, first);
    memcpy(ring->bytes, (const char *)from + first, len - first);
}

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t len)
{
    size_t place = (size_t)(at % RING_BYTES), first = RING_BYTES - place;

    if (first > len)
        first = len;
    memcpy(to, ring->bytes + place, first);
    memcpy((char *)to + first, ring->bytes, len - first);
}

void ring_put(struct ring *ring, const struct ring_record *record, const char *texts)
{
    if (sizeof *record + record->len > RING_RECORD_MAX)
        return;
    /* Dirty: who died inside wrote behind the head, where nobody has looked yet. */
    (void)!bt_lock_take(&ring->lock);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    copy_in(ring, head, record, sizeof *record);
    copy_in(ring, head + sizeof *record, texts, record->len);
    atomic_store_explicit(&ring->head, head + sizeof *record + record->len, memory_order_release);
    bt_lock_release(&ring->lock);
}

bool ring_open(struct ring_reader *reader, void *memory, size_t size)
{
    struct ring *ring = memory;

    if (size < sizeof *ring || memcmp(ring->magic, MAGIC, sizeof ring->magic) != 0)
        return false;
    *reader = (struct ring_reader){ring, atomic_load(&ring->head), 0};
    return true;
}

void ring_want(struct ring_reader *reader, int64_t now_ms)
{
    atomic_store(&reader->ring->wanted_ms, now_ms + RING_LEASE_MS);
}

/* A writer may be at work on the record behind the head, so what lies there is not safe either. */
static bool overtaken(struct ring_reader *reader)
{
    uint64_t head = atomic_load_explicit(&reader->ring->head, memory_order_acquire);

    if (head - reader->at <= RING_BYTES - RING_RECORD_MAX)
        return false;
    reader->at = head;
    reader->missed++;
    return true;
}

bool ring_next(struct ring_reader *reader, struct ring_record *record, char *out)
{
    if (reader->at == atomic_load_explicit(&reader->ring->head, memory_order_acquire) ||
        overtaken(reader))
        return false;
    copy_out(reader->ring, reader->at, record, sizeof *record);
    if (overtaken(reader) || record->len > RING_RECORD_MAX - sizeof *record)
        return false;
    copy_out(reader->ring, reader->at + sizeof *record, out, record->len);
    if (overtaken(reader))
        return false;
    reader->at += sizeof *record + record->len;
    return true;
}
