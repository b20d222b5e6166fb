/* fill.c - the origin's body into a sink: each piece before the client gets it, or at the origin's
 * own pace beside step serve.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "flow/core.h"
#include "flow/pace.h"
#include "flow/serve.h"
#include "flow/session.h"
#include "stat/counts.h"

enum { TURN_READS = 8 }; /* in one turn of the loop: others want theirs */

void bt_tap(struct bt_txn *txn, struct bt_sink *sink)
{
    if (tap_open(txn))
        tap_end(txn, false);
    txn->tap = bt_alloc(txn->arena, sizeof *txn->tap);
    txn->tap->sink = sink;
}

static int64_t sum(const bt_str *slice, int n)
{
    int64_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += (int64_t)slice[i].len;
    return bytes;
}

void tap_write(struct bt_txn *txn, const bt_str *slice, int n)
{
    struct tap *tap = txn->tap;

    if (n == 0 || !tap_open(txn))
        return;
    if (tap->sink->ops->write(tap->sink, slice, n))
        tap->taken += sum(slice, n);
    else
        tap->state = TAP_REFUSED;
}

void tap_end(struct bt_txn *txn, bool whole)
{
    struct tap *tap = txn->tap;

    if (!tap_open(txn))
        return;
    tap->state = whole ? TAP_WHOLE : TAP_CUT;
    tap->sink->ops->end(tap->sink, whole);
}

bool fill_part(struct bt_txn *txn)
{
    struct tap *tap = txn->tap;
    struct bt_source *source;

    /* A request whose body is still on its way is nothing that many wait for. */
    if (!tap_open(txn) || tap->alone || !txn->upload_over || tap->sink->ops->source == NULL)
        return false;
    source = tap->sink->ops->source(tap->sink, txn);
    tap->alone = source == NULL;
    if (source == NULL)
        return false;
    serve_take_over(txn, source);
    return true;
}

/* What was refused must not be lost: the client gets it when it has all that was taken. */
static void fill_keep(struct bt_txn *txn, const bt_str *slice, int n, bool last)
{
    struct tap *tap = txn->tap;
    char *at;

    timeout_clear(&txn->timeout);
    if (txn->serve == NULL ||
        !txn->serve->parted) { /* there is no client, or it gets something else */
        txn->keep_origin = false;
        origin_release(txn);
        return;
    }
    at = bt_alloc_raw(txn->arena, (size_t)sum(slice, n));
    tap->kept.at = at;
    for (int i = 0; i < n; i++) {
        memcpy(at, slice[i].at, slice[i].len);
        at += slice[i].len;
    }
    tap->kept.len = (size_t)(at - tap->kept.at);
    tap->kept_last = last;
}

void fill_cut(struct bt_txn *txn, enum txn_end why)
{
    if (why == END_ORIGIN_CUT)
        count(origin_aborted);
    txn->keep_origin = false;
    origin_release(txn);
    tap_end(txn, false);
    txn->tap->ended = why;
}

static void fill_whole(struct bt_txn *txn)
{
    timeout_clear(&txn->timeout);
    if (input_len(&txn->from_origin) > 0) {
        count(origin_surplus);
        txn->keep_origin = false;
    }
    if (!txn->pin) /* a slow client need not keep it from others */
        origin_release(txn);
    tap_end(txn, true);
}

/* Read more; false: there is nothing now, or nothing more. */
static bool fill_read(struct bt_txn *txn)
{
    int64_t room = pace_room(txn, PACE_ORIGIN, INT64_MAX);
    size_t most = room < SHARED_BYTES ? (size_t)room : SHARED_BYTES;
    ssize_t n;

    if (room == 0) {
        timeout_clear(&txn->timeout);
        return false;
    }
    n = input_read(&txn->from_origin, &txn->origin->stream, shared_origin, most);
    if (n > 0) {
        pace_took(txn, PACE_ORIGIN, n);
        txn->bytes.upstream_in += n;
        return true;
    }
    if (n == BT_IO_AGAIN) {
        timeout_set(&origin_reading, &txn->timeout);
    } else if (n == BT_IO_EOF && body_eof(&txn->download)) {
        txn->keep_origin = false;
        fill_whole(txn);
    } else {
        fill_cut(txn, END_ORIGIN_CUT);
    }
    return false;
}

void fill_move(struct bt_txn *txn)
{
    bt_str slice[SLICES_MAX];
    int reads = 0, n;

    while (tap_open(txn)) {
        enum body_result result = input_slices(&txn->from_origin, &txn->download, slice, SLICES_MAX,
                                               &n);
        txn->bytes.body_in += sum(slice, n);
        tap_write(txn, slice, n);
        if (txn->tap->state == TAP_REFUSED) {
            fill_keep(txn, slice, n, result == BODY_END);
        } else if (result == BODY_END) {
            fill_whole(txn);
        } else if (result == BODY_BAD) {
            fill_cut(txn, END_ORIGIN_CUT);
        } else if (result == BODY_MORE) {
            if (reads++ == TURN_READS) {
                bt_resume(txn);
                return;
            }
            if (!fill_read(txn))
                return;
        }
    }
}
