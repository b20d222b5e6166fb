/* field.h - named values of an exchange: found by name or logformat code, and turned into text.
 *
 * One registry serves log formats, rules, header rewriting, pages and Lua.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_FIELD_H
#define PLUG_FIELD_H

#include "bt_module.h"
#include "bt_txn.h"

struct registry;

/* "req.header[Host]", "client.addr": the field, and what stands in its brackets (else NONE). NULL:
 * there is none of that name, and no module provides one. */
const struct bt_field *field_by_name(struct registry *, bt_str text, bt_str *arg);

/* The field of the longest logformat code, or name of a field, that `text` begins with, and its
 * length: ">a/%>p" gives that of ">a", 2. "http::" in front is skipped. NULL: there is none. */
const struct bt_field *field_by_code(struct registry *, bt_str text, size_t *len);

/* A value as text without encoding: what is no text is printed into `buf`. */
enum { FIELD_TEXT = 64 };
bt_str field_text(const struct bt_value *, char buf[FIELD_TEXT]);

#endif
