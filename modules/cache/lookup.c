/* lookup.c - phase LOOKUP: is it there, and may it be used; else who fetches it?
 *
 * The hook is called again whenever something it waited for has come; it goes on at the stage where
 * it stopped. Who follows another's fetch sleeps in VISIT_FOLLOW until its head is known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "lookup.h"

#include "epoch.h"
#include "purge.h"
#include "serve.h"
#include "tell.h"

static bool has(struct visit *v, bt_str name)
{
    return fields_has(&v->request, name);
}

static void wake(void *txn)
{
    bt_resume(txn);
}

/* ---- beginning ---- */

static bool has_body(struct visit *v)
{
    bt_str length = fields_get(&v->request, BT_STR("Content-Length"), 0);

    return has(v, BT_STR("Transfer-Encoding")) ||
           (length.at != NULL && !bt_str_eq(length, BT_STR("0")));
}

static void begin(struct visit *v)
{
    bt_str method = bt_method(v->txn);

    v->primary = bt_url(v->txn);
    v->head = bt_str_eq(method, BT_STR("HEAD"));
    if (bt_str_eq(method, BT_STR("PURGE"))) {
        v->stage = CONF->purge ? VISIT_NAMING : VISIT_PURGE;
        v->purge = true;
        return;
    }
    v->stage = VISIT_RULES;
    if (!fresh_method(method) || has_body(v) || has(v, BT_STR("Upgrade"))) {
        v->bypass = true;
        v->why = "method";
        v->post = bt_str_eq(method, BT_STR("POST"));
        if (!v->post) {
            v->stage = VISIT_PASS;
            return;
        }
    }
    control_request(&v->asked, &v->request);
    v->asks_if = condition_asked(&v->request);
    v->conditions = v->asks_if || has(v, BT_STR("If-Match")) ||
                    has(v, BT_STR("If-Unmodified-Since"));
}

/* false: pause. */
static bool rules(struct visit *v)
{
    const struct bt_cache_wish *wish = bt_cache_wish(v->txn, false);
    struct bt_ruling ruling = bt_rules_run(CONF->cache, v->txn);

    if (ruling.match == BT_WAIT)
        return false;
    if (wish != NULL && wish->bypass) {
        v->bypass = true;
        v->post = false;
        v->why = "script";
        v->stage = VISIT_PASS;
        return true;
    }
    v->stage = v->post ? VISIT_PASS : VISIT_NAMING;
    if (ruling.match != BT_NO && ruling.action == BT_DENY) {
        v->bypass = true;
        v->post = false;
        v->why = "cache deny";
        v->stage = VISIT_PASS;
    }
    return true;
}

/* ---- on to the origin ---- */

/* Without the client's conditions on what it has: it is asked for the cache's sake. */
static void conditions_off(struct visit *v)
{
    static const bt_str names[] = {
        {"If-None-Match", 13},
        {"If-Modified-Since", 17},
        {"If-Match", 8},
        {"If-Unmodified-Since", 19},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (v->background || has(v, names[i])) {
            bt_upstream_set(v->txn, names[i], BT_STR_NONE);
            v->conditions_off = true;
        }
}

static void range_off(struct visit *v)
{
    if (!has(v, BT_STR("Range")))
        return;
    bt_upstream_set(v->txn, BT_STR("Range"), BT_STR_NONE);
    bt_upstream_set(v->txn, BT_STR("If-Range"), BT_STR_NONE);
    v->range_off = true;
}

/* Where the first byte that is wanted lies; -1: that depends on the length. */
static int64_t range_begin(bt_str value)
{
    int64_t from = 0;
    size_t i = 6;

    if (value.len < 7 || value.at[i] == '-')
        return -1;
    for (; i < value.len && value.at[i] >= '0' && value.at[i] <= '9' && from < INT64_MAX / 20; i++)
        from = from * 10 + (value.at[i] - '0');
    return from;
}

/* range_offset_limit: shall the whole be fetched for a part? */
static bool range_whole(struct visit *v)
{
    int64_t limit = config_range_limit(v->txn), from;

    if (limit < 0)
        return true;
    from = range_begin(fields_get(&v->request, BT_STR("Range"), 0));
    return limit > 0 && from >= 0 && from <= limit;
}

/* The origin is asked about the copy. */
static void validate(struct visit *v)
{
    struct validators validators;
    struct validation ask;
    struct headtext text;
    struct fields fields;

    conditions_off(v);
    range_off(v);
    if ((v->life.flags & FRESH_VALIDATOR) == 0 || !headtext_open(&text, v->found.head))
        return;
    fields = headtext_fields(&text);
    validators_read(&validators, &fields, bt_wall_ms());
    validation_make(&ask, &validators);
    bt_upstream_set(v->txn, BT_STR("If-None-Match"), ask.if_none_match);
    bt_upstream_set(v->txn, BT_STR("If-Modified-Since"), ask.if_modified_since);
    v->validating = true;
}

static enum bt_verdict pass(struct visit *v)
{
    v->stage = VISIT_PASS;
    if (v->pinned) {
        validate(v);
    } else {
        if (v->background || !CONF->miss_revalidate)
            conditions_off(v);
        if (has(v, BT_STR("Range")) && (v->background || range_whole(v)))
            range_off(v);
    }
    return BT_PASS;
}

/* ---- waiting for the fetch of another ---- */

static bool may_wait(struct visit *v)
{
    struct bt_ruling ruling;

    if (v->background)
        return true;
    if (v->alone || !CONF->collapsed || v->head || (v->asked.has & CONTROL_NO_STORE) != 0 ||
        has(v, BT_STR("Authorization")))
        return false;
    if (!v->pinned &&
        ((has(v, BT_STR("Range")) && !range_whole(v)) || (v->asks_if && CONF->miss_revalidate)))
        return false;
    /* An answer that has to be validated each time is for its asker alone. */
    if (v->pinned && (v->life.flags & FRESH_ASK) != 0)
        return false;
    ruling = bt_rules_run(CONF->collapse, v->txn);
    return ruling.match == BT_NO || ruling.action == BT_ALLOW;
}

/* Nobody joins a fetch that began before a change. */
static bt_str flight_key(struct visit *v)
{
    if (v->epoch == 0)
        return v->key;
    return bt_str_printf(bt_txn_arena(v->txn), "%.*s\n%llx", BT_STR_ARGS(v->key),
                         (unsigned long long)v->epoch);
}

static enum bt_verdict join(struct visit *v)
{
    if (!may_wait(v))
        return pass(v);
    visit_sure(v);
    v->role = flight_join(&v->flight, flight_key(v), wake, v->txn);
    v->joined = v->role != FLIGHT_ALONE;
    if (v->role != FLIGHT_FOLLOW)
        return pass(v);
    if (v->background) { /* it is being done */
        visit_leave(v);
        return BT_DROP;
    }
    if (!v->waited)
        bt_count(waited);
    v->waited = true;
    v->stage = VISIT_FOLLOW;
    return BT_SETTLE; /* go on with that stage */
}

static bool may_send(struct visit *v)
{
    struct bt_ruling ruling = bt_rules_run(CONF->send_hit, v->txn);

    return ruling.match == BT_NO || ruling.action == BT_ALLOW;
}

/* It was in vain. */
static enum bt_verdict go_alone(struct visit *v)
{
    bt_count(released);
    visit_leave(v);
    v->alone = true;
    return pass(v);
}

/* What another fetches has a head: is it for this request, too? */
static enum bt_verdict share(struct visit *v)
{
    struct fresh_asking asking;
    int64_t written, length = -1;
    enum fresh_use use;

    visit_unpin(v);
    /* Before the pin: of what was whole by then it covers all. */
    enum flight_state state = flight_progress(&v->flight, &written, &length);
    if (!flight_ref(&v->flight, &v->found))
        return go_alone(v);
    v->pinned = true;
    if (!key_matches(v, v->found.key)) { /* another variant, by a marker that is there now */
        visit_leave(v);
        visit_unpin(v);
        v->stage = VISIT_FIND;
        return BT_SETTLE;
    }
    key_meta_life(v->found.meta, &v->life);
    visit_asking(v, &asking);
    use = fresh_use(&v->life, &asking, &v->why);
    if ((use != FRESH_HIT && use != FRESH_HIT_STALE) || !may_send(v)) {
        visit_unpin(v);
        return go_alone(v);
    }
    if (state == FLIGHT_WHOLE)
        return serve(v, SERVE_SHARED, BT_STR_NONE);
    return serve_growing(v, length);
}

static enum bt_verdict follow(struct visit *v)
{
    switch (flight_state(&v->flight)) {
    case FLIGHT_WAITING:
        return BT_PAUSE;
    case FLIGHT_GROWING:
    case FLIGHT_WHOLE:
        return share(v);
    case FLIGHT_PRIVATE:
        return go_alone(v);
    case FLIGHT_FAILED: /* or a copy was validated: look again */
        break;
    }
    visit_leave(v);
    visit_unpin(v);
    v->stage = VISIT_FIND;
    return BT_SETTLE;
}

/* ---- what is there ---- */

static enum bt_verdict unavailable(struct visit *v)
{
    tell(v, RESULT_unavailable, "TCP_MISS");
    v->stage = VISIT_ANSWERED;
    bt_deny(v->txn, 504, "ERR_ONLY_IF_CACHED_MISS");
    return BT_REFUSE;
}

/* Once a key: somebody who does it already is enough. */
static void refresh(struct visit *v)
{
    struct flight flight = {0};
    enum flight_role role = flight_join(&flight, flight_key(v), wake, v->txn);
    struct bt_txn *txn;
    struct visit *b;

    flight_leave(&flight);
    if (role == FLIGHT_FOLLOW || (txn = bt_background(v->txn)) == NULL)
        return;
    bt_count(background);
    b = visit_of(txn);
    b->background = true;
    b->head = v->head;
    b->named = v->named;
    b->primary = bt_str_copy(bt_txn_arena(txn), v->primary);
    b->stage = VISIT_FIND;
}

static enum bt_verdict missing(struct visit *v)
{
    if ((v->asked.has & CONTROL_ONLY_IF_CACHED) != 0)
        return unavailable(v);
    if ((v->asked.has & CONTROL_NO_CACHE) != 0)
        v->alone = true;
    return join(v);
}

static enum bt_verdict denied(struct visit *v)
{
    visit_unpin(v);
    v->why = "send_hit";
    v->alone = true;
    return missing(v);
}

static enum bt_verdict use(struct visit *v)
{
    struct fresh_asking asking;

    visit_asking(v, &asking);
    switch (fresh_use(&v->life, &asking, &v->why)) {
    case FRESH_HIT:
        return may_send(v) ? serve(v, SERVE_HIT, BT_STR_NONE) : denied(v);
    case FRESH_HIT_STALE:
        return may_send(v) ? serve(v, SERVE_STALE, BT_STR_NONE) : denied(v);
    case FRESH_HIT_WHILE:
        if (!may_send(v))
            return denied(v);
        refresh(v);
        return serve(v, SERVE_STALE, BT_STR_NONE);
    case FRESH_VALIDATE:
        return join(v);
    case FRESH_RELOAD:
        visit_unpin(v);
        tell(v, RESULT_reloads, CONF->offline ? NULL : "TCP_CLIENT_REFRESH_MISS");
        v->alone = true;
        return pass(v);
    case FRESH_UNAVAILABLE:
        break;
    }
    return unavailable(v);
}

static enum bt_verdict find(struct visit *v)
{
    v->epoch = epoch_now(v->primary);
    switch (key_find(v)) {
    case STORE_WAIT:
        return BT_PAUSE;
    case STORE_MISS:
        return v->background ? BT_DROP : missing(v);
    case STORE_HIT:
        break;
    }
    if (!v->background)
        return use(v);
    if (fresh_left(&v->life, bt_wall_ms()) > 0) /* somebody was faster */
        return BT_DROP;
    return join(v);
}

enum bt_verdict lookup(struct bt_txn *txn)
{
    struct visit *v;
    enum bt_verdict verdict = BT_SETTLE;

    if (!CONF->on && !bt_str_eq(bt_method(txn), BT_STR("PURGE")))
        return BT_PASS;
    v = visit_of(txn);
    if (!bt_req_proven(txn)) {
        v->why = "forged host";
        return BT_PASS;
    }
    while (verdict == BT_SETTLE) /* inside here it means: go on with the next stage */
        switch (v->stage) {
        case VISIT_NEW:
            begin(v);
            break;
        case VISIT_RULES:
            if (!rules(v))
                return BT_PAUSE;
            break;
        case VISIT_NAMING:
            if (!key_name(v))
                return BT_PAUSE;
            v->stage = v->purge ? VISIT_PURGE : v->bypass ? VISIT_PASS : VISIT_FIND;
            break;
        case VISIT_FIND:
            verdict = find(v);
            break;
        case VISIT_FOLLOW:
            verdict = follow(v);
            break;
        case VISIT_PURGE:
            return purge_method(v);
        case VISIT_PASS:
        case VISIT_ANSWERED:
            return BT_PASS;
        }
    return verdict;
}
