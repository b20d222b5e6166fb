/* peer.c - parents: other proxies, or web servers, that requests are sent through.
 *
 * peer.h lists the files and what each is for; bt_route.h says what is the core's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer.h"

#include "counts.h"
#include "lines.h"

struct peer_conf *peers;

struct peer *peer_find(const struct peer_conf *conf, bt_str name)
{
    for (unsigned i = 0; i < conf->n; i++)
        if (bt_str_eq(conf->peer[i]->parent.name, name))
            return conf->peer[i];
    return NULL;
}

/* ---- fields ---- */

static bool field_name(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct bt_parent *parent = bt_parent(txn);

    (void)arg;
    if (parent == NULL)
        return false;
    *out = (struct bt_value){.kind = BT_TEXT, .text = parent->name};
    return true;
}

static const struct bt_field fields[] = {
    {.name = "peer.name",
     .doc = "Name of the parent that the request goes to.",
     .earliest = BT_AT_UPSTREAM,
     .get = field_name},
};

/* ---- setup ---- */

static void group_fill(struct peer_conf *conf, struct bt_arena *arena, struct hash_group *group,
                       bool (*in)(const struct peer *))
{
    int64_t *weights = bt_alloc(arena, (conf->n + 1) * sizeof *weights);
    unsigned n = 0;

    for (unsigned i = 0; i < conf->n; i++)
        n += conf->peer[i]->type == PEER_PARENT && in(conf->peer[i]);
    hash_group_make(group, arena, n);
    n = 0;
    for (unsigned i = 0; i < conf->n; i++) {
        if (conf->peer[i]->type != PEER_PARENT || !in(conf->peer[i]))
            continue;
        weights[n] = conf->peer[i]->weight;
        hash_group_set(group, n++, i, conf->peer[i]->parent.name);
    }
    hash_group_weigh(group, arena, weights);
}

static bool in_carp(const struct peer *peer)
{
    return peer->carp;
}
static bool in_source(const struct peer *peer)
{
    return peer->sourcehash;
}
static bool in_user(const struct peer *peer)
{
    return peer->userhash;
}

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct peer_conf *conf = conf_;

    peers = conf;
    if (!lines_setup(conf, err))
        return false;
    group_fill(conf, arena, &conf->carp, in_carp);
    group_fill(conf, arena, &conf->source, in_source);
    group_fill(conf, arena, &conf->user, in_user);
    return state_setup(conf, arena, err);
}

static bool start(void *conf)
{
    (void)conf;
    if (peers->n > 0)
        watch_start();
    return true;
}

static void stop(void *conf)
{
    (void)conf;
    watch_stop();
}

static bool report(size_t i, struct bt_parent_report *out)
{
    struct state_report is;

    if (i >= peers->n)
        return false;
    state_report(peers->peer[i], &is);
    *out = (struct bt_parent_report){.parent = &peers->peer[i]->parent,
                                     .sibling = peers->peer[i]->type != PEER_PARENT,
                                     .up = !is.dead && !is.unwell,
                                     .answered = (int64_t)is.answered,
                                     .silent = (int64_t)is.silent,
                                     .refused = (int64_t)is.refused,
                                     .opened = (int64_t)is.opened,
                                     .open = is.open,
                                     .rtt_us = is.rtt_us};
    return true;
}

static const struct bt_route route = {.choose = choose_ways, .report = report};

static const struct bt_command commands[] = {
    {.name = "peers",
     .args = "[NAME]",
     .doc = "Parents: which are up, what they did, how many connections are open to them.",
     .run = commands_peers},
};

static const struct bt_counter counters[] = {PEER_COUNTERS(BT_ROW_)};

static const struct bt_directive directives[] = {
    {.name = "cache_peer",
     .args = "host parent|sibling|multicast int(0..65535) int(0..65535) options",
     .doc =
         "A proxy (or, with originserver, a web server) that requests may be sent through: host, "
         "kind, its HTTP port, its ICP port (0: none). Siblings are known, and never asked.",
     .set = lines_peer,
     .options = {lines_options, LINES_OPTIONS},
     .option_size = sizeof(struct lines_options),
     .flags = BT_SECRET},
    {.name = "cache_peer_access",
     .args = "word allow|deny acls+",
     .doc = "What may be sent to the parent of that name. Without a line, everything.",
     .set = lines_access,
     .phase = BT_AT_UPSTREAM},
    {.name = "always_direct",
     .args = "allow|deny acls+",
     .doc = "What is never sent to a parent. Asked before never_direct. Without a line, nothing is "
            "kept from them.",
     .offset = offsetof(struct peer_conf, always_direct),
     .phase = BT_AT_UPSTREAM},
    {.name = "never_direct",
     .args = "allow|deny acls+",
     .doc = "What is only ever sent to parents: when none can be asked the client gets "
            "ERR_CANNOT_FORWARD. Without a line, nothing.",
     .offset = offsetof(struct peer_conf, never_direct),
     .phase = BT_AT_UPSTREAM},
    BT_SET(struct peer_conf, prefer_direct, "prefer_direct", "off",
           "Go directly first, where that is allowed, and to parents when it leads nowhere."),
    BT_SET(
        struct peer_conf, nonhierarchical_direct, "nonhierarchical_direct", "on",
        "What no parent's cache could know (methods other than GET, requests with Authorization) "
        "goes directly, where that is allowed."),
    {.name = "dead_peer_timeout",
     .args = "duration",
     .unit = "second",
     .preset = "10 seconds",
     .doc =
         "How long at most from one probe of a parent that does not answer to the next; the first come "
         "sooner.",
     .offset = offsetof(struct peer_conf, dead_timeout)},
    {.name = "peer_connect_timeout",
     .args = "duration",
     .unit = "second",
     .preset = "30 seconds",
     .doc = "How long connecting to a parent may take.",
     .offset = offsetof(struct peer_conf, connect_timeout)},
};

BT_MODULE(peer, "Parents: proxies and web servers that requests are sent through.",
          .conf_size = sizeof(struct peer_conf), .setup = setup, .start = start, .stop = stop,
          .directives = BT_ROWS(directives), .counters = BT_ROWS(counters),
          .fields = BT_ROWS(fields), .commands = BT_ROWS(commands), .route = &route);
