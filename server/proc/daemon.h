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
/* It serves. Lets go of the terminal; `keep_output` when logs are to go there nevertheless. Without
 * daemon_begin() nothing happens. */
void daemon_done(bool keep_output);
/* Is this process one? */
bool daemon_is(void);

#endif
