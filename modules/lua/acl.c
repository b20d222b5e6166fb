/* acl.c - ACLs of type lua: `acl NAME lua FUNCTION [args...]`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "state.h"

struct acl { /* one line */
    struct acl *next;
    unsigned number;
    bt_str name;         /* of the ACL */
    struct bt_args args; /* the function, then its arguments */
};

/* A line that an exchange has asked. */
struct asked {
    struct asked *next;
    const struct acl *acl;
    struct call *call; /* under way; NULL: answered */
    enum bt_match answer;
};

void *acl_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct conf *conf = bt_self.conf;
    struct acl *acl = bt_alloc(arena, sizeof *acl);

    (void)err;
    acl->name = bt_acl_name();
    acl->args = args;
    acl->number = conf->n_acls++;
    acl->next = conf->acls;
    conf->acls = acl;
    return acl;
}

/* ---- finding functions ---- */

/* "name" or "table.name", in the globals at -1: replaced by what it is, or nil. */
static void find(lua_State *L, bt_str path)
{
    while (path.len > 0) {
        const char *dot = memchr(path.at, '.', path.len);
        size_t len = dot != NULL ? (size_t)(dot - path.at) : path.len;

        if (lua_istable(L, -1)) {
            lua_pushlstring(L, path.at, len);
            lua_rawget(L, -2);
        } else {
            lua_pushnil(L);
        }
        lua_remove(L, -2);
        path.at += len + (dot != NULL);
        path.len -= len + (dot != NULL);
    }
}

struct search {
    struct state *state;
    const struct acl *acl;
};

static int resolve(lua_State *L)
{
    struct search *search = lua_touserdata(L, 1);
    struct state *state = search->state;
    struct hooked *found = &state->acl[search->acl->number];

    for (unsigned i = 0; i < state->n_envs && found->ref == 0; i++) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, state->env[i].ref);
        find(L, search->acl->args.word[0].text);
        if (lua_isfunction(L, -1)) {
            found->ref = luaL_ref(L, LUA_REGISTRYINDEX);
            found->file = state->env[i].file;
        } else {
            lua_pop(L, 1);
        }
    }
    return 0;
}

bool acl_resolve(struct state *state, const struct conf *conf, struct bt_error *err, char *why,
                 size_t why_size)
{
    bool good = true;

    for (const struct acl *acl = conf->acls; acl != NULL; acl = acl->next) {
        const struct bt_word *word = &acl->args.word[0];
        struct search search = {state, acl};
        lua_pushcfunction(state->L, resolve);
        lua_pushlightuserdata(state->L, &search);
        if (lua_pcall(state->L, 1, 0, 0) != LUA_OK)
            lua_pop(state->L, 1);
        if (state->acl[acl->number].ref != 0)
            continue;
        good = false;
        if (err != NULL)
            bt_complain(err, word, "no lua_script has a function %s", word->text.at);
        else
            snprintf(why, why_size, "no lua_script has a function %s, for acl %.*s", word->text.at,
                     BT_STR_ARGS(acl->name));
    }
    return good;
}

/* ---- asking ---- */

static int push_args(lua_State *L, void *arg)
{
    struct asked *asked = arg;
    const struct bt_args *args = &asked->acl->args;

    luaL_checkstack(L, (int)args->n + 1, "too many arguments");
    exchange_push(L, asked->call->txn);
    for (size_t i = 1; i < args->n; i++)
        lua_pushlstring(L, args->word[i].text.at, args->word[i].text.len);
    return (int)args->n;
}

static void ask(struct asked *asked, struct bt_txn *txn)
{
    struct state *state = state_now;
    struct call *call = call_new(state, HOOK_ACL, &state->acl[asked->acl->number], txn);

    asked->call = call;
    asked->answer = BT_BROKEN;
    if (call == NULL)
        return;
    call->push = push_args;
    call->arg = asked;
}

/* What an error means: a list that cannot be evaluated denies. */
static enum bt_match broken(const struct file *file)
{
    return file->on_error == ON_ERROR_DENY ? BT_BROKEN : BT_NO;
}

static struct asked *asked_of(struct exchange *ex, const struct acl *acl)
{
    struct asked *asked;

    for (asked = ex->asked; asked != NULL; asked = asked->next)
        if (asked->acl == acl)
            return asked;
    asked = bt_alloc(bt_txn_arena(ex->txn), sizeof *asked);
    asked->acl = acl;
    asked->next = ex->asked;
    asked->answer = BT_WAIT;
    ex->asked = asked;
    return asked;
}

enum bt_match acl_match(const void *compiled, struct bt_txn *txn)
{
    struct asked *asked;
    struct call *call;

    if (state_now == NULL)
        return BT_BROKEN;
    asked = asked_of(exchange_of(txn), compiled);
    if (asked->call == NULL)
        ask(asked,
            txn); /* also when it was answered before: whoever asks again has forgotten why */
    call = asked->call;
    if (call == NULL)
        return broken(state_now->acl[asked->acl->number].file);
    switch (call_run(call)) {
    case CALL_OVER:
        asked->answer = call->n > 0 && lua_toboolean(call->L, -call->n) ? BT_YES : BT_NO;
        break;
    case CALL_FAILED:
        call_complain(call);
        asked->answer = broken(call->file);
        break;
    case CALL_READY:
    case CALL_RUNNING:
    case CALL_SLICED:
    case CALL_WAITING:
        return BT_WAIT;
    }
    call_free(call);
    asked->call = NULL;
    return asked->answer;
}

void acl_stop(struct exchange *ex)
{
    for (struct asked *asked = ex->asked; asked != NULL; asked = asked->next) {
        if (asked->call != NULL)
            call_free(asked->call);
        asked->call = NULL;
    }
}
