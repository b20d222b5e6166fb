/* receive.c - step: wait for the whole head of the response; interim ones pass; try again or go on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "bt_log.h"
#include "flow/core.h"
#include "flow/pinned.h"
#include "flow/probe.h"
#include "flow/route.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "flow/upgrade.h"
#include "http/date.h"
#include "http/hop.h"
#include "http/parse.h"
#include "stat/counts.h"

enum { FIELDS_MAX = 256, INTERIM_MAX = 16 };

static enum go receive_bad(struct bt_txn *txn, const char *page, const char *detail)
{
    count(origin_bad);
    txn->keep_origin = false;
    route_tell(txn, BT_PARENT_SILENT);
    return route_fail(txn, 502, page, detail);
}

/* May another try begin? */
static bool receive_in_time(const struct bt_txn *txn)
{
    int64_t limit = core->forward_timeout.ms;

    return limit < 0 || clock_us() - txn->time.head < limit * 1000;
}

/* A kept connection that its origin closed while the request was on its way is nobody's fault. */
static enum go receive_nothing(struct bt_txn *txn, bool error)
{
    bool again = txn->reused && txn_retriable(txn) && input_len(&txn->from_origin) == 0 &&
                 (int64_t)txn->tries < core->forward_max_tries && receive_in_time(txn);

    txn->keep_origin = false;
    if (again) {
        count(origin_retries);
        origin_release(txn);
        txn->step = STEP_upstream;
        txn->hooks_done = true;
        return GO_ON;
    }
    if (input_len(&txn->from_origin) > 0)
        return receive_bad(txn, "ERR_INVALID_RESP", "the connection ended within the head");
    if (!txn->reused)
        route_tell(txn, BT_PARENT_SILENT);
    return route_fail(txn, 502, error ? "ERR_READ_ERROR" : "ERR_ZERO_SIZE_OBJECT",
                      error ? "the connection broke before the answer"
                            : "the connection ended without an answer");
}

/* Take the head of `len` bytes out of the input. */
static enum head_fault receive_parse(struct bt_txn *txn, size_t len)
{
    static struct head_field fields[FIELDS_MAX];
    char *bytes = bt_alloc_raw(txn->arena, len);
    enum head_fault fault;

    memcpy(bytes, txn->from_origin.at, len);
    txn->from_origin.at += len;
    txn->scanned = 0;
    fault = parse_response(&txn->rep, bytes, len, fields, FIELDS_MAX);
    if (fault == FAULT_NONE) {
        size_t size = txn->rep.n * sizeof *fields;
        size_t more = 2 * sizeof *fields; /* receive_date(), pinned_note_response() */
        txn->rep.field = memcpy(bt_alloc_raw(txn->arena, size + more), fields, size);
    }
    return fault;
}

static enum go receive_interim(struct bt_txn *txn)
{
    if (txn->rep.status == 101 && (upgrade_offer(txn).len == 0 || !txn->rep.upgrade))
        return receive_bad(txn, "ERR_INVALID_RESP", "101 Switching Protocols was not asked for");
    if (txn->rep.status == 101) {
        route_tell(txn, BT_PARENT_ANSWERED);
        txn->step = STEP_tunnel;
        return GO_ON;
    }
    if (arena_over(txn->arena)) {
        count(exchange_memory);
        return receive_bad(txn, "ERR_TOO_BIG", "its heads take more memory than one exchange may");
    }
    if (++txn->interim > INTERIM_MAX)
        return receive_bad(txn, "ERR_INVALID_RESP", "too many interim responses");
    hop_mark(&txn->rep);
    if (!txn->client->interim(txn, &txn->rep)) {
        txn->ended = END_CLIENT_GONE;
        txn->step = STEP_finish;
        return GO_ON;
    }
    txn->rep = (struct head){.content_length = -1};
    return GO_ON; /* the same step once more */
}

/* A recipient that has a clock says when (RFC 9110 6.6.1). */
static void receive_date(struct bt_txn *txn)
{
    char *date = bt_alloc_raw(txn->arena, DATE_LEN);

    date_print(date, clock_wall_s());
    txn->rep.field[txn->rep.n++] = (struct head_field){
        .id = HEADER_DATE, .name = BT_STR("Date"), .value = {date, DATE_LEN}};
}

/* Is what came together with the head, of a body in chunks, no such body? The client has heard
 * nothing yet, and can be told. */
static bool receive_broken(const struct bt_txn *txn)
{
    struct body body = txn->download;
    const char *at = txn->from_origin.at;
    enum body_result result = BODY_DATA;
    bt_str piece;

    while (body.kind == BODY_CHUNKED && result == BODY_DATA)
        result = body_next(&body, &at, txn->from_origin.end, &piece);
    return result == BODY_BAD;
}

/* A parent's challenge that the client is to see, although it is for the next hop. */
static void receive_challenge(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);

    for (unsigned i = 0; parent != NULL && parent->pass_login && i < txn->rep.n; i++)
        if (txn->rep.field[i].id == HEADER_PROXY_AUTHENTICATE ||
            txn->rep.field[i].id == HEADER_PROXY_AUTHENTICATION_INFO)
            txn->rep.field[i].drop = false;
}

/* A parent's yes or no to the client's CONNECT. */
static enum go receive_connected(struct bt_txn *txn)
{
    txn->keep_client = false; /* what it said behind its CONNECT is no request */
    txn->keep_origin = false;
    if (txn->rep.status < 300) {
        txn->step = STEP_tunnel;
        return GO_ON;
    }
    if (txn->head_sent || txn->implied) { /* yes was said already, or nothing can be said */
        txn->step = STEP_finish;
        return GO_ON;
    }
    body_init_response(&txn->download, &txn->rep, METHOD_GET);
    hop_mark(&txn->rep);
    receive_challenge(txn);
    txn->step = STEP_deliver;
    return GO_ON;
}

/* Deliver takes it from here. */
static enum go receive_final(struct bt_txn *txn)
{
    txn->time.reply = clock_us();
    if (txn->probe != NULL)
        return probe_answered(txn);
    if (route_refused(txn))
        return GO_ON;
    if (txn->req.method_id == METHOD_CONNECT)
        return receive_connected(txn);
    if (!head_has(&txn->rep, HEADER_DATE))
        receive_date(txn);
    txn->keep_origin = txn->rep.keep_alive;
    pinned_note_response(txn);
    body_init_response(&txn->download, &txn->rep, txn->req.method_id);
    if (receive_broken(txn)) {
        txn->rep = (struct head){.content_length = -1};
        return receive_bad(txn, "ERR_INVALID_RESP", head_fault_text(FAULT_CHUNK));
    }
    hop_mark(&txn->rep);
    receive_challenge(txn);
    txn->step = STEP_deliver;
    return GO_ON;
}

static enum go receive_head(struct bt_txn *txn, size_t len)
{
    enum head_fault fault = receive_parse(txn, len);

    if (fault != FAULT_NONE) {
        bt_log_limited(txn, BT_INFO, 10, "bad response: %s", head_fault_text(fault));
        txn->rep = (struct head){.content_length = -1};
        return receive_bad(txn, "ERR_INVALID_RESP", head_fault_text(fault));
    }
    if (txn->rep.status < 200)
        return receive_interim(txn);
    return receive_final(txn);
}

static size_t receive_limit(void)
{
    return core->reply_header_max.bytes > 0 ? (size_t)core->reply_header_max.bytes : SIZE_MAX / 2;
}

enum go step_receive(struct bt_txn *txn)
{
    struct input *in = &txn->from_origin;

    for (;;) {
        size_t len = input_len(in), scanned = txn->scanned;
        if (len > 0) {
            size_t head = head_end(in->at, len, &scanned);
            txn->scanned = (uint32_t)scanned;
            if (head > receive_limit() || (head == 0 && len >= receive_limit()))
                return receive_bad(txn, "ERR_TOO_BIG", "the head of the answer is too large");
            if (head > 0)
                return receive_head(txn, head);
            if (head_peek_response(in->at, len) != FAULT_NONE)
                return receive_bad(txn, "ERR_INVALID_RESP", "the answer does not begin as HTTP");
        }
        ssize_t n = input_read(in, &txn->origin->stream, shared_origin, receive_limit() + 1);
        if (n > 0) {
            txn->bytes.upstream_in += n;
            continue;
        }
        if (n != BT_IO_AGAIN)
            return receive_nothing(txn, n == BT_IO_ERROR);
        if (!txn->upload_over && !upload_move(txn, BT_STR_NONE))
            return GO_ON;
        return GO_WAIT;
    }
}
