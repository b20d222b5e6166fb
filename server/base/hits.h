/* hits.h - which bits a look-up has set, so that nobody has to go through thousands of words for two.
 *
 * Sets (of addresses, domains, patterns) set the bits of owners through hit(). Whoever asks can have
 * them noted beside: while `hits.bits` is the bits that are passed, each bit that was not set before
 * is counted, and the first ones are kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_HITS_H
#define BASE_HITS_H

#include "bt_sets.h"

enum { HITS_KEPT = 64 };
struct hits {
    const uint64_t *bits; /* NULL: nobody listens */
    uint32_t n;           /* may be more than are kept */
    uint32_t at[HITS_KEPT];
};
/* A worker is one thread. */
extern struct hits hits;

static inline void hit(uint64_t *bits, uint32_t bit)
{
    if (bits == hits.bits && !bt_bit_get(bits, bit)) {
        if (hits.n < HITS_KEPT)
            hits.at[hits.n] = bit;
        hits.n++;
    }
    bt_bit_set(bits, bit);
}

#endif
