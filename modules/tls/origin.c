/* origin.c - towards origins: whom to trust, what is wrong with a certificate and whether it is
 * forgiven, sessions that are resumed.
 *
 * OpenSSL verifies; we let it go on after each fault, so that all of them are known, add that the
 * certificate is for another host, and ask sslproxy_cert_error about each. What is forgiven to one
 * exchange may not be to another: a session that is resumed, and a connection that is used again,
 * carry their faults with them, and the rules are asked anew (origin_settled(), origin_key()).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "aia.h"
#include "config.h"
#include "counts.h"
#include "kept.h"
#include "keylog.h"
#include "staple.h"

enum {
    CHAIN_MAX = 16, /* certificates that an origin may send; in bytes OpenSSL allows 100 KB */
    DEPTH_MAX = 12, /* of the chain that is made of them */
    FAULTY = 512    /* hosts whose faults are remembered, each in a place by its name */
};

struct tls_origin {
    const struct tls_outgoing *out;
    struct bt_txn *txn;    /* while the handshake goes on; NULL: it is over */
    struct tls_peer *kept; /* of the session that is offered; NULL: none is */
    struct aia_wait aia;   /* for a certificate that the origin did not send */
    bt_str who;            /* the name or address that the certificate must be for */
    char key[];            /* "host:port", for kept.h */
};

static STACK_OF(X509) * foreign; /* sorted by subject; NULL: none */

/* Who was faulty when last seen. */
static struct faulty {
    char *key; /* NULL: nobody */
    struct tls_peer *peer;
} faulty[FAULTY];

const struct tls_error *tls_judged;
X509 *tls_judged_cert;

/* ---- faults ---- */

static void count_fault(int code)
{
    switch (code) {
    case VERIFY_WRONG_HOST:
        bt_count(err_host);
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        bt_count(err_expired);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        bt_count(err_early);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        bt_count(err_self);
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_REJECTED:
        bt_count(err_issuer);
        break;
    case X509_V_ERR_CERT_REVOKED:
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
        bt_count(err_revoked);
        break;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
        bt_count(err_weak);
        break;
    default:
        bt_count(err_other);
        break;
    }
}

static void fault_add(struct tls_peer *peer, int code, int depth)
{
    for (unsigned i = 0; i < peer->errors; i++)
        if (peer->error[i].code == code && peer->error[i].depth == depth)
            return;
    if (peer->errors == TLS_ERRORS_MAX) {
        peer->flooded = true;
        return;
    }
    peer->error[peer->errors++] = (struct tls_error){.code = code, .depth = depth};
}

static void faults_count(const struct tls_peer *peer)
{
    for (unsigned i = 0; i < peer->errors; i++)
        count_fault(peer->error[i].code);
    if (peer->flooded)
        count_fault(X509_V_ERR_UNSPECIFIED);
}

/* Whether sslproxy_cert_error lets that pass, for this exchange. */
static bool forgiven(struct bt_txn *txn, const struct tls_error *error, X509 *cert)
{
    struct bt_ruling ruling;

    if (tls_conf->cert_error == NULL || txn == NULL)
        return false;
    tls_judged = error;
    tls_judged_cert = cert;
    ruling = bt_rules_run(tls_conf->cert_error, txn);
    tls_judged = NULL;
    tls_judged_cert = NULL;
    return ruling.match == BT_YES && ruling.action == BT_ALLOW;
}

/* Asks about each fault. NULL: all are forgiven, or nobody is to be asked; else the first that is not. */
static const struct tls_error *judge(const struct tls_origin *origin, struct tls_peer *peer)
{
    static const struct tls_error too_many = {.code = X509_V_ERR_APPLICATION_VERIFICATION};
    const struct tls_error *first = NULL;

    if (origin->out->dont_verify_peer)
        return NULL;
    for (unsigned i = 0; i < peer->errors; i++) {
        peer->error[i].forgiven = !origin->out->parent &&
                                  forgiven(origin->txn, &peer->error[i], peer->cert);
        if (!peer->error[i].forgiven && first == NULL)
            first = &peer->error[i];
    }
    return first == NULL && peer->flooded ? &too_many : first;
}

static void refuse(struct bt_tls_side *side, const struct tls_error *error)
{
    bt_count(refused);
    if (side->why == NULL)
        side->why = verify_says(error->code);
}

/* ---- verification ---- */

static struct bt_tls_side *side_of(X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());

    return SSL_get_app_data(ssl);
}

/* OpenSSL's call for each step of the chain: go on, whatever it is. */
static int collect(int fine, X509_STORE_CTX *store)
{
    if (!fine)
        fault_add(side_of(store)->peer, X509_STORE_CTX_get_error(store),
                  X509_STORE_CTX_get_error_depth(store));
    return 1;
}

static bool has_subject(STACK_OF(X509) * certs, const X509_NAME *name)
{
    for (int i = 0; i < sk_X509_num(certs); i++)
        if (X509_NAME_cmp(X509_get_subject_name(sk_X509_value(certs, i)), name) == 0)
            return true;
    return false;
}

/* The first certificate of `foreign` with that subject; -1: there is none. */
static int foreign_find(const X509_NAME *name)
{
    int low = 0, high = sk_X509_num(foreign);

    while (low < high) {
        int mid = low + (high - low) / 2;

        if (X509_NAME_cmp(X509_get_subject_name(sk_X509_value(foreign, mid)), name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < sk_X509_num(foreign) &&
        X509_NAME_cmp(X509_get_subject_name(sk_X509_value(foreign, low)), name) == 0)
        return low;
    return -1;
}

/* Certificates on the way to an authority, the origin's first. */
struct way {
    STACK_OF(X509) * certs;
    int most;     /* that may be in it */
    bool fetched; /* some were */
};

static void way_foreign(struct way *way, const X509_NAME *issuer)
{
    for (int at = foreign_find(issuer); at >= 0 && at < sk_X509_num(foreign); at++) {
        X509 *more = sk_X509_value(foreign, at); /* several: one that was renewed */

        if (X509_NAME_cmp(X509_get_subject_name(more), issuer) != 0 ||
            sk_X509_num(way->certs) >= way->most)
            break;
        (void)sk_X509_push(way->certs, more);
    }
}

static void way_fetched(struct way *way, const X509 *cert)
{
    STACK_OF(X509) *known = aia_known(cert);

    for (int i = 0; i < sk_X509_num(known) && sk_X509_num(way->certs) < way->most; i++) {
        (void)sk_X509_push(way->certs, sk_X509_value(known, i));
        way->fetched = true;
    }
}

/* What the origin sent and what may be missing in between; .certs NULL: nothing can be added. */
static struct way way_find(X509_STORE_CTX *store)
{
    struct way way = {.certs = NULL};

    if (foreign == NULL && !aia_any())
        return way;
    way.certs = sk_X509_dup(X509_STORE_CTX_get0_untrusted(store));
    way.most = sk_X509_num(way.certs) + DEPTH_MAX;
    for (int i = 0; i < sk_X509_num(way.certs); i++) {
        const X509 *cert = sk_X509_value(way.certs, i);
        const X509_NAME *issuer = X509_get_issuer_name(cert);

        if (!has_subject(way.certs, issuer))
            way_foreign(&way, issuer);
        if (!has_subject(way.certs, issuer))
            way_fetched(&way, cert);
    }
    return way;
}

/* The certificate whose issuer is missing; NULL: none is. */
static const X509 *unsigned_one(X509_STORE_CTX *store, const struct tls_peer *peer)
{
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(store);
    bool missing = false;

    for (unsigned i = 0; i < peer->errors; i++)
        missing |= peer->error[i].code == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
                   peer->error[i].code == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
                   peer->error[i].code == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
    return missing ? sk_X509_value(chain, sk_X509_num(chain) - 1) : NULL;
}

static void verify_chain(X509_STORE_CTX *store, struct tls_peer *peer)
{
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(store);
    STACK_OF(X509) *sent = X509_STORE_CTX_get0_untrusted(store);
    struct way way;

    if (sk_X509_num(sent) > CHAIN_MAX) {
        fault_add(peer, X509_V_ERR_CERT_CHAIN_TOO_LONG, 0);
        return;
    }
    X509_VERIFY_PARAM_set_depth(param, DEPTH_MAX);
    X509_VERIFY_PARAM_set_auth_level(param, side_of(store)->origin->out->auth_level);
    X509_VERIFY_PARAM_set_time(param, (time_t)(bt_wall_ms() / 1000));
    X509_STORE_CTX_set_verify_cb(store, collect);
    way = way_find(store);
    if (way.certs != NULL)
        X509_STORE_CTX_set0_untrusted(store, way.certs);
    if (X509_verify_cert(store) != 1 && peer->errors == 0)
        fault_add(peer,
                  X509_STORE_CTX_get_error(store) != X509_V_OK ? X509_STORE_CTX_get_error(store)
                                                               : X509_V_ERR_UNSPECIFIED,
                  0);
    if (way.certs != NULL) {
        X509_STORE_CTX_set0_untrusted(store, sent);
        sk_X509_free(way.certs);
    }
    bt_count_by(aia_completed, way.fetched && peer->errors == 0);
    ERR_clear_error();
}

/* OpenSSL's code for the alert. */
static int alert_code(int code)
{
    return code == VERIFY_WRONG_HOST ? X509_V_ERR_HOSTNAME_MISMATCH : code;
}

/* In place of OpenSSL's own. 1: go on. */
static int verify(X509_STORE_CTX *store, void *arg)
{
    struct bt_tls_side *side = side_of(store);
    X509 *cert = X509_STORE_CTX_get0_cert(store);
    struct tls_peer *peer = tls_peer_new(cert, X509_STORE_CTX_get0_untrusted(store));
    const struct tls_error *error;

    (void)arg;
    if (peer == NULL) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_OUT_OF_MEM);
        return 0;
    }
    tls_peer_release(side->peer);
    side->peer = peer;
    verify_chain(store, peer);
    if (!side->origin->out->dont_verify_peer && !side->origin->out->parent &&
        aia_fetch(&side->origin->aia, unsigned_one(store, peer), side->origin->txn)) {
        (void)SSL_set_retry_verify(side->ssl); /* all of it again when it came */
        return 1;
    }
    if (!side->origin->out->dont_verify_domain && !verify_host(cert, side->origin->who))
        fault_add(peer, VERIFY_WRONG_HOST, 0);
    faults_count(peer);
    error = judge(side->origin, peer);
    X509_STORE_CTX_set_error(store, error != NULL ? alert_code(error->code) : X509_V_OK);
    if (error == NULL)
        return 1;
    refuse(side, error);
    return 0;
}

/* OpenSSL's call when the certificate was verified: what the origin shows of its standing. 0: refused. */
static int stapled(SSL *ssl, void *arg)
{
    struct bt_tls_side *side = SSL_get_app_data(ssl);
    const unsigned char *response;
    long len = SSL_get_tlsext_status_ocsp_resp(ssl, &response);
    const struct tls_error *error;

    (void)arg;
    if (len <= 0 || side->peer == NULL ||
        !staple_revoked((bt_str){(const char *)response, (size_t)len}, SSL_get0_verified_chain(ssl),
                        SSL_CTX_get_cert_store(side->origin->out->ctx)))
        return 1;
    fault_add(side->peer, X509_V_ERR_CERT_REVOKED, 0);
    count_fault(X509_V_ERR_CERT_REVOKED);
    error = judge(side->origin, side->peer);
    if (error != NULL)
        refuse(side, error);
    return error == NULL;
}

/* ---- the handshake's end ---- */

static struct faulty *faulty_place(const char *key)
{
    uint32_t hash = 2166136261U;

    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619U;
    return &faulty[(hash ^ hash >> 16) % FAULTY];
}

/* What is known of the host's faults, for origin_key(). */
static void faults_note(const struct tls_origin *origin, struct tls_peer *peer)
{
    struct faulty *place = faulty_place(origin->key);

    if (peer->errors == 0 && (place->key == NULL || strcmp(place->key, origin->key) != 0))
        return;
    tls_peer_release(place->peer);
    free(place->key);
    *place = (struct faulty){.key = NULL};
    if (peer->errors > 0 && (place->key = strdup(origin->key)) != NULL)
        place->peer = tls_peer_hold(peer);
}

static const struct tls_peer *faults_known(const char *key)
{
    const struct faulty *place = faulty_place(key);

    return place->key != NULL && strcmp(place->key, key) == 0 ? place->peer : NULL;
}

static bt_str literal(const char *text)
{
    return text != NULL ? (bt_str){text, strlen(text)} : BT_STR_NONE;
}

static bool nobody(struct bt_tls_side *side)
{
    bt_count(refused);
    side->why = "it has no certificate";
    return false;
}

static bool origin_settled(struct bt_tls_side *side)
{
    struct tls_origin *origin = side->origin;
    const struct tls_error *error = NULL;

    if (SSL_session_reused(side->ssl) == 1 && origin->kept != NULL) {
        tls_peer_release(side->peer);
        side->peer = tls_peer_copy(origin->kept);
        if (side->peer != NULL)
            error = judge(origin, side->peer);
    }
    if (side->peer == NULL)
        return nobody(side);
    side->peer->version = literal(SSL_get_version(side->ssl));
    side->peer->cipher = literal(SSL_get_cipher_name(side->ssl));
    if (error != NULL)
        refuse(side, error);
    else if (side->peer->errors > 0)
        bt_count(forgiven);
    faults_note(origin, side->peer);
    tls_peer_release(origin->kept);
    origin->kept = NULL;
    origin->txn = NULL;
    return error == NULL;
}

static int session_new(SSL *ssl, SSL_SESSION *session)
{
    struct bt_tls_side *side = SSL_get_app_data(ssl);
    struct tls_peer *peer = side->peer != NULL ? side->peer : side->origin->kept;

    return peer != NULL && kept_put(side->origin->key, session, peer);
}

static void origin_closed(struct bt_tls_side *side)
{
    aia_leave(&side->origin->aia);
    tls_peer_release(side->origin->kept);
    free(side->origin);
    side->origin = NULL;
}

/* With verification off faults are known all the same, but for the host. */
bool origin_proven(const struct bt_tls_side *side)
{
    const struct tls_peer *peer = side->peer;

    return side->origin != NULL && peer != NULL && peer->errors == 0 &&
           (!side->origin->out->dont_verify_domain ||
            (peer->cert != NULL && verify_host(peer->cert, side->origin->who)));
}

/* ---- connections ---- */

static void session_offer(struct bt_tls_side *side)
{
    SSL_SESSION *session;
    struct tls_peer *peer;

    if (!kept_get(side->origin->key, &session, &peer))
        return;
    if (SSL_set_session(side->ssl, session) == 1)
        side->origin->kept = peer;
    else
        tls_peer_release(peer);
    SSL_SESSION_free(session);
    ERR_clear_error();
}

static bool is_address(bt_str host)
{
    uint8_t addr[16];

    return verify_address(host, addr) > 0;
}

/* A side that fails at once, since there is no TLS. */
static struct bt_tls_side *side_disabled(int fd)
{
    static SSL_CTX *none;
    struct bt_tls_side *side;

    if (none == NULL)
        none = SSL_CTX_new(TLS_client_method());
    side = none != NULL ? side_new(SSL_new(none), fd, false) : NULL;
    if (side == NULL)
        return NULL;
    side->broken = true;
    side->why = "TLS towards origins is switched off (tls_outgoing_options disable)";
    return side;
}

/* `host` is said as SNI, when it is a name, and is who it must be; sessions are kept by `key`. */
static struct bt_tls_side *connect_to(struct bt_txn *txn, int fd, const struct tls_outgoing *out,
                                      bt_str host, bt_str key)
{
    struct bt_tls_side *side = side_new(SSL_new(out->ctx), fd, false);
    struct tls_origin *origin = side != NULL
                                    ? calloc(1, sizeof *origin + host.len + 1 + key.len + 1)
                                    : NULL;
    char *name;

    if (origin == NULL) {
        if (side != NULL)
            tls_transport.close(side);
        return NULL;
    }
    memcpy(origin->key, key.at, key.len);
    name = origin->key + key.len + 1;
    memcpy(name, host.at, host.len);
    origin->out = out;
    origin->txn = txn;
    origin->who = out->domain.len > 0 ? out->domain : (bt_str){name, host.len};
    side->origin = origin;
    side->settled = origin_settled;
    side->closed = origin_closed;
    if (!is_address(host) && host.len < 256)
        (void)SSL_set_tlsext_host_name(side->ssl, name);
    session_offer(side);
    keylog_choose(side, txn);
    ERR_clear_error();
    return side;
}

struct bt_tls_side *origin_connect(struct bt_txn *txn, int fd, bt_str host)
{
    if (tls_conf->outgoing.ctx == NULL)
        return side_disabled(fd);
    return connect_to(txn, fd, &tls_conf->outgoing, host,
                      bt_str_printf(bt_txn_arena(txn), "%.*s:%u", BT_STR_ARGS(host), bt_port(txn)));
}

struct bt_tls_side *origin_own(int fd, bt_str host)
{
    static char key[300];
    int len = snprintf(key, sizeof key, "!%.*s", BT_STR_ARGS(host)); /* '!': of no exchange */

    if (tls_conf->outgoing.ctx == NULL || len >= (int)sizeof key)
        return side_disabled(fd);
    return connect_to(NULL, fd, &tls_conf->outgoing, host, (bt_str){key, (size_t)len});
}

struct bt_tls_side *origin_parent(struct bt_txn *txn, int fd, const struct bt_parent *parent)
{
    const struct tls_outgoing *out = parent->tls->context;

    return connect_to(txn, fd, out, out->domain.len > 0 ? out->domain : parent->host,
                      bt_str_printf(bt_txn_arena(txn), "@%.*s", BT_STR_ARGS(parent->name)));
}

/* Connections without a fault are for all; those with faults only for who forgives the same ones. What
 * is not known yet to be faulty has the plain key: the core asks again when the handshake is done. */
bt_str origin_key(struct bt_txn *txn, bt_str host)
{
    struct bt_arena *arena = bt_txn_arena(txn);
    const struct bt_tls_side *side = bt_tls_origin(txn);
    bt_str key = bt_str_printf(arena, "%.*s:%u", BT_STR_ARGS(host), bt_port(txn)), all = key;
    const struct tls_peer *peer;

    if (tls_conf->cert_error == NULL || tls_conf->outgoing.dont_verify_peer)
        return key;
    if (side != NULL && side->ready && side->origin != NULL &&
        strcmp(side->origin->key, key.at) == 0)
        peer = side->peer;
    else
        peer = faults_known(key.at);
    if (peer != NULL && peer->errors > 0) {
        uint64_t print; /* of that very certificate */

        memcpy(&print, peer->sha256, sizeof print);
        all = bt_str_printf(arena, "%.*s %016llx", BT_STR_ARGS(key), (unsigned long long)print);
    }
    for (unsigned i = 0; peer != NULL && i < peer->errors; i++)
        all = bt_str_printf(arena, "%.*s %d%c", BT_STR_ARGS(all), peer->error[i].code,
                            forgiven(txn, &peer->error[i], peer->cert) ? '+' : '-');
    return all;
}

/* ---- setup ---- */

static int by_subject(const X509 *const *a, const X509 *const *b)
{
    return X509_NAME_cmp(X509_get_subject_name(*a), X509_get_subject_name(*b));
}

static bool foreign_read(const char *file)
{
    BIO *in = BIO_new_file(file, "rb");
    X509 *cert;

    while (in != NULL && (cert = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
        if (sk_X509_push(foreign, cert) <= 0)
            X509_free(cert);
    BIO_free(in);
    ERR_clear_error();
    return sk_X509_num(foreign) > 0;
}

static bool foreign_load(struct bt_error *err)
{
    bt_str file = tls_conf->intermediates;

    if (file.len == 0)
        return true;
    foreign = sk_X509_new(by_subject);
    if (foreign == NULL || !foreign_read(file.at))
        return bt_complain(err, NULL,
                           "sslproxy_foreign_intermediate_certs: %.*s: there is no certificate "
                           "(PEM) in it, or it cannot be read",
                           BT_STR_ARGS(file));
    sk_X509_sort(foreign);
    for (int i = 0; i < sk_X509_num(foreign); i++) /* OpenSSL reads extensions when first asked */
        (void)X509_check_purpose(sk_X509_value(foreign, i), -1, 0);
    return true;
}

static SSL_CTX *context_make(struct tls_outgoing *out, const char *what, struct bt_error *err)
{
    struct config_words words = {.at = out->at,
                                 .what = what,
                                 .cert = out->cert,
                                 .key = out->key,
                                 .cipher = out->cipher,
                                 .options = out->options,
                                 .min_version = out->min_version,
                                 .cafile = out->cafile,
                                 .capath = out->capath,
                                 .crlfile = out->crlfile,
                                 .flags = out->flags,
                                 .default_ca = true};
    unsigned flags, known = CONFIG_DONT_VERIFY_PEER | CONFIG_DONT_VERIFY_DOMAIN |
                            CONFIG_NO_DEFAULT_CA | CONFIG_NO_SESSION_REUSE | CONFIG_VERIFY_CRL |
                            CONFIG_VERIFY_CRL_ALL;
    bool good = config_flags(&words, known, &flags, err);
    SSL_CTX *ctx;

    words.crl = (flags & CONFIG_VERIFY_CRL) != 0;
    words.crl_all = (flags & CONFIG_VERIFY_CRL_ALL) != 0;
    words.default_ca = !out->no_default_ca && (flags & CONFIG_NO_DEFAULT_CA) == 0;
    if (out->version >= 4)
        words.max_version = TLS1_VERSION + (int)out->version - 4;
    out->dont_verify_peer = (flags & CONFIG_DONT_VERIFY_PEER) != 0;
    out->dont_verify_domain = (flags & CONFIG_DONT_VERIFY_DOMAIN) != 0;
    ctx = config_context(TLS_client_method(), &words, err);
    if (ctx == NULL || !good) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    out->auth_level = strstr(out->cipher.len > 0 ? out->cipher.at : "", "@SECLEVEL=") != NULL
                          ? SSL_CTX_get_security_level(ctx)
                          : CONFIG_SECURITY;
    if ((flags & CONFIG_NO_SESSION_REUSE) == 0) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(ctx, session_new);
    }
    return ctx;
}

static void outgoing_end(void *out_)
{
    struct tls_outgoing *out = out_;

    SSL_CTX_free(out->ctx);
    out->ctx = NULL;
}

/* What all contexts towards servers have in common. */
static bool outgoing_setup(struct tls_outgoing *out, const char *what, struct bt_arena *arena,
                           struct bt_error *err)
{
    static const unsigned char protocols[] = "\x08http/1.1";
    SSL_CTX *ctx = out->ctx = context_make(out, what, err);

    if (ctx == NULL)
        return false;
    bt_defer(arena, outgoing_end, out);
    /* What the operator trusts is trusted, also when it is no root. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx),
                                X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(ctx, verify, NULL);
    SSL_CTX_set_tlsext_status_type(ctx, TLSEXT_STATUSTYPE_ocsp);
    SSL_CTX_set_tlsext_status_cb(ctx, stapled);
    SSL_CTX_set_default_read_buffer_len(ctx, 2 * 16384 + 1024);
    return SSL_CTX_set_alpn_protos(ctx, protocols, sizeof protocols - 1) == 0;
}

static bool parent_setup(struct bt_parent_tls *words, struct bt_arena *arena, struct bt_error *err)
{
    struct tls_outgoing *out = bt_alloc(arena, sizeof *out);

    *out = (struct tls_outgoing){.at = words->at,
                                 .cert = words->cert,
                                 .key = words->key,
                                 .cipher = words->cipher,
                                 .options = words->options,
                                 .cafile = words->cafile,
                                 .capath = words->capath,
                                 .crlfile = words->crlfile,
                                 .flags = words->flags,
                                 .domain = words->domain,
                                 .min_version = words->min_version,
                                 .version = words->version,
                                 .no_default_ca = !words->default_ca,
                                 .parent = true};
    words->context = out;
    return outgoing_setup(out, "cache_peer", arena, err);
}

bool origin_setup(struct bt_arena *arena, struct bt_error *err)
{
    const struct bt_parent *const *parents;
    size_t n = bt_parents(&parents);
    bool good = true;

    for (size_t i = 0; i < n; i++)
        if (parents[i]->tls != NULL)
            good &= parent_setup(parents[i]->tls, arena, err);
    if (tls_conf->outgoing.disable)
        return good;
    return outgoing_setup(&tls_conf->outgoing, "tls_outgoing_options", arena, err) &&
           foreign_load(err) && good;
}

bool origin_start(void)
{
    return true;
}
