/* fields.c - the server's own fields.
 *
 * One row a field; its codes are Squid's. Values are borrowed from the exchange wherever they stand
 * there already, so that a log line costs little more than its bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/fields.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/str.h"
#include "flow/access.h"
#include "flow/core.h"
#include "flow/logs.h"
#include "flow/proxied.h"
#include "flow/route.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "http/status.h"
#include "plug/generation.h"
#include "plug/registry.h"

bool fields_need_local;
uint32_t fields_mask = UINT32_MAX;

#define FIELD(name) static bool name(struct bt_txn *txn, bt_str arg, struct bt_value *out)

static bool text(struct bt_value *out, bt_str value)
{
    *out = (struct bt_value){.kind = BT_TEXT, .text = value};
    return value.len > 0;
}

static bool number(struct bt_value *out, int64_t value)
{
    *out = (struct bt_value){.kind = BT_INT, .num = value};
    return true;
}

static bool address(struct bt_value *out, const struct sockaddr *value)
{
    *out = (struct bt_value){.kind = BT_ADDR, .addr = value};
    return value != NULL && value->sa_family != AF_UNSPEC;
}

static bool port(struct bt_value *out, const struct sockaddr *value)
{
    return value != NULL && value->sa_family != AF_UNSPEC && number(out, addr_port(value));
}

/* Milliseconds from one moment to another; none when one of them never came. */
static bool span(struct bt_value *out, int64_t from, int64_t to)
{
    return from != 0 && to >= from && number(out, (to - from) / 1000);
}

static bool none(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    (void)out;
    return false;
}

/* ---- client ---- */

/* client_netmask, while a line is written. Addresses of IPv6 show their first 48 bits then. */
static bool masked(struct bt_txn *txn, const struct sockaddr *whole, struct bt_value *out)
{
    struct sockaddr_in6 *v6;
    struct sockaddr_in *v4;

    if (whole->sa_family == AF_INET) {
        v4 = bt_alloc(txn->arena, sizeof *v4);
        memcpy(v4, whole, sizeof *v4);
        v4->sin_addr.s_addr &= htonl(fields_mask);
        return address(out, (const struct sockaddr *)v4);
    }
    if (whole->sa_family != AF_INET6)
        return address(out, whole);
    v6 = bt_alloc(txn->arena, sizeof *v6);
    memcpy(v6, whole, sizeof *v6);
    memset(&v6->sin6_addr.s6_addr[6], 0, 10);
    return address(out, (const struct sockaddr *)v6);
}

static bool client(struct bt_txn *txn, const struct sockaddr *addr, struct bt_value *out)
{
    return fields_mask == UINT32_MAX ? address(out, addr) : masked(txn, addr, out);
}

FIELD(client_addr)
{
    (void)arg;
    return client(txn,
                  core->log_indirect && txn->behind != NULL ? txn->behind : &txn->session->peer.any,
                  out);
}

/* Nobody asks a name server for the sake of a log. */
FIELD(client_name)
{
    const struct resolve *named = txn->naming_now ? NULL : txn->naming;

    if (named != NULL && named->name.len > 0)
        return text(out, named->name);
    return client_addr(txn, arg, out);
}

FIELD(client_direct)
{
    (void)arg;
    return client(txn,
                  txn->session->proxied != NULL ? &txn->session->proxied->direct.any
                                                : &txn->session->peer.any,
                  out);
}

FIELD(client_port)
{
    (void)arg;
    return port(out, &txn->session->peer.any);
}

FIELD(local_addr)
{
    (void)arg;
    return address(out, bt_local_addr(txn));
}

FIELD(local_port)
{
    (void)arg;
    return port(out, bt_local_addr(txn));
}

/* The socket's own, where what the client connected to is somebody else's. */
static const struct sockaddr *own_local(struct bt_txn *txn)
{
    const struct session *s = txn->session;
    const struct flow_port *at = &core->ports[s->port];
    struct sockaddr_storage found = {0};
    socklen_t len = sizeof found;
    union session_addr *addr;

    if (at->mode == PORT_TPROXY)
        return (const struct sockaddr *)&at->addr;
    if ((!s->redirected && s->proxied == NULL) || s->stream.fd < 0)
        return bt_local_addr(txn);
    if (getsockname(s->stream.fd, (struct sockaddr *)&found, &len) != 0)
        return NULL;
    addr_unmap(&found);
    addr = bt_alloc(txn->arena, sizeof *addr);
    memcpy(addr, &found, sizeof *addr);
    return &addr->any;
}

FIELD(own_addr)
{
    (void)arg;
    return address(out, own_local(txn));
}

FIELD(own_port)
{
    (void)arg;
    return port(out, own_local(txn));
}

FIELD(local_name)
{
    (void)arg;
    return text(out, bt_port_name(txn));
}

FIELD(proxied_header)
{
    bt_str value;

    return proxied_value(txn, arg, &value) && text(out, value);
}

/* ---- origin ---- */

void fields_note_server(struct bt_txn *txn, const struct origin *origin)
{
    struct txn_server *server = &txn->server;
    socklen_t len = sizeof server->local;

    _Static_assert(sizeof server->addr == sizeof origin->peer->addr, "the same union");
    memcpy(&server->addr, &origin->peer->addr, sizeof server->addr);
    if (fields_need_local && getsockname(origin->stream.fd, &server->local.any, &len) != 0)
        server->local.any.sa_family = AF_UNSPEC;
}

/* Of the connection; else the address that could not be reached. */
static const struct sockaddr *server_addr(const struct bt_txn *txn)
{
    if (txn->server.addr.any.sa_family != AF_UNSPEC)
        return &txn->server.addr.any;
    return txn->dial != NULL ? txn->dial->addr : NULL;
}

FIELD(origin_addr)
{
    (void)arg;
    return address(out, server_addr(txn));
}

FIELD(origin_port)
{
    (void)arg;
    return port(out, server_addr(txn));
}

FIELD(origin_name)
{
    (void)arg;
    if (route_parent(txn) != NULL)
        return text(out, route_parent(txn)->name);
    return server_addr(txn) != NULL && text(out, txn->url.host);
}

FIELD(origin_local_addr)
{
    (void)arg;
    return address(out, &txn->server.local.any);
}

FIELD(origin_local_port)
{
    (void)arg;
    return port(out, &txn->server.local.any);
}

FIELD(origin_tries)
{
    (void)arg;
    return number(out, txn->tries);
}

/* ---- time ---- */

static int64_t end_us(const struct bt_txn *txn)
{
    return txn->time.end != 0 ? txn->time.end : clock_us();
}

FIELD(time_seconds)
{
    (void)arg;
    return number(out, clock_wall_us_at(end_us(txn)) / 1000000);
}

FIELD(time_milliseconds)
{
    (void)arg;
    return number(out, clock_wall_us_at(end_us(txn)) / 1000 % 1000);
}

FIELD(time_start)
{
    int64_t us = clock_wall_us_at(txn->time.start);

    (void)arg;
    return text(out, bt_str_printf(txn->arena, "%lld.%03d", (long long)(us / 1000000),
                                   (int)(us / 1000 % 1000)));
}

/* The last answer is kept: lines of one second, by one format, are the rule. */
struct calendar {
    int64_t second;
    const char *format; /* by address: formats live as long as the configuration */
    char text[128];
    size_t len;
};

static bool calendar_text(struct bt_txn *txn, bt_str format, struct calendar *kept, bool local,
                          struct bt_value *out)
{
    time_t second = (time_t)(clock_wall_us_at(end_us(txn)) / 1000000);

    if (second != kept->second || format.at != kept->format) {
        char ended[200];
        struct str_builder b;
        struct tm tm;

        str_builder_init(&b, ended, sizeof ended);
        str_add(&b, format);
        if (local)
            localtime_r(&second, &tm);
        else
            gmtime_r(&second, &tm);
        kept->len = strftime(kept->text, sizeof kept->text, ended, &tm);
        kept->second = second;
        kept->format = format.at;
    }
    return text(out, bt_str_copy(txn->arena, (bt_str){kept->text, kept->len}));
}

FIELD(time_local)
{
    static struct calendar kept;

    return calendar_text(txn, arg.at != NULL ? arg : BT_STR("%d/%b/%Y:%H:%M:%S %z"), &kept, true,
                         out);
}

FIELD(time_utc)
{
    static struct calendar kept;

    return calendar_text(txn, arg.at != NULL ? arg : BT_STR("%d/%b/%Y:%H:%M:%S"), &kept, false,
                         out);
}

FIELD(time_taken)
{
    (void)arg;
    return number(out, txn->time.start == 0 ? 0 : (end_us(txn) - txn->time.start) / 1000);
}

FIELD(time_dns)
{
    (void)arg;
    return txn->time.resolved != txn->time.resolve &&
           span(out, txn->time.resolve, txn->time.resolved);
}

FIELD(time_reply)
{
    (void)arg;
    return span(out, txn->time.sent, txn->time.reply);
}

FIELD(time_forward)
{
    int64_t from = txn->time.dial != 0 ? txn->time.dial : txn->time.sent;

    (void)arg;
    return span(out, from, end_us(txn));
}

/* ---- request ---- */

bt_str fields_url(struct bt_txn *txn)
{
    if (txn->url.text.len > 0)
        return txn->url.text;
    if (txn->req.target.len > 0)
        return txn->req.target;
    switch (txn->rep.status) {
    case 414:
    case 431:
        return BT_STR("error:request-too-large");
    case 408:
    case 0:
        return BT_STR("error:transaction-end-before-headers");
    default:
        return BT_STR("error:invalid-request");
    }
}

FIELD(req_method)
{
    (void)arg;
    return text(out, txn->req.method);
}

FIELD(req_url)
{
    (void)arg;
    return text(out, fields_url(txn));
}

FIELD(log_url)
{
    (void)arg;
    return text(out, logs_url(txn));
}

FIELD(req_scheme)
{
    (void)arg;
    return text(out, txn->url.scheme);
}

FIELD(req_host)
{
    (void)arg;
    return text(out, txn->url.host);
}

FIELD(req_port)
{
    (void)arg;
    return txn->url.port != 0 && number(out, txn->url.port);
}

FIELD(req_path)
{
    (void)arg;
    return text(out, txn->url.path);
}

/* What the client asked for, before anybody changed it. */
static const struct url *asked(const struct bt_txn *txn)
{
    return txn->asked != NULL ? txn->asked : &txn->url;
}

FIELD(asked_url)
{
    (void)arg;
    return text(out, txn->asked != NULL ? txn->asked->text : fields_url(txn));
}

FIELD(asked_scheme)
{
    (void)arg;
    return text(out, asked(txn)->scheme);
}

FIELD(asked_host)
{
    (void)arg;
    return text(out, asked(txn)->host);
}

FIELD(asked_port)
{
    (void)arg;
    return asked(txn)->port != 0 && number(out, asked(txn)->port);
}

FIELD(asked_path)
{
    (void)arg;
    return text(out, asked(txn)->path);
}

FIELD(req_version)
{
    (void)arg;
    return txn->req.method.len > 0 &&
           text(out, txn->req.minor == 0 ? BT_STR("1.0") : BT_STR("1.1"));
}

FIELD(origin_version)
{
    (void)arg;
    return txn->time.sent != 0 && text(out, BT_STR("1.1"));
}

/* ---- header fields ---- */

/* Several fields of one name are one list. */
static bt_str header_joined(struct bt_txn *txn, const struct head *head, bt_str name)
{
    bt_str first = head_find(head, name, 0), next = BT_STR_NONE;
    struct str_builder b;

    if (first.at != NULL)
        next = head_find(head, name, 1);
    if (next.at == NULL)
        return first;
    str_builder_arena(&b, txn->arena, first.len + next.len + 8);
    str_add(&b, first);
    for (size_t i = 1; next.at != NULL; next = head_find(head, name, ++i)) {
        str_add_literal(&b, ", ");
        str_add(&b, next);
    }
    return str_built(&b);
}

/* VALUE of `ELEMENT=VALUE` in a list. */
static bt_str header_element(bt_str list, char sep, bt_str element)
{
    bt_str rest = list, part, name, value;

    while (str_cut(&rest, sep, &part))
        if (str_split(str_trim(part), '=', &name, &value) && bt_str_eq(str_trim(name), element))
            return str_trim(value);
    return BT_STR_NONE;
}

/* "Name" or "Name:[sep]element". */
static bool header_value(struct bt_txn *txn, const struct head *head, bt_str arg,
                         struct bt_value *out)
{
    bt_str name, element, value;
    bool whole = !str_split(arg, ':', &name, &element);
    char sep = ',';

    value = header_joined(txn, head, name);
    if (whole)
        return text(out, value);
    if (element.len > 0 && !str_is(element.at[0], STR_ALPHA | STR_DIGIT)) {
        sep = element.at[0];
        element = str_skip(element, 1);
    }
    return text(out, header_element(value, sep, element));
}

static void add_headers(struct str_builder *b, const struct head *head, bool all)
{
    for (unsigned i = 0; i < head->n; i++) {
        const struct head_field *field = &head->field[i];

        if (field->drop && !all)
            continue;
        str_add(b, field->name);
        str_add_literal(b, ": ");
        str_add(b, field->value);
        str_add_literal(b, "\r\n");
    }
}

FIELD(req_header)
{
    struct str_builder b;

    if (arg.at != NULL)
        return header_value(txn, &txn->req, arg, out);
    str_builder_arena(&b, txn->arena, txn->req.bytes + 64);
    add_headers(&b, &txn->req, true);
    return text(out, str_built(&b));
}

FIELD(rep_header)
{
    struct str_builder b;

    if (arg.at != NULL)
        return header_value(txn, &txn->rep, arg, out);
    if (txn->rep.status == 0)
        return false;
    str_builder_arena(&b, txn->arena, txn->rep.bytes + 128);
    str_add_format(&b, "HTTP/1.1 %d ", txn->rep.status);
    str_add(&b, txn->rep.reason.len > 0 ? txn->rep.reason : status_reason(txn->rep.status));
    str_add_literal(&b, "\r\n");
    add_headers(&b, &txn->rep, false);
    str_add(&b, txn->answer_fields);
    str_add_literal(&b, "\r\n");
    return text(out, str_built(&b));
}

/* ---- response ---- */

/* Is txn->rep what the origin sent? */
static bool from_origin(const struct bt_txn *txn)
{
    return txn->time.reply != 0 && txn->deny_status == 0 && txn->req.method_id != METHOD_CONNECT;
}

/* A head that was made, but whose client was gone before a byte of it left, was not sent. */
static bool head_left(const struct bt_txn *txn)
{
    return txn->head_sent && !(txn->ended == END_CLIENT_GONE && txn->bytes.reply == 0);
}

FIELD(rep_status)
{
    (void)arg;
    return number(out, head_left(txn) ? txn->rep.status : 0);
}

FIELD(origin_status)
{
    (void)arg;
    return from_origin(txn) && number(out, txn->rep.status);
}

/* Of the head that is sent, be it the origin's or ours; hooks write fields as text. */
static bt_str rep_value(const struct bt_txn *txn, bt_str wanted)
{
    bt_str value = head_find(&txn->rep, wanted, 0), rest = txn->answer_fields, line, name;

    while (value.at == NULL && str_cut(&rest, '\n', &line))
        if (str_split(line, ':', &name, &line) && bt_str_eq_nocase(name, wanted))
            value = str_trim_space(line);
    return value;
}

FIELD(rep_mime)
{
    bt_str type;
    size_t n = 0;

    (void)arg;
    if (!head_left(txn) || (txn->req.method_id == METHOD_CONNECT && txn->deny_status == 0))
        return false;
    type = rep_value(txn, BT_STR("Content-Type"));
    type = str_trim(type);
    while (n < type.len && type.at[n] != ';' && type.at[n] != ' ' && type.at[n] != '\t')
        n++;
    return text(out, str_slice(type, 0, n));
}

/* ---- sizes ---- */

/* Framing of a request's body is not counted, as Squid has it; a tunnel has none. */
static int64_t request_bytes(const struct bt_txn *txn)
{
    if (txn->req.method_id == METHOD_CONNECT)
        return txn->bytes.request;
    return txn->bytes.request_head + (int64_t)txn->upload.received;
}

FIELD(bytes_request)
{
    (void)arg;
    return number(out, request_bytes(txn));
}

FIELD(bytes_reply)
{
    (void)arg;
    return number(out, txn->bytes.reply);
}

FIELD(bytes_both)
{
    (void)arg;
    return number(out, request_bytes(txn) + txn->bytes.reply);
}

FIELD(bytes_request_head)
{
    (void)arg;
    return number(out, txn->bytes.request_head);
}

FIELD(bytes_reply_head)
{
    (void)arg;
    return number(out, txn->bytes.reply_head);
}

FIELD(bytes_body)
{
    (void)arg;
    return from_origin(txn) && number(out, txn->bytes.body_in);
}

/* Of an answer that is our own, what went to the client. */
FIELD(bytes_answer)
{
    if (bytes_body(txn, arg, out))
        return true;
    return txn->head_sent && txn->req.method_id != METHOD_CONNECT &&
           number(out, txn->bytes.reply - txn->bytes.reply_head);
}

/* ---- result ---- */

FIELD(result_tag)
{
    bool none_yet = strcmp(txn->tag, "NONE") == 0;
    bt_str tag = none_yet ? BT_STR("NONE_NONE") : str_from(txn->tag);

    (void)arg;
    if (txn->ended == END_CLIENT_GONE && !none_yet)
        tag = bt_str_printf(txn->arena, "%s_ABORTED", txn->tag);
    return text(out, tag);
}

FIELD(result_hierarchy)
{
    (void)arg;
    return text(out, str_from(txn->hierarchy));
}

FIELD(result_error)
{
    (void)arg;
    if (txn->deny_page != NULL)
        return text(out, str_from(txn->deny_page));
    return txn->ended == END_CLIENT_GONE && text(out, BT_STR("ERR_CLIENT_GONE"));
}

FIELD(result_detail)
{
    (void)arg;
    return txn->deny_page != NULL && txn->dial_errno != 0 &&
           text(out, bt_str_printf(txn->arena, "errno=%d", txn->dial_errno));
}

FIELD(rule)
{
    (void)arg;
    return txn->rule != NULL && text(out, access_place(txn, txn->rule));
}

FIELD(rule_text)
{
    (void)arg;
    return txn->rule != NULL && text(out, access_text(txn, txn->rule));
}

FIELD(access_audit)
{
    (void)arg;
    if (!txn->audited)
        return false;
    return text(out, txn->audit == NULL ? BT_STR("default") : access_place(txn, txn->audit));
}

FIELD(txn_number)
{
    (void)arg;
    return number(out, (int64_t)txn->number);
}

/* ---- rows ---- */

#define ROW(its_name, its_codes, phase, its_get, its_doc)                                          \
    {                                                                                              \
        .name = its_name, .codes = its_codes, .doc = its_doc, .earliest = BT_AT_##phase,           \
        .get = its_get                                                                             \
    }
static const struct bt_field rows[] = {
#include "flow/fields_rows.h"
};

const struct bt_field *bt_field_find(bt_str name)
{
    return registry_field(generation_current->registry, name, NULL);
}

bool bt_field_group(bt_str group)
{
    const struct bt_module *const *module;
    size_t n = registry_modules(generation_current->registry, &module);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < module[i]->fields.n; k++) {
            bt_str name = str_from(module[i]->fields.row[k].name);
            if (str_starts(name, group) && name.len > group.len && name.at[group.len] == '.')
                return true;
        }
    return false;
}

bool bt_field_get(struct bt_txn *txn, bt_str name, bt_str arg, struct bt_value *out)
{
    struct registry *registry = generation_current->registry;
    const struct bt_field *field = registry_field(registry, name, NULL);

    if (field == NULL)
        field = registry_code(registry, name, NULL);
    return field != NULL && field->get(txn, arg, out);
}

static struct bt_self self;
const struct bt_module fields_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "fields",
    .doc = "Named values of an exchange that the server itself knows.",
    .self = &self,
    .fields = BT_ROWS(rows),
};
