/* serverhello.h - what a server says first, in clear, to a hello of somebody else (RFC 5246 7.4,
 * RFC 8446 4.1.3): versions, cipher, protocol, and up to TLS 1.2 its certificates.
 *
 * A reader is fed with bytes as they come and meets each of them once. Under TLS 1.3 all that follows
 * the ServerHello is encrypted, so that nothing more is to be seen there. The reader keeps no raw
 * bytes: who wants to hand them on keeps them.
 *
 * Pure: needs bt_mem.h and nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_SERVERHELLO_H
#define TLS_SERVERHELLO_H

#include "bt.h"

enum {
    SERVERHELLO_RAW_MAX = 64 * 1024, /* what lies behind it is not looked at */
    SERVERHELLO_CERTS_MAX = 64
};

enum serverhello_verdict {
    SERVERHELLO_MORE,   /* right so far; feed on */
    SERVERHELLO_SEEN,   /* there is nothing more to be seen; what was seen stands in the reader */
    SERVERHELLO_NOT_TLS /* its first bytes are none of TLS */
};

struct serverhello_reader {
    struct bt_arena *arena;
    const char *why;        /* a phrase without a dot: what it stumbled over; NULL: over nothing */
    bool has_hello;         /* the four below stand; version and cipher 0 otherwise */
    uint16_t hello_version; /* as written in the old place: 0x0303 also for TLS 1.3 */
    uint16_t version;       /* that was chosen */
    uint16_t cipher;
    bt_str alpn; /* NONE: not said, or encrypted */
    /* DER of the certificates, the server's own first; n 0: none was to be seen. */
    bt_str cert[SERVERHELLO_CERTS_MAX];
    size_t certs;
    /* the reader's own */
    enum serverhello_verdict verdict;
    size_t used;
    uint8_t record[5];
    size_t record_have; /* of its header */
    size_t record_left; /* of its content */
    uint8_t header[4];  /* of a handshake message */
    size_t header_have;
    uint8_t *message; /* NULL: this one is passed over */
    size_t have, need;
};

void serverhello_init(struct serverhello_reader *, struct bt_arena *);

/* Takes the next bytes. Once something else than MORE was said, this says it again. */
BT_MUST enum serverhello_verdict serverhello_feed(struct serverhello_reader *, const void *at,
                                                  size_t len);

#endif
