/* hello.h - what a client says first: a ClientHello (RFC 8446 4.1.2, RFC 5246 7.4.1.2), read without
 * a TLS library, so that rules may look at it before it is settled who speaks TLS with that client.
 *
 * A reader is fed with bytes as they come. Each byte is met once, and the verdict falls at one
 * certain byte, however the hello was cut into records and packets; what comes behind it is not
 * looked at. The reader keeps no raw bytes: who wants to hand the hello on keeps them (at most
 * HELLO_RAW_MAX before a verdict).
 *
 * Pure: needs bt_mem.h and nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TLS_HELLO_H
#define TLS_HELLO_H

#include "bt.h"

enum {
    HELLO_MAX = 16 * 1024,              /* bytes of the handshake message without its 4 of header */
    HELLO_RAW_MAX = 6 * (HELLO_MAX + 4) /* when each of them comes in a record of its own */
};

enum hello_verdict {
    HELLO_MORE,    /* right so far; feed on */
    HELLO_WHOLE,   /* `hello` is filled in */
    HELLO_NOT_TLS, /* plain text, SSLv2, garbage: seen by the first bytes */
    HELLO_BAD,     /* TLS, but not a hello that may pass */
    HELLO_TOO_BIG  /* it says that it is longer than HELLO_MAX */
};

/* What the server name is. Only HOST and ADDRESS are given as text; rules must not be asked about
 * anything else. */
enum hello_name {
    HELLO_NAME_NONE,
    HELLO_NAME_HOST, /* lower case, letters digits - _ in labels; a dot at the end is taken off */
    HELLO_NAME_ADDRESS, /* IPv4 or IPv6, or a name that some take for one (127.1, 0x7f000001) */
    HELLO_NAME_ODD      /* any other bytes: see sni_raw */
};

/* 16-bit numbers as they stand in the hello, GREASE (RFC 8701) among them. */
struct hello_list {
    const uint8_t *at;
    size_t n;
};

/* All slices lie in the reader's arena. */
struct hello {
    uint16_t legacy_version; /* 0x0303 for TLS 1.2 and all later ones */
    uint16_t best_version; /* the highest that is offered, by supported_versions if there is one */
    struct hello_list versions, ciphers, groups, signatures; /* n 0: not said */
    bt_str point_formats;
    bt_str session_id;
    enum hello_name name;
    bt_str sni;     /* see enum hello_name */
    bt_str sni_raw; /* as it came: any bytes */
    bt_str alpn;    /* entries behind each other; see hello_alpn() */
    bt_str extensions;
    bool has_extensions; /* a block of them, which may be empty */
    bool has_ticket;     /* a session ticket (RFC 5077), not an empty one, which asks for one */
    bool has_psk;        /* pre_shared_key: resumes by TLS 1.3 */
    bool has_early_data;
    bool has_ech;    /* encrypted_client_hello: the name is another one, or it is GREASE */
    bool wants_ocsp; /* status_request */
    bool has_ems;    /* extended_master_secret */
};

struct hello_reader {
    struct bt_arena *arena;
    const char *why; /* NOT_TLS, BAD, TOO_BIG: a phrase without a dot */
    size_t used;     /* bytes up to the verdict */
    struct hello hello;
    /* the reader's own */
    enum hello_verdict verdict;
    uint8_t record[5];
    size_t record_have; /* of its header */
    size_t record_left; /* of its content */
    uint8_t *message;
    size_t have, need, room;
};

void hello_init(struct hello_reader *, struct bt_arena *);

/* Takes the next bytes. Once something else than MORE was said, this says it again. */
BT_MUST enum hello_verdict hello_feed(struct hello_reader *, const void *at, size_t len);

static inline uint16_t hello_number(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

/* 0x0a0a, 0x1a1a, ...: numbers that are said so that nobody trips over new ones. */
static inline bool hello_grease(uint16_t number)
{
    return (number & 0x0f0f) == 0x0a0a && number >> 8 == (number & 0xff);
}

bool hello_list_has(struct hello_list, uint16_t number);

/* The next protocol that the client offers, in its order; start with *at = 0. false: no more. */
bool hello_alpn(const struct hello *, size_t *at, bt_str *protocol);

/* The next extension, in the client's order; start with *at = 0. false: no more. */
bool hello_extension(const struct hello *, size_t *at, uint16_t *type, bt_str *content);

/* Whether a certificate with a key on that curve (P-256) would do: a cipher suite, a signature
 * algorithm and a group for it are offered. Else the client wants RSA. */
bool hello_takes_ecdsa(const struct hello *);

#endif
