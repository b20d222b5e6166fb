/* secure.c - TLS for exchanges: the module's sides under the streams, and requests that come within.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/secure.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/bump.h"
#include "flow/core.h"
#include "flow/route.h"
#include "plug/generation.h"
#include "plug/registry.h"

const struct bt_tls *secure_tls(void)
{
    static const struct bt_tls *found;
    static bool looked;

    if (looked)
        return found;
    for (size_t i = 0; i < generation_current->n_modules; i++) {
        const struct bt_module *module = generation_current->modules[i];
        /* A module that was built before TLS was a row ends before it. */
        if (module->size > offsetof(struct bt_module, tls) && module->tls != NULL)
            found = module->tls;
    }
    looked = true;
    return found;
}

/* In a setup the list of modules is not done yet, but those that are sure to come are known. */
const struct bt_tls *bt_tls_module(void)
{
    const struct bt_module *const *modules;
    size_t n;

    if (generation_current->n_modules > 0)
        return secure_tls();
    n = registry_modules(generation_current->registry, &modules);
    for (size_t i = 0; i < n; i++)
        if (modules[i]->size > offsetof(struct bt_module, tls) && modules[i]->tls != NULL)
            return modules[i]->tls;
    return NULL;
}

/* ---- clients ---- */

bool secure_accept(struct session *s)
{
    const struct bt_tls *tls = secure_tls();
    bt_str early = {s->in.at, input_len(&s->in)};
    struct bt_tls_side *side = tls != NULL ? tls->accept(s->port, s->stream.fd, early) : NULL;

    s->in.at = s->in.end;
    if (side != NULL)
        stream_via(&s->stream, tls->transport, side);
    return side != NULL;
}

/* ---- origins ---- */

/* Who the origin must be. Within a CONNECT whoever its hello named, also for requests to others whom the
 * origin's certificate is for. */
static bt_str origin_host(struct bt_txn *txn)
{
    const struct inside *in = txn->session->inside;
    bt_str host = txn->url.host;

    if (in == NULL || txn->asked != NULL || bt_str_eq(host, in->name) ||
        bt_str_eq(host, in->host) || secure_tls()->covers(txn, host) != BT_YES)
        return host;
    return in->name;
}

bt_str secure_key(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);

    if (secure_tls() == NULL || !str_eq_literal(txn->url.scheme, "https") ||
        (parent != NULL && parent->origin)) /* which speaks TLS by itself, or does not */
        return BT_STR_NONE;
    if (txn->secure_key.at == NULL)
        txn->secure_key = secure_tls()->key(txn, origin_host(txn));
    return txn->secure_key;
}

static enum bt_tls_state origin_refused(struct bt_txn *txn, const char *why)
{
    txn->deny_detail = bt_str_printf(txn->arena, "%s", why).at;
    txn->keep_origin = false;
    txn->securing = false;
    origin_release(txn);
    return BT_TLS_FAILED;
}

/* Begin with that side. false: there is no memory for it. */
static bool begin(struct bt_txn *txn, struct bt_tls_side *side)
{
    if (side == NULL)
        return false;
    if (txn->origin->stream.via != NULL) /* TLS with the parent that it goes through */
        secure_tls()->within(side, txn->origin->stream.via_state);
    stream_via(&txn->origin->stream, secure_tls()->transport, side);
    txn->securing = true;
    timeout_set(&origin_securing, &txn->timeout);
    return true;
}

static enum bt_tls_state shake(struct bt_txn *txn)
{
    const struct bt_tls *tls = secure_tls();
    struct stream *stream = &txn->origin->stream;
    enum bt_tls_state state = tls->shake(stream->via_state);

    if (state == BT_TLS_FAILED || stream->failed)
        return origin_refused(txn, state == BT_TLS_FAILED ? tls->why(stream->via_state)
                                                          : "the connection broke");
    if (state == BT_TLS_WAIT) {
        stream_watch(stream);
        session_watch(txn->session);
        return BT_TLS_WAIT;
    }
    timeout_clear(&txn->timeout);
    txn->securing = false;
    return BT_TLS_READY;
}

enum bt_tls_state secure_origin(struct bt_txn *txn)
{
    const struct bt_tls *tls = secure_tls();
    bt_str host = origin_host(txn);
    struct stream *stream = &txn->origin->stream;
    enum bt_tls_state state;

    if (!txn->securing && !begin(txn, tls->connect(txn, stream->fd, host)))
        return origin_refused(txn, "no memory for TLS");
    state = shake(txn);
    if (state != BT_TLS_READY)
        return state;
    /* Faults that were forgiven are known now, and are not forgiven to everybody. */
    txn->secure_key = tls->key(txn, host);
    if (txn->route != NULL)
        txn->route->key = BT_STR_NONE;
    origin_rekey(txn->origin, route_key(txn));
    return BT_TLS_READY;
}

enum bt_tls_state secure_parent(struct bt_txn *txn)
{
    const struct bt_tls *tls = secure_tls();
    const struct bt_parent *parent = route_parent(txn);

    if (tls == NULL || parent->tls->context == NULL)
        return origin_refused(txn, "there is no TLS with the parent");
    if (!txn->securing && !begin(txn, tls->parent(txn, txn->origin->stream.fd, parent)))
        return origin_refused(txn, "no memory for TLS");
    return shake(txn);
}

bool secure_unproven(struct bt_txn *txn)
{
    const struct bt_tls_side *side = bt_tls_origin(txn);

    return side != NULL && !secure_tls()->proven(side);
}

/* ---- within a CONNECT ---- */

static const struct sockaddr *const *addrs_copy(struct bt_arena *arena, const struct bt_txn *txn)
{
    union session_addr *addr = bt_alloc_raw(arena, txn->n_addrs * sizeof *addr + 1);
    const struct sockaddr **list = bt_alloc_raw(arena,
                                                txn->n_addrs * sizeof(struct sockaddr *) + 1);

    for (size_t i = 0; i < txn->n_addrs; i++) {
        memcpy(&addr[i], txn->addrs[i], addr_len(txn->addrs[i]));
        list[i] = &addr[i].any;
    }
    return list;
}

struct inside *inside_open(struct bt_txn *txn)
{
    struct bt_arena *arena = bt_conn_arena(txn);
    struct inside *in = bt_alloc(arena, sizeof *in);

    in->host = bt_str_copy(arena, txn->url.host);
    in->port = txn->url.port;
    in->name = in->host;
    in->addrs = addrs_copy(arena, txn);
    in->n_addrs = txn->n_addrs;
    for (enum bt_who which = 0; which < BT_WHO_END; which++) {
        bt_str who = bt_who(txn, which);
        in->who[which] = who.at != NULL ? bt_str_copy(arena, who) : BT_STR_NONE;
    }
    return in;
}

enum head_fault inside_url(struct bt_txn *txn)
{
    const struct inside *in = txn->session->inside;
    bt_str host = head_get(&txn->req, HEADER_HOST);
    enum head_fault fault;

    fault = url_parse(txn->arena, txn->req.method_id, txn->req.target, &txn->url);
    if (fault == FAULT_NONE && (txn->url.form == URL_ORIGIN || txn->url.form == URL_ASTERISK)) {
        if (host.len == 0) /* HTTP/1.0 */
            host = in->port == 443 ? in->name
                                   : bt_str_printf(txn->arena, "%.*s:%u", BT_STR_ARGS(in->name),
                                                   (unsigned)in->port);
        fault = url_complete(txn->arena, BT_STR("https"), host, &txn->url);
        txn->url.form = URL_ABSOLUTE;
    }
    for (enum bt_who which = 0; which < BT_WHO_END; which++)
        if (in->who[which].at != NULL)
            bt_who_set(txn, which, in->who[which]);
    if (in->n_addrs > 0) {
        txn->original = txn->session->redirected;
        txn->addrs = in->addrs;
        txn->n_addrs = in->n_addrs;
    }
    return fault;
}

int inside_refusal(struct bt_txn *txn)
{
    const struct inside *in = txn->session->inside;
    bt_str host = txn->url.host;
    enum bt_match covers;

    if (txn->req.method_id == METHOD_CONNECT || !str_eq_literal(txn->url.scheme, "https") ||
        txn->url.port != in->port)
        return 421;
    if (bt_str_eq(host, in->name))
        return 0;
    covers = secure_tls()->covers(txn, host);
    if (bt_str_eq(host, in->host)) /* who is there says that he is somebody else */
        return covers == BT_NO ? 503 : 0;
    return covers == BT_YES ? 0 : 421;
}

/* ---- bt_tls.h ---- */

static struct bt_tls_side *side_of(const struct stream *stream)
{
    return secure_tls() != NULL && stream->via == secure_tls()->transport ? stream->via_state
                                                                          : NULL;
}

size_t bt_tls_ports(const struct bt_tls_port **ports)
{
    static struct bt_tls_port *all;

    if (all == NULL && core->n_ports > 0) {
        all = calloc(core->n_ports, sizeof *all);
        CHECK(all != NULL);
        for (size_t i = 0; i < core->n_ports; i++)
            all[i] = *core->ports[i].tls;
    }
    *ports = all;
    return core->n_ports;
}

unsigned bt_tls_port(struct bt_txn *txn)
{
    return txn->session->port;
}

struct bt_tls_side *bt_tls_client(struct bt_txn *txn)
{
    return side_of(&txn->session->stream);
}

struct bt_tls_side *bt_tls_origin(struct bt_txn *txn)
{
    /* TLS that ends at a parent says nothing of the origin. */
    if (txn->origin == NULL || (route_parent(txn) != NULL && !route_connects(txn)))
        return NULL;
    return side_of(&txn->origin->stream);
}

bt_str bt_tls_connect_host(struct bt_txn *txn)
{
    if (txn->session->inside != NULL)
        return txn->session->inside->host;
    return txn->bump != NULL ? bump_url(txn)->host : BT_STR_NONE;
}

unsigned bt_tls_connect_port(struct bt_txn *txn)
{
    if (txn->session->inside != NULL)
        return txn->session->inside->port;
    return txn->bump != NULL ? bump_url(txn)->port : 0;
}
