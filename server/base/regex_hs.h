/* regex_hs.h - an automaton of many patterns, by Hyperscan or Vectorscan; only user of libhs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_REGEX_HS_H
#define BASE_REGEX_HS_H

#include "bt_mem.h"

struct regex_hs;

struct regex_hs_pattern {
    bt_str text; /* ended by NUL, as of regex_text.h */
    bool nocase;
    bool taken; /* set by regex_hs_new() */
};
/* NULL: none is taken (no library, no CPU for it, no pattern that fits). On the heap, or in the arena
 * when that is a shared one. */
struct regex_hs *regex_hs_new(struct bt_arena *, struct regex_hs_pattern *, size_t n);
void regex_hs_free(struct regex_hs *);
/* Call each() once for each pattern that matches, by its place in what was given. false: the library
 * failed. */
BT_MUST bool regex_hs_find(const struct regex_hs *, bt_str text,
                           void (*each)(void *arg, uint32_t pattern), void *arg);
size_t regex_hs_memory(const struct regex_hs *);

#endif
