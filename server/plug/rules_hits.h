/* rules_hits.h - how often each rule has decided, counted by all workers, read by the master.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_RULES_HITS_H
#define PLUG_RULES_HITS_H

#include "bt_mem.h"

struct rules_hits;

/* `n` counters, shared with all that are forked from here on; NULL: the kernel gives no memory for
 * that. They go with the arena. */
struct rules_hits *rules_hits_new(struct bt_arena *, uint32_t n);
void rules_hit(struct rules_hits *, uint32_t number);
uint64_t rules_hits_of(const struct rules_hits *, uint32_t number);

#endif
