/* rewrite.c - other URLs than those that clients ask for: url_rewrite_program and url_rewrite_map.
 *
 * Once http_access has let a request pass, the map is asked, which needs no process; when it has
 * nothing to say, the program is. Either leaves the URL as it is, puts another in its place, or sends
 * the client elsewhere. What is broken in the answer of a program (BH, no URL in it) leaves the URL
 * as it is, as in Squid; no answer at all refuses the request, unless url_rewrite_bypass or
 * on_timeout= say otherwise: a rewriter is often a filter, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "config.h"

#define COUNTERS(X)                                                                                \
    X(asked, "rewrite.asked", BT_COUNT, "requests",                                                \
      "Requests that url_rewrite_program was asked about.")                                        \
    X(mapped, "rewrite.mapped", BT_COUNT, "requests",                                              \
      "Requests that url_rewrite_map had a line for.")                                             \
    X(rewritten, "rewrite.rewritten", BT_COUNT, "requests", "Requests that got another URL.")      \
    X(redirected, "rewrite.redirected", BT_COUNT, "requests", "Clients that were sent elsewhere.") \
    X(broken, "rewrite.broken", BT_COUNT, "requests",                                              \
      "Answers that are none: BH, and what is no URL.")                                            \
    X(late, "rewrite.late", BT_COUNT, "questions",                                                 \
      "Questions without an answer in url_rewrite_timeout.")                                       \
    X(retried, "rewrite.retried", BT_COUNT, "questions", "Questions asked again after that.")      \
    X(bypassed, "rewrite.bypassed", BT_COUNT, "requests",                                          \
      "Requests that went on without an answer.")                                                  \
    X(refused, "rewrite.refused", BT_COUNT, "requests", "Requests refused for want of an answer.")
BT_COUNTERS(COUNTERS);

enum { EXTRAS_MAX = 8192, RETRIES = 2 };

/* Of an exchange. */
struct visit {
    struct bt_txn *txn; /* NULL: not begun */
    struct bt_helper_ask ask;
    bool done;
    unsigned retries;
    enum bt_verdict verdict;  /* once done */
    const struct bt_word *at; /* the line of the map */
};

/* ---- what was said ---- */

static bool url_good(bt_str url)
{
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.at[i] <= ' ' || url.at[i] == 0x7f)
            return false;
    return url.len > 0;
}

static void broken(struct visit *v, const char *why, bt_str what)
{
    bt_count(broken);
    bt_log_limited(v->txn, BT_WARN, 60, "the rewriter's answer is of no use: %s: %.*s", why,
                   what.len < 200 ? (int)what.len : 200, what.at);
}

static void redirect(struct visit *v, int status, bt_str url)
{
    if (!url_good(url)) {
        broken(v, "no URL to redirect to", url);
        return;
    }
    bt_count(redirected);
    bt_answer(v->txn, status,
              bt_str_printf(bt_txn_arena(v->txn), "Location: %.*s\r\n", BT_STR_ARGS(url)),
              BT_STR(""));
    bt_tag(v->txn, "TCP_REDIRECT");
    v->verdict = BT_ANSWER;
}

static void rewrite(struct visit *v, bt_str url)
{
    if (bt_str_eq(url, bt_url(v->txn)))
        return;
    if (bt_url_set(v->txn, url, !CONF->host_header))
        bt_count(rewritten);
    else
        broken(v, "no URL that can be asked for", url);
}

static bool is_redirect(bt_str status)
{
    static const char *const statuses[] = {"301", "302", "303", "307", "308"};

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (bt_str_eq(status, (bt_str){statuses[i], 3}))
            return true;
    return false;
}

static void reply_ok(struct visit *v, const struct bt_helper_reply *reply)
{
    bt_str url = bt_helper_value(reply, "url"), status = bt_helper_value(reply, "status");
    bt_str other = bt_helper_value(reply, "rewrite-url");

    if (url.at != NULL && status.at != NULL && !is_redirect(status))
        broken(v, "no status of a redirect", status);
    else if (url.at != NULL)
        redirect(v, status.at != NULL ? atoi(status.at) : 302, url);
    else if (other.at != NULL)
        rewrite(v, other);
}

/* As rewriters of old answer: a URL, STATUS:URL, or the whole question, of which the URL counts. */
static void reply_text(struct visit *v, bt_str text)
{
    const char *space = memchr(text.at, ' ', text.len);

    if (space != NULL)
        text.len = (size_t)(space - text.at);
    if (text.len > 4 && text.at[3] == ':' && is_redirect((bt_str){text.at, 3}))
        redirect(v, atoi(text.at), (bt_str){text.at + 4, text.len - 4});
    else
        rewrite(v, text);
}

static void reply_notes(struct visit *v, const struct bt_helper_reply *reply)
{
    for (size_t i = 0; i < reply->n; i++) {
        bool client = bt_str_eq(reply->pair[i].key, BT_STR("clt_conn_tag"));
        bt_note_set(v->txn, client ? BT_NOTE_CLIENT : BT_NOTE_EXCHANGE, reply->pair[i].key,
                    reply->pair[i].value);
    }
}

static void reply_take(struct visit *v, const struct bt_helper_reply *reply)
{
    reply_notes(v, reply);
    switch (reply->result) {
    case BT_HELPER_OK:
        reply_ok(v, reply);
        break;
    case BT_HELPER_TEXT:
        reply_text(v, reply->text);
        break;
    case BT_HELPER_ERR:
        break;
    case BT_HELPER_BH:
    case BT_HELPER_TT:
    case BT_HELPER_LOST:
        broken(v, "it cannot say", bt_helper_value(reply, "message"));
        break;
    }
}

/* ---- the program ---- */

static void question(struct visit *);

static void refuse(struct visit *v)
{
    bt_count(refused);
    bt_log_limited(v->txn, BT_WARN, 60, "refused, since url_rewrite_program does not answer");
    bt_deny(v->txn, 503, "ERR_GATEWAY_FAILURE");
    v->verdict = BT_REFUSE;
}

/* Nobody answers. false: it was asked again. */
static bool lost(struct visit *v, bool late)
{
    enum on_timeout then = CONF->on_timeout;

    if (late)
        bt_count(late);
    if (late && then == TIMEOUT_RETRY && v->retries < RETRIES) {
        v->retries++;
        bt_count(retried);
        question(v);
        return false;
    }
    if (late && then == TIMEOUT_RESPONSE) {
        reply_take(v, bt_helper_reply_of(bt_txn_arena(v->txn), CONF->response));
    } else if (CONF->bypass || (late && then == TIMEOUT_BYPASS)) {
        bt_count(bypassed);
    } else {
        refuse(v);
    }
    return true;
}

static void answered(struct bt_helper_ask *ask, const struct bt_helper_reply *reply)
{
    struct visit *v = (struct visit *)(void *)((char *)ask - offsetof(struct visit, ask));

    if (reply->result != BT_HELPER_LOST)
        reply_take(v, reply);
    else if (!lost(v, reply->late))
        return;
    v->done = true;
    bt_resume(v->txn);
}

static void question(struct visit *v)
{
    struct bt_arena *arena = bt_txn_arena(v->txn);
    char *extras = bt_alloc_raw(arena, EXTRAS_MAX);
    size_t len = bt_format_render(CONF->extras, v->txn, extras, EXTRAS_MAX);

    /* A line is a question: whatever is in it must not make a second one. */
    for (size_t i = 0; i < len; i++)
        if (extras[i] == '\n' || extras[i] == '\r')
            extras[i] = ' ';
    v->ask.done = answered;
    bt_helper_ask(CONF->pool, &v->ask,
                  bt_str_printf(arena, "%.*s %.*s", BT_STR_ARGS(bt_url(v->txn)), (int)len, extras));
}

/* ---- the map ---- */

/* false: it has nothing to say. */
static bool mapped(struct visit *v)
{
    struct bt_txn *txn = v->txn;
    const struct map_asked asked = {bt_url(txn), bt_scheme(txn), bt_host(txn), bt_path(txn),
                                    bt_port(txn)};
    struct map_target to;

    switch (map_find(CONF->map, &asked, bt_txn_arena(txn), &to)) {
    case BT_YES:
        bt_count(mapped);
        v->at = to.at;
        if (to.status == 0)
            rewrite(v, to.url);
        else if (asked.scheme.len > 0) /* no client follows what a CONNECT is answered */
            redirect(v, to.status, to.url);
        return true;
    case BT_BROKEN:
        refuse(v);
        return true;
    default:
        return false;
    }
}

static void gone(void *what)
{
    struct visit *v = what;

    bt_helper_cancel(&v->ask);
}

static enum bt_verdict adapt(struct bt_txn *txn)
{
    struct visit *v;
    struct bt_ruling ruling;

    if (CONF->pool == NULL && CONF->map == NULL)
        return BT_PASS;
    v = bt_txn_ctx(txn);
    if (v->ask.job != NULL)
        return BT_PAUSE;
    if (v->done)
        return v->verdict;
    ruling = bt_rules_run(CONF->access, txn);
    if (ruling.match == BT_WAIT)
        return BT_PAUSE;
    v->txn = txn;
    v->verdict = BT_PASS;
    v->done = true;
    if (ruling.match == BT_BROKEN)
        refuse(v);
    if (ruling.match != BT_NO && ruling.action == BT_DENY)
        return v->verdict;
    if (CONF->map != NULL && mapped(v))
        return v->verdict;
    if (CONF->pool == NULL)
        return BT_PASS;
    v->done = false;
    bt_count(asked);
    bt_defer(bt_txn_arena(txn), gone, v);
    question(v);
    return BT_PAUSE;
}

/* ---- the module ---- */

static bool place_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct visit *v = bt_txn_ctx(txn);

    (void)arg;
    if (v->at == NULL)
        return false;
    *out = (struct bt_value){
        .kind = BT_TEXT,
        .text = bt_str_printf(bt_txn_arena(txn), "%s:%u", v->at->file, (unsigned)v->at->line)};
    return true;
}

static bool start(void *conf_)
{
    struct rewrite_conf *conf = conf_;

    if (conf->pool != NULL)
        bt_helper_start(conf->pool);
    return true;
}

static void stop(void *conf_)
{
    struct rewrite_conf *conf = conf_;

    if (conf->pool != NULL)
        bt_helper_stop(conf->pool);
}

static const struct bt_field fields[] = {
    {.name = "rewrite.place",
     .doc = "FILE:LINE of url_rewrite_map that the request was treated by.",
     .earliest = BT_AT_FINISH,
     .get = place_get},
};

static const struct bt_hook hooks[] = {
    {BT_AT_ADAPT, "Puts another URL in the place of the client's, or redirects it.", adapt},
};

#include "config_rows.h"

BT_MODULE(rewrite, "Rewrites URLs and redirects clients, by a program or a map.",
          .conf_size = sizeof(struct rewrite_conf), .txn_size = sizeof(struct visit),
          .setup = config_setup, .start = start, .stop = stop, .directives = BT_ROWS(directives),
          .counters = BT_ROWS(bt_counters), .fields = BT_ROWS(fields), .hooks = BT_ROWS(hooks));
