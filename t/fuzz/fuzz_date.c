/* fuzz_date.c - HTTP dates: what is read can be written and read again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"
#include "http/date.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t now = 1783339200, seconds = 0, back = 0;
    char text[DATE_LEN];

    if (date_parse((bt_str){(const char *)data, size}, now, &seconds)) {
        date_print(text, seconds);
        MUST(date_parse((bt_str){text, DATE_LEN}, now, &back));
        /* (a leap second at the very end of the year 9999 has no name) */
        MUST(back == seconds || seconds > 253402300799);
    }
    if (size >= 8) {
        memcpy(&seconds, data, 8);
        date_print(text, seconds);
        MUST(date_parse((bt_str){text, DATE_LEN}, now, &back));
        MUST(back == seconds || seconds < -62167219200 || seconds > 253402300799);
        /* any clock will do for the years of two digits */
        MUST(date_parse(BT_STR("Sunday, 06-Nov-94 08:49:37 GMT"), seconds / 4, &back));
    }
    return 0;
}
