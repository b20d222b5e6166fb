/* epoch.h - what was fetched before something was changed or purged is not found afterwards.
 *
 * Dropping a copy does not reach the fetch that is under way just then: what it brings was said
 * before the change (RFC 9111 4.4), and would be kept after it. So each URL has an epoch, which a
 * change ends. A fetch remembers that of its beginning, is kept only in that one, and is joined only
 * by those who came in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_EPOCH_H
#define CACHE_EPOCH_H

#include "bt.h"

BT_MUST bool epoch_setup(struct bt_error *);
uint64_t epoch_now(bt_str primary);
/* First this, then drop the copy. */
void epoch_end(bt_str primary);
void epoch_end_all(void);

#endif
