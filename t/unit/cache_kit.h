/* cache_kit.h - messages for tests of the cache's pure parts: fields out of a text of lines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_KIT_H
#define CACHE_KIT_H

#include "base/arena.h"
#include "unit.h"

#include "cache/fields.c"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* The i-th line of "Name: value\nName: value". */
static inline bool kit_at(void *of, size_t i, bt_str *name, bt_str *value)
{
    bt_str rest = str_from(*(const char *const *)of), line;

    while (str_cut(&rest, '\n', &line)) {
        if (line.len == 0 || i-- > 0)
            continue;
        if (!str_split(line, ':', name, value))
            fail_msg("no field: %.*s", BT_STR_ARGS(line));
        *value = str_trim(*value);
        return true;
    }
    return false;
}

static inline bt_str kit_get(void *of, bt_str wanted, size_t n)
{
    bt_str name, value;

    for (size_t i = 0; kit_at(of, i, &name, &value); i++)
        if (bt_str_eq_nocase(name, wanted) && n-- == 0)
            return value;
    return BT_STR_NONE;
}

/* A message with those lines; `lines` is a variable of the caller's. */
#define KIT(lines) ((struct fields){kit_get, kit_at, (void *)&(lines)})

static inline struct bt_arena *kit_arena(void)
{
    static struct bt_arena *arena;

    if (arena == NULL)
        arena = arena_new(4096);
    return arena;
}

#endif
