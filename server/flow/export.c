/* export.c - bt_txn.h, each function a few lines over struct bt_txn.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt.h"
#include "flow/core.h"
#include "flow/limits.h"
#include "flow/pages.h"
#include "flow/serve.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "plug/field.h"

void *bt_txn_memory(struct bt_txn *txn, const struct bt_self *self)
{
    return slots_get(&txn->slots, SLOTS_TXN, self->number, txn->arena);
}

struct bt_arena *bt_conn_arena(struct bt_txn *txn)
{
    enum { CONN_CHUNK = 1024 };
    struct session *session = txn->session;

    if (session->arena == NULL)
        session->arena = arena_new(CONN_CHUNK);
    return session->arena;
}

void *bt_conn_memory(struct bt_txn *txn, const struct bt_self *self)
{
    return slots_get(&txn->session->slots, SLOTS_CONN, self->number, bt_conn_arena(txn));
}

struct bt_arena *bt_txn_arena(struct bt_txn *txn)
{
    return txn->arena;
}

const struct sockaddr *bt_client_addr(struct bt_txn *txn)
{
    return txn->source != NULL ? txn->source : &txn->session->peer.any;
}

const struct sockaddr *bt_local_addr(struct bt_txn *txn)
{
    return session_local(txn->session);
}

bt_str bt_port_name(struct bt_txn *txn)
{
    return txn->fetch != NULL ? BT_STR_NONE : core->ports[txn->session->port].name;
}

bool bt_as_origin(struct bt_txn *txn)
{
    return txn->fetch == NULL && core->ports[txn->session->port].mode == PORT_ACCEL;
}

bt_str bt_method(struct bt_txn *txn)
{
    return txn->req.method;
}

bt_str bt_scheme(struct bt_txn *txn)
{
    return txn->url.scheme;
}

bt_str bt_host(struct bt_txn *txn)
{
    return txn->url.host;
}

unsigned bt_port(struct bt_txn *txn)
{
    return txn->url.port;
}

bt_str bt_path(struct bt_txn *txn)
{
    return txn->url.path;
}

bt_str bt_url(struct bt_txn *txn)
{
    return txn->url.text;
}

bt_str bt_url_asked(struct bt_txn *txn)
{
    return txn->asked != NULL ? txn->asked->text : txn->url.text;
}

bt_str bt_url_login(struct bt_txn *txn)
{
    return txn->url.userinfo.len > 0 ? txn->url.userinfo : BT_STR_NONE;
}

const struct sockaddr *bt_host_addr(struct bt_txn *txn)
{
    return txn->url.host_is_addr ? &txn->url.addr.any : NULL;
}

bt_str bt_req_header(struct bt_txn *txn, bt_str name, size_t n)
{
    return head_find(&txn->req, name, n);
}

enum bt_match bt_destination(struct bt_txn *txn, const struct sockaddr *const **addrs, size_t *n)
{
    bool known = txn->addrs != NULL || txn->url.host_is_addr || bt_may_wait();
    enum bt_match match = known ? origin_addrs(txn) : BT_WAIT;

    *addrs = match == BT_YES ? txn->addrs : NULL;
    *n = match == BT_YES ? txn->n_addrs : 0;
    return match;
}

static void client_named(struct resolve *r)
{
    struct bt_txn *txn = r->owner;

    txn->naming_now = false;
    txn_run(txn);
}

enum bt_match bt_client_name(struct bt_txn *txn, bt_str *name)
{
    if (txn->naming_now || (txn->naming == NULL && !bt_may_wait()))
        return BT_WAIT;
    if (txn->naming == NULL) {
        txn->naming = bt_alloc(txn->arena, sizeof *txn->naming);
        txn->naming->owner = txn;
        if (resolve_reverse_start(txn->naming, bt_client_addr(txn), client_named) == RESOLVE_WAIT) {
            txn->naming_now = true;
            session_watch(txn->session);
            return BT_WAIT;
        }
    }
    *name = txn->naming->name;
    return name->len > 0 ? BT_YES : BT_NO;
}

int64_t bt_client_connections(struct bt_txn *txn)
{
    return limits_connections(txn->session);
}

void bt_client_connections_want(void)
{
    limits_count_connections();
}

static void reverse_found(struct resolve *r)
{
    struct bt_txn *txn = r->owner;

    txn->reversing = false;
    txn_run(txn);
}

enum bt_match bt_reverse(struct bt_txn *txn, bt_str *name)
{
    if (!txn->url.host_is_addr)
        return BT_NO;
    if (txn->reversing || (txn->reverse == NULL && !bt_may_wait()))
        return BT_WAIT;
    if (txn->reverse == NULL) {
        txn->reverse = bt_alloc(txn->arena, sizeof *txn->reverse);
        txn->reverse->owner = txn;
        if (resolve_reverse_start(txn->reverse, &txn->url.addr.any, reverse_found) ==
            RESOLVE_WAIT) {
            txn->reversing = true;
            session_watch(txn->session);
            return BT_WAIT;
        }
    }
    *name = txn->reverse->name;
    return name->len > 0 ? BT_YES : BT_NO;
}

int bt_status(struct bt_txn *txn)
{
    return txn->rep.status;
}

bt_str bt_rep_header(struct bt_txn *txn, bt_str name, size_t n)
{
    return head_find(&txn->rep, name, n);
}

void bt_deny(struct bt_txn *txn, int status, const char *page)
{
    txn->deny_status = status;
    txn->deny_page = page;
    txn->deny_detail = NULL;
}

void bt_deny_why(struct bt_txn *txn, bt_str why)
{
    txn->deny_detail = bt_str_copy(txn->arena, why).at;
}

bool bt_page_known(bt_str name)
{
    const char *near;

    return pages_known(pages_name(name.at), &near) || pages_loaded(name);
}

void bt_last(struct bt_txn *txn)
{
    txn->keep_client = false;
}

void bt_answer(struct bt_txn *txn, int status, bt_str fields, bt_str body)
{
    serve_stop(txn);
    txn->deny_status = status;
    txn->deny_page = NULL;
    txn->answer_fields = bt_str_copy(txn->arena, fields);
    txn->answer_body = bt_str_copy(txn->arena, body);
}

static void resume_now(struct deferred *deferred)
{
    txn_run(LIST_OF(deferred, struct bt_txn, resume));
}

void bt_resume(struct bt_txn *txn)
{
    /* Not at once: the caller may be a hook that is on the stack. */
    loop_defer(&txn->resume, resume_now);
}

struct acl_memo **acl_memo_place(struct bt_txn *txn)
{
    return &txn->acls;
}
