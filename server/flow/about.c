/* about.c - bt_pages.h as far as exchanges and rules are concerned.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "bt_pages.h"
#include "flow/core.h"
#include "flow/session.h"
#include "plug/acl.h"
#include "plug/rules.h"
#include "stat/counter.h"

void bt_server_get(struct bt_server *out)
{
    unsigned row;
    const struct segment *segment = counter_segment(&row);

    *out = (struct bt_server){.version = PACKAGE_VERSION,
                              .hostname = core->visible_hostname,
                              .manager = core->cache_mgr,
                              .started = segment->head->started,
                              .loaded = segment->head->loaded,
                              .generation = segment->head->generation,
                              .draining = session_draining()};
}

size_t bt_admin_ports(void)
{
    return core->n_admin;
}

struct rules_walk {
    struct bt_arena *arena;
    void (*each)(void *arg, const struct bt_rule *);
    void *arg;
};

static void rule_one(void *arg, const struct rules_told *told)
{
    struct rules_walk *walk = arg;
    struct bt_rule rule = {.list = told->list,
                           .place = BT_STR(""),
                           .deny = told->action == BT_DENY,
                           .hits = told->hits};

    if (!told->counted)
        return;
    if (told->line != NULL) {
        rule.place = bt_str_printf(walk->arena, "%s:%u", told->line->name.file,
                                   (unsigned)told->line->name.line);
        rule.text = rules_line_text(told->line, walk->arena);
    } else {
        rule.text = bt_str_printf(walk->arena, "the default of %.*s: %s", BT_STR_ARGS(told->list),
                                  rule.deny ? "deny" : "allow");
    }
    walk->each(walk->arg, &rule);
}

void bt_rules_each(struct bt_arena *arena, void (*each)(void *, const struct bt_rule *), void *arg)
{
    struct rules_walk walk = {arena, each, arg};

    rules_each(acl_self.conf, rule_one, &walk);
}

struct active_walk {
    void (*each)(void *arg, struct bt_txn *);
    void *arg;
};

static void active_one(void *arg, struct session *session)
{
    struct active_walk *walk = arg;

    if (!session->ghost && !session->admin && session->txn != NULL &&
        session->txn->req.method.len > 0)
        walk->each(walk->arg, session->txn);
}

void bt_active_each(void (*each)(void *, struct bt_txn *), void *arg)
{
    struct active_walk walk = {each, arg};

    session_each(active_one, &walk);
}
