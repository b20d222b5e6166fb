/* str.c - text as slices; the string builder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/check.h"

/* ---- character classes ---- */

#define A_ (STR_ALPHA | STR_PRINT | STR_TOKEN)
#define H_ (A_ | STR_HEX)
#define D_ (STR_DIGIT | STR_HEX | STR_PRINT | STR_TOKEN)
#define T_ (STR_PRINT | STR_TOKEN)
#define P_ STR_PRINT
#define S_ STR_SPACE
#define B_ (STR_SPACE | STR_BLANK)
/* clang-format off */
const uint8_t str_class[256] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  B_, S_, S_, S_, S_, 0,  0,
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
    B_ | P_, T_, P_, T_, T_, T_, T_, T_, P_, P_, T_, T_, P_, T_, T_, P_, /*  !"#$%&'()*+,-./ */
    D_, D_, D_, D_, D_, D_, D_, D_, D_, D_, P_, P_, P_, P_, P_, P_,      /* 0-9 :;<=>? */
    P_, H_, H_, H_, H_, H_, H_, A_, A_, A_, A_, A_, A_, A_, A_, A_,      /* @A-O */
    A_, A_, A_, A_, A_, A_, A_, A_, A_, A_, A_, P_, P_, P_, T_, T_,      /* P-Z [\]^_ */
    T_, H_, H_, H_, H_, H_, H_, A_, A_, A_, A_, A_, A_, A_, A_, A_,      /* `a-o */
    A_, A_, A_, A_, A_, A_, A_, A_, A_, A_, A_, P_, T_, P_, T_, 0,       /* p-z {|}~ */
};
#define L4(n) (n), (n) + 1, (n) + 2, (n) + 3
#define L16(n) L4(n), L4((n) + 4), L4((n) + 8), L4((n) + 12)
const uint8_t str_lower_table[256] = {
    L16(0), L16(16), L16(32), L16(48),
    '@', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '[', '\\', ']', '^', '_',
    L16(96), L16(112), L16(128), L16(144), L16(160), L16(176), L16(192), L16(208), L16(224), L16(240),
};
/* clang-format on */

/* ---- comparing ---- */

bt_str str_from(const char *text)
{
    return text == NULL ? BT_STR_NONE : (bt_str){text, strlen(text)};
}

static bool same_nocase(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_lower(a[i]) != str_lower(b[i]))
            return false;
    return true;
}

bool bt_str_eq(bt_str a, bt_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

bool bt_str_eq_nocase(bt_str a, bt_str b)
{
    return a.len == b.len && same_nocase(a.at, b.at, a.len);
}

int str_compare(bt_str a, bt_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n == 0 ? 0 : memcmp(a.at, b.at, n);

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

int str_compare_nocase(bt_str a, bt_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;

    for (size_t i = 0; i < n; i++) {
        int order = (uint8_t)str_lower(a.at[i]) - (uint8_t)str_lower(b.at[i]);
        if (order != 0)
            return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

bool str_starts(bt_str s, bt_str prefix)
{
    return s.len >= prefix.len && bt_str_eq(str_slice(s, 0, prefix.len), prefix);
}

bool str_starts_nocase(bt_str s, bt_str prefix)
{
    return s.len >= prefix.len && same_nocase(s.at, prefix.at, prefix.len);
}

bool str_ends(bt_str s, bt_str suffix)
{
    return s.len >= suffix.len && bt_str_eq(str_skip(s, s.len - suffix.len), suffix);
}

bool str_ends_nocase(bt_str s, bt_str suffix)
{
    return s.len >= suffix.len && same_nocase(s.at + (s.len - suffix.len), suffix.at, suffix.len);
}

/* ---- searching ---- */

ptrdiff_t str_find_char(bt_str s, char c)
{
    const char *at = s.len == 0 ? NULL : memchr(s.at, c, s.len);

    return at == NULL ? -1 : at - s.at;
}

ptrdiff_t str_rfind_char(bt_str s, char c)
{
    const char *at = s.len == 0 ? NULL : memrchr(s.at, c, s.len);

    return at == NULL ? -1 : at - s.at;
}

ptrdiff_t str_find(bt_str s, bt_str what)
{
    const char *at;

    if (what.len == 0)
        return 0;
    at = s.len < what.len ? NULL : memmem(s.at, s.len, what.at, what.len);
    return at == NULL ? -1 : at - s.at;
}

ptrdiff_t str_find_nocase(bt_str s, bt_str what)
{
    for (size_t i = 0; i + what.len <= s.len; i++)
        if (same_nocase(s.at + i, what.at, what.len))
            return (ptrdiff_t)i;
    return -1;
}

ptrdiff_t str_find_class(bt_str s, unsigned classes)
{
    for (size_t i = 0; i < s.len; i++)
        if (str_is(s.at[i], classes))
            return (ptrdiff_t)i;
    return -1;
}

bool str_all(bt_str s, unsigned classes)
{
    for (size_t i = 0; i < s.len; i++)
        if (!str_is(s.at[i], classes))
            return false;
    return true;
}

/* ---- cutting ---- */

bt_str str_slice(bt_str s, size_t from, size_t to)
{
    if (to > s.len)
        to = s.len;
    if (from > to)
        from = to;
    return (bt_str){s.at == NULL ? NULL : s.at + from, to - from};
}

bt_str str_skip(bt_str s, size_t n)
{
    return str_slice(s, n, s.len);
}

static bt_str trim_class(bt_str s, unsigned classes)
{
    while (s.len > 0 && str_is(s.at[0], classes))
        s = str_skip(s, 1);
    while (s.len > 0 && str_is(s.at[s.len - 1], classes))
        s.len--;
    return s;
}

bt_str str_trim(bt_str s)
{
    return trim_class(s, STR_BLANK);
}

bt_str str_trim_space(bt_str s)
{
    return trim_class(s, STR_SPACE);
}

bool str_split(bt_str s, char sep, bt_str *before, bt_str *after)
{
    ptrdiff_t at = str_find_char(s, sep);

    *before = at < 0 ? s : str_slice(s, 0, (size_t)at);
    *after = at < 0 ? BT_STR_NONE : str_skip(s, (size_t)at + 1);
    return at >= 0;
}

bool str_rsplit(bt_str s, char sep, bt_str *before, bt_str *after)
{
    ptrdiff_t at = str_rfind_char(s, sep);

    *before = at < 0 ? s : str_slice(s, 0, (size_t)at);
    *after = at < 0 ? BT_STR_NONE : str_skip(s, (size_t)at + 1);
    return at >= 0;
}

bool str_cut(bt_str *rest, char sep, bt_str *part)
{
    if (rest->at == NULL)
        return false;
    (void)str_split(*rest, sep, part, rest);
    return true;
}

bool str_word(bt_str *rest, bt_str *word)
{
    bt_str s = *rest;
    ptrdiff_t end;

    while (s.len > 0 && str_is(s.at[0], STR_BLANK))
        s = str_skip(s, 1);
    end = str_find_class(s, STR_BLANK);
    *word = end < 0 ? s : str_slice(s, 0, (size_t)end);
    *rest = str_skip(s, word->len);
    return word->len > 0;
}

/* ---- numbers ---- */

int str_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = str_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool str_uint_base(bt_str s, unsigned base, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        int digit = str_hex_digit(s.at[i]);

        if (digit < 0 || (unsigned)digit >= base)
            return false;
        if (__builtin_mul_overflow(n, (uint64_t)base, &n) ||
            __builtin_add_overflow(n, (uint64_t)digit, &n) || n > max)
            return false;
    }
    *out = n;
    return true;
}

bool str_uint(bt_str s, uint64_t max, uint64_t *out)
{
    return str_uint_base(s, 10, max, out);
}

bool str_int(bt_str s, int64_t min, int64_t max, int64_t *out)
{
    bool negative = s.len > 0 && s.at[0] == '-';
    uint64_t n;
    int64_t value;

    if (!str_uint(negative ? str_skip(s, 1) : s, (uint64_t)INT64_MAX + negative, &n))
        return false;
    value = negative ? (int64_t)(0 - n) : (int64_t)n;
    if (value < min || value > max)
        return false;
    *out = value;
    return true;
}

char *str_put_uint(char *at, uint64_t n)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digit[20];
    size_t i = sizeof(digit);

    while (n >= 100) {
        i -= 2;
        memcpy(digit + i, pairs + n % 100 * 2, 2);
        n /= 100;
    }
    if (n >= 10) {
        i -= 2;
        memcpy(digit + i, pairs + n * 2, 2);
    } else {
        digit[--i] = (char)('0' + n);
    }
    memcpy(at, digit + i, sizeof(digit) - i);
    return at + (sizeof(digit) - i);
}

char *str_put_int(char *at, int64_t n)
{
    if (n >= 0)
        return str_put_uint(at, (uint64_t)n);
    *at++ = '-';
    return str_put_uint(at, 0 - (uint64_t)n);
}

/* ---- case ---- */

void str_lower_in_place(char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        at[i] = str_lower(at[i]);
}

bt_str str_lower_copy(struct bt_arena *arena, bt_str s)
{
    char *at;

    if (s.at == NULL)
        return BT_STR_NONE;
    at = arena_take(arena, s.len + 1);
    for (size_t i = 0; i < s.len; i++)
        at[i] = str_lower(s.at[i]);
    at[s.len] = '\0';
    return (bt_str){at, s.len};
}

uint32_t str_hash_nocase(bt_str s)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (uint8_t)str_lower(s.at[i])) * 16777619u;
    return hash;
}

/* ---- the builder ---- */

void str_builder_init(struct str_builder *b, char *buf, size_t cap)
{
    CHECK(cap > 0);
    *b = (struct str_builder){.at = buf, .cap = cap};
    buf[0] = '\0';
}

void str_builder_arena(struct str_builder *b, struct bt_arena *arena, size_t room)
{
    if (room == 0)
        room = 64;
    *b = (struct str_builder){.at = arena_take(arena, room), .cap = room, .arena = arena};
    b->at[0] = '\0';
}

/* Room for n more bytes and the NUL; how many of them there is room for. */
static size_t builder_room(struct str_builder *b, size_t n)
{
    size_t room = b->cap - b->len - 1;

    if (n <= room)
        return n;
    if (b->arena == NULL) {
        b->over = true;
        return room;
    }
    size_t cap = b->cap * 2 > b->len + n + 1 ? b->cap * 2 : b->len + n + 1;
    b->at = arena_more(b->arena, b->at, b->cap, cap);
    b->cap = cap;
    return n;
}

void str_add(struct str_builder *b, bt_str s)
{
    size_t n = builder_room(b, s.len);

    if (n > 0)
        memcpy(b->at + b->len, s.at, n);
    b->len += n;
    b->at[b->len] = '\0';
}

void str_add_char(struct str_builder *b, char c)
{
    str_add(b, (bt_str){&c, 1});
}

void str_add_uint(struct str_builder *b, uint64_t n)
{
    char text[20];

    str_add(b, str_span(text, str_put_uint(text, n)));
}

void str_add_int(struct str_builder *b, int64_t n)
{
    char text[21];

    str_add(b, str_span(text, str_put_int(text, n)));
}

void str_add_format(struct str_builder *b, const char *format, ...)
{
    va_list args;
    int len;
    size_t room;

    va_start(args, format);
    len = vsnprintf(b->at + b->len, b->cap - b->len, format, args);
    va_end(args);
    CHECK(len >= 0);
    room = b->cap - b->len - 1;
    if ((size_t)len > room && builder_room(b, (size_t)len) == (size_t)len) {
        va_start(args, format);
        len = vsnprintf(b->at + b->len, b->cap - b->len, format, args);
        va_end(args);
        room = (size_t)len;
    }
    b->len += (size_t)len < room ? (size_t)len : room;
}

void str_add_escaped(struct str_builder *b, bt_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];

        if (c == '"' || c == '\\') {
            str_add_char(b, '\\');
            str_add_char(b, c);
        } else if (c == '\n') {
            str_add_literal(b, "\\n");
        } else if (c == '\r') {
            str_add_literal(b, "\\r");
        } else if (c == '\t') {
            str_add_literal(b, "\\t");
        } else if ((uint8_t)c < 32 || c == 127) {
            str_add_format(b, "\\x%02x", (unsigned)(uint8_t)c);
        } else {
            str_add_char(b, c);
        }
    }
}

bt_str str_built(struct str_builder *b)
{
    return (bt_str){b->at, b->len};
}
