/* told_config.c - bobtailctl config: the lines that are in force, and what stands without one.
 *
 * What looks like a secret is masked: whole lines of rows that say so, and in others passwords in
 * URLs, behind login= and the like, and behind the -w of helper programs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "conf/file.h"
#include "plug/generation.h"
#include "plug/registry.h"
#include "proc/chores.h"
#include "proc/told.h"
#include "stat/render.h"

#define MASK "********"

struct config {
    FILE *out;
    struct bt_arena *arena;
    bt_str only; /* one name; NONE: all */
    bool json, all, some;
};

/* ---- secrets ---- */

/* name=VALUE */
static bool is_secret_option(bt_str name)
{
    static const char *const names[] = {"password", "passwd",    "secret", "token",
                                        "pass",     "sslpasswd", "key",    NULL};

    for (size_t i = 0; names[i] != NULL; i++)
        if (bt_str_eq_nocase(name, str_from(names[i])))
            return true;
    return false;
}

/* login=USER:PASSWORD, but not PASS, PASSTHRU and their like, which are words. */
static void add_login(struct str_builder *to, bt_str value)
{
    bt_str user, password;

    str_add_literal(to, "login=");
    if (str_split(value, ':', &user, &password) && password.len > 0) {
        str_add(to, user);
        str_add_literal(to, ":" MASK);
    } else {
        str_add(to, value);
    }
}

/* scheme://USER:PASSWORD@HOST */
static bool add_url(struct str_builder *to, bt_str word)
{
    ptrdiff_t scheme = str_find(word, BT_STR("://"));
    bt_str rest = scheme < 0 ? BT_STR_NONE : str_skip(word, (size_t)scheme + 3);
    ptrdiff_t slash = str_find_char(rest, '/');
    bt_str authority = slash < 0 ? rest : str_slice(rest, 0, (size_t)slash);
    ptrdiff_t at = str_rfind_char(authority, '@'), colon = str_find_char(authority, ':');

    if (scheme < 0 || at < 0 || colon < 0 || colon > at)
        return false;
    str_add(to, str_slice(word, 0, (size_t)scheme + 3 + (size_t)colon + 1));
    str_add_literal(to, MASK);
    str_add(to, str_skip(rest, (size_t)at));
    return true;
}

static void add_word(struct str_builder *to, bt_str word, bool behind_w)
{
    bt_str name, value;

    if (behind_w)
        str_add_literal(to, MASK);
    else if (add_url(to, word))
        return;
    else if (!str_split(word, '=', &name, &value))
        str_add(to, word);
    else if (str_eq_literal(name, "login"))
        add_login(to, value);
    else if (is_secret_option(name) && !str_starts(value, BT_STR("/"))) /* a path is none */
        str_add_format(to, "%.*s=" MASK, BT_STR_ARGS(name));
    else
        str_add(to, word);
}

static bt_str masked(const struct bt_directive *row, bt_str text, struct bt_arena *arena)
{
    struct str_builder to;
    bt_str word;
    bool behind_w = false;

    if (row != NULL && (row->flags & BT_SECRET) != 0)
        return BT_STR(MASK);
    str_builder_arena(&to, arena, text.len + 64);
    for (bool first = true; str_word(&text, &word); first = false) {
        if (!first)
            str_add_char(&to, ' ');
        add_word(&to, word, behind_w);
        behind_w = str_eq_literal(word, "-w");
    }
    return str_built(&to);
}

/* ---- lines ---- */

static void tell(struct config *to, const char *name, bt_str value, const struct bt_word *at)
{
    static const struct bt_word set = {.file = "(bobtailctl set)"};
    bt_str instead = chores_value(str_from(name));

    if (instead.at != NULL) {
        value = instead;
        at = &set;
    }
    if (!to->json) {
        if (at == NULL)
            fprintf(to->out, "# default: %s %.*s\n", name, BT_STR_ARGS(value));
        else
            fprintf(to->out, "%s%s%.*s\n", name, value.len > 0 ? " " : "", BT_STR_ARGS(value));
        return;
    }
    fprintf(to->out, "%s\n  {\"name\": ", to->some ? "," : "");
    render_json_text(to->out, name);
    fputs(", \"value\": ", to->out);
    render_json_text(to->out, bt_str_copy(to->arena, value).at);
    if (at != NULL) {
        fputs(", \"file\": ", to->out);
        render_json_text(to->out, at->file);
        fprintf(to->out, ", \"line\": %u}", (unsigned)at->line);
    } else {
        fputs(", \"file\": null, \"line\": null}", to->out);
    }
    to->some = true;
}

static bool wants(const struct config *to, bt_str name)
{
    return to->only.at == NULL || bt_str_eq(to->only, name);
}

static void tell_lines(struct config *to, const struct generation *gen)
{
    for (size_t i = 0; i < gen->n_found; i++) {
        const struct generation_module *module = &gen->found[i];
        if ((module->state == MODULE_ON || module->state == MODULE_OFF) &&
            wants(to, BT_STR("module")))
            tell(to, "module",
                 bt_str_printf(to->arena, "%s %s",
                               module->path != NULL && module->state == MODULE_ON ? module->path
                                                                                  : module->name,
                               module->state == MODULE_ON ? "on" : "off"),
                 &module->at);
    }
    for (size_t i = 0; i < gen->n_lines; i++) {
        const struct file_line *line = &gen->line[i];
        if (wants(to, line->name.text))
            tell(to, bt_str_copy(to->arena, line->name.text).at,
                 masked(line->row, line->text, to->arena), &line->name);
    }
}

static bool is_named(const struct generation *gen, const struct bt_directive *row)
{
    for (size_t i = 0; i < gen->n_lines; i++)
        if (gen->line[i].row == row)
            return true;
    return false;
}

static void tell_presets(struct config *to, const struct generation *gen)
{
    const struct registry_row *rows;
    size_t n = registry_rows(gen->registry, ROW_DIRECTIVE, to->arena, &rows);

    for (size_t i = 0; i < n; i++) {
        const struct bt_directive *row = rows[i].row;
        if (row->status == BT_BUILT && row->same_as == NULL && row->preset != NULL &&
            !is_named(gen, row) && wants(to, str_from(row->name)))
            tell(to, row->name, str_from(row->preset), NULL);
    }
}

static bool read_words(struct config *to, const bt_str *word, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_literal(word[i], "--json"))
            to->json = true;
        else if (str_eq_literal(word[i], "all"))
            to->all = true;
        else if (to->only.at == NULL && !str_starts(word[i], BT_STR("-")))
            to->only = word[i];
        else
            return false;
    }
    return true;
}

void told_config(struct admin_call *call, bt_str *word, size_t n)
{
    struct config to = {.out = admin_out(call), .only = BT_STR_NONE};

    if (!read_words(&to, word, n)) {
        admin_failed(call, "say: config [--json] [all] [NAME]");
        return;
    }
    if (generation_current == NULL) {
        admin_failed(call, "the configuration could not be read again; see status");
        return;
    }
    if (to.only.at != NULL &&
        registry_find(generation_current->registry, ROW_DIRECTIVE, to.only) == NULL) {
        admin_failed(call, "there is no directive %.100s here", to.only.at);
        return;
    }
    to.arena = arena_new(16 * 1024);
    if (to.json)
        fputc('[', to.out);
    tell_lines(&to, generation_current);
    if (to.all || to.only.at != NULL)
        tell_presets(&to, generation_current);
    if (to.json)
        fputs(to.some ? "\n]\n" : "]\n", to.out);
    arena_free(to.arena);
    admin_done(call);
}
