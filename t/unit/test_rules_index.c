/* test_rules_index.c - lists of every length against the plainest walk, over random lists and
 * exchanges: the same ruling, the same side effects in the same order, nothing asked twice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl_fake.h"

enum { ACLS_MAX = 8000, LINES_MAX = 9000, TERMS = 5 };

/* By its last digit: what type an ACL is of. */
enum kind { ONE, SLOW, SET, DRY, WIDE, DEAR, DICE, LOGIN, KINDS };
static const char *const type_of_kind[] = {"one",  "slow", "set",  "set -n",
                                           "wide", "dear", "dice", "login"};
enum { ALL = ACLS_MAX }; /* the ACL `all` */

struct plain_line {
    int action, n;
    int acl[TERMS];
    bool negated[TERMS];
};
/* A list and what it is made of. */
struct plain {
    struct plain_line line[LINES_MAX];
    int n, acls;
    bool fast;
    enum kind kind[ACLS_MAX + 1];
    bool waits[KINDS], broken[KINDS]; /* one of that kind does, in the exchange that is looked at */
    struct bt_rules *list;
    const struct bt_line *written[LINES_MAX];
};
static struct plain plain;

static uint32_t seed = 20240302;
static uint32_t dice(uint32_t sides)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * sides >> 24);
}

/* ---- the plainest walk ---- */

struct naive {
    enum bt_match match;
    int action, line; /* -1: the default */
    int last;         /* ACL that was looked at last */
    bool knows_login;
    uint16_t rolled[ROLLS];
    int rolls;
};

/* What an ACL that is not a die says in the end. */
static enum bt_match value(const struct bt_txn *txn, int acl)
{
    enum kind kind = plain.kind[acl];
    enum bt_match is = acl == ALL ? BT_YES : txn->later[acl];

    if (acl == ALL || is == BT_YES || kind == ONE || kind == SLOW)
        return is; /* WAIT: for ever, only in a list that cannot */
    return plain.waits[kind] ? BT_WAIT : plain.broken[kind] ? BT_BROKEN : BT_NO;
}

static enum bt_match ask(const struct bt_txn *txn, struct naive *to, int acl)
{
    enum bt_match is;

    to->last = acl;
    if (plain.kind[acl] == LOGIN && acl != ALL) {
        is = txn->nobody ? BT_BROKEN : txn->later[acl];
        to->knows_login |= is == BT_YES || is == BT_NO;
        return is;
    }
    if (plain.kind[acl] != DICE || acl == ALL)
        return value(txn, acl);
    do {
        if (to->rolls < ROLLS)
            to->rolled[to->rolls] = (uint16_t)acl;
        is = dice_fall(txn->luck, (size_t)acl, to->rolls++);
    } while (is == BT_WAIT && !plain.fast);
    return is;
}

static bool in_order(const struct naive *to, int acl)
{
    return acl != ALL &&
           (plain.kind[acl] == DICE || (plain.kind[acl] == LOGIN && !to->knows_login));
}

static enum bt_match walk_line(const struct bt_txn *txn, struct naive *to,
                               const struct plain_line *line)
{
    int broken = -1;

    for (int i = 0; i < line->n; i++) {
        if (broken >= 0 && in_order(to, line->acl[i]))
            continue;
        enum bt_match is = ask(txn, to, line->acl[i]);
        if (is == BT_WAIT) /* nobody knows: the line holds when it denies */
            is = line->negated[i] != (line->action == BT_DENY) ? BT_YES : BT_NO;
        if (is == BT_BROKEN && in_order(to, line->acl[i]))
            return BT_BROKEN;
        if (is == BT_BROKEN && broken < 0)
            broken = i;
        if (is == (line->negated[i] ? BT_YES : BT_NO))
            return BT_NO;
    }
    if (broken < 0)
        return BT_YES;
    to->last = line->acl[broken];
    return BT_BROKEN;
}

static void walk(const struct bt_txn *txn, struct naive *to)
{
    *to = (struct naive){.match = BT_YES, .line = -1, .last = -1};
    memset(plain.waits, 0, sizeof plain.waits);
    memset(plain.broken, 0, sizeof plain.broken);
    for (int i = 0; i < plain.acls; i++) {
        plain.waits[plain.kind[i]] |= txn->later[i] == BT_WAIT;
        plain.broken[plain.kind[i]] |= txn->later[i] == BT_BROKEN;
    }
    to->action = plain.line[plain.n - 1].action == BT_ALLOW ? BT_DENY : BT_ALLOW;
    for (int i = 0; i < plain.n; i++) {
        enum bt_match is = walk_line(txn, to, &plain.line[i]);
        if (is == BT_NO)
            continue;
        to->match = is;
        to->line = i;
        to->action = is == BT_YES ? plain.line[i].action : BT_DENY;
        return;
    }
}

/* ---- random lists ---- */

static bool may_be(enum kind kind)
{
    return !plain.fast || (kind != SLOW && kind != SET && kind != DEAR && kind != LOGIN);
}

static void random_acls(int n, uint32_t dice_in)
{
    plain.acls = n;
    for (int i = 0; i < n; i++) {
        do
            plain.kind[i] = (enum kind)dice(KINDS);
        while (!may_be(plain.kind[i]) ||
               ((plain.kind[i] == DICE || plain.kind[i] == LOGIN) && dice(dice_in) != 0));
        assert_true(
            acl_line(bt_str_printf(arena, "acl a%d %s %d", i, type_of_kind[plain.kind[i]], i).at));
    }
    plain.kind[ALL] = ONE;
}

static void random_line(struct plain_line *line, const struct bt_line **written,
                        uint32_t negated_in)
{
    struct str_builder text;

    str_builder_arena(&text, arena, 100);
    *line = (struct plain_line){.action = (int)dice(2), .n = 1 + (int)dice(TERMS)};
    str_add_format(&text, "http_access %s", line->action == BT_ALLOW ? "allow" : "deny");
    for (int k = 0; k < line->n; k++) {
        line->acl[k] = dice(60) == 0 ? ALL : (int)dice((uint32_t)plain.acls);
        line->negated[k] = dice(negated_in) == 0;
        str_add_format(&text, line->acl[k] == ALL ? " %sall" : " %sa%d",
                       line->negated[k] ? "!" : "", line->acl[k]);
    }
    struct bt_line *now = line_of(&access_row, str_built(&text).at);
    now->acls = rules_acls(&acls, (struct bt_args){now->args.word + 1, now->args.n - 1},
                           &access_row, plain.fast, &err);
    bt_rules_add(&plain.list, now, line->action);
    *written = now;
}

static void random_list(int lines, int n_acls, uint32_t negated_in, uint32_t dice_in)
{
    plain.list = NULL;
    plain.n = lines;
    random_acls(n_acls, dice_in);
    for (int i = 0; i < lines; i++)
        random_line(&plain.line[i], &plain.written[i], negated_in);
    if (!acls_compile(&acls, arena, &err) || err.n != 0)
        assert_true(said(0, 0, false, "nothing, but there were complaints"));
}

/* One in `yes_in` matches; some wait first, some are broken. */
static void random_exchange(struct bt_txn *txn, struct bt_arena *own, uint32_t yes_in,
                            uint32_t broken_in, uint32_t wait_in)
{
    *txn = (struct bt_txn){.arena = own, .luck = dice(1 << 20), .nobody = dice(3) == 0};
    for (int i = 0; i < plain.acls; i++) {
        txn->later[i] = dice(yes_in) == 0 ? BT_YES : BT_NO;
        if (broken_in != 0 && dice(broken_in) == 0)
            txn->later[i] = BT_BROKEN;
        txn->says[i] = txn->later[i];
        if (wait_in == 0 || dice(wait_in) != 0 || plain.kind[i] == DRY)
            continue;
        if (plain.fast)
            txn->later[i] = BT_WAIT;
        txn->says[i] = BT_WAIT;
    }
}

/* ---- the comparison ---- */

static void show(const struct bt_txn *txn, const struct naive *want, const struct bt_ruling *got)
{
    for (int i = 0; i < plain.n && i < 100; i++)
        print_message("# %d: %.*s\n", i, BT_STR_ARGS(rules_text(plain.written[i]->acls, arena)));
    for (int i = 0; i < plain.acls && i < 100; i++)
        print_message("# a%d %s %d\n", i, type_of_kind[plain.kind[i]], (int)txn->later[i]);
    print_message("# want %d, line %d, action %d; got %d, action %d, line %d\n", (int)want->match,
                  want->line, want->action, (int)got->match, got->action,
                  got->line == NULL ? -1
                                    : (int)(got->line->name.line - plain.written[0]->name.line));
    for (int i = 0; i < want->rolls || i < txn->rolls; i++)
        print_message("# roll %d %d\n", i < want->rolls ? want->rolled[i] : -1,
                      i < txn->rolls ? txn->rolled[i] : -1);
}

static size_t compared, by_default, waited, broke, late; /* how it went, so that all of it is met */

static bool kind_waits(enum kind kind, const struct bt_txn *txn)
{
    for (int i = 0; i < plain.acls; i++)
        if (plain.kind[i] == kind && txn->says[i] == BT_WAIT)
            return true;
    return false;
}

static void compare(struct bt_txn *txn)
{
    static struct naive want;
    static struct bt_txn was;
    struct bt_ruling ruling;
    int rounds = 0;

    was = *txn;
    walk(txn, &want);
    do
        ruling = bt_rules_run(plain.list, txn);
    while (ruling.match == BT_WAIT && ++rounds < 2 * plain.acls + ROLLS);
    bool same = ruling.match == want.match && ruling.action == want.action &&
                ruling.line == (want.line < 0 ? NULL : plain.written[want.line]) &&
                txn->rolls == want.rolls &&
                memcmp(txn->rolled, want.rolled, (size_t)want.rolls * sizeof *want.rolled) == 0;
    bt_str last = want.last == ALL ? BT_STR("all") : bt_str_printf(arena, "a%d", want.last);
    if (want.action == BT_DENY && want.match != BT_WAIT)
        same &= bt_str_eq(acl_last(txn), last);
    if (!same) {
        show(txn, &want, &ruling);
        fail_msg("last %.*s, should be %.*s", BT_STR_ARGS(acl_last(txn)), BT_STR_ARGS(last));
    }
    compared++;
    by_default += want.line < 0;
    late += want.line >= plain.n / 2;
    waited += rounds > 0;
    broke += want.match == BT_BROKEN;
    for (int i = 0; i < plain.acls && !plain.fast; i++)
        if (plain.kind[i] == ONE || plain.kind[i] == SLOW)
            assert_true(txn->asked[i] <= 2);
    /* Kinds: once, and once more when they waited: for whoever comes back, and for who was last. */
    if (plain.n < 16 || plain.fast)
        return;
    assert_true(txn->asked_dry <= 1);
    assert_true(txn->asked_dear <= (kind_waits(DEAR, &was) ? 2 + TERMS + 2 * rounds : 1));
    assert_true(txn->asked_wide <= (kind_waits(WIDE, &was) ? 2 + TERMS + 2 * rounds : 1));
}

static void compare_some(int n, uint32_t yes_in, uint32_t broken_in, uint32_t wait_in)
{
    struct bt_arena *own = arena_new(4096);
    static struct bt_txn txn;

    for (int i = 0; i < n; i++) {
        random_exchange(&txn, own, yes_in, broken_in, wait_in);
        compare(&txn);
        arena_reset(own);
    }
    arena_free(own);
}

static void lists(void **state, int sets, int lines, int n_acls, int asks)
{
    for (int set = 0; set < sets; set++) {
        plain.fast = set % 5 == 4;
        random_list(lines == 0 ? 1 + (int)dice(90) : lines, n_acls, 2 + dice(8), 1 + dice(40));
        compare_some(asks, 2 + dice(6), dice(2) * 30, dice(2) * 9);
        compare_some(asks, 20, 0, 0); /* few match: what is at the end is reached */
        conf_free(state);
        conf_new(state);
    }
}

static void short_lists(void **state)
{
    lists(state, 900, 0, 30, 60);
    print_message(
        "# %zu lists and exchanges: %zu decided late, %zu by default, %zu waited, %zu broken\n",
        compared, late, by_default, waited, broke);
    assert_true(compared > 100000 && late > 10000 && by_default > 1000);
    assert_true(waited > 10000 && broke > 1000);
}

/* Of several words, and of more than one word of words. */
static void long_lists(void **state)
{
    lists(state, 12, 700, 100, 40);
    lists(state, 3, LINES_MAX, 480, 100);
}

/* Kinds of more than a thousand ACLs, of which some or hundreds match. */
static void many_acls(void **state)
{
    lists(state, 5, 1000, ACLS_MAX, 40);
}

/* When nearly none match. */
static void rare_matches(void **state)
{
    random_list(LINES_MAX, ACLS_MAX, 9, 40);
    compare_some(150, 3000, 0, 0);
    compare_some(150, 1000, 0, 2000);
    conf_free(state);
    conf_new(state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {TEST(short_lists), TEST(long_lists), TEST(many_acls),
                                       TEST(rare_matches)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
