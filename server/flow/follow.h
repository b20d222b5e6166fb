/* follow.h - X-Forwarded-For: who stands behind proxies that are believed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_FOLLOW_H
#define FLOW_FOLLOW_H

#include "flow/txn.h"

/* Before any list is asked: find the client, by follow_x_forwarded_for. Once an exchange; never
 * waits. */
void follow_walk(struct bt_txn *);

#endif
