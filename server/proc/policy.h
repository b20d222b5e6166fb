/* policy.h - --lua-check FILE, --lua-test FILE: a script is looked at, without a configuration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_POLICY_H
#define PROC_POLICY_H

#include "proc/options.h"

/* Is it a script that a server would take? Complaints are printed; the status to exit with. */
int policy_check(const struct options *);
/* Run its functions test_*, in a worker that serves nobody. */
int policy_test(const struct options *);

#endif
