/* fetch.c - exchanges that a module has asked for: it is their client.
 *
 * Each has a session of its own, without a connection (session_ghost()), and walks through the steps
 * as others do; what the answer is made of is copied here as it comes. The module is told from the
 * loop when the exchange is gone, so that it may do anything then.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt_fetch.h"
#include "flow/session.h"
#include "http/parse.h"
#include "stat/counts.h"

enum {
    FETCHES_MAX = 1024, /* of one worker */
    FIELDS_MAX = 64,
    BODY_MAX = 1024 * 1024,      /* of a request; of an answer, unless it is said */
    HELD_MAX = 64 * 1024 * 1024, /* of all answers of a worker together */
    TIMEOUT_MS = 30 * 1000,
    LEAVE_MS = 1000
};

struct bt_fetch {
    struct bt_txn *txn; /* NULL: it is over */
    void (*done)(void *arg, const struct bt_fetch_reply *);
    void (*over)(void *arg, const char *error); /* of fetch_connect() */
    void *arg;
    struct timeout timeout;
    struct deferred tell;
    enum bt_initiator by;
    bool public_only, whole;
    struct input upload; /* of the request's body, in the exchange's arena */
    struct bt_fetch_reply reply;
    char detail[160];
    struct bt_fetch_field *field; /* with their text behind them */
    char *body;
    size_t len, cap, max;
};

static struct timeout_class timeouts;
static unsigned n_fetches;
static size_t held;

static void fetch_free(struct bt_fetch *fetch)
{
    timeout_clear(&fetch->timeout);
    deferred_cancel(&fetch->tell);
    free(fetch->field);
    held -= fetch->cap;
    free(fetch->body);
    free(fetch);
    n_fetches--;
    count_by(fetch_open, -1);
}

/* ---- what came ---- */

static void fail(struct bt_fetch *fetch, const char *error, const char *detail)
{
    if (fetch->reply.error != NULL)
        return;
    fetch->reply.error = error;
    fetch->reply.detail = detail;
}

/* The server is about to say something of its own. */
static void fail_refused(struct bt_fetch *fetch, const struct bt_txn *txn)
{
    static const struct {
        const char *page, *error;
    } words[] = {
        {"ERR_DNS_FAIL", "dns"},         {"ERR_CONNECT_FAIL", "connect"},
        {"ERR_READ_TIMEOUT", "timeout"}, {"ERR_SECURE_CONNECT_FAIL", "tls"},
        {"ERR_INVALID_RESP", "invalid"}, {"ERR_ZERO_SIZE_OBJECT", "invalid"},
        {"ERR_READ_ERROR", "cut"},       {"ERR_TOO_BIG", "large"},
    };
    const char *error = "unavailable";

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(txn->deny_page, words[i].page) == 0)
            error = words[i].error;
    if (str_starts(str_from(txn->tag), BT_STR("TCP_DENIED")))
        error = "denied";
    else if (txn->deny_status == 504)
        error = "timeout";
    snprintf(fetch->detail, sizeof fetch->detail, "%s",
             txn->deny_detail != NULL ? txn->deny_detail : "it was refused");
    fail(fetch, error, fetch->detail);
}

static void copy(char **at, bt_str *to, bt_str from)
{
    *to = (bt_str){memcpy(*at, from.at, from.len), from.len};
    *at += from.len;
}

static void fields_take(struct bt_fetch *fetch, const struct head *rep)
{
    size_t bytes = 1, n = 0;
    char *at;

    for (unsigned i = 0; i < rep->n; i++)
        bytes += rep->field[i].name.len + rep->field[i].value.len;
    fetch->field = malloc(rep->n * sizeof *fetch->field + bytes);
    CHECK(fetch->field != NULL);
    at = (char *)(fetch->field + rep->n);
    for (unsigned i = 0; i < rep->n; i++) {
        if (rep->field[i].drop)
            continue;
        copy(&at, &fetch->field[n].name, rep->field[i].name);
        copy(&at, &fetch->field[n++].value, rep->field[i].value);
    }
    fetch->reply.n = n;
}

static void fetch_head(struct bt_txn *txn, int64_t length)
{
    struct bt_fetch *fetch = txn->fetch;

    (void)length;
    if (txn->step == STEP_refuse && txn->deny_page != NULL)
        fail_refused(fetch, txn);
    if (fetch->reply.error != NULL)
        return;
    fetch->reply.status = txn->rep.status;
    fields_take(fetch, &txn->rep);
}

static bool fetch_interim(struct bt_txn *txn, const struct head *head)
{
    (void)txn;
    (void)head;
    return true;
}

/* false: it is more than is wanted. */
static bool body_add(struct bt_fetch *fetch, bt_str piece)
{
    if (fetch->len + piece.len > fetch->max) {
        count(fetch_large);
        fail(fetch, "large", "its body is larger than it may be");
        return false;
    }
    if (fetch->len + piece.len > fetch->cap) {
        size_t more = fetch->cap + piece.len;
        if (held + more > HELD_MAX) {
            count(fetch_large);
            fail(fetch, "large", "the answers under way are too large together");
            return false;
        }
        held += more;
        fetch->cap += more;
        fetch->body = realloc(fetch->body, fetch->cap);
        CHECK(fetch->body != NULL);
    }
    memcpy(fetch->body + fetch->len, piece.at, piece.len);
    fetch->len += piece.len;
    return true;
}

static bool fetch_body(struct bt_txn *txn, const bt_str *slice, int n, bool last)
{
    struct bt_fetch *fetch = txn->fetch;

    if (fetch->reply.error != NULL)
        return true; /* a page of our own: nobody reads it */
    for (int i = 0; i < n; i++) {
        if (!body_add(fetch, slice[i]))
            return false;
        txn->bytes.reply += (int64_t)slice[i].len;
    }
    fetch->whole = last;
    return true;
}

static bool fetch_offer(struct bt_txn *txn, struct client_offer *o)
{
    if (!fetch_body(txn, o->slice, o->n, o->last))
        return false;
    for (int i = 0; i < o->n; i++)
        o->taken += o->slice[i].len;
    return true;
}

static size_t fetch_pending(struct bt_txn *txn)
{
    (void)txn;
    return 0;
}

static enum body_result fetch_read_body(struct bt_txn *txn, bt_str *slice, int max, int *n)
{
    return input_slices(&txn->fetch->upload, &txn->upload, slice, max, n);
}

static void fetch_cut(struct bt_txn *txn)
{
    fail(txn->fetch, "cut", "the answer ended before its end");
}

static const struct client_ops client_fetch = {
    .name = "fetch",
    .head = fetch_head,
    .interim = fetch_interim,
    .body = fetch_body,
    .offer = fetch_offer,
    .pending = fetch_pending,
    .read_body = fetch_read_body,
    .cut = fetch_cut,
};

/* ---- a client that gets a tunnel, or nothing ---- */

static void wire_head(struct bt_txn *txn, int64_t length)
{
    (void)length;
    if (txn->deny_page != NULL)
        fail_refused(txn->fetch, txn);
    else
        fail(txn->fetch, "unavailable", "");
}

static bool wire_body(struct bt_txn *txn, const bt_str *slice, int n, bool last)
{
    (void)txn;
    (void)slice;
    (void)n;
    (void)last;
    return true;
}

static void wire_cut(struct bt_txn *txn)
{
    (void)txn;
}

static const struct client_ops client_wire = {
    .name = "wire",
    .head = wire_head,
    .interim = fetch_interim,
    .body = wire_body,
    .offer = fetch_offer,
    .pending = fetch_pending,
    .read_body = fetch_read_body,
    .cut = wire_cut,
};

/* ---- its end ---- */

static void fetch_tell(struct deferred *deferred)
{
    struct bt_fetch *fetch = LIST_OF(deferred, struct bt_fetch, tell);

    if (fetch->reply.error != NULL)
        count(fetch_failed);
    fetch->reply.field = fetch->field;
    fetch->reply.body = (bt_str){fetch->body != NULL ? fetch->body : "", fetch->len};
    fetch->done(fetch->arg, &fetch->reply);
    fetch_free(fetch);
}

/* Its exchange is gone. */
static void fetch_over(void *fetch_)
{
    struct bt_fetch *fetch = fetch_;
    struct bt_txn *txn = fetch->txn;

    fetch->txn = NULL;
    timeout_clear(&fetch->timeout);
    if (fetch->done == NULL) {
        if (fetch->over != NULL && fetch->reply.error == NULL && txn->time.reply == 0)
            fail(fetch, txn->ended == END_TIMEOUT ? "timeout" : "cut", "");
        if (fetch->over != NULL)
            fetch->over(fetch->arg, fetch->reply.error);
        fetch_free(fetch);
        return;
    }
    if (!fetch->whole && txn->ended == END_TIMEOUT)
        fail(fetch, "timeout", "it took too long");
    else if (!fetch->whole)
        fail(fetch, "cut", "it was ended before its end");
    loop_defer(&fetch->tell, fetch_tell);
}

static void fetch_expired(struct timeout *timeout)
{
    struct bt_fetch *fetch = LIST_OF(timeout, struct bt_fetch, timeout);

    fail(fetch, "timeout", "it took too long");
    txn_abort(fetch->txn, END_TIMEOUT);
}

void bt_fetch_cancel(struct bt_fetch *fetch)
{
    fetch->done = NULL;
    if (fetch->txn != NULL)
        txn_abort(fetch->txn, END_CLIENT_GONE);
    else
        fetch_free(fetch);
}

/* ---- its beginning ---- */

/* The server's own, or those of a client that we are not. */
static bool field_refused(bt_str name)
{
    static const char *const names[] = {
        "Host",   "Content-Length", "Transfer-Encoding",   "Connection", "Proxy-Connection",
        "Expect", "Upgrade",        "Proxy-Authorization", "TE",         "Trailer",
        "Via",    "X-Forwarded-For"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (bt_str_eq_nocase(name, str_from(names[i])))
            return true;
    return false;
}

static bool has_line_end(bt_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == '\r' || text.at[i] == '\n' || text.at[i] == '\0')
            return true;
    return false;
}

static const char *request_fault(const struct bt_fetch_request *of)
{
    if (of->n > FIELDS_MAX)
        return "it has too many fields";
    if (of->body.len > BODY_MAX)
        return "its body is too large";
    if (has_line_end(of->method) || has_line_end(of->url) || memchr(of->url.at, ' ', of->url.len))
        return "there is a blank or a line's end in its URL or method";
    for (size_t i = 0; i < of->n; i++) {
        if (field_refused(of->field[i].name))
            return "it has a field that only the server may write";
        if (has_line_end(of->field[i].name) || has_line_end(of->field[i].value) ||
            of->field[i].name.len == 0 || str_find_char(of->field[i].name, ':') >= 0)
            return "there is a colon or a line's end in one of its fields";
    }
    return NULL;
}

/* As a client would have sent it: what is parsed has one meaning. */
static bt_str request_head(const struct bt_fetch_request *of, struct bt_arena *arena)
{
    struct str_builder out;

    str_builder_arena(&out, arena, of->url.len + 512);
    str_add(&out, of->method.len > 0 ? of->method : BT_STR("GET"));
    str_add_char(&out, ' ');
    str_add(&out, of->url);
    /* The URL says the host; the parser wants one. */
    str_add_literal(&out, " HTTP/1.1\r\nHost: fetch\r\n");
    for (size_t i = 0; i < of->n; i++) {
        str_add(&out, of->field[i].name);
        str_add_literal(&out, ": ");
        str_add(&out, of->field[i].value);
        str_add_literal(&out, "\r\n");
    }
    if (of->body.at != NULL)
        str_add_format(&out, "Content-Length: %zu\r\n", of->body.len);
    str_add_literal(&out, "\r\n");
    return str_built(&out);
}

static const char *request_parse(struct bt_txn *txn, const struct bt_fetch_request *of)
{
    bt_str head = request_head(of, txn->arena);
    unsigned n = (unsigned)of->n + 2;
    struct head_field *fields = bt_alloc_raw(txn->arena, n * sizeof *fields);
    enum head_fault fault = parse_request(&txn->req, head.at, head.len, fields, n);

    if (fault == FAULT_NONE)
        fault = url_parse(txn->arena, txn->req.method_id, txn->req.target, &txn->url);
    if (fault != FAULT_NONE)
        return head_fault_text(fault);
    if (txn->client == &client_wire)
        return txn->url.form == URL_AUTHORITY ? NULL : "that is no host and port";
    if (txn->req.method_id == METHOD_CONNECT || txn->url.form != URL_ABSOLUTE ||
        (!str_eq_literal(txn->url.scheme, "http") && !str_eq_literal(txn->url.scheme, "https")))
        return "only http and https URLs can be fetched";
    return NULL;
}

static void request_begin(struct bt_txn *txn, const struct bt_fetch_request *of)
{
    bt_str body = bt_str_copy(txn->arena, of->body);

    txn->fetch->upload.at = body.at;
    txn->fetch->upload.end = body.at + body.len;
    body_init_request(&txn->upload, &txn->req);
    txn->upload_over = txn->upload.kind == BODY_NONE;
    txn->time.start = txn->time.head = clock_us();
    txn->bytes.request = (int64_t)body.len;
    txn->followed = true;
    txn->step = STEP_admit;
}

static struct bt_fetch *fetch_new(struct session *s, const struct client_ops *client,
                                  const struct bt_fetch_request *of, const char **why)
{
    struct bt_txn *txn = s->txn = txn_new(s, client);
    struct bt_fetch *fetch = calloc(1, sizeof *fetch);

    CHECK(fetch != NULL);
    n_fetches++;
    count(fetch_open);
    *fetch = (struct bt_fetch){.txn = txn, .by = of->by, .public_only = of->public_only};
    fetch->max = of->max.bytes > 0 ? (size_t)of->max.bytes : BODY_MAX;
    fetch->reply.detail = "";
    txn->fetch = fetch;
    bt_defer(txn->arena, fetch_over, fetch);
    *why = request_parse(txn, of);
    if (*why == NULL)
        return fetch;
    txn->told = true; /* it never was one: no log, no hooks */
    txn_abort(txn, END_WHOLE);
    return NULL;
}

static void fetch_limit(struct bt_fetch *fetch, int64_t ms)
{
    if (!list_linked(&timeouts.link))
        timeout_class_init(&timeouts, (bt_duration){TIMEOUT_MS}, fetch_expired);
    timeout_set_after(&timeouts, &fetch->timeout, (bt_duration){ms});
}

static const char *crowded(void)
{
    if (n_fetches < FETCHES_MAX)
        return NULL;
    count(fetch_refused);
    return "too many are under way";
}

struct bt_fetch *bt_fetch_start(const struct bt_fetch_request *of,
                                void (*done)(void *arg, const struct bt_fetch_reply *), void *arg,
                                const char **why)
{
    int64_t ms = of->timeout.ms > 0 ? of->timeout.ms : TIMEOUT_MS;
    struct bt_fetch *fetch;

    *why = request_fault(of);
    if (*why == NULL)
        *why = crowded();
    fetch = *why == NULL ? fetch_new(session_ghost(NULL), &client_fetch, of, why) : NULL;
    if (fetch == NULL)
        return NULL;
    count(fetch_begun);
    fetch->done = done;
    fetch->arg = arg;
    request_begin(fetch->txn, of);
    fetch_limit(fetch, ms);
    bt_resume(fetch->txn);
    return fetch;
}

struct bt_fetch *fetch_connect(struct session *s, const struct bt_fetch_request *of,
                               void (*over)(void *arg, const char *error), void *arg,
                               const char **why)
{
    struct bt_fetch *fetch = NULL;

    *why = request_fault(of);
    if (*why == NULL)
        *why = crowded();
    if (*why != NULL)
        session_close(s);
    else
        fetch = fetch_new(s, &client_wire, of, why);
    if (fetch == NULL)
        return NULL;
    count(fetch_begun);
    fetch->over = over;
    fetch->arg = arg;
    request_begin(fetch->txn, of);
    bt_resume(fetch->txn);
    return fetch;
}

void fetch_leave(struct bt_fetch *fetch, bool at_once)
{
    fetch->over = NULL;
    if (at_once)
        txn_abort(fetch->txn, END_CLIENT_GONE);
    else
        fetch_limit(fetch, LEAVE_MS);
}

/* ---- what others ask ---- */

enum bt_initiator bt_initiator(struct bt_txn *txn)
{
    return txn->fetch != NULL ? txn->fetch->by : BT_BY_CLIENT;
}

bool fetch_public_only(const struct bt_txn *txn)
{
    return txn->fetch != NULL && txn->fetch->public_only;
}
