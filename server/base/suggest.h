/* suggest.h - the name that was probably meant: for "did you mean" in complaints.
 *
 *   struct suggest near; suggest_init(&near, word); for each name suggest_try(&near, name);
 *   if (near.best != NULL) "unknown X; did you mean «near.best»?"
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "bt_types.h"

struct suggest {
    bt_str word;
    const char *best; /* NULL: nothing is near enough */
    unsigned distance;
};
void suggest_init(struct suggest *, bt_str word);
void suggest_try(struct suggest *, const char *name);
/* The nearest of a NULL-ended list; NULL: none is near enough. */
const char *suggest_from(bt_str word, const char *const *names);

/* Edits from one to the other (a swap of neighbours is one; case costs nothing), or limit + 1 when
 * there are more. Texts over 64 bytes are never near. */
unsigned suggest_distance(bt_str a, bt_str b, unsigned limit);

#endif
