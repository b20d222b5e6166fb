/* exchange.c - what the module remembers of one exchange, and how that ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

struct object {
    struct bt_txn *txn; /* NULL: it is over, and a script still has the object */
};

/* Of the state that it was made in. */
static void object_drop(struct exchange *ex)
{
    if (ex->state == NULL)
        return;
    ex->object->txn = NULL;
    luaL_unref(ex->state->L, LUA_REGISTRYINDEX, ex->ref);
    state_unuse(ex->state);
    ex->state = NULL;
}

void exchange_stop(struct exchange *ex)
{
    if (ex->call != NULL)
        call_free(ex->call);
    ex->call = NULL;
    ex->next = 0;
    acl_stop(ex);
}

static void exchange_over(void *what)
{
    exchange_stop(what);
    object_drop(what);
}

struct exchange *exchange_of(struct bt_txn *txn)
{
    struct exchange *ex = bt_txn_ctx(txn);

    if (ex->txn == NULL) {
        ex->txn = txn;
        bt_defer(bt_txn_arena(txn), exchange_over, ex);
    }
    return ex;
}

void exchange_push(lua_State *L, struct bt_txn *txn)
{
    struct exchange *ex = exchange_of(txn);
    struct state *state = call_now(L)->state;

    if (ex->state == state) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, ex->ref);
        return;
    }
    object_drop(ex);
    struct object *object = lua_newuserdatauv(L, sizeof *object, 1);
    object->txn = NULL;
    luaL_setmetatable(L, "txn");
    lua_pushvalue(L, -1);
    ex->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    object->txn = txn;
    ex->object = object;
    ex->state = state;
    state_use(state);
}

struct bt_txn *exchange_check(lua_State *L, int at)
{
    struct object *object = luaL_checkudata(L, at, "txn");

    if (object->txn == NULL)
        luaL_error(L, "this exchange is over");
    return object->txn;
}
