/* format.h - Squid's format strings, compiled once into a list of steps over the field registry.
 *
 *   %[encoding][-][[0]width][.most][{arg}]code[{arg}]
 *
 * Encodings: " as in C, [ as Squid's logs, # as in URLs, / as for a shell, ' raw. Without one, text
 * between double quotes of the format takes ", text between square brackets [, headers # (but % stays);
 * user names likewise; the rest is raw but for bytes that could end the line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_FORMAT_H
#define PLUG_FORMAT_H

#include "bt_module.h"
#include "bt_txn.h"

struct registry;
struct format;

/* Complaints give the column within `at` (NULL: `text` is one of ours). NULL after one. */
struct format *format_compile(struct registry *, const struct bt_word *at, bt_str text,
                              struct bt_arena *, struct bt_error *);

/* The text of a built-in format (squid, common, combined, referrer, useragent); NONE: there is none. */
bt_str format_preset(bt_str name);

/* The phase at which all its fields are there. */
enum bt_phase format_earliest(const struct format *);

/* One line without its end; its length, at most cap. Nothing is allocated, but fields may use the
 * exchange's arena. What does not fit is cut off. */
size_t format_render(const struct format *, struct bt_txn *, char *buf, size_t cap);

#endif
