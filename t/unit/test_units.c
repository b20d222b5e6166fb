/* test_units.c - durations and sizes as people write them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/units.h"
#include "unit.h"

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } fine[] = {
        {"30 seconds", 30000},
        {"1 second", 1000},
        {"1 minute", 60000},
        {"2 MINUTES", 120000},
        {"3hours", 10800000},
        {"1 day", 86400000},
        {"1 week", 604800000},
        {"1 fortnight", 1209600000},
        {"1 month", 2592000000},
        {"1 year", 31557790000},
        {"2 decades", 631155800000},
        {"500 milliseconds", 500},
        {"1 millisecond", 1},
        {"1 nanosecond", 1},
        {"0 nanoseconds", 0},
        {"1000001 nanoseconds", 2},
        {"1500 microseconds", 2},
        {"1.5 hours", 5400000},
        {"0.1 seconds", 100},
        {".5 minutes", 30000},
        {"0", 0},
        {"7", 7000},
        {" 7 ", 7000},
        {"-1", -1},
        {"none", -1},
    };
    static const struct {
        const char *text;
        enum units_fault fault;
        const char *suggestion;
    } bad[] = {
        {"", UNITS_BAD_NUMBER, NULL},
        {"x", UNITS_BAD_NUMBER, NULL},
        {"seconds", UNITS_BAD_NUMBER, NULL},
        {"-5 seconds", UNITS_BAD_NUMBER, NULL},
        {"1:30", UNITS_BAD_NUMBER, NULL},
        {"1.2.3 seconds", UNITS_BAD_NUMBER, NULL},
        {"5 secs", UNITS_BAD_UNIT, "seconds"},
        {"5s", UNITS_BAD_UNIT, "seconds"},
        {"5 m", UNITS_BAD_UNIT, "minutes"},
        {"5 ms", UNITS_BAD_UNIT, "milliseconds"},
        {"5 secounds", UNITS_BAD_UNIT, "seconds"},
        {"5 minute s", UNITS_BAD_UNIT, "minutes"},
        {"5 parsecs", UNITS_BAD_UNIT, NULL},
        {"5 KB", UNITS_BAD_UNIT, NULL},
        {"99999999999999999999 seconds", UNITS_OVERFLOW, NULL},
        {"9223372036854775807 years", UNITS_OVERFLOW, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
        bt_duration out = {-77};
        struct units_result result = units_duration(str_from(fine[i].text), NULL, &out);

        if (result.fault != UNITS_FINE || out.ms != fine[i].ms)
            fail_msg("%s: fault %d, %lld ms", fine[i].text, (int)result.fault, (long long)out.ms);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        bt_duration out = {-77};
        struct units_result result = units_duration(str_from(bad[i].text), NULL, &out);

        if (result.fault != bad[i].fault || out.ms != -77)
            fail_msg("%s: fault %d", bad[i].text, (int)result.fault);
        if (bad[i].suggestion == NULL
                ? result.suggestion != NULL
                : result.suggestion == NULL || strcmp(result.suggestion, bad[i].suggestion) != 0)
            fail_msg("%s: suggestion %s", bad[i].text, result.suggestion);
    }
}

static void default_units(void **state)
{
    bt_duration duration;
    bt_size size;
    struct units_result result = units_duration(BT_STR("5"), "minute", &duration);

    (void)state;
    assert_int_equal(result.fault, UNITS_FINE);
    assert_false(result.has_unit);
    assert_int_equal(duration.ms, 300000);
    assert_true(units_duration(BT_STR("5 days"), "minute", &duration).has_unit);
    assert_int_equal(units_size(BT_STR("8"), "KB", &size).fault, UNITS_FINE);
    assert_int_equal(size.bytes, 8192);
}

static void sizes(void **state)
{
    bt_size size;
    struct units_result result;

    (void)state;
    assert_int_equal(units_size(BT_STR("4 MB"), NULL, &size).fault, UNITS_FINE);
    assert_int_equal(size.bytes, 4 << 20);
    assert_int_equal(units_size(BT_STR("4mb"), NULL, &size).fault, UNITS_FINE);
    assert_int_equal(size.bytes, 4 << 20);
    assert_int_equal(units_size(BT_STR("0.5 GB"), NULL, &size).fault, UNITS_FINE);
    assert_int_equal(size.bytes, 1 << 29);
    assert_int_equal(units_size(BT_STR("100 bytes"), "KB", &size).fault, UNITS_FINE);
    assert_int_equal(size.bytes, 100);
    assert_int_equal(units_size(BT_STR("none"), NULL, &size).fault, UNITS_FINE);
    assert_int_equal(size.bytes, -1);
    result = units_size(BT_STR("4K"), NULL, &size);
    assert_int_equal(result.fault, UNITS_BAD_UNIT);
    assert_string_equal(result.suggestion, "KB");
    result = units_size(BT_STR("4 MiB"), NULL, &size);
    assert_string_equal(result.suggestion, "MB");
    assert_int_equal(units_size(BT_STR("8589934592 GB"), NULL, &size).fault, UNITS_OVERFLOW);
    assert_true(units_is_size_unit(BT_STR("Kb")));
    assert_false(units_is_size_unit(BT_STR("seconds")));
    assert_true(units_is_duration_unit(BT_STR("Fortnights")));
    assert_false(units_is_duration_unit(BT_STR("secs")));
}

static void percents(void **state)
{
    int64_t n;

    (void)state;
    assert_int_equal(units_percent(BT_STR("50%"), &n).fault, UNITS_FINE);
    assert_int_equal(n, 50);
    assert_int_equal(units_percent(BT_STR("150"), &n).fault, UNITS_FINE);
    assert_int_equal(n, 150);
    assert_int_equal(units_percent(BT_STR("-1%"), &n).fault, UNITS_BAD_NUMBER);
    assert_int_equal(units_percent(BT_STR("%"), &n).fault, UNITS_BAD_NUMBER);
    assert_int_equal(units_percent(BT_STR("99999999999999999999%"), &n).fault, UNITS_OVERFLOW);
}

static void prints(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } times[] = {{0, "0 seconds"},        {1, "1 millisecond"}, {1500, "1500 milliseconds"},
                 {90000, "90 seconds"},   {60000, "1 minute"},  {3600000, "1 hour"},
                 {1209600000, "2 weeks"}, {-1, "none"}};
    static const struct {
        int64_t bytes;
        const char *text;
    } sized[] = {{0, "0 bytes"},   {1, "1 byte"},     {1000, "1000 bytes"},
                 {65536, "64 KB"}, {4 << 20, "4 MB"}, {-1, "none"}};
    char buf[40];

    (void)state;
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        units_print_duration((bt_duration){times[i].ms}, buf, sizeof(buf));
        assert_string_equal(buf, times[i].text);
    }
    for (size_t i = 0; i < sizeof(sized) / sizeof(*sized); i++) {
        units_print_size((bt_size){sized[i].bytes}, buf, sizeof(buf));
        assert_string_equal(buf, sized[i].text);
    }
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(durations),
                                          cmocka_unit_test(default_units), cmocka_unit_test(sizes),
                                          cmocka_unit_test(percents), cmocka_unit_test(prints)};
UNIT_MAIN(tests)
