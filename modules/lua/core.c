/* core.c - bt.log, bt.every and what else scripts have of the server itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "state.h"

void core_log(struct bt_txn *txn, enum bt_level level, const char *text)
{
    enum { PER_SECOND = 100, TEXT_MAX_BYTES = 4000 };
    static int64_t second, said;
    char line[TEXT_MAX_BYTES];
    size_t n = 0;

    if (!bt_log_on(level))
        return;
    if (second != bt_wall_ms() / 1000) {
        if (said > PER_SECOND)
            bt_log(NULL, BT_WARN, "%lld lines that scripts wanted to log were left out",
                   (long long)(said - PER_SECOND));
        second = bt_wall_ms() / 1000;
        said = 0;
    }
    if (++said > PER_SECOND)
        return;
    for (; *text != '\0' && n + 1 < sizeof line; text++)
        line[n++] = (unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text;
    line[n] = '\0';
    bt_log(txn, level, "%s", line);
}

static int say(lua_State *L)
{
    static const char *const names[] = {"error", "warn", "info", "debug", NULL};
    static const enum bt_level levels[] = {BT_ERROR, BT_WARN, BT_INFO, BT_DEBUG};
    int level = 2;

    if (lua_gettop(L) > 1)
        level = luaL_checkoption(L, 1, NULL, names);
    core_log(call_txn(L), levels[level], luaL_checkstring(L, -1));
    return 0;
}

static const struct binding rows[] = {
    {"log", IN_ANY, "bt.log([level,] text)",
     "A line for cache_log; the level is \"error\", \"warn\", \"info\" (if not given) or \"debug\". A "
     "worker writes 100 of them a second at most.",
     "bt.log(\"warn\", \"seen: \" .. txn.url)", say},
    {"every", IN(INIT) | IN(WORKER), "bt.every(seconds, function)",
     "Have each worker call the function that often; it may wait, and is called again that long after it "
     "has ended.",
     NULL, timers_every},
};
const struct library library_core = {"bt", "The server.", rows, sizeof rows / sizeof *rows};
