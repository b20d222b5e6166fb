/* rules.c - lists of rules, walked in order or searched by an index; what has been asked is
 * remembered by acl.c.
 *
 * Both ways give the same ruling: that of the first line that does not fail. A line fails when one of
 * its ACLs does not hold, whatever the others would say; so one that is broken counts only when the
 * rest of its line holds, in whatever order they are looked at. Two kinds of ACLs keep their place:
 * those with a side effect, and those that may send the client to log in, until that is settled.
 *
 * A list that waits remembers the place, so that ACLs with a side effect before it are not asked a
 * second time when the exchange comes back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/rules_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "plug/phase.h"

/* ---- binding ---- */

static bool negated(bt_str *name)
{
    if (name->len == 0 || name->at[0] != '!')
        return false;
    *name = str_skip(*name, 1);
    return true;
}

/* Would the ACL's answer be there, and in time? Lists that cannot wait may be asked about what waits
 * when http_access was asked before: who is logged in is known then, and where the request goes, too,
 * as soon as it is sent. Where that is not so, a line that denies holds, and no other one does. */
static void term_check(struct acls *acls, const struct acl *acl, const struct bt_word *at,
                       const struct bt_directive *row, bool fast, struct bt_error *err)
{
    if (acl_earliest(acl) > row->phase)
        bt_complain(err, at,
                    "ACL %s (type %s) is known from phase %s on, and %s is asked in phase %s",
                    acl_name(acl).at, acl_type_name(acl).at, phase_name(acl_earliest(acl)),
                    row->name, phase_name(row->phase));
    if (!fast || !acl_is_slow(acl))
        return;
    if (row->phase <= BT_AT_REQUEST)
        bt_complain(err, at,
                    "ACL %s (type %s) may have to wait for a name server, a login or a helper, and "
                    "%s cannot wait: it would silently not match",
                    acl_name(acl).at, acl_type_name(acl).at, row->name);
    else if (acls->hurried_row != row || !bt_str_eq(acls->hurried_type, acl_type_name(acl)))
        bt_caution(err, at,
                   "%s cannot wait: ACL %s (type %s) counts where its answer is known by then, as "
                   "when http_access asked for it; else lines with it hold only if they deny",
                   row->name, acl_name(acl).at, acl_type_name(acl).at);
    acls->hurried_row = row;
    acls->hurried_type = acl_type_name(acl);
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
            acl_note_missing(acls, &names.word[i], false);
            line->always = false;
            continue;
        }
        term_check(acls, acl, &names.word[i], row, fast, err);
        line->term[line->n++] = (struct rules_index_term){acl, unlike};
        line->always &= acl_is_all(acl) && !unlike;
    }
    return line;
}

static struct bt_rules *rules_new(struct bt_arena *arena, const struct bt_directive *row)
{
    struct bt_rules *rules = bt_alloc(arena, sizeof *rules);
    const char *words = row != NULL && row->args != NULL ? strstr(row->args, "allow|deny") : NULL;

    /* As two of more words (ssl_bump) they are no such list. */
    rules->has_default = words != NULL && (words == row->args || words[-1] != '|');
    return rules;
}

/* In the order of their first lines. */
static void list_note(struct acls *acls, struct bt_rules *rules)
{
    struct bt_rules **at = &acls->lists;

    while (*at != NULL)
        at = &(*at)->next;
    *at = rules;
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
    if (line->acls != NULL && line->acls->fast && rules->has_default && action == BT_DENY)
        ((struct bt_acls *)(uintptr_t)line->acls)->denies = true; /* nobody else has it yet */
    if (rules->acls == NULL && line->acls != NULL) {
        rules->acls = line->acls->acls;
        list_note(rules->acls, rules);
    }
    if (rules->n == 0)
        rules->certain = line->acls == NULL || line->acls->always;
    rules->row[rules->n++] = (struct rules_row){line->acls, line, action};
}

/* A list that is longer than this is searched. On shorter ones both cost about the same, and the walk
 * has its order to itself. */
enum { INDEX_FROM = 16 };

static bool asks_login(const struct bt_rules *rules)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        const struct bt_acls *acls = rules->row[i].acls;
        for (uint32_t k = 0; acls != NULL && k < acls->n; k++)
            if (acl_is_login(acls->term[k].acl))
                return true;
    }
    return false;
}

static void index_make(struct bt_rules *rules, struct bt_arena *arena)
{
    struct rules_index_line *line = malloc(rules->n * sizeof *line);

    CHECK(line != NULL);
    for (uint32_t i = 0; i < rules->n; i++) {
        const struct bt_acls *acls = rules->row[i].acls;
        line[i] = acls == NULL
                      ? (struct rules_index_line){NULL, 0, false, false}
                      : (struct rules_index_line){acls->term, acls->n, acls->fast, acls->denies};
    }
    rules->index = rules_index_new(arena, line, rules->n, false);
    if (asks_login(rules))
        rules->before = rules_index_new(arena, line, rules->n, true);
    free(line);
}

/* A counter for each line of each list, and one for the default. */
static void hits_make(struct acls *acls)
{
    uint32_t n = 0;

    for (struct bt_rules *rules = acls->lists; rules != NULL; rules = rules->next) {
        rules->first_hit = n;
        n += rules->n + 1;
    }
    struct rules_hits *hits = n == 0 ? NULL : rules_hits_new(acls->arena, n);
    for (struct bt_rules *rules = acls->lists; rules != NULL; rules = rules->next)
        rules->hits = hits;
}

void rules_compile(struct acls *acls)
{
    hits_make(acls);
    for (struct bt_rules *rules = acls->lists; rules != NULL; rules = rules->next)
        if (rules->n >= INDEX_FROM)
            index_make(rules, acls->arena);
}

/* ---- evaluation ---- */

static enum bt_match term_ask(const struct bt_acls *acls, const struct rules_index_term *term,
                              struct acl_memo *memo, struct bt_txn *txn)
{
    if (!acls->fast)
        return acl_ask(term->acl, memo, txn);
    bool slow = acl_is_slow(term->acl), was = acl_hurry(slow);
    enum bt_match said = acl_ask(term->acl, memo, txn);
    acl_hurry(was);
    return slow || said == BT_WAIT ? acl_hurried(said, term->negated, acls->denies) : said;
}

/* What keeps its place in a line, whatever it costs: side effects, and who must log in is asked before
 * anything behind that is looked at. */
static bool in_order(const struct acl *acl, const struct acl_memo *memo)
{
    return acl_is_fresh(acl) || (!memo->knows_login && acl_is_login(acl));
}

/* Term `broken` cannot be told: does the rest of the line settle it? What keeps its place is not
 * reached by that; and when it is broken itself, that is that. */
static enum bt_match terms_after(const struct bt_acls *acls, struct acl_memo *memo,
                                 struct bt_txn *txn, uint32_t broken)
{
    uint32_t end = in_order(acls->term[broken].acl, memo) ? broken : acls->n;

    for (uint32_t i = broken + 1; i < end; i++) {
        const struct rules_index_term *term = &acls->term[i];
        if (in_order(term->acl, memo))
            continue;
        enum bt_match said = term_ask(acls, term, memo, txn);
        if (said == BT_WAIT)
            return BT_WAIT;
        if (said == (term->negated ? BT_YES : BT_NO))
            return BT_NO;
    }
    memo->last = acls->term[broken].acl;
    return BT_BROKEN;
}

/* The terms from *at on. WAIT: *at is the one that waits. */
static enum bt_match terms_match(const struct bt_acls *acls, struct acl_memo *memo,
                                 struct bt_txn *txn, uint32_t *at)
{
    for (uint32_t i = *at; i < acls->n; i++) {
        const struct rules_index_term *term = &acls->term[i];
        enum bt_match said = term_ask(acls, term, memo, txn);
        if (said == BT_WAIT) {
            *at = i;
            return BT_WAIT;
        }
        if (said != BT_YES && said != BT_NO) {
            *at = i;
            return terms_after(acls, memo, txn, i);
        }
        if ((said == BT_YES) == term->negated)
            return BT_NO;
    }
    return BT_YES;
}

/* Where a list or a line that waited goes on; 0 when it is not the one. */
static void resume_at(struct acl_memo *memo, const void *what, uint32_t *line, uint32_t *term)
{
    *line = *term = 0;
    memo->decided = NULL; /* another question */
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

void rules_look_again(const struct bt_acls *acls, struct acl_memo *memo, struct bt_txn *txn)
{
    uint32_t term = 0;

    (void)terms_match(acls, memo, txn, &term);
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

static inline void count_hit(const struct bt_rules *rules, uint32_t line)
{
    if (rules->hits != NULL)
        rules_hit(rules->hits, rules->first_hit + line);
}

/* No line held. */
static struct bt_ruling ruling_default(const struct bt_rules *rules)
{
    count_hit(rules, rules->n);
    if (!rules->has_default)
        return (struct bt_ruling){BT_NO, 0, NULL};
    int last = rules->row[rules->n - 1].action;
    return (struct bt_ruling){BT_YES, last == BT_ALLOW ? BT_DENY : BT_ALLOW, NULL};
}

static struct bt_ruling ruling_of(const struct bt_rules *rules, uint32_t line, enum bt_match said)
{
    const struct rules_row *row = &rules->row[line];

    if (said != BT_WAIT)
        count_hit(rules, line);
    int action = said == BT_YES ? row->action : said == BT_BROKEN ? BT_DENY : 0;

    return (struct bt_ruling){said, action, row->line};
}

/* Of bt_rules_run_some(): lines with other actions are not there. */
enum { ANY_ACTION = -1 };

static inline bool is_asked(const struct rules_row *row, uint32_t actions)
{
    return actions == (uint32_t)ANY_ACTION ||
           (row->action >= 0 && row->action < 32 && (actions >> row->action & 1) != 0);
}

static struct bt_ruling rules_walk(const struct bt_rules *rules, struct bt_txn *txn,
                                   uint32_t actions)
{
    struct acl_memo *memo = acl_memo(rules->acls, txn);
    uint32_t i, term;

    for (resume_at(memo, rules, &i, &term); i < rules->n; i++, term = 0) {
        const struct rules_row *row = &rules->row[i];
        if (!is_asked(row, actions))
            continue;
        enum bt_match said = row->acls == NULL ? BT_YES : terms_match(row->acls, memo, txn, &term);
        if (said == BT_NO)
            continue;
        if (said == BT_WAIT)
            pause_at(memo, rules, i, term);
        return ruling_of(rules, i, said);
    }
    return ruling_default(rules);
}

/* Where a search is. */
struct progress {
    struct acl_memo *memo;
    uint32_t line, term; /* where it goes on after a wait: in a line that is walked, at that term */
    int64_t walked;      /* the last line that was walked as it stands */
    uint32_t actions;    /* of lines that are asked */
};

/* The first line that does not fail, and what it says; NO: none. */
static enum bt_match rules_search(const struct bt_rules *rules, struct bt_txn *txn,
                                  struct progress *at, uint32_t *line)
{
    struct rules_search search;
    struct rules_found found;
    uint32_t term = at->term;
    bool before = rules->before != NULL && !at->memo->knows_login;

    rules_search_init(&search, before ? rules->before : rules->index, at->memo, txn, at->line);
    for (;; term = 0) {
        found = rules_search_next(&search);
        *line = (uint32_t)found.line;
        if ((found.match != BT_NO || found.fresh) && !is_asked(&rules->row[*line], at->actions))
            continue;
        if (!found.fresh)
            break;
        if (*line != at->line)
            term = 0;
        at->walked = found.line;
        found.match = terms_match(rules->row[*line].acls, at->memo, txn, &term);
        if (found.match != BT_NO)
            break;
        if (before && at->memo->knows_login) { /* now that we know, nothing needs its place */
            rules_search_fini(&search);
            rules_search_init(&search, rules->index, at->memo, txn, *line + 1);
            before = false;
        }
    }
    rules_search_fini(&search);
    at->term = term;
    return found.match;
}

/* No line held. What a denial leaves behind is the ACL that a walk would have looked at last, which is
 * in the last line. WAIT: that has to wait. */
static bool last_line_waits(const struct bt_rules *rules, struct bt_txn *txn,
                            const struct progress *at)
{
    uint32_t last = rules->n - 1, term = 0;
    const struct bt_acls *acls = rules->row[last].acls;

    if (!rules->has_default || rules->row[last].action != BT_ALLOW || at->walked == last)
        return false;
    if (terms_match(acls, at->memo, txn, &term) != BT_WAIT)
        return false;
    pause_at(at->memo, rules, last, 0);
    return true;
}

static struct bt_ruling rules_find(const struct bt_rules *rules, struct bt_txn *txn,
                                   uint32_t actions)
{
    struct progress at = {.memo = acl_memo(rules->acls, txn), .walked = -1, .actions = actions};
    uint32_t line;

    resume_at(at.memo, rules, &at.line, &at.term);
    enum bt_match said = rules_search(rules, txn, &at, &line);
    if (said == BT_NO) {
        if (last_line_waits(rules, txn, &at))
            return (struct bt_ruling){BT_WAIT, 0, rules->row[rules->n - 1].line};
        return ruling_default(rules);
    }
    const struct rules_row *row = &rules->row[line];
    if (said == BT_WAIT)
        pause_at(at.memo, rules, line, at.term);
    else if (rules->has_default && at.walked != line && row->acls != NULL &&
             (said == BT_BROKEN || row->action == BT_DENY))
        at.memo->decided = row->acls;
    return ruling_of(rules, line, said);
}

struct bt_ruling bt_rules_run_some(const struct bt_rules *rules, struct bt_txn *txn,
                                   uint32_t actions)
{
    if (rules == NULL)
        return (struct bt_ruling){BT_NO, 0, NULL};
    const struct rules_row *row = &rules->row[0];
    /* A refusal has to leave behind the ACL that it looked at last; nobody asks that of the rest. */
    if (rules->certain && is_asked(row, actions) &&
        (row->acls == NULL || !rules->has_default || row->action == BT_ALLOW))
        return ruling_of(rules, 0, BT_YES);
    return rules->index != NULL ? rules_find(rules, txn, actions) : rules_walk(rules, txn, actions);
}

struct bt_ruling bt_rules_run(const struct bt_rules *rules, struct bt_txn *txn)
{
    return bt_rules_run_some(rules, txn, (uint32_t)ANY_ACTION);
}
