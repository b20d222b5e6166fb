/* state.h - for the core of the module: states, scripts, calls, and what an exchange remembers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LUA_STATE_H
#define LUA_STATE_H

#include "lua.h"

/* ---- the configuration ---- */

enum on_error { ON_ERROR_DENY, ON_ERROR_ALLOW, ON_ERROR_IGNORE };

struct file { /* one lua_script line */
    struct file *next;
    const struct bt_word *path;
    enum on_error on_error;
};

struct conf {
    struct file *files;
    bt_str path;              /* lua_path */
    bt_size memory;           /* lua_memory_limit */
    bt_duration wait;         /* lua_wait_timeout */
    int64_t waiting_max;      /* lua_max_waiting */
    int64_t cpu_ms[HOOK_END]; /* lua_cpu_limit; 0: HOOKS */
    struct acl *acls;         /* all lines of ACLs of type lua */
    unsigned n_acls;
};

/* ---- one state: all scripts of one reading of them ---- */

struct hooked { /* a function that one script has for one hook */
    const struct file *file;
    int ref; /* in the registry */
};
struct hooks {
    struct hooked *row; /* in the order of the files */
    unsigned n;
};

struct state {
    lua_State *L;
    size_t bytes, bytes_max; /* memory; no block may be larger than an eighth of it */
    bool large;              /* there was a text of more than LARGE bytes */
    const void *refused_at;  /* what guard_alloc() refused last */
    size_t refused;
    unsigned users; /* calls under way, exchanges that have an object in it, and being current */
    struct kind {   /* of objects that are met in each exchange: found without their names */
        const void *at; /* the metatable */
        int ref;
    } txn_kind, verdict_kind;
    int allow;   /* ref of bt.allow() */
    int objects; /* ref of the table of exchanges' objects; free places in it: */
    unsigned *places, n_places, room, top;
    struct hooks hooks[HOOK_END];
    struct env {
        const struct file *file;
        int ref; /* table of its globals */
    } * env;
    unsigned n_envs;
    struct hooked *acl; /* by number */
    struct call *spare; /* their coroutines can be used again */
    unsigned n_spare;
    struct call *running;       /* innermost; NULL: a script is being loaded, or nothing runs */
    struct every *everys;       /* timers.c */
    const struct file *loading; /* NULL: not now */
    int64_t told;               /* lua.memory, as counted */
    size_t charged;             /* steps that C code took since the hook looked */
    int64_t load_until_us;      /* CPU clock: loading must be over */
};
extern struct state *state_now; /* NULL: there is no script */

/* Open a state, load all files into it and call their on_init. Complaints go to `err`, or (NULL, in a
 * worker) to `why` and the log. NULL: it failed. */
struct state *state_open(const struct conf *, struct bt_error *err, char *why, size_t why_size);
void state_use(struct state *);
void state_unuse(struct state *); /* closed when the last has gone */

/* `require` of scripts; script.c. */
int script_require(lua_State *);
/* core.c: a line of a script for cache_log; there may be so many of them. */
void core_log(struct bt_txn *, enum bt_level, const char *text);
/* All rows there are. */
size_t bind_libraries(const struct library *const **);
extern const struct library *const verdict_kind, *const group_kind; /* not in the manual */
enum {
    STRING_MAX = 4 * 1024 * 1024, /* that string.rep may make */
    TEXT_MAX = 65536,             /* of what an exchange keeps: a header, a note, ... */
    VALUES_MAX = 100              /* of one header */
};

/* In a worker: its numbers by chance, on_worker, bt.every. */
void state_start(struct state *);
/* script_arena(), script_error(). */
void script_setting_up(struct bt_arena *, struct bt_error *);
/* txn.c: have modules loaded whose fields a script names. */
void fields_want(bt_str source);

/* bind.c: globals, libraries, the sandbox. In protected mode. */
int bind_open(lua_State *);
/* A new table of globals, on the top of the stack. */
void bind_env(lua_State *);
/* Where a function of a script may be called, in words: "on_request, on_response". */
const char *hook_name(enum hook);

/* ---- guard.c ---- */

void *guard_alloc(void *state, void *block, size_t had, size_t wanted);
void guard_watch(lua_State *); /* count instructions of this coroutine */
/* C code does about as much as `n` instructions; may raise an error, as guard_look(). */
void guard_charge(lua_State *, size_t n);
/* Is the call's time up? Then it is marked, and an error raised: for long loops in C. */
void guard_look(lua_State *);
/* Is a script being loaded, and has it taken too long? */
bool guard_load_over(lua_State *L);
int64_t guard_cpu_us(void);
int64_t guard_wall_us(void);

/* patterns.c: into the table of string functions on the top of the stack. */
void patterns_open(lua_State *);

/* ---- call.c ---- */

enum call_is {
    CALL_READY,   /* may go on */
    CALL_RUNNING, /* on the stack */
    CALL_SLICED,  /* its slice was over; may go on */
    CALL_WAITING, /* for wait_done() */
    CALL_OVER,    /* results on the top of its stack: .n */
    CALL_FAILED   /* error message there */
};
enum limit { END_NONE, END_CPU, END_MEMORY, END_WAIT };

struct call {
    lua_State *L;
    int ref; /* of the coroutine */
    struct state *state;
    struct bt_txn *txn; /* NULL: none */
    enum hook hook;
    enum call_is is;
    enum limit killed; /* a limit was met: it never goes on */
    bool ours;         /* it was handed back by us, and not by coroutine.yield() */
    bool begun;
    int n; /* results */
    const struct file *file;
    int function;                        /* ref; what is called */
    int (*push)(lua_State *, void *arg); /* its arguments, in protected mode; how many */
    void (*take)(lua_State *,
                 struct call *); /* its results, there too; stack from 2 on. NULL: no */
    void *arg;

    struct wait *wait; /* WAITING */
    struct bt_timer *deadline;
    struct bt_timer *turn;       /* without an exchange: will go on */
    void (*over)(struct call *); /* without an exchange: it has ended */

    struct call *root; /* itself, or the one that bt.all was called in */
    struct call *parent, *children, *next;
    struct child *child; /* what it is for its parent */
    struct child own;    /* that, when nobody wants it any more, but it is on the stack */

    unsigned pinned;     /* C code on the stack that cannot be left */
    int64_t limit_us;    /* of a root, as all below: CPU time that it has */
    int64_t began_us;    /* wall: this turn */
    int64_t spent_us;    /* in turns before */
    int64_t cpu_from_us; /* CPU clock at the first look of this turn; 0: nobody looked */
    bool said;           /* with .verdict, out of: */
    const struct verdict *by;
    enum bt_verdict verdict;
    const char *why; /* FAILED without a message on the stack */
};

/* CPU time that a call of it has. */
int64_t call_limit_us(enum hook);
/* Start: READY, with its slot in the pool. NULL: no memory, or too much is under way (counted). */
struct state *state_of(lua_State *);
struct call *call_new(struct state *, enum hook, const struct hooked *, struct bt_txn *);
/* Let it run as far as it goes now; its children, too. */
enum call_is call_run(struct call *);
/* Can the coroutine that runs be handed back to the loop? */
bool call_may_leave(lua_State *, const struct call *);
/* Without an exchange: run it now and then until it ends; over() is called, then it is freed. */
void call_detach(struct call *, void (*over)(struct call *));
/* In a call that is under way: one within it, of another exchange perhaps; as child_start(), which it is
 * for a function at hand. */
struct call *call_within(lua_State *, struct child *, enum hook, struct bt_txn *);
void call_within_run(struct call *);
/* It can go on: have somebody call call_run() soon. */
void call_wake(struct call *);
/* Forget it, wherever it is. */
void call_free(struct call *);
/* The error message, with traceback, in the log: at a limited rate. */
void call_complain(struct call *);

/* ---- exchange.c: what an exchange remembers ---- */

struct named {
    struct named *next;
    bt_str name, value;
};
struct exchange {
    struct bt_txn *txn;
    struct state *state; /* of `ref`; NULL: there is no object */
    unsigned place;      /* its userdata, in state->objects */
    struct object *object;
    struct call *call;    /* of a hook, under way */
    unsigned next;        /* in the chain of the hook under way */
    struct asked *asked;  /* ACLs */
    struct named *values; /* for %{name}lua */
};
struct exchange *exchange_of(struct bt_txn *);
void exchange_push(lua_State *, struct bt_txn *); /* its userdata */
/* Is that at the stack one of the kind? */
static inline bool kind_is(lua_State *L, int at, const struct kind *kind)
{
    bool is;

    if (lua_type(L, at) != LUA_TUSERDATA || !lua_getmetatable(L, at))
        return false;
    is = lua_topointer(L, -1) == kind->at;
    lua_pop(L, 1);
    return is;
}
static inline void kind_set(lua_State *L, const struct kind *kind) /* of what is on the top */
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, kind->ref);
    lua_setmetatable(L, -2);
}
int verdict_allow(lua_State *);                     /* makes the object of bt.allow() */
struct bt_txn *exchange_check(lua_State *, int at); /* argument: an exchange that is still there */

/* For %{name}lua. Both are copied. */
void exchange_value(struct bt_txn *, bt_str name, bt_str value);
void exchange_stop(struct exchange *); /* what is under way */

/* ---- verdict.c ---- */

/* call->take of hooks whose functions return verdicts: sets .said and .verdict. */
void verdict_take(lua_State *, struct call *);
void verdict_push(lua_State *, const struct verdict *); /* as a table, for tests */

/* ---- headers.c ---- */

/* Raises an error when these cannot be a field of a head. */
void header_check(lua_State *, bt_str name, bt_str value);
/* Framing, connection, and what the server says itself. */
bool header_is_ours(bt_str name);
int headers_push(lua_State *, int txn, bool reply); /* the object, for the exchange at that place */

/* ---- hooks.c ---- */

enum bt_verdict hooks_run(struct bt_txn *, enum hook);
void hooks_finish(struct bt_txn *);
extern const struct bt_hook hook_rows[];
unsigned hooks_phases(void); /* those that some script has a function for */

/* ---- acl.c ---- */

void *acl_compile(struct bt_args, struct bt_arena *, struct bt_error *);
enum bt_match acl_match(const void *compiled, struct bt_txn *);
/* Find the functions of all ACLs in a state. false: complained, or told in `why`. */
BT_MUST bool acl_resolve(struct state *, const struct conf *, struct bt_error *, char *why,
                         size_t why_size);
void acl_stop(struct exchange *);

/* ---- reload.c ---- */

BT_MUST bool reload_setup(struct bt_error *);
void reload_start(
    void); /* in a worker: were the scripts loaded anew since the configuration was read? */
void reload_run(struct bt_call *, const bt_str *word, size_t n);

/* ---- manual.c ---- */

bool manual(size_t i, struct bt_manual_row *);

/* ---- test.c ---- */

void test_run(struct bt_call *, const bt_str *word, size_t n); /* test-lua */

/* ---- timers.c ---- */

void timers_start(struct state *); /* in a worker */
int timers_every(lua_State *);     /* bt.every */
void timers_stop(struct state *);

#endif
