/* services.c - what modules get of this floor under names of their own: bt_regex.h, bt_clock.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/regex.h"
#include "base/regexset.h"
#include "bt_clock.h"
#include "bt_regex.h"

int64_t bt_wall_ms(void)
{
    return clock_wall_ms();
}

/* To a module a regex is what it is here; only its name differs. */
struct bt_regex *bt_regex_new(struct bt_arena *arena, bt_str pattern, bool nocase, const char **why,
                              size_t *offset)
{
    struct regex_error err;
    struct regex *regex = regex_new(arena, pattern, nocase ? (unsigned)REGEX_NOCASE : 0u, &err);

    if (regex == NULL) {
        *why = bt_str_printf(arena, "%s", err.text).at;
        *offset = err.offset;
    }
    return (struct bt_regex *)regex;
}

enum bt_match bt_regex_match(const struct bt_regex *regex, bt_str text)
{
    return regex_match((const struct regex *)regex, text);
}

struct bt_regexes {
    struct regexset *set;
    struct bt_arena *arena;
};

struct bt_regexes *bt_regexes_new(struct bt_arena *arena)
{
    struct bt_regexes *regexes = bt_alloc(arena, sizeof *regexes);

    regexes->set = regexset_new(arena);
    regexes->arena = arena;
    return regexes;
}

bool bt_regexes_add(struct bt_regexes *regexes, bt_str pattern, bool nocase, uint32_t owner,
                    const char **why, size_t *offset)
{
    struct regex_error err;

    if (regexset_add(regexes->set, pattern, nocase ? (unsigned)REGEX_NOCASE : 0u, owner, &err))
        return true;
    *why = bt_str_printf(regexes->arena, "%s", err.text).at;
    *offset = err.offset;
    return false;
}

void bt_regexes_seal(struct bt_regexes *regexes)
{
    regexset_seal(regexes->set, 0);
}

bool bt_regexes_may_explode(const struct bt_regexes *regexes, size_t n)
{
    return regexset_may_explode(regexes->set, n);
}

enum bt_match bt_regexes_find(const struct bt_regexes *regexes, bt_str text, uint64_t *bits)
{
    return regexset_find(regexes->set, text, bits);
}
