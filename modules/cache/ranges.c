/* ranges.c - parts of a whole body (RFC 9110 14).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "ranges.h"

#include <string.h>

#include "headtext.h"

/* ---- what is asked for ---- */

/* Digits at the front, saturating; false: there are none. */
static bool digits_take(bt_str *rest, int64_t *out)
{
    size_t i = 0;

    for (*out = 0; i < rest->len && rest->at[i] >= '0' && rest->at[i] <= '9'; i++) {
        int64_t digit = rest->at[i] - '0';

        *out = *out > (INT64_MAX - digit) / 10 ? INT64_MAX : *out * 10 + digit;
    }
    rest->at += i;
    rest->len -= i;
    return i > 0;
}

static bool dash_take(bt_str *rest)
{
    if (rest->len == 0 || rest->at[0] != '-')
        return false;
    rest->at++;
    rest->len--;
    return true;
}

/* "0-9", "10-", "-5". false: it is none of these. out->len 0: it lies outside. */
static bool range_parse(bt_str text, int64_t length, struct range *out)
{
    int64_t first = 0, last = 0;
    bool has_first = digits_take(&text, &first), has_last;

    if (!dash_take(&text))
        return false;
    has_last = digits_take(&text, &last);
    if (text.len > 0 || (!has_first && !has_last) || (has_first && has_last && last < first))
        return false;
    if (!has_first) {
        int64_t len = last < length ? last : length;

        *out = (struct range){length - len, len};
        return true;
    }
    *out = (struct range){first, 0};
    if (first < length)
        out->len = (has_last && last < length ? last + 1 : length) - first;
    return true;
}

static bool touch(const struct range *a, const struct range *b)
{
    return a->from <= b->from + b->len && b->from <= a->from + a->len;
}

static void range_remove(struct ranges *r, unsigned i)
{
    r->n--;
    memmove(&r->at[i], &r->at[i + 1], (r->n - i) * sizeof r->at[0]);
}

/* Those that overlap or touch become one, in the place of the first of them, so that no byte is
 * ever sent twice (RFC 9110 14.2: floods of overlapping ranges). */
static void range_add(struct ranges *r, struct range range)
{
    unsigned place = r->n;

    for (unsigned i = r->n; i-- > 0;) {
        int64_t end = range.from + range.len, other = r->at[i].from + r->at[i].len;

        if (!touch(&r->at[i], &range))
            continue;
        range.from = r->at[i].from < range.from ? r->at[i].from : range.from;
        range.len = (other > end ? other : end) - range.from;
        range_remove(r, i);
        place = i < place ? i : place;
        i = r->n; /* it has grown: look at all again */
    }
    place = place < r->n ? place : r->n;
    memmove(&r->at[place + 1], &r->at[place], (r->n - place) * sizeof r->at[0]);
    r->at[place] = range;
    r->n++;
}

/* What stands behind "bytes="; NONE: another unit, or no ranges at all. */
static bt_str set_of(bt_str value)
{
    const char *equals = value.at != NULL ? memchr(value.at, '=', value.len) : NULL;
    bt_str unit = value;

    if (equals == NULL)
        return BT_STR_NONE;
    unit.len = (size_t)(equals - value.at);
    if (!bt_str_eq_nocase(fields_trim(unit), BT_STR("bytes")))
        return BT_STR_NONE;
    return (bt_str){equals + 1, value.len - unit.len - 1};
}

enum ranges_are ranges_read(struct ranges *r, bt_str value, int64_t length)
{
    bt_str set = set_of(value), member;
    unsigned members = 0;

    *r = (struct ranges){.length = length, .n = 0};
    if (set.at == NULL || length < 0)
        return RANGES_NONE;
    while (fields_member(&set, &member)) {
        struct range range;

        if (++members > RANGES_MAX || !range_parse(member, length, &range))
            return RANGES_NONE;
        if (range.len > 0)
            range_add(r, range);
    }
    if (members == 0)
        return RANGES_NONE;
    return r->n > 0 ? RANGES_SOME : RANGES_OUTSIDE;
}

/* ---- answers ---- */

enum { BOUNDARY = 16 };

static void boundary_print(char out[BOUNDARY], uint64_t n)
{
    for (size_t i = BOUNDARY; i-- > 0; n >>= 4)
        out[i] = "0123456789abcdef"[n & 15];
}

static bt_str content_range(struct bt_arena *arena, const struct range *range, int64_t length)
{
    return bt_str_printf(arena, "bytes %lld-%lld/%lld", (long long)range->from,
                         (long long)(range->from + range->len - 1), (long long)length);
}

/* The stored fields under another status, without those that say what the body is. */
static void head_begin(struct headtext_out *out, struct bt_arena *arena,
                       const struct headtext *head, bool many)
{
    bt_str name, value;
    size_t place = 0;

    headtext_begin(out, arena, 206, BT_STR(""));
    while (headtext_next(head, &place, &name, &value))
        if (!headtext_hop(name) && !bt_str_eq_nocase(name, BT_STR("Content-Range")) &&
            !(many && bt_str_eq_nocase(name, BT_STR("Content-Type"))))
            headtext_add(out, name, value);
}

static void answer_many(struct bt_arena *arena, const struct headtext *head, const struct ranges *r,
                        const char *boundary, struct ranges_body *body)
{
    bt_str type = headtext_get(head, BT_STR("Content-Type"), 0);

    for (unsigned i = 0; i < r->n; i++) {
        bt_str range = content_range(arena, &r->at[i], r->length);

        body->before[i] = bt_str_printf(
            arena, "%s--%.16s\r\n%s%.*s%sContent-Range: %.*s\r\n\r\n", i > 0 ? "\r\n" : "",
            boundary, type.len > 0 ? "Content-Type: " : "", (int)type.len,
            type.len > 0 ? type.at : "", type.len > 0 ? "\r\n" : "", BT_STR_ARGS(range));
        body->length += (int64_t)body->before[i].len + r->at[i].len;
    }
    body->after = bt_str_printf(arena, "\r\n--%.16s--\r\n", boundary);
    body->length += (int64_t)body->after.len;
}

void ranges_answer(struct bt_arena *arena, bt_str stored, const struct ranges *r, uint64_t boundary,
                   struct ranges_body *body)
{
    struct headtext head = {206, BT_STR(""), BT_STR("")};
    struct headtext_out out;
    char text[BOUNDARY];

    if (!headtext_open(&head, stored))
        head = (struct headtext){206, BT_STR(""), BT_STR("")};
    boundary_print(text, boundary);
    body->length = 0;
    body->after = BT_STR("");
    head_begin(&out, arena, &head, r->n > 1);
    if (r->n > 1) {
        headtext_add(&out, BT_STR("Content-Type"),
                     bt_str_printf(arena, "multipart/byteranges; boundary=%.16s", text));
        answer_many(arena, &head, r, text, body);
    } else {
        headtext_add(&out, BT_STR("Content-Range"), content_range(arena, &r->at[0], r->length));
        body->before[0] = BT_STR("");
        body->length = r->at[0].len;
    }
    body->head = headtext_end(&out);
}

bt_str ranges_head_416(struct bt_arena *arena, bt_str stored, int64_t length)
{
    struct headtext_out out;
    struct headtext head;
    bt_str date = BT_STR_NONE;

    if (headtext_open(&head, stored))
        date = headtext_get(&head, BT_STR("Date"), 0);
    headtext_begin(&out, arena, 416, BT_STR(""));
    if (date.at != NULL)
        headtext_add(&out, BT_STR("Date"), date);
    headtext_add(&out, BT_STR("Content-Range"),
                 bt_str_printf(arena, "bytes */%lld", (long long)length));
    return headtext_end(&out);
}
