/* counts.h - the counters of the module; lua.c gives their rows to the server.
 *
 * Each hook has five rows, in the order of HOOKS, so that they are found by number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LUA_COUNTS_H
#define LUA_COUNTS_H

#include "bt.h"

#define HOOK_COUNTERS(X, id, text, what)                                                           \
    X(id##_calls, "lua." text ".calls", BT_COUNT, "calls", "Calls of " what ".")                   \
    X(id##_time, "lua." text ".time", BT_COUNT, "microseconds",                                    \
      "That they took, without waiting.")                                                          \
    X(id##_errors, "lua." text ".errors", BT_COUNT, "calls", "Of them, those that failed.")        \
    X(id##_limits, "lua." text ".limits", BT_COUNT, "calls",                                       \
      "Of those, what met a limit: of time, memory or waiting.")                                   \
    X(id##_waits, "lua." text ".waits", BT_COUNT, "waits", "Times that they waited for something.")

#define LUA_COUNTERS(X)                                                                            \
    HOOK_COUNTERS(X, init, "init", "on_init")                                                      \
    HOOK_COUNTERS(X, worker, "worker", "on_worker")                                                \
    HOOK_COUNTERS(X, accept, "accept", "on_accept")                                                \
    HOOK_COUNTERS(X, hello, "hello", "on_hello")                                                   \
    HOOK_COUNTERS(X, request, "request", "on_request")                                             \
    HOOK_COUNTERS(X, lookup, "lookup", "on_lookup")                                                \
    HOOK_COUNTERS(X, upstream, "upstream", "on_upstream")                                          \
    HOOK_COUNTERS(X, response, "response", "on_response")                                          \
    HOOK_COUNTERS(X, error, "error", "on_error")                                                   \
    HOOK_COUNTERS(X, finish, "finish", "on_finish")                                                \
    HOOK_COUNTERS(X, acl, "acl", "functions of ACLs")                                              \
    HOOK_COUNTERS(X, timer, "timer", "functions of bt.every")                                      \
    HOOK_COUNTERS(X, test, "test", "functions of tests")                                           \
    X(waiting, "lua.waiting", BT_GAUGE, "calls", "Calls that wait for something.")                 \
    X(refused, "lua.refused", BT_COUNT, "calls",                                                   \
      "Calls that were not begun, or not let wait, since lua_max_waiting others wait.")            \
    X(slices, "lua.slices", BT_COUNT, "slices",                                                    \
      "Times that a call was interrupted, so that others are served.")                             \
    X(memory, "lua.memory", BT_GAUGE, "bytes",                                                     \
      "Memory of the state, last looked at when a call ended.")                                    \
    X(connections, "lua.connections", BT_GAUGE, "connections",                                     \
      "Connections of bt.tcp that are open, or being opened.")                                     \
    X(limited, "lua.limited", BT_COUNT, "calls", "Calls of bt.limit that found nothing left.")     \
    X(reloads, "lua.reloads", BT_COUNT, "reloads", "Times that the scripts were loaded again.")
BT_COUNTERS(LUA_COUNTERS);

enum { COUNT_CALLS, COUNT_TIME, COUNT_ERRORS, COUNT_LIMITS, COUNT_WAITS, COUNT_PER_HOOK };
#define count_hook(hook, which, by) bt_add(N_init_calls + (hook)*COUNT_PER_HOOK + (which), (by))

#endif
