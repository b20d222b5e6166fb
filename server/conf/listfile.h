/* listfile.h - files whose lines are values: acl NAME TYPE "FILE".
 *
 * One value a line, blanks within included. Blanks around it, CR, empty lines, lines that begin
 * with `#`, and what follows a `#` at the start of a word are dropped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_LISTFILE_H
#define CONF_LISTFILE_H

#include "bt_module.h"

/* The values of the file that a word names, as words with their own places: *words is on the heap,
 * to be freed, their text in the arena. A relative name is looked for as those of include lines are
 * (file.h). false: a complaint was made. */
BT_MUST bool listfile_read(const struct bt_word *at, struct bt_arena *, struct bt_word **words,
                           size_t *n, struct bt_error *);

#endif
