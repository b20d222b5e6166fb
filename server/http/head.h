/* head.h - one message head as data: its first line, its fields, and what they say of framing.
 *
 * The parser (parse.h) fills a struct head with slices of the bytes that it was given; nothing is
 * copied, so a head lives as long as those bytes. Known field names have a number, so that nobody
 * compares text on the fast path.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "bt_types.h"

enum {
    HEAD_TARGET_MAX = 16384, /* bytes of a request target; longer is answered 414 */
    HEAD_METHOD_MAX = 32,    /* bytes of a method */
    HEAD_LENGTH_DIGITS = 18, /* of a Content-Length: fits int64_t with room to add */
    HEAD_CONNECTION_MAX = 64 /* members of Connection, so that hop_mark() stays cheap */
};

/* ---- methods; case matters ---- */

#define METHODS(X)                                                                                 \
    X(GET) X(HEAD) X(POST) X(PUT) X(DELETE) X(CONNECT) X(OPTIONS) X(TRACE) X(PATCH) X(PURGE)
#define METHOD_ID_(name) METHOD_##name,
enum method { METHOD_OTHER, METHODS(METHOD_ID_) METHOD_COUNT };

enum method method_find(bt_str name);
bool method_safe(enum method);       /* RFC 9110 9.2.1; OTHER is not */
bool method_idempotent(enum method); /* RFC 9110 9.2.2: may be sent again; OTHER is not */

/* ---- fields that the server knows ----
 *
 * HOP: for the next hop only, never travels on (RFC 9110 7.6.1).
 * FRAMING: says where the body ends; read by the parser, written anew by the writer.
 * SINGLE: has one value; several lines of it are not a list. */

#define HEADER_HOP 1u
#define HEADER_FRAMING 2u
#define HEADER_SINGLE 4u

/* clang-format off */
#define HEADERS(X) \
    X(ACCEPT, "Accept", 0) \
    X(ACCEPT_CHARSET, "Accept-Charset", 0) \
    X(ACCEPT_ENCODING, "Accept-Encoding", 0) \
    X(ACCEPT_LANGUAGE, "Accept-Language", 0) \
    X(ACCEPT_RANGES, "Accept-Ranges", 0) \
    X(AGE, "Age", HEADER_SINGLE) \
    X(ALLOW, "Allow", 0) \
    X(ALT_SVC, "Alt-Svc", 0) \
    X(AUTHORIZATION, "Authorization", HEADER_SINGLE) \
    X(CACHE_CONTROL, "Cache-Control", 0) \
    X(CDN_LOOP, "CDN-Loop", 0) \
    X(CONNECTION, "Connection", HEADER_HOP) \
    X(CONTENT_DISPOSITION, "Content-Disposition", HEADER_SINGLE) \
    X(CONTENT_ENCODING, "Content-Encoding", 0) \
    X(CONTENT_LANGUAGE, "Content-Language", 0) \
    X(CONTENT_LENGTH, "Content-Length", HEADER_FRAMING | HEADER_SINGLE) \
    X(CONTENT_LOCATION, "Content-Location", HEADER_SINGLE) \
    X(CONTENT_RANGE, "Content-Range", HEADER_SINGLE) \
    X(CONTENT_TYPE, "Content-Type", HEADER_SINGLE) \
    X(COOKIE, "Cookie", 0) \
    X(DATE, "Date", HEADER_SINGLE) \
    X(ETAG, "ETag", HEADER_SINGLE) \
    X(EXPECT, "Expect", 0) \
    X(EXPIRES, "Expires", HEADER_SINGLE) \
    X(FORWARDED, "Forwarded", 0) \
    X(FROM, "From", HEADER_SINGLE) \
    X(HOST, "Host", HEADER_SINGLE) \
    X(IF_MATCH, "If-Match", 0) \
    X(IF_MODIFIED_SINCE, "If-Modified-Since", HEADER_SINGLE) \
    X(IF_NONE_MATCH, "If-None-Match", 0) \
    X(IF_RANGE, "If-Range", HEADER_SINGLE) \
    X(IF_UNMODIFIED_SINCE, "If-Unmodified-Since", HEADER_SINGLE) \
    X(KEEP_ALIVE, "Keep-Alive", HEADER_HOP) \
    X(LAST_MODIFIED, "Last-Modified", HEADER_SINGLE) \
    X(LINK, "Link", 0) \
    X(LOCATION, "Location", HEADER_SINGLE) \
    X(MAX_FORWARDS, "Max-Forwards", HEADER_SINGLE) \
    X(ORIGIN, "Origin", HEADER_SINGLE) \
    X(PRAGMA, "Pragma", 0) \
    X(PROXY_AUTHENTICATE, "Proxy-Authenticate", HEADER_HOP) \
    X(PROXY_AUTHENTICATION_INFO, "Proxy-Authentication-Info", HEADER_HOP) \
    X(PROXY_AUTHORIZATION, "Proxy-Authorization", HEADER_HOP | HEADER_SINGLE) \
    X(PROXY_CONNECTION, "Proxy-Connection", HEADER_HOP) \
    X(RANGE, "Range", HEADER_SINGLE) \
    X(REFERER, "Referer", HEADER_SINGLE) \
    X(RETRY_AFTER, "Retry-After", HEADER_SINGLE) \
    X(SERVER, "Server", HEADER_SINGLE) \
    X(SET_COOKIE, "Set-Cookie", 0) \
    X(SURROGATE_CONTROL, "Surrogate-Control", 0) \
    X(TE, "TE", HEADER_HOP) \
    X(TRAILER, "Trailer", HEADER_HOP) \
    X(TRANSFER_ENCODING, "Transfer-Encoding", HEADER_HOP | HEADER_FRAMING) \
    X(UPGRADE, "Upgrade", HEADER_HOP) \
    X(USER_AGENT, "User-Agent", HEADER_SINGLE) \
    X(VARY, "Vary", 0) \
    X(VIA, "Via", 0) \
    X(WARNING, "Warning", 0) \
    X(WWW_AUTHENTICATE, "WWW-Authenticate", 0) \
    X(X_CACHE, "X-Cache", 0) \
    X(X_FORWARDED_FOR, "X-Forwarded-For", 0) \
    X(X_FORWARDED_HOST, "X-Forwarded-Host", 0) \
    X(X_FORWARDED_PROTO, "X-Forwarded-Proto", 0) \
    X(X_REQUEST_ID, "X-Request-ID", 0)
/* clang-format on */
#define HEADER_ID_(id, name, flags) HEADER_##id,
/* OTHER: a name that is not in the table. */
enum header_id { HEADER_OTHER, HEADERS(HEADER_ID_) HEADER_COUNT };

enum header_id header_find(bt_str name); /* case ignored */
bt_str header_name(enum header_id);      /* as the standard spells it; OTHER: empty */
unsigned header_flags(enum header_id);   /* HEADER_HOP, ...; OTHER: 0 */

/* ---- a head ---- */

struct head_field {
    bt_str name;  /* as received */
    bt_str value; /* without the blanks around it; may be empty; never holds CR, LF or NUL */
    enum header_id id;
    bool drop;   /* must not travel on; see hop.h */
    bool hidden; /* dropped while this head is written; for whoever sets and clears it */
};

struct head {
    /* A request has method and target; a response has status and reason. */
    bt_str method, target, reason;
    int status;            /* 0 in a request */
    enum method method_id; /* OTHER in a response */
    uint8_t minor;         /* HTTP/1.minor: 0 or 1 (a higher one is read as 1) */
    struct head_field *field;
    unsigned n;   /* of fields */
    size_t bytes; /* of the head, with its empty line */

    /* What the fields say, found while parsing. */
    int64_t content_length;     /* -1: none */
    bool chunked;               /* Transfer-Encoding is exactly chunked */
    bool has_transfer_encoding; /* (always chunked, or the head is at fault) */
    bool keep_alive;            /* the message does not ask to close, version default applied */
    bool expect_continue;       /* HTTP/1.1 request with Expect: 100-continue */
    bool upgrade;               /* Upgrade, and Connection names it */
    bt_str host;                /* value of Host, checked; NONE when there is none */

    uint64_t seen[(HEADER_COUNT + 63) / 64]; /* bits of the ids that occur */
};

static inline bool head_has(const struct head *head, enum header_id id)
{
    return head->seen[(unsigned)id / 64] >> ((unsigned)id % 64) & 1;
}

/* The first field of that id, dropped or not; NULL when there is none. */
const struct head_field *head_field_get(const struct head *, enum header_id);
/* Value of the first field of that id, dropped or not; NONE when there is none. */
bt_str head_get(const struct head *, enum header_id);
/* Value of the nth field (0 the first) of that name, case ignored; NONE when there is none. */
bt_str head_find(const struct head *, bt_str name, size_t nth);

/* Walk a comma-separated list: cuts the next member off *rest, blanks trimmed, empty members
 * skipped, commas in quoted strings kept. false at the end. */
BT_MUST bool head_list_next(bt_str *rest, bt_str *member);
/* The same where no quoted string can be (Connection, TE, Vary, Via, X-Forwarded-For): each comma
 * counts, so that a stray quotation mark cannot hide what follows it. */
BT_MUST bool head_token_next(bt_str *rest, bt_str *member);
/* Whether any field of that id has `token` as a member (by head_token_next()), case ignored. */
bool head_has_token(const struct head *, enum header_id, bt_str token);

#endif
