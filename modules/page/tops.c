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

static unsigned chain_of(bt_str key)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < key.len; i++)
        hash = (hash ^ (unsigned char)key.at[i]) * 16777619u;
    return (hash ^ hash >> 15) % CHAINS;
}

static bt_str key_of(const struct top_entry *entry)
{
    return (bt_str){entry->key, entry->len};
}

/* Places are numbered from 1 in chains, so that zeroed memory is an empty sketch. */
static struct place *sketch_find(struct sketch *s, unsigned chain, bt_str key)
{
    for (unsigned at = s->chain[chain]; at != 0; at = s->place[at - 1].next)
        if (bt_str_eq(key_of(&s->place[at - 1].entry), key))
            return &s->place[at - 1];
    return NULL;
}

static void sketch_unchain(struct sketch *s, unsigned number)
{
    uint16_t *link = &s->chain[chain_of(key_of(&s->place[number].entry))];

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

static struct place *sketch_take(struct sketch *s, unsigned chain, bt_str key)
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
    p->entry = (struct top_entry){.requests = over, .over = over, .len = key.len};
    memcpy(p->entry.key, key.at, key.len);
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

static void sketch_count(struct sketch *s, bt_str key, const struct seen *seen)
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
static bt_str name_key(bt_str host)
{
    size_t skip = host.len >= TOP_KEY ? host.len - TOP_KEY + 1 : 0;

    return (bt_str){host.at + skip, host.len - skip};
}

static bool is_hit(const char *tag)
{
    return strstr(tag, "HIT") != NULL || strcmp(tag, "TCP_REFRESH_UNMODIFIED") == 0 ||
           strcmp(tag, "TCP_REFRESH_FAIL_OLD") == 0;
}

void tops_count(struct bt_txn *txn, int64_t bytes)
{
    const char *tag = bt_tag_get(txn);
    struct seen seen = {
        .bytes = bytes, .hit = is_hit(tag), .denied = strncmp(tag, "TCP_DENIED", 10) == 0};
    unsigned self = bt_worker_self() - 1;
    bt_str host = bt_host(txn);
    uint8_t addr[16];

    if (tops == NULL || self >= WORKERS)
        return;
    if (host.len > 0)
        sketch_count(&tops[self].sketch[TOP_DOMAINS], name_key(host), &seen);
    if (bt_addr_bytes(bt_client_addr(txn), addr))
        sketch_count(&tops[self].sketch[TOP_CLIENTS], (bt_str){(const char *)addr, sizeof addr},
                     &seen);
}

/* ---- reading ---- */

static bool place_read(const struct place *p, struct top_entry *out)
{
    for (int tries = 0; tries < 100; tries++) {
        uint32_t before = atomic_load_explicit(&p->version, memory_order_acquire);
        *out = p->entry;
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && before == atomic_load_explicit(&p->version, memory_order_relaxed)) {
            return out->len < TOP_KEY;
        }
    }
    return false; /* its worker died just there */
}

static int by_key(const void *a, const void *b)
{
    const struct top_entry *x = a, *y = b;

    return x->len != y->len ? (x->len < y->len ? -1 : 1) : memcmp(x->key, y->key, x->len);
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
        if (out == 0 || by_key(&all[out - 1], &all[i]) != 0) {
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

/* Addresses are kept as 16 bytes, those of IPv4 within ::ffff:0:0/96. */
static void address_text(struct top_entry *entry)
{
    static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
    uint8_t addr[16];
    bool is_v4;

    memcpy(addr, entry->key, sizeof addr);
    is_v4 = memcmp(addr, v4, sizeof v4) == 0;
    (void)inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? addr + 12 : addr, entry->key, TOP_KEY);
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
            n += place_read(&s->place[i], &all[n]) && all[n].len > 0;
    }
    n = merge(all, n);
    qsort(all, n, sizeof *all, by_requests);
    n = n < max ? n : max;
    memcpy(out, all, n * sizeof *all);
    for (size_t i = 0; i < n && which == TOP_CLIENTS; i++)
        address_text(&out[i]);
    free(all);
    return n;
}
