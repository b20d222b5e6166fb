/* intercept.c - connections that the firewall redirected: where they were to go, and whether their
 * requests say the same.
 *
 * A client may write any name into Host. Were it believed, a page of one site could fill the cache
 * for another, or reach, by this machine's resolver and rights, what the client cannot. So the name
 * is looked up, and counts as true when where the client went is among its addresses: those of now,
 * or, since many names have other ones in each answer, those that this worker has seen within the
 * hour. What is not true is not refused, since the client's resolver may know better: it goes to
 * where the client went and nowhere else, and caches keep out of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/intercept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <errno.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/table.h"
#include "bt_log.h"
#include "bt_sets.h"
#include "flow/core.h"
#include "http/parse.h"
#include "plug/rules.h"
#include "stat/counts.h"

enum {
    ORIGINAL_DST = 80, /* SO_ORIGINAL_DST of both families: its headers do not go with libc's */
    VOUCHED = 8192,
    PORTS = 65536
};
#define VOUCHED_US (3600 * INT64_C(1000000))

/* ---- where did the client go? ---- */

/* Under the family that the client has, whatever the port's socket is. */
static bool original(const struct session *s, struct sockaddr_storage *out)
{
    bool v6 = s->peer.any.sa_family == AF_INET6;
    socklen_t len = sizeof *out;
    int got;

    memset(out, 0, sizeof *out);
    if (core->ports[s->port].mode == PORT_TPROXY)
        got = getsockname(s->stream.fd, (struct sockaddr *)out, &len);
    else
        got = getsockopt(s->stream.fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, ORIGINAL_DST, out, &len);
    if (got == 0 && addr_port((struct sockaddr *)out) != 0)
        return true;
    if (got == 0)
        errno = EADDRNOTAVAIL; /* a rule for all ports redirects port 0, too */
    return false;
}

/* ---- are we our own client? ---- */

/* A firewall that redirects what this server itself sends leads it round and round, without a Via to
 * tell by where it is no HTTP. So for each local port there stands, for all workers, what goes out of
 * it: a mix of both addresses; 0: nothing. */
static _Atomic uint32_t *dialled;

bool intercept_share(void)
{
    void *memory;
    bool any = false;

    for (size_t i = 0; i < core->n_ports; i++)
        any |= core->ports[i].mode == PORT_INTERCEPT || core->ports[i].mode == PORT_TPROXY;
    if (!any)
        return true;
    memory = mmap(NULL, PORTS * sizeof *dialled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    if (memory == MAP_FAILED)
        return false;
    dialled = memory;
    return true;
}

static uint32_t mix(const struct sockaddr *from, const struct sockaddr *to)
{
    uint8_t bytes[34] = {0};
    unsigned port = addr_port(to);

    (void)!bt_addr_bytes(from, bytes);
    (void)!bt_addr_bytes(to, bytes + 16);
    bytes[32] = (uint8_t)(port >> 8);
    bytes[33] = (uint8_t)port;
    return (uint32_t)table_hash((bt_str){(const char *)bytes, sizeof bytes}) | 1;
}

static void undialled(void *port)
{
    dialled[(uintptr_t)port] = 0;
}

void intercept_dialled(struct origin *origin)
{
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof from;
    const struct sockaddr *local = (const struct sockaddr *)&from;

    if (getsockname(origin->stream.fd, (struct sockaddr *)&from, &len) != 0)
        return;
    dialled[addr_port(local)] = mix(local, &origin->peer->addr.any);
    origin->closed = undialled;
    origin->closed_arg = (void *)(uintptr_t)addr_port(local);
}

bool intercept_loops(const struct session *s)
{
    char there[ADDR_PORT_TEXT];

    if (s->served || dialled[addr_port(&s->peer.any)] != mix(&s->peer.any, &s->local.any))
        return false;
    count(intercept_loops);
    addr_print_with_port(&s->local.any, there);
    bt_log_limited(NULL, BT_WARN, 30,
                   "a connection of this server itself, to %s, was redirected to it and is closed; "
                   "the firewall must leave out what the server sends (meta skuid)",
                   there);
    return true;
}

bool intercept_enter(struct session *s)
{
    struct sockaddr_storage addr;

    if (!original(s, &addr)) {
        count(intercept_lost);
        bt_log_limited(NULL, BT_WARN, 30,
                       "a redirected connection was closed: where it was to go is not known: %s; "
                       "the rule that redirects it must be on this machine",
                       strerror(errno));
        return false;
    }
    addr_unmap(&addr);
    memcpy(&s->local, &addr, sizeof s->local);
    s->redirected = true;
    count(intercept_connections);
    return !intercept_loops(s);
}

static void go_there(struct bt_txn *txn)
{
    txn->lone_addr = &txn->session->local.any;
    txn->addrs = &txn->lone_addr;
    txn->n_addrs = 1;
    txn->original = true;
}

void intercept_follow(struct bt_txn *txn, const struct bt_txn *of)
{
    if (of->original)
        go_there(txn);
}

/* ---- addresses that names have had ---- */

static struct vouched {
    uint64_t who; /* of name and address; 0: nobody */
    int64_t us;
} * vouched;

static struct vouched *vouched_at(bt_str host, const struct sockaddr *addr, uint64_t *who)
{
    uint8_t bytes[16] = {0};
    uint64_t key[2];

    (void)!bt_addr_bytes(addr, bytes);
    key[0] = table_hash((bt_str){(const char *)bytes, sizeof bytes});
    key[1] = table_hash(host);
    *who = table_hash((bt_str){(const char *)key, sizeof key}) | 1;
    if (vouched == NULL) {
        vouched = calloc(VOUCHED, sizeof *vouched);
        CHECK(vouched != NULL);
    }
    return &vouched[*who / 2 % VOUCHED];
}

static void vouch(bt_str host, const struct sockaddr *addr)
{
    uint64_t who;
    struct vouched *v = vouched_at(host, addr, &who);

    *v = (struct vouched){who, clock_us()};
}

static bool is_vouched(bt_str host, const struct sockaddr *addr)
{
    uint64_t who;
    const struct vouched *v = vouched_at(host, addr, &who);

    return v->who == who && clock_us() - v->us < VOUCHED_US;
}

/* ---- is it true? ---- */

/* Of the addresses that were found, and the port. */
static bool leads_there(struct bt_txn *txn)
{
    const struct sockaddr *there = &txn->session->local.any;
    bool found = false;

    if (txn->url.port != addr_port(there))
        return false;
    for (size_t i = 0; i < txn->n_addrs; i++) {
        found |= addr_same(txn->addrs[i], there, false);
        if (!txn->url.host_is_addr)
            vouch(txn->url.host, txn->addrs[i]);
    }
    return found || (!txn->url.host_is_addr && is_vouched(txn->url.host, there));
}

static enum go conflict(struct bt_txn *txn)
{
    count(requests_denied);
    txn->tag = "TCP_DENIED";
    return txn_refuse(txn, 409, "ERR_CONFLICT_HOST",
                      "the host of the request is not where it was sent to");
}

static enum go forged(struct bt_txn *txn)
{
    char there[ADDR_PORT_TEXT];

    txn->forged = txn->no_parents = true;
    count(intercept_forged);
    addr_print_with_port(&txn->session->local.any, there);
    bt_log_limited(txn, BT_WARN, 30,
                   "Host says %.*s, and the client went to %s, which is none of its addresses",
                   BT_STR_ARGS(txn->url.authority), there);
    return core->host_strict ? conflict(txn) : GO_ON;
}

/* host_verify_strict, where clients are told of the proxy: Host must be what the URL says. */
static enum go host_compare(struct bt_txn *txn)
{
    bt_str scheme = txn->url.scheme.len > 0 ? txn->url.scheme : BT_STR("https");
    bt_str host = head_get(&txn->req, HEADER_HOST);
    struct url said = {.form = URL_ORIGIN};

    if (host.len == 0 || txn->url.form == URL_ASTERISK ||
        (url_complete(txn->arena, scheme, host, &said) == FAULT_NONE &&
         bt_str_eq(said.host, txn->url.host) && said.port == txn->url.port))
        return GO_ON;
    return conflict(txn);
}

enum go intercept_check(struct bt_txn *txn)
{
    enum bt_match found;

    /* Another worker may have accepted it before the one that sends had noted it. */
    if (txn->session->redirected && intercept_loops(txn->session)) {
        txn->tag = "TCP_DENIED";
        return txn_refuse(txn, 508, "ERR_ACCESS_DENIED", "the request has passed here before");
    }
    if (txn->original || txn->implied || txn->session->inside != NULL)
        return GO_ON;
    if (!txn->session->redirected)
        return host_compare(txn);
    found = origin_addrs(txn);
    if (found == BT_WAIT)
        return GO_WAIT;
    bool fine = found == BT_YES && leads_there(txn);
    if (!fine || core->dst_passthru)
        go_there(txn);
    return fine ? GO_ON : forged(txn);
}

/* ---- requests ---- */

static bt_str there_text(struct bt_txn *txn)
{
    char text[ADDR_PORT_TEXT];

    return bt_str_copy(txn->arena,
                       (bt_str){text, addr_print_with_port(&txn->session->local.any, text)});
}

enum head_fault intercept_url(struct bt_txn *txn)
{
    bt_str host = head_get(&txn->req, HEADER_HOST);
    enum head_fault fault;

    if (txn->url.form != URL_ORIGIN && txn->url.form != URL_ASTERISK)
        return FAULT_NONE;
    fault = url_complete(txn->arena, BT_STR("http"), host.len > 0 ? host : there_text(txn),
                         &txn->url);
    txn->url.form = URL_ABSOLUTE;
    return fault;
}

void intercept_connect(struct bt_txn *txn)
{
    enum head_fault fault;

    txn->req = (struct head){.method = BT_STR("CONNECT"),
                             .method_id = METHOD_CONNECT,
                             .target = there_text(txn),
                             .minor = 1,
                             .content_length = -1};
    fault = url_parse(txn->arena, METHOD_CONNECT, txn->req.target, &txn->url);
    CHECK(fault == FAULT_NONE);
    go_there(txn);
    txn->implied = true;
    txn->keep_client = false;
    txn->upload_over = true;
    txn->hooks_done = false;
    txn->time.start = txn->time.head = clock_us();
    txn->step = STEP_admit;
    count(requests);
}

bool intercept_tunnels(struct bt_txn *txn, const char *page)
{
    struct bt_ruling ruling;

    if (core->unsupported == NULL)
        return false;
    txn->deny_page = page;
    ruling = bt_rules_run(core->unsupported, txn);
    txn->deny_page = NULL;
    acl_forget(txn);
    return ruling.match == BT_YES && ruling.action == UNSUPPORTED_TUNNEL;
}

const struct sockaddr *intercept_spoof(struct bt_txn *txn)
{
    const struct session *s = txn->session;
    const struct sockaddr *who = &s->peer.any;
    union session_addr *addr;
    struct bt_ruling ruling;

    if (!s->redirected || core->ports[s->port].mode != PORT_TPROXY)
        return NULL;
    if (core->spoof != NULL) {
        ruling = bt_rules_run(core->spoof, txn);
        if (ruling.match != BT_YES || ruling.action != BT_ALLOW)
            return NULL;
    }
    if (core->tproxy_indirect && txn->behind != NULL &&
        txn->behind->sa_family == s->peer.any.sa_family)
        who = txn->behind;
    addr = bt_alloc(txn->arena, sizeof *addr);
    memcpy(addr, who, addr_len(who));
    addr_set_port(&addr->any, 0);
    return &addr->any;
}
