/* descriptors.h - how many descriptors there are, and which of them are not for clients.
 *
 * The kernel hands out the lowest number that is free, so the number of a new one tells how many are
 * in use. The last 128 (of few, the last quarter) are for those who are inside: their origins, name
 * servers, logs, and whoever asks how the server is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_DESCRIPTORS_H
#define NET_DESCRIPTORS_H

#include "bt_types.h"

/* Does this number say that only the last ones are left? */
bool descriptors_short(int fd);
/* Are they, now? Costs two calls. */
bool descriptors_short_now(void);
/* Were they ever? Then the number of a new one tells no more how many are in use: numbers become free
 * far below while the last ones are still held, and whoever goes by the number takes one more of the
 * last each time. Ask descriptors_short_now() instead, before. */
bool descriptors_reached(void);

#endif
