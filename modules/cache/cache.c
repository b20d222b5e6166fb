/* cache.c - the module: its rows, and the life of it in master and workers.
 *
 * visit.h lists the files and what each is for; read lookup.c and respond.c first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands.h"
#include "epoch.h"
#include "gauges.h"
#include "lookup.h"
#include "respond.h"
#include "tell.h"

#include "config_rows.h"

static const struct bt_field fields[] = {
    {.name = "cache.result",
     .doc = "What the cache made of it: hit, not-modified, negative-hit, "
            "stale-hit, shared-hit, "
            "validated, modified, failed-old, failed, reload, unavailable, "
            "miss, bypass.",
     .earliest = BT_AT_FINISH,
     .get = tell_result},
    {.name = "cache.why",
     .doc = "Why, in a phrase: why it was used, not used, kept or not kept.",
     .earliest = BT_AT_FINISH,
     .get = tell_why},
    {.name = "cache.key",
     .doc = "The key that it was looked up by: the URL, or what "
            "store_id_program said.",
     .earliest = BT_AT_FINISH,
     .get = tell_key},
    {.name = "cache.stored",
     .doc = "1: the origin's answer was kept.",
     .earliest = BT_AT_FINISH,
     .get = tell_stored},
    {.name = "cache.age",
     .doc = "Age of the copy, in seconds.",
     .earliest = BT_AT_FINISH,
     .get = tell_age},
    {.name = "cache.ttl",
     .doc = "Seconds for which the copy is still fresh; negative: how long it "
            "has been stale.",
     .earliest = BT_AT_FINISH,
     .get = tell_ttl},
};

static const struct bt_hook hooks[] = {
    {BT_AT_LOOKUP, "Answers out of the cache, or joins a fetch that is under way.", lookup},
    {BT_AT_RESPONSE, "Keeps answers, renews copies, serves them when the origin fails.", respond},
};

static const struct bt_command commands[] = {
    {"cache", "[URL]", "What is kept; or what is known of a URL.", commands_cache},
    {"purge", "URL|prefix URL|regex PATTERN", "Drops what is kept.", commands_purge},
};

static bool setup(void *conf, struct bt_arena *arena, struct bt_error *err)
{
    return config_setup(conf, arena, err) && (!CONF->on || (gauges_setup(err) && epoch_setup(err)));
}

static void ram_count(enum ram_count what, int64_t by)
{
    bt_add(N_ram_refused + (unsigned)what, by);
}

static bool start(void *conf_)
{
    struct cache_conf *conf = conf_;

    if (conf->store_ids != NULL)
        bt_helper_start(conf->store_ids);
    if (!conf->on)
        return true;
    ram_counted = ram_count;
    if (!ram_start())
        return false;
    gauges_start();
    return true;
}

static void stop(void *conf_)
{
    struct cache_conf *conf = conf_;

    if (conf->store_ids != NULL)
        bt_helper_stop(conf->store_ids);
    if (conf->on) {
        gauges_stop();
        ram_stop();
    }
}

BT_MODULE(cache, "Keeps responses in memory that all workers share (RFC 9111).",
          .conf_size = sizeof(struct cache_conf), .txn_size = sizeof(struct visit), .setup = setup,
          .start = start, .stop = stop, .directives = BT_ROWS(directives),
          .counters = BT_ROWS(bt_counters), .fields = BT_ROWS(fields), .hooks = BT_ROWS(hooks),
          .commands = BT_ROWS(commands), .by_default = true);
