/* format.h - Squid's format strings, compiled once into a list of steps over the field registry.
 *
 *   %[encoding][-][[0]width][.most][{arg}]code[{arg}]
 *
 * A code is a logformat code or the name of a field (`%client.addr`). Encodings: " as in C, [ as
 * Squid's logs, # as in URLs, / as for a shell, ' raw, j a value of JSON, ] a parameter in the
 * structured data of RFC 5424. Without one, what stands between double
 * quotes of the format takes ", between square brackets [; else headers and URLs are
 * percent-encoded (but % stays), and the rest is raw. No encoding lets a line end pass.
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

/* The text of a built-in format (squid, common, combined, referrer, useragent, json, logfmt,
 * rfc5424); NONE: none such. */
bt_str format_preset(bt_str name);

/* Whether it asks for the field of that name. */
bool format_asks(const struct format *, bt_str field);

/* The phase at which all its fields are there. */
enum bt_phase format_earliest(const struct format *);

/* One line without its end; its length, at most cap. Nothing is allocated, but fields may use the
 * exchange's arena. What does not fit is cut off. */
size_t format_render(const struct format *, struct bt_txn *, char *buf, size_t cap);

/* The same, but where not all fits, each text in it is cut to an equal length, so that the line still
 * has all its fields, and JSON parses. */
size_t format_render_line(const struct format *, struct bt_txn *, char *buf, size_t cap);

#endif
