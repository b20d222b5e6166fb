/* test_counter.c - buckets and quantiles of histograms; text, JSON and OpenMetrics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/counter.h"
#include "stat/counts.h"
#include "stat/render.h"

static const struct bt_counter sample[] = {
    {"sample.things", BT_COUNT, "things", "Things that came."},
    {"sample.open", BT_GAUGE, "things", "Things that are open."},
    {"sample.time", BT_HISTOGRAM, "microseconds", "How long things took."},
    {"sample.\"odd\"", BT_COUNT, "things", "A name that JSON must quote."},
    {"sample.busy", BT_COUNT, "microseconds", "A count of time."},
};
static _Atomic int64_t *row;
static struct segment segment;

static int open_it(void **state)
{
    (void)state;
    counter_register(sample, sizeof sample / sizeof *sample, &row);
    return counter_make(&segment, 2) ? 0 : -1;
}

static int close_it(void **state)
{
    (void)state;
    segment_close(&segment);
    counter_forget();
    return 0;
}

static void buckets_and_their_inverse_agree(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BT_HISTOGRAM_BUCKETS; i++) {
        int64_t low = counter_bucket_low(i);
        assert_int_equal(bt_bucket(low), i);
        if (i > 0)
            assert_int_equal(bt_bucket(low - 1), i - 1);
    }
    assert_int_equal(bt_bucket(-5), 0);
    assert_int_equal(bt_bucket(INT64_MAX), BT_HISTOGRAM_BUCKETS - 1);
}

static void a_bucket_is_at_most_a_sixteenth_wide(void **state)
{
    (void)state;
    for (unsigned i = 16; i < BT_HISTOGRAM_BUCKETS - 1; i++) {
        int64_t low = counter_bucket_low(i), wide = counter_bucket_low(i + 1) - low;
        assert_true(wide * 16 <= low);
    }
}

static void quantiles_are_near_the_truth(void **state)
{
    static int64_t bucket[BT_HISTOGRAM_BUCKETS];

    (void)state;
    assert_int_equal(counter_quantile(bucket, 0.5), 0);
    for (int64_t v = 1; v <= 10000; v++)
        bucket[bt_bucket(v)]++;
    const double shares[] = {0.5, 0.9, 0.99, 1.0};
    for (size_t i = 0; i < 4; i++) {
        double truth = shares[i] * 10000;
        assert_true(abs((int)((double)counter_quantile(bucket, shares[i]) - truth)) <
                    (int)(truth * 0.04));
    }
    memset(bucket, 0, sizeof bucket);
    bucket[bt_bucket(7)] = 1;
    assert_int_equal(counter_quantile(bucket, 0.5), 7);
    assert_int_equal(counter_quantile(bucket, 0.0), 7);
}

static char *rendered(enum render_form form, int kind, const char *pattern)
{
    struct render_filter filter = {kind, pattern};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    render_counters(out, &segment, form, &filter);
    fclose(out);
    return text;
}

static void fill(void)
{
    counter_use(&segment, 1);
    bt_slot_add(&row[0], 3);
    counter_use(&segment, 2);
    bt_slot_add(&row[0], 4);
    bt_slot_add(&row[1], -2);
    bt_observe_at(&row[2], 10);
    bt_observe_at(&row[2], 1000000);
    bt_slot_add(&row[2 + BT_HISTOGRAM_SLOTS + 1], 2500000);
}

static void as_text(void **state)
{
    (void)state;
    fill();
    char *text = rendered(RENDER_TEXT, -1, "sample.t");
    assert_non_null(strstr(text, "sample.things                         7 things\n"));
    assert_non_null(strstr(text, "2 times, p50 10, p90 "));
    assert_null(strstr(text, "sample.open"));
    free(text);
}

static void as_json(void **state)
{
    (void)state;
    fill();
    char *text = rendered(RENDER_JSON, -1, "sample.*");
    int64_t high = counter_bucket_low(bt_bucket(1000000));
    int64_t top = counter_bucket_low(bt_bucket(1000000) + 1) - 1;
    char expected[400];
    snprintf(expected, sizeof expected,
             "{\n  \"sample.things\": 7,\n  \"sample.open\": -2,\n"
             "  \"sample.time\": {\"count\": 2, \"sum\": 1000010, \"p50\": 10, \"p90\": %lld, "
             "\"p99\": %lld},\n  \"sample.\\\"odd\\\"\": 0,\n  \"sample.busy\": 2500000\n}\n",
             (long long)(high + top) / 2, (long long)(high + top) / 2);
    assert_string_equal(text, expected);
    free(text);
    text = rendered(RENDER_JSON, -1, "nothing.like.it");
    assert_string_equal(text, "{}\n");
    free(text);
    text = rendered(RENDER_JSON, BT_GAUGE, "sample");
    assert_string_equal(text, "{\n  \"sample.open\": -2\n}\n");
    free(text);
}

static void as_openmetrics(void **state)
{
    (void)state;
    fill();
    char *text = rendered(RENDER_OPENMETRICS, -1, "sample");
    assert_non_null(strstr(text, "# TYPE bobtail_sample_things counter\n"));
    assert_non_null(strstr(text, "# HELP bobtail_sample_things Things that came.\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_things_total 7\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_open -2\n"));
    assert_non_null(strstr(text, "# TYPE bobtail_sample_time_seconds histogram\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_time_seconds_bucket{le=\"3.1e-05\"} 1\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_time_seconds_bucket{le=\"1.048575\"} 2\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_time_seconds_bucket{le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_time_seconds_count 2\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_time_seconds_sum 1.00001\n"));
    assert_non_null(strstr(text, "\nbobtail_sample_busy_seconds_total 2.5\n"));
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    free(text);
}

static void kinds_have_names(void **state)
{
    (void)state;
    for (int kind = BT_COUNT; kind <= BT_HISTOGRAM; kind++)
        assert_int_equal(render_kind_of(render_kind((enum bt_kind)kind)), kind);
    assert_int_equal(render_kind_of("counter"), -1);
}

static void every_server_counter_has_its_words(void **state)
{
    (void)state;
    assert_true(segment.head->entries > sizeof sample / sizeof *sample);
    for (unsigned i = 0; i < segment.head->entries; i++) {
        const struct segment_entry *entry = segment_entry(&segment, i);
        const char *name = segment_text(&segment, entry->name);
        const char *doc = segment_text(&segment, entry->doc);
        assert_non_null(strchr(name, '.'));
        assert_true(strlen(segment_text(&segment, entry->unit)) > 0);
        assert_int_equal(doc[strlen(doc) - 1], '.');
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(name, segment_text(&segment, segment_entry(&segment, j)->name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_and_their_inverse_agree),
        cmocka_unit_test(a_bucket_is_at_most_a_sixteenth_wide),
        cmocka_unit_test(quantiles_are_near_the_truth),
        cmocka_unit_test_setup_teardown(as_text, open_it, close_it),
        cmocka_unit_test_setup_teardown(as_json, open_it, close_it),
        cmocka_unit_test_setup_teardown(as_openmetrics, open_it, close_it),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test_setup_teardown(every_server_counter_has_its_words, open_it, close_it),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
