/* answer.c - steps: can it be answered from here; and answers of our own making.
 *
 * What error pages say is in pages.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "flow/access.h"
#include "flow/bump.h"
#include "flow/core.h"
#include "flow/header_rules.h"
#include "flow/pages.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "http/date.h"

enum { OWN_FIELDS = 8 };

enum go step_answer(struct bt_txn *txn)
{
    bool done;
    enum go go = txn_phase(txn, BT_AT_LOOKUP, &done);

    if (!done)
        return go;
    txn->hooks_done = false;
    txn->step = STEP_upstream;
    return local_look(txn);
}

static void own_field(struct head *rep, enum header_id id, bt_str name, bt_str value)
{
    if (rep->n < OWN_FIELDS) {
        rep->field[rep->n++] = (struct head_field){.id = id, .name = name, .value = value};
        rep->seen[(unsigned)id / 64] |= UINT64_C(1) << ((unsigned)id % 64);
    }
}

/* Make txn->rep out of what was decided; the body is returned. */
static bt_str own_answer(struct bt_txn *txn)
{
    struct head *rep = &txn->rep;
    char *date = bt_alloc_raw(txn->arena, DATE_LEN);
    bt_str body = txn->answer_body;

    *rep = (struct head){.status = txn->deny_status, .minor = 1, .content_length = -1};
    rep->field = bt_alloc(txn->arena, OWN_FIELDS * sizeof *rep->field);
    date_print(date, clock_wall_s());
    own_field(rep, HEADER_SERVER, BT_STR("Server"), core->server_text);
    own_field(rep, HEADER_DATE, BT_STR("Date"), (bt_str){date, DATE_LEN});
    if (txn->deny_page != NULL) {
        struct pages_answer page = pages_answer(txn);
        body = page.body;
        own_field(rep, HEADER_CONTENT_TYPE, BT_STR("Content-Type"), page.type);
        if (page.language.len > 0)
            own_field(rep, HEADER_OTHER, BT_STR("Content-Language"), page.language);
        own_field(rep, HEADER_CACHE_CONTROL, BT_STR("Cache-Control"), BT_STR("no-store"));
        own_field(rep, HEADER_OTHER, BT_STR("X-Squid-Error"),
                  bt_str_printf(txn->arena, "%s %d", txn->deny_page, txn->dial_errno));
    }
    return body;
}

/* The way up failed: what do hooks of phase RESPONSE think of it, once? *done: they leave it so. */
static enum go refuse_failed(struct bt_txn *txn, bool *done)
{
    enum go go;

    if (txn->origin != NULL) {
        txn->keep_origin = false;
        origin_release(txn);
    }
    if (!txn->fail_told) {
        txn->fail_told = true;
        if (!txn->head_sent) /* else "200" to a CONNECT was said, and stands */
            txn->rep = (struct head){.content_length = -1};
        txn->hooks_done = false;
        txn->hook = 0; /* one may have waited when the time was up */
        if (txn->tagged)
            txn->tag = txn->req.method_id == METHOD_CONNECT ? "TCP_TUNNEL" : "TCP_MISS";
        txn->tagged = false;
    }
    go = txn_phase(txn, BT_AT_RESPONSE, done);
    txn->failing = go == GO_WAIT;
    return go;
}

/* Until all of it was taken by the network; a half-read request makes the session linger. */
enum go step_refuse(struct bt_txn *txn)
{
    if (txn->probe != NULL) {
        txn->step = STEP_finish;
        return GO_ON;
    }
    if (txn->failing) {
        bool done;
        enum go go = refuse_failed(txn, &done);
        if (!done)
            return go;
    }
    if (txn->client->nobody) {
        txn->keep_origin = false;
        txn->step = STEP_finish;
        return GO_ON;
    }
    if (txn->implied && !txn->head_sent) {
        if (bump_wanted(txn) && txn->bump == NULL)
            bump_refused(txn);
        else
            txn->step = STEP_finish; /* no answer could mean anything to it */
        return GO_ON;
    }
    if (!txn->head_sent) {
        if (txn->origin != NULL) {
            txn->keep_origin = false;
            origin_release(txn);
        }
        bt_str body = own_answer(txn);
        bool pass;
        enum go go = access_own_answer(txn, &pass);
        if (!pass)
            return go;
        if (header_rules[HEADER_REPLY] != NULL && txn->time.reply != 0 && !txn->reply_asked)
            acl_forget(txn); /* what was said of an origin's answer does not hold for this one */
        bool bodyless = txn->req.method_id == METHOD_HEAD || body.len == 0;
        /* What is left of the request's body would be taken for the next request. */
        if (!txn->upload_over)
            txn->keep_client = false;
        txn->head_sent = true;
        txn->client->head(txn, (int64_t)body.len);
        if (!txn->client->body(txn, &body, bodyless ? 0 : 1, true))
            txn->ended = END_CLIENT_GONE;
    }
    if (txn->ended == END_WHOLE && txn->client->pending(txn) > 0) {
        timeout_set(&session_writing, &txn->session->timeout);
        return GO_WAIT;
    }
    txn->step = STEP_finish;
    return GO_ON;
}
