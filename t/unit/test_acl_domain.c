/* test_acl_domain.c - dstdomain: names, what is below them, addresses, and entries that are covered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl/acl_domain.c"

#include "type_fake.h"

static const char *host(struct compiled made, const char *name)
{
    struct bt_txn txn = {.name = str_from(name), .reversed = BT_NO};
    return matches(made, &txn);
}

static void names(void **state)
{
    (void)state;
    struct compiled to = compiled_of("dstdomain", "exact.example.com", ".tree.example.com",
                                     ".example.com. WWW.Example.Org.", "com .net");
    assert_int_equal(err.n, 0);
    assert_string_equal(host(to, "exact.example.com"), "1 3");
    assert_string_equal(host(to, "x.exact.example.com"), "3");
    assert_string_equal(host(to, "tree.example.com"), "2 3");
    assert_string_equal(host(to, "a.b.tree.example.com"), "2 3");
    assert_string_equal(host(to, "atree.example.com"), "3");
    assert_string_equal(host(to, "www.example.org"), "3");
    assert_string_equal(host(to, "example.org"), "");
    assert_string_equal(host(to, "com"), "4");
    assert_string_equal(host(to, "other.com"), "");
    assert_string_equal(host(to, "other.net"), "4");
    assert_string_equal(host(to, ""), "");
    assert_string_equal(host(to, "none"), "");
}

/* An address matches as it is written, by its reverse name, or as `none`; names never wait. */
static void addresses(void **state)
{
    struct bt_txn txn = {.name = BT_STR("192.0.2.1"), .host_is_addr = true, .reversed = BT_NO};

    (void)state;
    struct compiled to = compiled_of("dstdomain", "192.0.2.1", "www.example.com", "none");
    assert_string_equal(matches(to, &txn), "1 3");
    txn.reversed = BT_WAIT;
    assert_string_equal(matches(to, &txn), "wait 1"); /* what is known is known */
    txn.reversed = BT_YES;
    txn.reverse = BT_STR("www.example.com");
    assert_string_equal(matches(to, &txn), "1 2");
    assert_int_equal(txn.reversals, 3);

    txn.reversals = 0;
    to = compiled_of("dstdomain", "-n 192.0.2.1", "-n www.example.com", "-n none");
    assert_string_equal(matches(to, &txn), "1");
    txn.host_is_addr = false;
    txn.name = BT_STR("www.example.com");
    assert_string_equal(matches(to, &txn), "2");
    assert_int_equal(txn.reversals, 0);
    assert_int_equal(type_of("dstdomain")->flags, BT_NO_DNS | BT_SETS | BT_ANEW_WORDLESS);
}

/* Values are spelt as hosts are: the shortest form of IPv6, without brackets. */
static void spelling(void **state)
{
    struct bt_txn txn = {.name = BT_STR("2001:db8::1"), .host_is_addr = true, .reversed = BT_NO};

    (void)state;
    struct compiled to = compiled_of("dstdomain", "[2001:db8::1]", "2001:DB8:0:0::1", "2001:db8::2",
                                     "[::1");
    assert_string_equal(matches(to, &txn), "1 2");
}

static void covered_entries(void **state)
{
    (void)state;
    struct compiled to = compiled_of("dstdomain", "a.example.com .example.com");
    assert_non_null(to.what);
    assert_true(said(1, 15, false, "a.example.com in ACL acl1 is covered by .example.com"));
    assert_int_equal(err.n, 1);
    assert_string_equal(host(to, "a.example.com"), "1");
    to = compiled_of("dstdomain", ".b.org", ".b.org x.b.org .y.b.org b.org");
    assert_true(said(2, 8, false, "x.b.org in ACL acl2 is covered by .b.org"));
    assert_true(said(2, 16, false, ".y.b.org in ACL acl2 is covered by .b.org"));
    assert_true(said(2, 25, false, "b.org in ACL acl2 is covered by .b.org"));
    assert_int_equal(err.n, 4); /* not by an entry of another ACL */
    compiled_of("dstdomain", "twice.net once.net TWICE.net");
    assert_true(said(1, 20, false, "twice.net is in ACL acl1 twice"));
    assert_int_equal(err.n, 5);
    assert_int_equal(err.faults, 0);
}

/* A long list that is wrong all over does not drown the rest. */
static void many_covered(void **state)
{
    struct bt_word *words;
    struct bt_acl_values values = {.name = BT_STR("long"), .args = {NULL, 1000}};

    (void)state;
    words = bt_alloc(arena, 1000 * sizeof *words);
    for (unsigned i = 0; i < 1000; i++)
        words[i] = (struct bt_word){
            .text = bt_str_printf(arena, i == 500 ? ".e.com" : "n%u.e.com", i),
            .file = "list",
            .line = i + 1,
            .column = 1};
    values.args.word = words;
    struct compiled to = {type_of("dstdomain"), 1, NULL};
    to.what = to.type->compile_all(&values, 1, arena, &err);
    assert_int_equal(err.n, COMPLAINTS_MAX + 1);
    assert_true(said(1, 1, false, "979 more values"));
    assert_string_equal(host(to, "n999.e.com"), "1");
}

static void doubtful(void **state)
{
    (void)state;
    struct compiled to = compiled_of("dstdomain",
                                     "*.example.com http://example.com/ . good.example.com");
    assert_non_null(to.what);
    assert_true(said(1, 1, false, "write .example.com"));
    assert_true(said(1, 15, false, "no host name"));
    assert_true(said(1, 35, false, "no host name"));
    assert_int_equal(err.n, 3);
    assert_string_equal(host(to, "a.example.com"), "");
    assert_string_equal(host(to, "good.example.com"), "1");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {
        TEST(names),           TEST(addresses),    TEST(spelling),
        TEST(covered_entries), TEST(many_covered), TEST(doubtful),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
