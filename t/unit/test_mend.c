/* test_mend.c - careless heads made strict: what is mended, and above all what is not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/mend.h"

#include "unit.h"

static char out[4096];
static bool last;

static bt_str mended(struct mend mend, const char *text)
{
    size_t len = strlen(text);

    assert_true(MEND_ROOM(len) <= sizeof out);
    return (bt_str){out, mend_request(&mend, text, len, out, &last)};
}

static const struct mend strict = {false, MEND_DENY}, relaxed = {true, MEND_DENY},
                         strip = {false, MEND_STRIP}, encode = {false, MEND_ENCODE},
                         allow = {false, MEND_ALLOW}, chop = {false, MEND_CHOP};
#define REST "Host: a\r\n\r\n"
#define FINE "GET http://a/b HTTP/1.1\r\n" REST

static void request_line(void **state)
{
    static const char *const lines[] = {
        "GET  http://a/b HTTP/1.1\r\n" REST, "GET\thttp://a/b HTTP/1.1\r\n" REST,
        "GET http://a/b \t HTTP/1.1\r\n" REST, "GET http://a/b HTTP/1.1 \t\r\n" REST};

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_str(mended(relaxed, lines[i]), FINE);
        assert_false(last);
        assert_str(mended(strict, lines[i]), "");
        assert_str(mended(strip, lines[i]), "");
    }
}

static void target(void **state)
{
    static const char *const text = "GET http://a/b c\td HTTP/1.0\r\n" REST;

    (void)state;
    assert_str(mended(strip, text), "GET http://a/bcd HTTP/1.0\r\n" REST);
    assert_str(mended(encode, text), "GET http://a/b%20c%09d HTTP/1.0\r\n" REST);
    assert_str(mended(allow, text), "GET http://a/b%20c%09d HTTP/1.0\r\n" REST);
    assert_str(mended(chop, text), "GET http://a/b HTTP/1.0\r\n" REST);
    assert_str(mended(strict, text), "");
    assert_str(mended(relaxed, text), "");
    assert_str(mended(strip, "GET /b c HTTP/1.1\r\n" REST), "GET /bc HTTP/1.1\r\n" REST);
    assert_str(mended((struct mend){true, MEND_STRIP}, "GET  http://a/b c  HTTP/1.1\r\n" REST),
               "GET http://a/bc HTTP/1.1\r\n" REST);
}

static void target_never(void **state)
{
    static const char *const texts[] = {
        "GET http://a b/ HTTP/1.1\r\n" REST,
        "GET http://a /b HTTP/1.1\r\n" REST,
        "GET ht tp://a/b HTTP/1.1\r\n" REST,
        "GET http:/ /a/b HTTP/1.1\r\n" REST,
        "GET http://a/b HTTP/1.1 HTTP/1.1\r\n" REST,
        "GET http://a/b HTTP/1.1 c HTTP/1.1\r\n" REST,
        "GET http://a/b http/1.1 HTTP/1.1\r\n" REST,
        "GET http://a/b c HTTP/1.2\r\n" REST,
        "GET http://a/b c HTTP/2.0\r\n" REST,
        "GET http://a/b c http/1.1\r\n" REST,
        "GET http://a/b c\r\n" REST,
        "CONNECT a:1 2 HTTP/1.1\r\n" REST,
        " GET http://a/b c HTTP/1.1\r\n" REST,
        "GET  HTTP/1.1\r\n" REST,
        "GET\r\n" REST,
        "\r\n" REST,
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_str(mended(strip, texts[i]), "");
}

static void bare(void **state)
{
    (void)state;
    assert_str(mended(relaxed, "GET http://a/b HTTP/1.1\nHost: a\n\n"), FINE);
    assert_true(last);
    assert_str(mended(relaxed, "GET http://a/b HTTP/1.1\n\n"), "GET http://a/b HTTP/1.1\r\n\r\n");
    assert_str(mended(strip, "GET http://a/b HTTP/1.1\nHost: a\n\n"), "");
    assert_str(mended(relaxed, "GET http://a/b HTTP/1.1\nHost: a\r\n\r\n"), "");
    assert_str(mended(relaxed, "GET http://a/b HTTP/1.1\nContent-Length: 1\n\n"), "");
    assert_str(mended(relaxed, "GET http://a/b HTTP/1.1\ncontent-length : 1\n\n"), "");
    assert_str(mended(relaxed, "GET http://a/b HTTP/1.1\nTRANSFER-ENCODING: chunked\n\n"), "");
    /* Only the first line is looked at otherwise: the parser refuses what is wrong below it. */
    assert_str(mended(relaxed, "GET  http://a/b HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"),
               "GET http://a/b HTTP/1.1\r\nHost: a\nX: y\r\n\r\n");
}

static void waiting(void **state)
{
    (void)state;
    assert_true(mend_may_help(&relaxed, FAULT_LINE_END));
    assert_true(mend_may_help(&relaxed, FAULT_BINARY));
    assert_true(mend_may_help(&strip, FAULT_BINARY));
    assert_false(mend_may_help(&strip, FAULT_LINE_END));
    assert_false(mend_may_help(&strict, FAULT_BINARY));
    assert_false(mend_may_help(&relaxed, FAULT_NUL));
    assert_false(mend_may_help(&relaxed, FAULT_TLS));
    assert_false(mend_may_help(&relaxed, FAULT_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(request_line), cmocka_unit_test(target),
                                       cmocka_unit_test(target_never), cmocka_unit_test(bare),
                                       cmocka_unit_test(waiting)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
