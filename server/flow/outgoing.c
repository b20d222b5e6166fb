/* outgoing.c - where connections to origins come from: tcp_outgoing_address.
 *
 * One list for each family, since the first line that matches counts per family.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/outgoing.h"

#include "base/addr.h"
#include "base/str.h"
#include "flow/intercept.h"
#include "flow/session.h"

struct outgoing {
    struct bt_rules *v4, *v6; /* the action of a line is its place in addr[] */
    struct sockaddr_storage *addr;
    int n, room;
};

bool outgoing_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct core_conf *conf = conf_;
    struct outgoing *out = conf->outgoing;
    const struct bt_word *word = &line->args.word[0];
    struct sockaddr_storage addr;

    if (!addr_parse_sockaddr(word->text, 0, &addr))
        return bt_complain(err, word, "an IP address expected, not '%s'", word->text.at);
    if (out == NULL)
        out = conf->outgoing = bt_alloc(line->arena, sizeof *out);
    if (out->n == out->room) {
        int room = out->room == 0 ? 8 : out->room * 2;
        struct sockaddr_storage *more = bt_alloc_raw(line->arena, (size_t)room * sizeof *more);
        if (out->n > 0)
            memcpy(more, out->addr, (size_t)out->n * sizeof *more);
        out->addr = more;
        out->room = room;
    }
    bt_rules_add(addr.ss_family == AF_INET ? &out->v4 : &out->v6, line, out->n);
    out->addr[out->n++] = addr;
    return true;
}

bool outgoing_v4_first_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct core_conf *conf = conf_;

    bt_caution(
        err, &line->name,
        "dns_v4_first is obsolete: addresses of both families are tried side by side, so the "
        "line can be removed; it still says which family is tried first");
    conf->v4_first = str_eq_literal(line->args.word[0].text, "on");
    return true;
}

static const struct sockaddr *ask(const struct outgoing *out, const struct bt_rules *rules,
                                  struct bt_txn *txn)
{
    struct bt_ruling ruling = bt_rules_run(rules, txn);

    return ruling.match == BT_YES ? (struct sockaddr *)&out->addr[ruling.action] : NULL;
}

const struct sockaddr *outgoing_for(struct bt_txn *txn, const struct sockaddr *to)
{
    const struct outgoing *out = core->outgoing;
    const struct sockaddr *spoofed;

    if (out == NULL && !txn->session->redirected)
        return NULL;
    if (!txn->from_known) {
        txn->from_known = true;
        spoofed = intercept_spoof(txn);
        txn->spoofs = spoofed != NULL;
        if (spoofed != NULL && spoofed->sa_family == AF_INET)
            txn->from_v4 = spoofed;
        else if (spoofed != NULL)
            txn->from_v6 = spoofed;
        if (out != NULL && !txn->spoofs) {
            txn->from_v4 = ask(out, out->v4, txn);
            txn->from_v6 = ask(out, out->v6, txn);
        }
    }
    return to->sa_family == AF_INET ? txn->from_v4 : txn->from_v6;
}
