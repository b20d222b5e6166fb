/* exchange.c - what the module remembers of one exchange, and how that ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "state.h"

struct object {
    struct bt_txn *txn; /* NULL: it is over, and a script still has the object */
};

/* ---- places in the state's table of objects: cheaper than luaL_ref() ---- */

static unsigned place_take(struct state *state)
{
    if (state->n_places > 0)
        return state->places[--state->n_places];
    if (state->top >= state->room) {
        unsigned room = state->room * 2 + 64;
        unsigned *more = realloc(state->places, room * sizeof *more);
        if (more == NULL)
            abort();
        state->places = more;
        state->room = room;
    }
    return ++state->top;
}

static void place_put(lua_State *L, const struct state *state, unsigned place)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, state->objects);
    lua_insert(L, -2);
    lua_rawseti(L, -2, place);
    lua_pop(L, 1);
}

/* Of the state that it was made in. */
static void object_drop(struct exchange *ex)
{
    struct state *state = ex->state;

    if (state == NULL)
        return;
    ex->object->txn = NULL;
    lua_pushboolean(state->L, 0); /* nil would make holes, which cost the next one */
    place_put(state->L, state, ex->place);
    state->places[state->n_places++] = ex->place;
    ex->state = NULL;
    state_unuse(state);
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
        lua_rawgeti(L, LUA_REGISTRYINDEX, state->objects);
        lua_rawgeti(L, -1, ex->place);
        lua_remove(L, -2);
        return;
    }
    object_drop(ex);
    struct object *object = lua_newuserdatauv(L, sizeof *object, 1);
    object->txn = NULL;
    kind_set(L, &state->txn_kind);
    ex->place = place_take(state);
    lua_pushvalue(L, -1);
    place_put(L, state, ex->place); /* when there is no memory for it, the place is lost */
    object->txn = txn;
    ex->object = object;
    ex->state = state;
    state_use(state);
}

struct bt_txn *exchange_check(lua_State *L, int at)
{
    struct object *object = NULL;

    if (kind_is(L, at, &state_of(L)->txn_kind))
        object = lua_touserdata(L, at);
    else
        luaL_checkudata(L, at, "txn"); /* says what it is instead */
    if (object == NULL || object->txn == NULL)
        luaL_error(L, "this exchange is over");
    return object != NULL ? object->txn : NULL;
}
