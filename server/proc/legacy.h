/* legacy.h - gathers what this image of the master leaves to the next, and takes what was left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_LEGACY_H
#define PROC_LEGACY_H

#include "proc/crew.h"
#include "proc/start.h"

/* All of it, in the start's arena, which ends with this image. `served`: some image of us has. */
struct handover legacy_now(const struct start *, const struct crew *newest, bool served);
/* Zones and wake-ups of the image before us, for those who make them again. */
void legacy_take(const struct handover *);

#endif
