/* hooks.c - the phases of an exchange, and the functions that scripts have for them.
 *
 * What scripts fetch themselves (bt.http) meets no scripts, or it would have no end; http_access judges
 * it as anything else.
 *
 * A hook may be in several scripts: they are asked in the order of the lua_script lines, until one says
 * something.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

static int push_txn(lua_State *L, void *arg)
{
    exchange_push(L, arg);
    return 1;
}

static int push_error(lua_State *L, void *arg)
{
    const char *page;
    int status = bt_failed(arg, &page);

    exchange_push(L, arg);
    lua_pushstring(L, page);
    lua_pushinteger(L, status);
    return 3;
}

/* What on-error= makes of a failure. true: that is said. */
static bool failed(const struct file *file, enum hook hook, enum bt_verdict *verdict)
{
    switch (file->on_error) {
    case ON_ERROR_IGNORE:
        return false;
    case ON_ERROR_ALLOW:
        *verdict = hook == HOOK_REQUEST ? BT_SETTLE : BT_PASS;
        return true;
    case ON_ERROR_DENY:
        break;
    }
    *verdict = hook == HOOK_ACCEPT || hook == HOOK_HELLO ? BT_DROP : BT_REFUSE;
    return true;
}

static struct call *begin(struct exchange *ex, struct state *state, enum hook hook)
{
    struct call *call = call_new(state, hook, &state->hooks[hook].row[ex->next], ex->txn);

    if (call != NULL) {
        call->push = hook == HOOK_ERROR ? push_error : push_txn;
        call->arg = ex->txn;
        call->take = verdict_take;
    }
    return call;
}

/* The call of the exchange ended; true: something is said. */
static bool ended(struct exchange *ex, enum bt_verdict *verdict)
{
    struct call *call = ex->call;
    bool said = call->said;

    *verdict = call->verdict;
    if (call->is == CALL_FAILED) {
        call_complain(call);
        said = failed(call->file, call->hook, verdict);
    }
    call_free(call);
    ex->call = NULL;
    ex->next++;
    return said;
}

enum bt_verdict hooks_run(struct bt_txn *txn, enum hook hook)
{
    struct exchange *ex;
    enum bt_verdict verdict = BT_PASS;
    bool said = false;

    if (state_now == NULL || state_now->hooks[hook].n == 0 || bt_initiator(txn) == BT_BY_SCRIPT)
        return BT_PASS;
    ex = exchange_of(txn);
    /* The hook of another phase that nobody came back to: its time was up. */
    if (ex->call != NULL && ex->call->hook != hook)
        exchange_stop(ex);
    while (!said) {
        if (ex->call == NULL && ex->next >= state_now->hooks[hook].n)
            break;
        if (ex->call == NULL)
            ex->call = begin(ex, state_now, hook);
        if (ex->call == NULL) {
            said = failed(state_now->hooks[hook].row[ex->next++].file, hook, &verdict);
            continue;
        }
        switch (call_run(ex->call)) {
        case CALL_OVER:
        case CALL_FAILED:
            said = ended(ex, &verdict);
            break;
        case CALL_READY:
        case CALL_RUNNING:
        case CALL_SLICED:
        case CALL_WAITING:
            return BT_PAUSE;
        }
    }
    ex->next = 0;
    return said ? verdict : BT_PASS;
}

/* ---- FINISH: it cannot pause, and says nothing but fields ---- */

static void remember(struct exchange *ex, bt_str name, bt_str value)
{
    struct bt_arena *arena = bt_txn_arena(ex->txn);
    struct named *named;

    for (named = ex->values; named != NULL; named = named->next)
        if (bt_str_eq(named->name, name))
            break;
    if (named == NULL) {
        named = bt_alloc(arena, sizeof *named);
        named->name = bt_str_copy(arena, name);
        named->next = ex->values;
        ex->values = named;
    }
    named->value = bt_str_copy(arena, value);
}

void exchange_value(struct bt_txn *txn, bt_str name, bt_str value)
{
    remember(exchange_of(txn), name, value);
}

static void finish_take(lua_State *L, struct call *call)
{
    if (lua_isnoneornil(L, 2))
        return;
    if (!lua_istable(L, 2)) {
        luaL_error(L, "on_finish must return a table of fields for %%{name}lua or nothing, not %s",
                   luaL_typename(L, 2));
        return;
    }
    lua_settop(L, 2);
    lua_pushnil(L);
    while (lua_next(L, 2) != 0) {
        bt_str name = {0}, value;
        value.at = luaL_tolstring(L, -1, &value.len);
        if (lua_type(L, -3) == LUA_TSTRING)
            name.at = lua_tolstring(L, -3, &name.len);
        else
            luaL_error(L, "the fields that on_finish returns must have names");
        exchange_value(call->txn, name, value);
        lua_pop(L, 2);
    }
}

void hooks_finish(struct bt_txn *txn)
{
    struct exchange *ex;
    const struct hooks *hooks;

    if (state_now == NULL)
        return;
    ex = bt_txn_ctx(txn);
    if (ex->txn != NULL)
        exchange_stop(ex);
    hooks = &state_now->hooks[HOOK_FINISH];
    for (unsigned i = 0; i < hooks->n; i++) {
        struct call *call = call_new(state_now, HOOK_FINISH, &hooks->row[i], txn);
        if (call == NULL)
            continue;
        call->push = push_txn;
        call->arg = txn;
        call->take = finish_take;
        call->pinned = 1;
        if (call_run(call) == CALL_FAILED)
            call_complain(call);
        call_free(call);
    }
}

/* ---- rows ---- */

#define RUN(function, id)                                                                          \
    static enum bt_verdict function(struct bt_txn *txn)                                            \
    {                                                                                              \
        return hooks_run(txn, HOOK_##id);                                                          \
    }
RUN(run_accept, ACCEPT)
RUN(run_hello, HELLO)
RUN(run_request, REQUEST)
RUN(run_lookup, LOOKUP)
RUN(run_upstream, UPSTREAM)

static enum bt_verdict run_response(struct bt_txn *txn)
{
    return hooks_run(txn,
                     bt_failed(txn, NULL) != 0 && bt_status(txn) == 0 ? HOOK_ERROR : HOOK_RESPONSE);
}

static enum bt_verdict run_finish(struct bt_txn *txn)
{
    hooks_finish(txn);
    return BT_PASS;
}

/* One of ACCEPT makes an exchange of each connection, before it has said a word. The others are there,
 * so that scripts which are loaded again may have hooks that they had not. */
unsigned hooks_phases(void)
{
    if (state_now == NULL)
        return 0;
    return state_now->hooks[HOOK_ACCEPT].n > 0 ? ~0u : ~(1u << BT_AT_ACCEPT);
}

const struct bt_hook hook_rows[] = {
    {BT_AT_ACCEPT, "Calls on_accept of the scripts.", run_accept},
    {BT_AT_HELLO, "Calls on_hello of the scripts.", run_hello},
    {BT_AT_REQUEST, "Calls on_request of the scripts.", run_request},
    {BT_AT_LOOKUP, "Calls on_lookup of the scripts.", run_lookup},
    {BT_AT_UPSTREAM, "Calls on_upstream of the scripts.", run_upstream},
    {BT_AT_RESPONSE, "Calls on_response of the scripts, or on_error.", run_response},
    {BT_AT_FINISH, "Calls on_finish of the scripts; ends what is under way.", run_finish},
};
