/* acl_names.h - a table of words and of the ACLs that list each: methods, schemes, names of ports.
 *
 * Built once; a look-up halves a sorted array and copies the bits of the word.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ACL_NAMES_H
#define ACL_NAMES_H

#include <stdlib.h>
#include <string.h>

#include "bt.h"

struct acl_name_row {
    bt_str name;
    uint32_t owner;
};
struct acl_names {
    size_t n, words;
    bt_str *name;   /* sorted by length, then bytes */
    uint64_t *bits; /* `words` for each name */
};

static int acl_names_compare(bt_str a, bt_str b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return a.len == 0 ? 0 : memcmp(a.at, b.at, a.len);
}

static int acl_names_by_name(const void *a, const void *b)
{
    const struct acl_name_row *left = a, *right = b;
    return acl_names_compare(left->name, right->name);
}

/* From `n` rows of `owners` ACLs. Sorts the rows; the names must live as long as the table. */
static struct acl_names *acl_names_new(struct bt_arena *arena, struct acl_name_row *row, size_t n,
                                       size_t owners)
{
    struct acl_names *names = bt_alloc(arena, sizeof *names);

    names->words = BT_BITS_WORDS(owners);
    names->name = bt_alloc(arena, (n + 1) * sizeof *names->name);
    names->bits = bt_alloc(arena, (n + 1) * names->words * sizeof *names->bits);
    if (n > 0)
        qsort(row, n, sizeof *row, acl_names_by_name);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || acl_names_compare(row[i - 1].name, row[i].name) != 0)
            names->name[names->n++] = row[i].name;
        bt_bit_set(names->bits + (names->n - 1) * names->words, row[i].owner);
    }
    return names;
}

/* Set the bits of the ACLs that list the word. */
static void acl_names_find(const struct acl_names *names, bt_str word, uint64_t *bits)
{
    size_t low = 0, high = names->n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = acl_names_compare(word, names->name[middle]);
        if (order == 0) {
            const uint64_t *from = names->bits + middle * names->words;
            for (size_t i = 0; i < names->words; i++)
                bits[i] |= from[i];
            return;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
}

#endif
