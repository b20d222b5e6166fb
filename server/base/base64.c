/* base64.c - base64, encoded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/base64.h"

bt_str base64_encode(struct bt_arena *arena, bt_str bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = (bytes.len + 2) / 3 * 4;
    char *out = bt_alloc_raw(arena, len + 1), *at = out;

    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)(uint8_t)bytes.at[i] << 16;
        if (left > 1)
            bits |= (uint32_t)(uint8_t)bytes.at[i + 1] << 8;
        if (left > 2)
            bits |= (uint8_t)bytes.at[i + 2];
        *at++ = letters[bits >> 18];
        *at++ = letters[bits >> 12 & 63];
        *at++ = left > 1 ? letters[bits >> 6 & 63] : '=';
        *at++ = left > 2 ? letters[bits & 63] : '=';
    }
    *at = '\0';
    return (bt_str){out, len};
}
