/* access.c - lists that decide whether an exchange goes on.
 *
 * What refuses leaves three things behind: the rule (txn->rule, for logs, pages and whoever asks
 * why), the ACL that was looked at last (for deny_info), and a count for each list.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/access.h"

#include <string.h>

#include "base/str.h"
#include "bt_log.h"
#include "flow/core.h"
#include "flow/deny.h"
#include "flow/login.h"
#include "flow/session.h"
#include "plug/rules.h"
#include "stat/counts.h"

static const struct {
    const char *name, *page, *detail, *tag;
} lists[] = {
    [ACCESS_HTTP] = {"http_access", "ERR_ACCESS_DENIED", "the access rules of this proxy forbid it",
                     "TCP_DENIED"},
    [ACCESS_ADAPTED] = {"adapted_http_access", "ERR_ACCESS_DENIED",
                        "the access rules of this proxy forbid it", "TCP_DENIED"},
    [ACCESS_MISS] = {"miss_access", "ERR_FORWARDING_DENIED",
                     "this proxy does not forward such requests", "TCP_DENIED"},
    [ACCESS_REPLY] = {"http_reply_access", "ERR_ACCESS_DENIED",
                      "the access rules of this proxy keep the answer back", "TCP_DENIED_REPLY"},
};

static const struct bt_rules *rules_of(enum access_list list)
{
    switch (list) {
    case ACCESS_HTTP:
        return core->http_access;
    case ACCESS_ADAPTED:
        return core->adapted_access;
    case ACCESS_MISS:
        return core->miss_access;
    case ACCESS_REPLY:
        break;
    }
    return core->reply_access;
}

static void count_denied(enum access_list list)
{
    switch (list) {
    case ACCESS_HTTP:
        count(access_denied);
        break;
    case ACCESS_ADAPTED:
        count(access_adapted_denied);
        break;
    case ACCESS_MISS:
        count(access_miss_denied);
        break;
    case ACCESS_REPLY:
        count(access_reply_denied);
        break;
    }
}

/* Only tried out: say what it would have done. */
static bool audit(struct bt_txn *txn, enum access_list list, const struct bt_line *line)
{
    if (!core->access_audit || (list != ACCESS_HTTP && list != ACCESS_ADAPTED))
        return false;
    if (txn->audited)
        return true;
    count(access_audited);
    txn->audited = true;
    txn->audit = line;
    return true;
}

static enum go denied(struct bt_txn *txn, enum access_list list, const struct bt_ruling *ruling)
{
    count_denied(list);
    count(requests_denied);
    txn->rule = ruling->line;
    txn->tag = lists[list].tag;
    txn->dial_errno = 0; /* an error that is kept back is not told of by the way */
    if (list != ACCESS_REPLY && login_is_wanted(txn, ruling->match))
        return login_challenge(txn);
    return deny_apply(txn, 403, lists[list].page, lists[list].detail);
}

enum go access_ask(struct bt_txn *txn, enum access_list list, bool *pass)
{
    const struct bt_rules *rules = rules_of(list);
    struct bt_ruling ruling;

    *pass = true;
    if (rules == NULL && list != ACCESS_HTTP)
        return GO_ON;
    ruling = bt_rules_run(rules, txn);
    *pass = false;
    if (ruling.match == BT_WAIT) {
        session_watch(txn->session); /* a client that leaves need not be decided about */
        return GO_WAIT;
    }
    if (ruling.match == BT_BROKEN && !login_is_wanted(txn, BT_BROKEN)) {
        count(access_broken);
        bt_log_limited(txn, BT_WARN, 60, "%s could not be evaluated, so it denies",
                       lists[list].name);
    }
    *pass = ruling.match == BT_YES && ruling.action == BT_ALLOW;
    if (!*pass)
        *pass = audit(txn, list, ruling.line);
    else if (list == ACCESS_HTTP)
        count(access_allowed);
    if (!*pass)
        return denied(txn, list, &ruling);
    if (list == ACCESS_HTTP)
        txn->rule = ruling.line;
    return GO_ON;
}

/* ---- answers ---- */

/* There is nothing to keep back in these. */
static bool always_passes(int status)
{
    return status < 200 || status == 204 || status == 304;
}

enum go access_reply(struct bt_txn *txn, bool *pass)
{
    enum go go = GO_ON;

    *pass = true;
    if (core->reply_access == NULL || always_passes(txn->rep.status))
        return GO_ON;
    go = access_ask(txn, ACCESS_REPLY, pass);
    if (!*pass && go == GO_ON)
        txn->keep_origin = false; /* its body is not read */
    return go;
}

enum go access_own_answer(struct bt_txn *txn, bool *pass)
{
    *pass = true;
    if (core->reply_access == NULL || str_starts(str_from(txn->tag), BT_STR("TCP_DENIED")) ||
        txn->req.method.len == 0 || txn->url.form == URL_ORIGIN)
        return GO_ON;
    /* What ACLs said of an origin's answer does not hold for this one. */
    if (txn->time.reply != 0 && !txn->reply_asked)
        acl_forget(txn);
    txn->reply_asked = true;
    return access_reply(txn, pass);
}

/* ---- reasons ---- */

bt_str access_place(struct bt_txn *txn, const struct bt_line *line)
{
    bt_str file = str_from(line->name.file);
    char *text = bt_alloc_raw(txn->arena, file.len + 22), *at = text + file.len;

    memcpy(text, file.at, file.len);
    *at++ = ':';
    return str_span(text, str_put_uint(at, line->name.line));
}

bt_str access_text(struct bt_txn *txn, const struct bt_line *line)
{
    return rules_line_text(line, txn->arena);
}
