/* lib_text.c - what scripts do with text: bt.base64, bt.sha256, bt.hmac, bt.same, bt.regex, bt.time, bt.date,
 * bt.geo.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/socket.h>

#include "sha256.h"
#include "state.h"

static bt_str text_arg(lua_State *L, int at)
{
    bt_str text;

    text.at = luaL_checklstring(L, at, &text.len);
    guard_charge(L, text.len / 16);
    return text;
}

/* ---- base64 (RFC 4648) ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static char digit(unsigned value, bool url)
{
    if (value < 62)
        return alphabet[value];
    return value == 62 ? (url ? '-' : '+') : (url ? '_' : '/');
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static int lua_base64(lua_State *L)
{
    bt_str text = text_arg(L, 1);
    bool url = lua_toboolean(L, 2);
    luaL_Buffer buffer;
    char *out = luaL_buffinitsize(L, &buffer, text.len / 3 * 4 + 4), *at = out;

    for (size_t i = 0; i < text.len; i += 3) {
        size_t n = text.len - i < 3 ? text.len - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (uint8_t)text.at[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            if (k <= n)
                *at++ = digit(bits >> (18 - 6 * k) & 63, url);
            else if (!url)
                *at++ = '=';
    }
    luaL_pushresultsize(&buffer, (size_t)(at - out));
    return 1;
}

/* Either alphabet, with or without = at the end. */
static int lua_unbase64(lua_State *L)
{
    bt_str text = text_arg(L, 1);
    luaL_Buffer buffer;
    char *out, *at;
    uint32_t bits = 0;
    size_t n = text.len;

    while (n > 0 && text.len - n < 2 && text.at[n - 1] == '=')
        n--;
    out = at = luaL_buffinitsize(L, &buffer, n / 4 * 3 + 3);
    bool good = n % 4 != 1 && (n == text.len || text.len % 4 == 0);
    for (size_t i = 0; i < n && good; i++) {
        int value = value_of(text.at[i]);
        good = value >= 0;
        bits = bits << 6 | ((uint32_t)value & 63);
        if (i % 4 != 0)
            *at++ = (char)(bits >> (6 - i % 4 * 2) & 0xff);
    }
    if (n % 4 != 0 && (bits & (n % 4 == 2 ? 15u : 3u)) != 0)
        good = false; /* bits that mean nothing are a second spelling */
    luaL_pushresultsize(&buffer, (size_t)(at - out));
    if (!good)
        lua_pushnil(L);
    return 1;
}

/* ---- digests ---- */

static int push_digest(lua_State *L, const uint8_t digest[SHA256_BYTES], bool raw)
{
    char hex[2 * SHA256_BYTES];

    if (raw) {
        lua_pushlstring(L, (const char *)digest, SHA256_BYTES);
        return 1;
    }
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    lua_pushlstring(L, hex, sizeof hex);
    return 1;
}

static int lua_sha256(lua_State *L)
{
    bt_str text = text_arg(L, 1);
    uint8_t digest[SHA256_BYTES];
    struct sha256 sha;

    enum { PIECE = 65536 };

    sha256_init(&sha);
    for (size_t at = 0; at < text.len; at += PIECE) {
        size_t n = text.len - at < PIECE ? text.len - at : PIECE;
        guard_charge(L, n); /* it takes longer than most */
        sha256_add(&sha, text.at + at, n);
    }
    sha256_end(&sha, digest);
    return push_digest(L, digest, lua_toboolean(L, 2));
}

static int lua_hmac(lua_State *L)
{
    bt_str key = text_arg(L, 1), text = text_arg(L, 2);
    uint8_t digest[SHA256_BYTES];

    guard_charge(L, text.len);
    sha256_hmac(key, text, digest);
    return push_digest(L, digest, lua_toboolean(L, 3));
}

/* Takes as long for a text that is nearly right as for one that is not. */
static int lua_same(lua_State *L)
{
    bt_str a = text_arg(L, 1), b = text_arg(L, 2);
    unsigned char differ = a.len != b.len;

    for (size_t i = 0; i < a.len && i < b.len; i++)
        differ |= (unsigned char)(a.at[i] ^ b.at[i]);
    lua_pushboolean(L, differ == 0);
    return 1;
}

/* ---- patterns ---- */

enum { PATTERN_MAX = 4096, PATTERNS_MAX = 1000 };

struct pattern {
    struct pattern *next;
    bt_str text;
    bool nocase;
    struct bt_regex *regex;
};
static struct pattern *patterns;
static unsigned n_patterns;

static const struct pattern *pattern_new(lua_State *L, bt_str text, bool nocase)
{
    struct pattern *pattern;
    struct bt_regex *regex;
    const char *why = NULL;
    size_t offset = 0;

    if (script_arena() == NULL)
        luaL_error(L, "bt.regex: '%s' is new; it needs a reload of the configuration", text.at);
    if (text.len > PATTERN_MAX || n_patterns == PATTERNS_MAX)
        luaL_error(L, "bt.regex: at most %d patterns, of %d bytes", PATTERNS_MAX, PATTERN_MAX);
    regex = bt_regex_new(script_arena(), bt_str_copy(script_arena(), text), nocase, &why, &offset);
    if (regex == NULL)
        luaL_error(L, "bt.regex: '%s': %s (byte %d)", text.at, why, (int)offset + 1);
    pattern = bt_alloc(script_arena(), sizeof *pattern);
    *pattern = (struct pattern){patterns, bt_str_copy(script_arena(), text), nocase, regex};
    patterns = pattern;
    n_patterns++;
    return pattern;
}

static int lua_regex(lua_State *L)
{
    static const char *const flags[] = {"", "i", NULL};
    bt_str text = text_arg(L, 1);
    bool nocase = luaL_checkoption(L, 2, "", flags) == 1;
    const struct pattern *pattern = patterns;

    while (pattern != NULL && (pattern->nocase != nocase || !bt_str_eq(pattern->text, text)))
        pattern = pattern->next;
    if (pattern == NULL)
        pattern = pattern_new(L, text, nocase);
    *(const struct pattern **)lua_newuserdatauv(L, sizeof pattern, 0) = pattern;
    luaL_setmetatable(L, "regex");
    return 1;
}

static int regex_match(lua_State *L)
{
    const struct pattern *pattern = *(struct pattern **)luaL_checkudata(L, 1, "regex");
    enum bt_match match = bt_regex_match(pattern->regex, text_arg(L, 2));

    if (match == BT_BROKEN)
        return luaL_error(L, "'%s' needs more steps for that text than there are",
                          pattern->text.at);
    lua_pushboolean(L, match == BT_YES);
    return 1;
}

/* ---- time ---- */

static int lua_time(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)bt_wall_ms() / 1000);
    return 1;
}

/* A number to an HTTP date, or the other way round. */
static int lua_date(lua_State *L)
{
    int64_t now = bt_wall_ms() / 1000, seconds = now;
    char date[BT_DATE_LEN];

    if (lua_type(L, 1) == LUA_TSTRING) {
        if (bt_date_parse(text_arg(L, 1), now, &seconds))
            lua_pushinteger(L, seconds);
        else
            lua_pushnil(L);
        return 1;
    }
    if (!lua_isnoneornil(L, 1)) {
        lua_Number number = luaL_checknumber(L, 1);
        if (!(number >= -62167219200 && number < 253402300800))
            return luaL_error(L, "bt.date: that is not within the years 0 to 9999");
        seconds = (int64_t)number;
    }
    bt_date_print(date, seconds);
    lua_pushlstring(L, date, sizeof date);
    return 1;
}

/* ---- where an address is ---- */

static int lua_geo(lua_State *L)
{
    static const char *const names[] = {"country", "asn", "org"};
    bt_str addr = text_arg(L, 1);
    struct bt_value value;

    lua_createtable(L, 0, 3);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bt_str field = bt_str_printf(bt_txn_arena(call_txn(L)), "geo.%s", names[i]);
        if (!bt_field_get(call_txn(L), field, addr, &value))
            continue;
        if (value.kind == BT_INT)
            lua_pushinteger(L, value.num);
        else
            lua_pushlstring(L, value.text.at, value.text.len);
        lua_setfield(L, -2, names[i]);
    }
    return 1;
}

/* ---- rows ---- */

static const struct binding functions[] = {
    {"base64", IN_ANY, "bt.base64(text [, url]) -> text",
     "In base64; with url = true in the alphabet for URLs, and without = at the end.",
     "assert(bt.base64(\"user:pass\") == \"dXNlcjpwYXNz\")", lua_base64},
    {"unbase64", IN_ANY, "bt.unbase64(text) -> text",
     "Back again, from both alphabets; nil: it is something else.",
     "assert(bt.unbase64(\"dXNlcjpwYXNz\") == \"user:pass\")", lua_unbase64},
    {"sha256", IN_ANY, "bt.sha256(text [, raw]) -> digest",
     "64 hexadecimal digits; with raw = true 32 bytes.", "assert(#bt.sha256(\"x\") == 64)",
     lua_sha256},
    {"hmac", IN_ANY, "bt.hmac(key, text [, raw]) -> digest",
     "HMAC with SHA-256, as JWT's HS256 wants it.",
     "assert(#bt.hmac(\"key\", \"text\", true) == 32)", lua_hmac},
    {"same", IN_ANY, "bt.same(one, other) -> boolean",
     "Whether two texts are the same, in a time that tells nothing of where they differ: for secrets.",
     "assert(bt.same(\"a\", \"a\") and not bt.same(\"a\", \"b\"))", lua_same},
    {"regex", IN_ANY, "bt.regex(pattern [, \"i\"]) -> regex",
     "A POSIX extended regular expression as in ACLs; \"i\": large and small letters are the same. It must "
     "be named first when the script is loaded. 1000 of them at most.",
     NULL, lua_regex},
    {"time", IN_ANY, "bt.time() -> seconds", "Since 1970, with milliseconds.",
     "assert(bt.time() > 1e9)", lua_time},
    {"date", IN_ANY, "bt.date([seconds or text]) -> text or seconds",
     "An HTTP date of that time, or of now; of a date in HTTP, the seconds since 1970, or nil.",
     "assert(bt.date(0) == \"Thu, 01 Jan 1970 00:00:00 GMT\")", lua_date},
    {"geo", IN_EXCHANGE, "bt.geo(address) -> table",
     "country, asn and org, as far as the databases of geoip_database know them.",
     "local where = bt.geo(tostring(txn.client.addr)).country or \"nowhere\"", lua_geo},
};
const struct library library_text = {"bt", "Text, digests, time.", functions,
                                     sizeof functions / sizeof *functions};

static const struct binding methods[] = {
    {"match", IN_ANY, "regex:match(text) -> boolean", "Whether it is anywhere in the text.", NULL,
     regex_match},
};
const struct library library_regex = {"regex", "A pattern of bt.regex.", methods,
                                      sizeof methods / sizeof *methods};
