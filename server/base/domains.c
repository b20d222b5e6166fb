/* domains.c - a set of domains with their owners: each suffix of a name is looked up in one hash.
 *
 * A look-up walks the name once, from its end; at each dot the hash so far is that of a suffix. An
 * entry costs 12 bytes, its text and one and a half to three slots of 8 bytes: below 64 in all.
 * Slots hold half of the hash, so that a miss does not touch the entry; the text stands right behind
 * the entry, so that a hit touches one place of memory and not two.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/owners.h"
#include "base/rand.h"
#include "base/str.h"

/* Its text follows: ".example.com", and what fills up to the next multiple of 4. */
struct domain {
    uint32_t lone; /* owners of `example.com`, without what is below */
    uint32_t wide; /* owners of `.example.com` */
    uint32_t len;  /* of the text without its dot */
};
struct slot {
    uint32_t tag;    /* of the hash */
    uint32_t domain; /* its place in the pool / 4, + 1; 0: empty */
};
struct bt_domains {
    struct bt_arena *arena;
    char *pool;
    size_t pooled, pool_cap;
    uint32_t n;
    struct slot *slot;
    uint32_t slots;
    uint64_t seed;
    struct owners owners;
    bool sealed;
};

static void domains_fini(void *what)
{
    struct bt_domains *set = what;

    if (!set->sealed) {
        free(set->pool);
        free(set->slot);
    }
    owners_fini(&set->owners);
}

struct bt_domains *bt_domains_new(struct bt_arena *arena)
{
    struct bt_domains *set = bt_alloc(arena, sizeof(*set));

    set->arena = arena;
    set->seed = rand_u64();
    bt_defer(arena, domains_fini, set);
    return set;
}

static inline struct domain *domain_at(const struct bt_domains *set, size_t place)
{
    return (struct domain *)(void *)(set->pool + place);
}

static inline bt_str domain_name(const struct domain *domain)
{
    return (bt_str){(const char *)(domain + 1) + 1, domain->len};
}

/* Bytes of an entry, with its dot. */
static inline size_t domain_size(size_t len)
{
    return (sizeof(struct domain) + 1 + len + 3) & ~(size_t)3;
}

/* ---- hashing, from the end of a name to its beginning ---- */

static inline uint64_t hash_byte(uint64_t hash, char c)
{
    return (hash ^ (uint8_t)c) * UINT64_C(0x100000001b3);
}

static inline uint64_t hash_finish(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

static uint64_t hash_name(const struct bt_domains *set, bt_str name)
{
    uint64_t hash = set->seed;

    for (size_t i = name.len; i > 0; i--)
        hash = hash_byte(hash, name.at[i - 1]);
    return hash_finish(hash);
}

/* The entry of that name; NULL: none. *at is its slot, or the empty one where it would stand. */
static inline struct domain *find_slot(const struct bt_domains *set, bt_str name, uint64_t hash,
                                       uint32_t *at)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    uint32_t i = (uint32_t)hash & (set->slots - 1);

    for (; set->slot[i].domain != 0; i = (i + 1) & (set->slots - 1)) {
        struct domain *domain;

        if (set->slot[i].tag != tag)
            continue;
        domain = domain_at(set, (size_t)(set->slot[i].domain - 1) * 4);
        if (bt_str_eq(domain_name(domain), name))
            return domain;
    }
    *at = i;
    return NULL;
}

/* ---- building ---- */

static void slots_make(struct bt_domains *set, uint32_t slots)
{
    free(set->slot);
    set->slot = calloc(slots, sizeof(*set->slot));
    CHECK(set->slot != NULL);
    set->slots = slots;
    for (size_t place = 0; place < set->pooled;) {
        struct domain *domain = domain_at(set, place);
        uint64_t hash = hash_name(set, domain_name(domain));
        uint32_t to = (uint32_t)hash & (slots - 1);

        while (set->slot[to].domain != 0)
            to = (to + 1) & (slots - 1);
        set->slot[to] = (struct slot){(uint32_t)(hash >> 32), (uint32_t)(place / 4) + 1};
        place += domain_size(domain->len);
    }
}

static struct domain *domain_add(struct bt_domains *set, bt_str name, uint64_t hash, uint32_t at)
{
    size_t size = domain_size(name.len), place = set->pooled;
    struct domain *domain;
    char *text;

    if (set->pool_cap - set->pooled < size) {
        set->pool_cap = (set->pool_cap + size + 1024) * 2;
        set->pool = realloc(set->pool, set->pool_cap);
        CHECK(set->pool != NULL && set->pool_cap / 4 < UINT32_MAX);
    }
    domain = domain_at(set, place);
    *domain = (struct domain){.len = (uint32_t)name.len};
    text = (char *)(domain + 1);
    text[0] = '.';
    memcpy(text + 1, name.at, name.len);
    set->pooled += size;
    set->n++;
    set->slot[at] = (struct slot){(uint32_t)(hash >> 32), (uint32_t)(place / 4) + 1};
    return domain;
}

/* The entry of this owner that covers the name already, as it would be written. */
static bt_str covered_by(const struct bt_domains *set, bt_str name, bool wide, uint32_t owner)
{
    for (bt_str suffix = name; suffix.len > 0;) {
        uint32_t at;
        struct domain *domain = find_slot(set, suffix, hash_name(set, suffix), &at);
        ptrdiff_t dot;

        if (domain != NULL) {
            bt_str held = domain_name(domain);

            if (owners_has(&set->owners, domain->wide, owner))
                return bt_str_copy(set->arena, (bt_str){held.at - 1, held.len + 1});
            if (!wide && suffix.len == name.len && owners_has(&set->owners, domain->lone, owner))
                return bt_str_copy(set->arena, held);
        }
        dot = str_find_char(suffix, '.');
        suffix = dot < 0 ? str_skip(suffix, suffix.len) : str_skip(suffix, (size_t)dot + 1);
    }
    return BT_STR_NONE;
}

bt_str bt_domains_add(struct bt_domains *set, bt_str given, uint32_t owner)
{
    char small[256];
    bt_str name, covering;
    bool wide = given.len > 0 && given.at[0] == '.';
    struct domain *domain;
    uint64_t hash;
    uint32_t at;

    CHECK(!set->sealed);
    if (wide)
        given = str_skip(given, 1);
    if (given.len > 0 && given.at[given.len - 1] == '.')
        given.len--;
    if (given.len == 0)
        return BT_STR_NONE; /* "." names nothing, in Squid too */
    if (given.len <= sizeof(small)) {
        memcpy(small, given.at, given.len);
        str_lower_in_place(small, given.len);
        name = (bt_str){small, given.len};
    } else {
        name = str_lower_copy(set->arena, given);
    }

    if (set->n >= set->slots / 8 * 5)
        slots_make(set, set->slots == 0 ? 64 : set->slots * 2);
    covering = covered_by(set, name, wide, owner);
    hash = hash_name(set, name);
    domain = find_slot(set, name, hash, &at);
    if (domain == NULL)
        domain = domain_add(set, name, hash, at);
    uint32_t *owners = wide ? &domain->wide : &domain->lone;
    if (!owners_has(&set->owners, *owners, owner))
        *owners = owners_add(&set->owners, *owners, owner);
    return covering;
}

void bt_domains_seal(struct bt_domains *set)
{
    CHECK(!set->sealed);
    set->sealed = true;
    owners_seal(&set->owners, set->arena);
    if (set->n == 0)
        return;
    set->pool = arena_keep(set->arena, set->pool, set->pooled);
    set->slot = arena_keep(set->arena, set->slot, set->slots * sizeof(*set->slot));
}

/* ---- finding ---- */

/* A suffix whose slot is on its way into the cache. */
struct suffix {
    uint64_t hash;
    size_t from;
};
enum { BATCH = 16 }; /* names have three or four labels */

static bool check_suffixes(const struct bt_domains *set, bt_str name, const struct suffix *suffix,
                           size_t n, uint64_t *bits)
{
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        bool whole = suffix[i].from == 0;
        struct domain *domain;
        uint32_t at;

        domain = find_slot(set, str_skip(name, suffix[i].from), suffix[i].hash, &at);
        if (domain == NULL)
            continue;
        owners_bits(&set->owners, domain->wide, bits);
        if (whole)
            owners_bits(&set->owners, domain->lone, bits);
        found |= domain->wide != 0 || (whole && domain->lone != 0);
    }
    return found;
}

bool bt_domains_find(const struct bt_domains *set, bt_str name, uint64_t *bits)
{
    struct suffix suffix[BATCH];
    uint64_t hash = set->seed;
    bool found = false;
    size_t n = 0;

    CHECK(set->sealed);
    if (set->n == 0)
        return false;
    /* In a large set each slot is a cache miss: all are asked for before the first is looked at. */
    for (size_t i = name.len; i > 0; i--) {
        hash = hash_byte(hash, name.at[i - 1]);
        if (i > 1 && name.at[i - 2] != '.')
            continue;
        suffix[n].hash = hash_finish(hash);
        suffix[n].from = i - 1;
        __builtin_prefetch(&set->slot[(uint32_t)suffix[n].hash & (set->slots - 1)]);
        if (++n == BATCH) {
            found |= check_suffixes(set, name, suffix, n, bits);
            n = 0;
        }
    }
    return check_suffixes(set, name, suffix, n, bits) || found;
}
