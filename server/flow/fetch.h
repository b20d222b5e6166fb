/* fetch.h - exchanges that a module has asked for (bt_fetch.h), as the steps see them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_FETCH_H
#define FLOW_FETCH_H

#include "flow/txn.h"

/* Its host must have public addresses alone. */
bool fetch_public_only(const struct bt_txn *);

#endif
