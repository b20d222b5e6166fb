/* hash.h - the digests that logins need: MD5, SHA-1, SHA-256; base64 and hexadecimal.
 *
 * MD5 and SHA-1 are here for password files and clients that know nothing better.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HASH_H
#define HASH_H

#include "bt.h"

enum hash_kind { HASH_MD5, HASH_SHA1, HASH_SHA256 };
enum { HASH_MAX = 32, HASH_HEX_MAX = 2 * HASH_MAX + 1 };

struct hash {
    enum hash_kind kind;
    uint32_t state[8];
    uint64_t len;
    uint8_t block[64];
};
void hash_init(struct hash *, enum hash_kind);
void hash_add(struct hash *, const void *bytes, size_t n);
void hash_add_str(struct hash *, bt_str);
/* How many bytes there are: 16, 20 or 32. */
size_t hash_end(struct hash *, uint8_t out[HASH_MAX]);

/* Lower case, ended by NUL. */
void hash_hex(const uint8_t *bytes, size_t n, char out[HASH_HEX_MAX]);
/* Bytes decoded, at most cap; -1: not base64, or too long. */
long hash_base64_decode(bt_str text, uint8_t *out, size_t cap);
/* The same time whatever they are. */
bool hash_same(const void *a, const void *b, size_t n);

#endif
