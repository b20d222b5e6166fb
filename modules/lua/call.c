/* call.c - one call of a function of a script: a coroutine that runs, is interrupted, waits and ends.
 *
 * A call of an exchange is driven by the hook that made it: when it cannot end now the hook pauses,
 * and bt_resume() has it called again, which calls call_run() again. A call without an exchange (a
 * timer) is driven by a timer of no length.
 *
 * Coroutines of calls that ended well are kept and used again. One that failed is left to the garbage
 * collector, which runs nothing of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "state.h"

enum { SPARE_MAX = 64 };

static int64_t waiting; /* calls of this worker */

struct call *call_now(lua_State *L)
{
    void *state;

    (void)lua_getallocf(L, &state);
    return ((struct state *)state)->running;
}

struct bt_txn *call_txn(lua_State *L)
{
    struct call *call = call_now(L);

    return call != NULL ? call->txn : NULL;
}

enum hook call_hook(lua_State *L)
{
    struct call *call = call_now(L);

    return call != NULL ? call->hook : HOOK_INIT;
}

bool call_may_leave(lua_State *L, const struct call *call)
{
    return lua_isyieldable(L) && call->pinned == 0;
}

/* ---- making ---- */

static int new_coroutine(lua_State *L)
{
    struct call *call = lua_touserdata(L, 1);

    call->L = lua_newthread(L);
    guard_watch(call->L);
    call->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static struct call *call_fresh(struct state *state)
{
    struct call *call = calloc(1, sizeof *call);
    lua_State *L = state->L;

    if (call == NULL)
        return NULL;
    lua_pushcfunction(L, new_coroutine);
    lua_pushlightuserdata(L, call);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK)
        return call;
    lua_pop(L, 1);
    free(call);
    return NULL;
}

static struct call *call_take(struct state *state)
{
    struct call *call = state->spare, clean = {0};

    if (call == NULL)
        return call_fresh(state);
    state->spare = call->next;
    state->n_spare--;
    clean.L = call->L;
    clean.ref = call->ref;
    *call = clean;
    return call;
}

int64_t call_limit_us(enum hook hook)
{
    static const int64_t preset[] = {
#define HOOK_MS_(id, name, ms) ms,
        HOOKS(HOOK_MS_)};
    const struct conf *conf = bt_self.conf;
    int64_t ms = conf->cpu_ms[hook] != 0 ? conf->cpu_ms[hook] : preset[hook];

    return ms * 1000;
}

struct call *call_new(struct state *state, enum hook hook, const struct hooked *what,
                      struct bt_txn *txn)
{
    struct call *call = call_take(state);

    count_hook(hook, COUNT_CALLS, 1);
    if (call == NULL) {
        count_hook(hook, COUNT_ERRORS, 1);
        count_hook(hook, COUNT_LIMITS, 1);
        bt_log_limited(txn, BT_ERROR, 10,
                       "%s was not called, for want of memory; raise lua_memory_limit",
                       hook_name(hook));
        return NULL;
    }
    call->state = state;
    call->txn = txn;
    call->hook = hook;
    call->file = what->file;
    call->function = what->ref;
    call->root = call;
    call->limit_us = call_limit_us(hook);
    state_use(state);
    return call;
}

/* ---- the end of one ---- */

/* It waits no more. */
static void wait_over(struct call *call)
{
    if (call->wait == NULL || call->wait->call == NULL)
        return;
    call->wait->call = NULL;
    call->wait = NULL; /* the collector may take it from here on */
    waiting--;
    bt_count_by(waiting, -1);
}

static void wait_cancel(struct call *call)
{
    struct wait *wait = call->wait;

    if (wait == NULL || wait->call == NULL)
        return;
    wait_over(call);
    if (wait->cancel != NULL)
        wait->cancel(wait);
}

static void stop_all(struct call *call)
{
    wait_cancel(call);
    for (struct call *child = call->children; child != NULL; child = child->next)
        stop_all(child);
}

static void recycle(struct call *call)
{
    struct state *state = call->state;

    if (call->is == CALL_OVER && state->n_spare < SPARE_MAX) {
        lua_settop(call->L, 0);
        call->next = state->spare;
        state->spare = call;
        state->n_spare++;
        return;
    }
    luaL_unref(state->L, LUA_REGISTRYINDEX, call->ref);
    free(call);
}

void call_free(struct call *call)
{
    struct state *state = call->state;

    wait_cancel(call);
    bt_timer_cancel(call->deadline);
    bt_timer_cancel(call->turn);
    while (call->children != NULL) {
        struct call *child = call->children;
        call->children = child->next;
        child->child->call = NULL;
        call_free(child);
    }
    recycle(call);
    state_unuse(state);
}

/* ---- running ---- */

/* Above the one argument of begin(). */
static int give_results(lua_State *L, int status, lua_KContext ctx)
{
    struct call *call = (struct call *)ctx; /* NOLINT: as Lua means it */

    (void)status;
    if (call->take != NULL)
        call->take(L, call);
    return lua_gettop(L) - 1;
}

/* In the coroutine, where errors are caught: the function and its arguments. */
static int begin(lua_State *L)
{
    struct call *call = lua_touserdata(L, 1);
    int n = 0;

    lua_rawgeti(L, LUA_REGISTRYINDEX, call->function);
    if (call->push != NULL)
        n = call->push(L, call->arg);
    lua_callk(L, n, LUA_MULTRET, (lua_KContext)call, give_results);
    return give_results(L, LUA_OK, (lua_KContext)call);
}

static const char *const killed_why[] = {
    [END_NONE] = "",
    [END_CPU] = "it took more time than it may (lua_cpu_limit)",
    [END_MEMORY] =
        "it wanted more memory than there is (lua_memory_limit; an eighth of it at once)",
    [END_WAIT] = "it waited longer than it may (lua_wait_timeout)",
};

static enum call_is call_ended(struct call *call, int status, int n)
{
    call->n = n;
    if (call->root->killed != END_NONE) {
        call->why = killed_why[call->root->killed];
        return CALL_FAILED;
    }
    if (status == LUA_OK)
        return CALL_OVER;
    if (status != LUA_YIELD)
        return CALL_FAILED;
    if (!call->ours) {
        call->why = "coroutine.yield() outside of a coroutine";
        return CALL_FAILED;
    }
    if (call->wait != NULL && call->wait->call != NULL)
        return CALL_WAITING;
    bt_count(slices);
    return CALL_SLICED;
}

static void call_turn(struct call *call)
{
    struct state *state = call->state;
    struct call *outer = state->running;
    int n = 0, args = 0;

    if (call->is == CALL_READY && call->function != 0 && !call->begun) {
        lua_pushcfunction(call->L, begin);
        lua_pushlightuserdata(call->L, call);
        args = 1;
    }
    call->begun = true;
    call->is = CALL_RUNNING;
    call->ours = false;
    state->running = call;
    int status = lua_resume(call->L, outer != NULL ? outer->L : NULL, args, &n);
    state->running = outer;
    call->is = call_ended(call, status, n);
}

/* Those that can go on; one that ends may let its parent go on. */
static void run_children(struct call *call)
{
    for (struct call *child = call->children; child != NULL; child = child->next) {
        struct child *of = child->child;
        if (of->ended)
            continue;
        run_children(child);
        if (child->is == CALL_READY || child->is == CALL_SLICED)
            call_turn(child);
        of = child->child; /* the collector may have dropped it meanwhile */
        if (child->is != CALL_OVER && child->is != CALL_FAILED)
            continue;
        of->ended = true;
        if (of->over != NULL)
            of->over(of);
    }
}

static bool child_ready(const struct call *call)
{
    for (const struct call *child = call->children; child != NULL; child = child->next)
        if (child->is == CALL_READY || child->is == CALL_SLICED || child_ready(child))
            return true;
    return false;
}

static void count_end(struct call *call)
{
    int64_t us = call->spent_us;

    count_hook(call->hook, COUNT_TIME, us);
    if (call->is == CALL_FAILED)
        count_hook(call->hook, COUNT_ERRORS, 1);
    if (call->killed != END_NONE)
        count_hook(call->hook, COUNT_LIMITS, 1);
    bt_count_by(memory, (int64_t)call->state->bytes - call->state->told);
    call->state->told = (int64_t)call->state->bytes;
}

enum call_is call_run(struct call *call)
{
    call->began_us = guard_wall_us();
    call->cpu_from_us = call->spent_us > 0 ? guard_cpu_us() : 0;
    if (call->killed == END_NONE)
        run_children(call);
    if (call->killed == END_NONE && (call->is == CALL_READY || call->is == CALL_SLICED))
        call_turn(call);
    call->spent_us += call->cpu_from_us != 0 ? guard_cpu_us() - call->cpu_from_us
                                             : guard_wall_us() - call->began_us;
    if (call->killed != END_NONE) {
        stop_all(call);
        call->is = call_ended(call, LUA_YIELD, 0);
    }
    if (call->is == CALL_OVER || call->is == CALL_FAILED)
        count_end(call);
    else if (call->is != CALL_WAITING || child_ready(call))
        call_wake(call);
    return call->is;
}

/* ---- going on later ---- */

static void detached_turn(void *arg)
{
    struct call *call = arg;

    call->turn = NULL;
    call_detach(call, call->over);
}

void call_detach(struct call *call, void (*over)(struct call *))
{
    call->over = over;
    switch (call_run(call)) {
    case CALL_OVER:
    case CALL_FAILED:
        if (call->is == CALL_FAILED)
            call_complain(call);
        over(call);
        call_free(call);
        break;
    case CALL_READY:
    case CALL_RUNNING:
    case CALL_SLICED:
    case CALL_WAITING:
        break;
    }
}

void call_wake(struct call *call)
{
    call = call->root;
    if (call->txn != NULL)
        bt_resume(call->txn);
    else if (call->turn == NULL)
        call->turn = bt_timer_start((bt_duration){0}, detached_turn, call);
}

/* ---- waiting ---- */

void *wait_new(lua_State *L, size_t size, void (*cancel)(struct wait *),
               int (*results)(lua_State *, struct wait *))
{
    struct wait *wait = lua_newuserdatauv(L, size, 0);

    memset(wait, 0, size);
    wait->cancel = cancel;
    wait->results = results;
    return wait;
}

static bool hook_waits(enum hook hook)
{
    return (IN_WAITING & (1u << hook)) != 0;
}

void wait_check(lua_State *L)
{
    const struct conf *conf = bt_self.conf;
    struct call *call = call_now(L);

    if (call == NULL || !hook_waits(call->hook))
        luaL_error(L, "nothing can be waited for in %s", hook_name(call_hook(L)));
    else if (!call_may_leave(L, call))
        luaL_error(L, "nothing can be waited for within a function that C code calls "
                      "(a comparison of table.sort, a metamethod, ...)");
    else if (waiting >= conf->waiting_max) {
        bt_count(refused);
        luaL_error(L, "too many calls wait already (lua_max_waiting)");
    }
}

static void deadline_over(void *arg)
{
    struct call *call = arg;

    call->deadline = NULL;
    call->killed = END_WAIT;
    call_wake(call);
}

static int wait_goes_on(lua_State *L, int status, lua_KContext ctx)
{
    struct wait *wait = (struct wait *)ctx; /* NOLINT: as Lua means it */

    (void)status;
    return wait->results(L, wait);
}

int wait_start(lua_State *L, struct wait *wait)
{
    const struct conf *conf = bt_self.conf;
    struct call *call = call_now(L);

    wait_check(L);
    wait->call = call;
    call->wait = wait;
    call->ours = true;
    waiting++;
    bt_count(waiting);
    count_hook(call->hook, COUNT_WAITS, 1);
    if (call->root->deadline == NULL)
        call->root->deadline = bt_timer_start(conf->wait, deadline_over, call->root);
    return lua_yieldk(L, 0, (lua_KContext)wait, wait_goes_on);
}

void wait_done(struct wait *wait)
{
    struct call *call = wait->call;

    if (call == NULL)
        return;
    wait_over(call);
    call->is = CALL_READY;
    call_wake(call);
}

/* ---- calls within a call ---- */

struct call *call_within(lua_State *L, struct child *child, enum hook hook, struct bt_txn *txn)
{
    struct call *parent = call_now(L), *call;
    lua_State *coroutine = lua_newthread(L);
    int ref = luaL_ref(L, LUA_REGISTRYINDEX);

    call = calloc(1, sizeof *call);
    if (call == NULL) {
        luaL_unref(L, LUA_REGISTRYINDEX, ref);
        luaL_error(L, "out of memory");
        return NULL;
    }
    call->L = coroutine;
    call->ref = ref;
    call->state = parent->state;
    call->txn = txn;
    call->hook = hook;
    call->file = parent->file;
    call->root = parent->root;
    call->parent = parent;
    call->child = child;
    call->next = parent->children;
    parent->children = call;
    state_use(call->state);
    child->call = call;
    child->ended = false;
    guard_watch(coroutine);
    return call;
}

void call_within_run(struct call *call)
{
    struct child *child;

    call_turn(call);
    child = call->child; /* the collector may have dropped it meanwhile */
    if (call->is == CALL_OVER || call->is == CALL_FAILED) {
        child->ended = true;
        if (child->over != NULL)
            child->over(child);
    } else if (call->is == CALL_SLICED) {
        call_wake(call);
    }
}

void child_start(lua_State *L, struct child *child)
{
    struct call *parent = call_now(L), *call;

    guard_look(L); /* many small coroutines come to no hook of their own */
    call = call_within(L, child, parent->hook, parent->txn);

    if (call == NULL)
        return;
    lua_xmove(L, call->L, 1);
    call_within_run(call);
}

static void leave_parent(struct call *call)
{
    struct call **at = &call->parent->children;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
}

/* It, or what it has called, is on the stack now. */
static bool runs(const struct call *call)
{
    if (call->is == CALL_RUNNING)
        return true;
    for (const struct call *child = call->children; child != NULL; child = child->next)
        if (runs(child))
            return true;
    return false;
}

void child_drop(struct child *child)
{
    struct call *call = child->call;

    if (call == NULL)
        return;
    child->call = NULL;
    if (runs(call)) { /* the collector asks: it stays with its parent */
        call->own = (struct child){.call = call, .ended = child->ended};
        call->child = &call->own;
        return;
    }
    leave_parent(call);
    call->is = CALL_FAILED; /* not to be used again: it may have been anything */
    call_free(call);
}

int child_take(lua_State *L, struct child *child, bool *failed)
{
    struct call *call = child->call;
    int n = 1;

    *failed = call->is == CALL_FAILED;
    luaL_checkstack(L, call->n + 1, "too many results");
    if (*failed && call->why != NULL) {
        lua_pushstring(L, call->why);
    } else {
        n = *failed ? 1 : call->n;
        lua_xmove(call->L, L, n);
    }
    child_drop(child);
    return n;
}

/* ---- complaints ---- */

static int traceback(lua_State *L)
{
    struct call *call = lua_touserdata(L, 1);
    const char *text = call->why;

    if (text == NULL && lua_type(call->L, -1) == LUA_TSTRING)
        text = lua_tostring(call->L, -1);
    if (text == NULL)
        text = "an error that is no text";
    luaL_traceback(L, call->L, text, 0);
    return 1;
}

/* One line: what is said in several is hard to find. */
static void in_one_line(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; *from != '\0' && n + 4 < size; from++) {
        if (*from == '\n') {
            memcpy(to + n, " | ", 3);
            n += 3;
        } else if (*from != '\t') {
            to[n++] = *from >= 0 && *from < ' ' ? '?' : *from;
        }
    }
    to[n] = '\0';
}

/* Of each hook so many a second; what is left out is in the counters. */
static bool may_complain(enum hook hook)
{
    enum { PER_SECOND = 5 };
    static struct {
        int64_t second;
        unsigned n;
    } said[HOOK_END];
    int64_t now = guard_wall_us() / 1000000;

    if (said[hook].second != now) {
        said[hook].second = now;
        said[hook].n = 0;
    }
    return said[hook].n++ < PER_SECOND;
}

void call_complain(struct call *call)
{
    lua_State *L = call->state->L;
    const char *said = call->why;
    char text[2000];

    if (!may_complain(call->hook))
        return;
    lua_pushcfunction(L, traceback);
    lua_pushlightuserdata(L, call);
    bool traced = lua_pcall(L, 1, 1, 0) == LUA_OK;
    if (traced || said == NULL)
        said = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error that is no text";
    in_one_line(text, sizeof text, said);
    lua_pop(L, 1);
    bt_log(call->txn, BT_ERROR, "%s of %s failed: %s", hook_name(call->hook),
           call->file != NULL ? call->file->path->text.at : "a script", text);
}
