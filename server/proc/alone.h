/* alone.h - the server as one process (-N): master and worker in one, in the foreground.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_ALONE_H
#define PROC_ALONE_H

#include "proc/options.h"

/* The exit status of the server. */
int alone_run(const struct options *);
/* Called once, when it serves; NULL: nothing to do then. */
extern void (*alone_started)(void);
/* From within: end it. */
void alone_stop(void);

#endif
