/* kept.c - a table of sets of a few places each: the key says which set, and the one that was used least
 * lately makes room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

enum { SETS = 128, PLACES = 4, SESSIONS = 4 };

struct kept {
    char *key; /* NULL: a free place */
    struct tls_peer *peer;
    SSL_SESSION *session[SESSIONS]; /* the oldest first */
    unsigned n;
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
    for (unsigned i = 0; i < kept->n; i++)
        SSL_SESSION_free(kept->session[i]);
    tls_peer_release(kept->peer);
    free(kept->key);
    *kept = (struct kept){.key = NULL};
}

static struct kept *find(struct kept *set, const char *key)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (set[i].key != NULL && strcmp(set[i].key, key) == 0)
            return &set[i];
    return NULL;
}

/* A free place, or the one that was used least lately. */
static struct kept *make_room(struct kept *set)
{
    struct kept *place = &set[0];

    for (unsigned i = 0; i < PLACES; i++) {
        if (set[i].key == NULL)
            return &set[i];
        if (set[i].used < place->used)
            place = &set[i];
    }
    empty(place);
    return place;
}

static SSL_SESSION *take(struct kept *kept, unsigned i)
{
    SSL_SESSION *session = kept->session[i];

    memmove(&kept->session[i], &kept->session[i + 1], (--kept->n - i) * sizeof session);
    return session;
}

static bool is_same(const struct tls_peer *a, const struct tls_peer *b)
{
    return memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0;
}

bool kept_put(const char *key, SSL_SESSION *session, struct tls_peer *peer)
{
    struct kept *set = set_of(key), *place = find(set, key);
    char *copy;

    if (place != NULL && !is_same(place->peer, peer)) {
        empty(place); /* another certificate: the sessions of before were with somebody else */
        place = NULL;
    }
    if (place == NULL) {
        copy = strdup(key);
        if (copy == NULL)
            return false;
        place = make_room(set);
        place->key = copy;
    }
    if (place->n == SESSIONS ||
        (place->n > 0 && SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION))
        SSL_SESSION_free(take(place, 0));
    place->session[place->n++] = session;
    tls_peer_release(place->peer);
    place->peer = tls_peer_hold(peer);
    place->used = ++turns;
    return true;
}

/* A session ends with its own time, and with the certificate that it stands for. */
static bool is_good(const SSL_SESSION *session, const struct tls_peer *peer)
{
    int64_t now = bt_wall_ms() / 1000;
    time_t at = (time_t)now;

    if (SSL_SESSION_is_resumable(session) != 1 ||
        (int64_t)SSL_SESSION_get_time(session) + SSL_SESSION_get_timeout(session) < now)
        return false;
    return peer->cert == NULL || peer->errors > 0 ||
           X509_cmp_time(X509_get0_notAfter(peer->cert), &at) > 0;
}

bool kept_get(const char *key, SSL_SESSION **session, struct tls_peer **peer)
{
    struct kept *place = find(set_of(key), key);

    while (place != NULL && place->n > 0) {
        *session = take(place, place->n - 1); /* the newest */
        if (is_good(*session, place->peer)) {
            *peer = tls_peer_hold(place->peer);
            place->used = ++turns;
            if (SSL_SESSION_get_protocol_version(*session) < TLS1_3_VERSION) {
                SSL_SESSION_up_ref(*session);
                place->session[place->n++] = *session;
            }
            return true;
        }
        SSL_SESSION_free(*session);
    }
    if (place != NULL && place->n == 0)
        empty(place);
    return false;
}
