/* test_head.c - names and methods are found, fields looked up, lists walked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/head.h"
#include "http/parse.h"
#include "unit.h"

static void every_name_is_found(void **state)
{
    char text[64];

    (void)state;
    for (unsigned id = 1; id < HEADER_COUNT; id++) {
        bt_str name = header_name((enum header_id)id);

        assert_int_equal(header_find(name), id);
        for (size_t i = 0; i < name.len; i++)
            text[i] = (char)(name.at[i] ^ (str_is(name.at[i], STR_ALPHA) ? 0x20 : 0));
        assert_int_equal(header_find((bt_str){text, name.len}), id);
        /* One byte less, more, or different is another name. */
        assert_int_equal(header_find((bt_str){name.at, name.len - 1}), HEADER_OTHER);
        memcpy(text, name.at, name.len);
        text[name.len] = 'x';
        assert_int_equal(header_find((bt_str){text, name.len + 1}), HEADER_OTHER);
        for (size_t i = 0; i < name.len; i++) {
            memcpy(text, name.at, name.len);
            text[i] = '_';
            assert_int_equal(header_find((bt_str){text, name.len}), HEADER_OTHER);
        }
    }
    assert_int_equal(header_find(BT_STR("")), HEADER_OTHER);
    assert_int_equal(header_find(BT_STR("X-Nobody-Knows")), HEADER_OTHER);
    assert_int_equal(header_find(BT_STR("\x08ost")), HEADER_OTHER);
}

static void flags(void **state)
{
    (void)state;
    assert_int_equal(header_flags(HEADER_OTHER), 0);
    assert_int_equal(header_flags(HEADER_TE), HEADER_HOP);
    assert_int_equal(header_flags(HEADER_TRANSFER_ENCODING), HEADER_HOP | HEADER_FRAMING);
    assert_int_equal(header_flags(HEADER_CONTENT_LENGTH), HEADER_FRAMING | HEADER_SINGLE);
}

static void methods(void **state)
{
    (void)state;
    assert_int_equal(method_find(BT_STR("GET")), METHOD_GET);
    assert_int_equal(method_find(BT_STR("CONNECT")), METHOD_CONNECT);
    assert_int_equal(method_find(BT_STR("PURGE")), METHOD_PURGE);
    assert_int_equal(method_find(BT_STR("get")), METHOD_OTHER);
    assert_int_equal(method_find(BT_STR("GETS")), METHOD_OTHER);
    assert_true(method_safe(METHOD_HEAD));
    assert_false(method_safe(METHOD_POST));
    assert_false(method_safe(METHOD_OTHER));
    assert_true(method_idempotent(METHOD_PUT));
    assert_true(method_idempotent(METHOD_GET));
    assert_false(method_idempotent(METHOD_POST));
    assert_false(method_idempotent(METHOD_PATCH));
}

static void look_ups(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nAccept: x\r\nX-Own: 1\r\naccept: y\r\n"
                               "x-own: 2\r\nX-Empty:\r\n\r\n";
    struct head_field fields[8];
    struct head head;

    (void)state;
    assert_int_equal(parse_request(&head, text, sizeof text - 1, fields, 8), FAULT_NONE);
    assert_str(head_get(&head, HEADER_ACCEPT), "x");
    assert_str(head_find(&head, BT_STR("ACCEPT"), 0), "x");
    assert_str(head_find(&head, BT_STR("accept"), 1), "y");
    assert_null(head_find(&head, BT_STR("accept"), 2).at);
    assert_str(head_find(&head, BT_STR("X-OWN"), 1), "2");
    assert_null(head_find(&head, BT_STR("X-Ow"), 0).at);
    assert_null(head_get(&head, HEADER_COOKIE).at);
    assert_null(head_get(&head, HEADER_OTHER).at);
    assert_null(head_field_get(&head, HEADER_OTHER));
    assert_true(head_has(&head, HEADER_HOST));
    assert_false(head_has(&head, HEADER_VIA));
    /* Empty is not absent. */
    assert_non_null(head_find(&head, BT_STR("x-empty"), 0).at);
    assert_int_equal(head_find(&head, BT_STR("x-empty"), 0).len, 0);
}

static void lists(void **state)
{
    static const struct {
        const char *text;
        const char *members; /* joined by "|" */
    } rows[] = {
        {"", ""},
        {"a", "a"},
        {"a,b", "a|b"},
        {" a ,\tb ", "a|b"},
        {",,a,,b,,", "a|b"},
        {" , ,", ""},
        {"a;q=\"x,y\",b", "a;q=\"x,y\"|b"},
        {"\"a\\\",b\",c", "\"a\\\",b\"|c"},
        {"\"open, b", "\"open, b"},
        {"\"open\\", "\"open\\"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bt_str rest = str_from(rows[i].text), member;
        char joined[64] = "";

        while (head_list_next(&rest, &member)) {
            if (joined[0] != '\0')
                strcat(joined, "|");
            strncat(joined, member.at, member.len);
        }
        assert_string_equal(joined, rows[i].members);
    }
}

static void tokens(void **state)
{
    bt_str rest = BT_STR(" a\"b , , c\",d\\,"), member;
    static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nTE: gzip, Trailers\r\nTE: x\r\n\r\n";
    struct head_field fields[8];
    struct head head;

    (void)state;
    assert_true(head_token_next(&rest, &member));
    assert_str(member, "a\"b");
    assert_true(head_token_next(&rest, &member));
    assert_str(member, "c\"");
    assert_true(head_token_next(&rest, &member));
    assert_str(member, "d\\");
    assert_false(head_token_next(&rest, &member));
    assert_int_equal(parse_request(&head, text, sizeof text - 1, fields, 8), FAULT_NONE);
    assert_true(head_has_token(&head, HEADER_TE, BT_STR("trailers")));
    assert_true(head_has_token(&head, HEADER_TE, BT_STR("X")));
    assert_false(head_has_token(&head, HEADER_TE, BT_STR("trail")));
    assert_false(head_has_token(&head, HEADER_VIA, BT_STR("x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_found),
        cmocka_unit_test(flags),
        cmocka_unit_test(methods),
        cmocka_unit_test(look_ups),
        cmocka_unit_test(lists),
        cmocka_unit_test(tokens),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
