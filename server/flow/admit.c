/* admit.c - step: is the request sane, may it pass?
 *
 * Hooks of phase REQUEST are asked first, since a module may settle what the rules would else
 * decide; then http_access. The order of a refusal is that of Squid: what can be told from the head
 * alone comes before access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt_log.h"
#include "flow/access.h"
#include "flow/core.h"
#include "flow/follow.h"
#include "flow/intercept.h"
#include "flow/limits.h"
#include "flow/own.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "http/hop.h"
#include "stat/counts.h"

/* What has been here before would come back for ever. */
static bool admit_loop(struct bt_txn *txn)
{
    return core->via && head_has(&txn->req, HEADER_VIA) &&
           hop_loops(&txn->req, core->unique_hostname);
}

/* An expectation that nobody here can meet (RFC 9110 10.1.1). */
static bool admit_expects_too_much(const struct bt_txn *txn)
{
    return head_has(&txn->req, HEADER_EXPECT) && txn->req.minor >= 1 && !txn->req.expect_continue;
}

enum go step_admit(struct bt_txn *txn)
{
    bool done, pass;
    enum go go;

    if (txn->session->admin)
        return own_answer_now(txn);
    if (core->host_strict || txn->session->redirected) {
        go = intercept_check(txn);
        if (go != GO_ON || txn->step != STEP_admit)
            return go;
    }
    follow_walk(txn);
    if (limits_request_too_big(txn))
        return txn_refuse(txn, 413, "ERR_TOO_BIG", "the request's body is larger than it may be");
    go = txn_phase(txn, BT_AT_REQUEST, &done);
    if (!done)
        return go;
    if (!txn->settled) {
        go = access_ask(txn, ACCESS_HTTP, &pass);
        if (!pass)
            return go;
    }
    if (txn->own != NULL)
        return own_answer_now(txn);
    if (admit_expects_too_much(txn))
        return txn_refuse(txn, 417, "ERR_INVALID_REQ", "only 100-continue can be expected");
    if (admit_loop(txn)) {
        bt_log_limited(txn, BT_WARN, 60, "forwarding loop: the request has been here before");
        txn->tag = "TCP_DENIED";
        return txn_refuse(txn, 508, "ERR_ACCESS_DENIED", "the request has passed here before");
    }
    txn->hooks_done = false;
    txn->step = STEP_adapt;
    return GO_ON;
}
