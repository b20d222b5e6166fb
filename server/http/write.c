/* write.c - a head to bytes, into the caller's memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/write.h"

#include "base/str.h"
#include "http/status.h"

/* Whether n more bytes fit; if not, nothing will from here on. */
static inline bool fits(struct writer *w, size_t n)
{
    if ((size_t)(w->end - w->at) >= n)
        return true;
    w->over = true;
    w->end = w->at;
    return false;
}

static inline char *put(char *at, bt_str s)
{
    if (s.len != 0)
        memcpy(at, s.at, s.len);
    return at + s.len;
}

void writer_uint(struct writer *w, uint64_t n)
{
    char text[20];

    writer_str(w, str_span(text, str_put_uint(text, n)));
}

void writer_field(struct writer *w, bt_str name, bt_str value)
{
    char *at;

    if (!fits(w, name.len + value.len + 4))
        return;
    at = put(w->at, name);
    *at++ = ':';
    *at++ = ' ';
    at = put(at, value);
    *at++ = '\r';
    *at++ = '\n';
    w->at = at;
}

void writer_field_uint(struct writer *w, bt_str name, uint64_t value)
{
    char text[20];

    writer_field(w, name, str_span(text, str_put_uint(text, value)));
}

void writer_request_line(struct writer *w, bt_str method, bt_str target)
{
    char *at;

    if (!fits(w, method.len + target.len + 12))
        return;
    at = put(w->at, method);
    *at++ = ' ';
    at = put(at, target);
    w->at = put(at, BT_STR(" HTTP/1.1\r\n"));
}

void writer_status_line(struct writer *w, int status, bt_str reason)
{
    char *at;

    if (reason.at == NULL)
        reason = status_reason(status);
    if (!fits(w, 32 + reason.len))
        return;
    at = put(w->at, BT_STR("HTTP/1.1 "));
    at = str_put_uint(at, (uint64_t)(unsigned)status);
    *at++ = ' ';
    at = put(at, reason);
    w->at = put(at, BT_STR("\r\n"));
}

void writer_fields(struct writer *w, const struct head *head)
{
    for (unsigned i = 0; i < head->n; i++)
        if (!head->field[i].drop)
            writer_field(w, head->field[i].name, head->field[i].value);
}

void writer_framing(struct writer *w, enum body_kind kind, int64_t length)
{
    if (kind == BODY_CHUNKED)
        writer_str(w, BT_STR("Transfer-Encoding: chunked\r\n"));
    else if (kind != BODY_CLOSE && length >= 0)
        writer_field_uint(w, BT_STR("Content-Length"), (uint64_t)length);
}

void writer_end(struct writer *w)
{
    writer_str(w, BT_STR("\r\n"));
}
