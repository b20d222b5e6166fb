/* headtext.h - response heads as text: reading, building and changing what is stored and delivered.
 *
 * The text is "HTTP/1.1 200 OK" CRLF, lines "Name: value" CRLF, CRLF, as bt_answer_from() takes
 * it. In a
 * store there are end-to-end fields only, no framing, and no Age: that is counted anew each time
 * (add it with bt_reply_add()).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_HEADTEXT_H
#define CACHE_HEADTEXT_H

#include "control.h"

/* ---- reading ---- */

struct headtext {
    int status;
    bt_str reason;
    bt_str fields; /* the lines, without the empty one */
};
/* false: the text is no head (a record that somebody damaged). */
BT_MUST bool headtext_open(struct headtext *, bt_str text);
/* From *place (0 at first): the next line. false: that was all. */
BT_MUST bool headtext_next(const struct headtext *, size_t *place, bt_str *name, bt_str *value);
bt_str headtext_get(const struct headtext *, bt_str name, size_t n);
struct fields headtext_fields(struct headtext *); /* lives as long as the headtext */

/* ---- writing ---- */

struct headtext_out {
    struct bt_arena *arena;
    char *at;
    size_t len, cap;
};
/* Starts with the status line; an empty reason becomes the usual one for the statuses made here. */
void headtext_begin(struct headtext_out *, struct bt_arena *, int status, bt_str reason);
void headtext_add(struct headtext_out *, bt_str name, bt_str value);
bt_str headtext_end(struct headtext_out *);

/* ---- storing ---- */

/* For one hop only, or about framing: Connection, Keep-Alive, Proxy-*, TE, Trailer, Transfer-
 * Encoding, Upgrade, Content-Length. (What Connection names is not among bt_rep_field()'s.) */
bool headtext_hop(bt_str name);

struct headtext_store {
    int status;
    bt_str reason;
    const struct fields *reply; /* with .at */
    const struct control *said; /* fields that no-cache= and private= list are left out */
    int64_t received;           /* milliseconds: becomes Date when there is none (RFC 9110 6.6.1) */
    bool drop_cookies;          /* Set-Cookie is left out, as Squid does */
};
bt_str headtext_store(struct bt_arena *, const struct headtext_store *);
/* Its parts: is a field of that name stored, and a Date line. */
bool headtext_keeps(const struct headtext_store *, bt_str name);
void headtext_add_date(struct headtext_out *, int64_t ms);

/* ---- Cache-Status (RFC 9211) ---- */

struct cache_status {
    const char *fwd; /* NULL: a hit; else "uri-miss", "vary-miss", "stale", "request", "bypass",
                         "method", "partial", "miss" */
    int fwd_status;  /* of the origin's answer; 0: leave it out */
    int64_t ttl;     /* seconds; may be negative */
    bool has_ttl, stored, collapsed;
    const char *detail; /* token or NULL */
};
/* The value: "Bobtail; hit; ttl=30". `name` of this cache: a token, or else it is quoted. */
bt_str cache_status_text(struct bt_arena *, bt_str name, const struct cache_status *);

#endif
