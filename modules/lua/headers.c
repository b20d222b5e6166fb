/* headers.c - fields of heads: txn.req.headers and txn.rep.headers.
 *
 * What is set in the request is what the origin gets; rules and logs go by what came. What is set in the
 * response is what the client gets, and is not kept in the cache: the hook meets each answer out of it
 * again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "state.h"

struct headers {
    bool reply;
};

/* ---- what a field may be ---- */

static bool is_token(bt_str name)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c != '\0' && strchr(marks, c) != NULL)))
            return false;
    }
    return name.len > 0;
}

void header_check(lua_State *L, bt_str name, bt_str value)
{
    guard_charge(L, value.len / 2);
    if (name.len + value.len > TEXT_MAX)
        luaL_error(L, "a header of more than %d bytes", (int)TEXT_MAX);
    if (!is_token(name))
        luaL_error(L, "'%s' is no name of a header", name.at);
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.at[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            luaL_error(L, "the value of %s has a control character (byte %d)", name.at, (int)c);
    }
}

static bool is_one_of(bt_str name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (bt_str_eq_nocase(name, (bt_str){*list, strlen(*list)}))
            return true;
    return false;
}

bool header_is_ours(bt_str name)
{
    static const char *const names[] = {
        "Connection",        "Keep-Alive",     "Proxy-Connection", "TE", "Trailer",
        "Transfer-Encoding", "Content-Length", "Upgrade",          NULL};

    return is_one_of(name, names);
}

static void check_name(lua_State *L, const struct headers *headers, bt_str name)
{
    static const char *const request[] = {"Host", "Via", "X-Forwarded-For", NULL};

    if (!is_token(name))
        luaL_error(L, "'%s' is no name of a header", name.at);
    if (header_is_ours(name) || (!headers->reply && is_one_of(name, request)))
        luaL_error(L, "%s is the server's own and cannot be changed", name.at);
}

static void check_phase(lua_State *L, const struct headers *headers)
{
    unsigned where = headers->reply
                         ? IN(REQUEST) | IN(LOOKUP) | IN(UPSTREAM) | IN(RESPONSE) | IN(ERROR)
                         : IN(REQUEST) | IN(LOOKUP) | IN(UPSTREAM);

    if ((where & (1u << call_hook(L))) == 0)
        luaL_error(L, "headers of the %s cannot be changed in %s",
                   headers->reply ? "response" : "request", hook_name(call_hook(L)));
}

/* ---- the object ---- */

int headers_push(lua_State *L, int txn, bool reply)
{
    struct headers *headers = lua_newuserdatauv(L, sizeof *headers, 1);

    headers->reply = reply;
    luaL_setmetatable(L, "headers");
    lua_pushvalue(L, txn);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

static struct headers *headers_check(lua_State *L, struct bt_txn **txn)
{
    struct headers *headers = luaL_checkudata(L, 1, "headers");

    lua_getiuservalue(L, 1, 1);
    *txn = exchange_check(L, -1);
    lua_pop(L, 1);
    return headers;
}

static bt_str text_arg(lua_State *L, int at)
{
    bt_str text;

    text.at = luaL_checklstring(L, at, &text.len);
    return text;
}

static bt_str value_of(const struct headers *headers, struct bt_txn *txn, bt_str name, size_t n)
{
    return headers->reply ? bt_reply_header(txn, name, n) : bt_upstream_header(txn, name, n);
}

static int push_value(lua_State *L, bt_str value)
{
    if (value.at == NULL)
        lua_pushnil(L);
    else
        lua_pushlstring(L, value.at, value.len);
    return 1;
}

static int get(lua_State *L)
{
    struct bt_txn *txn;
    struct headers *headers = headers_check(L, &txn);

    return push_value(L, value_of(headers, txn, text_arg(L, 2), 0));
}

static int index_value(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TFUNCTION)
        return 1;
    lua_settop(L, 2);
    return get(L);
}

static int all(lua_State *L)
{
    struct bt_txn *txn;
    struct headers *headers = headers_check(L, &txn);
    bt_str name = text_arg(L, 2), value;

    lua_newtable(L);
    for (size_t n = 0; (value = value_of(headers, txn, name, n)).at != NULL; n++) {
        push_value(L, value);
        lua_rawseti(L, -2, (lua_Integer)n + 1);
    }
    return 1;
}

static void put(struct headers *headers, struct bt_txn *txn, bt_str name, bt_str value, bool add)
{
    if (!headers->reply)
        (add ? bt_upstream_add : bt_upstream_set)(txn, name, value);
    else if (add)
        bt_reply_add(txn, name, value);
    else
        bt_reply_set(txn, name, value);
}

static int change(lua_State *L, bool adds)
{
    struct bt_txn *txn;
    struct headers *headers = headers_check(L, &txn);
    bt_str name = text_arg(L, 2);

    check_phase(L, headers);
    check_name(L, headers, name);
    if (lua_istable(L, 3)) {
        lua_Integer n = (lua_Integer)lua_rawlen(L, 3);
        if (n > VALUES_MAX)
            return luaL_error(L, "more than %d values of %s", (int)VALUES_MAX, name.at);
        if (!adds)
            put(headers, txn, name, BT_STR_NONE, false);
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, 3, i);
            bt_str value = text_arg(L, -1);
            header_check(L, name, value);
            put(headers, txn, name, value, adds || i > 1);
            lua_pop(L, 1);
        }
        return 0;
    }
    if (!adds && lua_isnoneornil(L, 3)) {
        put(headers, txn, name, BT_STR_NONE, false);
        return 0;
    }
    bt_str value = text_arg(L, 3);
    header_check(L, name, value);
    put(headers, txn, name, value, adds);
    return 0;
}

static int set(lua_State *L)
{
    return change(L, false);
}

static int add(lua_State *L)
{
    return change(L, true);
}

static int remove_all(lua_State *L)
{
    lua_settop(L, 2);
    return change(L, false);
}

static int next_field(lua_State *L)
{
    struct bt_txn *txn;
    bt_str name, value;
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));

    lua_settop(L, 0);
    lua_pushvalue(L, lua_upvalueindex(1));
    struct headers *headers = headers_check(L, &txn);
    if (!(headers->reply ? bt_rep_field : bt_req_field)(txn, (size_t)i, &name, &value))
        return 0;
    lua_pushinteger(L, i + 1);
    lua_replace(L, lua_upvalueindex(2));
    push_value(L, name);
    push_value(L, value);
    return 2;
}

static int iterate(lua_State *L)
{
    struct bt_txn *txn;

    (void)headers_check(L, &txn);
    lua_settop(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_field, 2);
    return 1;
}

static const struct binding rows[] = {
    {"__index", IN_EXCHANGE, "headers[name] -> text",
     "The first value of that header, case ignored; nil: there is none. txn.req.headers are those of the "
     "request as the origin will get them, txn.rep.headers those of the response.",
     "bt.log(tostring(txn.req.headers[\"User-Agent\"]))", index_value},
    {"__newindex", IN_EXCHANGE, "headers[name] = value",
     "Instead of all of that name: a text, a list of texts, or nil for none. Of the request up to "
     "on_upstream, of the response up to on_response. What has a line end or NUL in it is an error; so are more than 65536 bytes, and 100 values.",
     "txn.req.headers[\"X-Department\"] = \"lab\"", set},
    {"__pairs", IN_EXCHANGE, "pairs(headers)",
     "All fields as they came, in their order, each of several by itself.",
     "for name, value in pairs(txn.req.headers) do bt.log(name .. \"=\" .. value) end", iterate},
    {"get", IN_EXCHANGE, "headers:get(name) -> text", "As headers[name], for any name.",
     "bt.log(tostring(txn.req.headers:get(\"Accept\")))", get},
    {"all", IN_EXCHANGE, "headers:all(name) -> list", "All values of that name.",
     "for _, cookie in ipairs(txn.req.headers:all(\"Cookie\")) do bt.log(cookie) end", all},
    {"set", IN_EXCHANGE, "headers:set(name, value)", "As headers[name] = value.",
     "txn.rep.headers:set(\"X-Served-By\", \"bobtail\")", set},
    {"add", IN_EXCHANGE, "headers:add(name, value)", "One more, beside those that are there.",
     "txn.rep.headers:add(\"X-Note\", \"one\")", add},
    {"remove", IN_EXCHANGE, "headers:remove(name)", "None of that name.",
     "txn.req.headers:remove(\"Cookie\")", remove_all},
};
const struct library library_headers = {"headers", "txn.req.headers and txn.rep.headers.", rows,
                                        sizeof rows / sizeof *rows};
