/* test_reply.c - what helpers answer: words, pairs, quotes, escapes, the old forms, channels.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "base/arena.h"
#include "net/reply.h"

static struct reply r;
static char buf[8192];

static void parse(const char *line)
{
    size_t len = strlen(line);

    assert_true(len < sizeof buf);
    memcpy(buf, line, len + 1);
    reply_parse(&r, buf, len);
}

#define is_value(key, literal) assert_str(bt_helper_value(&r.said, key), literal)
#define is_result(what) assert_int_equal(r.said.result, BT_HELPER_##what)

static void words(void **state)
{
    (void)state;
    parse("OK");
    is_result(OK);
    parse("ERR\r");
    is_result(ERR);
    parse("");
    is_result(ERR);
    parse("  \t ");
    is_result(ERR);
    parse("BH");
    is_result(BH);
    parse("OKAY");
    is_result(TEXT);
    assert_str(r.said.text, "OKAY");
    parse("ok");
    is_result(TEXT);
    parse("http://a/ 1.2.3.4/- joe GET");
    is_result(TEXT);
    assert_str(r.said.text, "http://a/ 1.2.3.4/- joe GET");
}

static void pairs(void **state)
{
    (void)state;
    parse("OK user=joe message=\"say \\\"hi\\\" \\\\ \\r\\n\" tag=a%20b%zz% level_=7 and more=x");
    is_result(OK);
    assert_int_equal(r.said.n, 4);
    is_value("user", "joe");
    is_value("message", "say \"hi\" \\ \r\n");
    is_value("tag", "a b%zz%");
    is_value("level_", "7");
    assert_str(r.said.text, "and more=x");
    assert_null(bt_helper_value(&r.said, "more").at);
}

static void odd_pairs(void **state)
{
    (void)state;
    parse("OK a= b=\"\" c=\"never closed d=1");
    is_value("a", "");
    is_value("b", "");
    is_value("c", "never closed d=1");
    parse("OK a=1 a=2");
    is_value("a", "1");
    assert_int_equal(r.said.n, 2);
    parse("OK =x");
    assert_int_equal(r.said.n, 0);
    assert_str(r.said.text, "=x");
    parse("OK a =x");
    assert_str(r.said.text, "a =x");
    parse("OK c=\"\\");
    is_value("c", "\\");
}

static void too_many_pairs(void **state)
{
    (void)state;
    strcpy(buf, "OK");
    for (int i = 0; i < 200; i++)
        strcat(buf, " k=v");
    reply_parse(&r, buf, strlen(buf));
    assert_int_equal(r.said.n, REPLY_PAIRS);
    assert_true(r.said.text.len > 0);
}

static void messages(void **state)
{
    (void)state;
    parse("BH the database is down");
    is_value("message", "the database is down");
    parse("NA wrong password");
    is_result(ERR);
    is_value("message", "wrong password");
    parse("BH message=\"x\" y");
    is_value("message", "x");
    parse("ERR no");
    assert_null(bt_helper_value(&r.said, "message").at);
}

static void tokens(void **state)
{
    (void)state;
    parse("TT YII=");
    is_result(TT);
    is_value("token", "YII=");
    parse("TT token=YII= x_=1");
    is_value("token", "YII=");
    is_value("x_", "1");
    parse("AF YII= DOMAIN\\joe");
    is_result(OK);
    is_value("token", "YII=");
    is_value("user", "DOMAIN\\joe");
    parse("AF joe");
    is_value("user", "joe");
    assert_null(bt_helper_value(&r.said, "token").at);
    parse("AF token=a user=b");
    is_value("user", "b");
    parse("TT");
    is_result(TT);
    assert_int_equal(r.said.n, 0);
}

static bool channel(const char *text, uint64_t *number, const char **rest)
{
    size_t len = strlen(text);
    char *at = buf;

    strcpy(buf, text);
    bool found = reply_channel(&at, &len, number);
    *rest = at;
    return found && strlen(at) == len;
}

static void channels(void **state)
{
    uint64_t n;
    const char *rest;

    (void)state;
    assert_true(channel("12 OK", &n, &rest));
    assert_int_equal(n, 12);
    assert_string_equal(rest, "OK");
    assert_true(channel("0", &n, &rest));
    assert_string_equal(rest, "");
    assert_false(channel("OK", &n, &rest));
    assert_false(channel("", &n, &rest));
    assert_false(channel("-1 OK", &n, &rest));
    assert_false(channel("1OK", &n, &rest));
    assert_false(channel("99999999999 OK", &n, &rest));
    assert_false(channel("9999999999 OK", &n, &rest));
}

static void questions(void **state)
{
    struct bt_arena *arena = arena_new(256);

    (void)state;
    assert_str(bt_helper_word(arena, BT_STR("a b\tc\"%"), true), "a%20b%09c%22%25");
    assert_str(bt_helper_word(arena, BT_STR("/a%20b?x=<\xc3\xa9>"), false),
               "/a%20b?x=%3C%C3%A9%3E");
    assert_str(bt_helper_word(arena, BT_STR(""), true), "-");
    assert_str(bt_helper_word(arena, BT_STR_NONE, true), "-");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),          cmocka_unit_test(pairs),     cmocka_unit_test(odd_pairs),
        cmocka_unit_test(too_many_pairs), cmocka_unit_test(messages),  cmocka_unit_test(tokens),
        cmocka_unit_test(channels),       cmocka_unit_test(questions),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
