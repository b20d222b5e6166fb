/* accel.c - ports with accel: the proxy stands before a site, whose clients take it for the site.
 *
 * Such requests have the form that an origin gets; their URL is made of Host, or of what the port's
 * line says. A host that somebody put into the target itself counts as if it were Host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/accel.h"

#include "base/addr.h"
#include "base/clock.h"
#include "base/str.h"
#include "flow/core.h"
#include "flow/session.h"
#include "http/date.h"

static const struct port_site *site_of(const struct bt_txn *txn)
{
    return core->ports[txn->session->port].site;
}

/* As if the client had not sent them. */
static void drop_caching(struct head *req)
{
    unsigned n = 0;

    for (unsigned i = 0; i < req->n; i++) {
        enum header_id id = req->field[i].id;
        if (id == HEADER_CACHE_CONTROL || id == HEADER_PRAGMA)
            req->seen[(unsigned)id / 64] &= ~(UINT64_C(1) << ((unsigned)id % 64));
        else
            req->field[n++] = req->field[i];
    }
    req->n = n;
}

static bt_str own_address(struct bt_txn *txn)
{
    char text[ADDR_TEXT];
    bt_str addr = {text, addr_print_sockaddr(session_local(txn->session), text)};

    return bt_str_printf(txn->arena, str_find_char(addr, ':') >= 0 ? "[%.*s]" : "%.*s",
                         BT_STR_ARGS(addr));
}

static bt_str without_port(bt_str host)
{
    int64_t end = str_find_char(host, host.at[0] == '[' ? ']' : ':');

    return end < 0 ? host : str_slice(host, 0, (size_t)end + (host.at[0] == '['));
}

enum head_fault accel_url(struct bt_txn *txn)
{
    const struct port_site *site = site_of(txn);
    bt_str host = BT_STR_NONE;
    enum head_fault fault;

    if (site->vhost)
        host = txn->url.form == URL_ABSOLUTE ? txn->url.authority
                                             : head_get(&txn->req, HEADER_HOST);
    if (host.len == 0)
        host = site->defaultsite;
    if (host.len == 0 && site->vport > 0)
        host = own_address(txn);
    if (host.len == 0)
        return FAULT_HOST_MISSING;
    if (site->vport > 0) {
        host = without_port(host);
        host = bt_str_printf(txn->arena, "%.*s:%d", BT_STR_ARGS(host), site->vport);
    }
    txn->url.userinfo = BT_STR_NONE;
    fault = url_complete(txn->arena, site->scheme, host, &txn->url);
    txn->url.form = URL_ABSOLUTE;
    txn->no_direct = !site->allow_direct;
    if (site->ignore_cc)
        drop_caching(&txn->req);
    return fault;
}

/* Takes the line out of those that were added; false: there is none. */
static bool age_take(struct bt_txn *txn, uint64_t *age)
{
    bt_str rest = txn->reply_fields, line, name, value;
    struct str_builder out;
    bool found = false;

    if (rest.len == 0)
        return false;
    str_builder_arena(&out, txn->arena, rest.len);
    while (str_cut(&rest, '\n', &line) && line.len > 0) {
        if (str_split(line, ':', &name, &value) && str_eq_literal(name, "Age") &&
            str_uint(str_trim_space(value), UINT32_MAX, age)) {
            found = true;
            continue;
        }
        str_add(&out, line);
        str_add_char(&out, '\n');
    }
    if (found)
        txn->reply_fields = str_built(&out);
    return found;
}

static void field_date(struct bt_txn *txn, enum header_id id, int64_t seconds)
{
    char *text = bt_alloc_raw(txn->arena, DATE_LEN);

    date_print(text, seconds);
    for (unsigned i = 0; i < txn->rep.n; i++)
        if (txn->rep.field[i].id == id)
            txn->rep.field[i].value = (bt_str){text, DATE_LEN};
}

void accel_renew(struct bt_txn *txn)
{
    const struct port_site *site = site_of(txn);
    int64_t now = clock_wall_s(), made, ends;
    uint64_t age;

    if (site == NULL || !site->act_as_origin || !age_take(txn, &age))
        return;
    if (date_parse(head_get(&txn->rep, HEADER_DATE), now, &made) &&
        date_parse(head_get(&txn->rep, HEADER_EXPIRES), now, &ends))
        field_date(txn, HEADER_EXPIRES,
                   ends - made > (int64_t)age ? now + (ends - made) - (int64_t)age : now);
    field_date(txn, HEADER_DATE, now);
}
