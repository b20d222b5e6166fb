/* deliver.c - step: the response's head and body to the client, as they come.
 *
 * Nothing is read from the origin that the client would not take: pending() is the back-pressure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "flow/access.h"
#include "flow/core.h"
#include "flow/limits.h"
#include "flow/marks.h"
#include "flow/pace.h"
#include "flow/serve.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "stat/counts.h"

enum { AHEAD_LEAST = 4096 }; /* of read_ahead_gap: less would only cost calls */

static enum go deliver_over(struct bt_txn *txn)
{
    if (input_len(&txn->from_origin) > 0) {
        count(origin_surplus);
        txn->keep_origin = false;
    }
    if (!txn->upload_over)
        txn->keep_client = txn->keep_origin = false;
    txn->step = STEP_finish;
    return GO_ON;
}

static enum go deliver_gone(struct bt_txn *txn)
{
    return txn_leave(txn, END_CLIENT_GONE);
}

void deliver_discard(struct bt_txn *txn)
{
    bt_str slice[SLICES_MAX];
    enum body_result result = BODY_DATA;
    int n;

    while (result == BODY_DATA)
        result = input_slices(&txn->from_origin, &txn->download, slice, SLICES_MAX, &n);
    if (result != BODY_END || input_len(&txn->from_origin) > 0 || !txn->upload_over)
        txn->keep_origin = false;
    txn->from_origin.at = txn->from_origin.end;
    origin_release(txn);
}

/* The origin ended before its body did. */
static enum go deliver_cut(struct bt_txn *txn)
{
    count(origin_aborted);
    tap_end(txn, false);
    txn->ended = END_ORIGIN_CUT;
    txn->keep_origin = false;
    txn->client->cut(txn);
    txn->step = STEP_finish;
    return GO_ON;
}

/* It is longer than it may be: what still may pass, and no proper end. */
static enum go deliver_limit(struct bt_txn *txn, const bt_str *slice, int n)
{
    tap_end(txn, false);
    if (!txn->client->body(txn, slice, n, false))
        return deliver_gone(txn);
    txn->ended = END_ORIGIN_CUT;
    txn->keep_origin = false;
    txn->client->cut(txn);
    txn->step = STEP_finish;
    return GO_ON;
}

/* What the client is told about the length. */
static int64_t deliver_length(const struct bt_txn *txn)
{
    switch (txn->download.kind) {
    case BODY_LENGTH:
        return (int64_t)txn->download.left;
    case BODY_CHUNKED:
    case BODY_CLOSE:
        return LENGTH_UNKNOWN;
    case BODY_NONE:
        break;
    }
    /* No body follows: HEAD and 304 may still say how long it would be. */
    return txn->rep.content_length >= 0 && txn->rep.status != 204 ? txn->rep.content_length
                                                                  : LENGTH_UNSAID;
}

static void deliver_begin(struct bt_txn *txn)
{
    txn->head_sent = true;
    txn->client->head(txn, deliver_length(txn));
}

/* How much is held for a client, at most: it is read when there is nothing left of the last read. */
static size_t ahead(void)
{
    int64_t gap = core->read_ahead_gap.bytes;

    return gap <= AHEAD_LEAST ? AHEAD_LEAST : gap < SHARED_BYTES ? (size_t)gap : SHARED_BYTES;
}

/* Bytes of the body that are still to come. */
static int64_t body_ahead(const struct bt_txn *txn)
{
    return txn->download.kind == BODY_LENGTH ? (int64_t)txn->download.left
           : txn->download.kind == BODY_NONE ? 0
                                             : INT64_MAX;
}

/* The next pieces, as many as the pace of the exchange allows. */
static enum body_result deliver_slices(struct bt_txn *txn, bt_str *slice, int *n)
{
    struct input *in = &txn->from_origin;
    const char *at = in->at, *end = in->end;
    int64_t room = pace_room(txn, PACE_BOTH, body_ahead(txn)), had = txn->bytes.body_in;
    bool less = room < (int64_t)input_len(in);
    enum body_result result;

    if (less)
        in->end = in->at + room;
    result = input_slices(in, &txn->download, slice, SLICES_MAX, n);
    in->end = end;
    /* All that came so far is framing; or it needs more than there is room for. */
    if (less && result == BODY_MORE)
        result = in->at != at ? BODY_DATA : input_slices(in, &txn->download, slice, SLICES_MAX, n);
    for (int i = 0; i < *n; i++)
        txn->bytes.body_in += (int64_t)slice[i].len;
    pace_took(txn, PACE_BOTH, txn->bytes.body_in - had);
    return result;
}

/* Its rate is used up; that of the request's body is not. */
static enum go deliver_wait(struct bt_txn *txn)
{
    timeout_clear(&txn->timeout);
    return txn->upload_over || upload_move(txn, BT_STR_NONE) ? GO_WAIT : GO_ON;
}

/* Read more of the body; GO_ON: there is more, or txn->step was changed. */
static enum go deliver_read(struct bt_txn *txn)
{
    int64_t room = pace_room(txn, PACE_BOTH, body_ahead(txn));
    size_t most = room < (int64_t)ahead() ? (size_t)room : ahead();
    ssize_t n = input_read(&txn->from_origin, &txn->origin->stream, shared_origin, most);

    if (n > 0) {
        txn->bytes.upstream_in += n;
        return GO_ON;
    }
    if (n == BT_IO_AGAIN) {
        if (!txn->upload_over && !upload_move(txn, BT_STR_NONE))
            return GO_ON;
        timeout_set(&origin_reading, &txn->timeout);
        session_notice(txn->session);
        return GO_WAIT;
    }
    if (n == BT_IO_EOF && body_eof(&txn->download)) {
        txn->keep_origin = false;
        tap_end(txn, true);
        return txn->client->body(txn, NULL, 0, true) ? deliver_over(txn) : deliver_gone(txn);
    }
    return deliver_cut(txn);
}

/* All was said; wait until the client has it, so that the log tells the truth. */
static enum go deliver_drained(struct bt_txn *txn)
{
    if (txn->client->pending(txn) == 0)
        return deliver_over(txn);
    timeout_clear(&txn->timeout);
    timeout_set(&session_writing, &txn->session->timeout);
    return GO_WAIT;
}

/* There is no client: the sink gets it, or it is dropped. */
static enum go deliver_nobody(struct bt_txn *txn)
{
    txn->head_sent = true;
    txn->step = STEP_serve;
    if (!tap_open(txn))
        deliver_discard(txn);
    return GO_ON;
}

enum go step_deliver(struct bt_txn *txn)
{
    bt_str slice[SLICES_MAX];
    bool done, fresh = !txn->head_sent;
    enum go go;

    if (fresh) {
        if (!limits_reply_fits(txn, txn->download.kind != BODY_NONE))
            return GO_ON;
        go = txn_phase(txn, BT_AT_RESPONSE, &done);
        if (!done)
            return go;
        if (txn->client->nobody)
            return deliver_nobody(txn);
        go = access_reply(txn, &done);
        if (!done)
            return go;
        if (pace_room(txn, PACE_BOTH, body_ahead(txn)) == 0)
            return deliver_wait(txn);
        marks_answer(txn, false);
        deliver_begin(txn);
    }
    for (;;) {
        int n;
        if (!fresh && txn->client->pending(txn) > 0) {
            timeout_clear(&txn->timeout);
            timeout_set(&session_writing, &txn->session->timeout);
            return GO_WAIT;
        }
        /* Not the one of session_notice(): pieces that come often would put it off for ever. */
        if (txn->session->timeout.cls == &session_writing)
            timeout_clear(&txn->session->timeout);
        if (!fresh && txn->download.done)
            return deliver_drained(txn);
        if (pace_room(txn, PACE_BOTH, body_ahead(txn)) == 0)
            return deliver_wait(txn);
        enum body_result result = deliver_slices(txn, slice, &n);
        if (result == BODY_BAD)
            return deliver_cut(txn);
        if (limits_reply_cut(txn, slice, &n))
            return deliver_limit(txn, slice, n);
        if (txn->tap != NULL) {
            tap_write(txn, slice, n);
            if (result == BODY_END)
                tap_end(txn, true);
        }
        if (fresh || n > 0 || result == BODY_END) {
            if (!txn->client->body(txn, slice, n, result == BODY_END))
                return deliver_gone(txn);
            fresh = false;
        }
        if (result == BODY_END)
            return deliver_drained(txn);
        if (tap_open(txn) && txn->client->pending(txn) > 0 && fill_part(txn))
            return GO_ON;
        if (result == BODY_MORE) {
            go = deliver_read(txn);
            if (go != GO_ON || txn->step != STEP_deliver)
                return go;
        }
    }
}
