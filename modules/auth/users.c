/* users.c - ACL types about who is logged in: proxy_auth, proxy_auth_regex, max_user_ip.
 *
 * Who has not logged in is no mismatch: the list ends there, and the client is asked to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "auth.h"

/* ---- names: two sorted lists, as written and in lower case ---- */

struct names {
    bt_str *name;
    size_t n;
};
struct users {
    bool any; /* REQUIRED */
    struct names exact, folded;
};

static int compare(bt_str a, bt_str b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return a.len == 0 ? 0 : memcmp(a.at, b.at, a.len);
}

static int by_name(const void *a, const void *b)
{
    return compare(*(const bt_str *)a, *(const bt_str *)b);
}

static bool names_have(const struct names *names, bt_str name)
{
    return names->n > 0 && bsearch(&name, names->name, names->n, sizeof name, by_name) != NULL;
}

static bool is_flag(const struct bt_word *word, bool *nocase)
{
    if (word->quoted ||
        (!bt_str_eq(word->text, BT_STR("-i")) && !bt_str_eq(word->text, BT_STR("+i"))))
        return false;
    *nocase = word->text.at[0] == '-';
    return true;
}

static bool offered(struct bt_args args, struct bt_error *err)
{
    bt_acl_asks_login();
    return auth_offered() ||
           bt_complain(err, &args.word[0],
                       "nobody can log in: there is no auth_param line with a program");
}

static void *users_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct users *users = bt_alloc(arena, sizeof *users);
    bool nocase = false;

    if (!offered(args, err))
        return NULL;
    users->exact.name = bt_alloc(arena, (args.n + 1) * sizeof *users->exact.name);
    users->folded.name = bt_alloc(arena, (args.n + 1) * sizeof *users->folded.name);
    for (size_t i = 0; i < args.n; i++) {
        const struct bt_word *word = &args.word[i];
        if (is_flag(word, &nocase))
            continue;
        if (bt_str_eq(word->text, BT_STR("REQUIRED")))
            users->any = true;
        else if (nocase)
            users->folded.name[users->folded.n++] = auth_lower(arena, word->text);
        else
            users->exact.name[users->exact.n++] = word->text;
    }
    qsort(users->exact.name, users->exact.n, sizeof *users->exact.name, by_name);
    qsort(users->folded.name, users->folded.n, sizeof *users->folded.name, by_name);
    return users;
}

/* Who is logged in; anything but YES is the ACL's answer. */
static enum bt_match logged_in(struct bt_txn *txn, bt_str *user)
{
    enum bt_match said = bt_login(txn);

    if (said != BT_YES)
        return said == BT_WAIT ? BT_WAIT : BT_BROKEN;
    *user = bt_who(txn, BT_WHO_LOGIN);
    return BT_YES;
}

static enum bt_match users_match(const void *compiled, struct bt_txn *txn)
{
    const struct users *users = compiled;
    bt_str user;
    enum bt_match said = logged_in(txn, &user);

    if (said != BT_YES)
        return said;
    if (users->any || names_have(&users->exact, user))
        return BT_YES;
    return users->folded.n > 0 && names_have(&users->folded, auth_lower(bt_txn_arena(txn), user))
               ? BT_YES
               : BT_NO;
}

/* ---- proxy_auth_regex ---- */

struct regexes {
    size_t n;
    struct bt_regex *regex[];
};

static void *regex_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct regexes *all = bt_alloc(arena, sizeof *all + args.n * sizeof *all->regex);
    bool nocase = false, good = offered(args, err);

    for (size_t i = 0; i < args.n; i++) {
        const struct bt_word *word = &args.word[i];
        const char *why;
        size_t offset;
        if (is_flag(word, &nocase))
            continue;
        all->regex[all->n] = bt_regex_new(arena, word->text, nocase, &why, &offset);
        if (all->regex[all->n++] == NULL)
            good = bt_complain(err, word, "%s", why);
    }
    return good ? all : NULL;
}

static enum bt_match regex_match(const void *compiled, struct bt_txn *txn)
{
    const struct regexes *all = compiled;
    bt_str user;
    enum bt_match said = logged_in(txn, &user);

    for (size_t i = 0; said == BT_YES && i < all->n; i++) {
        enum bt_match one = bt_regex_match(all->regex[i], user);
        if (one != BT_NO)
            return one;
    }
    return said == BT_YES ? BT_NO : said;
}

/* ---- max_user_ip ---- */

/* What is remembered of a user, for all workers: these, one after the other. */
struct seen {
    uint8_t addr[16];
    int64_t last_ms;
};
struct most {
    int64_t n;
    bool strict;
};

size_t users_room(void)
{
    return (size_t)(auth->addresses + 1) * sizeof(struct seen);
}

static size_t forget_old(struct seen *seen, size_t n, int64_t now)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (now - seen[i].last_ms <= auth->ip_ttl.ms)
            seen[kept++] = seen[i];
    return kept;
}

static size_t forget_one(struct seen *seen, size_t n, const uint8_t addr[16])
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(seen[i].addr, addr, 16) == 0) {
            seen[i] = seen[n - 1];
            return n - 1;
        }
    return n;
}

static enum bt_dict_done sighting_note(void *arg, struct bt_dict_entry *entry)
{
    const struct seen *sighting = arg;
    struct seen *seen = entry->at;
    size_t n = forget_old(seen, entry->len / sizeof *seen, sighting->last_ms);

    n = forget_one(seen, n, sighting->addr);
    /* Nobody counts more addresses than an ACL asks for. */
    if (n < (size_t)auth->addresses + 1 && (n + 1) * sizeof *seen <= entry->cap)
        seen[n++] = *sighting;
    entry->len = n * sizeof *seen;
    entry->left_ms = auth->ip_ttl.ms + 1;
    return BT_DICT_STORE;
}

/* The user has sent a request from there. */
void users_seen(struct bt_txn *txn, bt_str user)
{
    struct seen sighting = {.last_ms = bt_wall_ms()};

    if (auth->users != NULL && bt_addr_bytes(bt_client_addr(txn), sighting.addr))
        bt_dict_update(auth->users, user, sighting_note, &sighting);
}

static void *most_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    enum { ADDRESSES_MAX = 4096 };
    struct most *most = bt_alloc(arena, sizeof *most);
    const struct bt_word *last = &args.word[args.n - 1];
    char *end;

    most->strict = args.n == 2 && bt_str_eq(args.word[0].text, BT_STR("-s"));
    most->n = strtoll(last->text.at, &end, 10);
    if (args.n > (most->strict ? 2u : 1u) || end == last->text.at || *end != '\0' || most->n < 0 ||
        most->n > ADDRESSES_MAX) {
        bt_complain(err, last, "max_user_ip takes a number up to %d, and -s before it",
                    ADDRESSES_MAX);
        return NULL;
    }
    if (!auth_offered()) {
        bt_complain(err, last, "nobody can log in: there is no auth_param line with a program");
        return NULL;
    }
    if (most->n + 1 > auth->addresses)
        auth->addresses = most->n + 1;
    return most;
}

struct judgement {
    const struct most *most;
    uint8_t addr[16];
    bool has_addr, too_many;
};

static enum bt_dict_done judge(void *arg, struct bt_dict_entry *entry)
{
    struct judgement *judgement = arg;
    struct seen *seen = entry->at;
    size_t n = entry->len / sizeof *seen;

    judgement->too_many = (int64_t)n > judgement->most->n;
    if (!judgement->too_many)
        return BT_DICT_LEAVE;
    /* Strict: this one is too many. Else the user has moved, and all are forgotten. */
    if (!judgement->most->strict)
        return BT_DICT_REMOVE;
    if (judgement->has_addr)
        n = forget_one(seen, n, judgement->addr);
    entry->len = n * sizeof *seen;
    return BT_DICT_STORE;
}

static enum bt_match most_match(const void *compiled, struct bt_txn *txn)
{
    struct judgement judgement = {.most = compiled};
    bt_str user;
    enum bt_match said = logged_in(txn, &user);

    if (said != BT_YES)
        return said;
    judgement.has_addr = bt_addr_bytes(bt_client_addr(txn), judgement.addr);
    bt_dict_update(auth->users, user, judge, &judgement);
    return judgement.too_many ? BT_YES : BT_NO;
}

const struct bt_acl_type users_types[3] = {
    {.name = "proxy_auth",
     .args = "word...",
     .doc = "The user who has logged in is one of these; REQUIRED: anybody who has.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_SLOW | BT_FOLDS | BT_ANEW,
     .compile = users_compile,
     .match = users_match,
     .cost = 3},
    {.name = "proxy_auth_regex",
     .args = "regex...",
     .doc = "The name of the user who has logged in matches.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_SLOW | BT_FOLDS | BT_ANEW,
     .compile = regex_compile,
     .match = regex_match,
     .cost = 3},
    {.name = "max_user_ip",
     .args = "word [word]",
     .doc = "The user who has logged in did so from more than so many addresses within "
            "authenticate_ip_ttl; -s: the new address is refused, else all are forgotten then.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_SLOW,
     .compile = most_compile,
     .match = most_match,
     .cost = 3},
};
