/* test_metric.c - what a scrape calls a counter: labels, units, names that others expect.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "stat/metric.h"
#include "unit.h"

static void is_named(const char *counter, const char *unit, const char *family, const char *labels)
{
    struct metric_name name;

    metric_name(counter, unit, &name);
    assert_string_equal(name.family, family);
    assert_string_equal(name.labels, labels);
}

static void test_plain(void **state)
{
    (void)state;
    is_named("client.requests", "requests", "bobtail_client_requests", "");
    is_named("geo.lookups", "look-ups", "bobtail_geo_lookups", "");
    is_named("x.two words-odd", "things", "bobtail_x_two_words_odd", "");
}

static void test_units(void **state)
{
    struct metric_name name;

    (void)state;
    is_named("a.bytes", "bytes", "bobtail_a_bytes", "");
    is_named("a.used", "bytes", "bobtail_a_used_bytes", "");
    is_named("a.bytes_saved", "bytes", "bobtail_a_bytes_saved", "");
    is_named("a.oldest", "seconds", "bobtail_a_oldest_seconds", "");
    is_named("a.shake_time", "microseconds", "bobtail_a_shake_duration_seconds", "");
    metric_name("a.shake_time", "microseconds", &name);
    assert_true(name.scale > 0.99e-6 && name.scale < 1.01e-6);
    assert_string_equal(name.unit, "seconds");
    metric_name("a.bytes_saved", "bytes", &name);
    assert_null(name.unit); /* it is not the end of the name */
}

static void test_labels(void **state)
{
    (void)state;
    is_named("client.bytes_in", "bytes", "bobtail_client_bytes", "direction=\"in\"");
    is_named("result.tcp_mem_hit", "requests", "bobtail_client_results", "result=\"tcp_mem_hit\"");
    is_named("client.head_timeouts", "connections", "bobtail_timeouts", "kind=\"request_head\"");
    is_named("parse.mended", "requests", "bobtail_parse_mended", "");
    is_named("parse.host", "requests", "bobtail_parse_errors", "reason=\"host\"");
    is_named("origin.reused", "requests", "bobtail_upstream_pool_reuse", "");
    is_named("origin.surplus", "connections", "bobtail_upstream_surplus", "");
    is_named("lua.request.time", "microseconds", "bobtail_lua_cpu_seconds", "hook=\"request\"");
    is_named("lua.memory", "bytes", "bobtail_lua_memory_bytes", "");
}

static void test_helpers(void **state)
{
    (void)state;
    is_named("helper.basic.requests", "questions", "bobtail_helper_requests", "helper=\"basic\"");
    is_named("helper.my_acl.time", "microseconds", "bobtail_helper_duration_seconds",
             "helper=\"my_acl\"");
    is_named("helper.odd", "things", "bobtail_helper_odd", "");
}

/* What is longer than there is room for is cut, and ends. */
static void test_long(void **state)
{
    char counter[400];
    struct metric_name name;

    (void)state;
    memset(counter, 'x', sizeof counter - 1);
    counter[sizeof counter - 1] = '\0';
    metric_name(counter, "bytes", &name);
    assert_true(strlen(name.family) < METRIC_NAME);
    memcpy(counter, "result.", 7);
    metric_name(counter, "requests", &name);
    assert_true(strlen(name.labels) < METRIC_LABELS);
    memcpy(counter, "helper.", 7);
    counter[300] = '.';
    metric_name(counter, "microseconds", &name);
    assert_true(strlen(name.family) < METRIC_NAME && strlen(name.labels) < METRIC_LABELS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_labels),
                                       cmocka_unit_test(test_helpers), cmocka_unit_test(test_long)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
