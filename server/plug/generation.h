/* generation.h - everything that one configuration file became: modules, filled structs, rules.
 *
 * A process has one, from start to end; a reload is a new process. It is read in the master, before
 * the fork, so that the workers share its pages.
 *
 * Order of modules: the server's own as given, those of `module` lines, those whose directives are
 * used, in order of the lines, then those that only an ACL type, a field or a log writer needs. It
 * is the order of setup (ACLs are compiled before), start and hooks; stop goes backwards.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_GENERATION_H
#define PLUG_GENERATION_H

#include "bt_module.h"

struct registry;
struct file_line; /* conf/file.h */
struct acls;      /* plug/acl.h: the named ACLs of the file */

enum generation_state {
    MODULE_BUILT_IN, /* part of the server */
    MODULE_ON,       /* asked for by `module NAME on` */
    MODULE_OFF,      /* forbidden by `module NAME off` */
    MODULE_AUTO,     /* loaded because a line uses something of it */
    MODULE_DEFAULT,  /* loaded though no line needs it, by its own word */
    MODULE_UNUSED    /* found, and nothing needs it */
};

/* What became of a module and why, for --modules and --explain. */
struct generation_module {
    const char *name;
    const char *path;              /* of its file; NULL: part of the server */
    const struct bt_module *table; /* NULL: not loaded */
    enum generation_state state;
    struct bt_word at; /* ON, OFF: the line's word; AUTO: the line that used it; file NULL: none */
    const char *uses;  /* AUTO: "ACL type country" */
    const char *refused; /* why it could not be loaded, or NULL */
};

struct generation {
    struct bt_arena *arena; /* dies with it; it lives in there itself */
    const char *path;       /* of the configuration */
    struct registry *registry;
    struct acls *acls;
    const struct bt_module *const *modules; /* loaded, in order; the place is bt_self.number */
    size_t n_modules;
    const struct generation_module *found; /* all, loaded or not: loaded in order, others by name */
    size_t n_found;
    size_t n_started;             /* of modules, in this worker */
    const struct file_line *line; /* of the file and all that it includes, but `module` lines */
    size_t n_lines;
};

/* The one of this process: set as soon as generation_load() begins, so that what it calls can use
 * it; NULL after a load that failed. */
extern struct generation *generation_current;

/* ${service_name} in the file; set before loading. "bobtail" at first. */
extern const char *generation_service;

/* Read the file, load what it needs, fill every module's struct, compile ACLs and rules, run each
 * setup. All complaints are gathered in the error, nothing stops at the first; NULL when there was
 * a fault. `statics` are the server's own modules and live for ever.
 *
 * The error's arena becomes the generation's. After NULL it still is the caller's, who prints the
 * complaints (they point into it) and frees it. */
struct generation *generation_load(const char *path, const struct bt_module *const *statics,
                                   size_t n, struct bt_error *);

/* The same, but never NULL: what could be made of the file, for --modules. Not to be started when
 * there were faults. */
struct generation *generation_look(const char *path, const struct bt_module *const *statics,
                                   size_t n, struct bt_error *);

/* Without a file: each module of the module folder loaded, no setup run; for the manual. A module
 * that cannot be loaded is a warning; an alias of nothing, two rows of one name are faults. */
struct generation *generation_load_all(const struct bt_module *const *statics, size_t n,
                                       struct bt_error *);

/* Worker, after the fork: start of each module in order; false: one refused, having logged why. */
BT_MUST bool generation_start(struct generation *);
/* Worker, drained: stop of each module that was started, last first. */
void generation_stop(struct generation *);

/* Frees all that the configuration took, itself and the arena (tests; a process's end does not need
 * it). */
void generation_free(struct generation *);

/* What became of a module of that name; NULL: there is none. */
const struct generation_module *generation_find(const struct generation *, bt_str name);

/* The server's own rows of this floor: `module NAME on|off`. Part of `statics` as any other. */
extern const struct bt_module plug_module;

#endif
