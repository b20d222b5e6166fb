/* serve.h - delivering a record: whole, in parts, as 304 or 416, also while it still grows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_SERVE_H
#define CACHE_SERVE_H

#include "visit.h"

enum serve_as { SERVE_HIT, SERVE_STALE, SERVE_VALIDATED, SERVE_FAILED, SERVE_SHARED };

/* The found record, under `head` (NONE: its own), as the client's conditions and Range want it. */
enum bt_verdict serve(struct visit *, enum serve_as, bt_str head);
/* The same of a flight that the visit follows, whole; `length` -1: not known yet. */
enum bt_verdict serve_growing(struct visit *, int64_t length);
/* The part that the client wanted, out of what our own sink keeps of a body of that length. PASS:
 * all of it, as it comes. */
enum bt_verdict serve_window(struct visit *, bt_str head, int64_t length);
/* That head and source, instead of the origin's answer, which goes on into our sink. */
enum bt_verdict serve_instead(struct visit *, bt_str head, int64_t length, struct bt_source *);
/* The client's conditions against a head. */
enum condition serve_condition(struct visit *, bt_str head);
/* A source of all of a record, for the visit's exchange. One at a time. */
struct bt_source *serve_open(struct visit *, const struct store_ref *, bool growing);
/* Before our writer, or the flight, goes: what is there by now can still be read. */
void serve_catch_up(struct visit *);
/* Once nobody reads any more. */
void serve_close(struct visit *);

#endif
