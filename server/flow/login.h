/* login.h - who is logged in, and when a refusal asks the client to log in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_LOGIN_H
#define FLOW_LOGIN_H

#include "flow/txn.h"

/* A refusal by the rules, after they said `match`: should the client (again) say who it is? When a
 * login was looked for and there was none, and when the ACL that was looked at last is about it. */
bool login_is_wanted(struct bt_txn *, enum bt_match match);
/* From within a step: 407 with the challenges of all schemes. Returns GO_ON. */
enum go login_challenge(struct bt_txn *);

#endif
