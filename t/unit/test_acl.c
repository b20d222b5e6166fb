/* test_acl.c - names, types and values of ACLs; what a wrong line is told; what an exchange costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl_fake.h"

static enum bt_match ask(const char *name, struct bt_txn *txn)
{
    struct acl *acl = acl_find(&acls, str_from(name), NULL, &err);

    assert_non_null(acl);
    return acl_ask(acl, acl_memo(&acls, txn), txn);
}

/* Several lines of one name are one ACL, however its name is written. */
static void names(void **state)
{
    (void)state;
    assert_true(acl_line("acl Office one 1"));
    assert_true(acl_line("acl OFFICE two 2"));
    assert_true(acl_line("acl dotted-name.with_odd:chars one 3"));
    struct acl *acl = acl_find(&acls, BT_STR("office"), NULL, &err);
    assert_non_null(acl);
    assert_true(str_eq_literal(acl_name(acl), "Office"));
    assert_true(str_eq_literal(acl_type_name(acl), "one"));
    assert_string_equal(acl_place(acl), "test.conf:1");
    assert_null(acl_find(&acls, BT_STR("offic"), NULL, &err));
    assert_non_null(acl_find(&acls, BT_STR("dotted-name.with_odd:chars"), NULL, &err));
    assert_true(acls_compile(&acls, arena, &err));
    assert_int_equal(err.n, 0);
}

static void wrong_lines(void **state)
{
    (void)state;
    assert_false(acl_line("acl bad onee 1"));
    assert_true(said(1, 9, true, "unknown ACL type 'onee'; did you mean 'one'?"));
    assert_false(acl_line("acl bad one 1")); /* no second complaint about the same name */
    assert_int_equal(err.faults, 1);
    assert_true(acl_line("acl office one 1"));
    assert_false(acl_line("acl office slow 1"));
    assert_true(said(4, 12, true, "ACL office is of type one (test.conf:3)"));
    assert_false(acl_line("acl !office one 1"));
    assert_true(said(5, 5, true, "begin with"));
    assert_false(acl_line("acl n number 12"));
    assert_true(said(6, 14, true, "12"));
    assert_true(acl_line("acl s set bad"));
    assert_false(acls_compile(&acls, arena, &err));
    assert_true(said(7, 11, true, "a bad value"));
}

/* A use of a name whose definition was refused brings no complaint of its own. */
static void one_complaint_a_fault(void **state)
{
    struct bt_rules *list = NULL;

    (void)state;
    assert_false(acl_line("acl bad nosuchtypeatall 1"));
    rule_line(&list, "http_access deny bad");
    /* A line that did not come so far, because its list file is missing. */
    rule_line(&list, "http_access deny unread");
    acl_note_line(&acls, BT_STR("Unread"));
    acl_note_line(&acls, BT_STR("bad"));
    assert_true(acls_compile(&acls, arena, &err));
    assert_int_equal(err.n, 1);
}

static void without_values(void **state)
{
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl nobody one"));
    assert_true(said(1, 12, false, "never matches"));
    assert_true(acl_line("acl nothing set -n"));
    assert_true(said(2, 13, false, "never matches"));
    assert_true(acls_compile(&acls, arena, &err));
    txn_new_fake(&txn);
    assert_int_equal(ask("nobody", &txn), BT_NO);
    assert_int_equal(ask("nothing", &txn), BT_NO);
    assert_int_equal(txn.asked_dry + txn.asked_sets, 0);
}

static void predefined_names(void **state)
{
    struct bt_txn txn;

    (void)state;
    /* As in files of long ago. */
    assert_true(acl_line("acl all src 0.0.0.0/0.0.0.0"));
    assert_true(said(1, 5, false, "predefined"));
    assert_true(acl_line("acl manager proto cache_object"));
    assert_true(said(2, 5, false, "predefined"));
    assert_true(acl_line("acl localhost src 127.0.0.1/32"));
    assert_true(acl_line("acl connect method CONNECT"));
    assert_int_equal(err.faults, 0);
    assert_int_equal(err.warnings, 2);
    assert_false(acl_line("acl all one 1"));
    assert_true(said(5, 9, true, "ACL all is of type src (predefined)"));
    assert_false(acl_line("acl LOCALHOST one 1"));
    assert_true(said(6, 15, true, "ACL localhost is of type src (predefined)"));
    assert_non_null(acl_find(&acls, BT_STR("to_linklocal"), NULL, &err));
    assert_non_null(acl_find(&acls, BT_STR("to_localhost"), NULL, &err));
    assert_true(acls_compile(&acls, arena, &err));
    txn_new_fake(&txn);
    assert_int_equal(ask("ALL", &txn), BT_YES);
    assert_true(acl_is_all(acl_find(&acls, BT_STR("all"), NULL, &err)));
}

static void manager_pages(void **state)
{
    static const struct {
        const char *path;
        enum bt_match is;
    } cases[] = {
        {"/squid-internal-mgr/info", BT_YES},
        {"/squid-internal-mgr/", BT_YES},
        {"/%73quid-internal-m%67r/menu", BT_YES},
        {"/squid-internal-mgr", BT_NO},
        {"/squid-internal-mgrx/", BT_NO},
        {"/SQUID-internal-mgr/", BT_NO},
        {"/x/squid-internal-mgr/", BT_NO},
        {"/squid-internal-m%6", BT_NO},
        {"/", BT_NO},
        {"", BT_NO},
    };
    struct bt_txn txn;

    (void)state;
    assert_non_null(acl_find(&acls, BT_STR("manager"), NULL, &err));
    assert_true(acls_compile(&acls, arena, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        txn_new_fake(&txn);
        txn.path = str_from(cases[i].path);
        assert_int_equal(ask("manager", &txn), cases[i].is);
    }
}

/* Known and not built: refused at its first line, and its values are looked at all the same. */
static void not_built(void **state)
{
    static const struct {
        const char *line;
        uint32_t column;
        const char *text; /* NULL: only that it is not built */
    } cases[] = {
        {"acl x ident_regex ok ads{2,1}", 22, "{2,1}"},
        {"acl x ssl::server_name_regex -i ^anna +i B", 0, NULL},
        {"acl x ssl::server_name --consensus .example.com", 0, NULL},
        {"acl x ssl::server_name --any .example.com", 24, "--consensus"},
        {"acl x at_step SslBump1", 0, NULL},
        {"acl x at_step SslBump9", 15, "SslBump"},
        {"acl x ident REQUIRED", 0, NULL},
        {"acl x src_as 64500", 0, NULL},
        {"acl x clientside_mark 0x3", 0, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("# %s\n", cases[i].line);
        bool fine = acl_line(cases[i].line);
        assert_false(acls_compile(&acls, arena, &err));
        assert_true(said(1, 7, true, "is not built yet"));
        if (cases[i].text == NULL) {
            assert_true(fine);
            assert_int_equal(err.n, 1);
        } else {
            assert_true(said(1, cases[i].column, true, cases[i].text));
            assert_int_equal(err.n, 2);
        }
        conf_free(state);
        conf_new(state);
    }
}

/* -n and -- stand before the values; ACLs with -n are a kind of their own. */
static void flags(void **state)
{
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl wet set 1 2"));
    assert_true(acl_line("acl dry set -n 3"));
    assert_true(acl_line("acl both set 4"));
    assert_true(acl_line("acl both set -n -- 5"));
    assert_true(acls_compile(&acls, arena, &err));
    assert_int_equal(err.n, 0);
    assert_true(acl_is_slow(acl_find(&acls, BT_STR("wet"), NULL, &err)));
    assert_false(acl_is_slow(acl_find(&acls, BT_STR("dry"), NULL, &err)));
    assert_false(acl_is_slow(acl_find(&acls, BT_STR("both"), NULL, &err)));
    txn_new_fake(&txn);
    txn.says[1] = txn.says[4] = BT_YES;
    assert_int_equal(ask("wet", &txn), BT_YES);
    assert_int_equal(txn.asked_dry, 0);
    assert_int_equal(ask("dry", &txn), BT_NO);
    assert_int_equal(ask("both", &txn), BT_YES);
    assert_int_equal(ask("wet", &txn), BT_YES);
    assert_int_equal(txn.asked_dry, 1);
    assert_int_equal(txn.asked_sets, 1);
}

/* -n is a value where the type has no such flag, and behind --. */
static void no_flags(void **state)
{
    (void)state;
    assert_false(acl_line("acl a number -n"));
    assert_true(said(1, 14, true, "-n"));
    assert_true(acl_line("acl b one -- 1"));
    assert_true(acls_compile(&acls, arena, &err));
}

/* A memo is two bits an ACL or set, and a bit for each ACL of a set. */
static void memo_is_small(void **state)
{
    struct bt_txn txn;

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_true(acl_line(bt_str_printf(arena, "acl s%d set %d", i, i % SAYS).at));
        assert_true(acl_line(bt_str_printf(arena, "acl o%d one %d", i, i % SAYS).at));
    }
    assert_true(acls_compile(&acls, arena, &err));
    assert_int_equal(acls.codes, 101);
    assert_int_equal(acls.words, 4 + 2);
    txn_new_fake(&txn);
    for (int i = 0; i < SAYS; i++)
        txn.says[i] = i % 3 == 0 ? BT_YES : BT_NO;
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < 100; i++)
            for (int set = 0; set < 2; set++) {
                const char *name = bt_str_printf(arena, "%c%d", set ? 's' : 'o', i).at;
                assert_int_equal(ask(name, &txn), i % SAYS % 3 == 0 ? BT_YES : BT_NO);
            }
    assert_int_equal(txn.asked_sets, 1);
    assert_int_equal(txn.asked[63], 1 + 1);
}

/* Lines of one name are alternatives: YES of one is enough, then WAIT, then BROKEN. */
static void lines_are_alternatives(void **state)
{
    static const struct {
        enum bt_match says[3], is;
    } cases[] = {
        {{BT_NO, BT_NO, BT_NO}, BT_NO},         {{BT_NO, BT_NO, BT_YES}, BT_YES},
        {{BT_BROKEN, BT_YES, BT_NO}, BT_YES},   {{BT_WAIT, BT_NO, BT_YES}, BT_YES},
        {{BT_BROKEN, BT_NO, BT_NO}, BT_BROKEN}, {{BT_BROKEN, BT_WAIT, BT_NO}, BT_WAIT},
    };
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl x one 0"));
    assert_true(acl_line("acl x two 1"));
    assert_true(acl_line("acl x one 2"));
    assert_true(acls_compile(&acls, arena, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        txn_new_fake(&txn);
        memcpy(txn.says, cases[i].says, sizeof cases[i].says);
        assert_int_equal(ask("x", &txn), cases[i].is);
    }
}

/* What changes is asked each time; what was looked at last is known. */
static void fresh_and_last(void **state)
{
    struct bt_txn txn;

    (void)state;
    assert_true(acl_line("acl dice fresh 1"));
    assert_true(acl_line("acl one one 2"));
    assert_true(acls_compile(&acls, arena, &err));
    txn_new_fake(&txn);
    assert_null(acl_last(&txn).at);
    assert_int_equal(ask("dice", &txn), BT_NO);
    txn.says[1] = BT_YES;
    assert_int_equal(ask("dice", &txn), BT_YES);
    assert_int_equal(ask("one", &txn), BT_NO);
    assert_true(str_eq_literal(acl_last(&txn), "one"));
    assert_true(acl_is_fresh(acl_find(&acls, BT_STR("dice"), NULL, &err)));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {
        TEST(names),
        TEST(wrong_lines),
        TEST(one_complaint_a_fault),
        TEST(without_values),
        TEST(predefined_names),
        TEST(manager_pages),
        TEST(not_built),
        TEST(flags),
        TEST(no_flags),
        TEST(memo_is_small),
        TEST(fresh_and_last),
        TEST(lines_are_alternatives),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
