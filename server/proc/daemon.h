/* daemon.h - becoming a daemon, without lying about it: whoever started the server waits until it
 * serves, and learns by the exit status whether it does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_DAEMON_H
#define PROC_DAEMON_H

#include "bt_types.h"

/* Returns in the daemon alone. The process that was started waits for daemon_done(), and exits with
 * 0 then, with 1 when the daemon ends without it. false: no process could be made (errno). */
BT_MUST bool daemon_begin(void);
/* It serves. Without daemon_begin() nothing happens. */
void daemon_done(void);
/* Let go of the terminal, but for what is a log: for the daemon (daemon_done() does it) and for each
 * of its workers, which have the same. Nothing happens in a process that is no daemon's. */
void daemon_let_go(void);
/* In a child: whoever waits does not wait for it. */
void daemon_leave(void);
/* Is this process one, or a worker of one? */
bool daemon_is(void);

#endif
