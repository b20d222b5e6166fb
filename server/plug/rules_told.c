/* rules_told.c - lists of rules in words: each line with its hits, and walks for people.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "base/check.h"
#include "base/str.h"
#include "plug/rules_inside.h"

size_t rules_count(const struct bt_rules *rules)
{
    return rules == NULL ? 0 : rules->n;
}

const struct bt_line *rules_line(const struct bt_rules *rules, size_t i, int *action)
{
    if (action != NULL)
        *action = rules->row[i].action;
    return rules->row[i].line;
}

size_t rules_memory(const struct bt_rules *rules)
{
    if (rules == NULL || rules->index == NULL)
        return 0;
    return rules_index_memory(rules->index) +
           (rules->before == NULL ? 0 : rules_index_memory(rules->before));
}

bt_str rules_text(const struct bt_acls *acls, struct bt_arena *arena)
{
    struct str_builder text;

    str_builder_arena(&text, arena, 64);
    for (uint32_t i = 0; acls != NULL && i < acls->n; i++) {
        if (i > 0)
            str_add_char(&text, ' ');
        if (acls->term[i].negated)
            str_add_char(&text, '!');
        str_add(&text, acl_name(acls->term[i].acl));
    }
    return str_built(&text);
}

bt_str rules_line_text(const struct bt_line *line, struct bt_arena *arena)
{
    struct str_builder text;

    str_builder_arena(&text, arena, 128);
    str_add(&text, line->name.text);
    for (size_t i = 0; i < line->args.n; i++) {
        str_add_char(&text, ' ');
        str_add(&text, line->args.word[i].text);
    }
    if (line->acls != NULL) {
        str_add_char(&text, ' ');
        str_add(&text, rules_text(line->acls, arena));
    }
    return str_built(&text);
}

static uint64_t hits_of(const struct bt_rules *rules, uint32_t line)
{
    return rules->hits == NULL ? 0 : rules_hits_of(rules->hits, rules->first_hit + line);
}

void rules_each(const struct acls *acls, void (*each)(void *arg, const struct rules_told *),
                void *arg)
{
    for (const struct bt_rules *rules = acls->lists; rules != NULL; rules = rules->next) {
        bt_str name = rules->row[0].line->name.text;
        for (uint32_t i = 0; i <= rules->n; i++) {
            struct rules_told told = {
                .list = name, .hits = hits_of(rules, i), .counted = rules->hits != NULL};
            if (i < rules->n) {
                told.line = rules->row[i].line;
                told.action = rules->row[i].action;
            } else if (!rules->has_default) {
                break;
            } else {
                told.action = rules->row[i - 1].action == BT_ALLOW ? BT_DENY : BT_ALLOW;
            }
            each(arg, &told);
        }
    }
}

/* ---- a walk ---- */

static enum bt_match term_ask(const struct rules_index_term *term, struct bt_txn *txn,
                              bool (*askable)(const struct acl *), struct acl_memo *memo)
{
    if (!askable(term->acl))
        return BT_WAIT;
    enum bt_match said = acl_ask(term->acl, memo, txn);
    return said == BT_YES || said == BT_NO || said == BT_WAIT ? said : BT_BROKEN;
}

/* All terms up to the first that fails; what is not known may still hold. */
static enum bt_match line_ask(const struct bt_acls *acls, struct bt_txn *txn,
                              bool (*askable)(const struct acl *), struct rules_step_term *out)
{
    enum bt_match holds = BT_YES;

    for (uint32_t i = 0; i < acls->n; i++) {
        const struct rules_index_term *term = &acls->term[i];
        out[i] = (struct rules_step_term){acl_name(term->acl), term->negated, RULES_UNASKED};
        if (holds == BT_NO)
            continue;
        enum bt_match said = term_ask(term, txn, askable, acl_memo(acls->acls, txn));
        out[i].said = (enum rules_word)said;
        if (said == (term->negated ? BT_YES : BT_NO))
            holds = BT_NO;
        else if (said == BT_WAIT || (said == BT_BROKEN && holds != BT_WAIT))
            holds = said;
    }
    return holds;
}

struct bt_ruling rules_explain(const struct bt_rules *rules, struct bt_txn *txn,
                               bool (*askable)(const struct acl *),
                               void (*each)(void *arg, const struct rules_step *), void *arg)
{
    struct bt_ruling ruling = {BT_NO, 0, NULL};
    bool depends = false, decided = false;

    for (uint32_t i = 0; rules != NULL && i < rules->n && !decided; i++) {
        const struct rules_row *row = &rules->row[i];
        size_t n = row->acls == NULL ? 0 : row->acls->n;
        struct rules_step_term *term = calloc(n + 1, sizeof *term);
        CHECK(term != NULL);
        enum bt_match holds = n == 0 ? BT_YES : line_ask(row->acls, txn, askable, term);
        each(arg, &(struct rules_step){row->line, row->action, holds, n, term});
        free(term);
        depends |= holds == BT_WAIT;
        decided = holds == BT_YES || holds == BT_BROKEN;
        if (decided)
            ruling = (struct bt_ruling){holds, holds == BT_YES ? row->action : BT_DENY, row->line};
    }
    if (!decided && rules != NULL && rules->has_default) {
        ruling.match = BT_YES;
        ruling.action = rules->row[rules->n - 1].action == BT_ALLOW ? BT_DENY : BT_ALLOW;
    }
    if (depends)
        ruling.match = BT_WAIT;
    return ruling;
}
