/* cache.c - the cache: what of it exists so far hooks into nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt.h"

BT_MODULE(cache, "Keeps responses in memory that all workers share (RFC 9111).", .conf_size = 0);
