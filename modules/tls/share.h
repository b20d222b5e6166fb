/* share.h - sessions of clients that go on in any worker: keys of tickets, and sessions by number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_SHARE_H
#define TLS_SHARE_H

#include "tls.h"

/* Once, in .setup, when any port speaks TLS with clients. */
BT_MUST bool share_setup(struct bt_error *);
/* Sessions of this context are shared, or (`reuse` false) there are none. */
void share_context(SSL_CTX *, bool reuse);

#endif
