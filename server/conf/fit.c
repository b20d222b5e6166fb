/* fit.c - for modules: words against a grammar of their own, and the name that was perhaps meant.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"
#include "base/suggest.h"
#include "conf/grammar.h"

bool bt_fit(const struct bt_grammar *g, struct bt_args words, const struct bt_word *named,
            struct bt_arena *arena, struct bt_error *err, struct bt_fit *out)
{
    struct grammar_of of = {.option = g->option,
                            .options = g->options,
                            .option_size = g->option_size,
                            .unit = g->unit,
                            .arena = arena};
    struct grammar_line line;
    const char *why;
    struct grammar *grammar = grammar_compile(arena, g->args, &why);

    *out = (struct bt_fit){.options = NULL};
    if (grammar == NULL)
        return bt_complain(err, named, "the grammar \"%s\" is none: %s", g->args, why);
    bool good = grammar_words(grammar, &of, named, words, &line, err);
    *out = (struct bt_fit){line.args, line.options};
    return good;
}

const char *bt_nearest(bt_str text, const char *const *names)
{
    struct suggest near;

    suggest_init(&near, text);
    for (; *names != NULL; names++)
        suggest_try(&near, *names);
    return near.best;
}
