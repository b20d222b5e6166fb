/* regexset.h - many regular expressions, one look at a text: which of their owners match?
 *
 * A pattern that must hold some rare text is run by PCRE2 when that text is there, which one walk over
 * the text tells for all of them. Of the others Hyperscan (when the server was built with it) makes one
 * automaton, in the master, whose pages the workers share: it takes long to make and each look at it
 * costs as much as several such walks, but it does not mind how many patterns there are, nor that
 * one of them explodes. What it cannot take (back references, huge counts) stays with PCRE2. All of
 * them give the same answers.
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
/* For tests and measurements: PCRE2 for all, the automaton for all that it can take. */
enum { REGEXSET_PLAIN = 1, REGEXSET_AUTOMATON = 2 };
void regexset_seal(struct regexset *, unsigned how);
/* Set the bits of all owners one of whose patterns matches. YES: they stand. BROKEN: what is set is
 * sure, and of the others it could not be told. */
enum bt_match regexset_find(const struct regexset *, bt_str text, uint64_t *bits);

/* The n-th pattern that was added is run by PCRE2 and repeats what repeats: of some texts it may not be
 * possible to tell. */
bool regexset_may_explode(const struct regexset *, size_t n);

/* What became of the patterns. */
struct regexset_about {
    size_t patterns, automaton, filtered,
        always;    /* all; of these: by Hyperscan, behind literals, not */
    size_t memory; /* bytes, as far as we know */
};
struct regexset_about regexset_about(const struct regexset *);

#endif
