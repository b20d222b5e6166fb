/* forge.h - a certificate in place of an origin's, signed by the proxy's own CA.
 *
 * What of the origin's is mimicked: subject, host names and addresses, validity, key usages; key
 * identifiers are of our own keys. What is not: policies, transparency, places of revocation lists.
 * A leaf is never a CA. All is read from certificates that nobody has to have verified: whatever is
 * in them ends in a verdict.
 *
 * May be called in any thread; nothing here is shared. Objects of OpenSSL that are handed in are
 * borrowed; what comes out is the caller's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_FORGE_H
#define TLS_FORGE_H

#include <openssl/types.h>

#include "bt.h"

enum {
    FORGE_NAMES_MAX = 1000,           /* in subjectAltName */
    FORGE_NAMES_BYTES_MAX = 64 << 10, /* of it, encoded */
    FORGE_SUBJECT_BYTES_MAX = 4096
};

enum forge_mode {
    FORGE_TRUSTED,   /* signed by the CA */
    FORGE_UNTRUSTED, /* signed by what forge_untrusted() made: no client trusts it */
    FORGE_SELF       /* signed by its own key, and its own issuer */
};

enum forge_verdict {
    FORGE_DONE,
    FORGE_TOO_BIG,   /* more names, or a longer subject, than above */
    FORGE_MALFORMED, /* an extension, a date or a text that is none; NUL in a name */
    FORGE_NAMELESS,  /* neither the origin's certificate nor the order has a name */
    FORGE_FAILED     /* OpenSSL refused: no memory, or a key that cannot sign */
};

struct forge_ca {
    X509 *cert;
    EVP_PKEY *key; /* RSA or EC */
};

struct forge_order {
    const struct forge_ca *ca; /* by whom it is signed, also in mode SELF for valid_* */
    EVP_PKEY *key;             /* the leaf's: RSA or EC, best by forge_key() */
    const EVP_MD *hash;        /* that is signed; NULL: SHA-256 */
    enum forge_mode mode;
    X509 *origin; /* NULL: there is none; `name` is all that is known */
    /* A host name, a wildcard or an address that stands in place of the origin's common name and
     * alternative names (setCommonName). Without an origin it must be there. */
    bt_str name;
    bool valid_after;  /* adapt: ends when the CA ends (setValidAfter) */
    bool valid_before; /* adapt: begins when the CA begins (setValidBefore) */
    uint32_t error;    /* what was wrong with the origin's: part of the serial number */
    int64_t now;       /* seconds; the validity without an origin is in days around it */
};

/* Whether there can be a certificate for it: a host name, a wildcard, an address. */
bool forge_name(bt_str name);

/* A new leaf at *leaf, which X509_free() frees; NULL without DONE.
 *
 * The serial number is made of all that goes into the certificate, the CA, the origin's certificate
 * and `error`, so that no two certificates that differ have the same (browsers refuse that). With RSA two
 * proxies with the same CA and leaf key make the same one; ECDSA signs with chance, so there is chance in
 * the number, too: who wants the same certificate again keeps it. */
BT_MUST enum forge_verdict forge_leaf(const struct forge_order *, X509 **leaf);

/* The same key, in the form that it had before OpenSSL 3: X509_set_pubkey() needs 5 microseconds with
 * it, and 230 with the other, seven times what it takes to sign. A new reference; NULL: no memory. */
EVP_PKEY *forge_key(EVP_PKEY *);

/* For logs: a phrase without a dot. */
const char *forge_says(enum forge_verdict);

/* The certificate of a CA that nobody trusts: the CA's subject with common name `Not trusted by
 * "..."`, self-signed by `key`. Take another key than the CA's, so that the CA never signs what
 * nobody shall trust. false: *cert is NULL. */
BT_MUST bool forge_untrusted(const X509 *ca, EVP_PKEY *key, X509 **cert);

#endif
