/* test_cache_ranges.c - Range against a body of known length, and the answers that it gets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "cache_kit.h"

#include "cache/control.c"
#include "cache/dictionary.c"
#include "cache/headtext.c"
#include "cache/ranges.c"

static const struct {
    const char *value;
    int64_t length;
    const char *expected; /* "from+len ..."; "whole", "outside" */
} of_ranges[] = {
    /* RFC 9110 14.1.2 */
    {"bytes=0-499", 10000, "0+500"},
    {"bytes=500-999", 10000, "500+500"},
    {"bytes=-500", 10000, "9500+500"},
    {"bytes=9500-", 10000, "9500+500"},
    {"bytes=0-", 10000, "0+10000"},
    {"bytes=0-0", 10000, "0+1"},
    {"bytes=-1", 10000, "9999+1"},
    {"bytes=9999-9999", 10000, "9999+1"},
    {"bytes=0-99999", 10000, "0+10000"},
    {"bytes=-99999", 10000, "0+10000"},
    {"bytes=0-999999999999999999999999999999", 10000, "0+10000"},
    {"bytes=-999999999999999999999999999999", 10000, "0+10000"},
    {"bytes=0-9223372036854775807", 10000, "0+10000"},
    {"BYTES=0-4", 10, "0+5"},
    {"bytes = 0-4", 10, "0+5"},
    {"bytes= 0-4 ", 10, "0+5"},
    /* outside */
    {"bytes=10000-", 10000, "outside"},
    {"bytes=10000-10001", 10000, "outside"},
    {"bytes=5000-", 1000, "outside"},
    {"bytes=-0", 10000, "outside"},
    {"bytes=999999999999999999999999999999-", 10000, "outside"},
    {"bytes=0-", 0, "outside"},
    {"bytes=-5", 0, "outside"},
    {"bytes=20-30,40-", 10, "outside"},
    {"bytes=20-30,-0", 10, "outside"},
    /* to be ignored */
    {"", 10, "whole"},
    {"bytes", 10, "whole"},
    {"bytes=", 10, "whole"},
    {"bytes=,", 10, "whole"},
    {"bytes=-", 10, "whole"},
    {"bytes=x", 10, "whole"},
    {"bytes=5", 10, "whole"},
    {"bytes=5-4", 10, "whole"},
    {"bytes=0-4x", 10, "whole"},
    {"bytes=0 - 4", 10, "whole"},
    {"bytes=+0-4", 10, "whole"},
    {"bytes=--4", 10, "whole"},
    {"bytes=0--4", 10, "whole"},
    {"bytes=0x0-4", 10, "whole"},
    {"bytes=0-1,5-4", 10, "whole"},
    {"bytes=0-1,x", 10, "whole"},
    {"bytes=0-1;2-3", 10, "whole"},
    {"items=0-4", 10, "whole"},
    {"byte=0-4", 10, "whole"},
    {"bytesx=0-4", 10, "whole"},
    {"0-4", 10, "whole"},
    {"bytes=0-4", -1, "whole"},
    /* several: as they were asked for, without those outside */
    {"bytes=0-9,20-29", 1000, "0+10 20+10"},
    {"bytes=20-29,0-9", 1000, "20+10 0+10"},
    {"bytes=0-9 , 20-29,,", 1000, "0+10 20+10"},
    {"bytes=0-0,-1", 1000, "0+1 999+1"},
    {"bytes=0-9,2000-", 1000, "0+10"},
    {"bytes=2000-,0-9,-0", 1000, "0+10"},
    /* overlapping or touching ones become one */
    {"bytes=0-9,5-19", 1000, "0+20"},
    {"bytes=0-9,10-19", 1000, "0+20"},
    {"bytes=10-19,0-9", 1000, "0+20"},
    {"bytes=0-9,11-19", 1000, "0+10 11+9"},
    {"bytes=0-9,0-9,0-9", 1000, "0+10"},
    {"bytes=0-99,20-29", 1000, "0+100"},
    {"bytes=20-29,0-99", 1000, "0+100"},
    {"bytes=500-509,0-9,600-609,5-14", 1000, "500+10 0+15 600+10"},
    {"bytes=0-9,20-29,40-49,8-41", 1000, "0+50"},
    {"bytes=100-109,0-9,20-29,5-24", 1000, "100+10 0+30"},
    {"bytes=0-,0-,0-,0-,0-,0-", 1000, "0+1000"},
    {"bytes=0-5,-5", 8, "0+8"},
    /* sixteen, and one more */
    {"bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,24-24,26-26,28-28,30-30",
     99, "0+1 2+1 4+1 6+1 8+1 10+1 12+1 14+1 16+1 18+1 20+1 22+1 24+1 26+1 28+1 30+1"},
    {"bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,24-24,26-26,28-28,30-30,"
     "32-32",
     99, "whole"},
    {"bytes=0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-,0-", 99, "whole"},
};

/* In memory of just that size, so that a sanitizer sees what is read behind the end. */
static bt_str exact(const char *text)
{
    bt_str s = str_from(text);
    char *copy = malloc(s.len > 0 ? s.len : 1);

    if (s.len > 0)
        memcpy(copy, s.at, s.len);
    return (bt_str){copy, s.len};
}

static void reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_ranges); i++) {
        bt_str value = exact(of_ranges[i].value);
        struct ranges r;
        enum ranges_are are = ranges_read(&r, value, of_ranges[i].length);
        char text[512];
        struct str_builder b;

        str_builder_init(&b, text, sizeof text);
        if (are != RANGES_SOME)
            str_add_format(&b, "%s", are == RANGES_NONE ? "whole" : "outside");
        for (unsigned k = 0; are == RANGES_SOME && k < r.n; k++)
            str_add_format(&b, "%s%lld+%lld", k > 0 ? " " : "", (long long)r.at[k].from,
                           (long long)r.at[k].len);
        if (strcmp(text, of_ranges[i].expected) != 0)
            fail_msg("«%s» of %lld: «%s», not «%s»", of_ranges[i].value,
                     (long long)of_ranges[i].length, text, of_ranges[i].expected);
        free((void *)(uintptr_t)value.at);
    }
    {
        struct ranges r;

        assert_int_equal(ranges_read(&r, BT_STR_NONE, 10), RANGES_NONE);
    }
}

static void single(void **state)
{
    bt_str stored = BT_STR("HTTP/1.1 200 Fine\r\nContent-Type: t/x\r\nETag: \"e\"\r\n"
                           "Content-Range: old\r\nA: 1\r\n\r\n");
    struct ranges_body body;
    struct ranges r;

    (void)state;
    assert_int_equal(ranges_read(&r, BT_STR("bytes=2-4"), 10), RANGES_SOME);
    ranges_answer(kit_arena(), stored, &r, 1, &body);
    assert_str(body.head, "HTTP/1.1 206 Partial Content\r\nContent-Type: t/x\r\nETag: \"e\"\r\n"
                          "A: 1\r\nContent-Range: bytes 2-4/10\r\n\r\n");
    assert_int_equal(body.length, 3);
    assert_int_equal(body.before[0].len, 0);
    assert_int_equal(body.after.len, 0);
}

/* The whole body as a client gets it, against its length. */
static void many(void **state, const char *head, const char *value, const char *expected)
{
    static const char content[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    bt_str stored = str_from(head);
    struct ranges_body body;
    struct ranges r;
    char text[1024];
    struct str_builder b;

    (void)state;
    str_builder_init(&b, text, sizeof text);
    assert_int_equal(ranges_read(&r, str_from(value), sizeof content - 1), RANGES_SOME);
    ranges_answer(kit_arena(), stored, &r, UINT64_C(0xfeedbeef12345678), &body);
    for (unsigned i = 0; i < r.n; i++) {
        str_add(&b, body.before[i]);
        str_add(&b, (bt_str){content + r.at[i].from, (size_t)r.at[i].len});
    }
    str_add(&b, body.after);
    assert_str(str_built(&b), expected);
    assert_int_equal(body.length, b.len);
    assert_non_null(memmem(body.head.at, body.head.len, "boundary=feedbeef12345678\r\n", 27));
}

/* RFC 9110 15.3.7.2 */
static void multipart(void **state)
{
    many(state, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", "bytes=0-1,10-12",
         "--feedbeef12345678\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/36\r\n\r\n01"
         "\r\n--feedbeef12345678\r\nContent-Type: text/plain\r\n"
         "Content-Range: bytes 10-12/36\r\n\r\nabc\r\n--feedbeef12345678--\r\n");
    many(state, "HTTP/1.1 200 OK\r\n\r\n", "bytes=-1,0-0",
         "--feedbeef12345678\r\nContent-Range: bytes 35-35/36\r\n\r\nz"
         "\r\n--feedbeef12345678\r\nContent-Range: bytes 0-0/36\r\n\r\n0"
         "\r\n--feedbeef12345678--\r\n");
}

static void multipart_head(void **state)
{
    bt_str stored = BT_STR("HTTP/1.1 200 OK\r\ncontent-type: t/x\r\nETag: \"e\"\r\n\r\n");
    struct ranges_body body;
    struct ranges r;

    (void)state;
    assert_int_equal(ranges_read(&r, BT_STR("bytes=0-0,5-5"), 10), RANGES_SOME);
    ranges_answer(kit_arena(), stored, &r, 255, &body);
    assert_str(body.head, "HTTP/1.1 206 Partial Content\r\nETag: \"e\"\r\n"
                          "Content-Type: multipart/byteranges; boundary=00000000000000ff\r\n\r\n");
}

static void unsatisfiable(void **state)
{
    (void)state;
    assert_str(
        ranges_head_416(kit_arena(), BT_STR("HTTP/1.1 200 OK\r\nDate: d\r\nA: 1\r\n\r\n"), 1000),
        "HTTP/1.1 416 Range Not Satisfiable\r\nDate: d\r\n"
        "Content-Range: bytes */1000\r\n\r\n");
    assert_str(ranges_head_416(kit_arena(), BT_STR("rubbish"), 0),
               "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */0\r\n\r\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reading),        cmocka_unit_test(single),        cmocka_unit_test(multipart),
    cmocka_unit_test(multipart_head), cmocka_unit_test(unsatisfiable),
};
UNIT_MAIN(tests)
