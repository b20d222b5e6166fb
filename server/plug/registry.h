/* registry.h - every row of every module, by kind and name.
 *
 * Modules are added once, in order; each brings directives, counters, fields with their logformat
 * codes, ACL types and log writers. A look-up that finds nothing first asks the supplier, which may
 * load the module that provides the name (generation.c has one while the configuration is read).
 * Two modules with one name are a fault, with one exception: a row that works takes over a name
 * that was only known (status other than BT_BUILT), so that a new module touches no line elsewhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_REGISTRY_H
#define PLUG_REGISTRY_H

#include "bt_module.h"

enum registry_kind {
    ROW_DIRECTIVE,
    ROW_COUNTER,
    ROW_FIELD,    /* by its own name */
    ROW_CODE,     /* a field, by one of its logformat codes */
    ROW_ACL_TYPE, /* by name or alias */
    ROW_LOG_WRITER,
    ROW_KINDS
};

struct registry; /* lives in an arena; nothing to free */

/* A name and what it stands for. */
struct registry_row {
    const char *name; /* aliases and codes: the one that this row is found by */
    const void *row;  /* struct bt_directive, bt_counter, ... by kind */
    const struct bt_module *module;
};

/* The server's own counters (stat/counts.h) are there from the start, as module "server". */
struct registry *registry_new(struct bt_arena *);

/* Add all rows of a module, after looking at each: a row without doc, a preset or grammar that is
 * none, a name that is taken are faults. All are complained about; false when there was one. The
 * module is listed in any case, so that its lines are not taken for unknown names. `file` is where
 * it was loaded from, NULL when it is part of the server. Copied: neither is needed afterwards. */
BT_MUST bool registry_add(struct registry *, const struct bt_module *, const char *file,
                          struct bt_error *);

/* The row of this very name, as any of those below finds it; an alias's is its own. */
const struct registry_row *registry_find(struct registry *, enum registry_kind, bt_str name);

/* Look-ups; NULL when there is none, even after asking the supplier. `owner` may be NULL. Once
 * sealed they change nothing, and workers may call them. registry_directive() follows same_as. */
const struct bt_directive *registry_directive(struct registry *, bt_str name,
                                              const struct bt_module **owner);
const struct bt_acl_type *registry_acl_type(struct registry *, bt_str name,
                                            const struct bt_module **owner);
const struct bt_field *registry_field(struct registry *, bt_str name,
                                      const struct bt_module **owner);
const struct bt_field *registry_code(struct registry *, bt_str code,
                                     const struct bt_module **owner);
const struct bt_log_writer *registry_log_writer(struct registry *, bt_str name,
                                                const struct bt_module **owner);
const struct bt_counter *registry_counter(struct registry *, bt_str name,
                                          const struct bt_module **owner);

/* Why a name is not there although a module provides it (forbidden, or cannot be loaded), as a whole
 * sentence that names the module; NULL: there is no such module. */
const char *registry_why_not(struct registry *, enum registry_kind, bt_str name);

/* Complain that a look-up found nothing: unknown (with the nearest name that is known), provided
 * by a module that is forbidden (naming it and where), or by one that cannot be loaded (and why).
 * Always false. `at` as for bt_complain(). */
bool registry_unknown(struct registry *, enum registry_kind, bt_str name, const struct bt_word *at,
                      struct bt_error *);

/* The known name nearest to `name`, modules not loaded included; NULL: none is near. */
const char *registry_nearest(struct registry *, enum registry_kind, bt_str name);

/* All modules in order of their addition, without "server"; the place is bt_self.number. */
size_t registry_modules(const struct registry *, const struct bt_module *const **modules);
const struct bt_module *registry_module(const struct registry *, bt_str name); /* NULL: none */
const char *registry_file(const struct registry *, const struct bt_module *);  /* NULL: built in */

/* All rows of a kind, sorted by name; aliases and codes each have their own. In the arena. */
size_t registry_rows(const struct registry *, enum registry_kind, struct bt_arena *,
                     const struct registry_row **rows);

/* What a look-up does when it finds nothing. */
struct registry_supplier {
    /* Try to add the module that provides the name: true when something was added. */
    bool (*supply)(void *ctx, enum registry_kind, bt_str name);
    /* Why it could not be, as a whole sentence; NULL when no module is known to provide it. */
    const char *(*why_not)(void *ctx, enum registry_kind, bt_str name);
    /* Call each() for every name of that kind that could be supplied. */
    void (*names)(void *ctx, enum registry_kind, void (*each)(void *to, const char *name),
                  void *to);
    void *ctx;
};
/* NULL: sealed. The supplier is kept by reference. */
void registry_supplier(struct registry *, const struct registry_supplier *);

/* "directive", "ACL type", ...: as complaints and the manual say it. */
const char *registry_kind_name(enum registry_kind);

#endif
