/* parse.c - bytes to a head: strict, resumable, without copying or allocating.
 *
 * One pass over the lines. What is not exactly as RFC 9112 wants it is a fault with a name; the few
 * liberties that responses get are each marked where they are taken. What a field says of framing
 * and connection is noted as it passes, and weighed when all fields are known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/parse.h"

#include <string.h>

#include "base/str.h"
#include "http/scan.h"
#include "http/url.h"

/* Where the parser stands, and what it has noted. */
struct parser {
    const char *at, *end;
    struct head *head;
    char *writable; /* what `at` was at first, when folds may be undone; NULL in requests */
    const char *start;
    unsigned max_fields;
    unsigned hosts, codings, members;
    bool close, keep, upgrade_named;
};

#define FAULT_ROW_(id, status, text) [FAULT_##id] = {#id, text, status},
static const struct {
    const char *name, *text;
    int status;
} faults[FAULT_COUNT] = {[FAULT_NONE] = {"NONE", "nothing", 0}, HEAD_FAULTS(FAULT_ROW_)};

int head_fault_status(enum head_fault fault)
{
    return faults[fault].status;
}

const char *head_fault_text(enum head_fault fault)
{
    return faults[fault].text;
}

const char *head_fault_name(enum head_fault fault)
{
    return faults[fault].name;
}

/* ---- where a head ends ---- */

size_t head_skip(const char *buf, size_t len)
{
    return len >= 2 && buf[0] == '\r' && buf[1] == '\n' ? 2 : 0;
}

size_t head_end(const char *buf, size_t len, size_t *scanned)
{
    const char *at = buf + *scanned, *end = buf + len;

    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        /* An empty line is a LF after a LF, or after a LF and a CR. */
        if (end - at >= 2 && at[1] == '\n')
            return (size_t)(at + 2 - buf);
        if (end - at >= 3 && at[1] == '\r' && at[2] == '\n')
            return (size_t)(at + 3 - buf);
        if (end - at < 3) { /* cannot be told yet: look at this LF again */
            *scanned = (size_t)(at - buf);
            return 0;
        }
        at++;
    }
    *scanned = len;
    return 0;
}

/* The first line behind the method, as far as it is there. */
static enum head_fault peek_target(const char *buf, const char *at, const char *end)
{
    const char *stop = scan_control(at, end, ' ');

    if (stop - buf > HEAD_METHOD_MAX + HEAD_TARGET_MAX + 12)
        return FAULT_TARGET_LONG;
    if (stop == end)
        return FAULT_NONE;
    if (*stop == '\r')
        return end - stop < 2 || stop[1] == '\n' ? FAULT_NONE : FAULT_LINE_END;
    if (*stop == '\n')
        return FAULT_LINE_END;
    return *stop == '\0' ? FAULT_NUL : FAULT_BINARY;
}

enum head_fault head_peek(const char *buf, size_t len)
{
    size_t i = 0;

    if (len > 0 && (buf[0] == 0x16 || (uint8_t)buf[0] == 0x80))
        return FAULT_TLS; /* a handshake record, or the hello of SSL 2 */
    if (len > 0 && buf[0] == '\r' && (len == 1 || buf[1] == '\n'))
        return FAULT_NONE; /* head_skip() is not through with it */
    while (i < len && i <= HEAD_METHOD_MAX && str_is(buf[i], STR_TOKEN))
        i++;
    if (i > HEAD_METHOD_MAX)
        return FAULT_METHOD;
    if (i == len)
        return FAULT_NONE;
    if (buf[i] == ' ' && i > 0)
        return peek_target(buf, buf + i, buf + len);
    if (buf[i] == '\0')
        return FAULT_NUL;
    if (buf[i] == '\r' || buf[i] == '\n')
        return i == 0 ? FAULT_LINE_END : FAULT_LINE;
    return (uint8_t)buf[i] < ' ' || (uint8_t)buf[i] >= 0x7f ? FAULT_BINARY : FAULT_LINE;
}

enum head_fault head_peek_response(const char *buf, size_t len)
{
    size_t n = len < 7 ? len : 7;

    return memcmp(buf, "HTTP/1.", n) == 0 ? FAULT_NONE : FAULT_STATUS;
}

/* ---- first line ---- */

/* The line's end must be exactly CR LF; steps over it. */
static enum head_fault line_end(struct parser *p)
{
    if (p->end - p->at >= 2 && p->at[0] == '\r' && p->at[1] == '\n') {
        p->at += 2;
        return FAULT_NONE;
    }
    if (p->at < p->end && *p->at == '\0')
        return FAULT_NUL;
    return FAULT_LINE_END;
}

/* What it means that a line stops at this control byte. */
static enum head_fault control_fault(const struct parser *p, enum head_fault other)
{
    if (p->at == p->end || *p->at == '\r' || *p->at == '\n')
        return FAULT_LINE_END;
    return *p->at == '\0' ? FAULT_NUL : other;
}

/* "HTTP/1.x" */
static enum head_fault parse_version(struct parser *p)
{
    const char *at = p->at;

    if (p->end - at < 8 || memcmp(at, "HTTP/", 5) != 0 || !str_is(at[5], STR_DIGIT) ||
        at[6] != '.' || !str_is(at[7], STR_DIGIT))
        return FAULT_LINE;
    if (at[5] != '1')
        return FAULT_VERSION;
    p->head->minor = at[7] != '0';
    p->at += 8;
    return FAULT_NONE;
}

static enum head_fault parse_method(struct parser *p)
{
    const char *from = p->at;

    while (p->at < p->end && str_is(*p->at, STR_TOKEN))
        p->at++;
    if (p->at == p->end || *p->at != ' ' || p->at == from) {
        if (p->at < p->end && (*p->at == '\0' || *p->at == '\n'))
            return control_fault(p, FAULT_LINE);
        return p->at - from > HEAD_METHOD_MAX ? FAULT_METHOD : FAULT_LINE;
    }
    if (p->at - from > HEAD_METHOD_MAX)
        return FAULT_METHOD;
    p->head->method = str_span(from, p->at);
    p->head->method_id = method_find(p->head->method);
    p->at++;
    return FAULT_NONE;
}

static enum head_fault parse_target(struct parser *p)
{
    const char *from = p->at;

    p->at = scan_control(from, p->end, ' ' + 1);
    if (p->at == from)
        return FAULT_LINE;
    if (p->at - from > HEAD_TARGET_MAX)
        return FAULT_TARGET_LONG;
    p->head->target = str_span(from, p->at);
    if (p->at < p->end && *p->at == ' ') {
        p->at++;
        return FAULT_NONE;
    }
    if (p->end - p->at >= 2 && *p->at == '\r' && p->at[1] == '\n')
        return FAULT_NO_VERSION;
    return control_fault(p, FAULT_TARGET_BYTE);
}

static enum head_fault parse_request_line(struct parser *p)
{
    enum head_fault fault;

    if ((fault = parse_method(p)) != FAULT_NONE || (fault = parse_target(p)) != FAULT_NONE ||
        (fault = parse_version(p)) != FAULT_NONE)
        return fault;
    if (p->at < p->end && *p->at != '\r' && *p->at != '\n' && *p->at != '\0')
        return FAULT_LINE;
    return line_end(p);
}

static enum head_fault parse_status_line(struct parser *p)
{
    enum head_fault fault = parse_version(p);
    const char *at = p->at;

    if (fault != FAULT_NONE)
        return fault == FAULT_VERSION ? fault : FAULT_STATUS;
    if (p->end - at < 5 || at[0] != ' ' || at[1] < '1' || at[1] > '5' ||
        !str_is(at[2], STR_DIGIT) || !str_is(at[3], STR_DIGIT))
        return FAULT_STATUS;
    p->head->status = (at[1] - '0') * 100 + (at[2] - '0') * 10 + at[3] - '0';
    p->at += 4;
    if (*p->at == ' ') {
        at = ++p->at;
        while ((p->at = scan_control(p->at, p->end, ' ')) < p->end && *p->at == '\t')
            p->at++;
    } else if (*p->at != '\r' && *p->at != '\n') {
        return FAULT_STATUS;
    } else {
        at = p->at; /* "HTTP/1.1 200" without its last blank is common and has one meaning */
    }
    p->head->reason = str_span(at, p->at);
    if (p->at < p->end && *p->at != '\r' && *p->at != '\n' && *p->at != '\0')
        return FAULT_STATUS;
    return line_end(p);
}

/* ---- what the fields say ---- */

/* Content-Length: digits only; equal doubles, as lines or as a list, are one. */
static enum head_fault note_length(struct head *head, bt_str value)
{
    const char *at = value.at, *end = at + value.len;

    for (;;) {
        const char *from = at;
        int64_t n = 0;

        while (at < end && str_is(*at, STR_DIGIT) && at - from < HEAD_LENGTH_DIGITS)
            n = n * 10 + (*at++ - '0');
        if (at == from)
            return FAULT_LENGTH;
        if (head->content_length >= 0 && head->content_length != n)
            return FAULT_LENGTHS;
        head->content_length = n;
        while (at < end && str_is(*at, STR_BLANK))
            at++;
        if (at == end)
            return FAULT_NONE;
        if (*at++ != ',')
            return FAULT_LENGTH;
        while (at < end && str_is(*at, STR_BLANK))
            at++;
    }
}

/* Codings that exist (RFC 9110 16.6.1), so that a list of them is not malformed. */
static bool coding_exists(bt_str name)
{
    return str_eq_literal_nocase(name, "gzip") || str_eq_literal_nocase(name, "x-gzip") ||
           str_eq_literal_nocase(name, "deflate") || str_eq_literal_nocase(name, "compress") ||
           str_eq_literal_nocase(name, "x-compress");
}

/* Transfer-Encoding: exactly chunked, once. */
static enum head_fault note_coding(struct parser *p, bt_str value)
{
    bt_str rest = value, member;
    bool last = false;

    p->head->has_transfer_encoding = true;
    if (p->codings++ != 0)
        return FAULT_CODING;
    if (str_eq_literal_nocase(value, "chunked")) {
        p->head->chunked = true;
        return FAULT_NONE;
    }
    while (head_token_next(&rest, &member)) {
        if (last)
            return FAULT_CODING;
        last = str_eq_literal_nocase(member, "chunked");
        if (!last && !coding_exists(member))
            return FAULT_CODING;
    }
    if (!last || value.at[0] == ',' || value.at[value.len - 1] == ',')
        return FAULT_CODING;
    return FAULT_CODING_UNKNOWN;
}

static enum head_fault note_connection(struct parser *p, bt_str value)
{
    bt_str member;

    if (str_eq_literal(value, "keep-alive")) { /* by far the most frequent */
        p->keep = true;
        return ++p->members > HEAD_CONNECTION_MAX ? FAULT_CONNECTION : FAULT_NONE;
    }
    while (head_token_next(&value, &member)) {
        if (++p->members > HEAD_CONNECTION_MAX)
            return FAULT_CONNECTION;
        if (str_eq_literal_nocase(member, "keep-alive"))
            p->keep = true;
        else if (str_eq_literal_nocase(member, "close"))
            p->close = true;
        else if (str_eq_literal_nocase(member, "upgrade"))
            p->upgrade_named = true;
    }
    return FAULT_NONE;
}

/* Proxy-Connection was never a standard; old clients mean by it what Connection says. */
static enum head_fault note_proxy_connection(struct parser *p, bt_str value)
{
    bool upgrade_named = p->upgrade_named;
    enum head_fault fault = FAULT_NONE;

    if (p->writable == NULL)
        fault = note_connection(p, value);
    p->upgrade_named = upgrade_named;
    return fault;
}

static enum head_fault note_host(struct parser *p, bt_str value)
{
    if (p->writable != NULL)
        return FAULT_NONE; /* has no meaning in a response */
    if (p->hosts++ != 0)
        return FAULT_HOST_TWICE;
    /* Empty is how a client says that its URL has no authority; the URL then decides. */
    if (value.len != 0 && !url_host_valid(value))
        return FAULT_HOST_BAD;
    p->head->host = value;
    return FAULT_NONE;
}

static enum head_fault note_field(struct parser *p, const struct head_field *field)
{
    struct head *head = p->head;

    head->seen[(unsigned)field->id / 64] |= UINT64_C(1) << ((unsigned)field->id % 64);
    switch (field->id) {
    case HEADER_HOST:
        return note_host(p, field->value);
    case HEADER_CONTENT_LENGTH:
        return note_length(head, field->value);
    case HEADER_TRANSFER_ENCODING:
        return note_coding(p, field->value);
    case HEADER_CONNECTION:
        return note_connection(p, field->value);
    case HEADER_PROXY_CONNECTION:
        return note_proxy_connection(p, field->value);
    case HEADER_EXPECT:
        if (str_eq_literal_nocase(field->value, "100-continue"))
            head->expect_continue = true;
        return FAULT_NONE;
    default:
        return FAULT_NONE;
    }
}

/* ---- fields ---- */

/* Whether folds and blanks before the colon may be mended: never in a request, and never in a field
 * that says where the message ends or what becomes of the connection. */
static bool may_mend(const struct parser *p, enum header_id id)
{
    return p->writable != NULL && (header_flags(id) & (HEADER_FRAMING | HEADER_HOP)) == 0;
}

/* A name that is not in the table, or not followed by its colon: look at each byte. */
static enum head_fault parse_odd_name(struct parser *p, struct head_field *field)
{
    const char *from = p->at, *at = from, *colon;

    while (at < p->end && str_is(*at, STR_TOKEN))
        at++;
    p->at = colon = at;
    if (at == from)
        return at < p->end && *at != ':' ? control_fault(p, FAULT_NAME) : FAULT_NAME;
    field->name = str_span(from, at);
    field->id = header_find(field->name);
    while (colon < p->end && str_is(*colon, STR_BLANK))
        colon++;
    if (colon < p->end && *colon == ':') {
        if (colon != at && !may_mend(p, field->id))
            return FAULT_BLANK;
        p->at = colon + 1;
        return FAULT_NONE;
    }
    if (p->end - at >= 2 && at[0] == '\r' && at[1] == '\n')
        return FAULT_COLON;
    return control_fault(p, FAULT_NAME);
}

static enum head_fault parse_name(struct parser *p, struct head_field *field)
{
    const char *colon = scan_byte(p->at, p->end, ':');

    field->name = str_span(p->at, colon);
    field->id = header_find(field->name);
    if (field->id == HEADER_OTHER || colon == p->end)
        return parse_odd_name(p, field);
    p->at = colon + 1; /* a name of the table has proper bytes only */
    return FAULT_NONE;
}

/* The line that follows is folded into this one: undo that in place, and go on behind it. */
static void unfold(struct parser *p)
{
    char *crlf = p->writable + (p->at - p->start);

    crlf[0] = crlf[1] = ' ';
    p->at += 2;
}

static enum head_fault parse_value(struct parser *p, struct head_field *field)
{
    const char *from = p->at, *to;

    while (from < p->end && str_is(*from, STR_BLANK))
        from++;
    p->at = from;
    for (;;) {
        p->at = scan_control(p->at, p->end, ' ');
        if (p->end - p->at < 2)
            return control_fault(p, FAULT_VALUE);
        if (*p->at == '\t') {
            p->at++;
            continue;
        }
        if (p->at[0] != '\r' || p->at[1] != '\n')
            return control_fault(p, FAULT_VALUE);
        if (p->end - p->at < 3 || !str_is(p->at[2], STR_BLANK))
            break;
        if (!may_mend(p, field->id))
            return FAULT_FOLD;
        unfold(p);
    }
    to = p->at;
    while (from < to && str_is(*from, STR_BLANK)) /* again, for a fold right at the front */
        from++;
    while (to > from && str_is(to[-1], STR_BLANK))
        to--;
    field->value = str_span(from, to);
    p->at += 2;
    return FAULT_NONE;
}

/* Lines up to the empty one, which must be the end of what was given. */
static enum head_fault parse_fields(struct parser *p)
{
    struct head *head = p->head;
    enum head_fault fault;

    while (p->at < p->end && *p->at != '\r') {
        struct head_field *field = &head->field[head->n];

        if (str_is(*p->at, STR_BLANK))
            return FAULT_FOLD; /* only the first line can get here: a fold of the first line */
        if (head->n == p->max_fields)
            return FAULT_MANY;
        field->drop = field->hidden = false;
        if ((fault = parse_name(p, field)) != FAULT_NONE ||
            (fault = parse_value(p, field)) != FAULT_NONE)
            return fault;
        head->n++;
        if ((fault = note_field(p, field)) != FAULT_NONE)
            return fault;
    }
    if ((fault = line_end(p)) != FAULT_NONE)
        return fault;
    return p->at == p->end ? FAULT_NONE : FAULT_LINE_END;
}

static struct parser parser_on(struct head *out, const char *buf, size_t len,
                               struct head_field *fields)
{
    *out = (struct head){.field = fields, .content_length = -1, .bytes = len};
    return (struct parser){.at = buf, .end = buf + len, .start = buf, .head = out};
}

static void weigh_connection(const struct parser *p)
{
    struct head *head = p->head;

    head->keep_alive = !p->close && (head->minor >= 1 || p->keep);
    /* HTTP/1.0 knows neither (RFC 9110 7.8, 10.1.1). */
    head->upgrade = p->upgrade_named && head_has(head, HEADER_UPGRADE) && head->minor >= 1;
    head->expect_continue = head->expect_continue && head->minor >= 1;
}

enum head_fault parse_request(struct head *out, const char *buf, size_t len,
                              struct head_field *fields, unsigned max_fields)
{
    struct parser p = parser_on(out, buf, len, fields);
    enum head_fault fault;

    p.max_fields = max_fields;
    if ((fault = parse_request_line(&p)) != FAULT_NONE || (fault = parse_fields(&p)) != FAULT_NONE)
        return fault;
    if (out->has_transfer_encoding && out->content_length >= 0)
        return FAULT_BOTH;
    if (out->has_transfer_encoding && out->minor == 0)
        return FAULT_CODING_OLD;
    if (out->method_id == METHOD_CONNECT && (out->chunked || out->content_length > 0))
        return FAULT_CONNECT_BODY;
    if (p.hosts == 0 && out->minor >= 1)
        return FAULT_HOST_MISSING;
    weigh_connection(&p);
    return FAULT_NONE;
}

enum head_fault parse_response(struct head *out, char *buf, size_t len, struct head_field *fields,
                               unsigned max_fields)
{
    struct parser p = parser_on(out, buf, len, fields);
    enum head_fault fault;

    p.max_fields = max_fields;
    p.writable = buf;
    if ((fault = parse_status_line(&p)) != FAULT_NONE || (fault = parse_fields(&p)) != FAULT_NONE)
        return fault;
    if (out->has_transfer_encoding && out->content_length >= 0)
        return FAULT_BOTH;
    weigh_connection(&p);
    out->expect_continue = false;
    if (out->has_transfer_encoding && out->minor == 0)
        out->keep_alive = false; /* chunked in HTTP/1.0 can be read, not trusted (RFC 9112 6.1) */
    return FAULT_NONE;
}
