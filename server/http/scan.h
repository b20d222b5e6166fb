/* scan.h - find the byte that ends a run of text, eight bytes at a time; private to http/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_SCAN_H
#define HTTP_SCAN_H

#include <stdint.h>
#include <string.h>

#define SCAN_EACH (UINT64_C(0x0101010101010101))

/* Eight bytes, the first one lowest. */
static inline uint64_t scan_load(const char *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* The first byte at .. end that is below `floor` (1-128) or DEL; end when there is none. */
static inline const char *scan_control(const char *at, const char *end, unsigned floor)
{
    while (end - at >= 8) {
        uint64_t v = scan_load(at), hit;

        /* The top bit of each byte that is below floor, or that is DEL. Borrows may set bits above
         * the first right one, so only the lowest bit counts. */
        hit = ((v - SCAN_EACH * floor) | ((v ^ SCAN_EACH * 0x7f) - SCAN_EACH)) & ~v &
              SCAN_EACH * 0x80;
        if (hit != 0)
            return at + (unsigned)__builtin_ctzll(hit) / 8;
        at += 8;
    }
    while (at < end && (uint8_t)*at >= floor && *at != 0x7f)
        at++;
    return at;
}

/* The first byte at .. end that is `c`; end when there is none. For bytes that are near: it has no
 * call to pay for. */
static inline const char *scan_byte(const char *at, const char *end, char c)
{
    while (end - at >= 8) {
        uint64_t v = scan_load(at) ^ SCAN_EACH * (uint8_t)c, hit;

        hit = (v - SCAN_EACH) & ~v & SCAN_EACH * 0x80;
        if (hit != 0)
            return at + (unsigned)__builtin_ctzll(hit) / 8;
        at += 8;
    }
    while (at < end && *at != c)
        at++;
    return at;
}

#endif
