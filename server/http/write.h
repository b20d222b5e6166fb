/* write.h - a head to bytes, into the caller's memory.
 *
 * A writer never writes beyond its end: it sets `over` and ignores the rest, so one check at the
 * end is enough. Values must be clean already (the parser sees to that for received ones).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_WRITE_H
#define HTTP_WRITE_H

#include <string.h>

#include "http/body.h"
#include "http/head.h"

struct writer {
    char *at;  /* where the next byte goes */
    char *end; /* behind the last byte */
    bool over; /* something did not fit: what was written is useless */
};

static inline struct writer writer_on(char *buf, size_t len)
{
    return (struct writer){buf, buf + len, false};
}

static inline void writer_str(struct writer *w, bt_str s)
{
    if ((size_t)(w->end - w->at) < s.len) {
        w->over = true;
        w->end = w->at;
        return;
    }
    if (s.len != 0) {
        memcpy(w->at, s.at, s.len);
        w->at += s.len;
    }
}

static inline void writer_char(struct writer *w, char c)
{
    writer_str(w, (bt_str){&c, 1});
}

void writer_uint(struct writer *, uint64_t);
/* One line, "name: value" and CRLF. */
void writer_field(struct writer *, bt_str name, bt_str value);
void writer_field_uint(struct writer *, bt_str name, uint64_t value);

/* "method target HTTP/1.1" and CRLF. */
void writer_request_line(struct writer *, bt_str method, bt_str target);
/* "HTTP/1.1 status reason" and CRLF. reason NONE: the phrase of status.h; an empty one stays empty.
 * */
void writer_status_line(struct writer *, int status, bt_str reason);
/* All fields that are not dropped, in order, names as received. */
void writer_fields(struct writer *, const struct head *);
/* The framing of the message that goes out: Content-Length or Transfer-Encoding: chunked, or
 * nothing. `length` is that of the body, or for an answer without one (HEAD, 304) of the head that
 * came; -1: none is known. */
void writer_framing(struct writer *, enum body_kind, int64_t length);
/* The empty line. */
void writer_end(struct writer *);

#endif
