/* outgoing.h - where connections to origins come from, and in which order addresses are tried.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_OUTGOING_H
#define FLOW_OUTGOING_H

#include "flow/core.h"
#include "flow/txn.h"

/* .set of tcp_outgoing_address and of dns_v4_first */
bool outgoing_set(void *conf, const struct bt_line *, struct bt_error *);
bool outgoing_v4_first_set(void *conf, const struct bt_line *, struct bt_error *);

/* The address to come from when going to `to`; NULL: the kernel chooses. Asked once an exchange. */
const struct sockaddr *outgoing_for(struct bt_txn *, const struct sockaddr *to);

#endif
