/* session.c - one client connection: accepted, asked, answered, kept, closed; step: read.
 *
 * A new connection is read at once, before it is watched: most send their request with the last
 * packet of the handshake, so that one which asks once and closes never meets epoll at all. While
 * an exchange waits for its origin, a client that is not watched yet is after a tenth of a second.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/accel.h"
#include "flow/bump.h"
#include "flow/core.h"
#include "flow/faults.h"
#include "flow/intercept.h"
#include "flow/limits.h"
#include "flow/own.h"
#include "flow/pinned.h"
#include "flow/proxied.h"
#include "flow/secure.h"
#include "http/mend.h"
#include "http/parse.h"
#include "plug/phase.h"
#include "stat/counts.h"

enum { FIELDS_MAX = 200, NOTICE_MS = 100, LEAVE_MS = 1000, SPARE_MAX = 64 };

static struct mend mend; /* relaxed_header_parser, uri_whitespace */
static bool mends;
struct timeout_class session_writing;
static struct timeout_class session_starting, session_heading, session_idling, session_noticing;
static struct timeout_class session_leaving; /* a worker that drains waits so for a first byte */

static struct list sessions;
static size_t n_sessions;
static void (*drained)(void);
static bool patient_drain;

/* Closed sessions kept for the next accept: no malloc for each connection. */
static struct session *spare[SPARE_MAX];
static unsigned n_spare;

/* ---- ends ---- */

static void session_free(struct session *s)
{
    if (s->arena != NULL)
        arena_free(s->arena);
    input_free(&s->in);
    if (!s->ghost && !s->admin)
        count_by(connections_open, -1);
    if (n_spare < SPARE_MAX)
        spare[n_spare++] = s;
    else
        free(s);
    if (--n_sessions == 0 && drained != NULL)
        drained();
}

void session_close(struct session *s)
{
    if (s->dead)
        return;
    s->dead = true;
    pinned_drop(s);
    limits_leave(s);
    timeout_clear(&s->timeout);
    list_remove(&s->all);
    stream_close(&s->stream);
    if (!s->running)
        session_free(s);
}

/* The answer was given while the client may still be sending. */
static void session_close_gently(struct session *s)
{
    if (s->stream.eof || s->stream.failed) {
        session_close(s);
        return;
    }
    timeout_clear(&s->timeout);
    stream_close_lingering(&s->stream);
    session_close(s);
}

/* ---- reading a head ---- */

static size_t head_limit(void)
{
    int64_t bytes = core->request_header_max.bytes;

    return bytes > 0 ? (size_t)bytes : SIZE_MAX / 2;
}

static struct bt_txn *session_txn(struct session *s)
{
    if (s->txn == NULL)
        s->txn = txn_new(s, &client_h1);
    return s->txn;
}

/* Answer what never became a request; whatever else comes on this connection means nothing. */
static void session_abandon(struct session *s, int status, const char *page, const char *detail)
{
    struct bt_txn *txn = session_txn(s);
    bt_str came = {s->in.at, input_len(&s->in)};

    /* Also an answer to half of a HEAD has no body. */
    if (txn->req.method.len == 0 && str_starts(came, BT_STR("HEAD "))) {
        txn->req.method = BT_STR("HEAD");
        txn->req.method_id = METHOD_HEAD;
    }
    s->in.at = s->in.end;
    if (txn->time.start == 0) /* else its head was whole */
        txn->time.start = s->first_us;
    txn->keep_client = false;
    txn->upload_over = false; /* what may follow is not to be read as a request */
    (void)txn_refuse(txn, status, page, detail);
}

static void session_refuse(struct session *s, enum head_fault fault)
{
    faults_count(fault);
    bt_log(s->txn, BT_DEBUG, "bad request: %s", head_fault_text(fault));
    session_abandon(s, head_fault_status(fault), faults_page(fault), head_fault_text(fault));
}

/* The first bytes of a redirected connection, of which the last `taken` were taken for a head: are
 * they of another protocol, and to be passed on all the same? What is HTTP with a fault is not. */
static bool session_odd(struct session *s, enum head_fault fault, size_t taken)
{
    bool http = fault != FAULT_LINE && fault != FAULT_METHOD && fault != FAULT_NO_VERSION &&
                fault != FAULT_TLS && fault != FAULT_BINARY;

    if (http || !s->redirected || s->served || s->inside != NULL ||
        !intercept_tunnels(session_txn(s), "ERR_PROTOCOL_UNKNOWN"))
        return false;
    s->in.at -= taken;
    timeout_clear(&s->timeout);
    intercept_connect(s->txn);
    return true;
}

/* A head that was refused: may it be taken all the same? Else the fault stands. */
static enum head_fault session_mend(struct bt_txn *txn, const char *bytes, size_t len,
                                    struct head_field *fields, enum head_fault fault)
{
    char *out = bt_alloc_raw(txn->arena, MEND_ROOM(len));
    size_t got = mend_request(&mend, bytes, len, out, &txn->last_request);
    struct head head;

    if (got == 0 || parse_request(&head, out, got, fields, FIELDS_MAX) != FAULT_NONE)
        return fault;
    txn->req = head;
    count(parse_mended);
    if (core->relaxed == RELAXED_WARN)
        bt_log_limited(txn, BT_WARN, 60, "a carelessly written request head was taken: %s",
                       head_fault_text(fault));
    return FAULT_NONE;
}

/* A request within a CONNECT: false: it is answered here, and is the last. */
static bool session_inside(struct bt_txn *txn)
{
    const struct inside *in = txn->session->inside;
    int status = in->fail_status != 0 ? in->fail_status : inside_refusal(txn);

    if (status == 0)
        return true;
    count(requests);
    txn->keep_client = false;
    txn->upload_over = txn->req.content_length <= 0;
    if (in->fail_status != 0) {
        txn->tag = in->fail_tag;
        txn->rule = in->fail_rule;
        (void)txn_refuse(txn, in->fail_status, in->fail_page, in->fail_detail);
    } else if (status == 503) {
        (void)txn_refuse(txn, status, "ERR_SECURE_CONNECT_FAIL",
                         "the certificate is for another host");
    } else {
        (void)txn_refuse(txn, status, "ERR_CONFLICT_HOST",
                         "within this connection there is the host that it was made for, and none "
                         "other");
    }
    return false;
}

/* The form that an origin gets is for ports that play one. */
static enum head_fault session_url(struct bt_txn *txn)
{
    const struct session *s = txn->session;
    enum port_mode mode = core->ports[s->port].mode;
    enum head_fault fault;

    if (s->inside != NULL)
        return inside_url(txn);
    fault = url_parse(txn->arena, txn->req.method_id, own_target(txn), &txn->url);
    if (fault != FAULT_NONE || mode == PORT_FORWARD || txn->url.form == URL_AUTHORITY)
        return fault;
    return mode == PORT_ACCEL ? accel_url(txn) : intercept_url(txn);
}

/* What such a port does not do. */
static bool session_refuses(struct session *s)
{
    struct bt_txn *txn = s->txn;

    if (txn->url.form == URL_ORIGIN) {
        session_refuse(s, FAULT_TARGET_FORM); /* nothing is served from here */
        txn->deny_detail = "this is a proxy: it takes whole URLs (http://host/path), as clients "
                           "send them that are told of it";
        return true;
    }
    if (txn->url.form == URL_AUTHORITY && core->ports[s->port].mode != PORT_FORWARD &&
        s->inside == NULL) {
        count(requests_bad);
        count(parse_bad_target);
        session_abandon(s, 405, "ERR_UNSUP_REQ",
                        "CONNECT is for proxies, and clients of this port speak to origins");
        return true;
    }
    return false;
}

/* A whole head of `len` bytes is there: make the exchange, or its refusal. */
static void session_begin(struct session *s, size_t len)
{
    static struct head_field fields[FIELDS_MAX];
    struct bt_txn *txn = session_txn(s);
    char *bytes = bt_alloc_raw(txn->arena, len);
    enum head_fault fault;

    memcpy(bytes, s->in.at, len);
    s->in.at += len;
    s->scanned = 0;
    s->skipped = false;
    txn->time.start = s->first_us;
    txn->time.head = clock_us();
    txn->bytes.request = txn->bytes.request_head = (int64_t)len;
    s->first_us = 0;
    timeout_clear(&s->timeout);

    fault = parse_request(&txn->req, bytes, len, fields, FIELDS_MAX);
    if (fault != FAULT_NONE && mends)
        fault = session_mend(txn, bytes, len, fields, fault);
    if (fault == FAULT_NONE) {
        size_t size = txn->req.n * sizeof *fields;
        txn->req.field = memcpy(bt_alloc_raw(txn->arena, size + 1), fields, size);
        fault = session_url(txn);
    } else {
        txn->req.n = 0;
    }
    if (fault != FAULT_NONE) {
        if (!session_odd(s, fault, len))
            session_refuse(s, fault);
        return;
    }
    if (core->ports[s->port].mode == PORT_FORWARD)
        own_look(txn); /* who is redirected, or before a site, is not to see our own pages */
    if (session_refuses(s))
        return;
    if (s->inside != NULL && !session_inside(txn))
        return;
    if (!s->admin)
        count(requests);
    body_init_request(&txn->upload, &txn->req);
    txn->upload_over = txn->upload.kind == BODY_NONE;
    txn->keep_client = txn->req.keep_alive && !txn->last_request;
    txn->hooks_done = false;
    txn->step = STEP_admit;
}

/* What is there so far, and no whole head: can it still become one? */
static bool session_hopeless(struct session *s, size_t len)
{
    enum head_fault fault = head_peek(s->in.at, len);

    if (mends && mend_may_help(&mend, fault))
        fault = FAULT_NONE;
    if (fault == FAULT_NONE && len >= head_limit())
        fault = memchr(s->in.at, '\n', len) == NULL ? FAULT_TARGET_LONG : FAULT_LARGE;
    if (fault == FAULT_NONE)
        return false;
    if (!session_odd(s, fault, 0))
        session_refuse(s, fault);
    return true;
}

/* Look at what is there. true: s->txn has something to do. */
static bool session_scan(struct session *s)
{
    size_t len = input_len(&s->in), scanned, head;

    if (!s->skipped && len >= 2) {
        s->in.at += head_skip(s->in.at, len);
        s->skipped = true;
        len = input_len(&s->in);
    }
    if (len == 0)
        return false;
    scanned = s->scanned;
    head = head_end(s->in.at, len, &scanned);
    s->scanned = (uint32_t)scanned;
    if (head == 0)
        return session_hopeless(s, len);
    if (head > head_limit())
        session_refuse(s, FAULT_LARGE);
    else
        session_begin(s, head);
    return true;
}

bool session_aged(const struct session *s)
{
    int64_t most = core->pconn_lifetime.ms;

    return most > 0 && clock_us() - s->born_us >= most * 1000;
}

/* A kept connection waits no longer than it may live. */
static void session_limit(struct session *s, struct timeout_class *cls)
{
    int64_t most = core->pconn_lifetime.ms, left = most - (clock_us() - s->born_us) / 1000;

    if (cls != &session_idling || most <= 0 || left * 1000 >= cls->after)
        timeout_set(cls, &s->timeout);
    else
        timeout_set_after(cls, &s->timeout, (bt_duration){left > 0 ? left : 0});
}

/* Wait for (more of) a head: which limit of time holds? */
static void session_wait(struct session *s)
{
    struct timeout_class *cls = &session_heading;

    if (s->first_us == 0)
        cls = drained != NULL ? &session_leaving : s->served ? &session_idling : &session_starting;
    /* A head must be whole in its time, however many bytes trickle in. */
    if (!timeout_is_set(&s->timeout) || s->timeout.cls != cls)
        session_limit(s, cls);
    input_settle(&s->in, shared_client);
    stream_watch(&s->stream);
}

/* Read until there is a head. false: waiting, or closed. */
static bool session_read(struct session *s)
{
    for (;;) {
        if (session_scan(s))
            return true;
        ssize_t n = input_read(&s->in, &s->stream, shared_client, head_limit() + 1);
        if (n > 0) {
            if (s->first_us == 0)
                s->first_us = clock_us();
            continue;
        }
        if (n == BT_IO_AGAIN) {
            session_wait(s);
            return false;
        }
        if (input_len(&s->in) > 0)
            count(requests_aborted);
        if (s->txn != NULL)
            txn_abort(s->txn, END_CLIENT_GONE);
        else
            session_close(s);
        return false;
    }
}

/* Only with hooks of phase ACCEPT: the exchange exists before its head does. */
enum go step_read(struct bt_txn *txn)
{
    bool done;
    enum go go = txn_phase(txn, BT_AT_ACCEPT, &done);

    if (!done)
        return go;
    if (txn->session->redirected && core->ports[txn->session->port].tls->tls) {
        intercept_connect(txn);
        return GO_ON;
    }
    if (session_read(txn->session)) /* sets the step */
        return GO_ON;
    return GO_WAIT;
}

/* ---- the driver ---- */

/* The client is known, and nothing was asked yet. false: it cannot be served. */
static bool session_enter(struct session *s)
{
    const struct flow_port *port = &core->ports[s->port];
    bool redirected = port->mode == PORT_INTERCEPT || port->mode == PORT_TPROXY;

    if (redirected && !intercept_enter(s))
        return false;
    if (port->tls->tls && !redirected && !secure_accept(s))
        return false;
    if (phase_lists[BT_AT_ACCEPT].n > 0 && !s->admin)
        (void)session_txn(s);
    else if (port->tls->tls && redirected)
        intercept_connect(session_txn(s));
    return true;
}

/* The PROXY header, from which the client gets known. false: waiting, or closed. */
static bool session_greet(struct session *s)
{
    enum proxied_said said;

    (void)session_txn(s);
    while ((said = proxied_look(s)) == PROXIED_MORE) {
        ssize_t n = input_read(&s->in, &s->stream, shared_client, SHARED_BYTES);
        if (n == BT_IO_AGAIN) {
            session_wait(s);
            return false;
        }
        if (n < 0) {
            proxied_cut(s);
            said = PROXIED_BAD;
            break;
        }
    }
    if (said == PROXIED_FINE && limits_enter(s) && session_enter(s)) {
        s->first_us = input_len(&s->in) > 0 ? clock_us() : 0;
        return true;
    }
    txn_abort(s->txn, END_WHOLE);
    return false;
}

static void session_turn(struct session *s)
{
    if (s->greeting && !session_greet(s))
        return;
    if (s->txn != NULL) {
        if (s->stream.failed && !bump_shakes(s->txn))
            txn_gone(s->txn, END_CLIENT_GONE);
        else
            txn_run(s->txn);
    }
    /* One head after the other, as long as they are there. */
    while (!s->dead && s->txn == NULL && session_read(s))
        txn_run(s->txn);
}

void session_notice(struct session *s)
{
    if (!s->stream.watched && !timeout_is_set(&s->timeout) && !s->ghost)
        timeout_set(&session_noticing, &s->timeout);
}

void session_run(struct session *s)
{
    if (s->running) {
        s->again = true;
        return;
    }
    s->running = true;
    do {
        s->again = false;
        session_turn(s);
    } while (s->again && !s->dead);
    s->running = false;
    if (s->dead) {
        session_free(s);
        return;
    }
    if (s->txn != NULL)
        session_notice(s);
}

/* Word of a client whose exchange is under way and reads nothing of it: more requests, or its end?
 * A half-close is no reason to stop (but for half_closed_clients off): the answer can still be read. */
static void session_look(struct session *s)
{
    char byte;
    ssize_t n;
    int error = 0;
    socklen_t len = sizeof error;

    if (!s->stream.readable)
        return;
    n = recv(s->stream.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        s->stream.failed = true;
    /* Requests that wait there hide a reset that came after them. */
    if (n > 0 && getsockopt(s->stream.fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0)
        s->stream.failed = true;
    if (!core->half_closed && s->txn->relay == NULL && (n == 0 || s->stream.fin))
        s->stream.failed = true;
}

static void session_ready(struct stream *stream)
{
    struct session *s = LIST_OF(stream, struct session, stream);

    if (s->txn != NULL && s->txn->upload_over)
        session_look(s);
    session_run(s);
}

void session_watch(struct session *s)
{
    if (!s->ghost)
        stream_watch(&s->stream);
}

void session_next(struct session *s, enum session_fate fate)
{
    s->txn = NULL;
    s->served = true;
    if (fate == SESSION_LINGER && !s->dead) {
        session_close_gently(s);
    } else if (fate != SESSION_KEEP || s->dead || (session_draining() && !patient_drain)) {
        session_close(s);
    } else {
        s->first_us = input_len(&s->in) > 0 ? clock_us() : 0;
        session_run(s);
    }
}

void session_let_go(struct session *s, enum session_fate fate)
{
    s->txn = NULL;
    s->served = true;
    input_settle(&s->in, shared_client);
    if (fate != SESSION_KEEP || s->dead || (session_draining() && !patient_drain)) {
        session_close(s);
        return;
    }
    s->first_us = input_len(&s->in) > 0 ? clock_us() : 0;
    timeout_clear(&s->timeout);
    if (s->running)
        s->again = true;
    else
        stream_again(&s->stream); /* whoever is on the stack has something else to do first */
}

static struct session *session_new(void)
{
    struct session *s = n_spare > 0 ? spare[--n_spare] : malloc(sizeof *s);

    CHECK(s != NULL);
    memset(s, 0, sizeof *s);
    s->born_us = clock_us();
    return s;
}

static void session_add(struct session *s)
{
    list_add_tail(&sessions, &s->all);
    n_sessions++;
}

struct session *session_ghost(struct session *of)
{
    struct session *s = session_new();

    if (of != NULL) {
        (void)session_local(of);
        s->peer = of->peer;
        s->local = of->local;
        s->port = of->port;
    }
    s->stream.fd = -1;
    s->ghost = true;
    session_add(s);
    return s;
}

struct session *session_own(int fd)
{
    struct session *s = session_new();

    stream_init(&s->stream, fd, session_ready);
    session_add(s);
    count(connections_open);
    return s;
}

void session_open(uint16_t port, int fd, const struct sockaddr *peer, socklen_t len)
{
    struct session *s = session_new();
    struct sockaddr_storage addr = {0};

    memcpy(&addr, peer, len);
    addr_unmap(&addr);
    if (addr.ss_family == AF_UNIX) /* somebody of this machine */
        s->peer.v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    else
        memcpy(&s->peer, &addr, sizeof s->peer);
    s->port = port;
    s->admin = core->ports[port].admin;
    stream_init(&s->stream, fd, session_ready);
    s->greeting = core->ports[port].proxied;
    if (!s->greeting && !s->admin && !limits_enter(s)) {
        stream_close(&s->stream);
        free(s);
        return;
    }
    session_add(s);
    if (!s->admin) {
        count(connections_accepted);
        count(connections_open);
    }
    if (s->greeting || session_enter(s))
        session_run(s);
    else
        session_close(s);
}

const struct sockaddr *session_local(struct session *s)
{
    struct sockaddr_storage addr = {0};
    socklen_t len = sizeof addr;

    if (s->local.any.sa_family == AF_UNSPEC && s->stream.fd >= 0 &&
        getsockname(s->stream.fd, (struct sockaddr *)&addr, &len) == 0) {
        if (addr.ss_family == AF_UNIX)
            memcpy(&addr, &s->peer, sizeof s->peer);
        addr_unmap(&addr);
        memcpy(&s->local, &addr, sizeof s->local);
    }
    return &s->local.any;
}

/* ---- limits of time ---- */

static struct session *session_of(struct timeout *timeout)
{
    return LIST_OF(timeout, struct session, timeout);
}

static void idling_expired(struct timeout *timeout)
{
    count(connections_idle_closed);
    session_close(session_of(timeout));
}

static void session_give_up(struct session *s)
{
    if (s->txn != NULL)
        txn_abort(s->txn, END_TIMEOUT);
    else
        session_close(s);
}

static void leaving_expired(struct timeout *timeout)
{
    session_give_up(session_of(timeout));
}

static void heading_expired(struct timeout *timeout)
{
    struct session *s = session_of(timeout);

    count(head_timeouts);
    if (s->first_us == 0 && s->redirected && !s->served && s->inside == NULL &&
        intercept_tunnels(session_txn(s), "ERR_REQUEST_START_TIMEOUT")) {
        intercept_connect(s->txn); /* a protocol whose servers speak first */
        txn_run(s->txn);
        return;
    }
    if (s->txn != NULL || s->first_us == 0) {
        session_give_up(s); /* who never said a word is told none */
        return;
    }
    session_abandon(s, 408, "ERR_REQUEST_PARSE_TIMEOUT", "the request head did not come in time");
    txn_run(s->txn);
}

static void writing_expired(struct timeout *timeout)
{
    struct session *s = session_of(timeout);

    if (s->txn == NULL) {
        session_close(s);
        return;
    }
    s->txn->client->cut(s->txn);
    txn_gone(s->txn, END_TIMEOUT);
}

static void noticing_expired(struct timeout *timeout)
{
    stream_watch(&session_of(timeout)->stream);
}

void session_start(void)
{
    list_init(&sessions);
    mend = (struct mend){core->relaxed != RELAXED_OFF, (enum mend_blanks)core->uri_whitespace};
    mends = mend.relaxed || mend.blanks != MEND_DENY;
    timeout_class_init(&session_starting, core->request_start_timeout, heading_expired);
    timeout_class_init(&session_heading, core->request_timeout, heading_expired);
    timeout_class_init(&session_idling, core->client_idle_timeout, idling_expired);
    timeout_class_init(&session_writing, core->write_timeout, writing_expired);
    timeout_class_init(&session_leaving, (bt_duration){LEAVE_MS}, leaving_expired);
    timeout_class_init(&session_noticing, (bt_duration){NOTICE_MS}, noticing_expired);
}

/* ---- the end of a worker ---- */

bool session_draining(void)
{
    return drained != NULL;
}

static void nobody(void)
{
}

/* Has a request begun to arrive that nobody has looked at yet? */
static bool session_has_news(const struct session *s)
{
    int waiting = 0;

    return s->first_us != 0 || (ioctl(s->stream.fd, FIONREAD, &waiting) == 0 && waiting > 0);
}

/* One who was accepted a moment ago is about to ask, and would see a refusal in a close: it gets
 * LEAVE_MS for it. So does a kept connection when nobody is in a hurry, since a busy client may send
 * its next request just when it is closed; the answer then says that it is the last. */
void session_drain(void (*over)(void), bool patient)
{
    drained = over != NULL ? over : nobody;
    patient_drain = patient;
    LIST_EACH(&sessions, struct session, all, s) {
        if ((s->txn != NULL && !s->greeting) || session_has_news(s))
            continue;
        if (s->served && !patient)
            session_close(s);
        else
            timeout_set(&session_leaving, &s->timeout);
    }
    if (n_sessions == 0)
        drained();
}

void session_cut(void)
{
    struct session *s;

    while ((s = LIST_FIRST(&sessions, struct session, all)) != NULL) {
        if (s->txn != NULL)
            txn_abort(s->txn, END_TIMEOUT);
        else
            session_close(s);
    }
    stream_cut_lingering();
}

void session_each(void (*each)(void *arg, struct session *), void *arg)
{
    LIST_EACH(&sessions, struct session, all, s) {
        each(arg, s);
    }
}
