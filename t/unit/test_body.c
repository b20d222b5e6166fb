/* test_body.c - body framing: each kind, chunks at every split and byte by byte, what is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/body.h"
#include "unit.h"

/* What a feeding came to. */
struct fed {
    enum body_result result; /* DATA never */
    char payload[4096];
    size_t len;
    size_t used; /* bytes of the input */
};

/* Feed up to the end of `part`; false: the body is over, or bad. */
static bool feed(struct body *body, bt_str part, struct fed *fed)
{
    const char *at = part.at, *end = at + part.len;
    bt_str data;

    while ((fed->result = body_next(body, &at, end, &data)) == BODY_DATA) {
        assert_true(data.len > 0);
        assert_true(fed->len + data.len <= sizeof fed->payload);
        memcpy(fed->payload + fed->len, data.at, data.len);
        fed->len += data.len;
    }
    fed->used += (size_t)(at - part.at);
    if (fed->result == BODY_MORE)
        assert_ptr_equal(at, end);
    return fed->result == BODY_MORE;
}

static struct head head_of(int64_t length, bool chunked, int status)
{
    return (struct head){.content_length = length, .chunked = chunked, .status = status};
}

static void start(struct body *body, bool chunked, int64_t length)
{
    struct head head = head_of(length, chunked, 200);

    body_init_response(body, &head, METHOD_GET);
}

/* The input whole, byte by byte, and in two at every place: always the same. */
static void feed_all_ways(bt_str text, bool chunked, int64_t length, struct fed *whole)
{
    struct body body;

    memset(whole, 0, sizeof *whole);
    start(&body, chunked, length);
    (void)feed(&body, text, whole);
    for (size_t split = 0; split <= text.len; split++) {
        struct fed fed = {0};

        start(&body, chunked, length);
        if (feed(&body, str_slice(text, 0, split), &fed))
            (void)feed(&body, str_skip(text, split), &fed);
        assert_int_equal(fed.result, whole->result);
        assert_int_equal(fed.used, whole->used);
        assert_int_equal(fed.len, whole->len);
        assert_memory_equal(fed.payload, whole->payload, fed.len);
        assert_int_equal(body.received, fed.len);
    }
    start(&body, chunked, length);
    for (size_t i = 0; i < text.len; i++) {
        struct fed fed = {0};
        char *alone = malloc(1); /* so that a sanitizer sees a byte too far */

        alone[0] = text.at[i];
        if (!feed(&body, (bt_str){alone, 1}, &fed)) {
            assert_int_equal(fed.result, whole->result);
            assert_true(i + 1 == whole->used || (i == whole->used && fed.used == 0));
            i = text.len;
        }
        free(alone);
    }
    assert_int_equal(body.received, whole->len);
}

/* ---- which body follows ---- */

static void of_requests(void **state)
{
    struct head none = head_of(-1, false, 0), zero = head_of(0, false, 0),
                five = head_of(5, false, 0), chunked = head_of(-1, true, 0);
    struct body body;

    (void)state;
    body_init_request(&body, &none);
    assert_int_equal(body.kind, BODY_NONE);
    body_init_request(&body, &zero);
    assert_int_equal(body.kind, BODY_NONE);
    assert_int_equal(body_left(&body), 0);
    body_init_request(&body, &five);
    assert_int_equal(body.kind, BODY_LENGTH);
    assert_int_equal(body_left(&body), 5);
    body_init_request(&body, &chunked);
    assert_int_equal(body.kind, BODY_CHUNKED);
    assert_int_equal(body_left(&body), -1);
}

static void of_responses(void **state)
{
    static const struct {
        int status;
        enum method method;
        int64_t length;
        bool chunked;
        enum body_kind kind;
    } rows[] = {
        {200, METHOD_GET, -1, false, BODY_CLOSE},     {200, METHOD_GET, 0, false, BODY_NONE},
        {200, METHOD_GET, 5, false, BODY_LENGTH},     {200, METHOD_GET, -1, true, BODY_CHUNKED},
        {200, METHOD_OTHER, -1, false, BODY_CLOSE},   {200, METHOD_HEAD, 5, false, BODY_NONE},
        {200, METHOD_HEAD, -1, true, BODY_NONE},      {200, METHOD_HEAD, -1, false, BODY_NONE},
        {404, METHOD_HEAD, 5, false, BODY_NONE},      {100, METHOD_POST, 5, false, BODY_NONE},
        {101, METHOD_GET, -1, false, BODY_NONE},      {199, METHOD_GET, -1, true, BODY_NONE},
        {204, METHOD_GET, 5, false, BODY_NONE},       {304, METHOD_GET, 5, false, BODY_NONE},
        {304, METHOD_GET, -1, true, BODY_NONE},       {205, METHOD_GET, 0, false, BODY_NONE},
        {200, METHOD_CONNECT, 5, false, BODY_NONE},   {299, METHOD_CONNECT, -1, true, BODY_NONE},
        {300, METHOD_CONNECT, 5, false, BODY_LENGTH}, {407, METHOD_CONNECT, 5, false, BODY_LENGTH},
        {502, METHOD_CONNECT, -1, false, BODY_CLOSE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct head head = head_of(rows[i].length, rows[i].chunked, rows[i].status);
        struct body body;

        body_init_response(&body, &head, rows[i].method);
        if (body.kind != rows[i].kind)
            fail_msg("row %zu: kind %d", i, (int)body.kind);
    }
}

/* ---- length, close, none ---- */

static void by_length(void **state)
{
    struct fed fed;

    (void)state;
    feed_all_ways(BT_STR("hello"), false, 5, &fed);
    assert_int_equal(fed.result, BODY_END);
    assert_str(((bt_str){fed.payload, fed.len}), "hello");
    feed_all_ways(BT_STR("helloGET /"), false, 5, &fed);
    assert_int_equal(fed.result, BODY_END);
    assert_int_equal(fed.used, 5); /* what follows is not ours */
    feed_all_ways(BT_STR("hell"), false, 5, &fed);
    assert_int_equal(fed.result, BODY_MORE);
    feed_all_ways(BT_STR("GET /"), false, 0, &fed);
    assert_int_equal(fed.result, BODY_END);
    assert_int_equal(fed.used, 0);
}

static void ends(void **state)
{
    struct fed fed = {0};
    struct body body;

    (void)state;
    start(&body, false, -1);
    assert_true(feed(&body, BT_STR("until the end"), &fed));
    assert_true(body_eof(&body));
    assert_int_equal(body_left(&body), 0);
    start(&body, false, 5);
    (void)feed(&body, BT_STR("hell"), &fed);
    assert_int_equal(body_left(&body), 1);
    assert_false(body_eof(&body));
    (void)feed(&body, BT_STR("o"), &fed);
    assert_true(body_eof(&body));
    start(&body, false, 0);
    assert_true(body_eof(&body));
    start(&body, true, -1);
    (void)feed(&body, BT_STR("1\r\na\r\n0\r\n\r"), &fed);
    assert_false(body_eof(&body));
    (void)feed(&body, BT_STR("\n"), &fed);
    assert_int_equal(fed.result, BODY_END);
    assert_true(body_eof(&body));
    start(&body, true, -1);
    (void)feed(&body, BT_STR("x"), &fed);
    assert_int_equal(fed.result, BODY_BAD);
    assert_false(body_eof(&body));
    assert_false(feed(&body, BT_STR("0\r\n\r\n"), &fed)); /* bad stays bad */
    assert_int_equal(fed.result, BODY_BAD);
}

/* ---- chunks ---- */

static void chunks(void **state)
{
    static const struct {
        const char *text, *payload;
        size_t surplus;
    } rows[] = {
        {"0\r\n\r\n", "", 0},
        {"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
        {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET", "hello world", 3},
        {"0000a\r\n0123456789\r\n000\r\n\r\n", "0123456789", 0},
        {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789", 0},
        {"1;a\r\nx\r\n0;b=\"c;\\\"d\"\r\n\r\n", "x", 0},
        {"1 \t;a=b ;c\r\nx\r\n0\r\n\r\n", "x", 0},
        {"1 ;a\r\nx\r\n0\r\n\r\n", "x", 0},
        {"1\r\nx\r\n0\r\nA: b\r\nContent-Length: 5\r\n\r\n", "x", 0},
        {"0\r\nX:\r\nY: \t\xff\r\n\r\n\r\n", "", 2},
        {"000000000000001\r\nx\r\n0\r\n\r\n", "x", 0},
    };
    struct fed fed;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        feed_all_ways(str_from(rows[i].text), true, -1, &fed);
        if (fed.result != BODY_END)
            fail_msg("row %zu: %d after %zu bytes", i, (int)fed.result, fed.used);
        assert_int_equal(fed.used, strlen(rows[i].text) - rows[i].surplus);
        assert_str(((bt_str){fed.payload, fed.len}), rows[i].payload);
    }
    feed_all_ways(BT_STR("5\r\n\r\n\0\r\n\r\n0\r\n\r\n"), true, -1, &fed);
    assert_int_equal(fed.result, BODY_END);
    assert_memory_equal(fed.payload, "\r\n\0\r\n", 5);
}

#define ROW(text, used)                                                                            \
    {                                                                                              \
        text, sizeof(text) - 1, used                                                               \
    }

static void chunks_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len, used; /* the byte that is too much is used */
    } rows[] = {
        ROW("\r\n", 1),
        ROW(" 1\r\nx\r\n", 1),
        ROW("+1\r\nx\r\n", 1),
        ROW("-1\r\nx\r\n", 1),
        ROW("0x1\r\nx\r\n", 2),
        ROW("1_0\r\n", 2),
        ROW("1 \r\nx\r\n", 3),
        ROW("1  \r\nx\r\n", 4),
        ROW("1\t\r\nx\r\n", 3),
        ROW("1 x\r\n", 3),
        ROW("1,\r\n", 2),
        ROW(";a\r\n", 1),
        ROW("1\nx\n", 2),
        ROW("1\r\rx", 3),
        ROW("1\rx", 3),
        ROW("1\0\r\n", 2),
        ROW("g\r\n", 1),
        ROW("1000000000000000\r\n", 16),
        ROW("0000000000000001\r\n", 16),
        ROW("ffffffffffffffff\r\n", 16),
        ROW("1;a\nb\r\nx", 4),
        ROW("1;a\r1\r\nx", 5),
        ROW("1;a\0\r\nx", 4),
        ROW("1;a\x7f\r\nx", 4),
        ROW("1;\x0b\r\nx", 3),
        ROW("1\r\nxy", 5),
        ROW("1\r\nx\n", 5),
        ROW("1\r\nx\r0", 6),
        ROW("1\r\nx0\r\n", 5),
        ROW("0\r\n\n", 4),
        ROW("0\r\n\rX", 5),
        ROW("0\r\n X: y\r\n\r\n", 4),
        ROW("0\r\nX : y\r\n\r\n", 5),
        ROW("0\r\n: y\r\n\r\n", 4),
        ROW("0\r\nX\r\n\r\n", 5),
        ROW("0\r\nX: y\n\r\n", 8),
        ROW("0\r\nX: \0\r\n\r\n", 7),
        ROW("0\r\nX: y\rZ\r\n", 9),
        ROW("0\r\nX: y\r\n z\r\n", 10),
        ROW("0\r\nGET / HTTP/1.1\r\n\r\n", 7),
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fed fed;

        feed_all_ways((bt_str){rows[i].text, rows[i].len}, true, -1, &fed);
        if (fed.result != BODY_BAD || fed.used != rows[i].used)
            fail_msg("row %zu «%s»: %d after %zu bytes", i, rows[i].text, (int)fed.result,
                     fed.used);
    }
}

/* Feed `text` so often; the result of the last time. */
static enum body_result feed_often(struct body *body, bt_str text, size_t times)
{
    enum body_result result = BODY_MORE;

    while (times-- > 0 && result == BODY_MORE) {
        const char *at = text.at, *end = at + text.len;
        bt_str data;

        do
            result = body_next(body, &at, end, &data);
        while (result == BODY_DATA);
    }
    return result;
}

static void limits(void **state)
{
    struct body body;

    (void)state;
    /* one byte a chunk: a heartbeat may go on for ever */
    start(&body, true, -1);
    assert_int_equal(feed_often(&body, BT_STR("1\r\nx\r\n"), 100000), BODY_MORE);
    assert_int_equal(body.received, 100000);
    /* extensions that carry nothing may not */
    start(&body, true, -1);
    assert_int_equal(feed_often(&body, BT_STR("1;aaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n"), 100000),
                     BODY_BAD);
    assert_true(body.received > 500 && body.received < 2000);
    /* unless the payload is worth them; and no credit is gathered */
    start(&body, true, -1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(feed_often(&body, BT_STR("400;"), 1), BODY_MORE);
        assert_int_equal(feed_often(&body, BT_STR("a"), 1900), BODY_MORE);
        assert_int_equal(feed_often(&body, BT_STR("\r\n"), 1), BODY_MORE);
        assert_int_equal(feed_often(&body, BT_STR("x"), 1024), BODY_MORE);
        assert_int_equal(feed_often(&body, BT_STR("\r\n"), 1), BODY_MORE);
    }
    assert_int_equal(feed_often(&body, BT_STR("1;aaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n"), 2000),
                     BODY_BAD);
    /* one extension */
    start(&body, true, -1);
    assert_int_equal(feed_often(&body, BT_STR("1;"), 1), BODY_MORE);
    assert_int_equal(feed_often(&body, BT_STR("a"), BODY_EXTENSION_MAX), BODY_MORE);
    assert_int_equal(feed_often(&body, BT_STR("a"), 1), BODY_BAD);
    start(&body, true, -1);
    assert_int_equal(feed_often(&body, BT_STR("1"), 1), BODY_MORE);
    assert_int_equal(feed_often(&body, BT_STR(" "), BODY_EXTENSION_MAX + 1), BODY_MORE);
    assert_int_equal(feed_often(&body, BT_STR(" "), 1), BODY_BAD);
    /* trailers */
    start(&body, true, -1);
    assert_int_equal(feed_often(&body, BT_STR("0\r\n"), 1), BODY_MORE);
    assert_int_equal(feed_often(&body, BT_STR("abcde:\r\n"), BODY_TRAILER_MAX / 8), BODY_MORE);
    assert_int_equal(feed_often(&body, BT_STR("a"), 1), BODY_BAD);
}

static void encoder(void **state)
{
    static const size_t sizes[] = {1,    9,     15,    16,      255,       256,        4095,
                                   4096, 65535, 65536, 1 << 20, 0xfffffff, 0x10000000, (size_t)-1};
    char out[BODY_CHUNK_HEAD_MAX], want[32];

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t len = body_chunk_head(out, sizes[i]);

        snprintf(want, sizeof want, "%zx\r\n", sizes[i]);
        assert_true(len <= sizeof out);
        assert_str(((bt_str){out, len}), want);
    }
}

static void encoded_is_decoded(void **state)
{
    static const char payload[] = "some\r\n0\r\n\r\npayload with \0 in it";
    char text[256], *at;

    (void)state;
    for (size_t piece = 1; piece <= sizeof payload; piece++) {
        struct fed fed;

        at = text;
        for (size_t done = 0; done < sizeof payload; done += piece) {
            size_t n = sizeof payload - done < piece ? sizeof payload - done : piece;

            at += body_chunk_head(at, n);
            memcpy(at, payload + done, n);
            memcpy(at + n, BODY_CHUNK_END.at, BODY_CHUNK_END.len);
            at += n + BODY_CHUNK_END.len;
        }
        memcpy(at, BODY_LAST_CHUNK.at, BODY_LAST_CHUNK.len);
        at += BODY_LAST_CHUNK.len;
        feed_all_ways(str_span(text, at), true, -1, &fed);
        assert_int_equal(fed.result, BODY_END);
        assert_int_equal(fed.len, sizeof payload);
        assert_memory_equal(fed.payload, payload, sizeof payload);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_requests),
        cmocka_unit_test(of_responses),
        cmocka_unit_test(by_length),
        cmocka_unit_test(ends),
        cmocka_unit_test(chunks),
        cmocka_unit_test(chunks_refused),
        cmocka_unit_test(limits),
        cmocka_unit_test(encoder),
        cmocka_unit_test(encoded_is_decoded),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
