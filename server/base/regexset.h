/* regexset.h - many regular expressions, one look at a text: which of their owners match?
 *
 * Patterns are gathered, then sealed: Hyperscan (when the server was built with it) makes one automaton
 * of all that it can take, in the master, and its pages are shared by the workers. What it cannot
 * take (back references, huge counts), and everything when it is not there, stays with PCRE2, each
 * pattern behind the literal text that it must hold. Both give the same answers; Hyperscan has no
 * step limit, since it needs none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_REGEXSET_H
#define BASE_REGEXSET_H

#include "base/regex.h"
#include "bt_sets.h"

struct regexset;

/* Lives as long as the arena. */
struct regexset *regexset_new(struct bt_arena *);
/* false: *err says why not. `pattern` is copied. */
BT_MUST bool regexset_add(struct regexset *, bt_str pattern, unsigned flags, uint32_t owner,
                          struct regex_error *err);
enum { REGEXSET_PLAIN = 1 }; /* PCRE2 for all, for tests and measurements */
void regexset_seal(struct regexset *, unsigned how);
/* Set the bits of all owners one of whose patterns matches. YES: they stand. BROKEN: what is set is
 * sure, and of the others it could not be told. */
enum bt_match regexset_find(const struct regexset *, bt_str text, uint64_t *bits);

/* What became of the patterns. */
struct regexset_about {
    size_t patterns, automaton, filtered,
        always;    /* all; of these: by Hyperscan, behind literals, not */
    size_t memory; /* bytes, as far as we know */
};
struct regexset_about regexset_about(const struct regexset *);

#endif
