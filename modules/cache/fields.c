/* fields.c - what the pure parts of the cache need to look at text: lists, dates, tokens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fields.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bt_str fields_trim(bt_str s)
{
    while (s.len > 0 && is_blank(s.at[0])) {
        s.at++;
        s.len--;
    }
    while (s.len > 0 && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

/* Behind the quoted string that begins at text[from]; 0: it is never closed. */
static size_t quoted_end(bt_str text, size_t from)
{
    for (size_t i = from + 1; i < text.len; i++) {
        if (text.at[i] == '\\')
            i++;
        else if (text.at[i] == '"')
            return i + 1;
    }
    return 0;
}

/* Where the member at the front ends: at a comma outside quotation marks. One that is never closed
 * is a byte like others, so that nothing hides behind it. */
static size_t member_len(bt_str text)
{
    size_t i = 0;

    while (i < text.len && text.at[i] != ',') {
        size_t end = text.at[i] == '"' ? quoted_end(text, i) : 0;

        if (end == 0 && text.at[i] == '"') {
            const char *comma = memchr(text.at + i, ',', text.len - i);

            return comma != NULL ? (size_t)(comma - text.at) : text.len;
        }
        i = end != 0 ? end : i + 1;
    }
    return i;
}

bool fields_member(bt_str *rest, bt_str *member)
{
    while (rest->len > 0) {
        size_t len = member_len(*rest);
        size_t taken = len < rest->len ? len + 1 : len;

        *member = fields_trim((bt_str){rest->at, len});
        rest->at += taken;
        rest->len -= taken;
        if (member->len > 0)
            return true;
    }
    return false;
}

bool fields_date(bt_str text, int64_t now_ms, int64_t *seconds)
{
    return text.at != NULL && bt_date_parse(text, now_ms / 1000, seconds);
}

char fields_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool fields_is_token(bt_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.at[i];
        bool alnum = (c >= '0' && c <= '9') || (fields_lower(c) >= 'a' && fields_lower(c) <= 'z');

        if (!alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return s.len > 0;
}
