/* lib_shared.c - what all workers know together: bt.shared, dictionaries, and bt.limit, buckets of tokens.
 *
 * A dictionary is the server's (bt_dict_make()): it forgets what was used least recently when its room
 * is used up, and lives on across reloads. A value is one byte for its kind, and the value.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "counts.h"
#include "lib.h"

enum {
    DICTS_MAX = 64,
    NAME_MAX_BYTES = 40,
    BYTES = 1024 * 1024,
    BYTES_MIN = 64 * 1024,
    LIMIT_BYTES = 16 * 1024 * 1024,
    VALUE_MAX = 1024 * 1024
};

struct dict {
    char name[NAME_MAX_BYTES + 1];
    lua_Integer bytes;
    struct bt_dict *dict;
};
/* Made in the master, and the workers' by inheritance. */
static struct dict dicts[DICTS_MAX];
static size_t n_dicts;
static struct bt_dict *limits;

bool shared_setup(struct bt_error *err)
{
    limits = bt_dict_make("lua-limits", LIMIT_BYTES, err);
    return limits != NULL;
}

/* ---- bt.shared ---- */

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= NAME_MAX_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == len;
}

static struct bt_dict *dict_new(lua_State *L, const char *name, lua_Integer bytes)
{
    struct dict *d = &dicts[n_dicts];
    char whole[NAME_MAX_BYTES + 8];

    if (script_arena() == NULL)
        luaL_error(L, "bt.shared: '%s' is new; it needs a reload of the configuration", name);
    if (n_dicts == DICTS_MAX)
        luaL_error(L, "bt.shared: more than %d dictionaries", DICTS_MAX);
    snprintf(whole, sizeof whole, "lua-s-%s", name);
    d->dict = bt_dict_make(whole, (uint64_t)bytes, script_error());
    if (d->dict == NULL)
        luaL_error(L, "bt.shared: no memory for '%s'", name);
    strcpy(d->name, name);
    d->bytes = bytes;
    n_dicts++;
    return d->dict;
}

static int lua_shared(lua_State *L)
{
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len);
    lua_Integer bytes = luaL_optinteger(L, 2, BYTES);
    struct bt_dict *dict = NULL;

    if (!is_name(name, len))
        return luaL_error(L, "bt.shared: a name has 1 to %d letters, digits, - and _",
                          NAME_MAX_BYTES);
    if (bytes < BYTES_MIN || bytes > (lua_Integer)1 << 36)
        return luaL_error(L, "bt.shared: %d bytes at least, and 64 GB at most", BYTES_MIN);
    for (size_t i = 0; i < n_dicts && dict == NULL; i++) {
        if (strcmp(dicts[i].name, name) != 0)
            continue;
        if (!lua_isnoneornil(L, 2) && dicts[i].bytes != bytes)
            return luaL_error(L, "bt.shared: '%s' has another size already", name);
        dict = dicts[i].dict;
    }
    if (dict == NULL)
        dict = dict_new(L, name, bytes);
    *(struct bt_dict **)lua_newuserdatauv(L, sizeof dict, 0) = dict;
    luaL_setmetatable(L, "shared");
    return 1;
}

/* ---- values ---- */

enum { KIND_TEXT = 's', KIND_INTEGER = 'i', KIND_NUMBER = 'n', KIND_TRUE = 't', KIND_FALSE = 'f' };

static struct bt_dict *dict_arg(lua_State *L)
{
    return *(struct bt_dict **)luaL_checkudata(L, 1, "shared");
}

static bt_str key_arg(lua_State *L)
{
    bt_str key;

    key.at = luaL_checklstring(L, 2, &key.len);
    return key;
}

static bt_duration ttl_arg(lua_State *L, int at)
{
    lua_Number seconds;

    if (lua_isnoneornil(L, at))
        return (bt_duration){-1};
    seconds = luaL_checknumber(L, at);
    if (!(seconds > 0 && seconds <= 1e9))
        luaL_error(L, "ttl must be more than 0 seconds, and 1000000000 at most");
    return (bt_duration){(int64_t)(seconds * 1000 + 0.5)};
}

static bt_str packed(lua_State *L, char kind, const void *value, size_t len)
{
    char text[16];

    text[0] = kind;
    memcpy(text + 1, value, len);
    return (bt_str){lua_pushlstring(L, text, len + 1), len + 1};
}

/* The value at 3 as it is kept; it stands on the top of the stack. */
static bt_str value_arg(lua_State *L)
{
    lua_Integer integer;
    lua_Number number;
    luaL_Buffer buffer;
    bt_str text;

    switch (lua_type(L, 3)) {
    case LUA_TBOOLEAN:
        return packed(L, lua_toboolean(L, 3) ? KIND_TRUE : KIND_FALSE, "", 0);
    case LUA_TNUMBER:
        integer = lua_tointeger(L, 3);
        number = lua_tonumber(L, 3);
        return lua_isinteger(L, 3) ? packed(L, KIND_INTEGER, &integer, sizeof integer)
                                   : packed(L, KIND_NUMBER, &number, sizeof number);
    case LUA_TSTRING:
        break;
    default:
        luaL_error(L, "a value must be a text, a number or a boolean, not %s", luaL_typename(L, 3));
    }
    text.at = lua_tolstring(L, 3, &text.len);
    luaL_buffinitsize(L, &buffer, text.len + 1);
    luaL_addchar(&buffer, (char)KIND_TEXT);
    luaL_addlstring(&buffer, text.at, text.len);
    luaL_pushresult(&buffer);
    text.at = lua_tolstring(L, -1, &text.len);
    return text;
}

static int push_value(lua_State *L, const char *at, size_t len)
{
    lua_Integer integer;
    lua_Number number;

    if (len == 1 + sizeof integer && at[0] == KIND_INTEGER) {
        memcpy(&integer, at + 1, sizeof integer);
        lua_pushinteger(L, integer);
    } else if (len == 1 + sizeof number && at[0] == KIND_NUMBER) {
        memcpy(&number, at + 1, sizeof number);
        lua_pushnumber(L, number);
    } else if (len > 0 && at[0] == KIND_TEXT) {
        lua_pushlstring(L, at + 1, len - 1);
    } else if (len == 1) {
        lua_pushboolean(L, at[0] == KIND_TRUE);
    } else {
        lua_pushnil(L);
    }
    return 1;
}

static int shared_get(lua_State *L)
{
    struct bt_dict *dict = dict_arg(L);
    bt_str key = key_arg(L);
    char small[512];
    luaL_Buffer buffer;
    size_t len, again;
    char *room;

    if (!bt_dict_get(dict, key, small, sizeof small, &len))
        return push_value(L, "", 0);
    if (len <= sizeof small)
        return push_value(L, small, len);
    room = luaL_buffinitsize(L, &buffer, len);
    if (!bt_dict_get(dict, key, room, len, &again))
        return push_value(L, "", 0);
    luaL_pushresultsize(&buffer, again < len ? again : len);
    const char *whole = lua_tolstring(L, -1, &len);
    return push_value(L, whole, len);
}

static int shared_set(lua_State *L)
{
    struct bt_dict *dict = dict_arg(L);
    bt_str key = key_arg(L);
    bt_duration ttl = ttl_arg(L, 4);

    if (lua_isnoneornil(L, 3))
        lua_pushboolean(L, bt_dict_remove(dict, key));
    else
        lua_pushboolean(L, bt_dict_put(dict, key, value_arg(L), ttl));
    return 1;
}

static int shared_add(lua_State *L)
{
    struct bt_dict *dict = dict_arg(L);
    bt_str key = key_arg(L);
    bt_duration ttl = ttl_arg(L, 4);

    lua_pushboolean(L, bt_dict_add(dict, key, value_arg(L), ttl));
    return 1;
}

struct incr {
    lua_Integer by, sum;
    bt_duration ttl;
    bool good;
};

static enum bt_dict_done incr_update(void *incr_, struct bt_dict_entry *entry)
{
    struct incr *incr = incr_;
    char *at = entry->at;

    incr->sum = 0;
    if (entry->there && (entry->len != 1 + sizeof incr->sum || at[0] != KIND_INTEGER))
        return BT_DICT_LEAVE;
    if (entry->cap < 1 + sizeof incr->sum)
        return BT_DICT_LEAVE;
    if (entry->there)
        memcpy(&incr->sum, at + 1, sizeof incr->sum);
    else
        entry->left_ms = incr->ttl.ms;
    if (__builtin_add_overflow(incr->sum, incr->by, &incr->sum))
        incr->sum = incr->by > 0 ? LUA_MAXINTEGER : LUA_MININTEGER;
    at[0] = KIND_INTEGER;
    memcpy(at + 1, &incr->sum, sizeof incr->sum);
    entry->len = 1 + sizeof incr->sum;
    incr->good = true;
    return BT_DICT_STORE;
}

static int shared_incr(lua_State *L)
{
    struct bt_dict *dict = dict_arg(L);
    bt_str key = key_arg(L);
    struct incr incr = {.by = luaL_optinteger(L, 3, 1), .ttl = ttl_arg(L, 4)};

    bt_dict_update(dict, key, incr_update, &incr);
    if (!incr.good)
        return push_value(L, "", 0);
    lua_pushinteger(L, incr.sum);
    return 1;
}

static int shared_expire(lua_State *L)
{
    struct bt_dict *dict = dict_arg(L);

    lua_pushboolean(L, bt_dict_expire(dict, key_arg(L), ttl_arg(L, 3)));
    return 1;
}

static int shared_state(lua_State *L)
{
    struct bt_dict_state state;

    bt_dict_state(dict_arg(L), &state);
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, (lua_Integer)state.entries);
    lua_setfield(L, -2, "entries");
    lua_pushinteger(L, (lua_Integer)state.bytes);
    lua_setfield(L, -2, "bytes");
    lua_pushinteger(L, (lua_Integer)state.room);
    lua_setfield(L, -2, "room");
    lua_pushinteger(L, (lua_Integer)state.evicted);
    lua_setfield(L, -2, "evicted");
    return 1;
}

/* ---- bt.limit ---- */

struct bucket {
    double tokens;
    int64_t at_ms;
};
struct taking {
    double rate, burst, left;
    bool taken;
};

static enum bt_dict_done limit_update(void *taking_, struct bt_dict_entry *entry)
{
    struct taking *t = taking_;
    struct bucket bucket = {t->burst, bt_wall_ms()};
    int64_t now = bucket.at_ms;

    if (entry->there && entry->len == sizeof bucket)
        memcpy(&bucket, entry->at, sizeof bucket);
    if (now > bucket.at_ms)
        bucket.tokens += (double)(now - bucket.at_ms) / 1000 * t->rate;
    if (!(bucket.tokens < t->burst)) /* full, or the script asks for another size */
        bucket.tokens = t->burst;
    bucket.at_ms = now;
    t->taken = bucket.tokens >= 1;
    bucket.tokens -= t->taken;
    t->left = bucket.tokens;
    if (entry->cap < sizeof bucket)
        return BT_DICT_LEAVE;
    memcpy(entry->at, &bucket, sizeof bucket);
    entry->len = sizeof bucket;
    entry->left_ms = (int64_t)((t->burst - bucket.tokens) / t->rate * 1000) + 1000; /* full then */
    return BT_DICT_STORE;
}

static int lua_limit(lua_State *L)
{
    struct taking t = {.rate = luaL_checknumber(L, 2)};
    bt_str key;

    key.at = luaL_checklstring(L, 1, &key.len);
    t.burst = luaL_optnumber(L, 3, t.rate > 1 ? t.rate : 1);
    if (!(t.rate >= 1e-6 && t.rate <= 1e9) || !(t.burst >= 1 && t.burst <= 1e9))
        return luaL_error(L, "bt.limit: rate must be from 0.000001 to 1000000000 a second, burst "
                             "from 1 to 1000000000");
    bt_dict_update(limits, key, limit_update, &t);
    bt_count_by(limited, !t.taken);
    lua_pushboolean(L, t.taken);
    lua_pushnumber(L, t.left);
    return 2;
}

/* ---- rows ---- */

enum { IN_WORKER = IN_ANY & ~IN(INIT) };

static const struct binding functions[] = {
    {"shared", IN_ANY, "bt.shared(name [, bytes]) -> shared",
     "The dictionary of that name, which all workers have together, and which a reload keeps. It must be "
     "named first when the script is loaded. Of a megabyte if not said; 64 KB at least. When that is used "
     "up, what was used least recently is forgotten; so is a part of it when a worker is killed.",
     NULL, lua_shared},
    {"limit", IN_WORKER, "bt.limit(key, rate [, burst]) -> allowed, left",
     "Take one from the bucket of that key, into which rate come a second, and burst at most (if not "
     "said, rate). false: it is empty. All workers and scripts share the buckets.",
     "if not bt.limit(\"c \" .. tostring(txn.client.addr), 100, 200) then\n"
     "  return bt.deny{status = 429}\nend",
     lua_limit},
};
const struct library library_shared = {"bt", "What all workers know together.", functions,
                                       sizeof functions / sizeof *functions};

static const struct binding methods[] = {
    {"get", IN_WORKER, "shared:get(key) -> value", "nil: there is none.", NULL, shared_get},
    {"set", IN_WORKER, "shared:set(key, value [, ttl]) -> done",
     "Text, number or boolean, for ttl seconds; nil removes it. false: it is too long, or (nil) was not "
     "there.",
     NULL, shared_set},
    {"add", IN_WORKER, "shared:add(key, value [, ttl]) -> done",
     "As set, if there is none. false: there is.", NULL, shared_add},
    {"incr", IN_WORKER, "shared:incr(key [, by [, ttl]]) -> sum",
     "Add to an integer, 1 if not said; one that is not there begins with 0 and lives for ttl seconds. "
     "nil: it is something else.",
     NULL, shared_incr},
    {"expire", IN_WORKER, "shared:expire(key [, ttl]) -> there",
     "So many seconds more; without: until it is forgotten.", NULL, shared_expire},
    {"state", IN_WORKER, "shared:state() -> table",
     "entries, bytes (that they take), room (for all), evicted (how many had to go for others).",
     NULL, shared_state},
};
const struct library library_shared_methods = {"shared", "A dictionary of bt.shared.", methods,
                                               sizeof methods / sizeof *methods};
