/* bt_clock.h - what time it is, for a module: read once a turn of the loop, and moved by tests; dates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_CLOCK_H
#define BT_CLOCK_H

#include "bt_types.h"

/* Milliseconds since 1970. */
BT_API int64_t bt_wall_ms(void);

/* An HTTP date of any of its three forms (RFC 9110 5.6.7), to seconds since 1970; `now` (seconds)
 * decides the century of two-digit years. Case does not matter, all else is strict. false: not a
 * date, and *seconds is untouched. */
BT_API BT_MUST bool bt_date_parse(bt_str text, int64_t now, int64_t *seconds);
/* The one form that is sent, BT_DATE_LEN bytes without NUL; years 0 to 9999. */
#define BT_DATE_LEN 29
BT_API void bt_date_print(char out[BT_DATE_LEN], int64_t seconds);

#endif
