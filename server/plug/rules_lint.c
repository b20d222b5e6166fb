/* rules_lint.c - lines of lists that cannot be meant as they stand.
 *
 * Only what can be proved: a line below one that always holds; a line whose ACLs are all named by
 * an earlier one, which then holds whenever it does; a line that wants an ACL to match and not to
 * match; an ACL that no line names. Whether the addresses of one ACL lie within another's is not
 * looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "plug/acl_inside.h"
#include "plug/rules_inside.h"

enum { SAID_MAX = 20, TERMS_MAX = 8 }; /* warnings of one sort; of a line, to look at its subsets */

bool rules_lint_wanted;

/* The terms of a line as numbers in order, each once: the same for lines that name the same. */
struct set {
    uintptr_t term[TERMS_MAX];
    uint32_t n;
};

static uintptr_t number_of(const struct rules_index_term *term)
{
    return (uintptr_t)term->acl | (term->negated ? 1 : 0);
}

static void set_add(struct set *set, uintptr_t one)
{
    uint32_t to = set->n;

    for (uint32_t i = 0; i < set->n; i++)
        if (set->term[i] == one)
            return;
    for (; to > 0 && set->term[to - 1] > one; to--)
        set->term[to] = set->term[to - 1];
    set->term[to] = one;
    set->n++;
}

/* false: too long to look at, or with a side effect, so that leaving it out changes something. */
static bool set_make(const struct bt_acls *acls, struct set *set)
{
    set->n = 0;
    if (acls == NULL || acls->n > TERMS_MAX)
        return false;
    for (uint32_t i = 0; i < acls->n; i++) {
        if (acl_is_fresh(acls->term[i].acl))
            return false;
        if (!acl_is_all(acls->term[i].acl) || acls->term[i].negated)
            set_add(set, number_of(&acls->term[i]));
    }
    return true;
}

static uint64_t set_hash(const struct set *set)
{
    uint64_t hash = set->n;

    for (uint32_t i = 0; i < set->n; i++)
        hash = (hash ^ set->term[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static bool set_eq(const struct set *a, const struct set *b)
{
    return a->n == b->n && memcmp(a->term, b->term, a->n * sizeof *a->term) == 0;
}

/* Lines so far, by what they name. */
struct seen {
    const struct bt_rules *rules;
    uint32_t *slot, mask; /* line + 1 */
};

static uint32_t *seen_place(struct seen *seen, const struct set *want)
{
    uint32_t at = (uint32_t)set_hash(want) & seen->mask;

    for (; seen->slot[at] != 0; at = (at + 1) & seen->mask) {
        struct set set;
        if (set_make(seen->rules->row[seen->slot[at] - 1].acls, &set) && set_eq(&set, want))
            break;
    }
    return &seen->slot[at];
}

/* An earlier line that names some of these ACLs and nothing else; 0: none. */
static uint32_t seen_subset(struct seen *seen, const struct set *set)
{
    for (uint32_t some = 1; some < UINT32_C(1) << set->n; some++) {
        struct set part = {.n = 0};
        for (uint32_t i = 0; i < set->n; i++)
            if ((some >> i & 1) != 0)
                part.term[part.n++] = set->term[i];
        uint32_t line = *seen_place(seen, &part);
        if (line != 0)
            return line;
    }
    return 0;
}

static const char *place_of(const struct bt_line *line, struct bt_arena *arena)
{
    return bt_str_printf(arena, "%s:%u (%s)", line->name.file, (unsigned)line->name.line,
                         rules_line_text(line, arena).at)
        .at;
}

/* A line that wants the same ACL to match and not to, or what never matches. */
static bool never_holds(const struct bt_acls *acls)
{
    for (uint32_t i = 0; acls != NULL && i < acls->n; i++) {
        if (acl_is_all(acls->term[i].acl) && acls->term[i].negated)
            return true;
        for (uint32_t k = 0; k < i && acls->n <= TERMS_MAX; k++)
            if (acls->term[k].acl == acls->term[i].acl &&
                acls->term[k].negated != acls->term[i].negated)
                return true;
    }
    return false;
}

/* What is wrong with a line whatever stands above it. */
static bool lint_alone(const struct rules_row *row, size_t *said, struct bt_error *err)
{
    if (*said >= SAID_MAX)
        return true;
    if (!never_holds(row->acls))
        return false;
    ++*said;
    bt_caution(err, &row->line->name, "this line never holds: it contradicts itself");
    return true;
}

/* Which lines hide which depends on who asks. */
static bool by_action(const struct bt_rules *rules)
{
    const struct bt_directive *row = rules->row[0].line->row;

    return row != NULL && (row->flags & BT_BY_ACTION) != 0;
}

static void lint_line(struct seen *seen, uint32_t number, size_t *said, struct bt_error *err)
{
    const struct rules_row *row = &seen->rules->row[number];
    struct set set;

    if (lint_alone(row, said, err))
        return;
    if (!set_make(row->acls, &set) || set.n == 0)
        return;
    uint32_t by = seen_subset(seen, &set);
    if (by != 0) {
        ++*said;
        bt_caution(err, &row->line->name,
                   "this line never decides: whenever it holds, %s holds, which comes first",
                   place_of(seen->rules->row[by - 1].line, seen->rules->acls->arena));
        return;
    }
    *seen_place(seen, &set) = number + 1;
}

/* What stands below a line that always holds. */
static void lint_tail(const struct bt_rules *rules, uint32_t always, struct bt_error *err)
{
    uint32_t below = rules->n - always - 1, denies = 0;
    char more[64] = "";

    if (below == 0)
        return;
    for (uint32_t i = always + 1; i < rules->n; i++)
        denies += rules->row[i].action == BT_DENY;
    if (rules->has_default && rules->row[always].action == BT_ALLOW && denies > 0)
        snprintf(more, sizeof more, "; %u of them would deny", (unsigned)denies);
    bt_caution(err, &rules->row[always + 1].line->name,
               "from here on %u line%s of this list %s never looked at: %s holds for everybody%s",
               (unsigned)below, below == 1 ? "" : "s", below == 1 ? "is" : "are",
               place_of(rules->row[always].line, rules->acls->arena), more);
}

static void lint_list(const struct bt_rules *rules, struct bt_error *err)
{
    struct seen seen = {.rules = rules, .mask = 63};
    size_t said = 0;

    while (seen.mask < rules->n * 2)
        seen.mask = seen.mask * 2 + 1;
    seen.slot = calloc((size_t)seen.mask + 1, sizeof *seen.slot);
    CHECK(seen.slot != NULL);
    for (uint32_t i = 0; i < rules->n; i++) {
        if (by_action(rules)) {
            (void)lint_alone(&rules->row[i], &said, err);
            continue;
        }
        if (row_always(&rules->row[i])) {
            lint_tail(rules, i, err);
            break;
        }
        lint_line(&seen, i, &said, err);
    }
    free(seen.slot);
}

void rules_lint(struct acls *acls, struct bt_error *err)
{
    size_t said = 0, more = 0;

    for (const struct bt_rules *rules = acls->lists; rules != NULL; rules = rules->next)
        lint_list(rules, err);
    /* A piece of a configuration without any rules says nothing about who uses it. */
    for (size_t i = 0; acls->lists != NULL && i < acls->n; i++) {
        const struct acl *acl = acls->acl[i];
        if (acl->found || acl->name.file == NULL)
            continue;
        if (said++ < SAID_MAX)
            bt_caution(err, &acl->name, "nothing uses ACL %s", acl->name.text.at);
        else
            more++;
    }
    if (more > 0)
        bt_caution(err, NULL, "%zu more ACLs are used by nothing", more);
}
