/* ram_hash.c - what keys are spread by: SipHash (Aumasson and Bernstein) with the zone's secret.
 *
 * Keys come from clients, who would like to know which of them fall into one place; so it is keyed.
 * Look-ups take 64 bits of SipHash-1-3, and compare keys after that. Flights take 128 bits of
 * SipHash-2-4 and compare nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "ram.h"

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(struct sip *s)
{
    s->a += s->b;
    s->b = rotate(s->b, 13) ^ s->a;
    s->a = rotate(s->a, 32);
    s->c += s->d;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static inline void sip_word(struct sip *s, uint64_t word, int rounds)
{
    s->d ^= word;
    for (int i = 0; i < rounds; i++)
        sip_round(s);
    s->a ^= word;
}

static inline struct sip sip_all(bt_str text, const uint64_t key[2], bool wide, int rounds)
{
    struct sip s = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                    key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
    uint64_t word, last = (uint64_t)text.len << 56;
    const char *at = text.at;
    size_t left = text.len;

    if (wide)
        s.b ^= 0xee;
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        sip_word(&s, word, rounds);
    }
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)(unsigned char)at[i] << (8 * i);
    sip_word(&s, last, rounds);
    s.c ^= wide ? 0xee : 0xff;
    return s;
}

static inline uint64_t sip_end(struct sip *s, int rounds)
{
    for (int i = 0; i < rounds; i++)
        sip_round(s);
    return s->a ^ s->b ^ s->c ^ s->d;
}

uint64_t ram_hash(bt_str key)
{
    struct sip s = sip_all(key, ram.zone->secret, false, 1);

    return sip_end(&s, 3);
}

void ram_hash_long(bt_str key, uint64_t out[2])
{
    struct sip s = sip_all(key, ram.zone->secret + 2, true, 2);

    out[0] = sip_end(&s, 4);
    s.b ^= 0xdd;
    out[1] = sip_end(&s, 4);
}
