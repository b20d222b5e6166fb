/* adapt.c - step: the request is admitted and may be changed now, its URL above all; may it still pass?
 *
 * http_access judges what the client asks for, adapted_http_access what it becomes. What the client
 * asked for is remembered (txn->asked) for logs; everything else sees the new URL alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"
#include "flow/access.h"
#include "flow/bump.h"
#include "flow/marks.h"
#include "flow/txn.h"
#include "flow/upgrade.h"
#include "plug/acl.h"
#include "stat/counts.h"

enum { URL_BYTES = 64 * 1024 }; /* as long as a client's may be by default, head and all */

enum go step_adapt(struct bt_txn *txn)
{
    bool done, pass;
    enum go go = txn_phase(txn, BT_AT_ADAPT, &done);

    if (!done)
        return go;
    if (!txn->settled && (txn->upgrade == NULL || !txn->upgrade->asking)) {
        go = access_ask(txn, ACCESS_ADAPTED, &pass);
        if (!pass)
            return go;
    }
    marks_admitted(txn);
    if (upgrade_decide(txn) == GO_WAIT)
        return GO_WAIT;
    txn->hooks_done = false;
    txn->step = bump_wanted(txn) ? STEP_bump : STEP_answer;
    return GO_ON;
}

/* Of another host or port nothing holds that was found out so far. */
static void addrs_forget(struct bt_txn *txn)
{
    if (txn->resolve != NULL)
        resolve_end(txn->resolve);
    if (txn->reverse != NULL)
        resolve_end(txn->reverse);
    txn->resolve = txn->reverse = NULL;
    txn->resolving = txn->reversing = false;
    txn->original = false;
    txn->addrs = NULL;
    txn->n_addrs = 0;
    txn->secure_key = BT_STR_NONE;
}

bool bt_url_set(struct bt_txn *txn, bt_str text, bool keep_host)
{
    bool connect = txn->req.method_id == METHOD_CONNECT;
    struct url url, *asked;

    if ((txn->step != STEP_admit && txn->step != STEP_adapt) || text.len == 0 ||
        text.len > URL_BYTES)
        return false;
    text = bt_str_copy(txn->arena, text);
    if (url_parse(txn->arena, txn->req.method_id, text, &url) != FAULT_NONE ||
        url.form != (connect ? URL_AUTHORITY : URL_ABSOLUTE))
        return false;
    if (txn->asked == NULL) {
        asked = bt_alloc_raw(txn->arena, sizeof *asked);
        *asked = txn->url;
        txn->asked = asked;
    }
    if (url.port != txn->url.port || !bt_str_eq(url.host, txn->url.host) ||
        !bt_str_eq(url.scheme, txn->url.scheme))
        addrs_forget(txn);
    txn->url = url;
    txn->keep_host = keep_host && head_has(&txn->req, HEADER_HOST);
    acl_forget(txn);
    count(urls_changed);
    return true;
}
