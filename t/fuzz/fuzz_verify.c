/* fuzz_verify.c - whom a certificate is for, whatever its alternative names are made of.
 *
 * The first byte: bits 0-5 how many of the others are the host that is asked for; bit 6: it stands in the
 * common name, too; bit 7: the rest is an OCSP response instead of alternative names.
 *
 * Whom we take it to be for, OpenSSL must take it to be for as well: it is laxer, but for _ behind a
 * wildcard, and for an address in a common name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "fuzz.h"

#include "../../modules/tls/staple.c"
#include "../../modules/tls/verify.c"

static EVP_PKEY *key;

static X509 *cert_new(bt_str common_name, const uint8_t *alternatives, size_t len)
{
    X509 *cert = X509_new();

    X509_set_version(cert, X509_VERSION_3);
    if (common_name.len > 0)
        X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                   (const unsigned char *)common_name.at, (int)common_name.len, -1,
                                   0);
    X509_set_pubkey(cert, key);
    if (alternatives != NULL) {
        ASN1_OCTET_STRING *text = ASN1_OCTET_STRING_new();
        X509_EXTENSION *ext;

        ASN1_OCTET_STRING_set(text, alternatives, (int)len);
        ext = X509_EXTENSION_create_by_NID(NULL, NID_subject_alt_name, 0, text);
        X509_add_ext(cert, ext, -1);
        X509_EXTENSION_free(ext);
        ASN1_OCTET_STRING_free(text);
    }
    ERR_clear_error();
    return cert;
}

static void response(const uint8_t *at, size_t n)
{
    STACK_OF(X509) *chain = sk_X509_new_null();
    X509_STORE *trusted = X509_STORE_new();

    for (int i = 0; i < 2; i++)
        sk_X509_push(chain, cert_new(BT_STR("a.test"), NULL, 0));
    MUST(!staple_revoked((bt_str){(const char *)at, n}, chain, trusted)); /* signed by nobody */
    MUST(ERR_peek_error() == 0);
    X509_STORE_free(trusted);
    sk_X509_pop_free(chain, X509_free);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len = size > 0 ? data[0] & 63 : 0;
    uint8_t addr[16];
    X509 *cert;
    bt_str host;
    GENERAL_NAMES *list;
    int critical;
    bool is;

    if (key == NULL)
        key = EVP_EC_gen("P-256");
    if (size < 1 + len)
        return 0;
    host = (bt_str){(const char *)data + 1, len};
    if ((data[0] & 128) != 0) {
        response(data + 1 + len, size - 1 - len);
        return 0;
    }
    cert = cert_new((data[0] & 64) != 0 ? host : BT_STR_NONE, data + 1 + len, size - 1 - len);
    is = verify_host(cert, host);
    MUST(ERR_peek_error() == 0);
    list = X509_get_ext_d2i(cert, NID_subject_alt_name, &critical, NULL);
    if (list == NULL && critical != -1)
        is = false; /* OpenSSL's verification refuses it */
    GENERAL_NAMES_free(list);
    if (is && verify_address(host, addr) > 0)
        MUST((data[0] & 64) != 0 || X509_check_ip(cert, addr, verify_address(host, addr), 0) == 1);
    else if (is && memchr(data + 1, '_', size - 1) == NULL)
        MUST(X509_check_host(cert, host.at, without_dot(host).len, 0, NULL) == 1);
    ERR_clear_error();
    X509_free(cert);
    return 0;
}
