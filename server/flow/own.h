/* own.h - is that one of our own ports?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_OWN_H
#define FLOW_OWN_H

#include "flow/txn.h"

/* Worker: we listen on that descriptor. */
void own_note(int fd);
/* Is that one of our own ports? */
bool own_is(const struct sockaddr *);
/* Is one of the addresses of the exchange's host not one of the public internet (ACL to_private)? */
bool own_is_private(const struct bt_txn *);

#endif
