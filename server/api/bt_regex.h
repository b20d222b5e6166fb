/* bt_regex.h - regular expressions as users of Squid write them (POSIX extended).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_REGEX_H
#define BT_REGEX_H

#include "bt_mem.h"

struct bt_regex;

/* Compile, in the master; it lives as long as the arena. NULL: *why says what is wrong, *offset
 * where in the pattern (bytes from 0). Words of the grammar `regex` have been found good already. */
BT_API struct bt_regex *bt_regex_new(struct bt_arena *, bt_str pattern, bool nocase,
                                     const char **why, size_t *offset);
/* Anywhere in the text. BROKEN: the pattern needs more steps than a worker can spend. */
BT_API enum bt_match bt_regex_match(const struct bt_regex *, bt_str text);

/* ---- many at once: as the sets of bt_sets.h, each pattern belongs to an owner ---- */

struct bt_regexes;
BT_API struct bt_regexes *bt_regexes_new(struct bt_arena *);
/* false: *why and *offset say what is wrong, as above. */
BT_API BT_MUST bool bt_regexes_add(struct bt_regexes *, bt_str pattern, bool nocase, uint32_t owner,
                                   const char **why, size_t *offset);
BT_API void bt_regexes_seal(struct bt_regexes *);
/* Sealed: the n-th pattern that was added may need more steps than a worker can spend, BROKEN. */
BT_API bool bt_regexes_may_explode(const struct bt_regexes *, size_t n);
/* Set the bits of all owners one of whose patterns matches anywhere in the text. YES: they stand.
 * BROKEN: what is set is sure; whether others match cannot be told. */
BT_API enum bt_match bt_regexes_find(const struct bt_regexes *, bt_str text, uint64_t *bits);

#endif
