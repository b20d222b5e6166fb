/* forge.c - makes leaves: subject, names, dates, extensions, serial number, signature, in this order.
 *
 * Each part is a function from the order to a verdict. The certificate is built by OpenSSL, but what
 * goes into it is checked here first: OpenSSL copies names as they come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "forge.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

enum {
    DAY = 24 * 3600,
    LIFE_DAYS = 180,      /* of a leaf without an origin */
    COMMON_NAME_MAX = 64, /* RFC 5280, ub-common-name */
    HOST_MAX = 253,
    SERIAL_BYTES = 20, /* RFC 5280 4.1.2.2 */
    USAGES_MAX = 32
};

enum key_usage {
    DIGITAL_SIGNATURE,
    NON_REPUDIATION,
    KEY_ENCIPHERMENT,
    DATA_ENCIPHERMENT,
    KEY_AGREEMENT,
    CERT_SIGN,
    CRL_SIGN
};

static enum forge_verdict made(int one)
{
    return one == 1 ? FORGE_DONE : FORGE_FAILED;
}

/* ---- names ---- */

/* Letters, digits, - and _ in labels; the first may be a wildcard, but not the only one. */
static bool is_host(bt_str name)
{
    size_t label = 0;

    if (name.len == 0 || name.len > HOST_MAX || (name.len == 1 && name.at[0] == '*'))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];

        if (c == '.') {
            if (i == label || i - label > 63)
                return false;
            label = i + 1;
        } else if (c == '*') {
            if (i != 0 || name.at[1] != '.')
                return false;
        } else if (!(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') &&
                   c != '-' && c != '_') {
            return false;
        }
    }
    return label < name.len && name.len - label <= 63;
}

/* 4, 16 or 0 for a text that is no address. */
static size_t address(bt_str name, uint8_t bytes[16])
{
    char text[INET6_ADDRSTRLEN + 1];

    if (name.len == 0 || name.len >= sizeof text || memchr(name.at, '\0', name.len) != NULL)
        return 0;
    memcpy(text, name.at, name.len);
    text[name.len] = '\0';
    if (inet_pton(AF_INET, text, bytes) == 1)
        return 4;
    return inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

bool forge_name(bt_str name)
{
    uint8_t bytes[16];

    return address(name, bytes) > 0 || is_host(name);
}

/* subjectAltName with one name; NULL: no memory, or the name is none. */
static GENERAL_NAMES *one_name(bt_str name)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *general = GENERAL_NAME_new();
    uint8_t bytes[16];
    size_t n = address(name, bytes);
    ASN1_STRING *text = n > 0 ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();

    if (names == NULL || general == NULL || text == NULL || (n == 0 && !is_host(name)) ||
        ASN1_STRING_set(text, n > 0 ? (const void *)bytes : name.at, (int)(n > 0 ? n : name.len)) !=
            1)
        goto failed;
    GENERAL_NAME_set0_value(general, n > 0 ? GEN_IPADD : GEN_DNS, text);
    text = NULL;
    if (sk_GENERAL_NAME_push(names, general) > 0)
        return names;
failed:
    ASN1_STRING_free(text);
    GENERAL_NAME_free(general);
    GENERAL_NAMES_free(names);
    return NULL;
}

/* Host names and addresses; the other kinds, and names that no client would take for its own, say
 * nothing to a TLS client. */
static bool mimicable(const GENERAL_NAME *name, bt_str text)
{
    if (name->type == GEN_IPADD)
        return text.len == 4 || text.len == 16;
    return name->type == GEN_DNS && is_host(text);
}

static enum forge_verdict sift(GENERAL_NAMES *names)
{
    if (sk_GENERAL_NAME_num(names) > FORGE_NAMES_MAX)
        return FORGE_TOO_BIG;
    for (int i = sk_GENERAL_NAME_num(names) - 1; i >= 0; i--) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        bt_str text = BT_STR("");

        if (name->type == GEN_DNS || name->type == GEN_IPADD)
            text = (bt_str){(const char *)ASN1_STRING_get0_data(name->d.ip),
                            (size_t)ASN1_STRING_length(name->d.ip)};
        /* It was made to be taken for another one. */
        if (text.len > 0 && name->type == GEN_DNS && memchr(text.at, '\0', text.len) != NULL)
            return FORGE_MALFORMED;
        if (!mimicable(name, text))
            GENERAL_NAME_free(sk_GENERAL_NAME_delete(names, i));
    }
    return FORGE_DONE;
}

/* The extension decoded, or NULL: *verdict says whether that means absent (DONE). */
static void *extension(const X509 *cert, int nid, enum forge_verdict *verdict)
{
    int at = X509_get_ext_by_NID(cert, nid, -1);
    void *found;

    *verdict = FORGE_DONE;
    if (at < 0)
        return NULL;
    if (ASN1_STRING_length(X509_EXTENSION_get_data(X509_get_ext(cert, at))) >
        FORGE_NAMES_BYTES_MAX) {
        *verdict = FORGE_TOO_BIG;
        return NULL;
    }
    found = X509_get_ext_d2i(cert, nid, NULL, NULL);
    if (found == NULL)
        *verdict = FORGE_MALFORMED; /* or twice there */
    return found;
}

/* The last common name of the subject when it would do as a host name. */
static GENERAL_NAMES *from_common_name(const X509_NAME *subject)
{
    GENERAL_NAMES *names = NULL;
    unsigned char *text;
    int at = -1, last = -1, len;

    while ((at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0)
        last = at;
    if (last < 0)
        return NULL;
    len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
    if (len < 0)
        return NULL;
    names = one_name((bt_str){(const char *)text, (size_t)len});
    OPENSSL_free(text);
    return names;
}

static enum forge_verdict names_set(const struct forge_order *order, X509 *leaf)
{
    const X509_NAME *subject = X509_get_subject_name(leaf);
    enum forge_verdict verdict = FORGE_DONE;
    GENERAL_NAMES *names = NULL;

    if (order->name.len > 0) {
        names = one_name(order->name);
        verdict = names != NULL ? FORGE_DONE : FORGE_MALFORMED;
    } else {
        names = extension(order->origin, NID_subject_alt_name, &verdict);
        if (names != NULL)
            verdict = sift(names);
        if (verdict == FORGE_DONE && names != NULL && sk_GENERAL_NAME_num(names) == 0) {
            GENERAL_NAMES_free(names);
            names = from_common_name(subject);
        }
    }
    /* A certificate without alternative names is that to clients, too, whatever they make of it; and one of a
     * device that has no host name is still that device's. */
    if (verdict == FORGE_DONE && names != NULL)
        verdict = made(X509_add1_ext_i2d(leaf, NID_subject_alt_name, names,
                                         X509_NAME_entry_count(subject) == 0, X509V3_ADD_APPEND));
    else if (verdict == FORGE_DONE && X509_NAME_entry_count(subject) == 0)
        verdict = FORGE_NAMELESS;
    GENERAL_NAMES_free(names);
    return verdict;
}

/* ---- subject and issuer ---- */

static enum forge_verdict subject_check(const X509_NAME *subject)
{
    if (i2d_X509_NAME(subject, NULL) > FORGE_SUBJECT_BYTES_MAX)
        return FORGE_TOO_BIG;
    for (int i = 0; i < X509_NAME_entry_count(subject); i++) {
        unsigned char *text;
        int len = ASN1_STRING_to_UTF8(&text,
                                      X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i)));
        bool nul;

        if (len < 0)
            return FORGE_MALFORMED;
        nul = memchr(text, '\0', (size_t)len) != NULL;
        OPENSSL_free(text);
        if (nul)
            return FORGE_MALFORMED;
    }
    return FORGE_DONE;
}

/* Takes its common names out and puts another one at the end. */
static bool common_name_set(X509_NAME *subject, bt_str name)
{
    int at;

    while ((at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)) >= 0)
        X509_NAME_ENTRY_free(X509_NAME_delete_entry(subject, at));
    /* A longer one is in the alternative names only. */
    return name.len > COMMON_NAME_MAX ||
           X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                      (const unsigned char *)name.at, (int)name.len, -1, 0) == 1;
}

static enum forge_verdict subject_set(const struct forge_order *order, X509 *leaf)
{
    enum forge_verdict verdict = FORGE_DONE;
    X509_NAME *subject;

    if (order->name.len > 0 && !forge_name(order->name))
        return FORGE_MALFORMED;
    if (order->origin != NULL) {
        verdict = subject_check(X509_get_subject_name(order->origin));
        subject = X509_NAME_dup(X509_get_subject_name(order->origin));
    } else {
        verdict = order->name.len > 0 ? FORGE_DONE : FORGE_NAMELESS;
        subject = X509_NAME_new();
    }
    if (verdict == FORGE_DONE && subject == NULL)
        verdict = FORGE_FAILED;
    if (verdict == FORGE_DONE && order->name.len > 0 && !common_name_set(subject, order->name))
        verdict = FORGE_FAILED;
    if (verdict == FORGE_DONE)
        verdict = made(X509_set_subject_name(leaf, subject));
    if (verdict == FORGE_DONE)
        verdict = made(X509_set_issuer_name(
            leaf, order->mode == FORGE_SELF ? subject : X509_get_subject_name(order->ca->cert)));
    X509_NAME_free(subject);
    return verdict;
}

/* ---- dates ---- */

static enum forge_verdict dates_of_now(int64_t now, ASN1_TIME *from, ASN1_TIME *to)
{
    /* Whole days, so that all leaves of a day are the same. Clocks of clients are late at times. */
    time_t day = (time_t)(now - now % DAY);

    return made(ASN1_TIME_adj(from, day, -1, 0) != NULL &&
                ASN1_TIME_adj(to, day, LIFE_DAYS, 0) != NULL);
}

/* Cuts from..to to the CA's life. What lies outside of it as a whole is left alone: it has expired,
 * or is for later, as the origin's is. */
static bool dates_clip(const X509 *ca, const ASN1_TIME **from, const ASN1_TIME **to)
{
    const ASN1_TIME *start = X509_get0_notBefore(ca), *end = X509_get0_notAfter(ca);
    int late = ASN1_TIME_compare(*from, start), soon = ASN1_TIME_compare(*to, end);
    int before = ASN1_TIME_compare(*to, start), behind = ASN1_TIME_compare(*from, end);

    if (late == -2 || soon == -2 || before == -2 || behind == -2)
        return false;
    if (late < 0 && before >= 0)
        *from = start;
    if (soon > 0 && behind <= 0)
        *to = end;
    return true;
}

static enum forge_verdict dates_set(const struct forge_order *order, X509 *leaf)
{
    ASN1_TIME *first = ASN1_TIME_new(), *last = ASN1_TIME_new();
    const ASN1_TIME *from = first, *to = last;
    enum forge_verdict verdict = FORGE_FAILED;
    struct tm tm;

    if (first != NULL && last != NULL)
        verdict = dates_of_now(order->now, first, last);
    if (order->origin != NULL) {
        from = X509_get0_notBefore(order->origin);
        to = X509_get0_notAfter(order->origin);
        if (ASN1_TIME_to_tm(from, &tm) != 1 || ASN1_TIME_to_tm(to, &tm) != 1)
            verdict = FORGE_MALFORMED;
    }
    if (order->valid_before)
        from = X509_get0_notBefore(order->ca->cert);
    if (order->valid_after)
        to = X509_get0_notAfter(order->ca->cert);
    /* A copy says what the origin says; nobody believes it longer than its CA. */
    if (verdict == FORGE_DONE && order->origin == NULL && order->mode != FORGE_SELF &&
        !dates_clip(order->ca->cert, &from, &to))
        verdict = FORGE_FAILED;
    if (verdict == FORGE_DONE)
        verdict = made(X509_set1_notBefore(leaf, from) == 1 && X509_set1_notAfter(leaf, to) == 1);
    ASN1_TIME_free(first);
    ASN1_TIME_free(last);
    return verdict;
}

/* ---- the other extensions ---- */

static enum forge_verdict not_a_ca(X509 *leaf)
{
    BASIC_CONSTRAINTS *constraints = BASIC_CONSTRAINTS_new();
    int done = 0;

    if (constraints != NULL)
        done = X509_add1_ext_i2d(leaf, NID_basic_constraints, constraints, 1, X509V3_ADD_APPEND);
    BASIC_CONSTRAINTS_free(constraints);
    return made(done);
}

/* The origin's, but those of a CA. That of encipherment does not fit every key (RFC 8813 3); no client
 * minds, and some look for it. */
static bool usage_copied(int bit)
{
    return bit != CERT_SIGN && bit != CRL_SIGN;
}

static enum forge_verdict key_usage(const struct forge_order *order, X509 *leaf)
{
    bool rsa = EVP_PKEY_get_base_id(order->key) == EVP_PKEY_RSA;
    enum forge_verdict verdict = FORGE_DONE;
    ASN1_BIT_STRING *theirs = NULL, *ours;
    int done = 1;

    if (order->origin != NULL) {
        theirs = extension(order->origin, NID_key_usage, &verdict);
        if (theirs == NULL)
            return verdict;
    }
    ours = ASN1_BIT_STRING_new();
    for (int bit = DIGITAL_SIGNATURE; bit <= CRL_SIGN && ours != NULL && done == 1; bit++)
        /* Without a digital signature nobody can talk TLS 1.3 with it. */
        if (bit == DIGITAL_SIGNATURE || (theirs == NULL && rsa && bit == KEY_ENCIPHERMENT) ||
            (ASN1_BIT_STRING_get_bit(theirs, bit) == 1 && usage_copied(bit)))
            done = ASN1_BIT_STRING_set_bit(ours, bit, 1);
    if (ours == NULL || done != 1 ||
        X509_add1_ext_i2d(leaf, NID_key_usage, ours, 1, X509V3_ADD_APPEND) != 1)
        verdict = FORGE_FAILED;
    ASN1_BIT_STRING_free(theirs);
    ASN1_BIT_STRING_free(ours);
    return verdict;
}

/* The origin's as they are, none when it has none; without an origin those of a server. */
static enum forge_verdict extended_key_usage(const struct forge_order *order, X509 *leaf)
{
    enum forge_verdict verdict = FORGE_DONE;
    EXTENDED_KEY_USAGE *usages = NULL;

    if (order->origin != NULL)
        usages = extension(order->origin, NID_ext_key_usage, &verdict);
    if (verdict == FORGE_DONE && usages == NULL && order->origin != NULL)
        return verdict;
    if (verdict == FORGE_DONE && usages == NULL) {
        usages = EXTENDED_KEY_USAGE_new();
        if (usages == NULL || sk_ASN1_OBJECT_push(usages, OBJ_nid2obj(NID_server_auth)) <= 0)
            verdict = FORGE_FAILED;
    }
    if (verdict == FORGE_DONE && sk_ASN1_OBJECT_num(usages) > USAGES_MAX)
        verdict = FORGE_TOO_BIG;
    if (verdict == FORGE_DONE)
        verdict = made(X509_add1_ext_i2d(leaf, NID_ext_key_usage, usages, 0, X509V3_ADD_APPEND));
    EXTENDED_KEY_USAGE_free(usages);
    return verdict;
}

static enum forge_verdict key_ids(X509 *leaf, const X509 *issuer)
{
    ASN1_OCTET_STRING *id = ASN1_OCTET_STRING_new();
    const ASN1_OCTET_STRING *theirs = NULL;
    AUTHORITY_KEYID *authority = NULL;
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len;
    int done = 0;

    if (id != NULL && X509_pubkey_digest(leaf, EVP_sha1(), digest, &len) == 1 &&
        ASN1_OCTET_STRING_set(id, digest, (int)len) == 1)
        done = X509_add1_ext_i2d(leaf, NID_subject_key_identifier, id, 0, X509V3_ADD_APPEND);
    if (done == 1 && issuer != NULL)
        theirs = X509_get0_subject_key_id((X509 *)issuer);
    if (theirs != NULL) {
        authority = AUTHORITY_KEYID_new();
        done = authority != NULL && (authority->keyid = ASN1_OCTET_STRING_dup(theirs)) != NULL &&
               X509_add1_ext_i2d(leaf, NID_authority_key_identifier, authority, 0,
                                 X509V3_ADD_APPEND) == 1;
    }
    AUTHORITY_KEYID_free(authority);
    ASN1_OCTET_STRING_free(id);
    return made(done);
}

/* ---- serial number and signature ---- */

static bool hash_cert(EVP_MD_CTX *hash, const X509 *cert)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    return (cert == NULL || X509_digest(cert, EVP_sha256(), digest, &len) == 1) &&
           EVP_DigestUpdate(hash, &len, sizeof len) == 1 &&
           EVP_DigestUpdate(hash, digest, len) == 1;
}

static bool hash_string(EVP_MD_CTX *hash, const ASN1_STRING *text)
{
    int len = ASN1_STRING_length(text);

    return EVP_DigestUpdate(hash, &len, sizeof len) == 1 &&
           EVP_DigestUpdate(hash, ASN1_STRING_get0_data(text), (size_t)len) == 1;
}

static bool hash_name(EVP_MD_CTX *hash, const X509_NAME *name)
{
    const unsigned char *bytes;
    size_t len;

    return X509_NAME_get0_der(name, &bytes, &len) == 1 && EVP_DigestUpdate(hash, bytes, len) == 1;
}

static bool hash_leaf(EVP_MD_CTX *hash, const X509 *leaf)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    if (!hash_name(hash, X509_get_subject_name(leaf)) ||
        !hash_name(hash, X509_get_issuer_name(leaf)) ||
        !hash_string(hash, X509_get0_notBefore(leaf)) ||
        !hash_string(hash, X509_get0_notAfter(leaf)) ||
        X509_pubkey_digest(leaf, EVP_sha256(), digest, &len) != 1 ||
        EVP_DigestUpdate(hash, digest, len) != 1)
        return false;
    for (int i = 0; i < X509_get_ext_count(leaf); i++)
        if (!hash_string(hash, X509_EXTENSION_get_data(X509_get_ext(leaf, i))))
            return false;
    return true;
}

enum { ABOUT = 5 };

/* `about`: what else makes this leaf another one than that. */
static enum forge_verdict serial_set(X509 *leaf, const X509 *ca, const X509 *origin,
                                     const uint32_t about[ABOUT])
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    uint8_t digest[EVP_MAX_MD_SIZE];
    BIGNUM *number = NULL;
    bool done = hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
                hash_cert(hash, ca) && hash_cert(hash, origin) &&
                EVP_DigestUpdate(hash, about, ABOUT * sizeof *about) == 1 &&
                hash_leaf(hash, leaf) && EVP_DigestFinal_ex(hash, digest, NULL) == 1;

    if (done) {
        /* Positive, not zero, and of one length for all. */
        digest[0] = (uint8_t)((digest[0] & 0x7f) | 0x40);
        number = BN_bin2bn(digest, SERIAL_BYTES, NULL);
        done = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(leaf)) != NULL;
    }
    BN_free(number);
    EVP_MD_CTX_free(hash);
    return made(done);
}

/* A signature by ECDSA is another one each time, and so is the certificate then. */
static int salt_set(const EVP_PKEY *signer, uint32_t salt[2])
{
    if (EVP_PKEY_get_base_id(signer) != EVP_PKEY_EC)
        return 1;
    return RAND_bytes((unsigned char *)salt, 2 * sizeof *salt);
}

static enum forge_verdict build(const struct forge_order *order, X509 *leaf)
{
    const X509 *issuer = order->mode == FORGE_SELF ? NULL : order->ca->cert;
    EVP_PKEY *signer = order->mode == FORGE_SELF ? order->key : order->ca->key;
    const EVP_MD *hash = order->hash != NULL ? order->hash : EVP_sha256();
    uint32_t about[ABOUT] = {(uint32_t)order->mode, order->error, (uint32_t)EVP_MD_get_type(hash)};
    enum forge_verdict verdict = subject_set(order, leaf);

    if (verdict == FORGE_DONE)
        verdict = made(X509_set_version(leaf, X509_VERSION_3) == 1 &&
                       X509_set_pubkey(leaf, order->key) == 1);
    if (verdict == FORGE_DONE)
        verdict = dates_set(order, leaf);
    if (verdict == FORGE_DONE)
        verdict = not_a_ca(leaf);
    if (verdict == FORGE_DONE)
        verdict = key_usage(order, leaf);
    if (verdict == FORGE_DONE)
        verdict = extended_key_usage(order, leaf);
    if (verdict == FORGE_DONE)
        verdict = key_ids(leaf, issuer);
    if (verdict == FORGE_DONE)
        verdict = names_set(order, leaf);
    if (verdict == FORGE_DONE)
        verdict = made(salt_set(signer, &about[ABOUT - 2]));
    if (verdict == FORGE_DONE)
        verdict = serial_set(leaf, order->ca->cert, order->origin, about);
    if (verdict == FORGE_DONE)
        verdict = X509_sign(leaf, signer, hash) > 0 ? FORGE_DONE : FORGE_FAILED;
    return verdict;
}

enum forge_verdict forge_leaf(const struct forge_order *order, X509 **leaf)
{
    enum forge_verdict verdict = FORGE_FAILED;

    *leaf = X509_new();
    if (*leaf != NULL)
        verdict = build(order, *leaf);
    if (verdict != FORGE_DONE) {
        X509_free(*leaf);
        *leaf = NULL;
    }
    ERR_clear_error(); /* what is found there next must be about a connection */
    return verdict;
}

/* What makes them fast is deprecated. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
EVP_PKEY *forge_key(EVP_PKEY *key)
{
    EVP_PKEY *same = NULL;

#ifndef OPENSSL_NO_DEPRECATED_3_0
    EC_KEY *ec = EVP_PKEY_get_base_id(key) == EVP_PKEY_EC ? EVP_PKEY_get1_EC_KEY(key) : NULL;
    RSA *rsa = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA ? EVP_PKEY_get1_RSA(key) : NULL;

    same = EVP_PKEY_new();
    if (same == NULL || (ec == NULL && rsa == NULL) ||
        (ec != NULL ? EVP_PKEY_set1_EC_KEY(same, ec) : EVP_PKEY_set1_RSA(same, rsa)) != 1) {
        EVP_PKEY_free(same);
        same = NULL;
    }
    EC_KEY_free(ec);
    RSA_free(rsa);
    ERR_clear_error();
#endif
    if (same == NULL && EVP_PKEY_up_ref(key) == 1)
        same = key;
    return same;
}
#pragma GCC diagnostic pop

const char *forge_says(enum forge_verdict verdict)
{
    switch (verdict) {
    case FORGE_DONE:
        return "done";
    case FORGE_TOO_BIG:
        return "the origin's certificate has too many or too long names";
    case FORGE_MALFORMED:
        return "the origin's certificate has a malformed part, or a name that is none";
    case FORGE_NAMELESS:
        return "there is no name to make a certificate for";
    default:
        return "OpenSSL refused";
    }
}

/* ---- the CA that nobody trusts ---- */

/* `Not trusted by "..."`, cut at the end of a character to what fits into a common name. */
static bool untrusted_name(X509_NAME *name)
{
    int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1), len;
    char text[4 * COMMON_NAME_MAX];
    unsigned char *theirs = NULL;

    if (at < 0)
        at = X509_NAME_entry_count(name) - 1;
    if (at < 0)
        return common_name_set(name, BT_STR("Not trusted"));
    len = ASN1_STRING_to_UTF8(&theirs, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (len < 0)
        return false;
    if (len > COMMON_NAME_MAX - 17) {
        len = COMMON_NAME_MAX - 17;
        while (len > 0 && (theirs[len] & 0xc0) == 0x80)
            len--;
    }
    len = snprintf(text, sizeof text, "Not trusted by \"%.*s\"", len, (const char *)theirs);
    OPENSSL_free(theirs);
    return common_name_set(name, (bt_str){text, (size_t)len});
}

static bool untrusted_extensions(X509 *cert)
{
    BASIC_CONSTRAINTS *constraints = BASIC_CONSTRAINTS_new();
    ASN1_BIT_STRING *usage = ASN1_BIT_STRING_new();
    bool done = constraints != NULL && usage != NULL &&
                ASN1_BIT_STRING_set_bit(usage, CERT_SIGN, 1) == 1 &&
                ASN1_BIT_STRING_set_bit(usage, CRL_SIGN, 1) == 1;

    if (done) {
        constraints->ca = 0xff;
        done = X509_add1_ext_i2d(cert, NID_basic_constraints, constraints, 1, X509V3_ADD_APPEND) ==
                   1 &&
               X509_add1_ext_i2d(cert, NID_key_usage, usage, 1, X509V3_ADD_APPEND) == 1 &&
               key_ids(cert, NULL) == FORGE_DONE;
    }
    BASIC_CONSTRAINTS_free(constraints);
    ASN1_BIT_STRING_free(usage);
    return done;
}

bool forge_untrusted(const X509 *ca, EVP_PKEY *key, X509 **cert)
{
    static const uint32_t about[ABOUT] = {FORGE_UNTRUSTED, 0, NID_sha256, 0, 0};
    X509_NAME *name = X509_NAME_dup(X509_get_subject_name(ca));
    bool done;

    *cert = X509_new();
    done = *cert != NULL && name != NULL && untrusted_name(name) &&
           X509_set_version(*cert, X509_VERSION_3) == 1 &&
           X509_set_subject_name(*cert, name) == 1 && X509_set_issuer_name(*cert, name) == 1 &&
           X509_set1_notBefore(*cert, X509_get0_notBefore(ca)) == 1 &&
           X509_set1_notAfter(*cert, X509_get0_notAfter(ca)) == 1 &&
           X509_set_pubkey(*cert, key) == 1 && untrusted_extensions(*cert) &&
           serial_set(*cert, ca, NULL, about) == FORGE_DONE &&
           X509_sign(*cert, key, EVP_sha256()) > 0;
    if (!done) {
        X509_free(*cert);
        *cert = NULL;
    }
    X509_NAME_free(name);
    ERR_clear_error();
    return done;
}
