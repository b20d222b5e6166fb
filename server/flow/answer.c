/* answer.c - steps: can it be answered from here; and answers of our own making.
 *
 * Pages are small and plain, and never echo a header of the request: only the URL, the reason and
 * whom to ask, each made harmless for HTML.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "flow/core.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "http/date.h"
#include "http/status.h"

enum { OWN_FIELDS = 8, PAGE_URL_MAX = 512 };

enum go step_answer(struct bt_txn *txn)
{
    bool done;
    enum go go = txn_phase(txn, BT_AT_LOOKUP, &done);

    if (!done)
        return go;
    txn->hooks_done = false;
    txn->step = STEP_upstream;
    return local_look(txn);
}

/* What the names mean, for the heading of a page. */
static const struct {
    const char *page, *says;
} meanings[] = {
    {"ERR_ACCESS_DENIED", "Access is denied"},
    {"ERR_INVALID_REQ", "The request is malformed"},
    {"ERR_INVALID_URL", "The URL cannot be fetched"},
    {"ERR_UNSUP_REQ", "This kind of request is not supported"},
    {"ERR_UNSUP_HTTPVERSION", "This version of HTTP is not supported"},
    {"ERR_TOO_BIG", "The request is too large"},
    {"ERR_DNS_FAIL", "The name could not be found"},
    {"ERR_CONNECT_FAIL", "The server could not be reached"},
    {"ERR_CANNOT_FORWARD", "The request could not be forwarded"},
    {"ERR_READ_TIMEOUT", "The server did not answer in time"},
    {"ERR_READ_ERROR", "The connection to the server broke"},
    {"ERR_WRITE_ERROR", "The request could not be sent to the server"},
    {"ERR_ZERO_SIZE_OBJECT", "The server sent no answer"},
    {"ERR_INVALID_RESP", "The server's answer is not proper HTTP"},
    {"ERR_LIFETIME_EXP", "The exchange took too long"},
};

static const char *page_says(const char *page)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i].page, page) == 0)
            return meanings[i].says;
    return "The request could not be answered";
}

static void add_html(struct str_builder *out, bt_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '<')
            str_add_literal(out, "&lt;");
        else if (c == '>')
            str_add_literal(out, "&gt;");
        else if (c == '&')
            str_add_literal(out, "&amp;");
        else if (c == '"')
            str_add_literal(out, "&quot;");
        else if (c == '\'')
            str_add_literal(out, "&#39;");
        else
            str_add_char(out, c);
    }
}

static bt_str page_body(struct bt_txn *txn)
{
    struct str_builder out;
    bt_str url = txn->url.text;

    str_builder_arena(&out, txn->arena, 1024);
    str_add_format(&out,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                   "<meta name=\"viewport\" content=\"width=device-width\">\n<title>%d %s</title>\n"
                   "<style>body{font:16px/1.5 sans-serif;max-width:40em;margin:3em auto;"
                   "padding:0 1em}code{word-break:break-all}</style></head>\n<body><h1>%s</h1>\n",
                   txn->deny_status, page_says(txn->deny_page), page_says(txn->deny_page));
    if (url.len > 0) {
        str_add_literal(&out, "<p>While asking for <code>");
        add_html(&out, url.len > PAGE_URL_MAX ? (bt_str){url.at, PAGE_URL_MAX} : url);
        str_add(&out,
                url.len > PAGE_URL_MAX ? BT_STR("...</code></p>\n") : BT_STR("</code></p>\n"));
    }
    if (txn->deny_detail != NULL) {
        str_add_literal(&out, "<p>Reason: ");
        add_html(&out, str_from(txn->deny_detail));
        str_add_literal(&out, ".</p>\n");
    }
    str_add_literal(&out, "<p>If this is not what you expect, ask <code>");
    add_html(&out, core->cache_mgr);
    str_add_format(&out, "</code> and say <code>%s</code>.</p>\n<hr><p><small>", txn->deny_page);
    add_html(&out, core->visible_hostname);
    str_add_literal(&out, " (");
    add_html(&out, core->server_text);
    str_add_literal(&out, ")</small></p>\n</body></html>\n");
    return str_built(&out);
}

static void own_field(struct head *rep, enum header_id id, bt_str name, bt_str value)
{
    if (rep->n < OWN_FIELDS) {
        rep->field[rep->n++] = (struct head_field){.id = id, .name = name, .value = value};
        rep->seen[(unsigned)id / 64] |= UINT64_C(1) << ((unsigned)id % 64);
    }
}

/* Make txn->rep out of what was decided; the body is returned. */
static bt_str own_answer(struct bt_txn *txn)
{
    struct head *rep = &txn->rep;
    char *date = bt_alloc_raw(txn->arena, DATE_LEN);
    bt_str body = txn->answer_body;

    *rep = (struct head){.status = txn->deny_status, .minor = 1, .content_length = -1};
    rep->field = bt_alloc(txn->arena, OWN_FIELDS * sizeof *rep->field);
    date_print(date, clock_wall_s());
    own_field(rep, HEADER_SERVER, BT_STR("Server"), core->server_text);
    own_field(rep, HEADER_DATE, BT_STR("Date"), (bt_str){date, DATE_LEN});
    if (txn->deny_page != NULL) {
        body = page_body(txn);
        own_field(rep, HEADER_CONTENT_TYPE, BT_STR("Content-Type"),
                  BT_STR("text/html;charset=utf-8"));
        own_field(rep, HEADER_CACHE_CONTROL, BT_STR("Cache-Control"), BT_STR("no-store"));
        own_field(rep, HEADER_OTHER, BT_STR("X-Squid-Error"),
                  bt_str_printf(txn->arena, "%s %d", txn->deny_page, txn->dial_errno));
    }
    return body;
}

/* Until all of it was taken by the network; a half-read request makes the session linger. */
enum go step_refuse(struct bt_txn *txn)
{
    if (!txn->head_sent) {
        if (txn->origin != NULL) {
            txn->keep_origin = false;
            origin_release(txn);
        }
        bt_str body = own_answer(txn);
        bool bodyless = txn->req.method_id == METHOD_HEAD || body.len == 0;
        /* What is left of the request's body would be taken for the next request. */
        if (!txn->upload_over)
            txn->keep_client = false;
        txn->head_sent = true;
        txn->client->head(txn, (int64_t)body.len);
        if (!txn->client->body(txn, &body, bodyless ? 0 : 1, true))
            txn->ended = END_CLIENT_GONE;
    }
    if (txn->ended == END_WHOLE && txn->client->pending(txn) > 0) {
        timeout_set(&session_writing, &txn->session->timeout);
        return GO_WAIT;
    }
    txn->step = STEP_finish;
    return GO_ON;
}
