/* serve.c - step: an answer out of a source, straight from its memory.
 *
 * Nothing is copied but the head: what the network does not take now stays in the source, which is
 * asked for it again. So a hit costs one read and one write, and a slow client no memory.
 *
 * Hooks of phase RESPONSE and http_reply_access are asked about it as about an origin's answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/serve.h"

#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/access.h"
#include "flow/core.h"
#include "flow/ghost.h"
#include "flow/limits.h"
#include "flow/marks.h"
#include "flow/pace.h"
#include "flow/session.h"
#include "http/date.h"
#include "http/hop.h"
#include "http/parse.h"
#include "plug/acl.h"
#include "stat/counts.h"

enum {
    FIELDS_MAX = 256,
    FIELDS_MORE = 2,         /* Date, Content-Length */
    DIGITS = 20,             /* of a length */
    TURN_BYTES = 256 * 1024, /* to one client in one turn of the loop: others want theirs */
    ROUNDS_MAX = 3           /* answers that hooks may put in place of each other's */
};

void bt_answer_from(struct bt_txn *txn, bt_str head, int64_t length, struct bt_source *source)
{
    unsigned rounds = txn->serve != NULL ? txn->serve->rounds + 1 : 0;

    serve_stop(txn);
    txn->serve = bt_alloc(txn->arena, sizeof *txn->serve);
    *txn->serve = (struct serve){
        .source = source, .head = head, .length = length < 0 ? -1 : length, .rounds = rounds};
}

void serve_stop(struct bt_txn *txn)
{
    struct bt_source *source = txn->serve != NULL ? txn->serve->source : NULL;

    txn->serve = NULL;
    if (source != NULL)
        source->ops->close(source);
}

void serve_take_over(struct bt_txn *txn, struct bt_source *source)
{
    serve_stop(txn);
    txn->serve = bt_alloc(txn->arena, sizeof *txn->serve);
    *txn->serve = (struct serve){.source = source,
                                 .length = bt_rep_length(txn),
                                 .at = txn->bytes.body_in,
                                 .parsed = true,
                                 .parted = true};
    txn->step = STEP_serve;
}

/* ---- the head ---- */

static void serve_field(struct head *rep, enum header_id id, bt_str value)
{
    rep->field[rep->n++] = (struct head_field){
        .id = id, .name = header_name(id), .value = value, .drop = id == HEADER_CONTENT_LENGTH};
    rep->seen[(unsigned)id / 64] |= UINT64_C(1) << ((unsigned)id % 64);
}

/* txn->rep out of the head, as receive.c does it with an origin's. */
static bool serve_parse(struct bt_txn *txn)
{
    static struct head_field fields[FIELDS_MAX];
    struct serve *s = txn->serve;
    struct head *rep = &txn->rep;
    char *bytes = bt_alloc_raw(txn->arena, s->head.len + DATE_LEN + DIGITS);

    memcpy(bytes, s->head.at, s->head.len);
    if (parse_response(rep, bytes, s->head.len, fields, FIELDS_MAX) != FAULT_NONE ||
        rep->status < 200) {
        *rep = (struct head){.content_length = -1};
        return false;
    }
    rep->field = bt_alloc_raw(txn->arena, (rep->n + FIELDS_MORE) * sizeof *fields);
    memcpy(rep->field, fields, rep->n * sizeof *fields);
    hop_mark(rep);
    bytes += s->head.len;
    if (!head_has(rep, HEADER_DATE)) {
        date_print(bytes, clock_wall_s());
        serve_field(rep, HEADER_DATE, (bt_str){bytes, DATE_LEN});
    }
    s->bodiless = txn->req.method_id == METHOD_HEAD || rep->status == 204 || rep->status == 304;
    if (s->source == NULL && !s->bodiless)
        s->length = 0;
    rep->content_length = s->length;
    if (s->length >= 0 && !head_has(rep, HEADER_CONTENT_LENGTH)) {
        bytes += DATE_LEN;
        serve_field(rep, HEADER_CONTENT_LENGTH,
                    str_span(bytes, str_put_uint(bytes, (uint64_t)s->length)));
    }
    s->parsed = true;
    return true;
}

static enum go serve_bad(struct bt_txn *txn)
{
    bt_log_limited(txn, BT_ERROR, 60,
                   "a module answers with a head that is none (%s); report it to its author",
                   txn->tag);
    serve_stop(txn);
    tap_end(txn, false);
    txn->keep_origin = false;
    return txn_refuse(txn, 500, "ERR_CANNOT_FORWARD", "a stored answer is damaged");
}

/* Hooks and rules. *done: the head may be said. */
static enum go serve_ask(struct bt_txn *txn, bool *done)
{
    struct serve *s = txn->serve;
    enum go go;

    *done = false;
    if (!s->parsed) {
        if (!serve_parse(txn))
            return serve_bad(txn);
        if (txn->time.reply != 0)
            acl_forget(txn); /* what ACLs said of the origin's answer does not hold for this one */
        txn->hooks_done = s->rounds >= ROUNDS_MAX;
    }
    if (!limits_reply_fits(txn, !s->bodiless && s->length != 0))
        return GO_ON;
    go = txn_phase(txn, BT_AT_RESPONSE, done);
    if (!*done)
        return go;
    return access_reply(txn, done);
}

static void serve_head(struct bt_txn *txn)
{
    struct serve *s = txn->serve;
    int64_t length = s->length;

    if (s->bodiless && (length < 0 || txn->rep.status == 204))
        length = LENGTH_UNSAID;
    /* What is left of the request's body would be taken for the next request. */
    if (!txn->upload_over)
        txn->keep_client = false;
    txn->head_sent = true;
    marks_answer(txn, !s->parted);
    txn->client->head(txn, length);
}

/* ---- the body ---- */

/* The sink has no more than it took, and never will. */
static bool serve_ends_early(const struct bt_txn *txn)
{
    const struct tap *tap = txn->tap;

    return tap != NULL && txn->serve->parted &&
           (tap->state == TAP_REFUSED || tap->state == TAP_CUT);
}

/* Up to which byte the client may be given what the source has. */
static int64_t serve_most(const struct bt_txn *txn)
{
    const struct serve *s = txn->serve;
    int64_t most = s->length >= 0 ? s->length : INT64_MAX;

    if (serve_ends_early(txn) && txn->tap->taken < most)
        most = txn->tap->taken;
    if (txn->download_max >= 0 && txn->download_max < most)
        most = txn->download_max;
    return most;
}

static int64_t pieces_sum(const bt_str *piece, int n)
{
    int64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += (int64_t)piece[i].len;
    return sum;
}

/* true: something was cut off. */
static bool pieces_trim(bt_str *piece, int *n, int64_t room)
{
    for (int i = 0; i < *n; i++) {
        if ((int64_t)piece[i].len > room) {
            piece[i].len = (size_t)room;
            *n = room > 0 ? i + 1 : i;
            return true;
        }
        room -= (int64_t)piece[i].len;
    }
    return false;
}

/* The next pieces; *state is about what follows them, by what may be given. */
static int serve_read(struct bt_txn *txn, bt_str *piece, int64_t budget,
                      enum bt_source_state *state)
{
    struct serve *s = txn->serve;
    int64_t room = serve_most(txn) - s->at;
    bool early = serve_ends_early(txn), trimmed = false;
    int n = 0;

    *state = BT_SOURCE_END;
    if (s->bodiless || s->at == s->length)
        return 0;
    if (!early || room > 0)
        n = s->source->ops->read(s->source, s->at, piece, SLICES_MAX, state);
    trimmed = pieces_trim(piece, &n, room < budget ? room : budget);
    if (s->length >= 0 && s->at + pieces_sum(piece, n) == s->length)
        *state = BT_SOURCE_END;
    else if (trimmed || (*state == BT_SOURCE_END && (s->length >= 0 || early)))
        *state = n > 0 ? BT_SOURCE_MORE : BT_SOURCE_BROKEN;
    else if (early && *state == BT_SOURCE_MORE && n == 0)
        *state = BT_SOURCE_BROKEN;
    return n;
}

/* ---- ends ---- */

static enum go serve_end(struct bt_txn *txn, enum txn_end why)
{
    if (why == END_WHOLE && ghost_leave(txn, why))
        return GO_ON;
    tap_end(txn, false);
    txn->ended = why;
    txn->step = STEP_finish;
    if (txn->origin != NULL && why != END_WHOLE)
        txn->keep_origin = false;
    return GO_ON;
}

/* The client has all, down to the network. */
static enum go serve_over(struct bt_txn *txn)
{
    if (!txn->upload_over)
        txn->keep_client = false;
    return serve_end(txn, END_WHOLE);
}

static enum go serve_cut(struct bt_txn *txn)
{
    const struct tap *tap = txn->tap;

    if (txn->download_max >= 0 && txn->serve->at >= txn->download_max)
        count(reply_body_large);
    txn->client->cut(txn);
    return serve_end(txn, tap != NULL && tap->state == TAP_CUT ? tap->ended : END_ORIGIN_CUT);
}

/* The sink has refused, and the client has all from before: the rest comes from the origin. */
static enum go serve_back(struct bt_txn *txn)
{
    const struct tap *tap = txn->tap;

    serve_stop(txn);
    txn->step = STEP_deliver;
    if (!txn->client->body(txn, &tap->kept, tap->kept.len > 0, tap->kept_last))
        return txn_leave(txn, END_CLIENT_GONE);
    return GO_ON;
}

/* Nothing more can be given: is it the end? */
static enum go serve_broken(struct bt_txn *txn)
{
    const struct tap *tap = txn->tap;

    if (tap != NULL && tap->state == TAP_REFUSED && txn->serve->at == tap->taken)
        return serve_back(txn);
    return serve_cut(txn);
}

/* Only what it takes gives it more time, not what the origin sends meanwhile. */
static enum go serve_wait_client(struct bt_txn *txn)
{
    struct timeout *timeout = &txn->session->timeout;

    if (!timeout_is_set(timeout) || timeout->cls != &session_writing ||
        txn->serve->waited != txn->serve->at)
        timeout_set(&session_writing, timeout);
    txn->serve->waited = txn->serve->at;
    return GO_WAIT;
}

static enum go serve_wait_source(struct bt_txn *txn)
{
    timeout_clear(&txn->session->timeout);
    session_watch(txn->session);
    return GO_WAIT;
}

/* Bytes that are still to be given; INT64_MAX: nobody knows. */
static int64_t serve_ahead(const struct serve *s)
{
    return s->bodiless ? 0 : s->length >= 0 ? s->length - s->at : INT64_MAX;
}

/* As much as source and network give. */
static enum go serve_move(struct bt_txn *txn)
{
    struct serve *s = txn->serve;
    bt_str piece[SLICES_MAX];
    int64_t budget = TURN_BYTES;

    for (;;) {
        enum bt_source_state state;
        bool fresh = !txn->head_sent;

        if (!fresh && txn->client->pending(txn) > 0)
            return serve_wait_client(txn);
        if (s->over)
            return serve_over(txn);
        if (budget <= 0) {
            bt_resume(txn);
            return serve_wait_source(txn);
        }
        int64_t room = pace_room(txn, PACE_CLIENT, serve_ahead(s));
        if (room == 0)
            return serve_wait_source(txn);
        struct client_offer o = {
            .slice = piece, .n = serve_read(txn, piece, room < budget ? room : budget, &state)};
        o.last = state == BT_SOURCE_END;
        if (fresh)
            serve_head(txn);
        else if (o.n == 0 && state == BT_SOURCE_MORE)
            return serve_wait_source(txn);
        else if (o.n == 0 && state == BT_SOURCE_BROKEN)
            return serve_broken(txn);
        if (!txn->client->offer(txn, &o))
            return txn_leave(txn, END_CLIENT_GONE);
        s->at += (int64_t)o.taken;
        budget -= (int64_t)o.taken;
        pace_took(txn, PACE_CLIENT, (int64_t)o.taken);
        s->over = o.last;
        if (o.full && txn->client->pending(txn) == 0)
            return serve_wait_client(txn);
    }
}

/* There is no client: only the sink gets something. */
static enum go serve_nobody(struct bt_txn *txn)
{
    serve_stop(txn);
    fill_move(txn);
    if (tap_open(txn))
        return GO_WAIT;
    txn->step = STEP_finish;
    return GO_ON;
}

enum go step_serve(struct bt_txn *txn)
{
    bool done;

    if (txn->client->nobody)
        return serve_nobody(txn);
    if (!txn->head_sent) {
        enum go go = serve_ask(txn, &done);
        if (!done)
            return go;
    }
    if (tap_open(txn))
        fill_move(txn);
    return serve_move(txn);
}
