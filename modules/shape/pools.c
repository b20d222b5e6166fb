/* pools.c - delay_pools, client_delay_pools and response_delay_pool: who is in which, and the buckets
 * of each.
 *
 * A pool of delay_pools is a row of buckets, one for each part of its class that has a limit: all of
 * the pool, the client's network, the client, its user, its tag. An exchange takes its bytes out of
 * all of them. IPv6 has networks, too: 64 bits, as IPv4 has 24.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "shape.h"

/* ---- lines ---- */

static int64_t number(const struct bt_word *word)
{
    return strtoll(word->text.at, NULL, 10);
}

static struct pool *pool_of(struct shape_conf *conf, const struct bt_line *line)
{
    if (conf->pool == NULL)
        conf->pool = bt_alloc(line->arena, (POOLS_MAX + 1) * sizeof *conf->pool);
    return &conf->pool[number(&line->args.word[0])];
}

static struct client_pool *client_pool_of(struct shape_conf *conf, const struct bt_line *line)
{
    if (conf->client_pool == NULL)
        conf->client_pool = bt_alloc(line->arena, (POOLS_MAX + 1) * sizeof *conf->client_pool);
    return &conf->client_pool[number(&line->args.word[0])];
}

/* There is no bucket without a limit; one that nothing flows into would be a denial. */
static bool limit_set(struct limit *limit, int64_t rate, int64_t most, const struct bt_word *at,
                      struct bt_error *err)
{
    *limit = (struct limit){0, 0};
    if (rate < 0 || most < 0)
        return true;
    if (rate == 0)
        bt_caution(err, at,
                   "a rate of 0 would be a denial, for which there is http_access: one "
                   "byte a second passes");
    *limit = (struct limit){rate > 0 ? rate : 1, most};
    return true;
}

static bool limit_read(struct limit *limit, const struct bt_word *word, struct bt_error *err)
{
    const char *slash = strchr(word->text.at, '/');
    char *end;

    *limit = (struct limit){0, 0};
    if (bt_str_eq(word->text, BT_STR("none")))
        return true;
    int64_t rate = strtoll(word->text.at, &end, 10);
    if (slash == NULL || end != slash || end == word->text.at)
        return bt_complain(err, word, "none or RESTORE/MAXIMUM in bytes expected, not '%s'",
                           word->text.at);
    int64_t most = strtoll(slash + 1, &end, 10);
    if (*end != '\0' || end == slash + 1 || rate < -1 || most < -1)
        return bt_complain(err, word, "none or RESTORE/MAXIMUM in bytes expected, not '%s'",
                           word->text.at);
    return limit_set(limit, rate, most, word, err);
}

bool pools_class(void *conf, const struct bt_line *line, struct bt_error *err)
{
    struct pool *pool = pool_of(conf, line);

    if (pool->has_limits)
        return bt_complain(err, &line->name, "delay_class must stand above delay_parameters");
    pool->class = number(&line->args.word[1]);
    return true;
}

bool pools_parameters(void *conf, const struct bt_line *line, struct bt_error *err)
{
    static const enum part parts[6][4] = {
        [1] = {PART_ALL},
        [2] = {PART_ALL, PART_HOST},
        [3] = {PART_ALL, PART_NETWORK, PART_HOST},
        [4] = {PART_ALL, PART_NETWORK, PART_HOST, PART_USER},
        [5] = {PART_TAG},
    };
    static const size_t counts[6] = {0, 1, 2, 3, 4, 1};
    struct pool *pool = pool_of(conf, line);
    bool good = true;

    if (pool->class == 0)
        return bt_complain(err, &line->args.word[0], "there is no delay_class of pool %s above",
                           line->args.word[0].text.at);
    if (line->args.n - 1 != counts[pool->class])
        return bt_complain(err, &line->name,
                           "a pool of class %d has %zu limit%s (RESTORE/MAXIMUM), not %zu",
                           (int)pool->class, counts[pool->class],
                           counts[pool->class] == 1 ? "" : "s", line->args.n - 1);
    for (size_t i = 0; i < counts[pool->class]; i++)
        good &= limit_read(&pool->limit[parts[pool->class][i]], &line->args.word[i + 1], err);
    pool->has_limits = true;
    pool->at = &line->name;
    return good;
}

static int allow_or_deny(const struct bt_line *line)
{
    return bt_str_eq(line->args.word[1].text, BT_STR("allow")) ? BT_ALLOW : BT_DENY;
}

bool pools_access(void *conf, const struct bt_line *line, struct bt_error *err)
{
    (void)err;
    bt_rules_add(&pool_of(conf, line)->access, line, allow_or_deny(line));
    return true;
}

bool pools_client_parameters(void *conf, const struct bt_line *line, struct bt_error *err)
{
    return limit_set(&client_pool_of(conf, line)->limit, number(&line->args.word[1]),
                     number(&line->args.word[2]), &line->args.word[1], err);
}

bool pools_client_access(void *conf, const struct bt_line *line, struct bt_error *err)
{
    (void)err;
    bt_rules_add(&client_pool_of(conf, line)->access, line, allow_or_deny(line));
    return true;
}

static struct response_pool **response_find(struct shape_conf *conf, bt_str name)
{
    struct response_pool **at = &conf->responses;

    while (*at != NULL && !bt_str_eq((*at)->name, name))
        at = &(*at)->next;
    return at;
}

bool pools_response(void *conf, const struct bt_line *line, struct bt_error *err)
{
    struct response_pool **at = response_find(conf, line->args.word[0].text);

    if (*at != NULL)
        return bt_complain(err, &line->args.word[0], "there is a response_delay_pool %s already",
                           line->args.word[0].text.at);
    *at = bt_alloc(line->arena, sizeof **at);
    (*at)->name = line->args.word[0].text;
    (*at)->options = *(const struct response_options *)line->options;
    return true;
}

bool pools_response_access(void *conf, const struct bt_line *line, struct bt_error *err)
{
    struct response_pool *pool = *response_find(conf, line->args.word[0].text);

    if (pool == NULL)
        return bt_complain(err, &line->args.word[0], "there is no response_delay_pool %s above",
                           line->args.word[0].text.at);
    bt_rules_add(&pool->access, line, allow_or_deny(line));
    return true;
}

bool pools_setup(struct shape_conf *conf, struct bt_error *err)
{
    for (int64_t i = 1; conf->pool != NULL && i <= POOLS_MAX; i++)
        if (i > conf->n_pools && conf->pool[i].at != NULL)
            bt_caution(err, conf->pool[i].at, "pool %d is not used: delay_pools says %d", (int)i,
                       (int)conf->n_pools);
    return true;
}

/* ---- exchanges ---- */

static struct bt_pace pace_of(const struct limit *limit, int64_t level)
{
    return (struct bt_pace){limit->rate, limit->most,
                            (int64_t)((double)limit->most * (double)level / 100)};
}

static bool allowed(const struct bt_rules *access, struct bt_txn *txn)
{
    struct bt_ruling ruling;

    if (access == NULL)
        return false;
    ruling = bt_rules_run(access, txn);
    return ruling.match == BT_YES && ruling.action == BT_ALLOW;
}

static const struct sockaddr *client(struct bt_txn *txn)
{
    struct bt_value value;

    if (!CONF->indirect && bt_field_get(txn, BT_STR("client.direct"), BT_STR_NONE, &value))
        return value.addr;
    return bt_client_addr(txn);
}

static bt_str user(struct bt_txn *txn)
{
    bt_str login = bt_who(txn, BT_WHO_LOGIN);

    return login.len > 0 ? login : bt_who(txn, BT_WHO_EXTERNAL);
}

/* false: it has no such part. */
static bool part_key(struct bt_txn *txn, enum part part, struct key *key)
{
    bt_str who = {NULL, 0};

    switch (part) {
    case PART_ALL:
        return true;
    case PART_NETWORK:
        key_addr(key, client(txn), 24, 64);
        return true;
    case PART_HOST:
        key_addr(key, client(txn), 32, 128);
        return true;
    case PART_USER:
        who = user(txn);
        break;
    case PART_TAG:
        who = bt_who(txn, BT_WHO_TAG);
        break;
    case PARTS:
        break;
    }
    key_text(key, who);
    return who.len > 0;
}

static void pool_apply(struct bt_txn *txn, unsigned number)
{
    static const char *const kinds[PARTS] = {"pool", "network", "host", "user", "tag"};
    const struct pool *pool = &CONF->pool[number];

    for (enum part part = 0; part < PARTS; part++) {
        struct key key;
        if (pool->limit[part].rate == 0)
            continue;
        key = key_of(kinds[part], number);
        if (!part_key(txn, part, &key))
            continue;
        struct bt_pace pace = pace_of(&pool->limit[part], CONF->level);
        struct bt_bucket bucket = key_bucket(&key, &pace);
        bt_pace_by(txn, BT_PACE_ORIGIN, &bucket);
    }
}

static unsigned pool_choose(struct bt_txn *txn)
{
    int said = bt_delay_pool(txn);

    if (CONF->pool == NULL)
        return 0;
    if (said >= 0)
        return said <= CONF->n_pools ? (unsigned)said : 0;
    for (unsigned i = 1; i <= (unsigned)CONF->n_pools; i++)
        if (allowed(CONF->pool[i].access, txn))
            return i;
    return 0;
}

static void client_pool_choose(struct bt_txn *txn)
{
    for (unsigned i = 1; CONF->client_pool != NULL && i <= (unsigned)CONF->n_client_pools; i++) {
        const struct client_pool *pool = &CONF->client_pool[i];
        if (!allowed(pool->access, txn))
            continue;
        if (pool->limit.rate > 0) {
            struct key key = key_of("client", i);
            struct bt_pace pace = pace_of(&pool->limit, CONF->client_level);
            key_addr(&key, client(txn), 32, 128);
            struct bt_bucket bucket = key_bucket(&key, &pace);
            bt_pace_by(txn, BT_PACE_CLIENT, &bucket);
        }
        return;
    }
}

static void response_apply(struct bt_txn *txn, const struct response_pool *pool, const char *kind,
                           uint64_t number)
{
    const struct response_options *o = &pool->options;
    bool all = number == 0;
    struct limit limit = {all ? o->all_rate : o->host_rate, all ? o->all_most : o->host_most};
    struct key key = key_of(kind, number);

    if (limit.rate < 0 || limit.most < 0)
        return;
    limit.rate += limit.rate == 0;
    key_text(&key, pool->name);
    struct bt_pace pace = pace_of(&limit, o->level);
    struct bt_bucket bucket = key_bucket(&key, &pace);
    bt_pace_by(txn, BT_PACE_CLIENT, &bucket);
}

static void response_choose(struct bt_txn *txn)
{
    static uint64_t number; /* of this worker: no two answers share a bucket of their own */

    for (const struct response_pool *pool = CONF->responses; pool != NULL; pool = pool->next) {
        if (!allowed(pool->access, txn))
            continue;
        response_apply(txn, pool, "response", 0);
        response_apply(txn, pool, "answer", ((uint64_t)bt_member() + 1) << 40 | ++number);
        return;
    }
}

unsigned pools_choose(struct bt_txn *txn, bool answer)
{
    unsigned pool = pool_choose(txn);

    if (pool > 0)
        pool_apply(txn, pool);
    client_pool_choose(txn);
    if (answer)
        response_choose(txn);
    return pool;
}
