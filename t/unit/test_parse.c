/* test_parse.c - heads: what is accepted and means what, and one row for each way to be refused.
 *
 * Every text is parsed from a block of its own size, so that a sanitizer sees a byte too far, and is
 * fed to head_end() in every split.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/parse.h"
#include "unit.h"

enum { FIELDS = 8 };

/* A head in memory of its own, and what became of it. */
struct parsed {
    char *buf;
    size_t len;
    enum head_fault fault;
    struct head head;
    struct head_field fields[FIELDS];
};

static void parsed_make(struct parsed *p, const char *text, size_t len, bool response)
{
    p->buf = malloc(len + 1);
    p->len = len;
    memcpy(p->buf + 1, text, len); /* so that the byte before it is ours too */
    memset(p->fields, 0xa5, sizeof p->fields);
    p->fault = response ? parse_response(&p->head, p->buf + 1, len, p->fields, FIELDS)
                        : parse_request(&p->head, p->buf + 1, len, p->fields, FIELDS);
}

static void parsed_free(struct parsed *p)
{
    free(p->buf);
}

#define REQUEST(p, text) parsed_make(p, text, sizeof(text) - 1, false)
#define RESPONSE(p, text) parsed_make(p, text, sizeof(text) - 1, true)

struct row {
    enum head_fault fault;
    const char *text;
    size_t len;
};
#define ROW(fault, text)                                                                           \
    {                                                                                              \
        FAULT_##fault, text, sizeof(text) - 1                                                      \
    }

static void check_rows(const struct row *row, size_t n, bool response)
{
    for (size_t i = 0; i < n; i++) {
        struct parsed p;

        parsed_make(&p, row[i].text, row[i].len, response);
        if (p.fault != row[i].fault)
            fail_msg("row %zu «%s»: %s instead of %s", i, row[i].text, head_fault_name(p.fault),
                     head_fault_name(row[i].fault));
        parsed_free(&p);
    }
}
#define CHECK_ROWS(rows, response) check_rows(rows, sizeof(rows) / sizeof *(rows), response)

/* ---- requests ---- */

#define EIGHT(x) x "," x "," x "," x "," x "," x "," x "," x

static void ordinary(void **state)
{
    struct parsed p;

    (void)state;
    REQUEST(&p, "GET http://a.example/x?y HTTP/1.1\r\nHost: a.example\r\nAccept:*/*\r\n"
                "User-Agent: \t curl/7 (x) \t\r\nX-Own:\r\n\r\n");
    assert_int_equal(p.fault, FAULT_NONE);
    assert_int_equal(p.head.method_id, METHOD_GET);
    assert_str(p.head.method, "GET");
    assert_str(p.head.target, "http://a.example/x?y");
    assert_int_equal(p.head.minor, 1);
    assert_int_equal(p.head.n, 4);
    assert_int_equal(p.head.bytes, p.len);
    assert_int_equal(p.head.field[0].id, HEADER_HOST);
    assert_str(p.head.host, "a.example");
    assert_str(p.head.field[1].name, "Accept");
    assert_str(p.head.field[1].value, "*/*");
    assert_str(p.head.field[2].value, "curl/7 (x)");
    assert_int_equal(p.head.field[3].id, HEADER_OTHER);
    assert_str(p.head.field[3].value, "");
    assert_false(p.head.field[3].drop);
    assert_int_equal(p.head.content_length, -1);
    assert_false(p.head.chunked);
    assert_true(p.head.keep_alive);
    assert_false(p.head.expect_continue);
    assert_false(p.head.upgrade);
    assert_int_equal(p.head.status, 0);
    parsed_free(&p);
}

static void accepted(void **state)
{
    static const struct row rows[] = {
        ROW(NONE, "GET / HTTP/1.0\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nhOST:a\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.7\r\nHost: a\r\n\r\n"),
        ROW(NONE, "!#$%&'*+-.^_`|~aZ9 / HTTP/1.1\r\nHost: a\r\n\r\n"),
        ROW(NONE, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF !/~ HTTP/1.1\r\nHost: a\r\n\r\n"),
        ROW(NONE, "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\nX: \xff\x80 \t.\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nHost: a\r\nConnection: " EIGHT(EIGHT("x")) "\r\n\r\n"),
        ROW(NONE,
            "GET / HTTP/1.0\r\nConnection: " EIGHT(
                "a,b,c,d,e,f,g") "\r\n"
                                 "Connection: a,b,c,d,e,f,g\r\nConnection: keep-alive\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nHost: a:\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nHost: A_b.Example.\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n"),
        ROW(NONE, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nContent-Length: 0\r\n\r\n"),
        ROW(NONE, "GET / HTTP/1.0\r\n1:1\r\n2:\r\n3:\r\n4:\r\n5:\r\n6:\r\n7:\r\n8:\r\n\r\n"),
    };

    (void)state;
    CHECK_ROWS(rows, false);
}

#define HOST "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST

static const struct row bad_requests[] = {
    /* the first line */
    ROW(LINE, "\r\n"),
    ROW(LINE, "\r\n\r\n"),
    ROW(LINE, " GET / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE, "GET  / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE, "GET /  HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE, "GET /a b HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE, "GET\t/ HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE, "GET / HTTP/1.1 \r\n" HOST "\r\n"),
    ROW(LINE, "GET / HTTP/1.1x\r\n" HOST "\r\n"),
    ROW(LINE, "GET / HTTP/1.10\r\n" HOST "\r\n"),
    ROW(LINE, "GET / HTTP/11\r\n" HOST "\r\n"),
    ROW(LINE, "GET / http/1.1\r\n" HOST "\r\n"),
    ROW(LINE, "GET / HTTP/1\r\n" HOST "\r\n"),
    ROW(LINE, "GET / HTTP/1,1\r\n" HOST "\r\n"),
    ROW(LINE, "GET / HTTP/x.1\r\n" HOST "\r\n"),
    ROW(LINE, "GET \r\n\r\n"),
    ROW(LINE, "GET\r\n\r\n"),
    ROW(LINE, "GET / \r\n" HOST "\r\n"),
    ROW(LINE, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF\r\n\r\n"),
    ROW(METHOD, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG\r\n\r\n"),
    ROW(LINE, "G(T / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE, "G\xc3T / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(TARGET_BYTE, "GET /\t HTTP/1.1\r\n" HOST "\r\n"),
    ROW(TARGET_BYTE, "GET /\x7f HTTP/1.1\r\n" HOST "\r\n"),
    ROW(TARGET_BYTE, "GET /\x0b HTTP/1.1\r\n" HOST "\r\n"),
    ROW(NO_VERSION, "GET /\r\n\r\n"),
    ROW(NO_VERSION, "GET http://a/\r\n" HOST "\r\n"),
    ROW(VERSION, "GET / HTTP/0.9\r\n" HOST "\r\n"),
    ROW(VERSION, "GET / HTTP/2.0\r\n" HOST "\r\n"),
    ROW(VERSION, "PRI * HTTP/2.0\r\n\r\n"),
    ROW(METHOD, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(NUL, "GET /\0 HTTP/1.1\r\n" HOST "\r\n"),
    ROW(NUL, "GE\0T / HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE_END, "GET / HTTP/1.1\n" HOST "\r\n"),
    ROW(LINE_END, "GET / HTTP/1.1\r" HOST "\r\n"),
    ROW(LINE_END, "GET /\r HTTP/1.1\r\n" HOST "\r\n"),
    ROW(LINE_END, "GET /\n"),
    /* line ends of fields */
    ROW(LINE_END, "GET / HTTP/1.1\r\nHost: a\n\r\n"),
    ROW(LINE_END, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
    ROW(LINE_END, "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
    ROW(LINE_END, "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"),
    ROW(LINE_END, "GET / HTTP/1.1\r\nX\r: b\r\n" HOST "\r\n"),
    ROW(LINE_END, "GET / HTTP/1.1\r\nX\n: b\r\n" HOST "\r\n"),
    ROW(LINE_END, GET "\rX: y\r\n\r\n"),
    ROW(LINE_END, GET "\r\nX: y\r\n\r\n"), /* more than one head was given */
    ROW(LINE_END, GET),                    /* less */
    ROW(LINE_END, GET "X: y"),
    ROW(LINE_END, GET "X: y\r"),
    ROW(LINE_END, GET "X"),
    ROW(LINE_END, GET "\r"),
    ROW(NUL, GET "X: a\0b\r\n\r\n"),
    ROW(NUL, GET "X\0: ab\r\n\r\n"),
    ROW(NUL, GET "X: ab\r\n\0\r\n\r\n"),
    /* folds */
    ROW(FOLD, GET "X: a\r\n b\r\n\r\n"),
    ROW(FOLD, GET "X: a\r\n\tb\r\n\r\n"),
    ROW(FOLD, GET "Transfer-Encoding:\r\n chunked\r\n\r\n"),
    ROW(FOLD, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
    /* names */
    ROW(BLANK, GET "X : b\r\n\r\n"),
    ROW(BLANK, GET "Content-Length : 5\r\n\r\n"),
    ROW(BLANK, GET "Transfer-Encoding\t: chunked\r\n\r\n"),
    ROW(NAME, GET ": b\r\n\r\n"),
    ROW(NAME, GET "X Y: b\r\n\r\n"),
    ROW(NAME, GET "X(: b\r\n\r\n"),
    ROW(NAME, GET "\"X\": b\r\n\r\n"),
    ROW(NAME, GET "Content-Length\x0b: 5\r\n\r\n"),
    ROW(NAME, GET "\x0b"
                  "Content-Length: 5\r\n\r\n"),
    ROW(NAME, GET "X\xc4: b\r\n\r\n"),
    ROW(NAME, GET "X/Y: b\r\n\r\n"),
    ROW(COLON, GET "nothing\r\n\r\n"),
    ROW(COLON, GET "Content-Length\r\n5: x\r\n\r\n"),
    /* values */
    ROW(VALUE, GET "X: a\x01\r\n\r\n"),
    ROW(VALUE, GET "X: a\x7f"
                   "b\r\n\r\n"),
    ROW(VALUE, GET "Transfer-Encoding: \x0b"
                   "chunked\r\n\r\n"),
    ROW(VALUE, GET "Transfer-Encoding: chunked\x0c\r\n\r\n"),
    ROW(VALUE, GET "X: \x1b[31m\r\n\r\n"),
    /* how many */
    ROW(MANY, GET "1:\r\n2:\r\n3:\r\n4:\r\n5:\r\n6:\r\n7:\r\n8:\r\n\r\n"),
    /* Host */
    ROW(HOST_MISSING, "GET / HTTP/1.1\r\n\r\n"),
    ROW(HOST_MISSING, "GET http://a/ HTTP/1.1\r\nX: y\r\n\r\n"),
    ROW(HOST_TWICE, GET "Host: a\r\n\r\n"),
    ROW(HOST_TWICE, "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
    ROW(HOST_TWICE, "GET / HTTP/1.1\r\nHost:\r\nhost: b\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: a%20\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: a:0\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: [fe80::1%eth0]\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"),
    ROW(HOST_BAD, "GET / HTTP/1.1\r\nHost: http://a\r\n\r\n"),
    /* Connection */
    ROW(CONNECTION, GET "Connection: " EIGHT(EIGHT("x")) ",y\r\n\r\n"),
    ROW(CONNECTION, GET "Connection: " EIGHT(EIGHT("x")) "\r\nConnection: keep-alive\r\n\r\n"),
    ROW(CONNECTION, GET "Connection: " EIGHT(EIGHT("x")) "\r\nProxy-Connection: y\r\n\r\n"),
};

static void refused(void **state)
{
    (void)state;
    CHECK_ROWS(bad_requests, false);
}

#define POST(fields) "POST / HTTP/1.1\r\n" HOST fields "\r\n"
#define LENGTH(value) "Content-Length: " value "\r\n"
#define CODING(value) "Transfer-Encoding: " value "\r\n"

static void framing_refused(void **state)
{
    static const struct row rows[] = {
        ROW(LENGTH, POST(LENGTH(""))),
        ROW(LENGTH, POST(LENGTH("+5"))),
        ROW(LENGTH, POST(LENGTH("-0"))),
        ROW(LENGTH, POST(LENGTH("-1"))),
        ROW(LENGTH, POST(LENGTH("0x5"))),
        ROW(LENGTH, POST(LENGTH("5_0"))),
        ROW(LENGTH, POST(LENGTH("5 0"))),
        ROW(LENGTH, POST(LENGTH("5.0"))),
        ROW(LENGTH, POST(LENGTH("1e3"))),
        ROW(LENGTH, POST(LENGTH("5;"))),
        ROW(LENGTH, POST(LENGTH("\"5\""))),
        ROW(LENGTH, POST(LENGTH("5,"))),
        ROW(LENGTH, POST(LENGTH(",5"))),
        ROW(LENGTH, POST(LENGTH("5,,5"))),
        ROW(LENGTH, POST(LENGTH("5, x"))),
        ROW(LENGTH, POST(LENGTH("1234567890123456789"))),
        ROW(LENGTH, POST(LENGTH("18446744073709551621"))),
        ROW(LENGTH, POST(LENGTH("0000000000000000005"))),
        ROW(LENGTH, POST(LENGTH("\xb2"))),
        ROW(LENGTH, POST(LENGTH("5") LENGTH("five"))),
        ROW(LENGTHS, POST(LENGTH("5, 6"))),
        ROW(LENGTHS, POST(LENGTH("5") LENGTH("6"))),
        ROW(LENGTHS, POST(LENGTH("0") "X: y\r\ncontent-length: 44\r\n")),
        ROW(BOTH, POST(LENGTH("5") CODING("chunked"))),
        ROW(BOTH, POST(CODING("chunked") LENGTH("0"))),
        ROW(CODING, POST(CODING(""))),
        ROW(CODING, POST(CODING("identity"))),
        ROW(CODING, POST(CODING("xchunked"))),
        ROW(CODING, POST(CODING("chunkedx"))),
        ROW(CODING, POST(CODING("\"chunked\""))),
        ROW(CODING, POST(CODING("chunked;q=1"))),
        ROW(CODING, POST(CODING("chunked, gzip"))),
        ROW(CODING, POST(CODING("chunked, chunked"))),
        ROW(CODING, POST(CODING("chunked,"))),
        ROW(CODING, POST(CODING(", chunked"))),
        ROW(CODING, POST(CODING("chun ked"))),
        ROW(CODING, POST(CODING("cow, chunked"))),
        ROW(CODING, POST(CODING("identity, chunked"))),
        ROW(CODING, POST(CODING("gzip"))),
        ROW(CODING, POST(CODING("chunked") CODING("chunked"))),
        ROW(CODING, POST(CODING("chunked") CODING("identity"))),
        ROW(CODING_UNKNOWN, POST(CODING("gzip, chunked"))),
        ROW(CODING_UNKNOWN, POST(CODING("compress, x-compress, chunked"))),
        ROW(CODING_UNKNOWN, POST(CODING("deflate,x-gzip , CHUNKED"))),
        ROW(CODING_OLD, "POST / HTTP/1.0\r\n" CODING("chunked") "\r\n"),
        ROW(CONNECT_BODY, "CONNECT a:1 HTTP/1.1\r\n" HOST LENGTH("5") "\r\n"),
        ROW(CONNECT_BODY, "CONNECT a:1 HTTP/1.1\r\n" HOST CODING("chunked") "\r\n"),
    };

    (void)state;
    CHECK_ROWS(rows, false);
    for (unsigned fault = 1; fault < FAULT_COUNT; fault++) {
        int status = head_fault_status((enum head_fault)fault);

        assert_true(status == 400 || status == 414 || status == 431 || status == 501 ||
                    status == 505);
        assert_true(strlen(head_fault_text((enum head_fault)fault)) > 10);
    }
    assert_int_equal(head_fault_status(FAULT_CODING_UNKNOWN), 501);
    assert_int_equal(head_fault_status(FAULT_VERSION), 505);
    assert_int_equal(head_fault_status(FAULT_MANY), 431);
    assert_int_equal(head_fault_status(FAULT_TARGET_LONG), 414);
}

static void framing(void **state)
{
    static const struct {
        const char *text;
        int64_t length;
        bool chunked;
    } rows[] = {
        {POST(""), -1, false},
        {POST(LENGTH("0")), 0, false},
        {POST(LENGTH("  5\t")), 5, false},
        {POST(LENGTH("005")), 5, false},
        {POST(LENGTH("5, 5")), 5, false},
        {POST(LENGTH("5\t,5,5")), 5, false},
        {POST(LENGTH("5") LENGTH("5")), 5, false},
        {POST(LENGTH("999999999999999999")), 999999999999999999, false},
        {POST(CODING("chunked")), -1, true},
        {POST(CODING("\tChunKED ")), -1, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed p;

        parsed_make(&p, rows[i].text, strlen(rows[i].text), false);
        assert_int_equal(p.fault, FAULT_NONE);
        assert_int_equal(p.head.content_length, rows[i].length);
        assert_int_equal(p.head.chunked, rows[i].chunked);
        assert_int_equal(p.head.has_transfer_encoding, rows[i].chunked);
        parsed_free(&p);
    }
}

static void long_targets(void **state)
{
    char text[HEAD_TARGET_MAX + 64];

    (void)state;
    for (int more = 0; more < 2; more++) {
        struct parsed p;
        size_t n = (size_t)(HEAD_TARGET_MAX + more);

        memcpy(text, "GET ", 4);
        memset(text + 4, 'a', n);
        memcpy(text + 4 + n, " HTTP/1.0\r\n\r\n", 13);
        parsed_make(&p, text, n + 17, false);
        assert_int_equal(p.fault, more == 0 ? FAULT_NONE : FAULT_TARGET_LONG);
        parsed_free(&p);
    }
}

static void keep_alive(void **state)
{
    static const struct {
        const char *text;
        bool request, response; /* what it means in either */
    } rows[] = {
        {"1.1\r\n", true, true},
        {"1.0\r\n", false, false},
        {"1.1\r\nConnection: close\r\n", false, false},
        {"1.1\r\nConnection: Close\r\n", false, false},
        {"1.1\r\nConnection: x, close\r\n", false, false},
        {"1.1\r\nConnection: x\r\nConnection: close\r\n", false, false},
        {"1.1\r\nConnection: closed\r\n", true, true},
        {"1.1\r\nConnection: keep-alive, close\r\n", false, false},
        {"1.0\r\nConnection: keep-alive\r\n", true, true},
        {"1.0\r\nConnection: Keep-Alive, x\r\n", true, true},
        {"1.0\r\nConnection: keep-alive, close\r\n", false, false},
        {"1.0\r\nProxy-Connection: keep-alive\r\n", true, false},
        {"1.1\r\nProxy-Connection: close\r\n", false, true},
        {"1.0\r\nKeep-Alive: timeout=5\r\n", false, false},
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct parsed p;
        int n = snprintf(text, sizeof text, "GET / HTTP/%sHost: a\r\n\r\n", rows[i].text);

        parsed_make(&p, text, (size_t)n, false);
        assert_int_equal(p.fault, FAULT_NONE);
        assert_int_equal(p.head.keep_alive, rows[i].request);
        parsed_free(&p);
        n = snprintf(text, sizeof text, "HTTP/%.3s 200\r\n%s\r\n", rows[i].text, rows[i].text + 5);
        parsed_make(&p, text, (size_t)n, true);
        assert_int_equal(p.fault, FAULT_NONE);
        assert_int_equal(p.head.keep_alive, rows[i].response);
        parsed_free(&p);
    }
}

static void expect_and_upgrade(void **state)
{
    struct parsed p;

    (void)state;
    REQUEST(&p, GET "Expect: 100-Continue\r\nConnection: x, Upgrade\r\nUpgrade: ws\r\n\r\n");
    assert_true(p.head.expect_continue);
    assert_true(p.head.upgrade);
    parsed_free(&p);
    REQUEST(&p, GET "Expect: 200-ok\r\nUpgrade: ws\r\n\r\n"); /* Connection does not name it */
    assert_int_equal(p.fault, FAULT_NONE);
    assert_false(p.head.expect_continue);
    assert_false(p.head.upgrade);
    parsed_free(&p);
    REQUEST(&p, GET "Proxy-Connection: upgrade\r\nUpgrade: ws\r\n\r\n");
    assert_false(p.head.upgrade);
    parsed_free(&p);
    REQUEST(&p, "GET / HTTP/1.0\r\nExpect: 100-continue\r\nConnection: upgrade\r\nUpgrade: ws\r\n"
                "\r\n");
    assert_int_equal(p.fault, FAULT_NONE);
    assert_false(p.head.expect_continue);
    assert_false(p.head.upgrade);
    parsed_free(&p);
}

/* After a fault the log still wants to know who asked for what. */
static void known_after_a_fault(void **state)
{
    struct parsed p;

    (void)state;
    REQUEST(&p, "PUT http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    assert_int_equal(p.fault, FAULT_HOST_TWICE);
    assert_str(p.head.method, "PUT");
    assert_str(p.head.target, "http://a/");
    parsed_free(&p);
    REQUEST(&p, "PUT http://a/ HTTP/3.0\r\n\r\n");
    assert_str(p.head.target, "http://a/");
    parsed_free(&p);
}

/* ---- responses ---- */

static void response_ordinary(void **state)
{
    struct parsed p;

    (void)state;
    RESPONSE(&p, "HTTP/1.1 404 Not  Found\t\xe4\r\nContent-Length: 5\r\nHost: a b\r\n\r\n");
    assert_int_equal(p.fault, FAULT_NONE);
    assert_int_equal(p.head.status, 404);
    assert_str(p.head.reason, "Not  Found\t\xe4");
    assert_int_equal(p.head.content_length, 5);
    assert_null(p.head.host.at);
    assert_null(p.head.method.at);
    parsed_free(&p);
    RESPONSE(&p, "HTTP/1.0 200 \r\n\r\n");
    assert_int_equal(p.fault, FAULT_NONE);
    assert_str(p.head.reason, "");
    assert_int_equal(p.head.minor, 0);
    parsed_free(&p);
    RESPONSE(&p, "HTTP/1.1 100 Continue\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(p.fault, FAULT_NONE);
    assert_int_equal(p.head.status, 100);
    assert_false(p.head.expect_continue);
    parsed_free(&p);
    RESPONSE(&p, "HTTP/1.1 599\r\n\r\n");
    assert_int_equal(p.head.status, 599);
    assert_str(p.head.reason, "");
    assert_non_null(p.head.reason.at);
    parsed_free(&p);
    RESPONSE(&p, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_int_equal(p.fault, FAULT_NONE);
    assert_true(p.head.chunked);
    assert_false(p.head.keep_alive); /* can be read, but no further trust */
    parsed_free(&p);
}

static void response_mended(void **state)
{
    struct parsed p;

    (void)state;
    RESPONSE(&p, "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\nServer:\r\n d\r\nY : e\r\nZ: f\r\n \r\n"
                 "\r\n");
    assert_int_equal(p.fault, FAULT_NONE);
    assert_int_equal(p.head.n, 4);
    assert_str(p.head.field[0].value, "a   b  \tc");
    assert_str(p.head.field[1].value, "d");
    assert_str(p.head.field[2].name, "Y");
    assert_str(p.head.field[2].value, "e");
    assert_str(p.head.field[3].value, "f");
    parsed_free(&p);
}

static void response_refused(void **state)
{
    static const struct row rows[] = {
        ROW(STATUS, "HTTP/1.1 099 x\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1 600 x\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1 20 x\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1 2000 x\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1 2x0 x\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1  200 x\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1\t200 x\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1 200\tx\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1 200 \x01\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1 200 \x7f\r\n\r\n"),
        ROW(STATUS, "HTTP/1.1\r\n\r\n"),
        ROW(STATUS, "http/1.1 200 OK\r\n\r\n"),
        ROW(STATUS, " HTTP/1.1 200 OK\r\n\r\n"),
        ROW(STATUS, "ICY 200 OK\r\n\r\n"),
        ROW(STATUS, "\r\n\r\n"),
        ROW(VERSION, "HTTP/2.0 200 OK\r\n\r\n"),
        ROW(VERSION, "HTTP/0.9 200 OK\r\n\r\n"),
        ROW(NUL, "HTTP/1.1 200 O\0K\r\n\r\n"),
        ROW(LINE_END, "HTTP/1.1 200 OK\n\r\n"),
        ROW(LINE_END, "HTTP/1.1 200\n\r\n"),
        ROW(LINE_END, "HTTP/1.1 200 OK\r\nX: y\n\r\n"),
        ROW(LINE_END, "HTTP/1.1 200 OK\r\nX: y\rZ: 1\r\n\r\n"),
        ROW(FOLD, "HTTP/1.1 200 OK\r\n X: y\r\n\r\n"),
        ROW(FOLD, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 6\r\n\r\n"),
        ROW(FOLD, "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n"),
        ROW(FOLD, "HTTP/1.1 200 OK\r\nConnection: x\r\n close\r\n\r\n"),
        ROW(BLANK, "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n"),
        ROW(BLANK, "HTTP/1.1 200 OK\r\nTransfer-Encoding\t: chunked\r\n\r\n"),
        ROW(NAME, "HTTP/1.1 200 OK\r\nX Y: z\r\n\r\n"),
        ROW(COLON, "HTTP/1.1 200 OK\r\nX\r\n\r\n"),
        ROW(VALUE, "HTTP/1.1 200 OK\r\nX: \x08\r\n\r\n"),
        ROW(NUL, "HTTP/1.1 200 OK\r\nX: \0\r\n\r\n"),
        ROW(MANY, "HTTP/1.1 200 OK\r\n1:\r\n2:\r\n3:\r\n4:\r\n5:\r\n6:\r\n7:\r\n8:\r\n9:\r\n\r\n"),
        ROW(LENGTH, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        ROW(LENGTHS, "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n"),
        ROW(BOTH, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        ROW(BOTH, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"),
        ROW(CODING, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"),
        ROW(CODING, "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n"),
        ROW(CODING_UNKNOWN, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    };

    (void)state;
    CHECK_ROWS(rows, true);
}

/* ---- where a head ends ---- */

static void end_at_every_split(void **state)
{
    static const struct {
        const char *text;
        size_t end;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", 27},
        {"GET / HTTP/1.1\r\n\r\n\r\n", 18},
        {"GET /\n\nGET", 7},
        {"GET /\n\r\nGET", 8},
        {"GET /\r\n\nGET", 8},
        {"\r\n\r\nGET", 4},
        {"\n\n", 2},
        {"GET /\r\n\r\r\n\r\n", 12},
        {"GET /\r\nX: y\r\n", 0},
        {"", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = strlen(rows[i].text), scanned = 0;

        assert_int_equal(head_end(rows[i].text, len, &scanned), rows[i].end);
        for (size_t split = 0; split <= len; split++) {
            size_t end;

            scanned = 0;
            end = head_end(rows[i].text, split, &scanned);
            assert_true(scanned <= split);
            assert_int_equal(end, rows[i].end != 0 && split >= rows[i].end ? rows[i].end : 0);
            if (end == 0)
                assert_int_equal(head_end(rows[i].text, len, &scanned), rows[i].end);
        }
        scanned = 0;
        for (size_t n = 0; n <= len; n++) /* byte by byte */
            if (rows[i].end == 0 || n <= rows[i].end)
                assert_int_equal(head_end(rows[i].text, n, &scanned),
                                 n == rows[i].end && n != 0 ? n : 0);
    }
}

static void skipped(void **state)
{
    (void)state;
    assert_int_equal(head_skip("", 0), 0);
    assert_int_equal(head_skip("\r", 1), 0);
    assert_int_equal(head_skip("\r\n", 2), 2);
    assert_int_equal(head_skip("\r\n\r\n", 4), 2);
    assert_int_equal(head_skip("\nGET", 4), 0);
    assert_int_equal(head_skip("GET", 3), 0);
}

static void peek(void **state)
{
    static const struct row rows[] = {
        ROW(NONE, ""),
        ROW(NONE, "G"),
        ROW(NONE, "\r"),
        ROW(NONE, "\r\n"),
        ROW(NONE, "\r\nG"),
        ROW(NONE, "GET "),
        ROW(NONE, "GET /"),
        ROW(NONE, "GET / HTTP/1.1\r"),
        ROW(NONE, "GET / HTTP/1.1\r\nwhatever\0"),
        ROW(NONE, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF"),
        ROW(METHOD, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG"),
        ROW(TLS, "\x16\x03\x01\x02"),
        ROW(TLS, "\x16"),
        ROW(TLS, "\x80\x2e\x01"),
        ROW(NUL, "\0"),
        ROW(NUL, "GE\0"),
        ROW(NUL, "GET /\0"),
        ROW(BINARY, "\x05\x01"), /* SOCKS */
        ROW(BINARY, "GE\xff"),
        ROW(BINARY, "GET /\x01"),
        ROW(BINARY, "GET /\t"),
        ROW(LINE, "\"GET"),
        ROW(LINE, " GET"),
        ROW(LINE, "GET\r\n"),
        ROW(LINE_END, "\n"),
        ROW(LINE_END, "\rG"),
        ROW(LINE_END, "GET / HTTP/1.1\n"),
        ROW(LINE_END, "GET / HTTP/1.1\rX"),
    };
    static char text[HEAD_TARGET_MAX + 128];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (head_peek(rows[i].text, rows[i].len) != rows[i].fault)
            fail_msg("row %zu «%s»: %s", i, rows[i].text,
                     head_fault_name(head_peek(rows[i].text, rows[i].len)));
    memset(text, 'a', sizeof text);
    memcpy(text, "GET ", 4);
    assert_int_equal(head_peek(text, HEAD_TARGET_MAX), FAULT_NONE);
    assert_int_equal(head_peek(text, sizeof text), FAULT_TARGET_LONG);
    assert_int_equal(head_peek_response("", 0), FAULT_NONE);
    assert_int_equal(head_peek_response("HTT", 3), FAULT_NONE);
    assert_int_equal(head_peek_response("HTTP/1.1 2", 10), FAULT_NONE);
    assert_int_equal(head_peek_response("HTP", 3), FAULT_STATUS);
    assert_int_equal(head_peek_response("HTTP/2 200", 10), FAULT_STATUS);
    assert_int_equal(head_peek_response("<html>", 6), FAULT_STATUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary),
        cmocka_unit_test(accepted),
        cmocka_unit_test(refused),
        cmocka_unit_test(framing_refused),
        cmocka_unit_test(framing),
        cmocka_unit_test(long_targets),
        cmocka_unit_test(keep_alive),
        cmocka_unit_test(expect_and_upgrade),
        cmocka_unit_test(known_after_a_fault),
        cmocka_unit_test(response_ordinary),
        cmocka_unit_test(response_mended),
        cmocka_unit_test(response_refused),
        cmocka_unit_test(end_at_every_split),
        cmocka_unit_test(skipped),
        cmocka_unit_test(peek),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
