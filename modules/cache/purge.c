/* purge.c - dropping what is there: PURGE, requests that change something, bobtailctl.
 *
 * What stands under the primary key is the answer, or the marker of its variants, without which
 * none of them is found: dropping that drops all, for GET and HEAD.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "purge.h"

#include <string.h>

#include "epoch.h"
#include "location.h"
#include "tell.h"

enum bt_verdict purge_method(struct visit *v)
{
    bool was;

    v->stage = VISIT_ANSWERED;
    if (!CONF->purge) {
        bt_deny(v->txn, 403, "ERR_ACCESS_DENIED");
        return BT_REFUSE;
    }
    if (CONF->on)
        epoch_end(v->primary);
    was = CONF->on && !v->bypass && STORE->remove(v->primary);
    if (was)
        bt_count(purged);
    bt_tag(v->txn, "TCP_MISS");
    bt_answer(v->txn, was ? 200 : 404, BT_STR_NONE, BT_STR_NONE);
    return BT_ANSWER;
}

/* As bt_url() has it. */
static bt_str url_of(struct bt_arena *arena, const struct location *at)
{
    bool v6 = memchr(at->host.at, ':', at->host.len) != NULL;
    bool usual = at->port == (bt_str_eq(at->scheme, BT_STR("https")) ? 443 : 80);
    bt_str port = usual ? BT_STR("") : bt_str_printf(arena, ":%u", at->port);

    return bt_str_printf(arena, "%.*s://%s%.*s%s%.*s%.*s", BT_STR_ARGS(at->scheme), v6 ? "[" : "",
                         BT_STR_ARGS(at->host), v6 ? "]" : "", BT_STR_ARGS(port),
                         BT_STR_ARGS(at->path));
}

static void drop(bt_str primary)
{
    epoch_end(primary);
    if (STORE->remove(primary))
        bt_count(invalidated);
}

void purge_unsafe(struct visit *v, int status)
{
    struct location own = {bt_scheme(v->txn), bt_host(v->txn), bt_port(v->txn), bt_path(v->txn)};
    struct location other[2];
    unsigned n;

    if (!location_invalidates(bt_method(v->txn), status))
        return;
    drop(v->primary);
    n = location_others(bt_txn_arena(v->txn), &own, &v->reply, other);
    for (unsigned i = 0; i < n; i++)
        drop(url_of(bt_txn_arena(v->txn), &other[i]));
}
