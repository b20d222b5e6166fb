/* test_clock.c - the cached clock and its shift.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "base/clock.h"
#include "unit.h"

static void agrees_with_the_system(void **state)
{
    clock_refresh();
    int64_t wall = clock_wall_s(), now = time(NULL);

    (void)state;
    assert_true(wall == now || wall == now - 1);
    assert_int_equal(clock_wall_ms(), clock_wall_us() / 1000);
    assert_int_equal(clock_ms(), clock_us() / 1000);
    assert_int_equal(clock_wall_us_at(clock_us()), clock_wall_us());
}

static void stands_until_refreshed(void **state)
{
    struct timespec nap = {0, 2000000};
    int64_t before = clock_us();

    (void)state;
    nanosleep(&nap, NULL);
    assert_int_equal(clock_us(), before);
    clock_refresh();
    assert_true(clock_us() >= before + 2000);
}

static void moves(void **state)
{
    int64_t us, wall;

    (void)state;
    clock_refresh();
    us = clock_us();
    wall = clock_wall_us();
    clock_shift(3600 * 1000);
    assert_in_range(clock_us() - us, 3600000000, 3601000000);
    assert_in_range(clock_wall_us() - wall, 3600000000, 3601000000);
    clock_shift(-1000);
    assert_int_equal(clock_shifted(), 3599000);
    clock_refresh();
    assert_in_range(clock_us() - us, 3599000000, 3600500000);
    clock_shift(-clock_shifted());
    assert_in_range(clock_us() - us, 0, 1000000);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_the_system),
                                          cmocka_unit_test(stands_until_refreshed),
                                          cmocka_unit_test(moves)};
UNIT_MAIN(tests)
