/* test_acl_time.c - days and hours, with the clock set, not waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl/acl_time.c"

#include <stdlib.h>

#include "base/clock.h"
#include "type_fake.h"

/* 2024-02-25 was a Sunday. */
static enum bt_match at(const char *values, int day, int hour, int minute)
{
    struct bt_txn txn = {.port = 0};

    setenv("TZ", "UTC0", 1);
    tzset();
    clock_now_us = 0;
    clock_wall_base_us = (INT64_C(1708819200) + day * 86400 + hour * 3600 + minute * 60) * 1000000 +
                         59999999;
    return asked("time", values, &txn);
}

static void days(void **state)
{
    static const char letters[] = "SMTWHFA";

    (void)state;
    for (int day = 0; day < 7; day++)
        for (int letter = 0; letter < 7; letter++)
            assert_int_equal(at((char[]){letters[letter], '\0'}, day, 12, 0),
                             day == letter ? BT_YES : BT_NO);
    for (int day = 0; day < 7; day++) {
        assert_int_equal(at("D", day, 0, 0), day >= 1 && day <= 5 ? BT_YES : BT_NO);
        assert_int_equal(at("SA", day, 23, 59), day == 0 || day == 6 ? BT_YES : BT_NO);
        assert_int_equal(at("S A", day, 23, 59), day == 0 || day == 6 ? BT_YES : BT_NO);
    }
}

static void hours(void **state)
{
    (void)state;
    assert_int_equal(at("MTWHF 08:00-18:00", 1, 8, 0), BT_YES);
    assert_int_equal(at("MTWHF 08:00-18:00", 1, 7, 59), BT_NO);
    assert_int_equal(at("MTWHF 08:00-18:00", 1, 18, 0), BT_YES);
    assert_int_equal(at("MTWHF 08:00-18:00", 1, 18, 1), BT_NO);
    assert_int_equal(at("MTWHF 08:00-18:00", 0, 12, 0), BT_NO);
    assert_int_equal(at("9:05-9:06", 3, 9, 6), BT_YES);
    assert_int_equal(at("00:00-24:00", 6, 23, 59), BT_YES);
    assert_int_equal(at("00:00-24:00", 6, 0, 0), BT_YES);
}

static void wrong(void **state)
{
    (void)state;
    refused("time", "MX 09:00-17:00", 1, "'X' in 'MX'");
    refused("time", "mon", 1, "'m'");
    refused("time", "D 22:00-06:00", 3, "22:00-24:00 and 00:00-06:00");
    refused("time", "12:00-12:00", 1, "end before they begin");
    refused("time", "09:00-25:00", 1, "09:00-17:30");
    refused("time", "09:00-17:60", 1, "09:00-17:30");
    refused("time", "09:00", 1, "09:00-17:30");
    refused("time", "9-17:00", 1, "09:00-17:30");
    refused("time", "09:00-17:0", 1, "09:00-17:30");
    refused("time", "09:00-12:00 13:00-17:00", 13, "a line of its own");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {TEST(days), TEST(hours), TEST(wrong)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
