/* guard.c - what a script may take: time, in slices and altogether, and memory.
 *
 * Each coroutine has a hook that Lua calls every INSTRUCTIONS instructions. When a slice is over, the
 * coroutine is handed back to the loop, which serves others before it goes on; when the budget of the
 * call is spent, it is handed back for good, so that no pcall() can catch it. Where C code is on the
 * stack that cannot be left (a comparison of table.sort), an error is raised, and again with each
 * instruction that follows.
 *
 * The clock on the wall is cheap, and tells who may have spent too much; only then the CPU clock is
 * asked, so that a busy machine is not taken for a busy script.
 *
 * Functions in C are no instructions: those that can take long say how much they did
 * (guard_charge()), and the hook comes the sooner.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <time.h>

#include "state.h"

enum {
    INSTRUCTIONS = 1000,
    LARGE = 512 * 1024,      /* texts of that size make one instruction (.., ==, <, +) take long: */
    INSTRUCTIONS_LARGE = 40, /* so many, then, once there was one */
    SLICE_US = 1000,
    CHARGE_MAX = 50000, /* steps in C until the hook looks */
    BLOCK_SHARE = 8     /* no block may be more than that part of all memory */
};

static int64_t clock_of(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

int64_t guard_cpu_us(void)
{
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

int64_t guard_wall_us(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

/* ---- memory ---- */

/* Lua collects garbage and asks once more: who is refused then has met the limit. */
static void guard_starve(struct state *state, const void *block, size_t wanted)
{
    if (state->refused_at != block || state->refused != wanted) {
        state->refused_at = block;
        state->refused = wanted;
        return;
    }
    state->refused = 0;
    if (state->running != NULL)
        state->running->root->killed = END_MEMORY;
}

static void guard_hook(lua_State *L, lua_Debug *ar);

/* lua_sethook() may be called at any time. A coroutine within the call comes to its hook by itself. */
static void guard_large(struct state *state)
{
    state->large = true;
    if (state->running != NULL)
        lua_sethook(state->running->L, guard_hook, LUA_MASKCOUNT, 1);
}

void *guard_alloc(void *state_, void *block, size_t had, size_t wanted)
{
    struct state *state = state_;
    void *got;

    if (block == NULL) { /* then it is a kind of object */
        if (had == LUA_TSTRING && wanted > LARGE && !state->large)
            guard_large(state);
        had = 0;
    }
    if (wanted == 0) {
        free(block);
        state->bytes -= had;
        return NULL;
    }
    if (wanted > had && (wanted - had > state->bytes_max - state->bytes ||
                         wanted > state->bytes_max / BLOCK_SHARE)) {
        guard_starve(state, block, wanted);
        return NULL;
    }
    got = realloc(block, wanted);
    if (got != NULL) {
        state->bytes += wanted - had;
        state->refused = 0;
    }
    return got;
}

/* ---- time ---- */

struct state *state_of(lua_State *L)
{
    void *state;

    (void)lua_getallocf(L, &state);
    return state;
}

void guard_watch(lua_State *L)
{
    lua_sethook(L, guard_hook, LUA_MASKCOUNT,
                state_of(L)->large ? INSTRUCTIONS_LARGE : INSTRUCTIONS);
}

/* Has the call used up what it may? In its first turn nobody asked the CPU clock at the beginning; up to
 * now the wall's stands for it, by half of the limit at most, so that nobody fails for having been set
 * aside. */
static bool guard_spent(struct call *root, int64_t now)
{
    int64_t limit = root->limit_us, so_far = now - root->began_us;

    if (root->cpu_from_us == 0)
        root->cpu_from_us = guard_cpu_us() - (so_far < limit / 2 ? so_far : limit / 2);
    if (root->spent_us + so_far <= limit)
        return false;
    return root->spent_us + guard_cpu_us() - root->cpu_from_us > limit;
}

static int guard_refuse(lua_State *L)
{
    lua_sethook(L, guard_hook, LUA_MASKCOUNT, 1); /* whoever catches this gets it again */
    return luaL_error(L, "the time that a call may take is over (lua_cpu_limit)");
}

bool guard_load_over(lua_State *L)
{
    const struct state *state = state_of(L);

    return state->running == NULL && guard_cpu_us() > state->load_until_us;
}

static void guard_load(lua_State *L)
{
    if (guard_load_over(L))
        (void)guard_refuse(L);
    else
        guard_watch(L);
}

static void guard_hook(lua_State *L, lua_Debug *ar)
{
    struct state *state = state_of(L);
    struct call *call = state->running;
    int64_t now;

    (void)ar;
    if (call == NULL) {
        guard_load(L);
        return;
    }
    now = guard_wall_us();
    state->charged = 0;
    if (call->root->killed == END_NONE && guard_spent(call->root, now))
        call->root->killed = END_CPU;
    if (call->root->killed != END_NONE) {
        if (!call_may_leave(L, call))
            (void)guard_refuse(L);
    } else {
        guard_watch(L); /* after a charge it came early */
        if (now - call->root->began_us < SLICE_US || !call_may_leave(L, call))
            return;
    }
    call->ours = true;
    (void)lua_yield(L, 0);
}

void guard_charge(lua_State *L, size_t n)
{
    struct state *state = state_of(L);
    size_t before = state->charged;

    state->charged += n;
    if (state->charged < CHARGE_MAX)
        return;
    lua_sethook(L, guard_hook, LUA_MASKCOUNT, 1);
    if (before / CHARGE_MAX != state->charged / CHARGE_MAX)
        guard_look(L); /* one function may go on for long before that hook */
}

void guard_look(lua_State *L)
{
    struct state *state = state_of(L);
    struct call *call = state->running;

    if (call == NULL) {
        guard_load(L);
        return;
    }
    if (call->root->killed == END_NONE && guard_spent(call->root, guard_wall_us()))
        call->root->killed = END_CPU;
    if (call->root->killed != END_NONE)
        (void)guard_refuse(L);
}
