/* listfile.h - files whose lines are values: acl NAME TYPE "FILE".
 *
 * One value a line, blanks within included. Blanks around it, CR, empty lines, lines that begin
 * with `#`, and what follows a `#` at the start of a word are dropped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_LISTFILE_H
#define CONF_LISTFILE_H

#include <sys/stat.h>

#include "bt_module.h"

/* The values of the file that a word names, as words with their own places: *words is on the heap,
 * to be freed, their text in the arena. A relative name is looked for as those of include lines are
 * (file.h). false: a complaint was made. */
BT_MUST bool listfile_read(const struct bt_word *at, struct bt_arena *, struct bt_word **words,
                           size_t *n, struct bt_error *);

/* ---- the same in pieces, for those who read a file more than once ---- */

/* Where it lies, in the arena. */
const char *listfile_path(const struct bt_word *at, struct bt_arena *);
/* A descriptor of a regular file, with what it is; -1: it is none (errno 0), or cannot be opened. */
int listfile_open(const char *path, struct stat *about);
/* All of it, from its beginning, on the heap; NULL with errno. */
char *listfile_slurp(int fd, size_t *len);
/* The values in a text, as above. NULL: it is no text; else a reason. */
const char *listfile_cut(const char *text, size_t len, const char *path, struct bt_arena *,
                         struct bt_word **words, size_t *n);

#endif
