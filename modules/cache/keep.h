/* keep.h - storing an answer while it passes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_KEEP_H
#define CACHE_KEEP_H

#include "visit.h"

/* May an answer of the origin with these fields be kept (RFC 9111 3)? `reply` is what it sent, or a
 * stored head into which its 304 was merged. */
void keep_judge(struct visit *, int status, const struct fields *reply, struct fresh_verdict *);
/* What of the answer's head is stored. */
void keep_head(struct visit *, int status, struct control *said, struct headtext_store *);
/* Keep it, if it may be and there is room; tells those who wait for it. true: it is being kept,
 * under *head. */
BT_MUST bool keep_begin(struct visit *, int status, bt_str *head);
/* Is the answer to this POST what a GET would get: Content-Location names the URL itself (RFC 9110
 * 9.3.3)? Then it may be kept, if it says for how long. */
bool keep_is_get(struct visit *, int status);
/* Give up what was begun and is not over. */
void keep_drop(struct visit *);

#endif
