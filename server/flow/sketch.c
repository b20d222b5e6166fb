/* sketch.c - an exchange that nobody sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/sketch.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/str.h"
#include "bt_sketch.h"
#include "flow/core.h"
#include "flow/session.h"
#include "http/parse.h"

enum { FIELDS = 64, ADDRS = 16 };

bool sketch_askable(const struct acl *acl)
{
    /* They wait for names only, or for a login, which are known here or said to be unknown. */
    static const char *const types[] = {
        "dst",          "dstdomain",  "dstdom_regex",    "srcdomain",
        "srcdom_regex", "proxy_auth", "proxy_auth_regex"};

    if (!acl_is_slow(acl))
        return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (bt_str_eq(acl_type_name(acl), str_from(types[i])))
            return true;
    return false;
}

static struct session *sketch_session(const struct sketch *sketch)
{
    struct session *session = calloc(1, sizeof *session);
    const struct flow_port *port = &core->ports[0];

    CHECK(session != NULL);
    session->stream.fd = -1;
    if (sketch->from.ss_family != AF_UNSPEC)
        memcpy(&session->peer, &sketch->from, sizeof session->peer);
    else
        session->peer.v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    session->local = session->peer;
    addr_set_port(&session->local.any, addr_port((const struct sockaddr *)&port->addr));
    return session;
}

/* The head as a client would have sent it. */
static bt_str sketch_head(const struct sketch *sketch, struct bt_arena *arena)
{
    bt_str host = sketch->url, rest, after;

    if (str_split(host, '/', &rest, &host) && str_starts(host, BT_STR("/"))) {
        host = str_skip(host, 1);
        (void)str_split(host, '/', &host, &rest);
        (void)str_split(host, '?', &host, &rest);
        if (str_rsplit(host, '@', &rest, &after))
            host = after;
    }
    if (host.at == NULL || str_find_nocase(sketch->url, BT_STR("://")) < 0)
        host = sketch->url;
    return bt_str_printf(arena, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n%.*s\r\n",
                         BT_STR_ARGS(sketch->method), BT_STR_ARGS(sketch->url), BT_STR_ARGS(host),
                         BT_STR_ARGS(sketch->fields));
}

static bool sketch_parse(struct bt_txn *txn, const struct sketch *sketch, const char **why)
{
    bt_str head = sketch_head(sketch, txn->arena);
    struct head_field *fields = bt_alloc(txn->arena, FIELDS * sizeof *fields);
    enum head_fault fault = parse_request(&txn->req, head.at, head.len, fields, FIELDS);

    if (fault == FAULT_NONE)
        fault = url_parse(txn->arena, txn->req.method_id, txn->req.target, &txn->url);
    if (fault == FAULT_NONE && txn->url.form == URL_ORIGIN)
        fault = FAULT_TARGET_FORM;
    if (fault != FAULT_NONE)
        *why = head_fault_text(fault);
    return fault == FAULT_NONE;
}

/* What the exchange would have been connected to, as far as this machine's resolver knows. */
static void sketch_resolve(struct bt_txn *txn, const struct sketch *sketch)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const struct sockaddr **addr = bt_alloc(txn->arena, ADDRS * sizeof *addr);

    txn->resolving = txn->reversing = txn->naming_now = true; /* what is not known stays so */
    if (sketch->nameless || txn->url.host_is_addr || txn->url.host.len == 0 ||
        getaddrinfo(bt_str_copy(txn->arena, txn->url.host).at, NULL, &hints, &found) != 0)
        return;
    for (; found != NULL && txn->n_addrs < ADDRS; found = found->ai_next)
        addr[txn->n_addrs++] = found->ai_addr;
    if (txn->n_addrs > 0)
        txn->addrs = addr;
}

struct bt_txn *sketch_new(const struct sketch *sketch, const char **why)
{
    struct bt_arena *arena = arena_new(64 * 1024);
    struct bt_txn *txn = bt_alloc(arena, sizeof *txn);

    txn->arena = arena;
    txn->session = sketch_session(sketch);
    txn->session->txn = txn;
    txn->sketched = true;
    txn->upload_over = true;
    txn->req.content_length = txn->rep.content_length = -1;
    txn->tag = "NONE";
    txn->hierarchy = "HIER_NONE";
    if (!sketch_parse(txn, sketch, why))
        return NULL;
    if (sketch->user.at != NULL)
        bt_who_set(txn, BT_WHO_LOGIN, sketch->user);
    sketch_resolve(txn, sketch);
    return txn;
}

/* ---- for modules ---- */

static bool sketch_response(struct bt_txn *txn, const struct bt_sketch *given, const char **why)
{
    bt_str head = bt_str_printf(txn->arena, "HTTP/1.1 %03d\r\n%.*s\r\n", given->status,
                                BT_STR_ARGS(given->rep_fields));
    struct head_field *fields = bt_alloc(txn->arena, FIELDS * sizeof *fields);
    enum head_fault fault = parse_response(&txn->rep, (char *)(uintptr_t)head.at, head.len, fields,
                                           FIELDS);

    if (fault != FAULT_NONE)
        *why = head_fault_text(fault);
    return fault == FAULT_NONE;
}

struct bt_txn *bt_sketch(const struct bt_sketch *given, const char **why)
{
    struct sketch sketch = {.method = given->method,
                            .url = given->url,
                            .user = given->user,
                            .fields = given->fields,
                            .nameless = true};
    struct bt_txn *txn;

    if (given->client.at != NULL && !addr_parse_sockaddr(given->client, 40000, &sketch.from)) {
        *why = "the client is no address";
        return NULL;
    }
    txn = sketch_new(&sketch, why);
    if (txn == NULL || (given->status != 0 && !sketch_response(txn, given, why)))
        return NULL;
    txn->step = STEP_admit;
    txn->running = true; /* nobody is to walk it through its steps */
    return txn;
}
