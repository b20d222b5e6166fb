/* conditional.h - validators: entity tags and dates, on both sides (RFC 9110 13, 9111 4.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_CONDITIONAL_H
#define CACHE_CONDITIONAL_H

#include "headtext.h"

/* ---- entity tags ---- */

/* A tag without quotation marks, as some origins send, is told from one with them. */
bool etag_valid(bt_str tag);          /* RFC 9110 8.8.3 */
bool etag_strong(bt_str a, bt_str b); /* equal, and both strong */
bool etag_weak(bt_str a, bt_str b);   /* equal but for W/ */

/* ---- a stored response and its validators ---- */

struct validators {
    bt_str etag;          /* BT_STR_NONE: none */
    bt_str last_modified; /* as it came; BT_STR_NONE: none, or not a date */
    int64_t modified;     /* the same in seconds; -1: none */
    int64_t date;         /* Date in seconds; -1: none */
};
void validators_read(struct validators *, const struct fields *reply, int64_t now_ms);

/* ---- the client's conditions against a stored response that is going to be used ---- */

enum condition {
    CONDITION_NONE,         /* deliver it */
    CONDITION_NOT_MODIFIED, /* 304 */
    CONDITION_FAILED        /* 412: If-Match, If-Unmodified-Since */
};
/* In the order of RFC 9110 13.2.2, without If-Range. `status` of the stored response: conditions
 * count for 2xx only. A response without Last-Modified is as old as its Date (RFC 9111 4.3.2). */
enum condition condition_check(const struct fields *request, const struct validators *, int status);
/* Are there conditions in it: If-None-Match or If-Modified-Since? */
bool condition_asked(const struct fields *request);
/* May Range be obeyed: there is no If-Range, or it names this very representation: a strong tag,
 * or exactly the date (RFC 9110 13.1.5)? */
bool condition_if_range(const struct fields *request, const struct validators *);

/* ---- validating with the origin ---- */

/* What to send instead of the client's own fields of these names; BT_STR_NONE: do not send it.
 * If-Match, If-Unmodified-Since, If-Range and Range of the client are not sent either. After a
 * 304 that validates, the client's conditions are checked against what is then stored. */
struct validation {
    bt_str if_none_match, if_modified_since;
};
void validation_make(struct validation *, const struct validators *);
/* Does this 304 say that the stored response is still good (RFC 9111 4.3.4)? false: fetch it
 * again without conditions. */
bool validation_holds(const struct validators *stored, const struct fields *reply, int64_t now_ms);

/* Does this 200 to a HEAD speak of the stored response: what it has of ETag, Last-Modified and
 * Content-Length is the same (RFC 9111 4.3.5)? Then its fields may be merged, else the stored one
 * is stale. `length` of the stored body. */
bool validation_head_agrees(const struct validators *stored, int64_t length,
                            const struct fields *reply);

/* ---- heads (text as bt_answer_from() wants it) ---- */

/* The stored head with the fields of the 304 (`from`: its .reply, .said, .received, .drop_cookies)
 * instead of its own of the same names (RFC 9111 3.2), but those of the content and of the hop. The
 * Date is that of the 304, or of its arrival. */
bt_str validation_merge(struct bt_arena *, bt_str stored, const struct headtext_store *from);
/* 304 for a client: Date, ETag, Vary, Content-Location, Cache-Control, Expires, and Last-
 * Modified when there is no ETag. */
bt_str condition_head_304(struct bt_arena *, bt_str stored);

#endif
