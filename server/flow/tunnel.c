/* tunnel.c - step: CONNECT; the origin answers by its connection, then bytes pass both ways.
 *
 * What the client sent behind its head goes up first, and only now: before the 200 it would have
 * been bytes for nobody.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "flow/core.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "net/relay.h"
#include "stat/counts.h"

static struct timeout_class tunnel_silent;

static void tunnel_over(struct relay *relay, enum relay_why why)
{
    struct bt_txn *txn = relay->owner;

    txn->bytes.request += (int64_t)relay->bytes[0];
    txn->bytes.upstream_out += (int64_t)relay->bytes[0];
    txn->bytes.reply += (int64_t)relay->bytes[1];
    txn->bytes.upstream_in += (int64_t)relay->bytes[1];
    txn->bytes.body_in = (int64_t)relay->bytes[1];
    txn->relay = NULL;
    count_by(tunnels_open, -1);
    if (why == RELAY_IDLE)
        txn->ended = END_TIMEOUT;
    txn->step = STEP_finish;
    txn_run(txn);
}

static bool tunnel_established(struct bt_txn *txn)
{
    struct session *session = txn->session;
    struct framed answer = {.head = BT_STR("HTTP/1.1 200 Connection established\r\n\r\n")};
    struct framed early = {.head = {session->in.at, input_len(&session->in)}};
    bool whole;

    txn->rep = (struct head){.status = 200, .minor = 1, .content_length = -1};
    txn->head_sent = true;
    txn->keep_client = false;
    txn->time.reply = clock_us();
    txn->bytes.reply_head = (int64_t)answer.head.len;
    txn->bytes.request += (int64_t)early.head.len;
    whole = frame_write(&session->stream, &answer, &txn->bytes.reply)
            && frame_write(&txn->origin->stream, &early, &txn->bytes.upstream_out);
    session->in.at = session->in.end;
    return whole;
}

enum go step_tunnel(struct bt_txn *txn)
{
    if (txn->relay != NULL)
        return GO_WAIT;
    if (!tunnel_established(txn)) {
        txn->ended = END_CLIENT_GONE;
        txn->step = STEP_finish;
        return GO_ON;
    }
    timeout_clear(&txn->session->timeout);
    count(tunnels);
    count(tunnels_open);
    txn->relay = bt_alloc(txn->arena, sizeof *txn->relay);
    txn->relay->owner = txn;
    relay_start(txn->relay, &txn->session->stream, &txn->origin->stream, &tunnel_silent,
                tunnel_over);
    return GO_WAIT;
}

void tunnel_start(void)
{
    relay_class_init(&tunnel_silent, core->read_timeout);
}
