/* fields.c - what logs, pages and rules can say of TLS: with the client, with the origin, of both
 * hellos. Squid's codes of them begin with ssl:: or tls::.
 *
 * What is said of a side that spoke no TLS with this proxy, as in a tunnel, is what its hello says, and
 * no more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "hash.h"
#include "ja.h"
#include "serverhello.h"

enum { TEXT_MAX = 4096, CERT_TEXT_MAX = 64 * 1024 };

static bool text(struct bt_value *out, bt_str value)
{
    out->kind = BT_TEXT;
    out->text = value;
    return value.len > 0;
}

static bool literal(struct bt_value *out, const char *value)
{
    return value != NULL && text(out, (bt_str){value, strlen(value)});
}

/* ---- versions ---- */

static const struct {
    uint16_t number;
    const char *name, *openssl;
} versions[] = {
    {0x0300, "SSL/3.0", "SSLv3"},   {0x0301, "TLS/1.0", "TLSv1"},   {0x0302, "TLS/1.1", "TLSv1.1"},
    {0x0303, "TLS/1.2", "TLSv1.2"}, {0x0304, "TLS/1.3", "TLSv1.3"},
};
enum { VERSIONS = sizeof versions / sizeof *versions, TLS12 = 0x0303 };

static bool version(struct bt_value *out, unsigned number)
{
    for (size_t i = 0; i < VERSIONS; i++)
        if (versions[i].number == number)
            return literal(out, versions[i].name);
    return false;
}

static unsigned version_number(bt_str openssl)
{
    for (size_t i = 0; i < VERSIONS; i++)
        if (bt_str_eq(openssl, (bt_str){versions[i].openssl, strlen(versions[i].openssl)}))
            return versions[i].number;
    return 0;
}

/* ---- the two sides ---- */

/* NULL: there is none, or its handshake is not done. */
static SSL *ssl_of(const struct bt_tls_side *side)
{
    return side != NULL && side->ready ? side->ssl : NULL;
}

/* The origin that was looked at when the connection was bumped; else the one in use. What is behind
 * a connection that was bumped unseen is not told: others were met there before, and more will be. */
static const struct tls_peer *peer_of(struct bt_txn *txn)
{
    const struct tls_client *client = tls_client(txn);
    const struct bt_tls_side *side;

    if (client->peer != NULL || client->decided)
        return client->peer;
    side = bt_tls_origin(txn);
    return side != NULL ? side->peer : NULL;
}

/* 0: there is no TLS with an origin. */
static unsigned origin_version(struct bt_txn *txn)
{
    const SSL *ssl = ssl_of(bt_tls_origin(txn));
    const struct tls_peer *peer = tls_client(txn)->peer;

    if (ssl != NULL)
        return (unsigned)SSL_version(ssl);
    return peer != NULL ? version_number(peer->version) : 0;
}

/* ---- names and certificates ---- */

static bool name_text(struct bt_txn *txn, const X509_NAME *name, struct bt_value *out)
{
    char *line = name == NULL ? NULL : X509_NAME_oneline(name, NULL, 0);
    size_t len = line == NULL ? 0 : strlen(line);

    ERR_clear_error();
    out->kind = BT_TEXT;
    out->text = bt_str_copy(bt_txn_arena(txn), (bt_str){line, len < TEXT_MAX ? len : TEXT_MAX});
    OPENSSL_free(line);
    return len > 0;
}

static X509 *client_cert(struct bt_txn *txn)
{
    const SSL *ssl = ssl_of(bt_tls_client(txn));

    return ssl == NULL ? NULL : SSL_get0_peer_certificate(ssl);
}

static X509 *origin_cert(struct bt_txn *txn)
{
    const struct tls_peer *peer = peer_of(txn);

    return peer == NULL ? NULL : peer->cert;
}

static bool client_subject_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const X509 *cert = client_cert(txn);

    (void)arg;
    return cert != NULL && name_text(txn, X509_get_subject_name(cert), out);
}

static bool client_issuer_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const X509 *cert = client_cert(txn);

    (void)arg;
    return cert != NULL && name_text(txn, X509_get_issuer_name(cert), out);
}

static bool origin_subject_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const X509 *cert = origin_cert(txn);

    (void)arg;
    return cert != NULL && name_text(txn, X509_get_subject_name(cert), out);
}

static bool origin_issuer_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const X509 *cert = origin_cert(txn);

    (void)arg;
    return cert != NULL && name_text(txn, X509_get_issuer_name(cert), out);
}

static bool origin_cert_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    X509 *cert = origin_cert(txn);
    BIO *memory = cert == NULL ? NULL : BIO_new(BIO_s_mem());
    char *at = NULL;
    long len = 0;

    (void)arg;
    if (memory != NULL && PEM_write_bio_X509(memory, cert) == 1)
        len = BIO_get_mem_data(memory, &at);
    if (len > 0 && len <= CERT_TEXT_MAX)
        (void)text(out, bt_str_copy(bt_txn_arena(txn), (bt_str){at, (size_t)len}));
    BIO_free(memory);
    ERR_clear_error();
    return len > 0 && len <= CERT_TEXT_MAX;
}

/* "X509_V_ERR_CERT_HAS_EXPIRED@depth=0:...", in the order in which they were found; {,} stands
 * between them when that is given. */
static bool origin_errors_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct tls_peer *peer = peer_of(txn);
    struct bt_arena *arena = bt_txn_arena(txn);
    bt_str all = BT_STR_NONE, sign = arg.at == NULL ? BT_STR(":") : arg;

    for (unsigned i = 0; peer != NULL && i < peer->errors; i++)
        all = bt_str_printf(arena, "%.*s%.*s%s@depth=%d", BT_STR_ARGS(all),
                            i > 0 ? (int)sign.len : 0, sign.at, verify_name(peer->error[i].code),
                            peer->error[i].depth);
    return text(out, all);
}

/* ---- what was settled in handshakes ---- */

static bool client_version_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const SSL *ssl = ssl_of(bt_tls_client(txn));

    (void)arg;
    return ssl != NULL && version(out, (unsigned)SSL_version(ssl));
}

static bool origin_version_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)arg;
    return version(out, origin_version(txn));
}

static bool client_cipher_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const SSL *ssl = ssl_of(bt_tls_client(txn));

    (void)arg;
    return ssl != NULL && literal(out, SSL_get_cipher_name(ssl));
}

static bool origin_cipher_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const SSL *ssl = ssl_of(bt_tls_origin(txn));
    const struct tls_peer *peer = tls_client(txn)->peer;

    (void)arg;
    if (ssl != NULL)
        return literal(out, SSL_get_cipher_name(ssl));
    return peer != NULL && text(out, peer->cipher);
}

/* ---- hellos ---- */

static bool mode_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)arg;
    return literal(out, bump_mode(txn));
}

static bool sni_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct hello *hello = tls_client(txn)->hello;

    (void)arg;
    if (hello == NULL)
        return false;
    return text(out, hello->name == HELLO_NAME_ODD ? hello->sni_raw : hello->sni);
}

static bool client_hello_version_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct hello *hello = tls_client(txn)->hello;

    (void)arg;
    return hello != NULL && version(out, hello->legacy_version);
}

static bool client_supported_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct hello *hello = tls_client(txn)->hello;

    (void)arg;
    return hello != NULL && version(out, hello->best_version);
}

/* Of a handshake that was done nothing is kept but its end: TLS 1.3 says 1.2 in the old place. */
static bool origin_hello_version_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct serverhello_reader *heard = tls_client(txn)->heard;
    unsigned number = heard != NULL ? heard->hello_version : origin_version(txn);

    (void)arg;
    return version(out, number > TLS12 ? TLS12 : number);
}

static bool origin_supported_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct serverhello_reader *heard = tls_client(txn)->heard;

    (void)arg;
    return version(out, heard != NULL ? heard->version : origin_version(txn));
}

/* The hello as one record, in base64, however the client cut it. */
static bool handshake_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct tls_client *client = tls_client(txn);
    const struct hello_reader *reader = client->reader;
    uint8_t *record;
    char *base64;
    size_t len;

    (void)arg;
    if (client->hello == NULL)
        return false;
    len = sizeof reader->record + reader->need;
    record = bt_alloc_raw(bt_txn_arena(txn), len);
    base64 = bt_alloc_raw(bt_txn_arena(txn), (len + 2) / 3 * 4 + 1);
    memcpy(record, reader->record, 3); /* type and version */
    record[3] = (uint8_t)(reader->need >> 8);
    record[4] = (uint8_t)reader->need;
    memcpy(record + sizeof reader->record, reader->message, reader->need);
    return text(
        out, (bt_str){base64, (size_t)EVP_EncodeBlock((unsigned char *)base64, record, (int)len)});
}

static bool ja3_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct hello *hello = tls_client(txn)->hello;

    (void)arg;
    return hello != NULL && text(out, ja3_hash(hello, bt_txn_arena(txn), hash_md5));
}

static bool ja4_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct hello *hello = tls_client(txn)->hello;

    (void)arg;
    return hello != NULL && text(out, ja4_text(hello, bt_txn_arena(txn), hash_sha256));
}

/* What the client offers, with commas between. */
static bool alpn_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct hello *hello = tls_client(txn)->hello;
    char *all;
    size_t at = 0, n = 0;
    bt_str one;

    (void)arg;
    if (hello == NULL || hello->alpn.len == 0)
        return false;
    all = bt_alloc_raw(bt_txn_arena(txn), hello->alpn.len);
    while (hello_alpn(hello, &at, &one)) {
        if (n > 0)
            all[n++] = ',';
        memcpy(all + n, one.at, one.len);
        n += one.len;
    }
    return text(out, (bt_str){all, n});
}

static bool ech_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct hello *hello = tls_client(txn)->hello;

    (void)arg;
    return hello != NULL && hello->has_ech && literal(out, "yes");
}

/* ---- the rows ---- */

#define FIELD(its_name, its_codes, how, text)                                                      \
    {                                                                                              \
        .name = its_name, .codes = its_codes, .doc = text, .earliest = BT_AT_HELLO, .get = how     \
    }

const struct bt_field tls_fields[TLS_FIELDS] = {
    FIELD("tls.bump_mode", "ssl::bump_mode", mode_get,
          "What ssl_bump did last with the connection, as it was written: splice, bump, ..."),
    FIELD("tls.sni", "ssl::>sni", sni_get,
          "The host that the client's hello names, after a CONNECT that is looked into."),
    FIELD("tls.client_subject", "ssl::>cert_subject", client_subject_get,
          "Whom the client's certificate is for."),
    FIELD("tls.client_issuer", "ssl::>cert_issuer", client_issuer_get,
          "Who signed the client's certificate."),
    FIELD("tls.origin_subject", "ssl::<cert_subject", origin_subject_get,
          "Whom the origin's certificate is for, as it was seen when the connection was bumped or "
          "peeked at."),
    FIELD("tls.origin_issuer", "ssl::<cert_issuer", origin_issuer_get,
          "Who signed that certificate."),
    FIELD("tls.origin_cert", "ssl::<cert", origin_cert_get, "That certificate, in PEM."),
    FIELD("tls.origin_errors", "ssl::<cert_errors", origin_errors_get,
          "What is wrong with it, with a colon between, or the argument: NAME@depth=0."),
    FIELD("tls.client_version", "ssl::>negotiated_version", client_version_get,
          "The version of TLS between the client and the proxy: TLS/1.3."),
    FIELD("tls.origin_version", "ssl::<negotiated_version", origin_version_get,
          "The version of TLS between the proxy and the origin."),
    FIELD("tls.client_cipher", "ssl::>negotiated_cipher", client_cipher_get,
          "The cipher between the client and the proxy, as OpenSSL names it."),
    FIELD("tls.origin_cipher", "ssl::<negotiated_cipher", origin_cipher_get,
          "The cipher between the proxy and the origin."),
    FIELD("tls.client_hello_version", "ssl::>received_hello_version", client_hello_version_get,
          "The version in the old place of the client's hello; TLS 1.3 says 1.2 there."),
    FIELD("tls.origin_hello_version", "ssl::<received_hello_version", origin_hello_version_get,
          "The version in the old place of the origin's hello."),
    FIELD("tls.client_supported_version", "ssl::>received_supported_version", client_supported_get,
          "The best version that the client's hello offers."),
    FIELD("tls.origin_supported_version", "ssl::<received_supported_version", origin_supported_get,
          "The version that the origin's hello has chosen."),
    FIELD("tls.handshake", ">handshake", handshake_get,
          "The client's hello as one record, in base64."),
    FIELD("tls.ja3", NULL, ja3_get, "JA3 fingerprint of the client's hello, as MD5."),
    FIELD("tls.ja4", NULL, ja4_get, "JA4 fingerprint of the client's hello."),
    FIELD("tls.alpn", NULL, alpn_get, "Protocols that the client's hello offers: h2,http/1.1."),
    FIELD("tls.ech", NULL, ech_get,
          "yes: the client's hello has an encrypted part, and the host that it names may be "
          "another one, or only seem so."),
};
