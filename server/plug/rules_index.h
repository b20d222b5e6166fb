/* rules_index.h - a list of rules compiled: which of its lines can still hold?
 *
 * For each kind of ACLs that answer together there is an index from each ACL to the lines that name it,
 * and the set of lines that name none of them. What a kind answers leaves a set of lines; the sets
 * of several kinds are intersected, and the first line left is looked at in full. Lines are sets of
 * bits of two levels, lists of numbers where bits would be few: a rule costs some tens of bytes,
 * however many ACLs there are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_RULES_INDEX_H
#define PLUG_RULES_INDEX_H

#include "plug/acl.h"

struct rules_index;

/* One line, as it was written. */
struct rules_index_term {
    const struct acl *acl;
    bool negated;
};
struct rules_index_line {
    const struct rules_index_term *term;
    uint32_t n;
    bool fast, denies; /* as those of struct bt_acls */
};

/* `line` of n; lives as long as the arena. With `in_order` a line that asks for a login is as one that
 * is fresh, since it has to be reached before anything behind it is looked at. */
struct rules_index *rules_index_new(struct bt_arena *, const struct rules_index_line *line,
                                    uint32_t n, bool in_order);
size_t rules_index_memory(const struct rules_index *);

enum { RULES_NO_LINE = -1 };
struct rules_found {
    enum bt_match match; /* YES, WAIT or BROKEN at `line`; NO: none holds */
    int64_t line;
    bool fresh; /* the line is one that must be walked: ask its terms in order */
};
/* One search, on the stack of whoever searches. */
enum { RULES_DIMS = 32 };
struct rules_search {
    const struct rules_index *index;
    struct acl_memo *memo;
    struct bt_txn *txn;
    uint32_t next;            /* line to go on with */
    unsigned fails;           /* lines that did not hold */
    unsigned due;             /* when to intersect what is known by then */
    uint64_t *set;            /* lines that are left, once intersected; NULL: all */
    bool shared;              /* it is in the memory of the process */
    uint8_t said[RULES_DIMS]; /* of each kind, and whether its lines have been intersected */
    struct acl_answer answer[RULES_DIMS];
};
void rules_search_init(struct rules_search *, const struct rules_index *, struct acl_memo *,
                       struct bt_txn *, uint32_t from);
/* The first line from `from` on, or after the last one that was given back, that holds, waits or is
 * broken; or that is fresh and not ruled out so far. */
struct rules_found rules_search_next(struct rules_search *);
void rules_search_fini(struct rules_search *);

#endif
