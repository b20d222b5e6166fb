/* unit.h - what every unit program includes: cmocka, and TAP on standard output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define UNIT_MAIN(tests)                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        cmocka_set_message_output(CM_OUTPUT_TAP);                                                  \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#define assert_str(got, literal)                                                                   \
    do {                                                                                           \
        bt_str got_ = (got);                                                                       \
        if (got_.len != strlen(literal) || memcmp(got_.at, literal, got_.len) != 0)                \
            fail_msg("«%.*s» is not «%s»", (int)got_.len, got_.at, literal);                       \
    } while (0)

#endif
