/* leaf_store.c - leaves that were made: ready ones of this worker, and certificates of all workers.
 *
 * A ready leaf is one look-up away from being shown. It costs a hundred times the work to get one out
 * of a certificate, so each worker keeps those that it used last, up to so many bytes. What all workers
 * share is a dictionary of certificates, encoded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf.h"

#include <string.h>

#include <openssl/err.h>

#include "counts.h"

enum {
    SHARE = 4,             /* a worker's part of what all have */
    SHARED_MIN = 64 << 10, /* less makes no dictionary */
    CERT_MAX = 128 << 10,  /* encoded */
    /* What OpenSSL's objects of one certificate take (t/unit/test_tls_leaf.c measures it): so much for
     * any, and so much more for each byte of it. */
    COST = 300,
    COST_OF_BYTE = 7,
    TYPICAL = 4096
};

struct slot {
    uint8_t id[LEAF_ID];
    struct slot *next;            /* in its bucket */
    struct slot *older, *younger; /* by use */
    struct tls_leaf *leaf;
    int64_t until_ms;
    size_t cost;
};

static struct {
    struct bt_dict *dict;
    uint64_t limit, bytes; /* of ready leaves */
    size_t n, mask;
    struct slot **bucket;
    struct slot *oldest, *youngest;
} s;

static bt_str text(const uint8_t id[LEAF_ID])
{
    return (bt_str){(const char *)id, LEAF_ID};
}

bool leaf_store_setup(uint64_t bytes, struct bt_error *err)
{
    size_t buckets = 64;

    if (bytes == 0)
        return true;
    if (bytes < SHARED_MIN)
        bytes = SHARED_MIN;
    while (buckets < bytes / SHARE / TYPICAL)
        buckets *= 2;
    s.limit = bytes / SHARE;
    s.mask = buckets - 1;
    s.bucket = calloc(buckets, sizeof(struct slot *));
    s.dict = bt_dict_make("tls-leaves", bytes, err);
    return s.dict != NULL && s.bucket != NULL;
}

/* ---- ready ones ---- */

static struct slot **slot_at(const uint8_t id[LEAF_ID])
{
    struct slot **at;
    size_t hash;

    memcpy(&hash, id, sizeof hash); /* a digest: any part of it will do */
    at = &s.bucket[hash & s.mask];
    while (*at != NULL && memcmp((*at)->id, id, LEAF_ID) != 0)
        at = &(*at)->next;
    return at;
}

static void unlink_use(struct slot *slot)
{
    *(slot->older != NULL ? &slot->older->younger : &s.oldest) = slot->younger;
    *(slot->younger != NULL ? &slot->younger->older : &s.youngest) = slot->older;
}

static void link_use(struct slot *slot)
{
    slot->younger = NULL;
    slot->older = s.youngest;
    *(s.youngest != NULL ? &s.youngest->younger : &s.oldest) = slot;
    s.youngest = slot;
}

static void drop(struct slot **at)
{
    struct slot *slot = *at;

    *at = slot->next;
    unlink_use(slot);
    s.n--;
    s.bytes -= slot->cost;
    bt_add(N_leaves, -1);
    bt_add(N_leaf_bytes, -(int64_t)slot->cost);
    leaf_release(slot->leaf);
    free(slot);
}

struct tls_leaf *leaf_store_find(const uint8_t id[LEAF_ID])
{
    struct slot **at = s.limit > 0 ? slot_at(id) : NULL, *slot;

    if (at == NULL || *at == NULL)
        return NULL;
    slot = *at;
    if (slot->until_ms <= bt_wall_ms()) {
        drop(at);
        return NULL;
    }
    unlink_use(slot);
    link_use(slot);
    return slot->leaf;
}

static size_t cost_of(const struct tls_leaf *leaf)
{
    int len = i2d_X509(leaf->cert, NULL);

    return COST + (len > 0 ? (size_t)len * COST_OF_BYTE : 0);
}

void leaf_store_keep(const uint8_t id[LEAF_ID], struct tls_leaf *leaf, int64_t until_ms)
{
    size_t cost = cost_of(leaf);
    struct slot *slot, **at;

    if (cost > s.limit)
        return;
    at = slot_at(id);
    if (*at != NULL)
        drop(at);
    while (s.bytes + cost > s.limit)
        drop(slot_at(s.oldest->id));
    slot = malloc(sizeof *slot);
    if (slot == NULL)
        return;
    at = slot_at(id);
    *slot = (struct slot){.leaf = leaf_hold(leaf), .until_ms = until_ms, .cost = cost};
    memcpy(slot->id, id, LEAF_ID);
    *at = slot;
    link_use(slot);
    s.n++;
    s.bytes += cost;
    bt_add(N_leaves, 1);
    bt_add(N_leaf_bytes, (int64_t)cost);
}

size_t leaf_store_count(void)
{
    return s.n;
}

/* ---- those of all workers ---- */

X509 *leaf_store_shared(const uint8_t id[LEAF_ID])
{
    static unsigned char der[CERT_MAX]; /* of the loop's thread */
    const unsigned char *at = der;
    X509 *cert = NULL;
    size_t len;

    if (s.dict != NULL && bt_dict_get(s.dict, text(id), der, sizeof der, &len) &&
        len <= sizeof der) {
        cert = d2i_X509(NULL, &at, (long)len);
        ERR_clear_error();
    }
    return cert;
}

bool leaf_store_share(const uint8_t id[LEAF_ID], bt_str der, int64_t until_ms)
{
    int64_t left = until_ms - bt_wall_ms();

    if (s.dict == NULL || der.len > CERT_MAX || left <= 0 ||
        LEAF_ID + der.len > bt_dict_max(s.dict))
        return true;
    return bt_dict_add(s.dict, text(id), der, (bt_duration){until_ms == INT64_MAX ? -1 : left});
}

bool leaf_store_state(struct bt_dict_state *state)
{
    if (s.dict != NULL)
        bt_dict_state(s.dict, state);
    return s.dict != NULL;
}
