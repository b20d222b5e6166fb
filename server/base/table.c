/* table.c - a table keyed by text: linear probing, SipHash-1-3 with a key of this process.
 *
 * Places are at most three quarters full; a removed entry is closed up by moving its followers
 * back, so that there are no tombstones and a table that lives for months stays as fast as new.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/rand.h"
#include "base/str.h"

/* ---- SipHash-1-3 ---- */

static uint64_t hash_key[2];
static bool hash_keyed;

static inline uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

/* Eight letters at once: bit 5 is set in each byte that is A-Z. */
static inline uint64_t lower_word(uint64_t w)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t low7 = w & 0x7f * ones;
    uint64_t from_a = low7 + (0x80 - 'A') * ones;
    uint64_t over_z = low7 + (0x7f - 'Z') * ones;

    return w | ((from_a ^ over_z) & ~w & 0x80 * ones) >> 2;
}

static inline uint64_t sip(const uint64_t k[2], bt_str s, bool nocase)
{
    uint64_t v[4] = {k[0] ^ UINT64_C(0x736f6d6570736575), k[1] ^ UINT64_C(0x646f72616e646f6d),
                     k[0] ^ UINT64_C(0x6c7967656e657261), k[1] ^ UINT64_C(0x7465646279746573)};
    size_t left = s.len;
    const char *at = s.at;
    uint64_t word;

    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        if (nocase)
            word = lower_word(word);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = 0;
    if (left > 0)
        memcpy(&word, at, left);
    if (nocase)
        word = lower_word(word);
    word |= (uint64_t)(s.len & 0xff) << 56;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void draw_key(void)
{
    rand_bytes(hash_key, sizeof(hash_key));
    hash_keyed = true;
}

uint64_t table_hash(bt_str key)
{
    if (__builtin_expect(!hash_keyed, 0))
        draw_key();
    return sip(hash_key, key, false);
}

uint64_t table_hash_nocase(bt_str key)
{
    if (__builtin_expect(!hash_keyed, 0))
        draw_key();
    return sip(hash_key, key, true);
}

uint64_t table_hash_with(const uint64_t k[2], bt_str key)
{
    return sip(k, key, false);
}

/* ---- the table ---- */

void table_init(struct table *table, struct bt_arena *arena, bool nocase)
{
    *table = (struct table){.arena = arena, .nocase = nocase};
}

void table_fini(struct table *table)
{
    if (table->arena == NULL)
        free(table->entry);
    *table = (struct table){.arena = table->arena, .nocase = table->nocase};
}

static uint32_t hash_of(const struct table *table, bt_str key)
{
    return (uint32_t)(table->nocase ? table_hash_nocase(key) : table_hash(key));
}

/* The place of the key, or the empty one where it would stand. */
static struct table_entry *place(const struct table *table, bt_str key, uint32_t hash)
{
    uint32_t i = hash & (table->cap - 1);

    for (;; i = (i + 1) & (table->cap - 1)) {
        struct table_entry *entry = &table->entry[i];

        if (entry->value == NULL)
            return entry;
        if (entry->hash == hash &&
            (table->nocase ? bt_str_eq_nocase(entry->key, key) : bt_str_eq(entry->key, key)))
            return entry;
    }
}

void *table_find(const struct table *table, bt_str key)
{
    return table->n == 0 ? NULL : place(table, key, hash_of(table, key))->value;
}

static void table_widen(struct table *table)
{
    struct table was = *table;
    size_t size;

    CHECK(table->cap < UINT32_C(1) << 30);
    table->cap = table->cap == 0 ? 8 : table->cap * 2;
    size = table->cap * sizeof(*table->entry);
    table->entry = table->arena != NULL ? bt_alloc(table->arena, size) : calloc(1, size);
    CHECK(table->entry != NULL);
    for (uint32_t i = 0; i < was.cap; i++) {
        struct table_entry *old = &was.entry[i];
        uint32_t to = old->hash & (table->cap - 1);

        if (old->value == NULL)
            continue;
        while (table->entry[to].value != NULL)
            to = (to + 1) & (table->cap - 1);
        table->entry[to] = *old;
    }
    if (table->arena == NULL)
        free(was.entry);
}

void *table_put(struct table *table, bt_str key, void *value)
{
    uint32_t hash = hash_of(table, key);
    struct table_entry *entry;
    void *old;

    CHECK(value != NULL);
    if (table->n >= table->cap / 4 * 3)
        table_widen(table);
    entry = place(table, key, hash);
    old = entry->value;
    *entry = (struct table_entry){key, value, hash};
    table->n += old == NULL;
    return old;
}

void *table_remove(struct table *table, bt_str key)
{
    uint32_t mask = table->cap - 1;
    struct table_entry *entry;
    uint32_t hole, i;
    void *old;

    if (table->n == 0)
        return NULL;
    entry = place(table, key, hash_of(table, key));
    old = entry->value;
    if (old == NULL)
        return NULL;
    hole = (uint32_t)(entry - table->entry);
    for (i = (hole + 1) & mask; table->entry[i].value != NULL; i = (i + 1) & mask) {
        /* It may move back when its home is not between the hole and here. */
        if (((i - table->entry[i].hash) & mask) >= ((i - hole) & mask)) {
            table->entry[hole] = table->entry[i];
            hole = i;
        }
    }
    table->entry[hole] = (struct table_entry){0};
    table->n--;
    return old;
}

void *table_walk(const struct table *table, uint32_t *i, bt_str *key)
{
    while (*i < table->cap) {
        struct table_entry *entry = &table->entry[(*i)++];

        if (entry->value != NULL) {
            if (key != NULL)
                *key = entry->key;
            return entry->value;
        }
    }
    return NULL;
}
