/* rules.c - lists of rules, walked in order; what has been asked is remembered by acl.c.
 *
 * A list that waits remembers the place, so that ACLs with a side effect before it are not asked a
 * second time when the exchange comes back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/rules.h"

#include <string.h>

#include "base/str.h"
#include "plug/phase.h"

struct rules_term {
    const struct acl *acl;
    bool negated;
};

struct bt_acls {
    const struct acls *acls;
    uint32_t n;
    bool fast;   /* nobody can wait: an answer that is not there yet is a mismatch */
    bool always; /* holds for everybody: no name but `all` */
    struct rules_term term[];
};

struct rules_row {
    const struct bt_acls *acls; /* NULL: always */
    const struct bt_line *line;
    int action;
};

struct bt_rules {
    const struct acls *acls; /* NULL: no line names one */
    struct rules_row *row;
    uint32_t n, room;
    bool has_default; /* allow|deny: the opposite of the last line */
    bool certain;     /* the first line always holds: nothing to look at */
};

/* ---- binding ---- */

static bool negated(bt_str *name)
{
    if (name->len == 0 || name->at[0] != '!')
        return false;
    *name = str_skip(*name, 1);
    return true;
}

/* Would the ACL's answer be there, and in time? */
static void term_check(const struct acl *acl, const struct bt_word *at,
                       const struct bt_directive *row, bool fast, struct bt_error *err)
{
    if (acl_earliest(acl) > row->phase)
        bt_complain(err, at,
                    "ACL %s (type %s) is known from phase %s on, and %s is asked in phase %s",
                    acl_name(acl).at, acl_type_name(acl).at, phase_name(acl_earliest(acl)),
                    row->name, phase_name(row->phase));
    if (fast && acl_is_slow(acl))
        bt_complain(err, at,
                    "ACL %s (type %s) may have to wait for a name server, a login or a helper, and "
                    "%s cannot wait: it would silently not match",
                    acl_name(acl).at, acl_type_name(acl).at, row->name);
}

const struct bt_acls *rules_acls(struct acls *acls, struct bt_args names,
                                 const struct bt_directive *row, bool fast, struct bt_error *err)
{
    if (names.n == 0)
        return NULL;
    struct bt_acls *line = bt_alloc(acls->arena, sizeof *line + names.n * sizeof *line->term);
    line->acls = acls;
    line->fast = fast;
    line->always = true;
    for (size_t i = 0; i < names.n; i++) {
        bt_str name = names.word[i].text;
        bool unlike = negated(&name);
        const struct acl *acl = acl_find(acls, name, &names.word[i], err);
        if (acl == NULL) {
            acl_note_missing(acls, &names.word[i]);
            line->always = false;
            continue;
        }
        term_check(acl, &names.word[i], row, fast, err);
        line->term[line->n++] = (struct rules_term){acl, unlike};
        line->always &= acl_is_all(acl) && !unlike;
    }
    return line;
}

static struct bt_rules *rules_new(struct bt_arena *arena, const struct bt_directive *row)
{
    struct bt_rules *rules = bt_alloc(arena, sizeof *rules);

    rules->has_default = row != NULL && row->args != NULL &&
                         strstr(row->args, "allow|deny") != NULL;
    return rules;
}

void bt_rules_add(struct bt_rules **list, const struct bt_line *line, int action)
{
    if (*list == NULL)
        *list = rules_new(line->arena, line->row);
    struct bt_rules *rules = *list;
    if (rules->n == rules->room) {
        uint32_t room = rules->room == 0 ? 8 : rules->room * 2;
        struct rules_row *more = bt_alloc_raw(line->arena, room * sizeof *more);
        if (rules->n != 0)
            memcpy(more, rules->row, rules->n * sizeof *more);
        rules->row = more;
        rules->room = room;
    }
    if (rules->acls == NULL && line->acls != NULL)
        rules->acls = line->acls->acls;
    if (rules->n == 0)
        rules->certain = line->acls == NULL || line->acls->always;
    rules->row[rules->n++] = (struct rules_row){line->acls, line, action};
}

/* ---- evaluation ---- */

/* The terms from *at on. WAIT: *at is the one that waits. */
static enum bt_match terms_match(const struct bt_acls *acls, struct acl_memo *memo,
                                 struct bt_txn *txn, uint32_t *at)
{
    for (uint32_t i = *at; i < acls->n; i++) {
        const struct rules_term *term = &acls->term[i];
        enum bt_match said = acl_ask(term->acl, memo, txn);
        if (said == BT_WAIT) {
            if (!acls->fast) {
                *at = i;
                return BT_WAIT;
            }
            said = BT_NO;
        }
        if (said == BT_BROKEN)
            return BT_BROKEN;
        if ((said == BT_YES) == term->negated)
            return BT_NO;
    }
    return BT_YES;
}

/* Where a list or a line that waited goes on; 0 when it is not the one. */
static void resume_at(struct acl_memo *memo, const void *what, uint32_t *line, uint32_t *term)
{
    *line = *term = 0;
    if (__builtin_expect(memo->paused != what, 1))
        return;
    *line = memo->paused_line;
    *term = memo->paused_term;
    memo->paused = NULL;
}

static void pause_at(struct acl_memo *memo, const void *what, uint32_t line, uint32_t term)
{
    memo->paused = what;
    memo->paused_line = line;
    memo->paused_term = term;
}

enum bt_match bt_acls_match(const struct bt_acls *acls, struct bt_txn *txn)
{
    uint32_t none, term;

    if (acls == NULL || acls->always)
        return BT_YES;
    struct acl_memo *memo = acl_memo(acls->acls, txn);
    resume_at(memo, acls, &none, &term);
    enum bt_match said = terms_match(acls, memo, txn, &term);
    if (said == BT_WAIT)
        pause_at(memo, acls, 0, term);
    return said;
}

/* No line held. */
static struct bt_ruling ruling_default(const struct bt_rules *rules)
{
    if (!rules->has_default)
        return (struct bt_ruling){BT_NO, 0, NULL};
    int last = rules->row[rules->n - 1].action;
    return (struct bt_ruling){BT_YES, last == BT_ALLOW ? BT_DENY : BT_ALLOW, NULL};
}

static struct bt_ruling rules_walk(const struct bt_rules *rules, struct bt_txn *txn)
{
    struct acl_memo *memo = acl_memo(rules->acls, txn);
    uint32_t i, term;

    for (resume_at(memo, rules, &i, &term); i < rules->n; i++, term = 0) {
        const struct rules_row *row = &rules->row[i];
        enum bt_match said = row->acls == NULL ? BT_YES : terms_match(row->acls, memo, txn, &term);
        if (said == BT_NO)
            continue;
        if (said == BT_WAIT)
            pause_at(memo, rules, i, term);
        int action = said == BT_YES ? row->action : said == BT_BROKEN ? BT_DENY : 0;
        return (struct bt_ruling){said, action, row->line};
    }
    return ruling_default(rules);
}

struct bt_ruling bt_rules_run(const struct bt_rules *rules, struct bt_txn *txn)
{
    if (rules == NULL)
        return (struct bt_ruling){BT_NO, 0, NULL};
    const struct rules_row *row = &rules->row[0];
    /* A refusal has to leave behind the ACL that it looked at last; nobody asks that of the rest. */
    if (rules->certain && (row->acls == NULL || !rules->has_default || row->action == BT_ALLOW))
        return (struct bt_ruling){BT_YES, row->action, row->line};
    return rules_walk(rules, txn);
}

/* ---- for bobtailctl and tests ---- */

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
