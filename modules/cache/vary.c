/* vary.c - which fields of the request select the response, and the key that they make.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "vary.h"

#include <string.h>

/* ---- the list of names ---- */

static int compare_nocase(bt_str a, bt_str b)
{
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        char x = fields_lower(a.at[i]), y = fields_lower(b.at[i]);

        if (x != y)
            return x < y ? -1 : 1;
    }
    return a.len == b.len ? 0 : a.len < b.len ? -1 : 1;
}

/* In its place; false: there are too many. */
static bool name_add(struct vary *v, bt_str name)
{
    unsigned i = v->n;

    while (i > 0 && compare_nocase(v->name[i - 1], name) > 0)
        i--;
    if (i > 0 && compare_nocase(v->name[i - 1], name) == 0)
        return true;
    if (v->n == VARY_NAMES)
        return false;
    memmove(&v->name[i + 1], &v->name[i], (v->n - i) * sizeof v->name[0]);
    v->name[i] = name;
    v->n++;
    return true;
}

/* false: it is as good as "*". */
static bool line_add(struct vary *v, bt_str line)
{
    bt_str member;

    while (fields_member(&line, &member)) {
        if (bt_str_eq(member, BT_STR("*")) || !fields_is_token(member))
            return false;
        /* What the origin gets there is the client's address, of which the request says nothing. */
        if (bt_str_eq_nocase(member, BT_STR("X-Forwarded-For")))
            return false;
        if (!name_add(v, member))
            return false;
    }
    return true;
}

static enum vary_is verdict(const struct vary *v)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < v->n; i++)
        bytes += v->name[i].len + 1;
    if (bytes > VARY_BYTES)
        return VARY_ANY;
    return v->n > 0 ? VARY_FIELDS : VARY_NONE;
}

enum vary_is vary_read(struct vary *v, const struct fields *reply)
{
    bt_str line;

    v->n = 0;
    for (size_t n = 0; (line = fields_get(reply, BT_STR("Vary"), n)).at != NULL; n++)
        if (!line_add(v, line))
            return VARY_ANY;
    return verdict(v);
}

enum vary_is vary_parse(struct vary *v, bt_str text)
{
    v->n = 0;
    return line_add(v, text) ? verdict(v) : VARY_ANY;
}

static char *put_lower(char *to, bt_str s)
{
    for (size_t i = 0; i < s.len; i++)
        *to++ = fields_lower(s.at[i]);
    return to;
}

bt_str vary_text(struct bt_arena *arena, const struct vary *v)
{
    size_t bytes = 0;
    char *text, *to;

    for (unsigned i = 0; i < v->n; i++)
        bytes += v->name[i].len + 1;
    text = to = bt_alloc_raw(arena, bytes + 1);
    for (unsigned i = 0; i < v->n; i++) {
        if (i > 0)
            *to++ = ',';
        to = put_lower(to, v->name[i]);
    }
    return (bt_str){text, (size_t)(to - text)};
}

/* ---- the key of a request ---- */

/* How a value may be rewritten without meaning anything else. */
enum { LIST = 1, NO_CASE = 2, NO_ORDER = 4 };

static unsigned manner_of(bt_str name)
{
    static const struct {
        bt_str name;
        unsigned manner;
    } rows[] = {
        {FIELDS_TEXT("Accept-Encoding"), LIST | NO_CASE | NO_ORDER},
        {FIELDS_TEXT("Accept-Language"), LIST | NO_CASE},
        {FIELDS_TEXT("Accept-Charset"), LIST | NO_CASE},
        {FIELDS_TEXT("User-Agent"), 0},
        {FIELDS_TEXT("Cookie"), 0},
        {FIELDS_TEXT("Authorization"), 0},
        {FIELDS_TEXT("Referer"), 0},
        {FIELDS_TEXT("Origin"), 0},
        {FIELDS_TEXT("Host"), 0},
        {FIELDS_TEXT("From"), 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (bt_str_eq_nocase(rows[i].name, name))
            return rows[i].manner;
    return LIST;
}

/* One value or one member of a list. In the texts of NO_CASE blanks mean nothing at all; a byte
 * that no field may hold cannot end the line either. */
static char *put_value(char *to, bt_str s, unsigned manner)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];

        if ((manner & NO_CASE) != 0) {
            if (c == ' ' || c == '\t')
                continue;
            c = fields_lower(c);
        }
        *to++ = (unsigned char)c < ' ' ? ' ' : c;
    }
    return to;
}

/* A list from `first` on to `to`: the member that was put last goes to its place among the
 * others. */
static void sort_last(char *first, char *last, char *to)
{
    size_t len = (size_t)(to - last);
    char *at = first;

    while (at < last) {
        char *comma = memchr(at, ',', (size_t)(last - at));
        size_t other = (size_t)(comma - at);
        int order = memcmp(at, last, other < len ? other : len);

        if (order > 0 || (order == 0 && other > len))
            break;
        at = comma + 1;
    }
    if (at == last)
        return;
    /* c,b -> bc, -> b,c */
    for (size_t i = 0; i < len; i++) {
        char c = last[i];

        memmove(at + i + 1, at + i, (size_t)(last - at));
        at[i] = c;
    }
    memmove(at + len + 1, at + len, (size_t)(to - at) - len - 1);
    at[len] = ',';
}

static char *put_list(char *to, bt_str line, unsigned manner, char *first)
{
    bt_str member;

    while (fields_member(&line, &member)) {
        char *last;

        if (to > first)
            *to++ = ',';
        last = to;
        to = put_value(to, member, manner);
        if ((manner & NO_ORDER) != 0)
            sort_last(first, last, to);
    }
    return to;
}

/* "name=value\n", or "name\n" when the request has no such field. */
static char *put_line(char *to, bt_str name, const struct fields *request)
{
    unsigned manner = manner_of(name);
    bt_str line;
    char *first;

    to = put_lower(to, name);
    if (!fields_has(request, name)) {
        *to++ = '\n';
        return to;
    }
    *to++ = '=';
    first = to;
    for (size_t n = 0; (line = fields_get(request, name, n)).at != NULL; n++) {
        if ((manner & LIST) != 0) {
            to = put_list(to, line, manner, first);
            continue;
        }
        if (n > 0)
            *to++ = ',';
        to = put_value(to, line, manner);
    }
    *to++ = '\n';
    return to;
}

bt_str vary_key(struct bt_arena *arena, const struct vary *v, const struct fields *request)
{
    size_t bytes = 1;
    bt_str line;
    char *text, *to;

    for (unsigned i = 0; i < v->n; i++) {
        bytes += v->name[i].len + 2;
        for (size_t n = 0; (line = fields_get(request, v->name[i], n)).at != NULL; n++)
            bytes += line.len + 1;
    }
    text = to = bt_alloc_raw(arena, bytes);
    for (unsigned i = 0; i < v->n; i++)
        to = put_line(to, v->name[i], request);
    return (bt_str){text, (size_t)(to - text)};
}
