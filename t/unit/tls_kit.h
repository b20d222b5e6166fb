/* tls_kit.h - keys and certificates for tests, good ones and bad ones, made in process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_KIT_H
#define TLS_KIT_H

#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

enum { KIT_DAY = 24 * 3600 };
#define KIT_NOW INT64_C(1783339200) /* 2026-07-06 12:00 UTC */

/* Several, each made once: making an RSA key takes its time. */
static inline EVP_PKEY *kit_key(bool rsa, int which)
{
    static EVP_PKEY *keys[2][4];

    if (keys[rsa][which] == NULL)
        keys[rsa][which] = rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    assert_non_null(keys[rsa][which]);
    return keys[rsa][which];
}

struct kit_cert {
    const char *subject; /* "O=Org/CN=name", UTF-8 */
    EVP_PKEY *key;
    X509 *issuer; /* NULL: self-signed */
    EVP_PKEY *issuer_key;
    int from, to;        /* days from KIT_NOW; both 0: 30 days around it */
    const char *ext[16]; /* "subjectAltName", "DNS:a,DNS:b", ... */
};

static inline void kit_subject(X509_NAME *name, const char *text)
{
    char copy[8192], *rest = copy, *part;

    snprintf(copy, sizeof copy, "%s", text);
    while ((part = strsep(&rest, "/")) != NULL) {
        char *value = strchr(part, '=');

        if (value == NULL)
            continue;
        *value++ = '\0';
        assert_int_equal(X509_NAME_add_entry_by_txt(name, part, MBSTRING_UTF8,
                                                    (unsigned char *)value, -1, -1, 0),
                         1);
    }
}

static inline void kit_ext(X509 *cert, X509 *issuer, const char *name, const char *value)
{
    X509_EXTENSION *ext;
    X509V3_CTX context;

    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    ext = X509V3_EXT_nconf(NULL, &context, name, value);
    assert_non_null(ext);
    assert_int_equal(X509_add_ext(cert, ext, -1), 1);
    X509_EXTENSION_free(ext);
}

/* An extension of any bytes. */
static inline void kit_raw_ext(X509 *cert, int nid, const void *bytes, size_t n)
{
    ASN1_OCTET_STRING *text = ASN1_OCTET_STRING_new();
    X509_EXTENSION *ext;

    ASN1_OCTET_STRING_set(text, bytes, (int)n);
    ext = X509_EXTENSION_create_by_NID(NULL, nid, 0, text);
    assert_int_equal(X509_add_ext(cert, ext, -1), 1);
    X509_EXTENSION_free(ext);
    ASN1_OCTET_STRING_free(text);
}

static inline X509 *kit_make(struct kit_cert want)
{
    static long serial;
    X509 *cert = X509_new();
    X509 *issuer = want.issuer != NULL ? want.issuer : cert;
    int from = want.from == 0 && want.to == 0 ? -30 : want.from;
    int to = want.from == 0 && want.to == 0 ? 30 : want.to;

    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    kit_subject(X509_get_subject_name(cert), want.subject);
    X509_set_issuer_name(cert, X509_get_subject_name(issuer));
    ASN1_TIME_adj(X509_getm_notBefore(cert), KIT_NOW, from, 0);
    ASN1_TIME_adj(X509_getm_notAfter(cert), KIT_NOW, to, 0);
    X509_set_pubkey(cert, want.key);
    for (size_t i = 0; i + 1 < COUNT(want.ext) && want.ext[i] != NULL; i += 2)
        kit_ext(cert, issuer, want.ext[i], want.ext[i + 1]);
    assert_true(
        X509_sign(cert, want.issuer_key != NULL ? want.issuer_key : want.key, EVP_sha256()) > 0);
    return cert;
}

static inline X509 *kit_ca(const char *subject, EVP_PKEY *key)
{
    return kit_make(
        (struct kit_cert){.subject = subject,
                          .key = key,
                          .from = -100,
                          .to = 100,
                          .ext = {"basicConstraints", "critical,CA:TRUE", "keyUsage",
                                  "critical,keyCertSign,cRLSign", "subjectKeyIdentifier", "hash"}});
}

/* ---- files of this program, gone at its end ---- */

static char kit_folder[64];

static inline void kit_clean(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", kit_folder);
    if (system(command) != 0)
        fprintf(stderr, "# %s is left\n", kit_folder);
}

/* A path of its own for each name; up to 8 at a time. */
static inline const char *kit_path(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];

    if (kit_folder[0] == '\0') {
        strcpy(kit_folder, "/tmp/bobtail-tls-XXXXXX");
        assert_non_null(mkdtemp(kit_folder));
        atexit(kit_clean);
    }
    snprintf(path, 256, "%s/%s", kit_folder, name);
    return path;
}

/* 0: the command ended well. What it said is shown when `loud`. */
static inline int kit_run(const char *command, bool loud)
{
    char line[1024];
    FILE *out = popen(command, "r");

    assert_non_null(out);
    while (fgets(line, sizeof line, out) != NULL)
        if (loud)
            printf("# %s", line);
    return pclose(out);
}

#endif
