/* dictionary.h - dictionaries of structured fields (RFC 9651 3.2), for targeted cache control.
 *
 * Parameters and members of inner lists are checked and forgotten.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_DICTIONARY_H
#define CACHE_DICTIONARY_H

#include "bt.h"

enum dictionary_type {
    DICTIONARY_TRUE,
    DICTIONARY_FALSE,
    DICTIONARY_INTEGER,
    DICTIONARY_STRING, /* .text is what stands between the quotation marks, still escaped */
    DICTIONARY_OTHER   /* decimal, token, bytes, date, display string, inner list */
};
struct dictionary_value {
    enum dictionary_type type;
    int64_t integer;
    bt_str text;
};

/* The next member of a line. 1: there is one; 0: that was all; -1: the line is no dictionary. */
int dictionary_next(bt_str *rest, bt_str *key, struct dictionary_value *);

#endif
