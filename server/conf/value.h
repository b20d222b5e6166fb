/* value.h - one value of a grammar: what a word must look like, and what it comes to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "bt_module.h"

enum value_kind {
    VALUE_ON_OFF,
    VALUE_CHOICE, /* one of the literals */
    VALUE_INT,
    VALUE_PERCENT,
    VALUE_SIZE,
    VALUE_DURATION,
    VALUE_PORT,
    VALUE_WORD, /* from here on: text */
    VALUE_PATH,
    VALUE_ADDR,
    VALUE_HOST,
    VALUE_REGEX,
    VALUE_PATTERN, /* a regex for texts that may hold blanks: see value_cut() */
    VALUE_COMMAND,
    VALUE_TEXT,
    VALUE_FORMAT
};

struct value_type {
    enum value_kind kind;
    const char *const *literals; /* ended by NULL; beside a type: words that stand for none */
    size_t n_literals;
    int64_t min, max; /* of a number */
};

/* What else there is to know. */
struct value_of {
    const char *unit; /* that stands when none is written; NULL: seconds, bytes */
    bool nocase;      /* regex */
    struct bt_arena *arena;
    bool preset; /* written by us: a unit may be left out without a word */
};

/* One word of .args (without brackets and dots). false: it is none; *why says so. */
BT_MUST bool value_compile(struct bt_arena *, bt_str text, struct value_type *, const char **why);

/* Does it look like one? For parts that may be missing: a word that only looks like one is taken
 * for it, and complained of by value_check(). */
bool value_fits(const struct value_type *, const struct bt_word *);

/* Check one word and make it canonical: numbers in decimal, sizes in bytes, durations in ms, -1
 * for a literal beside a number. `unit`: the next word of the line, NULL when there is none or it
 * cannot be a unit; *used says that it was taken as one. false: complaints were made. */
BT_MUST bool value_check(const struct value_type *, const struct value_of *, struct bt_word *word,
                         const struct bt_word *unit, bool *used, struct bt_error *);

/* Was this pattern cut in two by a blank within brackets ("(^|[" of "(^|[ ;])a=")? Of URLs, which hold
 * no blanks, that is a mistake, and value_check() says so; of other texts what follows belongs to it. */
bool value_cut(const struct value_type *, const struct bt_word *);

/* Store a canonical value as its C type. */
void value_store(const struct value_type *, const struct bt_word *, void *field);

/* In words: "a number from 1 to 64", "allow or deny". */
const char *value_name(const struct value_type *, struct bt_arena *);

/* May a unit stand beside it as a word of its own? Is the word one? */
bool value_has_unit(const struct value_type *);
bool value_is_unit(const struct value_type *, bt_str word);

/* Place of a word that fits among the literals; -1: it is none of them. */
int value_place(const struct value_type *, const struct bt_word *);

#endif
