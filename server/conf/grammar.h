/* grammar.h - the little language of .args: compile it once, check the words of a line against it.
 *
 * The words of the language are listed in bt_module.h. In addition:
 *
 *   size|none  int|auto  a type beside literals: a number becomes -1 for a literal, text is itself
 *   int(0..)  int(..9)   open ranges
 *   acls+ fastacls+      at least one name
 *   [a b [c]]            several words that may be missing together
 *
 * An optional part is taken when the next word fits its first word. `format` is the rest of the
 * line when it stands last, else one word. An option of "[word]" may stand without `=`: it is then
 * on, or empty text. `command`, `text` and a last `format` take all that
 * follows, options included. NULL or "" as grammar: no words; "any": whatever is there, unchecked.
 *
 * In the words that come out (struct bt_line.args) a size is one word of decimal bytes, a duration
 * one word of decimal milliseconds, -1 for none; on/off words are "on" or "off"; text is one word.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_GRAMMAR_H
#define CONF_GRAMMAR_H

#include "bt_module.h"
#include "conf/file.h"

struct grammar;

/* Beside BT_LISTFILE in the flags of a row: names of list files are not expanded, but passed on as words
 * with .is_list, for a .set that reads them itself. */
#define GRAMMAR_LIST_NAMES (1u << 30)

/* NULL: the text is not of the language (*why says what is wrong, in the arena). */
struct grammar *grammar_compile(struct bt_arena *, const char *args, const char **why);

/* What else a check needs to know. All may be zero. */
struct grammar_of {
    const struct bt_option *option; /* rows for `options` */
    size_t options;
    size_t option_size;
    const char *unit; /* for size and duration without one */
    unsigned flags;   /* BT_LISTFILE, GRAMMAR_LIST_NAMES */
    bool folds;       /* -i and +i pass between values */
    bool preset;      /* the line is a preset: less is warned of */
    bool quiet;       /* the row is not built: what its options are is not told */
    /* `format` words; NULL: not checked. */
    bool (*format)(void *ctx, const struct bt_word *at, bt_str text, struct bt_error *);
    void *ctx;
    struct bt_arena *arena;
};

/* What a line that fits comes to. */
struct grammar_line {
    struct bt_args args; /* values in order, list files expanded */
    struct bt_args acls; /* ACL names, as written with their ! */
    bool has_acls;       /* the grammar has a place for them */
    bool may_wait;       /* acls rather than fastacls */
    void *options;       /* option_size bytes, presets filled in; NULL without options */
    int action;          /* place of the first choice word (a|b|c) that the line has; else -1 */
};

/* Words of a line against a grammar. Every complaint points at its word, a missing word at the
 * line's name. false: complaints were made; `out` has what could be made of it. */
BT_MUST bool grammar_line(const struct grammar *, const struct grammar_of *,
                          const struct file_line *, struct grammar_line *out, struct bt_error *);

/* The same for words that have been through a line's grammar already (values of an ACL type). */
BT_MUST bool grammar_words(const struct grammar *, const struct grammar_of *,
                           const struct bt_word *name, struct bt_args, struct grammar_line *out,
                           struct bt_error *);

/* Store the first value of a line that fits at `field`, as the C type of the grammar's first word
 * (bool, int64_t, bt_str, bt_size, bt_duration). */
void grammar_store(const struct grammar *, const struct grammar_line *, void *field);

/* Is it one value and nothing else, so that grammar_store() can take it? Or a rule list, i.e.
 * optional action words and acls? */
bool grammar_is_scalar(const struct grammar *);
bool grammar_is_rules(const struct grammar *);

#endif
