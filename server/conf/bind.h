/* bind.h - rows and lines come together: each line fills the conf struct of the row that it names.
 *
 * Floor 3 knows neither modules nor ACLs: who has a row, and what ACL names mean, is asked by the
 * hooks below. Order of calls, by plug/generation.c:
 *
 *   bind_presets() for each module, bind_lines() once, bind_silent() for each module.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_BIND_H
#define CONF_BIND_H

#include "bt_module.h"
#include "conf/file.h"

/* Whose row a name is. */
struct bind_target {
    const struct bt_directive *row; /* never an alias's: `same_as` is followed by bind */
    void *conf;                     /* the module's conf struct */
    const char *module;             /* its name, for messages */
};

struct bind_hooks {
    void *ctx;
    /* The row of this very name (an alias's own row, too). false: nobody has it. May complain
     * itself through a word that it is not given only by loading; bind complains of the name. */
    bool (*find)(void *ctx, bt_str name, struct bind_target *out);
    /* The known name that is nearest (base/suggest.h), or NULL. */
    const char *(*nearest)(void *ctx, bt_str name);
    /* Compile the ACLs of one line. NULL: no names (n == 0), or complaints were made. Those of a
     * row that is not built are asked for as well, so that their faults are seen. */
    const struct bt_acls *(*acls)(void *ctx, struct bt_args names, const struct bt_directive *row,
                                  bool may_wait, struct bt_error *);
    /* Append a line (its acls filled) to the list of a rules row without .set. */
    void (*rule)(void *ctx, struct bt_rules **list, const struct bt_line *line, int action,
                 const struct bt_directive *row);
    /* Is it a good log format? false: complaints were made. NULL: not checked. */
    bool (*format)(void *ctx, const struct bt_word *at, bt_str text, struct bt_error *);
};

/* Fill the fields of rows without .set from their presets. A preset that does not fit its grammar
 * is a fault that names the row. */
BT_MUST bool bind_presets(const struct bt_directive *rows, size_t n, void *conf, struct bt_arena *,
                          struct bt_error *);

/* All lines, in order. false: complaints were made (all lines have been looked at). */
BT_MUST bool bind_lines(struct file *, const struct bind_hooks *, struct bt_arena *,
                        struct bt_error *);

/* Call .set with the preset for those rows with .set and a preset that no line has named. */
BT_MUST bool bind_silent(const struct file *, const struct bt_directive *rows, size_t n, void *conf,
                         const struct bind_hooks *, struct bt_arena *, struct bt_error *);

/* One line more, `text` behind the name, into the field of a row of one value. */
BT_MUST bool bind_value(const struct bt_directive *, void *conf, bt_str text, struct bt_arena *,
                        struct bt_error *);

#endif
