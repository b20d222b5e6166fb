/* hash.c - parents by hash (draft-vinod-carp-v1-03): the same parent for the same key, on every proxy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "hash.h"

#include <math.h>
#include <stdlib.h>

enum { MIX = 0x62531965 };

static inline uint32_t rotate(uint32_t bits, unsigned by)
{
    return bits << by | bits >> (32 - by);
}

uint32_t hash_key(uint32_t before, bt_str text)
{
    uint32_t hash = before;

    for (size_t i = 0; i < text.len; i++)
        hash += rotate(hash, 19) + (unsigned char)text.at[i];
    return hash;
}

void hash_group_make(struct hash_group *group, struct bt_arena *arena, unsigned n)
{
    *group = (struct hash_group){.n = n};
    group->member = bt_alloc(arena, n * sizeof *group->member + 1);
    group->up = bt_alloc(arena, n * sizeof *group->up + 1);
    group->place = bt_alloc(arena, n * sizeof *group->place + 1);
}

void hash_group_set(struct hash_group *group, unsigned i, unsigned place, bt_str name)
{
    uint32_t hash = hash_key(0, name);

    hash += hash * MIX;
    group->member[i] = rotate(hash, 21);
    group->place[i] = place;
    group->up[i] = UINT32_MAX;
}

struct share {
    double part;
    unsigned i;
};

static int by_part(const void *a_, const void *b_)
{
    const struct share *a = a_, *b = b_;

    return (a->part > b->part) - (a->part < b->part);
}

/* Section 3.3 of the draft: factors by which scores are multiplied so that each member wins its part. */
void hash_group_weigh(struct hash_group *group, struct bt_arena *arena, const int64_t *weights)
{
    struct share *share = bt_alloc(arena, group->n * sizeof *share + 1);
    double sum = 0, product = 1, last_part = 0, last = 0;
    bool equal = true;

    for (unsigned i = 0; i < group->n; i++) {
        sum += (double)weights[i];
        equal &= weights[i] == weights[0];
    }
    if (equal)
        return;
    for (unsigned i = 0; i < group->n; i++)
        share[i] = (struct share){(double)weights[i] / sum, i};
    qsort(share, group->n, sizeof *share, by_part);
    group->factor = bt_alloc(arena, group->n * sizeof *group->factor);
    for (unsigned k = 0; k < group->n; k++) {
        double left = (double)(group->n - k);
        double x = left * (share[k].part - last_part) / product + pow(last, left);
        x = pow(x, 1 / left);
        product *= x;
        last = x;
        last_part = share[k].part;
        group->factor[share[k].i] = (float)x;
    }
}

static inline uint32_t score(uint32_t key, uint32_t member)
{
    uint32_t both = key ^ member;

    both += both * MIX;
    return rotate(both, 21);
}

int hash_pick(const struct hash_group *group, uint32_t key)
{
    int best = HASH_NOBODY;

    if (group->factor == NULL) {
        uint32_t high = 0;
        for (unsigned i = 0; i < group->n; i++) {
            uint32_t mine = score(key, group->member[i]) & group->up[i];
            best = mine > high ? (int)i : best;
            high = mine > high ? mine : high;
        }
    } else {
        float high = 0;
        for (unsigned i = 0; i < group->n; i++) {
            float mine = (float)(score(key, group->member[i]) & group->up[i]) * group->factor[i];
            best = mine > high ? (int)i : best;
            high = mine > high ? mine : high;
        }
    }
    return best;
}
