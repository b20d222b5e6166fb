/* ghost.c - exchanges without a client.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/ghost.h"

#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/str.h"
#include "flow/intercept.h"
#include "flow/notes.h"
#include "flow/serve.h"
#include "flow/session.h"
#include "http/parse.h"
#include "stat/counts.h"

enum { GHOSTS_MAX = 256 }; /* of one worker */

static unsigned n_ghosts;

/* ---- a client that takes everything, and has nothing to say ---- */

static void none_head(struct bt_txn *txn, int64_t length)
{
    (void)txn;
    (void)length;
}

static bool none_interim(struct bt_txn *txn, const struct head *head)
{
    (void)txn;
    (void)head;
    return true;
}

static bool none_body(struct bt_txn *txn, const bt_str *slice, int n, bool last)
{
    (void)txn;
    (void)slice;
    (void)n;
    (void)last;
    return true;
}

static bool none_offer(struct bt_txn *txn, struct client_offer *o)
{
    (void)txn;
    for (int i = 0; i < o->n; i++)
        o->taken += o->slice[i].len;
    return true;
}

static size_t none_pending(struct bt_txn *txn)
{
    (void)txn;
    return 0;
}

static enum body_result none_read_body(struct bt_txn *txn, bt_str *slice, int max, int *n)
{
    (void)txn;
    (void)slice;
    (void)max;
    *n = 0;
    return BODY_END;
}

static void none_cut(struct bt_txn *txn)
{
    (void)txn;
}

static const struct client_ops client_none = {
    .name = "none",
    .nobody = true,
    .head = none_head,
    .interim = none_interim,
    .body = none_body,
    .offer = none_offer,
    .pending = none_pending,
    .read_body = none_read_body,
    .cut = none_cut,
};

/* ---- how many ---- */

static bool ghost_room(void)
{
    if (n_ghosts < GHOSTS_MAX)
        return true;
    count(background_refused);
    return false;
}

static void ghost_count(void)
{
    n_ghosts++;
    count(background_open);
}

void ghost_over(void)
{
    n_ghosts--;
    count_by(background_open, -1);
}

struct bt_txn *ghost_new(void)
{
    struct session *s;

    if (!ghost_room())
        return NULL;
    s = session_ghost(NULL);
    s->txn = txn_new(s, &client_none);
    ghost_count();
    return s->txn;
}

bool bt_without_client(struct bt_txn *txn)
{
    return txn->client->nobody;
}

/* ---- a client leaves ---- */

static bool ghost_wanted(struct bt_txn *txn)
{
    struct bt_sink *sink = txn->tap->sink;

    return sink->ops->wanted != NULL && ghost_room() &&
           sink->ops->wanted(sink, txn->tap->taken, bt_rep_length(txn));
}

bool ghost_leave(struct bt_txn *txn, enum txn_end why)
{
    struct session *s = txn->session;
    enum session_fate fate = why == END_WHOLE && txn->keep_client ? SESSION_KEEP : SESSION_CLOSE;

    if (!tap_open(txn) || s->ghost || !txn->head_sent || !txn->upload_over)
        return false;
    if (!ghost_wanted(txn)) {
        tap_end(txn, false);
        return false;
    }
    count(background_left);
    txn->ended = why;
    finish_tell(txn);
    serve_stop(txn);
    /* The session may read another request now, and use what is shared. */
    input_settle(&txn->from_origin, shared_origin);
    txn->session = session_ghost(s);
    txn->session->txn = txn;
    txn->client = &client_none;
    txn->ended = END_WHOLE;
    txn->keep_client = false;
    txn->step = STEP_serve;
    ghost_count();
    session_let_go(s, fate);
    return true;
}

/* ---- in the background ---- */

/* The request as it came, once more: what is parsed is what another client might have sent. */
static bt_str ghost_head(const struct head *req, struct bt_arena *arena)
{
    struct str_builder out;

    str_builder_arena(&out, arena, req->bytes + 64);
    str_add(&out, req->method);
    str_add_char(&out, ' ');
    str_add(&out, req->target);
    str_add_format(&out, " HTTP/1.%u\r\n", (unsigned)req->minor);
    for (unsigned i = 0; i < req->n; i++) {
        str_add(&out, req->field[i].name);
        str_add_literal(&out, ": ");
        str_add(&out, req->field[i].value);
        str_add_literal(&out, "\r\n");
    }
    str_add_literal(&out, "\r\n");
    return str_built(&out);
}

static bool ghost_parse(struct bt_txn *txn, const struct bt_txn *of)
{
    bt_str head = ghost_head(&of->req, txn->arena);
    struct head_field *fields = bt_alloc_raw(txn->arena, (of->req.n + 1) * sizeof *fields);

    if (parse_request(&txn->req, head.at, head.len, fields, of->req.n + 1) != FAULT_NONE)
        return false;
    /* Within a CONNECT that was bumped the target is no whole URL, and some are changed. */
    bool changed = of->session->inside != NULL || of->asked != NULL || txn->req.target.at[0] == '/';
    bt_str target = changed ? of->url.text : txn->req.target;
    if (url_parse(txn->arena, txn->req.method_id, bt_str_copy(txn->arena, target), &txn->url) !=
        FAULT_NONE)
        return false;
    body_init_request(&txn->upload, &txn->req);
    return true;
}

static const struct sockaddr *ghost_addr(struct bt_txn *txn, const struct sockaddr *addr)
{
    if (addr == NULL)
        return NULL;
    return memcpy(bt_alloc(txn->arena, sizeof(union session_addr)), addr, addr_len(addr));
}

struct bt_txn *bt_background(struct bt_txn *of)
{
    struct bt_txn *txn;
    struct session *s;

    if (of->upload.kind != BODY_NONE || of->req.method_id == METHOD_CONNECT || of->sketched ||
        of->req.method.len == 0 || session_draining() || !ghost_room())
        return NULL;
    s = session_ghost(of->session);
    s->txn = txn = txn_new(s, &client_none);
    ghost_count();
    count(background_begun);
    txn->background = txn->settled = txn->followed = true;
    if (!ghost_parse(txn, of)) {
        txn_abort(txn, END_WHOLE);
        return NULL;
    }
    intercept_follow(txn, of);
    txn->no_direct = of->no_direct;
    txn->keep_host = of->keep_host;
    txn->source = ghost_addr(txn, of->source);
    txn->behind = ghost_addr(txn, of->behind);
    notes_copy(txn, of);
    txn->time.start = txn->time.head = clock_us();
    txn->step = STEP_answer;
    bt_resume(txn);
    return txn;
}
