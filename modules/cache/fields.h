/* fields.h - the fields of a message, wherever they are: in an exchange, in a stored head, in a
 * test.
 *
 * The pure parts of the cache read messages through this, so that they know nothing of exchanges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_FIELDS_H
#define CACHE_FIELDS_H

#include "bt.h"

struct fields {
    /* Value of the n-th line of that name (0 the first), case ignored; BT_STR_NONE: not so many. */
    bt_str (*get)(void *of, bt_str name, size_t n);
    /* The i-th of all lines that are for the other end; false: not so many. NULL: nobody asks. */
    bool (*at)(void *of, size_t i, bt_str *name, bt_str *value);
    void *of;
};

static inline bt_str fields_get(const struct fields *f, bt_str name, size_t n)
{
    return f->get(f->of, name, n);
}
static inline bool fields_has(const struct fields *f, bt_str name)
{
    return f->get(f->of, name, 0).at != NULL;
}

/* ---- small things that every file here needs ---- */

/* A bt_str in a static table. */
#define FIELDS_TEXT(literal)                                                                       \
    {                                                                                              \
        "" literal, sizeof(literal) - 1                                                            \
    }

/* Without blanks (space, tab) at both ends. */
bt_str fields_trim(bt_str);
/* The next member of a comma-separated list, trimmed; commas in quoted strings do not separate.
 * Empty members are skipped. false: that was all. An unclosed quotation goes on to the end. */
BT_MUST bool fields_member(bt_str *rest, bt_str *member);
/* A date in any of the three forms, whatever its case (RFC 9110 5.6.7); seconds since 1970. */
BT_MUST bool fields_date(bt_str text, int64_t now_ms, int64_t *seconds);
char fields_lower(char c);    /* ASCII */
bool fields_is_token(bt_str); /* RFC 9110 5.6.2, not empty */

#endif
