/* client_h1.c - the client interface over HTTP/1.1 (and 1.0).
 *
 * One exchange a connection at a time, so what head() built may lie in the worker's buffer until
 * body() sends both in one write: no other exchange can come in between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/socket.h>

#include "flow/client.h"
#include "flow/accel.h"
#include "flow/access.h"
#include "flow/core.h"
#include "flow/header_rules.h"
#include "flow/pages.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "http/hop.h"

/* The head that was built and not sent yet; of the exchange whose step is running. */
static bt_str unsent;

static void h1_framing(struct bt_txn *txn, struct writer *w, int64_t length)
{
    int status = txn->rep.status;

    if (length >= 0) {
        writer_framing(w, length > 0 ? BODY_LENGTH : BODY_NONE, length);
    } else if (length == LENGTH_UNKNOWN && status != 204 && status >= 200) {
        if (txn->req.minor >= 1) {
            txn->chunked_out = true;
            writer_framing(w, BODY_CHUNKED, -1);
        } else {
            txn->keep_client = false; /* HTTP/1.0 knows the end by the connection's */
        }
    }
}

static void h1_head(struct bt_txn *txn, int64_t length)
{
    struct header_pass *pass;
    struct writer w;
    char *from, *own;

    if (core->ports[txn->session->port].site != NULL)
        accel_renew(txn);
    heads_hide_reply(txn);
    pass = header_pass_begin(HEADER_REPLY, txn, &txn->rep);
    w = frame_writer(txn, &txn->rep, header_pass_room(pass));
    from = w.at;

    writer_status_line(&w, txn->rep.status, txn->rep.reason);
    own = w.at;
    if (core->via)
        hop_via(&w, &txn->rep, core->via_text);
    header_pass_lines(pass, &w, own);
    header_pass_fields(pass, &w, &txn->rep);
    heads_show_reply(txn);
    own = w.at;
    writer_str(&w, txn->answer_fields);
    writer_str(&w, txn->reply_fields);
    if (pages->show_rule && txn->rule != NULL)
        writer_field(&w, BT_STR("X-Bobtail-Rule"), access_place(txn, txn->rule));
    header_pass_lines(pass, &w, own);
    header_pass_end(pass, &w);
    h1_framing(txn, &w, length);
    if (!core->client_persistent || session_draining() || session_aged(txn->session))
        txn->keep_client = false;
    if (!txn->keep_client)
        writer_field(&w, BT_STR("Connection"), BT_STR("close"));
    else if (txn->req.minor == 0)
        writer_field(&w, BT_STR("Connection"), BT_STR("keep-alive"));
    writer_end(&w);
    unsent = (bt_str){from, w.over ? 0 : (size_t)(w.at - from)};
    txn->bytes.reply_head = (int64_t)unsent.len;
}

static bool h1_interim(struct bt_txn *txn, const struct head *head)
{
    struct header_pass *pass;
    struct writer w;
    char *from;

    if (txn->req.minor == 0)
        return true; /* RFC 9110 15.2: never to HTTP/1.0 */
    pass = header_pass_begin(HEADER_REPLY, txn, head);
    w = frame_writer(txn, head, header_pass_room(pass));
    from = w.at;
    writer_status_line(&w, head->status, head->reason);
    header_pass_fields(pass, &w, head);
    header_pass_end(pass, &w);
    if (pass != NULL)
        acl_forget(txn); /* what they said of this one does not hold for the answer */
    writer_end(&w);
    struct framed f = {.head = {from, (size_t)(w.at - from)}};
    return frame_write(&txn->session->stream, &f, &txn->bytes.reply);
}

static bool h1_body(struct bt_txn *txn, const bt_str *slice, int n, bool last)
{
    struct framed f = {
        .head = unsent, .slice = slice, .n = n, .chunked = txn->chunked_out, .last = last};

    unsent = BT_STR_NONE;
    return frame_write(&txn->session->stream, &f, &txn->bytes.reply);
}

static bool h1_offer(struct bt_txn *txn, struct client_offer *o)
{
    struct framed f = {
        .head = unsent, .slice = o->slice, .n = o->n, .chunked = txn->chunked_out, .last = o->last};
    struct frame_state state = {.bytes = &txn->bytes.reply, .open = &txn->chunk_open};

    unsent = BT_STR_NONE;
    if (!frame_offer(&txn->session->stream, &f, &state))
        return false;
    o->last = f.last;
    o->full = state.full;
    o->taken = state.taken;
    return true;
}

static size_t h1_pending(struct bt_txn *txn)
{
    return stream_pending(&txn->session->stream);
}

static enum body_result h1_read_body(struct bt_txn *txn, bt_str *slice, int max, int *n)
{
    struct session *session = txn->session;

    for (;;) {
        const char *was = session->in.at;
        enum body_result result = input_slices(&session->in, &txn->upload, slice, max, n);
        txn->bytes.request += session->in.at - was;
        if (result != BODY_MORE)
            return result;
        ssize_t got = input_read(&session->in, &session->stream, shared_client, SHARED_BYTES);
        if (got > 0)
            continue;
        if (got == BT_IO_AGAIN) {
            session_watch(session);
            return BODY_MORE;
        }
        txn->ended = END_CLIENT_GONE;
        return BODY_BAD;
    }
}

static void h1_cut(struct bt_txn *txn)
{
    /* A body that ends with the connection would look whole: a reset says that it is not. */
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    txn->keep_client = false;
    (void)setsockopt(txn->session->stream.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    /* TLS says good-bye when it is closed, and that would say that it is whole: to a half that is shut
     * nothing can be said. */
    if (txn->session->stream.via != NULL)
        (void)shutdown(txn->session->stream.fd, SHUT_WR);
}

const struct client_ops client_h1 = {
    .name = "HTTP/1.1",
    .head = h1_head,
    .interim = h1_interim,
    .body = h1_body,
    .offer = h1_offer,
    .pending = h1_pending,
    .read_body = h1_read_body,
    .cut = h1_cut,
};
