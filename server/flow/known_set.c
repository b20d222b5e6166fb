/* known_set.c - checks of lines that are not built and need more than a grammar.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/str.h"
#include "conf/complain.h"
#include "conf/grammar.h"
#include "flow/known.h"

bool known_read_already(void *conf, const struct bt_line *line, struct bt_error *err)
{
    (void)conf, (void)line, (void)err;
    return true;
}

bool known_cache_dir(void *conf, const struct bt_line *line, struct bt_error *err)
{
    const struct bt_word *type = &line->args.word[0];
    size_t needs = 5; /* type, folder, MB, two levels of folders */

    (void)conf;
    if (str_eq_literal(type->text, "null"))
        return true;
    if (str_eq_literal(type->text, "rock") || str_eq_literal(type->text, "coss"))
        needs = 3;
    if (line->args.n < needs)
        return bt_complain(err, &line->name, "%s %s: %s is missing", line->name.text.at,
                           type->text.at,
                           line->args.n < 2   ? "the folder"
                           : line->args.n < 3 ? "its size in MB"
                                              : "the number of folders on each of two levels");
    if (line->args.n > needs)
        bt_caution(err, &line->args.word[needs], "surplus word %s is ignored",
                   complain_word(err, line->args.word[needs].text));
    return true;
}

bool known_replacement_policy(void *conf, const struct bt_line *line, struct bt_error *err)
{
    static const char *const kinds[] = {"GDSF", "LFUDA", "LRU", NULL};
    const struct bt_word *kind = &line->args.word[1];

    (void)conf;
    if (!str_eq_literal(line->args.word[0].text, "heap"))
        return true;
    if (line->args.n < 2)
        return bt_complain(err, &line->args.word[0], "heap needs a kind: GDSF, LFUDA or LRU");
    for (size_t i = 0; kinds[i] != NULL; i++)
        if (bt_str_eq(kind->text, str_from(kinds[i])))
            return true;
    return bt_complain(err, kind, "GDSF, LFUDA or LRU expected, not %s",
                       complain_word(err, kind->text));
}
