/* bump.c - step: a CONNECT on a port with ssl-bump; who speaks TLS with the client.
 *
 * The walk is told in bt_tls.h. What a place does may be done again without harm: each is left only
 * by going to the next one. Once "200" was said nothing can be told to the client but over TLS; so
 * whatever fails from then on is remembered, a certificate is made for the name alone, and all
 * requests within are answered with it (struct inside).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/bump.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/access.h"
#include "flow/core.h"
#include "flow/logs.h"
#include "flow/own.h"
#include "flow/secure.h"
#include "stat/counts.h"

enum {
    HELLO_BYTES = 128 * 1024, /* of a client's first words; the module's own limit is lower */
    PEEK_BYTES = 64 * 1024    /* of an origin's */
};

struct bump {
    enum go (*place)(struct bt_txn *, struct bump *);
    struct url was;          /* the request's, while another name stands in it */
    bool swapped;            /* `was` is the request's */
    bool secures;            /* the origin is to speak TLS with us */
    bool late;               /* the client was silent for too long */
    bool anew;               /* what rules have learnt was forgotten for this step */
    enum bt_bump first, act; /* what step 1 said; what the last one said */
    int fail_status;
    const char *fail_page, *fail_detail, *fail_tag;
    const struct bt_line *fail_rule;
};

static struct timeout_class hello_waiting, client_waiting;

bool bump_wanted(const struct bt_txn *txn)
{
    return txn->req.method_id == METHOD_CONNECT && txn->session->inside == NULL &&
           txn->fetch == NULL && !txn->session->ghost &&
           core->ports[txn->session->port].tls->bump && secure_tls() != NULL &&
           secure_tls()->bumps();
}

const struct url *bump_url(const struct bt_txn *txn)
{
    return txn->bump->swapped ? &txn->bump->was : &txn->url;
}

bool bump_secures(const struct bt_txn *txn)
{
    return txn->bump != NULL && txn->bump->secures;
}

bool bump_under_way(const struct bt_txn *txn)
{
    return txn->bump != NULL && txn->step == STEP_bump;
}

/* Who the client asks for: what its hello says, else what CONNECT says. */
static bt_str bump_name(struct bt_txn *txn)
{
    bt_str name = secure_tls()->name(txn);

    return name.len > 0 ? name : bump_url(txn)->host;
}

/* That name in the place of CONNECT's, for rules and for the origin's key; the addresses stay those of
 * CONNECT. */
static void name_swap(struct bt_txn *txn, struct bump *b, bt_str scheme)
{
    bt_str name = bump_name(txn);

    b->was = txn->url;
    b->swapped = true;
    txn->url.scheme = scheme;
    if (bt_str_eq(name, txn->url.host))
        return;
    txn->url.host = name;
    txn->url.host_is_addr = false;
    txn->url.authority = txn->url.text = bt_str_printf(txn->arena, "%.*s:%u", BT_STR_ARGS(name),
                                                       (unsigned)txn->url.port);
}

static void name_restore(struct bt_txn *txn, struct bump *b)
{
    if (b->swapped)
        txn->url = b->was;
    b->swapped = false;
}

/* Each step knows more than the one before, so that rules are asked anew; once, since who waits comes
 * back to the same question. */
static enum bt_bump decide(struct bt_txn *txn, struct bump *b, int step)
{
    if (!b->anew)
        acl_forget(txn);
    b->anew = true;
    enum bt_bump said = secure_tls()->decide(txn, step);
    b->anew = said == BT_BUMP_WAIT;
    return said;
}

/* ---- the places, from the last to the first ---- */

static enum go bump_close(struct bt_txn *txn)
{
    timeout_clear(&txn->timeout);
    txn->keep_client = txn->keep_origin = false;
    if (txn->origin != NULL)
        origin_release(txn);
    txn->step = STEP_finish;
    return GO_ON;
}

static void bump_inside(struct bt_txn *txn, const struct bump *b)
{
    struct inside *in = inside_open(txn);
    struct bt_arena *arena = bt_conn_arena(txn);

    in->name = bt_str_copy(arena, bump_name(txn));
    in->fail_status = b->fail_status;
    in->fail_page = b->fail_page;
    in->fail_tag = b->fail_tag;
    in->fail_rule = b->fail_rule;
    if (b->fail_detail != NULL)
        in->fail_detail = bt_str_printf(arena, "%s", b->fail_detail).at;
    txn->session->inside = in;
}

static enum go place_client(struct bt_txn *txn, struct bump *b)
{
    struct stream *stream = &txn->session->stream;

    switch (secure_tls()->shake(stream->via_state)) {
    case BT_TLS_WAIT:
        if (stream->failed)
            return bump_close(txn);
        if (!timeout_is_set(&txn->timeout))
            timeout_set(&client_waiting, &txn->timeout);
        stream_watch(stream);
        return GO_WAIT;
    case BT_TLS_READY:
        break;
    default:
        bt_log_limited(txn, BT_INFO, 10, "a client that is bumped left: %s",
                       secure_tls()->why(stream->via_state));
        return bump_close(txn);
    }
    timeout_clear(&txn->timeout);
    bump_inside(txn, b);
    origin_hand_over(txn);
    txn->keep_client = true;
    txn->step = STEP_finish;
    return GO_ON;
}

bool bump_shakes(const struct bt_txn *txn)
{
    return txn->step == STEP_bump && txn->bump->place == place_client;
}

static enum go place_forge(struct bt_txn *txn, struct bump *b)
{
    const struct bt_tls *tls = secure_tls();
    struct bt_tls_side *side = txn->origin != NULL ? txn->origin->stream.via_state : NULL;
    struct input *in = &txn->session->in;

    if (stream_pending(&txn->session->stream) > 0) { /* it would go out over TLS */
        if (!timeout_is_set(&txn->timeout))
            timeout_set(&client_waiting, &txn->timeout);
        stream_watch(&txn->session->stream);
        return GO_WAIT;
    }
    switch (tls->forge(txn, bump_name(txn), side)) {
    case BT_TLS_WAIT:
        session_watch(txn->session);
        return GO_WAIT;
    case BT_TLS_READY:
        break;
    default:
        if (side == NULL)
            return bump_close(txn);
        /* It cannot be copied, and is not to be trusted: told with one for the name alone. */
        (void)txn_fail(txn, 503, "ERR_SECURE_CONNECT_FAIL",
                       bt_str_printf(txn->arena, "%s", tls->why(side)).at);
        bump_failed(txn);
        return GO_ON;
    }
    side = tls->bump(txn, txn->session->stream.fd, (bt_str){in->at, input_len(in)});
    if (side == NULL)
        return bump_close(txn);
    in->at = in->end;
    stream_via(&txn->session->stream, tls->transport, side);
    b->place = place_client;
    return GO_ON;
}

void bump_failed(struct bt_txn *txn)
{
    struct bump *b = txn->bump;

    if (b == NULL || txn->step != STEP_refuse || !txn->head_sent || b->place == NULL)
        return;
    name_restore(txn, b);
    b->fail_status = txn->deny_status;
    b->fail_page = txn->deny_page;
    b->fail_detail = txn->deny_detail;
    b->fail_tag = strcmp(txn->tag, "TCP_DENIED") == 0 ? txn->tag : "NONE_NONE";
    b->fail_rule = b->fail_tag == txn->tag ? txn->rule : NULL;
    txn->tag = "NONE_NONE";
    txn->failing = txn->fail_told = false;
    if (txn->origin != NULL) {
        txn->keep_origin = false;
        origin_release(txn);
    }
    if (b->act == BT_BUMP_SPLICE || b->act == BT_BUMP_PEEK) {
        txn->tag = b->fail_tag;
        (void)bump_close(txn); /* it was not to be looked into */
        return;
    }
    b->place = place_forge;
    txn->step = STEP_bump;
}

static enum go bump_tunnel(struct bt_txn *txn)
{
    timeout_clear(&txn->timeout);
    /* The client never wrote a CONNECT: what it asked for by name is told by name. */
    if (txn->implied && !txn->bump->swapped && secure_tls()->name(txn).len > 0)
        name_swap(txn, txn->bump, BT_STR_NONE);
    txn->step = txn->origin != NULL ? STEP_tunnel : STEP_answer;
    if (txn->origin != NULL)
        txn_tag(txn, "TCP_TUNNEL");
    return GO_ON;
}

static enum go place_third(struct bt_txn *txn, struct bump *b)
{
    switch (decide(txn, b, 3)) {
    case BT_BUMP_WAIT:
        session_watch(txn->session);
        return GO_WAIT;
    case BT_BUMP_BUMP:
        if (b->act == BT_BUMP_PEEK)
            return bump_tunnel(txn);
        b->place = place_forge;
        return GO_ON;
    case BT_BUMP_TERMINATE:
        txn->hierarchy = "HIER_NONE"; /* looked at, and not used */
        return bump_close(txn);
    default:
        if (b->act != BT_BUMP_PEEK)
            return bump_close(txn); /* it cannot be undone */
        return bump_tunnel(txn);
    }
}

/* What the origin says to the hello that was passed on. */
static enum go place_peek(struct bt_txn *txn, struct bump *b)
{
    struct input *in = &txn->from_origin;

    for (;;) {
        bt_str bytes = {in->at, input_len(in)};
        if (bytes.len >= PEEK_BYTES ||
            (bytes.len > 0 && secure_tls()->peek(txn, bytes) != BT_TLS_WAIT))
            break;
        ssize_t n = input_read(in, &txn->origin->stream, shared_origin, PEEK_BYTES);
        if (n == BT_IO_AGAIN) {
            stream_watch(&txn->origin->stream);
            session_watch(txn->session);
            return GO_WAIT;
        }
        if (n < 0)
            break;
        txn->bytes.upstream_in += n;
    }
    timeout_clear(&txn->timeout);
    b->place = place_third;
    return GO_ON;
}

static enum go place_pass_hello(struct bt_txn *txn, struct bump *b)
{
    struct input *in = &txn->session->in;
    size_t len = input_len(in);

    if (!stream_put(&txn->origin->stream, in->at, len))
        return bump_close(txn);
    txn->bytes.upstream_out += (int64_t)len;
    txn->bytes.request += (int64_t)len;
    in->at = in->end;
    timeout_set(&client_waiting, &txn->timeout);
    b->place = place_peek;
    return GO_ON;
}

static enum go place_dial(struct bt_txn *txn, struct bump *b)
{
    bool done;
    enum go go;

    b->secures = b->act != BT_BUMP_PEEK;
    if (b->secures) {
        name_swap(txn, b, BT_STR("https"));
        go = origin_open(txn, &done);
        name_restore(txn, b);
    } else {
        go = origin_open(txn, &done);
    }
    if (txn->step == STEP_refuse)
        bump_failed(txn);
    if (!done)
        return go;
    timeout_clear(&txn->timeout);
    b->place = b->act == BT_BUMP_PEEK    ? place_pass_hello
               : b->act == BT_BUMP_STARE ? place_third
                                         : place_forge;
    return GO_ON;
}

static enum go place_second(struct bt_txn *txn, struct bump *b)
{
    b->act = decide(txn, b, 2);
    switch (b->act) {
    case BT_BUMP_WAIT:
        session_watch(txn->session);
        return GO_WAIT;
    case BT_BUMP_SPLICE:
        return bump_tunnel(txn);
    case BT_BUMP_TERMINATE:
        return bump_close(txn);
    default:
        b->place = place_dial;
        return GO_ON;
    }
}

/* http_access, about the name that the client asks for; the addresses are those of CONNECT, so that a rule
 * about them judges what is dialled. */
static enum go place_access(struct bt_txn *txn, struct bump *b)
{
    const struct bt_line *rule = txn->rule;
    const char *tag = txn->tag;
    bool pass;
    enum go go;

    if (bt_str_eq(bump_name(txn), bump_url(txn)->host)) {
        b->place = place_second;
        return GO_ON;
    }
    switch (origin_addrs(txn)) {
    case BT_WAIT:
        return GO_WAIT;
    case BT_YES:
        break;
    default:
        b->place = place_second; /* dialling will say so */
        return GO_ON;
    }
    if (!b->swapped) {
        acl_forget(txn);
        name_swap(txn, b, BT_STR_NONE);
    }
    go = access_ask(txn, ACCESS_HTTP, &pass);
    if (go == GO_WAIT)
        return GO_WAIT;
    name_restore(txn, b);
    acl_forget(txn);
    if (pass) {
        txn->rule = rule;
        txn->tag = tag;
        b->place = place_second;
    } else if (txn->step == STEP_refuse) {
        bump_failed(txn);
    }
    return GO_ON;
}

/* The CONNECT is over for logs; what comes behind it is an exchange of its own, which has no method. */
static void connect_told(struct bt_txn *txn)
{
    txn->time.end = clock_us();
    logs_write(txn);
    count_by(client_bytes_in, txn->bytes.request);
    count_by(client_bytes_out, txn->bytes.reply);
    txn->bytes.request = txn->bytes.request_head = txn->bytes.reply = txn->bytes.reply_head = 0;
    txn->req.method = BT_STR_NONE;
}

/* No TLS, or silence. */
static enum go place_odd(struct bt_txn *txn, struct bump *b)
{
    struct bt_ruling ruling;

    if (b->fail_status != 0) /* it was refused before a word was said */
        return bump_close(txn);
    txn->deny_page = b->late ? "ERR_REQUEST_START_TIMEOUT" : "ERR_PROTOCOL_UNKNOWN";
    ruling = bt_rules_run(core->unsupported, txn);
    txn->deny_page = NULL;
    if (ruling.match == BT_WAIT) {
        session_watch(txn->session);
        return GO_WAIT;
    }
    if (ruling.match != BT_YES || ruling.action != UNSUPPORTED_TUNNEL)
        return bump_close(txn);
    if (!txn->implied)
        connect_told(txn);
    return bump_tunnel(txn);
}

/* A hello that nobody can make anything of: decode_error (RFC 8446 6.2). */
static enum go hello_bad(struct bt_txn *txn)
{
    static const char alert[] = {0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x32};

    (void)!stream_put(&txn->session->stream, alert, sizeof alert);
    return bump_close(txn);
}

/* What the client says that it wants is known: hooks of phase HELLO. There is nobody to tell anything. */
static enum go place_told(struct bt_txn *txn, struct bump *b)
{
    bool done;
    enum go go = txn_phase(txn, BT_AT_HELLO, &done);

    if (!done)
        return go;
    txn->hooks_done = false;
    b->place = b->first == BT_BUMP_BUMP ? place_forge : place_access;
    return GO_ON;
}

static enum go place_hello(struct bt_txn *txn, struct bump *b)
{
    struct session *s = txn->session;
    enum bt_tls_hello said;

    while ((said = secure_tls()->hello(txn, (bt_str){s->in.at, input_len(&s->in)})) ==
           BT_HELLO_MORE) {
        ssize_t n = input_read(&s->in, &s->stream, shared_client, HELLO_BYTES);
        if (n > 0)
            continue;
        if (n != BT_IO_AGAIN) {
            txn->ended = END_CLIENT_GONE;
            return bump_close(txn);
        }
        if (b->late) {
            said = input_len(&s->in) == 0 ? BT_HELLO_NONE : BT_HELLO_BAD;
            break;
        }
        if (!timeout_is_set(&txn->timeout))
            timeout_set(&hello_waiting, &txn->timeout);
        stream_watch(&s->stream);
        return GO_WAIT;
    }
    timeout_clear(&txn->timeout);
    if (said == BT_HELLO_BAD)
        return hello_bad(txn);
    if (said == BT_HELLO_NONE)
        b->place = place_odd;
    else
        b->place = place_told;
    return GO_ON;
}

static enum go place_say(struct bt_txn *txn, struct bump *b)
{
    if (!tunnel_say(txn)) {
        txn->ended = END_CLIENT_GONE;
        return bump_close(txn);
    }
    txn->tag = "NONE_NONE";
    txn->keep_client = false;
    b->place = place_hello;
    return GO_ON;
}

static enum go place_first(struct bt_txn *txn, struct bump *b)
{
    b->first = b->act = decide(txn, b, 1);
    switch (b->first) {
    case BT_BUMP_WAIT:
        session_watch(txn->session);
        return GO_WAIT;
    case BT_BUMP_SPLICE:
        return bump_tunnel(txn);
    case BT_BUMP_TERMINATE:
        txn->tag = "NONE_NONE";
        return bump_close(txn);
    default:
        b->place = place_say;
        return GO_ON;
    }
}

static struct bump *bump_make(struct bt_txn *txn)
{
    txn->bump = bt_alloc(txn->arena, sizeof *txn->bump);
    txn->bump->place = place_first;
    return txn->bump;
}

void bump_refused(struct bt_txn *txn)
{
    struct bump *b = bump_make(txn);

    b->first = b->act = BT_BUMP_BUMP;
    b->fail_status = txn->deny_status;
    b->fail_page = txn->deny_page;
    b->fail_detail = txn->deny_detail;
    b->fail_tag = "NONE_NONE";
    b->fail_rule = txn->rule;
    b->place = place_hello;
    txn->rep = (struct head){.status = 200, .minor = 1, .content_length = -1};
    txn->head_sent = true;
    txn->step = STEP_bump;
}

enum go step_bump(struct bt_txn *txn)
{
    if (txn->bump == NULL)
        (void)bump_make(txn);
    return txn->bump->place(txn, txn->bump);
}

/* ---- limits of time ---- */

static void hello_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, timeout);

    count(head_timeouts);
    txn->bump->late = true;
    txn_run(txn);
}

static void client_expired(struct timeout *timeout)
{
    struct bt_txn *txn = LIST_OF(timeout, struct bt_txn, timeout);

    count(head_timeouts);
    (void)bump_close(txn);
    txn_run(txn);
}

void bump_start(void)
{
    timeout_class_init(&hello_waiting, core->request_start_timeout, hello_expired);
    timeout_class_init(&client_waiting, core->connect_timeout, client_expired);
}
