/* probe.c - exchanges of our own with one parent: is it there, is it well; connections in advance.
 *
 * A probe is an exchange without a client whose one way is that parent. It meets no hook, no rule, no cache
 * and no log; what fails on its way makes its end come early.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/probe.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "flow/core.h"
#include "flow/ghost.h"
#include "flow/route.h"
#include "flow/session.h"
#include "http/parse.h"

enum { PROBE_FIELDS = 8 };

static void probe_late(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, lifetime);

    txn_abort(txn, END_TIMEOUT);
}

/* The request, as if it had come. false: the URL is none. */
static bool probe_request(struct bt_txn *txn, bt_str url)
{
    struct head_field *fields = bt_alloc_raw(txn->arena, PROBE_FIELDS * sizeof *fields);
    bt_str head;

    if (url.len == 0)
        return true;
    if (url_parse(txn->arena, METHOD_GET, bt_str_copy(txn->arena, url), &txn->url) != FAULT_NONE ||
        txn->url.form != URL_ABSOLUTE)
        return false;
    head = bt_str_printf(txn->arena,
                         "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: %.*s\r\n"
                         "Cache-Control: no-cache\r\n\r\n",
                         BT_STR_ARGS(txn->url.text), BT_STR_ARGS(txn->url.authority),
                         BT_STR_ARGS(core->server_text));
    if (parse_request(&txn->req, (char *)(uintptr_t)head.at, head.len, fields, PROBE_FIELDS) !=
        FAULT_NONE)
        return false;
    body_init_request(&txn->upload, &txn->req);
    return true;
}

static void probe_route(struct bt_txn *txn, const struct bt_parent *parent)
{
    struct route *route = bt_alloc(txn->arena, sizeof *route);

    route->ways.way[0] = (struct bt_way){parent, "HIER_NONE"};
    route->ways.n = 1;
    txn->route = route;
}

bool bt_probe_start(struct bt_probe *probe)
{
    static struct timeout_class late; /* all of one kind: parents have few limits of time */
    struct bt_txn *txn = session_draining() ? NULL : ghost_new();

    if (txn == NULL)
        return false;
    if (late.expired == NULL)
        timeout_class_init(&late, probe->limit, probe_late);
    probe->reached = false;
    probe->status = 0;
    txn->background = txn->settled = txn->followed = txn->hooks_done = true;
    txn->time.start = txn->time.head = clock_us();
    if (!probe_request(txn, probe->url)) {
        txn_abort(txn, END_WHOLE);
        return false;
    }
    probe_route(txn, probe->parent);
    txn->probe = probe;
    probe->txn = txn;
    timeout_clear(&txn->lifetime);
    timeout_set_after(&late, &txn->lifetime, probe->limit);
    txn->step = STEP_upstream;
    bt_resume(txn);
    return true;
}

bool probe_reached(struct bt_txn *txn)
{
    txn->probe->reached = true;
    if (txn->probe->url.len > 0)
        return false;
    origin_hand_over(txn);
    txn->step = STEP_finish;
    return true;
}

enum go probe_answered(struct bt_txn *txn)
{
    txn->probe->status = txn->rep.status;
    txn->keep_origin = false;
    txn->step = STEP_finish;
    return GO_ON;
}

void probe_over(struct bt_txn *txn)
{
    struct bt_probe *probe = txn->probe;

    txn->probe = NULL;
    probe->txn = NULL;
    probe->done(probe);
}
