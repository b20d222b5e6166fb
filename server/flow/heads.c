/* heads.c - what modules read of heads, and what they change in those that go out (bt_cache.h).
 *
 * The request that came stays as it is, for rules, logs and another try: what the origin shall get
 * instead is a list beside it, looked at while its head is written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

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

bool bt_req_proven(struct bt_txn *txn)
{
    return !txn->forged;
}

bool bt_rep_proven(struct bt_txn *txn)
{
    return !txn->unproven;
}

bool bt_req_logs_in(struct bt_txn *txn)
{
    return txn->logs_in;
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

/* Framing and the next hop are the server's, and the URL says the host. */
static bool may_set(bt_str name)
{
    enum header_id id = header_find(name);

    return (header_flags(id) & (HEADER_HOP | HEADER_FRAMING)) == 0 && !rewritten(id);
}

/* A list of what stands instead of the fields of those names, or (hiding) only takes them away. */
static const struct overlay *overlay_find(const struct overlay *o, bt_str name)
{
    while (o != NULL && !bt_str_eq_nocase(o->name, name))
        o = o->next;
    return o;
}

static void overlay_drop(struct overlay **list, bt_str name)
{
    while (*list != NULL)
        if (bt_str_eq_nocase((*list)->name, name))
            *list = (*list)->next;
        else
            list = &(*list)->next;
}

static void overlay_add(struct bt_txn *txn, struct overlay **list, bt_str name, bt_str value)
{
    struct overlay *o = bt_alloc(txn->arena, sizeof *o);

    o->name = clean(txn->arena, name);
    o->value = clean(txn->arena, value);
    while (*list != NULL)
        list = &(*list)->next;
    *list = o;
    txn->overlay_bytes += name.len + value.len + sizeof ": \r\n";
}

void bt_upstream_set(struct bt_txn *txn, bt_str name, bt_str value)
{
    if (!may_set(name))
        return;
    overlay_drop(&txn->overlay, name);
    overlay_add(txn, &txn->overlay, name, value);
}

void bt_upstream_add(struct bt_txn *txn, bt_str name, bt_str value)
{
    bt_str had;

    if (!may_set(name))
        return;
    if (overlay_find(txn->overlay, name) == NULL)
        for (size_t n = 0; (had = head_find(&txn->req, name, n)).at != NULL; n++)
            overlay_add(txn, &txn->overlay, name, had);
    overlay_add(txn, &txn->overlay, name, value);
}

bt_str bt_upstream_header(struct bt_txn *txn, bt_str name, size_t n)
{
    const struct overlay *o = overlay_find(txn->overlay, name);

    if (o == NULL)
        return head_find(&txn->req, name, n);
    for (; o != NULL; o = overlay_find(o->next, name))
        if (o->value.at != NULL && n-- == 0)
            return o->value;
    return BT_STR_NONE;
}

static void hide(struct head *head, const struct overlay *list)
{
    for (unsigned i = 0; i < head->n; i++)
        if (!head->field[i].drop && overlay_find(list, head->field[i].name) != NULL)
            head->field[i].drop = head->field[i].hidden = true;
}

static void show(struct head *head)
{
    for (unsigned i = 0; i < head->n; i++)
        if (head->field[i].hidden)
            head->field[i].drop = head->field[i].hidden = false;
}

void heads_hide(struct bt_txn *txn)
{
    hide(&txn->req, txn->overlay);
}

void heads_overlay(struct bt_txn *txn, struct writer *w)
{
    for (const struct overlay *o = txn->overlay; o != NULL; o = o->next)
        if (o->value.at != NULL)
            writer_field(w, o->name, o->value);
    show(&txn->req);
}

void heads_hide_reply(struct bt_txn *txn)
{
    if (txn->reply_hidden != NULL)
        hide(&txn->rep, txn->reply_hidden);
}

void heads_show_reply(struct bt_txn *txn)
{
    if (txn->reply_hidden != NULL)
        show(&txn->rep);
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

/* The next of whole lines; false: there is none. */
static bool next_line(bt_str *lines, bt_str *line, bt_str *name, bt_str *value)
{
    const char *end = lines->len > 0 ? memchr(lines->at, '\n', lines->len) : NULL, *colon;

    if (end == NULL)
        return false;
    *line = (bt_str){lines->at, (size_t)(end - lines->at) + 1};
    *lines = str_skip(*lines, line->len);
    colon = memchr(line->at, ':', line->len);
    *name = (bt_str){line->at, colon != NULL ? (size_t)(colon - line->at) : line->len};
    *value = str_trim_space(str_skip(*line, name->len + (colon != NULL)));
    return true;
}

static bool line_at(bt_str lines, bt_str wanted, size_t *n, bt_str *value)
{
    bt_str line, name;

    while (next_line(&lines, &line, &name, value))
        if (bt_str_eq_nocase(name, wanted) && (*n)-- == 0)
            return true;
    return false;
}

static bt_str lines_without(struct bt_txn *txn, bt_str lines, bt_str gone)
{
    bt_str rest = lines, line, name, value;
    size_t first = 0;
    char *out;
    struct writer w;

    if (!line_at(lines, gone, &first, &value))
        return lines;
    out = bt_alloc_raw(txn->arena, lines.len);
    w = writer_on(out, lines.len);
    while (next_line(&rest, &line, &name, &value))
        if (!bt_str_eq_nocase(name, gone))
            writer_str(&w, line);
    return (bt_str){out, (size_t)(w.at - out)};
}

void bt_reply_set(struct bt_txn *txn, bt_str name, bt_str value)
{
    if ((header_flags(header_find(name)) & (HEADER_HOP | HEADER_FRAMING)) != 0)
        return;
    txn->reply_fields = lines_without(txn, txn->reply_fields, name);
    txn->answer_fields = lines_without(txn, txn->answer_fields, name);
    if (overlay_find(txn->reply_hidden, name) == NULL)
        overlay_add(txn, &txn->reply_hidden, name, BT_STR_NONE);
    if (value.at != NULL)
        bt_reply_add(txn, name, value);
}

bt_str bt_reply_header(struct bt_txn *txn, bt_str name, size_t n)
{
    bt_str value = BT_STR_NONE;

    if (overlay_find(txn->reply_hidden, name) == NULL)
        for (size_t i = 0; (value = head_find(&txn->rep, name, i)).at != NULL; i++)
            if (n-- == 0)
                return value;
    if (line_at(txn->answer_fields, name, &n, &value) ||
        line_at(txn->reply_fields, name, &n, &value))
        return value;
    return BT_STR_NONE;
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

struct bt_cache_wish *bt_cache_wish(struct bt_txn *txn, bool make)
{
    if (txn->cache_wish == NULL && make) {
        txn->cache_wish = bt_alloc(txn->arena, sizeof *txn->cache_wish);
        txn->cache_wish->life = -1;
    }
    return txn->cache_wish;
}
