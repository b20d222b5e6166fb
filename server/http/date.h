/* date.h - HTTP dates to seconds since 1970 and back (RFC 9110 5.6.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_DATE_H
#define HTTP_DATE_H

#include "bt_types.h"

#define DATE_LEN 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/* Read an HTTP date of any of its three forms. `now` (seconds) decides the century of the form with
 * two-digit years: never more than 50 years ahead. false: not a date, and *seconds is untouched. */
BT_MUST bool date_parse(bt_str text, int64_t now, int64_t *seconds);

/* Write the one form that is sent, exactly DATE_LEN bytes without NUL. Years 0-9999; what is
 * outside is written as the nearest end. */
void date_print(char out[DATE_LEN], int64_t seconds);

#endif
