/* body.h - where a message body ends, and the payload in it; chunks decoded and encoded.
 *
 * The decoder is fed whatever came and gives slices of it; it keeps no bytes, so it may be fed at
 * any split. No recursion, no allocation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include "http/head.h"

enum body_kind {
    BODY_NONE,    /* the message ends with its head */
    BODY_LENGTH,  /* so many bytes follow; left > 0 at first, else the kind is NONE */
    BODY_CHUNKED, /* chunks, the last one empty, then trailers */
    BODY_CLOSE    /* until the connection ends; responses only */
};

struct body {
    enum body_kind kind;
    uint8_t state;     /* of the chunk decoder */
    uint8_t digits;    /* of the chunk size so far */
    bool done;         /* END was told, or there is nothing to come */
    bool bad;          /* BAD was told: it stays so */
    uint32_t extra;    /* bytes of this chunk's extensions, or of the trailers */
    int64_t overhead;  /* bytes of framing not yet paid for by payload */
    uint64_t left;     /* LENGTH: bytes to come; CHUNKED: of this chunk */
    uint64_t received; /* payload so far */
};

enum {
    BODY_SIZE_DIGITS = 15,     /* of a chunk's size */
    BODY_EXTENSION_MAX = 4096, /* bytes of extensions of one chunk */
    BODY_TRAILER_MAX = 16384,  /* bytes of trailers */
    /* Framing may exceed 16 bytes a chunk and two for each byte of payload by so much: small chunks
     * are honest (a heartbeat on a stream that lives for days), a body of extensions is not. */
    BODY_OVERHEAD_MAX = 16384
};

/* What follows this request head (parsed without a fault). */
void body_init_request(struct body *, const struct head *);
/* What follows this response to a request of that method: nothing after HEAD, 1xx, 204, 304 and
 * CONNECT with 2xx (what comes then is the tunnel's). */
void body_init_response(struct body *, const struct head *, enum method request);

enum body_result {
    BODY_DATA, /* *data is the next piece of payload, never empty; call again */
    BODY_MORE, /* all input is used up, the message goes on */
    BODY_END,  /* complete; *at stands behind the last byte. Told again if asked again */
    BODY_BAD   /* not a proper chunked body; close the connection */
};

/* Take the next step through the bytes *at .. end. Moves *at behind what was used (with BODY_DATA:
 * behind the piece). *data is a slice of the input, and set only with BODY_DATA. */
enum body_result body_next(struct body *, const char **at, const char *end, bt_str *data);

/* The connection ended, all that came was fed. true: that is a proper end of the message. */
bool body_eof(struct body *);

/* Bytes of payload to come: exact for NONE and LENGTH; -1: nobody knows. */
int64_t body_left(const struct body *);

/* ---- encoder: for each piece body_chunk_head(), the piece, BODY_CHUNK_END; at last
 * BODY_LAST_CHUNK. An empty piece must not be encoded: it would be the last chunk. ---- */

#define BODY_CHUNK_HEAD_MAX 20
/* The line before a chunk of n bytes (n > 0), into out; returns its length. */
size_t body_chunk_head(char out[BODY_CHUNK_HEAD_MAX], size_t n);
#define BODY_CHUNK_END BT_STR("\r\n")
#define BODY_LAST_CHUNK BT_STR("0\r\n\r\n")
/* Both in one, for the end of the last piece. */
#define BODY_CHUNK_END_LAST BT_STR("\r\n0\r\n\r\n")

#endif
