/* segment.h - the shared statistics segment: header, dictionary, one row a worker.
 *
 * A life: the master makes one for each generation (segment_make), every child inherits the mapping
 * by fork, and a reader from outside maps the same file read-only (segment_attach). The segment is a
 * memfd, so that a read-only file system does not matter; `bobtailctl segment` prints its path below
 * /proc. All that a reader needs is in it: the dictionary names, explains and places every counter.
 *
 * Layout, in this order, all numbers in the machine's byte order:
 *
 *   struct segment_head       at 0
 *   struct segment_entry      one a counter, from head.dictionary on
 *   text                      what entries point to, each ended by NUL, from head.text on
 *   row 0                     the master's: what it counts itself and what earlier generations
 *                             counted, kept by name
 *   row 1 .. head.workers     one a worker, each from a page of its own on
 *   row head.workers + 1      what the next generation has taken over so far; no part of any sum
 *
 * A row is a struct segment_worker and then head.slots slots of 8 bytes. A histogram's first slot
 * is the sum of what was observed, then come its buckets (bt_module.h has the formula).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_SEGMENT_H
#define STAT_SEGMENT_H

#include <sys/types.h>

#include "bt_module.h"

#define SEGMENT_MAGIC "BTSTAT1"
enum { SEGMENT_LAYOUT = 1, SEGMENT_WORKERS_MAX = 1024 };

struct segment_head {
    char magic[8];
    uint32_t layout;
    uint32_t generation; /* counts the reloads, from 1 */
    uint32_t workers;    /* rows beside the master's */
    uint32_t slots;      /* in each row */
    uint32_t entries;    /* in the dictionary */
    uint32_t master;     /* its pid */
    uint64_t dictionary; /* offsets from the start of the segment */
    uint64_t text;
    uint64_t rows;
    uint64_t row_size;              /* from one row to the next */
    uint64_t size;                  /* of the segment */
    int64_t started;                /* wall clock of the first generation, seconds */
    int64_t loaded;                 /* wall clock of this generation, seconds */
    _Atomic int64_t clock_shift_ms; /* tests move the clocks of all workers by this */
};

struct segment_entry {
    uint32_t name; /* offsets from head.text */
    uint32_t unit;
    uint32_t doc;
    uint32_t kind; /* enum bt_kind */
    uint32_t slot; /* its first one */
    uint32_t slots;
};

enum segment_state { SEGMENT_ABSENT, SEGMENT_STARTING, SEGMENT_ACCEPTING, SEGMENT_DRAINING };

/* Who writes a row. Written by the master alone. */
struct segment_worker {
    _Atomic int32_t pid;
    _Atomic int32_t state;    /* enum segment_state */
    _Atomic int64_t since;    /* wall clock of its fork, seconds */
    _Atomic int64_t respawns; /* how often this row was taken over from a dead one */
    int64_t spare[5];
};

struct segment {
    struct segment_head *head; /* NULL: none */
    size_t size;
    int fd;
};

/* What a segment is made for: tables of counters, each with the slot that its first row gets. */
struct segment_table {
    const struct bt_counter *row;
    size_t n;
    uint32_t slot;
};

/* The master: a new one, all zero. false: the system has no memory for it (errno). */
BT_MUST bool segment_make(struct segment *, const struct segment_table *tables, size_t n,
                          unsigned workers);
/* Map somebody else's. Everything in it is checked, since it may be of another version or not a
 * segment at all: false then, with the reason in `why`. Takes over fd when it returns true. */
BT_MUST bool segment_attach(struct segment *, int fd, bool writable, const char **why);
void segment_close(struct segment *);

/* Slots of a row: 0 the master's, 1 to head->workers the workers'. */
_Atomic int64_t *segment_row(const struct segment *, unsigned row);
struct segment_worker *segment_worker(const struct segment *, unsigned row);
/* The dictionary. `i` is below head->entries; text is inside the segment. */
const struct segment_entry *segment_entry(const struct segment *, unsigned i);
const char *segment_text(const struct segment *, uint32_t offset);

/* A dead worker's gauges: what it counted up will not be counted down any more. */
void segment_clear_gauges(struct segment *, unsigned row);

/* Takes the sums of `old` over into the master's row of `segment`, by name and kind. What was taken
 * before, by this or an earlier master, is not taken twice: called again while old workers drain, it
 * adds what they counted since. */
void segment_take_over(struct segment *, struct segment *old);

#endif
