/* commands.h - what bobtailctl asks of the cache.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_COMMANDS_H
#define CACHE_COMMANDS_H

#include "bt.h"

/* bobtailctl cache [URL] */
void commands_cache(struct bt_call *, const bt_str *word, size_t n);
/* bobtailctl purge URL|prefix URL|regex PATTERN */
void commands_purge(struct bt_call *, const bt_str *word, size_t n);

#endif
