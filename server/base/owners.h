/* owners.h - sets of owners (numbers of ACLs) that share their tails, for the sets of bt_sets.h.
 *
 * A set is a chain: an owner, and the set that it was added to. Equal chains are one, so that a
 * million domains of one list cost one chain. Set 0 is empty, and a set of one is that one's number
 * with a mark: where a hundred thousand lists hold one address each, nobody looks further.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_OWNERS_H
#define BASE_OWNERS_H

#include "base/hits.h"

#define OWNERS_ONE (UINT32_C(1) << 31)
struct owners_link {
    uint32_t rest; /* a set */
    uint32_t owner;
};
struct owners {
    struct owners_link *link; /* [0] is unused */
    uint32_t n, cap;
    uint32_t *slot; /* while building: link numbers by hash; 0: empty */
    uint32_t slots;
};

/* The set with `owner` in it, too. It may stand there more than once. */
uint32_t owners_add(struct owners *, uint32_t set, uint32_t owner);
bool owners_has(const struct owners *, uint32_t set, uint32_t owner);
/* No more additions: gives back what only building needs; the rest belongs to the arena. */
void owners_seal(struct owners *, struct bt_arena *);
void owners_fini(struct owners *);

static inline void owners_bits(const struct owners *owners, uint32_t set, uint64_t *bits)
{
    for (; set != 0; set = owners->link[set].rest) {
        if ((set & OWNERS_ONE) != 0) {
            hit(bits, set & ~OWNERS_ONE);
            return;
        }
        hit(bits, owners->link[set].owner);
    }
}

#endif
