/* bind.c - rows and lines come together: each line fills the conf struct of the row that it names.
 *
 * A row is compiled when its first line comes. What a name means is settled first: an alias is
 * followed, a name that nobody has gets a suggestion, one that is not built says so once. Its line
 * is checked all the same: who moves here wants to know of a mistake, whatever becomes of the line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/bind.h"

#include <fnmatch.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "base/table.h"
#include "conf/complain.h"
#include "conf/grammar.h"

enum { ALIASES_MAX = 4 }; /* an alias of an alias of ...: more is a circle */

/* A row in use. */
struct known {
    const struct bt_directive *row;
    const struct grammar *grammar;
    bool told; /* what is to be said of its status was said */
};

struct binding {
    const struct bind_hooks *hooks;
    struct bt_arena *arena;
    struct bt_error *err;
    struct table rows; /* name -> struct known */
};

/* ---- rows ---- */

static bool row_compile(struct known *known, const struct bt_directive *row, struct bt_arena *arena,
                        struct bt_error *err)
{
    const char *why = NULL;

    known->row = row;
    known->grammar = grammar_compile(arena, row->args, &why);
    return known->grammar != NULL || bt_complain(err, NULL, "the grammar \"%s\" of %s is none: %s",
                                                 row->args, row->name, why);
}

static struct known *row_known(struct binding *binding, const struct bt_directive *row)
{
    bt_str name = str_from(row->name);
    struct known *known = table_find(&binding->rows, name);

    if (known == NULL || known->row != row) {
        known = bt_alloc(binding->arena, sizeof *known);
        if (!row_compile(known, row, binding->arena, binding->err))
            return NULL;
        (void)table_put(&binding->rows, name, known);
    }
    return known;
}

static bool unknown_name(struct binding *binding, const struct bt_word *name)
{
    const struct bind_hooks *hooks = binding->hooks;
    const char *near = hooks->nearest != NULL ? hooks->nearest(hooks->ctx, name->text) : NULL;
    const char *shown = complain_word(binding->err, name->text);

    if (near != NULL && bt_str_eq_nocase(str_from(near), name->text))
        return bt_complain(binding->err, name,
                           "unknown directive %s: names are in lower case; write %s", shown, near);
    if (near != NULL)
        return bt_complain(binding->err, name, "unknown directive %s; did you mean '%s'?", shown,
                           near);
    return bt_complain(binding->err, name, "unknown directive %s", shown);
}

/* The row that a line is about, aliases followed. */
static bool row_find(struct binding *binding, const struct bt_word *name, struct bind_target *out)
{
    const struct bind_hooks *hooks = binding->hooks;
    size_t faults = binding->err->faults;

    if (!hooks->find(hooks->ctx, name->text, out)) {
        if (binding->err->faults == faults)
            unknown_name(binding, name);
        return false;
    }
    for (int i = 0; out->row->same_as != NULL; i++) {
        bt_str same = str_from(out->row->same_as);
        if (i == ALIASES_MAX || !hooks->find(hooks->ctx, same, out))
            return bt_complain(binding->err, name, "%s stands for %s, which nobody has",
                               name->text.at, same.at);
    }
    return true;
}

/* Does the line ask for what happens anyway? The preset of a row that is not built says what that
 * is: patterns of words, separated by |. */
static bool is_fulfilled(const struct bt_directive *row, const struct grammar_line *fits,
                         struct bt_arena *arena)
{
    struct str_builder words;
    bt_str rest = str_from(row->preset), one;

    if (row->preset == NULL)
        return false;
    str_builder_arena(&words, arena, 64);
    for (size_t i = 0; i < fits->args.n + fits->acls.n; i++) {
        const struct bt_word *word = i < fits->args.n ? &fits->args.word[i]
                                                      : &fits->acls.word[i - fits->args.n];
        if (i > 0)
            str_add_char(&words, ' ');
        str_add(&words, word->text);
    }
    const char *text = str_built(&words).at;
    while (str_cut(&rest, '|', &one))
        if (fnmatch(bt_str_copy(arena, one).at, text, 0) == 0)
            return true;
    return false;
}

/* Say once that a name does not work, at its first line. false: the start is refused. */
static bool status_tell(struct known *known, const struct bt_word *name, struct bt_error *err)
{
    const struct bt_directive *row = known->row;
    const char *note = row->note != NULL ? row->note : "";
    const char *colon = row->note != NULL ? ": " : "";

    if (known->told)
        return row->status != BT_UNBUILT;
    known->told = true;
    if (row->status == BT_UNBUILT)
        return bt_complain(err, name,
                           "%s is not built yet, and to start without it would be unsafe%s%s; "
                           "remove the line if you can do without",
                           name->text.at, colon, note);
    bt_caution(err, name,
               row->status == BT_IGNORED ? "%s is known and ignored%s%s"
                                         : "%s is obsolete and ignored%s%s",
               name->text.at, colon, note);
    return true;
}

/* ---- lines ---- */

static struct grammar_of grammar_of(const struct bt_directive *row, const struct bind_hooks *hooks,
                                    struct bt_arena *arena)
{
    return (struct grammar_of){
        .option = row->options.row,
        .options = row->options.n,
        .option_size = row->option_size,
        .unit = row->unit,
        .flags = row->flags,
        .quiet = row->status != BT_BUILT,
        .format = hooks != NULL ? hooks->format : NULL,
        .ctx = hooks != NULL ? hooks->ctx : NULL,
        .arena = arena,
    };
}

/* Hand a line that fits to its row. */
static bool line_give(struct binding *binding, const struct bind_target *target,
                      const struct known *known, const struct file_line *line,
                      const struct grammar_line *fits)
{
    const struct bind_hooks *hooks = binding->hooks;
    const struct bt_directive *row = target->row;
    struct bt_line *given = bt_alloc(binding->arena, sizeof *given);
    size_t faults = binding->err->faults;

    *given = (struct bt_line){
        .name = line->name,
        .args = fits->args,
        .options = fits->options,
        .text = line->text,
        .arena = binding->arena,
        .row = row,
    };
    if (fits->has_acls && hooks->acls != NULL)
        given->acls = hooks->acls(hooks->ctx, fits->acls, row, fits->may_wait, binding->err);
    if (binding->err->faults != faults)
        return false;
    if (row->set != NULL)
        return row->set(target->conf, given, binding->err);
    if (row->status != BT_BUILT)
        return true;
    void *field = (char *)target->conf + row->offset;
    if (grammar_is_rules(known->grammar) && hooks->rule != NULL)
        hooks->rule(hooks->ctx, field, given, fits->action > 0 ? fits->action : 0, row);
    else if (grammar_is_scalar(known->grammar))
        grammar_store(known->grammar, fits, field);
    else
        return bt_complain(binding->err, NULL, "module %s has no .set for %s", target->module,
                           row->name);
    return true;
}

/* The ACLs of a line that does not fit may be faulty, too, and nobody else will look at them. */
static void acls_look(struct binding *binding, const struct bt_directive *row,
                      const struct grammar_line *fits)
{
    const struct bind_hooks *hooks = binding->hooks;

    if (fits->acls.n > 0 && hooks->acls != NULL)
        (void)hooks->acls(hooks->ctx, fits->acls, row, fits->may_wait, binding->err);
}

static bool line_bind(struct binding *binding, struct file_line *line)
{
    struct bt_error *err = binding->err;
    struct bind_target target = {.row = NULL};
    struct grammar_line fits;

    complain_at(err, &line->name);
    if (!row_find(binding, &line->name, &target))
        return false;
    struct known *known = row_known(binding, target.row);
    if (known == NULL)
        return false;
    line->row = target.row;
    err->secret = (target.row->flags & BT_SECRET) != 0;
    struct grammar_of of = grammar_of(target.row, binding->hooks, binding->arena);
    bool good = grammar_line(known->grammar, &of, line, &fits, err);
    if (good)
        good = line_give(binding, &target, known, line, &fits);
    else
        acls_look(binding, target.row, &fits);
    if (target.row->status != BT_BUILT &&
        !(good && is_fulfilled(target.row, &fits, binding->arena)))
        good &= status_tell(known, &line->name, err);
    err->secret = false;
    return good;
}

bool bind_lines(struct file *file, const struct bind_hooks *hooks, struct bt_arena *arena,
                struct bt_error *err)
{
    struct binding binding = {.hooks = hooks, .arena = arena, .err = err};
    size_t faults = err->faults;
    bool good = true;

    table_init(&binding.rows, NULL, false);
    for (size_t i = 0; i < file->n; i++)
        good &= line_bind(&binding, &file->line[i]);
    table_fini(&binding.rows);
    complain_at(err, NULL);
    return good && err->faults == faults;
}

/* ---- presets ---- */

/* The line `NAME VALUE`, as if it stood in a file. */
static bool value_line(const struct bt_directive *row, bt_str value, struct bt_arena *arena,
                       struct bt_error *err, struct file_line *out)
{
    bt_str text = bt_str_printf(arena, "%s %.*s", row->name, BT_STR_ARGS(value));
    const char *name = bt_str_printf(arena, "preset of %s", row->name).at;
    struct file file;

    if (!file_read_text(&file, name, text, arena, err))
        return false;
    if (file.n != 1)
        return bt_complain(err, NULL, "the value of %s is not one line", row->name);
    *out = file.line[0];
    return true;
}

static bool preset_line(const struct bt_directive *row, struct bt_arena *arena,
                        struct bt_error *err, struct file_line *out)
{
    return value_line(row, str_from(row->preset), arena, err, out);
}

static bool preset_fill(const struct bt_directive *row, void *conf, struct bt_arena *arena,
                        struct bt_error *err)
{
    struct grammar_of of = grammar_of(row, NULL, arena);
    struct grammar_line fits;
    struct file_line line;
    struct known known;

    of.preset = true;
    if (!preset_line(row, arena, err, &line) || !row_compile(&known, row, arena, err) ||
        !grammar_line(known.grammar, &of, &line, &fits, err))
        return bt_complain(err, NULL, "the preset of %s does not fit", row->name);
    if (!grammar_is_scalar(known.grammar))
        return bt_complain(err, NULL, "a preset of %s needs .set", row->name);
    grammar_store(known.grammar, &fits, (char *)conf + row->offset);
    return true;
}

bool bind_presets(const struct bt_directive *rows, size_t n, void *conf, struct bt_arena *arena,
                  struct bt_error *err)
{
    bool good = true;

    for (size_t i = 0; i < n; i++)
        if (rows[i].preset != NULL && rows[i].set == NULL && rows[i].same_as == NULL &&
            rows[i].status == BT_BUILT)
            good &= preset_fill(&rows[i], conf, arena, err);
    return good;
}

static bool is_named(const struct file *file, const struct bt_directive *row)
{
    for (size_t i = 0; i < file->n; i++)
        if (file->line[i].row == row)
            return true;
    return false;
}

/* bind_lines() over one line, with the row found already. */
static bool preset_set(const struct bt_directive *row, void *conf, const struct bind_hooks *hooks,
                       struct bt_arena *arena, struct bt_error *err)
{
    struct binding binding = {.hooks = hooks, .arena = arena, .err = err};
    struct bind_target target = {.row = row, .conf = conf, .module = "the server"};
    struct grammar_of of = grammar_of(row, hooks, arena);
    struct grammar_line fits;
    struct file_line line;
    struct known known;

    of.preset = true;
    if (!preset_line(row, arena, err, &line) || !row_compile(&known, row, arena, err))
        return false;
    complain_at(err, &line.name);
    bool good = grammar_line(known.grammar, &of, &line, &fits, err) &&
                line_give(&binding, &target, &known, &line, &fits);
    complain_at(err, NULL);
    return good;
}

bool bind_silent(const struct file *file, const struct bt_directive *rows, size_t n, void *conf,
                 const struct bind_hooks *hooks, struct bt_arena *arena, struct bt_error *err)
{
    bool good = true;

    for (size_t i = 0; i < n; i++)
        if (rows[i].preset != NULL && rows[i].set != NULL && rows[i].same_as == NULL &&
            rows[i].status == BT_BUILT && !is_named(file, &rows[i]))
            good &= preset_set(&rows[i], conf, hooks, arena, err);
    return good;
}

bool bind_value(const struct bt_directive *row, void *conf, bt_str text, struct bt_arena *arena,
                struct bt_error *err)
{
    struct grammar_of of = grammar_of(row, NULL, arena);
    struct grammar_line fits;
    struct file_line line;
    struct known known;

    if (!value_line(row, text, arena, err, &line) || !row_compile(&known, row, arena, err) ||
        !grammar_line(known.grammar, &of, &line, &fits, err))
        return false;
    CHECK(row->set == NULL && grammar_is_scalar(known.grammar));
    grammar_store(known.grammar, &fits, (char *)conf + row->offset);
    return true;
}
