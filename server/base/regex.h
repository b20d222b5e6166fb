/* regex.h - regular expressions as users of Squid write them (POSIX extended); only user of PCRE2.
 *
 * Compiled with JIT, in the master: workers share the pages. A step limit keeps any pattern from
 * holding a worker. What POSIX would refuse is refused, and so is what only PCRE knows, (?...);
 * \d and its like mean what they mean to the C library.
 *
 * In a shared arena (arena.h) there is no machine code, which belongs to one process: each makes its
 * own when it first needs a pattern.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "bt_mem.h"

struct regex;

struct regex_error {
    size_t offset; /* in the pattern, bytes from 0 */
    char text[160];
};

enum { REGEX_NOCASE = 1 };

/* NULL with *err filled. Lives as long as the arena; NULL of the arena: regex_free() it. */
struct regex *regex_new(struct bt_arena *, bt_str pattern, unsigned flags, struct regex_error *err);
void regex_free(struct regex *);
/* Would regex_new() make one? Without making it. */
BT_MUST bool regex_fine(bt_str pattern, unsigned flags, struct regex_error *err);
/* Anywhere in the text. BROKEN: over the step limit, or out of memory. */
enum bt_match regex_match(const struct regex *, bt_str text);

/* Pieces of a match: 0 the whole, 1.. the groups; BT_STR_NONE for one that took no part. */
enum { REGEX_GROUPS = 10 };
enum bt_match regex_match_groups(const struct regex *, bt_str text, bt_str group[REGEX_GROUPS]);

/* A text that every match must hold (in lower case when NOCASE), for prefilters; empty when none is
 * certain. Lives as long as the regex. */
bt_str regex_literal(const struct regex *);

#endif
