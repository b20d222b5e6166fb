/* leaf_keys.c - the keys of all leaves: made once, and kept in memory that all workers share.
 *
 * Certificates outlive workers in the shared store, and reloads, so their keys must. They are in no
 * file: a server that starts anew has other keys, and makes its leaves anew. Workers can read the CA's
 * key anyway; these are worth less.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf.h"

#include <stdatomic.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

enum { KEY_MAX = 2048, RSA_BITS = 2048, KEYS_LAYOUT = 1, KEYS_ID = 16 };

struct shared {
    struct bt_lock lock;
    bool begun; /* id is there */
    uint8_t id[KEYS_ID];
    struct {
        uint32_t len; /* 0: none yet; written last */
        uint8_t der[KEY_MAX];
    } key[LEAF_KEYS];
};

static struct bt_zone *keys_zone;
/* Of this process; the first one that is set stays. */
static _Atomic(EVP_PKEY *) ready[LEAF_KEYS];

static struct shared *shared_lock(void)
{
    struct shared *shared = bt_zone_memory(keys_zone);

    /* Who died inside left no length behind, so there is nothing to repair. */
    (void)(bt_lock_take(&shared->lock) == BT_LOCK_HELD);
    return shared;
}

static EVP_PKEY *key_read(const uint8_t *der, long len)
{
    EVP_PKEY *key = len > 0 ? d2i_AutoPrivateKey(NULL, &der, len) : NULL;
    EVP_PKEY *fast = key != NULL ? forge_key(key) : NULL;

    EVP_PKEY_free(key);
    ERR_clear_error();
    return fast;
}

/* What the zone has of that key. */
static EVP_PKEY *key_find(enum leaf_key which)
{
    struct shared *shared = shared_lock();
    uint8_t der[KEY_MAX];
    uint32_t len = shared->key[which].len;
    EVP_PKEY *key;

    memcpy(der, shared->key[which].der, sizeof der);
    bt_lock_release(&shared->lock);
    key = len <= KEY_MAX ? key_read(der, len) : NULL;
    OPENSSL_cleanse(der, sizeof der);
    return key;
}

/* Unless somebody else was faster. */
static void key_offer(enum leaf_key which, EVP_PKEY *key)
{
    unsigned char *der = NULL;
    int len = i2d_PrivateKey(key, &der);

    if (len > 0 && len <= KEY_MAX) {
        struct shared *shared = shared_lock();

        if (shared->key[which].len == 0) {
            memcpy(shared->key[which].der, der, (size_t)len);
            shared->key[which].len = (uint32_t)len;
        }
        bt_lock_release(&shared->lock);
    }
    OPENSSL_clear_free(der, len > 0 ? (size_t)len : 0);
}

EVP_PKEY *leaf_key(enum leaf_key which)
{
    EVP_PKEY *key = atomic_load(&ready[which]), *none = NULL;

    if (key != NULL)
        return key;
    key = key_find(which);
    if (key == NULL) {
        EVP_PKEY *made = which == LEAF_EC ? EVP_EC_gen("P-256") : EVP_RSA_gen(RSA_BITS);

        if (made != NULL) {
            key_offer(which, made);
            key = key_find(which);
        }
        EVP_PKEY_free(made);
        ERR_clear_error();
    }
    if (key != NULL && !atomic_compare_exchange_strong(&ready[which], &none, key)) {
        EVP_PKEY_free(key);
        key = none;
    }
    return key;
}

bt_str leaf_keys_id(void)
{
    const struct shared *shared = bt_zone_memory(keys_zone);

    return (bt_str){(const char *)shared->id, sizeof shared->id};
}

bool leaf_keys_setup(struct bt_error *err)
{
    bool good = true, rsa = tls_conf->leaf_key == 1;
    struct shared *shared;

    keys_zone = bt_zone_make("tls-leaf-keys", sizeof *shared, KEYS_LAYOUT, 0, err);
    if (keys_zone == NULL)
        return false;
    shared = bt_zone_memory(keys_zone);
    if (!bt_zone_kept(keys_zone))
        bt_lock_init(&shared->lock);
    (void)shared_lock();
    if (!shared->begun)
        good = RAND_bytes(shared->id, sizeof shared->id) == 1;
    shared->begun = good;
    bt_lock_release(&shared->lock);
    good = good && leaf_key(LEAF_EC) != NULL && leaf_key(LEAF_NOBODY) != NULL &&
           (!rsa || leaf_key(LEAF_RSA) != NULL);
    return good || bt_complain(err, NULL, "no key for certificates can be made: OpenSSL refused");
}
