/* heads.c - what modules read of heads, and what they change in those that go out (bt_cache.h).
 *
 * The request that came stays as it is, for rules, logs and another try: what the origin shall get
 * instead is a list beside it, looked at while its head is written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/str.h"
#include "bt_cache.h"
#include "flow/txn.h"
#include "http/hop.h"

struct overlay {
    struct overlay *next;
    bt_str name, value; /* value NONE: without it */
};

/* ---- reading ---- */

void heads_mark(struct bt_txn *txn)
{
    if (!txn->req_marked)
        hop_mark(&txn->req);
    txn->req_marked = true;
}

/* These are dropped when a head is written, since they are written anew: they do travel on. */
static bool rewritten(enum header_id id)
{
    return id == HEADER_HOST || id == HEADER_VIA || id == HEADER_X_FORWARDED_FOR;
}

static bool field_at(const struct head *head, size_t i, bt_str *name, bt_str *value)
{
    for (unsigned k = 0; k < head->n; k++) {
        const struct head_field *field = &head->field[k];
        if (field->drop && !rewritten(field->id))
            continue;
        if (i-- > 0)
            continue;
        *name = field->name;
        *value = field->value;
        return true;
    }
    return false;
}

bool bt_req_field(struct bt_txn *txn, size_t i, bt_str *name, bt_str *value)
{
    heads_mark(txn);
    return field_at(&txn->req, i, name, value);
}

bool bt_rep_field(struct bt_txn *txn, size_t i, bt_str *name, bt_str *value)
{
    return field_at(&txn->rep, i, name, value);
}

bt_str bt_rep_reason(struct bt_txn *txn)
{
    return txn->rep.reason;
}

int64_t bt_rep_length(struct bt_txn *txn)
{
    switch (txn->download.kind) {
    case BODY_NONE:
        return 0;
    case BODY_LENGTH:
        return (int64_t)(txn->download.received + txn->download.left);
    case BODY_CHUNKED:
    case BODY_CLOSE:
        break;
    }
    return -1;
}

int bt_failed(struct bt_txn *txn, const char **page)
{
    if (page != NULL)
        *page = txn->fail_page;
    return txn->fail_status;
}

static int64_t wall_ms(int64_t us)
{
    return us != 0 ? clock_wall_us_at(us) / 1000 : 0;
}

int64_t bt_sent_ms(struct bt_txn *txn)
{
    return wall_ms(txn->time.sent);
}

int64_t bt_received_ms(struct bt_txn *txn)
{
    return wall_ms(txn->time.reply);
}

bool bt_rep_proven(struct bt_txn *txn)
{
    return !txn->unproven;
}

/* ---- changing ---- */

/* A value must not become a line of its own. */
static void tidy(char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
            at[i] = ' ';
}

static bt_str clean(struct bt_arena *arena, bt_str value)
{
    bt_str copy = bt_str_copy(arena, value);

    tidy((char *)(uintptr_t)copy.at, copy.len);
    return copy;
}

void bt_upstream_set(struct bt_txn *txn, bt_str name, bt_str value)
{
    enum header_id id = header_find(name);
    struct overlay *o = txn->overlay;

    /* Framing and the next hop are the server's, and the URL says the host. */
    if ((header_flags(id) & (HEADER_HOP | HEADER_FRAMING)) != 0 || rewritten(id))
        return;
    while (o != NULL && !bt_str_eq_nocase(o->name, name))
        o = o->next;
    if (o == NULL) {
        o = bt_alloc(txn->arena, sizeof *o);
        o->name = clean(txn->arena, name);
        o->next = txn->overlay;
        txn->overlay = o;
    }
    o->value = clean(txn->arena, value);
    txn->overlay_bytes += name.len + value.len + sizeof ": \r\n";
}

static const struct overlay *overlay_of(const struct bt_txn *txn, bt_str name)
{
    const struct overlay *o = txn->overlay;

    while (o != NULL && !bt_str_eq_nocase(o->name, name))
        o = o->next;
    return o;
}

void heads_hide(struct bt_txn *txn)
{
    for (unsigned i = 0; i < txn->req.n; i++)
        if (!txn->req.field[i].drop && overlay_of(txn, txn->req.field[i].name) != NULL)
            txn->req.field[i].drop = txn->req.field[i].hidden = true;
}

void heads_overlay(struct bt_txn *txn, struct writer *w)
{
    for (const struct overlay *o = txn->overlay; o != NULL; o = o->next)
        if (o->value.at != NULL)
            writer_field(w, o->name, o->value);
    for (unsigned i = 0; i < txn->req.n; i++) {
        struct head_field *field = &txn->req.field[i];
        if (field->hidden)
            field->drop = field->hidden = false;
    }
}

/* On every hit: so without printf(). What is there already is copied, but few have more than two. */
void bt_reply_add(struct bt_txn *txn, bt_str name, bt_str value)
{
    size_t had = txn->reply_fields.len;
    size_t len = had + name.len + value.len + sizeof ": \r\n" - 1;
    char *lines = bt_alloc_raw(txn->arena, len);
    struct writer w = writer_on(lines, len);

    writer_str(&w, txn->reply_fields);
    writer_field(&w, name, value);
    tidy(lines + had + name.len + 2, value.len);
    txn->reply_fields = (bt_str){lines, len};
}

void bt_tag(struct bt_txn *txn, const char *tag)
{
    txn->tag = tag;
    txn->tagged = true;
}

const char *bt_tag_get(struct bt_txn *txn)
{
    return txn->tag;
}
