/* verdict.c - what a hook can say: bt.allow(), bt.deny{}, bt.redirect(), bt.respond{}.
 *
 * A verdict is a userdata with all its text in it, so that it can be made once, when the script is
 * loaded, and given many times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "state.h"

enum verdict_is { ALLOW, DENY, ANSWER };
static const char *const kind_names[] = {"bt.allow", "bt.deny", "bt.redirect or bt.respond"};

struct verdict {
    enum verdict_is kind;
    int status; /* 0: the page's own */
    /* In text[], one after the other; of a denial page and reason, of an answer fields and body. */
    size_t first, second;
    char text[];
};

static struct verdict *verdict_new(lua_State *L, enum verdict_is kind, int status, bt_str first,
                                   bt_str second)
{
    struct verdict *verdict = lua_newuserdatauv(L, sizeof *verdict + first.len + second.len, 0);

    *verdict = (struct verdict){kind, status, first.len, second.len};
    if (first.len > 0)
        memcpy(verdict->text, first.at, first.len);
    if (second.len > 0)
        memcpy(verdict->text + first.len, second.at, second.len);
    kind_set(L, &state_of(L)->verdict_kind);
    return verdict;
}

/* ---- options ---- */

static bt_str text_at(lua_State *L, int at)
{
    bt_str text;

    text.at = lua_tolstring(L, at, &text.len);
    return text.at != NULL ? text : BT_STR_NONE;
}

/* Field of the table at 1, on the top of the stack; BT_STR_NONE: not given. */
static bt_str option_text(lua_State *L, const char *name)
{
    int type = lua_getfield(L, 1, name);

    if (type == LUA_TNIL)
        return BT_STR_NONE;
    if (type != LUA_TSTRING && type != LUA_TNUMBER)
        luaL_error(L, "%s must be text, not %s", name, luaL_typename(L, -1));
    return text_at(L, -1);
}

static int status_check(lua_State *L, lua_Integer status, int min, int max)
{
    if (status < min || status > max)
        luaL_error(L, "status must be from %d to %d", min, max);
    return (int)status;
}

static int option_status(lua_State *L, int preset, int min, int max)
{
    lua_Integer status;
    int is = 1;

    if (lua_getfield(L, 1, "status") == LUA_TNIL)
        return preset;
    status = lua_tointegerx(L, -1, &is);
    if (!is)
        luaL_error(L, "status must be a whole number");
    return status_check(L, status, min, max);
}

/* A misspelt option would be silence. */
static void options_known(lua_State *L, const char *const *known)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number";
        bool found = false;
        for (const char *const *at = known; *at != NULL && !found; at++)
            found = strcmp(*at, name) == 0;
        if (!found)
            luaL_error(L, "there is no option '%s' here", name);
        lua_pop(L, 1);
    }
}

/* ---- the functions ---- */

int verdict_allow(lua_State *L)
{
    verdict_new(L, ALLOW, 0, BT_STR_NONE, BT_STR_NONE);
    return 1;
}

/* All are the same. */
static int allow(lua_State *L)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, state_of(L)->allow);
    return 1;
}

static int deny(lua_State *L)
{
    static const char *const known[] = {"status", "reason", "page", NULL};
    bt_str page, reason;
    int status;

    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    options_known(L, known);
    status = option_status(L, 0, 400, 599);
    page = option_text(L, "page");
    reason = option_text(L, "reason");
    if (page.at != NULL && !bt_page_known(page))
        return luaL_error(L, "there is no error page '%s'", page.at);
    verdict_new(L, DENY, status, page, reason);
    return 1;
}

static int redirect(lua_State *L)
{
    bt_str url;
    lua_Integer status = luaL_optinteger(L, 2, 302);

    url.at = luaL_checklstring(L, 1, &url.len);
    if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308)
        return luaL_error(L, "a redirection has status 301, 302, 303, 307 or 308");
    header_check(L, BT_STR("Location"), url);
    lua_pushfstring(L, "Location: %s\r\n", url.at);
    verdict_new(L, ANSWER, (int)status, text_at(L, -1), BT_STR_NONE);
    return 1;
}

/* Name and value on the top of the stack. */
static void add_line(lua_State *L, luaL_Buffer *lines, bt_str name, bt_str value)
{
    header_check(L, name, value);
    if (header_is_ours(name))
        luaL_error(L, "%s is not for scripts", name.at);
    luaL_addlstring(lines, name.at, name.len);
    luaL_addlstring(lines, ": ", 2);
    luaL_addlstring(lines, value.at, value.len);
    luaL_addlstring(lines, "\r\n", 2);
}

static void push_line(lua_State *L, int name, int value)
{
    luaL_Buffer lines;
    bt_str n = text_at(L, name), v = text_at(L, value);

    if (n.at == NULL || v.at == NULL)
        luaL_error(L, "headers are texts by name, or lists of texts");
    luaL_buffinit(L, &lines);
    add_line(L, &lines, n, v);
    luaL_pushresult(&lines);
}

/* The option `headers` as header lines, on the top of the stack. */
static bt_str option_headers(lua_State *L)
{
    int base, table;

    if (lua_getfield(L, 1, "headers") == LUA_TNIL)
        return BT_STR_NONE;
    luaL_checktype(L, -1, LUA_TTABLE);
    table = lua_gettop(L);
    lua_pushliteral(L, "");
    base = lua_gettop(L) - 1;
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
        /* text so far, name, value */
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "headers are texts by name");
        if (lua_type(L, -1) == LUA_TTABLE) {
            int values = lua_gettop(L);
            for (lua_Integer i = 1; lua_rawgeti(L, values, i) != LUA_TNIL; i++) {
                if (i > VALUES_MAX) /* each copies all before it */
                    luaL_error(L, "more than %d values of a header", (int)VALUES_MAX);
                push_line(L, values - 1, lua_gettop(L));
                lua_pushvalue(L, base + 1);
                lua_insert(L, -2);
                lua_concat(L, 2);
                lua_replace(L, base + 1);
                lua_pop(L, 1);
            }
            lua_pop(L, 2);
        } else {
            push_line(L, lua_gettop(L) - 1, lua_gettop(L));
            lua_pushvalue(L, base + 1);
            lua_insert(L, -2);
            lua_concat(L, 2);
            lua_replace(L, base + 1);
            lua_pop(L, 1);
        }
    }
    return text_at(L, base + 1);
}

static int respond(lua_State *L)
{
    static const char *const known[] = {"status", "headers", "body", NULL};
    bt_str fields, body;
    int status;

    options_known(L, known);
    status = option_status(L, 200, 200, 599);
    body = option_text(L, "body");
    fields = option_headers(L);
    if (body.len > 0 && (status == 204 || status == 304))
        return luaL_error(L, "an answer with status %d has no body", status);
    verdict_new(L, ANSWER, status, fields, body);
    return 1;
}

static const struct binding rows[] = {
    {"allow", IN_ANY, "bt.allow() -> verdict",
     "From on_request: it may pass; the other scripts and http_access are not asked. From other hooks: "
     "the other scripts are not asked.",
     "return bt.allow()", allow},
    {"deny", IN_ANY, "bt.deny{status=, reason=, page=} -> verdict",
     "Refuse, with the page ERR_ACCESS_DENIED or that of the name given (of the server, or of "
     "error_directory), and its status or that given. The reason is for the page and the log. From "
     "on_accept: the connection is closed.",
     "return bt.deny{status = 403, reason = \"not today\"}", deny},
    {"redirect", IN_ANY, "bt.redirect(url [, status]) -> verdict",
     "Send the client elsewhere, with status 302, 301, 303, 307 or 308.",
     "return bt.redirect(\"http://www.example.org/\", 307)", redirect},
    {"respond", IN_ANY, "bt.respond{status=, headers=, body=} -> verdict",
     "Answer with this. Headers are texts by name, or lists of texts where there are several.",
     "return bt.respond{status = 200, headers = {[\"Content-Type\"] = \"text/plain\"}, body = "
     "\"hello\"}",
     respond},
};
const struct library library_verdict = {"bt", "Verdicts: what a hook returns; nothing: go on.",
                                        rows, sizeof rows / sizeof *rows};

static const struct library kind = {"verdict", NULL, NULL, 0};
const struct library *const verdict_kind = &kind;

/* ---- taking ---- */

static enum bt_verdict take_deny(const struct verdict *verdict, struct bt_txn *txn)
{
    struct bt_arena *arena = bt_txn_arena(txn);
    bt_str page = bt_str_copy(arena, (bt_str){verdict->text, verdict->first});

    bt_deny(txn, verdict->status, page.len > 0 ? page.at : NULL);
    if (verdict->second > 0)
        bt_deny_why(txn, (bt_str){verdict->text + verdict->first, verdict->second});
    return BT_REFUSE;
}

static enum bt_verdict take(const struct verdict *verdict, struct bt_txn *txn, enum hook hook)
{
    switch (verdict->kind) {
    case ALLOW:
        return hook == HOOK_REQUEST ? BT_SETTLE : BT_PASS;
    case DENY:
        return hook == HOOK_ACCEPT || hook == HOOK_HELLO ? BT_DROP : take_deny(verdict, txn);
    case ANSWER:
        bt_answer(txn, verdict->status, (bt_str){verdict->text, verdict->first},
                  (bt_str){verdict->text + verdict->first, verdict->second});
        return BT_ANSWER;
    }
    return BT_REFUSE;
}

/* In the coroutine, behind the function: what it returned stands at 2. */
void verdict_take(lua_State *L, struct call *call)
{
    const struct verdict *verdict;
    enum hook hook = call->hook;

    if (lua_isnoneornil(L, 2))
        return;
    verdict = kind_is(L, 2, &state_of(L)->verdict_kind) ? lua_touserdata(L, 2) : NULL;
    if (verdict == NULL)
        luaL_error(L, "%s must return a verdict (bt.allow(), bt.deny{}, ...) or nothing, not %s",
                   hook_name(hook), luaL_typename(L, 2));
    else if (verdict->kind == ANSWER && (hook == HOOK_ACCEPT || hook == HOOK_HELLO))
        luaL_error(L, "%s cannot be said in %s", kind_names[verdict->kind], hook_name(hook));
    else {
        call->said = true;
        call->by = verdict;
        call->verdict = take(verdict, call->txn, hook);
    }
}

void verdict_push(lua_State *L, const struct verdict *verdict)
{
    static const char *const words[] = {[ALLOW] = "allow", [DENY] = "deny", [ANSWER] = "answer"};
    const char *second = verdict->text + verdict->first;

    lua_newtable(L);
    lua_pushstring(L, words[verdict->kind]);
    lua_setfield(L, -2, "verdict");
    if (verdict->status != 0) {
        lua_pushinteger(L, verdict->status);
        lua_setfield(L, -2, "status");
    }
    if (verdict->first > 0) {
        lua_pushlstring(L, verdict->text, verdict->first);
        lua_setfield(L, -2, verdict->kind == DENY ? "page" : "head");
    }
    if (verdict->second > 0) {
        lua_pushlstring(L, second, verdict->second);
        lua_setfield(L, -2, verdict->kind == DENY ? "reason" : "body");
    }
}
