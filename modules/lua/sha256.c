/* sha256.c - SHA-256 (RFC 6234) and HMAC with it (RFC 2104).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sha256.h"

#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t roots[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void schedule(uint32_t w[64], const uint8_t *p)
{
    for (unsigned i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
}

static void block_add(uint32_t state[8], const uint8_t *p)
{
    uint32_t w[64], s[8];

    schedule(w, p);
    memcpy(s, state, sizeof s);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t a = s[0], e = s[4];
        uint32_t one = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                       ((e & s[5]) ^ (~e & s[6])) + roots[i] + w[i];
        uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                       ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

void sha256_init(struct sha256 *sha)
{
    static const uint32_t begin[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    memcpy(sha->state, begin, sizeof begin);
    sha->len = 0;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;

    while (n > 0) {
        size_t in = sha->len % SHA256_BLOCK, room = SHA256_BLOCK - in, take = n < room ? n : room;
        memcpy(sha->block + in, at, take);
        sha->len += take;
        at += take;
        n -= take;
        if (take == room)
            block_add(sha->state, sha->block);
    }
}

void sha256_end(struct sha256 *sha, uint8_t out[SHA256_BYTES])
{
    static const uint8_t one = 0x80, zero = 0;
    uint64_t bits = sha->len * 8;
    uint8_t len[8];

    sha256_add(sha, &one, 1);
    while (sha->len % SHA256_BLOCK != SHA256_BLOCK - sizeof len)
        sha256_add(sha, &zero, 1);
    for (unsigned i = 0; i < sizeof len; i++)
        len[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, len, sizeof len);
    for (unsigned i = 0; i < SHA256_BYTES; i++)
        out[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hmac(bt_str key, bt_str text, uint8_t out[SHA256_BYTES])
{
    uint8_t pad[SHA256_BLOCK] = {0};
    struct sha256 sha;

    if (key.len > sizeof pad) {
        sha256_init(&sha);
        sha256_add(&sha, key.at, key.len);
        sha256_end(&sha, pad);
    } else if (key.len > 0) {
        memcpy(pad, key.at, key.len);
    }
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36;
    sha256_init(&sha);
    sha256_add(&sha, pad, sizeof pad);
    sha256_add(&sha, text.at, text.len);
    sha256_end(&sha, out);
    for (size_t i = 0; i < sizeof pad; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    sha256_init(&sha);
    sha256_add(&sha, pad, sizeof pad);
    sha256_add(&sha, out, SHA256_BYTES);
    sha256_end(&sha, out);
}
