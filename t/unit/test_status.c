/* test_status.c - reason phrases.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/status.h"
#include "unit.h"

static void phrases(void **state)
{
    (void)state;
    assert_str(status_reason(200), "OK");
    assert_str(status_reason(404), "Not Found");
    assert_str(status_reason(431), "Request Header Fields Too Large");
    assert_str(status_reason(511), "Network Authentication Required");
}

static void nobody_named_it(void **state)
{
    (void)state;
    assert_str(status_reason(299), "");
    assert_non_null(status_reason(299).at); /* empty, not absent: it can be written */
    assert_str(status_reason(-1), "");
    assert_str(status_reason(100000), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phrases),
        cmocka_unit_test(nobody_named_it),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
