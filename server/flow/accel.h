/* accel.h - ports with accel: the proxy stands before a site, whose clients take it for the site.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_ACCEL_H
#define FLOW_ACCEL_H

#include "flow/txn.h"

/* The URL of a request on such a port; what it need not say is taken out of it (ignore-cc), and without
 * allow-direct only parents may be asked. */
enum head_fault accel_url(struct bt_txn *);

/* act-as-origin: the head of an answer that is about to go to the client loses its Age, when it has one,
 * and gets the dates that it would have if it were made now. */
void accel_renew(struct bt_txn *);

#endif
