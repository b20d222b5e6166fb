/* reply.c - the answer of a helper.
 *
 *   OK user=joe message="not \"now\"" tag=a%20b      and whatever else is free text
 *
 * A line that does not begin with a known word is free text as a whole. Of the old forms, AF, NA and
 * TT with a bare token become what their successors would say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/reply.h"

#include "base/str.h"

struct cursor {
    char *at, *end;
};

static void blanks_skip(struct cursor *c)
{
    while (c->at < c->end && str_is(*c->at, STR_BLANK))
        c->at++;
}

static bt_str rest_of(const struct cursor *c)
{
    return str_trim_space(str_span(c->at, c->end));
}

/* Up to the next blank. */
static bt_str word_take(struct cursor *c)
{
    char *from = c->at;

    while (c->at < c->end && !str_is(*c->at, STR_BLANK))
        c->at++;
    bt_str word = str_span(from, c->at);
    blanks_skip(c);
    return word;
}

static bool is_key(char c)
{
    return str_is(c, STR_ALPHA | STR_DIGIT) || c == '-' || c == '_';
}

/* Behind the opening quote; a quote that is never closed lasts to the end. */
static bt_str quoted_take(struct cursor *c)
{
    char *from = c->at, *to = c->at;

    while (c->at < c->end && *c->at != '"') {
        char byte = *c->at++;
        if (byte == '\\' && c->at < c->end) {
            byte = *c->at++;
            byte = byte == 'r' ? '\r' : byte == 'n' ? '\n' : byte;
        }
        *to++ = byte;
    }
    if (c->at < c->end)
        c->at++;
    return str_span(from, to);
}

/* A sign without two digits behind it stands for itself. */
static bt_str token_take(struct cursor *c)
{
    char *from = c->at, *to = c->at;

    while (c->at < c->end && !str_is(*c->at, STR_BLANK)) {
        char byte = *c->at++;
        if (byte == '%' && c->end - c->at >= 2 && str_is(c->at[0], STR_HEX) &&
            str_is(c->at[1], STR_HEX)) {
            byte = (char)(str_hex_digit(c->at[0]) * 16 + str_hex_digit(c->at[1]));
            c->at += 2;
        }
        *to++ = byte;
    }
    return str_span(from, to);
}

static bool pair_take(struct cursor *c, struct bt_helper_pair *pair)
{
    char *from = c->at, *to = c->at;

    while (to < c->end && is_key(*to))
        to++;
    if (to == from || to == c->end || *to != '=')
        return false;
    pair->key = str_span(from, to);
    c->at = to + 1;
    if (c->at < c->end && *c->at == '"') {
        c->at++;
        pair->value = quoted_take(c);
    } else {
        pair->value = token_take(c);
    }
    blanks_skip(c);
    return true;
}

static void pairs_take(struct reply *out, struct cursor *c)
{
    while (out->said.n < REPLY_PAIRS && pair_take(c, &out->pair[out->said.n]))
        out->said.n++;
}

static void pair_add(struct reply *out, const char *key, bt_str value)
{
    if (out->said.n < REPLY_PAIRS)
        out->pair[out->said.n++] = (struct bt_helper_pair){str_from(key), value};
}

/* NA and BH may explain themselves without a key. */
static void message_take(struct reply *out, struct cursor *c)
{
    pairs_take(out, c);
    bt_str text = rest_of(c);
    if (text.len > 0 && bt_helper_value(&out->said, "message").at == NULL)
        pair_add(out, "message", text);
}

/* A bare token of base64 may well look like a pair: "YII=". */
static void challenge_take(struct reply *out, struct cursor *c)
{
    if (str_starts(str_span(c->at, c->end), BT_STR("token="))) {
        pairs_take(out, c);
        return;
    }
    bt_str token = word_take(c);
    if (token.len > 0)
        pair_add(out, "token", token);
    pairs_take(out, c);
}

/* AF TOKEN USER of Negotiate, AF USER of NTLM. */
static void accepted_take(struct reply *out, struct cursor *c)
{
    if (str_starts(str_span(c->at, c->end), BT_STR("token=")) ||
        str_starts(str_span(c->at, c->end), BT_STR("user="))) {
        pairs_take(out, c);
        return;
    }
    bt_str first = word_take(c), user = rest_of(c);
    if (user.len > 0)
        pair_add(out, "token", first);
    pair_add(out, "user", user.len > 0 ? user : first);
    c->at = c->end;
}

static const struct form {
    const char *word;
    enum bt_helper_result result;
    void (*take)(struct reply *, struct cursor *);
} forms[] = {
    {"OK", BT_HELPER_OK, pairs_take},    {"ERR", BT_HELPER_ERR, pairs_take},
    {"BH", BT_HELPER_BH, message_take},  {"TT", BT_HELPER_TT, challenge_take},
    {"AF", BT_HELPER_OK, accepted_take}, {"NA", BT_HELPER_ERR, message_take},
};

void reply_parse(struct reply *out, char *line, size_t len)
{
    struct cursor c = {line, line + len};

    out->said = (struct bt_helper_reply){.result = BT_HELPER_TEXT, .pair = out->pair};
    if (len > 0 && line[len - 1] == '\r')
        c.end--;
    bt_str whole = rest_of(&c), word = word_take(&c);
    if (whole.len == 0) {
        out->said.result = BT_HELPER_ERR;
        out->said.text = BT_STR("");
        return;
    }
    out->said.text = whole;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (bt_str_eq(word, str_from(forms[i].word))) {
            out->said.result = forms[i].result;
            forms[i].take(out, &c);
            out->said.text = rest_of(&c);
            return;
        }
}

bool reply_channel(char **line, size_t *len, uint64_t *channel)
{
    size_t n = 0;

    while (n < *len && str_is((*line)[n], STR_DIGIT))
        n++;
    if (n == 0 || n > 10 || (n < *len && !str_is((*line)[n], STR_BLANK) && (*line)[n] != '\r'))
        return false;
    if (!str_uint((bt_str){*line, n}, UINT32_MAX, channel))
        return false;
    if (n < *len)
        n++;
    *line += n;
    *len -= n;
    return true;
}

bt_str bt_helper_value(const struct bt_helper_reply *reply, const char *key)
{
    for (size_t i = 0; i < reply->n; i++)
        if (bt_str_eq(reply->pair[i].key, str_from(key)))
            return reply->pair[i].value;
    return BT_STR_NONE;
}

bt_str bt_helper_word(struct bt_arena *arena, bt_str text, bool percent)
{
    static const char unsafe[] = "<>\"#{}|\\^~[]`'";
    static const char hex[] = "0123456789ABCDEF";

    if (text.len == 0)
        return BT_STR("-");
    char *out = bt_alloc_raw(arena, text.len * 3 + 1), *to = out;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= ' ' || c >= 127 || strchr(unsafe, c) != NULL || (c == '%' && percent)) {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        } else {
            *to++ = (char)c;
        }
    }
    *to = '\0';
    return str_span(out, to);
}

const struct bt_helper_reply *bt_helper_reply_of(struct bt_arena *arena, bt_str line)
{
    struct reply *reply = bt_alloc(arena, sizeof *reply);

    reply_parse(reply, (char *)(uintptr_t)bt_str_copy(arena, line).at, line.len);
    return &reply->said;
}
