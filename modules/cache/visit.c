/* visit.c - one exchange's part in the cache: its memory, and giving back what it holds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "visit.h"

#include "keep.h"
#include "serve.h"

/* ---- the messages, as the pure parts see them ---- */

static bt_str request_get(void *txn, bt_str name, size_t n)
{
    return bt_req_header(txn, name, n);
}

static bool request_at(void *txn, size_t i, bt_str *name, bt_str *value)
{
    return bt_req_field(txn, i, name, value);
}

static bt_str reply_get(void *txn, bt_str name, size_t n)
{
    return bt_rep_header(txn, name, n);
}

static bool reply_at(void *txn, size_t i, bt_str *name, bt_str *value)
{
    return bt_rep_field(txn, i, name, value);
}

struct visit *visit_of(struct bt_txn *txn)
{
    struct visit *v = bt_txn_ctx(txn);

    if (v->txn == NULL) {
        v->txn = txn;
        v->request = (struct fields){request_get, request_at, txn};
        v->reply = (struct fields){reply_get, reply_at, txn};
    }
    return v;
}

/* ---- what must be given back ---- */

void visit_unpin(struct visit *v)
{
    if (v->pinned)
        STORE->release(&v->found);
    v->pinned = false;
}

void visit_leave(struct visit *v)
{
    if (v->joined)
        flight_leave(&v->flight);
    v->joined = false;
}

static void gone(void *visit)
{
    struct visit *v = visit;

    bt_helper_cancel(&v->ask);
    keep_drop(v);
    visit_leave(v);
    visit_unpin(v);
    serve_close(v);
}

void visit_sure(struct visit *v)
{
    if (!v->sure)
        bt_defer(bt_txn_arena(v->txn), gone, v);
    v->sure = true;
}

/* ---- for the pure parts ---- */

const struct fresh_rule *visit_rule(struct visit *v)
{
    bt_str key = v->primary;

    if (v->rule == NULL) {
        if (v->named)
            key = (bt_str){key.at + VISIT_NAMED, key.len - VISIT_NAMED};
        v->rule = config_pattern(key);
    }
    return v->rule;
}

void visit_asking(const struct visit *v, struct fresh_asking *asking)
{
    *asking = (struct fresh_asking){
        .asked = &v->asked,
        .settings = &CONF->fresh,
        .now = bt_wall_ms(),
        .conditional = v->asks_if,
    };
}
