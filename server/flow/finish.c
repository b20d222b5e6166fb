/* finish.c - step: the exchange is over; count it, log it, tell who wants to know.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "flow/logs.h"
#include "flow/own.h"
#include "flow/session.h"
#include "flow/tally.h"
#include "flow/txn.h"
#include "plug/phase.h"
#include "stat/counts.h"

static void count_status(int status)
{
    switch (status / 100) {
    case 2:
        count(responses_2xx);
        break;
    case 3:
        count(responses_3xx);
        break;
    case 4:
        count(responses_4xx);
        break;
    case 5:
        count(responses_5xx);
        break;
    default:
        break;
    }
}

/* Bytes to and from the origin, as far as they were not counted before. */
static void count_origin(struct bt_txn *txn)
{
    count_by(origin_bytes_in, txn->bytes.upstream_in - txn->told_in);
    count_by(origin_bytes_out, txn->bytes.upstream_out - txn->told_out);
    txn->told_in = txn->bytes.upstream_in;
    txn->told_out = txn->bytes.upstream_out;
}

void finish_tell(struct bt_txn *txn)
{
    txn->told = true;
    txn->time.end = clock_us();
    if (txn->ended == END_CLIENT_GONE)
        count(requests_aborted);
    if (txn->time.head == 0 && txn->rep.status == 0)
        return;
    if (txn->head_sent)
        count_status(txn->rep.status);
    tally(txn);
    count_by(client_bytes_in, txn->bytes.request);
    count_by(client_bytes_out, txn->bytes.reply);
    count_origin(txn);
    (void)phase_run(BT_AT_FINISH, txn, &txn->hook);
    if (txn->own == NULL)
        own_tell(txn);
    logs_write(txn);
}

/* It is no client's: who counts clients' requests does not mean it. */
static void finish_fetch(struct bt_txn *txn)
{
    txn->told = true;
    txn->time.end = clock_us();
    count_origin(txn);
    (void)phase_run(BT_AT_FINISH, txn, &txn->hook);
    logs_write(txn);
}

/* Nobody asked for it, so that it is in no log. */
static void finish_background(struct bt_txn *txn)
{
    txn->told = true;
    txn->time.end = clock_us();
    (void)phase_run(BT_AT_FINISH, txn, &txn->hook);
}

enum go step_finish(struct bt_txn *txn)
{
    if (txn->ended != END_WHOLE)
        txn->keep_client = false;
    if (txn->probe != NULL || txn->session->admin)
        txn->told = true;
    else if (txn->background)
        finish_background(txn);
    else if (!txn->told && txn->fetch != NULL)
        finish_fetch(txn);
    else if (!txn->told)
        finish_tell(txn);
    count_origin(txn);
    return GO_OVER;
}
