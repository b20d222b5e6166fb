/* test_str.c - text: compare, search, cut, numbers, the builder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "unit.h"

static void compares(void **state)
{
    (void)state;
    assert_true(bt_str_eq(BT_STR("a\0b"), BT_STR("a\0b")));
    assert_false(bt_str_eq(BT_STR("a\0b"), BT_STR("a\0c")));
    assert_true(bt_str_eq(BT_STR_NONE, BT_STR("")));
    assert_true(bt_str_eq_nocase(BT_STR("HoSt[\xc4"), BT_STR("hOsT[\xc4")));
    assert_false(bt_str_eq_nocase(BT_STR("@"), BT_STR("`")));
    assert_false(bt_str_eq_nocase(BT_STR("["), BT_STR("{")));
    assert_false(bt_str_eq_nocase(BT_STR("\xc4"), BT_STR("\xe4")));
    assert_true(str_compare(BT_STR("a"), BT_STR("ab")) < 0);
    assert_true(str_compare(BT_STR("b"), BT_STR("ab")) > 0);
    assert_true(str_compare(BT_STR("\xff"), BT_STR("a")) > 0);
    assert_int_equal(str_compare_nocase(BT_STR("AB"), BT_STR("ab")), 0);
    assert_true(str_compare_nocase(BT_STR("A"), BT_STR("b")) < 0);
    assert_true(str_starts(BT_STR("abc"), BT_STR("ab")));
    assert_false(str_starts(BT_STR("a"), BT_STR("ab")));
    assert_true(str_starts_nocase(BT_STR("ABc"), BT_STR("ab")));
    assert_true(str_ends(BT_STR("abc"), BT_STR("bc")));
    assert_false(str_ends(BT_STR("abc"), BT_STR("ab")));
    assert_true(str_ends_nocase(BT_STR("abC"), BT_STR("Bc")));
    assert_true(str_eq_literal(BT_STR("on"), "on"));
    assert_false(str_eq_literal(BT_STR("one"), "on"));
}

static void classes(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        const char *separators = "\"(),/:;<=>?@[\\]{}";
        bool printable = c >= 32 && c < 127;
        bool token = c > 32 && c < 127 && strchr(separators, c) == NULL;
        bool digit = c >= '0' && c <= '9';
        int folded = c >= 'A' && c <= 'Z' ? c + 32 : c;

        assert_int_equal(str_is((char)c, STR_PRINT), printable);
        assert_int_equal(str_is((char)c, STR_TOKEN), token);
        assert_int_equal(str_is((char)c, STR_DIGIT), digit);
        assert_int_equal(str_is((char)c, STR_ALPHA), folded >= 'a' && folded <= 'z');
        assert_int_equal(str_is((char)c, STR_HEX), digit || (folded >= 'a' && folded <= 'f'));
        assert_int_equal(str_is((char)c, STR_BLANK), c == ' ' || c == '\t');
        assert_int_equal(str_is((char)c, STR_SPACE), c == ' ' || (c >= 9 && c <= 13));
        assert_int_equal((uint8_t)str_lower((char)c), folded);
    }
}

static void searches(void **state)
{
    (void)state;
    assert_int_equal(str_find_char(BT_STR("abcb"), 'b'), 1);
    assert_int_equal(str_rfind_char(BT_STR("abcb"), 'b'), 3);
    assert_int_equal(str_find_char(BT_STR_NONE, 'b'), -1);
    assert_int_equal(str_find(BT_STR("abcabd"), BT_STR("abd")), 3);
    assert_int_equal(str_find(BT_STR("abc"), BT_STR("abcd")), -1);
    assert_int_equal(str_find(BT_STR("abc"), BT_STR("")), 0);
    assert_int_equal(str_find_nocase(BT_STR("xKeep-Alive"), BT_STR("keep-alive")), 1);
    assert_int_equal(str_find_nocase(BT_STR("xKeep-Aliv"), BT_STR("keep-alive")), -1);
    assert_int_equal(str_find_class(BT_STR("ab1"), STR_DIGIT), 2);
    assert_true(str_all(BT_STR("12"), STR_DIGIT));
    assert_false(str_all(BT_STR("1x"), STR_DIGIT));
}

static void cuts(void **state)
{
    bt_str rest = BT_STR("a,,b"), part;

    (void)state;
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "a");
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "");
    assert_true(str_cut(&rest, ',', &part));
    assert_str(part, "b");
    assert_false(str_cut(&rest, ',', &part));

    rest = BT_STR(" \t one  two\t");
    assert_true(str_word(&rest, &part));
    assert_str(part, "one");
    assert_true(str_word(&rest, &part));
    assert_str(part, "two");
    assert_false(str_word(&rest, &part));

    bt_str before, after;
    assert_true(str_split(BT_STR("a=b=c"), '=', &before, &after));
    assert_str(before, "a");
    assert_str(after, "b=c");
    assert_true(str_rsplit(BT_STR("a=b=c"), '=', &before, &after));
    assert_str(before, "a=b");
    assert_str(after, "c");
    assert_false(str_split(BT_STR("abc"), '=', &before, &after));
    assert_str(before, "abc");
    assert_null(after.at);

    assert_str(str_trim(BT_STR(" \ta b\t ")), "a b");
    assert_str(str_trim(BT_STR("  ")), "");
    assert_str(str_trim(BT_STR("a\r\n")), "a\r\n");
    assert_str(str_trim_space(BT_STR("\r\n a\r\n")), "a");
    assert_str(str_slice(BT_STR("abc"), 1, 9), "bc");
    assert_str(str_slice(BT_STR("abc"), 9, 2), "");
    assert_str(str_skip(BT_STR("abc"), 4), "");
}

static void numbers(void **state)
{
    uint64_t u;
    int64_t i;
    char buf[24];
    const uint64_t some[] = {0, 9, 10, 99, 100, 101, 12345, 1000000007, UINT64_MAX};

    (void)state;
    assert_true(str_uint(BT_STR("18446744073709551615"), UINT64_MAX, &u));
    assert_true(u == UINT64_MAX);
    assert_false(str_uint(BT_STR("18446744073709551616"), UINT64_MAX, &u));
    assert_false(str_uint(BT_STR("99999999999999999999999999"), UINT64_MAX, &u));
    assert_true(str_uint(BT_STR("65535"), 65535, &u));
    assert_false(str_uint(BT_STR("65536"), 65535, &u));
    assert_false(str_uint(BT_STR(""), 9, &u));
    assert_false(str_uint(BT_STR("+1"), 9, &u));
    assert_false(str_uint(BT_STR("1 "), 9, &u));
    assert_true(str_uint_base(BT_STR("fF"), 16, UINT64_MAX, &u));
    assert_int_equal(u, 255);
    assert_false(str_uint_base(BT_STR("8"), 8, 99, &u));
    assert_true(str_int(BT_STR("-9223372036854775808"), INT64_MIN, INT64_MAX, &i));
    assert_true(i == INT64_MIN);
    assert_false(str_int(BT_STR("9223372036854775808"), INT64_MIN, INT64_MAX, &i));
    assert_true(str_int(BT_STR("-1"), -1, 5, &i));
    assert_int_equal(i, -1);
    assert_false(str_int(BT_STR("-2"), -1, 5, &i));
    assert_false(str_int(BT_STR("--1"), -9, 9, &i));
    assert_false(str_int(BT_STR("-"), -9, 9, &i));
    for (size_t k = 0; k < sizeof(some) / sizeof(*some); k++) {
        char want[24];

        *str_put_uint(buf, some[k]) = '\0';
        snprintf(want, sizeof(want), "%llu", (unsigned long long)some[k]);
        assert_string_equal(buf, want);
    }
    *str_put_int(buf, INT64_MIN) = '\0';
    assert_string_equal(buf, "-9223372036854775808");
}

static void builds(void **state)
{
    struct bt_arena *arena = arena_new(1024);
    struct str_builder b;
    char buf[8];

    (void)state;
    str_builder_init(&b, buf, sizeof(buf));
    str_add_literal(&b, "abcd");
    assert_false(b.over);
    str_add_literal(&b, "efgh");
    assert_true(b.over);
    assert_str(str_built(&b), "abcdefg");
    assert_string_equal(buf, "abcdefg");

    str_builder_init(&b, buf, sizeof(buf));
    str_add_format(&b, "%d-%d", 12345, 6789);
    assert_true(b.over);
    assert_str(str_built(&b), "12345-6");

    str_builder_arena(&b, arena, 4);
    for (int i = 0; i < 1000; i++) {
        str_add_int(&b, -i);
        str_add_format(&b, "%c", ';');
    }
    assert_false(b.over);
    assert_int_equal(b.len, 1 + 9 * 2 + 90 * 3 + 900 * 4 + 1000);
    assert_true(str_starts(str_built(&b), BT_STR("0;-1;-2;")));
    assert_true(str_ends(str_built(&b), BT_STR("-998;-999;")));
    assert_int_equal(b.at[b.len], 0);

    str_builder_arena(&b, arena, 1);
    str_add_escaped(&b, BT_STR("a\"b\\c\n\r\t\x01\x7fz"));
    assert_str(str_built(&b), "a\\\"b\\\\c\\n\\r\\t\\x01\\x7fz");
    assert_str(str_lower_copy(arena, BT_STR("AbZ[")), "abz[");
    assert_int_equal(str_hash_nocase(BT_STR("AbC")), str_hash_nocase(BT_STR("aBc")));
    assert_int_not_equal(str_hash_nocase(BT_STR("abc")), str_hash_nocase(BT_STR("abd")));
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(compares), cmocka_unit_test(classes),
                                          cmocka_unit_test(searches), cmocka_unit_test(cuts),
                                          cmocka_unit_test(numbers),  cmocka_unit_test(builds)};
UNIT_MAIN(tests)
