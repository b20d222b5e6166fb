/* ranges.h - parts of a whole body (RFC 9110 14).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_RANGES_H
#define CACHE_RANGES_H

#include "bt.h"

enum { RANGES_MAX = 16 }; /* more are not worth it: the whole is sent */

enum ranges_are {
    RANGES_NONE,   /* there is no Range, or it is to be ignored: deliver the whole */
    RANGES_SOME,   /* 206 */
    RANGES_OUTSIDE /* 416 */
};
struct range {
    int64_t from, len; /* len > 0 */
};
struct ranges {
    int64_t length;              /* of the whole body */
    struct range at[RANGES_MAX]; /* in the order asked for; none overlaps or touches another */
    unsigned n;
};
/* `value` of Range against a body of `length` bytes (-1, not known: NONE). */
enum ranges_are ranges_read(struct ranges *, bt_str value, int64_t length);

/* The head of the 206 out of the stored head of a 200, and what its body is: for each range its
 * part head (`before[i]`, empty for a single range) and its bytes, and then `after`. */
struct ranges_body {
    bt_str head;
    int64_t length; /* of it all: heads, bytes, end */
    bt_str before[RANGES_MAX], after;
};
/* `boundary`: any number that the body does not know in advance, e.g. random. */
void ranges_answer(struct bt_arena *, bt_str stored, const struct ranges *, uint64_t boundary,
                   struct ranges_body *);
/* 416 with Content-Range: bytes * / length; no body. */
bt_str ranges_head_416(struct bt_arena *, bt_str stored, int64_t length);

#endif
