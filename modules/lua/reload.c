/* reload.c - `bobtailctl reload-lua`: scripts are read anew, while exchanges go on.
 *
 * The worker that is asked opens a second state; when that is good, calls that begin from now on are made
 * in it, and the number of the zone goes up, which is what other workers, and those that are started
 * later, go by. Each reads the files itself, since states cannot be shared. What is under way ends in
 * the old state, which is closed behind the last of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdatomic.h>

#include "counts.h"
#include "state.h"

static struct bt_zone *zone;
static uint64_t mine; /* number of the zone when our scripts were read */

static _Atomic uint64_t *number(void)
{
    return bt_zone_memory(zone);
}

static bool reload(char *why, size_t why_size)
{
    const struct conf *conf = bt_self.conf;
    struct state *fresh = state_open(conf, NULL, why, why_size), *old = state_now;

    if (fresh == NULL)
        return false;
    if (old->hooks[HOOK_ACCEPT].n == 0 && fresh->hooks[HOOK_ACCEPT].n > 0)
        bt_log(NULL, BT_WARN,
               "on_accept is new in the scripts: it is called after a reload of the "
               "configuration (bobtailctl reload)");
    timers_stop(old);
    state_now = fresh;
    state_start(fresh);
    state_unuse(old);
    bt_count(reloads);
    return true;
}

static void catch_up(void *arg)
{
    char why[1000];
    uint64_t now = atomic_load(number());

    (void)arg;
    if (now == mine || state_now == NULL)
        return;
    mine = now;
    if (!reload(why, sizeof why))
        bt_log(
            NULL, BT_ERROR,
            "this worker could not load the scripts anew and goes on with the old ones: %s; correct "
            "them, and say bobtailctl reload-lua again",
            why);
}

void reload_run(struct bt_call *call, const bt_str *word, size_t n)
{
    char why[1000];

    (void)word;
    if (n > 0) {
        bt_call_done(call, "nothing may follow this command");
        return;
    }
    if (state_now == NULL) {
        bt_call_done(call, "there is no lua_script");
        return;
    }
    if (!reload(why, sizeof why)) {
        bt_call_done(call, why);
        return;
    }
    mine = atomic_fetch_add(number(), 1) + 1;
    for (unsigned member = 0; member < BT_MEMBERS_MAX; member++)
        if (member != bt_member())
            bt_wake(member);
    bt_call_done(call, NULL);
}

bool reload_setup(struct bt_error *err)
{
    zone = bt_zone_make("lua-scripts", sizeof(uint64_t), 1, 0, err);
    if (zone == NULL)
        return false;
    mine = atomic_load(number());
    bt_on_wake(catch_up, NULL);
    return true;
}

void reload_start(void)
{
    catch_up(NULL);
}
