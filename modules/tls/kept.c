/* kept.c - a table of sets of a few places each: the key says which set, and the one that was used least
 * lately makes room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = 128, PLACES = 4 };

struct kept {
    char *key; /* NULL: a free place */
    SSL_SESSION *session;
    struct tls_peer *peer;
    uint64_t used; /* `turns` then */
};
static struct kept table[SETS][PLACES];
static uint64_t turns;

static struct kept *set_of(const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(1099511628211);
    return table[(hash ^ hash >> 32) % SETS];
}

static void empty(struct kept *kept)
{
    if (kept->key == NULL)
        return;
    free(kept->key);
    SSL_SESSION_free(kept->session);
    tls_peer_release(kept->peer);
    *kept = (struct kept){.key = NULL};
}

static struct kept *find(struct kept *set, const char *key)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (set[i].key != NULL && strcmp(set[i].key, key) == 0)
            return &set[i];
    return NULL;
}

/* A session ends with its own time, and with the certificate that it stands for. */
static bool is_good(const struct kept *kept)
{
    int64_t now = bt_wall_ms() / 1000;
    time_t at = (time_t)now;
    const X509 *cert = kept->peer->cert;

    if (SSL_SESSION_is_resumable(kept->session) != 1 ||
        (int64_t)SSL_SESSION_get_time(kept->session) + SSL_SESSION_get_timeout(kept->session) < now)
        return false;
    return cert == NULL || kept->peer->errors > 0 ||
           X509_cmp_time(X509_get0_notAfter(cert), &at) > 0;
}

bool kept_put(const char *key, SSL_SESSION *session, struct tls_peer *peer)
{
    struct kept *set = set_of(key), *place = find(set, key);
    char *copy = strdup(key);

    if (copy == NULL)
        return false;
    for (unsigned i = 0; place == NULL && i < PLACES; i++)
        if (set[i].key == NULL)
            place = &set[i];
    if (place == NULL) {
        place = &set[0];
        for (unsigned i = 1; i < PLACES; i++)
            if (set[i].used < place->used)
                place = &set[i];
    }
    empty(place);
    *place = (struct kept){copy, session, tls_peer_hold(peer), ++turns};
    return true;
}

bool kept_get(const char *key, SSL_SESSION **session, struct tls_peer **peer)
{
    struct kept *place = find(set_of(key), key);

    if (place == NULL)
        return false;
    if (!is_good(place)) {
        empty(place);
        return false;
    }
    place->used = ++turns;
    *session = place->session;
    *peer = place->peer;
    return true;
}
