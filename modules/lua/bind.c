/* bind.c - what scripts see: the libraries of Lua that harm nobody, and our own (struct library).
 *
 * Left out: io, debug, package, dofile, load, loadfile, string.dump, what of os touches the system, and
 * finalizers (__gc), which Lua would run with all guards off. pcall() and its kin do not catch the end
 * of a call whose limit was met.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <lua5.4/lualib.h>
#include <string.h>

#include "state.h"

const char *hook_name(enum hook hook)
{
    static const char *const names[] = {
#define HOOK_NAME_(id, name, ms) name,
        HOOKS(HOOK_NAME_)};

    return names[hook];
}

/* ---- functions that can take long: they are charged for what they are given ---- */

/* What has a __len may say anything, and another thing when it is asked once more. */
static size_t length_of(lua_State *L, int at)
{
    if (luaL_getmetafield(L, at, "__len") != LUA_TNIL)
        luaL_argerror(L, at, "a table with __len cannot be given to this function");
    return lua_rawlen(L, at);
}

/* Upvalues: the function, and the most elements that a table given to it may have (0: any). */
static int charged(lua_State *L)
{
    lua_CFunction run = lua_tocfunction(L, lua_upvalueindex(1));
    lua_Integer most = lua_tointeger(L, lua_upvalueindex(2));
    size_t n = 0;

    for (int i = 1; i <= lua_gettop(L); i++) {
        int type = lua_type(L, i);
        if (type == LUA_TSTRING)
            n += lua_rawlen(L, i) / 16;
        else if (type == LUA_TTABLE)
            n += length_of(L, i);
    }
    if (most > 0 && n > (size_t)most)
        return luaL_error(L, "more than %d elements at once", (int)most);
    guard_charge(L, n);
    return run(L);
}

static void charge(lua_State *L, const char *library, const char *name, lua_Integer most)
{
    lua_getglobal(L, library);
    if (lua_getfield(L, -1, name) == LUA_TFUNCTION) {
        lua_pushinteger(L, most);
        lua_pushcclosure(L, charged, 2);
        lua_setfield(L, -2, name);
        lua_pop(L, 1);
    } else {
        lua_pop(L, 2);
    }
}

/* table.concat, table.unpack: from and to, when they are given. Upvalues: the function, and where they
 * are. Elements may come of a metamethod in C, which no hook ends. */
static int table_range(lua_State *L)
{
    lua_CFunction run = lua_tocfunction(L, lua_upvalueindex(1));
    int at = (int)lua_tointeger(L, lua_upvalueindex(2));
    enum { RANGE_MAX = 200000 };

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer n = (lua_Integer)length_of(L, 1);
    lua_Integer from = luaL_optinteger(L, at, 1), to = luaL_optinteger(L, at + 1, n);

    if (to >= from && (lua_Unsigned)to - (lua_Unsigned)from >= RANGE_MAX)
        return luaL_error(L, "more than %d elements at once", (int)RANGE_MAX);
    guard_charge(L, to >= from ? (size_t)(to - from) : 0);
    return run(L);
}

static void range(lua_State *L, const char *name, int at)
{
    lua_getglobal(L, LUA_TABLIBNAME);
    lua_getfield(L, -1, name);
    lua_pushinteger(L, at);
    lua_pushcclosure(L, table_range, 2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* table.move: its length is in its arguments. */
static int table_move(lua_State *L)
{
    lua_CFunction run = lua_tocfunction(L, lua_upvalueindex(1));
    lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);

    if (to >= from && (lua_Unsigned)to - (lua_Unsigned)from > 100000)
        return luaL_error(L, "more than 100000 elements at once");
    guard_charge(L, to >= from ? (size_t)(to - from) : 0);
    return run(L);
}

/* Of the length that would come out. */
static int string_rep(lua_State *L)
{
    lua_CFunction run = lua_tocfunction(L, lua_upvalueindex(1));
    size_t len, between = 0;
    lua_Integer n;

    (void)luaL_checklstring(L, 1, &len);
    n = luaL_checkinteger(L, 2);
    (void)luaL_optlstring(L, 3, "", &between);
    len += between;
    if (n > 0 && len > 0 && (size_t)n > STRING_MAX / len)
        return luaL_error(L, "text of more than %d bytes", (int)STRING_MAX);
    guard_charge(L, n > 0 ? len * (size_t)n / 16 : 0);
    return run(L);
}

static void replace(lua_State *L, const char *library, const char *name, lua_CFunction by)
{
    lua_getglobal(L, library);
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, by, 1);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* ---- errors: those of limits pass through ---- */

static bool killed(lua_State *L)
{
    struct call *call = call_now(L);

    return call != NULL && call->root->killed != END_NONE;
}

static int pcall_end(lua_State *L, int status, lua_KContext skip)
{
    if (status != LUA_OK && status != LUA_YIELD) {
        if (killed(L))
            return lua_error(L);
        lua_pushboolean(L, 0);
        lua_pushvalue(L, -2);
        return 2;
    }
    return lua_gettop(L) - (int)skip;
}

static int safe_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    return pcall_end(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, pcall_end), 0);
}

/* Upvalue: the handler of a script. Lua runs handlers of an error that a hook has raised with hooks off,
 * so that nothing would end them. */
static int handle(lua_State *L)
{
    if (killed(L) || guard_load_over(L))
        return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static int safe_xpcall(lua_State *L)
{
    int n = lua_gettop(L);

    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, handle, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2);
    return pcall_end(L, lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, pcall_end), 2);
}

/* ---- coroutines of scripts: what hands back the call passes through them ---- */

/* In a coroutine's extra space: it was left in the middle of something by us. */
static void mark(lua_State *coroutine, bool busy)
{
    char *space = lua_getextraspace(coroutine);

    *space = busy;
}

static bool busy(lua_State *coroutine)
{
    const char *space = lua_getextraspace(coroutine);

    return *space != 0;
}

static int co_result(lua_State *L, lua_State *co, int status, int n, bool wrapped)
{
    if (status == LUA_OK || status == LUA_YIELD) {
        luaL_checkstack(L, n + 1, "too many results");
        if (!wrapped)
            lua_pushboolean(L, 1);
        lua_xmove(co, L, n);
        return n + !wrapped;
    }
    luaL_checkstack(L, 2, "an error");
    if (!wrapped && !killed(L))
        lua_pushboolean(L, 0);
    lua_xmove(co, L, 1);
    return wrapped || killed(L) ? lua_error(L) : 2;
}

static int co_go_on(lua_State *L, int status, lua_KContext wrapped);

static int co_run(lua_State *L, lua_State *co, int args, bool wrapped)
{
    struct call *call = call_now(L);
    bool stay = call == NULL || !call_may_leave(L, call);
    int n = 0, status;

    do {
        if (call != NULL) {
            call->pinned += stay;
            call->ours = false;
        }
        status = lua_resume(co, L, args, &n);
        if (call != NULL)
            call->pinned -= stay;
        args = 0;
        if (status != LUA_YIELD || call == NULL || !call->ours)
            return co_result(L, co, status, n, wrapped);
    } while (stay);
    mark(co, true);
    lua_settop(L, 0);
    lua_pushthread(co);
    lua_xmove(co, L, 1);
    return lua_yieldk(L, 0, wrapped, co_go_on);
}

static int co_go_on(lua_State *L, int status, lua_KContext wrapped)
{
    lua_State *co = lua_tothread(L, 1);

    (void)status;
    mark(co, false);
    return co_run(L, co, 0, wrapped != 0);
}

static int co_start(lua_State *L, lua_State *co, int args, bool wrapped)
{
    const char *why = NULL;

    if (busy(co))
        why = "cannot resume a coroutine that waits";
    else if (lua_status(co) != LUA_YIELD && (lua_status(co) != LUA_OK || lua_gettop(co) == 0))
        why = "cannot resume dead coroutine";
    else if (co == L)
        why = "cannot resume non-suspended coroutine";
    else if (!lua_checkstack(co, args + 1))
        why = "too many arguments to resume";
    if (why != NULL) {
        if (wrapped)
            return luaL_error(L, "%s", why);
        lua_pushboolean(L, 0);
        lua_pushstring(L, why);
        return 2;
    }
    lua_xmove(L, co, args);
    return co_run(L, co, args, wrapped);
}

static int co_resume(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTHREAD);
    return co_start(L, lua_tothread(L, 1), lua_gettop(L) - 1, false);
}

static int co_wrapped(lua_State *L)
{
    return co_start(L, lua_tothread(L, lua_upvalueindex(1)), lua_gettop(L), true);
}

static int co_create(lua_State *L)
{
    lua_State *co;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    guard_look(L); /* many small coroutines come to no hook of their own */
    co = lua_newthread(L);
    mark(co, false);
    guard_watch(co);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

static int co_wrap(lua_State *L)
{
    co_create(L);
    lua_pushcclosure(L, co_wrapped, 1);
    return 1;
}

static int co_yield(lua_State *L)
{
    struct call *call = call_now(L);

    if (call == NULL || L == call->L)
        return luaL_error(L, "attempt to yield from outside a coroutine");
    return lua_yield(L, lua_gettop(L));
}

static const luaL_Reg coroutines[] = {
    {"create", co_create}, {"resume", co_resume}, {"wrap", co_wrap},
    {"yield", co_yield},   {NULL, NULL},
};

/* ---- other functions that are not as Lua has them ---- */

static int safe_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L, "there are no finalizers (__gc) here");
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

static int count_garbage(lua_State *L)
{
    if (strcmp(luaL_optstring(L, 1, "count"), "count") != 0)
        return luaL_error(L, "collectgarbage() only counts here");
    lua_pushnumber(L, lua_gc(L, LUA_GCCOUNT) + lua_gc(L, LUA_GCCOUNTB) / 1024.0);
    return 1;
}

static int print(lua_State *L)
{
    int n = lua_gettop(L);

    if (n > 250) /* it would copy all again for each */
        return luaL_error(L, "print: more than 250 values");
    lua_pushliteral(L, "");
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            lua_pushliteral(L, " ");
        luaL_tolstring(L, i, NULL);
        lua_concat(L, i > 1 ? 3 : 2);
    }
    core_log(call_txn(L), BT_INFO, lua_tostring(L, -1));
    return 0;
}

/* os.time() and os.date() without a time: the server's clock, which tests move. */
static int os_time(lua_State *L)
{
    lua_CFunction run = lua_tocfunction(L, lua_upvalueindex(1));

    if (!lua_isnoneornil(L, 1))
        return run(L);
    lua_pushinteger(L, bt_wall_ms() / 1000);
    return 1;
}

static int os_date(lua_State *L)
{
    lua_CFunction run = lua_tocfunction(L, lua_upvalueindex(1));
    size_t len;

    (void)luaL_optlstring(L, 1, "", &len);
    if (len > 1000)
        return luaL_argerror(L, 1, "a format of more than 1000 bytes");
    if (lua_isnoneornil(L, 2)) {
        luaL_checkstack(L, 3, "os.date");
        if (lua_gettop(L) == 0)
            lua_pushliteral(L, "%c");
        lua_settop(L, 1);
        lua_pushinteger(L, bt_wall_ms() / 1000);
    }
    return run(L);
}

/* ---- our own ---- */

/* Upvalue: the row. */
static int bound(lua_State *L)
{
    const struct binding *row = lua_touserdata(L, lua_upvalueindex(1));

    if ((row->where & (1u << call_hook(L))) == 0)
        return luaL_error(L, "%s cannot be used in %s", row->usage, hook_name(call_hook(L)));
    return row->run(L);
}

static void push_row(lua_State *L, const struct binding *row)
{
    if (row->where == IN_ANY) {
        lua_pushcfunction(L, row->run);
        return;
    }
    lua_pushlightuserdata(L, (void *)(uintptr_t)row);
    lua_pushcclosure(L, bound, 1);
}

/* Into bt, or a table in it. */
static void add_functions(lua_State *L, const struct library *library)
{
    lua_getglobal(L, "bt");
    if (library->of[2] == '.')
        luaL_getsubtable(L, -1, library->of + 3);
    for (size_t i = 0; i < library->n; i++) {
        push_row(L, &library->row[i]);
        lua_setfield(L, -2, library->row[i].name);
    }
    lua_settop(L, 0);
}

/* Methods go to a table of their own, unless the kind has an __index: that finds them as its upvalue. */
static void add_kind(lua_State *L, const struct library *library)
{
    const struct binding *index = NULL;

    if (luaL_newmetatable(L, library->of) == 0) {
        lua_pop(L, 1);
        luaL_error(L, "two libraries of %s", library->of);
        return;
    }
    lua_newtable(L);
    for (size_t i = 0; i < library->n; i++) {
        const struct binding *row = &library->row[i];
        bool meta = strncmp(row->name, "__", 2) == 0;
        if (strcmp(row->name, "__index") == 0)
            index = row;
        if (row == index || row->run == NULL)
            continue; /* this, or only for the manual */
        push_row(L, row);
        lua_setfield(L, meta ? -3 : -2, row->name);
    }
    if (index != NULL)
        lua_pushcclosure(L, index->run, 1);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

static const struct library *const libraries[] = {
#define LIBRARY_AT_(id) &library_##id,
    LIBRARIES(LIBRARY_AT_)};

size_t bind_libraries(const struct library *const **all)
{
    *all = libraries;
    return sizeof libraries / sizeof *libraries;
}

static void open_own(lua_State *L)
{
    lua_newtable(L);
    lua_pushinteger(L, 1);
    lua_setfield(L, -2, "api_version");
    lua_setglobal(L, "bt");
    add_kind(L, verdict_kind);
    add_kind(L, group_kind);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (strncmp(libraries[i]->of, "bt", 2) == 0 && strchr(".", libraries[i]->of[2]) != NULL)
            add_functions(L, libraries[i]);
        else
            add_kind(L, libraries[i]);
    }
}

static struct kind kind_find(lua_State *L, const char *name)
{
    struct kind kind;

    luaL_getmetatable(L, name);
    kind.at = lua_topointer(L, -1);
    kind.ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return kind;
}

static void find_own(lua_State *L)
{
    struct state *state = state_of(L);

    state->txn_kind = kind_find(L, "txn");
    state->verdict_kind = kind_find(L, "verdict");
    verdict_allow(L);
    state->allow = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L);
    state->objects = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* ---- Lua's ---- */

static const char *const charged_strings[] = {"reverse", "lower",  "upper", "byte",
                                              "char",    "format", "pack",  "unpack"};
static const char *const charged_utf8[] = {"char", "codes", "codepoint", "len", "offset"};

static void tame(lua_State *L)
{
    enum { SORT_MAX = 20000 };

    for (size_t i = 0; i < sizeof charged_strings / sizeof *charged_strings; i++)
        charge(L, LUA_STRLIBNAME, charged_strings[i], 0);
    for (size_t i = 0; i < sizeof charged_utf8 / sizeof *charged_utf8; i++)
        charge(L, LUA_UTF8LIBNAME, charged_utf8[i], 0);
    charge(L, LUA_GNAME, "tonumber", 0);
    charge(L, LUA_TABLIBNAME, "sort", SORT_MAX);
    range(L, "concat", 3);
    range(L, "unpack", 2);
    charge(L, LUA_TABLIBNAME, "insert", 0);
    charge(L, LUA_TABLIBNAME, "remove", 0);
    replace(L, LUA_TABLIBNAME, "move", table_move);
    replace(L, LUA_STRLIBNAME, "rep", string_rep);
    replace(L, LUA_OSLIBNAME, "time", os_time);
    replace(L, LUA_OSLIBNAME, "date", os_date);
    lua_getglobal(L, LUA_STRLIBNAME);
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    patterns_open(L);
    lua_pop(L, 1);
    /* The metatable of all texts. */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
    lua_getglobal(L, LUA_COLIBNAME);
    luaL_setfuncs(L, coroutines, 0);
    lua_pop(L, 1);
}

/* Keep of a library's table what is named. */
static void keep_only(lua_State *L, const char *library, const char *const *names)
{
    lua_newtable(L);
    lua_getglobal(L, library);
    for (; *names != NULL; names++) {
        lua_getfield(L, -1, *names);
        lua_setfield(L, -3, *names);
    }
    lua_pop(L, 1);
    lua_setglobal(L, library);
}

int bind_open(lua_State *L)
{
    static const luaL_Reg opened[] = {
        {LUA_GNAME, luaopen_base},       {LUA_COLIBNAME, luaopen_coroutine},
        {LUA_TABLIBNAME, luaopen_table}, {LUA_STRLIBNAME, luaopen_string},
        {LUA_MATHLIBNAME, luaopen_math}, {LUA_UTF8LIBNAME, luaopen_utf8},
        {LUA_OSLIBNAME, luaopen_os},
    };
    static const char *const os[] = {"time", "date", "clock", "difftime", NULL};
    static const luaL_Reg own[] = {
        {"pcall", safe_pcall},
        {"xpcall", safe_xpcall},
        {"setmetatable", safe_setmetatable},
        {"print", print},
        {"collectgarbage", count_garbage},
        {"require", script_require},
        {NULL, NULL},
    };

    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        luaL_requiref(L, opened[i].name, opened[i].func, 1);
        lua_pop(L, 1);
    }
    keep_only(L, LUA_OSLIBNAME, os);
    tame(L);
    lua_pushglobaltable(L);
    luaL_setfuncs(L, own, 0);
    lua_pop(L, 1);
    open_own(L);
    find_own(L);
    return 0;
}

void bind_env(lua_State *L)
{
    static const char *const names[] = {
        "assert",  "error",          "getmetatable", "ipairs",    "next",   "pairs",
        "pcall",   "print",          "rawequal",     "rawget",    "rawlen", "rawset",
        "select",  "setmetatable",   "tonumber",     "tostring",  "type",   "xpcall",
        "require", "collectgarbage", "_VERSION",     "coroutine", "table",  "string",
        "math",    "utf8",           "os",           "bt"};

    lua_newtable(L);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lua_getglobal(L, names[i]);
        lua_setfield(L, -2, names[i]);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "_G");
}
