/* idle.c - connections to origins, and those among them that wait for their next request.
 *
 * Every connection knows its peer, so giving one back costs no look-up. The peer lives as long as
 * one of its connections, so a peer whose only connection goes to and fro costs no malloc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/idle.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/table.h"
#include "net/descriptors.h"
#include "stat/counts.h"

enum { BUCKETS = 2048, PER_PEER = 256, TOTAL = 65536 };

static struct idle_peer *buckets[BUCKETS];
static struct timeout_class waiting; /* its list is all idle ones, longest idle first */
static int64_t oldest_us;            /* 0: any age */
static unsigned most_per_peer = PER_PEER, most = TOTAL, n_idle;

/* ---- peers ---- */

static struct idle_peer **bucket_of(const struct sockaddr *addr, bt_str with)
{
    struct {
        uint8_t addr[16];
        uint32_t port, with; /* no padding, so all bytes are set */
    } key = {.port = addr_port(addr)};
    if (with.len > 0) /* behind one address there may be a thousand hosts */
        key.with = (uint32_t)table_hash(with);

    if (addr->sa_family == AF_INET6)
        memcpy(key.addr, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, 16);
    else
        addr_from_v4((const void *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr,
                     key.addr);
    return &buckets[table_hash((bt_str){(const char *)&key, sizeof key}) % BUCKETS];
}

static bool is_from(const struct idle_peer *peer, const struct sockaddr *from)
{
    if (from == NULL)
        return peer->from.any.sa_family == AF_UNSPEC;
    return peer->from.any.sa_family != AF_UNSPEC && addr_same(&peer->from.any, from, false);
}

static bool is_keyed(const struct idle_peer *peer, bt_str key)
{
    return bt_str_eq((bt_str){peer->key, peer->key_len}, key);
}

static struct idle_peer *peer_find(struct idle_peer *const *bucket, const struct idle_which *which)
{
    struct idle_peer *peer = *bucket;

    while (peer != NULL &&
           !(addr_same(&peer->addr.any, which->addr, true) && is_from(peer, which->from) &&
             is_keyed(peer, which->key) && marks_same(peer->marks, which->marks)))
        peer = peer->next;
    return peer;
}

static struct idle_peer *peer_get(const struct idle_which *which)
{
    struct idle_peer **bucket = bucket_of(which->addr, which->key);
    struct idle_peer *peer = peer_find(bucket, which);

    if (peer == NULL) {
        peer = calloc(1, sizeof *peer + which->key.len);
        CHECK(peer != NULL);
        memcpy(&peer->addr, which->addr, addr_len(which->addr));
        if (which->from != NULL)
            memcpy(&peer->from, which->from, addr_len(which->from));
        peer->marks = which->marks;
        peer->key_len = which->key.len;
        if (which->key.len > 0)
            memcpy(peer->key, which->key.at, which->key.len);
        list_init(&peer->idle);
        peer->next = *bucket;
        *bucket = peer;
    }
    return peer;
}

static void peer_leave(struct idle_peer *peer)
{
    struct idle_peer **at = bucket_of(&peer->addr.any, (bt_str){peer->key, peer->key_len});

    if (--peer->n > 0)
        return;
    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    free(peer);
}

/* ---- connections ---- */

/* Idle connections do not hold the last descriptors, which are for those inside. */
static void leave_room(int fd)
{
    if (!descriptors_short(fd) && !descriptors_reached())
        return;
    while (descriptors_short_now() && idle_make_room())
        continue;
}

struct origin *origin_new(int fd, const struct idle_which *which)
{
    struct origin *o = calloc(1, sizeof *o);

    CHECK(o != NULL);
    leave_room(fd);
    stream_init(&o->stream, fd, NULL);
    o->stream.readable = false; /* origins do not speak first; if one does, epoll will tell */
    o->born_us = clock_us();
    o->peer = peer_get(which);
    o->peer->n++;
    count(origin_open);
    return o;
}

void origin_rekey(struct origin *o, bt_str key)
{
    struct idle_peer *old = o->peer;
    struct idle_which which = {&old->addr.any,
                               old->from.any.sa_family != AF_UNSPEC ? &old->from.any : NULL, key,
                               old->marks};

    if (is_keyed(old, key))
        return;
    o->peer = peer_get(&which);
    o->peer->n++;
    peer_leave(old);
}

static bool is_idle(const struct origin *o)
{
    return o->timeout.cls == &waiting && timeout_is_set(&o->timeout);
}

/* Out of the pool, in use. */
static void wake(struct origin *o)
{
    list_remove(&o->link);
    timeout_clear(&o->timeout);
    o->stream.ready = NULL;
    o->peer->n_idle--;
    n_idle--;
    if (o->idle_of != NULL)
        --*o->idle_of;
    count_by(origin_idle, -1);
    count(origin_open);
}

void origin_close(struct origin *o)
{
    if (is_idle(o))
        wake(o);
    timeout_clear(&o->timeout);
    list_remove(&o->link);
    stream_close(&o->stream);
    peer_leave(o->peer);
    count_by(origin_open, -1);
    if (o->closed != NULL)
        o->closed(o->closed_arg);
    free(o);
}

/* Whatever it says while nobody asked is a reason to close it. true: it was closed. */
static bool spoke(struct origin *o)
{
    char byte;
    ssize_t n = stream_read(&o->stream, &byte, 1);

    if (n == BT_IO_AGAIN)
        return false;
    if (n > 0)
        count(origin_surplus);
    origin_close(o);
    return true;
}

static void idle_ready(struct stream *s)
{
    (void)!spoke(LIST_OF(s, struct origin, stream));
}

static void idle_expired(struct timeout *t)
{
    struct origin *o = LIST_OF(t, struct origin, timeout);

    /* The list has let go of it already: put it back, so that it counts as idle to the end. */
    timeout_set(&waiting, t);
    origin_close(o);
}

void idle_init(bt_duration timeout, unsigned max_per_peer, unsigned max_total)
{
    most_per_peer = max_per_peer > 0 ? max_per_peer : PER_PEER;
    most = max_total > 0 ? max_total : TOTAL;
    if (timeout.ms < 0) /* without limit; but the list must hold them */
        timeout.ms = INT64_C(1000) * 86400 * 365;
    timeout_class_init(&waiting, timeout, idle_expired);
}

void idle_fini(void)
{
    idle_close_all();
    timeout_class_fini(&waiting);
}

struct origin *idle_take(const struct idle_which *which)
{
    struct idle_peer *peer = peer_find(bucket_of(which->addr, which->key), which);
    struct origin *o = peer == NULL ? NULL : LIST_FIRST(&peer->idle, struct origin, link);

    if (o == NULL)
        return NULL;
    wake(o);
    count(origin_reused);
    return o;
}

void idle_lifetime(bt_duration oldest)
{
    oldest_us = oldest.ms > 0 ? oldest.ms * 1000 : 0;
}

/* So long may it wait; 0: not at all. */
static int64_t may_wait(const struct origin *o)
{
    int64_t left = oldest_us > 0 ? o->born_us + oldest_us - clock_us() : waiting.after;

    return left < 0 ? 0 : left < waiting.after ? left : waiting.after;
}

void idle_put(struct origin *o)
{
    struct stream *s = &o->stream;

    CHECK(stream_pending(s) == 0 && !timeout_is_set(&o->timeout) && !list_linked(&o->link));
    o->owner = NULL;
    if (s->cut || s->shut || s->eof || may_wait(o) < 1000) {
        origin_close(o);
        return;
    }
    /* Usually the last read was short, and this costs no call; that it was reset right behind the
     * last byte is found by who writes to it next. */
    if (s->readable && spoke(o))
        return;
    if (o->peer->n_idle >= most_per_peer)
        origin_close(LIST_LAST(&o->peer->idle, struct origin, link));
    else if (n_idle >= most)
        origin_close(LIST_OF(timeout_first(&waiting), struct origin, timeout));
    else if (descriptors_short(s->fd))
        (void)!idle_make_room();
    s->ready = idle_ready;
    stream_watch(s);
    list_add_head(&o->peer->idle, &o->link);
    if (may_wait(o) == waiting.after)
        timeout_set(&waiting, &o->timeout);
    else
        timeout_set_after(&waiting, &o->timeout, (bt_duration){may_wait(o) / 1000});
    o->peer->n_idle++;
    n_idle++;
    if (o->idle_of != NULL)
        ++*o->idle_of;
    count_by(origin_open, -1);
    count(origin_idle);
}

bool idle_make_room(void)
{
    struct timeout *t = timeout_first(&waiting);

    if (n_idle == 0 || t == NULL)
        return false;
    count(origin_evicted);
    origin_close(LIST_OF(t, struct origin, timeout));
    return true;
}

bool idle_close_of(const unsigned *idle_of)
{
    for (struct list_link *at = waiting.list.head.next; at != &waiting.list.head; at = at->next) {
        struct origin *o = LIST_OF(LIST_OF(at, struct timeout, link), struct origin, timeout);
        if (o->idle_of != idle_of)
            continue;
        origin_close(o);
        return true;
    }
    return false;
}

void idle_close_all(void)
{
    struct timeout *t;

    while (n_idle > 0 && (t = timeout_first(&waiting)) != NULL)
        origin_close(LIST_OF(t, struct origin, timeout));
}
