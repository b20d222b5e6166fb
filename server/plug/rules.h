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

/* ---- for bobtailctl and tests: rules_told.c ---- */

size_t rules_count(const struct bt_rules *);
const struct bt_line *rules_line(const struct bt_rules *, size_t i, int *action);
/* Bytes that compiling it took; 0: it is walked. */
size_t rules_memory(const struct bt_rules *);
/* The ACLs of a line in words: "CONNECT !SSL_ports"; empty for none. */
bt_str rules_text(const struct bt_acls *, struct bt_arena *);
/* A whole line: "http_access deny CONNECT !SSL_ports". */
bt_str rules_line_text(const struct bt_line *, struct bt_arena *);

/* Every line of every list, in order, and what became of it. */
struct rules_told {
    bt_str list;                /* "http_access" */
    const struct bt_line *line; /* NULL: the default of the list, which stands at its end */
    int action;
    uint64_t hits; /* how often it decided, in all workers since the configuration was read */
    bool counted;  /* else that is not known */
};
void rules_each(const struct acls *, void (*each)(void *arg, const struct rules_told *), void *arg);

/* ---- a list walked for people: rules_told.c ---- */

/* What each term of a line says. UNASKED: the line had failed before. BT_WAIT: cannot be known here. */
enum rules_word { RULES_NO = BT_NO, RULES_YES, RULES_UNKNOWN, RULES_BROKEN, RULES_UNASKED };
struct rules_step {
    const struct bt_line *line;
    int action;
    enum bt_match holds; /* NO, YES; WAIT: that depends on what is not known; BROKEN */
    size_t n;
    const struct rules_step_term {
        bt_str name;
        bool negated;
        enum rules_word said;
    } * term;
};
/* Ask the list line by line and tell each; the ruling, or match WAIT when that depends on what is not
 * known. An ACL is only asked when `askable` says that it can be. Counts nothing. */
struct bt_ruling rules_explain(const struct bt_rules *, struct bt_txn *,
                               bool (*askable)(const struct acl *),
                               void (*each)(void *arg, const struct rules_step *), void *arg);

/* ---- lines that cannot be meant so: rules_lint.c ---- */

/* Warn of lines that are never reached or never hold, and of ACLs that nobody names. */
void rules_lint(struct acls *, struct bt_error *);
extern bool rules_lint_wanted; /* by acls_compile() */

#endif
