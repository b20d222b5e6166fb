/* rand.h - random bytes, and jitter for things that must not happen all at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_RAND_H
#define BASE_RAND_H

#include "bt_types.h"

/* From the kernel: for keys, nonces and tickets. */
void rand_bytes(void *out, size_t n);
/* Fast, seeded from the kernel, other in each process after a fork; not for secrets. */
uint64_t rand_u64(void);
/* 0 .. below-1, evenly; below > 0. */
uint64_t rand_below(uint64_t below);
/* `value` more or less by up to `percent` of it. */
int64_t rand_jitter(int64_t value, unsigned percent);

#endif
