/* literals.c - which of many short texts stand in a text: a window of up to four bytes, hashed.
 *
 * Of each literal one piece of four bytes is chosen (of shorter ones two, or the one byte), by
 * preference a piece that few others have and that does not stand in every URL. The text is walked
 * once; what stands in the window is looked for in a bitmap that fits the nearest cache, and only
 * when its bit is set in the table, where the whole literal is compared.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/literals.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"

struct entry {
    uint32_t text; /* its place in the pool */
    uint32_t len;
    uint32_t id;
    uint32_t piece; /* which bytes of it are hashed */
    uint32_t next;  /* entry + 1 of the same slot */
};
struct literals {
    struct entry *entry;
    uint32_t n, cap;
    char *pool;
    uint32_t pooled, pool_cap;
    uint32_t *slot;  /* entry + 1 */
    uint64_t *seen;  /* bitmap of hashes */
    unsigned bits;   /* of a slot's number; the bitmap has SEEN_MORE more */
    unsigned widths; /* which there are: 1 << width */
    uint32_t *count; /* while building: how often each piece is met */
};
enum { SEEN_MORE = 3, BITS_MIN = 8, COUNTS = 1 << 16, STRONG = 16 };

struct literals *literals_new(void)
{
    struct literals *set = calloc(1, sizeof *set);

    CHECK(set != NULL);
    return set;
}

void literals_free(struct literals *set)
{
    if (set == NULL)
        return;
    free(set->entry);
    free(set->pool);
    free(set->slot);
    free(set->seen);
    free(set->count);
    free(set);
}

void literals_add(struct literals *set, bt_str text, uint32_t id)
{
    CHECK(text.len > 0 && text.len < UINT32_MAX / 4 && set->slot == NULL);
    if (set->n == set->cap) {
        set->cap = set->cap == 0 ? 64 : set->cap * 2;
        set->entry = realloc(set->entry, set->cap * sizeof *set->entry);
        CHECK(set->entry != NULL);
    }
    if (set->pool_cap - set->pooled < text.len) {
        set->pool_cap = (set->pool_cap + (uint32_t)text.len + 512) * 2;
        set->pool = realloc(set->pool, set->pool_cap);
        CHECK(set->pool != NULL);
    }
    set->entry[set->n++] = (struct entry){set->pooled, (uint32_t)text.len, id, 0, 0};
    memcpy(set->pool + set->pooled, text.at, text.len);
    set->pooled += (uint32_t)text.len;
}

/* ---- pieces ---- */

static inline unsigned width_of(size_t len)
{
    return len >= 4 ? 4 : len >= 2 ? 2 : 1;
}

static inline uint32_t piece_at(const char *at, unsigned width)
{
    uint32_t four;
    uint16_t two;

    switch (width) {
    case 4:
        memcpy(&four, at, 4);
        return four;
    case 2:
        memcpy(&two, at, 2);
        return two;
    default:
        return (uint8_t)*at;
    }
}

/* Two and one are kept apart from four by what they are multiplied with. */
static inline uint32_t piece_hash(uint32_t piece, unsigned width)
{
    static const uint32_t by[] = {0, 0x85ebca6b, 0xc2b2ae35, 0, 0x9e3779b1};
    uint32_t hash = piece * by[width];

    return hash ^ hash >> 15;
}

static inline uint32_t slot_of(const struct literals *set, uint32_t hash)
{
    return hash >> (32 - set->bits);
}

static inline uint32_t seen_of(const struct literals *set, uint32_t hash)
{
    return hash >> (32 - set->bits - SEEN_MORE);
}

/* In the literals; what stands in nearly every text counts much. */
static void pieces_count(struct literals *set)
{
    static const char common[] = "https://www.http://.com/.net/.org/.html/index.php?id=&text/"
                                 "mozilla/5.0 (application/";
    uint32_t *count = calloc(COUNTS, sizeof *count);

    CHECK(count != NULL);
    for (uint32_t i = 0; i < set->n; i++) {
        const struct entry *entry = &set->entry[i];
        unsigned width = width_of(entry->len);
        for (uint32_t k = 0; k + width <= entry->len; k++)
            count[piece_hash(piece_at(set->pool + entry->text + k, width), width) >> 16]++;
    }
    for (unsigned width = 1; width <= 4; width *= 2)
        for (size_t k = 0; k + width < sizeof common; k++)
            count[piece_hash(piece_at(common + k, width), width) >> 16] += 10000;
    set->count = count;
}

/* The rarest piece of a literal. */
static uint32_t piece_best(const struct literals *set, bt_str text, uint32_t *rarity,
                           uint32_t *hash)
{
    unsigned width = width_of(text.len);
    uint32_t best = 0;

    *rarity = UINT32_MAX;
    for (uint32_t k = 0; k + width <= text.len; k++) {
        uint32_t its = piece_hash(piece_at(text.at + k, width), width);
        if (set->count[its >> 16] < *rarity) {
            *rarity = set->count[its >> 16];
            *hash = its;
            best = k;
        }
    }
    return best;
}

static void entry_place(struct literals *set, uint32_t i)
{
    struct entry *entry = &set->entry[i];
    uint32_t rarity, hash = 0;

    entry->piece = piece_best(set, (bt_str){set->pool + entry->text, entry->len}, &rarity, &hash);
    uint32_t *slot = &set->slot[slot_of(set, hash)];
    entry->next = *slot;
    *slot = i + 1;
    set->seen[seen_of(set, hash) / 64] |= UINT64_C(1) << seen_of(set, hash) % 64;
    set->widths |= 1u << width_of(entry->len);
}

void literals_seal(struct literals *set)
{
    CHECK(set->slot == NULL);
    pieces_count(set);
    set->bits = BITS_MIN;
    while (set->bits < 24 && UINT32_C(1) << set->bits < set->n * 2)
        set->bits++;
    set->slot = calloc((size_t)1 << set->bits, sizeof *set->slot);
    set->seen = calloc(((size_t)1 << (set->bits + SEEN_MORE)) / 64, sizeof *set->seen);
    CHECK(set->slot != NULL && set->seen != NULL);
    for (uint32_t i = 0; i < set->n; i++)
        entry_place(set, i);
}

bool literals_is_strong(const struct literals *set, bt_str text)
{
    uint32_t rarity, hash;

    if (text.len < 4)
        return false;
    (void)piece_best(set, text, &rarity, &hash);
    return rarity <= STRONG;
}

size_t literals_memory(const struct literals *set)
{
    return set->cap * sizeof *set->entry + set->pool_cap +
           ((size_t)1 << set->bits) * (sizeof *set->slot + 1);
}

struct literals *literals_keep(struct literals *set, struct bt_arena *arena)
{
    free(set->count);
    set->count = NULL;
    if (set->n > 0) {
        set->entry = arena_keep(arena, set->entry, set->n * sizeof *set->entry);
        set->pool = arena_keep(arena, set->pool, set->pooled);
        set->cap = set->n;
        set->pool_cap = set->pooled;
    }
    size_t slots = (size_t)1 << set->bits;
    set->slot = arena_keep(arena, set->slot, slots * sizeof *set->slot);
    set->seen = arena_keep(arena, set->seen, (slots << SEEN_MORE) / 8);
    return arena_keep(arena, set, sizeof *set);
}

/* ---- finding ---- */

struct found {
    void (*each)(void *arg, uint32_t id, const char *at);
    void *arg;
    bt_str text, folded;
};

static __attribute__((noinline)) void look_closer(const struct literals *set,
                                                  const struct found *found, size_t at,
                                                  uint32_t hash)
{
    for (uint32_t i = set->slot[slot_of(set, hash)]; i != 0; i = set->entry[i - 1].next) {
        const struct entry *entry = &set->entry[i - 1];
        if (at < entry->piece || found->folded.len - (at - entry->piece) < entry->len)
            continue;
        size_t from = at - entry->piece;
        if (memcmp(found->folded.at + from, set->pool + entry->text, entry->len) == 0)
            found->each(found->arg, entry->id, found->text.at + from);
    }
}

static inline void walk(const struct literals *set, const struct found *found, unsigned width)
{
    if ((set->widths & 1u << width) == 0)
        return;
    for (size_t i = 0; i + width <= found->folded.len; i++) {
        uint32_t hash = piece_hash(piece_at(found->folded.at + i, width), width);
        uint32_t seen = seen_of(set, hash);
        if (__builtin_expect(set->seen[seen / 64] >> seen % 64 & 1, 0))
            look_closer(set, found, i, hash);
    }
}

void literals_find(const struct literals *set, bt_str text,
                   void (*each)(void *arg, uint32_t id, const char *at), void *arg)
{
    char small[2048], *fold = small;

    if (set->n == 0 || text.len == 0)
        return;
    if (text.len > sizeof small) {
        fold = malloc(text.len);
        CHECK(fold != NULL);
    }
    for (size_t i = 0; i < text.len; i++)
        fold[i] = str_lower(text.at[i]);
    const struct found found = {each, arg, text, {fold, text.len}};
    walk(set, &found, 4);
    walk(set, &found, 2);
    walk(set, &found, 1);
    if (fold != small)
        free(fold);
}
