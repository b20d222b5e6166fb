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

#endif
