/* ipset.c - a set of address ranges with their owners: sorted pieces, found by halving.
 *
 * Ranges may nest and overlap. Sealing cuts them into pieces that do not, each with the set of all
 * that hold it. IPv4 has pieces of its own, keyed by 32 bits, behind an index by the upper 16, and
 * where one of those is crowded by the next 8, so that a look-up touches a handful of cache lines
 * however long the list is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/owners.h"

/* An address as a number; IPv4 only uses `low`. */
struct key {
    uint64_t high, low;
};
struct range {
    struct key from, to;
    uint32_t owner;
};
struct ranges {
    struct range *at;
    size_t n, cap;
};
struct piece4 {
    uint32_t from, set; /* up to the next piece's from */
};
struct piece6 {
    struct key from;
    uint32_t set;
};
struct bt_ipset {
    struct bt_arena *arena;
    struct ranges v4, v6; /* while building */
    struct piece4 *piece4;
    struct piece6 *piece6;
    size_t n4, n6;
    /* For each upper half of an IPv4 address, the last piece at or before it; with CROWDED, which of
     * the groups of `finer` says so for each next byte. */
    uint32_t *index, *finer;
    size_t n_finer;
    struct owners owners;
    bool sealed;
};

static void ipset_fini(void *what)
{
    struct bt_ipset *set = what;

    free(set->v4.at); /* not sealed */
    free(set->v6.at);
    owners_fini(&set->owners);
}

struct bt_ipset *bt_ipset_new(struct bt_arena *arena)
{
    struct bt_ipset *set = bt_alloc(arena, sizeof(*set));

    set->arena = arena;
    bt_defer(arena, ipset_fini, set);
    return set;
}

/* ---- building ---- */

static int key_compare(struct key a, struct key b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return a.low < b.low ? -1 : a.low > b.low;
}

static struct key key_of(const uint8_t addr[16])
{
    uint64_t half[2];

    memcpy(half, addr, 16);
    return (struct key){__builtin_bswap64(half[0]), __builtin_bswap64(half[1])};
}

static struct key key_next(struct key key)
{
    key.low++;
    key.high += key.low == 0;
    return key;
}

static void ranges_add(struct ranges *ranges, struct key from, struct key to, uint32_t owner)
{
    if (ranges->n == ranges->cap) {
        ranges->cap = ranges->cap == 0 ? 16 : ranges->cap * 2;
        ranges->at = realloc(ranges->at, ranges->cap * sizeof(*ranges->at));
        CHECK(ranges->at != NULL);
    }
    ranges->at[ranges->n++] = (struct range){from, to, owner};
}

void bt_ipset_add(struct bt_ipset *set, const uint8_t from[16], const uint8_t to[16],
                  uint32_t owner)
{
    const struct key first4 = {0, UINT64_C(0xffff00000000)};
    const struct key last4 = {0, UINT64_C(0xffffffffffff)};
    const struct key before4 = {0, UINT64_C(0xfffeffffffff)};
    const struct key after4 = {0, UINT64_C(0x1000000000000)};
    struct key a = key_of(from), z = key_of(to);

    CHECK(!set->sealed && key_compare(a, z) <= 0);
    if (key_compare(a, last4) <= 0 && key_compare(z, first4) >= 0) {
        struct key a4 = {0, key_compare(a, first4) > 0 ? a.low & UINT32_MAX : 0};
        struct key z4 = {0, key_compare(z, last4) < 0 ? z.low & UINT32_MAX : UINT32_MAX};

        ranges_add(&set->v4, a4, z4, owner);
        if (key_compare(a, first4) < 0)
            ranges_add(&set->v6, a, before4, owner);
        if (key_compare(z, last4) > 0)
            ranges_add(&set->v6, after4, z, owner);
        return;
    }
    ranges_add(&set->v6, a, z, owner);
}

/* By beginning, wider first: then what nests comes after what holds it. */
static int by_from(const void *x, const void *y)
{
    const struct range *a = x, *b = y;
    int order = key_compare(a->from, b->from);

    if (order == 0)
        order = key_compare(b->to, a->to);
    return order != 0 ? order : (a->owner > b->owner) - (a->owner < b->owner);
}

/* By end, latest beginning first: the order in which nested ranges close. */
static int by_to(const void *x, const void *y)
{
    const struct range *a = x, *b = y;
    int order = key_compare(a->to, b->to);

    if (order == 0)
        order = key_compare(b->from, a->from);
    return order != 0 ? order : (a->owner < b->owner) - (a->owner > b->owner);
}

/* The ranges that hold the place where the sweep is, outermost first, with the set so far. */
struct open {
    uint32_t owner, set;
};
struct sweep {
    struct owners *owners;
    struct open *open;
    size_t n, cap;
    struct piece6 *piece;
    size_t pieces, piece_cap;
};

static uint32_t sweep_set(const struct sweep *sweep)
{
    return sweep->n == 0 ? 0 : sweep->open[sweep->n - 1].set;
}

static void sweep_open(struct sweep *sweep, uint32_t owner)
{
    uint32_t set = sweep_set(sweep);

    if (sweep->n == sweep->cap) {
        sweep->cap = sweep->cap == 0 ? 16 : sweep->cap * 2;
        sweep->open = realloc(sweep->open, sweep->cap * sizeof(*sweep->open));
        CHECK(sweep->open != NULL);
    }
    /* An owner that is in it already adds nothing to the set, but must be closed on its own. */
    if (!owners_has(sweep->owners, set, owner))
        set = owners_add(sweep->owners, set, owner);
    sweep->open[sweep->n++] = (struct open){owner, set};
}

static void sweep_close(struct sweep *sweep, uint32_t owner)
{
    size_t at = sweep->n;

    while (at > 0 && sweep->open[at - 1].owner != owner)
        at--;
    CHECK(at > 0);
    /* Nested ranges close at the top; overlapping ones leave others above, which are opened anew. */
    size_t above = sweep->n - at;
    sweep->n = at - 1;
    for (size_t i = 0; i < above; i++)
        sweep_open(sweep, sweep->open[at + i].owner);
}

static void sweep_piece(struct sweep *sweep, struct key from)
{
    uint32_t set = sweep_set(sweep);

    if (sweep->pieces > 0 && key_compare(sweep->piece[sweep->pieces - 1].from, from) == 0)
        sweep->pieces--; /* what began here is changed before anybody sees it */
    if (set == (sweep->pieces == 0 ? 0 : sweep->piece[sweep->pieces - 1].set))
        return;
    if (sweep->pieces == sweep->piece_cap) {
        sweep->piece_cap = sweep->piece_cap == 0 ? 64 : sweep->piece_cap * 2;
        sweep->piece = realloc(sweep->piece, sweep->piece_cap * sizeof(*sweep->piece));
        CHECK(sweep->piece != NULL);
    }
    sweep->piece[sweep->pieces++] = (struct piece6){from, set};
}

/* `last`: the highest key of the family, behind which nothing closes. */
static void sweep_run(struct sweep *sweep, struct ranges *ranges, struct key last)
{
    size_t n = ranges->n;
    struct range *ends = malloc((n + 1) * sizeof(*ends));
    size_t begun = 0, ended = 0;

    CHECK(ends != NULL);
    if (n > 0) {
        qsort(ranges->at, n, sizeof(*ranges->at), by_from);
        memcpy(ends, ranges->at, n * sizeof(*ends));
        qsort(ends, n, sizeof(*ends), by_to);
    }
    while (ended < n && key_compare(ends[ended].to, last) < 0) {
        struct key next = key_next(ends[ended].to);

        if (begun < n && key_compare(ranges->at[begun].from, next) < 0) {
            sweep_open(sweep, ranges->at[begun].owner);
            sweep_piece(sweep, ranges->at[begun++].from);
        } else {
            sweep_close(sweep, ends[ended++].owner);
            sweep_piece(sweep, next);
        }
    }
    for (; begun < n; begun++) {
        sweep_open(sweep, ranges->at[begun].owner);
        sweep_piece(sweep, ranges->at[begun].from);
    }
    free(ends);
    free(sweep->open);
    free(ranges->at);
    *ranges = (struct ranges){0};
}

/* The index pays from about here on: below, the pieces are a few cache lines. */
enum { INDEX_FROM = 512, INDEX_N = 1 << 16, CROWD = 64, FINER_N = 256 };
#define CROWDED (UINT32_C(1) << 31)

/* A group of `finer` for an upper half with that many pieces: 4 bytes for each 256th of it. */
static uint32_t finer_make(struct bt_ipset *set, uint32_t upper, uint32_t first)
{
    uint32_t group = (uint32_t)set->n_finer++, piece = first;
    uint32_t *at = realloc(set->finer, set->n_finer * (FINER_N + 1) * sizeof(*at));

    CHECK(at != NULL);
    set->finer = at;
    at += (size_t)group * (FINER_N + 1);
    for (uint32_t next = 0; next < FINER_N; next++) {
        while (piece + 1 < set->n4 && set->piece4[piece + 1].from <= (upper << 16 | next << 8))
            piece++;
        at[next] = piece;
    }
    while (piece + 1 < set->n4 && set->piece4[piece + 1].from >> 16 == upper)
        piece++;
    at[FINER_N] = piece;
    return group;
}

static void index_make(struct bt_ipset *set)
{
    size_t piece = 0;

    if (set->n4 < INDEX_FROM)
        return;
    set->index = malloc((INDEX_N + 1) * sizeof(*set->index));
    CHECK(set->index != NULL);
    for (uint32_t upper = 0; upper < INDEX_N; upper++) {
        while (piece + 1 < set->n4 && set->piece4[piece + 1].from <= upper << 16)
            piece++;
        set->index[upper] = (uint32_t)piece;
    }
    set->index[INDEX_N] = (uint32_t)(set->n4 - 1);
    for (uint32_t upper = 0; upper < INDEX_N; upper++) {
        uint32_t first = set->index[upper];
        for (piece = first; piece < set->n4 && piece - first <= CROWD; piece++)
            if (set->piece4[piece].from >> 16 > upper)
                break;
        if (piece - first > CROWD)
            set->index[upper] = CROWDED | finer_make(set, upper, first);
    }
    set->index = arena_keep(set->arena, set->index, (INDEX_N + 1) * sizeof(*set->index));
    if (set->finer != NULL)
        set->finer = arena_keep(set->arena, set->finer,
                                set->n_finer * (FINER_N + 1) * sizeof(*set->finer));
}

/* Between which pieces that of `key` is: from the first to before the second. */
static inline void index_find(const struct bt_ipset *set, uint32_t key, size_t *low, size_t *high)
{
    uint32_t here = set->index[key >> 16];

    if ((here & CROWDED) != 0) {
        const uint32_t *at =
            &set->finer[(size_t)(here & ~CROWDED) * (FINER_N + 1) + (key >> 8 & 255)];
        *low = at[0];
        *high = (size_t)at[1] + 1;
        return;
    }
    *low = here;
    *high = (size_t)here + CROWD + 1 < set->n4 ? (size_t)here + CROWD + 1 : set->n4;
}

void bt_ipset_seal(struct bt_ipset *set)
{
    struct sweep four = {.owners = &set->owners}, six = {.owners = &set->owners};

    CHECK(!set->sealed);
    set->sealed = true;
    sweep_run(&four, &set->v4, (struct key){0, UINT32_MAX});
    sweep_run(&six, &set->v6, (struct key){UINT64_MAX, UINT64_MAX});
    if (four.pieces > 0) {
        set->n4 = four.pieces;
        set->piece4 = malloc(set->n4 * sizeof(*set->piece4));
        CHECK(set->piece4 != NULL);
        for (size_t i = 0; i < set->n4; i++)
            set->piece4[i] = (struct piece4){(uint32_t)four.piece[i].from.low, four.piece[i].set};
        set->piece4 = arena_keep(set->arena, set->piece4, set->n4 * sizeof(*set->piece4));
        index_make(set);
    }
    free(four.piece);
    set->n6 = six.pieces;
    if (six.pieces > 0) {
        set->piece6 = arena_keep(set->arena, six.piece, six.pieces * sizeof(*six.piece));
    }
    owners_seal(&set->owners, set->arena);
}

/* ---- finding ---- */

/* The last piece that begins at or before the key; 0: none. */
static uint32_t find4(const struct bt_ipset *set, uint32_t key)
{
    const struct piece4 *piece = set->piece4;
    size_t low = 0, high = set->n4;

    if (set->index != NULL)
        index_find(set, key, &low, &high);
    if (high == 0 || piece[low].from > key)
        return 0;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (piece[middle].from <= key)
            low = middle;
        else
            high = middle;
    }
    return piece[low].set;
}

static uint32_t find6(const struct bt_ipset *set, struct key key)
{
    size_t low = 0, high = set->n6;

    if (high == 0 || key_compare(set->piece6[0].from, key) > 0)
        return 0;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (key_compare(set->piece6[middle].from, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return set->piece6[low].set;
}

bool bt_ipset_find(const struct bt_ipset *set, const uint8_t addr[16], uint64_t *bits)
{
    uint32_t found;

    CHECK(set->sealed);
    found = addr_is_v4(addr) ? find4(set, (uint32_t)(key_of(addr).low & UINT32_MAX))
                             : find6(set, key_of(addr));
    owners_bits(&set->owners, found, bits);
    return found != 0;
}
