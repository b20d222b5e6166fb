/* tunnel.c - step: bytes pass both ways; after CONNECT, or after 101 Switching Protocols.
 *
 * What the client sent behind its head goes up first, and only now: before the answer it would have
 * been bytes for nobody. Likewise what the origin sent behind its 101.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/str.h"
#include "flow/core.h"
#include "flow/header_rules.h"
#include "flow/pace.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "http/hop.h"
#include "net/relay.h"
#include "stat/counts.h"

static struct timeout_class tunnel_silent;

void tunnel_stop(struct bt_txn *txn)
{
    struct relay *relay = txn->relay;

    relay_stop(relay);
    txn->bytes.request += (int64_t)relay->bytes[0];
    txn->bytes.upstream_out += (int64_t)relay->bytes[0];
    txn->bytes.reply += (int64_t)relay->bytes[1];
    txn->bytes.upstream_in += (int64_t)relay->bytes[1];
    txn->bytes.body_in += (int64_t)relay->bytes[1];
    txn->relay = NULL;
    count_by(tunnels_open, -1);
}

static void tunnel_over(struct relay *relay, enum relay_why why)
{
    struct bt_txn *txn = relay->owner;

    tunnel_stop(txn);
    if (why == RELAY_IDLE)
        txn->ended = END_TIMEOUT;
    txn->step = STEP_finish;
    txn_run(txn);
}

/* The head that opens the tunnel. */
static bt_str tunnel_head(struct bt_txn *txn)
{
    struct header_pass *pass;
    struct writer w;
    char *from, *own;
    bt_str protocol;

    if (txn->req.method_id == METHOD_CONNECT) {
        txn->rep = (struct head){.status = 200, .minor = 1, .content_length = -1};
        if (txn->implied)
            return BT_STR_NONE; /* the client has not asked for one */
        if (txn->reply_fields.len > 0)
            return bt_str_printf(txn->arena, "HTTP/1.1 200 Connection established\r\n%.*s\r\n",
                                 BT_STR_ARGS(txn->reply_fields));
        return BT_STR("HTTP/1.1 200 Connection established\r\n\r\n");
    }
    pass = header_pass_begin(HEADER_REPLY, txn, &txn->rep);
    w = frame_writer(txn, &txn->rep, header_pass_room(pass));
    from = w.at;
    protocol = head_get(&txn->rep, HEADER_UPGRADE);
    hop_mark(&txn->rep);
    writer_status_line(&w, txn->rep.status, txn->rep.reason);
    own = w.at;
    if (core->via)
        hop_via(&w, &txn->rep, core->via_text);
    header_pass_lines(pass, &w, own);
    header_pass_fields(pass, &w, &txn->rep);
    own = w.at;
    writer_str(&w, txn->reply_fields);
    header_pass_lines(pass, &w, own);
    header_pass_end(pass, &w);
    writer_field(&w, BT_STR("Upgrade"), protocol);
    writer_field(&w, BT_STR("Connection"), BT_STR("upgrade"));
    writer_end(&w);
    return str_span(from, w.at);
}

bool tunnel_say(struct bt_txn *txn)
{
    struct framed answer = {.head = tunnel_head(txn)};

    txn->head_sent = true;
    txn->time.reply = clock_us();
    txn->bytes.reply_head = (int64_t)answer.head.len;
    return frame_write(&txn->session->stream, &answer, &txn->bytes.reply);
}

static bool tunnel_open(struct bt_txn *txn)
{
    struct input *up = &txn->session->in, *down = &txn->from_origin;
    bt_str surplus = {down->at, input_len(down)};
    struct framed answer = {.slice = &surplus, .n = surplus.len > 0};
    struct framed early = {.head = {up->at, input_len(up)}};
    bool whole;

    if (!txn->head_sent) {
        answer.head = tunnel_head(txn);
        txn->time.reply = clock_us();
        txn->bytes.reply_head = (int64_t)answer.head.len;
    }
    txn->head_sent = true;
    txn->tag = "TCP_TUNNEL";
    txn->keep_client = txn->keep_origin = false;
    txn->bytes.request += (int64_t)early.head.len;
    txn->bytes.body_in += (int64_t)surplus.len;
    whole = frame_write(&txn->session->stream, &answer, &txn->bytes.reply) &&
            frame_write(&txn->origin->stream, &early, &txn->bytes.upstream_out);
    up->at = up->end;
    down->at = down->end;
    return whole;
}

static int64_t tunnel_room(struct relay *relay)
{
    return pace_room(relay->owner, PACE_BOTH, INT64_MAX);
}

static void tunnel_took(struct relay *relay, int64_t n)
{
    pace_took(relay->owner, PACE_BOTH, n);
}

enum go step_tunnel(struct bt_txn *txn)
{
    if (txn->relay != NULL)
        return GO_WAIT;
    if (!tunnel_open(txn)) {
        txn->ended = END_CLIENT_GONE;
        txn->step = STEP_finish;
        return GO_ON;
    }
    timeout_clear(&txn->session->timeout);
    timeout_clear(&txn->timeout);
    count(tunnels);
    count(tunnels_open);
    txn->relay = bt_alloc(txn->arena, sizeof *txn->relay);
    txn->relay->owner = txn;
    if (txn->pace != NULL) {
        txn->relay->room = tunnel_room;
        txn->relay->took = tunnel_took;
    }
    relay_start(txn->relay, &txn->session->stream, &txn->origin->stream, &tunnel_silent,
                tunnel_over);
    return GO_WAIT;
}

void tunnel_start(void)
{
    relay_class_init(&tunnel_silent, core->read_timeout);
}
