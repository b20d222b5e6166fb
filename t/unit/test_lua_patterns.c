/* test_lua_patterns.c - our patterns say what Lua's say: by hand, and by chance.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <lua5.4/lualib.h>
#include <stdlib.h>

#include "lua/patterns.c"

/* Of guard.c: here nobody is in a hurry. */
void guard_charge(lua_State *L, size_t n)
{
    (void)L;
    (void)n;
}

void guard_look(lua_State *L)
{
    (void)L;
}

/* Both as tables of functions: `ours` and `theirs`. */
static lua_State *open_state(void)
{
    lua_State *L = luaL_newstate();

    luaL_openlibs(L);
    lua_newtable(L);
    patterns_open(L);
    lua_setglobal(L, "ours");
    lua_getglobal(L, "string");
    lua_setglobal(L, "theirs");
    return L;
}

static const char compare[] =
    "local function all(fn, ...)\n"
    "  local r = table.pack(pcall(fn, ...))\n"
    "  for i = 1, r.n do r[i] = tostring(r[i]) end\n"
    "  if r[1] == 'false' then return 'error' end\n"
    "  return table.concat(r, '|')\n"
    "end\n"
    "local function each(lib, text, pattern)\n"
    "  local out = {}\n"
    "  for a, b, c in lib.gmatch(text, pattern) do\n"
    "    out[#out + 1] = tostring(a) .. ',' .. tostring(b) .. ',' .. tostring(c)\n"
    "    if #out > 100 then break end\n"
    "  end\n"
    "  return table.concat(out, ';')\n"
    "end\n"
    "function same(text, pattern, with)\n"
    "  local calls = {\n"
    "    {'find', text, pattern}, {'find', text, pattern, 3}, {'find', text, pattern, -2},\n"
    "    {'find', text, pattern, 1, true}, {'match', text, pattern}, {'match', text, pattern, 2},\n"
    "    {'gsub', text, pattern, with}, {'gsub', text, pattern, with, 1},\n"
    "    {'gsub', text, pattern, {a = 'A', ab = false, b = 7}},\n"
    "    {'gsub', text, pattern, function(a, b) return b or a end}}\n"
    "  for _, call in ipairs(calls) do\n"
    "    local o = all(ours[call[1]], table.unpack(call, 2, 6))\n"
    "    local t = all(theirs[call[1]], table.unpack(call, 2, 6))\n"
    "    if o ~= t then return call[1] .. '(' .. text .. ', ' .. pattern .. '): ' .. o .. ' not ' .. t end\n"
    "  end\n"
    "  local o, t = all(each, ours, text, pattern), all(each, theirs, text, pattern)\n"
    "  if o ~= t then return 'gmatch(' .. text .. ', ' .. pattern .. '): ' .. o .. ' not ' .. t end\n"
    "end\n";

static const char by_hand[] =
    "for _, c in ipairs{\n"
    "  {'hello world', 'o', '0'}, {'hello world', '(o)(.)', '%2%1'}, {'hello', '', '-'}, {'', '', 'x'},\n"
    "  {'THE (quick) fox', '%((%a+)%)', '<%1>'}, {'key = value', '^(%w+)%s*=%s*(%w+)$', '%2=%1'},\n"
    "  {'f(a(b)c)d', '%b()', ''}, {'THE (quick) fox', '%f[%a]%a+%f[%A]', 'w'}, {'abcabc', '(abc)%1', '!'},\n"
    "  {'x^y', '^x^y', ''}, {'a]b', '[]]', ''}, {'a-b', '[a%-]', '_'}, {'a-b', '[^%w]', '_'},\n"
    "  {'10.0.0.1', '^(%d+)%.(%d+)%.(%d+)%.(%d+)$', '%4'}, {'\\0a\\0', '%z', ''}, {'abc', '()', '%1'},\n"
    "  {'abc', 'b()', '%1'}, {'aaa', 'a-', 'x'}, {'aaa', 'a-$', 'x'}, {'a.b', '.', '%%'}, {'a', '%', ''},\n"
    "  {'a', '[a', ''}, {'a', '(a', ''}, {'a', 'a)', ''}, {'a', '%1', ''}, {'a', '%b', ''}, {'a', '%f', ''},\n"
    "  {'a', '[]', ''}, {'a', '[^]', ''}, {'a', '[%', ''}, {'a', '[a-', ''}, {'a-', '[a-]', 'x'},\n"
    "  {'a', 'a', '%2'}, {'a', 'a', '%'}, {'abc', '[b-a]', 'x'}, {'aXb', '%u', '%0%0'}, {'a', '', '%1'},\n"
    "} do local why = same(c[1], c[2], c[3]) if why then error(why) end end\n";

static const char by_chance[] =
    "local items = {'a', 'b', '.', '%a', '%d', '%s', '%W', '[ab]', '[^a]', '[a-c]', '[%a_]', '(', ')', '()',\n"
    "  '%1', '%b()', '%f[a]', '$', '^', '%', '[', ']', '*', '+', '-', '?', '%.', '(a)', '(.-)', '(%a*)'}\n"
    "local marks = {'', '', '', '*', '+', '-', '?'}\n"
    "local letters = {'a', 'b', 'c', '1', ' ', '(', ')', '.', '_', 'A'}\n"
    "local withs = {'x', '%0', '%1', '%%', '[%0]', '%2', ''}\n"
    "local pick = function(t) return t[math.random(#t)] end\n"
    "for i = 1, ROUNDS do\n"
    "  local p, s = {}, {}\n"
    "  for k = 1, math.random(0, 6) do p[k] = pick(items) .. pick(marks) end\n"
    "  for k = 1, math.random(0, 12) do s[k] = pick(letters) end\n"
    "  local why = same(table.concat(s), table.concat(p), pick(withs))\n"
    "  if why then error(why) end\n"
    "end\n";

static void run(lua_State *L, const char *code)
{
    if (luaL_dostring(L, code) != LUA_OK)
        fail_msg("%s", lua_tostring(L, -1));
}

static void test_by_hand(void **state)
{
    lua_State *L = open_state();

    (void)state;
    run(L, compare);
    run(L, by_hand);
    lua_close(L);
}

static void test_by_chance(void **state)
{
    lua_State *L = open_state();

    (void)state;
    lua_pushinteger(L, 20000);
    lua_setglobal(L, "ROUNDS");
    run(L, compare);
    run(L, by_chance);
    lua_close(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand),
                                       cmocka_unit_test(test_by_chance)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
