/* hash.c - MD5 (RFC 1321), SHA-1 (RFC 3174), SHA-256 (RFC 6234).
 *
 * All three take blocks of 64 bytes and end alike; only the rounds and the order of bytes differ.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "hash.h"

#include <string.h>

static uint32_t left(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static uint32_t right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* floor(2^32 * |sin(i + 1)|) */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static void md5_block(uint32_t s[8], const uint8_t *p)
{
    static const uint8_t turn[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = s[0], b = s[1], c = s[2], d = s[3];

    for (unsigned i = 0; i < 64; i++) {
        uint32_t f;
        unsigned g;
        if (i < 16) {
            f = (b & c) | (~b & d);
            g = i;
        } else if (i < 32) {
            f = (d & b) | (~d & c);
            g = (5 * i + 1) % 16;
        } else if (i < 48) {
            f = b ^ c ^ d;
            g = (3 * i + 5) % 16;
        } else {
            f = c ^ (b | ~d);
            g = 7 * i % 16;
        }
        uint32_t next = b + left(a + f + sines[i] + little(p + 4 * g), turn[i / 16][i % 4]);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
}

static void sha1_block(uint32_t s[8], const uint8_t *p)
{
    uint32_t w[80], a = s[0], b = s[1], c = s[2], d = s[3], e = s[4];

    for (unsigned i = 0; i < 80; i++)
        w[i] = i < 16 ? big(p + 4 * i) : left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f, k;
        if (i < 20) {
            f = (b & c) | (~b & d);
            k = 0x5a827999;
        } else if (i < 40) {
            f = b ^ c ^ d;
            k = 0x6ed9eba1;
        } else if (i < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8f1bbcdc;
        } else {
            f = b ^ c ^ d;
            k = 0xca62c1d6;
        }
        uint32_t next = left(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = left(b, 30);
        b = a;
        a = next;
    }
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
    s[4] += e;
}

static const uint32_t roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha256_block(uint32_t s[8], const uint8_t *p)
{
    uint32_t w[64], v[8];

    memcpy(v, s, sizeof v);
    for (unsigned i = 0; i < 16; i++)
        w[i] = big(p + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (right(a, 7) ^ right(a, 18) ^ a >> 3) + w[i - 7] +
               (right(b, 17) ^ right(b, 19) ^ b >> 10);
    }
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) +
                      ((e & v[5]) ^ (~e & v[6])) + roots[i] + w[i];
        uint32_t t2 = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        s[i] += v[i];
}

static void block_add(struct hash *h, const uint8_t *p)
{
    if (h->kind == HASH_MD5)
        md5_block(h->state, p);
    else if (h->kind == HASH_SHA1)
        sha1_block(h->state, p);
    else
        sha256_block(h->state, p);
}

void hash_init(struct hash *h, enum hash_kind kind)
{
    static const uint32_t first[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    static const uint32_t sha256[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    *h = (struct hash){.kind = kind};
    if (kind == HASH_SHA256)
        memcpy(h->state, sha256, sizeof sha256);
    else
        memcpy(h->state, first, sizeof first);
}

void hash_add(struct hash *h, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    size_t have = h->len % 64;

    h->len += n;
    while (n > 0) {
        size_t take = 64 - have < n ? 64 - have : n;
        memcpy(h->block + have, p, take);
        p += take;
        n -= take;
        have += take;
        if (have == 64) {
            block_add(h, h->block);
            have = 0;
        }
    }
}

void hash_add_str(struct hash *h, bt_str text)
{
    if (text.len > 0)
        hash_add(h, text.at, text.len);
}

size_t hash_end(struct hash *h, uint8_t out[HASH_MAX])
{
    static const uint8_t pad[64] = {0x80};
    uint64_t bits = h->len * 8;
    size_t have = h->len % 64, n = h->kind == HASH_MD5 ? 16 : h->kind == HASH_SHA1 ? 20 : 32;
    uint8_t length[8];

    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> 8 * (h->kind == HASH_MD5 ? i : 7 - i));
    hash_add(h, pad, have < 56 ? 56 - have : 120 - have);
    hash_add(h, length, sizeof length);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(h->state[i / 4] >> 8 * (h->kind == HASH_MD5 ? i % 4 : 3 - i % 4));
    return n;
}

void hash_hex(const uint8_t *bytes, size_t n, char out[HASH_HEX_MAX])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

long hash_base64_decode(bt_str text, uint8_t *out, size_t cap)
{
    uint32_t bits = 0;
    size_t n = 0, have = 0;

    while (text.len > 0 && text.at[text.len - 1] == '=' && text.len % 4 < 4 && have < 2) {
        text.len--;
        have++;
    }
    if (text.len % 4 == 1)
        return -1;
    have = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.at[i]);
        if (digit < 0)
            return -1;
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (n == cap)
            return -1;
        out[n++] = (uint8_t)(bits >> have);
    }
    return (long)n;
}

bool hash_same(const void *a, const void *b, size_t n)
{
    const uint8_t *left_ = a, *right_ = b;
    unsigned differ = 0;

    for (size_t i = 0; i < n; i++)
        differ |= (unsigned)(left_[i] ^ right_[i]);
    return differ == 0;
}
