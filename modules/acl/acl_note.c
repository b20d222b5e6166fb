/* acl_note.c - notes on exchanges: `note` lines and ACLs, annotate_transaction, annotate_client.
 *
 *   acl vip note group admins
 *   acl mark annotate_transaction seen=yes
 *   note cause denied_by_hours !work_hours
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bt.h"

/* ---- note KEY VALUE [acls] ---- */

struct rule {
    struct rule *next;
    bt_str key;
    struct bt_format *value;
    const struct bt_acls *acls;
};
struct conf {
    struct rule *first;
};

static bool note_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct conf *conf = conf_;
    struct rule **at = &conf->first;
    struct rule *rule = bt_alloc(line->arena, sizeof *rule);

    rule->key = line->args.word[0].text;
    rule->value = bt_format_new(line->arena, &line->args.word[1], line->args.word[1].text, err);
    rule->acls = line->acls;
    while (*at != NULL)
        at = &(*at)->next;
    *at = rule;
    return rule->value != NULL;
}

/* Of the lines for one key the first whose ACLs hold stands, as in Squid. */
static enum bt_verdict notes_make(struct bt_txn *txn)
{
    enum { VALUE_MAX = 8 * 1024 };
    static char value[VALUE_MAX];
    const struct conf *conf = bt_self.conf;

    for (const struct rule *rule = conf->first; rule != NULL; rule = rule->next) {
        const struct rule *before = conf->first;
        while (before != rule && !bt_str_eq(before->key, rule->key))
            before = before->next;
        if (before != rule && bt_note_get(txn, rule->key, 0).at != NULL)
            continue;
        if (bt_acls_match(rule->acls, txn) != BT_YES)
            continue;
        size_t n = bt_format_render(rule->value, txn, value, sizeof value);
        bt_note_add(txn, BT_NOTE_EXCHANGE, rule->key, (bt_str){value, n});
    }
    return BT_PASS;
}

/* ---- acl NAME note [-m[=CHARS]] KEY [VALUE...] ---- */

struct wanted {
    bt_str key;
    struct bt_args values; /* none: any will do */
    bt_str cut;            /* characters between members of a value; NONE: it is one */
};

static void *wanted_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct wanted *wanted = bt_alloc(arena, sizeof *wanted);
    size_t i = 0;
    bt_str flag = args.word[0].text;

    if (!args.word[0].quoted && flag.len >= 2 && memcmp(flag.at, "-m", 2) == 0) {
        i++;
        wanted->cut = BT_STR(",");
        if (flag.len > 3 && flag.at[2] == '=')
            wanted->cut = (bt_str){flag.at + 3, flag.len - 3};
        else if (flag.len > 2) {
            bt_complain(err, &args.word[0], "write -m or -m=CHARACTERS, not %s", flag.at);
            return NULL;
        }
    }
    if (i == args.n) {
        bt_complain(err, &args.word[0], "the key of the note is missing");
        return NULL;
    }
    wanted->key = args.word[i].text;
    wanted->values = (struct bt_args){args.word + i + 1, args.n - i - 1};
    return wanted;
}

static bool is_listed(const struct bt_args *values, bt_str text)
{
    for (size_t i = 0; i < values->n; i++)
        if (bt_str_eq(values->word[i].text, text))
            return true;
    return false;
}

static bool value_fits(const struct wanted *wanted, bt_str value)
{
    if (wanted->values.n == 0 || is_listed(&wanted->values, value))
        return true;
    if (wanted->cut.at == NULL)
        return false;
    for (size_t from = 0, i = 0; i <= value.len; i++) {
        if (i < value.len && memchr(wanted->cut.at, value.at[i], wanted->cut.len) == NULL)
            continue;
        if (is_listed(&wanted->values, (bt_str){value.at + from, i - from}))
            return true;
        from = i + 1;
    }
    return false;
}

static enum bt_match note_match(const void *compiled, struct bt_txn *txn)
{
    const struct wanted *wanted = compiled;
    bt_str value;

    for (size_t n = 0; (value = bt_note_get(txn, wanted->key, n)).at != NULL; n++)
        if (value_fits(wanted, value))
            return BT_YES;
    return BT_NO;
}

/* ---- annotate_transaction and annotate_client: KEY=VALUE replaces, KEY+=VALUE is one more ---- */

struct annotation {
    bt_str key;
    struct bt_format *value;
    bool add;
};
struct annotations {
    size_t n;
    struct annotation each[];
};

static void *annotate_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct annotations *all = bt_alloc(arena, sizeof *all + args.n * sizeof *all->each);
    bool good = true;

    for (size_t i = 0; i < args.n; i++) {
        const struct bt_word *at = &args.word[i];
        struct annotation *one = &all->each[all->n++];
        const char *equals = memchr(at->text.at, '=', at->text.len);
        size_t len = equals == NULL ? 0 : (size_t)(equals - at->text.at);
        one->add = len > 1 && equals[-1] == '+';
        one->key = (bt_str){at->text.at, one->add ? len - 1 : len};
        if (one->key.len == 0) {
            good = bt_complain(err, at, "'%s' is no annotation; write KEY=VALUE or KEY+=VALUE",
                               at->text.at);
            continue;
        }
        one->value = bt_format_new(arena, at, (bt_str){equals + 1, at->text.len - len - 1}, err);
        good &= one->value != NULL;
    }
    return good ? all : NULL;
}

/* Whether one more value may be added: a connection may live for days, and has the same ACL asked
 * for each of its requests. */
static bool is_news(struct bt_txn *txn, bt_str key, bt_str text)
{
    enum { VALUES_MAX = 64 };
    bt_str value;
    size_t n = 0;

    for (; (value = bt_note_get(txn, key, n)).at != NULL; n++)
        if (bt_str_eq(value, text))
            return false;
    return n < VALUES_MAX;
}

static enum bt_match annotate(const struct annotations *all, struct bt_txn *txn, enum bt_note where)
{
    enum { VALUE_MAX = 8 * 1024 };
    static char value[VALUE_MAX];

    for (size_t i = 0; i < all->n; i++) {
        const struct annotation *one = &all->each[i];
        bt_str text = {value, bt_format_render(one->value, txn, value, sizeof value)};
        if (!one->add)
            bt_note_set(txn, where, one->key, text);
        else if (is_news(txn, one->key, text))
            bt_note_add(txn, where, one->key, text);
    }
    return BT_YES;
}

static enum bt_match annotate_transaction_match(const void *compiled, struct bt_txn *txn)
{
    return annotate(compiled, txn, BT_NOTE_EXCHANGE);
}

static enum bt_match annotate_client_match(const void *compiled, struct bt_txn *txn)
{
    return annotate(compiled, txn, BT_NOTE_CLIENT);
}

/* ---- the module ---- */

static const struct bt_directive directives[] = {
    {.name = "note",
     .args = "word word fastacls",
     .doc = "Notes KEY and VALUE (a format) on exchanges when they end, for logs.",
     .set = note_set,
     .phase = BT_AT_FINISH},
};

static const struct bt_acl_type types[] = {
    {.name = "note",
     .args = "word [word...]",
     .doc = "The exchange, or its client's connection, has a note of that key, with one of these "
            "values (any, when there are none); -m: values are lists with commas.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH,
     .compile = wanted_compile,
     .match = note_match},
    {.name = "annotate_transaction",
     .args = "word...",
     .doc = "Always matches, and notes KEY=VALUE (or adds: KEY+=VALUE) on the exchange.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH,
     .compile = annotate_compile,
     .match = annotate_transaction_match},
    {.name = "annotate_client",
     .args = "word...",
     .doc = "Always matches, and notes KEY=VALUE (or adds: KEY+=VALUE) on the client's connection.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH,
     .compile = annotate_compile,
     .match = annotate_client_match},
};

static const struct bt_hook hooks[] = {
    {BT_AT_FINISH, "Makes the notes of note lines.", notes_make},
};

BT_MODULE(acl_note, "Notes on exchanges, and the ACL types that make and read them.",
          .conf_size = sizeof(struct conf), .directives = BT_ROWS(directives),
          .acl_types = BT_ROWS(types), .hooks = BT_ROWS(hooks));
