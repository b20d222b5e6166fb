/* keep.c - storing an answer while it passes.
 *
 * The body is given to a store's writer piece by piece, and those who wait for the same are told.
 * It can be found when it was whole, by its length or by its framing, and never before.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "keep.h"

#include "epoch.h"
#include "location.h"
#include "serve.h"
#include "tell.h"

/* ---- may it be kept ---- */

static void said_read(const struct fields *reply, struct control *said)
{
    control_response(said, reply);
    if (CONF->targeted)
        (void)control_targeted(said, reply, BT_STR("CDN-Cache-Control"));
}

/* A script has another life for it; what must not be kept is not kept for that. */
static void wished(struct bt_txn *txn, struct fresh_verdict *verdict)
{
    const struct bt_cache_wish *wish = bt_cache_wish(txn, false);

    if (wish == NULL || wish->life < 0 || !verdict->store)
        return;
    verdict->why = "script";
    verdict->store = wish->life > 0;
    verdict->life.lifetime = wish->life * 1000;
    verdict->life.flags &= ~(uint32_t)FRESH_ASK;
}

void keep_judge(struct visit *v, int status, const struct fields *reply,
                struct fresh_verdict *verdict)
{
    struct control said = {0};
    struct fresh_exchange exchange = {
        .method = v->post ? BT_STR("POST")
                          : BT_STR("GET"), /* of which a 304 to a HEAD speaks, too */
        .status = status,
        .request = &v->request,
        .reply = reply,
        .asked = &v->asked,
        .said = &said,
        .sent = bt_sent_ms(v->txn),
        .received = bt_received_ms(v->txn),
        .rule = visit_rule(v),
        .settings = &CONF->fresh,
        .post_is_get = v->post,
        .logs_in = bt_req_logs_in(v->txn),
    };

    said_read(reply, &said);
    fresh_judge(&exchange, verdict);
    if (verdict->store && !bt_rep_proven(v->txn)) {
        verdict->store = false;
        verdict->why = "nobody has proven to be that host";
    }
    if (verdict->store && bt_parent(v->txn) != NULL && bt_parent(v->txn)->not_cached) {
        verdict->store = false;
        verdict->why = "cache_peer says proxy-only";
    }
    wished(v->txn, verdict);
    v->why = verdict->why;
}

bool keep_is_get(struct visit *v, int status)
{
    struct location own = {bt_scheme(v->txn), bt_host(v->txn), bt_port(v->txn), bt_path(v->txn)};
    struct location other;
    bt_str place = fields_get(&v->reply, BT_STR("Content-Location"), 0);

    return v->post && status / 100 == 2 && place.at != NULL &&
           location_resolve(bt_txn_arena(v->txn), &own, place, &other) &&
           location_same(&own, &other);
}

/* ---- the sink ---- */

static struct visit *visit_at(struct bt_sink *sink)
{
    return (struct visit *)(void *)((char *)sink - offsetof(struct visit, keep.sink));
}

/* What was fetched is not for others, or there is nothing to wait for. */
static void others_go(struct visit *v)
{
    if (v->joined && v->role == FLIGHT_LEAD)
        flight_failed(&v->flight);
}

/* It is not kept: nobody need wait for it, for a while. */
static bool not_kept(struct visit *v)
{
    if (v->joined && v->role == FLIGHT_LEAD)
        flight_private(&v->flight, CONF->alone.ms);
    return false;
}

void keep_drop(struct visit *v)
{
    if (v->keep.writer == NULL)
        return;
    serve_catch_up(v);
    STORE->cancel(v->keep.writer);
    v->keep.writer = NULL;
    v->keep.ended = true;
    others_go(v);
}

static bool too_large(const struct visit *v, int64_t length)
{
    (void)v;
    return CONF->largest >= 0 && length > CONF->largest;
}

static bool sink_write(struct bt_sink *sink, const bt_str *piece, int n)
{
    struct visit *v = visit_at(sink);
    int64_t more = 0;

    for (int i = 0; i < n; i++)
        more += (int64_t)piece[i].len;
    if (too_large(v, v->keep.written + more) || !STORE->write(v->keep.writer, piece, n)) {
        if (too_large(v, v->keep.written + more))
            bt_count(too_large);
        v->stored = false;
        (void)not_kept(v); /* those who come now would wait in vain */
        keep_drop(v);
        return false;
    }
    v->keep.written += more;
    if (v->joined && v->role == FLIGHT_LEAD)
        flight_grown(&v->flight);
    if (v->served.open)
        bt_resume(v->txn);
    return true;
}

/* A change of it since it was asked for. */
static bool overtaken(struct visit *v)
{
    if (epoch_now(v->primary) == v->epoch)
        return false;
    bt_count(overtaken);
    return true;
}

static bool good(struct visit *v)
{
    if (v->keep.written < CONF->object_min.bytes) {
        bt_count(too_large);
        return false;
    }
    return !overtaken(v);
}

static void whole(struct visit *v)
{
    struct store_writer *writer = v->keep.writer;
    bool is_good = good(v), kept;

    serve_catch_up(v);
    kept = is_good && STORE->commit(writer);
    v->keep.writer = NULL;
    v->keep.whole = true;
    v->stored = kept;
    if (kept) {
        bt_count(stored);
        bt_count_by(stored_bytes, v->keep.written);
    }
    if (v->joined && v->role == FLIGHT_LEAD)
        flight_whole(&v->flight, kept);
    if (!is_good)
        STORE->cancel(writer);
    else if (kept && overtaken(v)) /* at that moment */
        (void)STORE->remove(v->key);
}

static void sink_end(struct bt_sink *sink, bool is_whole)
{
    struct visit *v = visit_at(sink);

    if (v->keep.writer == NULL)
        return;
    v->keep.ended = true;
    if (is_whole && (v->keep.length < 0 || v->keep.length == v->keep.written)) {
        whole(v);
    } else {
        bt_count(cut);
        v->stored = false;
        keep_drop(v);
    }
    if (v->served.open)
        bt_resume(v->txn);
}

static struct bt_source *sink_source(struct bt_sink *sink, struct bt_txn *txn)
{
    struct visit *v = visit_at(sink);
    struct bt_source *source;
    struct store_ref ref;

    (void)txn;
    if (v->keep.writer == NULL || v->served.open || !STORE->peek(v->keep.writer, &ref))
        return NULL;
    source = serve_open(v, &ref, true);
    STORE->release(&ref);
    return source;
}

/* quick_abort_*, in Squid's order; who waits for it decides first. */
static bool sink_wanted(struct bt_sink *sink, int64_t received, int64_t length)
{
    struct visit *v = visit_at(sink);
    const struct cache_conf *conf = CONF;
    int64_t left = length - received;
    bool want;

    if (v->joined && v->role == FLIGHT_LEAD && flight_followers(&v->flight) > 0)
        want = true;
    else if (conf->abort_min.bytes < 0)
        want = true;
    else if (length < 0 || left < 0)
        want = false;
    else if (left < conf->abort_min.bytes)
        want = true;
    else if (conf->abort_max.bytes >= 0 && left > conf->abort_max.bytes)
        want = false;
    else
        want = length >= 100 && received / (length / 100) > conf->abort_pct;
    if (want)
        bt_count(finished);
    return want;
}

static const struct bt_sink_ops sink_ops = {sink_write, sink_end, sink_source, sink_wanted};

/* ---- beginning ---- */

void keep_head(struct visit *v, int status, struct control *said, struct headtext_store *store)
{
    *said = (struct control){0};
    said_read(&v->reply, said);
    *store = (struct headtext_store){
        .status = status,
        .reason = bt_rep_reason(v->txn),
        .reply = &v->reply,
        .said = said,
        .received = bt_received_ms(v->txn),
    };
}

static bool may_keep(struct visit *v, struct vary *vary, int status, struct fresh_verdict *verdict)
{
    struct bt_ruling ruling;

    keep_judge(v, status, &v->reply, verdict);
    if (!verdict->store || vary_read(vary, &v->reply) == VARY_ANY) {
        bt_count(not_stored);
        return false;
    }
    ruling = bt_rules_run(CONF->store_miss, v->txn);
    if (ruling.match != BT_NO && ruling.action == BT_DENY) {
        v->why = "store_miss";
        bt_count(not_stored);
        return false;
    }
    if (too_large(v, bt_rep_length(v->txn))) {
        v->why = "too large";
        bt_count(too_large);
        return false;
    }
    return true;
}

/* What has to be validated each time is for its asker alone; what has come stale, but had a life
 * once, may be validated for many the next time. */
static void tell_others(struct visit *v, const struct fresh_life *life)
{
    if ((life->flags & FRESH_ASK) != 0 || life->lifetime <= 0)
        flight_private(&v->flight, CONF->alone.ms);
    else if (fresh_left(life, bt_wall_ms()) <= 0)
        flight_private(&v->flight, 0);
    else
        flight_growing(&v->flight, v->keep.writer);
}

bool keep_begin(struct visit *v, int status, bt_str *head)
{
    struct fresh_verdict verdict;
    struct headtext_store store;
    struct store_meta meta;
    struct control said;
    struct vary vary = {0};
    bt_str key;

    if (v->head || !may_keep(v, &vary, status, &verdict))
        return not_kept(v);
    key = key_for(v, &vary);
    if (key.at == NULL)
        return not_kept(v);
    key_life_meta(&verdict.life, status, &meta);
    keep_head(v, status, &said, &store);
    *head = headtext_store(bt_txn_arena(v->txn), &store);
    v->keep.length = bt_rep_length(v->txn);
    v->keep.writer = STORE->begin(key, &meta, *head, v->keep.length);
    if (v->keep.writer == NULL)
        return not_kept(v);
    visit_sure(v);
    v->key = key;
    v->stored = true;
    v->keep.sink.ops = &sink_ops;
    if (v->joined && v->role == FLIGHT_LEAD) {
        tell_others(v, &verdict.life);
    }
    v->life = verdict.life;
    bt_tap(v->txn, &v->keep.sink);
    return true;
}
