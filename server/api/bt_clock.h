/* bt_clock.h - what time it is, for a module: read once a turn of the loop, and moved by tests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_CLOCK_H
#define BT_CLOCK_H

#include "bt_types.h"

/* Milliseconds since 1970. */
BT_API int64_t bt_wall_ms(void);

#endif
