/* txn.c - `txn` of scripts: every field of every module by its name, and what can be set.
 *
 * txn.client_addr, txn["client.addr"] and txn.client.addr are the same; the last one makes a small object
 * for the group.
 * Nothing is built in advance: a name is looked up in the registry of fields when it is read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>

#include "state.h"

/* Short names for what is asked most. */
static const struct {
    const char *name, *field;
} short_names[] = {
    {"method", "req.method"},   {"url", "req.url"},    {"scheme", "req.scheme"},
    {"host", "req.host"},       {"port", "req.port"},  {"path", "req.path"},
    {"ip", "client.addr"},      {"user", "user.name"}, {"id", "txn.number"},
    {"listener", "local.name"}, {"sni", "tls.sni"},
};

/* ---- fields ---- */

static enum bt_phase phase_of(enum hook hook)
{
    static const enum bt_phase phases[HOOK_END] = {
        [HOOK_INIT] = BT_AT_ACCEPT,       [HOOK_WORKER] = BT_AT_ACCEPT,
        [HOOK_ACCEPT] = BT_AT_ACCEPT,     [HOOK_HELLO] = BT_AT_HELLO,
        [HOOK_REQUEST] = BT_AT_REQUEST,   [HOOK_LOOKUP] = BT_AT_LOOKUP,
        [HOOK_UPSTREAM] = BT_AT_UPSTREAM, [HOOK_RESPONSE] = BT_AT_RESPONSE,
        [HOOK_ERROR] = BT_AT_RESPONSE,    [HOOK_FINISH] = BT_AT_FINISH,
        [HOOK_ACL] = BT_AT_FINISH, /* the list knows when it is asked */
        [HOOK_TIMER] = BT_AT_FINISH,      [HOOK_TEST] = BT_AT_FINISH};

    return phases[hook];
}

/* inet_ntop() does it with printf(). */
static size_t print_v4(char *to, const struct in_addr *addr)
{
    const unsigned char *byte = (const unsigned char *)addr;
    char *at = to;

    for (int i = 0; i < 4; i++) {
        if (byte[i] >= 100)
            *at++ = (char)('0' + byte[i] / 100);
        if (byte[i] >= 10)
            *at++ = (char)('0' + byte[i] / 10 % 10);
        *at++ = (char)('0' + byte[i] % 10);
        *at++ = '.';
    }
    return (size_t)(at - to) - 1;
}

static void push_addr(lua_State *L, const struct sockaddr *addr)
{
    char text[INET6_ADDRSTRLEN] = "";

    if (addr->sa_family == AF_INET) {
        lua_pushlstring(
            L, text, print_v4(text, &((const struct sockaddr_in *)(const void *)addr)->sin_addr));
        return;
    }
    if (addr->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, text,
                  sizeof text);
    if (text[0] != '\0')
        lua_pushstring(L, text);
    else
        lua_pushnil(L);
}

static int push_field(lua_State *L, struct bt_txn *txn, const struct bt_field *field, bt_str arg)
{
    struct bt_value value;

    if (field->earliest > phase_of(call_hook(L)))
        return luaL_error(L, "%s is not known yet in %s", field->name, hook_name(call_hook(L)));
    if (!field->get(txn, arg, &value)) {
        lua_pushnil(L);
        return 1;
    }
    switch (value.kind) {
    case BT_TEXT:
        if (value.text.at != NULL)
            lua_pushlstring(L, value.text.at, value.text.len);
        else
            lua_pushnil(L);
        break;
    case BT_INT:
        lua_pushinteger(L, value.num);
        break;
    case BT_ADDR:
        push_addr(L, value.addr);
        break;
    }
    return 1;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static void want(const char *name, size_t len)
{
    char text[100];
    const char *dot = memchr(name, '.', len), *mark = memchr(name, '_', len);

    if (dot != NULL)
        (void)bt_field_find((bt_str){name, len});
    if (dot != NULL || mark == NULL || len >= sizeof text)
        return;
    memcpy(text, name, len);
    text[mark - name] = '.';
    (void)bt_field_find((bt_str){text, len});
}

/* Each dotted name of the text, and what follows its dots: txn.geo.country is geo.country. */
void fields_want(bt_str source)
{
    size_t i = 0;

    while (i < source.len) {
        size_t from = i;
        while (i < source.len && is_name(source.at[i]))
            i++;
        for (size_t at = from; at < i && i - from < 100; at++)
            if ((at == from || source.at[at - 1] == '.') && source.at[at] != '.')
                want(source.at + at, i - at);
        i += i == from;
    }
}

/* ---- groups: txn.client ---- */

struct group {
    size_t len;
    char name[]; /* "client." */
};

static int push_group(lua_State *L, const char *name, size_t len)
{
    struct group *group = lua_newuserdatauv(L, sizeof *group + len + 1, 1);

    group->len = len + 1;
    memcpy(group->name, name, len);
    group->name[len] = '.';
    luaL_setmetatable(L, "group");
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

static int group_index(lua_State *L)
{
    const struct group *group = luaL_checkudata(L, 1, "group");
    char text[100];
    size_t len;
    const char *key = luaL_checklstring(L, 2, &len);
    const struct bt_field *field;
    struct bt_txn *txn;

    lua_getiuservalue(L, 1, 1);
    txn = exchange_check(L, -1);
    if (strcmp(key, "headers") == 0 && group->len == 4 &&
        (memcmp(group->name, "req", 3) == 0 || memcmp(group->name, "rep", 3) == 0))
        return headers_push(L, lua_gettop(L), group->name[2] == 'p');
    if (group->len + len > sizeof text)
        return luaL_error(L, "there is no field of that name");
    memcpy(text, group->name, group->len);
    memcpy(text + group->len, key, len);
    field = bt_field_find((bt_str){text, group->len + len});
    if (field == NULL)
        return luaL_error(L, "there is no field %s%s", lua_pushlstring(L, group->name, group->len),
                          key);
    return push_field(L, txn, field, BT_STR_NONE);
}

static const struct binding group_rows[] = {
    {"__index", IN_ANY, NULL, NULL, NULL, group_index},
};
static const struct library group = {"group", NULL, group_rows, 1};
const struct library *const group_kind = &group;

/* ---- txn[...] ---- */

static const char *field_name(const char *key)
{
    for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (strcmp(short_names[i].name, key) == 0)
            return short_names[i].field;
    return key;
}

/* Also "client_addr" for client.addr. */
static const struct bt_field *field_of(const char *key, size_t len)
{
    char text[64];
    const char *name = field_name(key), *mark = strchr(name, '_');
    const struct bt_field *field = bt_field_find((bt_str){name, strlen(name)});

    if (field != NULL || mark == NULL || len >= sizeof text || name != key)
        return field;
    memcpy(text, key, len);
    text[mark - key] = '.';
    return bt_field_find((bt_str){text, len});
}

static int push_ctx(lua_State *L)
{
    if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE)
        return 1;
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 1);
    return 1;
}

/* Upvalue: methods, and groups and fields that were met. */
static int txn_index(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    size_t len;
    const char *key = luaL_checklstring(L, 2, &len);
    const struct bt_field *field;

    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    switch (lua_rawget(L, lua_upvalueindex(1))) {
    case LUA_TFUNCTION:
        return 1;
    case LUA_TLIGHTUSERDATA:
        return push_field(L, txn, lua_touserdata(L, -1), BT_STR_NONE);
    case LUA_TBOOLEAN:
        return push_group(L, key, len);
    default:
        break;
    }
    if (strcmp(key, "ctx") == 0)
        return push_ctx(L);
    if (strcmp(key, "status") == 0) {
        lua_pushinteger(L, bt_status(txn));
        return 1;
    }
    field = field_of(key, len);
    lua_pushvalue(L, 2);
    if (field != NULL)
        lua_pushlightuserdata(L, (void *)(uintptr_t)field);
    else if (bt_field_group((bt_str){key, len}))
        lua_pushboolean(L, 1);
    else
        return luaL_error(L, "an exchange has no '%s'", key);
    lua_rawset(L, lua_upvalueindex(1));
    return field != NULL ? push_field(L, txn, field, BT_STR_NONE) : push_group(L, key, len);
}

static int txn_newindex(lua_State *L)
{
    return luaL_error(L,
                      "an exchange cannot be written to; what you want to keep goes into txn.ctx, "
                      "and txn:set_...() changes it");
}

/* ---- methods ---- */

static bt_str text_arg(lua_State *L, int at)
{
    bt_str text;

    text.at = luaL_checklstring(L, at, &text.len);
    guard_charge(L, text.len / 2); /* copied to where lua_memory_limit does not count */
    if (text.len > TEXT_MAX)
        luaL_argerror(L, at, "more than 65536 bytes");
    return text;
}

/* What would be a line of its own somewhere. */
static bt_str line_arg(lua_State *L, int at)
{
    bt_str text = text_arg(L, at);

    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\r' || text.at[i] == '\n' || text.at[i] == '\0')
            luaL_argerror(L, at, "there are line ends or NUL in it");
    return text;
}

static int get_field(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    bt_str name = text_arg(L, 2);
    const struct bt_field *field = bt_field_find(name);

    if (field == NULL)
        return luaL_error(L, "there is no field %s", name.at);
    return push_field(L, txn, field, lua_isnoneornil(L, 3) ? BT_STR_NONE : text_arg(L, 3));
}

static int set_note(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    bt_str key = line_arg(L, 2), got;

    if (!lua_isnoneornil(L, 3)) {
        bt_note_set(txn, BT_NOTE_EXCHANGE, key, line_arg(L, 3));
        return 0;
    }
    got = bt_note_get(txn, key, 0);
    if (got.at == NULL)
        return 0;
    lua_pushlstring(L, got.at, got.len);
    return 1;
}

static int set_tag(lua_State *L)
{
    bt_who_set(exchange_check(L, 1), BT_WHO_TAG, line_arg(L, 2));
    return 0;
}

static int set_log(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    bt_str name = line_arg(L, 2);

    exchange_value(txn, name, text_arg(L, 3));
    return 0;
}

/* ---- what becomes of it ---- */

static int set_url(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    bt_str url = line_arg(L, 2);

    if (!bt_url_set(txn, url, lua_toboolean(L, 3)))
        return luaL_error(L, "%s is no URL that can be asked for", url.at);
    return 0;
}

static int set_store_key(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    bt_str key = line_arg(L, 2);

    if (key.len == 0 || key.len > 4096)
        return luaL_error(L, "a key has 1 to 4096 bytes");
    bt_cache_wish(txn, true)->key = bt_str_copy(bt_txn_arena(txn), key);
    return 0;
}

static int bypass_cache(lua_State *L)
{
    bt_cache_wish(exchange_check(L, 1), true)->bypass = true;
    return 0;
}

static int set_ttl(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    lua_Number seconds = luaL_checknumber(L, 2);

    if (!(seconds >= 0 && seconds <= 1e9))
        return luaL_error(L, "seconds must be from 0 to 1000000000");
    bt_cache_wish(txn, true)->life = (int64_t)seconds;
    return 0;
}

static int set_peer(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);

    bt_peer_set(txn, line_arg(L, 2));
    return 0;
}

static int set_mark(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    lua_Integer mark = luaL_checkinteger(L, 2);

    if (mark < 0 || mark > (lua_Integer)UINT32_MAX)
        return luaL_error(L, "a mark is from 0 to 4294967295");
    bt_mark_set(txn, (uint32_t)mark);
    return 0;
}

static int set_delay_pool(lua_State *L)
{
    struct bt_txn *txn = exchange_check(L, 1);
    lua_Integer pool = luaL_checkinteger(L, 2);

    if (pool < 0 || pool > 4096)
        return luaL_error(L, "a pool of delay_pools is from 1 to 4096; 0: none");
    bt_delay_pool_set(txn, (unsigned)pool);
    return 0;
}

#define IN_CHANGING (IN(REQUEST) | IN(LOOKUP) | IN(UPSTREAM))
static const struct binding rows[] = {
    {"__index", IN_ANY, "txn[name] -> value",
     "Any field (see the list of fields), as text or number; nil: there is none: txn.client_addr, or "
     "txn[\"client.addr\"], or txn.client.addr. Short names: method, url, scheme, host, port, path, ip, user, id, "
     "listener, sni. txn.status is that of the answer at hand; 0: there is none. A field that is not known yet in that hook is an error.",
     "bt.log(txn.client.addr .. \" \" .. txn[\"req.host\"] .. \" \" .. txn.method)", txn_index},
    {"__newindex", IN_ANY, NULL, NULL, NULL, txn_newindex},
    {"ctx", IN_EXCHANGE, "txn.ctx",
     "A table of the script's own, as long as the exchange, for all its hooks.",
     "txn.ctx.seen = true", NULL},
    {"field", IN_EXCHANGE, "txn:field(name [, argument]) -> value",
     "A field with an argument, as in log formats: %{argument}code.",
     "bt.log(tostring(txn:field(\"req.header\", \"Host\")))", get_field},
    {"note", IN_EXCHANGE, "txn:note(key [, value]) -> value",
     "Set a note, which ACLs of type note, logs and helpers see; or read the first one of that key.",
     "txn:note(\"department\", \"lab\")", set_note},
    {"tag", IN_EXCHANGE, "txn:tag(text)",
     "Set the tag, for ACLs of type tag; the first one stands.", "txn:tag(\"slow\")", set_tag},
    {"log", IN_EXCHANGE, "txn:log(name, value)", "A value for %{name}lua in log formats.",
     "txn:log(\"policy\", \"guest\")", set_log},
    {"set_url", IN(REQUEST), "txn:set_url(url [, keep_host])",
     "Ask for this instead: rules, cache and origin have it from here on. With keep_host the origin "
     "gets the Host that the client has sent.",
     "if txn.host == \"old.example\" then txn:set_url(\"http://new.example\" .. txn.path) end",
     set_url},
    {"set_store_key", IN(REQUEST) | IN(LOOKUP), "txn:set_store_key(key)",
     "The cache shall know it by this instead of by its URL.",
     "txn:set_store_key(txn.host .. txn.path:gsub(\"%?.*\", \"\"))", set_store_key},
    {"bypass_cache", IN(REQUEST) | IN(LOOKUP), "txn:bypass_cache()",
     "Neither look it up in the cache nor keep it.", "txn:bypass_cache()", bypass_cache},
    {"set_ttl", IN_CHANGING | IN(RESPONSE), "txn:set_ttl(seconds)",
     "The answer is fresh for so long, if it may be kept at all; 0: do not keep it.",
     "txn:set_ttl(60)", set_ttl},
    {"set_peer", IN_CHANGING, "txn:set_peer(name)",
     "Send it by the cache_peer of that name, if it may go there; \"DIRECT\": without one.",
     "txn:set_peer(\"DIRECT\")", set_peer},
    {"mark", IN_CHANGING, "txn:mark(number)",
     "The firewall mark of packets to the origin, instead of what tcp_outgoing_mark says.",
     "txn:mark(0x10)", set_mark},
    {"delay_pool", IN_CHANGING, "txn:delay_pool(number)",
     "The pool of delay_pools that it is in, whatever delay_access says; 0: none.",
     "txn:delay_pool(2)", set_delay_pool},
};
const struct library library_txn = {"txn", "The exchange at hand, the argument of hooks.", rows,
                                    sizeof rows / sizeof *rows};
