/* pem.c - reads what stands between BEGIN and END, and finds out what belongs together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "pem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

/* All that was found in the files. */
struct found {
    STACK_OF(X509) * certs;
    EVP_PKEY *key;
    struct pem_says *says;
};

BT_PRINTF(2, 3) static bool refuse(struct pem_says *says, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(says->text, sizeof says->text, format, args);
    va_end(args);
    ERR_clear_error();
    return false;
}

/* ---- one file ---- */

static bool take_cert(struct found *found, const char *file, const unsigned char *der, long len)
{
    /* Of BEGIN TRUSTED CERTIFICATE, too: what OpenSSL adds stands behind the certificate. */
    X509 *cert = d2i_X509(NULL, &der, len);

    if (cert == NULL)
        return refuse(found->says, "%s: certificate number %d cannot be read", file,
                      sk_X509_num(found->certs) + 1);
    for (int i = 0; i < sk_X509_num(found->certs); i++)
        if (X509_cmp(sk_X509_value(found->certs, i), cert) == 0) {
            X509_free(cert);
            return true;
        }
    if (sk_X509_num(found->certs) < PEM_CERTS_MAX && sk_X509_push(found->certs, cert) > 0)
        return true;
    X509_free(cert);
    return refuse(found->says, "%s: there are more than %d certificates", file, PEM_CERTS_MAX);
}

static bool take_key(struct found *found, const char *file, const unsigned char *der, long len)
{
    EVP_PKEY *key = d2i_AutoPrivateKey(NULL, &der, len);
    int kind = key == NULL ? 0 : EVP_PKEY_get_base_id(key);

    if (key == NULL)
        return refuse(found->says, "%s: the private key cannot be read", file);
    if (kind == EVP_PKEY_RSA || kind == EVP_PKEY_EC) {
        bool another = found->key != NULL && EVP_PKEY_eq(found->key, key) != 1;

        if (found->key == NULL)
            found->key = key;
        else
            EVP_PKEY_free(key);
        return !another ||
               refuse(found->says,
                      "%s: there are two private keys; leave only the one that is to be "
                      "used",
                      file);
    }
    EVP_PKEY_free(key);
    return refuse(found->says, "%s: the private key is neither RSA nor EC", file);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

/* One block: parameters, requests and what else lies about in such files is passed over. */
static bool take_block(struct found *found, const char *file, const char *name, const char *header,
                       const unsigned char *der, long len)
{
    if (ends_in(name, "CERTIFICATE"))
        return take_cert(found, file, der, len);
    if (!ends_in(name, "PRIVATE KEY"))
        return true;
    if (strstr(name, "ENCRYPTED") != NULL || strstr(header, "ENCRYPTED") != NULL)
        return refuse(found->says,
                      "%s: the private key is encrypted, and nobody is there to be asked for the "
                      "password; decrypt it: openssl pkey -in FILE -out NEWFILE",
                      file);
    return take_key(found, file, der, len);
}

static bool read_blocks(struct found *found, const char *file, BIO *in)
{
    bool fine = true;
    unsigned long err;

    while (fine) {
        char *name = NULL, *header = NULL;
        unsigned char *der = NULL;
        long len;

        if (PEM_read_bio(in, &name, &header, &der, &len) != 1)
            break;
        fine = take_block(found, file, name, header, der, len);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_clear_free(der, (size_t)len);
    }
    err = ERR_peek_last_error();
    ERR_clear_error();
    if (!fine || err == 0 || ERR_GET_REASON(err) == PEM_R_NO_START_LINE)
        return fine;
    return refuse(found->says, "%s: behind %d certificates stands a block that is no PEM (%s)",
                  file, sk_X509_num(found->certs), ERR_reason_error_string(err));
}

static bool read_file(struct found *found, const char *file)
{
    struct stat about;
    BIO *in;
    bool fine;

    ERR_clear_error();
    if (stat(file, &about) != 0)
        return refuse(found->says, "%s: %s", file, strerror(errno));
    if (!S_ISREG(about.st_mode) || about.st_size > PEM_FILE_MAX)
        return refuse(found->says, "%s: it is no file, or longer than %d bytes", file,
                      PEM_FILE_MAX);
    errno = 0;
    in = BIO_new_file(file, "rb");
    if (in == NULL)
        return refuse(found->says, "%s: %s", file, errno != 0 ? strerror(errno) : "out of memory");
    fine = read_blocks(found, file, in);
    BIO_free(in);
    return fine;
}

/* ---- what belongs together ---- */

/* Several may: a certificate that was renewed for the same key. The one that lasts longest. */
static X509 *of_key(const struct found *found)
{
    X509 *best = NULL;

    for (int i = 0; i < sk_X509_num(found->certs); i++) {
        X509 *cert = sk_X509_value(found->certs, i);
        const EVP_PKEY *theirs = X509_get0_pubkey(cert);

        if (theirs == NULL || EVP_PKEY_eq(theirs, found->key) != 1)
            continue;
        if (best == NULL ||
            ASN1_TIME_compare(X509_get0_notAfter(cert), X509_get0_notAfter(best)) > 0)
            best = cert;
    }
    return best;
}

/* Who signed `cert`, by name and by signature, among those that are left; -1: nobody. */
static int issuer_of(X509 *cert, STACK_OF(X509) * left)
{
    for (int i = 0; i < sk_X509_num(left); i++) {
        X509 *issuer = sk_X509_value(left, i);
        EVP_PKEY *key = X509_get0_pubkey(issuer);

        if (X509_check_issued(issuer, cert) == X509_V_OK && key != NULL &&
            X509_verify(cert, key) == 1)
            return i;
    }
    return -1;
}

/* Each certificate is taken out when it is used, so that two that signed each other end it. */
static bool order_chain(struct pem *pem, STACK_OF(X509) * left)
{
    X509 *last = pem->cert;
    int at;

    while (X509_self_signed(last, 0) != 1 && (at = issuer_of(last, left)) >= 0) {
        last = sk_X509_delete(left, at);
        if (sk_X509_push(pem->chain, last) <= 0) {
            X509_free(last);
            return false;
        }
    }
    pem->strangers = sk_X509_num(left);
    ERR_clear_error();
    return true;
}

static bool put_together(struct found *found, const char *file, const char *key_file,
                         struct pem *pem)
{
    if (found->key == NULL && sk_X509_num(found->certs) == 0)
        return refuse(found->says,
                      "%s: there is neither a certificate nor a private key in it (is it PEM, with "
                      "lines -----BEGIN ...?)",
                      file);
    if (found->key == NULL)
        return refuse(found->says, "%s: there is no private key%s",
                      key_file != NULL ? key_file : file,
                      key_file != NULL ? "" : " beside the certificate; add it, or name its file");
    if (sk_X509_num(found->certs) == 0)
        return refuse(found->says, "%s: there is a private key, but no certificate", file);
    pem->cert = of_key(found);
    if (pem->cert == NULL)
        return refuse(found->says, "%s: the private key%s%s belongs to none of the %d certificates",
                      file, key_file != NULL ? " of " : "", key_file != NULL ? key_file : "",
                      sk_X509_num(found->certs));
    sk_X509_delete_ptr(found->certs, pem->cert);
    pem->key = found->key;
    found->key = NULL;
    pem->chain = sk_X509_new_null();
    return (pem->chain != NULL && order_chain(pem, found->certs)) ||
           refuse(found->says, "%s: out of memory", file);
}

void pem_free(struct pem *pem)
{
    X509_free(pem->cert);
    EVP_PKEY_free(pem->key);
    sk_X509_pop_free(pem->chain, X509_free);
    *pem = (struct pem){.cert = NULL};
}

bool pem_load(const char *file, const char *key_file, struct pem *pem, struct pem_says *says)
{
    struct found found = {.certs = sk_X509_new_null(), .says = says};
    bool fine;

    *pem = (struct pem){.cert = NULL};
    says->text[0] = '\0';
    fine = found.certs != NULL || refuse(says, "%s: out of memory", file);
    fine = fine && read_file(&found, file);
    /* A key of its own file stands for the one that lies beside the certificates, if any does. */
    if (fine && key_file != NULL && strcmp(key_file, file) != 0) {
        EVP_PKEY_free(found.key);
        found.key = NULL;
        fine = read_file(&found, key_file);
    }
    fine = fine && put_together(&found, file, key_file, pem);
    if (!fine)
        pem_free(pem);
    EVP_PKEY_free(found.key);
    sk_X509_pop_free(found.certs, X509_free);
    return fine;
}

/* ---- may it sign? ---- */

static void date_text(const ASN1_TIME *date, char text[32])
{
    struct tm tm;

    if (ASN1_TIME_to_tm(date, &tm) != 1 || strftime(text, 32, "%Y-%m-%d %H:%M UTC", &tm) == 0)
        strcpy(text, "a date that is none");
}

bool pem_is_ca(const struct pem *pem, const char *file, int64_t now, struct pem_says *says)
{
    const ASN1_TIME *from = X509_get0_notBefore(pem->cert), *to = X509_get0_notAfter(pem->cert);
    time_t at = (time_t)now;
    char date[32];

    /* 1: it says so; 3: version 1 and self-signed, as CAs of before 1997 are. */
    if (X509_check_ca(pem->cert) != 1)
        return refuse(says,
                      "%s: this is no certificate of a CA (basic constraints CA:TRUE and the right "
                      "to sign certificates are asked for); make one: bobtailctl ca init",
                      file);
    date_text(to, date);
    if (X509_cmp_time(to, &at) <= 0)
        return refuse(says, "%s: the CA expired at %s; make a new one and install it on clients",
                      file, date);
    date_text(from, date);
    if (X509_cmp_time(from, &at) >= 0)
        return refuse(says, "%s: the CA is not valid before %s; is the clock right?", file, date);
    return true;
}
