/* choose.c - the ways of one exchange, best first.
 *
 * The order is Squid's: what the rules say of going directly; then one parent by the first method that has
 * one (hashes, turns, the first that is up, the default), then all others that are up, then directly, when
 * that is allowed. A request that no cache could answer (nonhierarchical_direct) goes directly at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

enum direct { DIRECT_MAY, DIRECT_YES, DIRECT_NO };

static void way_add(struct bt_ways *ways, const struct peer *peer, const char *code)
{
    const struct bt_parent *parent = peer != NULL ? &peer->parent : NULL;

    if (ways->n == BT_WAYS_MAX || (parent != NULL && ways->n == BT_WAYS_MAX - 1))
        return; /* the last place is that of going directly */
    for (unsigned i = 0; i < ways->n; i++)
        if (ways->way[i].parent == parent)
            return;
    ways->way[ways->n++] = (struct bt_way){parent, code};
}

/* What cache_peer_access says, for all that are up: asked once, before anybody is chosen, since it may
 * have to wait. A list that cannot be told keeps its parent out. */
static enum bt_match ask_access(struct bt_txn *txn)
{
    for (unsigned i = 0; i < peers->n; i++) {
        struct peer *peer = peers->peer[i];
        struct bt_ruling ruling = {.match = BT_YES, .action = BT_ALLOW};
        peer->usable = false;
        if (peer->type != PEER_PARENT || !state_up(peer))
            continue;
        if (peer->access != NULL)
            ruling = bt_rules_run(peer->access, txn);
        if (ruling.match == BT_WAIT)
            return BT_WAIT;
        peer->usable = ruling.match == BT_YES && ruling.action == BT_ALLOW;
    }
    return BT_YES;
}

/* ---- by hash ---- */

/* Who is down does not take part. */
static void group_refresh(struct hash_group *group)
{
    uint32_t changes = state_changes();

    if (group->seen == changes)
        return;
    for (unsigned i = 0; i < group->n; i++)
        group->up[i] = state_up(peers->peer[group->place[i]]) ? UINT32_MAX : 0;
    group->seen = changes;
}

static struct peer *by_hash(struct hash_group *group, uint32_t key)
{
    struct peer *found = NULL;
    bool removed = false;
    int i;

    group_refresh(group);
    while ((i = hash_pick(group, key)) != HASH_NOBODY) {
        struct peer *peer = peers->peer[group->place[i]];
        if (peer->usable) {
            found = peer;
            break;
        }
        group->up[i] = 0; /* not for this one: the next best */
        removed = true;
    }
    if (removed)
        group->seen--; /* made anew for the next one */
    return found;
}

static struct peer *by_source(struct bt_txn *txn)
{
    const struct sockaddr *addr = bt_client_addr(txn);
    char text[INET6_ADDRSTRLEN] = "";

    if (peers->source.n == 0)
        return NULL;
    if (addr->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, text,
                  sizeof text);
    else if (addr->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr, text,
                  sizeof text);
    return by_hash(&peers->source, hash_key(0, (bt_str){text, strlen(text)}));
}

static struct peer *by_user(struct bt_txn *txn)
{
    bt_str user = bt_who(txn, BT_WHO_LOGIN);

    if (peers->user.n == 0)
        return NULL;
    if (user.len == 0)
        user = bt_who(txn, BT_WHO_EXTERNAL);
    return user.len == 0 ? NULL : by_hash(&peers->user, hash_key(0, user));
}

static uint32_t carp_parts(struct bt_txn *txn, unsigned parts)
{
    bt_str path = bt_path(txn), host = bt_host(txn);
    const char *mark = path.len > 0 ? memchr(path.at, '?', path.len) : NULL;
    size_t plain = mark != NULL ? (size_t)(mark - path.at) : path.len;
    uint32_t key = 0;
    char port[8];
    int len;

    if ((parts & HASH_KEY_SCHEME) != 0 && bt_scheme(txn).len > 0)
        key = hash_key(hash_key(key, bt_scheme(txn)), BT_STR("://"));
    if ((parts & HASH_KEY_HOST) != 0)
        key = hash_key(key, host);
    if ((parts & HASH_KEY_PORT) != 0) {
        len = snprintf(port, sizeof port, ":%u", bt_port(txn));
        key = hash_key(key, (bt_str){port, (size_t)len});
    }
    if ((parts & HASH_KEY_PATH) != 0)
        key = hash_key(key, (bt_str){path.at, plain});
    if ((parts & HASH_KEY_PARAMS) != 0 && mark != NULL)
        key = hash_key(key, (bt_str){mark, path.len - plain});
    return key;
}

static struct peer *by_carp(struct bt_txn *txn)
{
    uint32_t key = 0;

    if (peers->carp.n == 0)
        return NULL;
    if (peers->peer[peers->carp.place[0]]->carp_key != 0)
        key = carp_parts(txn, peers->peer[peers->carp.place[0]]->carp_key);
    if (key == 0) /* the whole of it, also where the parts are empty */
        key = hash_key(0, bt_url(txn));
    return by_hash(&peers->carp, key);
}

/* ---- in turn ---- */

/* Turns begin anew when somebody came or went, so that nobody has to catch up. */
static void turns_refresh(void)
{
    static uint32_t seen;

    if (seen == state_changes())
        return;
    seen = state_changes();
    for (unsigned i = 0; i < peers->n; i++)
        peers->peer[i]->turns = 0;
}

static struct peer *in_turn(bool weighted)
{
    struct peer *next = NULL;

    turns_refresh();
    for (unsigned i = 0; i < peers->n; i++) {
        struct peer *peer = peers->peer[i];
        if (!(weighted ? peer->weighted : peer->round_robin) ||
            (next != NULL && peer->turns >= next->turns) || !peer->usable)
            continue;
        next = peer;
    }
    if (next == NULL)
        return NULL;
    if (weighted) { /* a turn with who answers slowly counts for more */
        int64_t ms = state_rtt_us(next) / 1000 - next->basetime_ms;
        next->turns += (double)(ms > 1 ? ms : 1) / (double)next->weight;
    } else {
        next->turns += 1 / (double)next->weight;
    }
    return next;
}

static struct peer *first_up(bool by_default)
{
    for (unsigned i = 0; i < peers->n; i++)
        if ((!by_default || peers->peer[i]->by_default) && peers->peer[i]->usable)
            return peers->peer[i];
    return NULL;
}

/* ---- all of it ---- */

static void add_parents(struct bt_txn *txn, struct bt_ways *ways)
{
    struct peer *peer;
    const char *code = NULL;

    if ((peer = by_source(txn)) != NULL)
        code = "SOURCEHASH_PARENT";
    else if ((peer = by_user(txn)) != NULL)
        code = "USERHASH_PARENT";
    else if ((peer = by_carp(txn)) != NULL)
        code = "CARP";
    else if ((peer = in_turn(false)) != NULL || (peer = in_turn(true)) != NULL)
        code = "ROUNDROBIN_PARENT";
    else if ((peer = first_up(false)) != NULL)
        code = "FIRSTUP_PARENT";
    if (peer == NULL)
        return;
    way_add(ways, peer, code);
    for (unsigned i = 0; i < peers->n && ways->n < BT_WAYS_MAX - 1; i++)
        if (peers->peer[i]->usable)
            way_add(ways, peers->peer[i], "ANY_OLD_PARENT");
    if ((peer = first_up(true)) != NULL)
        way_add(ways, peer, "DEFAULT_PARENT");
}

static enum bt_match allowed(const struct bt_rules *rules, struct bt_txn *txn)
{
    struct bt_ruling ruling = bt_rules_run(rules, txn);

    if (ruling.match != BT_YES)
        return ruling.match;
    return ruling.action == BT_ALLOW ? BT_YES : BT_NO;
}

/* What rules and the kind of the exchange say. NO is no ruling. */
static enum bt_match ask_direct(struct bt_txn *txn, unsigned may, enum direct *direct)
{
    enum bt_match always = BT_NO, never = BT_NO;

    *direct = DIRECT_MAY;
    if ((may & BT_MAY_PARENT) == 0) {
        *direct = (may & BT_MAY_DIRECT) != 0 ? DIRECT_YES : DIRECT_NO;
        return BT_YES;
    }
    always = allowed(peers->always_direct, txn);
    if (always == BT_WAIT || always == BT_BROKEN)
        return always;
    if (always == BT_YES) {
        *direct = DIRECT_YES;
        return BT_YES;
    }
    never = allowed(peers->never_direct, txn);
    if (never == BT_WAIT || never == BT_BROKEN)
        return never;
    if (never == BT_YES || (may & BT_MAY_DIRECT) == 0)
        *direct = DIRECT_NO;
    return BT_YES;
}

/* Could a parent's cache know it? */
static bool hierarchical(struct bt_txn *txn)
{
    if (peer_is(bt_method(txn), "TRACE"))
        return true;
    return peer_is(bt_method(txn), "GET") &&
           bt_req_header(txn, BT_STR("Authorization"), 0).at == NULL;
}

static void add_wish(struct bt_txn *txn, enum direct direct, struct bt_ways *ways)
{
    bt_str wish = bt_peer_wish(txn);
    const struct peer *peer;

    if (wish.at == NULL)
        return;
    if (peer_is(wish, "DIRECT")) {
        if (direct != DIRECT_NO)
            way_add(ways, NULL, "HIER_DIRECT");
        return;
    }
    peer = peer_find(peers, wish);
    if (peer != NULL && peer->usable)
        way_add(ways, peer, "ANY_OLD_PARENT");
}

enum bt_match choose_ways(struct bt_txn *txn, unsigned may, struct bt_ways *ways)
{
    enum direct direct;
    enum bt_match asked = ask_direct(txn, may, &direct);

    if (asked != BT_YES)
        return asked;
    if (direct == DIRECT_YES) {
        way_add(ways, NULL, "HIER_DIRECT");
        return BT_YES;
    }
    if ((may & BT_MAY_PARENT) == 0)
        return BT_YES;
    if (ask_access(txn) == BT_WAIT)
        return BT_WAIT;
    add_wish(txn, direct, ways);
    if (direct == DIRECT_MAY && peers->prefer_direct)
        way_add(ways, NULL, "HIER_DIRECT");
    if (direct == DIRECT_NO || !peers->nonhierarchical_direct || hierarchical(txn))
        add_parents(txn, ways);
    if (direct == DIRECT_MAY)
        way_add(ways, NULL, "HIER_DIRECT");
    return BT_YES;
}
