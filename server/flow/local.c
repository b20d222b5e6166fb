/* local.c - requests whose way ends here: PURGE, OPTIONS *, TRACE and OPTIONS with Max-Forwards.
 *
 * RFC 9110 7.6.2: at 0 we are the final recipient, else the number goes down by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"
#include "flow/txn.h"

static bool local_secret(enum header_id id)
{
    return id == HEADER_AUTHORIZATION || id == HEADER_PROXY_AUTHORIZATION || id == HEADER_COOKIE;
}

/* The request as we got it, without what a script must not read back (RFC 9110 9.3.8). */
static bt_str local_trace(struct bt_txn *txn)
{
    const struct head *req = &txn->req;
    struct str_builder out;

    str_builder_arena(&out, txn->arena, req->bytes);
    str_add(&out, req->method);
    str_add_char(&out, ' ');
    str_add(&out, txn->url.text);
    str_add_format(&out, " HTTP/1.%u\r\n", (unsigned)req->minor);
    for (unsigned i = 0; i < req->n; i++) {
        if (local_secret(req->field[i].id))
            continue;
        str_add(&out, req->field[i].name);
        str_add_literal(&out, ": ");
        str_add(&out, req->field[i].value);
        str_add_literal(&out, "\r\n");
    }
    str_add_literal(&out, "\r\n");
    return str_built(&out);
}

static enum go local_answer(struct bt_txn *txn)
{
    txn->deny_status = 200;
    txn->deny_page = NULL;
    if (txn->req.method_id == METHOD_TRACE) {
        txn->answer_fields = BT_STR("Content-Type: message/http\r\n");
        txn->answer_body = local_trace(txn);
    } else {
        txn->answer_fields = BT_STR(
            "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE, CONNECT\r\n");
    }
    txn->step = STEP_refuse;
    return GO_ON;
}

enum go local_look(struct bt_txn *txn)
{
    bool trace = txn->req.method_id == METHOD_TRACE;
    bt_str text = head_get(&txn->req, HEADER_MAX_FORWARDS);
    uint64_t left;

    if (txn->req.method_id == METHOD_PURGE) {
        /* It is meant for the cache of this proxy, and must not empty somebody else's. */
        txn->tag = "TCP_DENIED";
        return txn_refuse(txn, 403, "ERR_ACCESS_DENIED", "nothing is cached here to be purged");
    }
    if (!trace && txn->req.method_id != METHOD_OPTIONS)
        return GO_ON;
    if (trace && txn->upload.kind != BODY_NONE)
        return txn_refuse(txn, 400, "ERR_INVALID_REQ", "TRACE has no body");
    if (txn->url.form == URL_ASTERISK)
        return local_answer(txn);
    if (text.at == NULL || !str_uint(text, UINT32_MAX, &left))
        return GO_ON;
    if (left == 0)
        return local_answer(txn);
    for (unsigned i = 0; i < txn->req.n; i++)
        if (txn->req.field[i].id == HEADER_MAX_FORWARDS)
            txn->req.field[i].value = bt_str_printf(txn->arena, "%u", (unsigned)(left - 1));
    return GO_ON;
}
