/* own.h - is that one of our own ports, and is that asked of this server itself?
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

/* Its target, as url_parse() is to see it: cache_object:// of old Squids is a path of ours. */
bt_str own_target(struct bt_txn *);
/* The request has been read: is it for the pages of this server? Then its URL is made whole, and
 * txn->own is set. */
void own_look(struct bt_txn *);
/* From within step admit: the answer of the module that has the pages. */
enum go own_answer_now(struct bt_txn *);
/* The exchange is over, for the module that has the pages. */
void own_tell(struct bt_txn *);

#endif
