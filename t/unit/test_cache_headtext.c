/* test_cache_headtext.c - heads as text: read, stored, written; Cache-Status.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "cache_kit.h"

#include "cache/control.c"
#include "cache/dictionary.c"
#include "cache/headtext.c"

static void reading(void **state)
{
    bt_str text = BT_STR(
        "HTTP/1.1 200 All is well\r\nA: 1\r\nB:2 \r\na:\t3\r\nC:\r\nD: x: y\r\n\r\n");
    struct headtext h;
    struct fields f = headtext_fields(&h);
    bt_str name, value;
    size_t place = 0, n = 0;

    (void)state;
    assert_true(headtext_open(&h, text));
    assert_int_equal(h.status, 200);
    assert_str(h.reason, "All is well");
    while (headtext_next(&h, &place, &name, &value))
        n++;
    assert_int_equal(n, 5);
    assert_str(headtext_get(&h, BT_STR("a"), 0), "1");
    assert_str(headtext_get(&h, BT_STR("A"), 1), "3");
    assert_null(headtext_get(&h, BT_STR("A"), 2).at);
    assert_str(headtext_get(&h, BT_STR("b"), 0), "2");
    assert_str(headtext_get(&h, BT_STR("C"), 0), "");
    assert_non_null(headtext_get(&h, BT_STR("C"), 0).at);
    assert_str(headtext_get(&h, BT_STR("d"), 0), "x: y");
    assert_null(headtext_get(&h, BT_STR("E"), 0).at);
    assert_str(fields_get(&f, BT_STR("D"), 0), "x: y");
    assert_true(f.at(f.of, 3, &name, &value));
    assert_str(name, "C");
    assert_false(f.at(f.of, 5, &name, &value));
}

static void opening(void **state)
{
    static const struct {
        const char *text;
        int status; /* 0: it is no head */
    } rows[] = {
        {"HTTP/1.1 200 OK\r\n\r\n", 200},
        {"HTTP/1.1 299 \r\n\r\n", 299},
        {"HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n", 404},
        {"", 0},
        {"\r\n\r\n", 0},
        {"HTTP/1.1 200 OK\r\n", 0},
        {"HTTP/1.1 200 OK\r\nA: b\r\n", 0},
        {"HTTP/1.1 200 OK\n\n", 0},
        {"HTTP/1.1 200\r\n\r\n", 0},
        {"HTTP/1.1 2x0 OK\r\n\r\n", 0},
        {"HTTP/2 200 OK\r\n\r\n", 0},
        {"ICY 200 OK   \r\n\r\n", 0},
    };
    struct headtext h;

    (void)state;
    assert_false(headtext_open(&h, BT_STR_NONE));
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool is = headtext_open(&h, str_from(rows[i].text));

        if (is != (rows[i].status != 0) || (is && h.status != rows[i].status))
            fail_msg("«%s» is not %d", rows[i].text, rows[i].status);
    }
}

/* A record that was damaged ends the fields, and nothing else. */
static void damaged(void **state)
{
    struct headtext h;
    bt_str name, value;
    size_t place = 0;

    (void)state;
    assert_true(headtext_open(&h, BT_STR("HTTP/1.1 200 OK\r\nA: 1\r\nrubbish\r\nB: 2\r\n\r\n")));
    assert_true(headtext_next(&h, &place, &name, &value));
    assert_false(headtext_next(&h, &place, &name, &value));
    assert_false(headtext_next(&h, &place, &name, &value));
    assert_null(headtext_get(&h, BT_STR("B"), 0).at);
}

static void writing(void **state)
{
    struct headtext_out out;

    (void)state;
    headtext_begin(&out, kit_arena(), 206, BT_STR(""));
    headtext_add(&out, BT_STR("A"), BT_STR("1"));
    headtext_add(&out, BT_STR("B"), BT_STR(""));
    assert_str(headtext_end(&out), "HTTP/1.1 206 Partial Content\r\nA: 1\r\nB: \r\n\r\n");
    headtext_begin(&out, kit_arena(), 299, BT_STR_NONE);
    assert_str(headtext_end(&out), "HTTP/1.1 299 \r\n\r\n");
    headtext_begin(&out, kit_arena(), 7, BT_STR("x"));
    assert_str(headtext_end(&out), "HTTP/1.1 500 x\r\n\r\n");
}

/* It grows, and what was written stays. */
static void growing(void **state)
{
    struct headtext_out out;
    struct headtext h;
    bt_str head;

    (void)state;
    headtext_begin(&out, kit_arena(), 200, BT_STR(""));
    for (int i = 0; i < 1000; i++)
        headtext_add(&out, BT_STR("Name"), bt_str_printf(kit_arena(), "%d", i));
    head = headtext_end(&out);
    assert_true(headtext_open(&h, head));
    for (size_t i = 0; i < 1000; i += 111)
        assert_str(headtext_get(&h, BT_STR("name"), i), bt_str_printf(kit_arena(), "%zu", i).at);
}

/* RFC 9111 3.1 */
static void storing(void **state)
{
    static const struct {
        const char *reply;
        bool drop_cookies;
        const char *fields;
    } rows[] = {
        {"Date: d\nA: 1\na: 2\nB:", false, "Date: d\r\nA: 1\r\na: 2\r\nB: \r\n"},
        {"A: 1", false, "Date: Mon, 06 Jul 2026 12:00:00 GMT\r\nA: 1\r\n"},
        {"Date: d\nConnection: x\nKeep-Alive: 1\nProxy-Connection: y\nproxy-authenticate: z\n"
         "Proxy-Authorization: u\nProxy-Authentication-Info: v\nTE: w\nTrailer: t\n"
         "transfer-encoding: chunked\nUpgrade: h2c\nContent-Length: 5\nAge: 7\nB: 2",
         false, "Date: d\r\nB: 2\r\n"},
        {"Date: d\nSet-Cookie: a=1\nSet-Cookie2: b\nSet-Cookie: c=2", false,
         "Date: d\r\nSet-Cookie: a=1\r\nSet-Cookie2: b\r\nSet-Cookie: c=2\r\n"},
        {"Date: d\nSet-Cookie: a=1\nSet-Cookie2: b\nset-cookie: c=2\nX: y", true,
         "Date: d\r\nX: y\r\n"},
        {"Date: d\nCache-Control: no-cache=\"a, B\", private=\"c\"\nA: 1\nb: 2\nC: 3\nD: 4", false,
         "Date: d\r\nCache-Control: no-cache=\"a, B\", private=\"c\"\r\nD: 4\r\n"},
        {"Date: d\nContent-Encoding: gzip\nContent-Range: x\nETag: \"e\"\nCDN-Cache-Control: y\n"
         "Cache-Status: O; hit\nWarning: 110\nPublic-Key-Pins: z",
         false,
         "Date: d\r\nContent-Encoding: gzip\r\nContent-Range: x\r\nETag: \"e\"\r\n"
         "CDN-Cache-Control: y\r\nCache-Status: O; hit\r\nWarning: 110\r\n"
         "Public-Key-Pins: z\r\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields reply = KIT(rows[i].reply);
        struct control said;
        struct headtext_store s = {200,   BT_STR("OK"),  &reply,
                                   &said, 1783339200999, rows[i].drop_cookies};
        struct headtext h;

        control_response(&said, &reply);
        assert_true(headtext_open(&h, headtext_store(kit_arena(), &s)));
        assert_int_equal(h.status, 200);
        assert_str(h.reason, "OK");
        assert_str(h.fields, rows[i].fields);
    }
}

/* RFC 9211 */
static void status(void **state)
{
    static const struct {
        const char *name;
        struct cache_status s;
        const char *text;
    } rows[] = {
        {"Bobtail", {.fwd = NULL}, "Bobtail; hit"},
        {"Bobtail", {.has_ttl = true, .ttl = 376}, "Bobtail; hit; ttl=376"},
        {"Bobtail", {.has_ttl = true, .ttl = -412}, "Bobtail; hit; ttl=-412"},
        {"Bobtail",
         {.has_ttl = true, .ttl = 0, .stored = true, .collapsed = true},
         "Bobtail; hit; ttl=0"},
        {"Bobtail", {.fwd = "uri-miss"}, "Bobtail; fwd=uri-miss"},
        {"Bobtail", {.fwd = "uri-miss", .stored = true}, "Bobtail; fwd=uri-miss; stored"},
        {"Bobtail", {.fwd = "vary-miss", .collapsed = true}, "Bobtail; fwd=vary-miss; collapsed"},
        {"Bobtail",
         {.fwd = "stale", .fwd_status = 304, .stored = true, .has_ttl = true, .ttl = 60},
         "Bobtail; fwd=stale; fwd-status=304; ttl=60; stored"},
        {"Bobtail",
         {.fwd = "bypass", .detail = "cache-deny"},
         "Bobtail; fwd=bypass; detail=cache-deny"},
        {"proxy.example", {.fwd = NULL}, "proxy.example; hit"},
        {"a b", {.fwd = NULL}, "\"a b\"; hit"},
        {"1.2.3.4:80", {.fwd = NULL}, "\"1.2.3.4:80\"; hit"},
        {"q\"\\\x01\xc3", {.fwd = NULL}, "\"q\\\"\\\\??\"; hit"},
        {"", {.fwd = NULL}, "\"\"; hit"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_str(cache_status_text(kit_arena(), str_from(rows[i].name), &rows[i].s),
                   rows[i].text);
}

static void lists(void **state)
{
    static const struct {
        const char *text, *members;
    } rows[] = {
        {"", ""},
        {" , ,", ""},
        {"a", "[a]"},
        {" a b , c ", "[a b][c]"},
        {"a=\"b, c\", d", "[a=\"b, c\"][d]"},
        {"a=\"b\\\", c\", d", "[a=\"b\\\", c\"][d]"},
        {"a=\"b, c", "[a=\"b][c]"},
        {"\"\",b", "[\"\"][b]"},
        {"a\"b,c\"d,e", "[a\"b,c\"d][e]"},
        {"\"a\\", "[\"a\\]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        bt_str rest = str_from(rows[i].text), member, all = BT_STR("");

        while (fields_member(&rest, &member))
            all = bt_str_printf(kit_arena(), "%.*s[%.*s]", BT_STR_ARGS(all), BT_STR_ARGS(member));
        assert_str(all, rows[i].members);
    }
    assert_true(fields_is_token(BT_STR("a-Z09!#$%&'*+.^_`|~")));
    assert_false(fields_is_token(BT_STR("")) || fields_is_token(BT_STR("a b")) ||
                 fields_is_token(BT_STR("a\0b")) || fields_is_token(BT_STR("(a)")));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reading), cmocka_unit_test(opening), cmocka_unit_test(damaged),
    cmocka_unit_test(writing), cmocka_unit_test(growing), cmocka_unit_test(storing),
    cmocka_unit_test(status),  cmocka_unit_test(lists),
};
UNIT_MAIN(tests)
