/* reference.c - the manual, out of the rows.
 *
 * Each row is first gathered as a card: its name, its sentence and a few labelled facts; a card is
 * then printed as text or as JSON, so that both say the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/reference.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "plug/generation.h"
#include "plug/load.h"
#include "plug/phase.h"
#include "plug/registry.h"

enum { CARD_FACTS = 12, WIDTH = 92 };

struct card {
    const char *name, *args, *doc;
    enum bt_status status;
    struct {
        const char *label, *text;
    } fact[CARD_FACTS];
    size_t n;
    const struct bt_directive *options_of; /* NULL: no options */
};

static const char *const status_words[] = {
    [BT_BUILT] = "built",
    [BT_IGNORED] = "ignored",
    [BT_OBSOLETE] = "obsolete",
    [BT_UNBUILT] = "unbuilt",
};
static const char *const status_sentences[] = {
    [BT_BUILT] = NULL,
    [BT_IGNORED] = "Accepted with a warning, without effect.",
    [BT_OBSOLETE] = "Gone from the language: accepted with a warning, without effect.",
    [BT_UNBUILT] = "Not built: a configuration that uses it is refused.",
};

static void fact(struct card *card, const char *label, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    CHECK(card->n < CARD_FACTS);
    card->fact[card->n].label = label;
    card->fact[card->n++].text = text;
}

/* ---- one collector a kind ---- */

static const char *set_text(const struct bt_directive *row)
{
    static const char *const flags[] = {NULL, "list files in quotes", "masked when printed",
                                        "list files in quotes, masked when printed"};
    return flags[row->flags & (BT_LISTFILE | BT_SECRET)];
}

static void directive_card(struct registry *registry, const struct registry_row *row,
                           struct card *card)
{
    const struct bt_directive *own = row->row;
    const struct bt_directive *meant = registry_directive(registry, str_from(row->name), NULL);

    if (meant == NULL)
        meant = own;
    card->status = meant->status;
    if (own->same_as != NULL) {
        fact(card, "same as", own->same_as);
        return;
    }
    card->args = own->args;
    card->doc = own->doc != NULL ? own->doc : status_sentences[own->status];
    fact(card, "preset", own->preset);
    fact(card, "unit", own->unit);
    fact(card, "takes", set_text(own));
    if ((own->flags & BT_LIVE) != 0)
        fact(card, "live", "bobtailctl set changes it while the server runs");
    if (own->args != NULL && strstr(own->args, "acls") != NULL)
        fact(card, "asked in", phase_name(own->phase));
    if (own->doc != NULL)
        fact(card, "status", status_sentences[own->status]);
    fact(card, "note", own->note);
    card->options_of = own->options.n > 0 ? own : NULL;
}

static void counter_card(struct registry *registry, const struct registry_row *row,
                         struct card *card)
{
    static const char *const kinds[] = {
        [BT_COUNT] = "count", [BT_GAUGE] = "gauge", [BT_HISTOGRAM] = "histogram"};
    const struct bt_counter *counter = row->row;

    (void)registry;
    card->doc = counter->doc;
    fact(card, "kind", kinds[counter->kind]);
    fact(card, "unit", counter->unit);
}

static void field_card(struct registry *registry, const struct registry_row *row, struct card *card)
{
    const struct bt_field *field = row->row;

    (void)registry;
    card->doc = field->doc;
    fact(card, "codes", field->codes);
    fact(card, "known from", phase_name(field->earliest));
}

static void acl_type_card(struct registry *registry, const struct registry_row *row,
                          struct card *card)
{
    const struct bt_acl_type *type = row->row;

    (void)registry;
    card->status = type->status;
    card->args = type->args;
    card->doc = type->doc != NULL ? type->doc : status_sentences[type->status];
    if (strchr(type->name, ' ') != NULL)
        fact(card, "names", type->name);
    fact(card, "known from", phase_name(type->earliest));
    if (type->flags & BT_SLOW)
        fact(card, "may wait", "yes: not for lists that cannot wait");
    if (type->doc != NULL)
        fact(card, "status", status_sentences[type->status]);
}

static void log_writer_card(struct registry *registry, const struct registry_row *row,
                            struct card *card)
{
    const struct bt_log_writer *writer = row->row;

    (void)registry;
    card->doc = writer->doc;
    fact(card, "place", writer->place);
}

static const struct {
    const char *word;
    enum registry_kind kind;
    void (*collect)(struct registry *, const struct registry_row *, struct card *);
} kinds[] = {
    {"directives", ROW_DIRECTIVE, directive_card},
    {"counters", ROW_COUNTER, counter_card},
    {"fields", ROW_FIELD, field_card},
    {"fields", ROW_CODE, field_card},
    {"acl_types", ROW_ACL_TYPE, acl_type_card},
    {"log_writers", ROW_LOG_WRITER, log_writer_card},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct card collect(const struct generation *gen, size_t kind,
                           const struct registry_row *row)
{
    struct card card = {.name = row->name};

    kinds[kind].collect(gen->registry, row, &card);
    fact(&card, "module", row->module->name);
    return card;
}

static struct card phase_card(enum bt_phase phase)
{
    return (struct card){.name = phase_name(phase), .doc = phase_doc(phase)};
}

/* ---- printing a card as text ---- */

static void print_wrapped(FILE *out, const char *text)
{
    bt_str rest = str_from(text), word;
    size_t column = 0;

    while (str_word(&rest, &word)) {
        if (column == 0 || column + 1 + word.len > WIDTH)
            column = (size_t)fprintf(out, "%s    %.*s", column == 0 ? "" : "\n",
                                     BT_STR_ARGS(word)) -
                     (column == 0 ? 0 : 1);
        else
            column += (size_t)fprintf(out, " %.*s", BT_STR_ARGS(word));
    }
    if (column > 0)
        putc('\n', out);
}

static void print_option(FILE *out, const struct bt_option *option)
{
    fprintf(out, "      %s", option->name);
    if (option->args != NULL)
        fprintf(out, "=%s", option->args);
    if (option->preset != NULL)
        fprintf(out, " (preset %s)", option->preset);
    if (option->status != BT_BUILT)
        fprintf(out, " (%s)", status_words[option->status]);
    fprintf(out, "  %s\n", option->doc);
}

static void print_text(FILE *out, const struct card *card)
{
    fprintf(out, "%s%s%s\n", card->name, card->args == NULL || *card->args == '\0' ? "" : " ",
            card->args == NULL ? "" : card->args);
    if (card->doc != NULL)
        print_wrapped(out, card->doc);
    for (size_t i = 0; i < card->n; i++)
        fprintf(out, "    %s: %s\n", card->fact[i].label, card->fact[i].text);
    if (card->options_of != NULL) {
        fprintf(out, "    options:\n");
        for (size_t i = 0; i < card->options_of->options.n; i++)
            print_option(out, &card->options_of->options.row[i]);
    }
}

/* ---- printing a card as JSON ---- */

static void json_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
    putc('"', out);
}

static void json_member(FILE *out, const char *before, const char *label, const char *text)
{
    if (text == NULL)
        return;
    fputs(before, out);
    json_string(out, label);
    fputs(": ", out);
    json_string(out, text);
}

static void json_options(FILE *out, const struct bt_directive *row)
{
    fprintf(out, ", \"options\": [");
    for (size_t i = 0; i < row->options.n; i++) {
        const struct bt_option *option = &row->options.row[i];
        json_member(out, i == 0 ? "{" : ", {", "name", option->name);
        json_member(out, ", ", "args", option->args);
        json_member(out, ", ", "preset", option->preset);
        json_member(out, ", ", "doc", option->doc);
        json_member(out, ", ", "status", status_words[option->status]);
        putc('}', out);
    }
    putc(']', out);
}

static void print_json(FILE *out, const struct card *card)
{
    json_member(out, "{", "name", card->name);
    json_member(out, ", ", "args", card->args);
    json_member(out, ", ", "doc", card->doc);
    for (size_t i = 0; i < card->n; i++)
        if (strcmp(card->fact[i].label, "status") != 0)
            json_member(out, ", ", card->fact[i].label, card->fact[i].text);
    json_member(out, ", ", "status", status_words[card->status]);
    if (card->options_of != NULL)
        json_options(out, card->options_of);
    putc('}', out);
}

/* ---- lists of cards ---- */

struct listing {
    const struct reference_form *form;
    FILE *out;
    size_t n; /* printed so far */
};

static void list_card(struct listing *listing, const struct card *card)
{
    const struct reference_form *form = listing->form;
    FILE *out = listing->out;

    if (card->status != BT_BUILT && !form->all_status)
        return;
    if (form->json) {
        fputs(listing->n == 0 ? "[\n" : ",\n", out);
        print_json(out, card);
    } else if (form->names) {
        fprintf(out, "%s%s%s\n", card->name, form->all_status ? " " : "",
                form->all_status ? status_words[card->status] : "");
    } else {
        fputs(listing->n == 0 ? "" : "\n", out);
        print_text(out, card);
    }
    listing->n++;
}

/* ---- manuals of modules ---- */

static void print_row(const struct bt_manual_row *row, FILE *out)
{
    fprintf(out, "%s\n", row->usage);
    print_wrapped(out, row->doc);
    if (row->where != NULL)
        print_wrapped(out, row->where);
    if (row->example != NULL) {
        bt_str rest = str_from(row->example), line;
        fputs("    example:\n", out);
        while (str_split(rest, '\n', &line, &rest) || line.len > 0)
            fprintf(out, "        %.*s\n", BT_STR_ARGS(line));
    }
    fputc('\n', out);
}

static bool print_manual(const struct generation *gen, const char *name, FILE *out)
{
    const struct bt_module *module = registry_module(gen->registry, str_from(name));
    const char *section = NULL;
    struct bt_manual_row row;

    if (module == NULL || module->size <= offsetof(struct bt_module, manual) ||
        module->manual == NULL)
        return false;
    for (size_t i = 0; module->manual(i, &row); i++) {
        if (row.section != section)
            fprintf(out, "# %s\n\n", row.section);
        section = row.section;
        print_row(&row, out);
    }
    return true;
}

bool reference_print(const struct generation *gen, const char *kind,
                     const struct reference_form *form, FILE *out)
{
    struct listing listing = {form, out, 0};
    const struct registry_row *row;
    size_t at = 0;

    if (strcmp(kind, "phases") == 0) {
        for (enum bt_phase phase = 0; phase < BT_PHASE_END; phase++) {
            struct card card = phase_card(phase);
            list_card(&listing, &card);
        }
    } else {
        while (at < KINDS && strcmp(kinds[at].word, kind) != 0)
            at++;
        if (at == KINDS && print_manual(gen, kind, out))
            return true;
        if (at == KINDS) {
            fprintf(stderr,
                    "bobtail: there is no reference of '%s': say directives, counters, "
                    "fields, acl_types, phases, log_writers or lua\n",
                    kind);
            return false;
        }
        size_t n = registry_rows(gen->registry, kinds[at].kind, gen->arena, &row);
        for (size_t i = 0; i < n; i++) {
            struct card card = collect(gen, at, &row[i]);
            list_card(&listing, &card);
        }
    }
    if (form->json)
        fputs(listing.n == 0 ? "[]\n" : "\n]\n", out);
    return true;
}

/* ---- one name ---- */

static void explain_hooks(const struct bt_module *module, FILE *out)
{
    for (size_t i = 0; i < module->hooks.n; i++)
        fprintf(out, "hook in phase %s\n    %s\n", phase_name(module->hooks.row[i].phase),
                module->hooks.row[i].doc);
}

static void explain_module(const struct generation *gen, const struct bt_module *module, FILE *out)
{
    static const char *const heads[KINDS] = {"",   "counter ",  "field ",
                                             NULL, "ACL type ", "log writer "};
    const char *file = registry_file(gen->registry, module);
    const struct registry_row *row;

    fprintf(out, "module %s: %s\n    %s\n", module->name, module->doc,
            file == NULL ? "part of the server" : file);
    for (size_t kind = 0; kind < KINDS; kind++) {
        size_t n = registry_rows(gen->registry, kinds[kind].kind, gen->arena, &row);
        for (size_t i = 0; heads[kind] != NULL && i < n; i++) {
            if (row[i].module != module)
                continue;
            struct card card = collect(gen, kind, &row[i]);
            if (card.status != BT_BUILT)
                continue;
            card.n--; /* the module, which heads the page */
            fputs(heads[kind], out);
            print_text(out, &card);
        }
    }
    explain_hooks(module, out);
}

/* Something to suggest, from all that can be explained. */
static const char *nearest(const struct generation *gen, const char *name)
{
    const struct registry_row *row;
    struct suggest near;

    suggest_init(&near, str_from(name));
    for (size_t i = 0; i < gen->n_modules; i++)
        suggest_try(&near, gen->modules[i]->name);
    for (size_t kind = 0; kind < KINDS; kind++) {
        size_t n = registry_rows(gen->registry, kinds[kind].kind, gen->arena, &row);
        for (size_t i = 0; i < n; i++)
            suggest_try(&near, row[i].name);
    }
    return near.best;
}

bool reference_explain(const struct generation *gen, const char *name, FILE *out)
{
    const struct bt_module *module = registry_module(gen->registry, str_from(name));
    size_t found = 0;

    if (module != NULL) {
        explain_module(gen, module, out);
        found++;
    }
    for (size_t kind = 0; kind < KINDS; kind++) {
        const struct registry_row *row = registry_find(gen->registry, kinds[kind].kind,
                                                       str_from(name));
        if (row == NULL || row->module == module) /* it stands on the module's page */
            continue;
        struct card card = collect(gen, kind, row);
        fprintf(out, "%s%s ", found++ == 0 ? "" : "\n", registry_kind_name(kinds[kind].kind));
        print_text(out, &card);
    }
    for (enum bt_phase phase = 0; phase < BT_PHASE_END; phase++)
        if (strcmp(phase_name(phase), name) == 0)
            found += (size_t)(fprintf(out, "phase %s: %s\n", name, phase_doc(phase)) > 0);
    if (found > 0)
        return true;

    const char *near = nearest(gen, name);
    fprintf(stderr, "bobtail: nothing is named '%s'%s%s%s\n", name,
            near == NULL ? "" : "; did you mean '", near == NULL ? "" : near,
            near == NULL ? "" : "'?");
    return false;
}

/* ---- modules ---- */

static const char *reason(const struct generation *gen, const struct generation_module *m)
{
    /* Without a configuration there is nobody to need it. */
    const char *text = gen->path != NULL ? "not needed" : "loaded when something of it is used";

    if (m->refused != NULL)
        return bt_str_printf(gen->arena, "cannot be loaded: %s", m->refused).at;
    if (m->state == MODULE_BUILT_IN)
        return "built in";
    if (m->state == MODULE_ON)
        text = "asked for";
    if (m->state == MODULE_OFF)
        text = "forbidden";
    if (m->state == MODULE_DEFAULT)
        text = "loaded by default";
    if (m->state == MODULE_AUTO)
        text = bt_str_printf(gen->arena, "loaded for the %s", m->uses).at;
    if (m->at.file == NULL)
        return text;
    return bt_str_printf(gen->arena, "%s at %s:%u", text, m->at.file, (unsigned)m->at.line).at;
}

static const char *state_word(enum generation_state state)
{
    return state == MODULE_OFF                              ? "off"
           : state == MODULE_ON || state == MODULE_BUILT_IN ? "on"
                                                            : "auto";
}

/* For the manual all are opened, which is not what loaded means to its reader. */
static bool is_loaded(const struct generation *gen, const struct generation_module *m)
{
    return m->state == MODULE_BUILT_IN || (m->table != NULL && gen->path != NULL);
}

void reference_modules(const struct generation *gen, const struct reference_form *form, FILE *out)
{
    for (size_t i = 0; i < gen->n_found; i++) {
        struct generation_module m = gen->found[i];
        const struct bt_module *table = m.table;
        bt_str refusal;

        /* One that is not loaded is opened for its sentence, and to see whether it could be. */
        if (table == NULL && m.refused == NULL && m.path != NULL) {
            table = load_open(m.path, gen->arena, &refusal);
            if (table == NULL)
                m.refused = refusal.at;
        }
        if (form->json) {
            json_member(out, i == 0 ? "[\n{" : ",\n{", "name", m.name);
            json_member(out, ", ", "state", state_word(m.state));
            json_member(out, ", ", "reason", reason(gen, &m));
            json_member(out, ", ", "file", m.path);
            json_member(out, ", ", "doc", table == NULL ? NULL : table->doc);
            fprintf(out, ", \"loaded\": %s}", is_loaded(gen, &m) ? "true" : "false");
        } else if (form->names) {
            fprintf(out, "%s\n", m.name);
        } else {
            fprintf(out, "%-16s %-5s %s\n", m.name, state_word(m.state), reason(gen, &m));
            if (table != NULL)
                fprintf(out, "%22s %s\n", "", table->doc);
        }
    }
    if (form->json)
        fputs(gen->n_found == 0 ? "[]\n" : "\n]\n", out);
}
