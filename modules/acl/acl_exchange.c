/* acl_exchange.c - ACL types about the course of an exchange: how far it has come, which way it went,
 * how it ended.
 *
 *   acl gone http_status 404 410 500-599
 *   acl unreachable squid_error ERR_DNS_FAIL ERR_CONNECT_FAIL
 *   acl direct hier_code HIER_DIRECT
 *   acl answered has response
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bt.h"

static bool is(bt_str text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

static bool listed(bt_str word, const char *const *list)
{
    for (; *list != NULL; list++)
        if (is(word, *list))
            return true;
    return false;
}

/* A value of an ACL whose values are words. */
static bool holds(const void *compiled, bt_str word)
{
    const struct bt_args *args = compiled;

    for (size_t i = 0; i < args->n; i++)
        if (bt_str_eq(args->word[i].text, word))
            return true;
    return false;
}

static void *words_keep(struct bt_args args, struct bt_arena *arena)
{
    struct bt_args *copy = bt_alloc(arena, sizeof *copy);

    *copy = args;
    return copy;
}

/* ---- http_status ---- */

struct ranges {
    size_t n;
    struct range {
        int from, to;
    } range[];
};

static bool status_read(bt_str text, int *out)
{
    int n = 0;

    if (text.len == 0 || text.len > 3)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        n = n * 10 + (text.at[i] - '0');
    }
    *out = n;
    return true;
}

/* 200, 400-403, 500- */
static bool range_read(const struct bt_word *at, struct range *out, struct bt_error *err)
{
    bt_str text = at->text, from = text, to = text;
    const char *dash = memchr(text.at, '-', text.len);

    if (text.len == 3 && text.at[0] > '0' && text.at[0] <= '9' && (text.at[1] | 32) == 'x' &&
        (text.at[2] | 32) == 'x')
        return bt_complain(err, at, "'%s' is no status; write %c00-%c99", text.at, text.at[0],
                           text.at[0]);
    if (dash != NULL) {
        from.len = (size_t)(dash - text.at);
        to = (bt_str){dash + 1, text.len - from.len - 1};
    }
    if (!status_read(from, &out->from) ||
        (dash != NULL && to.len == 0 ? (out->to = 999, false) : !status_read(to, &out->to)))
        return bt_complain(err, at, "'%s' is no status or range of them (404, 500-599, 500-)",
                           text.at);
    if (out->to < out->from)
        return bt_complain(err, at, "range %s ends before it begins", text.at);
    return true;
}

static void *status_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct ranges *all = bt_alloc(arena, sizeof *all + args.n * sizeof *all->range);
    bool good = true;

    for (size_t i = 0; i < args.n; i++)
        good &= range_read(&args.word[i], &all->range[all->n++], err);
    return good ? all : NULL;
}

static enum bt_match status_match(const void *compiled, struct bt_txn *txn)
{
    const struct ranges *all = compiled;
    int status = bt_status(txn);

    for (size_t i = 0; i < all->n; i++)
        if (status >= all->range[i].from && status <= all->range[i].to)
            return BT_YES;
    return BT_NO;
}

/* ---- squid_error ---- */

static void *error_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    for (size_t i = 0; i < args.n; i++)
        if (args.word[i].text.len < 5 || memcmp(args.word[i].text.at, "ERR_", 4) != 0)
            bt_caution(err, &args.word[i],
                       "'%s' is no name of an error (ERR_DNS_FAIL, ...) and never matches",
                       args.word[i].text.at);
    return words_keep(args, arena);
}

static enum bt_match error_match(const void *compiled, struct bt_txn *txn)
{
    struct bt_value error;

    if (!bt_field_get(txn, BT_STR("result.error"), BT_STR_NONE, &error))
        return BT_NO;
    /* deny_info may have put a status in front: 451:ERR_SEIZED. */
    const char *colon = memchr(error.text.at, ':', error.text.len);
    if (colon != NULL)
        error.text = (bt_str){colon + 1, (size_t)(error.text.at + error.text.len - colon - 1)};
    return holds(compiled, error.text) ? BT_YES : BT_NO;
}

/* ---- hier_code ---- */

static const char *const codes[] = {"HIER_NONE",
                                    "HIER_DIRECT",
                                    "SIBLING_HIT",
                                    "PARENT_HIT",
                                    "DEFAULT_PARENT",
                                    "SINGLE_PARENT",
                                    "FIRSTUP_PARENT",
                                    "FIRST_UP_PARENT",
                                    "FIRST_PARENT_MISS",
                                    "CLOSEST_PARENT_MISS",
                                    "CLOSEST_PARENT",
                                    "CLOSEST_DIRECT",
                                    "NO_DIRECT_FAIL",
                                    "SOURCE_FASTEST",
                                    "ROUNDROBIN_PARENT",
                                    "CD_SIBLING_HIT",
                                    "CD_PARENT_HIT",
                                    "CARP",
                                    "ANY_OLD_PARENT",
                                    "USERHASH_PARENT",
                                    "SOURCEHASH_PARENT",
                                    "PINNED",
                                    "ORIGINAL_DST",
                                    "STANDBY_POOL",
                                    NULL};

static void *hier_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    bool good = true;

    for (size_t i = 0; i < args.n; i++)
        if (!listed(args.word[i].text, codes))
            good = bt_complain(err, &args.word[i],
                               "'%s' is no way that a request goes (HIER_DIRECT, PARENT_HIT, "
                               "ROUNDROBIN_PARENT, ...)",
                               args.word[i].text.at);
    return good ? words_keep(args, arena) : NULL;
}

static enum bt_match hier_match(const void *compiled, struct bt_txn *txn)
{
    struct bt_value way;

    return bt_field_get(txn, BT_STR("result.hierarchy"), BT_STR_NONE, &way) &&
                   holds(compiled, way.text)
               ? BT_YES
               : BT_NO;
}

/* ---- peername: whoever chooses parents has a field of that name ---- */

static enum bt_match peer_match(const void *compiled, struct bt_txn *txn)
{
    struct bt_value name;

    return bt_field_get(txn, BT_STR("peer.name"), BT_STR_NONE, &name) && holds(compiled, name.text)
               ? BT_YES
               : BT_NO;
}

/* ---- has ---- */

static enum bt_match has_match(const void *compiled, struct bt_txn *txn)
{
    bool yes = holds(compiled, BT_STR("ALE")) || /* an entry for the access log is always there */
               (holds(compiled, BT_STR("request")) && bt_method(txn).len > 0) ||
               (holds(compiled, BT_STR("response")) && bt_status(txn) != 0);

    return yes ? BT_YES : BT_NO;
}

/* ---- transaction_initiator ---- */

static const char *const initiators[] = {
    "client", "all",  "internal", "esi",   "certificate-fetching", "cache-digest", "htcp",
    "icp",    "icmp", "asn",      "asndb", "peer-mcast",           "ipc",          "adaptation",
    "script", NULL};

static void *initiator_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    bool good = true;

    for (size_t i = 0; i < args.n; i++)
        if (!listed(args.word[i].text, initiators))
            good = bt_complain(err, &args.word[i],
                               "nobody of the name '%s' begins exchanges (client, internal, "
                               "certificate-fetching, ..., all)",
                               args.word[i].text.at);
    return good ? words_keep(args, arena) : NULL;
}

static enum bt_match initiator_match(const void *compiled, struct bt_txn *txn)
{
    static const char *const own[] = {
        [BT_BY_CLIENT] = "client",
        [BT_BY_CERTIFICATES] = "certificate-fetching",
        [BT_BY_SCRIPT] = "script",
        [BT_BY_SERVER] = "internal",
    };
    enum bt_initiator by = bt_initiator(txn);

    return holds(compiled, (bt_str){own[by], strlen(own[by])}) || holds(compiled, BT_STR("all")) ||
                   (by != BT_BY_CLIENT && holds(compiled, BT_STR("internal")))
               ? BT_YES
               : BT_NO;
}

/* ---- connections_encrypted ---- */

/* The client's for a request; for an answer that of the origin as well, also when it was kept. */
static enum bt_match encrypted_match(const void *compiled, struct bt_txn *txn)
{
    (void)compiled;
    if (bt_tls_client(txn) == NULL)
        return BT_NO;
    return bt_status(txn) == 0 || bt_str_eq(bt_scheme(txn), BT_STR("https")) ? BT_YES : BT_NO;
}

/* ---- the module ---- */

static const struct bt_acl_type types[] = {
    {.name = "http_status",
     .args = "word...",
     .doc = "The response's status is one of these, or within a range (400-403, 500-).",
     .earliest = BT_AT_RESPONSE,
     .compile = status_compile,
     .match = status_match,
     .flags = BT_ANEW},
    {.name = "squid_error",
     .args = "word...",
     .doc = "The exchange has failed with one of these errors (ERR_DNS_FAIL).",
     .earliest = BT_AT_REQUEST,
     .flags = BT_FRESH | BT_ANEW,
     .compile = error_compile,
     .match = error_match},
    {.name = "hier_code",
     .args = "word...",
     .doc = "The request went one of these ways, as logs name them (HIER_DIRECT).",
     .earliest = BT_AT_UPSTREAM,
     .flags = BT_FRESH | BT_ANEW,
     .compile = hier_compile,
     .match = hier_match},
    {.name = "peername",
     .args = "word...",
     .doc = "The request goes to one of these parents.",
     .earliest = BT_AT_UPSTREAM,
     .flags = BT_FRESH,
     .match = peer_match},
    {.name = "has",
     .args = "request|response|ALE...",
     .doc = "The exchange has come so far that it has a request, or a response.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH,
     .match = has_match},
    {.name = "transaction_initiator",
     .args = "word...",
     .doc =
         "Who began the exchange: client; certificate-fetching (missing intermediates); script (Lua); "
         "internal (any but clients); all. Squid's others (htcp, ...) are known and never match.",
     .earliest = BT_AT_ACCEPT,
     .compile = initiator_compile,
     .match = initiator_match,
     .flags = BT_ANEW},
    {.name = "connections_encrypted",
     .args = "",
     .doc = "Every connection that the message came over is encrypted.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_FRESH,
     .match = encrypted_match},
};

BT_MODULE(acl_exchange, "ACL types about the course of an exchange: status, error, way.",
          .acl_types = BT_ROWS(types));
