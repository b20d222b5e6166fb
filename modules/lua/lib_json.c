/* lib_json.c - bt.json and bt.unjson: values of Lua to JSON and back (RFC 8259).
 *
 * A table with the keys 1 to n is an array, any other an object, also an empty one. What does not parse is
 * told with its place, and never partly taken: a name twice in one object is a fault, as others might
 * read the other one; so are texts that are no UTF-8.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

enum { DEPTH_MAX = 64, BYTES_MAX = 4 * 1024 * 1024 };

/* ---- to JSON ---- */

/* The text so far stands in a userdata at `slot` of the stack. */
struct out {
    lua_State *L;
    int slot, depth;
    char *at;
    size_t len, cap;
};

static void put(struct out *out, const char *at, size_t n)
{
    if (out->len + n > BYTES_MAX)
        luaL_error(out->L, "bt.json: more than %d bytes", BYTES_MAX);
    if (out->len + n > out->cap) {
        size_t cap = 2 * out->cap + n;
        char *more = lua_newuserdatauv(out->L, cap, 0);
        if (out->len > 0)
            memcpy(more, out->at, out->len);
        lua_replace(out->L, out->slot);
        out->at = more;
        out->cap = cap;
    }
    if (n > 0)
        memcpy(out->at + out->len, at, n);
    out->len += n;
}

static void put_text(struct out *out, int at)
{
    static const char hex[] = "0123456789abcdef";
    size_t len, from = 0;
    const char *text = lua_tolstring(out->L, at, &len);

    guard_charge(out->L, len / 8);
    put(out, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        const char code[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        const char mark[] = {'\\', (char)c};
        if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f)
            continue;
        put(out, text + from, i - from);
        from = i + 1;
        if (c == '"' || c == '\\')
            put(out, mark, sizeof mark);
        else
            put(out, code, sizeof code);
    }
    put(out, text + from, len - from);
    put(out, "\"", 1);
}

static void put_number(struct out *out, int at)
{
    lua_Number number = lua_tonumber(out->L, at);
    char text[40];
    int n;

    if (lua_isinteger(out->L, at))
        n = snprintf(text, sizeof text, "%lld", (long long)lua_tointeger(out->L, at));
    else if (isfinite(number))
        n = snprintf(text, sizeof text, "%.17g", number);
    else
        n = luaL_error(out->L, "bt.json: JSON has no infinity, and nothing that is not a number");
    put(out, text, (size_t)n);
}

static void put_value(struct out *out, int at);

static void put_array(struct out *out, int at, lua_Integer n)
{
    put(out, "[", 1);
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1)
            put(out, ",", 1);
        if (lua_rawgeti(out->L, at, i) == LUA_TNIL)
            luaL_error(out->L, "bt.json: a table has a key %d beside others", (int)n);
        put_value(out, lua_gettop(out->L));
        lua_pop(out->L, 1);
    }
    put(out, "]", 1);
}

static void put_object(struct out *out, int at)
{
    bool first = true;

    put(out, "{", 1);
    lua_pushnil(out->L);
    while (lua_next(out->L, at) != 0) {
        int value = lua_gettop(out->L);
        if (lua_type(out->L, value - 1) != LUA_TSTRING)
            luaL_error(out->L, "bt.json: the names in an object must be texts, not %s",
                       luaL_typename(out->L, value - 1));
        if (!first)
            put(out, ",", 1);
        first = false;
        put_text(out, value - 1);
        put(out, ":", 1);
        put_value(out, value);
        lua_pop(out->L, 1);
    }
    put(out, "}", 1);
}

static void put_table(struct out *out, int at)
{
    lua_Integer n = (lua_Integer)lua_rawlen(out->L, at), keys = 0;

    if (++out->depth > DEPTH_MAX)
        luaL_error(out->L, "bt.json: more than %d tables within each other", DEPTH_MAX);
    luaL_checkstack(out->L, 8, "bt.json");
    guard_charge(out->L, (size_t)n + 8);
    if (n == 0) {
        put_object(out, at);
    } else {
        for (lua_pushnil(out->L); lua_next(out->L, at) != 0; lua_pop(out->L, 1))
            keys++;
        if (keys != n)
            luaL_error(out->L, "bt.json: a table has keys from 1 to %d, and others, too", (int)n);
        put_array(out, at, n);
    }
    out->depth--;
}

static void put_value(struct out *out, int at)
{
    switch (lua_type(out->L, at)) {
    case LUA_TBOOLEAN:
        put(out, lua_toboolean(out->L, at) ? "true" : "false", lua_toboolean(out->L, at) ? 4 : 5);
        break;
    case LUA_TNUMBER:
        put_number(out, at);
        break;
    case LUA_TSTRING:
        put_text(out, at);
        break;
    case LUA_TTABLE:
        put_table(out, at);
        break;
    case LUA_TNIL:
        put(out, "null", 4);
        break;
    default:
        luaL_error(out->L, "bt.json: a %s has no place in JSON", luaL_typename(out->L, at));
    }
}

static int lua_json(lua_State *L)
{
    struct out out = {.L = L, .slot = 2};

    luaL_checkany(L, 1);
    lua_settop(L, 1);
    lua_pushnil(L); /* the slot */
    put_value(&out, 1);
    lua_pushlstring(L, out.at, out.len);
    return 1;
}

/* ---- from JSON ---- */

struct in {
    lua_State *L;
    const char *from, *at, *end;
    int depth;
    const char *why; /* NULL: no fault so far */
};

/* Always false. */
static bool fault(struct in *in, const char *why)
{
    if (in->why == NULL)
        in->why = why;
    return false;
}

static void skip_blanks(struct in *in)
{
    while (in->at < in->end &&
           (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
        in->at++;
}

static bool take(struct in *in, char c)
{
    skip_blanks(in);
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool digits(struct in *in)
{
    const char *from = in->at;

    while (in->at < in->end && *in->at >= '0' && *in->at <= '9')
        in->at++;
    return in->at > from;
}

static bool number(struct in *in)
{
    const char *from = in->at, *whole;
    bool integer = true, good;
    char text[320];

    in->at += *in->at == '-';
    whole = in->at;
    good = digits(in) && (*whole != '0' || in->at == whole + 1);
    if (good && in->at < in->end && *in->at == '.') {
        integer = false;
        in->at++;
        good = digits(in);
    }
    if (good && in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
        integer = false;
        in->at++;
        in->at += in->at < in->end && (*in->at == '+' || *in->at == '-');
        good = digits(in);
    }
    if (!good || (size_t)(in->at - from) >= sizeof text)
        return fault(in, "a number that is none");
    memcpy(text, from, (size_t)(in->at - from));
    text[in->at - from] = '\0';
    /* An integer that is too large becomes a float, as in a script. */
    if (lua_stringtonumber(in->L, text) == 0)
        return fault(in, "a number that is none");
    if (!integer && !isfinite(lua_tonumber(in->L, -1)))
        return fault(in, "a number that is too large");
    return true;
}

/* Four hexadecimal digits. */
static bool unit(struct in *in, unsigned *code)
{
    *code = 0;
    if (in->end - in->at < 4)
        return fault(in, "an escape that is not whole");
    for (int i = 0; i < 4; i++) {
        char c = *in->at++, low = (char)(c | 32);
        bool letter = low >= 'a' && low <= 'f';
        if (!letter && (c < '0' || c > '9'))
            return fault(in, "an escape that is none");
        *code = *code << 4 | (unsigned)(letter ? low - 'a' + 10 : c - '0');
    }
    return true;
}

/* After "\u"; two of them for what is beyond 16 bits. */
static bool escape_code(struct in *in, luaL_Buffer *out)
{
    unsigned code, low;

    if (!unit(in, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (in->end - in->at < 2 || in->at[0] != '\\' || in->at[1] != 'u')
            return fault(in, "half of a pair of escapes");
        in->at += 2;
        if (!unit(in, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return fault(in, "half of a pair of escapes");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fault(in, "half of a pair of escapes");
    }
    if (code >= 0x10000) {
        luaL_addchar(out, (char)(0xf0 | code >> 18));
        luaL_addchar(out, (char)(0x80 | (code >> 12 & 63)));
    } else if (code >= 0x800) {
        luaL_addchar(out, (char)(0xe0 | code >> 12));
    }
    if (code >= 0x800)
        luaL_addchar(out, (char)(0x80 | (code >> 6 & 63)));
    else if (code >= 0x80)
        luaL_addchar(out, (char)(0xc0 | code >> 6));
    luaL_addchar(out, (char)(code < 0x80 ? code : 0x80 | (code & 63)));
    return true;
}

static bool escape(struct in *in, luaL_Buffer *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (in->at == in->end)
        return fault(in, "a text without an end");
    if (*in->at == 'u') {
        in->at++;
        return escape_code(in, out);
    }
    found = *in->at != '\0' ? strchr(from, *in->at) : NULL;
    if (found == NULL)
        return fault(in, "an escape that is none");
    luaL_addchar(out, to[found - from]);
    in->at++;
    return true;
}

/* Bytes of the character that begins there (RFC 3629); 0: it is none. */
static size_t utf8(const unsigned char *at, const char *end)
{
    size_t left = (size_t)((const unsigned char *)end - at), n;
    unsigned char c = *at, least = 0x80, most = 0xbf;

    if (c < 0x80)
        return 1;
    n = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (n == 0 || left < n)
        return 0;
    if (c == 0xe0 || c == 0xf0)
        least = c == 0xe0 ? 0xa0 : 0x90;
    else if (c == 0xed || c == 0xf4)
        most = c == 0xed ? 0x9f : 0x8f;
    if (at[1] < least || at[1] > most)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* After the quote. */
static bool text(struct in *in)
{
    luaL_Buffer out;
    bool good = true;

    luaL_buffinit(in->L, &out);
    while (good && in->at < in->end && *in->at != '"') {
        const char *from = in->at;
        size_t n = 1;
        while (n > 0 && in->at < in->end && *in->at != '"' && *in->at != '\\' &&
               (unsigned char)*in->at >= ' ') {
            n = utf8((const unsigned char *)in->at, in->end);
            in->at += n;
        }
        luaL_addlstring(&out, from, (size_t)(in->at - from));
        if (n == 0)
            good = fault(in, "a text that is no UTF-8");
        else if (in->at < in->end && *in->at == '\\') {
            in->at++;
            good = escape(in, &out);
        } else if (in->at < in->end && *in->at != '"') {
            good = fault(in, "a control character in a text");
        }
    }
    luaL_pushresult(&out);
    if (!good || in->at == in->end)
        return fault(in, "a text without an end");
    in->at++;
    return true;
}

static bool value(struct in *in);

static bool array(struct in *in)
{
    lua_newtable(in->L);
    if (take(in, ']'))
        return true;
    for (lua_Integer i = 1; value(in); i++) {
        if (lua_isnil(in->L, -1)) {
            lua_pop(in->L, 1);
            lua_pushboolean(in->L, 0); /* else those behind it would be lost */
        }
        lua_rawseti(in->L, -2, i);
        if (take(in, ']'))
            return true;
        if (!take(in, ','))
            return fault(in, "neither , nor ] after an element");
    }
    return false;
}

static bool object(struct in *in)
{
    lua_newtable(in->L);
    if (take(in, '}'))
        return true;
    while (take(in, '"')) {
        if (!text(in))
            return false;
        lua_pushvalue(in->L, -1);
        if (lua_rawget(in->L, -3) != LUA_TNIL)
            return fault(in, "a name twice in one object");
        lua_pop(in->L, 1);
        if (!take(in, ':'))
            return fault(in, "no : after a name");
        if (!value(in))
            return false;
        lua_rawset(in->L, -3);
        if (take(in, '}'))
            return true;
        if (!take(in, ','))
            return fault(in, "neither , nor } after a value");
    }
    return fault(in, "no name in an object");
}

static bool word(struct in *in, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(in->end - in->at) < n || memcmp(in->at, word, n) != 0)
        return fault(in, "a word that is none");
    in->at += n;
    return true;
}

/* Pushes it, when it is one. */
static bool value(struct in *in)
{
    bool good;
    char c;

    skip_blanks(in);
    if (in->at == in->end)
        return fault(in, "no value");
    luaL_checkstack(in->L, 8, "bt.unjson");
    guard_charge(in->L, 4);
    c = *in->at;
    if (c == '{' || c == '[') {
        in->at++;
        if (++in->depth > DEPTH_MAX)
            return fault(in, "too much within each other");
        good = c == '{' ? object(in) : array(in);
        in->depth--;
        return good;
    }
    if (c == '"') {
        in->at++;
        return text(in);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return number(in);
    if (c == 'n') {
        lua_pushnil(in->L);
        return word(in, "null");
    }
    lua_pushboolean(in->L, c == 't');
    return word(in, c == 't' ? "true" : "false");
}

static int lua_unjson(lua_State *L)
{
    struct in in = {.L = L};
    size_t len;

    in.from = in.at = luaL_checklstring(L, 1, &len);
    in.end = in.from + len;
    guard_charge(L, len / 4);
    lua_settop(L, 1);
    if (value(&in)) {
        skip_blanks(&in);
        if (in.at == in.end)
            return 1;
        (void)fault(&in, "something behind the value");
    }
    lua_pushnil(L);
    lua_pushfstring(L, "%s (byte %d)", in.why, (int)(in.at - in.from) + 1);
    return 2;
}

static const struct binding rows[] = {
    {"json", IN_ANY, "bt.json(value) -> text",
     "In JSON. A table with the keys 1 to n is an array; others are objects, also an empty one. 4 MB at "
     "most.",
     "assert(bt.json({1, \"a\", true}) == '[1,\"a\",true]')", lua_json},
    {"unjson", IN_ANY, "bt.unjson(text) -> value",
     "Out of JSON; nil and what is wrong, when it is none. null is nil: it is not there in an object, and "
     "false in an array. A name twice in one object is a fault.",
     "assert(bt.unjson('{\"a\": [1, 2]}').a[2] == 2)", lua_unjson},
};
const struct library library_json = {"bt", "JSON.", rows, sizeof rows / sizeof *rows};
