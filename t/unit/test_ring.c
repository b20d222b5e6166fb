/* test_ring.c - the ring of lines for whoever looks on: order, being overtaken, leases.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/ring.h"

static struct ring *ring;
static struct ring_reader reader;
static char texts[RING_RECORD_MAX];

static int make(void **state)
{
    (void)state;
    ring = calloc(1, sizeof *ring);
    assert_non_null(ring);
    ring_init(ring);
    assert_true(ring_open(&reader, ring, sizeof *ring));
    return 0;
}

static int drop(void **state)
{
    (void)state;
    free(ring);
    return 0;
}

static void put(const char *text)
{
    struct ring_record record = {(uint32_t)strlen(text) + 1, 1};

    ring_put(ring, &record, text);
}

static const char *next(void)
{
    struct ring_record record;

    return ring_next(&reader, &record, texts) ? texts : NULL;
}

static void what_is_put_comes_in_order(void **state)
{
    (void)state;
    assert_null(next());
    put("one");
    put("");
    put("three");
    assert_string_equal(next(), "one");
    assert_string_equal(next(), "");
    assert_string_equal(next(), "three");
    assert_null(next());
}

static void who_comes_later_sees_what_comes_later(void **state)
{
    struct ring_reader late;
    struct ring_record record;

    (void)state;
    put("before");
    assert_true(ring_open(&late, ring, sizeof *ring));
    put("after");
    assert_true(ring_next(&late, &record, texts));
    assert_string_equal(texts, "after");
    assert_int_equal(record.texts, 1);
}

/* Far more than it holds, of odd lengths, so that records lie across its end. */
static void it_goes_round(void **state)
{
    char text[1500];

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        int n = snprintf(text, sizeof text, "%u ", i);
        memset(text + n, 'x', 700 + i % 701);
        text[n + 700 + (int)(i % 701)] = '\0';
        put(text);
        assert_string_equal(next(), text);
    }
    assert_int_equal(reader.missed, 0);
}

static void a_slow_reader_is_overtaken_and_told(void **state)
{
    char text[1000];

    (void)state;
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (unsigned i = 0; i < RING_BYTES / sizeof text; i++)
        put(text);
    assert_null(next()); /* what it had not read may be written over just now */
    assert_int_equal(reader.missed, 1);
    put("new");
    assert_string_equal(next(), "new");
}

static void what_is_too_long_is_left_out(void **state)
{
    static char large[RING_RECORD_MAX + 1];

    (void)state;
    memset(large, 'z', sizeof large - 1);
    put(large);
    put("small");
    assert_string_equal(next(), "small");
}

static void a_lease_ends(void **state)
{
    (void)state;
    assert_false(ring_is_wanted(ring));
    ring_want(&reader, 1000);
    assert_true(ring_is_wanted(ring));
    assert_true(ring_is_read(ring, 1000 + RING_LEASE_MS));
    assert_false(ring_is_read(ring, 1001 + RING_LEASE_MS));
    assert_false(ring_is_wanted(ring));
}

static void what_is_no_ring_is_refused(void **state)
{
    struct ring_reader other;

    (void)state;
    assert_false(ring_open(&other, ring, sizeof *ring - 1));
    ring->magic[0] = 'x';
    assert_false(ring_open(&other, ring, sizeof *ring));
}

#define with(test) cmocka_unit_test_setup_teardown(test, make, drop)
int main(void)
{
    const struct CMUnitTest tests[] = {
        with(what_is_put_comes_in_order),
        with(who_comes_later_sees_what_comes_later),
        with(it_goes_round),
        with(a_slow_reader_is_overtaken_and_told),
        with(what_is_too_long_is_left_out),
        with(a_lease_ends),
        with(what_is_no_ring_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
