/* test_write.c - heads to bytes, and never a byte too many.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/write.h"

#include "http/parse.h"
#include "unit.h"

static char out[512];

static void whole_request(void **state)
{
    static const char text[] = "GET http://a/x HTTP/1.0\r\nHost:a\r\naCCept:  x \r\nX-Empty:\r\n"
                               "Cookie: 1\r\n\r\n";
    struct head_field fields[8];
    struct writer w = writer_on(out, sizeof out);
    struct head head;

    (void)state;
    assert_int_equal(parse_request(&head, text, sizeof text - 1, fields, 8), FAULT_NONE);
    fields[3].drop = true;
    writer_request_line(&w, head.method, BT_STR("/x"));
    writer_fields(&w, &head);
    writer_field(&w, BT_STR("Via"), BT_STR("1.0 us"));
    writer_framing(&w, BODY_LENGTH, 17);
    writer_end(&w);
    assert_false(w.over);
    assert_str(str_span(out, w.at),
               "GET /x HTTP/1.1\r\nHost: a\r\naCCept: x\r\nX-Empty: \r\nVia: 1.0 us\r\n"
               "Content-Length: 17\r\n\r\n");
}

static bt_str status_line(int status, bt_str reason)
{
    struct writer w = writer_on(out, sizeof out);

    writer_status_line(&w, status, reason);
    return str_span(out, w.at);
}

static void status_lines(void **state)
{
    (void)state;
    assert_str(status_line(200, BT_STR("Fine")), "HTTP/1.1 200 Fine\r\n");
    assert_str(status_line(404, BT_STR_NONE), "HTTP/1.1 404 Not Found\r\n");
    assert_str(status_line(404, BT_STR("")), "HTTP/1.1 404 \r\n");
    assert_str(status_line(299, BT_STR_NONE), "HTTP/1.1 299 \r\n");
}

static bt_str framing(enum body_kind kind, int64_t length)
{
    struct writer w = writer_on(out, sizeof out);

    writer_framing(&w, kind, length);
    return str_span(out, w.at);
}

static void framings(void **state)
{
    (void)state;
    assert_str(framing(BODY_CHUNKED, -1), "Transfer-Encoding: chunked\r\n");
    assert_str(framing(BODY_CHUNKED, 5), "Transfer-Encoding: chunked\r\n"); /* never both */
    assert_str(framing(BODY_LENGTH, 5), "Content-Length: 5\r\n");
    assert_str(framing(BODY_NONE, 0), "Content-Length: 0\r\n");
    assert_str(framing(BODY_NONE, 5), "Content-Length: 5\r\n"); /* HEAD, 304 */
    assert_str(framing(BODY_NONE, -1), "");
    assert_str(framing(BODY_CLOSE, -1), "");
    assert_str(framing(BODY_CLOSE, 5), "");
    assert_str(framing(BODY_LENGTH, INT64_MAX), "Content-Length: 9223372036854775807\r\n");
}

static void numbers(void **state)
{
    struct writer w = writer_on(out, sizeof out);

    (void)state;
    writer_uint(&w, 0);
    writer_char(&w, ' ');
    writer_uint(&w, UINT64_MAX);
    writer_char(&w, ' ');
    writer_str(&w, BT_STR_NONE);
    writer_field_uint(&w, BT_STR("Age"), 60);
    assert_str(str_span(out, w.at), "0 18446744073709551615 Age: 60\r\n");
}

/* Into blocks of every size: what fits is written, what does not sets `over` for good. */
static void every_room(void **state)
{
    static const char want[] = "PUT /a HTTP/1.1\r\nX: yz\r\nAge: 7\r\nContent-Length: 9\r\n12!\r\n";

    (void)state;
    for (size_t room = 0; room < sizeof want + 2; room++) {
        char *block = malloc(room + 1);
        struct writer w = writer_on(block + 1, room);

        writer_request_line(&w, BT_STR("PUT"), BT_STR("/a"));
        writer_field(&w, BT_STR("X"), BT_STR("yz"));
        writer_field_uint(&w, BT_STR("Age"), 7);
        writer_framing(&w, BODY_LENGTH, 9);
        writer_uint(&w, 12);
        writer_char(&w, '!');
        writer_end(&w);
        assert_int_equal(w.over, room < sizeof want - 1);
        assert_true((size_t)(w.at - block - 1) <= room);
        if (!w.over)
            assert_str(str_span(block + 1, w.at), want);
        free(block);
    }
}

/* One line alone: just enough room, and one byte less. */
static void just_enough(void **state)
{
    (void)state;
    for (size_t less = 0; less < 2; less++) {
        struct writer w = writer_on(out, 8 - less);

        writer_field(&w, BT_STR("Ab"), BT_STR("cd"));
        assert_int_equal(w.over, less != 0);
        assert_int_equal(w.at - out, less != 0 ? 0 : 8);
        w = writer_on(out, 17 - less);
        writer_request_line(&w, BT_STR("GET"), BT_STR("/a"));
        assert_int_equal(w.over, less != 0);
        w = writer_on(out, 2 - less);
        writer_uint(&w, 12);
        assert_int_equal(w.over, less != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_request), cmocka_unit_test(status_lines),
        cmocka_unit_test(framings),      cmocka_unit_test(numbers),
        cmocka_unit_test(every_room),    cmocka_unit_test(just_enough),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
