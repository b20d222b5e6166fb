/* bt.h - the one include of a module: everything that it and the server agree on.
 *
 * Read in this order: bt_types.h (values), bt_mem.h (memory), bt_module.h (the tables that a
 * module is made of), bt_txn.h (what a hook may ask and do), bt_cache.h (answers that are kept),
 * bt_fetch.h and bt_net.h (what a module asks for itself), bt_route.h (parents), bt_sets.h,
 * bt_regex.h, bt_format.h, bt_helper.h, bt_later.h, bt_shared.h, bt_pace.h (rates), bt_clock.h and
 * bt_log.h (services), bt_pages.h (what the server knows about itself).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_H
#define BT_H

#include "bt_cache.h"
#include "bt_clock.h"
#include "bt_fetch.h"
#include "bt_format.h"
#include "bt_helper.h"
#include "bt_later.h"
#include "bt_log.h"
#include "bt_mem.h"
#include "bt_module.h"
#include "bt_net.h"
#include "bt_pace.h"
#include "bt_pages.h"
#include "bt_regex.h"
#include "bt_route.h"
#include "bt_sets.h"
#include "bt_shared.h"
#include "bt_sketch.h"
#include "bt_tls.h"
#include "bt_txn.h"
#include "bt_types.h"

#endif
