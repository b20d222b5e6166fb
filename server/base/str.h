/* str.h - text as slices: compare, trim, split, search, read numbers; and the string builder.
 *
 * All of it is ASCII whatever the locale, counts bytes, and takes any byte, NUL too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <string.h>

#include "bt_mem.h"

/* Character classes, by table. Names: STR_ALPHA | STR_DIGIT ... */
enum {
    STR_ALPHA = 1,
    STR_DIGIT = 2,
    STR_HEX = 4,
    STR_BLANK = 8,  /* space, tab */
    STR_SPACE = 16, /* and \r \n \v \f */
    STR_PRINT = 32, /* 32-126 */
    STR_TOKEN = 64  /* tchar of RFC 9110 section 5.6.2 */
};
extern const uint8_t str_class[256];
extern const uint8_t str_lower_table[256];
static inline bool str_is(char c, unsigned classes)
{
    return (str_class[(uint8_t)c] & classes) != 0;
}
static inline char str_lower(char c)
{
    return (char)str_lower_table[(uint8_t)c];
}

/* From text ended by NUL (NULL gives BT_STR_NONE), from two ends. */
bt_str str_from(const char *text);
static inline bt_str str_span(const char *from, const char *to)
{
    return (bt_str){from, (size_t)(to - from)};
}
static inline bool str_empty(bt_str s)
{
    return s.len == 0;
}
/* Equal to a literal: `str_is_literal(s, "on")`. */
#define str_eq_literal(s, literal)                                                                 \
    ((s).len == sizeof(literal) - 1 && memcmp((s).at, "" literal, sizeof(literal) - 1) == 0)
#define str_eq_literal_nocase(s, literal) bt_str_eq_nocase((s), BT_STR(literal))

/* <0, 0, >0 as memcmp; a prefix sorts before the longer text. */
int str_compare(bt_str a, bt_str b);
int str_compare_nocase(bt_str a, bt_str b);
bool str_starts(bt_str s, bt_str prefix);
bool str_starts_nocase(bt_str s, bt_str prefix);
bool str_ends(bt_str s, bt_str suffix);
bool str_ends_nocase(bt_str s, bt_str suffix);

/* Place of the first/last byte or text; -1: not there. */
ptrdiff_t str_find_char(bt_str s, char c);
ptrdiff_t str_rfind_char(bt_str s, char c);
ptrdiff_t str_find(bt_str s, bt_str what);
ptrdiff_t str_find_nocase(bt_str s, bt_str what);
/* Place of the first byte of one of the classes; -1: none. */
ptrdiff_t str_find_class(bt_str s, unsigned classes);
/* Every byte is in one of the classes (true for empty text). */
bool str_all(bt_str s, unsigned classes);

/* From..to, both clamped to the text. */
bt_str str_slice(bt_str s, size_t from, size_t to);
bt_str str_skip(bt_str s, size_t n);
/* Without blanks (space, tab) or without all white space at both ends. */
bt_str str_trim(bt_str s);
bt_str str_trim_space(bt_str s);

/* Take what stands before `sep` off the front of *rest, into *part; *rest goes on after it, and
 * becomes BT_STR_NONE after the last part. false when *rest is BT_STR_NONE. `a,,b` has an empty
 * part. */
bool str_cut(bt_str *rest, char sep, bt_str *part) BT_MUST;
/* The next word between blanks; false when there is none. */
bool str_word(bt_str *rest, bt_str *word) BT_MUST;
/* Split at the first/last `sep`: false, and *before = s, *after = NONE, when there is none. */
bool str_split(bt_str s, char sep, bt_str *before, bt_str *after);
bool str_rsplit(bt_str s, char sep, bt_str *before, bt_str *after);

/* The whole text as a number: digits only (str_int: one leading '-' too). false: not a number, or
 * out of range. `base` of str_uint_base: 8, 10 or 16, without prefix. */
bool str_uint(bt_str s, uint64_t max, uint64_t *out) BT_MUST;
bool str_uint_base(bt_str s, unsigned base, uint64_t max, uint64_t *out) BT_MUST;
bool str_int(bt_str s, int64_t min, int64_t max, int64_t *out) BT_MUST;
int str_hex_digit(char c); /* -1: none */

/* Decimal digits of `n` at `at` (20 bytes are always enough), the end back. No NUL. */
char *str_put_uint(char *at, uint64_t n);
char *str_put_int(char *at, int64_t n); /* 21 bytes */

/* In the arena, lower case, ended by NUL. */
bt_str str_lower_copy(struct bt_arena *, bt_str s);
void str_lower_in_place(char *at, size_t len);

/* FNV-1a of the lower-case text: for tables of names that we choose ourselves, never for input. */
uint32_t str_hash_nocase(bt_str s);

/* ---- the builder: text that grows, in the caller's buffer or in an arena ----
 *
 * Over a buffer, what does not fit is left out and `over` says so; over an arena it never is. */

struct str_builder {
    char *at;
    size_t len, cap;
    bool over;
    struct bt_arena *arena; /* NULL: the caller's buffer */
};

/* `cap` bytes at `buf`, of which one is kept for a NUL that is always there. */
void str_builder_init(struct str_builder *, char *buf, size_t cap);
/* Grows in the arena, `room` bytes at first. */
void str_builder_arena(struct str_builder *, struct bt_arena *, size_t room);
void str_add(struct str_builder *, bt_str s);
void str_add_char(struct str_builder *, char c);
void str_add_uint(struct str_builder *, uint64_t n);
void str_add_int(struct str_builder *, int64_t n);
void str_add_format(struct str_builder *, const char *format, ...) BT_PRINTF(2, 3);
/* With control bytes, quotes and backslashes as \n, \", \\, \x1f: for messages about input. */
void str_add_escaped(struct str_builder *, bt_str s);
/* What is built so far, ended by NUL. Valid until the next addition. */
bt_str str_built(struct str_builder *);
#define str_add_literal(builder, literal) str_add((builder), BT_STR(literal))

#endif
