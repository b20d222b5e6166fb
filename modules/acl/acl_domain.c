/* acl_domain.c - the ACL types dstdomain and srcdomain: a host is in a list of names.
 *
 *   acl news dstdomain .example.com www.example.org
 *   acl desks srcdomain .office.example.com
 *
 * A name with a dot in front holds itself and all below; another holds itself alone. All lists
 * together are one set, asked once for each suffix of the host.
 *
 * A host that is an address is compared as it is written (in its one spelling), then by its reverse
 * name, or by the word `none` when it has none; -n leaves the second part out. Names never wait, so
 * the type is not BT_SLOW and may stand in lists that cannot wait: there, an address whose name is
 * not known yet is just no match, which is what Squid documents for it.
 *
 * srcdomain looks the client's address up, and compares its reverse name, or `none`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bt.h"

enum { COMPLAINTS_MAX = 20 }; /* about one ACL: a list of a million may be wrong a million times */

struct dstdomain {
    struct bt_domains *set;
    bool no_dns;
};

/* ---- compiling ---- */

static bool begins(bt_str text, const char *with)
{
    size_t n = strlen(with);
    return text.len >= n && memcmp(text.at, with, n) == 0;
}

/* A value that is an address in its one spelling, as bt_host() gives it; others as they are. */
static bt_str spell(struct bt_arena *arena, bt_str value)
{
    char text[INET6_ADDRSTRLEN + 2], out[INET6_ADDRSTRLEN];
    unsigned char addr[16];

    if (value.len < 2 || value.len >= sizeof text)
        return value;
    bool brackets = value.at[0] == '[' && value.at[value.len - 1] == ']';
    size_t len = brackets ? value.len - 2 : value.len;
    memcpy(text, value.at + brackets, len);
    text[len] = '\0';
    int family = memchr(text, ':', len) != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(family, text, addr) != 1)
        return value;
    inet_ntop(family, addr, out, sizeof out);
    return bt_str_copy(arena, (bt_str){out, strlen(out)});
}

/* Values that are accepted and cannot be meant. True: said so. */
static bool look_at(const struct bt_word *at, bt_str value, struct bt_error *err)
{
    if (begins(value, "*."))
        bt_caution(err, at, "'%s' holds no names: write .%s for all below it", at->text.at,
                   at->text.at + 2);
    else if (value.len == 0 || memchr(value.at, '/', value.len) != NULL ||
             (value.len == 1 && value.at[0] == '.'))
        bt_caution(err, at, "'%s' is no host name and never matches", at->text.at);
    else
        return false;
    return true;
}

/* An entry with more labels never covers one with fewer, and `.x` covers `x`: added in this order,
 * every entry finds what covers it. */
static size_t rank(bt_str value)
{
    size_t dots = 0, n = value.len;
    bool wide = n > 0 && value.at[0] == '.';

    if (n > 1 && value.at[n - 1] == '.')
        n--;
    for (size_t i = wide ? 1 : 0; i < n; i++)
        dots += value.at[i] == '.';
    return dots * 2 + (wide ? 0 : 1);
}

enum { RANKS = 256 }; /* a host name has at most 127 dots; longer ones come last, in any order */

/* Places of the values in order of rank; counting, since a list may have a million. */
static uint32_t *in_order(const bt_str *value, size_t n)
{
    size_t start[RANKS + 1] = {0};
    uint32_t *order = malloc((n + 1) * sizeof *order);

    if (order == NULL)
        abort();
    for (size_t i = 0; i < n; i++) {
        size_t r = rank(value[i]);
        start[(r < RANKS ? r : RANKS - 1) + 1]++;
    }
    for (size_t r = 0; r < RANKS; r++)
        start[r + 1] += start[r];
    for (size_t i = 0; i < n; i++) {
        size_t r = rank(value[i]);
        order[start[r < RANKS ? r : RANKS - 1]++] = (uint32_t)i;
    }
    return order;
}

/* Say it where the later of the two stands, which is the line that was written last. */
static void covered(const struct bt_acl_values *acl, const bt_str *value, size_t narrow, bt_str by,
                    struct bt_error *err)
{
    const struct bt_word *at = &acl->args.word[narrow];

    for (size_t i = narrow + 1; i < acl->args.n; i++)
        if (bt_str_eq_nocase(value[i], by)) {
            at = &acl->args.word[i];
            break;
        }
    if (bt_str_eq_nocase(value[narrow], by))
        bt_caution(err, at, "%.*s is in ACL %.*s twice", BT_STR_ARGS(by), BT_STR_ARGS(acl->name));
    else
        bt_caution(err, at, "%.*s in ACL %.*s is covered by %.*s and can go",
                   BT_STR_ARGS(value[narrow]), BT_STR_ARGS(acl->name), BT_STR_ARGS(by));
}

static void add_values(struct bt_domains *set, const struct bt_acl_values *acl, uint32_t owner,
                       struct bt_arena *arena, struct bt_error *err)
{
    size_t n = acl->args.n, said = 0, more = 0;
    bt_str *value = malloc((n + 1) * sizeof *value);

    if (value == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        value[i] = spell(arena, acl->args.word[i].text);
    uint32_t *order = in_order(value, n);
    for (size_t k = 0; k < n; k++) {
        size_t i = order[k];
        bt_str by = bt_domains_add(set, value[i], owner);
        if (said >= COMPLAINTS_MAX) {
            more += by.at != NULL;
            continue;
        }
        said += look_at(&acl->args.word[i], value[i], err);
        if (by.at != NULL) {
            covered(acl, value, i, by, err);
            said++;
        }
    }
    if (more > 0)
        bt_caution(err, &acl->args.word[0], "%zu more values of ACL %.*s are covered by others",
                   more, BT_STR_ARGS(acl->name));
    free(order);
    free(value);
}

static void *dstdomain_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                               struct bt_error *err)
{
    struct dstdomain *all = bt_alloc(arena, sizeof *all);

    all->set = bt_domains_new(arena);
    for (size_t i = 0; i < n; i++) {
        struct bt_acl_values one = acl[i];
        /* All ACLs with -n are compiled together, and it stands first in each. */
        if (one.args.n > 0 && bt_str_eq(one.args.word[0].text, BT_STR("-n"))) {
            all->no_dns = true;
            one.args.word++;
            one.args.n--;
        }
        add_values(all->set, &one, (uint32_t)i, arena, err);
    }
    bt_domains_seal(all->set);
    return all;
}

/* ---- matching ---- */

static enum bt_match dstdomain_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct dstdomain *all = compiled;
    bt_str name = bt_host(txn);

    if (name.len == 0)
        return BT_YES;
    bt_domains_find(all->set, name, bits);
    if (all->no_dns || bt_host_addr(txn) == NULL)
        return BT_YES;
    enum bt_match said = bt_reverse(txn, &name);
    if (said == BT_WAIT)
        return BT_WAIT;
    bt_domains_find(all->set, said == BT_YES ? name : BT_STR("none"), bits);
    return BT_YES;
}

static enum bt_match srcdomain_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct dstdomain *all = compiled;
    bt_str name;
    enum bt_match said = bt_client_name(txn, &name);

    if (said == BT_WAIT)
        return BT_WAIT;
    bt_domains_find(all->set, said == BT_YES ? name : BT_STR("none"), bits);
    return BT_YES;
}

/* ---- the module ---- */

static const struct bt_acl_type types[] = {
    {.name = "dstdomain",
     .args = "word...",
     .doc = "The host of the URL is one of these names; .NAME holds NAME and all below. An address "
            "is looked up by its reverse name too, unless -n is given.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_NO_DNS | BT_SETS | BT_ANEW_WORDLESS,
     .compile_all = dstdomain_compile,
     .match_all = dstdomain_match,
     .cost = 1},
    {.name = "srcdomain",
     .args = "word...",
     .doc =
         "The reverse name of the client's address is one of these, or `none`; .NAME holds NAME and "
         "all below.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_SLOW | BT_ANEW_WORDLESS,
     .compile_all = dstdomain_compile,
     .match_all = srcdomain_match,
     .cost = 3},
};

BT_MODULE(acl_domain, "The ACL types dstdomain and srcdomain: names of origins and clients.",
          .acl_types = BT_ROWS(types));
