/* headtext.c - response heads as text: reading, building and changing what is stored and delivered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "headtext.h"

#include <string.h>

/* ---- reading ---- */

static const char *line_end(bt_str text, size_t from)
{
    const char *lf = memchr(text.at + from, '\n', text.len - from);

    return lf != NULL && lf > text.at + from && lf[-1] == '\r' ? lf - 1 : NULL;
}

bool headtext_open(struct headtext *h, bt_str text)
{
    enum { STATUS_AT = 9, REASON_AT = 13 }; /* "HTTP/1.1 200 " */
    const char *end = text.at != NULL ? line_end(text, 0) : NULL;
    size_t first;

    if (end == NULL || text.len < 4 || memcmp(text.at + text.len - 4, "\r\n\r\n", 4) != 0)
        return false;
    first = (size_t)(end - text.at);
    if (first < REASON_AT || memcmp(text.at, "HTTP/1.", 7) != 0)
        return false;
    h->status = 0;
    for (size_t i = STATUS_AT; i < STATUS_AT + 3; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        h->status = h->status * 10 + (text.at[i] - '0');
    }
    h->reason = (bt_str){text.at + REASON_AT, first - REASON_AT};
    h->fields = (bt_str){end + 2, text.len - first - 4};
    return true;
}

bool headtext_next(const struct headtext *h, size_t *place, bt_str *name, bt_str *value)
{
    const char *at, *end, *colon;

    if (*place >= h->fields.len)
        return false;
    at = h->fields.at + *place;
    end = line_end(h->fields, *place);
    colon = end != NULL ? memchr(at, ':', (size_t)(end - at)) : NULL;
    if (colon == NULL) {
        *place = h->fields.len;
        return false;
    }
    *name = (bt_str){at, (size_t)(colon - at)};
    *value = fields_trim((bt_str){colon + 1, (size_t)(end - colon) - 1});
    *place = (size_t)(end - h->fields.at) + 2;
    return true;
}

bt_str headtext_get(const struct headtext *h, bt_str wanted, size_t n)
{
    bt_str name, value;
    size_t place = 0;

    while (headtext_next(h, &place, &name, &value))
        if (bt_str_eq_nocase(name, wanted) && n-- == 0)
            return value;
    return BT_STR_NONE;
}

static bt_str get(void *of, bt_str name, size_t n)
{
    return headtext_get(of, name, n);
}

static bool at(void *of, size_t i, bt_str *name, bt_str *value)
{
    size_t place = 0;

    while (headtext_next(of, &place, name, value))
        if (i-- == 0)
            return true;
    return false;
}

struct fields headtext_fields(struct headtext *h)
{
    return (struct fields){get, at, h};
}

/* ---- writing ---- */

/* Room for `n` bytes more. */
static char *room(struct headtext_out *out, size_t n)
{
    char *at_end;

    if (out->cap - out->len < n) {
        char *more;

        out->cap = out->cap * 2 + n;
        more = bt_alloc_raw(out->arena, out->cap);
        memcpy(more, out->at, out->len);
        out->at = more;
    }
    at_end = out->at + out->len;
    out->len += n;
    return at_end;
}

static void put(struct headtext_out *out, bt_str s)
{
    if (s.len > 0)
        memcpy(room(out, s.len), s.at, s.len);
}

static bt_str reason_of(int status)
{
    switch (status) {
    case 200:
        return BT_STR("OK");
    case 206:
        return BT_STR("Partial Content");
    case 304:
        return BT_STR("Not Modified");
    case 416:
        return BT_STR("Range Not Satisfiable");
    default:
        return BT_STR("");
    }
}

void headtext_begin(struct headtext_out *out, struct bt_arena *arena, int status, bt_str reason)
{
    enum { FIRST = 1024 };
    char line[] = "HTTP/1.1 000 ";
    unsigned code = status >= 100 && status <= 999 ? (unsigned)status : 500;

    line[9] = (char)('0' + code / 100);
    line[10] = (char)('0' + code / 10 % 10);
    line[11] = (char)('0' + code % 10);
    *out = (struct headtext_out){arena, bt_alloc_raw(arena, FIRST), 0, FIRST};
    put(out, (bt_str){line, sizeof line - 1});
    put(out, reason.len > 0 ? reason : reason_of(status));
    put(out, BT_STR("\r\n"));
}

void headtext_add(struct headtext_out *out, bt_str name, bt_str value)
{
    put(out, name);
    put(out, BT_STR(": "));
    put(out, value);
    put(out, BT_STR("\r\n"));
}

bt_str headtext_end(struct headtext_out *out)
{
    put(out, BT_STR("\r\n"));
    return (bt_str){out->at, out->len};
}

/* ---- storing ---- */

bool headtext_hop(bt_str name)
{
    static const bt_str names[] = {
        FIELDS_TEXT("Connection"),
        FIELDS_TEXT("Keep-Alive"),
        FIELDS_TEXT("Proxy-Connection"),
        FIELDS_TEXT("Proxy-Authenticate"),
        FIELDS_TEXT("Proxy-Authorization"),
        FIELDS_TEXT("Proxy-Authentication-Info"),
        FIELDS_TEXT("TE"),
        FIELDS_TEXT("Trailer"),
        FIELDS_TEXT("Transfer-Encoding"),
        FIELDS_TEXT("Upgrade"),
        FIELDS_TEXT("Content-Length"),
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bt_str_eq_nocase(names[i], name))
            return true;
    return false;
}

bool headtext_keeps(const struct headtext_store *s, bt_str name)
{
    if (headtext_hop(name) || bt_str_eq_nocase(name, BT_STR("Age")))
        return false;
    if (s->drop_cookies && (bt_str_eq_nocase(name, BT_STR("Set-Cookie")) ||
                            bt_str_eq_nocase(name, BT_STR("Set-Cookie2"))))
        return false;
    return s->said == NULL || s->said->lists == 0 || !control_lists(s->said, name);
}

void headtext_add_date(struct headtext_out *out, int64_t ms)
{
    char date[BT_DATE_LEN];

    bt_date_print(date, ms / 1000);
    headtext_add(out, BT_STR("Date"), (bt_str){date, sizeof date});
}

bt_str headtext_store(struct bt_arena *arena, const struct headtext_store *s)
{
    struct headtext_out out;
    bt_str name, value;

    headtext_begin(&out, arena, s->status, s->reason);
    if (!fields_has(s->reply, BT_STR("Date")))
        headtext_add_date(&out, s->received);
    for (size_t i = 0; s->reply->at(s->reply->of, i, &name, &value); i++)
        if (headtext_keeps(s, name))
            headtext_add(&out, name, value);
    return headtext_end(&out);
}

/* ---- Cache-Status ---- */

static void put_int(struct headtext_out *out, int64_t n)
{
    char text[24], *first = text + sizeof text;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    do
        *--first = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (n < 0)
        *--first = '-';
    put(out, (bt_str){first, (size_t)(text + sizeof text - first)});
}

/* As a token of structured fields, or else as a string; what a string cannot hold becomes "?". */
static void put_name(struct headtext_out *out, bt_str name)
{
    bool token = fields_is_token(name) && fields_lower(name.at[0]) >= 'a' &&
                 fields_lower(name.at[0]) <= 'z';

    if (token) {
        put(out, name);
        return;
    }
    put(out, BT_STR("\""));
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];

        if (c == '"' || c == '\\')
            put(out, BT_STR("\\"));
        *room(out, 1) = c >= ' ' && c <= '~' ? c : '?';
    }
    put(out, BT_STR("\""));
}

static void put_text(struct headtext_out *out, const char *text)
{
    put(out, (bt_str){text, strlen(text)});
}

bt_str cache_status_text(struct bt_arena *arena, bt_str name, const struct cache_status *s)
{
    enum { FIRST = 96 };
    struct headtext_out out = {arena, bt_alloc_raw(arena, FIRST), 0, FIRST};

    put_name(&out, name);
    if (s->fwd == NULL) {
        put_text(&out, "; hit");
    } else {
        put_text(&out, "; fwd=");
        put_text(&out, s->fwd);
    }
    if (s->fwd != NULL && s->fwd_status != 0) {
        put_text(&out, "; fwd-status=");
        put_int(&out, s->fwd_status);
    }
    if (s->has_ttl) {
        put_text(&out, "; ttl=");
        put_int(&out, s->ttl);
    }
    if (s->fwd != NULL && s->stored)
        put_text(&out, "; stored");
    if (s->fwd != NULL && s->collapsed)
        put_text(&out, "; collapsed");
    if (s->detail != NULL) {
        put_text(&out, "; detail=");
        put_text(&out, s->detail);
    }
    return (bt_str){out.at, out.len};
}
