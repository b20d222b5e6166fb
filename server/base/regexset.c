/* regexset.c - many regular expressions, one look at a text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/regexset.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/hits.h"
#include "base/literals.h"
#include "base/regex_hs.h"
#include "base/regex_text.h"
#include "base/str.h"

/* While patterns are gathered. */
struct source {
    bt_str pattern;
    struct regex_text text;
    unsigned flags;
    uint32_t owner;
    bt_str exact; /* plain, and case matters: the text as it is; its literal is in lower case */
};

/* A pattern that PCRE2 runs. */
struct runner {
    struct regex *regex; /* NULL: its literal is all there is to it */
    bt_str exact;        /* that literal, case kept; NULL: case does not matter */
    uint32_t owner;
};

/* Of each place in runner[]: in which look it was run last, since once a text is enough. It is the
 * process's, and serves all sets, as each look has a number of its own. */
static struct {
    uint32_t *look, now;
    size_t n;
} marks;

struct regexset {
    struct bt_arena *arena;
    struct source *source;
    size_t n, cap;
    bool sealed;

    struct regex_hs *automaton;
    uint32_t *owner; /* of each of its patterns */
    struct literals *literals;
    struct runner *runner; /* those that are always run come first */
    size_t runners, always;
    uint64_t *explodes; /* a bit for each pattern */
};

static void marks_free(void)
{
    free(marks.look);
    marks.look = NULL;
    marks.n = 0;
}

static void sources_free(struct regexset *set)
{
    for (size_t i = 0; i < set->n; i++) {
        regex_text_fini(&set->source[i].text);
        free((char *)(uintptr_t)set->source[i].pattern.at);
    }
    free(set->source);
    set->source = NULL;
}

static void regexset_fini(void *what)
{
    struct regexset *set = what;

    if (set->source != NULL)
        sources_free(set);
    marks_free(); /* whoever looks again makes them anew */
    if (!arena_is_shared(set->arena))
        regex_hs_free(set->automaton);
}

struct regexset *regexset_new(struct bt_arena *arena)
{
    struct regexset *set = bt_alloc(arena, sizeof *set);

    set->arena = arena;
    bt_defer(arena, regexset_fini, set);
    return set;
}

static bt_str keep(bt_str text)
{
    char *copy = malloc(text.len + 1);

    CHECK(copy != NULL);
    if (text.len > 0)
        memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return (bt_str){copy, text.len};
}

bool regexset_add(struct regexset *set, bt_str pattern, unsigned flags, uint32_t owner,
                  struct regex_error *err)
{
    struct regex_text text;

    CHECK(!set->sealed);
    if (!regex_text_init(&text, pattern, flags, err))
        return false;
    /* The words of the grammar `regex` were compiled when they were read; what is too large for
     * PCRE2 is found then. */
    if (set->n == set->cap) {
        set->cap = set->cap == 0 ? 16 : set->cap * 2;
        set->source = realloc(set->source, set->cap * sizeof *set->source);
        CHECK(set->source != NULL && set->cap < UINT32_MAX);
    }
    set->source[set->n++] = (struct source){keep(pattern), text, flags, owner, BT_STR_NONE};
    return true;
}

/* ---- sealing ---- */

/* Literals are looked for in lower case. */
static void sources_fold(struct regexset *set)
{
    for (size_t i = 0; i < set->n; i++) {
        struct source *source = &set->source[i];
        if (source->text.plain && (source->flags & REGEX_NOCASE) == 0)
            source->exact = bt_str_copy(set->arena, source->text.literal[0]);
        for (size_t k = 0; k < source->text.n_literals; k++) {
            bt_str literal = source->text.literal[k];
            str_lower_in_place((char *)(uintptr_t)literal.at, literal.len); /* of our own copy */
        }
    }
}

/* Is one of its texts rare enough, whichever of its alternatives matches, and can it not explode? */
static bool filters_well(const struct literals *all, const struct regex_text *text)
{
    for (size_t i = 0; i < text->n_literals; i++)
        if (!literals_is_strong(all, text->literal[i]))
            return false;
    return text->n_literals > 0 && (text->plain || !text->nests);
}

/* In the same order as the patterns: those that go into the automaton. */
static void automaton_make(struct regexset *set, bool *taken, unsigned how)
{
    struct regex_hs_pattern *pattern = calloc(set->n + 1, sizeof *pattern);
    struct literals *all = literals_new();
    size_t n = 0;

    CHECK(pattern != NULL);
    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; k < set->source[i].text.n_literals; k++)
            literals_add(all, set->source[i].text.literal[k], 0);
    literals_seal(all);
    for (size_t i = 0; i < set->n; i++) {
        const struct source *source = &set->source[i];
        taken[i] = how == REGEXSET_AUTOMATON ||
                   (how != REGEXSET_PLAIN && !filters_well(all, &source->text));
        if (!taken[i])
            continue;
        pattern[n].text = source->text.text;
        pattern[n++].nocase = (source->flags & REGEX_NOCASE) != 0;
    }
    if (n > 0)
        set->automaton = regex_hs_new(set->arena, pattern, n);
    set->owner = calloc(n + 1, sizeof *set->owner);
    CHECK(set->owner != NULL);
    for (size_t i = 0, at = 0; i < set->n; i++)
        if (taken[i]) {
            set->owner[at] = set->source[i].owner;
            taken[i] = pattern[at++].taken;
        }
    set->owner = arena_keep(set->arena, set->owner, (n + 1) * sizeof *set->owner);
    literals_free(all);
    free(pattern);
}

static void runner_add(struct regexset *set, const struct source *source)
{
    struct runner *runner = &set->runner[set->runners];
    const struct regex_text *text = &source->text;
    struct regex_error err;

    *runner = (struct runner){.owner = source->owner};
    if (!text->plain) {
        runner->regex = regex_new(set->arena, source->pattern, source->flags, &err);
        if (runner->regex == NULL) /* too large; whoever read the word has said so */
            return;
    } else if ((source->flags & REGEX_NOCASE) == 0) {
        runner->exact = source->exact;
    }
    for (size_t i = 0; i < text->n_literals; i++)
        literals_add(set->literals, text->literal[i], (uint32_t)set->runners);
    set->runners++;
}

void regexset_seal(struct regexset *set, unsigned how)
{
    bool *taken = calloc(set->n + 1, sizeof *taken);

    CHECK(!set->sealed && taken != NULL);
    set->sealed = true;
    sources_fold(set);
    automaton_make(set, taken, how);
    set->runner = calloc(set->n + 1, sizeof *set->runner);
    set->literals = literals_new();
    CHECK(set->runner != NULL);
    for (unsigned filtered = 0; filtered < 2; filtered++) {
        for (size_t i = 0; i < set->n; i++)
            if (!taken[i] && (set->source[i].text.n_literals > 0) == (filtered == 1))
                runner_add(set, &set->source[i]);
        if (filtered == 0)
            set->always = set->runners;
    }
    literals_seal(set->literals);
    set->literals = literals_keep(set->literals, set->arena);
    set->runner = arena_keep(set->arena, set->runner, (set->runners + 1) * sizeof *set->runner);
    set->explodes = bt_alloc(set->arena, (BT_BITS_WORDS(set->n) + 1) * sizeof *set->explodes);
    for (size_t i = 0; i < set->n; i++)
        if (!taken[i] && set->source[i].text.nests)
            bt_bit_set(set->explodes, i);
    sources_free(set);
    free(taken);
}

/* ---- finding ---- */

struct look {
    const struct regexset *set;
    bt_str text;
    uint64_t *bits;
    bool broken;
};

static void look_run(struct look *look, const struct runner *runner)
{
    enum bt_match said = regex_match(runner->regex, look->text);

    if (said == BT_YES)
        hit(look->bits, runner->owner);
    look->broken |= said == BT_BROKEN;
}

static void pattern_matched(void *arg, uint32_t pattern)
{
    struct look *look = arg;

    hit(look->bits, look->set->owner[pattern]);
}

static void literal_found(void *arg, uint32_t id, const char *at)
{
    struct look *look = arg;
    const struct runner *runner = &look->set->runner[id];

    if (bt_bit_get(look->bits, runner->owner))
        return;
    if (runner->regex == NULL) {
        if (runner->exact.at == NULL || memcmp(at, runner->exact.at, runner->exact.len) == 0)
            hit(look->bits, runner->owner);
        return;
    }
    if (marks.look[id] == marks.now)
        return;
    marks.look[id] = marks.now;
    look_run(look, runner);
}

/* A number for this look, and a mark for each runner. */
static void marks_begin(size_t runners)
{
    if (++marks.now == 0) /* come round: nobody may take an old mark for this one */
        marks.n = 0;
    if (marks.n >= runners)
        return;
    free(marks.look);
    marks.n = runners + runners / 4;
    marks.look = calloc(marks.n, sizeof *marks.look);
    CHECK(marks.look != NULL);
    marks.now += marks.now == 0;
}

enum bt_match regexset_find(const struct regexset *set, bt_str text, uint64_t *bits)
{
    struct look look = {set, text, bits, false};

    CHECK(set->sealed);
    if (set->automaton != NULL)
        look.broken |= !regex_hs_find(set->automaton, text, pattern_matched, &look);
    for (size_t i = 0; i < set->always; i++)
        if (!bt_bit_get(bits, set->runner[i].owner))
            look_run(&look, &set->runner[i]);
    if (set->runners > set->always) {
        marks_begin(set->runners);
        literals_find(set->literals, text, literal_found, &look);
    }
    return look.broken ? BT_BROKEN : BT_YES;
}

bool regexset_may_explode(const struct regexset *set, size_t n)
{
    return set->sealed && n < set->n && bt_bit_get(set->explodes, n);
}

struct regexset_about regexset_about(const struct regexset *set)
{
    return (struct regexset_about){
        .patterns = set->n,
        .automaton = set->n - set->runners,
        .filtered = set->runners - set->always,
        .always = set->always,
        .memory = sizeof *set + set->n * (sizeof *set->owner + sizeof *set->runner) +
                  regex_hs_memory(set->automaton) + literals_memory(set->literals)};
}
