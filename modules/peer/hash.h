/* hash.h - parents by hash: of a set, the one that a key belongs to, as the CARP draft has it.
 *
 * Each member scores against each key, and the highest score wins: who leaves the set takes no key from
 * another with him, and who comes takes an equal share from all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PEER_HASH_H
#define PEER_HASH_H

#include "bt.h"

enum { HASH_NOBODY = -1 };
/* Parts of a URL that a key may be made of (carp-key=). */
enum {
    HASH_KEY_SCHEME = 1,
    HASH_KEY_HOST = 2,
    HASH_KEY_PORT = 4,
    HASH_KEY_PATH = 8,
    HASH_KEY_PARAMS = 16
};

struct hash_group {
    unsigned n;
    uint32_t *member; /* hash of its name */
    uint32_t *up;     /* all bits: it may be taken; 0: it may not */
    float *factor;    /* by its weight; NULL: all weights are equal */
    unsigned *place;  /* the caller's numbers */
    uint32_t seen;    /* the caller's: what `up` was made of */
};

/* Members with the weights that they have; `n` names. */
void hash_group_make(struct hash_group *, struct bt_arena *, unsigned n);
void hash_group_set(struct hash_group *, unsigned i, unsigned place, bt_str name);
/* After all were set. Weights are those of set order; all > 0. */
void hash_group_weigh(struct hash_group *, struct bt_arena *, const int64_t *weights);
/* Hash of a key, in pieces; begin with 0. */
uint32_t hash_key(uint32_t before, bt_str text);
/* The member that the key belongs to, of those that are up; HASH_NOBODY: none is. */
int hash_pick(const struct hash_group *, uint32_t key);

#endif
