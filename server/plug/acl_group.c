/* acl_group.c - the ACL types any-of and all-of: ACLs made of others.
 *
 *   acl safe any-of GET HEAD
 *   acl closed all-of night !staff
 *
 * A group is asked anew each time, since each of its members remembers what it said; so the ACL that
 * was looked at last, by which deny_info goes, is the innermost one. A member that waits makes any-of
 * look at the others all the same: one that holds is enough.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"
#include "plug/acl.h"

struct group_member {
    const struct acl *acl;
    bool negated;
};

/* The members of one line; several lines are alternatives, as of any ACL. */
struct group {
    size_t n;
    struct group_member member[];
};

static bool negated(bt_str *name)
{
    if (name->len == 0 || name->at[0] != '!')
        return false;
    *name = str_skip(*name, 1);
    return true;
}

/* ---- binding ---- */

static void reach_take(struct acl_reach *reach, const struct acl *member)
{
    unsigned depth = acl_depth(member) + 1;

    if (acl_earliest(member) > reach->earliest)
        reach->earliest = acl_earliest(member);
    if (acl_cost(member) > reach->cost)
        reach->cost = acl_cost(member);
    if (depth > reach->depth)
        reach->depth = depth;
    reach->slow |= acl_is_slow(member);
    reach->fresh |= acl_is_fresh(member);
}

bool acl_group_members(struct acls *acls, const struct acl *group, struct bt_args names,
                       struct acl_reach *reach, struct bt_error *err)
{
    bool good = true;

    for (size_t i = 0; i < names.n; i++) {
        const struct bt_word *at = &names.word[i];
        bt_str name = at->text;
        (void)negated(&name);
        if (bt_str_eq_nocase(name, acl_name(group))) {
            good = bt_complain(err, at, "ACL %s cannot be a part of itself", acl_name(group).at);
            continue;
        }
        const struct acl *member = acl_find(acls, name, at, err);
        if (member == NULL)
            acl_note_missing(acls, at, false);
        else
            reach_take(reach, member);
    }
    return good;
}

void *acl_group_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct acls *acls = acl_self.conf;
    struct group *group = bt_alloc(arena, sizeof *group + args.n * sizeof *group->member);

    for (size_t i = 0; i < args.n; i++) {
        bt_str name = args.word[i].text;
        bool unlike = negated(&name);
        const struct acl *acl = acl_find(acls, name, &args.word[i], err);
        if (acl != NULL) /* else acls_compile() says so */
            group->member[group->n++] = (struct group_member){acl, unlike};
    }
    return group;
}

/* ---- matching ---- */

static enum bt_match member_ask(const struct group_member *member, struct bt_txn *txn)
{
    enum bt_match said = acl_ask(member->acl, acl_memo(acl_self.conf, txn), txn);

    if (member->negated && (said == BT_YES || said == BT_NO))
        return said == BT_YES ? BT_NO : BT_YES;
    return said;
}

enum bt_match acl_any_match(const void *compiled, struct bt_txn *txn)
{
    const struct group *group = compiled;
    bool waits = false, broken = false;

    for (size_t i = 0; i < group->n; i++) {
        /* What has a side effect keeps its place: it is asked when those before it have answered. */
        if (waits && acl_is_fresh(group->member[i].acl))
            break;
        enum bt_match said = member_ask(&group->member[i], txn);
        if (said == BT_YES)
            return BT_YES;
        waits |= said == BT_WAIT;
        broken |= said == BT_BROKEN;
    }
    return waits ? BT_WAIT : broken ? BT_BROKEN : BT_NO;
}

enum bt_match acl_all_match(const void *compiled, struct bt_txn *txn)
{
    const struct group *group = compiled;

    for (size_t i = 0; i < group->n; i++) {
        enum bt_match said = member_ask(&group->member[i], txn);
        if (said != BT_YES)
            return said;
    }
    return BT_YES;
}
