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

struct seen {
    uint8_t addr[16];
    int64_t last_ms;
};
struct addresses {
    size_t n, room;
    struct seen seen[];
};
struct most {
    int64_t n;
    bool strict;
};

static void forget_old(struct addresses *known, int64_t now)
{
    size_t kept = 0;

    for (size_t i = 0; i < known->n; i++)
        if (now - known->seen[i].last_ms <= auth->ip_ttl.ms)
            known->seen[kept++] = known->seen[i];
    known->n = kept;
}

static void forget_one(struct addresses *known, const uint8_t addr[16])
{
    for (size_t i = 0; i < known->n; i++)
        if (memcmp(known->seen[i].addr, addr, 16) == 0) {
            known->seen[i] = known->seen[--known->n];
            return;
        }
}

/* The user has sent a request from there. Nobody counts more addresses than an ACL asks for. */
void users_seen(struct bt_txn *txn, bt_str user)
{
    uint8_t addr[16];
    int64_t now = bt_wall_ms();

    if (auth->users == NULL || !bt_addr_bytes(bt_client_addr(txn), addr))
        return;
    struct addresses *known = bt_lru_find(auth->users, user);
    if (known == NULL) {
        size_t room = (size_t)auth->addresses + 1;
        known = bt_lru_add(auth->users, user, sizeof *known + room * sizeof *known->seen);
        known->room = room;
    }
    forget_old(known, now);
    forget_one(known, addr);
    if (known->n == known->room)
        return;
    memcpy(known->seen[known->n].addr, addr, 16);
    known->seen[known->n++].last_ms = now;
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

static enum bt_match most_match(const void *compiled, struct bt_txn *txn)
{
    const struct most *most = compiled;
    bt_str user;
    uint8_t addr[16];
    enum bt_match said = logged_in(txn, &user);

    if (said != BT_YES)
        return said;
    struct addresses *known = bt_lru_find(auth->users, user);
    if (known == NULL || (int64_t)known->n <= most->n)
        return BT_NO;
    /* Strict: this one is too many. Else the user has moved, and all are forgotten. */
    if (!most->strict)
        known->n = 0;
    else if (bt_addr_bytes(bt_client_addr(txn), addr))
        forget_one(known, addr);
    return BT_YES;
}

bool users_start(void)
{
    enum { USERS_MAX = 100000 };

    if (auth->addresses > 0)
        auth->users = bt_lru_new(USERS_MAX);
    return true;
}

void users_stop(void)
{
    bt_lru_free(auth->users);
    auth->users = NULL;
}

const struct bt_acl_type users_types[3] = {
    {.name = "proxy_auth",
     .args = "word...",
     .doc = "The user who has logged in is one of these; REQUIRED: anybody who has.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_SLOW | BT_FOLDS,
     .compile = users_compile,
     .match = users_match,
     .cost = 3},
    {.name = "proxy_auth_regex",
     .args = "regex...",
     .doc = "The name of the user who has logged in matches.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_SLOW | BT_FOLDS,
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
