/* rules.h - lists of rules: the first line whose ACLs all hold decides.
 *
 * The public half (bt_rules_run, bt_acls_match, bt_rules_add, struct bt_ruling) is in bt_module.h.
 * Here is what the binder needs to turn the words of a line into ACLs. What a list looks like inside
 * is known to rules.c alone, so that it can be compiled in other ways.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_RULES_H
#define PLUG_RULES_H

#include "bt_module.h"
#include "plug/acl.h"

/* The ACL names at the end of a line (`names`, each with or without !), for the grammar words acls,
 * acls+ and fastacls of `row`; `fast` for the last. Complains at the word about an ACL that needs a
 * later phase than row->phase, and about one that may wait in a fast list. Names that are not
 * defined above are reported by acl_compile(). NULL when `names` is empty. Whether at least one is
 * there is for the grammar to say. */
const struct bt_acls *rules_acls(struct acls *, struct bt_args names,
                                 const struct bt_directive *row, bool fast, struct bt_error *);

/* All lists that name ACLs: by acls_compile(), when those are compiled and before the fork. */
void rules_compile(struct acls *);

/* Walk a line that an exchange was decided by, for memo->last. Nothing is asked that was not. */
void rules_look_again(const struct bt_acls *, struct acl_memo *, struct bt_txn *);

/* A line of a directive `action|action acls` whose field is a struct bt_rules *: bt_rules_add() does
 * it. line->row tells an allow|deny list, which has a default, from others. */

/* ---- for bobtailctl and tests ---- */

size_t rules_count(const struct bt_rules *);
const struct bt_line *rules_line(const struct bt_rules *, size_t i, int *action);
/* Bytes that compiling it took; 0: it is walked. */
size_t rules_memory(const struct bt_rules *);
/* The ACLs of a line in words: "CONNECT !SSL_ports"; empty for none. */
bt_str rules_text(const struct bt_acls *, struct bt_arena *);

#endif
