/* test_tls_acl.c - ACL types about TLS: names asked for and names in certificates, steps, faults,
 * fingerprints, certificates of clients.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls_kit.h"

#include "tls/acl.c"
#include "tls/verify.c"

static const struct bt_module bt_module = {.acl_types = BT_ROWS(tls_acl_types)};

#define address address_of /* verify.c has one */
#include "type_fake.h"

static struct tls_client client;
static struct bt_tls_side *origin, *teller;
static bt_str connect_host;
const struct tls_error *tls_judged;
X509 *tls_judged_cert;

struct tls_client *tls_client(struct bt_txn *txn)
{
    (void)txn;
    client.arena = arena;
    return &client;
}
struct bt_tls_side *bt_tls_origin(struct bt_txn *txn)
{
    (void)txn;
    return origin;
}
struct bt_tls_side *bt_tls_client(struct bt_txn *txn)
{
    (void)txn;
    return teller;
}
bt_str bt_tls_connect_host(struct bt_txn *txn)
{
    (void)txn;
    return connect_host;
}

static int fresh(void **state)
{
    client = (struct tls_client){.arena = NULL};
    origin = teller = NULL;
    connect_host = BT_STR_NONE;
    tls_judged = NULL;
    tls_judged_cert = NULL;
    return conf_new(state);
}

static int gone(void **state)
{
    tls_peer_release(client.peer);
    return conf_free(state);
}

static X509 *cert_of(const char *subject, const char *alt)
{
    return kit_make((struct kit_cert){.subject = subject,
                                      .key = kit_key(false, 0),
                                      .ext = {alt == NULL ? NULL : "subjectAltName", alt}});
}

/* Who the origin is, from now on. */
static void known(const char *subject, const char *alt)
{
    X509 *cert = cert_of(subject, alt);

    tls_peer_release(client.peer);
    client.peer = tls_peer_new(cert, NULL);
    X509_free(cert);
}

static void says_hello(enum hello_name kind, const char *name)
{
    static struct hello hello;

    hello = (struct hello){.name = kind};
    if (kind == HELLO_NAME_HOST || kind == HELLO_NAME_ADDRESS)
        hello.sni = str_from(name);
    client.hello = &hello;
}

/* ---- ssl::server_name ---- */

static void names_before_the_certificate(void **state)
{
    struct bt_txn txn = {.name = BT_STR("connect.example")};

    (void)state;
    struct compiled to = compiled_of("ssl::server_name", "connect.example", ".sni.example",
                                     "sni.example", "www.SNI.example", "none", "192.0.2.1");
    assert_string_equal(matches(to, &txn), "1");
    connect_host = BT_STR("none.connect.example");
    assert_string_equal(matches(to, &txn), "");
    connect_host = BT_STR("connect.example");
    txn.name = BT_STR("other.example");
    assert_string_equal(matches(to, &txn), "1");
    says_hello(HELLO_NAME_HOST, "www.sni.example");
    assert_string_equal(matches(to, &txn), "2 4");
    says_hello(HELLO_NAME_HOST, "sni.example");
    assert_string_equal(matches(to, &txn), "2 3");
    says_hello(HELLO_NAME_HOST, "xsni.example");
    assert_string_equal(matches(to, &txn), "");
    says_hello(HELLO_NAME_NONE, NULL); /* then CONNECT's */
    assert_string_equal(matches(to, &txn), "1");
    says_hello(HELLO_NAME_ODD, NULL);
    assert_string_equal(matches(to, &txn), "5");
    says_hello(HELLO_NAME_ADDRESS, "192.0.2.1");
    assert_string_equal(matches(to, &txn), "6");
    client.hello = NULL;
    connect_host = BT_STR_NONE;
    txn.name = BT_STR_NONE;
    assert_string_equal(matches(to, &txn), "5");
    assert_int_equal(txn.reversals + txn.resolutions, 0);
    assert_true((type_of("ssl::server_name")->flags & BT_FRESH) != 0);
    assert_true((type_of("ssl::server_name_regex")->flags & BT_FRESH) != 0);
}

static void names_of_the_certificate(void **state)
{
    struct bt_txn txn = {.name = BT_STR("www.shop.example")};

    (void)state;
    struct compiled to = compiled_of("ssl::server_name", "www.shop.example", "other.example",
                                     ".shop.example", "api.shop.example", "cn.example", "none",
                                     "192.0.2.9", ".example");
    known("CN=cn.example", "DNS:Other.example,DNS:www.shop.example,IP:192.0.2.9");
    assert_string_equal(matches(to, &txn), "1 2 3 7 8");
    known("CN=cn.example", "DNS:other.example");
    assert_string_equal(matches(to, &txn), "2 8"); /* it is not for whom was asked */
    /* A wildcard is for whom was asked, and for all below, but not for any other one. */
    known("CN=cn.example", "DNS:*.shop.example");
    assert_string_equal(matches(to, &txn), "1 3 8");
    txn.name = BT_STR("elsewhere.example");
    assert_string_equal(matches(to, &txn), "3 8");
    known("CN=cn.example", NULL);
    assert_string_equal(matches(to, &txn), "5 8");
    known("CN=cn.example", "email:a@b.example"); /* no name of a host */
    assert_string_equal(matches(to, &txn), "5 8");
    known("O=Nobody", NULL);
    assert_string_equal(matches(to, &txn), "6");
    /* Asked of the same certificate, and of another one. */
    assert_string_equal(matches(to, &txn), "6");
    known("CN=api.shop.example", NULL);
    assert_string_equal(matches(to, &txn), "3 4 8");
}

static void whose_word(void **state)
{
    struct bt_txn txn = {.name = BT_STR("www.shop.example")};

    (void)state;
    struct compiled to = compiled_of(
        "ssl::server_name", "--client-requested www.shop.example",
        "--server-provided www.shop.example", "--consensus www.shop.example",
        "--server-provided other.example", "--consensus other.example", "--server-provided none",
        "--consensus none", "www.shop.example", "--client-requested other.example");
    assert_string_equal(matches(to, &txn), "1 3 6 8");
    known("CN=x", "DNS:other.example");
    assert_string_equal(matches(to, &txn), "1 4 7");
    known("CN=x", "DNS:*.shop.example,DNS:other.example");
    assert_string_equal(matches(to, &txn), "1 3 4 8");
}

/* Bytes that are no name are not in the list of names. */
static void odd_names(void **state)
{
    struct bt_txn txn = {.name = BT_STR("asked.example")};
    X509 *cert = cert_of("CN=cn.example", NULL);
    static const uint8_t nul[] = {0x30, 14,   0x82, 5,   'a', 0,   'b', 'c',
                                  'd',  0x82, 5,    'g', 'o', 'o', 'd', '.'};
    static const uint8_t broken[] = {0x30, 0x30, 0x82, 3, 'a'};

    (void)state;
    struct compiled to = compiled_of("ssl::server_name", "a", "good", "cn.example", "none",
                                     "asked.example");
    kit_raw_ext(cert, NID_subject_alt_name, nul, sizeof nul);
    client.peer = tls_peer_new(cert, NULL);
    X509_free(cert);
    assert_string_equal(matches(to, &txn), "2");
    tls_peer_release(client.peer);
    cert = cert_of("CN=cn.example", NULL);
    kit_raw_ext(cert, NID_subject_alt_name, broken, sizeof broken);
    client.peer = tls_peer_new(cert, NULL);
    client.names = NULL;
    X509_free(cert);
    assert_string_equal(matches(to, &txn), "4");
    assert_int_equal(ERR_peek_error(), 0);
}

static void server_name_words(void **state)
{
    (void)state;
    refused("ssl::server_name", "--server a.example", 1, "is no flag");
    refused("ssl::server_name", "a.example --all", 11, "is no flag");
    refused("ssl::server_name", "--consensus --server-provided a.example", 13, "another flag");
    (void)compiled_of("ssl::server_name", "*.a.example b.example/ ok.example");
    assert_true(said(1, 1, false, "write .a.example"));
    assert_true(said(1, 13, false, "no host name"));
}

static void server_name_patterns(void **state)
{
    struct bt_txn txn = {.name = BT_STR("node42.example")};

    (void)state;
    struct compiled to = compiled_of("ssl::server_name_regex", "^node[0-9]+\\.", "-i ^NODE",
                                     "^NODE", "^none$", "cert");
    assert_string_equal(matches(to, &txn), "1 2");
    known("CN=x", "DNS:cert.example,DNS:node1.example");
    assert_string_equal(matches(to, &txn), "1 2 5");
    refused("ssl::server_name_regex", "a[", 1, "byte");
}

/* ---- at_step ---- */

static void steps(void **state)
{
    struct bt_txn txn = {.connections = 0};

    (void)state;
    for (int step = 0; step <= 3; step++) {
        client.step = step;
        assert_int_equal(asked("at_step", "SslBump1", &txn), step <= 1 ? BT_YES : BT_NO);
        assert_int_equal(asked("at_step", "sslbump2", &txn), step == 2 ? BT_YES : BT_NO);
        assert_int_equal(asked("at_step", "SSLBUMP3", &txn), step == 3 ? BT_YES : BT_NO);
        assert_int_equal(asked("at_step", "SslBump3 SslBump1", &txn), step != 2 ? BT_YES : BT_NO);
        assert_int_equal(asked("at_step", "GeneratingCONNECT", &txn), BT_NO);
    }
    refused("at_step", "SslBump1 SslBump4", 10, "is no step");
    assert_true((type_of("at_step")->flags & BT_FRESH) != 0);
}

/* ---- ssl_error ---- */

static void faults(void **state)
{
    struct bt_txn txn = {.connections = 0};
    struct tls_error judged = {.code = X509_V_ERR_CERT_HAS_EXPIRED};

    (void)state;
    assert_int_equal(asked("ssl_error", "X509_V_ERR_CERT_HAS_EXPIRED", &txn), BT_NO);
    known("CN=x", NULL);
    client.peer->errors = 2;
    client.peer->error[0].code = VERIFY_WRONG_HOST;
    client.peer->error[1].code = X509_V_ERR_CERT_NOT_YET_VALID;
    assert_int_equal(asked("ssl_error", "X509_V_ERR_CERT_HAS_EXPIRED", &txn), BT_NO);
    assert_int_equal(asked("ssl_error", "SQUID_X509_V_ERR_DOMAIN_MISMATCH", &txn), BT_YES);
    assert_int_equal(asked("ssl_error", "ssl::certNotYetValid", &txn), BT_YES);
    tls_judged = &judged; /* that alone */
    assert_int_equal(asked("ssl_error", "SQUID_X509_V_ERR_DOMAIN_MISMATCH", &txn), BT_NO);
    assert_int_equal(
        asked("ssl_error", "X509_V_ERR_CERT_REVOKED x509_v_err_cert_has_expired", &txn), BT_YES);
    assert_int_equal(asked("ssl_error", "ssl::certHasExpired", &txn), BT_YES);
    assert_int_equal(asked("ssl_error", "ssl::certUntrusted", &txn), BT_NO);
    judged.code = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
    assert_int_equal(asked("ssl_error", "ssl::certUntrusted", &txn), BT_YES);
    refused("ssl_error", "X509_V_ERR_CERT_HAS_EXPIRED X509_V_ERR_NONE", 29, "no fault");
}

/* What acl.c of the server predefines is what the groups here are, and known. */
static void predefined(void **state)
{
    static const char *const untrusted =
        "X509_V_ERR_INVALID_CA X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN "
        "X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT "
        "X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY X509_V_ERR_CERT_UNTRUSTED";
    const struct codes *one = error_compile(values_of(1, untrusted).args, arena, &err);
    const struct codes *other = error_compile(values_of(1, "ssl::certUntrusted").args, arena, &err);

    (void)state;
    assert_int_equal(one->n, other->n);
    assert_memory_equal(one->code, other->code, one->n * sizeof *one->code);
}

/* ---- server_cert_fingerprint ---- */

static const char *print_of(const uint8_t *bytes, size_t n, const char *between)
{
    struct str_builder text;

    str_builder_arena(&text, arena, 128);
    for (size_t i = 0; i < n; i++)
        str_add(&text, bt_str_printf(arena, "%s%02X", i > 0 ? between : "", bytes[i]));
    return bt_str_copy(arena, str_built(&text)).at;
}

static void fingerprints(void **state)
{
    struct bt_txn txn = {.connections = 0};

    (void)state;
    known("CN=x", NULL);
    const char *sha1 = print_of(client.peer->sha1, 20, ":");
    const char *sha256 =
        bt_str_printf(arena, "-sha256 %s", print_of(client.peer->sha256, 32, "")).at;
    const char *both =
        bt_str_printf(arena, "-sha1 00112233445566778899aabbccddeeff00112233 %s", sha1).at;
    assert_int_equal(asked("server_cert_fingerprint", sha1, &txn), BT_YES);
    assert_int_equal(asked("server_cert_fingerprint", both, &txn), BT_YES);
    assert_int_equal(asked("server_cert_fingerprint", sha256, &txn), BT_YES);
    tls_judged_cert = cert_of("CN=y", NULL);
    assert_int_equal(asked("server_cert_fingerprint", sha1, &txn), BT_NO);
    X509_free(tls_judged_cert);
    tls_judged_cert = client.peer->cert;
    assert_int_equal(asked("server_cert_fingerprint", both, &txn), BT_YES);
    tls_judged_cert = NULL;
    struct bt_tls_side side = {.peer = client.peer};
    client.peer = NULL;
    assert_int_equal(asked("server_cert_fingerprint", sha1, &txn), BT_NO);
    origin = &side;
    assert_int_equal(asked("server_cert_fingerprint", sha1, &txn), BT_YES);
    client.peer = side.peer;
    refused("server_cert_fingerprint", "00:11", 1, "20 pairs");
    refused("server_cert_fingerprint", "-sha256 00:11", 9, "32 pairs");
    refused("server_cert_fingerprint",
            "00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00:11:22:3g", 1, "20 pairs");
}

/* ---- user_cert, ca_cert ---- */

static void clients(void **state)
{
    struct bt_txn txn = {.connections = 0};
    EVP_PKEY *ca_key = kit_key(false, 1);
    X509 *ca = kit_ca("O=House/CN=House CA", ca_key);
    X509 *cert = kit_make((struct kit_cert){
        .subject = "O=Example Ltd/OU=Lab/OU=Desk/CN=Kim/emailAddress=kim@a.example",
        .key = kit_key(false, 0),
        .issuer = ca,
        .issuer_key = ca_key});
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(context);
    SSL_SESSION *session = SSL_SESSION_new();
    struct bt_tls_side side = {.ssl = ssl};

    (void)state;
    assert_int_equal(asked("user_cert", "CN Kim", &txn), BT_NO); /* no TLS */
    teller = &side;
    assert_int_equal(asked("user_cert", "CN Kim", &txn), BT_NO); /* no certificate */
    struct attribute *made = attribute_compile(values_of(1, "OU Nobody Desk").args, arena, &err);
    assert_true(name_has(made, X509_get_subject_name(cert)));
    assert_false(name_has(made, X509_get_issuer_name(cert)));
    made = attribute_compile(values_of(1, "CN kim").args, arena, &err);
    assert_false(name_has(made, X509_get_subject_name(cert)));
    made = attribute_compile(values_of(1, "emailAddress kim@a.example").args, arena, &err);
    assert_true(name_has(made, X509_get_subject_name(cert)));
    made = attribute_compile(values_of(1, "DN /O=House/CN=House").args, arena, &err);
    assert_false(name_has(made, X509_get_issuer_name(cert)));
    struct bt_word word[] = {{.text = BT_STR("DN")}, {.text = BT_STR("/O=House/CN=House CA")}};
    made = attribute_compile((struct bt_args){word, 2}, arena, &err);
    assert_true(name_has(made, X509_get_issuer_name(cert)));
    refused("user_cert", "XX Kim", 1, "no attribute");
    refused("ca_cert", "cn.example Kim", 1, "no attribute");
    SSL_SESSION_free(session);
    SSL_free(ssl);
    SSL_CTX_free(context);
    X509_free(cert);
    X509_free(ca);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, gone)
    const struct CMUnitTest tests[] = {
        TEST(names_before_the_certificate),
        TEST(names_of_the_certificate),
        TEST(whose_word),
        TEST(odd_names),
        TEST(server_name_words),
        TEST(steps),
        TEST(server_name_patterns),
        TEST(faults),
        TEST(predefined),
        TEST(fingerprints),
        TEST(clients),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
