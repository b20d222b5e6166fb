/* rate.c - request_rate_limit: how many requests a client, a network, a user or all may make.
 *
 *   request_rate_limit 10/second burst=50 per=client
 *   request_rate_limit 600/minute per=user action=delay max-delay=5 !staff
 *
 * Each line is a limit of its own, for the requests that its ACLs are about; the strictest counts.
 * What is refused takes nothing out of the bucket, so that who goes on asking gets his rate.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "shape.h"

enum { ONE = 1000000 }; /* a request in a bucket: so that 1/hour is a rate, too */

const struct bt_option rate_options[RATE_OPTIONS] = {
    {"burst", "int(1..1000000)", NULL,
     "Requests that may come at once; as many as come in a second if not given.",
     offsetof(struct rate_options, burst), BT_BUILT},
    {"per", "client|network|user|all", "client",
     "What has a bucket of its own: each client (of IPv6: 64 bits of its address), each network (24 "
     "bits, 48 of IPv6), each user, or all together.",
     offsetof(struct rate_options, per), BT_BUILT},
    {"action", "deny|delay", "deny", "Too many are answered 429, or wait for their turn.",
     offsetof(struct rate_options, action), BT_BUILT},
    {"max-delay", "int(1..3600)", "10", "Seconds that one may have to wait; then it is refused.",
     offsetof(struct rate_options, most_wait), BT_BUILT},
};

/* "10", "10/second", "600/minute", "1/hour", "5/day"; short forms s, m, h, d. false: none of these. */
static bool rate_read(bt_str text, int64_t *n, int64_t *seconds)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}};
    char *end;

    *n = strtoll(text.at, &end, 10);
    *seconds = 1;
    if (end == text.at || *n < 1 || *n > 1000000)
        return false;
    if (*end == '\0')
        return true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (*end == '/' && (strcmp(end + 1, units[i].name) == 0 ||
                            (end[1] == units[i].name[0] && end[2] == '\0'))) {
            *seconds = units[i].seconds;
            return true;
        }
    return false;
}

bool rate_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct shape_conf *conf = conf_;
    struct rate_line **at = &conf->rates, *rate = bt_alloc(line->arena, sizeof *rate);
    int64_t n, seconds, burst;

    if (!rate_read(line->args.word[0].text, &n, &seconds))
        return bt_complain(err, &line->args.word[0],
                           "N/second, N/minute, N/hour or N/day expected, not '%s'",
                           line->args.word[0].text.at);
    rate->acls = line->acls;
    rate->options = line->options;
    burst = rate->options->burst > 0 ? rate->options->burst : (n + seconds - 1) / seconds;
    rate->pace = (struct bt_pace){n * ONE / seconds, burst * ONE, burst * ONE};
    rate->number = 1;
    for (; *at != NULL; at = &(*at)->next)
        rate->number++;
    *at = rate;
    return true;
}

/* ---- exchanges ---- */

static bool about_user(const struct rate_line *rate)
{
    return rate->options->per == PER_USER;
}

/* false: it is nobody's. */
static bool rate_key(const struct rate_line *rate, struct bt_txn *txn, struct key *key)
{
    bt_str who;

    switch ((enum per)rate->options->per) {
    case PER_ALL:
        return true;
    case PER_CLIENT:
        key_addr(key, bt_client_addr(txn), 32, 64);
        return true;
    case PER_NETWORK:
        key_addr(key, bt_client_addr(txn), 24, 48);
        return true;
    case PER_USER:
        break;
    }
    who = bt_who(txn, BT_WHO_LOGIN);
    if (who.len == 0)
        who = bt_who(txn, BT_WHO_EXTERNAL);
    key_text(key, who);
    return who.len > 0;
}

static void over(void *arg)
{
    struct rate_visit *v = arg;

    v->timer = NULL;
    bt_resume(v->txn);
}

static void gone(void *arg)
{
    struct rate_visit *v = arg;

    bt_timer_cancel(v->timer);
    v->timer = NULL;
}

static void refuse(struct bt_txn *txn, int64_t wait_us)
{
    struct bt_arena *arena = bt_txn_arena(txn);

    bt_deny(txn, 429, "ERR_TOO_MANY_REQUESTS");
    bt_reply_add(txn, BT_STR("Retry-After"),
                 bt_str_printf(arena, "%lld", (long long)(wait_us / 1000000 + 1)));
}

static enum rate_said one(struct rate_visit *v, const struct rate_line *rate, struct bt_txn *txn)
{
    struct key key = key_of("rate", rate->number);
    struct bt_bucket bucket;
    int64_t wait;

    if (bt_acls_match(rate->acls, txn) == BT_NO || !rate_key(rate, txn, &key))
        return RATE_PASS;
    bucket = key_bucket(&key, &rate->pace);
    wait = bt_bucket_take(&bucket, ONE);
    if (wait <= 0)
        return RATE_PASS;
    if (rate->options->action == ACTION_DENY ||
        wait > rate->options->most_wait * INT64_C(1000000)) {
        (void)bt_bucket_take(&bucket, -ONE);
        refuse(txn, wait);
        return RATE_TOO_MANY;
    }
    v->timer = bt_timer_start((bt_duration){(wait + 999) / 1000}, over, v);
    return RATE_WAIT;
}

enum rate_said rate_ask(struct rate_visit *v, struct bt_txn *txn, bool users)
{
    if (v->timer != NULL)
        return RATE_WAIT;
    if (!v->begun) {
        v->txn = txn;
        v->next = CONF->rates;
        v->begun = true;
        bt_defer(bt_txn_arena(txn), gone, v);
    }
    while (v->next != NULL) {
        const struct rate_line *rate = v->next;
        v->next = rate->next;
        enum rate_said said = about_user(rate) == users ? one(v, rate, txn) : RATE_PASS;
        if (said != RATE_PASS)
            return said;
    }
    return RATE_PASS;
}
