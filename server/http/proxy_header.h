/* proxy_header.h - the PROXY protocol: what a load balancer says of a client before the first byte.
 *
 * Version 1 is a line of text, version 2 is binary and may carry more values (TLVs). Both stand once
 * at the beginning of a connection, before TLS.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_PROXY_HEADER_H
#define HTTP_PROXY_HEADER_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "bt_types.h"

enum {
    PROXY_HEADER_MAX = 16 * 1024, /* a longer one is refused by what its beginning says */
    PROXY_HEADER_ROOM = 52        /* what proxy_header_write() writes at most */
};

union proxy_addr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct proxy_header {
    unsigned version;          /* 1 or 2 */
    bool local;                /* the sender speaks for itself, as when it asks whether we live */
    bool known;                /* src and dst are: else the connection's own addresses stand */
    union proxy_addr src, dst; /* of the client, and what it connected to; mapped IPv4 is IPv4 */
    bt_str tlvs;               /* of version 2: type, length in two bytes, value; checked */
    size_t len;                /* of the whole header */
    const char *why;           /* BAD: a phrase */
};

enum proxy_header_result {
    PROXY_HEADER_MORE, /* so far so good */
    PROXY_HEADER_WHOLE,
    PROXY_HEADER_BAD
};

/* The bytes from the first one on; *out holds slices of them. */
enum proxy_header_result proxy_header_parse(const char *at, size_t len, struct proxy_header *out);

/* The n-th TLV; false: there are not so many. */
bool proxy_header_tlv(bt_str tlvs, size_t n, unsigned *type, bt_str *value);

/* A header of version 2 that says that the connection is `src`'s, which had connected to `dst`; of one family
 * (else, or with NULL, it is LOCAL). Returns its length. */
size_t proxy_header_write(char out[PROXY_HEADER_ROOM], const struct sockaddr *src,
                          const struct sockaddr *dst);

#endif
