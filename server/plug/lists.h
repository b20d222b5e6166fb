/* lists.h - list files of ACLs: read with the configuration, and again while clients are served.
 *
 * Reading them again takes a process of its own, a child of the master (or of the one process of -N):
 * it has the configuration, reads the files, and compiles every type that has a list file, in memory
 * that all processes share since the start, at the same address. When it has ended, each process
 * replaces the pointers that lead to what the types compiled, between two events: nobody is in the
 * middle of a question then, and what an exchange has learnt is answers and not pointers. There are
 * two such places, and the one that is not in use is filled.
 *
 * In order: lists_prepare() opens the files, lists_read_anew() in the child, lists_taken() in the parent
 * with what came of it; then lists_follow() in every process that has the configuration, and when all
 * of them have, lists_settled().
 *
 * The words of the files are dropped once compiled, where the type allows it. So the file is kept open:
 * when it is not there any more, it is read by its descriptor as it was.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_LISTS_H
#define PLUG_LISTS_H

#include <stdio.h>

#include "bt_module.h"

struct acl;
struct acl_type;
struct acl_values;
struct acls;
struct lists;

/* ---- for acl*.c, while a configuration is read ---- */

/* Can list files of this type be read anew? */
bool lists_can(const struct bt_acl_type *);
/* The words of a line, to be kept: names of list files are made absolute, the files noted. */
struct bt_args lists_note(struct acls *, struct bt_args);
/* Read values->written into values->args, without lines that are bad: about those warnings are made.
 * false: a complaint was made. */
BT_MUST bool lists_line(struct lists *, struct acl *, struct acl_values *, struct bt_error *);
/* For types that cannot: list files in the place of their names, for good. false: complained. */
BT_MUST bool lists_expand(struct bt_arena *, struct bt_args *, bool plain, struct bt_error *);

/* Where what a type compiles goes, and its words. */
struct bt_arena *lists_arena(const struct acls *, const struct acl_type *);
struct bt_arena *lists_words_arena(const struct acls *, const struct acl_type *);

/* What is complained about between these two, and is a line of a list, is left out of the values of the
 * type; true: something was, so compile again. */
struct lists_mark {
    size_t bad;
};
struct lists_mark lists_mark(struct lists *, struct bt_error *);
BT_MUST bool lists_leave_out(struct acls *, struct acl_type *, const struct lists_mark *,
                             struct bt_error *);
/* All types are compiled: the words go. Again after lists_late(). */
void lists_compiled(struct acls *);
/* One more type comes, with a list file. */
void lists_late(struct acls *);

/* ---- for proc/ ---- */

/* Are there any? */
bool lists_any(const struct acls *);

/* Open the files anew. NULL, or why they cannot be read now. */
const char *lists_prepare(struct acls *);
/* In a child that has nothing else to do: read and compile, and tell `out`, file by file, and what was
 * left out. */
struct lists_result {
    bool taken;           /* else nothing has changed */
    unsigned missing;     /* files */
    unsigned long bad;    /* lines that were left out */
    unsigned long values; /* of all files */
};
struct lists_result lists_read_anew(struct acls *, FILE *out);
/* In its parent. */
void lists_taken(struct acls *, bool taken);
/* In each process: use the newest. */
void lists_follow(struct acls *);
/* All do: what was used before is given back. */
void lists_settled(struct acls *);

/* Once a second: has a file changed since it was last tried, and not in this second? */
bool lists_changed(struct acls *);
/* Is the descriptor one of a file? */
bool lists_has(const struct acls *, int fd);
/* In a worker: the descriptors are not for it. */
void lists_leave(struct acls *);

#endif
