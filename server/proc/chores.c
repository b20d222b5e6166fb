/* chores.c - what bobtailctl asks of every worker at once, and of the master beside them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/chores.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/log.h"
#include "base/str.h"
#include "bt.h"
#include "conf/bind.h"
#include "conf/complain.h"
#include "flow/survey.h"
#include "plug/generation.h"
#include "plug/registry.h"
#include "proc/settings.h"
#include "proc/worker.h"

static const struct worker_birth *birth; /* NULL: this is the master */

void chores_begin(const struct worker_birth *own)
{
    birth = own;
}

/* ---- exchanges ---- */

static struct survey_who self(void)
{
    return (struct survey_who){birth->segment->head->generation, birth->row};
}

static bool id_of(bt_str word, uint64_t part[3])
{
    bt_str rest = word, one;
    size_t n = 0;

    while (n < 3 && str_cut(&rest, '.', &one))
        if (!str_uint(one, UINT64_MAX, &part[n++]))
            return false;
    return n == 3 && rest.at == NULL;
}

static void kill_one(FILE *out, bt_str word)
{
    struct survey_who who = self();
    uint64_t part[3];

    if (id_of(word, part) && part[0] == who.generation && part[1] == who.worker &&
        survey_kill(part[2]))
        fputs("ended\n", out);
}

/* ---- values ---- */

static const struct bt_directive *live_row(bt_str name, const struct bt_module **owner)
{
    const struct bt_directive *row = registry_directive(generation_current->registry, name, owner);

    return row != NULL && (row->flags & BT_LIVE) != 0 ? row : NULL;
}

static struct bt_arena *arena; /* for good: a value may be text */
static struct value {
    const struct bt_directive *row;
    bt_str text;
    struct value *next;
} * values;

static void value_note(const struct bt_directive *row, bt_str text)
{
    struct value *value = values;

    while (value != NULL && value->row != row)
        value = value->next;
    if (value == NULL) {
        value = bt_alloc(arena, sizeof *value);
        *value = (struct value){.row = row, .next = values};
        values = value;
    }
    value->text = bt_str_copy(arena, text);
}

bt_str chores_value(bt_str name)
{
    for (const struct value *value = values; value != NULL; value = value->next)
        if (bt_str_eq(name, str_from(value->row->name)))
            return value->text;
    return BT_STR_NONE;
}

static bool set(bt_str text, char *why, size_t cap)
{
    const struct bt_module *owner;
    bt_str name;
    struct bt_error err;

    if (generation_current == NULL || !str_word(&text, &name))
        return false;
    const struct bt_directive *row = live_row(name, &owner);
    if (row == NULL) {
        snprintf(why, cap,
                 registry_directive(generation_current->registry, name, NULL) != NULL
                     ? "%.*s cannot be changed while the server runs: change the file, and reload"
                     : "there is no directive %.*s",
                 (int)(name.len < 60 ? name.len : 60), name.at);
        return false;
    }
    if (arena == NULL)
        arena = arena_new(1024);
    complain_init(&err, arena);
    bool good = bind_value(row, owner->self->conf, str_trim_space(text), arena, &err);
    if (good)
        value_note(row, str_trim_space(text));
    else
        snprintf(why, cap, "%s", err.n > 0 ? err.list[0].text : "the value does not fit");
    complain_fini(&err);
    return good;
}

/* ---- how much is told ---- */

static const char *const levels[] = {"error", "warn", "info", "debug", NULL};

static int level_of(bt_str word)
{
    for (int i = 0; levels[i] != NULL; i++)
        if (bt_str_eq(word, str_from(levels[i])))
            return i;
    return -1;
}

static bool level(bt_str text, char *why, size_t cap)
{
    bt_str word, module;

    if (!str_word(&text, &word))
        return true;
    int wanted = level_of(word);
    if (wanted < 0) {
        snprintf(why, cap, "a level is one of error, warn, info, debug");
        return false;
    }
    if (!str_word(&text, &module)) {
        log_debug_none();
        log_level((enum bt_level)wanted);
        return true;
    }
    if (wanted != BT_DEBUG) {
        snprintf(why, cap, "of one module only debug can be asked; \"log level info\" ends it");
        return false;
    }
    char tag[64];
    snprintf(tag, sizeof tag, "%.*s", BT_STR_ARGS(module));
    log_debug_tag(tag);
    return true;
}

/* ---- all of them ---- */

/* What the master and its workers do alike. false: not one of these, or `why` is set. */
static bool common(bt_str word, bt_str rest, char *why, size_t cap)
{
    if (str_eq_literal(word, "set"))
        return set(rest, why, cap);
    if (str_eq_literal(word, "level"))
        return level(rest, why, cap);
    return str_eq_literal(word, "exchanges") || str_eq_literal(word, "kill");
}

bool chores_here(bt_str text, char *why, size_t cap)
{
    uint64_t part[3];
    bt_str word;

    snprintf(why, cap, "that cannot be asked of workers");
    if (!str_word(&text, &word) || !common(word, text, why, cap))
        return false;
    if (str_eq_literal(word, "kill") && !id_of(str_trim_space(text), part)) {
        snprintf(why, cap, "an exchange is named by three numbers, as in 1.2.345; see: top");
        return false;
    }
    return true;
}

static void run(FILE *out, bt_str text)
{
    struct survey_who who = self();
    char why[200];
    bt_str word;

    if (!str_word(&text, &word) || !common(word, text, why, sizeof why))
        return;
    if (str_eq_literal(word, "exchanges"))
        survey_tell(out, &who);
    else if (str_eq_literal(word, "kill"))
        kill_one(out, str_trim_space(text));
}

void chores_run(int fd, bt_str text)
{
    char *answer = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&answer, &len);

    CHECK(out != NULL);
    run(out, text);
    fclose(out);
    /* One write for all of it, so that lines of workers do not mix. */
    (void)!write(fd, answer, len);
    free(answer);
    close(fd);
}
