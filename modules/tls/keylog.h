/* keylog.h - the keys of connections in a file, for who must read a capture (tls_key_log).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_KEYLOG_H
#define TLS_KEYLOG_H

#include "tls.h"

bool keylog_set(void *conf, const struct bt_line *, struct bt_error *); /* .set of its row */
/* Opens the files. */
BT_MUST bool keylog_setup(struct bt_error *);
void keylog_context(SSL_CTX *);
/* Whether, and where, the keys of this side are written: the first line that holds. `txn` NULL: nothing
 * is known of the client yet, and only a line without ACLs holds. */
void keylog_choose(struct bt_tls_side *, struct bt_txn *txn);

#endif
