/* fuzz_forge.c - certificates of origins that nobody has to have verified: a verdict, or a leaf that is
 * sound and claims nothing that the origin's does not.
 *
 * The first byte says what the others are. Even: a certificate, encoded. Odd: parts of one, each with two
 * bytes of length before it (subject, alternative names, key usage, extended key usage, both dates), which
 * are put together, so that the lengths around them are right.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "fuzz.h"

#include "../../modules/tls/forge.c"

static struct forge_ca ca, nobody;
static EVP_PKEY *ec, *rsa;

static void extend(X509 *cert, int nid, const uint8_t *at, size_t len)
{
    ASN1_OCTET_STRING *text = ASN1_OCTET_STRING_new();
    X509_EXTENSION *ext;

    ASN1_OCTET_STRING_set(text, at, (int)len);
    ext = X509_EXTENSION_create_by_NID(NULL, nid, 0, text);
    X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
    ASN1_OCTET_STRING_free(text);
}

static void begin(void)
{
    static const uint8_t is_ca[] = {0x30, 3, 1, 1, 0xff};
    EVP_PKEY *key = EVP_EC_gen("P-256"), *slow[] = {EVP_EC_gen("P-256"), EVP_RSA_gen(2048)};

    ec = forge_key(slow[0]);
    rsa = forge_key(slow[1]);
    EVP_PKEY_free(slow[0]);
    EVP_PKEY_free(slow[1]);
    ca = (struct forge_ca){X509_new(), EVP_EC_gen("P-256")};
    X509_set_version(ca.cert, X509_VERSION_3);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(ca.cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)"The CA", -1, -1, 0);
    X509_set_issuer_name(ca.cert, X509_get_subject_name(ca.cert));
    ASN1_TIME_set(X509_getm_notBefore(ca.cert), 1700000000);
    ASN1_TIME_set(X509_getm_notAfter(ca.cert), 1900000000);
    X509_set_pubkey(ca.cert, ca.key);
    extend(ca.cert, NID_basic_constraints, is_ca, sizeof is_ca);
    MUST(X509_sign(ca.cert, ca.key, EVP_sha256()) > 0);
    nobody.key = key;
    MUST(forge_untrusted(ca.cert, key, &nobody.cert));
}

/* ---- the origin's ---- */

static bool part(const uint8_t **at, size_t *left, const uint8_t **from, size_t *len)
{
    if (*left < 2)
        return false;
    *len = (size_t)(*at)[0] << 8 | (*at)[1];
    *from = *at + 2;
    if (*len > *left - 2)
        *len = *left - 2;
    *at += 2 + *len;
    *left -= 2 + *len;
    return true;
}

static X509 *put_together(const uint8_t *at, size_t left)
{
    static const int nids[] = {NID_subject_alt_name, NID_key_usage, NID_ext_key_usage};
    X509 *cert = X509_new();
    const uint8_t *from;
    size_t len;

    X509_set_version(cert, X509_VERSION_3);
    X509_set_pubkey(cert, ec);
    ASN1_TIME_set(X509_getm_notBefore(cert), 1750000000);
    ASN1_TIME_set(X509_getm_notAfter(cert), 1850000000);
    if (part(&at, &left, &from, &len) && len > 0) {
        X509_NAME *name = d2i_X509_NAME(NULL, &from, (long)len);

        if (name != NULL)
            X509_set_subject_name(cert, name);
        X509_NAME_free(name);
    }
    for (size_t i = 0; i < sizeof nids / sizeof *nids; i++)
        if (part(&at, &left, &from, &len) && len > 0)
            extend(cert, nids[i], from, len);
    if (part(&at, &left, &from, &len) && len > 0)
        ASN1_STRING_set(X509_getm_notBefore(cert), from, (int)len);
    if (part(&at, &left, &from, &len) && len > 0)
        ASN1_STRING_set(X509_getm_notAfter(cert), from, (int)len);
    if (X509_sign(cert, ec, EVP_sha256()) > 0)
        return cert;
    X509_free(cert);
    return NULL;
}

/* ---- what came of it ---- */

static bool names_it(const GENERAL_NAMES *theirs, const GENERAL_NAME *name)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(theirs); i++)
        if (GENERAL_NAME_cmp(sk_GENERAL_NAME_value(theirs, i), (GENERAL_NAME *)name) == 0)
            return true;
    return false;
}

/* Every name of ours is one of theirs, or the common name when they have none. */
static void check_names(X509 *leaf, const X509 *origin)
{
    GENERAL_NAMES *ours = X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);
    GENERAL_NAMES *theirs = X509_get_ext_d2i(origin, NID_subject_alt_name, NULL, NULL);

    MUST(ours != NULL || X509_get_ext_by_NID(leaf, NID_subject_alt_name, -1) < 0);
    MUST(sk_GENERAL_NAME_num(ours) <= FORGE_NAMES_MAX);
    for (int i = 0; i < sk_GENERAL_NAME_num(ours); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(ours, i);
        bt_str text = {(const char *)ASN1_STRING_get0_data(name->d.ia5),
                       (size_t)ASN1_STRING_length(name->d.ia5)};

        MUST(name->type == GEN_DNS || name->type == GEN_IPADD);
        MUST(name->type == GEN_DNS ? is_host(text) : text.len == 4 || text.len == 16);
        MUST(names_it(theirs, name) || sk_GENERAL_NAME_num(ours) == 1);
    }
    GENERAL_NAMES_free(ours);
    GENERAL_NAMES_free(theirs);
}

static void check(const struct forge_order *order, X509 *leaf)
{
    unsigned char *der = NULL;
    int len = i2d_X509(leaf, &der);
    const unsigned char *at = der;
    X509 *read = d2i_X509(NULL, &at, len);

    MUST(len > 0 && read != NULL && at == der + len);
    MUST(X509_verify(read, order->mode == FORGE_SELF ? order->key : order->ca->key) == 1);
    MUST(X509_check_ca(read) == 0 && X509_get_version(read) == X509_VERSION_3);
    MUST(EVP_PKEY_eq(X509_get0_pubkey(read), order->key) == 1);
    MUST(ASN1_STRING_length(X509_get0_serialNumber(read)) == SERIAL_BYTES);
    MUST(X509_NAME_cmp(X509_get_issuer_name(read),
                       order->mode == FORGE_SELF ? X509_get_subject_name(read)
                                                 : X509_get_subject_name(order->ca->cert)) == 0);
    MUST((X509_get_key_usage(read) & (KU_KEY_CERT_SIGN | KU_CRL_SIGN)) == 0 ||
         X509_get_key_usage(read) == UINT32_MAX);
    if (order->name.len > 0)
        MUST(X509_check_host(read, order->name.at, order->name.len, 0, NULL) == 1);
    else
        check_names(read, order->origin);
    X509_free(read);
    OPENSSL_free(der);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t seed = fuzz_seed(data, size);
    struct forge_order order = {.now = 1800000000};
    const unsigned char *at = data + 1;
    X509 *origin, *leaf = NULL;
    enum forge_verdict verdict;

    if (size < 1 || size > 100000)
        return 0;
    if (ec == NULL)
        begin();
    origin = data[0] & 1 ? put_together(at, size - 1) : d2i_X509(NULL, &at, (long)size - 1);
    ERR_clear_error();
    if (origin == NULL)
        return 0;
    order.mode = (enum forge_mode)fuzz_random(&seed, 3);
    order.ca = order.mode == FORGE_UNTRUSTED ? &nobody : &ca;
    order.key = fuzz_random(&seed, 4) == 0 ? rsa : ec;
    order.origin = origin;
    order.valid_after = fuzz_random(&seed, 4) == 0;
    order.valid_before = fuzz_random(&seed, 4) == 0;
    if (fuzz_random(&seed, 4) == 0)
        order.name = BT_STR("host.example");
    verdict = forge_leaf(&order, &leaf);
    MUST((leaf != NULL) == (verdict == FORGE_DONE) && forge_says(verdict) != NULL);
    MUST(verdict != FORGE_FAILED && ERR_peek_error() == 0);
    if (leaf != NULL)
        check(&order, leaf);
    ERR_clear_error();
    X509_free(leaf);
    X509_free(origin);
    return 0;
}
