/* dictionary.c - dictionaries of structured fields (RFC 9651 3.2), for targeted cache control.
 *
 * A descent without recursion: inner lists hold bare items only. Each function takes what it reads
 * off the front of *rest, and says whether it was there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "dictionary.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static char front(const bt_str *rest)
{
    return rest->len > 0 ? rest->at[0] : '\0';
}

static void pass(bt_str *rest, size_t n)
{
    rest->at += n;
    rest->len -= n;
}

static bool take(bt_str *rest, char c)
{
    if (rest->len == 0 || rest->at[0] != c)
        return false;
    pass(rest, 1);
    return true;
}

static void skip_blanks(bt_str *rest, bool tabs)
{
    while (front(rest) == ' ' || (tabs && front(rest) == '\t'))
        pass(rest, 1);
}

static bool take_key(bt_str *rest, bt_str *key)
{
    size_t n = 0;

    if (!is_lower(front(rest)) && front(rest) != '*')
        return false;
    while (n < rest->len && rest->at[n] != '\0' &&
           (is_lower(rest->at[n]) || is_digit(rest->at[n]) || strchr("_-.*", rest->at[n]) != NULL))
        n++;
    *key = (bt_str){rest->at, n};
    pass(rest, n);
    return true;
}

/* Integer or decimal. */
static bool take_number(bt_str *rest, struct dictionary_value *out)
{
    enum { DIGITS = 15, BEFORE_POINT = 12, AFTER_POINT = 3 };
    bool minus = take(rest, '-');
    size_t whole = 0, fraction = 0;

    for (out->integer = 0; is_digit(front(rest)); whole++) {
        if (whole == DIGITS)
            return false;
        out->integer = out->integer * 10 + (front(rest) - '0');
        pass(rest, 1);
    }
    out->integer = minus ? -out->integer : out->integer;
    out->type = DICTIONARY_INTEGER;
    if (whole == 0 || !take(rest, '.'))
        return whole > 0;
    out->type = DICTIONARY_OTHER;
    for (; is_digit(front(rest)); fraction++)
        pass(rest, 1);
    return whole <= BEFORE_POINT && fraction >= 1 && fraction <= AFTER_POINT;
}

static bool take_string(bt_str *rest, struct dictionary_value *out)
{
    pass(rest, 1);
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->at[i];

        if (c == '"') {
            *out = (struct dictionary_value){DICTIONARY_STRING, 0, {rest->at, i}};
            pass(rest, i + 1);
            return true;
        }
        if (c == '\\' && (++i == rest->len || (rest->at[i] != '"' && rest->at[i] != '\\')))
            return false;
        if (c < ' ' || c > '~')
            return false;
    }
    return false;
}

static bool take_token(bt_str *rest)
{
    size_t n = 1;

    while (n < rest->len && rest->at[n] != '\0' &&
           (is_alpha(rest->at[n]) || is_digit(rest->at[n]) ||
            strchr("!#$%&'*+-.^_`|~:/", rest->at[n]) != NULL))
        n++;
    pass(rest, n);
    return true;
}

static bool take_bytes(bt_str *rest)
{
    pass(rest, 1);
    while (is_alpha(front(rest)) || is_digit(front(rest)) || front(rest) == '+' ||
           front(rest) == '/' || front(rest) == '=')
        pass(rest, 1);
    return take(rest, ':');
}

/* ?1, ?0 */
static bool take_boolean(bt_str *rest, struct dictionary_value *out)
{
    char c;

    pass(rest, 1);
    c = front(rest);
    out->type = c == '1' ? DICTIONARY_TRUE : DICTIONARY_FALSE;
    return take(rest, '1') || take(rest, '0');
}

/* %"..." with %xx; whether that is UTF-8 is not looked at. */
static bool take_display(bt_str *rest)
{
    pass(rest, 1);
    if (!take(rest, '"'))
        return false;
    while (rest->len > 0 && front(rest) >= ' ' && front(rest) <= '~') {
        if (take(rest, '"'))
            return true;
        if (front(rest) == '%') {
            for (size_t i = 1; i <= 2; i++)
                if (rest->len <= i ||
                    (!is_digit(rest->at[i]) && (rest->at[i] < 'a' || rest->at[i] > 'f')))
                    return false;
        }
        pass(rest, 1);
    }
    return false;
}

static bool take_date(bt_str *rest)
{
    struct dictionary_value value;

    pass(rest, 1);
    return take_number(rest, &value) && value.type == DICTIONARY_INTEGER;
}

static bool take_bare(bt_str *rest, struct dictionary_value *out)
{
    char c = front(rest);

    *out = (struct dictionary_value){DICTIONARY_OTHER, 0, BT_STR_NONE};
    if (c == '-' || is_digit(c))
        return take_number(rest, out);
    if (c == '"')
        return take_string(rest, out);
    if (c == '*' || is_alpha(c))
        return take_token(rest);
    if (c == ':')
        return take_bytes(rest);
    if (c == '?')
        return take_boolean(rest, out);
    if (c == '%')
        return take_display(rest);
    return c == '@' && take_date(rest);
}

static bool take_parameters(bt_str *rest)
{
    struct dictionary_value value;
    bt_str key;

    while (take(rest, ';')) {
        skip_blanks(rest, false);
        if (!take_key(rest, &key))
            return false;
        if (take(rest, '=') && !take_bare(rest, &value))
            return false;
    }
    return true;
}

static bool take_inner_list(bt_str *rest)
{
    struct dictionary_value value;

    pass(rest, 1);
    for (;;) {
        skip_blanks(rest, false);
        if (take(rest, ')'))
            return true;
        if (!take_bare(rest, &value) || !take_parameters(rest))
            return false;
        if (front(rest) != ' ' && front(rest) != ')')
            return false;
    }
}

static bool take_value(bt_str *rest, struct dictionary_value *out)
{
    *out = (struct dictionary_value){DICTIONARY_TRUE, 0, BT_STR_NONE};
    if (!take(rest, '='))
        return true;
    if (front(rest) != '(')
        return take_bare(rest, out);
    out->type = DICTIONARY_OTHER;
    return take_inner_list(rest);
}

int dictionary_next(bt_str *rest, bt_str *key, struct dictionary_value *value)
{
    skip_blanks(rest, true);
    if (rest->len == 0)
        return 0;
    if (!take_key(rest, key) || !take_value(rest, value) || !take_parameters(rest))
        return -1;
    skip_blanks(rest, true);
    if (rest->len == 0)
        return 1;
    if (!take(rest, ','))
        return -1;
    skip_blanks(rest, true);
    return rest->len > 0 ? 1 : -1; /* a comma at the end is an error */
}
