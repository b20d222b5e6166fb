/* upgrade.h - Upgrade: another protocol on the same connection, WebSocket above all.
 *
 * An upgraded connection is a tunnel: so it passes where CONNECT to the same place would, unless
 * http_upgrade_request_protocols says which protocols pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_UPGRADE_H
#define FLOW_UPGRADE_H

#include "flow/core.h"
#include "flow/txn.h"

struct upgrade {
    bt_str offer; /* what goes to the origin as Upgrade; NONE: nothing may */
    bool decided;
    bool asking;         /* http_access is being asked about the CONNECT that it amounts to */
    struct head was_req; /* the request as it is, while it is asked about as a CONNECT */
    struct url was_url;
};

/* .set of http_upgrade_request_protocols */
bool upgrade_set(void *conf, const struct bt_line *, struct bt_error *);
/* Part of step admit: may the protocols that the client offers pass? GO_WAIT: the rules wait. */
enum go upgrade_decide(struct bt_txn *);
/* What to send as Upgrade; NONE: nothing. */
bt_str upgrade_offer(const struct bt_txn *);
/* None of them after all. Only while there is an offer. */
void upgrade_drop(struct bt_txn *);

#endif
