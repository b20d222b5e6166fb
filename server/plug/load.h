/* load.h - find, open and vet a module.
 *
 * A refusal is one sentence that names the file, the symbol, what was found and what is spoken
 * here. There is no unload: a reload is a new process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_LOAD_H
#define PLUG_LOAD_H

#include "bt_module.h"

/* Where modules are: $BOBTAIL_MODULES, else modules/built beside the running program when that
 * exists (a build tree), else MODULEDIR as built in. The same text each time. */
const char *load_folder(void);

/* Open a file, by its path, and look at its table. NULL: `*refusal` says why (in the arena). The
 * table is valid for ever; rows of a newer minor version that an older module lacks read as zero. */
const struct bt_module *load_open(const char *path, struct bt_arena *, bt_str *refusal);

/* Names (without .so) of the modules in a folder, sorted. 0 when there is no such folder. */
size_t load_list(const char *folder, struct bt_arena *, const char *const **names);

/* FOLDER/NAME.so, and back: the NAME of a path. */
const char *load_path(const char *folder, bt_str name, struct bt_arena *);
bt_str load_name(const char *path);

#endif
