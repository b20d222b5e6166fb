/* body.c - where a message body ends, and the payload in it; chunks decoded and encoded.
 *
 * The chunk decoder takes one byte of framing at a time and payload in slices, so that it stops and
 * goes on anywhere. What it lets through as an extension or a trailer is dropped, not forwarded; it
 * is checked all the same, since a receiver that sees a line's end elsewhere sees another message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/body.h"

#include "base/str.h"

enum chunk_state {
    SIZE,       /* in the digits of a size */
    SIZE_BLANK, /* blanks behind them: only an extension may follow */
    EXTENSION,  /* behind ";" */
    SIZE_LF,    /* CR was there */
    PAYLOAD,    /* `left` bytes of it */
    PAYLOAD_CR, /* its end */
    PAYLOAD_LF,
    TRAILER, /* at the front of a line behind the last chunk */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF /* of the empty line */
};

static void init(struct body *body, enum body_kind kind, uint64_t left)
{
    *body = (struct body){.kind = kind, .left = left, .done = kind == BODY_NONE};
}

static void init_by_framing(struct body *body, const struct head *head, enum body_kind otherwise)
{
    if (head->chunked)
        init(body, BODY_CHUNKED, 0);
    else if (head->content_length > 0)
        init(body, BODY_LENGTH, (uint64_t)head->content_length);
    else if (head->content_length == 0)
        init(body, BODY_NONE, 0);
    else
        init(body, otherwise, 0);
}

void body_init_request(struct body *body, const struct head *head)
{
    init_by_framing(body, head, BODY_NONE);
}

void body_init_response(struct body *body, const struct head *head, enum method request)
{
    int status = head->status;

    if (request == METHOD_HEAD || status < 200 || status == 204 || status == 304 ||
        (request == METHOD_CONNECT && status < 300))
        init(body, BODY_NONE, 0);
    else
        init_by_framing(body, head, BODY_CLOSE);
}

/* ---- decoder ---- */

/* A piece of the payload that is there, at most `left`. */
static void take(struct body *body, const char **at, const char *end, bt_str *data)
{
    size_t n = (size_t)(end - *at);

    if (body->kind != BODY_CLOSE) {
        if (n > body->left)
            n = (size_t)body->left;
        body->left -= n;
    }
    body->received += n;
    *data = (bt_str){*at, n};
    *at += n;
}

/* Bytes that may stand in an extension or a value: all but control bytes, with blanks. */
static bool is_text(char c)
{
    return ((uint8_t)c >= ' ' && c != 0x7f) || c == '\t';
}

static bool add_extra(struct body *body, uint32_t max)
{
    return ++body->extra <= max;
}

/* The line of a chunk's size is complete. */
static bool size_done(struct body *body)
{
    body->extra = 0;
    body->digits = 0;
    if (body->left == 0) {
        body->state = TRAILER;
        return true;
    }
    body->state = PAYLOAD;
    /* 16 for the line and the CR LF behind the payload, two for each byte of payload; a body that
     * has a credit gets no more of it. */
    body->overhead -= 16;
    if (body->left > BODY_OVERHEAD_MAX)
        body->overhead = 0;
    else
        body->overhead -= 2 * (int64_t)body->left;
    if (body->overhead < 0)
        body->overhead = 0;
    return body->overhead <= BODY_OVERHEAD_MAX;
}

static bool size_byte(struct body *body, char c)
{
    int digit = str_hex_digit(c);

    if (digit >= 0) {
        body->left = body->left * 16 + (unsigned)digit;
        return ++body->digits <= BODY_SIZE_DIGITS;
    }
    if (body->digits == 0)
        return false;
    if (c == '\r')
        body->state = SIZE_LF;
    else if (c == ';')
        body->state = EXTENSION;
    else if (c == ' ' || c == '\t')
        body->state = SIZE_BLANK;
    else
        return false;
    return true;
}

/* One byte of a trailer's line. */
static bool trailer_byte(struct body *body, char c)
{
    switch ((enum chunk_state)body->state) {
    case TRAILER:
        if (c == '\r') {
            body->state = LAST_LF;
            return true;
        }
        body->state = TRAILER_NAME;
        return str_is(c, STR_TOKEN) && add_extra(body, BODY_TRAILER_MAX);
    case TRAILER_NAME:
        if (c == ':')
            body->state = TRAILER_VALUE;
        return (c == ':' || str_is(c, STR_TOKEN)) && add_extra(body, BODY_TRAILER_MAX);
    case TRAILER_VALUE:
        if (c == '\r')
            body->state = TRAILER_LF;
        return (c == '\r' || is_text(c)) && add_extra(body, BODY_TRAILER_MAX);
    case TRAILER_LF:
        body->state = TRAILER;
        return c == '\n' && add_extra(body, BODY_TRAILER_MAX);
    default: /* LAST_LF */
        body->done = c == '\n';
        return body->done;
    }
}

/* One byte of framing; false: it may not stand there. */
static bool frame_byte(struct body *body, char c)
{
    body->overhead++;
    switch ((enum chunk_state)body->state) {
    case SIZE:
        return size_byte(body, c);
    case SIZE_BLANK:
        if (c == ';')
            body->state = EXTENSION;
        return (c == ';' || c == ' ' || c == '\t') && add_extra(body, BODY_EXTENSION_MAX);
    case EXTENSION:
        if (c == '\r')
            body->state = SIZE_LF;
        return (c == '\r' || is_text(c)) && add_extra(body, BODY_EXTENSION_MAX);
    case SIZE_LF:
        return c == '\n' && size_done(body);
    case PAYLOAD_CR:
        body->state = PAYLOAD_LF;
        return c == '\r';
    case PAYLOAD_LF:
        body->state = SIZE;
        return c == '\n';
    default:
        return trailer_byte(body, c);
    }
}

static enum body_result next_of_chunks(struct body *body, const char **at, const char *end,
                                       bt_str *data)
{
    while (*at < end && !body->done) {
        if (body->state == PAYLOAD) {
            take(body, at, end, data);
            if (body->left == 0)
                body->state = PAYLOAD_CR;
            return BODY_DATA;
        }
        if (!frame_byte(body, *(*at)++)) {
            body->bad = true;
            return BODY_BAD;
        }
    }
    return body->done ? BODY_END : BODY_MORE;
}

enum body_result body_next(struct body *body, const char **at, const char *end, bt_str *data)
{
    if (body->bad)
        return BODY_BAD;
    if (body->done)
        return BODY_END;
    if (body->kind == BODY_CHUNKED)
        return next_of_chunks(body, at, end, data);
    if (body->kind == BODY_LENGTH && body->left == 0) {
        body->done = true;
        return BODY_END;
    }
    if (*at == end)
        return BODY_MORE;
    take(body, at, end, data);
    return BODY_DATA;
}

bool body_eof(struct body *body)
{
    if (body->kind == BODY_CLOSE || (body->kind == BODY_LENGTH && body->left == 0))
        body->done = true;
    return body->done && !body->bad;
}

int64_t body_left(const struct body *body)
{
    if (body->kind == BODY_NONE || body->kind == BODY_LENGTH)
        return (int64_t)body->left;
    return body->done ? 0 : -1;
}

/* ---- encoder ---- */

size_t body_chunk_head(char out[BODY_CHUNK_HEAD_MAX], size_t n)
{
    unsigned digits = (unsigned)(sizeof(unsigned long) * 8 + 3 -
                                 (unsigned)__builtin_clzl((unsigned long)n | 1)) /
                      4;

    for (unsigned i = digits; i-- > 0; n >>= 4)
        out[i] = "0123456789abcdef"[n & 15];
    out[digits] = '\r';
    out[digits + 1] = '\n';
    return digits + 2;
}
