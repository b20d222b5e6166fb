/* shared.h - what lua.c asks of lib_shared.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LUA_SHARED_H
#define LUA_SHARED_H

#include "bt.h"

/* In the master, before scripts are loaded. */
BT_MUST bool shared_setup(struct bt_error *);

#endif
