/* errand.h - answers that wait until all workers have done something.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_ERRAND_H
#define PROC_ERRAND_H

#include "proc/admin.h"
#include "proc/crew.h"

/* `call` is answered when the word of that stamp has been dealt with. `gathered`: what workers answered
 * comes together in that file, which is closed after tell() has seen it; -1: it is only done. */
void errand_begin(struct admin_call *call, uint32_t stamp, int gathered, admin_tell *tell);
/* Some worker has done something, or ended. */
void errand_look(const struct crew *newest);

#endif
