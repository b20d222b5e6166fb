/* test_acl_http.c - method and proto.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl/acl_http.c"

#include "type_fake.h"

static const char *with(struct compiled made, const char *method)
{
    struct bt_txn txn = {.method = str_from(method)};
    return matches(made, &txn);
}

static void method(void **state)
{
    (void)state;
    struct compiled is = compiled_of("method", "CONNECT", "GET POST", "get purge", "REPORT",
                                     "X-own");
    assert_int_equal(err.n, 0);
    assert_string_equal(with(is, "CONNECT"), "1");
    assert_string_equal(with(is, "GET"), "2 3");
    assert_string_equal(with(is, "get"), "");
    assert_string_equal(with(is, "POST"), "2");
    assert_string_equal(with(is, "PURGE"), "3");
    assert_string_equal(with(is, "REPORT"), "4");
    assert_string_equal(with(is, "X-own"), "5");
    assert_string_equal(with(is, "X-OWN"), "");
    assert_string_equal(with(is, "PUT"), "");
    assert_string_equal(with(is, ""), "");
    refused("method", "GET GE/T", 5, "cannot be a request method");
}

static const char *over(struct compiled made, const char *scheme)
{
    struct bt_txn txn = {.scheme = str_from(scheme)};
    return matches(made, &txn);
}

static void proto(void **state)
{
    (void)state;
    struct compiled is = compiled_of("proto", "HTTP", "https FTP", "none", "http cache_object",
                                     "htp");
    assert_non_null(is.what);
    assert_string_equal(over(is, "http"), "1 4");
    assert_string_equal(over(is, "https"), "2");
    assert_string_equal(over(is, "ftp"), "2");
    assert_string_equal(over(is, ""), "3"); /* CONNECT */
    assert_string_equal(over(is, "cache_object"), "");
    assert_true(said(4, 6, false, "cache_object never matches"));
    assert_true(said(5, 1, false, "'htp'"));
    assert_int_equal(err.n, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {TEST(method), TEST(proto)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
