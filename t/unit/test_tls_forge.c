/* test_tls_forge.c - forged certificates, looked at by OpenSSL's own verification and its program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls_kit.h"

#include "tls/forge.c"

static X509 *leaf;
static struct forge_ca ca;

static void start(bool rsa)
{
    static X509 *cas[2];

    if (cas[rsa] == NULL)
        cas[rsa] = kit_ca("O=Org/CN=The CA", kit_key(rsa, 0));
    ca = (struct forge_ca){cas[rsa], kit_key(rsa, 0)};
}

/* Replaces the leaf. */
static enum forge_verdict forge(struct forge_order order)
{
    order.ca = order.ca != NULL ? order.ca : &ca;
    order.key = order.key != NULL ? order.key : kit_key(false, 1);
    order.now = KIT_NOW;
    X509_free(leaf);
    return forge_leaf(&order, &leaf);
}
#define FORGE(...) forge((struct forge_order){__VA_ARGS__})

static X509 *origin_with(const char *subject, const char *names)
{
    return kit_make((struct kit_cert){.subject = subject,
                                      .key = kit_key(true, 2),
                                      .ext = {names != NULL ? "subjectAltName" : NULL, names}});
}

/* X509_V_OK, or why not; with one anchor, as a server's, at KIT_NOW. */
static int verify(X509 *anchor, const char *host)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_VERIFY_PARAM *param;
    int err;

    X509_STORE_add_cert(store, anchor);
    X509_STORE_CTX_init(context, store, leaf, NULL);
    X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
    param = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
    X509_VERIFY_PARAM_set_time(param, KIT_NOW);
    if (host != NULL)
        X509_VERIFY_PARAM_set1_host(param, host, 0);
    X509_verify_cert(context);
    err = X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return err;
}

#define OK(host) assert_int_equal(verify(ca.cert, host), X509_V_OK)

static const char *common_name(X509 *cert)
{
    static char text[256];

    if (X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, text, sizeof text) <
        0)
        return "";
    return text;
}

static int names_of(X509 *cert)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    int n = names == NULL ? -1 : sk_GENERAL_NAME_num(names);

    GENERAL_NAMES_free(names);
    return n;
}

/* Days from KIT_NOW. */
static int days(const ASN1_TIME *date)
{
    ASN1_TIME *now = ASN1_TIME_set(NULL, KIT_NOW);
    int n, seconds;

    assert_int_equal(ASN1_TIME_diff(&n, &seconds, now, date), 1);
    ASN1_TIME_free(now);
    return n;
}

static void assert_life(int from, int to)
{
    assert_int_equal(days(X509_get0_notBefore(leaf)), from);
    assert_int_equal(days(X509_get0_notAfter(leaf)), to);
}

/* ---- tests ---- */

static void mimics(void **state)
{
    X509 *origin = kit_make((struct kit_cert){
        .subject = "C=DE/O=Müller & Co/CN=www.example.org",
        .key = kit_key(true, 2),
        .ext = {"subjectAltName",
                "DNS:www.example.org,DNS:*.sub.example.org,IP:192.0.2.1,IP:2001:db8::1,"
                "email:a@example.org,URI:https://example.org/",
                "keyUsage", "critical,digitalSignature,keyEncipherment,keyCertSign",
                "extendedKeyUsage", "serverAuth,clientAuth", "basicConstraints", "CA:TRUE",
                "crlDistributionPoints", "URI:http://crl.example/"}});

    (void)state;
    for (int rsa = 0; rsa < 4; rsa++) {
        bool rsa_leaf = rsa & 2;

        start(rsa & 1);
        assert_int_equal(FORGE(.origin = origin, .key = kit_key(rsa_leaf, 1)), FORGE_DONE);
        OK("www.example.org");
        OK("x.sub.example.org");
        assert_int_equal(verify(ca.cert, "example.org"), X509_V_ERR_HOSTNAME_MISMATCH);
        assert_int_equal(X509_check_ip_asc(leaf, "192.0.2.1", 0), 1);
        assert_int_equal(X509_check_ip_asc(leaf, "2001:db8::1", 0), 1);
        assert_int_equal(names_of(leaf), 4);
        assert_int_equal(X509_NAME_cmp(X509_get_subject_name(leaf), X509_get_subject_name(origin)),
                         0);
        assert_int_equal(X509_NAME_cmp(X509_get_issuer_name(leaf), X509_get_subject_name(ca.cert)),
                         0);
        assert_int_equal(X509_check_ca(leaf), 0);
        assert_int_equal(X509_get_key_usage(leaf), KU_DIGITAL_SIGNATURE | KU_KEY_ENCIPHERMENT);
        assert_int_equal(X509_get_extended_key_usage(leaf), XKU_SSL_SERVER | XKU_SSL_CLIENT);
        assert_int_equal(X509_get_ext_by_NID(leaf, NID_crl_distribution_points, -1), -1);
        assert_int_equal(EVP_PKEY_eq(X509_get0_pubkey(leaf), kit_key(rsa_leaf, 1)), 1);
        assert_int_equal(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(leaf),
                                               X509_get0_subject_key_id(ca.cert)),
                         0);
        assert_non_null(X509_get0_subject_key_id(leaf));
        assert_int_equal(X509_get_signature_nid(leaf),
                         rsa & 1 ? NID_sha256WithRSAEncryption : NID_ecdsa_with_SHA256);
        assert_life(-30, 30);
    }
    X509_free(origin);
}

static void write_cert(const char *path, X509 *cert)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    PEM_write_X509(out, cert);
    fclose(out);
}

static void by_the_program(void **state)
{
    const char *ca_path = kit_path("ca.pem"), *leaf_path = kit_path("leaf.pem");
    X509 *origin = origin_with("CN=www.example.org", "DNS:www.example.org");
    char command[1024];

    (void)state;
    for (int rsa = 0; rsa < 2; rsa++) {
        start(rsa);
        write_cert(ca_path, ca.cert);
        for (int only_name = 0; only_name < 2; only_name++) {
            assert_int_equal(FORGE(.origin = only_name ? NULL : origin,
                                   .name = only_name ? BT_STR("www.example.org") : BT_STR("")),
                             FORGE_DONE);
            write_cert(leaf_path, leaf);
            snprintf(command, sizeof command,
                     "openssl verify -x509_strict -attime %lld -purpose sslserver "
                     "-verify_hostname www.example.org -CAfile %s %s 2>&1",
                     (long long)KIT_NOW, ca_path, leaf_path);
            assert_int_equal(kit_run(command, true), 0);
            /* and it would have told if that were wrong */
            snprintf(command, sizeof command,
                     "openssl verify -attime %lld -verify_hostname www.example.net "
                     "-CAfile %s %s 2>&1",
                     (long long)KIT_NOW, ca_path, leaf_path);
            assert_int_not_equal(kit_run(command, false), 0);
        }
    }
    X509_free(origin);
}

static void untrusted(void **state)
{
    static const struct {
        const char *subject, *name;
    } rows[] = {
        {"O=Org/CN=The CA", "Not trusted by \"The CA\""},
        {"O=Org", "Not trusted by \"Org\""},
        {"CN=123456789 123456789 123456789 123456789 123456789 123",
         "Not trusted by \"123456789 123456789 123456789 123456789 1234567\""},
        {"CN=123456789 123456789 123456789 123456789 123456ü",
         "Not trusted by \"123456789 123456789 123456789 123456789 123456\""},
    };
    X509 *origin = origin_with("CN=www.example.org", "DNS:www.example.org");

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forge_ca nobody = {.key = kit_key(false, 3)};

        ca = (struct forge_ca){kit_ca(rows[i].subject, kit_key(false, 0)), kit_key(false, 0)};
        assert_true(forge_untrusted(ca.cert, nobody.key, &nobody.cert));
        assert_string_equal(common_name(nobody.cert), rows[i].name);
        assert_int_equal(X509_check_ca(nobody.cert), 1);
        assert_int_equal(FORGE(.ca = &nobody, .mode = FORGE_UNTRUSTED, .origin = origin),
                         FORGE_DONE);
        assert_int_equal(verify(ca.cert, "www.example.org"),
                         X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
        assert_int_equal(verify(nobody.cert, "www.example.org"), X509_V_OK);
        X509_free(nobody.cert);
        X509_free(ca.cert);
    }
    X509_free(origin);
}

static void self_signed(void **state)
{
    X509 *origin = origin_with("O=Box/CN=box.example", NULL);

    (void)state;
    start(false);
    assert_int_equal(FORGE(.mode = FORGE_SELF, .origin = origin), FORGE_DONE);
    assert_int_equal(X509_self_signed(leaf, 1), 1);
    assert_int_equal(X509_NAME_cmp(X509_get_issuer_name(leaf), X509_get_subject_name(origin)), 0);
    assert_int_equal(verify(ca.cert, NULL), X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
    assert_int_equal(X509_check_host(leaf, "box.example", 0, 0, NULL), 1);
    X509_free(origin);
}

/* Makes a leaf and compares its serial number with the first one's. */
static void assert_serial(bool same, struct forge_order order)
{
    static ASN1_INTEGER *first;

    assert_int_equal(forge(order), FORGE_DONE);
    if (first == NULL)
        first = ASN1_INTEGER_dup(X509_get0_serialNumber(leaf));
    assert_int_equal(ASN1_INTEGER_cmp(first, X509_get0_serialNumber(leaf)) == 0, same);
    assert_int_equal(ASN1_STRING_length(X509_get0_serialNumber(leaf)), 20);
}
#define SERIAL(same, ...) assert_serial(same, (struct forge_order){__VA_ARGS__})

static void serials(void **state)
{
    X509 *origin = origin_with("CN=a.example", "DNS:a.example");
    X509 *renewed = origin_with("CN=a.example", "DNS:a.example");
    ASN1_INTEGER *first;
    struct forge_ca another = {kit_ca("O=Org/CN=The CA", kit_key(false, 3)), kit_key(false, 3)};

    (void)state;
    start(true);
    SERIAL(true, .origin = origin);
    SERIAL(true, .origin = origin);
    SERIAL(false, .origin = renewed);
    SERIAL(false, .origin = origin, .error = X509_V_ERR_CERT_HAS_EXPIRED);
    SERIAL(false, .origin = origin, .mode = FORGE_UNTRUSTED);
    SERIAL(false, .origin = origin, .mode = FORGE_SELF);
    SERIAL(false, .origin = origin, .ca = &another);
    SERIAL(false, .origin = origin, .key = kit_key(false, 2));
    SERIAL(false, .origin = origin, .key = kit_key(true, 1));
    SERIAL(false, .origin = origin, .name = BT_STR("b.example"));
    SERIAL(false, .origin = origin, .valid_after = true);
    SERIAL(false, .origin = origin, .valid_before = true);
    SERIAL(false, .name = BT_STR("a.example"));
    SERIAL(false, .origin = origin, .hash = EVP_sha384());
    SERIAL(true, .origin = origin, .hash = EVP_sha256());
    SERIAL(true, .origin = origin);
    /* signatures by ECDSA differ, so these are other certificates each time */
    start(false);
    SERIAL(false, .origin = origin);
    first = ASN1_INTEGER_dup(X509_get0_serialNumber(leaf));
    SERIAL(false, .origin = origin);
    assert_int_not_equal(ASN1_INTEGER_cmp(first, X509_get0_serialNumber(leaf)), 0);
    ASN1_INTEGER_free(first);
    X509_free(another.cert);
    X509_free(origin);
    X509_free(renewed);
}

static void adapts(void **state)
{
    X509 *origin = origin_with("O=Box/CN=old.example/OU=Unit/CN=older.example", "DNS:old.example");
    char long_name[] = "a123456789.b123456789.c123456789.d123456789.e123456789.f123456789.example";

    (void)state;
    start(false);
    assert_int_equal(FORGE(.origin = origin, .name = BT_STR("new.example")), FORGE_DONE);
    OK("new.example");
    assert_int_equal(verify(ca.cert, "old.example"), X509_V_ERR_HOSTNAME_MISMATCH);
    assert_string_equal(common_name(leaf), "new.example");
    assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(leaf)), 3);
    assert_int_equal(FORGE(.origin = origin, .valid_after = true), FORGE_DONE);
    assert_life(-30, 100);
    assert_int_equal(FORGE(.origin = origin, .valid_before = true), FORGE_DONE);
    assert_life(-100, 30);
    /* what does not fit into a common name is an alternative name only */
    assert_int_equal(FORGE(.name = {long_name, sizeof long_name - 1}), FORGE_DONE);
    OK(long_name);
    assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(leaf)), 0);
    X509_free(origin);
}

static void lives(void **state)
{
    static const struct {
        int from, to, verified;
    } rows[] = {
        {-30, 30, X509_V_OK},
        {-300, 300, X509_V_OK}, /* longer than the CA */
        {-300, -10, X509_V_ERR_CERT_HAS_EXPIRED},
        {-300, -200, X509_V_ERR_CERT_HAS_EXPIRED},
        {10, 300, X509_V_ERR_CERT_NOT_YET_VALID},
        {200, 300, X509_V_ERR_CERT_NOT_YET_VALID},
    };

    (void)state;
    start(false);
    for (size_t i = 0; i < COUNT(rows); i++) {
        X509 *origin = kit_make((struct kit_cert){.subject = "CN=a.example",
                                                  .key = kit_key(true, 2),
                                                  .from = rows[i].from,
                                                  .to = rows[i].to});

        assert_int_equal(FORGE(.origin = origin), FORGE_DONE);
        assert_life(rows[i].from, rows[i].to);
        assert_int_equal(verify(ca.cert, "a.example"), rows[i].verified);
        /* what the origin does not say is not said */
        assert_int_equal(X509_get_ext_by_NID(leaf, NID_subject_alt_name, -1), -1);
        assert_int_equal(X509_get_key_usage(leaf), UINT32_MAX);
        assert_int_equal(X509_get_extended_key_usage(leaf), UINT32_MAX);
        assert_int_equal(FORGE(.origin = origin, .mode = FORGE_SELF), FORGE_DONE);
        assert_life(rows[i].from, rows[i].to);
        X509_free(origin);
    }
    assert_int_equal(FORGE(.name = BT_STR("a.example")), FORGE_DONE);
    assert_int_equal(days(X509_get0_notBefore(leaf)), -1);
    assert_int_equal(days(X509_get0_notAfter(leaf)), 100); /* the CA's */
}

static void names(void **state)
{
    static const struct {
        const char *name;
        size_t len;
        enum forge_verdict verdict;
    } rows[] = {
#define NAME(literal, verdict) {literal, sizeof(literal) - 1, verdict}
        NAME("a.example", FORGE_DONE),
        NAME("A_b-c.Example", FORGE_DONE),
        NAME("localhost", FORGE_DONE),
        NAME("*.example.org", FORGE_DONE),
        NAME("192.0.2.7", FORGE_DONE),
        NAME("2001:db8::7", FORGE_DONE),
        NAME("", FORGE_NAMELESS),
        NAME("*", FORGE_MALFORMED),
        NAME("*.", FORGE_MALFORMED),
        NAME("a.*.example", FORGE_MALFORMED),
        NAME("a*.example", FORGE_MALFORMED),
        NAME("a b", FORGE_MALFORMED),
        NAME("a\0b", FORGE_MALFORMED),
        NAME("a..b", FORGE_MALFORMED),
        NAME(".a", FORGE_MALFORMED),
        NAME("a.", FORGE_MALFORMED),
        NAME("m\xc3\xbc.example", FORGE_MALFORMED),
    };

    (void)state;
    start(false);
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum forge_verdict verdict = FORGE(.name = {rows[i].name, rows[i].len});

        if (verdict != rows[i].verdict)
            fail_msg("%s: %s", rows[i].name, forge_says(verdict));
        assert_int_equal(leaf != NULL, verdict == FORGE_DONE);
        if (verdict == FORGE_DONE)
            OK(NULL);
    }
    assert_int_equal(FORGE(.name = BT_STR("192.0.2.7")), FORGE_DONE);
    assert_int_equal(X509_check_ip_asc(leaf, "192.0.2.7", 0), 1);
    assert_int_equal(FORGE(.name = BT_STR("2001:db8::7")), FORGE_DONE);
    assert_int_equal(X509_check_ip_asc(leaf, "2001:db8::7", 0), 1);
    assert_int_equal(FORGE(.name = BT_STR("*.example.org")), FORGE_DONE);
    OK("x.example.org");
    assert_int_equal(X509_get_extended_key_usage(leaf), XKU_SSL_SERVER);
}

/* ---- origins that are not as they should be ---- */

static enum forge_verdict forge_of(X509 *origin)
{
    enum forge_verdict verdict = FORGE(.origin = origin);

    assert_int_equal(leaf != NULL, verdict == FORGE_DONE);
    X509_free(origin);
    return verdict;
}

static X509 *origin_raw(int nid, const void *bytes, size_t n)
{
    X509 *origin = origin_with("CN=a.example", NULL);

    kit_raw_ext(origin, nid, bytes, n);
    return origin;
}

static X509 *origin_many(int n, const char *format)
{
    GENERAL_NAMES *list = GENERAL_NAMES_new();
    X509 *origin = origin_with("CN=a.example", NULL);

    for (int i = 0; i < n; i++) {
        GENERAL_NAME *name = GENERAL_NAME_new();
        ASN1_IA5STRING *text = ASN1_IA5STRING_new();
        char host[300];

        snprintf(host, sizeof host, format, i);
        ASN1_STRING_set(text, host, -1);
        GENERAL_NAME_set0_value(name, GEN_DNS, text);
        sk_GENERAL_NAME_push(list, name);
    }
    assert_int_equal(X509_add1_ext_i2d(origin, NID_subject_alt_name, list, 0, 0), 1);
    GENERAL_NAMES_free(list);
    return origin;
}

static void many_names(void **state)
{
    char wide[300];

    (void)state;
    start(false);
    assert_int_equal(forge_of(origin_many(FORGE_NAMES_MAX, "h%d.example")), FORGE_DONE);
    assert_int_equal(names_of(leaf), FORGE_NAMES_MAX);
    OK("h999.example");
    assert_int_equal(forge_of(origin_many(FORGE_NAMES_MAX + 1, "h%d.example")), FORGE_TOO_BIG);
    assert_int_equal(forge_of(origin_many(10000, "h%d.example")), FORGE_TOO_BIG);
    memset(wide, 'a', sizeof wide);
    memcpy(wide, "%d", 2);
    for (size_t i = 50; i < sizeof wide; i += 50)
        wide[i] = '.';
    wide[240] = '\0';
    assert_int_equal(forge_of(origin_many(300, wide)), FORGE_TOO_BIG);
}

static void bad_extensions(void **state)
{
    X509 *origin;

    (void)state;
    start(false);
#define RAW(nid, literal) forge_of(origin_raw(nid, literal, sizeof(literal) - 1))
    assert_int_equal(RAW(NID_subject_alt_name, "\x30\x05\x82\x03"
                                               "a.b"),
                     FORGE_DONE);
    assert_int_equal(RAW(NID_subject_alt_name, "\x30\x05\x82\x03"
                                               "a\0b"),
                     FORGE_MALFORMED);
    assert_int_equal(RAW(NID_subject_alt_name, "\x30\x09\x82\x03"
                                               "a.b"),
                     FORGE_MALFORMED);
    assert_int_equal(RAW(NID_subject_alt_name, "rubbish"), FORGE_MALFORMED);
    assert_int_equal(RAW(NID_subject_alt_name, ""), FORGE_MALFORMED);
    assert_int_equal(RAW(NID_key_usage, "\x03\x02\x05\xa0"), FORGE_DONE);
    assert_int_equal(RAW(NID_key_usage, "rubbish"), FORGE_MALFORMED);
    assert_int_equal(RAW(NID_ext_key_usage, "rubbish"), FORGE_MALFORMED);
    assert_int_equal(RAW(NID_basic_constraints, "rubbish"), FORGE_DONE);
    /* none that counts: the common name stands in */
    assert_int_equal(RAW(NID_subject_alt_name, "\x30\0"), FORGE_DONE);
    OK("a.example");
    assert_int_equal(RAW(NID_subject_alt_name, "\x30\x03\x82\x01*"), FORGE_DONE);
    assert_int_equal(RAW(NID_subject_alt_name, "\x30\x05\x87\x03"
                                               "123"),
                     FORGE_DONE);
    assert_int_equal(RAW(NID_subject_alt_name, "\x30\x02\x82\0"), FORGE_DONE);
    OK("a.example");
    origin = origin_raw(NID_subject_alt_name, "\x30\x03\x82\x01z", 5);
    kit_raw_ext(origin, NID_subject_alt_name, "\x30\x03\x82\x01z", 5);
    assert_int_equal(forge_of(origin), FORGE_MALFORMED);
}

static void bad_subjects(void **state)
{
    X509 *origin = origin_with("O=Org", NULL);
    char wide[60 + 3];

    (void)state;
    start(false);
    X509_NAME_add_entry_by_NID(X509_get_subject_name(origin), NID_commonName, V_ASN1_UTF8STRING,
                               (const unsigned char *)"www.bank.example\0.evil.example", 30, -1, 0);
    assert_int_equal(forge_of(origin), FORGE_MALFORMED);
    origin = origin_with("O=Org", NULL);
    memset(wide, 'w', sizeof wide);
    for (int i = 0; i < 80; i++)
        X509_NAME_add_entry_by_NID(X509_get_subject_name(origin), NID_organizationalUnitName,
                                   V_ASN1_UTF8STRING, (const unsigned char *)wide, sizeof wide, -1,
                                   0);
    assert_int_equal(forge_of(origin), FORGE_TOO_BIG);
    /* a name for everything is a name for nothing */
    assert_int_equal(forge_of(origin_with("CN=*", NULL)), FORGE_DONE);
    assert_int_equal(names_of(leaf), -1);
    assert_int_equal(verify(ca.cert, "www.example.org"), X509_V_ERR_HOSTNAME_MISMATCH);
    assert_int_equal(forge_of(origin_with("", NULL)), FORGE_NAMELESS);
    assert_int_equal(forge_of(origin_with("", "DNS:a.example")), FORGE_DONE);
    OK("a.example");
    origin = origin_with("CN=a.example", NULL);
    ASN1_STRING_set(X509_getm_notAfter(origin), "next year", -1);
    assert_int_equal(forge_of(origin), FORGE_MALFORMED);
}

/* Each byte of a certificate is made another one: a verdict, and what is made can be verified. */
static void mutations(void **state)
{
    X509 *origin = kit_make((struct kit_cert){
        .subject = "C=DE/O=Org/CN=a.example",
        .key = kit_key(false, 2),
        .ext = {"subjectAltName", "DNS:a.example,IP:192.0.2.1", "keyUsage", "digitalSignature",
                "extendedKeyUsage", "serverAuth", "basicConstraints", "CA:FALSE"}});
    unsigned char *der = NULL;
    int n = i2d_X509(origin, &der), made_of = 0;

    (void)state;
    start(false);
    for (int i = 0; i < 3 * n; i++) {
        static const unsigned char by[] = {0x01, 0x80, 0xff};
        unsigned char *copy = malloc((size_t)n);
        const unsigned char *at = copy;
        X509 *other;

        memcpy(copy, der, (size_t)n);
        copy[i / 3] ^= by[i % 3];
        other = d2i_X509(NULL, &at, n);
        if (other != NULL && FORGE(.origin = other) == FORGE_DONE) {
            made_of++;
            assert_int_equal(X509_verify(leaf, ca.key), 1);
            assert_int_equal(X509_check_ca(leaf), 0);
        }
        X509_free(other);
        free(copy);
    }
    assert_in_range(made_of, n / 2, 3 * n - 1);
    OPENSSL_free(der);
    X509_free(origin);
}

/* The form that is made fast gives the same certificate, and can be used as any key. */
static void fast_keys(void **state)
{
    X509 *origin = origin_with("CN=a.example", "DNS:a.example");

    (void)state;
    for (int rsa = 0; rsa < 2; rsa++) {
        EVP_PKEY *fast = forge_key(kit_key(rsa, 1));
        ASN1_INTEGER *serial;

        start(rsa);
        assert_int_equal(FORGE(.origin = origin, .key = kit_key(rsa, 1)), FORGE_DONE);
        serial = ASN1_INTEGER_dup(X509_get0_serialNumber(leaf));
        assert_non_null(fast);
        assert_int_equal(FORGE(.origin = origin, .key = fast), FORGE_DONE);
        assert_int_equal(ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(leaf)) == 0, rsa);
        OK("a.example");
        assert_int_equal(EVP_PKEY_eq(X509_get0_pubkey(leaf), kit_key(rsa, 1)), 1);
        assert_int_equal(X509_check_private_key(leaf, fast), 1);
        assert_int_equal(FORGE(.origin = origin, .key = fast, .mode = FORGE_SELF), FORGE_DONE);
        assert_int_equal(X509_self_signed(leaf, 1), 1);
        ASN1_INTEGER_free(serial);
        EVP_PKEY_free(fast);
    }
    X509_free(origin);
}

static void hashes(void **state)
{
    (void)state;
    start(false);
    assert_int_equal(FORGE(.name = BT_STR("a.example"), .hash = EVP_sha512()), FORGE_DONE);
    assert_int_equal(X509_get_signature_nid(leaf), NID_ecdsa_with_SHA512);
    OK("a.example");
}

static void keys(void **state)
{
    EVP_PKEY *wrong = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
    struct forge_ca cannot = {NULL, wrong};

    (void)state;
    start(false);
    cannot.cert = ca.cert;
    assert_int_equal(FORGE(.ca = &cannot, .name = BT_STR("a.example")), FORGE_FAILED);
    assert_null(leaf);
    assert_int_equal(ERR_peek_error(), 0);
    EVP_PKEY_free(wrong);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mimics),       cmocka_unit_test(by_the_program),
    cmocka_unit_test(untrusted),    cmocka_unit_test(self_signed),
    cmocka_unit_test(serials),      cmocka_unit_test(adapts),
    cmocka_unit_test(lives),        cmocka_unit_test(names),
    cmocka_unit_test(many_names),   cmocka_unit_test(bad_extensions),
    cmocka_unit_test(bad_subjects), cmocka_unit_test(mutations),
    cmocka_unit_test(keys),         cmocka_unit_test(fast_keys),
    cmocka_unit_test(hashes),
};
UNIT_MAIN(tests)
