/* shared.c - what all workers know together about logins.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "auth.h"

enum {
    MB = 1024 * 1024,
    KNOWN_BYTES = 32 * MB, /* about 250000 logins; taken as they come */
    NONCES_BYTES = 32 * MB,
    FAILURES_BYTES = 4 * MB,
    USERS_BYTES = 16 * MB,
    SECRET_LAYOUT = 1
};

static bool draw(uint8_t *secret, size_t n, struct bt_error *err)
{
    return getrandom(secret, n, 0) == (ssize_t)n ||
           bt_complain(err, NULL, "no random bytes for logins: %s", strerror(errno));
}

/* The secret of nonces stands in a zone of its own, so that the next generation has it, too. */
static bool nonces_make(struct auth_conf *conf, struct bt_error *err)
{
    struct bt_zone *zone = bt_zone_make("auth-secret", sizeof conf->nonce_secret, SECRET_LAYOUT, 0,
                                        err);

    if (zone == NULL ||
        (!bt_zone_kept(zone) && !draw(bt_zone_memory(zone), sizeof conf->nonce_secret, err)))
        return false;
    memcpy(conf->nonce_secret, bt_zone_memory(zone), sizeof conf->nonce_secret);
    conf->nonces = bt_dict_make("auth-nonces", NONCES_BYTES, err);
    return conf->nonces != NULL;
}

/* One entry may take a part of a stripe, of which there are up to 64 (bt_dict_max). */
static uint64_t users_bytes(void)
{
    enum { NAME = 8192, PARTS = 17 * 64 };
    uint64_t least = (uint64_t)(users_room() + NAME) * PARTS;

    return least > USERS_BYTES ? least : USERS_BYTES;
}

bool shared_make(struct bt_error *err)
{
    struct auth_conf *conf = auth;

    if (!draw(conf->secret, sizeof conf->secret, err))
        return false;
    if (!auth_offered())
        return true;
    conf->known = bt_dict_make("auth-known", KNOWN_BYTES, err);
    conf->failures = bt_dict_make("auth-failures", FAILURES_BYTES, err);
    if (conf->known == NULL || conf->failures == NULL)
        return false;
    if (scheme_offered(&conf->scheme[SCHEME_DIGEST]) && !nonces_make(conf, err))
        return false;
    if (conf->addresses > 0) {
        conf->users = bt_dict_make("auth-users", users_bytes(), err);
        return conf->users != NULL;
    }
    return true;
}

void auth_key(uint8_t key[HASH_MAX], char kind, bt_str a, bt_str b, bt_str c)
{
    struct hash hash;

    hash_init(&hash, HASH_SHA256);
    hash_add(&hash, auth->secret, sizeof auth->secret);
    hash_add(&hash, &kind, 1);
    hash_add_str(&hash, a);
    hash_add(&hash, "", 1);
    hash_add_str(&hash, b);
    hash_add(&hash, "", 1);
    hash_add_str(&hash, c);
    hash_end(&hash, key);
}
