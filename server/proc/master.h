/* master.h - the process that reads, binds, forks and watches, and carries no traffic.
 *
 * A life: start_load() and start_bind() find every fault while there is still a terminal; then, as a
 * daemon perhaps, the files of a running server are made, a worker is forked for each row of the
 * segment, and from then on the master only waits: for signals, for the control socket, for words
 * from workers, and for the time at which something is due.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_MASTER_H
#define PROC_MASTER_H

#include "proc/options.h"

/* The exit status of the server. */
int master_run(const struct options *);

#endif
