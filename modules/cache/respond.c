/* respond.c - phase RESPONSE: what the origin says, and what that means for what is there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "respond.h"

#include "epoch.h"
#include "keep.h"
#include "purge.h"
#include "serve.h"
#include "tell.h"

static bool leads(const struct visit *v)
{
    return v->joined && v->role == FLIGHT_LEAD;
}

/* ---- validated: 304 ---- */

/* The record under the merged head. Those who waited look again, and find it. / */
static bt_str renew(struct visit *v, struct fresh_verdict *verdict)
{
    struct store_meta meta;
    struct headtext text;
    struct fields fields;
    struct headtext_store from;
    struct control said;
    int status = v->found.meta->status;
    bt_str merged;

    keep_head(v, status, &said, &from);
    merged = validation_merge(bt_txn_arena(v->txn), v->found.head, &from);
    if (!headtext_open(&text, merged))
        return BT_STR_NONE;
    fields = headtext_fields(&text);
    keep_judge(v, status, &fields, verdict);
    key_life_meta(&verdict->life, status, &meta);
    if (!verdict->store)
        (void)STORE->remove(v->key);
    else if (STORE->renew(&v->found, &meta, merged))
        bt_count(renewed);
    return merged;
}

static enum bt_verdict validated(struct visit *v)
{
    struct fresh_verdict verdict;
    bt_str merged = renew(v, &verdict);

    if (merged.at == NULL)
        return BT_PASS;
    v->life = verdict.life;
    if (leads(v)) {
        if (fresh_left(&v->life, bt_wall_ms()) > 0 && (v->life.flags & FRESH_ASK) == 0)
            flight_failed(&v->flight);
        else
            flight_private(&v->flight, 0);
    }
    if (v->background)
        return BT_PASS;
    return serve(v, SERVE_VALIDATED, merged);
}

static bool stored_validators(struct visit *v, struct validators *validators)
{
    struct headtext text;
    struct fields fields;

    if (!headtext_open(&text, v->found.head))
        return false;
    fields = headtext_fields(&text);
    validators_read(validators, &fields, bt_wall_ms());
    return true;
}

static bool holds(struct visit *v)
{
    struct validators validators;

    return stored_validators(v, &validators) &&
           validation_holds(&validators, &v->reply, bt_wall_ms());
}

/* Its 304 is about another version: it is asked again without conditions. */
static enum bt_verdict ask_again(struct visit *v)
{
    v->validating = false;
    bt_upstream_set(v->txn, BT_STR("If-None-Match"), BT_STR_NONE);
    bt_upstream_set(v->txn, BT_STR("If-Modified-Since"), BT_STR_NONE);
    tell(v, RESULT_modified, "TCP_REFRESH_MODIFIED");
    return bt_again(v->txn) ? BT_ANSWER : BT_PASS;
}

/* ---- the copy was stale, and the origin has spoken ---- */

/* An answer that takes the copy's place, whether it is kept or not. */
static bool replaces(int status)
{
    return status < 300 ? status != 206 : status < 400 || status == 404 || status == 410;
}

/* A HEAD tells whether the copy is still what a GET would get (RFC 9111 4.3.5). / */
static bool head_differs(struct visit *v)
{
    struct validators then;

    return !stored_validators(v, &then) ||
           !validation_head_agrees(&then, v->found.length, &v->reply);
}

static enum bt_verdict failed(struct visit *v, int status)
{
    struct fresh_asking asking;

    visit_asking(v, &asking);
    if (!fresh_on_error(&v->life, &asking, status)) {
        tell(v, RESULT_failed, "TCP_REFRESH_FAIL_ERR");
        if (leads(v))
            flight_private(&v->flight, 0);
        return BT_PASS;
    }
    if (leads(v))
        flight_private(&v->flight, 0);
    if (v->background)
        return BT_PASS;
    return serve(v, SERVE_FAILED, BT_STR_NONE);
}

/* ---- all answers ---- */

/* What was asked for the cache's sake goes back to what the client wanted. */
static enum bt_verdict deliver(struct visit *v, int status)
{
    bt_str head = BT_STR_NONE;
    bool kept = keep_begin(v, status, &head);

    if (v->background)
        return BT_PASS;
    tell_forward(v, status);
    if (!kept)
        return BT_PASS;
    if (v->conditions_off && serve_condition(v, head) == CONDITION_NOT_MODIFIED)
        return serve_instead(v, condition_head_304(bt_txn_arena(v->txn), head), -1, NULL);
    if (v->range_off && status == 200)
        return serve_window(v, head, bt_rep_length(v->txn));
    return BT_PASS;
}

/* No answer came. Who waited for it sees for itself. */
static enum bt_verdict unanswered(struct visit *v)
{
    if (bt_failed(v->txn, NULL) == 0)
        return BT_PASS;
    if (v->pinned)
        return failed(v, 0);
    tell(v, RESULT_misses, NULL);
    if (leads(v))
        flight_private(&v->flight, 0);
    return BT_PASS;
}

enum bt_verdict respond(struct bt_txn *txn)
{
    struct visit *v;
    int status = bt_status(txn);
    bt_str head;

    if (!CONF->on)
        return BT_PASS;
    v = visit_of(txn);
    if (!bt_req_proven(txn)) {
        tell(v, RESULT_bypassed, NULL);
        return BT_PASS;
    }
    if (v->stage == VISIT_ANSWERED || v->stage == VISIT_PURGE)
        return BT_PASS;
    if (v->bypass) {
        tell(v, RESULT_bypassed, NULL);
        purge_unsafe(v, status);
        v->epoch = epoch_now(v->primary);
        if (keep_is_get(v, status))
            (void)!keep_begin(v, status, &head);
        return BT_PASS;
    }
    if (status == 0)
        return unanswered(v);
    if (v->pinned && v->validating && status == 304) {
        if (holds(v))
            return validated(v);
        bt_count(bad_tags);
        return ask_again(v);
    }
    if (v->pinned && status >= 500)
        return failed(v, status);
    if (v->pinned) {
        tell(v, RESULT_modified, v->validating ? "TCP_REFRESH_MODIFIED" : NULL);
        if (v->head ? status == 200 && head_differs(v) : replaces(status))
            (void)STORE->remove(v->key);
    } else {
        tell(v, RESULT_misses, NULL);
    }
    return deliver(v, status);
}
