/* hello.c - the sample module: greets the host of a request, when the configuration says how.
 *
 *   hello_greeting Welcome                       the directive
 *   acl friends hello www.example.org            the ACL type
 *   logformat greeted %ts %hello.greeting  the field, by its name
 *
 * Copy it with `make new MODULE=acl_weekday`; modules/README walks through it. Not a line of the
 * server changes: the table at the end says all that there is to know.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt.h"

/* Filled by the server from the rows below; one a process. */
struct conf {
    bt_str greeting;
};

/* Of each exchange: zeroed at first use, gone with the exchange. */
struct ctx {
    bt_str greeting;
};

static const struct bt_directive directives[] = {
    BT_SET(struct conf, greeting, "hello_greeting", NULL,
           "Greets the host of each request with this word; nothing happens without it."),
};

#define COUNTERS(X)                                                                                \
    X(greetings, "hello.greetings", BT_COUNT, "requests", "Requests that were greeted.")
BT_COUNTERS(COUNTERS);

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    const struct conf *conf = conf_;

    (void)arena;
    if (conf->greeting.len > 64)
        return bt_complain(err, NULL, "hello_greeting has %zu bytes; 64 are enough for a greeting",
                           conf->greeting.len);
    return true;
}

static enum bt_verdict greet(struct bt_txn *txn)
{
    const struct conf *conf = bt_self.conf;
    struct ctx *ctx;
    bt_str host = bt_host(txn);

    if (conf->greeting.len == 0)
        return BT_PASS;
    ctx = bt_txn_ctx(txn);
    ctx->greeting = bt_str_printf(bt_txn_arena(txn), "%.*s,%.*s", BT_STR_ARGS(conf->greeting),
                                  BT_STR_ARGS(host));
    bt_count(greetings);
    return BT_PASS;
}

static bool greeting_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    const struct ctx *ctx = bt_txn_ctx(txn);

    (void)arg;
    *out = (struct bt_value){.kind = BT_TEXT, .text = ctx->greeting};
    return ctx->greeting.at != NULL;
}

/* No .compile: the words themselves. */
static enum bt_match host_match(const void *compiled, struct bt_txn *txn)
{
    const struct bt_args *hosts = compiled;

    for (size_t i = 0; i < hosts->n; i++)
        if (bt_str_eq_nocase(hosts->word[i].text, bt_host(txn)))
            return BT_YES;
    return BT_NO;
}

static const struct bt_field fields[] = {
    {.name = "hello.greeting",
     .doc = "The greeting and the host that was greeted.",
     .earliest = BT_AT_REQUEST,
     .get = greeting_get},
};

static const struct bt_acl_type acl_types[] = {
    {.name = "hello",
     .args = "word...",
     .doc = "The host of the request is one of these.",
     .earliest = BT_AT_REQUEST,
     .match = host_match},
};

static const struct bt_hook hooks[] = {
    {BT_AT_REQUEST, "Writes the greeting down, for field hello.greeting.", greet},
};

BT_MODULE(hello, "The sample: a directive, a counter, a field, an ACL type and a hook.",
          .conf_size = sizeof(struct conf), .txn_size = sizeof(struct ctx), .setup = setup,
          .directives = BT_ROWS(directives), .counters = BT_ROWS(bt_counters),
          .fields = BT_ROWS(fields), .acl_types = BT_ROWS(acl_types), .hooks = BT_ROWS(hooks));
