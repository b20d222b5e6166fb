/* upgrade.c - which protocols a client may upgrade to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/upgrade.h"

#include "base/str.h"

/* One protocol of http_upgrade_request_protocols, with its own list. */
struct upgrade_rules {
    struct upgrade_rules *next;
    bt_str name; /* "WebSocket", "WebSocket/13", or OTHER */
    struct bt_rules *rules;
};

bool upgrade_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct core_conf *conf = conf_;
    struct upgrade_rules **at = &conf->upgrades;
    bt_str name = line->args.word[0].text;

    (void)err;
    while (*at != NULL && !bt_str_eq_nocase((*at)->name, name))
        at = &(*at)->next;
    if (*at == NULL) {
        *at = bt_alloc(line->arena, sizeof **at);
        (*at)->name = name;
    }
    bt_rules_add(&(*at)->rules, line,
                 str_eq_literal(line->args.word[1].text, "allow") ? BT_ALLOW : BT_DENY);
    return true;
}

/* "WebSocket/13" goes by its own list, else by that of "WebSocket", else by OTHER. */
static const struct bt_rules *rules_for(bt_str protocol)
{
    bt_str plain, version;
    const struct upgrade_rules *other = NULL, *loose = NULL;

    str_split(protocol, '/', &plain, &version);
    for (const struct upgrade_rules *u = core->upgrades; u != NULL; u = u->next) {
        if (bt_str_eq_nocase(u->name, protocol))
            return u->rules;
        if (bt_str_eq_nocase(u->name, plain))
            loose = u;
        else if (str_eq_literal(u->name, "OTHER"))
            other = u;
    }
    return loose != NULL ? loose->rules : other != NULL ? other->rules : NULL;
}

/* By the directive: each protocol for itself. */
static void decide_by_list(struct bt_txn *txn)
{
    struct str_builder offer;
    bt_str rest, protocol;

    str_builder_arena(&offer, txn->arena, 64);
    for (size_t i = 0; (rest = head_find(&txn->req, BT_STR("Upgrade"), i)).at != NULL; i++) {
        while (head_list_next(&rest, &protocol)) {
            struct bt_ruling ruling = bt_rules_run(rules_for(protocol), txn);
            if (ruling.match != BT_YES || ruling.action != BT_ALLOW)
                continue;
            if (offer.len > 0)
                str_add_literal(&offer, ", ");
            str_add(&offer, protocol);
        }
    }
    if (offer.len > 0)
        txn->upgrade->offer = str_built(&offer);
}

/* What http_access would say to a CONNECT to the same host and port. */
static enum go decide_as_connect(struct bt_txn *txn)
{
    struct upgrade *up = txn->upgrade;

    if (!up->asking) {
        up->asking = true;
        up->was_req = txn->req;
        up->was_url = txn->url;
        txn->req.method = BT_STR("CONNECT");
        txn->req.method_id = METHOD_CONNECT;
        txn->url.scheme = txn->url.path = BT_STR("");
        txn->url.text = bt_str_printf(
            txn->arena,
            txn->url.host_is_addr && str_find_char(txn->url.host, ':') >= 0 ? "[%.*s]:%u"
                                                                            : "%.*s:%u",
            BT_STR_ARGS(txn->url.host), (unsigned)txn->url.port);
        acl_forget(txn);
    }
    struct bt_ruling ruling = bt_rules_run(core->http_access, txn);
    if (ruling.match == BT_WAIT)
        return GO_WAIT;
    txn->req = up->was_req;
    txn->url = up->was_url;
    up->asking = false;
    acl_forget(txn);
    if (core->access_audit || (ruling.match == BT_YES && ruling.action == BT_ALLOW))
        up->offer = head_get(&txn->req, HEADER_UPGRADE);
    return GO_ON;
}

enum go upgrade_decide(struct bt_txn *txn)
{
    enum go go = GO_ON;

    /* With a body on its way the moment of the switch would be anybody's guess. */
    if (!txn->req.upgrade || txn->req.method_id == METHOD_CONNECT || txn->upload.kind != BODY_NONE)
        return GO_ON;
    if (txn->upgrade == NULL)
        txn->upgrade = bt_alloc(txn->arena, sizeof *txn->upgrade);
    if (txn->upgrade->decided)
        return GO_ON;
    if (core->upgrades != NULL)
        decide_by_list(txn);
    else
        go = decide_as_connect(txn);
    txn->upgrade->decided = go == GO_ON;
    return go;
}

bt_str upgrade_offer(const struct bt_txn *txn)
{
    return txn->upgrade != NULL ? txn->upgrade->offer : BT_STR_NONE;
}

void upgrade_drop(struct bt_txn *txn)
{
    txn->upgrade->offer = BT_STR_NONE;
}
