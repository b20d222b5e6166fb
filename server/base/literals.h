/* literals.h - which of many short texts stand in a text: the filter before regular expressions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_LITERALS_H
#define BASE_LITERALS_H

#include "bt_mem.h"

struct literals;

struct literals *literals_new(void);
void literals_free(struct literals *);
/* `text` in lower case, not empty. */
void literals_add(struct literals *, bt_str text, uint32_t id);
/* No more additions. */
void literals_seal(struct literals *);
/* Would it keep much away? Not when it is short, stands in nearly every URL, or many have it. */
bool literals_is_strong(const struct literals *, bt_str text);
/* Call each() for every place where a literal stands in the text, case ignored; a literal that
 * stands there twice is told twice. `at`: the place in `text`. */
void literals_find(const struct literals *, bt_str text,
                   void (*each)(void *arg, uint32_t id, const char *at), void *arg);
size_t literals_memory(const struct literals *);
/* Sealed: what is not needed for finding goes, and the rest belongs to the arena. */
struct literals *literals_keep(struct literals *, struct bt_arena *);

#endif
