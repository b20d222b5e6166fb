/* tfetch.c - a module for t/4B-fetch.t: fetches what a request tells it to, and answers with what came.
 *
 * Fields of the request: X-Fetch, a URL (several fields: several at once); X-Method, X-Body, X-Timeout
 * (ms), X-Max (bytes), X-Field ("Name: value", also nonsense), X-By (a number of enum bt_initiator),
 * X-Public, X-Times
 * (each URL so often). The answer's body has a line for each: status or error, X-Seen of the answer, body.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bt.h"

enum { MAX = 2000 };

struct one {
    struct ctx *ctx;
    struct bt_fetch *fetch;
    bt_str says;
};
struct ctx {
    struct bt_txn *txn;
    struct one *one;
    size_t n, waiting;
};

#define COUNTERS(X)                                                                                \
    X(cancelled, "tfetch.cancelled", BT_COUNT, "fetches", "Given up, since the client left.")
BT_COUNTERS(COUNTERS);

static bt_str field(struct bt_txn *txn, const char *name, size_t n)
{
    return bt_req_header(txn, (bt_str){name, strlen(name)}, n);
}

static int64_t number(struct bt_txn *txn, const char *name)
{
    bt_str text = field(txn, name, 0);

    return text.at != NULL ? strtoll(bt_str_copy(bt_txn_arena(txn), text).at, NULL, 10) : 0;
}

static void done(void *arg, const struct bt_fetch_reply *reply)
{
    struct one *one = arg;
    struct ctx *ctx = one->ctx;
    bt_str seen = BT_STR("-");

    one->fetch = NULL;
    for (size_t i = 0; i < reply->n; i++)
        if (bt_str_eq_nocase(reply->field[i].name, BT_STR("X-Seen")))
            seen = reply->field[i].value;
    if (reply->error != NULL)
        one->says = bt_str_printf(bt_txn_arena(ctx->txn), "%s: %s\n", reply->error, reply->detail);
    else
        one->says = bt_str_printf(bt_txn_arena(ctx->txn), "%d %.*s %.*s\n", reply->status,
                                  BT_STR_ARGS(seen), BT_STR_ARGS(reply->body));
    ctx->waiting--;
    bt_resume(ctx->txn);
}

static void end(void *ctx_)
{
    struct ctx *ctx = ctx_;

    for (size_t i = 0; i < ctx->n; i++)
        if (ctx->one[i].fetch != NULL) {
            bt_count(cancelled);
            bt_fetch_cancel(ctx->one[i].fetch);
        }
}

static void begin(struct bt_txn *txn, struct ctx *ctx)
{
    struct bt_fetch_request request = {.method = field(txn, "X-Method", 0),
                                       .body = field(txn, "X-Body", 0),
                                       .timeout = {number(txn, "X-Timeout")},
                                       .max = {number(txn, "X-Max")},
                                       .by = (enum bt_initiator)number(txn, "X-By"),
                                       .public_only = number(txn, "X-Public") != 0};
    struct bt_fetch_field one_field;
    bt_str text = field(txn, "X-Field", 0);
    const char *colon = text.at != NULL ? memchr(text.at, ':', text.len) : NULL, *why;
    size_t times = (size_t)number(txn, "X-Times");
    bt_str url;

    if (colon != NULL && colon + 2 <= text.at + text.len) {
        one_field.name = (bt_str){text.at, (size_t)(colon - text.at)};
        one_field.value = (bt_str){colon + 2, (size_t)(text.at + text.len - colon - 2)};
        request.field = &one_field;
        request.n = 1;
        if (bt_str_eq(one_field.value, BT_STR("lines")))
            one_field.value = BT_STR("one\r\nX-Two: two");
    }
    if (request.by == BT_BY_CLIENT)
        request.by = BT_BY_SERVER;
    ctx->txn = txn;
    ctx->one = bt_alloc(bt_txn_arena(txn), MAX * sizeof *ctx->one);
    times += times == 0;
    bt_defer(bt_txn_arena(txn), end, ctx);
    for (size_t i = 0; ctx->n < MAX && (url = field(txn, "X-Fetch", i / times)).at != NULL; i++) {
        struct one *one = &ctx->one[ctx->n++];

        one->ctx = ctx;
        request.url = url;
        one->fetch = bt_fetch_start(&request, done, one, &why);
        if (one->fetch == NULL)
            one->says = bt_str_printf(bt_txn_arena(txn), "no: %s\n", why);
        else
            ctx->waiting++;
    }
}

static enum bt_verdict request(struct bt_txn *txn)
{
    struct ctx *ctx = bt_txn_ctx(txn);
    bt_str all = BT_STR("");

    if (bt_initiator(txn) != BT_BY_CLIENT || field(txn, "X-Fetch", 0).at == NULL)
        return BT_PASS;
    if (ctx->txn == NULL)
        begin(txn, ctx);
    if (ctx->waiting > 0)
        return BT_PAUSE;
    for (size_t i = 0; i < ctx->n; i++)
        all = bt_str_printf(bt_txn_arena(txn), "%.*s%.*s", BT_STR_ARGS(all),
                            BT_STR_ARGS(ctx->one[i].says));
    bt_answer(txn, 200, BT_STR_NONE, all);
    return BT_ANSWER;
}

static const struct bt_hook hooks[] = {{BT_AT_REQUEST, "Fetches.", request}};

BT_MODULE(tfetch, "Fetches what it is told to, for a test.", .txn_size = sizeof(struct ctx),
          .counters = BT_ROWS(bt_counters), .hooks = BT_ROWS(hooks));
