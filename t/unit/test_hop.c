/* test_hop.c - what does not travel on; Via and X-Forwarded-For.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/hop.h"

#include "http/parse.h"
#include "unit.h"

static struct head_field fields[100];
static char out[16384];

static struct head request(const char *text)
{
    struct head head;

    assert_int_equal(parse_request(&head, text, strlen(text), fields, 100), FAULT_NONE);
    return head;
}

#define GET "GET http://a/ HTTP/1.1\r\nHost: a\r\n"

/* What is left of the fields. */
static bt_str kept(const struct head *head)
{
    struct writer w = writer_on(out, sizeof out);

    writer_fields(&w, head);
    assert_false(w.over);
    return str_span(out, w.at);
}

static void hop_by_hop(void **state)
{
    struct head head = request(GET "Connection: X-Mine, close\r\nKeep-Alive: 5\r\n"
                                   "Proxy-Connection: keep-alive\r\nTE: trailers\r\n"
                                   "Trailer: X\r\nX-MINE: 1\r\nUpgrade: h2c\r\n"
                                   "HTTP2-Settings: AAA\r\nProxy-Authorization: Basic eA==\r\n"
                                   "Accept: */*\r\nx-mine: 2\r\nX-Mine2: 3\r\n\r\n");

    (void)state;
    hop_mark(&head);
    assert_str(kept(&head), "Host: a\r\nAccept: */*\r\nX-Mine2: 3\r\n");
    head = request(GET "TE: X-Kept\r\nProxy-Connection: X-Gone\r\nX-Kept: 1\r\nX-Gone: 2\r\n"
                       "HTTP2-Settings: A\r\n\r\n");
    hop_mark(&head);
    assert_str(kept(&head), "Host: a\r\nX-Kept: 1\r\nHTTP2-Settings: A\r\n");
}

static void framing_is_written_anew(void **state)
{
    struct head head = request("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
                               "Content-Type: x/y\r\ncontent-length: 5\r\n\r\n");

    (void)state;
    hop_mark(&head);
    assert_str(kept(&head), "Host: a\r\nContent-Type: x/y\r\n");
    head = request("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    hop_mark(&head);
    assert_str(kept(&head), "Host: a\r\n");
}

/* Connection cannot be used to take from the origin what it must see. */
static void end_to_end_stays(void **state)
{
    struct head head = request(GET "Connection: Host, cache-control, X-Forwarded-For, Cookie, Via,"
                                   " Authorization, Forwarded, Content-Type, X-Gone\r\n"
                                   "Cache-Control: no-store\r\nX-Forwarded-For: 1.2.3.4\r\n"
                                   "Cookie: a=b\r\nVia: 1.1 x\r\nAuthorization: y\r\n"
                                   "Forwarded: for=z\r\nX-Gone: 1\r\nContent-Type: t/u\r\n\r\n");

    (void)state;
    hop_mark(&head);
    assert_str(kept(&head), "Host: a\r\nCache-Control: no-store\r\nX-Forwarded-For: 1.2.3.4\r\n"
                            "Cookie: a=b\r\nVia: 1.1 x\r\nAuthorization: y\r\n"
                            "Forwarded: for=z\r\nContent-Type: t/u\r\n");
}

static void of_responses(void **state)
{
    char text[] = "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\nWWW-Authenticate: NTLM\r\n"
                  "Proxy-Authentication-Info: x\r\nTrailer: y\r\nDate: z\r\n\r\n";
    struct head head;

    (void)state;
    assert_int_equal(parse_response(&head, text, strlen(text), fields, 100), FAULT_NONE);
    hop_mark(&head);
    assert_str(kept(&head), "WWW-Authenticate: NTLM\r\nDate: z\r\n");
}

static bt_str via(struct head *head)
{
    struct writer w = writer_on(out, sizeof out);

    hop_via(&w, head, BT_STR("us (Bobtail)"));
    writer_fields(&w, head);
    assert_false(w.over);
    return str_span(out, w.at);
}

static void via_grows(void **state)
{
    struct head head = request(GET "\r\n");

    (void)state;
    assert_str(via(&head), "Via: 1.1 us (Bobtail)\r\nHost: a\r\n");
    head = request("GET / HTTP/1.0\r\nVia: 1.0 x, 1.1 y (z)\r\nA: b\r\nvia: 2 w\r\n\r\n");
    for (int again = 0; again < 2; again++) /* a retry writes the same */
        assert_str(via(&head), "Via: 1.0 x, 1.1 y (z), 2 w, 1.0 us (Bobtail)\r\nA: b\r\n");
}

static void loops(void **state)
{
    struct head head;
    struct head none = request(GET "\r\n");

    (void)state;
    head = request(GET "Via: 1.0 x, 1.1 Us.Example:3128 (z)\r\nVia: 1.1 last\r\n\r\n");
    assert_true(hop_loops(&head, BT_STR("us.example:3128")));
    assert_true(hop_loops(&head, BT_STR("us.example:3128 (Bobtail)")));
    assert_true(hop_loops(&head, BT_STR("last")));
    assert_false(hop_loops(&head, BT_STR("us.example")));
    assert_false(hop_loops(&head, BT_STR("1.1")));
    assert_false(hop_loops(&head, BT_STR("(z)")));
    assert_false(hop_loops(&head, BT_STR("")));
    assert_false(hop_loops(&none, BT_STR("last")));
    head = request(GET "Via: us, 1.1 x\r\nX-Was: 1.1 us\r\n\r\n"); /* no protocol; no Via */
    assert_false(hop_loops(&head, BT_STR("us")));
    /* A stray quotation mark does not hide that we were here. */
    head = request(GET "Via: 1.1 x (\"open, 1.1 us\r\n\r\n");
    assert_true(hop_loops(&head, BT_STR("us")));
}

static bt_str forwarded(struct head *head, enum forwarded_for how)
{
    struct writer w = writer_on(out, sizeof out);

    hop_forwarded_for(&w, head, how, BT_STR("192.0.2.1"));
    writer_fields(&w, head);
    assert_false(w.over);
    return str_span(out, w.at);
}

static void forwarded_for(void **state)
{
    static const struct {
        enum forwarded_for how;
        const char *without, *with;
    } rows[] = {
        {FORWARDED_ON, "X-Forwarded-For: 192.0.2.1\r\nHost: a\r\n",
         "X-Forwarded-For: 1.1.1.1, 2.2.2.2, x, 192.0.2.1\r\nHost: a\r\n"},
        {FORWARDED_OFF, "X-Forwarded-For: unknown\r\nHost: a\r\n",
         "X-Forwarded-For: 1.1.1.1, 2.2.2.2, x, unknown\r\nHost: a\r\n"},
        {FORWARDED_TRANSPARENT, "Host: a\r\n",
         "Host: a\r\nX-Forwarded-For: 1.1.1.1,2.2.2.2\r\nx-forwarded-for: x\r\n"},
        {FORWARDED_DELETE, "Host: a\r\n", "Host: a\r\n"},
        {FORWARDED_TRUNCATE, "X-Forwarded-For: 192.0.2.1\r\nHost: a\r\n",
         "X-Forwarded-For: 192.0.2.1\r\nHost: a\r\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct head head = request(GET "\r\n");

        assert_str(forwarded(&head, rows[i].how), rows[i].without);
        head = request(GET "X-Forwarded-For: 1.1.1.1,2.2.2.2\r\nx-forwarded-for: x\r\n\r\n");
        assert_str(forwarded(&head, rows[i].how), rows[i].with);
        assert_str(forwarded(&head, rows[i].how), rows[i].with);
    }
}

/* However long the list was that came, the newest members and ours go on. */
static void capped(void **state)
{
    static char text[16384];
    char *at = text;
    struct head head;
    bt_str line, member;
    unsigned n = 0;

    (void)state;
    at += sprintf(at, GET "X-Forwarded-For: ");
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "n%d,", i);
    sprintf(at, "\r\n\r\n");
    head = request(text);
    line = forwarded(&head, FORWARDED_ON);
    line = str_slice(line, strlen("X-Forwarded-For: "), (size_t)str_find_char(line, '\r'));
    while (head_list_next(&line, &member)) {
        if (n == 0)
            assert_str(member, "n137");
        if (n == HOP_LIST_MAX - 2)
            assert_str(member, "n199");
        n++;
    }
    assert_int_equal(n, HOP_LIST_MAX);
    assert_str(member, "192.0.2.1");

    at = text + sprintf(text, GET "Via: ");
    for (int i = 0; i < 3; i++) {
        at += sprintf(at, "%d ", i);
        memset(at, 'x', 2000);
        at += 2000;
        *at++ = ',';
    }
    sprintf(at, "\r\n\r\n");
    head = request(text);
    line = via(&head);
    assert_true(line.len < HOP_LIST_BYTES + 100);
    assert_true(str_starts(line, BT_STR("Via: 1 xxx")));
    assert_true(str_find(line, BT_STR(", 1.1 us (Bobtail)\r\n")) > 0);
}

static void no_room(void **state)
{
    struct head head = request(GET "Via: 1.1 x\r\n\r\n");
    char small[20];

    (void)state;
    for (size_t room = 0; room < sizeof small; room++) {
        struct writer w = writer_on(small, room);

        hop_via(&w, &head, BT_STR("us (Bobtail)"));
        assert_true(w.over);
        assert_true(w.at <= small + room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hop_by_hop),       cmocka_unit_test(framing_is_written_anew),
        cmocka_unit_test(end_to_end_stays), cmocka_unit_test(of_responses),
        cmocka_unit_test(via_grows),        cmocka_unit_test(loops),
        cmocka_unit_test(forwarded_for),    cmocka_unit_test(capped),
        cmocka_unit_test(no_room),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
