/* lib_count.c - numbers of scripts, beside the server's own: bt.counter, bt.histogram.
 *
 * Rows are made while the configuration is read; a worker counts in its own row of the shared segment,
 * as the server does, so that they cost an addition.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "lua.h"

enum { ROWS_MAX = 256, NAME_MAX_BYTES = 60, DOC_MAX_BYTES = 300 };

struct counted {
    struct bt_counter row;
    _Atomic int64_t *slot; /* this worker's */
    struct counted *next;
};
static struct counted *all;
static size_t n_all;

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= NAME_MAX_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == len && name[0] != '.' &&
           name[len - 1] != '.' && strstr(name, "..") == NULL;
}

static const char *copy(lua_State *L, const char *text)
{
    size_t len = strlen(text);

    if (len > DOC_MAX_BYTES || strpbrk(text, "\r\n") != NULL)
        luaL_error(L, "a text about a counter has one line of %d bytes at most", DOC_MAX_BYTES);
    return bt_str_copy(script_arena(), (bt_str){text, len}).at;
}

static struct counted *counted_new(lua_State *L, const char *name, enum bt_kind kind,
                                   const char *unit, const char *doc)
{
    struct counted *one;

    if (script_arena() == NULL)
        luaL_error(L, "the counter '%s' is new; it needs a reload of the configuration", name);
    if (n_all == ROWS_MAX)
        luaL_error(L, "more than %d counters", ROWS_MAX);
    one = bt_alloc(script_arena(), sizeof *one);
    one->row = (struct bt_counter){bt_str_printf(script_arena(), "script.%s", name).at, kind,
                                   copy(L, unit), copy(L, doc)};
    one->next = all;
    all = one;
    n_all++;
    bt_counters_register(&one->row, 1, &one->slot);
    return one;
}

static int push(lua_State *L, enum bt_kind kind, const char *metatable, const char *unit, int doc)
{
    size_t len;
    const char *name = luaL_checklstring(L, 1, &len);
    struct counted *one = all;

    if (!is_name(name, len))
        return luaL_error(L,
                          "a counter's name has 1 to %d small letters, digits, _, and dots between",
                          NAME_MAX_BYTES);
    while (one != NULL && strcmp(one->row.name + strlen("script."), name) != 0)
        one = one->next;
    if (one == NULL)
        one = counted_new(L, name, kind, unit, luaL_optstring(L, doc, "Counted by a script."));
    if (one->row.kind != kind)
        return luaL_error(L, "'%s' is another kind of counter already", name);
    *(struct counted **)lua_newuserdatauv(L, sizeof one, 0) = one;
    luaL_setmetatable(L, metatable);
    return 1;
}

static int lua_counter(lua_State *L)
{
    return push(L, BT_COUNT, "counter", "times", 2);
}

static int lua_histogram(lua_State *L)
{
    return push(L, BT_HISTOGRAM, "histogram", luaL_optstring(L, 2, "units"), 3);
}

static int counter_add(lua_State *L)
{
    const struct counted *one = *(struct counted **)luaL_checkudata(L, 1, "counter");
    lua_Integer by = luaL_optinteger(L, 2, 1);

    if (by < 0)
        return luaL_error(L, "a counter only grows");
    bt_slot_add(one->slot, by);
    return 0;
}

static int histogram_observe(lua_State *L)
{
    const struct counted *one = *(struct counted **)luaL_checkudata(L, 1, "histogram");
    lua_Number value = luaL_checknumber(L, 2);

    if (!(value >= 0 && value <= 1e15))
        return luaL_error(L, "what is observed must be from 0 to 1000000000000000");
    bt_observe_at(one->slot, (int64_t)(value + 0.5));
    return 0;
}

static const struct binding functions[] = {
    {"counter", IN_ANY, "bt.counter(name [, text]) -> counter",
     "A number of bobtailctl stats and /metrics, script.NAME. It must be named first when the script is "
     "loaded.",
     NULL, lua_counter},
    {"histogram", IN_ANY, "bt.histogram(name [, unit [, text]]) -> histogram",
     "The same, of how large something was.", NULL, lua_histogram},
};
const struct library library_count = {"bt", "Numbers for bobtailctl stats.", functions,
                                      sizeof functions / sizeof *functions};

static const struct binding counter_methods[] = {
    {"add", IN_ANY, "counter:add([by])", "It grows by that, or by 1.", NULL, counter_add},
};
const struct library library_counter = {"counter", "A number of bt.counter.", counter_methods,
                                        sizeof counter_methods / sizeof *counter_methods};

static const struct binding histogram_methods[] = {
    {"observe", IN_ANY, "histogram:observe(value)", "One more, of that size; integers from 0 on.",
     NULL, histogram_observe},
};
const struct library library_histogram = {"histogram", "Sizes, of bt.histogram.", histogram_methods,
                                          sizeof histogram_methods / sizeof *histogram_methods};
