/* gauges.h - what the memory holds, told once a second by one worker for all of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_GAUGES_H
#define CACHE_GAUGES_H

#include "bt.h"

BT_MUST bool gauges_setup(struct bt_error *);
void gauges_start(void);
void gauges_stop(void);

#endif
