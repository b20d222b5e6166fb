/* route.c - the ways that an exchange may go, and how it comes from one to the next.
 *
 * Whether a way leads anywhere shows at four places: when its host is looked up, dialled, spoken TLS with
 * or asked for a CONNECT (upstream.c, and here), and when nothing, garbage or a refusal is its answer
 * (receive.c). All of them end in route_next().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/route.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/bump.h"
#include "flow/core.h"
#include "flow/pinned.h"
#include "flow/secure.h"
#include "flow/session.h"
#include "http/hop.h"
#include "http/parse.h"
#include "http/proxy_header.h"
#include "plug/generation.h"
#include "stat/counts.h"

enum { CONNECT_FIELDS = 128, CONNECT_HEAD = 64 * 1024 };

static struct timeout_class asking; /* for a parent's answer to CONNECT */

/* ---- parents ---- */

static const struct bt_parent **parents;
static struct lone {
    union session_addr addr; /* family 0: the host is a name */
    const struct sockaddr *list[1];
} * *lone; /* of each parent */
static size_t n_parents;

static struct lone *lone_new(const struct bt_parent *parent)
{
    struct lone *l = calloc(1, sizeof *l);
    struct sockaddr_storage addr;

    CHECK(l != NULL);
    l->list[0] = &l->addr.any;
    if (addr_parse_sockaddr(parent->host, (uint16_t)parent->port, &addr))
        memcpy(&l->addr, &addr, sizeof l->addr);
    return l;
}

void bt_parent_add(struct bt_parent *parent)
{
    const struct bt_parent **more = realloc(parents, (n_parents + 1) * sizeof(*parents));
    struct lone **more_lone = realloc(lone, (n_parents + 1) * sizeof(*lone));

    CHECK(more != NULL && more_lone != NULL);
    parents = more;
    lone = more_lone;
    parent->number = (unsigned)n_parents;
    lone[n_parents] = lone_new(parent);
    parents[n_parents++] = parent;
}

size_t bt_parents(const struct bt_parent *const **all)
{
    *all = parents;
    return n_parents;
}

bool bt_parent_idle_close(const struct bt_parent *parent)
{
    return idle_close_of(parent->idle);
}

const struct bt_parent *bt_parent(struct bt_txn *txn)
{
    return route_parent(txn);
}

void bt_peer_set(struct bt_txn *txn, bt_str name)
{
    txn->peer_wish = bt_str_copy(txn->arena, name);
}

bt_str bt_peer_wish(struct bt_txn *txn)
{
    return txn->peer_wish;
}

/* ---- ways ---- */

static const struct bt_route *router(void)
{
    static const struct bt_route *found;
    static bool looked;

    for (size_t i = 0; !looked && i < generation_current->n_modules; i++) {
        const struct bt_module *module = generation_current->modules[i];
        /* A module that was built before routes were a row ends before it. */
        if (module->size > offsetof(struct bt_module, route) && module->route != NULL)
            found = module->route;
    }
    looked = true;
    return found;
}

bool bt_parent_report(size_t i, struct bt_parent_report *out)
{
    return router() != NULL && router()->report != NULL && router()->report(i, out);
}

static enum go route_none(struct bt_txn *txn)
{
    return txn_fail(txn, 503, "ERR_CANNOT_FORWARD",
                    "no parent can be asked, and going directly is forbidden");
}

/* A login that is bound to a connection goes where that leads. */
static void pinned_first(struct bt_txn *txn, struct route *route)
{
    const struct bt_parent *parent = pinned_parent(txn);

    for (unsigned i = 0; parent != NULL && i < route->ways.n; i++)
        if (route->ways.way[i].parent == parent) {
            memmove(&route->ways.way[1], &route->ways.way[0], i * sizeof route->ways.way[0]);
            route->ways.way[0] = (struct bt_way){parent, "PINNED"};
            return;
        }
}

enum go route_ask(struct bt_txn *txn, bool *done)
{
    unsigned may = (txn->no_direct ? 0 : BT_MAY_DIRECT) | (txn->no_parents ? 0 : BT_MAY_PARENT);
    struct route *route;

    *done = true;
    if (txn->route != NULL || (router() == NULL && (may & BT_MAY_DIRECT) != 0))
        return GO_ON;
    *done = false;
    if (router() == NULL)
        return route_none(txn);
    route = bt_alloc_raw(txn->arena, sizeof *route);
    memset(route, 0, offsetof(struct route, ways.way));
    route->ways.n = 0;
    switch (router()->choose(txn, may, &route->ways)) {
    case BT_YES:
        break;
    case BT_WAIT:
        session_watch(txn->session);
        return GO_WAIT;
    default:
        count(access_broken);
        bt_log_limited(txn, BT_WARN, 60,
                       "the rules about parents could not be evaluated, so nobody is asked");
        return route_none(txn);
    }
    if (route->ways.n == 0)
        return route_none(txn);
    CHECK(route->ways.n <= BT_WAYS_MAX);
    pinned_first(txn, route);
    txn->route = route;
    *done = true;
    return GO_ON;
}

bool route_connects(const struct bt_txn *txn)
{
    return route_by_proxy(txn) && (bump_under_way(txn) || str_eq_literal(txn->url.scheme, "https"));
}

/* ---- where a way leads ---- */

static void addrs_take(struct bt_txn *txn, struct route *route, unsigned port)
{
    union session_addr *addr = bt_alloc_raw(txn->arena, route->resolve.n * sizeof *addr);
    const struct sockaddr **list = bt_alloc_raw(txn->arena,
                                                route->resolve.n * sizeof(struct sockaddr *));

    for (size_t i = 0; i < route->resolve.n; i++) {
        memcpy(&addr[i], route->resolve.addrs[i], addr_len(route->resolve.addrs[i]));
        addr_set_port(&addr[i].any, (uint16_t)port);
        list[i] = &addr[i].any;
    }
    route->addrs = list;
    route->n_addrs = route->resolve.n;
}

static void addrs_found(struct resolve *r)
{
    struct bt_txn *txn = r->owner;
    struct route *route = txn->route;

    route->resolving = false;
    if (r->n > 0)
        addrs_take(txn, route, route_parent(txn)->port);
    txn_run(txn);
}

enum bt_match route_addrs(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);
    struct route *route = txn->route;

    if (parent == NULL)
        return origin_addrs(txn);
    if (route->addrs != NULL)
        return BT_YES;
    if (route->resolving)
        return BT_WAIT;
    if (route->begun)
        return BT_NO;
    if (lone[parent->number]->addr.any.sa_family != AF_UNSPEC) {
        route->addrs = lone[parent->number]->list;
        route->n_addrs = 1;
        return BT_YES;
    }
    route->begun = true;
    route->resolve.owner = txn;
    switch (resolve_start(&route->resolve, parent->host, addrs_found)) {
    case RESOLVE_DONE:
        addrs_take(txn, route, parent->port);
        return BT_YES;
    case RESOLVE_WAIT:
        route->resolving = true;
        session_watch(txn->session);
        return BT_WAIT;
    case RESOLVE_FAILED:
        break;
    }
    return BT_NO;
}

size_t route_n_addrs(const struct bt_txn *txn)
{
    return route_parent(txn) != NULL ? txn->route->n_addrs : txn->n_addrs;
}

const struct sockaddr *route_addr(const struct bt_txn *txn, size_t i)
{
    return route_parent(txn) != NULL ? txn->route->addrs[i] : txn->addrs[i];
}

/* Whom a CONNECT of ours asks for: whoever the client's own was for, since rules judged that. */
static bt_str connect_target(struct bt_txn *txn)
{
    const struct inside *in = txn->session->inside;
    bt_str host = in != NULL ? in->host : bump_under_way(txn) ? bump_url(txn)->host : txn->url.host;
    unsigned port = in != NULL ? in->port : txn->url.port;
    bool v6 = memchr(host.at, ':', host.len) != NULL;

    return bt_str_printf(txn->arena, "%s%.*s%s:%u", v6 ? "[" : "", BT_STR_ARGS(host), v6 ? "]" : "",
                         port);
}

/* The PROXY header that begins a connection to that parent; empty: none. What no client waits for is asked
 * by us ourselves. */
static bt_str client_header(struct bt_txn *txn, char out[PROXY_HEADER_ROOM])
{
    const struct session *s = txn->session;
    bool ours = txn->probe != NULL || s->ghost;

    if (!route_parent(txn)->says_client)
        return BT_STR_NONE;
    return (bt_str){out, proxy_header_write(out, ours ? NULL : &s->peer.any,
                                            ours ? NULL : session_local(txn->session))};
}

bt_str route_key(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);
    struct route *route = txn->route;

    if (parent == NULL)
        return secure_key(txn);
    if (route->key.at != NULL)
        return route->key;
    if (route_connects(txn)) {
        bt_str target = connect_target(txn), within = secure_key(txn);
        route->key = bt_str_printf(txn->arena, "@%.*s\n%.*s\n%.*s", BT_STR_ARGS(parent->name),
                                   BT_STR_ARGS(target), BT_STR_ARGS(within));
    } else {
        char *at = bt_alloc_raw(txn->arena, parent->name.len + 1);
        at[0] = '@'; /* no host begins so */
        memcpy(at + 1, parent->name.at, parent->name.len);
        route->key = (bt_str){at, parent->name.len + 1};
    }
    if (parent->says_client) { /* no connection that speaks for one client is another's */
        char header[PROXY_HEADER_ROOM], *at;
        bt_str says = client_header(txn, header);
        at = bt_alloc_raw(txn->arena, route->key.len + says.len);
        memcpy(at, route->key.at, route->key.len);
        memcpy(at + route->key.len, says.at, says.len);
        route->key = (bt_str){at, route->key.len + says.len};
    }
    return route->key;
}

static void parent_closed(void *parent_)
{
    const struct bt_parent *parent = parent_;

    parent->ops->give(parent);
}

bool route_take(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);

    if (parent != NULL)
        txn->route->taken = parent->ops->take(parent);
    return parent == NULL || txn->route->taken;
}

/* What was not dialled after all. */
static void route_give(struct bt_txn *txn)
{
    if (txn->route->taken)
        parent_closed((void *)(uintptr_t)route_parent(txn));
    txn->route->taken = false;
}

void route_opened(struct bt_txn *txn, struct origin *origin)
{
    const struct bt_parent *parent = route_parent(txn);
    char header[PROXY_HEADER_ROOM];
    bt_str says;

    if (parent == NULL)
        return;
    says = client_header(txn, header);
    if (says.len > 0) {
        struct iovec iov = {header, says.len};
        /* With what follows; when it does not go, that will not, either. */
        (void)!stream_write_more(&origin->stream, &iov, 1);
        txn->bytes.upstream_out += (int64_t)says.len;
    }
    txn->route->taken = false;
    origin->idle_of = parent->idle;
    origin->closed = parent_closed;
    origin->closed_arg = (void *)(uintptr_t)parent;
    txn->route->layer = LAYER_PARENT;
}

/* ---- from one to the next ---- */

void route_tell(struct bt_txn *txn, enum bt_parent_event event)
{
    const struct bt_parent *parent = route_parent(txn);
    int64_t us = event == BT_PARENT_ANSWERED && txn->time.sent != 0 ? clock_us() - txn->time.sent
                                                                    : 0;

    if (parent != NULL)
        parent->ops->tell(parent, event, us);
}

/* What was sent may have been acted upon, unless it does no harm twice. No harm is done by CONNECT, for
 * nothing goes through it yet. */
static bool may_repeat(const struct bt_txn *txn)
{
    if (!txn->route->sent)
        return true;
    return txn->req.method_id == METHOD_CONNECT ? txn->interim == 0 : txn_retriable(txn);
}

static bool in_time(const struct bt_txn *txn)
{
    int64_t limit = core->forward_timeout.ms;

    return (limit < 0 || clock_us() - txn->time.head < limit * 1000) &&
           (int64_t)txn->route->at + 1 < core->forward_max_tries;
}

bool route_next(struct bt_txn *txn)
{
    struct route *route = txn->route;

    timeout_clear(&txn->timeout);
    if (txn->origin != NULL) {
        txn->keep_origin = false;
        origin_release(txn);
    }
    if (route != NULL)
        route_give(txn);
    if (route == NULL || route->at + 1 >= route->ways.n || txn->probe != NULL || !in_time(txn) ||
        !may_repeat(txn))
        return false;
    if (route->resolving)
        return false; /* it is not over with this one */
    count(origin_ways);
    resolve_end(&route->resolve);
    route->at++;
    route->sent = route->begun = false;
    route->addrs = NULL;
    route->n_addrs = 0;
    route->key = BT_STR_NONE;
    route->layer = LAYER_READY;
    txn->dial = NULL;
    txn->securing = false;
    txn->from_known = false; /* rules about addresses may ask for the parent */
    txn->secure_key = BT_STR_NONE;
    txn->from_origin.at = txn->from_origin.end;
    txn->rep = (struct head){.content_length = -1};
    txn->download = (struct body){0};
    txn->reused = false;
    if (txn->step != STEP_bump) {
        txn->step = STEP_upstream;
        txn->hooks_done = true;
    }
    return true;
}

enum go route_fail(struct bt_txn *txn, int status, const char *page, const char *detail)
{
    if (route_next(txn))
        return GO_ON;
    return txn_fail(txn, status, page, detail);
}

/* Statuses that say "not I, perhaps somebody else". */
static bool is_elsewhere(int status)
{
    switch (status) {
    case 502:
    case 504:
        return true;
    case 403:
    case 500:
    case 501:
    case 503:
        return core->retry_on_error;
    default:
        return false;
    }
}

bool route_refused(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);
    bool login = txn->rep.status == 407 && route_by_proxy(txn) && !parent->pass_login;

    if (txn->route == NULL)
        return false;
    if (login) {
        route_tell(txn, BT_PARENT_REFUSED);
        count(origin_bad);
        bt_log_limited(txn, BT_WARN, 60, "parent %.*s asks for another login than login= gives",
                       BT_STR_ARGS(parent->name));
        if (!route_next(txn)) {
            txn->rep = (struct head){.content_length = -1};
            (void)txn_fail(txn, 502, "ERR_CANNOT_FORWARD", "the parent wants another login");
        }
        return true;
    }
    route_tell(txn, BT_PARENT_ANSWERED);
    if (!is_elsewhere(txn->rep.status) || txn->route->at + 1 >= txn->route->ways.n ||
        !in_time(txn) || !may_repeat(txn) || txn->upload_begun)
        return false;
    return route_next(txn);
}

/* ---- CONNECT to a parent, with TLS to follow ---- */

/* Nothing of what the client says within goes out in clear. */
static bt_str connect_head(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);
    bt_str target = connect_target(txn), login = parent->ops->login(parent, txn);
    char client[ADDR_TEXT];
    size_t client_len = addr_print_sockaddr(&txn->session->peer.any, client);
    struct head none = {.minor = 1, .content_length = -1};
    size_t room = 2 * target.len + login.len + core->via_text.len + 512;
    struct writer w = writer_on(bt_alloc_raw(txn->arena, room), room);
    char *from = w.at;

    writer_request_line(&w, BT_STR("CONNECT"), target);
    writer_field(&w, BT_STR("Host"), target);
    if (core->via)
        hop_via(&w, &none, core->via_text);
    if (txn->fetch == NULL && txn->probe == NULL)
        hop_forwarded_for(&w, &none, (enum forwarded_for)core->forwarded_for,
                          (bt_str){client, client_len});
    writer_str(&w, login);
    writer_end(&w);
    CHECK(!w.over);
    return str_span(from, w.at);
}

static enum go connect_failed(struct bt_txn *txn, enum bt_parent_event event, int status,
                              const char *detail)
{
    route_tell(txn, event);
    return route_fail(txn, status, "ERR_CONNECT_FAIL", detail);
}

static enum go connect_answer(struct bt_txn *txn, size_t len)
{
    struct head_field fields[CONNECT_FIELDS];
    struct head rep = {.content_length = -1};
    char *bytes = bt_alloc_raw(txn->arena, len);
    enum head_fault fault;

    memcpy(bytes, txn->from_origin.at, len);
    txn->from_origin.at += len;
    txn->scanned = 0;
    fault = parse_response(&rep, bytes, len, fields, CONNECT_FIELDS);
    if (fault != FAULT_NONE || rep.status == 101)
        return connect_failed(txn, BT_PARENT_SILENT, 502, "the parent's answer to CONNECT is bad");
    if (rep.status < 200)
        return ++txn->interim > 16 ? connect_failed(txn, BT_PARENT_SILENT, 502,
                                                    "the parent does not answer CONNECT")
                                   : GO_ON; /* the same layer once more */
    if (rep.status >= 300)
        return connect_failed(
            txn, BT_PARENT_REFUSED, 502,
            bt_str_printf(txn->arena, "the parent answered CONNECT with %d", rep.status).at);
    route_tell(txn, BT_PARENT_ANSWERED);
    if (input_len(&txn->from_origin) > 0)
        return connect_failed(txn, BT_PARENT_SILENT, 502, "the parent says more than was asked");
    timeout_clear(&txn->timeout);
    txn->route->layer = LAYER_ORIGIN;
    return GO_ON;
}

/* More of the answer. GO_ON: once more, or the layer was changed, or the way. */
static enum go connect_read(struct bt_txn *txn)
{
    struct input *in = &txn->from_origin;
    size_t len = input_len(in), scanned = txn->scanned, head;

    if (len > 0) {
        head = head_end(in->at, len, &scanned);
        txn->scanned = (uint32_t)scanned;
        if (head > 0)
            return connect_answer(txn, head);
        if (len >= CONNECT_HEAD || head_peek_response(in->at, len) != FAULT_NONE)
            return connect_failed(txn, BT_PARENT_SILENT, 502,
                                  "the parent's answer to CONNECT is bad");
    }
    ssize_t n = input_read(in, &txn->origin->stream, shared_origin, CONNECT_HEAD);
    if (n == BT_IO_AGAIN) {
        stream_watch(&txn->origin->stream);
        session_watch(txn->session);
        return GO_WAIT;
    }
    if (n < 0)
        return connect_failed(txn, BT_PARENT_SILENT, 503,
                              "the parent closed instead of connecting");
    txn->bytes.upstream_in += n;
    return GO_ON;
}

enum go route_connect(struct bt_txn *txn)
{
    struct route *route = txn->route;
    const struct origin *mine = txn->origin;
    enum go go = GO_ON;

    if (route->layer == LAYER_ASK) {
        bt_str head = connect_head(txn);
        txn->scanned = 0;
        txn->time.sent = clock_us();
        route->layer = LAYER_ASKED;
        timeout_set(&asking, &txn->timeout);
        txn->bytes.upstream_out += (int64_t)head.len;
        if (!stream_put(&txn->origin->stream, head.at, head.len))
            return connect_failed(txn, BT_PARENT_SILENT, 503, "the parent takes no CONNECT");
    }
    while (go == GO_ON && txn->origin == mine && route->layer == LAYER_ASKED)
        go = connect_read(txn);
    return go;
}

void route_wait(struct bt_txn *txn)
{
    timeout_set(&asking, &txn->timeout);
}

static void asking_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, timeout);

    count(origin_timeouts);
    (void)connect_failed(txn, BT_PARENT_SILENT, 504, "the parent did not answer CONNECT in time");
    bump_failed(txn);
    txn_run(txn);
}

void route_end(struct bt_txn *txn)
{
    if (txn->route == NULL)
        return;
    route_give(txn);
    resolve_end(&txn->route->resolve);
}

void route_start(void)
{
    timeout_class_init(&asking, core->connect_timeout, asking_expired);
}
