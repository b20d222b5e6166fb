/* verify.c - what is wrong with a certificate: names of errors, whom it is for, who the peer is.
 *
 * Whether a chain leads to a trusted root is OpenSSL's business. Whom a certificate is for is looked
 * up here, in the bytes of its alternative names: nothing is allocated for ten thousand of them, and
 * each text has the length that it says, so that a NUL in it is one more byte that does not match.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

/* ---- names of errors ---- */

#define PREFIX "X509_V_ERR_"
#define NAMED(error)                                                                               \
    {                                                                                              \
        PREFIX #error, X509_V_ERR_##error                                                          \
    }

/* Where two names have one code, the first is the one that is said. */
static const struct named {
    const char *name;
    int code;
} names[] = {
    {"SQUID_X509_V_ERR_DOMAIN_MISMATCH", VERIFY_WRONG_HOST},
    {"SQUID_ERR_SSL_HANDSHAKE", VERIFY_HANDSHAKE},
    {PREFIX "HOSTNAME_MISMATCH", VERIFY_WRONG_HOST},
    {PREFIX "IP_ADDRESS_MISMATCH", VERIFY_WRONG_HOST},
    {"SQUID_X509_V_ERR_INFINITE_VALIDATION", X509_V_ERR_PATH_LOOP},
    {PREFIX "ROOT_CERT_NOT_TRUSTED", X509_V_ERR_CERT_UNTRUSTED},
    NAMED(UNSPECIFIED),
    NAMED(UNABLE_TO_GET_ISSUER_CERT),
    NAMED(UNABLE_TO_GET_CRL),
    NAMED(UNABLE_TO_DECRYPT_CERT_SIGNATURE),
    NAMED(UNABLE_TO_DECRYPT_CRL_SIGNATURE),
    NAMED(UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY),
    NAMED(CERT_SIGNATURE_FAILURE),
    NAMED(CRL_SIGNATURE_FAILURE),
    NAMED(CERT_NOT_YET_VALID),
    NAMED(CERT_HAS_EXPIRED),
    NAMED(CRL_NOT_YET_VALID),
    NAMED(CRL_HAS_EXPIRED),
    NAMED(ERROR_IN_CERT_NOT_BEFORE_FIELD),
    NAMED(ERROR_IN_CERT_NOT_AFTER_FIELD),
    NAMED(ERROR_IN_CRL_LAST_UPDATE_FIELD),
    NAMED(ERROR_IN_CRL_NEXT_UPDATE_FIELD),
    NAMED(OUT_OF_MEM),
    NAMED(DEPTH_ZERO_SELF_SIGNED_CERT),
    NAMED(SELF_SIGNED_CERT_IN_CHAIN),
    NAMED(UNABLE_TO_GET_ISSUER_CERT_LOCALLY),
    NAMED(UNABLE_TO_VERIFY_LEAF_SIGNATURE),
    NAMED(CERT_CHAIN_TOO_LONG),
    NAMED(CERT_REVOKED),
    NAMED(NO_ISSUER_PUBLIC_KEY),
    NAMED(PATH_LENGTH_EXCEEDED),
    NAMED(INVALID_PURPOSE),
    NAMED(CERT_UNTRUSTED),
    NAMED(CERT_REJECTED),
    NAMED(SUBJECT_ISSUER_MISMATCH),
    NAMED(AKID_SKID_MISMATCH),
    NAMED(AKID_ISSUER_SERIAL_MISMATCH),
    NAMED(KEYUSAGE_NO_CERTSIGN),
    NAMED(UNABLE_TO_GET_CRL_ISSUER),
    NAMED(UNHANDLED_CRITICAL_EXTENSION),
    NAMED(KEYUSAGE_NO_CRL_SIGN),
    NAMED(UNHANDLED_CRITICAL_CRL_EXTENSION),
    NAMED(INVALID_NON_CA),
    NAMED(PROXY_PATH_LENGTH_EXCEEDED),
    NAMED(KEYUSAGE_NO_DIGITAL_SIGNATURE),
    NAMED(PROXY_CERTIFICATES_NOT_ALLOWED),
    NAMED(INVALID_EXTENSION),
    NAMED(INVALID_POLICY_EXTENSION),
    NAMED(NO_EXPLICIT_POLICY),
    NAMED(DIFFERENT_CRL_SCOPE),
    NAMED(UNSUPPORTED_EXTENSION_FEATURE),
    NAMED(UNNESTED_RESOURCE),
    NAMED(PERMITTED_VIOLATION),
    NAMED(EXCLUDED_VIOLATION),
    NAMED(SUBTREE_MINMAX),
    NAMED(APPLICATION_VERIFICATION),
    NAMED(UNSUPPORTED_CONSTRAINT_TYPE),
    NAMED(UNSUPPORTED_CONSTRAINT_SYNTAX),
    NAMED(UNSUPPORTED_NAME_SYNTAX),
    NAMED(CRL_PATH_VALIDATION_ERROR),
    NAMED(PATH_LOOP),
    NAMED(SUITE_B_INVALID_VERSION),
    NAMED(SUITE_B_INVALID_ALGORITHM),
    NAMED(SUITE_B_INVALID_CURVE),
    NAMED(SUITE_B_INVALID_SIGNATURE_ALGORITHM),
    NAMED(SUITE_B_LOS_NOT_ALLOWED),
    NAMED(SUITE_B_CANNOT_SIGN_P_384_WITH_P_256),
    NAMED(EMAIL_MISMATCH),
    NAMED(DANE_NO_MATCH),
    NAMED(EE_KEY_TOO_SMALL),
    NAMED(CA_KEY_TOO_SMALL),
    NAMED(CA_MD_TOO_WEAK),
    NAMED(INVALID_CALL),
    NAMED(STORE_LOOKUP),
    NAMED(NO_VALID_SCTS),
    NAMED(PROXY_SUBJECT_NAME_VIOLATION),
    NAMED(OCSP_VERIFY_NEEDED),
    NAMED(OCSP_VERIFY_FAILED),
    NAMED(OCSP_CERT_UNKNOWN),
    NAMED(UNSUPPORTED_SIGNATURE_ALGORITHM),
    NAMED(SIGNATURE_ALGORITHM_MISMATCH),
    NAMED(SIGNATURE_ALGORITHM_INCONSISTENCY),
    NAMED(INVALID_CA),
    NAMED(PATHLEN_INVALID_FOR_NON_CA),
    NAMED(PATHLEN_WITHOUT_KU_KEY_CERT_SIGN),
    NAMED(KU_KEY_CERT_SIGN_INVALID_FOR_NON_CA),
    NAMED(ISSUER_NAME_EMPTY),
    NAMED(SUBJECT_NAME_EMPTY),
    NAMED(MISSING_AUTHORITY_KEY_IDENTIFIER),
    NAMED(MISSING_SUBJECT_KEY_IDENTIFIER),
    NAMED(EMPTY_SUBJECT_ALT_NAME),
    NAMED(EMPTY_SUBJECT_SAN_NOT_CRITICAL),
    NAMED(CA_BCONS_NOT_CRITICAL),
    NAMED(AUTHORITY_KEY_IDENTIFIER_CRITICAL),
    NAMED(SUBJECT_KEY_IDENTIFIER_CRITICAL),
    NAMED(CA_CERT_MISSING_KEY_USAGE),
    NAMED(EXTENSIONS_REQUIRE_VERSION_3),
    NAMED(EC_KEY_EXPLICIT_PARAMS),
};
enum { NAMES = sizeof names / sizeof *names };

const char *verify_name(int code)
{
    for (size_t i = 0; i < NAMES; i++)
        if (names[i].code == code)
            return names[i].name;
    return PREFIX "UNSPECIFIED";
}

const char *verify_says(int code)
{
    if (code == VERIFY_WRONG_HOST)
        return "the certificate is for another host";
    if (code == VERIFY_HANDSHAKE)
        return "the handshake failed";
    return X509_verify_cert_error_string(code);
}

int verify_code(bt_str name)
{
    size_t prefix = strlen(PREFIX);

    for (size_t i = 0; i < NAMES; i++) {
        bt_str known = {names[i].name, strlen(names[i].name)};
        bool whole = bt_str_eq_nocase(name, known);

        if (!whole && known.len > prefix && memcmp(known.at, PREFIX, prefix) == 0)
            whole = bt_str_eq_nocase(name, (bt_str){known.at + prefix, known.len - prefix});
        if (whole)
            return names[i].code;
    }
    return -1;
}

/* ---- whom it is for ---- */

/* A host as it is looked for: an address of 4 or 16 bytes, or a name without a dot at its end. */
struct wanted {
    bt_str name;
    uint8_t addr[16];
    size_t addr_len; /* 0: it is a name */
};

static bt_str without_dot(bt_str name)
{
    if (name.len > 1 && name.at[name.len - 1] == '.')
        name.len--;
    return name;
}

size_t verify_address(bt_str text, uint8_t addr[16])
{
    char copy[INET6_ADDRSTRLEN];

    if (text.len > 2 && text.at[0] == '[' && text.at[text.len - 1] == ']')
        text = (bt_str){text.at + 1, text.len - 2};
    if (text.len >= sizeof copy || memchr(text.at, '\0', text.len) != NULL)
        return 0;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return inet_pton(AF_INET, copy, addr) == 1 ? 4 : inet_pton(AF_INET6, copy, addr) == 1 ? 16 : 0;
}

/* Letters, digits, - and _ in labels that are not empty: what else is in it is in no certificate that
 * means well. */
static bool is_name(bt_str name)
{
    size_t label = 0;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];

        if (c == '.') {
            if (label == 0)
                return false;
            label = 0;
            continue;
        }
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_'))
            return false;
        label++;
    }
    return label > 0 && name.len <= 253;
}

static bool name_matches(bt_str pattern, bt_str host)
{
    const char *dot;

    if (pattern.len < 2 || pattern.at[0] != '*')
        return is_name(pattern) && bt_str_eq_nocase(pattern, host);
    pattern = (bt_str){pattern.at + 1, pattern.len - 1};
    if (pattern.at[0] != '.' || pattern.len < 2)
        return false;
    /* Below a name of one label, which is nobody's own, a wildcard would be for half the world. */
    if (!is_name((bt_str){pattern.at + 1, pattern.len - 1}) ||
        memchr(pattern.at + 1, '.', pattern.len - 1) == NULL)
        return false;
    dot = memchr(host.at, '.', host.len);
    return dot != NULL && dot > host.at &&
           bt_str_eq_nocase(pattern, (bt_str){dot, host.len - (size_t)(dot - host.at)});
}

/* The next element of DER: its first byte, which is all of the tags that we look for, and its content.
 * false: there is none, or it is broken. */
struct der {
    const uint8_t *at;
    long left;
};
enum { DER_SEQUENCE = 0x30, DER_NAME = 0x80 | GEN_DNS, DER_ADDRESS = 0x80 | GEN_IPADD };

/* Of the kinds that there are (RFC 5280 4.2.1.6), in the form that each has. */
static bool is_general(int id)
{
    switch (id ^ 0x80) {
    case GEN_EMAIL:
    case GEN_DNS:
    case GEN_URI:
    case GEN_IPADD:
    case GEN_RID:
    case GEN_OTHERNAME | V_ASN1_CONSTRUCTED:
    case GEN_X400 | V_ASN1_CONSTRUCTED:
    case GEN_DIRNAME | V_ASN1_CONSTRUCTED:
    case GEN_EDIPARTY | V_ASN1_CONSTRUCTED:
        return true;
    default:
        return false;
    }
}

static bool der_next(struct der *der, int *id, bt_str *content)
{
    const uint8_t *at = der->at;
    int tag, class;
    long len;

    if (der->left <= 0 || (ASN1_get_object(&at, &len, &tag, &class, der->left) & 0x80) != 0 ||
        len < 0 || len > der->left - (at - der->at))
        return false;
    *id = *der->at;
    *content = (bt_str){(const char *)at, (size_t)len};
    der->left -= (at - der->at) + len;
    der->at = at + len;
    return true;
}

/* In subjectAltName. `any`: there are names or addresses in it. */
static bool alternative_matches(const X509 *cert, const struct wanted *host, bool *any)
{
    int at = X509_get_ext_by_NID(cert, NID_subject_alt_name, -1), id;
    const ASN1_OCTET_STRING *octets;
    struct der der, list;
    bt_str content;
    bool found = false;

    *any = at >= 0;
    if (at < 0 || X509_get_ext_by_NID(cert, NID_subject_alt_name, at) >= 0)
        return false; /* of two nobody knows which one others read */
    octets = X509_EXTENSION_get_data(X509_get_ext(cert, at));
    der = (struct der){ASN1_STRING_get0_data(octets), ASN1_STRING_length(octets)};
    if (!der_next(&der, &id, &content) || id != DER_SEQUENCE || der.left != 0)
        return false;
    list = (struct der){(const uint8_t *)content.at, (long)content.len};
    *any = false;
    while (list.left > 0) { /* to the end: what is broken is for nobody */
        if (!der_next(&list, &id, &content) || !is_general(id)) {
            *any = true; /* broken: the common name does not heal it */
            return false;
        }
        if (id != DER_NAME && id != DER_ADDRESS)
            continue;
        *any = true;
        if (id == DER_ADDRESS)
            found |= host->addr_len > 0 && content.len == host->addr_len &&
                     memcmp(content.at, host->addr, host->addr_len) == 0;
        else
            found |= host->addr_len == 0 && name_matches(content, host->name);
    }
    return found;
}

static bool common_name_matches(X509 *cert, const struct wanted *host)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int at = -1, next;
    unsigned char *text = NULL;
    uint8_t addr[16];
    bool matches;
    bt_str name;
    int len;

    while ((next = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0)
        at = next; /* the last one is the nearest */
    if (at < 0)
        return false;
    len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (len < 0) {
        ERR_clear_error();
        return false;
    }
    name = (bt_str){(const char *)text, (size_t)len};
    if (host->addr_len > 0)
        matches = verify_address(name, addr) == host->addr_len &&
                  memcmp(addr, host->addr, host->addr_len) == 0;
    else
        matches = name_matches(name, host->name);
    OPENSSL_free(text);
    return matches;
}

bool verify_host(X509 *cert, bt_str host)
{
    struct wanted wanted = {.name = without_dot(host)};
    bool any, is;

    wanted.addr_len = verify_address(host, wanted.addr);
    if (wanted.addr_len == 0 && !is_name(wanted.name))
        return false;
    is = alternative_matches(cert, &wanted, &any) || (!any && common_name_matches(cert, &wanted));
    ERR_clear_error(); /* of what is broken */
    return is;
}

/* ---- who the peer is ---- */

struct tls_peer *tls_peer_new(X509 *cert, STACK_OF(X509) * chain)
{
    struct tls_peer *peer = calloc(1, sizeof *peer);
    unsigned len;

    if (peer == NULL)
        return NULL;
    peer->uses = 1;
    if (cert == NULL)
        return peer;
    X509_up_ref(cert);
    peer->cert = cert;
    if (chain != NULL)
        peer->chain = X509_chain_up_ref(chain);
    (void)X509_digest(cert, EVP_sha1(), peer->sha1, &len);
    (void)X509_digest(cert, EVP_sha256(), peer->sha256, &len);
    ERR_clear_error();
    return peer;
}

struct tls_peer *tls_peer_copy(const struct tls_peer *of)
{
    struct tls_peer *peer = malloc(sizeof *peer);

    if (peer == NULL)
        return NULL;
    *peer = *of;
    peer->uses = 1;
    if (of->cert != NULL)
        X509_up_ref(of->cert);
    peer->chain = of->chain != NULL ? X509_chain_up_ref(of->chain) : NULL;
    return peer;
}

struct tls_peer *tls_peer_hold(struct tls_peer *peer)
{
    if (peer != NULL)
        peer->uses++;
    return peer;
}

void tls_peer_release(struct tls_peer *peer)
{
    if (peer == NULL || --peer->uses > 0)
        return;
    X509_free(peer->cert);
    sk_X509_pop_free(peer->chain, X509_free);
    free(peer);
}
