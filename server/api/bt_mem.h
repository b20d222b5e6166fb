/* bt_mem.h - memory that dies together.
 *
 * Three arenas: of the configuration (a generation's life), of a connection, of an exchange.
 * Nothing in an arena is freed alone. What is not memory (a descriptor, a library's object) is
 * tied to an arena by bt_defer().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_MEM_H
#define BT_MEM_H

#include "bt_types.h"

struct bt_arena;

/* `n` zeroed bytes, aligned for any type; never NULL (out of memory ends the worker). For structs. */
BT_API void *bt_alloc(struct bt_arena *, size_t n) __attribute__((malloc, returns_nonnull));

/* `n` bytes that are not cleared: for buffers and text. */
BT_API void *bt_alloc_raw(struct bt_arena *, size_t n) __attribute__((malloc, returns_nonnull));

/* A copy of `s` in the arena, ended by NUL. BT_STR_NONE stays BT_STR_NONE. */
BT_API bt_str bt_str_copy(struct bt_arena *, bt_str s);

/* Formatted text in the arena, ended by NUL. */
BT_API bt_str bt_str_printf(struct bt_arena *, const char *format, ...) BT_PRINTF(2, 3);

/* Call run(what) when the arena goes; last deferred, first called. */
BT_API void bt_defer(struct bt_arena *, void (*run)(void *what), void *what);

/* Text helpers; all compare by length, never by NUL. */
BT_API bool bt_str_eq(bt_str a, bt_str b);
BT_API bool bt_str_eq_nocase(bt_str a, bt_str b); /* ASCII only, whatever the locale */

#endif
