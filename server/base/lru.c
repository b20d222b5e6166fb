/* lru.c - answers by key, the least recently used forgotten first (bt_later.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/list.h"
#include "base/table.h"
#include "bt_later.h"

struct lru_entry {
    struct list_link link;
    bt_str key;
    _Alignas(max_align_t) char value[];
};

struct bt_lru {
    struct table by_key;
    struct list list; /* the most recently used last */
    size_t max, n;
};

struct bt_lru *bt_lru_new(size_t max)
{
    struct bt_lru *lru = calloc(1, sizeof *lru);

    CHECK(lru != NULL);
    table_init(&lru->by_key, NULL, false);
    list_init(&lru->list);
    lru->max = max;
    return lru;
}

static void forget(struct bt_lru *lru, struct lru_entry *entry)
{
    table_remove(&lru->by_key, entry->key);
    list_remove(&entry->link);
    lru->n--;
    free(entry);
}

void bt_lru_free(struct bt_lru *lru)
{
    if (lru == NULL)
        return;
    LIST_EACH(&lru->list, struct lru_entry, link, entry)
        forget(lru, entry);
    table_fini(&lru->by_key);
    free(lru);
}

void *bt_lru_find(struct bt_lru *lru, bt_str key)
{
    struct lru_entry *entry = table_find(&lru->by_key, key);

    if (entry == NULL)
        return NULL;
    list_move_tail(&lru->list, &entry->link);
    return entry->value;
}

void *bt_lru_add(struct bt_lru *lru, bt_str key, size_t size)
{
    struct lru_entry *entry = calloc(1, sizeof *entry + size + key.len + 1);

    CHECK(entry != NULL);
    bt_lru_drop(lru, key);
    if (lru->max != 0 && lru->n >= lru->max)
        forget(lru, LIST_FIRST(&lru->list, struct lru_entry, link));
    if (key.len > 0)
        memcpy(entry->value + size, key.at, key.len);
    entry->key = (bt_str){entry->value + size, key.len};
    list_add_tail(&lru->list, &entry->link);
    table_put(&lru->by_key, entry->key, entry);
    lru->n++;
    return entry->value;
}

void bt_lru_drop(struct bt_lru *lru, bt_str key)
{
    struct lru_entry *entry = table_find(&lru->by_key, key);

    if (entry != NULL)
        forget(lru, entry);
}

size_t bt_lru_count(const struct bt_lru *lru)
{
    return lru->n;
}
