/* sha256.h - SHA-256 (RFC 6234), for bt.sha256 and bt.hmac.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LUA_SHA256_H
#define LUA_SHA256_H

#include "bt.h"

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t len;
    uint8_t block[SHA256_BLOCK];
};
void sha256_init(struct sha256 *);
void sha256_add(struct sha256 *, const void *bytes, size_t n);
void sha256_end(struct sha256 *, uint8_t out[SHA256_BYTES]);
/* HMAC (RFC 2104). */
void sha256_hmac(bt_str key, bt_str text, uint8_t out[SHA256_BYTES]);

#endif
