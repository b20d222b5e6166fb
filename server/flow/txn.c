/* txn.c - the driver: which step, when to wait, when to stop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/txn.h"

#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "bt_log.h"
#include "flow/core.h"
#include "flow/ghost.h"
#include "flow/pace.h"
#include "flow/pages.h"
#include "flow/probe.h"
#include "flow/route.h"
#include "flow/serve.h"
#include "flow/session.h"
#include "net/relay.h"
#include "plug/phase.h"
#include "stat/counts.h"

enum {
    TXN_CHUNK = 4096,            /* an ordinary exchange fits into one */
    TXN_MEMORY = 4 * 1024 * 1024 /* and none may take more (limits.exchange_memory) */
};

struct step_row {
    const char *name, *doc;
    enum go (*run)(struct bt_txn *);
};
#define STEP_ROW_(name, doc) [STEP_##name] = {#name, doc, step_##name},
static const struct step_row steps[STEP_end] = {STEPS(STEP_ROW_)};

static uint64_t numbers;

struct bt_txn *txn_new(struct session *session, const struct client_ops *client)
{
    struct bt_arena *arena = arena_new(TXN_CHUNK);
    struct bt_txn *txn = bt_alloc(arena, sizeof *txn);

    arena_limit(arena, TXN_MEMORY);
    txn->arena = arena;
    txn->session = session;
    txn->client = client;
    txn->number = ++numbers;
    txn->req.content_length = txn->rep.content_length = -1;
    txn->upload_over = true;
    txn->tag = "NONE";
    txn->hierarchy = "HIER_NONE";
    timeout_set(&txn_living, &txn->lifetime);
    if (!session->admin)
        count(active_exchanges);
    return txn;
}

/* Give back all that is not memory. */
static void txn_release(struct bt_txn *txn)
{
    timeout_clear(&txn->timeout);
    timeout_clear(&txn->lifetime);
    deferred_cancel(&txn->resume);
    pace_stop(txn);
    if (txn->resolve != NULL)
        resolve_end(txn->resolve);
    if (txn->reverse != NULL)
        resolve_end(txn->reverse);
    if (txn->naming != NULL)
        resolve_end(txn->naming);
    route_end(txn);
    if (txn->dialling)
        dial_cancel(txn->dial);
    if (txn->relay != NULL)
        tunnel_stop(txn);
    tap_end(txn, false);
    serve_stop(txn);
    if (txn->origin != NULL)
        origin_release(txn);
    input_free(&txn->from_origin);
    if (txn->client->nobody)
        ghost_over();
    if (!txn->session->admin)
        count_by(active_exchanges, -1);
}

static void txn_over(struct bt_txn *txn)
{
    struct session *session = txn->session;
    enum session_fate fate = SESSION_CLOSE;

    if (txn->ended == END_WHOLE)
        fate = txn->keep_client ? SESSION_KEEP : txn->upload_over ? SESSION_CLOSE : SESSION_LINGER;
    txn_release(txn);
    if (txn->probe != NULL)
        probe_over(txn);
    arena_free(txn->arena);
    session_next(session, fate);
}

void txn_run(struct bt_txn *txn)
{
    enum go go;

    if (txn->running) {
        txn->again = true;
        return;
    }
    txn->running = true;
    do {
        txn->again = false;
        do {
            const struct step_row *step = &steps[txn->step];
            bt_log(txn, BT_DEBUG, "step %s", step->name);
            go = step->run(txn);
        } while (go == GO_ON);
    } while (go == GO_WAIT && txn->again);
    if (go == GO_OVER) {
        txn_over(txn);
        return;
    }
    /* Back to the loop: what lies in shared buffers would not survive it. */
    input_settle(&txn->session->in, shared_client);
    input_settle(&txn->from_origin, shared_origin);
    txn->running = false;
}

void txn_abort(struct bt_txn *txn, enum txn_end why)
{
    txn->ended = why;
    txn->keep_client = txn->keep_origin = false;
    txn->step = STEP_finish;
    txn_run(txn);
}

enum go txn_refuse(struct bt_txn *txn, int status, const char *page, const char *detail)
{
    txn->deny_status = status;
    txn->deny_page = page;
    txn->deny_detail = detail;
    txn->step = STEP_refuse;
    return GO_ON;
}

enum go txn_fail(struct bt_txn *txn, int status, const char *page, const char *detail)
{
    txn->failing = !txn->fail_told;
    txn->fail_status = status;
    txn->fail_page = page;
    return txn_refuse(txn, status, page, detail);
}

enum go txn_leave(struct bt_txn *txn, enum txn_end why)
{
    if (ghost_leave(txn, why))
        return GO_ON;
    txn->ended = why;
    txn->keep_client = txn->keep_origin = false;
    txn->step = STEP_finish;
    return GO_ON;
}

void txn_gone(struct bt_txn *txn, enum txn_end why)
{
    (void)txn_leave(txn, why);
    txn_run(txn);
}

bool txn_retriable(const struct bt_txn *txn)
{
    return method_idempotent(txn->req.method_id) && txn->upload.kind == BODY_NONE &&
           txn->interim == 0 && !txn->head_sent;
}

bool bt_again(struct bt_txn *txn)
{
    if (txn->asked_again || txn->again_done || txn->origin == NULL || txn->head_sent ||
        !txn_retriable(txn))
        return false;
    txn->asked_again = true;
    return true;
}

/* What the origin has said is forgotten, and it is asked once more. */
static void txn_ask_again(struct bt_txn *txn)
{
    txn->asked_again = false;
    txn->again_done = true;
    tap_end(txn, false);
    deliver_discard(txn);
    txn->rep = (struct head){.content_length = -1};
    txn->hooks_done = true;
    txn->step = STEP_upstream;
}

/* A hook has an answer. */
static void txn_answered(struct bt_txn *txn)
{
    if (txn->asked_again) {
        txn_ask_again(txn);
        return;
    }
    txn_tag(txn, "TCP_HIT");
    txn->step = txn->serve != NULL ? STEP_serve : STEP_refuse;
    if (txn->origin == NULL)
        return;
    /* Beside an answer the sink may go on; else nobody wants what the origin has said. */
    if (txn->serve == NULL || !txn->upload_over)
        tap_end(txn, false);
    if (!tap_open(txn))
        deliver_discard(txn);
}

/* A client that leaves need not be waited for, and what a hook waits for may never come. */
static void txn_pause(struct bt_txn *txn, enum bt_phase phase)
{
    session_watch(txn->session);
    if (phase >= BT_AT_LOOKUP && txn->origin == NULL && !timeout_is_set(&txn->timeout))
        timeout_set(&txn_pausing, &txn->timeout);
}

enum go txn_phase(struct bt_txn *txn, enum bt_phase phase, bool *done)
{
    *done = true;
    if (txn->hooks_done)
        return GO_ON;
    enum bt_verdict verdict = phase_run(phase, txn, &txn->hook);
    if (verdict != BT_PAUSE && txn->timeout.cls == &txn_pausing)
        timeout_clear(&txn->timeout);
    switch (verdict) {
    case BT_PAUSE:
        *done = false;
        txn_pause(txn, phase);
        return GO_WAIT;
    case BT_SETTLE:
        txn->settled = true;
        break;
    case BT_ANSWER:
        *done = false;
        txn_answered(txn);
        return GO_ON;
    case BT_REFUSE:
        *done = false;
        /* Who has a word of its own for it refuses for want of something, and not by a rule. */
        if (phase != BT_AT_LOOKUP || !txn->tagged) {
            count(requests_denied);
            txn->tag = "TCP_DENIED";
        }
        if (txn->deny_page == NULL)
            txn->deny_page = "ERR_ACCESS_DENIED";
        if (txn->deny_status == 0)
            txn->deny_status = pages_status(pages_name(txn->deny_page));
        return txn_refuse(txn, txn->deny_status, txn->deny_page, txn->deny_detail);
    case BT_DROP:
        *done = false;
        if (!bt_without_client(txn))
            count(requests_denied);
        txn->keep_client = false;
        txn->step = STEP_finish;
        return GO_ON;
    case BT_PASS:
        break;
    }
    txn->hooks_done = true;
    return GO_ON;
}
