/* pinned.c - logins that are bound to a connection: NTLM, and Negotiate as most servers do it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/pinned.h"

#include <stdlib.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/str.h"
#include "flow/core.h"
#include "flow/marks.h"
#include "flow/outgoing.h"
#include "flow/route.h"
#include "stat/counts.h"

struct pinned {
    struct origin *origin;
    struct session *session;
    const struct bt_parent *parent; /* it leads through; NULL: it is direct */
    uint16_t port;
    size_t len;
    char host[];
};

static struct timeout_class waiting;

/* ---- who asks for it ---- */

static bool is_scheme(bt_str value, bt_str scheme)
{
    return str_starts_nocase(value, scheme) &&
           (value.len == scheme.len || str_is(value.at[scheme.len], STR_BLANK));
}

static bool binds(bt_str value)
{
    return is_scheme(value, BT_STR("NTLM")) || is_scheme(value, BT_STR("Negotiate"));
}

static bool allowed(const struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);

    return !core->ports[txn->session->port].no_connection_auth &&
           (parent == NULL || !parent->no_bound_login);
}

void pinned_note_request(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);

    if (head_has(&txn->req, HEADER_AUTHORIZATION) &&
        binds(head_get(&txn->req, HEADER_AUTHORIZATION)))
        txn->pin = true;
    if (parent != NULL && parent->pass_login && head_has(&txn->req, HEADER_PROXY_AUTHORIZATION) &&
        binds(head_get(&txn->req, HEADER_PROXY_AUTHORIZATION)))
        txn->pin = true;
}

/* A client that talks to a proxy uses such schemes only when it is told that they work (RFC 4559 6). */
static void say_support(struct bt_txn *txn)
{
    txn->rep.field[txn->rep.n++] = (struct head_field){
        .id = HEADER_OTHER,
        .name = BT_STR("Proxy-Support"),
        .value = BT_STR("Session-Based-Authentication")};
}

void pinned_note_response(struct bt_txn *txn)
{
    const struct bt_parent *parent = route_parent(txn);
    enum header_id challenge = HEADER_WWW_AUTHENTICATE;
    bool offered = false;

    if (txn->rep.status == 407 && parent != NULL && parent->pass_login)
        challenge = HEADER_PROXY_AUTHENTICATE;
    else if (txn->rep.status != 401)
        return;
    for (unsigned i = 0; i < txn->rep.n; i++) {
        struct head_field *field = &txn->rep.field[i];
        bt_str rest = field->value, member;
        bool its = false;
        if (field->id != challenge)
            continue;
        while (head_list_next(&rest, &member))
            its |= binds(member);
        if (its && !allowed(txn))
            field->drop = true;
        offered |= its;
    }
    if (!offered)
        return;
    txn->pin = true;
    if (allowed(txn) && challenge == HEADER_WWW_AUTHENTICATE)
        say_support(txn);
}

/* ---- between two requests ---- */

static void pinned_ready(struct stream *stream)
{
    struct pinned *pinned = ((struct origin *)stream)->owner;
    char byte;

    /* Its end, or bytes that nobody asked for. */
    if (stream_read(stream, &byte, 1) != BT_IO_AGAIN)
        pinned_drop(pinned->session);
}

static void waiting_expired(struct timeout *timeout)
{
    struct pinned *pinned = LIST_OF(timeout, struct origin, timeout)->owner;

    pinned_drop(pinned->session);
}

/* The connection of the session, in nobody's hands. */
static struct origin *unpin(struct session *s)
{
    struct origin *origin = s->pinned->origin;

    timeout_clear(&origin->timeout);
    origin->owner = NULL;
    origin->stream.ready = NULL;
    free(s->pinned);
    s->pinned = NULL;
    return origin;
}

void pinned_drop(struct session *s)
{
    if (s->pinned != NULL)
        origin_close(unpin(s));
}

/* Only an address that the rules were asked about, and from the address that they want. */
static bool still_right(struct bt_txn *txn, const struct idle_peer *peer)
{
    if (!bt_str_eq((bt_str){peer->key, peer->key_len}, route_key(txn)) ||
        !marks_same(peer->marks, marks_out(txn)))
        return false;
    for (size_t i = 0; i < route_n_addrs(txn); i++)
        if (addr_same(route_addr(txn, i), &peer->addr.any, true)) {
            const struct sockaddr *from = outgoing_for(txn, route_addr(txn, i));
            return from == NULL ? peer->from.any.sa_family == AF_UNSPEC
                                : addr_same(from, &peer->from.any, false);
        }
    return false;
}

static bool is_for(const struct pinned *pinned, const struct bt_txn *txn)
{
    return pinned != NULL && txn->req.method_id != METHOD_CONNECT &&
           pinned->port == txn->url.port &&
           bt_str_eq((bt_str){pinned->host, pinned->len}, txn->url.host);
}

const struct bt_parent *pinned_parent(const struct bt_txn *txn)
{
    const struct pinned *pinned = txn->session->pinned;

    return is_for(pinned, txn) ? pinned->parent : NULL;
}

struct origin *pinned_take(struct bt_txn *txn)
{
    struct session *s = txn->session;
    struct pinned *pinned = s->pinned;

    if (!is_for(pinned, txn) || pinned->parent != route_parent(txn) ||
        !still_right(txn, pinned->origin->peer))
        return NULL;
    txn->pin = true;
    count(origin_reused);
    return unpin(s);
}

void pinned_put(struct bt_txn *txn, struct origin *origin)
{
    struct session *s = txn->session;
    struct stream *stream = &origin->stream;
    struct pinned *pinned;

    if (!txn->keep_origin || !txn->keep_client || s->dead || !allowed(txn) || session_draining() ||
        stream->cut || stream->shut || stream->eof || stream_pending(stream) > 0) {
        origin_close(origin);
        return;
    }
    pinned_drop(s);
    pinned = malloc(sizeof *pinned + txn->url.host.len);
    CHECK(pinned != NULL);
    *pinned = (struct pinned){.origin = origin,
                              .session = s,
                              .parent = route_parent(txn),
                              .port = txn->url.port,
                              .len = txn->url.host.len};
    memcpy(pinned->host, txn->url.host.at, pinned->len);
    s->pinned = pinned;
    origin->owner = pinned;
    stream->ready = pinned_ready;
    stream_watch(stream);
    timeout_set(&waiting, &origin->timeout);
    count(origin_pinned);
    if (stream->readable)
        stream_again(stream);
}

void pinned_start(void)
{
    timeout_class_init(&waiting, core->server_idle_timeout, waiting_expired);
}
