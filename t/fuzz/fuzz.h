/* fuzz.h - what the fuzzers share: a check that is always on, and randomness out of the input.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Numbers that depend on the input alone, so that a crash can be replayed. */
static inline uint64_t fuzz_seed(const uint8_t *data, size_t size)
{
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) + size;

    for (size_t i = 0; i < size; i++)
        seed = (seed ^ data[i]) * UINT64_C(0x100000001b3);
    return seed;
}

/* 0 .. below - 1 */
static inline size_t fuzz_random(uint64_t *seed, size_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return below == 0 ? 0 : (size_t)(*seed >> 33) % below;
}

/* The slice is absent, or lies in from .. to. */
static inline bool fuzz_within(bt_str s, const char *from, const char *to)
{
    return s.at == NULL || (s.at >= from && s.at <= to && s.len <= (size_t)(to - s.at));
}

#endif
