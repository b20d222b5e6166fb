/* regex_hs.c - an automaton of many patterns, by Hyperscan or Vectorscan.
 *
 * It is compiled in the master, once, and only read after that; what a scan writes is the scratch,
 * of which each process has its own, since its pages are copied at the first write after the fork.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/regex_hs.h"

#ifdef HAVE_HS

#include <hs/hs.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/check.h"

struct regex_hs {
    hs_database_t *database;
    size_t memory;
};

/* Large enough for every automaton of this process. A worker is one thread, and no match asks for
 * another one. */
static hs_scratch_t *scratch;
static size_t automata; /* the scratch goes with the last one */

static unsigned flags_of(const struct regex_hs_pattern *pattern)
{
    unsigned flags = HS_FLAG_SINGLEMATCH | HS_FLAG_ALLOWEMPTY | HS_FLAG_DOTALL;

    return pattern->nocase ? flags | HS_FLAG_CASELESS : flags;
}

/* What the library's parser can read; that the whole fits shows later. */
static bool fits(const struct regex_hs_pattern *pattern)
{
    hs_compile_error_t *err = NULL;
    hs_expr_info_t *info = NULL;

    if (pattern->text.len == 0) /* it refuses them, and all match */
        return false;
    if (hs_expression_info(pattern->text.at, flags_of(pattern), &info, &err) != HS_SUCCESS) {
        hs_free_compile_error(err);
        return false;
    }
    free(info);
    return true;
}

struct batch {
    const char **text;
    unsigned *flags, *id;
    unsigned n;
};

static void batch_fill(struct batch *batch, const struct regex_hs_pattern *pattern, size_t n)
{
    batch->n = 0;
    for (size_t i = 0; i < n; i++)
        if (pattern[i].taken) {
            batch->text[batch->n] = pattern[i].text.at;
            batch->flags[batch->n] = flags_of(&pattern[i]);
            batch->id[batch->n++] = (unsigned)i;
        }
}

/* Compile; each time that a pattern turns out to be too large, without it. */
static hs_database_t *batch_compile(struct batch *batch, struct regex_hs_pattern *pattern, size_t n)
{
    for (unsigned tries = 0; tries < 64; tries++) {
        hs_compile_error_t *err = NULL;
        hs_database_t *database = NULL;

        batch_fill(batch, pattern, n);
        if (batch->n == 0)
            break;
        if (hs_compile_multi(batch->text, batch->flags, batch->id, batch->n, HS_MODE_BLOCK, NULL,
                             &database, &err) == HS_SUCCESS)
            return database;
        int which = err->expression;
        hs_free_compile_error(err);
        if (which < 0 || (unsigned)which >= batch->n)
            break;
        pattern[batch->id[which]].taken = false;
    }
    for (size_t i = 0; i < n; i++)
        pattern[i].taken = false;
    return NULL;
}

/* The library takes memory for the result from here. */
static struct bt_arena *taker;

static void *take(size_t n)
{
    return bt_alloc_raw(taker, n);
}

static void give(void *at)
{
    (void)at;
}

/* This process has scratch for it, too, from here on. */
static void scratch_widen(void *what)
{
    const struct regex_hs *automaton = what;

    CHECK(hs_alloc_scratch(automaton->database, &scratch) == HS_SUCCESS);
    automata++;
}

struct regex_hs *regex_hs_new(struct bt_arena *arena, struct regex_hs_pattern *pattern, size_t n)
{
    bool shared = arena_is_shared(arena);
    struct batch batch = {malloc(n * sizeof(char *) + 1), malloc(n * sizeof(unsigned) + 1),
                          malloc(n * sizeof(unsigned) + 1), 0};
    struct regex_hs *automaton = NULL;
    hs_database_t *database;

    CHECK(batch.text != NULL && batch.flags != NULL && batch.id != NULL);
    bool works = hs_valid_platform() == HS_SUCCESS;
    for (size_t i = 0; i < n; i++)
        pattern[i].taken = works && fits(&pattern[i]);
    taker = arena;
    if (shared)
        (void)hs_set_database_allocator(take, give);
    database = batch_compile(&batch, pattern, n);
    if (shared)
        (void)hs_set_database_allocator(NULL, NULL);
    if (database != NULL) {
        automaton = shared ? bt_alloc_raw(arena, sizeof *automaton) : malloc(sizeof *automaton);
        CHECK(automaton != NULL);
        automaton->database = database;
        automaton->memory = 0;
        if (shared)
            arena_on_adopt(arena, scratch_widen, automaton);
        else
            scratch_widen(automaton);
        (void)hs_database_size(database, &automaton->memory);
    }
    free(batch.text);
    free(batch.flags);
    free(batch.id);
    return automaton;
}

void regex_hs_free(struct regex_hs *automaton)
{
    if (automaton == NULL)
        return;
    hs_free_database(automaton->database);
    free(automaton);
    if (--automata > 0)
        return;
    (void)hs_free_scratch(scratch);
    scratch = NULL;
}

struct scan {
    void (*each)(void *arg, uint32_t pattern);
    void *arg;
};

static int matched(unsigned id, unsigned long long from, unsigned long long to, unsigned flags,
                   void *context)
{
    const struct scan *scan = context;

    (void)from, (void)to, (void)flags;
    scan->each(scan->arg, id);
    return 0;
}

bool regex_hs_find(const struct regex_hs *automaton, bt_str text,
                   void (*each)(void *arg, uint32_t pattern), void *arg)
{
    struct scan scan = {each, arg};

    return text.len <= UINT32_MAX &&
           hs_scan(automaton->database, text.at != NULL ? text.at : "", (unsigned)text.len, 0,
                   scratch, matched, &scan) == HS_SUCCESS;
}

size_t regex_hs_memory(const struct regex_hs *automaton)
{
    return automaton == NULL ? 0 : automaton->memory;
}

#else /* built without it */

struct regex_hs *regex_hs_new(struct bt_arena *arena, struct regex_hs_pattern *pattern, size_t n)
{
    (void)arena;
    for (size_t i = 0; i < n; i++)
        pattern[i].taken = false;
    return NULL;
}

void regex_hs_free(struct regex_hs *automaton)
{
    (void)automaton;
}

bool regex_hs_find(const struct regex_hs *automaton, bt_str text,
                   void (*each)(void *arg, uint32_t pattern), void *arg)
{
    (void)automaton, (void)text, (void)each, (void)arg;
    return false;
}

size_t regex_hs_memory(const struct regex_hs *automaton)
{
    (void)automaton;
    return 0;
}

#endif
