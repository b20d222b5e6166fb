/* test_date.c - HTTP dates: the three forms, what is none of them, and printing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt_clock.h"
#include "http/date.h"
#include "unit.h"

#define NOW INT64_C(1783339200) /* Mon, 06 Jul 2026 12:00:00 GMT */

static void good(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Sun Nov 16 08:49:37 1994", 784975777},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"Thu, 29 Feb 2024 00:00:00 GMT", 1709164800},
        {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
        {"Sat, 01 Jan 0000 00:00:00 GMT", -62167219200},
        {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800},  /* a leap second is the next one */
        {"Mon, 06 Nov 1994 08:49:37 GMT", 784111777},   /* the wrong weekday is not looked at */
        {"Monday, 01-Jan-76 00:00:00 GMT", 3345062400}, /* 2076: 50 years ahead */
        {"Monday, 01-Jan-77 00:00:00 GMT", 220924800},  /* 1977 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t seconds = -12345;

        if (!date_parse(str_from(rows[i].text), NOW, &seconds) || seconds != rows[i].seconds)
            fail_msg("%s: %lld", rows[i].text, (long long)seconds);
    }
}

/* What modules get: the same, but for the case of letters. */
static void any_case(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: not a date */
    } rows[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {"SUN, 06 NOV 1994 08:49:37 gmt", 784111777},
        {"sunday, 06-nov-94 08:49:37 gMt", 784111777},
        {"sUN nOV  6 08:49:37 1994", 784111777},
        {"Wednesday, 06-NOV-94 08:49:37 GMT", 784111777},
        {"Sun, 06 Nov 1994 08:49:37 UTC", -1},
        {"Sun, 06 Nov 1994 08:49:37 GMT ", -1},
        {"Sun, 06 Nov 1994 08:49:37 gmtx", -1},
        {"gmt", -1},
        {"", -1},
        {"0", -1},
        {"Wednesday, 06-Nov-1994 08:49:37 GMT", -1},
    };
    char text[BT_DATE_LEN];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t seconds = -1;

        if (bt_date_parse(str_from(rows[i].text), NOW, &seconds) != (rows[i].seconds != -1) ||
            seconds != rows[i].seconds)
            fail_msg("%s: %lld", rows[i].text, (long long)seconds);
    }
    bt_date_print(text, 784111777);
    assert_str(((bt_str){text, sizeof text}), "Sun, 06 Nov 1994 08:49:37 GMT");
}

static void bad(void **state)
{
    static const char *const rows[] = {
        "",
        "0",
        "-1",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 gmt",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun,  6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Thu, 29 Feb 2023 00:00:00 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 19940 8:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sundax, 06-Nov-94 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "Wed, 32 Dec 2014 00:00:00 GMT",
        "Wed, +1 Dec 2014 00:00:00 GMT",
        "Wednesday, 31-Dec-14 00:00:00 GMTx",
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t seconds = -12345;

        if (date_parse(str_from(rows[i]), NOW, &seconds))
            fail_msg("«%s» was taken for %lld", rows[i], (long long)seconds);
        assert_int_equal(seconds, -12345);
    }
}

/* No byte behind the text is looked at: each prefix stands at the end of its own block. */
static void bounded(void **state)
{
    static const char *const rows[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Wednesday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994"};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (size_t len = 0; len < strlen(rows[i]); len++) {
            char *copy = malloc(len + 1);
            int64_t seconds;

            memcpy(copy + 1, rows[i], len);
            assert_false(date_parse((bt_str){copy + 1, len}, NOW, &seconds));
            free(copy);
        }
}

static void printed(void **state)
{
    char text[DATE_LEN + 1] = "";

    (void)state;
    date_print(text, 784111777);
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    date_print(text, 0);
    assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    date_print(text, -1);
    assert_string_equal(text, "Wed, 31 Dec 1969 23:59:59 GMT");
    date_print(text, INT64_MIN);
    assert_string_equal(text, "Sat, 01 Jan 0000 00:00:00 GMT");
    date_print(text, INT64_MAX);
    assert_string_equal(text, "Fri, 31 Dec 9999 23:59:59 GMT");
}

static void printed_is_parsed(void **state)
{
    char text[DATE_LEN];

    (void)state;
    for (int64_t t = -62167219200; t < 253402300799; t += 86400 * 29 + 3607) {
        int64_t back = 0;

        date_print(text, t);
        assert_true(date_parse((bt_str){text, DATE_LEN}, NOW, &back));
        assert_true(back == t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),    cmocka_unit_test(any_case), cmocka_unit_test(bad),
        cmocka_unit_test(bounded), cmocka_unit_test(printed),  cmocka_unit_test(printed_is_parsed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
