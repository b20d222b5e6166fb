/* scan.h - find the byte that ends a run of text, eight bytes at a time; private to http/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HTTP_SCAN_H
#define HTTP_SCAN_H

#include <stdint.h>
#include <string.h>

#define SCAN_EACH (UINT64_C(0x0101010101010101))

/* The top bit of each byte of v that is below n (1-128). A borrow may set bits above the first one
 * that is right, so only the lowest bit counts. */
static inline uint64_t scan_below(uint64_t v, unsigned n)
{
    return (v - SCAN_EACH * n) & ~v & SCAN_EACH * 0x80;
}

/* The first byte at .. end that is below `floor` or DEL; end when there is none. */
static inline const char *scan_control(const char *at, const char *end, unsigned floor)
{
    while (end - at >= 8) {
        uint64_t v, hit;

        memcpy(&v, at, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        v = __builtin_bswap64(v);
#endif
        hit = scan_below(v, floor) | scan_below(v ^ SCAN_EACH * 0x7f, 1);
        if (hit != 0)
            return at + (unsigned)__builtin_ctzll(hit) / 8;
        at += 8;
    }
    while (at < end && (uint8_t)*at >= floor && *at != 0x7f)
        at++;
    return at;
}

#endif
