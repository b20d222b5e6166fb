/* test_rand.c - random numbers: spread, bounds, and other ones after a fork.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/wait.h>
#include <unistd.h>

#include "base/rand.h"
#include "unit.h"

static void bytes_differ(void **state)
{
    char a[600] = {0}, b[600] = {0};
    size_t zeros = 0;

    (void)state;
    rand_bytes(a, sizeof(a));
    rand_bytes(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    for (size_t i = 0; i < sizeof(a); i++)
        zeros += a[i] == 0;
    assert_true(zeros < 60); /* all 600 were filled */
}

static void in_bounds_and_even(void **state)
{
    unsigned seen[7] = {0};

    (void)state;
    for (int i = 0; i < 70000; i++) {
        uint64_t n = rand_below(7);

        assert_true(n < 7);
        seen[n]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 9000, 11000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rand_below(1), 0);
}

static void jitters(void **state)
{
    int64_t low = INT64_MAX, high = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        int64_t n = rand_jitter(1000, 10);

        low = n < low ? n : low;
        high = n > high ? n : high;
    }
    assert_in_range(low, 900, 910);
    assert_in_range(high, 1090, 1100);
    assert_int_equal(rand_jitter(5, 0), 5);
    assert_int_equal(rand_jitter(0, 50), 0);
    assert_true(rand_jitter(INT64_MAX / 2, 50) > 0);
}

static void forks_differ(void **state)
{
    uint64_t mine, theirs = 0;
    int pipes[2], status;
    pid_t child;

    (void)state;
    (void)rand_u64();
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        theirs = rand_u64();
        _exit(write(pipes[1], &theirs, sizeof(theirs)) == sizeof(theirs) ? 0 : 1);
    }
    mine = rand_u64();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipes[0], &theirs, sizeof(theirs)), sizeof(theirs));
    assert_true(mine != theirs);
    close(pipes[0]);
    close(pipes[1]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bytes_differ), cmocka_unit_test(in_bounds_and_even), cmocka_unit_test(jitters),
    cmocka_unit_test(forks_differ)};
UNIT_MAIN(tests)
