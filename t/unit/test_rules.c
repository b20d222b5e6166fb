/* test_rules.c - first match wins as written; each ACL is asked once; waiting goes on where it was.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl_fake.h"

static void compile(void)
{
    if (!acls_compile(&acls, arena, &err))
        assert_true(said(0, 0, false, "nothing, but there were complaints"));
}

static void first_match_wins(void **state)
{
    struct bt_rules *list = NULL;
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    assert_true(acl_line("acl b one 2"));
    assert_true(acl_line("acl c set 3"));
    const struct bt_line *first = rule_line(&list, "http_access deny a b");
    const struct bt_line *second = rule_line(&list, "http_access allow !a c");
    const struct bt_line *third = rule_line(&list, "http_access deny b");
    compile();

    txn_new_fake(&txn);
    txn.says[1] = txn.says[2] = BT_YES;
    struct bt_ruling ruling = bt_rules_run(list, &txn);
    assert_int_equal(ruling.match, BT_YES);
    assert_int_equal(ruling.action, BT_DENY);
    assert_ptr_equal(ruling.line, first);
    assert_true(str_eq_literal(acl_last(&txn), "b"));

    txn_new_fake(&txn);
    txn.says[3] = BT_YES;
    ruling = bt_rules_run(list, &txn);
    assert_int_equal(ruling.action, BT_ALLOW);
    assert_ptr_equal(ruling.line, second);

    txn_new_fake(&txn);
    txn.says[2] = BT_YES;
    ruling = bt_rules_run(list, &txn);
    assert_int_equal(ruling.action, BT_DENY);
    assert_ptr_equal(ruling.line, third);
    assert_int_equal(txn.asked[1], 1);
}

/* Without a match: the opposite of the last line; no list at all: no ruling. */
static void defaults(void **state)
{
    struct bt_rules *ends_allow = NULL, *ends_deny = NULL, *other = NULL;
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    rule_line(&ends_allow, "http_access deny a");
    rule_line(&ends_allow, "http_access allow a");
    rule_line(&ends_deny, "http_access allow a");
    rule_line(&ends_deny, "http_access deny a");
    struct bt_line *line = line_of(&fast_row, "tcp_outgoing_address 192.0.2.1 a");
    line->acls = rules_acls(&acls, (struct bt_args){line->args.word + 1, 1}, &fast_row, true, &err);
    bt_rules_add(&other, line, 0);
    compile();
    assert_int_equal(err.n, 0);

    txn_new_fake(&txn);
    struct bt_ruling ruling = bt_rules_run(ends_allow, &txn);
    assert_int_equal(ruling.match, BT_YES);
    assert_int_equal(ruling.action, BT_DENY);
    assert_null(ruling.line);
    ruling = bt_rules_run(ends_deny, &txn);
    assert_int_equal(ruling.action, BT_ALLOW);
    assert_int_equal(bt_rules_run(other, &txn).match, BT_NO);
    assert_int_equal(bt_rules_run(NULL, &txn).match, BT_NO);
    assert_int_equal(bt_acls_match(NULL, &txn), BT_YES);
    assert_int_equal(bt_acls_match(line->acls, &txn), BT_NO);
    assert_int_equal(txn.asked[1], 1); /* five times named, once asked */
}

/* `allow all` looks at nothing; `deny all` leaves `all` behind for deny_info. */
static void all_is_certain(void **state)
{
    struct bt_rules *allows = NULL, *denies = NULL, *never = NULL;
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    const struct bt_line *line = rule_line(&allows, "http_access allow all");
    rule_line(&allows, "http_access deny a");
    rule_line(&denies, "http_access deny ALL");
    rule_line(&never, "http_access allow !all");
    compile();

    txn_new_fake(&txn);
    assert_ptr_equal(bt_rules_run(allows, &txn).line, line);
    assert_null(txn.memo);
    assert_int_equal(bt_rules_run(denies, &txn).action, BT_DENY);
    assert_true(str_eq_literal(acl_last(&txn), "all"));
    assert_int_equal(bt_rules_run(never, &txn).action, BT_DENY);
    assert_int_equal(txn.asked[1], 0);
}

/* What was asked before the wait is not asked again, not even what is always asked afresh. */
static void waiting(void **state)
{
    struct bt_rules *list = NULL;
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    assert_true(acl_line("acl marks fresh 2"));
    assert_true(acl_line("acl who slow 3"));
    rule_line(&list, "http_access deny a");
    const struct bt_line *line = rule_line(&list, "http_access allow marks who marks");
    compile();

    txn_new_fake(&txn);
    txn.says[2] = BT_YES;
    txn.says[3] = BT_WAIT;
    txn.later[3] = BT_YES;
    assert_int_equal(bt_rules_run(list, &txn).match, BT_WAIT);
    assert_int_equal(txn.asked[2], 1);
    struct bt_ruling ruling = bt_rules_run(list, &txn);
    assert_int_equal(ruling.match, BT_YES);
    assert_ptr_equal(ruling.line, line);
    assert_int_equal(txn.asked[1], 1);
    assert_int_equal(txn.asked[2], 2); /* its two places in the line */
    assert_int_equal(txn.asked[3], 2); /* before and after the wait */
    bt_rules_run(list, &txn);
    assert_int_equal(txn.asked[1], 1);
    assert_int_equal(txn.asked[2], 4); /* another question: asked afresh */
    assert_int_equal(txn.asked[3], 2);
}

/* While a type waits, bits that are set need not; in a line that cannot wait, others are no match. */
static void waiting_sets(void **state)
{
    struct bt_rules *list = NULL;
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl sure set 1"));
    assert_true(acl_line("acl open set 2"));
    assert_true(acl_line("acl dry set -n 3"));
    rule_line(&list, "http_access allow dry sure");
    rule_line(&list, "http_access allow open");
    struct bt_line *fast = line_of(&fast_row, "tcp_outgoing_address 192.0.2.1 dry");
    fast->acls = rules_acls(&acls, (struct bt_args){fast->args.word + 1, 1}, &fast_row, true, &err);
    assert_int_equal(err.n, 0); /* -n: it cannot wait, so a fast list may have it */
    compile();

    txn_new_fake(&txn);
    txn.says[1] = txn.says[3] = BT_YES;
    txn.says[2] = BT_WAIT;
    txn.later[2] = BT_WAIT;
    assert_int_equal(bt_acls_match(fast->acls, &txn), BT_YES);
    assert_int_equal(bt_rules_run(list, &txn).match, BT_YES);
    assert_int_equal(txn.asked_dry, 1);
    assert_int_equal(txn.asked_sets, 1);

    txn_new_fake(&txn);
    txn.says[2] = txn.later[2] = BT_WAIT;
    assert_int_equal(bt_rules_run(list, &txn).match, BT_WAIT);
    txn.later[2] = BT_YES;
    txn.says[2] = BT_YES;
    assert_int_equal(bt_rules_run(list, &txn).action, BT_ALLOW);
}

/* With an answer that is not there what cannot wait does not hold, but when it denies, whatever the type
 * claims. */
static void fast_lines(void **state)
{
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    struct bt_line *line = line_of(&fast_row, "tcp_outgoing_address 192.0.2.1 a");
    line->acls = rules_acls(&acls, (struct bt_args){line->args.word + 1, 1}, &fast_row, true, &err);
    struct bt_line *inverse = line_of(&fast_row, "tcp_outgoing_address 192.0.2.1 !a");
    inverse->acls = rules_acls(&acls, (struct bt_args){inverse->args.word + 1, 1}, &fast_row, true,
                               &err);
    compile();
    txn_new_fake(&txn);
    txn.says[1] = txn.later[1] = BT_WAIT;
    assert_int_equal(bt_acls_match(line->acls, &txn), BT_NO);
    assert_int_equal(bt_acls_match(inverse->acls, &txn), BT_NO);
}

static void broken_denies(void **state)
{
    struct bt_rules *list = NULL;
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    assert_true(acl_line("acl s set 2"));
    const struct bt_line *first = rule_line(&list, "http_access deny !a");
    const struct bt_line *second = rule_line(&list, "http_access allow !s");
    rule_line(&list, "http_access allow all");
    compile();

    for (int again = 0; again < 2; again++) {
        txn_new_fake(&txn);
        txn.says[again == 0 ? 1 : 2] = BT_BROKEN;
        txn.says[1] = again == 0 ? BT_BROKEN : BT_YES;
        for (int twice = 0; twice < 2; twice++) {
            struct bt_ruling ruling = bt_rules_run(list, &txn);
            assert_int_equal(ruling.match, BT_BROKEN);
            assert_int_equal(ruling.action, BT_DENY);
            assert_ptr_equal(ruling.line, again == 0 ? first : second);
        }
        assert_int_equal(txn.asked[1], 1);
        assert_int_equal(txn.asked_sets, again);
    }
    /* A stray value is no better. */
    txn_new_fake(&txn);
    txn.says[1] = (enum bt_match)77;
    assert_int_equal(bt_rules_run(list, &txn).match, BT_BROKEN);
}

static void forgetting(void **state)
{
    struct bt_rules *list = NULL;
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    rule_line(&list, "http_access allow a");
    compile();
    txn_new_fake(&txn);
    assert_int_equal(bt_rules_run(list, &txn).action, BT_DENY);
    txn.says[1] = BT_YES;
    assert_int_equal(bt_rules_run(list, &txn).action, BT_DENY);
    acl_forget(&txn);
    assert_int_equal(bt_rules_run(list, &txn).action, BT_ALLOW);
}

static void refusals(void **state)
{
    struct bt_rules *list = NULL;

    (void)state;
    assert_true(acl_line("acl reply late 1"));
    assert_true(acl_line("acl who slow 2"));
    rule_line(&list, "http_access allow reply");
    assert_true(said(3, 19, true,
                     "ACL reply (type late) is known from phase RESPONSE on, and "
                     "http_access is asked in phase REQUEST"));
    struct bt_line *line = line_of(&fast_row, "tcp_outgoing_address 192.0.2.1 !who");
    rules_acls(&acls, (struct bt_args){line->args.word + 1, 1}, &fast_row, true, &err);
    assert_true(said(4, 32, false, "tcp_outgoing_address cannot wait: ACL who (type slow)"));
    rule_line(&list, "http_access deny below");
    assert_true(acl_line("acl below one 1"));
    rule_line(&list, "http_access deny !repyl");
    rule_line(&list, "http_access deny zzzzzzzz");
    rule_line(&list, "http_access deny connekt");
    assert_false(acls_compile(&acls, arena, &err));
    assert_true(said(5, 18, true, "used above its definition in test.conf:6"));
    assert_true(said(7, 18, true, "there is no ACL repyl; did you mean reply?"));
    assert_true(said(8, 18, true, "define it above"));
    assert_true(said(9, 18, true, "did you mean CONNECT?"));
}

static void in_words(void **state)
{
    struct bt_rules *list = NULL;
    int action = -1;

    (void)state;
    assert_true(acl_line("acl Safe one 1"));
    rule_line(&list, "http_access deny safe !SAFE");
    rule_line(&list, "http_access allow all");
    assert_int_equal(rules_count(list), 2);
    assert_int_equal(rules_count(NULL), 0);
    const struct bt_line *line = rules_line(list, 0, &action);
    assert_int_equal(action, BT_DENY);
    assert_true(str_eq_literal(rules_text(line->acls, arena), "Safe !Safe"));
    assert_int_equal(rules_text(NULL, arena).len, 0);
}

/* ---- against the plainest walk ---- */

enum { ACLS = 12, LINES = 10, TERMS = 4, SETS = 400, ASKS = 250 };

struct plain_line {
    int action, n;
    int acl[TERMS];
    bool negated[TERMS];
};
/* Lines with other actions are not there, in lists that are walked and in those that are searched. */
static void some_actions(void **state)
{
    struct bt_rules *list[2] = {NULL, NULL};
    const struct bt_line *denies[2], *last[2];
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl a one 1"));
    assert_true(acl_line("acl b set 2"));
    assert_true(acl_line("acl c one 3"));
    for (int i = 0; i < 2; i++) {
        rule_line(&list[i], "http_access allow all");
        for (int k = 0; k < 40 * i; k++)
            rule_line(&list[i], k % 2 == 0 ? "http_access allow b" : "http_access deny c");
        denies[i] = rule_line(&list[i], "http_access deny a b");
        last[i] = rule_line(&list[i], "http_access allow b");
        rule_line(&list[i], "http_access deny b");
    }
    compile();
    for (int i = 0; i < 2; i++) {
        txn_new_fake(&txn);
        txn.says[1] = txn.says[2] = BT_YES;
        struct bt_ruling ruling = bt_rules_run_some(list[i], &txn, 1u << BT_DENY);
        assert_int_equal(ruling.match, BT_YES);
        assert_int_equal(ruling.action, BT_DENY);
        assert_ptr_equal(ruling.line, denies[i]);
        assert_int_equal(bt_rules_run_some(list[i], &txn, 1u << BT_ALLOW).action, BT_ALLOW);
        assert_int_equal(bt_rules_run(list[i], &txn).action, BT_ALLOW);
        assert_ptr_not_equal(bt_rules_run(list[i], &txn).line, last[i]);
        /* A wait comes back to the same line. */
        txn_new_fake(&txn);
        txn.says[1] = BT_WAIT;
        txn.later[1] = txn.says[2] = BT_YES;
        assert_int_equal(bt_rules_run_some(list[i], &txn, 1u << BT_DENY).match, BT_WAIT);
        ruling = bt_rules_run_some(list[i], &txn, 1u << BT_DENY);
        assert_ptr_equal(ruling.line, denies[i]);
        assert_int_equal(bt_rules_run_some(list[i], &txn, 0).line == NULL, true);
    }
}

static uint32_t seed;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 16) % sides;
}

static int plain_walk(const struct plain_line *line, int n, const struct bt_txn *txn, int *which)
{
    for (*which = 0; *which < n; ++*which) {
        const struct plain_line *now = &line[*which];
        bool holds = true;
        for (int i = 0; i < now->n && holds; i++) {
            enum bt_match is = txn->says[now->acl[i]];
            if (is == BT_WAIT)
                is = txn->later[now->acl[i]];
            holds = (is == BT_YES) != now->negated[i];
        }
        if (holds)
            return now->action;
    }
    return line[n - 1].action == BT_ALLOW ? BT_DENY : BT_ALLOW;
}

/* Each ACL number has a type by its last bits: one, slow (may wait), set, set -n. */
static int random_list(struct plain_line *line, struct bt_rules **list)
{
    static const char *const types[] = {"one", "slow", "set", "set -n"};
    int n = 1 + (int)dice(LINES);

    for (int i = 0; i < ACLS; i++)
        assert_true(acl_line(bt_str_printf(arena, "acl a%d %s %d", i, types[i % 4], i).at));
    for (int i = 0; i < n; i++) {
        struct str_builder text;
        str_builder_arena(&text, arena, 100);
        line[i] = (struct plain_line){.action = (int)dice(2), .n = 1 + (int)dice(TERMS)};
        str_add_format(&text, "http_access %s", line[i].action == BT_ALLOW ? "allow" : "deny");
        for (int k = 0; k < line[i].n; k++) {
            line[i].acl[k] = (int)dice(ACLS);
            line[i].negated[k] = dice(3) == 0;
            str_add_format(&text, " %sa%d", line[i].negated[k] ? "!" : "", line[i].acl[k]);
        }
        rule_line(list, str_built(&text).at);
    }
    return n;
}

static void ask_and_compare(const struct plain_line *line, int n, const struct bt_rules *list)
{
    struct bt_txn txn;
    struct bt_ruling ruling;
    int which, rounds = 0;

    txn_new_fake(&txn);
    for (int i = 0; i < ACLS; i++) {
        txn.later[i] = dice(2) == 0 ? BT_NO : BT_YES;
        txn.says[i] = (i % 4 == 1 || i % 4 == 2) && dice(4) == 0 ? BT_WAIT : txn.later[i];
    }
    struct bt_txn plain = txn;
    int action = plain_walk(line, n, &plain, &which);
    do
        ruling = bt_rules_run(list, &txn);
    while (ruling.match == BT_WAIT && ++rounds < 2 * ACLS);
    assert_int_equal(ruling.match, BT_YES);
    assert_int_equal(ruling.action, action);
    if (which < n)
        assert_ptr_equal(ruling.line, rules_line(list, (size_t)which, NULL));
    else
        assert_null(ruling.line);
    for (int i = 0; i < ACLS; i++)
        if (i % 4 < 2) /* alone: once, and once more if it waited */
            assert_true(txn.asked[i] <= 1 + (plain.says[i] == BT_WAIT));
    assert_true(txn.asked_dry <= 1);
    assert_true(txn.asked_sets <= 1 + rounds + LINES * TERMS);
    if (rounds == 0)
        for (int i = 2; i < ACLS; i += 4)
            if (plain.says[2] != BT_WAIT && plain.says[6] != BT_WAIT && plain.says[10] != BT_WAIT)
                assert_true(txn.asked_sets <= 1);
}

static void as_the_plain_walk(void **state)
{
    struct plain_line line[LINES];

    seed = 20240229;
    for (int i = 0; i < SETS; i++) {
        struct bt_rules *list = NULL;
        int n = random_list(line, &list);
        compile();
        for (int k = 0; k < ASKS; k++)
            ask_and_compare(line, n, list);
        conf_free(state);
        conf_new(state);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {
        TEST(first_match_wins), TEST(defaults),   TEST(all_is_certain), TEST(waiting),
        TEST(waiting_sets),     TEST(fast_lines), TEST(broken_denies),  TEST(forgetting),
        TEST(refusals),         TEST(in_words),   TEST(some_actions),   TEST(as_the_plain_walk),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
