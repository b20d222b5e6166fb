/* share.c - sessions of clients that go on in any worker, and after a reload.
 *
 * With tickets the client keeps the session, sealed by a key that all workers have; the keys stand in
 * a zone, are made anew every few hours by whoever first needs one then, and open tickets for some
 * time after. Sessions of clients that take no tickets are kept in a shared dictionary by their
 * number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "share.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "counts.h"

enum {
    KEYS = 3, /* the first one seals, the others open what they sealed */
    KEYS_LAYOUT = 1,
    NAME_BYTES = 16,
    SESSION_BYTES = 8192, /* more than that is not kept */
    SESSIONS_LEAST = 64 * 1024
};
static const int64_t key_life_ms = (int64_t)4 * 3600 * 1000;

struct key {
    uint8_t name[NAME_BYTES], cipher[32], mac[32];
};

/* In the zone. */
struct keys {
    struct bt_lock lock;
    _Atomic uint64_t version; /* changes with the keys; read without the lock */
    int64_t made_ms;          /* of the first one */
    unsigned n;
    struct key key[KEYS];
};

static struct keys *keys;       /* NULL: no port speaks TLS */
static struct bt_dict *session; /* NULL: none are kept */

/* This process's copy. */
static struct {
    uint64_t version;
    int64_t made_ms;
    unsigned n;
    struct key key[KEYS];
} mine;

static EVP_CIPHER *cipher;

/* ---- keys ---- */

static bool key_make(struct key *key)
{
    return RAND_bytes(key->name, sizeof key->name) == 1 &&
           RAND_priv_bytes(key->cipher, sizeof key->cipher) == 1 &&
           RAND_priv_bytes(key->mac, sizeof key->mac) == 1;
}

static bool is_due(int64_t made_ms)
{
    int64_t age = bt_wall_ms() - made_ms;

    return age >= key_life_ms || age < -key_life_ms;
}

/* With the lock held. `anew`: nothing that stands there can be trusted to be whole. */
static void keys_turn(bool anew)
{
    struct key fresh;

    if (anew)
        keys->n = 0;
    if (keys->n > 0 && !is_due(keys->made_ms))
        return;
    if (!key_make(&fresh)) {
        ERR_clear_error();
        return; /* the old ones go on */
    }
    memmove(&keys->key[1], &keys->key[0], (KEYS - 1) * sizeof fresh);
    keys->key[0] = fresh;
    keys->n = keys->n < KEYS ? keys->n + 1 : KEYS;
    keys->made_ms = bt_wall_ms();
    atomic_fetch_add(&keys->version, 1);
    OPENSSL_cleanse(&fresh, sizeof fresh);
    bt_count(ticket_keys);
}

static void keys_take(void)
{
    enum bt_lock_taken taken = bt_lock_take(&keys->lock);

    keys_turn(taken == BT_LOCK_HELD_DIRTY);
    mine.version = atomic_load(&keys->version);
    mine.made_ms = keys->made_ms;
    mine.n = keys->n;
    memcpy(mine.key, keys->key, sizeof mine.key);
    bt_lock_release(&keys->lock);
}

/* Of that name, or (NULL) the one that seals. NULL: there is none. */
static const struct key *key_find(const unsigned char *name, bool *first)
{
    if (mine.n == 0 || mine.version != atomic_load(&keys->version) || is_due(mine.made_ms))
        keys_take();
    *first = true;
    for (unsigned i = 0; i < mine.n; i++) {
        *first = i == 0;
        if (name == NULL || CRYPTO_memcmp(name, mine.key[i].name, NAME_BYTES) == 0)
            return &mine.key[i];
    }
    return NULL;
}

/* OpenSSL's call for each ticket. -1: fault, 0: no key, 1: fine, 2: fine, and give a new one. */
static int ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *sealing,
                  EVP_MAC_CTX *mac, int seal)
{
    bool first;
    const struct key *key = key_find(seal ? NULL : name, &first);
    char digest[] = "SHA256";
    OSSL_PARAM params[3];
    uint8_t secret[32];

    if (key == NULL) {
        bt_count_by(tickets_unknown, !seal);
        return 0; /* goes on without */
    }
    if (seal) {
        memcpy(name, key->name, NAME_BYTES);
        if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(cipher)) != 1)
            return -1;
    }
    memcpy(secret, key->mac, sizeof secret);
    params[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, secret, sizeof secret);
    params[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0);
    params[2] = OSSL_PARAM_construct_end();
    if (EVP_CipherInit_ex2(sealing, cipher, key->cipher, iv, seal, NULL) != 1 ||
        EVP_MAC_CTX_set_params(mac, params) != 1)
        return -1;
    OPENSSL_cleanse(secret, sizeof secret);
    /* In TLS 1.3 a ticket is for one use (RFC 8446 C.4), so that each use gives another one. */
    return seal || (first && SSL_version(ssl) < TLS1_3_VERSION) ? 1 : 2;
}

/* ---- sessions by number ---- */

static bt_str session_key(const SSL_SESSION *of)
{
    unsigned len;
    const unsigned char *id = SSL_SESSION_get_id(of, &len);

    return (bt_str){(const char *)id, len};
}

/* OpenSSL calls for tickets of TLS 1.3, too, which the client keeps. 0: we hold no reference. */
static int session_new(SSL *ssl, SSL_SESSION *of)
{
    static unsigned char text[SESSION_BYTES];
    unsigned char *at = text;
    bt_str key = session_key(of);
    int len;

    if (session == NULL || key.len == 0 ||
        (SSL_version(ssl) >= TLS1_3_VERSION && (SSL_get_options(ssl) & SSL_OP_NO_TICKET) == 0))
        return 0;
    len = i2d_SSL_SESSION(of, NULL);
    if (len > 0 && len <= SESSION_BYTES && i2d_SSL_SESSION(of, &at) == len &&
        bt_dict_put(session, key, (bt_str){(const char *)text, (size_t)len}, tls_conf->session_ttl))
        bt_count(sessions_kept);
    OPENSSL_cleanse(text, sizeof text);
    ERR_clear_error();
    return 0;
}

static SSL_SESSION *session_get(SSL *ssl, const unsigned char *id, int len, int *copy)
{
    static unsigned char text[SESSION_BYTES];
    const unsigned char *at = text;
    SSL_SESSION *found;
    size_t n;

    (void)ssl;
    *copy = 0;
    if (session == NULL || len <= 0 ||
        !bt_dict_get(session, (bt_str){(const char *)id, (size_t)len}, text, sizeof text, &n) ||
        n > sizeof text)
        return NULL;
    found = d2i_SSL_SESSION(NULL, &at, (long)n);
    OPENSSL_cleanse(text, sizeof text);
    ERR_clear_error();
    return found;
}

/* One that a fault ended must not be used again (RFC 5246 7.2.2). */
static void session_remove(SSL_CTX *ctx, SSL_SESSION *of)
{
    bt_str key = session_key(of);

    (void)ctx;
    if (session != NULL && key.len > 0)
        (void)bt_dict_remove(session, key);
}

/* ---- setup ---- */

bool share_setup(struct bt_error *err)
{
    struct bt_zone *zone = bt_zone_make("tls-tickets", sizeof *keys, KEYS_LAYOUT, 0, err);
    int64_t room = tls_conf->session_cache.bytes;

    if (zone == NULL)
        return false;
    keys = bt_zone_memory(zone);
    if (!bt_zone_kept(zone))
        bt_lock_init(&keys->lock);
    if (room > 0) {
        session = bt_dict_make("tls-sessions",
                               (uint64_t)(room < SESSIONS_LEAST ? SESSIONS_LEAST : room), err);
        if (session == NULL)
            return false;
    }
    cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    return cipher != NULL || bt_complain(err, NULL,
                                         "OpenSSL has no AES-256-CBC, which tickets of "
                                         "TLS sessions are sealed with");
}

void share_context(SSL_CTX *ctx, bool reuse)
{
    int64_t seconds = tls_conf->session_ttl.ms / 1000;

    if (!reuse || seconds <= 0) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(ctx, 0);
        return;
    }
    SSL_CTX_set_timeout(ctx, seconds);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, session_new);
    SSL_CTX_sess_set_get_cb(ctx, session_get);
    SSL_CTX_sess_set_remove_cb(ctx, session_remove);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, ticket);
}
