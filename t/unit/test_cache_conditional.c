/* test_cache_conditional.c - entity tags, the client's conditions, and validating what is stored.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "cache_kit.h"

#include "cache/conditional.c"
#include "cache/control.c"
#include "cache/dictionary.c"
#include "cache/headtext.c"

#define NOW_MS INT64_C(1783339200000) /* Mon, 06 Jul 2026 12:00:00 GMT */
#define DATE "Date: Mon, 06 Jul 2026 12:00:00 GMT\n"
#define LM "Last-Modified: Sun, 05 Jul 2026 12:00:00 GMT\n"

/* RFC 9110 8.8.3 */
static void tags(void **state)
{
    static const struct {
        const char *a, *b;
        bool valid, strong, weak; /* is a one; are they the same */
    } rows[] = {
        {"\"1\"", "\"1\"", true, true, true},
        {"\"1\"", "\"2\"", true, false, false},
        {"W/\"1\"", "W/\"1\"", true, false, true},
        {"W/\"1\"", "W/\"2\"", true, false, false},
        {"W/\"1\"", "\"1\"", true, false, true},
        {"\"1\"", "W/\"1\"", true, false, true},
        {"\"\"", "\"\"", true, true, true},
        {"\"a,b\"", "\"a,b\"", true, true, true},
        {"\"\xc3\xbc\"", "\"\xc3\xbc\"", true, true, true},
        {"\"a b\"", "\"a b\"", false, true, true},
        {"\"a\"b\"", "\"a\"b\"", false, true, true},
        {"w/\"1\"", "W/\"1\"", false, false, false},
        {"w/\"1\"", "w/\"1\"", false, true, true},
        {"abc", "abc", false, true, true},
        {"abc", "\"abc\"", false, false, false},
        {"\"", "\"", false, true, true},
        {"", "", false, false, false},
        {"W/", "", false, false, false},
        {"\"A\"", "\"a\"", true, false, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        bt_str a = str_from(rows[i].a), b = str_from(rows[i].b);

        if (etag_valid(a) != rows[i].valid || etag_strong(a, b) != rows[i].strong ||
            etag_weak(a, b) != rows[i].weak)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
        assert_int_equal(etag_strong(b, a), rows[i].strong);
        assert_int_equal(etag_weak(b, a), rows[i].weak);
    }
    assert_false(etag_strong(BT_STR_NONE, BT_STR_NONE) || etag_weak(BT_STR_NONE, BT_STR_NONE));
}

static const struct {
    const char *section, *request, *stored;
    enum condition expected;
} of_conditions[] = {
    {"13", "", DATE LM "ETag: \"a\"", CONDITION_NONE},
    /* If-None-Match: weakly, lists, lines, "*" */
    {"13.1.2", "If-None-Match: \"a\"", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"b\"", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.2", "If-None-Match: W/\"a\"", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"a\"", "ETag: W/\"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: W/\"a\"", "ETag: W/\"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"a\", \"b\", \"c\"", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"b\", \"a\", \"c\"", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"b\",\"c\",W/\"a\"", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"b\"\nIf-None-Match: \"a\"", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"x,a\"", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.2", "If-None-Match: \"b\", \"x,a\"", "ETag: \"x,a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"a\\\"", "ETag: \"a\\\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: *", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: *", "A: b", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"*\"", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.2", "If-None-Match: \"a\"", "A: b", CONDITION_NONE},
    {"13.1.2", "If-None-Match:", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.2", "If-None-Match: ,,", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.2", "If-None-Match: \"a", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.2", "If-None-Match: abc", "ETag: \"abc\"", CONDITION_NONE},
    {"13.1.2", "If-None-Match: abc", "ETag: abc", CONDITION_NOT_MODIFIED},
    {"13.1.2", "If-None-Match: \"\xc3\xbc\"", "ETag: \"\xc3\xbc\"", CONDITION_NOT_MODIFIED},
    /* before If-Modified-Since */
    {"13.2.2", "If-None-Match: \"a\"\nIf-Modified-Since: Wed, 01 Jul 2026 12:00:00 GMT",
     DATE LM "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.2.2", "If-None-Match: \"b\"\nIf-Modified-Since: Mon, 06 Jul 2026 12:00:00 GMT",
     DATE LM "ETag: \"a\"", CONDITION_NONE},
    {"13.2.2", "If-None-Match: \"b\"\nIf-Modified-Since: Mon, 06 Jul 2026 12:00:00 GMT", DATE LM,
     CONDITION_NONE},
    /* If-Modified-Since */
    {"13.1.3", "If-Modified-Since: Sun, 05 Jul 2026 12:00:00 GMT", DATE LM, CONDITION_NOT_MODIFIED},
    {"13.1.3", "If-Modified-Since: Sun, 05 Jul 2026 12:00:01 GMT", DATE LM, CONDITION_NOT_MODIFIED},
    {"13.1.3", "If-Modified-Since: Sun, 05 Jul 2026 11:59:59 GMT", DATE LM, CONDITION_NONE},
    {"13.1.3", "If-Modified-Since: Sunday, 05-Jul-26 12:00:00 GMT", DATE LM,
     CONDITION_NOT_MODIFIED},
    {"13.1.3", "If-Modified-Since: Sun Jul  5 12:00:00 2026", DATE LM, CONDITION_NOT_MODIFIED},
    {"13.1.3", "If-Modified-Since: yesterday", DATE LM, CONDITION_NONE},
    {"13.1.3", "If-Modified-Since:", DATE LM, CONDITION_NONE},
    /* as old as its Date (RFC 9111 4.3.2) */
    {"4.3.2", "If-Modified-Since: Mon, 06 Jul 2026 12:00:00 GMT", DATE, CONDITION_NOT_MODIFIED},
    {"4.3.2", "If-Modified-Since: Mon, 06 Jul 2026 11:59:59 GMT", DATE, CONDITION_NONE},
    {"4.3.2", "If-Modified-Since: Mon, 06 Jul 2026 12:00:00 GMT", DATE "Last-Modified: x",
     CONDITION_NOT_MODIFIED},
    {"4.3.2", "If-Modified-Since: Mon, 06 Jul 2026 12:00:00 GMT", "A: b", CONDITION_NONE},
    /* If-Match: strongly */
    {"13.1.1", "If-Match: \"a\"", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.1", "If-Match: \"b\", \"a\"", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.1", "If-Match: *", "ETag: \"a\"", CONDITION_NONE},
    {"13.1.1", "If-Match: \"b\"", "ETag: \"a\"", CONDITION_FAILED},
    {"13.1.1", "If-Match: W/\"a\"", "ETag: W/\"a\"", CONDITION_FAILED},
    {"13.1.1", "If-Match: \"a\"", "A: b", CONDITION_FAILED},
    {"13.2.2", "If-Match: \"b\"\nIf-None-Match: \"a\"", "ETag: \"a\"", CONDITION_FAILED},
    {"13.2.2", "If-Match: \"a\"\nIf-None-Match: \"a\"", "ETag: \"a\"", CONDITION_NOT_MODIFIED},
    {"13.2.2", "If-Match: \"a\"\nIf-Unmodified-Since: Mon, 01 Mar 1999 10:00:00 GMT",
     DATE LM "ETag: \"a\"", CONDITION_NONE},
    /* If-Unmodified-Since */
    {"13.1.4", "If-Unmodified-Since: Sun, 05 Jul 2026 12:00:00 GMT", DATE LM, CONDITION_NONE},
    {"13.1.4", "If-Unmodified-Since: Sun, 05 Jul 2026 11:59:59 GMT", DATE LM, CONDITION_FAILED},
    {"13.1.4", "If-Unmodified-Since: x", DATE LM, CONDITION_NONE},
    {"13.1.4", "If-Unmodified-Since: Sun, 05 Jul 2020 11:59:59 GMT", DATE, CONDITION_NONE},
};

static void conditions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_conditions); i++) {
        struct fields request = KIT(of_conditions[i].request);
        struct fields stored = KIT(of_conditions[i].stored);
        struct validators v;
        enum condition got;

        validators_read(&v, &stored, NOW_MS);
        got = condition_check(&request, &v, 200);
        if (got != of_conditions[i].expected)
            fail_msg("%s: «%s» of «%s» is %d", of_conditions[i].section, of_conditions[i].request,
                     of_conditions[i].stored, got);
        assert_int_equal(condition_check(&request, &v, 404), CONDITION_NONE);
        assert_int_equal(condition_check(&request, &v, 301), CONDITION_NONE);
    }
}

static void asked(void **state)
{
    static const struct {
        const char *request;
        bool is;
    } rows[] = {
        {"", false},
        {"If-None-Match: x", true},
        {"if-modified-since:", true},
        {"If-Match: x\nIf-Range: y\nIf-Unmodified-Since: z", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields request = KIT(rows[i].request);

        assert_int_equal(condition_asked(&request), rows[i].is);
    }
}

/* RFC 9110 13.1.5 */
static void if_range(void **state)
{
    static const struct {
        const char *request, *stored;
        bool expected;
    } rows[] = {
        {"", "ETag: \"a\"", true},
        {"If-Range: \"a\"", "ETag: \"a\"", true},
        {"If-Range: \"b\"", "ETag: \"a\"", false},
        {"If-Range: W/\"a\"", "ETag: W/\"a\"", false},
        {"If-Range: W/\"a\"", "ETag: \"a\"", false},
        {"If-Range: \"a\"", "ETag: W/\"a\"", false},
        {"If-Range: \"a\"", "A: b", false},
        {"If-Range: \"a\", \"b\"", "ETag: \"a\"", false},
        {"If-Range: a", "ETag: a", false},
        {"If-Range: \"a", "ETag: \"a", false},
        {"If-Range: *", "ETag: \"a\"", false},
        {"If-Range:", "ETag: \"a\"", false},
        {"If-Range: Sun, 05 Jul 2026 12:00:00 GMT", DATE LM, true},
        {"If-Range: Sunday, 05-Jul-26 12:00:00 GMT", DATE LM, true},
        {"If-Range: Sun, 05 Jul 2026 12:00:01 GMT", DATE LM, false},
        {"If-Range: Sun, 05 Jul 2026 11:59:59 GMT", DATE LM, false},
        {"If-Range: Mon, 06 Jul 2026 12:00:00 GMT", DATE, false},
        {"If-Range: Sun, 05 Jul 2026 12:00:00 GMT", LM, false},
        /* modified in the second in which it was made: weak */
        {"If-Range: Mon, 06 Jul 2026 12:00:00 GMT",
         DATE "Last-Modified: Mon, 06 Jul 2026 12:00:00 GMT", false},
        {"If-Range: Mon, 06 Jul 2026 11:59:59 GMT",
         DATE "Last-Modified: Mon, 06 Jul 2026 11:59:59 GMT", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields request = KIT(rows[i].request), stored = KIT(rows[i].stored);
        struct validators v;

        validators_read(&v, &stored, NOW_MS);
        if (condition_if_range(&request, &v) != rows[i].expected)
            fail_msg("«%s» of «%s»", rows[i].request, rows[i].stored);
    }
}

/* RFC 9111 4.3.4 */
static void holds(void **state)
{
    static const struct {
        const char *stored, *reply;
        bool expected;
    } rows[] = {
        {"ETag: \"a\"", "A: b", true},
        {"A: b", "A: b", true},
        {LM, "A: b", true},
        {"ETag: \"a\"", "ETag: \"a\"", true},
        {"ETag: \"a\"", "ETag: \"b\"", false},
        {"ETag: \"a\"", "ETag: W/\"a\"", true},
        {"ETag: W/\"a\"", "ETag: W/\"a\"", true},
        {"ETag: W/\"a\"", "ETag: W/\"b\"", false},
        {"ETag: W/\"a\"", "ETag: \"a\"", false},
        {LM, "ETag: \"a\"", false},
        {LM, "ETag: W/\"a\"", true},
        {LM "ETag: \"a\"", LM "ETag: \"b\"", false},
        {LM "ETag: \"a\"", "ETag: \"a\"\nLast-Modified: Mon, 06 Jul 2026 12:00:00 GMT", true},
        {LM, LM, true},
        {LM, "Last-Modified: Sat, 04 Jul 2026 12:00:00 GMT", true},
        {LM, "Last-Modified: Mon, 06 Jul 2026 12:00:00 GMT", false},
        {LM, "Last-Modified: x", true},
        {"A: b", LM, true},
        {"ETag: \"a\"", LM, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields stored = KIT(rows[i].stored), reply = KIT(rows[i].reply);
        struct validators v;

        validators_read(&v, &stored, NOW_MS);
        if (validation_holds(&v, &reply, NOW_MS) != rows[i].expected)
            fail_msg("«%s» by «%s»", rows[i].stored, rows[i].reply);
    }
}

/* RFC 9111 4.3.5 */
static void head_agrees(void **state)
{
    static const struct {
        const char *stored, *reply;
        bool expected;
    } rows[] = {
        {"ETag: \"a\"", "A: b", true},
        {"ETag: \"a\"", "ETag: \"a\"\nContent-Length: 1000", true},
        {"ETag: \"a\"", "ETag: \"b\"", false},
        {"ETag: \"a\"", "ETag: W/\"a\"", false},
        {"A: b", "ETag: \"a\"", false},
        {LM, LM, true},
        {LM, "Last-Modified: Mon, 06 Jul 2026 12:00:00 GMT", false},
        {"A: b", LM, false},
        {"A: b", "Content-Length: 1000", true},
        {"A: b", "Content-Length: 01000", true},
        {"A: b", "Content-Length: 999", false},
        {"A: b", "Content-Length: 1001", false},
        {"A: b", "Content-Length: 10000", false},
        {"A: b", "Content-Length: 18446744073709552616", false},
        {"A: b", "Content-Length: x", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields stored = KIT(rows[i].stored), reply = KIT(rows[i].reply);
        struct validators v;

        validators_read(&v, &stored, NOW_MS);
        if (validation_head_agrees(&v, 1000, &reply) != rows[i].expected)
            fail_msg("«%s» by «%s»", rows[i].stored, rows[i].reply);
    }
}

static void making(void **state)
{
    const char *both = LM "ETag: W/\"a\"", *none = "Last-Modified: x\nETag: W/";
    struct fields f = KIT(both), g = KIT(none);
    struct validation made;
    struct validators v;

    (void)state;
    validators_read(&v, &f, NOW_MS);
    validation_make(&made, &v);
    assert_str(made.if_none_match, "W/\"a\"");
    assert_str(made.if_modified_since, "Sun, 05 Jul 2026 12:00:00 GMT");
    validators_read(&v, &g, NOW_MS);
    validation_make(&made, &v);
    assert_null(made.if_none_match.at);
    assert_null(made.if_modified_since.at);
}

/* RFC 9111 3.2 */
static void merging(void **state)
{
    static const struct {
        const char *stored, *reply;
        bool drop_cookies;
        const char *fields;
    } rows[] = {
        {"Date: old\r\nA: 1\r\nB: 2\r\n", "Date: new\nB: 3", false,
         "A: 1\r\nDate: new\r\nB: 3\r\n"},
        {"Date: old\r\nA: 1\r\na: 2\r\nB: 3\r\n", "Date: new\nA: 4\nA: 5", false,
         "B: 3\r\nDate: new\r\nA: 4\r\nA: 5\r\n"},
        /* the 304's arrival is its Date */
        {"Date: old\r\nA: 1\r\n", "A: 2", false, "Date: Mon, 06 Jul 2026 12:00:00 GMT\r\nA: 2\r\n"},
        /* about the content, the framing, the hop: as it was */
        {"Date: old\r\nContent-Encoding: gzip\r\nContent-Type: a/b\r\n",
         "Date: new\nContent-Encoding: br\nContent-Length: 0\nContent-Range: x\nConnection: y\n"
         "Transfer-Encoding: chunked\nAge: 5\nTE: z",
         false, "Content-Encoding: gzip\r\nContent-Type: a/b\r\nDate: new\r\n"},
        {"Date: old\r\nContent-Type: a/b\r\nETag: \"1\"\r\nCache-Control: max-age=1\r\n",
         "Date: new\nContent-Type: c/d\nETag: \"2\"\nCache-Control: max-age=3600", false,
         "Date: new\r\nContent-Type: c/d\r\nETag: \"2\"\r\nCache-Control: max-age=3600\r\n"},
        {"Date: old\r\nSet-Cookie: a\r\n", "Date: new\nSet-Cookie: b", false,
         "Date: new\r\nSet-Cookie: b\r\n"},
        {"Date: old\r\nSet-Cookie: a\r\n", "Date: new\nSet-Cookie: b", true, "Date: new\r\n"},
        /* fields that the new Cache-Control lists leave, too */
        {"Date: old\r\nX: 1\r\nY: 2\r\n", "Date: new\nCache-Control: no-cache=\"x\"\nX: 3", false,
         "Y: 2\r\nDate: new\r\nCache-Control: no-cache=\"x\"\r\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields reply = KIT(rows[i].reply);
        struct control said;
        struct headtext_store from = {304,    BT_STR("Not Modified"), &reply, &said,
                                      NOW_MS, rows[i].drop_cookies};
        bt_str stored = bt_str_printf(kit_arena(), "HTTP/1.1 203 Fine\r\n%s\r\n", rows[i].stored);
        struct headtext h;

        control_response(&said, &reply);
        assert_true(headtext_open(&h, validation_merge(kit_arena(), stored, &from)));
        assert_int_equal(h.status, 203);
        assert_str(h.reason, "Fine");
        assert_str(h.fields, rows[i].fields);
    }
}

/* RFC 9110 15.4.5 */
static void head_304(void **state)
{
    static const struct {
        const char *stored, *fields;
    } rows[] = {
        {"Date: d\r\nContent-Type: t\r\nETag: \"e\"\r\nVary: v\r\nLast-Modified: l\r\n"
         "Content-Location: /c\r\nCache-Control: max-age=1\r\nExpires: x\r\nSet-Cookie: s\r\n",
         "Date: d\r\nETag: \"e\"\r\nVary: v\r\nContent-Location: /c\r\n"
         "Cache-Control: max-age=1\r\nExpires: x\r\n"},
        {"date: d\r\nlast-modified: l\r\nvary: a\r\nVary: b\r\n",
         "date: d\r\nlast-modified: l\r\nvary: a\r\nVary: b\r\n"},
        {"Content-Type: t\r\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        bt_str stored = bt_str_printf(kit_arena(), "HTTP/1.1 200 OK\r\n%s\r\n", rows[i].stored);
        struct headtext h;

        assert_true(headtext_open(&h, condition_head_304(kit_arena(), stored)));
        assert_int_equal(h.status, 304);
        assert_str(h.fields, rows[i].fields);
    }
    assert_str(condition_head_304(kit_arena(), BT_STR("rubbish")),
               "HTTP/1.1 304 Not Modified\r\n\r\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tags),     cmocka_unit_test(conditions), cmocka_unit_test(asked),
    cmocka_unit_test(if_range), cmocka_unit_test(holds),      cmocka_unit_test(head_agrees),
    cmocka_unit_test(making),   cmocka_unit_test(merging),    cmocka_unit_test(head_304),
};
UNIT_MAIN(tests)
