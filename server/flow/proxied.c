/* proxied.c - clients that a load balancer connects: who they are, as its PROXY header says.
 *
 * Anybody could claim to be anybody by such a header, so proxy_protocol_access is asked about the
 * connection itself before its first byte is looked at, and without a line nobody is believed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/proxied.h"

#include <string.h>

#include "base/addr.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/core.h"
#include "plug/rules.h"
#include "stat/counts.h"

static bool believed(struct session *s)
{
    struct bt_ruling ruling = bt_rules_run(core->proxied, s->txn);

    acl_forget(s->txn); /* it was about another client */
    if (core->proxied != NULL && ruling.match == BT_YES && ruling.action == BT_ALLOW)
        return true;
    count(proxied_strangers);
    bt_log_limited(s->txn, BT_WARN, 30,
                   "a connection to a port with require-proxy-header was closed: "
                   "proxy_protocol_access does not allow its address");
    return false;
}

/* Health probes come and go without a word. */
static enum proxied_said refused(const struct session *s, const char *why)
{
    count(proxied_bad);
    bt_log_limited(s->txn, BT_WARN, 30, "a PROXY header was refused, its connection closed: %s",
                   why);
    return PROXIED_BAD;
}

static void take(struct session *s, const struct proxy_header *header)
{
    struct bt_arena *arena = bt_conn_arena(s->txn);
    struct proxied *p = bt_alloc(arena, sizeof *p);

    p->header = *header;
    p->header.tlvs = bt_str_copy(arena, header->tlvs);
    p->direct = s->peer;
    s->proxied = p;
    s->in.at += header->len;
    s->greeting = false;
    count(proxied_headers);
    if (header->local)
        count(proxied_local);
    if (!header->known)
        return;
    _Static_assert(sizeof s->peer == sizeof header->src, "the same union");
    memcpy(&s->peer, &header->src, sizeof s->peer);
    memcpy(&s->local, &header->dst, sizeof s->local);
}

enum proxied_said proxied_look(struct session *s)
{
    struct proxy_header header;

    if (!s->believed && !believed(s))
        return PROXIED_BAD;
    s->believed = true;
    switch (proxy_header_parse(s->in.at, input_len(&s->in), &header)) {
    case PROXY_HEADER_MORE:
        return PROXIED_MORE;
    case PROXY_HEADER_WHOLE:
        take(s, &header);
        return PROXIED_FINE;
    default:
        return refused(s, header.why);
    }
}

void proxied_cut(const struct session *s)
{
    if (input_len(&s->in) > 0)
        (void)refused(s, "the connection ended within it");
}

/* ---- fields ---- */

static bt_str addr_text(struct bt_txn *txn, const union proxy_addr *addr)
{
    char text[ADDR_TEXT];

    return bt_str_copy(txn->arena, (bt_str){text, addr_print_sockaddr(&addr->any, text)});
}

static bt_str port_text(struct bt_txn *txn, const union proxy_addr *addr)
{
    return bt_str_printf(txn->arena, "%u", addr_port(&addr->any));
}

/* Squid's names of what is no TLV; NONE: it is not known. */
static bt_str pseudo(struct bt_txn *txn, const struct proxy_header *h, bt_str name)
{
    if (str_eq_literal(name, ":version"))
        return h->version == 1 ? BT_STR("1.0") : BT_STR("2.0");
    if (str_eq_literal(name, ":command"))
        return h->local ? BT_STR("0") : BT_STR("1");
    if (!h->known)
        return BT_STR_NONE;
    if (str_eq_literal(name, ":src_addr"))
        return addr_text(txn, &h->src);
    if (str_eq_literal(name, ":dst_addr"))
        return addr_text(txn, &h->dst);
    if (str_eq_literal(name, ":src_port"))
        return port_text(txn, &h->src);
    if (str_eq_literal(name, ":dst_port"))
        return port_text(txn, &h->dst);
    return BT_STR_NONE;
}

static bt_str all_values(struct bt_txn *txn, const struct proxy_header *h)
{
    static const bt_str names[] = {{":version", 8},  {":command", 8},  {":src_addr", 9},
                                   {":dst_addr", 9}, {":src_port", 9}, {":dst_port", 9}};
    struct str_builder out;
    unsigned type;
    bt_str value;

    str_builder_arena(&out, txn->arena, 256 + h->tlvs.len);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        value = pseudo(txn, h, names[i]);
        if (value.at != NULL)
            str_add_format(&out, "%.*s: %.*s\r\n", BT_STR_ARGS(names[i]), BT_STR_ARGS(value));
    }
    for (size_t i = 0; proxy_header_tlv(h->tlvs, i, &type, &value); i++) {
        str_add_format(&out, "%u: ", type);
        str_add(&out, value);
        str_add_literal(&out, "\r\n");
    }
    return str_built(&out);
}

bool proxied_value(struct bt_txn *txn, bt_str arg, bt_str *value)
{
    const struct proxied *p = txn->session->proxied;
    uint64_t wanted;
    unsigned type;

    *value = BT_STR_NONE;
    if (p == NULL)
        return false;
    if (arg.at == NULL)
        *value = all_values(txn, &p->header);
    else if (!str_uint(arg, 255, &wanted))
        *value = pseudo(txn, &p->header, arg);
    else
        for (size_t i = 0; proxy_header_tlv(p->header.tlvs, i, &type, value); i++)
            if (type == wanted)
                return true;
            else
                *value = BT_STR_NONE;
    return value->len > 0;
}
