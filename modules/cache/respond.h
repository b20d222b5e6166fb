/* respond.h - phase RESPONSE: what the origin says, and what that means for what is there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_RESPOND_H
#define CACHE_RESPOND_H

#include "visit.h"

enum bt_verdict respond(struct bt_txn *);

#endif
