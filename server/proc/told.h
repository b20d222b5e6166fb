/* told.h - what the control socket tells of the server as a whole, and asks of all workers.
 *
 * Each is a command of admin.h: its words, and the call that it answers, now or later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_TOLD_H
#define PROC_TOLD_H

#include "proc/admin.h"

typedef void told_command(struct admin_call *, bt_str *word, size_t n);

told_command told_status, told_config, told_top, told_kill, told_set, told_log, told_tail;

#endif
