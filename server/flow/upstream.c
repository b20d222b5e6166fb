/* upstream.c - step: find the address, take a kept connection or dial one, send the request.
 *
 * What is dialled is what the rules judged: the addresses are found once an exchange, and kept
 * connections are looked up by address too, so that no name can lead elsewhere in between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/addr.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/access.h"
#include "flow/bump.h"
#include "flow/core.h"
#include "flow/fetch.h"
#include "flow/fields.h"
#include "flow/header_rules.h"
#include "flow/intercept.h"
#include "flow/marks.h"
#include "flow/outgoing.h"
#include "flow/own.h"
#include "flow/pinned.h"
#include "flow/probe.h"
#include "flow/route.h"
#include "flow/secure.h"
#include "flow/serve.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "flow/upgrade.h"
#include "http/hop.h"
#include "stat/counts.h"

struct timeout_class origin_reading;
struct timeout_class origin_securing;
struct timeout_class txn_living;
struct timeout_class txn_pausing;

/* ---- addresses ---- */

/* Those of IPv4 before the others, in the order of each; few enough for the simplest way. */
static void v4_first(const struct sockaddr **list, size_t n)
{
    size_t front = 0;

    for (size_t i = 0; i < n; i++) {
        const struct sockaddr *addr = list[i];
        if (addr->sa_family != AF_INET)
            continue;
        memmove(&list[front + 1], &list[front], (i - front) * sizeof *list);
        list[front++] = addr;
    }
}

static void addrs_take(struct bt_txn *txn, const struct resolve *r)
{
    union session_addr *addr = bt_alloc_raw(txn->arena, r->n * sizeof *addr);
    const struct sockaddr **list = bt_alloc_raw(txn->arena, r->n * sizeof(struct sockaddr *));

    for (size_t i = 0; i < r->n; i++) {
        memcpy(&addr[i], r->addrs[i], addr_len(r->addrs[i]));
        addr_set_port(&addr[i].any, txn->url.port);
        list[i] = &addr[i].any;
    }
    txn->addrs = list;
    txn->n_addrs = r->n;
    if (core->v4_first)
        v4_first(list, r->n);
}

static void addrs_found(struct resolve *r)
{
    struct bt_txn *txn = r->owner;

    txn->resolving = false;
    txn->time.resolved = clock_us();
    if (r->n > 0)
        addrs_take(txn, r);
    txn_run(txn);
}

enum bt_match origin_addrs(struct bt_txn *txn)
{
    if (txn->addrs != NULL)
        return BT_YES;
    if (txn->url.host_is_addr) {
        txn->lone_addr = &txn->url.addr.any;
        txn->addrs = &txn->lone_addr;
        txn->n_addrs = 1;
        return BT_YES;
    }
    if (txn->resolving)
        return BT_WAIT;
    if (txn->resolve != NULL || txn->url.host.len == 0)
        return BT_NO; /* it was tried */
    txn->resolve = bt_alloc(txn->arena, sizeof *txn->resolve);
    txn->resolve->owner = txn;
    txn->time.resolve = txn->time.resolved = clock_us();
    switch (resolve_start(txn->resolve, txn->url.host, addrs_found)) {
    case RESOLVE_DONE:
        addrs_take(txn, txn->resolve);
        return BT_YES;
    case RESOLVE_WAIT:
        txn->resolving = true;
        session_watch(txn->session);
        return BT_WAIT;
    case RESOLVE_FAILED:
        break;
    }
    return BT_NO;
}

/* ---- the connection ---- */

static void origin_ready(struct stream *stream)
{
    struct origin *origin = (struct origin *)stream;

    txn_run(origin->owner);
}

void origin_attach(struct bt_txn *txn, struct origin *origin)
{
    txn->origin = origin;
    origin->owner = txn;
    fields_note_server(txn, origin);
    origin->stream.ready = origin_ready;
}

/* What is left of this answer would be taken for the beginning of the next one: that of a part which
 * a client has had while nobody wants the whole, or of one that another took the place of. */
static bool origin_read_whole(const struct bt_txn *txn)
{
    return txn->download.done && input_len(&txn->from_origin) == 0 && txn->upload_over;
}

void origin_release(struct bt_txn *txn)
{
    struct origin *origin = txn->origin;

    txn->origin = NULL;
    timeout_clear(&txn->timeout);
    if (!origin_read_whole(txn))
        txn->keep_origin = false;
    if (txn->pin) {
        pinned_put(txn, origin);
    } else if (txn->keep_origin && core->server_persistent && !session_draining()) {
        origin->owner = NULL;
        origin->stream.ready = NULL;
        idle_put(origin);
    } else {
        origin_close(origin);
    }
}

void origin_hand_over(struct bt_txn *txn)
{
    struct origin *origin = txn->origin;

    if (origin == NULL)
        return;
    txn->origin = NULL;
    timeout_clear(&txn->timeout);
    origin->owner = NULL;
    origin->stream.ready = NULL;
    if (core->server_persistent)
        idle_put(origin);
    else
        origin_close(origin);
}

static bool origin_kept(struct bt_txn *txn)
{
    struct origin *own = pinned_take(txn);

    if (own != NULL) {
        origin_attach(txn, own);
        txn->reused = true;
        return true;
    }
    if (!bump_secures(txn) && (!txn_retriable(txn) || txn->req.method_id == METHOD_CONNECT))
        return false; /* it may have gone stale, and this request cannot be sent twice */
    for (size_t i = 0; i < route_n_addrs(txn); i++) {
        const struct sockaddr *addr = route_addr(txn, i);
        struct idle_which which = {addr, outgoing_for(txn, addr), route_key(txn), marks_out(txn)};
        struct origin *origin = idle_take(&which);
        if (origin != NULL) {
            origin_attach(txn, origin);
            txn->reused = true;
            return true;
        }
    }
    return false;
}

static enum go dial_failed(struct bt_txn *txn)
{
    const struct dial *dial = txn->dial;
    bool late = dial->why == DIAL_TIMEOUT;

    txn->dial_errno = late ? ETIMEDOUT : dial->error;
    if (dial->why != DIAL_NO_DESCRIPTORS && dial->why != DIAL_DENIED)
        route_tell(txn, BT_PARENT_SILENT);
    return route_fail(txn, late ? 504 : 503, "ERR_CONNECT_FAIL", dial_why_text(dial->why));
}

static void dial_over(struct dial *dial)
{
    struct bt_txn *txn = dial->owner;

    txn->dialling = false;
    txn_run(txn);
}

static enum dial_result dial_begin(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);
    const struct sockaddr *const *addrs = parent != NULL ? txn->route->addrs : txn->addrs;

    txn->dial = bt_alloc(txn->arena, sizeof *txn->dial);
    txn->dial->owner = txn;
    (void)outgoing_for(txn, addrs[0]);
    txn->dial->from_v4 = txn->from_v4;
    txn->dial->from_v6 = txn->from_v6;
    txn->dial->transparent = txn->spoofs;
    txn->dial->marks = marks_out(txn);
    txn->time.dial = clock_us();
    return dial_start(txn->dial, addrs, route_n_addrs(txn),
                      parent != NULL ? parent->connect_timeout : core->connect_timeout, dial_over);
}

/* GO_ON with txn->origin set, or with an answer about why not. */
static enum go origin_dial(struct bt_txn *txn)
{
    if (txn->dialling)
        return GO_WAIT;
    if (txn->dial == NULL) {
        if (!route_take(txn))
            return route_fail(txn, 503, "ERR_CANNOT_FORWARD", "the parent has max-conn already");
        if (dial_begin(txn) == DIAL_WAIT) {
            txn->dialling = true;
            session_watch(txn->session);
            return GO_WAIT;
        }
    }
    if (txn->dial->fd < 0)
        return dial_failed(txn);
    struct idle_which which = {txn->dial->addr, outgoing_for(txn, txn->dial->addr), route_key(txn),
                               marks_out(txn)};
    origin_attach(txn, origin_new(txn->dial->fd, &which));
    route_opened(txn, txn->origin);
    if (txn->session->redirected && route_parent(txn) == NULL)
        intercept_dialled(txn->origin);
    txn->dial = NULL; /* a second try dials anew */
    txn->reused = false;
    return GO_ON;
}

/* TLS with the connection that was dialled, with the parent or the origin. */
static enum go origin_secure(struct bt_txn *txn, enum bt_tls_state state)
{
    switch (state) {
    case BT_TLS_READY:
        return GO_ON;
    case BT_TLS_WAIT:
        return GO_WAIT;
    default:
        txn->hierarchy = "HIER_NONE"; /* it is not who was to be asked */
        if (txn->route != NULL && txn->route->layer == LAYER_PARENT)
            route_tell(txn, BT_PARENT_SILENT);
        return route_fail(txn, 503, "ERR_SECURE_CONNECT_FAIL", txn->deny_detail);
    }
}

/* All that stands between a parent's socket and the request. GO_ON: done, or txn->origin is gone. */
static enum go origin_layers(struct bt_txn *txn)
{
    struct route *route = txn->route;
    const struct bt_parent *parent = route_parent(txn);
    enum go go = GO_ON;

    if (route->layer == LAYER_PARENT) {
        if (parent->tls != NULL)
            go = origin_secure(txn, secure_parent(txn));
        if (go != GO_ON || txn->origin == NULL)
            return go;
        route->layer = route_connects(txn) ? LAYER_ASK : LAYER_ORIGIN;
    }
    if (route->layer == LAYER_ASK || route->layer == LAYER_ASKED) {
        go = route_connect(txn);
        if (go != GO_ON || txn->origin == NULL)
            return go;
    }
    if (secure_key(txn).len > 0)
        go = origin_secure(txn, secure_origin(txn));
    if (go == GO_ON && txn->origin != NULL)
        route->layer = LAYER_READY;
    return go;
}

/* ---- the request as the origin gets it ---- */

/* The web server behind us gets our login, or the client's where it is told to; never two. */
static bool login_is_ours(const struct bt_txn *txn, bt_str lines)
{
    const struct bt_parent *parent = route_parent(txn);

    return parent != NULL && parent->origin &&
           (!parent->pass_login || str_starts(lines, BT_STR("Authorization:")));
}

/* User information of a URL is a login for the origin, unless the client sent another one. */
static bool url_logs_in(const struct bt_txn *txn, bool our_login)
{
    return txn->url.userinfo.len > 0 && !our_login && !head_has(&txn->req, HEADER_AUTHORIZATION);
}

static void request_login(struct bt_txn *txn, struct writer *w)
{
    bt_str user = txn->url.userinfo;
    char *plain, *at;

    plain = at = bt_alloc_raw(txn->arena, user.len);
    for (size_t i = 0; i < user.len; i++) {
        int high = user.at[i] == '%' && i + 2 < user.len ? str_hex_digit(user.at[i + 1]) : -1;
        int low = high >= 0 ? str_hex_digit(user.at[i + 2]) : -1;
        if (low >= 0)
            i += 2;
        *at++ = low >= 0 ? (char)(high * 16 + low) : user.at[i];
    }
    bt_str code = base64_encode(txn->arena, str_span(plain, at));
    writer_field(w, BT_STR("Authorization"),
                 bt_str_printf(txn->arena, "Basic %.*s", BT_STR_ARGS(code)));
}

/* Fields that the next hop may not see, out of sight; shown again when its head was written. */
static void field_hide(struct head *req, enum header_id id)
{
    for (unsigned i = 0; head_has(req, id) && i < req->n; i++)
        if (req->field[i].id == id && !req->field[i].drop)
            req->field[i].drop = req->field[i].hidden = true;
}

static void fields_show(struct head *req)
{
    for (unsigned i = 0; i < req->n; i++)
        if (req->field[i].hidden)
            req->field[i].drop = req->field[i].hidden = false;
}

/* What a parent is told beside the request: rules about headers do not touch it. */
static bt_str parent_lines(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);
    bt_str login, clients = head_get(&txn->req, HEADER_PROXY_AUTHORIZATION);
    bool https;

    if (parent == NULL || route_connects(txn))
        return BT_STR_NONE;
    login = parent->ops->login(parent, txn);
    if (login.len == 0 && parent->pass_login && !parent->origin && clients.at != NULL)
        login = bt_str_printf(txn->arena, "Proxy-Authorization: %.*s\r\n", BT_STR_ARGS(clients));
    https = parent->says_https ||
            (parent->says_if_https && str_eq_literal(txn->url.scheme, "https"));
    if (!https)
        return login;
    return bt_str_printf(txn->arena, "%.*sFront-End-Https: On\r\n", (int)login.len,
                         login.len > 0 ? login.at : "");
}

static void request_begin(struct bt_txn *txn, struct writer *w)
{
    const struct bt_parent *parent = route_parent(txn);
    bool whole = txn->req.method_id == METHOD_CONNECT ||
                 (route_by_proxy(txn) && !route_connects(txn));
    bt_str host = txn->keep_host ? head_get(&txn->req, HEADER_HOST) : txn->url.authority;

    writer_request_line(w, txn->req.method, whole ? txn->url.text : txn->url.path);
    writer_field(w, BT_STR("Host"),
                 parent != NULL && parent->domain.len > 0 ? parent->domain : host);
}

static bt_str request_head(struct bt_txn *txn)
{
    bt_str lines = parent_lines(txn);
    bool our_login = login_is_ours(txn, lines);
    size_t room = lines.len + (route_parent(txn) != NULL ? route_parent(txn)->domain.len : 0);

    struct head *req = &txn->req;
    struct header_pass *pass = header_pass_begin(HEADER_REQUEST, txn, req);
    struct writer w = frame_writer(txn, req, header_pass_room(pass) + room);
    char *from = w.at, *own;
    char client[ADDR_TEXT];
    size_t client_len = addr_print_sockaddr(&txn->session->peer.any, client);

    heads_mark(txn);
    if (txn->overlay != NULL)
        heads_hide(txn);
    for (unsigned i = 0; i < req->n; i++)
        if (req->field[i].id == HEADER_HOST)
            req->field[i].drop = true; /* the URL says the host (RFC 9112 3.2.2) */
    if (our_login)
        field_hide(&txn->req, HEADER_AUTHORIZATION);
    request_begin(txn, &w);
    own = w.at;
    if (core->via)
        hop_via(&w, req, core->via_text);
    if (txn->fetch == NULL && txn->probe == NULL)
        hop_forwarded_for(&w, req, (enum forwarded_for)core->forwarded_for,
                          (bt_str){client, client_len});
    header_pass_lines(pass, &w, own);
    header_pass_fields(pass, &w, req);
    own = w.at;
    if (txn->overlay != NULL)
        heads_overlay(txn, &w);
    txn->logs_in = url_logs_in(txn, our_login);
    if (txn->logs_in)
        request_login(txn, &w);
    txn->logs_in |= our_login && lines.len > 0 && route_parent(txn)->login_by_user;
    fields_show(req);
    header_pass_lines(pass, &w, own);
    header_pass_end(pass, &w);
    writer_str(&w, lines);
    writer_framing(&w, txn->upload.kind, req->content_length);
    if (upgrade_offer(txn).len > 0 && !header_rules_pass(pass, HEADER_UPGRADE, upgrade_offer(txn)))
        upgrade_drop(txn);
    if (upgrade_offer(txn).len > 0) {
        writer_field(&w, BT_STR("Upgrade"), upgrade_offer(txn));
        writer_field(&w, BT_STR("Connection"), BT_STR("upgrade"));
    } else if (!core->server_persistent) {
        writer_field(&w, BT_STR("Connection"), BT_STR("close"));
    }
    writer_end(&w);
    return w.over ? BT_STR_NONE : str_span(from, w.at);
}

static enum go request_send(struct bt_txn *txn)
{
    bt_str head = request_head(txn);

    if (head.len == 0)
        return txn_refuse(txn, 431, "ERR_TOO_BIG", "the request head grew too large");
    pinned_note_request(txn);
    txn->unproven = secure_unproven(txn);
    txn->tries++;
    if (txn->route != NULL)
        txn->route->sent = true;
    txn->origin->requests++;
    txn->scanned = 0;
    txn->time.sent = clock_us();
    txn->step = STEP_receive;
    if (txn->req.method_id == METHOD_CONNECT)
        route_wait(txn);
    else
        timeout_set(&origin_reading, &txn->timeout);
    if (!upload_move(txn, head))
        return GO_ON;
    stream_watch(&txn->origin->stream);
    return GO_ON;
}

static enum go upstream_unsupported(struct bt_txn *txn)
{
    return txn_refuse(txn, 501, "ERR_UNSUP_REQ",
                      "only http and https URLs and CONNECT are forwarded");
}

static enum go upstream_no_address(struct bt_txn *txn)
{
    const char *why = txn->resolve != NULL ? resolve_why_text(txn->resolve->why) : "no host";

    return txn_fail(txn, 503, "ERR_DNS_FAIL", why);
}

/* Whatever the rules say: nobody gets from inside to what listens here, nor round and round. */
static enum go upstream_own(struct bt_txn *txn)
{
    count(access_own_port);
    count(requests_denied);
    txn->tag = "TCP_DENIED";
    bt_log_limited(txn, BT_WARN, 60, "a request for one of our own ports was refused: %.*s",
                   BT_STR_ARGS(txn->url.authority));
    return txn_refuse(txn, 403, "ERR_ACCESS_DENIED", "this is a port of the proxy itself");
}

static enum go upstream_private(struct bt_txn *txn)
{
    count(fetch_private);
    txn->tag = "TCP_DENIED";
    return txn_refuse(txn, 403, "ERR_ACCESS_DENIED", "it is at a private address");
}

/* GO_ON with txn->step unchanged: its addresses are public. */
static enum go public_only(struct bt_txn *txn)
{
    switch (origin_addrs(txn)) {
    case BT_YES:
        return own_is_private(txn) ? upstream_private(txn) : GO_ON;
    case BT_WAIT:
        return GO_WAIT;
    default:
        return upstream_no_address(txn);
    }
}

/* Nobody to dial. */
static enum go origin_nowhere(struct bt_txn *txn)
{
    if (route_parent(txn) == NULL)
        return upstream_no_address(txn);
    route_tell(txn, BT_PARENT_SILENT);
    return route_fail(txn, 503, "ERR_DNS_FAIL", resolve_why_text(txn->route->resolve.why));
}

static bool leads_here(const struct bt_txn *txn)
{
    if (txn->session->redirected && intercept_loops(txn->session))
        return true;
    for (size_t i = 0; i < route_n_addrs(txn); i++)
        if (own_is(route_addr(txn, i)))
            return true;
    return false;
}

static bool scheme_known(const struct bt_txn *txn)
{
    return txn->req.method_id == METHOD_CONNECT || str_eq_literal(txn->url.scheme, "http") ||
           (str_eq_literal(txn->url.scheme, "https") && secure_tls() != NULL) || txn->probe != NULL;
}

/* A connection that is new: GO_ON with txn->origin set, when it is ready. */
static enum go origin_fresh(struct bt_txn *txn)
{
    enum go go = GO_ON;

    if (txn->origin == NULL) {
        txn->securing = false;
        go = origin_dial(txn);
        if (txn->origin == NULL)
            return go;
    }
    if (route_parent(txn) != NULL)
        return origin_layers(txn);
    if (secure_key(txn).len > 0)
        go = origin_secure(txn, secure_origin(txn));
    return go;
}

enum go origin_open(struct bt_txn *txn, bool *done)
{
    enum go go = route_ask(txn, done);

    if (!*done)
        return go;
    *done = false;
    if (fetch_public_only(txn)) { /* also where a parent would find the host */
        go = public_only(txn);
        if (go != GO_ON || txn->step == STEP_refuse)
            return go;
    }
    if (!scheme_known(txn) && !route_by_proxy(txn))
        return upstream_unsupported(txn);
    switch (route_addrs(txn)) {
    case BT_YES:
        break;
    case BT_WAIT:
        return GO_WAIT;
    default:
        return origin_nowhere(txn);
    }
    if (leads_here(txn))
        return upstream_own(txn);
    txn->hierarchy = txn->original && route_parent(txn) == NULL ? "ORIGINAL_DST" : route_code(txn);
    if (txn->origin != NULL && !txn->securing &&
        (txn->route == NULL || txn->route->layer == LAYER_READY)) {
        *done = true;
        return GO_ON;
    }
    if (txn->origin == NULL && txn->tries == 0 && txn->dial == NULL && origin_kept(txn)) {
        *done = true;
        return GO_ON;
    }
    go = origin_fresh(txn);
    *done = go == GO_ON && txn->origin != NULL;
    return go;
}

enum go step_upstream(struct bt_txn *txn)
{
    bool done, tunnel = txn->req.method_id == METHOD_CONNECT;
    enum go go;

    go = txn_phase(txn, BT_AT_UPSTREAM, &done);
    if (!done)
        return go;
    if (txn->probe == NULL) {
        go = access_ask(txn, ACCESS_MISS, &done);
        if (!done)
            return go;
    }
    txn_tag(txn, tunnel ? "TCP_TUNNEL" : "TCP_MISS");
    go = origin_open(txn, &done);
    if (!done)
        return go;
    txn->hooks_done = false;
    if (txn->probe != NULL && probe_reached(txn))
        return GO_ON;
    if (tunnel && !route_by_proxy(txn)) {
        txn->step = STEP_tunnel;
        return GO_ON;
    }
    return request_send(txn);
}

/* ---- limits of time ---- */

static void reading_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, timeout);

    count(origin_timeouts);
    txn->keep_origin = false;
    if (txn->step == STEP_serve && tap_open(txn)) {
        fill_cut(txn, END_TIMEOUT); /* the client gets what came before */
        txn_run(txn);
        return;
    }
    if (txn->head_sent) {
        txn->client->cut(txn);
        txn_abort(txn, END_TIMEOUT);
        return;
    }
    route_tell(txn, BT_PARENT_SILENT);
    (void)route_fail(txn, 504, "ERR_READ_TIMEOUT", "the server was silent for too long");
    txn_run(txn);
}

static void securing_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, timeout);

    count(origin_timeouts);
    if (txn->route != NULL && txn->route->layer == LAYER_PARENT)
        route_tell(txn, BT_PARENT_SILENT);
    txn->securing = false;
    (void)route_fail(txn, 504, "ERR_SECURE_CONNECT_FAIL", "the TLS handshake took too long");
    bump_failed(txn);
    txn_run(txn);
}

static void living_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, lifetime);

    if (txn->head_sent)
        txn->client->cut(txn);
    txn_abort(txn, END_TIMEOUT);
}

static void pausing_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, timeout);

    (void)txn_fail(txn, 504, "ERR_READ_TIMEOUT", "what it waited for did not come in time");
    txn_run(txn);
}

void upstream_start(void)
{
    timeout_class_init(&txn_pausing, core->forward_timeout, pausing_expired);
    timeout_class_init(&origin_reading, core->read_timeout, reading_expired);
    timeout_class_init(&origin_securing, core->connect_timeout, securing_expired);
    timeout_class_init(&txn_living, core->client_lifetime, living_expired);
    route_start();
}
