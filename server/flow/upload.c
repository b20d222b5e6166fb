/* upload.c - the request's body on its way up, beside receive and deliver.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt_log.h"
#include "flow/limits.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "net/stream.h"
#include "stat/counts.h"

/* The client's bytes are wrong, or it is gone. */
static bool upload_bad(struct bt_txn *txn)
{
    txn->keep_client = txn->keep_origin = false;
    if (txn->ended != END_CLIENT_GONE) {
        count(parse_bad_chunk);
        if (!txn->head_sent) {
            (void)txn_refuse(txn, 400, "ERR_INVALID_REQ", "the chunked body is malformed");
            return false;
        }
        txn->ended = END_CLIENT_GONE;
    }
    txn->step = STEP_finish;
    return false;
}

bool upload_move(struct bt_txn *txn, bt_str head)
{
    struct stream *to = &txn->origin->stream;
    bt_str slice[SLICES_MAX];
    struct framed f = {.head = head, .slice = slice, .chunked = txn->upload.kind == BODY_CHUNKED};

    while (stream_pending(to) == 0) {
        enum body_result result = BODY_END;
        if (!txn->upload_over)
            result = txn->client->read_body(txn, slice, SLICES_MAX, &f.n);
        if (result == BODY_BAD)
            return upload_bad(txn);
        if (!limits_upload_fits(txn))
            return false;
        f.last = result == BODY_END && !txn->upload_over;
        if (f.n > 0)
            txn->upload_begun = true;
        if (!frame_write(to, &f, &txn->bytes.upstream_out)) {
            return true; /* it may have answered before it closed: receive looks for that first */
        }
        if (f.n > 0) /* it goes on: the origin need not have answered yet */
            timeout_set(&origin_reading, &txn->timeout);
        f.head = BT_STR_NONE;
        if (result == BODY_END)
            txn->upload_over = true;
        if (result == BODY_MORE)
            limits_feed(txn);
        if (result != BODY_DATA)
            break;
    }
    return true;
}
