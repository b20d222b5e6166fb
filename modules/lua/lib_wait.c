/* lib_wait.c - functions that wait: bt.http, bt.sleep, bt.all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

void wait_frees(lua_State *L, const char *kind, lua_CFunction gc)
{
    if (luaL_newmetatable(L, kind)) {
        lua_pushcfunction(L, gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
}

/* Seconds as scripts say them. */
static bt_duration seconds_arg(lua_State *L, lua_Number seconds)
{
    if (!(seconds >= 0 && seconds <= 1e6))
        luaL_error(L, "seconds must be from 0 to 1000000");
    return (bt_duration){(int64_t)(seconds * 1000 + 0.5)};
}

/* ---- bt.sleep ---- */

struct sleep {
    struct wait wait;
    struct bt_timer *timer;
};

static void sleep_over(void *sleep)
{
    wait_done(sleep);
}

static void sleep_cancel(struct wait *wait)
{
    bt_timer_cancel(((struct sleep *)wait)->timer);
}

static int sleep_results(lua_State *L, struct wait *wait)
{
    (void)L;
    (void)wait;
    return 0;
}

static int lua_sleep(lua_State *L)
{
    bt_duration span = seconds_arg(L, luaL_checknumber(L, 1));
    struct sleep *sleep;

    wait_check(L);
    sleep = wait_new(L, sizeof *sleep, sleep_cancel, sleep_results);
    sleep->timer = bt_timer_start(span, sleep_over, sleep);
    return wait_start(L, &sleep->wait);
}

/* ---- bt.http ---- */

enum { FIELDS_MAX = 64, HTTP_MS = 3000, HTTP_BYTES = 256 * 1024, HTTP_BYTES_MAX = 8 * 1024 * 1024 };

struct http {
    struct wait wait;
    struct bt_fetch *fetch; /* NULL: it is over */
    char *copy;             /* NULL, or what the reply points into */
    struct bt_fetch_reply reply;
};

static void copy_text(char **at, bt_str *text)
{
    text->at = memcpy(*at, text->at, text->len);
    *at += text->len;
}

/* The reply stands only while it is told, and no Lua can be used then. */
static void reply_copy(struct http *http, const struct bt_fetch_reply *reply)
{
    struct bt_fetch_field *field;
    size_t bytes = strlen(reply->detail) + 1 + reply->body.len;
    char *at;

    for (size_t i = 0; i < reply->n; i++)
        bytes += reply->field[i].name.len + reply->field[i].value.len;
    http->copy = malloc(reply->n * sizeof *field + bytes);
    if (http->copy == NULL)
        abort();
    http->reply = *reply;
    field = (struct bt_fetch_field *)(void *)http->copy;
    at = (char *)(field + reply->n);
    for (size_t i = 0; i < reply->n; i++) {
        field[i] = reply->field[i];
        copy_text(&at, &field[i].name);
        copy_text(&at, &field[i].value);
    }
    http->reply.field = field;
    copy_text(&at, &http->reply.body);
    http->reply.detail = strcpy(at, reply->detail);
}

static void http_done(void *http_, const struct bt_fetch_reply *reply)
{
    struct http *http = http_;

    http->fetch = NULL;
    reply_copy(http, reply);
    wait_done(&http->wait);
}

static void http_stop(struct http *http)
{
    if (http->fetch != NULL)
        bt_fetch_cancel(http->fetch);
    http->fetch = NULL;
    free(http->copy);
    http->copy = NULL;
}

static void http_cancel(struct wait *wait)
{
    http_stop((struct http *)wait);
}

static int http_gc(lua_State *L)
{
    http_stop(lua_touserdata(L, 1));
    return 0;
}

/* By names in lower case; the values of several of one name, with commas between. */
static void push_fields(lua_State *L, const struct bt_fetch_reply *reply)
{
    lua_createtable(L, 0, (int)reply->n);
    for (size_t i = 0; i < reply->n; i++) {
        luaL_Buffer name;
        char *at = luaL_buffinitsize(L, &name, reply->field[i].name.len);
        for (size_t k = 0; k < reply->field[i].name.len; k++) {
            char c = reply->field[i].name.at[k];
            at[k] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        luaL_pushresultsize(&name, reply->field[i].name.len);
        lua_pushvalue(L, -1);
        bool more = lua_rawget(L, -3) == LUA_TSTRING;
        if (more)
            lua_pushliteral(L, ", ");
        else
            lua_pop(L, 1);
        lua_pushlstring(L, reply->field[i].value.at, reply->field[i].value.len);
        if (more)
            lua_concat(L, 3);
        lua_rawset(L, -3);
    }
}

static int http_results(lua_State *L, struct wait *wait)
{
    struct http *http = (struct http *)wait;
    const struct bt_fetch_reply *reply = &http->reply;

    if (reply->error != NULL) {
        lua_pushnil(L);
        lua_pushstring(L, reply->error);
        lua_pushstring(L, reply->detail);
        return 3;
    }
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, reply->status);
    lua_setfield(L, -2, "status");
    lua_pushlstring(L, reply->body.at, reply->body.len);
    lua_setfield(L, -2, "body");
    push_fields(L, reply);
    lua_setfield(L, -2, "headers");
    free(http->copy);
    http->copy = NULL;
    return 1;
}

/* Of the table at 1; left on the stack, so that it stands. NONE: there is none. */
static bt_str text_of(lua_State *L, const char *key)
{
    bt_str text = BT_STR_NONE;

    switch (lua_getfield(L, 1, key)) {
    case LUA_TNIL:
        break;
    case LUA_TNUMBER:
    case LUA_TSTRING:
        text.at = lua_tolstring(L, -1, &text.len);
        break;
    default:
        luaL_error(L, "%s must be a text, not %s", key, luaL_typename(L, -1));
    }
    return text;
}

static lua_Number number_of(lua_State *L, const char *key, lua_Number otherwise)
{
    int type = lua_getfield(L, 1, key);
    lua_Number number = type == LUA_TNIL ? otherwise : lua_tonumber(L, -1);

    if (type != LUA_TNIL && !lua_isnumber(L, -1))
        luaL_error(L, "%s must be a number, not %s", key, luaL_typename(L, -1));
    lua_pop(L, 1);
    return number;
}

static void field_add(lua_State *L, struct bt_fetch_request *request, struct bt_fetch_field *field,
                      int name, int value)
{
    struct bt_fetch_field *one = &field[request->n++];

    if (request->n > FIELDS_MAX)
        luaL_error(L, "more than %d headers", FIELDS_MAX);
    one->name.at = lua_tolstring(L, name, &one->name.len);
    if (!lua_isstring(L, value))
        luaL_error(L, "the header %s must be a text, not %s", one->name.at,
                   luaL_typename(L, value));
    one->value.at = lua_tolstring(L, value, &one->value.len);
}

/* headers = {NAME = value or {values}}; all of them stay on the stack. */
static void fields_of(lua_State *L, struct bt_fetch_request *request, struct bt_fetch_field *field)
{
    int type = lua_getfield(L, 1, "headers"), table = lua_gettop(L);

    if (type == LUA_TNIL)
        return;
    if (type != LUA_TTABLE)
        luaL_error(L, "headers must be a table, not %s", luaL_typename(L, -1));
    luaL_checkstack(L, 4 * FIELDS_MAX + 8, "headers");
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
        int value = lua_gettop(L), name = value - 1;
        if (lua_type(L, name) != LUA_TSTRING)
            luaL_error(L, "headers must have names");
        if (lua_type(L, value) != LUA_TTABLE)
            field_add(L, request, field, name, value);
        for (int i = 1; lua_type(L, value) == LUA_TTABLE; i++) {
            if (lua_rawgeti(L, value, i) == LUA_TNIL)
                break;
            field_add(L, request, field, name, lua_gettop(L));
        }
        lua_pushvalue(L, name);
    }
}

static void request_of(lua_State *L, struct bt_fetch_request *request, struct bt_fetch_field *field)
{
    lua_Number max;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    *request = (struct bt_fetch_request){.by = BT_BY_SCRIPT, .field = field};
    request->timeout = seconds_arg(L, number_of(L, "timeout", HTTP_MS / 1000.0));
    max = number_of(L, "max", HTTP_BYTES);
    if (!(max >= 1 && max <= HTTP_BYTES_MAX))
        luaL_error(L, "max must be from 1 to %d bytes", HTTP_BYTES_MAX);
    request->max.bytes = (int64_t)max;
    request->url = text_of(L, "url");
    request->method = text_of(L, "method");
    request->body = text_of(L, "body");
    if (request->url.at == NULL)
        luaL_error(L, "bt.http: there is no url");
    fields_of(L, request, field);
}

static int lua_http(lua_State *L)
{
    struct bt_fetch_field field[FIELDS_MAX];
    struct bt_fetch_request request;
    struct bt_txn *txn = call_txn(L);
    struct http *http;
    const char *why;

    if (txn != NULL && bt_initiator(txn) == BT_BY_SCRIPT)
        return luaL_error(L, "bt.http cannot be used for a request that a script has made");
    request_of(L, &request, field);
    wait_check(L);
    http = wait_new(L, sizeof *http, http_cancel, http_results);
    wait_frees(L, "bt.http wait", http_gc);
    http->fetch = bt_fetch_start(&request, http_done, http, &why);
    if (http->fetch != NULL)
        return wait_start(L, &http->wait);
    lua_pushnil(L);
    lua_pushliteral(L, "invalid");
    lua_pushstring(L, why);
    return 3;
}

/* ---- bt.all ---- */

enum { ALL_MAX = 64 };

struct all;
struct one {
    struct child child; /* first */
    struct all *all;
};
struct all {
    struct wait wait;
    size_t n, left; /* left: under way */
    struct one one[];
};

static void one_over(struct child *child)
{
    struct all *all = ((struct one *)child)->all;

    if (--all->left == 0)
        wait_done(&all->wait);
}

static int all_gc(lua_State *L)
{
    struct all *all = lua_touserdata(L, 1);

    for (size_t i = 0; i < all->n; i++)
        child_drop(&all->one[i].child);
    return 0;
}

/* The first result of each, in order; the first failure is the error of the whole. */
static int all_results(lua_State *L, struct wait *wait)
{
    struct all *all = (struct all *)wait;
    bool failed = false;

    luaL_checkstack(L, (int)all->n + LUA_MINSTACK, "bt.all");
    for (size_t i = 0; i < all->n; i++) {
        int before = lua_gettop(L), n = child_take(L, &all->one[i].child, &failed);
        if (failed)
            return lua_error(L);
        lua_settop(L, before + (n > 0 ? 1 : 0));
        if (n == 0)
            lua_pushnil(L);
    }
    return (int)all->n;
}

static int lua_all(lua_State *L)
{
    struct all *all;
    size_t n;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    n = lua_rawlen(L, 1);
    if (n == 0 || n > ALL_MAX)
        return luaL_error(L, "bt.all takes a table of 1 to %d functions", ALL_MAX);
    for (size_t i = 1; i <= n; i++, lua_pop(L, 1))
        if (lua_rawgeti(L, 1, (lua_Integer)i) != LUA_TFUNCTION)
            return luaL_error(L, "bt.all: number %d is no function, but %s", (int)i,
                              luaL_typename(L, -1));
    wait_check(L);
    all = wait_new(L, sizeof *all + n * sizeof *all->one, NULL, all_results);
    wait_frees(L, "bt.all wait", all_gc);
    all->left = n;
    for (; all->n < n; all->n++) {
        struct one *one = &all->one[all->n];
        one->all = all;
        one->child.over = one_over;
        lua_rawgeti(L, 1, (lua_Integer)all->n + 1);
        child_start(L, &one->child);
    }
    return all->left == 0 ? all_results(L, &all->wait) : wait_start(L, &all->wait);
}

static const struct binding rows[] = {
    {"http", IN_WAITING, "bt.http{url=, method=, headers=, body=, timeout=, max=} -> answer",
     "Ask for a URL, as a request of the proxy itself: through http_access (the ACL type "
     "transaction_initiator script tells it), the cache, kept connections and TLS with verification. "
     "The answer has status, body, and headers by their names in lower case. When there is none: nil, "
     "a word (denied, dns, connect, tls, timeout, invalid, large, cut, unavailable) and a phrase. timeout "
     "is in seconds (3 when not given), max in bytes of the body (262144). Scripts are not called for "
     "such requests.",
     "local answer, why = bt.http{url = \"http://127.0.0.1:1/\", timeout = 1}\n"
     "if not answer then bt.log(\"warn\", \"no answer: \" .. why) end",
     lua_http},
    {"sleep", IN_WAITING, "bt.sleep(seconds)", "Wait; others are served meanwhile.",
     "bt.sleep(0.01)", lua_sleep},
    {"all", IN_WAITING, "bt.all{function, function, ...} -> result, result, ...",
     "Call the functions at the same time, and wait until all have ended: the first result of each. When "
     "one fails, so does bt.all. At most 64.",
     "local one, two = bt.all{function() bt.sleep(0.01) return 1 end, function() return 2 end}\n"
     "assert(one == 1 and two == 2)",
     lua_all},
};
const struct library library_wait = {"bt", "Waiting: requests, time, several things at once.", rows,
                                     sizeof rows / sizeof *rows};
