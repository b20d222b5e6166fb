/* test.c - tests of policy: functions test_* of a script, and exchanges that nobody sent.
 *
 * `bobtail --lua-test FILE` starts a server without clients and asks for the command test-lua, which
 * calls one function after the other; what raises an error has failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* ---- bt.test.request{} ---- */

struct request {
    struct wait wait; /* first: the userdata is one */
    struct child child;
    struct bt_txn *txn;
    enum hook hook;
    unsigned next;  /* of the hook's functions */
    bool answering; /* there is a response, for which on_response is called, too */
    bool failed, over;
    int result; /* ref of the table; LUA_NOREF: nothing was said */
};

static int push_txn(lua_State *L, void *arg)
{
    exchange_push(L, arg);
    return 1;
}

/* The next function, if there is one: it runs up to where it waits, or to its end. */
static void request_next(lua_State *L, struct request *r);

/* In the coroutine of the test again. */
static int request_results(lua_State *L, struct wait *wait)
{
    struct request *r = (struct request *)wait;

    request_next(L, r);
    if (!r->over)
        return wait_start(L, wait);
    if (r->result == LUA_NOREF) {
        lua_newtable(L);
    } else {
        lua_rawgeti(L, LUA_REGISTRYINDEX, r->result);
        luaL_unref(L, LUA_REGISTRYINDEX, r->result);
    }
    exchange_push(L, r->txn);
    lua_setfield(L, -2, "txn");
    return 1;
}

static void request_cancel(struct wait *wait)
{
    child_drop(&((struct request *)wait)->child);
}

static void request_over(struct child *child)
{
    struct request *r = (struct request *)((char *)child - offsetof(struct request, child));

    wait_done(&r->wait);
}

/* What the function that ended has said. true: that is the end. */
static bool request_take(lua_State *L, struct request *r)
{
    struct call *call = r->child.call;
    bool failed;

    if (call->said) {
        verdict_push(L, call->by);
        r->result = luaL_ref(L, LUA_REGISTRYINDEX);
        child_drop(&r->child);
        return true;
    }
    (void)child_take(L, &r->child, &failed);
    if (failed)
        lua_error(L);
    return false;
}

static void request_next(lua_State *L, struct request *r)
{
    struct state *state = call_now(L)->state;

    for (;;) {
        if (r->child.call != NULL && !r->child.ended)
            return;
        if (r->child.call != NULL && request_take(L, r)) {
            r->over = true;
            return;
        }
        if (r->next >= state->hooks[r->hook].n) {
            if (r->hook == HOOK_RESPONSE || !r->answering) {
                r->over = true;
                return;
            }
            r->hook = HOOK_RESPONSE;
            r->next = 0;
            continue;
        }
        const struct hooked *what = &state->hooks[r->hook].row[r->next++];
        struct call *call = call_within(L, &r->child, r->hook, r->txn);
        call->file = what->file;
        call->function = what->ref;
        call->push = push_txn;
        call->arg = r->txn;
        call->take = verdict_take;
        call_within_run(call);
    }
}

static bt_str option(lua_State *L, int table, const char *name, const char *preset)
{
    bt_str text = BT_STR_NONE;

    if (lua_getfield(L, table, name) != LUA_TNIL || preset != NULL) {
        if (lua_isnil(L, -1))
            lua_pushstring(L, preset);
        text.at = luaL_checklstring(L, -1, &text.len);
    }
    return text;
}

/* The table of headers in that table, as lines; one text on the stack. */
static bt_str lines(lua_State *L, int table)
{
    bt_str text;
    int headers, base;

    if (lua_getfield(L, table, "headers") != LUA_TTABLE) {
        lua_pushliteral(L, "");
        return (bt_str){"", 0};
    }
    headers = lua_gettop(L);
    lua_pushliteral(L, "");
    base = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, headers) != 0) {
        bt_str name = {0}, value = {0};
        name.at = luaL_checklstring(L, -2, &name.len);
        value.at = luaL_checklstring(L, -1, &value.len);
        header_check(L, name, value);
        lua_pushfstring(L, "%s%s: %s\r\n", lua_tostring(L, base), name.at, value.at);
        lua_replace(L, base);
        lua_pop(L, 1);
    }
    text.at = lua_tolstring(L, base, &text.len);
    return text;
}

static int request(lua_State *L)
{
    struct bt_sketch sketch = {0};
    const char *why = "";
    struct bt_txn *txn;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    sketch.method = option(L, 1, "method", "GET");
    sketch.url = option(L, 1, "url", "http://example.test/");
    sketch.client = option(L, 1, "client", NULL);
    sketch.user = option(L, 1, "user", NULL);
    sketch.fields = lines(L, 1);
    if (lua_getfield(L, 1, "response") == LUA_TTABLE) {
        int response = lua_gettop(L);
        lua_getfield(L, response, "status");
        sketch.status = (int)luaL_optinteger(L, -1, 200);
        sketch.rep_fields = lines(L, response);
    }
    txn = bt_sketch(&sketch, &why);
    if (txn == NULL)
        return luaL_error(L, "bt.test.request: %s", why);
    struct request *r = wait_new(L, sizeof *r, request_cancel, request_results);
    r->txn = txn;
    r->hook = HOOK_REQUEST;
    r->answering = sketch.status != 0;
    r->result = LUA_NOREF;
    r->child.over = request_over;
    return request_results(L, &r->wait);
}

static const struct binding rows[] = {
    {"request", IN(TEST),
     "bt.test.request{method=, url=, headers=, client=, user=, response=} -> result",
     "Call the hooks of the script for a request that nobody sent: on_request, and with a response "
     "({status=, headers=}) on_response. The result has verdict (\"allow\", \"deny\", \"answer\" or nil), "
     "status, page, reason, head, body, as far as they were said, and txn, whose headers, URL and notes "
     "can be looked at.",
     NULL, request},
};
const struct library library_test = {"bt.test", "Tests of a policy, by bobtail --lua-test FILE.",
                                     rows, sizeof rows / sizeof *rows};

/* ---- test-lua ---- */

struct tests {
    struct bt_call *asker;
    struct state *state;
    struct one {
        char *name;
        struct hooked what;
    } * test;
    unsigned n, room, next, failed;
};

static int collect(lua_State *L)
{
    struct tests *tests = lua_touserdata(L, 1);

    for (unsigned i = 0; i < tests->state->n_envs; i++) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, tests->state->env[i].ref);
        lua_pushnil(L);
        while (lua_next(L, 2) != 0) {
            const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
            if (strncmp(name, "test_", 5) != 0 || !lua_isfunction(L, -1)) {
                lua_pop(L, 1);
                continue;
            }
            if (tests->n == tests->room) {
                tests->room = tests->room * 2 + 16;
                tests->test = realloc(tests->test, tests->room * sizeof *tests->test);
                if (tests->test == NULL)
                    abort();
            }
            tests->test[tests->n++] = (struct one){
                strdup(name), {tests->state->env[i].file, luaL_ref(L, LUA_REGISTRYINDEX)}};
        }
        lua_settop(L, 1);
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct one *)a)->name, ((const struct one *)b)->name);
}

static void test_next(struct tests *tests);

static void test_over(struct call *call)
{
    struct tests *tests = call->arg;
    const char *name = tests->test[tests->next - 1].name, *why = call->why;

    if (call->is == CALL_FAILED) {
        if (why == NULL)
            why = lua_type(call->L, -1) == LUA_TSTRING ? lua_tostring(call->L, -1)
                                                       : "an error that is no text";
        bt_call_print(tests->asker, "not ok %s: %s\n", name, why);
        tests->failed++;
    } else {
        bt_call_print(tests->asker, "ok %s\n", name);
    }
    test_next(tests);
}

static void tests_over(struct tests *tests)
{
    char why[80];

    snprintf(why, sizeof why, "%u of %u tests failed", tests->failed, tests->n);
    bt_call_done(tests->asker, tests->n == 0       ? "there is no function test_... in it"
                               : tests->failed > 0 ? why
                                                   : NULL);
    for (unsigned i = 0; i < tests->n; i++)
        free(tests->test[i].name);
    free(tests->test);
    free(tests);
}

static void test_next(struct tests *tests)
{
    struct call *call;

    if (tests->next == tests->n) {
        tests_over(tests);
        return;
    }
    call = call_new(tests->state, HOOK_TEST, &tests->test[tests->next++].what, NULL);
    if (call == NULL) {
        tests->failed++;
        tests_over(tests);
        return;
    }
    call->arg = tests;
    call_detach(call, test_over);
}

void test_run(struct bt_call *asker, const bt_str *word, size_t n)
{
    struct tests *tests = calloc(1, sizeof *tests);
    lua_State *L;

    (void)word;
    if (n > 0 || state_now == NULL || tests == NULL) {
        free(tests);
        bt_call_done(asker, "there is no lua_script, or something follows this command");
        return;
    }
    tests->asker = asker;
    tests->state = state_now;
    L = state_now->L;
    lua_pushcfunction(L, collect);
    lua_pushlightuserdata(L, tests);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK)
        lua_pop(L, 1);
    if (tests->n > 0)
        qsort(tests->test, tests->n, sizeof *tests->test, by_name);
    test_next(tests);
}
