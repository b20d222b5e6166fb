/* lua.c - module lua: policy in functions of scripts, one for each phase of an exchange.
 *
 * Here are the rows; hooks.c calls the functions, script.c loads them, call.c runs them, guard.c limits
 * what they take, bind.c says what they see. lua.h tells how to add functions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "lib.h"
#include "state.h"

struct file_options {
    int64_t on_error;
};

struct limit_options {
    bt_str hook;
};

/* ---- lines of the configuration ---- */

static bool set_script(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    const struct file_options *options = line->options;
    struct conf *conf = conf_;
    struct file *file = bt_alloc(line->arena, sizeof *file), **at = &conf->files;

    (void)err;
    file->path = &line->args.word[0];
    file->on_error = (enum on_error)options->on_error;
    while (*at != NULL)
        at = &(*at)->next;
    *at = file;
    return true;
}

static const char *limit_name(enum hook hook)
{
    return hook == HOOK_ACL     ? "acl"
           : hook == HOOK_TIMER ? "timer"
           : hook == HOOK_TEST  ? "test"
                                : hook_name(hook);
}

static bool set_cpu_limit(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    const struct limit_options *options = line->options;
    static const char *names[HOOK_END + 1];
    struct conf *conf = conf_;
    const struct bt_word *word = line->args.word;
    int64_t ms = strtoll(word[0].text.at, NULL, 10);
    bool found = options->hook.at == NULL;

    if (ms < 1 || ms > 60000)
        return bt_complain(err, &word[0], "lua_cpu_limit must be from 1 millisecond to 60 seconds");
    for (enum hook hook = 0; hook < HOOK_END; hook++) {
        names[hook] = limit_name(hook);
        if (options->hook.at != NULL && strcmp(names[hook], options->hook.at) != 0)
            continue;
        conf->cpu_ms[hook] = ms;
        found = true;
    }
    if (found)
        return true;
    const char *near = bt_nearest(options->hook, names);
    return bt_complain(err, NULL, "there is no hook %s%s%s%s", options->hook.at,
                       near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                       near != NULL ? "?" : "");
}

static const struct bt_option script_options[] = {
    {"on-error", "deny|allow|ignore", "deny",
     "What a failed call means: the exchange is refused; it goes on as after bt.allow(); it goes on as if "
     "the function had returned nothing.",
     offsetof(struct file_options, on_error), BT_BUILT},
};

static const struct bt_option limit_options[] = {
    {"hook", "word", NULL, "For that hook alone: on_request, ..., acl, timer.",
     offsetof(struct limit_options, hook), BT_BUILT},
};

static const struct bt_directive directives[] = {
    {.name = "lua_script",
     .args = "path options",
     .doc =
         "Load functions of that file: on_request, on_response, ... (see bobtail-lua). Of several files, "
         "each has globals of its own, and functions of one name are called in the order of the lines "
         "until one returns a verdict.",
     .set = set_script,
     .options = BT_ROWS(script_options),
     .option_size = sizeof(struct file_options)},
    BT_SET(
        struct conf, path, "lua_path", NULL,
        "Where require() of scripts looks: folders, or templates with a ?, with a colon between."),
    BT_SET(struct conf, memory, "lua_memory_limit", "64 MB",
           "Memory that the scripts of a worker may use together; an eighth of it in one piece."),
    {.name = "lua_cpu_limit",
     .args = "duration options",
     .unit = "millisecond",
     .doc =
         "CPU time that one call may take, waiting apart. If not given: 10 milliseconds for on_request "
         "and on_response, 5 for the other hooks of an exchange and for ACLs, 50 for bt.every, 1 "
         "second for on_worker, 5 seconds for on_init and for the loading of a file.",
     .set = set_cpu_limit,
     .options = BT_ROWS(limit_options),
     .option_size = sizeof(struct limit_options)},
    BT_SET(struct conf, wait, "lua_wait_timeout", "5 seconds",
           "Time that one call may wait for answers (bt.http, bt.sleep, ...), all together."),
    BT_SET_AS(struct conf, waiting_max, "int(0..1000000)", "lua_max_waiting", "10000",
              "Calls of a worker that may wait at the same time; one more fails."),
};

/* ---- fields ---- */

static bool value_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct exchange *ex = bt_txn_ctx(txn);

    for (const struct named *named = ex->values; named != NULL; named = named->next)
        if (bt_str_eq(named->name, arg)) {
            *out = (struct bt_value){.kind = BT_TEXT, .text = named->value};
            return true;
        }
    return false;
}

static const struct bt_field fields[] = {
    {.name = "lua.value",
     .codes = "lua",
     .doc = "What a script noted under that name: %{name}lua; by txn:log() or in the table that "
            "on_finish returned.",
     .earliest = BT_AT_ACCEPT,
     .get = value_get},
};

static const struct bt_acl_type acl_types[] = {
    {.name = "lua",
     .args = "word...",
     .doc =
         "FUNCTION [args...]: that function of a script, called with the exchange and the arguments, "
         "returns true.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_SLOW,
     .compile = acl_compile,
     .match = acl_match,
     .cost = 3},
};

/* ---- life ---- */

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct conf *conf = conf_;

    if (conf->files == NULL && conf->acls == NULL)
        return true;
    if (!shared_setup(err))
        return false;
    script_setting_up(arena, err);
    state_now = state_open(conf, err, NULL, 0);
    script_setting_up(NULL, NULL);
    return state_now != NULL && reload_setup(err);
}

static bool start(void *conf)
{
    (void)conf;
    if (state_now == NULL)
        return true;
    helpers_start();
    state_start(state_now);
    reload_start();
    return true;
}

static void stop(void *conf)
{
    (void)conf;
    if (state_now == NULL)
        return;
    timers_stop(state_now);
    state_unuse(state_now);
    state_now = NULL;
    helpers_stop();
}

static const struct bt_command commands[] = {
    {"reload-lua", "",
     "Load the scripts again; when that fails the old ones stay. What is under way ends with the old ones.",
     reload_run},
    {"test-lua", "", "Run the functions test_* of the scripts; for bobtail --lua-test.", test_run},
};

BT_MODULE(lua, "Policy in Lua: functions of scripts for the phases of an exchange, and ACLs.",
          .conf_size = sizeof(struct conf), .txn_size = sizeof(struct exchange), .setup = setup,
          .start = start, .stop = stop, .directives = BT_ROWS(directives),
          .counters = BT_ROWS(bt_counters), .fields = BT_ROWS(fields),
          .acl_types = BT_ROWS(acl_types), .hooks = {hook_rows, 7}, .commands = BT_ROWS(commands),
          .phases = hooks_phases, .manual = manual);
