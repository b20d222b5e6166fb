/* script.c - states: files are loaded into one, their functions found, and it is closed.
 *
 * The state that workers use is made in the master, while the configuration is read: they share its
 * pages. Each file has globals of its own. What a file does when it is loaded has the time of an on_init.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "counts.h"
#include "state.h"

enum { FILE_MAX = 8 * 1024 * 1024 };

struct state *state_now;

/* While the configuration is read. */
static struct bt_arena *arena_now;
static struct bt_error *error_now;

struct bt_arena *script_arena(void)
{
    return arena_now;
}

struct bt_error *script_error(void)
{
    return error_now;
}

void script_setting_up(struct bt_arena *arena, struct bt_error *err)
{
    arena_now = arena;
    error_now = err;
}

/* ---- files ---- */

/* On the top of the stack, as a function with globals of its own below it. */
static void load_text(lua_State *L, const char *path, const char *shown)
{
    char mode[] = "t";
    FILE *file = fopen(path, "re");
    luaL_Buffer text;
    size_t n, sum = 0;

    if (file == NULL) {
        luaL_error(L, "%s: %s", path, strerror(errno));
        return;
    }
    luaL_buffinit(L, &text);
    do {
        char piece[4096]; /* not in the buffer, since an error there would leave the file open */
        n = fread(piece, 1, sizeof piece, file);
        sum += n;
        if (n == 0 || sum > FILE_MAX)
            break;
        luaL_addlstring(&text, piece, n);
    } while (n > 0);
    fclose(file);
    luaL_pushresult(&text);
    if (sum > FILE_MAX)
        luaL_error(L, "%s: larger than %d bytes", path, FILE_MAX);
    bind_env(L);
    lua_insert(L, -2);
    lua_pushfstring(L, "@%s", shown);
    const char *source = lua_tolstring(L, -2, &n);
    fields_want((bt_str){source, n});
    if (luaL_loadbufferx(L, source, n, lua_tostring(L, -1), mode) != LUA_OK)
        lua_error(L);
    lua_pushvalue(L, -4);
    (void)lua_setupvalue(L, -2, 1);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

/* ---- require ---- */

static bool name_is_safe(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len < 200 && strstr(name, "..") == NULL && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == len;
}

/* Each part of lua_path, between ':' or ';': a folder, or a template with '?'. */
static bool find_file(bt_str path, const char *name, char *out, size_t size)
{
    char part[300];

    while (path.len > 0) {
        size_t len = 0;
        while (len < path.len && path.at[len] != ':' && path.at[len] != ';')
            len++;
        const char *mark = memchr(path.at, '?', len);
        int before = (int)(mark != NULL ? (size_t)(mark - path.at) : len);
        if (mark != NULL)
            snprintf(part, sizeof part, "%.*s", (int)len - before - 1, mark + 1);
        int n = len == 0 ? (int)size
                         : snprintf(out, size, "%.*s%s%s%s", before, path.at,
                                    mark != NULL ? "" : "/", name, mark != NULL ? part : ".lua");
        for (char *at = out + before;
             n > 0 && (size_t)n < size && at < out + before + strlen(name) + 1; at++)
            if (*at == '.' && at < out + n - 4)
                *at = '/';
        FILE *file = n > 0 && (size_t)n < size ? fopen(out, "re") : NULL;
        if (file != NULL) {
            fclose(file);
            return true;
        }
        len += len < path.len;
        path.at += len;
        path.len -= len;
    }
    return false;
}

int script_require(lua_State *L)
{
    const struct conf *conf = bt_self.conf;
    const char *name = luaL_checkstring(L, 1);
    char file[4096];

    lua_settop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "bobtail.required");
    lua_getfield(L, 2, name);
    if (!lua_isnil(L, 3)) {
        if (lua_islightuserdata(L, 3))
            return luaL_error(L, "require: %s requires itself", name);
        return 1;
    }
    if (call_now(L) != NULL && call_hook(L) != HOOK_INIT)
        return luaL_error(L, "require: %s must be loaded with the script, not in %s", name,
                          hook_name(call_hook(L)));
    if (!name_is_safe(name))
        return luaL_error(L, "require: '%s' is no name of a module", name);
    if (!find_file(conf->path, name, file, sizeof file))
        return luaL_error(L, "require: no file for '%s' in lua_path", name);
    lua_pushlightuserdata(L, L);
    lua_setfield(L, 2, name);
    load_text(L, file, file);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushboolean(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_setfield(L, 2, name);
    return 1;
}

/* ---- what a file has ---- */

static void add_hook(lua_State *L, struct state *state, enum hook hook, const struct file *file)
{
    struct hooks *hooks = &state->hooks[hook];

    if (!lua_isfunction(L, -1))
        luaL_error(L, "%s must be a function, not %s", hook_name(hook), luaL_typename(L, -1));
    hooks->row[hooks->n++] = (struct hooked){file, luaL_ref(L, LUA_REGISTRYINDEX)};
}

/* A function on_something that nobody would call is a mistake. */
static void check_names(lua_State *L, int env)
{
    static const char *names[HOOK_END + 1];

    for (enum hook hook = 0; hook < HOOK_ACL; hook++)
        names[hook] = hook_name(hook);
    lua_pushnil(L);
    while (lua_next(L, env) != 0) {
        bt_str name = {NULL, 0};
        bool known = false;
        if (lua_type(L, -2) == LUA_TSTRING && lua_isfunction(L, -1))
            name.at = lua_tolstring(L, -2, &name.len);
        for (size_t i = 0; names[i] != NULL && name.at != NULL; i++)
            known |= strcmp(names[i], name.at) == 0;
        if (name.at != NULL && strncmp(name.at, "on_", 3) == 0 && !known) {
            const char *near = bt_nearest(name, names);
            luaL_error(L, "there is no hook %s%s%s%s", name.at,
                       near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                       near != NULL ? "?" : "");
        }
        lua_pop(L, 1);
    }
}

struct loading {
    struct state *state;
    const struct file *file;
};

static int load_file(lua_State *L)
{
    struct loading *loading = lua_touserdata(L, 1);
    struct state *state = loading->state;
    const char *path = loading->file->path->text.at;

    load_text(L, path, path);
    lua_getupvalue(L, -1, 1); /* its globals; a chunk without a name of them has them, too */
    lua_insert(L, -2);
    lua_call(L, 0, 0);
    int env = lua_gettop(L);
    for (enum hook hook = 0; hook < HOOK_ACL; hook++) {
        lua_pushstring(L, hook_name(hook));
        if (lua_rawget(L, env) != LUA_TNIL)
            add_hook(L, state, hook, loading->file);
        else
            lua_pop(L, 1);
    }
    check_names(L, env);
    lua_settop(L, env);
    state->env[state->n_envs++] = (struct env){loading->file, luaL_ref(L, LUA_REGISTRYINDEX)};
    return 0;
}

/* ---- complaints ---- */

/* "FILE:LINE: text" of Lua, as a place and a text. */
static bool split_place(const char *said, uint32_t *line, const char **text)
{
    for (const char *at = strchr(said, ':'); at != NULL; at = strchr(at + 1, ':')) {
        char *end;
        unsigned long n = strtoul(at + 1, &end, 10);
        if (end != at + 1 && end[0] == ':' && end[1] == ' ' && n < UINT32_MAX) {
            *line = (uint32_t)n;
            *text = end + 2;
            return true;
        }
    }
    return false;
}

static void complain(const struct file *file, const char *said, struct bt_error *err, char *why,
                     size_t why_size)
{
    struct bt_word place = *file->path;
    const char *text = said;

    if (err == NULL) {
        snprintf(why, why_size, "%s", said);
        return;
    }
    place.line = place.column = 1;
    place.file = file->path->text.at;
    (void)split_place(said, &place.line, &text);
    bt_complain(err, &place, "%s", text);
}

static const char *said_of(lua_State *L)
{
    return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an error that is no text";
}

/* ---- states ---- */

static int panic(lua_State *L)
{
    bt_log(NULL, BT_ERROR, "Lua fell out of its guards: %s; report it", said_of(L));
    abort();
}

static void state_close(struct state *state)
{
    struct call *spare;

    bt_count_by(memory, -state->told);
    if (state->L != NULL)
        lua_close(state->L);
    while ((spare = state->spare) != NULL) {
        state->spare = spare->next;
        free(spare);
    }
    free(state->places);
    free(state->hooks[0].row);
    free(state->env);
    free(state->acl);
    free(state);
}

void state_use(struct state *state)
{
    state->users++;
}

void state_unuse(struct state *state)
{
    if (--state->users == 0)
        state_close(state);
}

static struct state *state_new(const struct conf *conf, unsigned n_files)
{
    struct state *state = calloc(1, sizeof *state);
    struct hooked *rows = calloc((size_t)n_files * HOOK_END + 1, sizeof *rows);

    if (state == NULL || rows == NULL)
        abort();
    for (enum hook hook = 0; hook < HOOK_END; hook++)
        state->hooks[hook].row = rows + (size_t)hook * n_files;
    state->env = calloc(n_files + 1, sizeof *state->env);
    state->acl = calloc(conf->n_acls + 1, sizeof *state->acl);
    state->bytes_max = (size_t)conf->memory.bytes;
    state->users = 1;
    state->L = lua_newstate(guard_alloc, state);
    if (state->env == NULL || state->acl == NULL)
        abort();
    if (state->L == NULL)
        return state;
    lua_atpanic(state->L, panic);
    lua_pushcfunction(state->L, bind_open);
    if (lua_pcall(state->L, 0, 0, 0) == LUA_OK)
        return state;
    lua_close(state->L);
    state->L = NULL;
    return state;
}

static bool load_all(struct state *state, const struct conf *conf, struct bt_error *err, char *why,
                     size_t why_size)
{
    bool good = true;

    guard_watch(state->L);
    for (const struct file *file = conf->files; file != NULL; file = file->next) {
        struct loading loading = {state, file};
        state->loading = file;
        state->load_until_us = guard_cpu_us() + call_limit_us(HOOK_INIT);
        lua_pushcfunction(state->L, load_file);
        lua_pushlightuserdata(state->L, &loading);
        if (lua_pcall(state->L, 1, 0, 0) != LUA_OK) {
            complain(file, said_of(state->L), err, why, why_size);
            lua_pop(state->L, 1);
            good = false;
        }
    }
    state->loading = NULL;
    return good;
}

static bool call_init(struct state *state, struct bt_error *err, char *why, size_t why_size)
{
    bool good = true;

    for (unsigned i = 0; i < state->hooks[HOOK_INIT].n; i++) {
        const struct hooked *what = &state->hooks[HOOK_INIT].row[i];
        struct call *call = call_new(state, HOOK_INIT, what, NULL);
        if (call == NULL)
            return false;
        call->pinned = 1;
        if (call_run(call) == CALL_FAILED) {
            complain(what->file, call->why != NULL ? call->why : said_of(call->L), err, why,
                     why_size);
            good = false;
        }
        call_free(call);
    }
    return good;
}

struct state *state_open(const struct conf *conf, struct bt_error *err, char *why, size_t why_size)
{
    unsigned n = 0;
    struct state *state;
    bool good;

    for (const struct file *file = conf->files; file != NULL; file = file->next)
        n++;
    state = state_new(conf, n);
    if (state->L == NULL) {
        if (err != NULL)
            bt_complain(err, NULL, "lua_memory_limit is too small for Lua itself");
        else
            snprintf(why, why_size, "lua_memory_limit is too small for Lua itself");
        state_unuse(state);
        return NULL;
    }
    good = load_all(state, conf, err, why, why_size);
    good = good && acl_resolve(state, conf, err, why, why_size);
    good = good && call_init(state, err, why, why_size);
    if (good) {
        (void)lua_gc(state->L, LUA_GCCOLLECT);
        return state;
    }
    state_unuse(state);
    return NULL;
}

/* Workers that were forked of one state would have the same numbers. */
static int seed(lua_State *L)
{
    lua_Integer chance[2] = {0};

    if (getrandom(chance, sizeof chance, GRND_NONBLOCK) < 0)
        chance[0] = bt_wall_ms() + bt_member();
    lua_getglobal(L, "math");
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, chance[0]);
    lua_pushinteger(L, chance[1]);
    lua_call(L, 2, 0);
    return 0;
}

static int push_member(lua_State *L, void *arg)
{
    (void)arg;
    lua_pushinteger(L, bt_member() == BT_NO_MEMBER ? 0 : (lua_Integer)bt_member());
    return 1;
}

static void nothing(struct call *call)
{
    (void)call;
}

void state_start(struct state *state)
{
    lua_pushcfunction(state->L, seed);
    if (lua_pcall(state->L, 0, 0, 0) != LUA_OK)
        lua_pop(state->L, 1);
    for (unsigned i = 0; i < state->hooks[HOOK_WORKER].n; i++) {
        struct call *call = call_new(state, HOOK_WORKER, &state->hooks[HOOK_WORKER].row[i], NULL);
        if (call == NULL)
            continue;
        call->push = push_member;
        call_detach(call, nothing);
    }
    timers_start(state);
}
