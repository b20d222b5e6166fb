/* later.h - what the processes ask of later.c; the rest is in bt_later.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_LATER_H
#define NET_LATER_H

#include <stdbool.h>

/* Is work of modules waiting, or under way in its thread? Then the configuration is in use. */
bool later_busy(void);

#endif
