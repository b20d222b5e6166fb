/* tasks.h - what the program does when it is not to serve: -k, -v, -z, --modules and the like.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_TASKS_H
#define PROC_TASKS_H

#include "proc/options.h"

/* The exit status. */
int tasks_run(const struct options *);
/* The child of a master that reloads (reload.h). */
int tasks_check_start(const struct options *);

#endif
