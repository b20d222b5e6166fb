/* tseam.c - a module for t/4A-cache-seam.t: the silliest cache, which drives each function of bt_cache.h.
 *
 * What it does with a request stands in the request's own field X-Seam, words separated by blanks:
 *
 *   store           keep the answer while it passes       refuse=N   but take no more after N bytes
 *   want            and go on when the client leaves      alone      and be not read while it grows
 *   wait            pause until there is something        only       or refuse
 *   hidden          say no length                         broken=N   be broken after N bytes
 *   fresh           ask the origin, whatever is there     check      with If-None-Match
 *   stale           answer when the origin fails          range=A-B  answer so, and store beside it
 *   again           fetch it once more in the background  bare       a head that is none
 *   plain           bt_answer() instead of the origin's   pass       nothing at all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bt.h"

enum { BLOCK = 16 * 1024, KEYS = 256 };

struct block {
    struct block *next;
    size_t len;
    char bytes[BLOCK];
};

struct source;

struct entry {
    struct bt_sink sink; /* first */
    char key[512];
    char *head;
    size_t head_len;
    struct block *first, *last;
    int64_t size, length, refuse;
    bool whole, over, want, alone;
    unsigned refs;
    struct source *readers;
};

struct source {
    struct bt_source source; /* first */
    struct entry *entry;
    struct bt_txn *txn;
    struct source *next;
    int64_t from, to, broken;
};

struct waiter {
    struct bt_txn *txn;
    struct waiter *next;
    bool gone;
};

struct ctx {
    bool answered, waiting, background, checking;
    struct waiter waiter;
};

static struct entry *table[KEYS];
static struct waiter *waiters;

#define COUNTERS(X)                                                                                \
    X(whole, "tseam.whole", BT_COUNT, "bodies", "Sinks that were told that it is whole.")          \
    X(cut, "tseam.cut", BT_COUNT, "bodies", "Sinks that were told that it was cut.")               \
    X(refused, "tseam.refused", BT_COUNT, "bodies", "Sinks that took no more.")                    \
    X(read, "tseam.read", BT_COUNT, "bodies", "Sinks that the client was served from.")            \
    X(asked, "tseam.asked", BT_COUNT, "bodies", "Sinks that were asked whether they want more.")   \
    X(failed, "tseam.failed", BT_COUNT, "exchanges", "Failures that a hook was asked about.")      \
    X(alone, "tseam.alone", BT_COUNT, "exchanges", "Exchanges without a client that finished.")    \
    X(fields, "tseam.fields", BT_COUNT, "fields", "Fields that were walked.")                      \
    X(sources, "tseam.sources", BT_GAUGE, "sources", "Sources that are open.")                     \
    X(waiting, "tseam.waiting", BT_GAUGE, "exchanges", "Exchanges that wait.")
BT_COUNTERS(COUNTERS);

/* ---- words ---- */

static bool word(struct bt_txn *txn, const char *name, bt_str *value)
{
    bt_str all = bt_req_header(txn, BT_STR("X-Seam"), 0);
    size_t len = strlen(name), at = 0;

    while (at < all.len) {
        size_t end = at;
        while (end < all.len && all.at[end] != ' ')
            end++;
        if (end - at >= len && memcmp(all.at + at, name, len) == 0 &&
            (end - at == len || all.at[at + len] == '=')) {
            if (value != NULL)
                *value = (bt_str){all.at + at + len + 1, end - at > len ? end - at - len - 1 : 0};
            return true;
        }
        at = end + 1;
    }
    return false;
}

static int64_t number(struct bt_txn *txn, const char *name, int64_t otherwise)
{
    char text[32] = "";
    bt_str value;

    if (!word(txn, name, &value) || value.len >= sizeof text)
        return otherwise;
    memcpy(text, value.at, value.len);
    return strtoll(text, NULL, 10);
}

/* ---- entries ---- */

static void entry_unref(struct entry *e)
{
    if (--e->refs > 0)
        return;
    while (e->first != NULL) {
        struct block *b = e->first;
        e->first = b->next;
        free(b);
    }
    free(e->head);
    free(e);
}

static struct entry **place(bt_str key)
{
    for (int i = 0; i < KEYS; i++)
        if (table[i] != NULL && bt_str_eq((bt_str){table[i]->key, strlen(table[i]->key)}, key))
            return &table[i];
    return NULL;
}

static void forget(bt_str key)
{
    struct entry **at = place(key);

    if (at == NULL)
        return;
    entry_unref(*at);
    *at = NULL;
}

static void wake(struct entry *e)
{
    for (struct source *s = e->readers; s != NULL; s = s->next)
        bt_resume(s->txn);
}

static void wake_waiters(void)
{
    for (struct waiter *w = waiters; w != NULL; w = w->next)
        bt_resume(w->txn);
}

/* ---- source ---- */

static int source_read(struct bt_source *source, int64_t from, bt_str *piece, int max,
                       enum bt_source_state *state)
{
    struct source *s = (struct source *)source;
    struct entry *e = s->entry;
    int64_t end = e->size, at = 0, want = from + s->from;
    int n = 0;

    if (s->broken >= 0 && s->broken < end)
        end = s->broken;
    if (s->to >= 0 && s->to < end)
        end = s->to;
    for (struct block *b = e->first; b != NULL && n < max && at < end; b = b->next) {
        int64_t till = at + (int64_t)b->len < end ? at + (int64_t)b->len : end;
        if (till > want)
            piece[n++] = (bt_str){b->bytes + (want > at ? want - at : 0),
                                  (size_t)(till - (want > at ? want : at))};
        at += (int64_t)b->len;
        if (n > 0 && n == max)
            end = till;
    }
    if (s->broken >= 0 && end == s->broken)
        *state = BT_SOURCE_BROKEN;
    else if (n == max || at < e->size)
        *state = s->to >= 0 && at >= s->to ? BT_SOURCE_END : BT_SOURCE_MORE;
    else if (s->to >= 0 && e->size >= s->to)
        *state = BT_SOURCE_END;
    else
        *state = !e->over ? BT_SOURCE_MORE : e->whole ? BT_SOURCE_END : BT_SOURCE_BROKEN;
    return n;
}

static void source_close(struct bt_source *source)
{
    struct source *s = (struct source *)source;
    struct source **at = &s->entry->readers;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    entry_unref(s->entry);
    free(s);
    bt_count_by(sources, -1);
}

static const struct bt_source_ops source_ops = {source_read, source_close};

static struct source *source_new(struct entry *e, struct bt_txn *txn)
{
    struct source *s = calloc(1, sizeof *s);

    if (s == NULL)
        abort();
    *s = (struct source){.source = {&source_ops},
                         .entry = e,
                         .txn = txn,
                         .next = e->readers,
                         .to = -1,
                         .broken = number(txn, "broken", -1)};
    e->readers = s;
    e->refs++;
    bt_count(sources);
    return s;
}

/* ---- sink ---- */

static void append(struct entry *e, bt_str bytes)
{
    while (bytes.len > 0) {
        struct block *b = e->last;
        if (b == NULL || b->len == BLOCK) {
            b = calloc(1, sizeof *b);
            if (b == NULL)
                abort();
            *(e->last != NULL ? &e->last->next : &e->first) = b;
            e->last = b;
        }
        size_t n = BLOCK - b->len < bytes.len ? BLOCK - b->len : bytes.len;
        memcpy(b->bytes + b->len, bytes.at, n);
        b->len += n;
        e->size += (int64_t)n;
        bytes.at += n;
        bytes.len -= n;
    }
}

static bool sink_write(struct bt_sink *sink, const bt_str *piece, int n)
{
    struct entry *e = (struct entry *)sink;
    int64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += (int64_t)piece[i].len;
    if (e->refuse >= 0 && e->size + sum > e->refuse) {
        bt_count(refused);
        e->over = true;
        forget((bt_str){e->key, strlen(e->key)});
        wake(e);
        entry_unref(e);
        return false;
    }
    for (int i = 0; i < n; i++)
        append(e, piece[i]);
    wake(e);
    return true;
}

static void sink_end(struct bt_sink *sink, bool whole)
{
    struct entry *e = (struct entry *)sink;

    if (whole)
        bt_count(whole);
    else
        bt_count(cut);
    e->over = true;
    e->whole = whole;
    wake(e);
    wake_waiters();
    if (!whole)
        forget((bt_str){e->key, strlen(e->key)});
    entry_unref(e);
}

static struct bt_source *sink_source(struct bt_sink *sink, struct bt_txn *txn)
{
    struct entry *e = (struct entry *)sink;

    if (e->alone)
        return NULL;
    bt_count(read);
    return &source_new(e, txn)->source;
}

static bool sink_wanted(struct bt_sink *sink, int64_t received, int64_t length)
{
    struct entry *e = (struct entry *)sink;

    bt_count(asked);
    return e->want && received == e->size && length == e->length;
}

static const struct bt_sink_ops sink_ops = {sink_write, sink_end, sink_source, sink_wanted};

/* ---- hooks ---- */

static enum bt_verdict answer(struct bt_txn *txn, struct entry *e, const char *tag)
{
    struct ctx *ctx = bt_txn_ctx(txn);
    struct source *s = source_new(e, txn);
    int64_t length = e->length;

    if (length < 0 && e->over && e->whole)
        length = e->size;
    if (word(txn, "hidden", NULL))
        length = -1;
    ctx->answered = true;
    bt_tag(txn, tag);
    bt_reply_add(txn, BT_STR("X-Seam-Tag"), (bt_str){tag, strlen(tag)});
    bt_answer_from(
        txn, word(txn, "bare", NULL) ? BT_STR("nonsense\r\n\r\n") : (bt_str){e->head, e->head_len},
        length, &s->source);
    return BT_ANSWER;
}

static void waiter_end(void *what)
{
    struct waiter *w = what, **at = &waiters;

    if (w->gone)
        return;
    w->gone = true;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    bt_count_by(waiting, -1);
}

static enum bt_verdict wait(struct bt_txn *txn, struct ctx *ctx)
{
    if (!ctx->waiting) {
        ctx->waiting = true;
        ctx->waiter.txn = txn;
        ctx->waiter.next = waiters;
        waiters = &ctx->waiter;
        bt_count(waiting);
        bt_defer(bt_txn_arena(txn), waiter_end, &ctx->waiter);
    }
    return BT_PAUSE;
}

static enum bt_verdict lookup(struct bt_txn *txn)
{
    struct ctx *ctx = bt_txn_ctx(txn);
    bt_str key = bt_url(txn), name, value;
    struct entry **at = place(key);

    if (word(txn, "pass", NULL))
        return BT_PASS;
    for (size_t i = 0; bt_req_field(txn, i, &name, &value); i++) {
        bt_count(fields);
        if (bt_str_eq_nocase(name, BT_STR("Connection")))
            abort();
    }
    if (bt_without_client(txn)) {
        bt_upstream_set(txn, BT_STR("X-Seam"), BT_STR_NONE);
        bt_upstream_set(txn, BT_STR("X-Background"), BT_STR("one\r\ntwo"));
        bt_upstream_set(txn, BT_STR("Host"), BT_STR("elsewhere"));
        return BT_PASS;
    }
    if (bt_str_eq(bt_method(txn), BT_STR("PURGE"))) {
        bt_answer(txn, at != NULL ? 200 : 404, BT_STR_NONE, BT_STR_NONE);
        forget(key);
        return BT_ANSWER;
    }
    if (word(txn, "again", NULL)) {
        struct bt_txn *second = bt_background(txn);
        bt_reply_add(txn, BT_STR("X-Seam-Again"), second != NULL ? BT_STR("yes") : BT_STR("no"));
        if (second != NULL)
            ((struct ctx *)bt_txn_ctx(second))->background = true;
    }
    if (at != NULL && word(txn, "check", NULL)) {
        ctx->checking = true;
        bt_upstream_set(txn, BT_STR("If-None-Match"), BT_STR("\"v0\""));
        bt_upstream_set(txn, BT_STR("If-None-Match"), BT_STR("\"v1\""));
        bt_upstream_set(txn, BT_STR("X-Seam"), BT_STR_NONE);
        return BT_PASS;
    }
    if (word(txn, "fresh", NULL))
        return BT_PASS;
    if (at != NULL)
        return answer(txn, *at, (*at)->over ? "TCP_MEM_HIT" : "TCP_CF_HIT");
    if (word(txn, "wait", NULL))
        return wait(txn, ctx);
    if (word(txn, "only", NULL)) {
        bt_tag(txn, "TCP_SEAM_MISS");
        bt_deny(txn, 504, "ERR_ONLY_IF_CACHED_MISS");
        return BT_REFUSE;
    }
    return BT_PASS;
}

static struct entry *entry_new(struct bt_txn *txn)
{
    struct entry *e = calloc(1, sizeof *e);
    bt_str key = bt_url(txn), name, value, reason = bt_rep_reason(txn);
    FILE *head;

    if (e == NULL || key.len >= sizeof e->key)
        abort();
    memcpy(e->key, key.at, key.len);
    head = open_memstream(&e->head, &e->head_len);
    fprintf(head, "HTTP/1.1 %d %.*s\r\n", bt_status(txn), BT_STR_ARGS(reason));
    for (size_t i = 0; bt_rep_field(txn, i, &name, &value); i++)
        fprintf(head, "%.*s: %.*s\r\n", BT_STR_ARGS(name), BT_STR_ARGS(value));
    fprintf(head, "\r\n");
    fclose(head);
    e->sink.ops = &sink_ops;
    e->length = bt_rep_length(txn);
    e->refuse = number(txn, "refuse", -1);
    e->want = word(txn, "want", NULL) || bt_without_client(txn);
    e->alone = word(txn, "alone", NULL);
    e->refs = 1;
    return e;
}

static void keep(struct entry *e)
{
    bt_str key = {e->key, strlen(e->key)};

    forget(key);
    for (int i = 0; i < KEYS; i++)
        if (table[i] == NULL) {
            table[i] = e;
            e->refs++;
            break;
        }
    wake_waiters();
}

static enum bt_verdict response_from(struct bt_txn *txn, struct ctx *ctx, struct entry *e)
{
    int from = 0, to = 0;
    bt_str value;
    struct source *s;

    if (!word(txn, "range", &value) || sscanf(value.at, "%d-%d", &from, &to) != 2)
        return BT_PASS;
    s = source_new(e, txn);
    s->from = from;
    s->to = to;
    ctx->answered = true;
    bt_tag(txn, "TCP_MISS");
    bt_answer_from(txn, BT_STR("HTTP/1.1 206 Part\r\nX-Part: yes\r\n\r\n"), to - from, &s->source);
    return BT_ANSWER;
}

static enum bt_verdict response(struct bt_txn *txn)
{
    struct ctx *ctx = bt_txn_ctx(txn);
    struct entry **at = place(bt_url(txn)), *e;
    const char *page = NULL;

    if (ctx->answered || word(txn, "pass", NULL))
        return BT_PASS;
    if (bt_failed(txn, &page) != 0) {
        bt_count(failed);
        if (bt_status(txn) != 0 || page == NULL)
            abort();
        return at != NULL && word(txn, "stale", NULL) ? answer(txn, *at, "TCP_REFRESH_FAIL_OLD")
                                                      : BT_PASS;
    }
    if (bt_received_ms(txn) < bt_sent_ms(txn) || bt_sent_ms(txn) == 0)
        abort();
    if (word(txn, "plain", NULL)) {
        bt_answer(txn, 203, BT_STR("X-Plain: yes\r\n"), BT_STR("instead"));
        return BT_ANSWER;
    }
    if (ctx->checking && bt_status(txn) == 304 && at != NULL)
        return answer(txn, *at, "TCP_REFRESH_UNMODIFIED");
    if (bt_status(txn) >= 500 && at != NULL && word(txn, "stale", NULL))
        return answer(txn, *at, "TCP_REFRESH_FAIL_OLD");
    if (bt_status(txn) != 200 || !(ctx->background || word(txn, "store", NULL)))
        return BT_PASS;
    e = entry_new(txn);
    bt_tap(txn, &e->sink);
    keep(e);
    return response_from(txn, ctx, e);
}

static enum bt_verdict finish(struct bt_txn *txn)
{
    struct ctx *ctx = bt_txn_ctx(txn);
    bt_str name = BT_STR_NONE, value;
    size_t i = 0;

    /* What was kept from the origin is part of the request still. */
    while (ctx->checking && !bt_str_eq_nocase(name, BT_STR("X-Seam")))
        if (!bt_req_field(txn, i++, &name, &value))
            abort();
    if (bt_without_client(txn))
        bt_count(alone);
    return BT_PASS;
}

static void stop(void *conf)
{
    (void)conf;
    for (int i = 0; i < KEYS; i++)
        if (table[i] != NULL)
            entry_unref(table[i]);
}

static const struct bt_hook hooks[] = {
    {BT_AT_LOOKUP, "Answers what it has.", lookup},
    {BT_AT_RESPONSE, "Stores what it is told to.", response},
    {BT_AT_FINISH, "Counts.", finish},
};

BT_MODULE(tseam, "The silliest cache, for a test.", .txn_size = sizeof(struct ctx),
          .counters = BT_ROWS(bt_counters), .hooks = BT_ROWS(hooks), .stop = stop);
