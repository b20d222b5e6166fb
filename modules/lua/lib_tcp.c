/* lib_tcp.c - bt.tcp: connections of scripts.
 *
 * A connection ends with the object, or with the exchange in which it was made, whichever comes first;
 * so what both know of it (struct end) is neither's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "lib.h"

enum { OPEN_MAX = 256, SECONDS = 3, BYTES_MAX = 256 * 1024 };

struct tcp_wait;

struct end {
    unsigned uses;
    struct bt_wire *wire;   /* NULL: closed */
    struct tcp_wait *waits; /* NULL: nobody */
};
struct tcp_wait {
    struct wait wait;
    struct end *end;
    struct bt_timer *timer;
    bool opening; /* else: receiving */
    bool late;
    bool line;     /* a line is wanted; else */
    size_t wanted; /* so many bytes; 0: any */
};
static unsigned n_open;

/* ---- ends ---- */

static void end_close(struct end *end)
{
    if (end->wire == NULL)
        return;
    bt_wire_close(end->wire);
    end->wire = NULL;
    n_open--;
    bt_count_by(connections, -1);
}

static void end_release(void *end_)
{
    struct end *end = end_;

    end_close(end);
    if (--end->uses == 0)
        free(end);
}

/* Bytes that make what is wanted, with the end of a line; 0: not there yet. */
static size_t there(const struct tcp_wait *wait, bt_str bytes)
{
    const char *line;

    if (!wait->line)
        return bytes.len >= wait->wanted ? (wait->wanted > 0 ? wait->wanted : bytes.len) : 0;
    line = bytes.len > 0 ? memchr(bytes.at, '\n', bytes.len) : NULL;
    return line != NULL ? (size_t)(line - bytes.at) + 1 : 0;
}

static bool over(const struct tcp_wait *wait)
{
    struct bt_wire *wire = wait->end->wire;
    bt_str bytes;

    if (wire == NULL || wait->late || bt_wire_state(wire) == BT_WIRE_FAILED)
        return true;
    if (wait->opening || bt_wire_state(wire) == BT_WIRE_OPENING)
        return bt_wire_state(wire) != BT_WIRE_OPENING;
    bytes = bt_wire_bytes(wire);
    return there(wait, bytes) > 0 || bt_wire_state(wire) == BT_WIRE_ENDED || bytes.len >= BYTES_MAX;
}

static void wait_leave(struct tcp_wait *wait)
{
    bt_timer_cancel(wait->timer);
    wait->timer = NULL;
    if (wait->end != NULL && wait->end->waits == wait)
        wait->end->waits = NULL;
}

/* Something has changed. */
static void end_ready(void *end_)
{
    struct end *end = end_;
    struct tcp_wait *wait = end->waits;

    if (wait == NULL || !over(wait))
        return;
    wait_leave(wait);
    wait_done(&wait->wait);
}

static void wait_late(void *wait_)
{
    struct tcp_wait *wait = wait_;

    wait->timer = NULL;
    wait->late = true;
    end_ready(wait->end);
}

static void tcp_cancel(struct wait *wait_)
{
    struct tcp_wait *wait = (struct tcp_wait *)wait_;

    wait_leave(wait);
}

static int wait_gc(lua_State *L)
{
    struct tcp_wait *wait = lua_touserdata(L, 1);

    wait_leave(wait);
    if (wait->end != NULL && --wait->end->uses == 0)
        free(wait->end);
    wait->end = NULL;
    return 0;
}

static bt_duration timeout_arg(lua_State *L, int at)
{
    lua_Number seconds = luaL_optnumber(L, at, SECONDS);

    if (!(seconds >= 0 && seconds <= 3600))
        luaL_error(L, "a timeout must be from 0 to 3600 seconds");
    return (bt_duration){(int64_t)(seconds * 1000 + 0.5)};
}

static int refused(lua_State *L, const char *why)
{
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

static struct tcp_wait *wait_on(lua_State *L, struct end *end, bt_duration span,
                                int (*results)(lua_State *, struct wait *))
{
    struct tcp_wait *wait = wait_new(L, sizeof *wait, tcp_cancel, results);

    wait_frees(L, "bt.tcp wait", wait_gc);
    wait->end = end;
    end->uses++;
    end->waits = wait;
    wait->timer = bt_timer_start(span, wait_late, wait);
    return wait;
}

/* ---- bt.tcp ---- */

/* The object lies below the wait; it is the first result. */
static int opened(lua_State *L, struct wait *wait_)
{
    struct tcp_wait *wait = (struct tcp_wait *)wait_;
    struct end *end = wait->end;

    if (end->wire != NULL && bt_wire_state(end->wire) != BT_WIRE_FAILED && !wait->late) {
        lua_pushvalue(L, 1);
        return 1;
    }
    const char *why = wait->late || end->wire == NULL ? "timeout" : bt_wire_error(end->wire);
    end_close(end);
    return refused(L, why);
}

static int lua_tcp(lua_State *L)
{
    bt_duration span = timeout_arg(L, 3);
    lua_Integer port = luaL_checkinteger(L, 2);
    struct bt_txn *txn = call_txn(L);
    struct tcp_wait *wait;
    struct end **object, *end;
    const char *why;
    bt_str host;

    host.at = luaL_checklstring(L, 1, &host.len);
    if (txn != NULL && bt_initiator(txn) == BT_BY_SCRIPT)
        return luaL_error(L, "bt.tcp cannot be used for a request that a script has made");
    wait_check(L);
    if (n_open >= OPEN_MAX)
        return refused(L, "unavailable");
    object = lua_newuserdatauv(L, sizeof *object, 0);
    *object = NULL;
    luaL_setmetatable(L, "connection");
    lua_insert(L, 1); /* where opened() finds it; host is at 2 now */
    end = calloc(1, sizeof *end);
    if (end == NULL)
        abort();
    end->uses = 1;
    *object = end;
    end->wire = port > 0 && port <= 65535
                    ? bt_wire_open(host, (unsigned)port, BT_BY_SCRIPT, end_ready, end, &why)
                    : NULL;
    if (end->wire == NULL)
        return refused(L, "invalid");
    n_open++;
    bt_count(connections);
    if (txn != NULL) {
        end->uses++;
        bt_defer(bt_txn_arena(txn), end_release, end);
    }
    wait = wait_on(L, end, span, opened);
    wait->opening = true;
    return wait_start(L, &wait->wait);
}

/* ---- its methods ---- */

static struct end *end_arg(lua_State *L)
{
    return *(struct end **)luaL_checkudata(L, 1, "connection");
}

static int tcp_send(lua_State *L)
{
    struct end *end = end_arg(L);
    bt_str text;

    text.at = luaL_checklstring(L, 2, &text.len);
    lua_pushboolean(L, end->wire != NULL && bt_wire_send(end->wire, text));
    return 1;
}

static int received(lua_State *L, struct wait *wait_)
{
    struct tcp_wait *wait = (struct tcp_wait *)wait_;
    struct end *end = wait->end;
    bt_str bytes;
    size_t n, shown;

    if (end->wire == NULL)
        return refused(L, "closed");
    bytes = bt_wire_bytes(end->wire);
    n = shown = there(wait, bytes);
    if (n == 0) {
        if (bt_wire_state(end->wire) == BT_WIRE_ENDED)
            return refused(L, "closed");
        return refused(L, wait->late ? "timeout" : "large");
    }
    if (wait->line)
        shown -= shown > 1 && bytes.at[shown - 2] == '\r' ? 2 : 1;
    lua_pushlstring(L, bytes.at, shown);
    bt_wire_used(end->wire, n);
    return 1;
}

static int tcp_receive(lua_State *L)
{
    struct end *end = end_arg(L);
    bt_duration span = timeout_arg(L, 3);
    struct tcp_wait *wait, look = {.end = end};

    if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "line") == 0) {
        look.line = true;
    } else if (!lua_isnoneornil(L, 2)) {
        lua_Integer n = luaL_checkinteger(L, 2);
        if (n < 1 || n > BYTES_MAX)
            return luaL_error(L, "from 1 to %d bytes can be received at once", BYTES_MAX);
        look.wanted = (size_t)n;
    }
    if (end->waits != NULL)
        return luaL_error(L, "another one waits for this connection");
    if (over(&look))
        return received(L, &look.wait);
    wait_check(L);
    wait = wait_on(L, end, span, received);
    wait->line = look.line;
    wait->wanted = look.wanted;
    return wait_start(L, &wait->wait);
}

static int tcp_close(lua_State *L)
{
    struct end *end = end_arg(L);

    end_close(end);
    end_ready(end); /* whoever waits */
    return 0;
}

static int tcp_gc(lua_State *L)
{
    struct end **object = luaL_checkudata(L, 1, "connection"), *end = *object;

    *object = NULL;
    if (end != NULL)
        end_release(end);
    return 0;
}

static const struct binding functions[] = {
    {"tcp", IN_WAITING, "bt.tcp(host, port [, timeout]) -> connection",
     "Connect, as a CONNECT of the proxy itself: http_access is asked, as for bt.http. nil and a word: it "
     "cannot be. It is closed with the exchange in which it was made, or when nobody has it any more. "
     "timeout in seconds, 3 if not said. 256 of a worker at most.",
     "local c, why = bt.tcp(\"127.0.0.1\", 1, 1)\n"
     "if not c then bt.log(\"no connection: \" .. why) end",
     lua_tcp},
};
const struct library library_tcp = {"bt", "Connections.", functions,
                                    sizeof functions / sizeof *functions};

static const struct binding methods[] = {
    {"send", IN_ANY, "connection:send(text) -> done",
     "false: it is closed, or more than a megabyte waits to be taken.", NULL, tcp_send},
    {"receive", IN_WAITING, "connection:receive([what [, timeout]]) -> text",
     "What has come, at least a byte; with \"line\" a line, without its end; with a number so many bytes. "
     "nil and a word: closed, timeout (3 seconds if not said), large (no line in 262144 bytes).",
     NULL, tcp_receive},
    {"close", IN_ANY, "connection:close()", "What was sent is still delivered.", NULL, tcp_close},
    {"__gc", IN_ANY, NULL, NULL, NULL, tcp_gc},
    {"__close", IN_ANY, NULL, NULL, NULL, tcp_close},
};
const struct library library_connection = {"connection", "A connection of bt.tcp.", methods,
                                           sizeof methods / sizeof *methods};
