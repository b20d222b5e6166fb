/* lua.h - the inside of module lua: states, calls that may wait, and functions that scripts have.
 *
 * One state a worker (script.c). Each call of a hook is a coroutine (call.c) that runs in slices,
 * within a budget of time and of memory (guard.c); a function that must wait hands the coroutine back
 * to the loop. What scripts can call is rows of tables (struct library): a row is at once the function,
 * where it may be called, and its place in the manual bobtail-lua(7).
 *
 * How to add functions: a file lib_NAME.c with a table of struct binding and one struct library, and
 * a line for it in LIBRARIES below. A function is a lua_CFunction as any other. What it needs:
 *
 *   call_txn(L), call_now(L)      the exchange (NULL: a timer, on_init, on_worker), the call itself
 *   lua_newuserdatauv()           memory: all of a state is counted against lua_memory_limit, so
 *                                 large things belong into userdata, or the Lua allocator by
 *                                 lua_getallocf(); free what is not memory in "__gc"
 *   wait_new(), wait_start(), wait_done()   to wait, see below
 *
 * Lua errors are longjmp(): hold nothing that must be freed across a call that may raise one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LUA_INSIDE_H
#define LUA_INSIDE_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>

#include "bt.h"

/* ---- hooks: functions that scripts may define ---- */

/* id, name in scripts, milliseconds of CPU time that a call has; manual.c says when they are called */
#define HOOKS(X)                                                                                   \
    X(INIT, "on_init", 5000)                                                                       \
    X(WORKER, "on_worker", 1000)                                                                   \
    X(ACCEPT, "on_accept", 5)                                                                      \
    X(HELLO, "on_hello", 5)                                                                        \
    X(REQUEST, "on_request", 10)                                                                   \
    X(LOOKUP, "on_lookup", 5)                                                                      \
    X(UPSTREAM, "on_upstream", 5)                                                                  \
    X(RESPONSE, "on_response", 10)                                                                 \
    X(ERROR, "on_error", 5)                                                                        \
    X(FINISH, "on_finish", 5)                                                                      \
    X(ACL, "an ACL of type lua", 5)                                                                \
    X(TIMER, "bt.every", 50)                                                                       \
    X(TEST, "a test", 10000)
#define HOOK_ID_(id, name, ms) HOOK_##id,
enum hook { HOOKS(HOOK_ID_) HOOK_END };

/* Sets of hooks: where a function may be called. */
#define IN(id) (1u << HOOK_##id)
#define IN_ANY ((1u << HOOK_END) - 1)
/* Where an exchange is at hand; in a test as a value. */
#define IN_EXCHANGE                                                                                \
    (IN(ACCEPT) | IN(HELLO) | IN(REQUEST) | IN(LOOKUP) | IN(UPSTREAM) | IN(RESPONSE) | IN(ERROR) | \
     IN(FINISH) | IN(ACL) | IN(TEST))
/* Where something may be waited for. */
#define IN_WAITING (IN_ANY & ~(IN(INIT) | IN(FINISH)))

/* ---- functions of scripts ---- */

struct binding {
    const char
        *name; /* "sleep"; of an object: also "__gc", "__len", ... (no doc: not in the manual) */
    unsigned where;    /* set of IN(); a call elsewhere is an error that names the hook */
    const char *usage; /* "bt.sleep(seconds)", "map:match(host) -> boolean" */
    const char *doc;   /* sentences */
    const char
        *example; /* a line or more of Lua, which a test runs in an on_request(txn); or NULL */
    lua_CFunction run;
};
struct library {
    const char
        *of; /* "bt": functions of bt; "bt.json": of the table bt.json; else the name of a kind
                        of objects, which are userdata with luaL_setmetatable(L, of), and whose methods
                        these are */
    const char *doc; /* a sentence for the manual */
    const struct binding *row;
    size_t n;
};

/* All there are, in the order of the manual. */
#define LIBRARIES(X)                                                                               \
    X(core)                                                                                        \
    X(verdict)                                                                                     \
    X(txn)                                                                                         \
    X(headers)                                                                                     \
    X(wait)                                                                                        \
    X(shared)                                                                                      \
    X(shared_methods)                                                                              \
    X(count)                                                                                       \
    X(counter)                                                                                     \
    X(histogram)                                                                                   \
    X(map)                                                                                         \
    X(map_methods)                                                                                 \
    X(text)                                                                                        \
    X(regex)                                                                                       \
    X(json)                                                                                        \
    X(net)                                                                                         \
    X(helper)                                                                                      \
    X(tcp)                                                                                         \
    X(connection)                                                                                  \
    X(test)
#define LIBRARY_(id) extern const struct library library_##id;
LIBRARIES(LIBRARY_)

/* ---- the call under way ---- */

struct call;
struct state;
/* NULL while a script is loaded. */
struct call *call_now(lua_State *);
struct bt_txn *call_txn(lua_State *); /* NULL: there is no exchange */
enum hook call_hook(lua_State *);     /* INIT while a script is loaded */
/* In the master, while the configuration is read: pools, dictionaries and the like can be made. The
 * arena of the configuration; NULL: in a worker (also when scripts are loaded again). */
struct bt_arena *script_arena(void);
struct bt_error *script_error(void); /* likewise: for functions that want a place for complaints */

/* ---- waiting ----
 *
 *   static int sleep_call(lua_State *L)
 *   {
 *       struct sleep *sleep = wait_new(L, sizeof *sleep, sleep_cancel, sleep_results);
 *
 *       sleep->timer = bt_timer_start(..., sleep_over, sleep);
 *       return wait_start(L, &sleep->wait);
 *   }
 *   static void sleep_over(void *arg) { wait_done(arg); }
 *   static void sleep_cancel(struct wait *wait) { bt_timer_cancel(((struct sleep *)wait)->timer); }
 *   static int sleep_results(lua_State *L, struct wait *wait) { return 0; }
 *
 * What can be told at once is pushed and returned, without any of this. */
struct wait {
    struct call *call; /* the core's; NULL: nobody waits (any more) */
    /* The client has left, or its time is up: stop, and never call wait_done(). Not called after
     * wait_done(). */
    void (*cancel)(struct wait *);
    /* In the coroutine again: push what the function returns, and say how many; may lua_error(). */
    int (*results)(lua_State *, struct wait *);
};
/* On the top of the stack, zeroed; `size` bytes that begin with a struct wait. It stands until the
 * coroutine goes on, or was given up. */
void *wait_new(lua_State *, size_t size, void (*cancel)(struct wait *),
               int (*results)(lua_State *, struct wait *));
/* return wait_start(L, wait): the last thing that the function does. Raises an error where nothing can
 * be waited for (a hook that may not, a comparison of table.sort, ...): check that before something is begun,
 * with wait_check(). */
int wait_start(lua_State *, struct wait *);
void wait_check(lua_State *);
/* From the loop, once. The coroutine goes on a little later. */
void wait_done(struct wait *);

/* ---- several things at once (bt.all): calls within the call under way ---- */

struct child {
    struct call *call; /* NULL: it is not there (any more) */
    /* It has ended; perhaps before child_start() returns. No Lua here: wait_done(), and then in results()
     * child_take(). NULL: nothing to say. */
    void (*over)(struct child *);
    bool ended;
};
/* The function on the top of the stack (popped) as a coroutine of its own: same exchange, budget and
 * limits. It runs at once, up to where it waits. It must stand in a userdata that is on the stack while
 * children live. */
void child_start(lua_State *, struct child *);
/* Ended: push its results, or (*failed) one error message; how many. It is gone then. */
int child_take(lua_State *, struct child *, bool *failed);
/* Stop it, if it is there. From a wait's cancel(), or any time. */
void child_drop(struct child *);

#endif
