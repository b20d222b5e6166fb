/* table.h - a table keyed by text; open addressing, keyed hash, since hosts come from strangers.
 *
 * On the heap, for what comes and goes (peers, names); over an arena, for what is built once. Keys
 * are borrowed: they must live as long as their entry (usually they stand in the value).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "bt_mem.h"

struct table_entry {
    bt_str key;
    void *value; /* NULL: the place is empty */
    uint32_t hash;
};
struct table {
    struct table_entry *entry;
    uint32_t n, cap; /* cap: 0 or a power of two */
    bool nocase;
    struct bt_arena *arena; /* NULL: the heap */
};

/* Zero bytes are an empty table on the heap, too. `arena` NULL: the heap. `nocase`: ASCII case of
 * keys does not matter. */
void table_init(struct table *, struct bt_arena *arena, bool nocase);
void table_fini(struct table *); /* frees the places, not the values */
/* The value; NULL when there is none. */
void *table_find(const struct table *, bt_str key);
/* Adds or replaces; the old value back, NULL when it is new. `value` is not NULL. The key of an
 * entry that is replaced becomes the new one. */
void *table_put(struct table *, bt_str key, void *value);
/* Takes out and gives back; NULL when there was none. Do not call while walking. */
void *table_remove(struct table *, bt_str key);

/* Walk in no order: for (uint32_t i = 0; (value = table_walk(t, &i, &key)) != NULL;). `key` may be
 * NULL. Nothing may be added or removed in between. */
void *table_walk(const struct table *, uint32_t *i, bt_str *key);

/* SipHash-1-3 with a key that is drawn once a process: for other tables that strangers can fill. */
uint64_t table_hash(bt_str key);
uint64_t table_hash_nocase(bt_str key);
/* With a key of the caller's own, for what several processes look into. */
uint64_t table_hash_with(const uint64_t k[2], bt_str key);

#endif
