/* pem.h - certificates and their key out of PEM files, in whatever order they stand there.
 *
 * The certificate that belongs to the key is found by the key; the others are put into the order of
 * a chain. What does not work is refused with a sentence for the one who wrote the file.
 *
 * For the start, and for reloads: reads files and may take milliseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_PEM_H
#define TLS_PEM_H

#include <openssl/types.h>
#include <openssl/x509.h>

#include "bt.h"

enum {
    PEM_CERTS_MAX = 64, /* in one file */
    PEM_FILE_MAX = 1 << 20
};

struct pem {
    X509 *cert;             /* the one that the key belongs to */
    EVP_PKEY *key;          /* RSA or EC */
    STACK_OF(X509) * chain; /* who signed it, from near to far; without `cert`; may be empty */
    int strangers;          /* certificates that have nothing to do with it, and were left out */
};

/* Room for a complaint: "FILE: what is wrong, and what to do". */
struct pem_says {
    char text[512];
};

/* From `file`, and the key from `key_file` unless that is NULL. false: `says` why; nothing is held. */
BT_MUST bool pem_load(const char *file, const char *key_file, struct pem *, struct pem_says *says);
void pem_free(struct pem *);

/* Whether it can sign leaves at `now` (seconds). false: `says` why, beginning with `file`. */
BT_MUST bool pem_is_ca(const struct pem *, const char *file, int64_t now, struct pem_says *says);

#endif
