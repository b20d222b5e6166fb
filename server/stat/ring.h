/* ring.h - lines of all workers for whoever looks on, in memory that nobody waits for.
 *
 * Many write, one after the other under a lock; whoever reads takes no lock, and is overtaken when
 * it is slow. A reader is a program of its own (`bobtailctl tail`), which maps the same memory and
 * says every second until when it is there; so nothing has to be tidied up when it is gone, and
 * workers write nothing when nobody reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_RING_H
#define STAT_RING_H

#include <stdatomic.h>

#include "bt_shared.h"

enum {
    RING_BYTES = 4 * 1024 * 1024,
    RING_RECORD_MAX = 64 * 1024,
    RING_LEASE_MS = 3000 /* how long a reader is believed to be there */
};

struct ring {
    char magic[8];
    _Atomic int64_t wanted_ms; /* until when, of CLOCK_MONOTONIC; 0: nobody reads */
    struct bt_lock lock;
    _Atomic uint64_t head; /* bytes ever written: a record begins there */
    char bytes[RING_BYTES];
};
/* A record is this and then `len` bytes in `texts` texts, each ended by NUL. */
struct ring_record {
    uint32_t len, texts;
};

/* Once, by the one who made the memory. */
void ring_init(struct ring *);
/* Does anybody read? `now_ms` of CLOCK_MONOTONIC. */
static inline bool ring_is_wanted(const struct ring *ring)
{
    return atomic_load_explicit(&ring->wanted_ms, memory_order_relaxed) != 0;
}
/* The same with a look at the clock; takes the mark off when its time is over. */
BT_MUST bool ring_is_read(struct ring *, int64_t now_ms);
/* Workers: what is too long is left out. */
void ring_put(struct ring *, const struct ring_record *, const char *texts);

/* ---- reading ---- */

struct ring_reader {
    struct ring *ring;
    uint64_t at;
    uint64_t missed; /* times that it was overtaken */
};
/* false: it is no ring, or of another version. */
BT_MUST bool ring_open(struct ring_reader *, void *memory, size_t size);
/* Say that we are there. */
void ring_want(struct ring_reader *, int64_t now_ms);
/* The next record's texts into `out` (RING_RECORD_MAX bytes). false: there is none yet. */
BT_MUST bool ring_next(struct ring_reader *, struct ring_record *, char *out);

#endif
