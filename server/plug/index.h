/* index.h - which module provides which name, known without opening any.
 *
 * The build writes FOLDER/modules.index (`bobtail --make-index FOLDER`), one line a name:
 *
 *   directive NAME MODULE     acl NAME MODULE     field NAME MODULE
 *   code CODE MODULE          log NAME MODULE     module NAME MODULE
 *   default NAME MODULE
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_INDEX_H
#define PLUG_INDEX_H

#include <stdio.h>

#include "bt_module.h"
#include "plug/registry.h"

struct index;

/* Read the index of a folder. When there is none, or it is older than a module there, every module
 * is opened instead, with a warning; a module that cannot be opened is then a warning as well. */
struct index *index_read(const char *folder, struct bt_arena *, struct bt_error *);

/* Names of the modules that provide a name, in order of their names; 0 when there is none. */
size_t index_providers(const struct index *, enum registry_kind, bt_str name,
                       const char *const **modules);

/* Name of a module that the index knows to provide a name, and that the folder lacks; or NULL. */
const char *index_gone(const struct index *, enum registry_kind, bt_str name);

/* Every name of a kind. */
void index_names(const struct index *, enum registry_kind, void (*each)(void *to, const char *name),
                 void *to);

/* Is this module loaded though nothing needs it? */
bool index_default(const struct index *, bt_str name);

/* Names of all modules of the folder, sorted. */
size_t index_modules(const struct index *, const char *const **modules);

/* `bobtail --make-index FOLDER`: opens every .so of the folder and prints the index. false: one
 * could not be opened; the reason is on stderr. */
BT_MUST bool index_print(const char *folder, FILE *out);

#endif
