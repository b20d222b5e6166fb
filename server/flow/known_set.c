/* known_set.c - checks of lines that are not built and need more than a grammar.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/str.h"
#include "base/suggest.h"
#include "conf/complain.h"
#include "conf/grammar.h"
#include "flow/known.h"

bool known_read_already(void *conf, const struct bt_line *line, struct bt_error *err)
{
    (void)conf, (void)line, (void)err;
    return true;
}

/* ---- parents ---- */

/* An option of a line that nothing stores; the place is right for lines that no backslash joins. */
static struct bt_word option_of(const struct bt_line *line, bt_str name)
{
    struct bt_word word = line->args.word[0];
    bt_str rest = line->text, one;

    while (str_word(&rest, &one)) {
        if (!str_starts(one, name))
            continue;
        word.column += (uint32_t)(one.at - line->text.at);
        word.text = bt_str_copy(line->arena, str_skip(one, name.len));
        return word;
    }
    word.text = BT_STR_NONE;
    return word;
}

static const struct known_peer *peer_find(const struct known_conf *conf, bt_str name)
{
    for (const struct known_peer *peer = conf->peers; peer != NULL; peer = peer->next)
        if (bt_str_eq(peer->name, name))
            return peer;
    return NULL;
}

bool known_cache_peer(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct known_conf *conf = conf_;
    struct bt_word given = option_of(line, BT_STR("name="));
    const struct bt_word *at = given.text.at != NULL ? &given : &line->args.word[0];

    if (peer_find(conf, at->text) != NULL)
        return bt_complain(
            err, at, "there is a parent named '%s' already: give each its own name=", at->text.at);
    struct known_peer *peer = bt_alloc(line->arena, sizeof *peer);
    peer->name = at->text;
    peer->next = conf->peers;
    conf->peers = peer;
    return true;
}

bool known_cache_peer_access(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    const struct known_conf *conf = conf_;
    const struct bt_word *name = &line->args.word[0];
    struct suggest near;

    if (peer_find(conf, name->text) != NULL)
        return true;
    suggest_init(&near, name->text);
    for (const struct known_peer *peer = conf->peers; peer != NULL; peer = peer->next)
        suggest_try(&near, peer->name.at);
    if (near.best != NULL)
        return bt_complain(err, name, "there is no parent named %s above; did you mean '%s'?",
                           complain_word(err, name->text), near.best);
    return bt_complain(err, name, "there is no parent named %s above",
                       complain_word(err, name->text));
}

/* ---- the rest ---- */

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

/* RESTORE/MAXIMUM, bytes a second and bytes; -1: without limit. */
bool known_delay_parameters(void *conf, const struct bt_line *line, struct bt_error *err)
{
    bool good = true;

    (void)conf;
    for (size_t i = 1; i < line->args.n; i++) {
        const struct bt_word *word = &line->args.word[i];
        bt_str restore, most;
        int64_t n;
        if (str_eq_literal(word->text, "none"))
            continue;
        if (!str_split(word->text, '/', &restore, &most) || !str_int(restore, -1, INT64_MAX, &n) ||
            !str_int(most, -1, INT64_MAX, &n))
            good = bt_complain(err, word, "none or RESTORE/MAXIMUM in bytes expected, not %s",
                               complain_word(err, word->text));
    }
    return good;
}
