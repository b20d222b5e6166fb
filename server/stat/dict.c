/* dict.c - dictionaries that all workers share (bt_shared.h).
 *
 * The zone is cut into stripes, each with a lock and memory of its own, so that workers seldom wait
 * for each other and one that dies inside spoils one stripe, which is emptied. A key belongs to the
 * stripe that its hash says.
 *
 *   head      the key of the hash; how it is cut
 *   stripe    struct stripe, buckets, chunks; then the next one
 *
 * A stripe's memory is chunks of one size. An entry is a chain of them: the first begins with a
 * struct entry, and key and value follow each other through the chain. So nothing is ever moved, and
 * there is no room that only fits what is small. Entries of a bucket are linked, and all of a stripe
 * are in order of their last use. Links are numbers of chunks, 0 being none: what was never written
 * is empty as it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/dict.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/rand.h"
#include "base/table.h"
#include "bt_shared.h"
#include "stat/counts.h"

enum {
    LAYOUT = 1,
    CHUNK = 128,
    PAYLOAD = CHUNK - 4, /* before the number of the next one */
    STRIPES_MAX = 64,
    STRIPE_MIN = 256 * 1024, /* unless there is only one */
    SIZE_MIN = 64 * 1024,
    PART = 16,           /* of a stripe's chunks, that one entry may take */
    MAX_BYTES = 1 << 24, /* of one entry */
    FOR_EVER = -1
};

struct head {
    uint64_t hash_key[2];
    uint8_t spare[48];
};

struct stripe {
    struct bt_lock lock;
    uint32_t free;  /* list of chunks */
    uint32_t fresh; /* chunks up to here were given out at some time */
    uint32_t used;  /* chunks in entries */
    uint32_t entries;
    uint32_t newest, oldest; /* by use */
    uint64_t evicted, emptied;
    uint8_t spare[48];
};

struct entry {
    uint32_t chain; /* next in the bucket */
    uint32_t newer, older;
    uint32_t hash;
    uint32_t key_len, value_len;
    int64_t until_ms;
    uint32_t chunks;
};

struct chunk {
    char bytes[PAYLOAD]; /* first, since a struct entry stands there */
    uint32_t next;
};

_Static_assert(sizeof(struct chunk) == CHUNK, "chunks are of one size");
_Static_assert(sizeof(struct head) == 64 && sizeof(struct stripe) == 128, "on cache lines");

enum { HEAD = sizeof(struct entry) };

struct bt_dict {
    struct head *head;
    char *stripes;
    size_t stripe_size;
    uint32_t n;       /* stripes, a power of two */
    uint32_t buckets; /* of a stripe, a power of two */
    uint32_t chunks;  /* of a stripe; number 0 is not used */
    uint32_t most;    /* chunks of one entry */
    uint32_t entries; /* of a stripe, at most; 0: no limit */
    char *scratch;    /* of bt_dict_update() */
    size_t scratch_size;
    struct bt_dict *next;
};

static struct bt_dict *dicts;

/* ---- places ---- */

static struct stripe *stripe_at(const struct bt_dict *dict, uint32_t i)
{
    return (void *)(dict->stripes + i * dict->stripe_size);
}

static uint32_t *buckets_of(struct stripe *stripe)
{
    return (void *)(stripe + 1);
}

static struct chunk *chunk_at(const struct bt_dict *dict, struct stripe *stripe, uint32_t i)
{
    CHECK(i < dict->chunks);
    return (struct chunk *)(void *)(buckets_of(stripe) + dict->buckets) + i;
}

static struct entry *entry_at(const struct bt_dict *dict, struct stripe *stripe, uint32_t i)
{
    return (void *)chunk_at(dict, stripe, i)->bytes;
}

/* ---- locks ---- */

static void empty(const struct bt_dict *dict, struct stripe *stripe)
{
    uint64_t evicted = stripe->evicted, emptied = stripe->emptied + 1;

    stripe->free = stripe->fresh = stripe->used = stripe->entries = 0;
    stripe->newest = stripe->oldest = 0;
    memset(buckets_of(stripe), 0, dict->buckets * sizeof(uint32_t));
    stripe->evicted = evicted;
    stripe->emptied = emptied;
    count(emptied);
}

static void lock(const struct bt_dict *dict, struct stripe *stripe)
{
    if (bt_lock_take(&stripe->lock) == BT_LOCK_HELD_DIRTY)
        empty(dict, stripe);
}

/* ---- chunks ---- */

static uint32_t chunks_for(size_t bytes)
{
    return (uint32_t)((HEAD + bytes + PAYLOAD - 1) / PAYLOAD);
}

static uint32_t chunk_take(const struct bt_dict *dict, struct stripe *stripe)
{
    uint32_t i = stripe->free;

    if (i != 0)
        stripe->free = chunk_at(dict, stripe, i)->next;
    else
        i = ++stripe->fresh;
    stripe->used++;
    return i;
}

/* How many could be taken now. */
static uint32_t chunks_left(const struct bt_dict *dict, const struct stripe *stripe)
{
    return dict->chunks - 1 - stripe->used;
}

/* ---- bytes of a chain ---- */

struct cursor {
    const struct bt_dict *dict;
    struct stripe *stripe;
    struct chunk *chunk;
    size_t at;
};

/* At the key. */
static struct cursor cursor_of(const struct bt_dict *dict, struct stripe *stripe, uint32_t i)
{
    return (struct cursor){dict, stripe, chunk_at(dict, stripe, i), HEAD};
}

/* The next bytes that lie together, `want` at most. */
static size_t cursor_run(struct cursor *c, size_t want, char **run)
{
    if (c->at == PAYLOAD) {
        c->chunk = chunk_at(c->dict, c->stripe, c->chunk->next);
        c->at = 0;
    }
    size_t n = want < PAYLOAD - c->at ? want : PAYLOAD - c->at;
    *run = c->chunk->bytes + c->at;
    c->at += n;
    return n;
}

static bool cursor_equals(struct cursor *c, bt_str text)
{
    char *run;

    while (text.len > 0) {
        size_t n = cursor_run(c, text.len, &run);
        if (memcmp(run, text.at, n) != 0)
            return false;
        text = (bt_str){text.at + n, text.len - n};
    }
    return true;
}

static void cursor_write(struct cursor *c, bt_str text)
{
    char *run;

    while (text.len > 0) {
        size_t n = cursor_run(c, text.len, &run);
        memcpy(run, text.at, n);
        text = (bt_str){text.at + n, text.len - n};
    }
}

/* `to` NULL: only past them. */
static void cursor_read(struct cursor *c, char *to, size_t len)
{
    char *run;

    while (len > 0) {
        size_t n = cursor_run(c, len, &run);
        if (to != NULL) {
            memcpy(to, run, n);
            to += n;
        }
        len -= n;
    }
}

/* ---- entries ---- */

static void use_unlink(const struct bt_dict *dict, struct stripe *stripe, const struct entry *e)
{
    if (e->newer != 0)
        entry_at(dict, stripe, e->newer)->older = e->older;
    else
        stripe->newest = e->older;
    if (e->older != 0)
        entry_at(dict, stripe, e->older)->newer = e->newer;
    else
        stripe->oldest = e->newer;
}

static void use_link(const struct bt_dict *dict, struct stripe *stripe, uint32_t i)
{
    struct entry *e = entry_at(dict, stripe, i);

    e->newer = 0;
    e->older = stripe->newest;
    if (stripe->newest != 0)
        entry_at(dict, stripe, stripe->newest)->newer = i;
    else
        stripe->oldest = i;
    stripe->newest = i;
}

static void touch(const struct bt_dict *dict, struct stripe *stripe, uint32_t i)
{
    if (stripe->newest == i)
        return;
    use_unlink(dict, stripe, entry_at(dict, stripe, i));
    use_link(dict, stripe, i);
}

static uint32_t *bucket_of(const struct bt_dict *dict, struct stripe *stripe, uint32_t hash)
{
    return &buckets_of(stripe)[hash & (dict->buckets - 1)];
}

static void entry_drop(const struct bt_dict *dict, struct stripe *stripe, uint32_t i)
{
    struct entry *e = entry_at(dict, stripe, i);
    uint32_t *at = bucket_of(dict, stripe, e->hash), last = i;

    while (*at != i)
        at = &entry_at(dict, stripe, *at)->chain;
    *at = e->chain;
    use_unlink(dict, stripe, e);
    for (uint32_t n = 1; n < e->chunks; n++)
        last = chunk_at(dict, stripe, last)->next;
    stripe->used -= e->chunks;
    stripe->entries--;
    chunk_at(dict, stripe, last)->next = stripe->free;
    stripe->free = i;
}

static void make_room(const struct bt_dict *dict, struct stripe *stripe, uint32_t chunks)
{
    while (chunks_left(dict, stripe) < chunks ||
           (dict->entries > 0 && stripe->entries >= dict->entries)) {
        entry_drop(dict, stripe, stripe->oldest);
        stripe->evicted++;
    }
}

/* Where a key is to be looked for. */
struct place {
    struct bt_dict *dict;
    struct stripe *stripe;
    uint32_t hash;
    bt_str key;
};

/* With the lock held from here on. */
static struct place place_lock(struct bt_dict *dict, bt_str key)
{
    uint64_t hash = table_hash_with(dict->head->hash_key, key);
    struct place place = {dict, stripe_at(dict, (uint32_t)(hash >> 32) & (dict->n - 1)),
                          (uint32_t)hash, key};

    lock(dict, place.stripe);
    return place;
}

static void place_unlock(const struct place *place)
{
    bt_lock_release(&place->stripe->lock);
}

/* The chunk of the entry, and *c at its value; 0: there is none. One whose time is over goes. */
static uint32_t place_find(const struct place *place, struct cursor *c)
{
    uint32_t i = *bucket_of(place->dict, place->stripe, place->hash);

    while (i != 0) {
        const struct entry *e = entry_at(place->dict, place->stripe, i);
        *c = cursor_of(place->dict, place->stripe, i);
        if (e->hash == place->hash && e->key_len == place->key.len &&
            cursor_equals(c, place->key)) {
            if (e->until_ms == FOR_EVER || clock_ms() < e->until_ms)
                return i;
            entry_drop(place->dict, place->stripe, i);
            return 0;
        }
        i = e->chain;
    }
    return 0;
}

static int64_t until(int64_t ttl_ms)
{
    return ttl_ms < 0 ? FOR_EVER : clock_ms() + ttl_ms;
}

/* A new entry; there is none of that key, and it is not too long. */
static void place_add(const struct place *place, bt_str value, int64_t ttl_ms)
{
    const struct bt_dict *dict = place->dict;
    struct stripe *stripe = place->stripe;
    uint32_t chunks = chunks_for(place->key.len + value.len), first, last;
    struct cursor c;

    make_room(dict, stripe, chunks);
    first = last = chunk_take(dict, stripe);
    for (uint32_t n = 1; n < chunks; n++) {
        uint32_t next = chunk_take(dict, stripe);
        chunk_at(dict, stripe, last)->next = next;
        last = next;
    }
    struct entry *e = entry_at(dict, stripe, first);
    uint32_t *bucket = bucket_of(dict, stripe, place->hash);
    *e = (struct entry){.chain = *bucket,
                        .hash = place->hash,
                        .key_len = (uint32_t)place->key.len,
                        .value_len = (uint32_t)value.len,
                        .until_ms = until(ttl_ms),
                        .chunks = chunks};
    c = cursor_of(dict, stripe, first);
    cursor_write(&c, place->key);
    cursor_write(&c, value);
    *bucket = first;
    use_link(dict, stripe, first);
    stripe->entries++;
}

static bool fits(const struct bt_dict *dict, bt_str key, size_t len)
{
    return len <= MAX_BYTES && key.len <= MAX_BYTES && chunks_for(key.len + len) <= dict->most;
}

/* Instead of entry `i` (0: none), whose value begins at `c`. */
static void place_store(const struct place *place, uint32_t i, struct cursor *c, bt_str value,
                        int64_t ttl_ms)
{
    if (i != 0) {
        struct entry *e = entry_at(place->dict, place->stripe, i);
        if (chunks_for(place->key.len + value.len) == e->chunks) {
            cursor_write(c, value);
            e->value_len = (uint32_t)value.len;
            e->until_ms = until(ttl_ms);
            touch(place->dict, place->stripe, i);
            return;
        }
        entry_drop(place->dict, place->stripe, i);
    }
    place_add(place, value, ttl_ms);
}

/* ---- making ---- */

static void cut(struct bt_dict *dict, uint64_t bytes)
{
    uint64_t each;

    for (dict->n = 1; dict->n < STRIPES_MAX && bytes / dict->n / 2 >= STRIPE_MIN;)
        dict->n *= 2;
    each = (bytes - sizeof(struct head)) / dict->n / 64 * 64;
    each = each < (UINT64_C(1) << 36) ? each : UINT64_C(1) << 36;
    dict->stripe_size = each;
    uint64_t chunks = (each - sizeof(struct stripe)) / CHUNK;
    for (dict->buckets = 16; dict->buckets < chunks / 2;)
        dict->buckets *= 2;
    chunks = (each - sizeof(struct stripe) - dict->buckets * sizeof(uint32_t)) / CHUNK;
    dict->chunks = (uint32_t)chunks;
    dict->most = dict->chunks / PART;
}

struct bt_dict *bt_dict_make(const char *name, uint64_t bytes, struct bt_error *err)
{
    uint64_t size = bytes < SIZE_MIN ? SIZE_MIN : bytes;
    struct bt_zone *zone = bt_zone_make(name, size, LAYOUT, 0, err);

    if (zone == NULL)
        return NULL;
    struct bt_dict *dict = calloc(1, sizeof *dict);
    CHECK(dict != NULL);
    cut(dict, size);
    dict->head = bt_zone_memory(zone);
    dict->stripes = (char *)(dict->head + 1);
    if (!bt_zone_kept(zone)) {
        rand_bytes(dict->head->hash_key, sizeof dict->head->hash_key);
        for (uint32_t i = 0; i < dict->n; i++)
            bt_lock_init(&stripe_at(dict, i)->lock);
    }
    dict->next = dicts;
    dicts = dict;
    return dict;
}

void bt_dict_limit(struct bt_dict *dict, uint64_t entries)
{
    uint64_t each = (entries + dict->n - 1) / dict->n;

    dict->entries = each < UINT32_MAX ? (uint32_t)each : 0;
}

size_t bt_dict_max(const struct bt_dict *dict)
{
    size_t max = (size_t)dict->most * PAYLOAD - HEAD;

    return max < MAX_BYTES ? max : MAX_BYTES;
}

void dict_forget(void)
{
    while (dicts != NULL) {
        struct bt_dict *dict = dicts;
        dicts = dict->next;
        free(dict->scratch);
        free(dict);
    }
}

/* ---- what is asked ---- */

bool bt_dict_get(struct bt_dict *dict, bt_str key, void *value, size_t cap, size_t *len)
{
    struct place place = place_lock(dict, key);
    struct cursor c;
    uint32_t i = place_find(&place, &c);

    if (i != 0) {
        *len = entry_at(dict, place.stripe, i)->value_len;
        cursor_read(&c, value, *len < cap ? *len : cap);
        touch(dict, place.stripe, i);
    }
    place_unlock(&place);
    return i != 0;
}

bt_str bt_dict_copy(struct bt_dict *dict, bt_str key, struct bt_arena *arena)
{
    struct place place = place_lock(dict, key);
    bt_str value = BT_STR_NONE;
    struct cursor c;
    uint32_t i = place_find(&place, &c);

    if (i != 0) {
        value.len = entry_at(dict, place.stripe, i)->value_len;
        char *copy = bt_alloc_raw(arena, value.len + 1);
        cursor_read(&c, copy, value.len);
        copy[value.len] = '\0';
        value.at = copy;
        touch(dict, place.stripe, i);
    }
    place_unlock(&place);
    return value;
}

bool bt_dict_put(struct bt_dict *dict, bt_str key, bt_str value, bt_duration ttl)
{
    struct place place = place_lock(dict, key);
    struct cursor c;
    uint32_t i = place_find(&place, &c);
    bool good = fits(dict, key, value.len);

    if (good)
        place_store(&place, i, &c, value, ttl.ms);
    else if (i != 0)
        entry_drop(dict, place.stripe, i);
    place_unlock(&place);
    return good;
}

bool bt_dict_add(struct bt_dict *dict, bt_str key, bt_str value, bt_duration ttl)
{
    struct place place = place_lock(dict, key);
    struct cursor c;
    bool good = place_find(&place, &c) == 0 && fits(dict, key, value.len);

    if (good)
        place_add(&place, value, ttl.ms);
    place_unlock(&place);
    return good;
}

int64_t bt_dict_incr(struct bt_dict *dict, bt_str key, int64_t by, bt_duration ttl, int64_t initial)
{
    struct place place = place_lock(dict, key);
    struct cursor c, back;
    uint32_t i = place_find(&place, &c);
    int64_t sum = initial;
    bool number = i != 0 && entry_at(dict, place.stripe, i)->value_len == sizeof sum;

    back = c;
    if (number)
        cursor_read(&c, (char *)&sum, sizeof sum);
    if (__builtin_add_overflow(sum, by, &sum))
        sum = by < 0 ? INT64_MIN : INT64_MAX;
    bt_str value = {(const char *)&sum, sizeof sum};
    if (number) {
        cursor_write(&back, value);
        touch(dict, place.stripe, i);
    } else if (fits(dict, key, sizeof sum)) {
        place_store(&place, i, &back, value, ttl.ms);
    }
    place_unlock(&place);
    return sum;
}

bool bt_dict_expire(struct bt_dict *dict, bt_str key, bt_duration ttl)
{
    struct place place = place_lock(dict, key);
    struct cursor c;
    uint32_t i = place_find(&place, &c);

    if (i != 0)
        entry_at(dict, place.stripe, i)->until_ms = until(ttl.ms);
    place_unlock(&place);
    return i != 0;
}

bool bt_dict_remove(struct bt_dict *dict, bt_str key)
{
    struct place place = place_lock(dict, key);
    struct cursor c;
    uint32_t i = place_find(&place, &c);

    if (i != 0)
        entry_drop(dict, place.stripe, i);
    place_unlock(&place);
    return i != 0;
}

uint64_t bt_dict_remove_prefix(struct bt_dict *dict, bt_str prefix)
{
    uint64_t n = 0;

    for (uint32_t s = 0; s < dict->n; s++) {
        struct stripe *stripe = stripe_at(dict, s);
        lock(dict, stripe);
        for (uint32_t i = stripe->newest, older; i != 0; i = older) {
            struct cursor c = cursor_of(dict, stripe, i);
            const struct entry *e = entry_at(dict, stripe, i);
            older = e->older;
            if (e->key_len < prefix.len || !cursor_equals(&c, prefix))
                continue;
            entry_drop(dict, stripe, i);
            n++;
        }
        bt_lock_release(&stripe->lock);
    }
    return n;
}

/* ---- changing under the lock ---- */

static char *scratch_of(struct bt_dict *dict, size_t size)
{
    if (dict->scratch_size < size) {
        free(dict->scratch);
        dict->scratch = malloc(size);
        CHECK(dict->scratch != NULL);
        dict->scratch_size = size;
    }
    return dict->scratch;
}

void bt_dict_update(struct bt_dict *dict, bt_str key,
                    enum bt_dict_done (*fn)(void *arg, struct bt_dict_entry *), void *arg)
{
    size_t max = bt_dict_max(dict);
    struct bt_dict_entry entry = {
        .at = scratch_of(dict, max), .cap = key.len < max ? max - key.len : 0, .left_ms = FOR_EVER};
    struct place place = place_lock(dict, key);
    struct cursor c, back;
    uint32_t i = place_find(&place, &c);

    back = c;
    if (i != 0) {
        const struct entry *e = entry_at(dict, place.stripe, i);
        entry.there = true;
        entry.len = e->value_len;
        entry.left_ms = e->until_ms == FOR_EVER ? FOR_EVER : e->until_ms - clock_ms();
        cursor_read(&c, entry.at, entry.len);
    }
    enum bt_dict_done done = fn(arg, &entry);
    CHECK(entry.len <= entry.cap || done != BT_DICT_STORE);
    if (done == BT_DICT_STORE && fits(dict, key, entry.len))
        place_store(&place, i, &back, (bt_str){entry.at, entry.len}, entry.left_ms);
    else if (done == BT_DICT_REMOVE && i != 0)
        entry_drop(dict, place.stripe, i);
    else if (i != 0)
        touch(dict, place.stripe, i);
    place_unlock(&place);
}

void bt_dict_state(struct bt_dict *dict, struct bt_dict_state *out)
{
    *out = (struct bt_dict_state){.room = (uint64_t)dict->n * (dict->chunks - 1) * CHUNK};
    for (uint32_t s = 0; s < dict->n; s++) {
        struct stripe *stripe = stripe_at(dict, s);
        lock(dict, stripe);
        out->entries += stripe->entries;
        out->bytes += (uint64_t)stripe->used * CHUNK;
        out->evicted += stripe->evicted;
        out->emptied += stripe->emptied;
        bt_lock_release(&stripe->lock);
    }
}
