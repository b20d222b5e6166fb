/* tops.c - the most frequent domains and clients of many, in bounded memory.
 *
 * A space-saving sketch (Metwally, Agrawal, El Abbadi 2005): of each kind a worker keeps PLACES keys.
 * A key that has none takes the place of the least frequent one and inherits its count, so that what
 * is told is at most that much too high, and whatever is frequent is in it for certain.
 *
 * A worker writes its own sketches alone; whoever reads them copies an entry and looks whether its
 * number has changed meanwhile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "page.h"

enum {
    PLACES = 256,
    CHAINS = 512,
    WORKERS = 1024 /* room for so many; it takes memory only as it is touched */
};

struct place {
    _Atomic uint32_t version; /* odd while it is being written */
    uint16_t next;            /* of its chain */
    struct top_entry entry;
};
struct sketch {
    uint32_t used;
    uint16_t chain[CHAINS];
    int64_t count[PLACES]; /* entry.requests once more: what is looked through lies together */
    struct place place[PLACES];
};
struct tops {
    struct sketch sketch[TOP_END];
};

static struct tops *tops; /* one a worker */

static void tops_gone(void *what)
{
    munmap(what, WORKERS * sizeof *tops);
    tops = NULL;
}

bool tops_make(struct bt_arena *arena)
{
    tops = mmap(NULL, WORKERS * sizeof *tops, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tops == MAP_FAILED) {
        tops = NULL;
        return false;
    }
    bt_defer(arena, tops_gone, tops);
    return true;
}

static unsigned chain_of(const char *key)
{
    uint32_t hash = 2166136261u;

    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619u;
    return (hash ^ hash >> 15) % CHAINS;
}

/* Places are numbered from 1 in chains, so that zeroed memory is an empty sketch. */
static struct place *sketch_find(struct sketch *s, unsigned chain, const char *key)
{
    for (unsigned at = s->chain[chain]; at != 0; at = s->place[at - 1].next)
        if (strcmp(s->place[at - 1].entry.key, key) == 0)
            return &s->place[at - 1];
    return NULL;
}

static void sketch_unchain(struct sketch *s, unsigned number)
{
    uint16_t *link = &s->chain[chain_of(s->place[number].entry.key)];

    while (*link != number + 1)
        link = &s->place[*link - 1].next;
    *link = s->place[number].next;
}

static unsigned sketch_least(const struct sketch *s)
{
    unsigned least = 0;

    for (unsigned i = 1; i < PLACES; i++)
        if (s->count[i] < s->count[least])
            least = i;
    return least;
}

static void version_step(struct place *p)
{
    atomic_store_explicit(&p->version, atomic_load_explicit(&p->version, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static struct place *sketch_take(struct sketch *s, unsigned chain, const char *key)
{
    unsigned number = s->used < PLACES ? s->used : sketch_least(s);
    struct place *p = &s->place[number];
    int64_t over = 0;

    if (number == s->used)
        s->used++;
    else {
        over = p->entry.requests;
        sketch_unchain(s, number);
    }
    version_step(p);
    atomic_thread_fence(memory_order_release);
    p->entry = (struct top_entry){.requests = over, .over = over};
    strcpy(p->entry.key, key);
    atomic_thread_fence(memory_order_release);
    version_step(p);
    p->next = s->chain[chain];
    s->chain[chain] = (uint16_t)(number + 1);
    return p;
}

struct seen {
    int64_t bytes;
    bool hit, denied;
};

static void sketch_count(struct sketch *s, const char *key, const struct seen *seen)
{
    unsigned chain = chain_of(key);
    struct place *p = sketch_find(s, chain, key);

    if (p == NULL)
        p = sketch_take(s, chain, key);
    s->count[p - s->place] = ++p->entry.requests;
    p->entry.bytes += seen->bytes;
    p->entry.hits += seen->hit;
    p->entry.denied += seen->denied;
}

/* The end of a name that is too long says more than its beginning. */
static void key_of_host(char key[TOP_KEY], bt_str host)
{
    size_t skip = host.len >= TOP_KEY ? host.len - TOP_KEY + 1 : 0;

    memcpy(key, host.at + skip, host.len - skip);
    key[host.len - skip] = '\0';
}

bool top_key_of(const struct sockaddr *addr, char key[TOP_KEY])
{
    const void *bytes =
        addr->sa_family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)(const void *)addr)->sin_addr
            : &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;

    return (addr->sa_family == AF_INET || addr->sa_family == AF_INET6) &&
           inet_ntop(addr->sa_family, bytes, key, TOP_KEY) != NULL;
}

static bool is_hit(const char *tag)
{
    return strstr(tag, "HIT") != NULL || strcmp(tag, "TCP_REFRESH_UNMODIFIED") == 0 ||
           strcmp(tag, "TCP_REFRESH_FAIL_OLD") == 0;
}

void tops_count(struct bt_txn *txn)
{
    const char *tag = bt_tag_get(txn);
    struct bt_value bytes = {.num = 0};
    struct seen seen = {.hit = is_hit(tag), .denied = strncmp(tag, "TCP_DENIED", 10) == 0};
    unsigned self = bt_worker_self() - 1;
    bt_str host = bt_host(txn);
    char key[TOP_KEY];

    if (tops == NULL || self >= WORKERS)
        return;
    if (bt_field_get(txn, BT_STR("rep.bytes"), BT_STR_NONE, &bytes))
        seen.bytes = bytes.num;
    if (host.len > 0) {
        key_of_host(key, host);
        sketch_count(&tops[self].sketch[TOP_DOMAINS], key, &seen);
    }
    if (top_key_of(bt_client_addr(txn), key))
        sketch_count(&tops[self].sketch[TOP_CLIENTS], key, &seen);
}

/* ---- reading ---- */

static bool place_read(const struct place *p, struct top_entry *out)
{
    for (int tries = 0; tries < 100; tries++) {
        uint32_t before = atomic_load_explicit(&p->version, memory_order_acquire);
        *out = p->entry;
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && before == atomic_load_explicit(&p->version, memory_order_relaxed)) {
            out->key[TOP_KEY - 1] = '\0';
            return true;
        }
    }
    return false; /* its worker died just there */
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct top_entry *)a)->key, ((const struct top_entry *)b)->key);
}

static int by_requests(const void *a, const void *b)
{
    int64_t x = ((const struct top_entry *)a)->requests,
            y = ((const struct top_entry *)b)->requests;

    return x > y ? -1 : x < y ? 1 : by_key(a, b);
}

/* Those of one key, of several workers, become one. */
static size_t merge(struct top_entry *all, size_t n)
{
    size_t out = 0;

    qsort(all, n, sizeof *all, by_key);
    for (size_t i = 0; i < n; i++) {
        if (out == 0 || strcmp(all[out - 1].key, all[i].key) != 0) {
            all[out++] = all[i];
            continue;
        }
        all[out - 1].requests += all[i].requests;
        all[out - 1].over += all[i].over;
        all[out - 1].bytes += all[i].bytes;
        all[out - 1].hits += all[i].hits;
        all[out - 1].denied += all[i].denied;
    }
    return out;
}

size_t tops_get(enum top which, struct top_entry *out, size_t max)
{
    unsigned workers = bt_workers() < WORKERS ? bt_workers() : WORKERS;
    struct top_entry *all = tops == NULL ? NULL : malloc(workers * PLACES * sizeof *all);
    size_t n = 0;

    if (all == NULL)
        return 0;
    for (unsigned w = 0; w < workers; w++) {
        const struct sketch *s = &tops[w].sketch[which];
        for (uint32_t i = 0; i < s->used && i < PLACES; i++)
            n += place_read(&s->place[i], &all[n]) && all[n].key[0] != '\0';
    }
    n = merge(all, n);
    qsort(all, n, sizeof *all, by_requests);
    n = n < max ? n : max;
    memcpy(out, all, n * sizeof *all);
    free(all);
    return n;
}
