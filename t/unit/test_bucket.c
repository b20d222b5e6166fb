/* test_bucket.c - buckets: how they fill, debts, what is given back, who shares one, and that none is lost
 * when all places are taken.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/bucket.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
    (void)state;
    buckets = mmap(NULL, sizeof *buckets, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0);
    assert_ptr_not_equal(buckets, MAP_FAILED);
    buckets->key[0] = 7;
    clock_refresh();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    munmap(buckets, sizeof *buckets);
    buckets = NULL;
    return 0;
}

static struct bt_bucket find(const char *key, int64_t rate, int64_t most, int64_t begin)
{
    return bt_bucket_find((bt_str){key, strlen(key)}, &(struct bt_pace){rate, most, begin});
}

static void pass(int64_t ms)
{
    clock_now_us += ms * 1000;
}

static void fills(void **state)
{
    (void)state;
    struct bt_bucket b = find("a", 1000, 5000, 2000);
    assert_int_equal(bt_bucket_level(&b), 2000);
    pass(1000);
    assert_int_equal(bt_bucket_level(&b), 3000);
    pass(60000);
    assert_int_equal(bt_bucket_level(&b), 5000);
    assert_int_equal(bt_bucket_take(&b, 4000), 0);
    assert_int_equal(bt_bucket_level(&b), 1000);
    assert_int_equal(bt_bucket_take(&b, 0), 0);
}

static void owes(void **state)
{
    (void)state;
    struct bt_bucket b = find("a", 1000, 1000, 0), again;
    assert_int_equal(bt_bucket_take(&b, 500), 500000);
    assert_int_equal(bt_bucket_take(&b, 500), 1000000); /* who comes later waits for both */
    assert_int_equal(bt_bucket_level(&b), -1000);
    again = find("a", 1000, 1000, 0);
    assert_int_equal(bt_bucket_take(&again, 0), 1000000);
    assert_int_equal(bt_bucket_take(&b, -700), 300000);
    pass(400);
    assert_int_equal(bt_bucket_level(&b), 100);
}

static void differs(void **state)
{
    (void)state;
    struct bt_bucket a = find("a", 1000, 1000, 1000), b = find("b", 1000, 1000, 1000);
    struct bt_bucket faster = find("a", 2000, 1000, 1000), larger = find("a", 1000, 3000, 1000);
    (void)bt_bucket_take(&a, 900);
    assert_int_equal(bt_bucket_level(&a), 100);
    assert_int_equal(bt_bucket_level(&b), 1000);
    assert_int_equal(bt_bucket_level(&faster), 1000);
    assert_int_equal(bt_bucket_level(&larger), 1000);
}

/* One that is full gives its place to another; who still holds it finds itself anew. */
static void places(void **state)
{
    enum { KEYS = 200000 };
    char key[32];

    (void)state;
    struct bt_bucket first = find("first", 1000, 1000, 0);
    (void)bt_bucket_take(&first, 500);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < KEYS; i++) {
            (void)snprintf(key, sizeof key, "%d.%d", round, i);
            struct bt_bucket b = find(key, 1000, 1000, 0);
            (void)bt_bucket_take(&b, 100);
        }
        pass(5000); /* all are full */
    }
    assert_true(bt_bucket_level(&first) <= 1000);
    (void)bt_bucket_take(&first, 100);
    assert_int_equal(((struct slot *)first.slot)->tag, first.tag);
}

/* All places of a key are in use: it shares, and is counted; nothing is written elsewhere. */
static void crowded(void **state)
{
    int64_t before;

    (void)state;
    for (uint32_t i = 0; i < SLOTS; i++) {
        buckets->slot[i].tag = 1000 + i;
        buckets->slot[i].empty = now_ns();
        buckets->slot[i].span = SECOND;
    }
    before = count_row[COUNT_pace_crowded];
    struct bt_bucket b = find("a", 1000, 1000, 1000);
    assert_non_null(b.slot);
    assert_int_equal(count_row[COUNT_pace_crowded], before + 1);
    (void)bt_bucket_take(&b, 100);
}

/* Huge amounts and rates stay in the range of the clock. */
static void extremes(void **state)
{
    (void)state;
    struct bt_bucket slow = find("s", 1, INT64_MAX / 2, 0);
    struct bt_bucket fast = find("f", INT64_MAX / 4, INT64_MAX / 2, 1000);
    assert_true(bt_bucket_take(&slow, INT64_MAX / 4) > 0);
    assert_true(bt_bucket_level(&slow) < 0);
    assert_true(bt_bucket_take(&fast, 1000) <= 1);
    assert_true(bt_bucket_level(&fast) >= 0);
}

/* Processes that take at the same time lose nothing. */
static void shared(void **state)
{
    enum { PROCESSES = 4, TAKES = 50000 };

    (void)state;
    struct bt_bucket b = find("a", 1000, 1000, 0);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            for (int k = 0; k < TAKES; k++)
                (void)bt_bucket_take(&b, 1);
            _exit(0);
        }
    for (int i = 0; i < PROCESSES; i++)
        wait(NULL);
    assert_int_equal(bt_bucket_level(&b), -PROCESSES * TAKES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fills, setup, teardown),
        cmocka_unit_test_setup_teardown(owes, setup, teardown),
        cmocka_unit_test_setup_teardown(differs, setup, teardown),
        cmocka_unit_test_setup_teardown(places, setup, teardown),
        cmocka_unit_test_setup_teardown(crowded, setup, teardown),
        cmocka_unit_test_setup_teardown(extremes, setup, teardown),
        cmocka_unit_test_setup_teardown(shared, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
