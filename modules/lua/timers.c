/* timers.c - bt.every(): functions that a worker calls now and then.
 *
 * They are noted while scripts are loaded, and begin with the worker.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

struct every {
    struct every *next;
    struct state *state;
    struct hooked what;
    bt_duration after;
    struct bt_timer *timer;
    struct call *call; /* under way */
};

static bool running; /* in a worker that has started */

static void every_due(void *arg);

static void every_set(struct every *every)
{
    every->timer = bt_timer_start(every->after, every_due, every);
}

static void every_over(struct call *call)
{
    struct every *every = call->arg;

    every->call = NULL;
    every_set(every);
}

static void every_due(void *arg)
{
    struct every *every = arg;
    struct call *call = call_new(every->state, HOOK_TIMER, &every->what, NULL);

    every->timer = NULL;
    if (call == NULL) {
        every_set(every);
        return;
    }
    call->arg = every;
    every->call = call;
    call_detach(call, every_over);
}

int timers_every(lua_State *L)
{
    lua_Number seconds = luaL_checknumber(L, 1);
    struct call *call = call_now(L);
    struct state *state = state_of(L);
    struct every *every;

    luaL_checktype(L, 2, LUA_TFUNCTION);
    if (!(seconds >= 0.01 && seconds <= 1e7))
        return luaL_error(L, "seconds must be from 0.01 to 10000000");
    lua_settop(L, 2);
    every = lua_newuserdatauv(L, sizeof *every, 0);
    (void)luaL_ref(L, LUA_REGISTRYINDEX); /* as long as the state */
    *every = (struct every){.state = state, .after = {(int64_t)(seconds * 1000)}};
    every->what = (struct hooked){call != NULL ? call->file : state->loading,
                                  luaL_ref(L, LUA_REGISTRYINDEX)};
    every->next = state->everys;
    state->everys = every;
    if (running && state == state_now)
        every_set(every);
    return 0;
}

void timers_start(struct state *state)
{
    running = true;
    for (struct every *every = state->everys; every != NULL; every = every->next)
        if (every->timer == NULL && every->call == NULL)
            every_set(every);
}

void timers_stop(struct state *state)
{
    for (struct every *every = state->everys; every != NULL; every = every->next) {
        bt_timer_cancel(every->timer);
        every->timer = NULL;
        if (every->call != NULL)
            call_free(every->call);
        every->call = NULL;
    }
}
