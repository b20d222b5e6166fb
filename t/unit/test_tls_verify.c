/* test_tls_verify.c - whom a certificate is for, and the names of what is wrong with one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls_kit.h"

#include "tls/verify.c"

static X509 *cert_for(const char *common_name, const char *alternatives)
{
    char subject[512];

    snprintf(subject, sizeof subject, "O=Org/CN=%s", common_name);
    return kit_make(
        (struct kit_cert){.subject = common_name == NULL ? "O=Org" : subject,
                          .key = kit_key(false, 0),
                          .ext = {alternatives != NULL ? "subjectAltName" : NULL, alternatives}});
}

static void test_host(void **state)
{
    static const struct {
        const char *common_name, *alternatives, *host;
        bool is;
    } rows[] = {
        {"a.test", "DNS:a.test", "a.test", true},
        {"a.test", "DNS:a.test", "A.TEST", true},
        {"a.test", "DNS:A.Test", "a.test", true},
        {"a.test", "DNS:a.test", "a.test.", true},
        {"a.test", "DNS:a.test.", "a.test", false},
        {"a.test", "DNS:a.test", "a.test..", false},
        {"a.test", "DNS:a.test", "b.a.test", false},
        {"a.test", "DNS:a.test", "test", false},
        {"a.test", "DNS:a.test", "", false},
        {"a.test", "DNS:a.test", ".", false},
        {"x", "DNS:b.test,DNS:c.test,DNS:a.test", "a.test", true},
        /* the common name counts only when nothing else does */
        {"a.test", "DNS:b.test", "a.test", false},
        {"a.test", NULL, "a.test", true},
        {"a.test", "email:me@a.test", "a.test", true},
        {"a.test", "IP:192.0.2.1", "a.test", false},
        {"a.test/CN=b.test", NULL, "b.test", true},
        {"a.test/CN=b.test", NULL, "a.test", false},
        {"*.a.test", NULL, "b.a.test", true},
        {"*", NULL, "a.test", false},
        {"*.", NULL, "a.test", false},
        {NULL, NULL, "a.test", false},
        /* wildcards */
        {"x", "DNS:*.a.test", "b.a.test", true},
        {"x", "DNS:*.a.test", "B.A.test", true},
        {"x", "DNS:*.a.test", "b.a.test.", true},
        {"x", "DNS:*.a.test", "xn--bcher-kva.a.test", true},
        {"x", "DNS:*.a.test", "a.test", false},
        {"x", "DNS:*.a.test", "c.b.a.test", false},
        {"x", "DNS:*.a.test", ".a.test", false},
        {"x", "DNS:*.test", "a.test", false},
        {"x", "DNS:*.test.", "a.test", false},
        {"x", "DNS:*", "test", false},
        {"x", "DNS:*", "a.test", false},
        {"x", "DNS:*.*.test", "b.a.test", false},
        {"x", "DNS:b.*.test", "b.a.test", false},
        {"x", "DNS:b*.a.test", "bc.a.test", false},
        {"x", "DNS:*b.a.test", "cb.a.test", false},
        {"x", "DNS:*a.test", "ba.test", false},
        {"x", "DNS:*..a.test", "b..a.test", false},
        {"x", "DNS:*.a.test", "*.a.test", false},
        {"x", "DNS:*.0.2.1", "192.0.2.1", false},
        /* addresses */
        {"x", "IP:192.0.2.1", "192.0.2.1", true},
        {"x", "IP:192.0.2.1", "192.0.2.2", false},
        {"x", "DNS:192.0.2.1", "192.0.2.1", false},
        {"192.0.2.1", NULL, "192.0.2.1", true},
        {"192.0.2.1", "DNS:a.test", "192.0.2.1", false},
        {"x", "IP:2001:db8::1", "2001:db8::1", true},
        {"x", "IP:2001:db8::1", "2001:DB8:0::1", true},
        {"x", "IP:2001:db8::1", "[2001:db8::1]", true},
        {"x", "IP:2001:db8::1", "2001:db8::2", false},
        {"x", "IP:192.0.2.1", "::ffff:192.0.2.1", false},
        /* other alphabets: the host is an A-label, never what it stands for */
        {"x", "DNS:xn--bcher-kva.test", "xn--bcher-kva.test", true},
        {"b\xc3\xbc"
         "cher.test",
         NULL, "xn--bcher-kva.test", false},
        {"b\xc3\xbc"
         "cher.test",
         NULL,
         "b\xc3\xbc"
         "cher.test",
         false},
        {"x", "DNS:a_b.test", "a_b.test", true},
        {"x", "DNS:a b.test", "a b.test", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        X509 *cert = cert_for(rows[i].common_name, rows[i].alternatives);

        if (verify_host(cert, str_from(rows[i].host)) != rows[i].is)
            fail_msg("CN %s, %s: %s for «%s»", rows[i].common_name, rows[i].alternatives,
                     rows[i].is ? "is not" : "is", rows[i].host);
        X509_free(cert);
    }
}

static bool raw_is(const void *der, size_t n, const char *host)
{
    X509 *cert = cert_for(host, NULL);
    bool is;

    kit_raw_ext(cert, NID_subject_alt_name, der, n);
    is = verify_host(cert, str_from(host));
    X509_free(cert);
    return is;
}
#define RAW(host, bytes) raw_is("" bytes, sizeof bytes - 1, host)

static void test_odd_bytes(void **state)
{
    (void)state;
    assert_true(RAW("a.test", "\x30\x08\x82\x06"
                              "a.test"));
    assert_false(RAW("a.test", "\x30\x0f\x82\x0d"
                               "a.test\0b.test"));
    assert_false(RAW("b.test", "\x30\x0f\x82\x0d"
                               "a.test\0b.test"));
    assert_false(RAW("a.test", "\x30\x09\x82\x07"
                               "a.test\0"));
    /* no names in it, so that the common name counts; broken, so that it does not */
    assert_true(RAW("a.test", "\x30\x00"));
    assert_false(RAW("a.test", "\x30\x08\x82\x07"
                               "a.test"));
    assert_false(RAW("a.test", "\x30\x80\x82\x06"
                               "a.test\0\0"));
    assert_false(RAW("a.test", "\x30\x09\x82\x06"
                               "a.test\x82"));
    assert_false(RAW("a.test", "\x30\x08\x82\x06"
                               "a.testx"));
    assert_false(RAW("a.test", "\x31\x08\x82\x06"
                               "a.test"));
    assert_false(RAW("a.test", "\x70\x08\x82\x06"
                               "a.test"));
    assert_false(RAW("a.test", "\x30\x0a\xa2\x08\x16\x06"
                               "a.test"));
    assert_false(RAW("a.test", ""));
    assert_false(RAW("192.0.2.1", "\x30\x05\x87\x03\xc0\x00\x02"));
    assert_true(RAW("192.0.2.1", "\x30\x06\x87\x04\xc0\x00\x02\x01"));
    X509 *cert = cert_for("a.test", NULL);
    assert_false(verify_host(cert, (bt_str){"a.test\0b", 8}));
    X509_free(cert);
}

static void test_two_extensions(void **state)
{
    X509 *cert = cert_for("a.test", "DNS:a.test");

    (void)state;
    kit_raw_ext(cert, NID_subject_alt_name,
                "\x30\x08\x82\x06"
                "b.test",
                10);
    assert_false(verify_host(cert, BT_STR("a.test")));
    assert_false(verify_host(cert, BT_STR("b.test")));
    X509_free(cert);
}

static void test_many(void **state)
{
    enum { MANY = 10000 };
    static char der[MANY * 16 + 16];
    X509 *cert = cert_for("x", NULL);
    size_t n = 4;

    (void)state;
    for (int i = 0; i < MANY; i++)
        n += (size_t)sprintf(der + n, "\x82\x0ah%05d.com", i);
    memcpy(der, (const char[]){0x30, (char)0x83, (char)(n >> 16), 0}, 2);
    memmove(der + 5, der + 4, n - 4);
    n -= 4;
    der[2] = (char)(n >> 16);
    der[3] = (char)(n >> 8);
    der[4] = (char)n;
    kit_raw_ext(cert, NID_subject_alt_name, der, n + 5);
    assert_true(verify_host(cert, BT_STR("h09999.com")));
    assert_false(verify_host(cert, BT_STR("h10000.com")));
    X509_free(cert);
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        int code;
    } rows[] = {
        {"X509_V_ERR_CERT_HAS_EXPIRED", X509_V_ERR_CERT_HAS_EXPIRED},
        {"CERT_HAS_EXPIRED", X509_V_ERR_CERT_HAS_EXPIRED},
        {"x509_v_err_cert_has_expired", X509_V_ERR_CERT_HAS_EXPIRED},
        {"SQUID_X509_V_ERR_DOMAIN_MISMATCH", VERIFY_WRONG_HOST},
        {"X509_V_ERR_HOSTNAME_MISMATCH", VERIFY_WRONG_HOST},
        {"SQUID_ERR_SSL_HANDSHAKE", VERIFY_HANDSHAKE},
        {"X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT", X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT},
        {"CERT_HAS_EXPIRE", -1},
        {"X509_V_ERR_", -1},
        {"", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(verify_code(str_from(rows[i].name)), rows[i].code);
    assert_string_equal(verify_name(VERIFY_WRONG_HOST), "SQUID_X509_V_ERR_DOMAIN_MISMATCH");
    assert_string_equal(verify_name(X509_V_ERR_CERT_REVOKED), "X509_V_ERR_CERT_REVOKED");
    assert_string_equal(verify_name(12345), "X509_V_ERR_UNSPECIFIED");
    assert_string_equal(verify_says(X509_V_ERR_CERT_HAS_EXPIRED), "certificate has expired");
    for (int code = 1; code <= 94; code++) /* each has a name that leads back */
        if (code != X509_V_ERR_HOSTNAME_MISMATCH && code != X509_V_ERR_IP_ADDRESS_MISMATCH)
            assert_int_equal(verify_code(str_from(verify_name(code))), code);
}

/* Not within the caller, where the compiler sees two of them and no count. */
__attribute__((noinline)) static void drop(struct tls_peer *peer)
{
    tls_peer_release(peer);
}

static void test_peer(void **state)
{
    X509 *cert = cert_for("a.test", NULL);
    struct tls_peer *peer = tls_peer_new(cert, NULL), *copy;
    uint8_t sha256[32];
    unsigned len;

    (void)state;
    peer->error[0].code = 10;
    peer->errors = 1;
    copy = tls_peer_copy(peer);
    assert_ptr_equal(tls_peer_hold(peer), peer);
    drop(peer);
    assert_int_equal(peer->uses, 1);
    drop(peer);
    X509_free(cert);
    assert_int_equal(copy->errors, 1);
    assert_int_equal(X509_digest(copy->cert, EVP_sha256(), sha256, &len), 1);
    assert_memory_equal(sha256, copy->sha256, 32);
    drop(copy);
    drop(NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_host),           cmocka_unit_test(test_odd_bytes),
    cmocka_unit_test(test_two_extensions), cmocka_unit_test(test_many),
    cmocka_unit_test(test_names),          cmocka_unit_test(test_peer),
};
UNIT_MAIN(tests)
