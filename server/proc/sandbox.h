/* sandbox.h - what a worker may still do when somebody has broken into it: `sandbox on|off|auto`.
 *
 * Files (landlock): it reads the system's folders and those of paths in the configuration, and writes
 * in those of logs, caches and cores alone. System calls (seccomp): none that a proxy has no use for, and
 * no other program. Where the configuration names helper programs, workers start them, and they
 * inherit all this: then files are not fenced, and programs can be run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_SANDBOX_H
#define PROC_SANDBOX_H

#include "plug/generation.h"

enum sandbox { SANDBOX_ON, SANDBOX_OFF, SANDBOX_AUTO }; /* places in the choice */

/* In the worker, with its rights dropped and before it has threads. false: it was to be, and cannot;
 * logged why. */
BT_MUST bool sandbox_enter(enum sandbox, const struct generation *);

#endif
