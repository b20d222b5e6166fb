/* follow.c - X-Forwarded-For: who stands behind proxies that are believed.
 *
 * Anybody can write anything into that header; only what a believed hop has added at its right end
 * means something. So the walk goes from right to left, asks the list about each address before it
 * looks at the next, and ends at what is no address.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/follow.h"

#include "base/addr.h"
#include "flow/core.h"
#include "flow/session.h"
#include "stat/counts.h"

enum { FOLLOW_MAX = 64 };

/* The last members of all fields of that name, in order; those before them are too far away. */
struct follow_hops {
    bt_str hop[FOLLOW_MAX];
    size_t n; /* of members met: number i lies at i % FOLLOW_MAX */
};

static void hops_read(const struct head *req, struct follow_hops *hops)
{
    bt_str rest, member;

    hops->n = 0;
    for (unsigned i = 0; i < req->n; i++) {
        if (req->field[i].id != HEADER_X_FORWARDED_FOR)
            continue;
        rest = req->field[i].value;
        while (head_token_next(&rest, &member))
            hops->hop[hops->n++ % FOLLOW_MAX] = member;
    }
}

static bool believed(struct bt_txn *txn)
{
    struct bt_ruling ruling = bt_rules_run(core->follow, txn);

    return ruling.match == BT_YES && ruling.action == BT_ALLOW;
}

static const struct sockaddr *hop_addr(struct bt_txn *txn, bt_str text)
{
    struct sockaddr_storage addr;
    struct sockaddr *copy;

    if (!addr_parse_sockaddr(text, 0, &addr))
        return NULL;
    copy = bt_alloc(txn->arena, sizeof addr);
    *(struct sockaddr_storage *)(void *)copy = addr;
    return copy;
}

void follow_walk(struct bt_txn *txn)
{
    struct follow_hops hops;

    if (core->follow == NULL || txn->followed)
        return;
    txn->followed = true;
    if (!head_has(&txn->req, HEADER_X_FORWARDED_FOR))
        return;
    hops_read(&txn->req, &hops);
    for (size_t left = hops.n, seen = 0; left > 0 && seen < FOLLOW_MAX && believed(txn); seen++) {
        const struct sockaddr *addr = hop_addr(txn, hops.hop[--left % FOLLOW_MAX]);
        if (addr == NULL)
            break;
        txn->source = txn->behind = addr;
        acl_forget(txn); /* of the client before */
    }
    if (txn->behind != NULL)
        count(access_forwarded);
    if (!core->acl_indirect)
        txn->source = NULL;
    acl_forget(txn);
}
