/* location.h - references in responses: what an unsafe request makes stale (RFC 9111 4.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_LOCATION_H
#define CACHE_LOCATION_H

#include "fields.h"

/* A URL as bt_scheme(), bt_host(), bt_port() and bt_path() tell it. */
struct location {
    bt_str scheme, host; /* lower case; the host without brackets */
    unsigned port;
    bt_str path; /* and query, from "/" on; no fragment */
};

/* Does an answer with this status to this method make stored ones stale? Any unsafe method, also
 * unknown ones; 2xx and 3xx. */
bool location_invalidates(bt_str method, int status);
/* A reference (Location, Content-Location) against the request's URL (RFC 3986 5.2): false when
 * it is no http or https URL, or is broken. */
BT_MUST bool location_resolve(struct bt_arena *, const struct location *base, bt_str reference,
                              struct location *out);
bool location_same_origin(const struct location *, const struct location *);
/* The URLs of the same origin that Location and Content-Location of the reply name, besides the
 * request's own, at most two; how many. */
unsigned location_others(struct bt_arena *, const struct location *own, const struct fields *reply,
                         struct location out[2]);
bool location_same(const struct location *, const struct location *);

#endif
