/* vary.h - which fields of the request select the response, and the key that they make.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_VARY_H
#define CACHE_VARY_H

#include "fields.h"

enum { VARY_NAMES = 16, VARY_BYTES = 1024 }; /* more is taken for "*": not stored */

enum vary_is {
    VARY_NONE,   /* no such field, or an empty one */
    VARY_FIELDS, /* by the fields in .name */
    VARY_ANY     /* "*" somewhere, too many names, or something that is no name: never a match */
};
struct vary {
    unsigned n;
    bt_str name[VARY_NAMES]; /* as they came, sorted without regard to case, each once; borrowed */
};

/* All Vary lines of a response. */
enum vary_is vary_read(struct vary *, const struct fields *reply);
/* The names as one normalised text ("accept-encoding,foo"), and back; equal texts are equal
 * lists. */
bt_str vary_text(struct bt_arena *, const struct vary *);
enum vary_is vary_parse(struct vary *, bt_str text);

/* The secondary key of a request: one line for each name, absent told from empty. Whitespace around
 * commas and empty members do not count, several lines are one list (RFC 9111 4.1). Of
 * Accept-Encoding, Accept-Language and Accept-Charset neither case nor blanks around ";" count; of
 * Accept-Encoding the order neither, since whatever was chosen is as acceptable. Other lists keep
 * their order: with languages it often means a preference. Fields that are no lists (User-Agent,
 * Cookie...) are taken as they are. As long as the values are; never has a byte below space but the
 * line ends. */
bt_str vary_key(struct bt_arena *, const struct vary *, const struct fields *request);

#endif
