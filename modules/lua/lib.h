/* lib.h - what the files lib_*.c share, and what lua.c asks of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LUA_LIB_H
#define LUA_LIB_H

#include "lua.h"

/* The userdata of wait_new(), on the top of the stack, has something that `gc` frees when it goes. */
void wait_frees(lua_State *, const char *kind, lua_CFunction gc);

/* In the master, before scripts are loaded. */
BT_MUST bool shared_setup(struct bt_error *);
/* In a worker: programs of bt.helper. */
void helpers_start(void);
void helpers_stop(void);

#endif
