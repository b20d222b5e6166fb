/* server.c - who an origin says it is, in clear, to a hello of the client's own that was passed on.
 *
 * serverhello.c reads; the certificates become a struct tls_peer here. Nothing of it is verified:
 * what comes of the handshake is between the client and the origin, and rules alone look at it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

#include <openssl/err.h>

#include "counts.h"
#include "serverhello.h"

enum { CHAIN_MAX = 16 };

/* NULL: these bytes are no certificate. */
static X509 *cert_of(bt_str der)
{
    const unsigned char *at = (const unsigned char *)der.at;
    X509 *cert = d2i_X509(NULL, &at, (long)der.len);

    if (cert != NULL && at != (const unsigned char *)der.at + der.len) {
        X509_free(cert);
        cert = NULL;
    }
    ERR_clear_error();
    return cert;
}

static STACK_OF(X509) * chain_of(const struct serverhello_reader *heard)
{
    STACK_OF(X509) *chain = sk_X509_new_null();

    for (size_t i = 1; chain != NULL && i < heard->certs && i <= CHAIN_MAX; i++) {
        X509 *cert = cert_of(heard->cert[i]);
        if (cert == NULL)
            break;
        if (sk_X509_push(chain, cert) == 0) {
            X509_free(cert);
            break;
        }
    }
    return chain;
}

static struct tls_peer *peer_of(const struct serverhello_reader *heard)
{
    X509 *cert = heard->certs == 0 ? NULL : cert_of(heard->cert[0]);
    STACK_OF(X509) *chain = NULL;
    struct tls_peer *peer = NULL;

    if (cert != NULL && (chain = chain_of(heard)) != NULL)
        peer = tls_peer_new(cert, chain);
    sk_X509_pop_free(chain, X509_free);
    X509_free(cert);
    return peer;
}

enum bt_tls_state server_peek(struct bt_txn *txn, bt_str bytes)
{
    struct tls_client *client = tls_client(txn);
    struct serverhello_reader *heard = client->heard;

    if (heard == NULL) {
        heard = client->heard = bt_alloc(client->arena, sizeof *heard);
        serverhello_init(heard, client->arena);
    }
    enum serverhello_verdict verdict = heard->verdict;
    if (bytes.len > client->heard_bytes) {
        verdict = serverhello_feed(heard, bytes.at + client->heard_bytes,
                                   bytes.len - client->heard_bytes);
        client->heard_bytes = bytes.len;
    }
    if (verdict == SERVERHELLO_MORE)
        return BT_TLS_WAIT;
    if (heard->why != NULL)
        bt_log(txn, BT_DEBUG, "peeked at an origin: %s", heard->why);
    if (verdict == SERVERHELLO_NOT_TLS)
        return BT_TLS_FAILED;
    if (client->peer == NULL)
        client->peer = peer_of(heard);
    if (client->peer != NULL)
        bt_count(peek_cert);
    else
        bt_count(peek_blind);
    return BT_TLS_READY;
}
