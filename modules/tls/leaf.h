/* leaf.h - what the files about forged certificates share.
 *
 *   leaf.c         an exchange asks for one: found, or made beside the loop, once for all who ask
 *   leaf_policy.c  what kind of certificate: sslproxy_cert_sign, sslproxy_cert_adapt; under which key
 *                  it is kept
 *   leaf_keys.c    the keys of all leaves, the same in all workers and after a reload
 *   leaf_store.c   leaves that are ready, of this worker; certificates of all workers
 *   leaf_gauges.c  when CAs expire, how full the store is: told by one worker for all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_LEAF_H
#define TLS_LEAF_H

#include "tls.h"

/* Who signs on one port. */
struct leaf_ca {
    struct forge_ca trusted, untrusted;
    STACK_OF(X509) * chain[2]; /* as clients get it: of trusted, of untrusted */
    uint8_t id[32];            /* of the CA's certificate */
    struct tls_leaf *own;      /* generate-host-certificates=off: the port's own, for all hosts */
};

/* ---- leaf_policy.c ---- */

enum leaf_adapt { LEAF_VALID_AFTER, LEAF_VALID_BEFORE, LEAF_COMMON_NAME };

/* A line of one of both lists. */
struct leaf_rule {
    const struct bt_line *line;
    int action;  /* enum forge_mode, enum leaf_adapt */
    bt_str name; /* of setCommonName{NAME}; empty: the host that was asked for */
    struct leaf_rule *next;
};

/* What certificate somebody is to get. Text is borrowed. */
struct leaf_order {
    const struct leaf_ca *ca;
    struct tls_peer *origin; /* NULL: none; `name` is all that is known */
    enum forge_mode mode;
    bool valid_after, valid_before, rsa;
    bt_str name; /* empty: those of the origin */
};
enum { LEAF_ID = 32 };

/* origin NULL, or without a certificate: one for the host alone, which clients trust. */
void leaf_policy(struct bt_txn *, bt_str host, struct tls_peer *origin, struct leaf_order *);
/* Two orders have the same one when the same certificate would come of them. false: no memory. */
BT_MUST bool leaf_id(const struct leaf_order *, uint8_t id[LEAF_ID]);
/* What is wrong with the origin, for the serial number. */
uint32_t leaf_errors(const struct tls_peer *);
/* sslproxy_cert_sign_hash. */
const EVP_MD *leaf_hash(void);

/* ---- leaf_keys.c ---- */

enum leaf_key {
    LEAF_EC,
    LEAF_RSA,
    LEAF_NOBODY, /* of the CAs that nobody trusts: RSA, which all clients understand */
    LEAF_KEYS
};

/* Master: keys that are used for sure are made, unless the former generation has some. */
BT_MUST bool leaf_keys_setup(struct bt_error *);
/* Made when it is asked for first: an RSA key takes a tenth of a second, or several. In any thread.
 * NULL: it cannot be made. Nobody frees it. */
EVP_PKEY *leaf_key(enum leaf_key);
/* Another one when there are other keys. */
bt_str leaf_keys_id(void);

/* ---- leaf_store.c ---- */

/* `bytes` for all workers, and a quarter of it for each one's ready leaves; 0: nothing is kept. */
BT_MUST bool leaf_store_setup(uint64_t bytes, struct bt_error *);
/* Ready here; NULL: none. The store's, hold it. */
struct tls_leaf *leaf_store_find(const uint8_t id[LEAF_ID]);
/* A copy of the certificate that some worker made, for X509_free(); NULL: none. */
X509 *leaf_store_shared(const uint8_t id[LEAF_ID]);
/* Keep it for this worker; from `until_ms` (bt_wall_ms) on it is not found any more. */
void leaf_store_keep(const uint8_t id[LEAF_ID], struct tls_leaf *, int64_t until_ms);
/* Give it to all workers. false: one of them was faster, take leaf_store_shared(). */
BT_MUST bool leaf_store_share(const uint8_t id[LEAF_ID], bt_str der, int64_t until_ms);
/* Of this worker's ready leaves. */
size_t leaf_store_count(void);
/* Of all workers' certificates. false: there are none. */
BT_MUST bool leaf_store_state(struct bt_dict_state *);

/* ---- leaf_gauges.c ---- */

BT_MUST bool leaf_gauges_setup(struct bt_error *);
void leaf_gauges_start(void);
void leaf_gauges_stop(void);
enum { LEAF_DAY_S = 24 * 3600, LEAF_WARN_S = 30 * LEAF_DAY_S }; /* before a CA expires */
/* When the first of the CAs expires, in seconds; INT64_MAX: there is none. */
int64_t leaf_ca_expires(void);

#endif
