/* aia.h - certificates between origins and authorities that origins forget to send, fetched from where
 * the certificates say that their issuer's is (RFC 5280 4.2.2.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_AIA_H
#define TLS_AIA_H

#include <openssl/x509.h>

#include "bt.h"

/* sslproxy_fetch_intermediates, in the order of its words. */
enum aia_mode { AIA_OFF, AIA_PUBLIC, AIA_ANY };

/* A handshake that waits; in its own memory, zeroed. */
struct aia_wait {
    struct aia_place *place; /* NULL: it does not wait */
    struct aia_wait *next;
    struct bt_txn *txn;
    unsigned tries; /* fetches that it has waited for */
};

/* What was fetched for the issuer of that certificate, perhaps something else; the memory's own. NULL:
 * nothing. */
STACK_OF(X509) * aia_known(const X509 *cert);
/* Is anything remembered? */
bool aia_any(void);
/* Fetch it, or wait for who does. true: the exchange is resumed when there is news. false: there is
 * nothing (more) to be had. */
BT_MUST bool aia_fetch(struct aia_wait *, const X509 *cert, struct bt_txn *);
/* It waits no longer; safe in any case. */
void aia_leave(struct aia_wait *);
void aia_stop(void);

#endif
