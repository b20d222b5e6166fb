/* rows.c - is a module's table sound in itself?
 *
 * Mistakes here are those of a module's author, met the first time that the module is loaded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/rows.h"

#include "base/str.h"
#include "base/suggest.h"
#include "conf/grammar.h"
#include "plug/phase.h"

struct vetting {
    const struct bt_module *module;
    struct bt_arena *arena;
    struct bt_error *err;
    bool good;
};

/* "module geo: directive 'geo_database' has no doc" */
#define fault(vet, what, name, ...)                                                                \
    fault_at((vet), (what), (name), bt_str_printf((vet)->arena, __VA_ARGS__).at)
static void fault_at(struct vetting *vet, const char *what, const char *name, const char *text)
{
    vet->good = bt_complain(vet->err, NULL, "module %s: %s '%s' %s; its author must correct that",
                            vet->module->name, what, name == NULL ? "" : name, text);
}

/* ---- what every row has ---- */

static bool is_name(const char *name, bool several)
{
    if (name == NULL || *name == '\0')
        return false;
    for (; *name != '\0'; name++)
        if ((unsigned char)*name < 0x21 || *name == 0x7f)
            if (!several || *name != ' ')
                return false;
    return true;
}

static void vet_words(struct vetting *vet, const char *what, const char *name, const char *doc)
{
    if (!is_name(name, strcmp(what, "ACL type") == 0))
        fault(vet, what, name, "has no name, or one with blanks in it");
    if (doc == NULL || *doc == '\0')
        fault(vet, what, name, "has no doc");
}

static void vet_phase(struct vetting *vet, const char *what, const char *name, enum bt_phase phase)
{
    if ((unsigned)phase >= BT_PHASE_END)
        fault(vet, what, name, "belongs to phase %d, which does not exist", (int)phase);
}

static void vet_status(struct vetting *vet, const char *what, const char *name,
                       enum bt_status status)
{
    if ((unsigned)status > BT_UNBUILT)
        fault(vet, what, name, "has status %d, which does not exist", (int)status);
}

/* A word of a grammar that is no type is a literal, so that a slip of the pen would pass: a literal
 * one letter away from a type is taken for one. */
static void vet_literals(struct vetting *vet, const char *what, const char *name, const char *args)
{
    static const char *const types[] = {
        "on|off", "int",   "percent", "size", "duration", "word", "path",     "addr",    "host",
        "port",   "regex", "command", "text", "format",   "acls", "fastacls", "options", "any"};
    bt_str rest = str_from(args), word;

    while (str_word(&rest, &word)) {
        while (word.len > 0 && word.at[0] == '[')
            word = str_skip(word, 1);
        while (word.len > 0 && strchr("].+", word.at[word.len - 1]) != NULL)
            word.len--;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (word.len >= 4 && suggest_distance(word, str_from(types[i]), 1) == 1)
                fault(vet, what, name, "has the grammar \"%s\", where '%.*s' seems to mean '%s'",
                      args, BT_STR_ARGS(word), types[i]);
    }
}

static const struct grammar *vet_grammar(struct vetting *vet, const char *what, const char *name,
                                         const char *args)
{
    const char *why = NULL;
    const struct grammar *grammar = grammar_compile(vet->arena, args, &why);

    vet_literals(vet, what, name, args);
    if (grammar == NULL)
        fault(vet, what, name, "has the grammar \"%s\", which is none: %s", args, why);
    return grammar;
}

/* ---- fields of structs: they must lie within, and be aligned for what is stored there ---- */

/* Bytes of the C type that one value of a grammar fills. */
static size_t width(const char *args)
{
    bt_str rest = str_from(args), word;

    if (!str_word(&rest, &word))
        return sizeof(bool);
    while (word.len > 1 && word.at[0] == '[')
        word = str_skip(word, 1);
    if (str_eq_literal(word, "on|off") || str_eq_literal(word, "on|off]"))
        return sizeof(bool);
    static const char *const numbers[] = {"int", "percent", "port", "size", "duration"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (str_starts(word, str_from(numbers[i])))
            return sizeof(int64_t);
    static const char *const texts[] = {"word", "path",  "addr",    "host",
                                        "text", "regex", "command", "format"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (str_starts(word, str_from(texts[i])))
            return sizeof(bt_str);
    return sizeof(int64_t); /* a choice */
}

/* Every type that a grammar fills is aligned to its width, but for bt_str, which holds pointers. */
static void vet_place(struct vetting *vet, const char *what, const char *name, size_t offset,
                      size_t bytes, size_t of)
{
    size_t align = bytes > sizeof(void *) ? sizeof(void *) : bytes;

    if (offset + bytes > of)
        fault(vet, what, name, "fills bytes %zu to %zu of a struct of %zu", offset, offset + bytes,
              of);
    else if (offset % align != 0)
        fault(vet, what, name, "fills a field at byte %zu that does not fit its grammar", offset);
}

/* ---- directives ---- */

static void vet_option(struct vetting *vet, const struct bt_directive *row,
                       const struct bt_option *option)
{
    const char *name = bt_str_printf(vet->arena, "%s %s=", row->name, option->name).at;

    vet_words(vet, "option", option->name, option->doc);
    vet_status(vet, "option", name, option->status);
    if (option->args != NULL && vet_grammar(vet, "option", name, option->args) == NULL)
        return;
    if (option->status == BT_BUILT)
        vet_place(vet, "option", name, option->offset, width(option->args), row->option_size);
}

static void vet_filling(struct vetting *vet, const struct bt_directive *row,
                        const struct grammar *grammar)
{
    if (grammar_is_rules(grammar))
        vet_place(vet, "directive", row->name, row->offset, sizeof(struct bt_rules *),
                  vet->module->conf_size);
    else if (grammar_is_scalar(grammar))
        vet_place(vet, "directive", row->name, row->offset, width(row->args),
                  vet->module->conf_size);
    else
        fault(vet, "directive", row->name,
              "has the grammar \"%s\", which is not one value, and no .set to take it",
              row->args == NULL ? "" : row->args);
}

static void vet_directive(struct vetting *vet, const struct bt_directive *row)
{
    if (row->same_as != NULL) {
        vet_words(vet, "directive", row->name, "an alias needs none");
        if (!is_name(row->same_as, false) || strcmp(row->same_as, row->name) == 0)
            fault(vet, "directive", row->name, "is an alias of nothing");
        return;
    }
    /* Of a name that does not work, what to do instead is sentence enough. */
    vet_words(vet, "directive", row->name, row->status == BT_BUILT ? row->doc : "not built");
    vet_status(vet, "directive", row->name, row->status);
    vet_phase(vet, "directive", row->name, row->phase);
    if (row->flags & ~(BT_LISTFILE | BT_SECRET | BT_LIVE | BT_BY_ACTION | GRAMMAR_LIST_NAMES))
        fault(vet, "directive", row->name, "has flags that do not exist");
    if ((row->flags & BT_LIVE) != 0 && row->set != NULL)
        fault(vet, "directive", row->name, "is BT_LIVE, and not one value in a field");
    const struct grammar *grammar = vet_grammar(vet, "directive", row->name, row->args);
    for (size_t i = 0; i < row->options.n; i++)
        vet_option(vet, row, &row->options.row[i]);
    if (grammar != NULL && row->status == BT_BUILT && row->set == NULL)
        vet_filling(vet, row, grammar);
}

/* ---- the other rows ---- */

static void vet_counter(struct vetting *vet, const struct bt_counter *row)
{
    vet_words(vet, "counter", row->name, row->doc);
    if ((unsigned)row->kind > BT_HISTOGRAM)
        fault(vet, "counter", row->name, "is of a kind that does not exist");
    if (row->unit == NULL || *row->unit == '\0')
        fault(vet, "counter", row->name, "has no unit");
    if (row->name != NULL && strchr(row->name, '.') == NULL)
        fault(vet, "counter", row->name, "has no dot: a name is group, dot, what");
}

static void vet_field(struct vetting *vet, const struct bt_field *row)
{
    vet_words(vet, "field", row->name, row->doc);
    vet_phase(vet, "field", row->name, row->earliest);
    if (row->get == NULL)
        fault(vet, "field", row->name, "has no .get");
    if (row->name != NULL && strchr(row->name, '.') == NULL)
        fault(vet, "field", row->name, "has no dot: a name is group, dot, what");
}

static void vet_acl_type(struct vetting *vet, const struct bt_acl_type *row)
{
    vet_words(vet, "ACL type", row->name, row->status == BT_BUILT ? row->doc : "not built");
    vet_phase(vet, "ACL type", row->name, row->earliest);
    vet_status(vet, "ACL type", row->name, row->status);
    vet_grammar(vet, "ACL type", row->name, row->args);
    if (row->flags & ~(BT_SLOW | BT_FRESH | BT_FOLDS | BT_NO_DNS | BT_SETS | BT_ANEW_WORDLESS))
        fault(vet, "ACL type", row->name, "has flags that do not exist");
    if (row->status != BT_BUILT)
        return;
    if ((row->match == NULL) == (row->match_all == NULL))
        fault(vet, "ACL type", row->name, "needs either .match or .match_all");
    if ((row->compile_all == NULL) != (row->match_all == NULL))
        fault(vet, "ACL type", row->name, "needs .compile_all and .match_all together");
}

static void vet_log_writer(struct vetting *vet, const struct bt_log_writer *row)
{
    vet_words(vet, "log writer", row->name, row->doc);
    if (row->open == NULL || row->write == NULL)
        fault(vet, "log writer", row->name, "needs .open and .write");
    if (row->place == NULL)
        fault(vet, "log writer", row->name, "needs .place, what stands behind its colon");
}

static void vet_hook(struct vetting *vet, const struct bt_hook *row)
{
    bool exists = (unsigned)row->phase < BT_PHASE_END;
    const char *name = exists ? phase_name(row->phase) : "";

    vet_words(vet, "hook in phase", exists ? name : "none", row->doc);
    vet_phase(vet, "hook in phase", name, row->phase);
    if (row->run == NULL)
        fault(vet, "hook in phase", name, "has no .run");
}

bool rows_vet(const struct bt_module *module, struct bt_arena *arena, struct bt_error *err)
{
    struct vetting vet = {module, arena, err, true};

    vet_words(&vet, "table", module->name, module->doc);
    if (module->self == NULL)
        fault(&vet, "table", module->name, "has no .self");
    for (size_t i = 0; i < module->directives.n; i++)
        vet_directive(&vet, &module->directives.row[i]);
    for (size_t i = 0; i < module->counters.n; i++)
        vet_counter(&vet, &module->counters.row[i]);
    for (size_t i = 0; i < module->fields.n; i++)
        vet_field(&vet, &module->fields.row[i]);
    for (size_t i = 0; i < module->acl_types.n; i++)
        vet_acl_type(&vet, &module->acl_types.row[i]);
    for (size_t i = 0; i < module->log_writers.n; i++)
        vet_log_writer(&vet, &module->log_writers.row[i]);
    for (size_t i = 0; i < module->hooks.n; i++)
        vet_hook(&vet, &module->hooks.row[i]);
    return vet.good;
}
