/* shape.c - traffic shaping: bytes a second out of pools, requests a second by client.
 *
 * Which pools an exchange is in is found out when the answer's head is there, so that rules can look
 * at it; for tunnels before they open. The bytes themselves are counted by the server (bt_pace.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "shape.h"

#define COUNTERS(X)                                                                                \
    X(pooled, "shape.pooled", BT_COUNT, "exchanges",                                               \
      "Exchanges that a pool of delay_pools was found for.")                                       \
    X(refused, "shape.rate_refused", BT_COUNT, "requests",                                         \
      "Requests that request_rate_limit refused.")                                                 \
    X(delayed, "shape.rate_delayed", BT_COUNT, "requests",                                         \
      "Requests that request_rate_limit let wait.")
BT_COUNTERS(COUNTERS);

/* Of an exchange. */
struct visit {
    struct rate_visit early, late;
    bool pools; /* they are known */
    unsigned pool;
};

static enum bt_verdict ask_rate(struct bt_txn *txn, bool users)
{
    struct visit *v;

    if (CONF->rates == NULL)
        return BT_PASS;
    v = bt_txn_ctx(txn);
    switch (rate_ask(users ? &v->late : &v->early, txn, users)) {
    case RATE_PASS:
        return BT_PASS;
    case RATE_WAIT:
        bt_count(delayed);
        return BT_PAUSE;
    case RATE_TOO_MANY:
        break;
    }
    bt_count(refused);
    return BT_REFUSE;
}

static enum bt_verdict at_request(struct bt_txn *txn)
{
    return ask_rate(txn, false);
}

static enum bt_verdict at_adapt(struct bt_txn *txn)
{
    return ask_rate(txn, true);
}

static void choose(struct bt_txn *txn, bool answer)
{
    struct visit *v;

    if (CONF->pool == NULL && CONF->client_pool == NULL && CONF->responses == NULL)
        return;
    v = bt_txn_ctx(txn);
    if (v->pools)
        return;
    v->pools = true;
    v->pool = pools_choose(txn, answer);
    if (v->pool > 0)
        bt_count(pooled);
}

/* There is no answer to a CONNECT, nor perhaps to who wants another protocol. */
static enum bt_verdict at_upstream(struct bt_txn *txn)
{
    if (bt_str_eq(bt_method(txn), BT_STR("CONNECT")) ||
        bt_req_header(txn, BT_STR("Upgrade"), 0).at != NULL)
        choose(txn, false);
    return BT_PASS;
}

static enum bt_verdict at_response(struct bt_txn *txn)
{
    if (bt_failed(txn, NULL) == 0)
        choose(txn, true);
    return BT_PASS;
}

static bool pool_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct visit *v = bt_txn_ctx(txn);

    (void)arg;
    *out = (struct bt_value){.kind = BT_INT, .num = v->pool};
    return v->pool > 0;
}

static bool setup(void *conf, struct bt_arena *arena, struct bt_error *err)
{
    (void)arena;
    return pools_setup(conf, err) && bt_buckets_want(err);
}

static const struct bt_field fields[] = {
    {.name = "shape.pool",
     .doc = "Number of the pool of delay_pools that the exchange is in.",
     .earliest = BT_AT_FINISH,
     .get = pool_get},
};

static const struct bt_hook hooks[] = {
    {BT_AT_REQUEST, "Refuses or delays requests by request_rate_limit.", at_request},
    {BT_AT_ADAPT, "The same for limits by user, who is known then.", at_adapt},
    {BT_AT_UPSTREAM, "Finds the pools of a tunnel.", at_upstream},
    {BT_AT_RESPONSE, "Finds the pools of an answer.", at_response},
};

#include "shape_rows.h"

BT_MODULE(shape, "Limits bytes a second by pools, and requests a second by client.",
          .conf_size = sizeof(struct shape_conf), .txn_size = sizeof(struct visit), .setup = setup,
          .directives = BT_ROWS(directives), .counters = BT_ROWS(bt_counters),
          .fields = BT_ROWS(fields), .hooks = BT_ROWS(hooks));
