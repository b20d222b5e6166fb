/* rules_inside.h - what a list of rules is made of, for the files rules*.c and nobody else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PLUG_RULES_INSIDE_H
#define PLUG_RULES_INSIDE_H

#include "plug/rules.h"
#include "plug/rules_hits.h"
#include "plug/rules_index.h"

struct bt_acls {
    struct acls *acls;
    uint32_t n;
    bool fast;   /* nobody can wait: with an answer that is not there yet the line does not hold */
    bool denies; /* ... but it does, since it denies */
    bool always; /* holds for everybody: no name but `all` */
    struct rules_index_term term[];
};

struct rules_row {
    const struct bt_acls *acls; /* NULL: always */
    const struct bt_line *line;
    int action;
};

struct bt_rules {
    struct acls *acls; /* NULL: no line names one */
    struct bt_rules *next;
    struct rules_index *index; /* NULL: too short to pay */
    /* The same while nobody knows who is logged in; NULL: nobody asks. */
    struct rules_index *before;
    struct rules_hits *hits; /* NULL: not counted */
    uint32_t first_hit; /* number of the first line's counter; the default's is behind the last */
    struct rules_row *row;
    uint32_t n, room;
    bool has_default; /* allow|deny: the opposite of the last line */
    bool certain;     /* the first line always holds: nothing to look at */
};

static inline bool row_always(const struct rules_row *row)
{
    return row->acls == NULL || row->acls->always;
}

#endif
