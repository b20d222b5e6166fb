/* hop.h - what must not travel on, and what a proxy adds: Via and X-Forwarded-For.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_HOP_H
#define HTTP_HOP_H

#include "http/head.h"
#include "http/write.h"

/* Set .drop on each field that must not travel on: the hop-by-hop fields of the table; those that
 * Connection names, but never one that the table knows as end to end (a client must not be able to
 * take away Host, Cache-Control, X-Forwarded-For...); HTTP2-Settings beside Upgrade; and framing,
 * Content-Length too, which writer_framing() writes anew. Host stays; drop it when writing another
 * one. */
void hop_mark(struct head *);

/* The bounded walk: at most so many members of Via or X-Forwarded-For are passed on. */
enum { HOP_LIST_MAX = 64, HOP_LIST_BYTES = 4096 };

/* Write one Via line: those that came, then ours, "1.minor name", with the version that this
 * message came in. Marks the received ones as dropped, so call it before writer_fields(); calling
 * it again (a retry) writes the same. Beyond the caps the oldest members are left out. */
void hop_via(struct writer *, struct head *, bt_str name);
/* Whether `name` stands in a Via that came: the message has been here before. */
bool hop_loops(const struct head *, bt_str name);

enum forwarded_for {
    FORWARDED_ON,          /* add the client's address */
    FORWARDED_OFF,         /* add "unknown" */
    FORWARDED_TRANSPARENT, /* pass what came, add nothing */
    FORWARDED_DELETE,      /* none at all */
    FORWARDED_TRUNCATE     /* the client's address alone */
};
/* Write X-Forwarded-For as asked; marks the received ones as dropped where they must not pass, so
 * call it before writer_fields(). `client` is the printed address. Beyond the caps as hop_via(). */
void hop_forwarded_for(struct writer *, struct head *, enum forwarded_for, bt_str client);

#endif
