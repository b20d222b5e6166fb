/* serve.c - towards clients: a context a port; certificates that are shown; who may come.
 *
 * A port with ssl-bump has a context without a certificate: each connection brings the one that was
 * forged for it. What a client may resume is bound to the port, to that certificate and to the host
 * that it was made for, so that no session of one host goes on as one of another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "config.h"
#include "keylog.h"
#include "share.h"

enum { ID_BYTES = SSL_MAX_SID_CTX_LENGTH };

struct port {
    SSL_CTX *accept;      /* https_port; NULL: it is none */
    SSL_CTX *bump;        /* ssl-bump; NULL: not there */
    struct pem pem;       /* ssl-bump: who signs, or (generate off) what is shown; zero: none */
    bool fixed;           /* ssl-bump: the port's own certificate is shown, and none is made */
    uint8_t id[ID_BYTES]; /* that its sessions belong to */
};
static struct port *ports;
static size_t n_ports;

/* ---- setup ---- */

/* http/1.1 if the client offers it. Who offers only other protocols goes on without one: it learns by
 * the answer, as from any server of before ALPN. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    static const char wanted[] = "http/1.1";

    (void)ssl;
    (void)arg;
    for (unsigned at = 0; at < in_len && at + 1U + in[at] <= in_len; at += 1U + in[at])
        if (in[at] == sizeof wanted - 1 && memcmp(in + at + 1, wanted, sizeof wanted - 1) == 0) {
            *out = in + at + 1;
            *out_len = in[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_NOACK;
}

static bool dh_set(SSL_CTX *ctx, const struct bt_tls_port *said, struct bt_error *err)
{
    const char *colon = said->dh.at != NULL ? memchr(said->dh.at, ':', said->dh.len) : NULL;
    bt_str file = said->dh;
    EVP_PKEY *params;
    char curve[64];
    BIO *in;

    SSL_CTX_set_dh_auto(ctx, 1);
    if (said->dh.len == 0)
        return true;
    if (colon != NULL && said->dh.at[0] != '/') {
        size_t n = (size_t)(colon - said->dh.at);

        file = (bt_str){colon + 1, said->dh.len - n - 1};
        snprintf(curve, sizeof curve, "%.*s", (int)n, said->dh.at);
        if (SSL_CTX_set1_groups_list(ctx, curve) != 1) {
            ERR_clear_error();
            return bt_complain(err, said->at,
                               "tls-dh=: OpenSSL has no curve '%s'; prime256v1 and "
                               "X25519 are two that it has",
                               curve);
        }
    }
    in = file.len > 0 ? BIO_new_file(file.at, "rb") : NULL;
    params = in != NULL ? PEM_read_bio_Parameters(in, NULL) : NULL;
    BIO_free(in);
    ERR_clear_error();
    if (params == NULL) {
        if (file.len > 0)
            bt_caution(err, said->at,
                       "%.*s: there are no Diffie-Hellman parameters (PEM) in it, or it cannot "
                       "be read; those of OpenSSL are used",
                       BT_STR_ARGS(file));
        return true;
    }
    if (SSL_CTX_set0_tmp_dh_pkey(ctx, params) == 1) {
        SSL_CTX_set_dh_auto(ctx, 0);
        return true;
    }
    EVP_PKEY_free(params);
    ERR_clear_error();
    bt_caution(
        err, said->at,
        "%.*s: these parameters are too short, 2048 bits are asked for; those of OpenSSL are "
        "used",
        BT_STR_ARGS(file));
    return true;
}

static bool clients_set(SSL_CTX *ctx, const struct bt_tls_port *said, unsigned flags,
                        struct bt_error *err)
{
    STACK_OF(X509_NAME) * names;

    if (said->clientca.len == 0) {
        if ((flags & (CONFIG_CONDITIONAL_AUTH | CONFIG_DELAYED_AUTH)) != 0)
            bt_caution(err, said->at,
                       "sslflags= is about certificates of clients, which are not "
                       "asked for; clientca=FILE does that");
        return true;
    }
    names = SSL_load_client_CA_file(said->clientca.at);
    ERR_clear_error();
    if (names == NULL)
        return bt_complain(
            err, said->at,
            "%.*s: there is no certificate of an authority (PEM) in it, or it cannot "
            "be read",
            BT_STR_ARGS(said->clientca));
    SSL_CTX_set_client_CA_list(ctx, names);
    if ((flags & CONFIG_DELAYED_AUTH) != 0) {
        bt_caution(err, said->at,
                   "sslflags=DELAYED_AUTH: clients are never asked for a certificate then; write "
                   "CONDITIONAL_AUTH to ask, and to let those pass who have none");
        return true;
    }
    SSL_CTX_set_verify(
        ctx,
        SSL_VERIFY_PEER |
            ((flags & CONFIG_CONDITIONAL_AUTH) != 0 ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
        NULL);
    return true;
}

static SSL_CTX *port_context(const struct bt_tls_port *said, bool bump, struct bt_error *err)
{
    struct config_words words = {.at = said->at,
                                 .what = bump ? "http_port" : "https_port",
                                 .cipher = said->cipher,
                                 .options = said->options,
                                 .min_version = said->min_version,
                                 .crlfile = said->crlfile,
                                 .capath = said->capath,
                                 .flags = said->flags,
                                 .default_ca = said->default_ca};
    unsigned flags, known = CONFIG_DELAYED_AUTH | CONFIG_CONDITIONAL_AUTH |
                            CONFIG_NO_SESSION_REUSE | CONFIG_VERIFY_CRL | CONFIG_VERIFY_CRL_ALL |
                            CONFIG_NO_DEFAULT_CA;
    bool good = config_flags(&words, known, &flags, err);
    SSL_CTX *ctx;

    words.crl = (flags & CONFIG_VERIFY_CRL) != 0;
    words.crl_all = (flags & CONFIG_VERIFY_CRL_ALL) != 0;
    if (!bump) { /* a bumped client has no business with them: who it is was settled by CONNECT */
        words.cert = said->cert;
        words.key = said->key;
        words.cafile = said->cafile.len > 0 ? said->cafile : said->clientca;
    }
    ctx = config_context(TLS_server_method(), &words, err);
    if (ctx == NULL)
        return NULL;
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    share_context(ctx, (flags & CONFIG_NO_SESSION_REUSE) == 0);
    good &= dh_set(ctx, said, err);
    if (!bump)
        good &= clients_set(ctx, said, flags, err);
    if (good)
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

static void id_add(EVP_MD_CTX *digest, bt_str text)
{
    uint64_t len = text.len;

    EVP_DigestUpdate(digest, &len, sizeof len);
    EVP_DigestUpdate(digest, text.at, text.len);
}

/* Of all that decides who may come, so that a reload that changes it ends the sessions of before. */
static bool id_make(const struct bt_tls_port *said, bool bump, uint8_t id[ID_BYTES])
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    bool fine = digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1;

    if (fine) {
        id_add(digest, bump ? BT_STR("bump") : BT_STR("port"));
        id_add(digest, said->context.len > 0 ? said->context : said->at->text);
        id_add(digest, said->cert);
        id_add(digest, said->clientca);
        id_add(digest, said->cafile);
        id_add(digest, said->capath);
        id_add(digest, said->crlfile);
        id_add(digest, said->flags);
        fine = EVP_DigestFinal_ex(digest, id, NULL) == 1;
    }
    EVP_MD_CTX_free(digest);
    return fine;
}

static bool port_ca(struct port *port, const struct bt_tls_port *said, struct bt_error *err)
{
    struct pem_says says;

    if (said->cert.len == 0)
        return bt_complain(err, said->at, "ssl-bump needs an authority: add tls-cert=FILE");
    if (!pem_load(said->cert.at, said->key.len > 0 ? said->key.at : NULL, &port->pem, &says))
        return bt_complain(err, said->at, "%s", says.text);
    port->fixed = !said->generate;
    if (!port->fixed && !pem_is_ca(&port->pem, said->cert.at, bt_wall_ms() / 1000, &says))
        return bt_complain(err, said->at, "%s", says.text);
    return true;
}

static bool port_setup(struct port *port, const struct bt_tls_port *said, struct bt_error *err)
{
    SSL_CTX **ctx = said->bump ? &port->bump : &port->accept;
    bool good = true;

    if (said->bump)
        good = port_ca(port, said, err);
    *ctx = port_context(said, said->bump, err);
    if (*ctx == NULL)
        return false;
    return id_make(said, said->bump, port->id) &&
           SSL_CTX_set_session_id_context(*ctx, port->id, sizeof port->id) == 1 && good;
}

static void ports_end(void *all_)
{
    struct port *all = all_;

    for (size_t i = 0; i < n_ports; i++) {
        SSL_CTX_free(all[i].accept);
        SSL_CTX_free(all[i].bump);
        pem_free(&all[i].pem);
    }
    n_ports = 0;
}

bool serve_setup(struct bt_arena *arena, struct bt_error *err)
{
    const struct bt_tls_port *said;
    bool good = true, any = false;

    n_ports = bt_tls_ports(&said);
    ports = bt_alloc(arena, n_ports * sizeof *ports + 1);
    bt_defer(arena, ports_end, ports);
    for (size_t i = 0; i < n_ports; i++) {
        if (!said[i].tls && !said[i].bump)
            continue;
        any = true;
        good &= port_setup(&ports[i], &said[i], err);
    }
    return (!any || share_setup(err)) && good;
}

bool serve_start(void)
{
    return true;
}

const struct pem *serve_ca(unsigned port)
{
    return port < n_ports && ports[port].pem.cert != NULL ? &ports[port].pem : NULL;
}

/* ---- connections ---- */

struct bt_tls_side *serve_accept(unsigned port, int fd, bt_str early)
{
    struct bt_tls_side *side;

    if (port >= n_ports || ports[port].accept == NULL)
        return NULL;
    side = side_new(SSL_new(ports[port].accept), fd, true);
    if (side != NULL && !side_early(side, early)) {
        tls_transport.close(side);
        return NULL;
    }
    if (side != NULL)
        keylog_choose(side, NULL);
    return side;
}

static bool session_bind(SSL *ssl, const struct port *port, X509 *cert, bt_str host)
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    uint8_t id[ID_BYTES], print[EVP_MAX_MD_SIZE];
    unsigned len;
    bool fine = digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
                X509_digest(cert, EVP_sha256(), print, &len) == 1;

    if (fine) {
        id_add(digest, (bt_str){(const char *)port->id, sizeof port->id});
        id_add(digest, (bt_str){(const char *)print, len});
        id_add(digest, host);
        fine = EVP_DigestFinal_ex(digest, id, NULL) == 1 &&
               SSL_set_session_id_context(ssl, id, sizeof id) == 1;
    }
    EVP_MD_CTX_free(digest);
    return fine;
}

struct bt_tls_side *serve_bump(struct bt_txn *txn, int fd, bt_str early)
{
    struct tls_client *client = tls_client(txn);
    struct tls_leaf *leaf = client->leaf;
    const struct port *port = &ports[bt_tls_port(txn)];
    X509 *cert = leaf != NULL ? leaf->cert : port->pem.cert;
    EVP_PKEY *key = leaf != NULL ? leaf->key : port->pem.key;
    STACK_OF(X509) *chain = leaf != NULL ? leaf->chain : port->pem.chain;
    struct bt_tls_side *side;
    bt_str host = bump_name(txn);
    SSL *ssl;

    if (port->bump == NULL || cert == NULL || (leaf == NULL && !port->fixed))
        return NULL;
    ssl = SSL_new(port->bump);
    if (ssl == NULL || SSL_use_cert_and_key(ssl, cert, key, chain, 1) != 1 ||
        !session_bind(ssl, port, cert, host.at != NULL ? host : bt_tls_connect_host(txn))) {
        SSL_free(ssl);
        ERR_clear_error();
        return NULL;
    }
    side = side_new(ssl, fd, true);
    if (side == NULL || side_early(side, early)) {
        if (side != NULL && leaf != NULL)
            side->leaf = leaf_hold(leaf);
        if (side != NULL)
            keylog_choose(side, txn);
        return side;
    }
    tls_transport.close(side);
    return NULL;
}
