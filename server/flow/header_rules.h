/* header_rules.h - what the configuration lets through, takes out and adds of headers that go out.
 *
 * A head is written in a pass, which does nothing at all when there are no rules for its side. What
 * the pass is not shown (Host, framing, Connection) is not subject to rules. The heads themselves
 * stay as they came, for ACLs, logs and another try.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_HEADER_RULES_H
#define FLOW_HEADER_RULES_H

#include "bt_module.h"
#include "flow/txn.h"

/* Directives request_header_access, reply_header_add and their like; a module of the server. */
extern const struct bt_module header_rules_module;

enum header_side { HEADER_REQUEST, HEADER_REPLY };
/* Of this worker; NULL: there are none. */
extern const struct header_rules *header_rules[2];

/* NULL: everything passes. */
struct header_pass {
    const struct header_rules *rules;
    struct bt_txn *txn;
    bt_str added; /* whole lines */
    size_t room;  /* by how much the head may grow */
};

struct header_pass *header_rules_begin(const struct header_rules *, struct bt_txn *,
                                       const struct head *);
void header_rules_fields(const struct header_pass *, struct writer *, const struct head *);
void header_rules_lines(const struct header_pass *, struct writer *, char *from);
/* Whether a field of that id and value would pass, unchanged. */
bool header_rules_pass(const struct header_pass *, enum header_id, bt_str value);

/* Before the writer is made. */
static inline struct header_pass *header_pass_begin(enum header_side side, struct bt_txn *txn,
                                                    const struct head *head)
{
    if (header_rules[side] == NULL)
        return NULL;
    return header_rules_begin(header_rules[side], txn, head);
}
/* What the writer must have room for beside the head. */
static inline size_t header_pass_room(const struct header_pass *pass)
{
    return pass != NULL ? pass->room : 0;
}
/* The fields of a head, as writer_fields(). */
static inline void header_pass_fields(const struct header_pass *pass, struct writer *w,
                                      const struct head *head)
{
    if (pass == NULL)
        writer_fields(w, head);
    else
        header_rules_fields(pass, w, head);
}
/* Whole lines that were written from `from` on. */
static inline void header_pass_lines(const struct header_pass *pass, struct writer *w, char *from)
{
    if (pass != NULL)
        header_rules_lines(pass, w, from);
}
/* What is added, to which no rule is applied. */
static inline void header_pass_end(const struct header_pass *pass, struct writer *w)
{
    if (pass != NULL)
        writer_str(w, pass->added);
}

#endif
