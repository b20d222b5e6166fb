/* ram.h - how the zone of the RAM store is laid out, and what its files (ram*.c, flight.c) share.
 *
 *   header | a row a member | flights | index | ghosts | states | notes of segments | segments
 *
 * A segment is a piece of the log. It belongs to one member, who appends to it without a lock, until it
 * is full; then it stands in the queue of its kind until it is the oldest there, what is worth it is
 * copied out, and it is free. Places are counted in words of 8 bytes from the first segment on.
 *
 * What makes it safe at any instruction: a record is *live* when a slot of the index points to it,
 * and by nothing else. A reader writes its pin (a count of its own, per segment), and then looks at
 * the slot again; whoever wants to use a segment again takes its records out of the index, and then
 * looks at all pins. So one of the two sees the other. Counts of what is live are for sums and hints
 * alone: a death may leave them wrong, and they are counted again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_RAM_H
#define CACHE_RAM_H

#include <stdatomic.h>
#include <string.h>

#include "store.h"

enum {
    RAM_LAYOUT = 5, /* changes when anything in this file does that lies in a zone */
    WORD = 8,
    SEGMENT_MIN_SHIFT = 14,
    SEGMENT_MAX_SHIFT = 22,
    BYTES_PER_SLOT = 384, /* of the zone */
    BUCKET_SLOTS = 8,     /* a cache line */
    GHOST_WAYS = 16,      /* a cache line */
    USES_MAX = 3,
    EVICT_AHEAD = 8, /* segments that are chosen at a time */
    RAM_PIECE = 64,  /* what is left over in smaller pieces is left over */
    RAM_USES_KEPT = -1,
};
#define NO_SEGMENT UINT32_MAX

/* ---- segments ---- */

enum segment_state {
    SEGMENT_FREE,
    SEGMENT_OPEN,
    SEGMENT_SEALED,
    SEGMENT_EVICTING,
    SEGMENT_CLOSING,
    SEGMENT_CLAIMED /* about to be EVICTING, or what it was when somebody has it pinned */
};
enum ram_queue { QUEUE_SMALL, QUEUE_MAIN, QUEUES };

/* The state of a segment is one word, changed by compare-and-swap alone: state, queue, owner (who
 * appends, or evicts) and a number that tells its turn in the queue. */
static inline uint64_t state_word(enum segment_state state, enum ram_queue queue, unsigned owner,
                                  uint64_t turn)
{
    return turn << 16 | (uint64_t)owner << 6 | (uint64_t)queue << 4 | (uint64_t)state;
}
static inline enum segment_state state_of(uint64_t word)
{
    return (enum segment_state)(word & 15);
}
static inline enum ram_queue state_queue(uint64_t word)
{
    return (enum ram_queue)(word >> 4 & 3);
}
static inline unsigned state_owner(uint64_t word)
{
    return (unsigned)(word >> 6 & 1023);
}
static inline uint64_t state_turn(uint64_t word)
{
    return word >> 16;
}

struct segment_note {
    _Atomic uint32_t used;      /* bytes from its beginning on that can be walked */
    _Atomic uint32_t populated; /* that have memory; only ever grows */
    _Atomic uint64_t live;      /* changes << 40 | records << 22 | words: of what can be found */
    _Atomic int64_t bodies;     /* bytes of heads and bodies of those */
    _Atomic int64_t oldest;     /* the earliest .stored in it; 0: nothing */
};

/* ---- records ---- */

enum record_kind { RECORD_DEAD = 1, RECORD_PLAIN, RECORD_LONG, RECORD_EXTENT };

/* PLAIN: record, key, head, body. LONG: record, extents, key, head; the body lies in the extents. */
struct record {
    _Atomic uint32_t word;  /* kind, and size in words << 4; at its place before `used` covers it */
    _Atomic uint32_t len;   /* PLAIN: of the body */
    struct store_meta meta; /* .own: key_len, head_len low, head_len high */
};
struct extents {
    int64_t length; /* of the body */
    uint32_t max;
    _Atomic uint32_t n;
    _Atomic uint64_t at[]; /* place | bytes of the body there << 38 */
};
struct extent {
    _Atomic uint32_t word;
    uint32_t spare;
    uint64_t hash; /* of the key, to find whose it is */
    char data[];
};
#define PLACE_BITS 38
#define PLACE_MASK ((UINT64_C(1) << PLACE_BITS) - 1)

static inline uint32_t record_word(enum record_kind kind, uint32_t size)
{
    return size / WORD << 4 | (uint32_t)kind;
}
static inline uint32_t word_size(uint32_t word)
{
    return (word >> 4) * WORD;
}
static inline enum record_kind word_kind(uint32_t word)
{
    return (enum record_kind)(word & 15);
}
static inline uint32_t record_key_len(const struct record *record)
{
    return record->meta.own[0];
}
static inline uint32_t record_head_len(const struct record *record)
{
    return record->meta.own[1] | (uint32_t)record->meta.own[2] << 16;
}
static inline uint32_t round_up(uint32_t bytes)
{
    return (bytes + WORD - 1) & ~(uint32_t)(WORD - 1);
}

/* ---- slots of the index: tag, uses, place; 0: empty ---- */

#define SLOT_USE (UINT64_C(1) << PLACE_BITS)
#define SLOT_USES (SLOT_USE * USES_MAX)
#define SLOT_TAG_SHIFT 40
static inline uint64_t slot_make(uint64_t hash, uint64_t place)
{
    return hash >> SLOT_TAG_SHIFT << SLOT_TAG_SHIFT | place;
}
static inline unsigned slot_uses(uint64_t slot)
{
    return (unsigned)(slot >> PLACE_BITS & USES_MAX);
}

/* ---- the zone ---- */

struct ram_zone {
    uint64_t magic;
    uint64_t secret[4];
    _Alignas(64) _Atomic uint64_t turns; /* segments that were opened */
    _Atomic uint64_t arrivals;   /* of records at the end of the main queue: the ghosts' clock */
    _Atomic uint64_t ghost_span; /* how long ago, by that clock, a ghost still counts */
    /* Deaths << 32 | segments that are to be counted again: who has counted one for an earlier death
     * must not tick it off for a later one. */
    _Atomic uint64_t recount;
    _Atomic uint32_t members; /* numbers from here on never had a row */
};

/* Written by its member alone (and by who buries it). */
struct member_row {
    _Alignas(64) _Atomic uint64_t doing; /* odd: between a change of the index and its count */
    char rest[56];
    _Atomic uint32_t pins[];
};

struct open_segment {
    uint32_t segment;
    uint64_t word;
    struct {
        uint32_t at, size;
    } hole[4]; /* given back within it */
};

/* A segment that comes after the one that was chosen, and what its state was then. */
struct evict_after {
    uint32_t segment;
    uint64_t word;
};

/* What a process knows of the zone. */
struct ram {
    struct ram_zone *zone;
    char *rows;
    struct member_row *row; /* ours */
    char *flights;
    _Atomic uint64_t *index;
    _Atomic uint32_t *ghosts;
    _Atomic uint64_t *states;
    struct segment_note *notes;
    char *data;

    uint64_t size; /* what cache_mem says */
    size_t row_size;
    uint32_t buckets, ghost_buckets, segments, flight_entries;
    uint32_t segment_size;
    unsigned shift;      /* of places: to the segment's number */
    uint32_t plain_max;  /* larger records have extents */
    uint32_t extent_max; /* bytes of a body in one extent */
    uint32_t reserve;    /* free segments that eviction strives for */
    int64_t object_max;
    enum ram_policy policy;
    unsigned member;

    struct open_segment open[QUEUES];
    uint32_t hint; /* where to look for a free segment */
    uint32_t free; /* when last looked */
    struct {
        uint32_t segment, at;
        uint64_t word;
        bool drop;               /* nothing is copied: room is needed now */
        bool torn;               /* what came next was no record: what is behind it was not met */
        unsigned n_after, after; /* how many are known, and the first that was not looked at */
        struct evict_after next[EVICT_AHEAD];
    } evict;
};
extern struct ram ram;

static inline void ram_count(enum ram_count what, int64_t by)
{
    if (ram_counted != NULL)
        ram_counted(what, by);
}

static inline struct member_row *ram_row(unsigned member)
{
    return (struct member_row *)(void *)(ram.rows + member * ram.row_size);
}
static inline uint32_t place_segment(uint64_t place)
{
    return (uint32_t)(place >> ram.shift);
}
static inline uint32_t place_offset(uint64_t place)
{
    return (uint32_t)(place & ((UINT64_C(1) << ram.shift) - 1)) * WORD;
}
static inline uint64_t place_make(uint32_t segment, uint32_t offset)
{
    return (uint64_t)segment << ram.shift | offset / WORD;
}
static inline void *place_at(uint64_t place)
{
    return ram.data + place * WORD;
}

/* How many segments are yet to be counted again. */
static inline uint32_t ram_recount_left(void)
{
    return (uint32_t)atomic_load(&ram.zone->recount);
}

/* ---- pins ---- */

static inline void pin(uint32_t segment)
{
    _Atomic uint32_t *pins = &ram.row->pins[segment];
    atomic_store_explicit(pins, atomic_load_explicit(pins, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}
static inline void unpin(uint32_t segment)
{
    _Atomic uint32_t *pins = &ram.row->pins[segment];
    atomic_store_explicit(pins, atomic_load_explicit(pins, memory_order_relaxed) - 1,
                          memory_order_release);
}
/* After pins, before looking again at what made us pin. */
static inline void pin_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
bool ram_pinned(uint32_t segment); /* by anybody */
/* Nobody has it pinned, and nobody will: by one who has taken all that is in it out of the index. */
bool ram_let_go(uint32_t segment);

/* ---- ram_hash.c ---- */

uint64_t ram_hash(bt_str key);
void ram_hash_long(bt_str key, uint64_t out[2]);

/* ---- ram_segment.c ---- */

/* `size` bytes (a multiple of WORD) in our open segment of that queue, pinned, with a header that says DEAD;
 * 0: there is no room. may_evict: make room, unless it is eviction that asks. */
uint64_t ram_append(enum ram_queue queue, uint32_t size, bool may_evict);
/* The same for as much of `want` as is worth it; *got bytes. */
uint64_t ram_append_some(enum ram_queue queue, uint32_t want, uint32_t *got, bool may_evict);
/* The record keeps its first `size` bytes. */
void ram_trim(uint64_t place, uint32_t size);
void ram_seal(enum ram_queue queue);
uint64_t ram_seal_other(uint32_t segment, uint64_t word);
void ram_segment_reset(uint32_t segment);

/* A look at all segments. */
struct ram_survey {
    uint32_t free, small, main; /* without open ones */
    uint32_t oldest[QUEUES];    /* sealed, and of a turn after the one asked for */
    uint32_t empty;             /* sealed, nothing in it can be found */
    uint32_t closing;
    uint64_t main_records;
};
void ram_survey(struct ram_survey *, const uint64_t after[QUEUES]);

/* Who takes a record out may count it before who has put it there does. So either count may be below
 * zero for a while, which is read as nothing, and is right again afterwards. */
enum { LIVE_WORDS = 22, LIVE_RECORDS = 18 }; /* bits, with a sign */
static inline uint64_t live_make(uint64_t changes, uint64_t records, uint64_t words)
{
    return changes << (LIVE_WORDS + LIVE_RECORDS) |
           (records & ((1u << LIVE_RECORDS) - 1)) << LIVE_WORDS |
           (words & ((1u << LIVE_WORDS) - 1));
}
static inline uint64_t live_positive(uint64_t live, int above, int bits)
{
    int64_t n = (int64_t)(live << above) >> (64 - bits);
    return n < 0 ? 0 : (uint64_t)n;
}
static inline uint64_t live_words(uint64_t live)
{
    return live_positive(live, 64 - LIVE_WORDS, LIVE_WORDS);
}
static inline uint64_t live_records(uint64_t live)
{
    return live_positive(live, 64 - LIVE_WORDS - LIVE_RECORDS, LIVE_RECORDS);
}
static inline uint64_t live_changes(uint64_t live)
{
    return live >> (LIVE_WORDS + LIVE_RECORDS);
}
static inline uint64_t live_add(uint64_t live, int64_t records, int64_t words)
{
    return live_make(live_changes(live) + 1, (live >> LIVE_WORDS) + (uint64_t)records,
                     live + (uint64_t)words);
}

/* ---- ram_read.c ---- */

/* Does that make sense? Its place is in a segment that is pinned. */
const struct record *ram_record(uint64_t place);
/* The same, and what its word was: what is not found yet, and another's, may be dead the next moment. */
const struct record *ram_record_now(uint64_t place, uint32_t *word);
const struct extent *ram_extent(uint64_t place);
static inline const struct extents *record_extents(const struct record *record)
{
    return (const struct extents *)(const void *)(record + 1);
}
bt_str ram_key(const struct record *record, uint32_t word);
/* Pin what the slot points to, if it is (still) a record, and of this key when one is given. */
bool ram_pin_slot(_Atomic uint64_t *slot, uint64_t *value, bt_str key, struct store_ref *ref);
/* From a place that is pinned already and stays so meanwhile: its first n extents, or those that it has. */
bool ram_pin_place(uint64_t place, uint32_t n, struct store_ref *ref);
void ram_release(struct store_ref *ref);
void ram_hold(const struct store_ref *ref, struct store_ref *also);
int ram_read(const struct store_ref *ref, int64_t from, bt_str *piece, int max);
static inline const struct record *ref_record(const struct store_ref *ref)
{
    return place_at(ref->at[0]);
}

/* ---- ram_index.c ---- */

enum store_found ram_find(bt_str key, struct store_ref *ref, void (*wake)(void *), void *arg);
/* Instead of what is there under its key. */
bool ram_index_put(uint64_t hash, bt_str key, uint64_t place);
/* The record at `place` instead of that one, which must still be the one of its key; uses as they are told. */
bool ram_index_swap(uint64_t hash, const struct store_ref *old, uint64_t place, int uses);
/* Take that record out. false: somebody did already. */
bool ram_index_drop(uint64_t hash, const struct store_ref *old);
/* The slot that points to that place, NULL when none does. */
_Atomic uint64_t *ram_index_slot(uint64_t hash, uint64_t place);
/* Pin the record whose extent is at `place`; *nth of its extents. */
bool ram_index_owner(uint64_t hash, uint64_t place, struct store_ref *ref, uint32_t *nth);
void ram_index_sweep(uint32_t segment);
bool ram_remove(bt_str key);
void ram_walk(uint64_t *place, bool (*visit)(void *arg, const struct store_ref *), void *arg);
void ram_doing(bool begin);

/* ---- ram_write.c ---- */

struct store_writer *ram_begin(bt_str key, const struct store_meta *, bt_str head, int64_t length);
bool ram_write(struct store_writer *, const bt_str *piece, int n);
bool ram_commit(struct store_writer *);
void ram_cancel(struct store_writer *);
bool ram_peek(struct store_writer *, struct store_ref *);
bool ram_renew(const struct store_ref *, const struct store_meta *, bt_str head);
/* Where it writes. */
struct writer_place {
    uint64_t place;
    int64_t written, length; /* length -1: not known yet */
    uint32_t extents;
};
struct writer_place ram_writer_place(const struct store_writer *);

/* ---- ram_evict.c ---- */

/* Some work, for so many bytes that were appended. */
void ram_evict_some(uint32_t bytes);
/* A segment must become free now. false: none can. */
bool ram_evict_now(void);
bool ram_ghost_take(uint64_t hash);
/* Some of the counting that is due. */
void ram_recount_some(unsigned segments);

/* ---- ram.c ---- */

void ram_bury(unsigned member); /* what it left behind */

/* ---- flight.c ---- */

size_t flight_bytes(uint32_t entries);
void flight_start(void); /* each worker */
void flight_bury(unsigned member);

#endif
