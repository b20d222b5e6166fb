/* lookup.h - phase LOOKUP: is it there, and may it be used; else who fetches it?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_LOOKUP_H
#define CACHE_LOOKUP_H

#include "visit.h"

enum bt_verdict lookup(struct bt_txn *);

#endif
