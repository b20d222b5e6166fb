/* owners.c - sets of owners that share their tails.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/owners.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/check.h"

struct hits hits;

static uint32_t hash(struct owners_link link)
{
    uint64_t x = ((uint64_t)link.rest << 32 | link.owner) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(x >> 32);
}

static void widen_slots(struct owners *owners)
{
    uint32_t slots = owners->slots == 0 ? 16 : owners->slots * 2;
    uint32_t *slot = calloc(slots, sizeof(*slot));

    CHECK(slot != NULL);
    for (uint32_t i = 1; i < owners->n; i++) {
        uint32_t to = hash(owners->link[i]) & (slots - 1);

        while (slot[to] != 0)
            to = (to + 1) & (slots - 1);
        slot[to] = i;
    }
    free(owners->slot);
    owners->slot = slot;
    owners->slots = slots;
}

static void widen_links(struct owners *owners)
{
    owners->cap = owners->cap == 0 ? 16 : owners->cap * 2;
    owners->link = realloc(owners->link, owners->cap * sizeof(*owners->link));
    CHECK(owners->link != NULL && owners->cap < UINT32_MAX / 4);
    if (owners->n == 0)
        owners->link[owners->n++] = (struct owners_link){0};
}

uint32_t owners_add(struct owners *owners, uint32_t set, uint32_t owner)
{
    struct owners_link want = {set, owner};
    uint32_t at;

    CHECK(owner < OWNERS_ONE);
    if (set == 0)
        return OWNERS_ONE | owner;
    if (owners->n >= owners->slots / 2)
        widen_slots(owners);
    at = hash(want) & (owners->slots - 1);
    for (; owners->slot[at] != 0; at = (at + 1) & (owners->slots - 1)) {
        struct owners_link *link = &owners->link[owners->slot[at]];

        if (link->rest == set && link->owner == owner)
            return owners->slot[at];
    }
    if (owners->n + 1 >= owners->cap)
        widen_links(owners);
    owners->link[owners->n] = want;
    owners->slot[at] = owners->n;
    return owners->n++;
}

bool owners_has(const struct owners *owners, uint32_t set, uint32_t owner)
{
    for (; set != 0; set = owners->link[set].rest) {
        if ((set & OWNERS_ONE) != 0)
            return (set & ~OWNERS_ONE) == owner;
        if (owners->link[set].owner == owner)
            return true;
    }
    return false;
}

void owners_seal(struct owners *owners, struct bt_arena *arena)
{
    free(owners->slot);
    owners->slot = NULL;
    owners->slots = 0;
    if (owners->n == 0)
        return;
    owners->link = arena_keep(arena, owners->link, owners->n * sizeof(*owners->link));
    owners->cap = 0;
}

void owners_fini(struct owners *owners)
{
    free(owners->slot);
    if (owners->cap > 0)
        free(owners->link);
    *owners = (struct owners){0};
}
