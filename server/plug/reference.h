/* reference.h - the manual, out of the rows: text for people, names for tests, JSON for tools.
 *
 * Everything is printed in one order on every machine, so that a test can hold files to it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_REFERENCE_H
#define PLUG_REFERENCE_H

#include <stdio.h>

#include "bt_module.h"

struct generation;

struct reference_form {
    bool names;      /* --names: one name a line, of rows that work */
    bool all_status; /* --status all: of every row; with `names`, its status behind a blank */
    bool json;       /* --json */
};

/* `bobtail --reference KIND`: directives, counters, fields, acl_types, phases or log_writers.
 * false: there is no such kind; said on stderr. The generation is one of generation_load_all(). */
BT_MUST bool reference_print(const struct generation *, const char *kind,
                             const struct reference_form *, FILE *out);

/* `bobtail --explain NAME`: a module, directive, ACL type, field, code, log writer or counter.
 * false: nothing is called so; said on stderr, with the nearest name. */
BT_MUST bool reference_explain(const struct generation *, const char *name, FILE *out);

/* `bobtail --modules`: all that were found, with state and reason. */
void reference_modules(const struct generation *, const struct reference_form *, FILE *out);

#endif
