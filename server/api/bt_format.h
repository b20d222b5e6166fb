/* bt_format.h - Squid's format strings ("%>a %{Host}>h") for modules.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_FORMAT_H
#define BT_FORMAT_H

#include "bt_module.h"

struct bt_format;

/* Master: compile; it lives as long as the arena. Complaints point into `at`, which may be NULL.
 * NULL after one. */
BT_API struct bt_format *bt_format_new(struct bt_arena *, const struct bt_word *at, bt_str text,
                                       struct bt_error *);
/* The phase at which all its fields are there. */
BT_API enum bt_phase bt_format_earliest(const struct bt_format *);
/* At most `cap` bytes at `buf`; how many they are. */
BT_API size_t bt_format_render(const struct bt_format *, struct bt_txn *, char *buf, size_t cap);

#endif
