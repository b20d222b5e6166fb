/* test_tls_server.c - what an origin says in clear: as a real server says it, in whatever pieces, and
 * as none would.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "tls_kit.h"

#include "tls/server.c"
#include "tls/serverhello.c"

static struct bt_arena *arena;
static _Atomic int64_t row[N_end_];
struct bt_self bt_self = {.row = row};
static struct tls_client client;
static char said[100000];
static size_t said_len;

struct tls_client *tls_client(struct bt_txn *txn)
{
    (void)txn;
    return &client;
}

static struct tls_peer peer;
struct tls_peer *tls_peer_new(X509 *cert, STACK_OF(X509) * chain)
{
    X509_up_ref(cert);
    peer = (struct tls_peer){.uses = 1, .cert = cert, .chain = X509_chain_up_ref(chain)};
    return &peer;
}

static int fresh(void **state)
{
    (void)state;
    arena = arena_new(4096);
    client = (struct tls_client){.arena = arena};
    return 0;
}

static int gone(void **state)
{
    (void)state;
    X509_free(peer.cert);
    sk_X509_pop_free(peer.chain, X509_free);
    peer = (struct tls_peer){0};
    arena_free(arena);
    return 0;
}

/* ---- a real server ---- */

static int protocol_choose(SSL *ssl, const unsigned char **out, unsigned char *len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    (void)ssl, (void)in, (void)in_len, (void)arg;
    *out = (const unsigned char *)"http/1.1";
    *len = 8;
    return SSL_TLSEXT_ERR_OK;
}

/* All that it says to a first hello of a client. */
static void server_says(int version, bool big)
{
    static char ext[40000];
    EVP_PKEY *ca_key = kit_key(false, 0), *key = kit_key(false, 1);
    X509 *ca = kit_ca("CN=Root", ca_key);
    size_t n = (size_t)snprintf(ext, sizeof ext, "DNS:origin.example");

    for (int i = 0; big && i < 1000; i++)
        n += (size_t)snprintf(ext + n, sizeof ext - n, ",DNS:name%d.example.com", i);
    X509 *cert = kit_make((struct kit_cert){.subject = "CN=origin.example",
                                            .key = key,
                                            .issuer = ca,
                                            .issuer_key = ca_key,
                                            .ext = {"subjectAltName", ext}});
    SSL_CTX *to = SSL_CTX_new(TLS_server_method()), *from = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(to, version);
    SSL_CTX_use_certificate(to, cert);
    SSL_CTX_use_PrivateKey(to, key);
    SSL_CTX_add1_chain_cert(to, ca);
    SSL_CTX_set_alpn_select_cb(to, protocol_choose, NULL);
    SSL_CTX_set_alpn_protos(from, (const unsigned char *)"\x08http/1.1", 9);
    SSL *server = SSL_new(to), *teller = SSL_new(from);
    BIO *up = BIO_new(BIO_s_mem()), *down = BIO_new(BIO_s_mem());
    BIO_up_ref(up);
    BIO_up_ref(down);
    SSL_set_bio(teller, down, up);
    SSL_set_bio(server, up, down);
    SSL_connect(teller);
    SSL_accept(server);
    said_len = (size_t)BIO_read(down, said, sizeof said);
    SSL_free(server);
    SSL_free(teller);
    SSL_CTX_free(to);
    SSL_CTX_free(from);
    X509_free(cert);
    X509_free(ca);
    ERR_clear_error();
}

/* All of it, more and more in steps of so many bytes; WAIT: it was not enough. */
static enum bt_tls_state peek(size_t step)
{
    enum bt_tls_state state = BT_TLS_WAIT;

    for (size_t n = step; state == BT_TLS_WAIT; n += step) {
        state = server_peek(NULL, (bt_str){said, n < said_len ? n : said_len});
        if (n >= said_len)
            break;
    }
    return state;
}

static void tls12(void **state)
{
    static const size_t steps[] = {100000, 1, 7, 1460};

    for (size_t i = 0; i < COUNT(steps); i++) {
        server_says(TLS1_2_VERSION, i % 2 == 1);
        assert_int_equal(peek(steps[i]), BT_TLS_READY);
        assert_null(client.heard->why);
        assert_int_equal(client.heard->hello_version, 0x0303);
        assert_int_equal(client.heard->version, 0x0303);
        assert_int_equal(client.heard->cipher, 0xc02c); /* ECDHE-ECDSA-AES256-GCM-SHA384 */
        assert_str(client.heard->alpn, "http/1.1");
        assert_int_equal(client.heard->certs, 2);
        assert_ptr_equal(client.peer, &peer);
        char name[64];
        X509_NAME_get_text_by_NID(X509_get_subject_name(peer.cert), NID_commonName, name, 64);
        assert_string_equal(name, "origin.example");
        assert_int_equal(sk_X509_num(peer.chain), 1);
        assert_int_equal(server_peek(NULL, (bt_str){said, said_len}), BT_TLS_READY);
        gone(state);
        fresh(state);
    }
}

/* The certificate is encrypted: the hello is all there is. */
static void tls13(void **state)
{
    (void)state;
    server_says(TLS1_3_VERSION, false);
    assert_int_equal(peek(1), BT_TLS_READY);
    assert_null(client.heard->why);
    assert_int_equal(client.heard->hello_version, 0x0303);
    assert_int_equal(client.heard->version, 0x0304);
    assert_int_equal(client.heard->cipher, 0x1302);
    assert_null(client.heard->alpn.at);
    assert_null(client.peer);
}

/* ---- others ---- */

static enum bt_tls_state says(const char *bytes, size_t n)
{
    memcpy(said, bytes, n);
    said_len = n;
    client.heard = NULL;
    client.heard_bytes = 0;
    client.peer = NULL;
    return peek(1);
}
#define SAYS(literal) says(literal, sizeof(literal) - 1)

/* A record of type 22 with a message of that type and content. */
static void record(char *out, size_t *at, int type, const char *content, size_t n)
{
    const unsigned char head[] = {22,
                                  3,
                                  3,
                                  (unsigned char)((n + 4) >> 8),
                                  (unsigned char)(n + 4),
                                  (unsigned char)type,
                                  0,
                                  (unsigned char)(n >> 8),
                                  (unsigned char)n};

    memcpy(out + *at, head, sizeof head);
    memcpy(out + *at + sizeof head, content, n);
    *at += sizeof head + n;
}

#define RANDOM "0123456789abcdef0123456789abcdef"
#define HELLO "\x03\x03" RANDOM "\0\xc0\x2f\0"

static void no_tls(void **state)
{
    (void)state;
    assert_int_equal(SAYS("HTTP/1.1 400 Bad Request\r\n\r\n"), BT_TLS_FAILED);
    assert_int_equal(client.heard->used, 1);
    assert_int_equal(SAYS("\x16HTTP/1.1"), BT_TLS_FAILED);
    assert_int_equal(SAYS("220 mail\r\n"), BT_TLS_FAILED);
    assert_int_equal(SAYS("\x16\x03"), BT_TLS_WAIT);
}

/* An alert, or the end of what is in clear: nothing more is to be seen. */
static void ends(void **state)
{
    char bytes[1000];
    size_t n = 0;

    (void)state;
    assert_int_equal(SAYS("\x15\x03\x03\0\x02\x02\x28"), BT_TLS_READY);
    assert_false(client.heard->has_hello);
    record(bytes, &n, 2, HELLO, sizeof HELLO - 1);
    assert_int_equal(says(bytes, n), BT_TLS_WAIT);
    assert_int_equal(client.heard->cipher, 0xc02f);
    memcpy(bytes + n, "\x14\x03\x03\0\x01\x01", 6); /* a session is resumed */
    assert_int_equal(says(bytes, n + 6), BT_TLS_READY);
    assert_null(client.heard->why);
    assert_null(client.peer);
    size_t hello = n;
    record(bytes, &n, 14, "", 0);
    assert_int_equal(says(bytes, n), BT_TLS_READY);
    assert_null(client.heard->why);
    /* A certificate of another kind is passed over. */
    n = hello;
    record(bytes, &n, 22, "status", 6);
    record(bytes, &n, 11, "\0\0\0", 3);
    assert_int_equal(says(bytes, n), BT_TLS_READY);
    assert_int_equal(client.heard->certs, 0);
}

static void malformed(void **state)
{
    static const struct {
        const char *content;
        size_t n;
        int type;
        const char *why;
    } rows[] = {
#define ROW(type, content, why) {content, sizeof(content) - 1, type, why}
        ROW(11, "\0\0\0", "another message"),
        ROW(2, "\x03\x03" RANDOM "\0\xc0\x2f", "malformed ServerHello"),
        ROW(2, "\x03\x03" RANDOM "\x21\xc0\x2f\0", "malformed ServerHello"),
        ROW(2, HELLO "\0\x01", "malformed ServerHello"),
        ROW(2, HELLO "\0\0x", "malformed ServerHello"),
        ROW(2, HELLO "\0\x05\0\x2b\0\x01\x03", "malformed ServerHello"),
        ROW(2, HELLO "\0\x04\0\x2b\0\x02", "malformed ServerHello"),
        ROW(2, HELLO "\0\x06\0\x10\0\x02\0\0", "malformed ServerHello"),
    };
    static const char *const certs[] = {"\0\0\x01", "\0\0\x03\0\0\0", "\0\0\x03\0\0\x01"};
    char bytes[1000];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t n = 0;
        record(bytes, &n, rows[i].type, rows[i].content, rows[i].n);
        assert_int_equal(says(bytes, n), BT_TLS_READY);
        assert_non_null(strstr(client.heard->why, rows[i].why));
        assert_int_equal(client.heard->version, 0);
        assert_null(client.peer);
    }
    for (size_t i = 0; i < COUNT(certs); i++) {
        size_t n = 0;
        record(bytes, &n, 2, HELLO, sizeof HELLO - 1);
        record(bytes, &n, 11, certs[i], i == 0 ? 3 : 6);
        assert_int_equal(says(bytes, n), BT_TLS_READY);
        assert_non_null(strstr(client.heard->why, "list of certificates"));
        assert_int_equal(client.heard->certs, 0);
        assert_int_equal(client.heard->version, 0x0303);
    }
}

/* What says that it is a certificate, and is none. */
static void no_certificate(void **state)
{
    char bytes[1000];
    size_t n = 0;

    (void)state;
    record(bytes, &n, 2, HELLO, sizeof HELLO - 1);
    record(bytes, &n, 11,
           "\0\0\x07\0\0\x04"
           "none",
           10);
    assert_int_equal(says(bytes, n), BT_TLS_READY);
    assert_int_equal(client.heard->certs, 1);
    assert_null(client.peer);
    assert_int_equal(ERR_peek_error(), 0);
}

/* Somebody who never comes to the point. */
static void too_much(void **state)
{
    static char bytes[100000];
    size_t n = 0;

    (void)state;
    record(bytes, &n, 2, HELLO, sizeof HELLO - 1);
    while (n < 80000)
        record(bytes, &n, 22, RANDOM, 32);
    assert_int_equal(says(bytes, n), BT_TLS_READY);
    assert_non_null(strstr(client.heard->why, "too much"));
    assert_int_equal(client.heard->used, SERVERHELLO_RAW_MAX);
    n = 0;
    record(bytes, &n, 2, HELLO, sizeof HELLO - 1);
    memcpy(bytes + n, "\x16\x03\x03\0\x04\x0b\xff\xff\xff", 9);
    assert_int_equal(says(bytes, n + 9), BT_TLS_READY);
    assert_non_null(strstr(client.heard->why, "too long"));
    assert_int_equal(SAYS("\x16\x03\x03\x40\x01"), BT_TLS_READY);
    assert_int_equal(SAYS("\x16\x03\x03\0\0"), BT_TLS_READY);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, gone)
    const struct CMUnitTest tests[] = {
        TEST(tls12),     TEST(tls13),          TEST(no_tls),   TEST(ends),
        TEST(malformed), TEST(no_certificate), TEST(too_much),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
