/* parse.h - bytes to a head: strict, resumable, without copying or allocating.
 *
 * Use: when bytes come, head_skip() once, then head_end() until it tells a length (head_peek() in
 * between refuses at once what can never be a request); then copy so many bytes to where the head
 * shall live and parse them, once. What is accepted has one meaning (RFC 9112, security.md 5.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include "http/head.h"

/* Why a head (or a URL, or a body) is refused: name, status to answer, words for people. In a
 * response each of them means 502. */
#define HEAD_FAULTS(X)                                                                             \
    X(LINE, 400, "the first line is not method, target and version")                               \
    X(METHOD, 400, "the method is not a word of at most 32 letters")                               \
    X(VERSION, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here")                                  \
    X(NO_VERSION, 400, "the request line has no HTTP version")                                     \
    X(TLS, 400, "this is TLS on a port that speaks plain HTTP")                                    \
    X(BINARY, 400, "this is not HTTP")                                                             \
    X(STATUS, 400, "the status line is malformed")                                                 \
    X(LINE_END, 400, "a line does not end in CR LF")                                               \
    X(NUL, 400, "a NUL byte in the head")                                                          \
    X(FOLD, 400, "a header line is folded")                                                        \
    X(NAME, 400, "a header name has a byte that no name may have")                                 \
    X(BLANK, 400, "a blank between header name and colon")                                         \
    X(COLON, 400, "a header line without a colon")                                                 \
    X(VALUE, 400, "a control byte in a header value")                                              \
    X(MANY, 431, "too many header lines")                                                          \
    X(LARGE, 431, "the head is too large")                                                         \
    X(HOST_MISSING, 400, "HTTP/1.1 without Host")                                                  \
    X(HOST_TWICE, 400, "more than one Host")                                                       \
    X(HOST_BAD, 400, "Host is not a name or address with an optional port")                        \
    X(LENGTH, 400, "Content-Length is not a number")                                               \
    X(LENGTHS, 400, "Content-Length is given twice and differs")                                   \
    X(BOTH, 400, "Content-Length and Transfer-Encoding together")                                  \
    X(CODING, 400, "Transfer-Encoding is not chunked")                                             \
    X(CODING_UNKNOWN, 501, "Transfer-Encoding has codings that are not spoken here")               \
    X(CODING_OLD, 400, "Transfer-Encoding in HTTP/1.0")                                            \
    X(CONNECT_BODY, 400, "CONNECT with a body")                                                    \
    X(CONNECTION, 400, "Connection has too many members")                                          \
    X(TARGET, 400, "the target is not a URL that a proxy can fetch")                               \
    X(TARGET_FORM, 400, "the target has a form that does not go with the method")                  \
    X(TARGET_BYTE, 400, "the target has a blank or control byte")                                  \
    X(TARGET_LONG, 414, "the target is too long")                                                  \
    X(TARGET_HOST, 400, "the target's host is not a name or address")                              \
    X(TARGET_PORT, 400, "the target's port is not 1 to 65535")                                     \
    X(TARGET_USER, 400, "the target's user information is malformed")                              \
    X(FRAGMENT, 400, "the target has a fragment")                                                  \
    X(CHUNK, 400, "the chunked body is malformed")
#define HEAD_FAULT_(id, status, text) FAULT_##id,
enum head_fault { FAULT_NONE, HEAD_FAULTS(HEAD_FAULT_) FAULT_COUNT };

int head_fault_status(enum head_fault);       /* 400, 414, 431, 501 or 505 */
const char *head_fault_text(enum head_fault); /* a short phrase for people, without a full stop */
const char *head_fault_name(enum head_fault); /* "HOST_TWICE": for logs and tests */

/* Bytes to skip before a request: one CRLF at most (RFC 9112 2.2), else 0. Ask once a message, when
 * at least two bytes are there (a lone CR: ask again when more came). */
size_t head_skip(const char *buf, size_t len);

/* Length of the head that begins at buf, with its empty line; 0: not all there yet. *scanned is 0
 * at the first call and kept by the caller between calls, so that each byte is looked at once. Bare
 * LF counts as a line's end, so that the parser refuses it at once instead of a timeout. */
size_t head_end(const char *buf, size_t len, size_t *scanned);

/* Whether what is there so far can still become a request / a response; cheap, looks at the first
 * line only. FAULT_NONE: so far so good (also for an empty buffer). */
enum head_fault head_peek(const char *buf, size_t len);
enum head_fault head_peek_response(const char *buf, size_t len);

/* Parse a whole head: exactly the len bytes that head_end() told, without what head_skip() skipped.
 * `fields` is the caller's, for at most max_fields; *out points into buf and fields. On a fault
 * *out holds what was read before it: method, target and minor when they were good (for logs), and
 * nothing else is to be used. */
enum head_fault parse_request(struct head *out, const char *buf, size_t len,
                              struct head_field *fields, unsigned max_fields);
/* A folded field (allowed unless it is one of framing or connection) is unfolded in place, so buf
 * is written to. Which body follows depends on the request too: body_init_response(). */
enum head_fault parse_response(struct head *out, char *buf, size_t len, struct head_field *fields,
                               unsigned max_fields);

#endif
