/* control.h - Cache-Control of a request or a response, and what may stand in for it.
 *
 * Names in any case, values bare or quoted, all lines as one list. Of a directive that comes twice
 * the first counts (RFC 9111 4.2.1). What restricts is believed even when it is written oddly; a
 * number that is none means stale: max-age=x is max-age=0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_CONTROL_H
#define CACHE_CONTROL_H

#include "fields.h"

enum {
    CONTROL_NO_STORE = 1 << 0,
    CONTROL_NO_CACHE = 1 << 1, /* of a request also by Pragma, where there is no Cache-Control */
    CONTROL_NO_CACHE_FIELDS = 1 << 2, /* no-cache="a, b" */
    CONTROL_PRIVATE = 1 << 3,
    CONTROL_PRIVATE_FIELDS = 1 << 4, /* private="a, b" */
    CONTROL_PUBLIC = 1 << 5,
    CONTROL_MUST_REVALIDATE = 1 << 6,
    CONTROL_PROXY_REVALIDATE = 1 << 7,
    CONTROL_MUST_UNDERSTAND = 1 << 8,
    CONTROL_ONLY_IF_CACHED = 1 << 9,
    CONTROL_NO_TRANSFORM = 1 << 10,
    CONTROL_IMMUTABLE = 1 << 11,
    CONTROL_MAX_AGE = 1 << 12, /* from here on: the number of that name holds */
    CONTROL_S_MAXAGE = 1 << 13,
    CONTROL_MIN_FRESH = 1 << 14,
    CONTROL_MAX_STALE = 1 << 15, /* without a value: CONTROL_FOREVER */
    CONTROL_STALE_WHILE = 1 << 16,
    CONTROL_STALE_ERROR = 1 << 17,
    CONTROL_PRESENT = 1 << 18, /* there was a Cache-Control field, or a valid targeted one */
    CONTROL_TARGETED = 1 << 19 /* it came from a targeted field: Expires does not count either */
};
#define CONTROL_FOREVER INT64_C(2147483648) /* seconds: this much, or more (RFC 9111 1.2.2) */
enum { CONTROL_LISTS = 4 };

struct control {
    uint32_t has; /* CONTROL_... */
    /* seconds, 0 .. CONTROL_FOREVER */
    int64_t max_age, s_maxage, min_fresh, max_stale, stale_while, stale_error;
    bt_str list[CONTROL_LISTS]; /* names of fields that no-cache= and private= list; borrowed */
    unsigned lists;
};

/* All Cache-Control lines; for a request Pragma, where there are none (RFC 9111 5.4). */
void control_request(struct control *, const struct fields *);
/* All Cache-Control lines of a response. */
void control_response(struct control *, const struct fields *);
/* Instead of what is in *control: the targeted field of that name ("CDN-Cache-Control"), when it is
 * there, is not empty, and is a valid dictionary (RFC 9213 2.2); else nothing is done and false. */
bool control_targeted(struct control *, const struct fields *, bt_str name);
/* One line more. */
void control_add(struct control *, bt_str line);

/* Is the field of that name one that no-cache= or private= lists? Then it is not stored. */
bool control_lists(const struct control *, bt_str name);
/* Digits alone, saturating at CONTROL_FOREVER; false: anything else (RFC 9111 1.2.2). */
BT_MUST bool control_seconds(bt_str, int64_t *out);

#endif
