/* grammar.c - the little language of .args: compile it once, check the words of a line against it.
 *
 * A grammar is a list of nodes, of which a group is one. A walk goes along nodes and words at the
 * same time and never back: an optional part is entered when the next word fits its first word.
 * After a fault it goes on with the next word, so that one line can have several.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/grammar.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "conf/complain.h"
#include "conf/lexer.h"
#include "conf/listfile.h"
#include "conf/value.h"

enum node_kind { NODE_VALUE, NODE_GROUP, NODE_ACLS, NODE_OPTIONS, NODE_ANY };

struct node {
    enum node_kind kind;
    struct value_type type; /* VALUE */
    bool many;
    bool needed;         /* ACLS: at least one */
    bool waits;          /* ACLS: the list may */
    struct node *inside; /* GROUP: may be missing */
    struct node *next;
};

struct grammar {
    struct node *first;
    const char *args; /* as declared, for complaints */
};

/* ---- compiling ---- */

struct compiler {
    bt_str rest;
    struct bt_arena *arena;
    const char *why;
};

static struct node *compile_list(struct compiler *, bool inside);

static bool keyword(bt_str word, struct node *node)
{
    static const struct {
        const char *name;
        enum node_kind kind;
        bool needed, waits;
    } words[] = {
        {"acls", NODE_ACLS, false, true},        {"acls+", NODE_ACLS, true, true},
        {"fastacls", NODE_ACLS, false, false},   {"fastacls+", NODE_ACLS, true, false},
        {"options", NODE_OPTIONS, false, false}, {"any", NODE_ANY, false, false},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!bt_str_eq(word, str_from(words[i].name)))
            continue;
        node->kind = words[i].kind;
        node->needed = words[i].needed;
        node->waits = words[i].waits;
        return true;
    }
    return false;
}

static struct node *compile_atom(struct compiler *compiler)
{
    struct node *node = bt_alloc(compiler->arena, sizeof *node);
    size_t len = 0;

    while (len < compiler->rest.len && strchr(" []", compiler->rest.at[len]) == NULL)
        len++;
    bt_str word = str_slice(compiler->rest, 0, len);
    compiler->rest = str_skip(compiler->rest, len);
    if (str_ends(word, BT_STR("..."))) {
        node->many = true;
        word = str_slice(word, 0, word.len - 3);
    }
    if (keyword(word, node)) {
        if (node->many)
            compiler->why = "acls, options and any are many already";
    } else {
        (void)!value_compile(compiler->arena, word, &node->type, &compiler->why);
    }
    return node;
}

static struct node *compile_group(struct compiler *compiler)
{
    struct node *node = bt_alloc(compiler->arena, sizeof *node);

    node->kind = NODE_GROUP;
    compiler->rest = str_skip(compiler->rest, 1);
    node->inside = compile_list(compiler, true);
    if (compiler->why == NULL && !str_starts(compiler->rest, BT_STR("]")))
        compiler->why = "a bracket is not closed";
    if (compiler->why == NULL && node->inside == NULL)
        compiler->why = "a bracket is empty";
    compiler->rest = str_skip(compiler->rest, 1);
    return node;
}

static struct node *compile_list(struct compiler *compiler, bool inside)
{
    struct node *first = NULL, **last = &first;

    while (compiler->why == NULL) {
        compiler->rest = str_trim(compiler->rest);
        if (compiler->rest.len == 0 || (inside && compiler->rest.at[0] == ']'))
            break;
        if (compiler->rest.at[0] == ']')
            compiler->why = "a bracket closes what is not open";
        else
            *last = compiler->rest.at[0] == '[' ? compile_group(compiler) : compile_atom(compiler);
        if (*last != NULL)
            last = &(*last)->next;
    }
    return first;
}

struct grammar *grammar_compile(struct bt_arena *arena, const char *args, const char **why)
{
    struct compiler compiler = {.rest = str_from(args != NULL ? args : ""), .arena = arena};
    struct grammar *grammar = bt_alloc(arena, sizeof *grammar);

    grammar->first = compile_list(&compiler, false);
    grammar->args = args != NULL ? args : "";
    *why = compiler.why;
    return compiler.why == NULL ? grammar : NULL;
}

/* ---- a walk along words ---- */

/* Words that are gathered. As long as they are the first of a row that was given, nothing is copied: a list may have a million. Others grow on the heap, and end in the arena. */
struct words {
    const struct bt_word *given;
    struct bt_word *word; /* NULL: the first n of `given` */
    size_t n, room;
};

struct walk {
    const struct grammar *grammar;
    const struct grammar_of *of;
    struct bt_error *err;
    const struct bt_word *name;
    const struct bt_word *word;
    const struct file_line *line; /* NULL: words without a line */
    size_t n, i;
    bool good, nocase;
    bool options_open; /* `options` was passed: they may stand anywhere now */
    bool stopped;      /* the rest was taken, or cannot be made sense of */
    int action;
    struct words args, acls;
    const struct node *acls_node;
    void *options;
    const struct node *skipped; /* the optional choice that the next word was no word of */
};

static void walk_list(struct walk *, const struct node *, bool more);

static void words_room(struct words *words)
{
    if (words->n < words->room)
        return;
    const struct bt_word *given = words->word == NULL ? words->given : NULL;
    words->room = words->n * 2 + 8;
    words->word = reallocarray(words->word, words->room, sizeof *words->word);
    CHECK(words->word != NULL);
    if (given != NULL)
        memcpy(words->word, given, words->n * sizeof *given);
}

/* `from`: the given word that it was made of, or NULL. */
static void words_add(struct words *words, const struct bt_word *word, const struct bt_word *from)
{
    if (words->word == NULL && from != NULL && word->text.at == from->text.at &&
        word->text.len == from->text.len) {
        if (words->n == 0)
            words->given = from;
        if (words->given + words->n == from) {
            words->n++;
            return;
        }
    }
    words_room(words);
    words->word[words->n++] = *word;
}

static struct bt_args words_keep(struct words *words, struct bt_arena *arena)
{
    struct bt_word *word = NULL;

    if (words->word == NULL)
        return (struct bt_args){words->n > 0 ? words->given : NULL, words->n};
    word = bt_alloc_raw(arena, words->n * sizeof *word);
    memcpy(word, words->word, words->n * sizeof *word);
    free(words->word);
    return (struct bt_args){word, words->n};
}

static enum file_how how_at(const struct walk *walk, size_t i)
{
    if (walk->line != NULL)
        return (enum file_how)walk->line->how[i];
    return walk->word[i].quoted ? FILE_QUOTED : FILE_PLAIN;
}

static struct value_of value_of(const struct walk *walk)
{
    return (struct value_of){walk->of->unit, walk->nocase, walk->of->arena, walk->of->preset};
}

/* ---- options ---- */

/* The part before `=`, when the word looks like an option; *value is what follows, else NONE. */
static bool option_shape(bt_str word, bt_str *name, bt_str *value)
{
    (void)str_split(word, '=', name, value);
    if (name->len == 0 || !str_is(name->at[0], STR_ALPHA))
        return false;
    for (size_t i = 0; i < name->len; i++)
        if (!str_is(name->at[i], STR_ALPHA | STR_DIGIT) && name->at[i] != '-' &&
            name->at[i] != '_' && name->at[i] != '.')
            return false;
    return true;
}

/* The row for a name with or without value; *near a row of that name of the other kind. The value
 * of "[word]" may be missing. */
static const struct bt_option *option_find(const struct grammar_of *of, bt_str name, bool valued,
                                           const struct bt_option **near)
{
    *near = NULL;
    for (size_t i = 0; i < of->options; i++) {
        const struct bt_option *row = &of->option[i];
        if (!bt_str_eq(name, str_from(row->name)))
            continue;
        if ((row->args != NULL) == valued || (row->args != NULL && row->args[0] == '['))
            return row;
        *near = row;
    }
    return NULL;
}

static bool option_unknown(struct walk *walk, const struct bt_word *word, bt_str name)
{
    struct suggest near;

    suggest_init(&near, name);
    for (size_t i = 0; i < walk->of->options; i++)
        suggest_try(&near, walk->of->option[i].name);
    for (size_t i = 0; walk->skipped != NULL && i < walk->skipped->type.n_literals; i++)
        suggest_try(&near, walk->skipped->type.literals[i]);
    if (near.best != NULL)
        return bt_complain(walk->err, word, "%s has no option %s; did you mean '%s'?",
                           walk->name->text.at, complain_word(walk->err, name), near.best);
    return bt_complain(walk->err, word, "%s has no option %s", walk->name->text.at,
                       complain_word(walk->err, name));
}

static bool option_status(struct walk *walk, const struct bt_option *row,
                          const struct bt_word *word)
{
    /* Of a line that is not built, its parts need not be told. */
    if (row->status == BT_BUILT || walk->of->quiet)
        return true;
    if (row->status == BT_UNBUILT)
        return bt_complain(walk->err, word,
                           "option %s of %s is not built yet, and to start without it would be "
                           "unsafe: remove it if you can do without",
                           row->name, walk->name->text.at);
    bt_caution(walk->err, word,
               row->status == BT_IGNORED ? "option %s of %s is known and ignored"
                                         : "option %s of %s is obsolete and ignored",
               row->name, walk->name->text.at);
    return true;
}

/* The grammar of an option's value, without the brackets that say that it may be missing. */
static bool option_type(struct walk *walk, const struct bt_option *row, struct value_type *type)
{
    bt_str args = str_from(row->args);
    const char *why = NULL;

    if (str_starts(args, BT_STR("[")) && str_ends(args, BT_STR("]")))
        args = str_slice(args, 1, args.len - 1);
    return value_compile(walk->of->arena, args, type, &why) ||
           bt_complain(walk->err, NULL, "the grammar %s of option %s is none: %s", row->args,
                       row->name, why);
}

/* `value`: BT_STR_NONE as text when there is no `=`. */
static bool option_store(struct walk *walk, const struct bt_option *row, struct bt_word *value)
{
    struct value_of of = {.arena = walk->of->arena};
    bool built = walk->options != NULL && row->status == BT_BUILT, used;
    char *field = built ? (char *)walk->options + row->offset : NULL;
    struct value_type type;

    if (row->args == NULL) {
        if (field != NULL)
            *(bool *)field = true;
        return true;
    }
    if (!option_type(walk, row, &type))
        return false;
    if (value->text.at == NULL) {
        value->text = type.kind == VALUE_ON_OFF ? BT_STR("on") : BT_STR("");
        if (type.kind > VALUE_ON_OFF && type.kind < VALUE_WORD)
            return true; /* a number that is not given stays what it was */
    } else if (!value_check(&type, &of, value, NULL, &used, walk->err)) {
        return false;
    }
    if (type.kind == VALUE_FORMAT && walk->of->format != NULL &&
        !walk->of->format(walk->of->ctx, value, value->text, walk->err))
        return false;
    if (field != NULL)
        value_store(&type, value, field);
    return true;
}

/* One option word. */
static bool option_take(struct walk *walk, const struct bt_word *word, const struct bt_option *row,
                        bt_str text)
{
    struct bt_word value = *word;

    value.text = text; /* the end of the word, so a NUL follows */
    if (text.at != NULL)
        value.column += (uint32_t)(text.at - word->text.at);
    return option_status(walk, row, word) && option_store(walk, row, &value);
}

/* Is the next word an option? Then it is taken. `text`: the next value may be any text, so that
 * only options that exist are taken for options. */
static bool option_next(struct walk *walk, bool text)
{
    const struct bt_word *word = &walk->word[walk->i];
    const struct bt_option *near, *row;
    bt_str name, value;

    if (how_at(walk, walk->i) != FILE_PLAIN || !option_shape(word->text, &name, &value))
        return false;
    row = option_find(walk->of, name, value.at != NULL, &near);
    if (row == NULL && (near == NULL || text) && (value.at == NULL || text))
        return false;
    if (row != NULL) {
        walk->good &= option_take(walk, word, row, value);
    } else if (near == NULL) {
        walk->good = option_unknown(walk, word, name);
    } else if (near->args == NULL) {
        walk->good = bt_complain(walk->err, word, "option %s takes no value", near->name);
    } else {
        walk->good = bt_complain(walk->err, word, "option %s needs a value: write %s=%s",
                                 near->name, near->name, near->args);
    }
    walk->i++;
    return true;
}

static bool any_text(const struct node *node)
{
    while (node != NULL && node->kind == NODE_GROUP)
        node = node->inside;
    return node != NULL && node->kind == NODE_VALUE && node->type.kind >= VALUE_WORD &&
           node->type.kind != VALUE_ADDR;
}

/* Past the options that stand here; true when a word is left. `node`: what comes next. */
static bool walk_on(struct walk *walk, const struct node *node)
{
    while (!walk->stopped && walk->options_open && walk->i < walk->n &&
           option_next(walk, any_text(node)))
        continue;
    return !walk->stopped && walk->i < walk->n;
}

static void options_open(struct walk *walk)
{
    const struct grammar_of *of = walk->of;
    size_t faults = walk->err->faults;

    walk->options_open = true;
    if (of->option_size == 0)
        return;
    walk->options = bt_alloc(of->arena, of->option_size);
    for (size_t i = 0; i < of->options; i++) {
        struct bt_word value = *walk->name;
        if (of->option[i].preset == NULL || of->option[i].status != BT_BUILT)
            continue;
        value.text = str_from(of->option[i].preset);
        walk->good &= option_store(walk, &of->option[i], &value);
    }
    if (walk->err->faults != faults)
        walk->good = bt_complain(walk->err, NULL, "a preset of the options of %s does not fit",
                                 walk->name->text.at);
}

/* ---- values ---- */

static void missing(struct walk *walk, const struct node *node)
{
    const char *name = walk->name->text.at;

    if (node->kind == NODE_ACLS)
        walk->good = bt_complain(walk->err, walk->name,
                                 "%s needs the name of an ACL at its end; all stands for everybody",
                                 name);
    else
        walk->good = bt_complain(walk->err, walk->name, "%s: %s is missing; it takes: %s", name,
                                 value_name(&node->type, walk->of->arena), walk->grammar->args);
    walk->stopped = true;
}

static bool node_fits(const struct walk *walk, const struct node *node)
{
    while (node->kind == NODE_GROUP)
        node = node->inside;
    if (node->kind != NODE_VALUE)
        return true;
    if (how_at(walk, walk->i) != FILE_PLAIN && node->type.kind < VALUE_WORD)
        return false;
    return value_fits(&node->type, &walk->word[walk->i]);
}

/* The rest of the line as one word. */
static struct bt_word rest_word(const struct walk *walk)
{
    struct bt_word word = walk->word[walk->i];
    struct str_builder text;

    if (walk->line != NULL) {
        word.text = str_skip(walk->line->text, walk->line->start[walk->i]);
    } else {
        str_builder_arena(&text, walk->of->arena, 64);
        for (size_t i = walk->i; i < walk->n; i++) {
            if (i > walk->i)
                str_add_char(&text, ' ');
            str_add(&text, walk->word[i].text);
        }
        word.text = str_built(&text);
    }
    word.quoted = false;
    return word;
}

/* text, command, and a format at the end of a line. */
static void take_rest(struct walk *walk, const struct node *node)
{
    struct bt_word word = walk->word[walk->i];
    struct value_of of = value_of(walk);
    bool used;

    if (node->type.kind == VALUE_COMMAND) {
        walk->good &= value_check(&node->type, &of, &word, NULL, &used, walk->err);
        for (; walk->i < walk->n; walk->i++) {
            walk->good &= lexer_word_fine(&walk->word[walk->i], how_at(walk, walk->i), walk->err);
            words_add(&walk->args, &walk->word[walk->i], &walk->word[walk->i]);
        }
    } else {
        bool alone = walk->i + 1 == walk->n && how_at(walk, walk->i) == FILE_QUOTED;
        if (node->type.kind == VALUE_TEXT || !alone)
            word = rest_word(walk);
        words_add(&walk->args, &word, NULL);
    }
    if (node->type.kind == VALUE_FORMAT && walk->of->format != NULL)
        walk->good &= walk->of->format(walk->of->ctx, &word, word.text, walk->err);
    walk->i = walk->n;
    walk->stopped = true;
}

/* A word that names a list file; true when it was one. */
static bool take_list(struct walk *walk, const struct node *node)
{
    const struct bt_word *word = &walk->word[walk->i];
    bool strict = walk->line != NULL && walk->line->strict;
    enum file_how how = how_at(walk, walk->i);
    struct bt_word *list;
    size_t n;

    if (how == FILE_PARAMETERS && !(walk->of->flags & BT_LISTFILE && node->many)) {
        walk->good = bt_complain(walk->err, word, "no list file can stand here");
        walk->i++;
        return true;
    }
    if (how != FILE_PARAMETERS &&
        (how != FILE_QUOTED || strict || !node->many || (walk->of->flags & BT_LISTFILE) == 0))
        return false;
    walk->i++;
    if ((walk->of->flags & GRAMMAR_LIST_NAMES) != 0) {
        struct bt_word name = *word;
        name.is_list = true;
        words_add(&walk->args, &name, NULL);
        return true;
    }
    if (!listfile_read(word, walk->of->arena, &list, &n, walk->err)) {
        walk->good = false;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        struct value_of of = value_of(walk);
        bool used;
        walk->good &= value_check(&node->type, &of, &list[i], NULL, &used, walk->err);
        words_add(&walk->args, &list[i], NULL);
    }
    free(list);
    return true;
}

/* The next word as a unit of its own: when it is one, or when nothing else can stand there. */
static const struct bt_word *unit_word(const struct walk *walk, const struct node *node, bool more)
{
    if (!value_has_unit(&node->type) || walk->i + 1 >= walk->n ||
        how_at(walk, walk->i + 1) != FILE_PLAIN)
        return NULL;
    const struct bt_word *number = &walk->word[walk->i], *unit = number + 1;
    if (number->text.len == 0 || !str_is(number->text.at[number->text.len - 1], STR_DIGIT))
        return NULL;
    return value_is_unit(&node->type, unit->text) ||
                   (!more && !walk->options_open && str_is(unit->text.at[0], STR_ALPHA))
               ? unit
               : NULL;
}

static bool take_flag(struct walk *walk, const struct bt_word *word)
{
    bool fold = str_eq_literal(word->text, "-i"), plain = str_eq_literal(word->text, "+i");

    if (!walk->of->folds || how_at(walk, walk->i) != FILE_PLAIN || (!fold && !plain))
        return false;
    walk->nocase = fold;
    words_add(&walk->args, word, &walk->word[walk->i]);
    walk->i++;
    return true;
}

/* The words of a pattern that blanks within brackets have cut, as one again. How many they are. */
static size_t take_cut(struct walk *walk, const struct node *node, struct bt_word *word)
{
    size_t n = 1;

    for (; value_cut(&node->type, word) && walk->i + n < walk->n; n++)
        word->text = bt_str_printf(walk->of->arena, "%s %s", word->text.at,
                                   walk->word[walk->i + n].text.at);
    if (n > 1)
        bt_caution(walk->err, word,
                   "the blank in %s is taken as a part of it, since it stands in brackets; "
                   "[[:space:]] would be clear",
                   complain_word(walk->err, word->text));
    return n;
}

/* One word for a value. `more`: other values can follow. */
static void take_value(struct walk *walk, const struct node *node, bool more)
{
    struct value_of of = value_of(walk);
    struct bt_word word = walk->word[walk->i];
    bool used = false;

    if (take_flag(walk, &word) || take_list(walk, node))
        return;
    if (!lexer_word_fine(&word, how_at(walk, walk->i), walk->err)) {
        walk->good = false;
        walk->i = walk->n; /* the mark may belong anywhere: the rest says nothing */
        walk->stopped = true;
        return;
    }
    const struct bt_word *unit = unit_word(walk, node, more);
    size_t n = how_at(walk, walk->i) == FILE_PLAIN ? take_cut(walk, node, &word) : 1;
    if (!value_check(&node->type, &of, &word, unit, &used, walk->err)) {
        walk->good = false;
    } else {
        if (node->type.kind <= VALUE_CHOICE && walk->action < 0)
            walk->action = value_place(&node->type, &word);
        if (str_eq_literal(word.text, "-i") && node->type.kind == VALUE_CHOICE)
            walk->nocase = true;
        if (node->type.kind == VALUE_FORMAT && walk->of->format != NULL)
            walk->good &= walk->of->format(walk->of->ctx, &word, word.text, walk->err);
    }
    words_add(&walk->args, &word, &walk->word[walk->i]);
    walk->i += used ? 2 : n;
}

static void walk_value(struct walk *walk, const struct node *node, bool more)
{
    enum value_kind kind = node->type.kind;

    if (!walk_on(walk, node)) {
        if (!walk->stopped)
            missing(walk, node);
        return;
    }
    if (kind == VALUE_TEXT || kind == VALUE_COMMAND || (kind == VALUE_FORMAT && !more)) {
        take_rest(walk, node);
        return;
    }
    take_value(walk, node, more || node->many);
    while (node->many && walk_on(walk, node) && (!more || node_fits(walk, node)))
        take_value(walk, node, true);
}

/* ---- the other nodes ---- */

static void walk_acls(struct walk *walk, const struct node *node)
{
    walk->acls_node = node;
    while (walk_on(walk, node)) {
        const struct bt_word *word = &walk->word[walk->i];
        if (lexer_word_fine(word, how_at(walk, walk->i), walk->err))
            words_add(&walk->acls, word, word);
        else
            walk->good = false;
        walk->i++;
    }
    if (node->needed && walk->acls.n == 0 && walk->good)
        missing(walk, node);
}

static void walk_group(struct walk *walk, const struct node *node, bool more)
{
    if (!walk_on(walk, node->inside))
        return;
    if (node_fits(walk, node))
        walk_list(walk, node->inside, more);
    else if (node->inside->kind == NODE_VALUE && node->inside->type.kind <= VALUE_CHOICE)
        walk->skipped = node->inside;
}

static void walk_any(struct walk *walk)
{
    for (; walk->i < walk->n; walk->i++)
        words_add(&walk->args, &walk->word[walk->i], &walk->word[walk->i]);
    walk->stopped = true;
}

/* `options` may be written as [options]: it opens them even when none is there. */
static bool opens_options(const struct node *node)
{
    return node->kind == NODE_OPTIONS ||
           (node->kind == NODE_GROUP && node->inside->kind == NODE_OPTIONS &&
            node->inside->next == NULL);
}

/* `more`: words can follow behind this list. */
static void walk_list(struct walk *walk, const struct node *node, bool more)
{
    for (; node != NULL && !walk->stopped; node = node->next) {
        bool later = more || node->next != NULL;
        if (opens_options(node))
            options_open(walk);
        else if (node->kind == NODE_GROUP)
            walk_group(walk, node, later);
        else if (node->kind == NODE_ACLS)
            walk_acls(walk, node);
        else if (node->kind == NODE_ANY)
            walk_any(walk);
        else
            walk_value(walk, node, later);
    }
}

/* Words that the grammar has no place for. */
static void walk_surplus(struct walk *walk)
{
    while (walk_on(walk, NULL)) {
        const struct bt_word *word = &walk->word[walk->i];
        bt_str name = word->text;
        if (!lexer_word_fine(word, how_at(walk, walk->i), walk->err)) {
            walk->good = false;
            return;
        }
        if (!walk->options_open) {
            bt_caution(walk->err, word, "surplus word %s is ignored; %s takes: %s",
                       complain_word(walk->err, name), walk->name->text.at,
                       walk->grammar->args[0] != '\0' ? walk->grammar->args : "nothing");
            return;
        }
        bt_str value;
        (void)str_split(word->text, '=', &name, &value);
        walk->good = option_unknown(walk, word, name);
        walk->i++;
    }
}

static bool walk_all(struct walk *walk, struct grammar_line *out)
{
    walk->good = true;
    walk->action = -1;
    walk_list(walk, walk->grammar->first, false);
    walk_surplus(walk);
    *out = (struct grammar_line){
        .args = words_keep(&walk->args, walk->of->arena),
        .acls = words_keep(&walk->acls, walk->of->arena),
        .has_acls = walk->acls_node != NULL,
        .may_wait = walk->acls_node != NULL && walk->acls_node->waits,
        .options = walk->options,
        .action = walk->action,
    };
    return walk->good;
}

/* ---- the outside ---- */

bool grammar_line(const struct grammar *grammar, const struct grammar_of *of,
                  const struct file_line *line, struct grammar_line *out, struct bt_error *err)
{
    struct walk walk = {
        .grammar = grammar,
        .of = of,
        .err = err,
        .name = &line->name,
        .word = line->word,
        .line = line,
        .n = line->n,
    };

    return walk_all(&walk, out);
}

bool grammar_words(const struct grammar *grammar, const struct grammar_of *of,
                   const struct bt_word *name, struct bt_args args, struct grammar_line *out,
                   struct bt_error *err)
{
    struct walk walk = {
        .grammar = grammar,
        .of = of,
        .err = err,
        .name = name,
        .word = args.word,
        .n = args.n,
    };

    return walk_all(&walk, out);
}

/* The one value of a scalar grammar; NULL: it is none. */
static const struct node *scalar(const struct grammar *grammar)
{
    const struct node *node = grammar->first;

    if (node != NULL && node->next == NULL && node->kind == NODE_GROUP)
        node = node->inside;
    if (node == NULL || node->next != NULL || node->kind != NODE_VALUE || node->many)
        return NULL;
    return node;
}

void grammar_store(const struct grammar *grammar, const struct grammar_line *line, void *field)
{
    const struct node *node = scalar(grammar);

    CHECK(node != NULL);
    if (line->args.n > 0)
        value_store(&node->type, &line->args.word[0], field);
}

bool grammar_is_scalar(const struct grammar *grammar)
{
    return scalar(grammar) != NULL;
}

bool grammar_is_rules(const struct grammar *grammar)
{
    const struct node *node = grammar->first;

    if (node != NULL && node->kind == NODE_VALUE && node->type.kind <= VALUE_CHOICE && !node->many)
        node = node->next;
    return node != NULL && node->kind == NODE_ACLS && node->next == NULL;
}
