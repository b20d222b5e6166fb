/* lib_net.c - what scripts ask of others, beside bt.http: bt.dns, bt.helper.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib.h"

/* ---- bt.dns ---- */

enum { ADDRS_MAX = 32, NAME_MAX_BYTES = 255 };

struct dns {
    struct wait wait;
    struct bt_lookup *lookup; /* NULL: it is over */
    const char *why;          /* a literal; NULL: there is an answer */
    size_t n;
    char addr[ADDRS_MAX][INET6_ADDRSTRLEN];
    char name[NAME_MAX_BYTES + 1]; /* of an address; empty: it was a name */
};

static void addr_print(const struct sockaddr *addr, char out[INET6_ADDRSTRLEN])
{
    const struct sockaddr_in *v4 = (const void *)addr;
    const struct sockaddr_in6 *v6 = (const void *)addr;
    const void *bytes = addr->sa_family == AF_INET ? (const void *)&v4->sin_addr
                                                   : (const void *)&v6->sin6_addr;

    if (inet_ntop(addr->sa_family, bytes, out, INET6_ADDRSTRLEN) == NULL)
        out[0] = '\0';
}

static void dns_done(void *dns_, const struct bt_lookup_reply *reply)
{
    struct dns *dns = dns_;

    dns->lookup = NULL;
    dns->why = reply->why;
    for (size_t i = 0; i < reply->n && i < ADDRS_MAX; i++)
        addr_print(reply->addr[i], dns->addr[dns->n++]);
    if (reply->name.len <= NAME_MAX_BYTES && reply->name.len > 0)
        memcpy(dns->name, reply->name.at, reply->name.len);
    wait_done(&dns->wait);
}

static void dns_stop(struct dns *dns)
{
    if (dns->lookup != NULL)
        bt_lookup_cancel(dns->lookup);
    dns->lookup = NULL;
}

static void dns_cancel(struct wait *wait)
{
    dns_stop((struct dns *)wait);
}

static int dns_gc(lua_State *L)
{
    dns_stop(lua_touserdata(L, 1));
    return 0;
}

static int dns_results(lua_State *L, struct wait *wait)
{
    struct dns *dns = (struct dns *)wait;

    if (dns->why != NULL) {
        lua_pushnil(L);
        lua_pushstring(L, dns->why);
        return 2;
    }
    if (dns->name[0] != '\0') {
        lua_pushstring(L, dns->name);
        return 1;
    }
    lua_createtable(L, (int)dns->n, 0);
    for (size_t i = 0; i < dns->n; i++) {
        lua_pushstring(L, dns->addr[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* An address in text, as such. false: it is a name. */
static bool is_address(bt_str text, struct sockaddr_storage *out)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char copy[INET6_ADDRSTRLEN] = "";

    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.len);
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, copy, &v4.sin_addr) == 1)
        memcpy(out, &v4, sizeof v4);
    else if (inet_pton(AF_INET6, copy, &v6.sin6_addr) == 1)
        memcpy(out, &v6, sizeof v6);
    return out->ss_family != 0;
}

static int lua_dns(lua_State *L)
{
    struct sockaddr_storage addr;
    struct dns *dns;
    bt_str name;

    name.at = luaL_checklstring(L, 1, &name.len);
    if (name.len == 0 || name.len > NAME_MAX_BYTES || strlen(name.at) != name.len)
        return luaL_error(L, "bt.dns: a name has 1 to %d bytes", NAME_MAX_BYTES);
    wait_check(L);
    dns = wait_new(L, sizeof *dns, dns_cancel, dns_results);
    wait_frees(L, "bt.dns wait", dns_gc);
    if (is_address(name, &addr))
        dns->lookup = bt_lookup_reverse((const struct sockaddr *)&addr, dns_done, dns);
    else
        dns->lookup = bt_lookup_start(name, dns_done, dns);
    return wait_start(L, &dns->wait);
}

/* ---- bt.helper ---- */

enum { HELPERS_MAX = 32, WORDS_MAX = 64, LINE_MAX_BYTES = 32 * 1024 };

struct helper {
    struct helper *next;
    const char *name, *command;
    struct bt_helper *pool;
};
static struct helper *helpers;
static unsigned n_helpers;

void helpers_start(void)
{
    for (struct helper *helper = helpers; helper != NULL; helper = helper->next)
        bt_helper_start(helper->pool);
}

void helpers_stop(void)
{
    for (struct helper *helper = helpers; helper != NULL; helper = helper->next)
        bt_helper_stop(helper->pool);
}

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= 40 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

/* Words between blanks; nothing is quoted. */
static struct bt_args command_words(lua_State *L, const char *command)
{
    struct bt_word *word = bt_alloc(script_arena(), WORDS_MAX * sizeof *word);
    size_t n = 0;

    for (command += strspn(command, " \t"); *command != '\0'; command += strspn(command, " \t")) {
        size_t len = strcspn(command, " \t");
        if (n == WORDS_MAX)
            luaL_error(L, "bt.helper: more than %d words", WORDS_MAX);
        word[n++].text = bt_str_copy(script_arena(), (bt_str){command, len});
        command += len;
    }
    if (n == 0 || word[0].text.at[0] != '/' || access(word[0].text.at, X_OK) != 0)
        luaL_error(L, "bt.helper: %s is no program with its whole path",
                   n > 0 ? word[0].text.at : "nothing");
    return (struct bt_args){word, n};
}

static int64_t option(lua_State *L, const char *name, int64_t otherwise, int64_t most)
{
    int64_t value = otherwise;

    if (lua_getfield(L, 2, name) != LUA_TNIL) {
        if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0 || lua_tointeger(L, -1) > most)
            luaL_error(L, "bt.helper: %s must be an integer from 0 to %d", name, (int)most);
        value = lua_tointeger(L, -1);
    }
    lua_pop(L, 1);
    return value;
}

static struct helper *helper_new(lua_State *L, const char *name, const char *command)
{
    struct bt_helper_options options = {.children = option(L, "children", 2, 256),
                                        .startup = option(L, "startup", 0, 256),
                                        .concurrency = option(L, "concurrency", 0, 10000),
                                        .queue = option(L, "queue", -1, 100000),
                                        .timeout = {option(L, "timeout", 0, 3600) * 1000}};
    struct helper *helper;

    if (script_arena() == NULL)
        luaL_error(L, "bt.helper: '%s' is new; it needs a reload of the configuration", name);
    if (n_helpers == HELPERS_MAX)
        luaL_error(L, "bt.helper: more than %d", HELPERS_MAX);
    helper = bt_alloc(script_arena(), sizeof *helper);
    options.command = command_words(L, command);
    options.name = bt_str_printf(script_arena(), "script_%s", name).at;
    helper->name = bt_str_printf(script_arena(), "%s", name).at;
    helper->command = bt_str_printf(script_arena(), "%s", command).at;
    helper->pool = bt_helper_new(script_arena(), &options);
    helper->next = helpers;
    helpers = helper;
    n_helpers++;
    return helper;
}

static int lua_helper(lua_State *L)
{
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len), *command;
    struct helper *helper = helpers;

    luaL_checktype(L, 2, LUA_TTABLE);
    if (!is_name(name, len))
        return luaL_error(L, "bt.helper: a name has 1 to 40 small letters, digits and _");
    if (lua_getfield(L, 2, "command") != LUA_TSTRING)
        return luaL_error(L, "bt.helper: command must be a text");
    command = lua_tostring(L, -1);
    while (helper != NULL && strcmp(helper->name, name) != 0)
        helper = helper->next;
    if (helper != NULL && strcmp(helper->command, command) != 0)
        return luaL_error(L, "bt.helper: '%s' has another command already", name);
    if (helper == NULL)
        helper = helper_new(L, name, command);
    *(struct helper **)lua_newuserdatauv(L, sizeof helper, 0) = helper;
    luaL_setmetatable(L, "helper");
    return 1;
}

struct question {
    struct wait wait;
    struct bt_helper_ask ask;
    enum bt_helper_result result;
    char *copy; /* NULL, or: the text, then keys and values, each ended by NUL */
    size_t n;
};

static char *copy_text(char *at, bt_str text)
{
    if (text.len > 0)
        memcpy(at, text.at, text.len);
    at[text.len] = '\0';
    return at + text.len + 1;
}

/* Of the loop: no Lua. */
static void helper_done(struct bt_helper_ask *ask, const struct bt_helper_reply *reply)
{
    struct question *q = (struct question *)(void *)((char *)ask - offsetof(struct question, ask));
    size_t bytes = reply->text.len + 1;
    char *at;

    for (size_t i = 0; i < reply->n; i++)
        bytes += reply->pair[i].key.len + reply->pair[i].value.len + 2;
    q->copy = at = malloc(bytes);
    if (at == NULL)
        abort();
    q->result = reply->result;
    q->n = reply->n;
    at = copy_text(at, reply->text);
    for (size_t i = 0; i < reply->n; i++)
        at = copy_text(copy_text(at, reply->pair[i].key), reply->pair[i].value);
    wait_done(&q->wait);
}

static void helper_cancel(struct wait *wait)
{
    bt_helper_cancel(&((struct question *)wait)->ask);
}

static int helper_gc(lua_State *L)
{
    struct question *q = lua_touserdata(L, 1);

    bt_helper_cancel(&q->ask);
    free(q->copy);
    q->copy = NULL;
    return 0;
}

static int helper_results(lua_State *L, struct wait *wait)
{
    static const char *const words[] = {
        [BT_HELPER_OK] = "OK", [BT_HELPER_ERR] = "ERR",   [BT_HELPER_BH] = "BH",
        [BT_HELPER_TT] = "TT", [BT_HELPER_TEXT] = "TEXT", [BT_HELPER_LOST] = "LOST"};
    const struct question *q = (const struct question *)wait;
    const char *at = q->copy;

    lua_pushstring(L, words[q->result]);
    lua_pushstring(L, at);
    lua_createtable(L, 0, (int)q->n);
    for (size_t i = 0; i < q->n; i++) {
        const char *key = at + strlen(at) + 1;
        at = key + strlen(key) + 1;
        lua_pushstring(L, at);
        lua_setfield(L, -2, key);
    }
    return 3;
}

static int helper_ask(lua_State *L)
{
    struct helper *helper = *(struct helper **)luaL_checkudata(L, 1, "helper");
    struct question *q;
    bt_str line;

    line.at = luaL_checklstring(L, 2, &line.len);
    if (line.len > LINE_MAX_BYTES || strlen(line.at) != line.len ||
        memchr(line.at, '\n', line.len) != NULL)
        return luaL_error(L, "a question has one line of at most %d bytes", LINE_MAX_BYTES);
    wait_check(L);
    q = wait_new(L, sizeof *q, helper_cancel, helper_results);
    wait_frees(L, "bt.helper wait", helper_gc);
    q->ask.done = helper_done;
    bt_helper_ask(helper->pool, &q->ask, line);
    return wait_start(L, &q->wait);
}

/* ---- rows ---- */

static const struct binding functions[] = {
    {"dns", IN_WAITING, "bt.dns(name or address) -> addresses or name",
     "The addresses of a name, a table of texts; the name of an address. nil and a phrase: there is none. By "
     "the server's own resolver, which remembers.",
     "local addresses, why = bt.dns(txn.host)\n"
     "if not addresses then bt.log(\"no address: \" .. why) end",
     lua_dns},
    {"helper", IN_ANY, "bt.helper(name, {command=, children=, concurrency=, ...}) -> helper",
     "A pool of programs that answer lines, as helpers of Squid do. command is the program with its whole "
     "path, and its words; children (2 if not said) how many a worker may have, startup, concurrency, "
     "queue and timeout (seconds) as in auth_param. It must be named first when the script is loaded.",
     NULL, lua_helper},
};
const struct library library_net = {"bt", "Names, and programs that answer.", functions,
                                    sizeof functions / sizeof *functions};

static const struct binding methods[] = {
    {"ask", IN_WAITING, "helper:ask(text) -> word, text, pairs",
     "A line for a program: OK, ERR, BH or TT, or TEXT (it begins with none of these), or LOST (nobody "
     "answered); what stands behind, and a table of its key=value pairs.",
     NULL, helper_ask},
};
const struct library library_helper = {"helper", "Programs of bt.helper.", methods,
                                       sizeof methods / sizeof *methods};
