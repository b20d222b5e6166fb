/* tell.c - what is told about it: tags, counters, Cache-Status, fields for logs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tell.h"

#include <string.h>

static const unsigned result_slots[] = {
#define SLOT_(id, name, kind, unit, doc) [RESULT_##id] = N_##id,
    RESULTS(SLOT_)
#undef SLOT_
};

void tell(struct visit *v, enum visit_result result, const char *tag)
{
    if (tag != NULL)
        bt_tag(v->txn, tag);
    if (v->result != RESULT_NONE || v->background)
        return;
    v->result = result;
    bt_count(requests);
    bt_add(result_slots[result], 1);
}

/* ---- Cache-Status ---- */

static void add_status(struct visit *v, const struct cache_status *status)
{
    if (CONF->status_field && !v->background)
        bt_reply_add(v->txn, BT_STR("Cache-Status"),
                     cache_status_text(bt_txn_arena(v->txn), BT_STR("Bobtail"), status));
}

void tell_hit(struct visit *v)
{
    struct cache_status status = {
        .ttl = fresh_left(&v->life, bt_wall_ms()) / 1000, .has_ttl = true, .collapsed = v->waited};

    add_status(v, &status);
}

static const char *forwarded(const struct visit *v)
{
    if (v->bypass)
        return "bypass";
    if (v->result == RESULT_reloads)
        return "request";
    if (v->pinned)
        return "stale";
    return v->varies.at != NULL && !v->stored ? "vary-miss" : "uri-miss";
}

void tell_forward(struct visit *v, int http_status)
{
    struct cache_status status = {
        .fwd = forwarded(v), .fwd_status = http_status, .stored = v->stored};

    add_status(v, &status);
}

void tell_validated(struct visit *v)
{
    struct cache_status status = {.fwd = "stale",
                                  .fwd_status = 304,
                                  .ttl = fresh_left(&v->life, bt_wall_ms()) / 1000,
                                  .has_ttl = true};

    add_status(v, &status);
}

/* ---- fields ---- */

static const char *const result_names[] = {
    [RESULT_NONE] = NULL,
    [RESULT_hits] = "hit",
    [RESULT_not_modified] = "not-modified",
    [RESULT_negative_hits] = "negative-hit",
    [RESULT_stale_hits] = "stale-hit",
    [RESULT_shared_hits] = "shared-hit",
    [RESULT_validated] = "validated",
    [RESULT_modified] = "modified",
    [RESULT_failed_old] = "failed-old",
    [RESULT_failed] = "failed",
    [RESULT_reloads] = "reload",
    [RESULT_unavailable] = "unavailable",
    [RESULT_misses] = "miss",
    [RESULT_bypassed] = "bypass",
};

#define FIELD(name) bool name(struct bt_txn *txn, bt_str arg, struct bt_value *out)

static bool text(struct bt_value *out, const char *value)
{
    if (value == NULL)
        return false;
    *out = (struct bt_value){.kind = BT_TEXT, .text = {value, strlen(value)}};
    return true;
}

static bool number(struct bt_value *out, int64_t value)
{
    *out = (struct bt_value){.kind = BT_INT, .num = value};
    return true;
}

FIELD(tell_result)
{
    (void)arg;
    return text(out, result_names[visit_of(txn)->result]);
}

FIELD(tell_why)
{
    (void)arg;
    return text(out, visit_of(txn)->why);
}

FIELD(tell_key)
{
    const struct visit *v = visit_of(txn);

    (void)arg;
    *out = (struct bt_value){.kind = BT_TEXT, .text = v->primary};
    if (v->named) /* without the name space */
        out->text = (bt_str){v->primary.at + 4, v->primary.len - 4};
    return v->primary.len > 0;
}

FIELD(tell_stored)
{
    (void)arg;
    return number(out, visit_of(txn)->stored);
}

static bool has_life(const struct visit *v)
{
    return v->life.received != 0;
}

FIELD(tell_age)
{
    const struct visit *v = visit_of(txn);

    (void)arg;
    return has_life(v) && number(out, fresh_age_seconds(&v->life, bt_wall_ms()));
}

FIELD(tell_ttl)
{
    const struct visit *v = visit_of(txn);

    (void)arg;
    return has_life(v) && number(out, fresh_left(&v->life, bt_wall_ms()) / 1000);
}
