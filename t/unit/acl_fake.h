/* acl_fake.h - an exchange and ACL types of our own, for tests of plug/acl.c and plug/rules.c.
 *
 * An ACL `acl NAME one 7` matches what stands at place 7 of the exchange's `says`. Each type counts
 * how often it is asked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ACL_FAKE_H
#define ACL_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hits.h"
#include "base/str.h"
#include "bt_sets.h"
#include "bt_txn.h"
#include "conf/complain.h"
#include "plug/acl.h"
#include "plug/registry.h"
#include "plug/rules.h"

enum { SAYS = 8192, ROLLS = 4096 };

struct bt_txn {
    struct bt_arena *arena;
    struct acl_memo *memo;
    enum bt_match says[SAYS]; /* WAIT: once, then `later` */
    enum bt_match later[SAYS];
    int asked[SAYS];
    int asked_sets, asked_dry, asked_wide, asked_dear;
    bool nobody;            /* is logged in */
    uint32_t luck;          /* of dice */
    uint16_t rolled[ROLLS]; /* which were asked, in order */
    int rolls;
    bt_str path;
};

/* What flow/export.c has for the server. */
struct bt_arena *bt_txn_arena(struct bt_txn *txn)
{
    return txn->arena;
}
struct acl_memo **acl_memo_place(struct bt_txn *txn)
{
    return &txn->memo;
}
bt_str bt_path(struct bt_txn *txn)
{
    return txn->path;
}

/* ---- the types ---- */

static size_t place_of(const struct bt_word *word)
{
    return (size_t)atoi(word->text.at);
}

static enum bt_match fake_says(struct bt_txn *txn, size_t place)
{
    enum bt_match said = txn->says[place];

    txn->asked[place]++;
    if (said == BT_WAIT)
        txn->says[place] = txn->later[place];
    return said;
}

static enum bt_match one_match(const void *values, struct bt_txn *txn)
{
    const struct bt_args *args = values;
    return fake_says(txn, place_of(&args->word[0]));
}

/* A changing answer with a side effect: asked again, it falls anew. */
static inline enum bt_match dice_fall(uint32_t luck, size_t place, int rolls)
{
    uint32_t x = (luck + (uint32_t)place * 2654435761u + (uint32_t)rolls * 40503u) * 2246822519u;
    static const enum bt_match faces[] = {BT_NO,  BT_YES, BT_NO,  BT_YES,  BT_NO,
                                          BT_YES, BT_NO,  BT_YES, BT_WAIT, BT_BROKEN};

    return faces[(x ^ x >> 13) % (sizeof faces / sizeof *faces)];
}

static enum bt_match dice_match(const void *values, struct bt_txn *txn)
{
    const struct bt_args *args = values;
    size_t place = place_of(&args->word[0]);

    if (txn->rolls < ROLLS)
        txn->rolled[txn->rolls] = (uint16_t)place;
    return dice_fall(txn->luck, place, txn->rolls++);
}

static void *login_compile(struct bt_args args, struct bt_arena *to, struct bt_error *errors)
{
    struct bt_args *copy = bt_alloc(to, sizeof *copy);

    (void)errors;
    *copy = args;
    bt_acl_asks_login();
    return copy;
}

static enum bt_match login_match(const void *values, struct bt_txn *txn)
{
    const struct bt_args *args = values;
    enum bt_match said = fake_says(txn, place_of(&args->word[0]));

    return txn->nobody && said != BT_WAIT ? BT_BROKEN : said;
}

struct fake_set {
    size_t n;
    size_t *place;
    bool dry; /* -n */
};

static void *set_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                         struct bt_error *err)
{
    struct fake_set *set = bt_alloc(arena, sizeof *set);

    set->n = n;
    set->place = bt_alloc(arena, (n + 1) * sizeof *set->place);
    for (size_t i = 0; i < n; i++) {
        const struct bt_word *word = acl[i].args.word;
        if (str_eq_literal(word->text, "-n")) {
            set->dry = true;
            word++;
        }
        if (str_eq_literal(word->text, "bad")) {
            bt_complain(err, word, "a bad value");
            return NULL;
        }
        set->place[i] = place_of(word);
    }
    return set;
}

static enum bt_match some_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct fake_set *set = compiled;
    bool waits = false, broken = false;

    for (size_t i = set->n; i-- > 0;) /* not in order */
        switch (fake_says(txn, set->place[i])) {
        case BT_YES:
            hit(bits, (uint32_t)i);
            break;
        case BT_WAIT:
            waits = true;
            break;
        case BT_BROKEN:
            broken = true;
            break;
        case BT_NO:
            break;
        }
    return waits ? BT_WAIT : broken ? BT_BROKEN : BT_YES;
}

static enum bt_match set_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct fake_set *set = compiled;

    *(set->dry ? &txn->asked_dry : &txn->asked_sets) += 1;
    return some_match(compiled, txn, bits);
}

static enum bt_match wide_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    txn->asked_wide++;
    return some_match(compiled, txn, bits);
}

static enum bt_match dear_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    txn->asked_dear++;
    return some_match(compiled, txn, bits);
}

static const struct bt_acl_type fake_types[] = {
    {.name = "one two", .args = "word...", .doc = "Fake.", .match = one_match},
    {.name = "slow", .args = "word...", .doc = "Fake.", .flags = BT_SLOW, .match = one_match},
    {.name = "fresh", .args = "word...", .doc = "Fake.", .flags = BT_FRESH, .match = one_match},
    {.name = "late",
     .args = "word...",
     .doc = "Fake.",
     .earliest = BT_AT_RESPONSE,
     .match = one_match},
    {.name = "set",
     .args = "word...",
     .doc = "Fake.",
     .flags = BT_NO_DNS | BT_SLOW,
     .compile_all = set_compile,
     .match_all = set_match},
    {.name = "wide", /* it may wait, and not say so, as dstdomain */
     .args = "word...",
     .doc = "Fake.",
     .flags = BT_SETS,
     .compile_all = set_compile,
     .match_all = wide_match,
     .cost = 1},
    {.name = "dear",
     .args = "word...",
     .doc = "Fake.",
     .flags = BT_SLOW,
     .compile_all = set_compile,
     .match_all = dear_match,
     .cost = 3},
    {.name = "dice", .args = "word...", .doc = "Fake.", .flags = BT_FRESH, .match = dice_match},
    {.name = "login",
     .args = "word...",
     .doc = "Fake.",
     .flags = BT_SLOW,
     .compile = login_compile,
     .match = login_match,
     .cost = 3},
    {.name = "number", .args = "int(1..9)", .doc = "Fake.", .match = one_match},
    {.name = "src dst method", .args = "word...", .doc = "Fake.", .match = one_match},
};
static struct bt_self fake_self;
static const struct bt_module fake_module = {.abi_major = BT_ABI_MAJOR,
                                             .size = sizeof(struct bt_module),
                                             .name = "fake",
                                             .doc = "Fake types.",
                                             .self = &fake_self,
                                             .acl_types = BT_ROWS(fake_types)};

/* ---- a configuration, line by line ---- */

static struct bt_arena *arena;
static struct bt_error err;
static struct acls acls;
static uint32_t line_number;

static const struct bt_directive access_row = {
    .name = "http_access", .args = "allow|deny acls+", .doc = "Fake.", .phase = BT_AT_REQUEST};
static const struct bt_directive fast_row = {
    .name = "tcp_outgoing_address", .args = "addr fastacls", .doc = "Fake.", .phase = BT_AT_FINISH};
static const struct bt_directive *acl_row;

static int conf_new(void **state)
{
    (void)state;
    arena = arena_new(8192);
    complain_init(&err, arena);
    struct registry *registry = registry_new(arena);
    assert_true(registry_add(registry, &fake_module, NULL, &err));
    assert_true(registry_add(registry, &acl_module, NULL, &err));
    acl_row = registry_directive(registry, BT_STR("acl"), NULL);
    assert_non_null(acl_row);
    acls_init(&acls, registry, arena);
    line_number = 0;
    return 0;
}

static int conf_free(void **state)
{
    (void)state;
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

/* Words of "name word word", with places. */
static struct bt_line *line_of(const struct bt_directive *row, const char *text)
{
    struct bt_line *line = bt_alloc(arena, sizeof *line);
    bt_str whole = bt_str_copy(arena, str_from(text)), rest = whole, word;
    struct bt_word *words = bt_alloc(arena, 64 * sizeof *words);
    size_t n = 0;

    line_number++;
    while (str_word(&rest, &word)) {
        assert_true(n < 64);
        words[n++] = (struct bt_word){.text = bt_str_copy(arena, word),
                                      .file = "test.conf",
                                      .line = line_number,
                                      .column = (uint32_t)(word.at - whole.at) + 1};
    }
    assert_true(n > 0);
    line->name = words[0];
    line->args = (struct bt_args){words + 1, n - 1};
    line->arena = arena;
    line->row = row;
    complain_at(&err, &line->name);
    return line;
}

static bool acl_line(const char *text)
{
    return acl_define(&acls, line_of(acl_row, text), &err);
}

/* "http_access allow a !b" */
static inline const struct bt_line *rule_line(struct bt_rules **list, const char *text)
{
    struct bt_line *line = line_of(&access_row, text);
    struct bt_args names = {line->args.word + 1, line->args.n - 1};

    line->acls = rules_acls(&acls, names, &access_row, false, &err);
    bt_rules_add(list, line, str_eq_literal(line->args.word[0].text, "allow") ? BT_ALLOW : BT_DENY);
    return line;
}

/* Is there a complaint at that place that says that? */
static bool said(uint32_t line, uint32_t column, bool fault, const char *text)
{
    for (size_t i = 0; i < err.n; i++)
        if (err.list[i].line == line && err.list[i].column == column &&
            err.list[i].fault == fault && strstr(err.list[i].text, text) != NULL)
            return true;
    for (size_t i = 0; i < err.n; i++)
        print_message("# %u:%u %s: %s\n", err.list[i].line, err.list[i].column,
                      err.list[i].fault ? "error" : "warning", err.list[i].text);
    return false;
}

static inline void txn_new_fake(struct bt_txn *txn)
{
    *txn = (struct bt_txn){.arena = arena};
}

#endif
