/* ja.c - JA3 and JA4 out of a hello that was read.
 *
 * JA3 keeps the order that the client chose, which browsers shuffle by now; JA4 sorts. A hello of
 * 16 KiB makes texts of 50 KB at most.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "ja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 0, ALPN = 16, PART = 12 };

/* Text that is written from front to back into room that is known to suffice. */
struct text {
    char *at;
    size_t len;
    size_t start; /* of the list that is being written: its first number has no sign in front */
};

static struct text text_new(struct bt_arena *arena, size_t room)
{
    return (struct text){bt_alloc_raw(arena, room), 0, 0};
}

static void text_char(struct text *t, char c)
{
    t->at[t->len++] = c;
    t->start = t->len;
}

static void text_digits(struct text *t, unsigned number, unsigned base, unsigned least)
{
    char digits[8];
    size_t n = 0;

    do {
        digits[n++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0 || n < least);
    while (n > 0)
        t->at[t->len++] = digits[--n];
}

static void text_number(struct text *t, unsigned number, char between, unsigned base)
{
    if (t->len > t->start)
        t->at[t->len++] = between;
    text_digits(t, number, base, base == 16 ? 4 : 1);
}

static bt_str hex(struct bt_arena *arena, const uint8_t *bytes, size_t n)
{
    char *at = bt_alloc_raw(arena, 2 * n + 1);

    for (size_t i = 0; i < n; i++)
        snprintf(at + 2 * i, 3, "%02x", bytes[i]);
    return (bt_str){at, 2 * n};
}

/* ---- JA3 ---- */

static void decimal_list(struct text *t, struct hello_list list)
{
    for (size_t i = 0; i < list.n; i++) {
        uint16_t number = hello_number(list.at + 2 * i);

        if (!hello_grease(number))
            text_number(t, number, '-', 10);
    }
}

bt_str ja3_text(const struct hello *hello, struct bt_arena *arena)
{
    /* Six characters for each number; an extension takes four bytes at least. */
    struct text t = text_new(
        arena, 16 + 6 * (hello->ciphers.n + hello->groups.n + hello->extensions.len / 4) +
                   4 * hello->point_formats.len);
    size_t at = 0;
    uint16_t type;
    bt_str content;

    text_number(&t, hello->legacy_version, '-', 10);
    text_char(&t, ',');
    decimal_list(&t, hello->ciphers);
    text_char(&t, ',');
    while (hello_extension(hello, &at, &type, &content))
        if (!hello_grease(type))
            text_number(&t, type, '-', 10);
    text_char(&t, ',');
    decimal_list(&t, hello->groups);
    text_char(&t, ',');
    for (size_t i = 0; i < hello->point_formats.len; i++)
        text_number(&t, (uint8_t)hello->point_formats.at[i], '-', 10);
    return (bt_str){t.at, t.len};
}

bt_str ja3_hash(const struct hello *hello, struct bt_arena *arena, ja_digest *md5)
{
    uint8_t digest[16];

    if (!md5(ja3_text(hello, arena), digest))
        return BT_STR_NONE;
    return hex(arena, digest, sizeof digest);
}

/* ---- JA4 ---- */

static int by_value(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Up to 99 as two digits. */
static void two_digits(struct text *t, size_t n)
{
    text_digits(t, n > 99 ? 99 : (unsigned)n, 10, 2);
}

static const char *version_name(uint16_t version)
{
    switch (version) {
    case 0x0304:
        return "13";
    case 0x0303:
        return "12";
    case 0x0302:
        return "11";
    case 0x0301:
        return "10";
    case 0x0300:
        return "s3";
    default:
        return "00";
    }
}

static bool alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* First and last character of the first protocol; of its hexadecimal digits when it is not text. */
static void alpn_ends(struct text *t, const struct hello *hello)
{
    const char *digits = "0123456789abcdef";
    bt_str protocol;
    size_t at = 0;
    char first, last;

    if (!hello_alpn(hello, &at, &protocol)) {
        t->at[t->len++] = '0';
        t->at[t->len++] = '0';
        return;
    }
    first = protocol.at[0];
    last = protocol.at[protocol.len - 1];
    if (!alphanumeric(first) || !alphanumeric(last)) {
        first = digits[(uint8_t)first >> 4];
        last = digits[last & 15];
    }
    t->at[t->len++] = first;
    t->at[t->len++] = last;
}

/* Twelve digits of the digest; of no text at all, twelve noughts. */
static bool digest_part(struct text *t, bt_str text, ja_digest *sha256)
{
    uint8_t digest[32] = {0};

    text_char(t, '_');
    if (text.len > 0 && !sha256(text, digest))
        return false;
    for (size_t i = 0; i < PART / 2; i++)
        text_digits(t, digest[i], 16, 2);
    return true;
}

static bt_str sorted_text(struct bt_arena *arena, uint16_t *number, size_t n)
{
    struct text t = text_new(arena, 5 * n + 1);

    qsort(number, n, sizeof *number, by_value);
    for (size_t i = 0; i < n; i++)
        text_number(&t, number[i], ',', 16);
    return (bt_str){t.at, t.len};
}

/* The client's, in its order, behind the extensions. */
static bt_str with_signatures(struct bt_arena *arena, bt_str extensions, struct hello_list list)
{
    struct text t = text_new(arena, extensions.len + 2 + 5 * list.n);

    if (extensions.len > 0)
        memcpy(t.at, extensions.at, extensions.len);
    t.len = extensions.len;
    text_char(&t, '_');
    for (size_t i = 0; i < list.n; i++) {
        uint16_t number = hello_number(list.at + 2 * i);

        if (!hello_grease(number))
            text_number(&t, number, ',', 16);
    }
    return (bt_str){t.at, t.len > t.start ? t.len : extensions.len};
}

bt_str ja4_text(const struct hello *hello, struct bt_arena *arena, ja_digest *sha256)
{
    uint16_t *cipher = bt_alloc_raw(arena, 2 * hello->ciphers.n);
    uint16_t *extension = bt_alloc_raw(arena, hello->extensions.len / 2 + 2);
    struct text t = text_new(arena, 64);
    size_t ciphers = 0, extensions = 0, named = 0, at = 0;
    bool asked = false;
    uint16_t type;
    bt_str content;

    for (size_t i = 0; i < hello->ciphers.n; i++) {
        uint16_t number = hello_number(hello->ciphers.at + 2 * i);

        if (!hello_grease(number))
            cipher[ciphers++] = number;
    }
    while (hello_extension(hello, &at, &type, &content)) {
        if (hello_grease(type))
            continue;
        if (type == NAMED || type == ALPN)
            named++;
        else
            extension[extensions++] = type;
        if (type == NAMED)
            asked = true;
    }
    text_char(&t, 't');
    memcpy(t.at + t.len, version_name(hello->best_version), 2);
    t.len += 2;
    text_char(&t, asked ? 'd' : 'i');
    two_digits(&t, ciphers);
    two_digits(&t, extensions + named);
    alpn_ends(&t, hello);
    content = sorted_text(arena, extension, extensions);
    content = with_signatures(arena, content, hello->signatures);
    if (!digest_part(&t, sorted_text(arena, cipher, ciphers), sha256) ||
        !digest_part(&t, content, sha256))
        return BT_STR_NONE;
    return (bt_str){t.at, t.len};
}
