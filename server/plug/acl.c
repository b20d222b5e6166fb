/* acl.c - names, values and types of ACLs, defined line by line. Compiled in acl_compile.c, asked in
 * acl_ask.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "acl"
#include "plug/acl_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "bt_sets.h"
#include "bt_txn.h"
#include "conf/grammar.h"
#include "plug/lists.h"
#include "plug/registry.h"
#include "plug/rules.h"

struct acl_missing {
    struct acl_missing *next;
    struct bt_word at;
    bool anywhere; /* it may be defined below */
};

/* ---- types of our own ---- */

/* `manager`: the paths below which Squid's cache manager answers, whatever the host says. As Squid,
 * look at the path with its valid escapes undone, case kept. */
static enum bt_match manager_match(const void *compiled, struct bt_txn *txn)
{
    static const char want[] = "/squid-internal-mgr/";
    bt_str path = bt_path(txn);
    size_t at = 0;

    (void)compiled;
    if (path.len < sizeof want - 1)
        return BT_NO;
    for (size_t i = 0; i < sizeof want - 1; i++) {
        if (at >= path.len)
            return BT_NO;
        unsigned char c = (unsigned char)path.at[at++];
        if (c == '%' && at + 2 <= path.len && str_is(path.at[at], STR_HEX) &&
            str_is(path.at[at + 1], STR_HEX)) {
            c = (unsigned char)(str_hex_digit(path.at[at]) * 16 + str_hex_digit(path.at[at + 1]));
            at += 2;
        }
        if (c != (unsigned char)want[i])
            return BT_NO;
    }
    return BT_YES;
}

static const struct bt_acl_type manager_row = {
    .name = "manager",
    .args = "",
    .doc = "The request asks for a page of the cache manager.",
    .earliest = BT_AT_REQUEST,
    .match = manager_match,
};

/* ---- names that need no definition ---- */

struct acl_predefined {
    const char *name, *type, *values;
};
enum { PREDEFINED_VALUES = 32 };
static const struct acl_predefined predefined[] = {
    {"all", "src", ""},
    {"manager", "manager", ""},
    {"localhost", "src", "127.0.0.1/32 ::1/128"},
    {"to_localhost", "dst", "127.0.0.0/8 0.0.0.0/32 ::1/128 ::/128"},
    {"to_linklocal", "dst", "169.254.0.0/16 fe80::/10"},
    {"to_private", "dst", ACL_PRIVATE},
    {"CONNECT", "method", "CONNECT"},
    {"ssl::certHasExpired", "ssl_error", "X509_V_ERR_CERT_HAS_EXPIRED"},
    {"ssl::certNotYetValid", "ssl_error", "X509_V_ERR_CERT_NOT_YET_VALID"},
    {"ssl::certDomainMismatch", "ssl_error", "SQUID_X509_V_ERR_DOMAIN_MISMATCH"},
    {"ssl::certUntrusted", "ssl_error",
     "X509_V_ERR_INVALID_CA X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN "
     "X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT "
     "X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY X509_V_ERR_CERT_UNTRUSTED"},
    {"ssl::certSelfSigned", "ssl_error", "X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT"},
};

static const struct acl_predefined *predefined_find(bt_str name)
{
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
        if (bt_str_eq_nocase(name, str_from(predefined[i].name)))
            return &predefined[i];
    return NULL;
}

/* ---- defining ---- */

void acls_init(struct acls *acls, struct registry *registry, struct bt_arena *arena)
{
    *acls = (struct acls){.arena = arena, .registry = registry};
    table_init(&acls->by_name, arena, true);
    table_init(&acls->faulty, arena, true);
}

/* The type in use of that row. */
static struct acl_type *type_use(struct acls *acls, const struct bt_acl_type *row)
{
    struct acl_type **at = &acls->types;
    const char *why = NULL;

    for (; *at != NULL; at = &(*at)->next)
        if ((*at)->row == row)
            return *at;
    struct acl_type *type = bt_alloc(acls->arena, sizeof *type);
    type->row = row;
    type->kind[0].row = type->kind[1].row = row;
    /* The registry has looked at the grammar of each row already. */
    type->grammar = grammar_compile(acls->arena, row->args, &why);
    CHECK(type->grammar != NULL);
    *at = type;
    return type;
}

static struct acl *acl_new(struct acls *acls, const struct bt_word *name)
{
    struct acl *acl = bt_alloc(acls->arena, sizeof *acl);

    if (acls->n == acls->room) {
        size_t room = acls->room == 0 ? 32 : acls->room * 2;
        struct acl **more = bt_alloc_raw(acls->arena, room * sizeof(struct acl *));
        if (acls->n != 0)
            memcpy(more, acls->acl, acls->n * sizeof *more);
        acls->acl = more;
        acls->room = room;
    }
    acls->acl[acls->n++] = acl;
    acl->name = *name;
    acl->place = name->file == NULL
                     ? "predefined"
                     : bt_str_printf(acls->arena, "%s:%" PRIu32, name->file, name->line).at;
    table_put(&acls->by_name, acl->name.text, acl);
    return acl;
}

static struct acl_values *values_add(struct acls *acls, struct acl *acl, struct bt_args args)
{
    struct acl_values *values = bt_alloc(acls->arena, sizeof *values);

    values->args = args;
    if (acl->last == NULL)
        acl->values = values;
    else
        acl->last->next = values;
    acl->last = values;
    return values;
}

static struct bt_args predefined_values(struct acls *acls, const char *text)
{
    bt_str rest = str_from(text), word;
    struct bt_word *words = bt_alloc(acls->arena, PREDEFINED_VALUES * sizeof *words);
    size_t n = 0;

    while (n < PREDEFINED_VALUES && str_word(&rest, &word))
        words[n++].text = bt_str_copy(acls->arena, word);
    return (struct bt_args){words, n};
}

static struct acl *predefined_make(struct acls *acls, const struct acl_predefined *which,
                                   const struct bt_word *at, struct bt_error *err)
{
    struct bt_word name = {.text = str_from(which->name)};
    struct acl *acl = acl_new(acls, &name);
    const struct bt_acl_type *row = &manager_row;

    if (at != NULL) /* complaints about its type point at the first use */
        acl->type_at = *at;
    acl->type_at.text = str_from(which->type);
    if (strcmp(which->name, "all") == 0) {
        acl->how = HOW_ALL;
        return acl;
    }
    if (strcmp(which->type, "manager") != 0)
        row = registry_acl_type(acls->registry, str_from(which->type), NULL);
    if (row == NULL) {
        registry_unknown(acls->registry, ROW_ACL_TYPE, str_from(which->type), at, err);
        return acl;
    }
    acl->type = type_use(acls, row);
    if (*which->values != '\0')
        values_add(acls, acl, predefined_values(acls, which->values));
    return acl;
}

static struct acl *acl_get(struct acls *acls, bt_str name, const struct bt_word *at,
                           struct bt_error *err)
{
    struct acl *acl = table_find(&acls->by_name, name);
    const struct acl_predefined *which = NULL;

    if (acl == NULL && (which = predefined_find(name)) != NULL)
        acl = predefined_make(acls, which, at, err);
    return acl;
}

struct acl *acl_find(struct acls *acls, bt_str name, const struct bt_word *at, struct bt_error *err)
{
    struct acl *acl = acl_get(acls, name, at, err);

    if (acl != NULL)
        acl->found = true;
    return acl;
}

void acl_note_missing(struct acls *acls, const struct bt_word *at, bool anywhere)
{
    struct acl_missing *missing = bt_alloc(acls->arena, sizeof *missing);

    missing->at = *at;
    missing->anywhere = anywhere;
    missing->next = acls->missing;
    acls->missing = missing;
}

void acl_note_line(struct acls *acls, bt_str name)
{
    if (table_find(&acls->by_name, name) == NULL)
        table_put(&acls->faulty, name, acls);
}

/* Squid does not predefine this one, so a file may have its own of that name, with a meaning of its own:
 * that one stands. */
static bool ours_alone(bt_str name)
{
    return bt_str_eq_nocase(name, BT_STR("to_private"));
}

/* Files of old versions define what is predefined now. True: the line has been dealt with. */
static bool predefined_again(const struct acl *acl, const struct bt_word *name,
                             const struct bt_word *type, struct bt_error *err)
{
    if (acl->how == HOW_ALL && str_eq_literal(type->text, "src")) {
        bt_caution(err, name, "ACL %s is predefined and matches everything; remove this line",
                   acl->name.text.at);
        return true;
    }
    if (acl->type != NULL && acl->type->row == &manager_row &&
        str_eq_literal(type->text, "proto")) {
        bt_caution(err, name,
                   "ACL manager is predefined (requests for pages of the cache manager); "
                   "remove this line");
        return true;
    }
    return false;
}

/* Take -n and -- off the front of the values. */
static struct bt_args flags_take(struct acls *acls, struct acl *acl, struct bt_args args)
{
    const struct bt_word *word = args.word;
    size_t n = args.n;

    while (n > 0 && !word->quoted && (acl->type->row->flags & BT_NO_DNS) != 0 &&
           str_eq_literal(word->text, "-n")) {
        acl->no_dns = true;
        word++, n--;
    }
    if (n == 0 || word->quoted || !str_eq_literal(word->text, "--"))
        return (struct bt_args){word, n};
    /* What follows is a value even if it looks like a flag: as a word in quotes. */
    struct bt_word *rest = bt_alloc(acls->arena, n * sizeof *rest);
    memcpy(rest, word + 1, (n - 1) * sizeof *rest);
    for (size_t i = 0; i < n - 1; i++)
        rest[i].quoted = true;
    return (struct bt_args){rest, n - 1};
}

/* any-of and all-of are what their members are. Who has looked at the group already must not have
 * looked at something else. */
static bool group_take(struct acls *acls, struct acl *acl, struct bt_args names,
                       struct bt_error *err)
{
    struct acl_reach was = acl->reach;

    if (acl->type->row->compile != acl_group_compile)
        return true;
    if (!acl_group_members(acls, acl, names, &acl->reach, err))
        return false;
    if (acl->found && (was.earliest != acl->reach.earliest || was.depth != acl->reach.depth ||
                       was.slow != acl->reach.slow))
        return bt_complain(err, &names.word[0],
                           "ACL %s has been used above, and this would change what it is; write "
                           "all its lines before that",
                           acl->name.text.at);
    return true;
}

static bool has_list(struct bt_args args)
{
    for (size_t i = 0; i < args.n; i++)
        if (args.word[i].is_list)
            return true;
    return false;
}

/* Values out of list files: read now, and again later. */
static bool list_take(struct acls *acls, struct acl *acl, struct bt_args args, bool plain,
                      struct bt_error *err)
{
    struct acl_values *values = values_add(acls, acl, (struct bt_args){NULL, 0});

    values->plain = plain;
    values->written = lists_note(acls, args);
    acl->type->lists = true;
    if (!lists_line(acls->files, acl, values, err))
        return false;
    if (values->args.n == 0)
        bt_caution(err, &args.word[0],
                   "no values for ACL %s here; it will not match before the list has some",
                   acl->name.text.at);
    return true;
}

static bool values_take(struct acls *acls, struct acl *acl, const struct bt_line *line,
                        struct bt_error *err)
{
    struct bt_args args = {line->args.word + 2, line->args.n - 2};
    struct grammar_of of = {.flags = 0, .arena = acls->arena};
    struct grammar_line out;
    size_t given = args.n;

    args = flags_take(acls, acl, args);
    bool plain = given > args.n && args.n > 0 && args.word[0].quoted;
    if (has_list(args) && lists_can(acl->type->row))
        return list_take(acls, acl, args, plain, err);
    if (has_list(args) && !lists_expand(acls->arena, &args, plain, err))
        return false;
    if (args.n == 0 && acl_takes_values(acl->type->row)) {
        bt_caution(err, &line->args.word[1],
                   "no values for ACL %s here; an ACL without values never matches",
                   line->args.word[0].text.at);
        return true;
    }
    of.folds = (acl->type->row->flags & BT_FOLDS) != 0;
    if (!grammar_words(acl->type->grammar, &of, &line->args.word[1], args, &out, err) ||
        !group_take(acls, acl, out.args, err))
        return false;
    if (out.args.n > 0)
        values_add(acls, acl, out.args);
    return true;
}

bool acl_define(void *conf, const struct bt_line *line, struct bt_error *err)
{
    struct acls *acls = conf;
    const struct bt_word *name = &line->args.word[0], *type = &line->args.word[1];

    if (name->text.len == 0 || name->text.at[0] == '!')
        return bt_complain(err, name, "an ACL's name cannot be empty or begin with \"!\"");
    struct acl *acl = table_find(&acls->by_name, name->text);
    if (acl != NULL && ours_alone(name->text) && acl->name.file == NULL)
        return bt_complain(err, name,
                           "ACL %s is predefined and has been used above; give yours another name",
                           acl->name.text.at);
    if (acl == NULL && !ours_alone(name->text))
        acl = acl_get(acls, name->text, name, err);
    if (acl != NULL && predefined_again(acl, name, type, err))
        return true;
    /* Squid's own definition of it, as files may have copied it: theirs holds from here on. */
    if (acl != NULL && acl->type != NULL && acl->type->row == &manager_row &&
        str_eq_literal(type->text, "url_regex"))
        acl = NULL;
    const struct bt_acl_type *row = registry_acl_type(acls->registry, type->text, NULL);
    if (acl == NULL) {
        acl = acl_new(acls, name);
        acl->type_at = *type;
        if (row == NULL)
            return registry_unknown(acls->registry, ROW_ACL_TYPE, type->text, type, err);
        acl->type = type_use(acls, row);
    } else if (acl->type == NULL || row != acl->type->row) {
        if (acl->type == NULL && acl->how != HOW_ALL)
            return false; /* its first line has been complained about */
        return bt_complain(err, type, "ACL %s is of type %s (%s); an ACL has one type",
                           acl->name.text.at, acl_type_name(acl).at, acl->place);
    }
    return values_take(acls, acl, line, err);
}

/* ---- after the last line ---- */

static bool missing_complain(const struct acls *acls, const struct acl_missing *missing,
                             struct bt_error *err)
{
    bt_str name = missing->at.text;
    struct suggest near;

    if (name.len > 0 && name.at[0] == '!')
        name = str_skip(name, 1);
    if (table_find(&acls->faulty, name) != NULL)
        return true;
    const struct acl *below = table_find(&acls->by_name, name);
    if (below != NULL && missing->anywhere)
        return true;
    if (below != NULL)
        return bt_complain(err, &missing->at,
                           "ACL %.*s is used above its definition in %s; move that line up",
                           BT_STR_ARGS(name), below->place);
    suggest_init(&near, name);
    for (size_t i = 0; i < acls->n; i++)
        suggest_try(&near, acls->acl[i]->name.text.at);
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
        suggest_try(&near, predefined[i].name);
    if (near.best != NULL)
        return bt_complain(err, &missing->at, "there is no ACL %.*s; did you mean %s?",
                           BT_STR_ARGS(name), near.best);
    return bt_complain(err, &missing->at,
                       "there is no ACL %.*s; define it above with: acl %.*s TYPE ...",
                       BT_STR_ARGS(name), BT_STR_ARGS(name));
}

/* A group that may wait has a member that may: which one it is matters to lists only where there are
 * logins at all. */
static void logins_find(struct acls *acls)
{
    bool some = false;

    for (size_t i = 0; i < acls->n; i++)
        some |= acls->acl[i]->login;
    for (size_t i = 0; i < acls->n; i++)
        acls->acl[i]->login_among = some && acls->acl[i]->reach.slow;
}

bool acls_compile(void *conf, struct bt_arena *arena, struct bt_error *err)
{
    struct acls *acls = conf;
    bool good = true;

    (void)arena;
    CHECK(!acls->compiled);
    for (struct acl_type *type = acls->types; type != NULL; type = type->next)
        good &= acl_type_compile(acls, type, err);
    if (acls->files != NULL)
        lists_compiled(acls);
    for (const struct acl_missing *missing = acls->missing; missing != NULL;
         missing = missing->next)
        good &= missing_complain(acls, missing, err);
    acl_memo_lay_out(acls);
    acls->compiled = true;
    logins_find(acls);
    if (good)
        rules_compile(acls);
    if (good && rules_lint_wanted)
        rules_lint(acls, err);
    return good;
}

/* ---- lists of modules: ACLs that nobody can name ---- */

struct bt_list {
    struct acl *acl;
};

struct bt_list *bt_list_open(const struct bt_acl_type *row, const struct bt_word *path,
                             struct bt_error *err)
{
    struct acls *acls = acl_self.conf;
    struct bt_list *list = bt_alloc(acls->arena, sizeof *list);
    struct bt_acl_type *own = bt_alloc(acls->arena, sizeof *own);
    struct bt_word name = *path, *word = bt_alloc(acls->arena, sizeof *word);

    CHECK(acls->compiled);
    *own = *row; /* of a type all are compiled together, and others may follow */
    *word = *path;
    word->is_list = word->quoted = true;
    name.text = bt_str_printf(acls->arena, "%s %s", row->name, path->text.at);
    list->acl = acl_new(acls, &name);
    list->acl->type_at = name;
    list->acl->type = type_use(acls, own);
    lists_late(acls);
    bool good = list_take(acls, list->acl, (struct bt_args){word, 1}, false, err) &&
                acl_type_compile(acls, list->acl->type, err);
    lists_compiled(acls);
    return good ? list : NULL;
}

const void *bt_list_compiled(const struct bt_list *list)
{
    return list->acl->kind->compiled;
}

/* ---- what others ask about an ACL ---- */

bt_str acl_name(const struct acl *acl)
{
    return acl->name.text;
}

bt_str acl_type_name(const struct acl *acl)
{
    return acl->type_at.text;
}

const char *acl_place(const struct acl *acl)
{
    return acl->place;
}

enum bt_phase acl_earliest(const struct acl *acl)
{
    if (acl->type == NULL)
        return BT_AT_ACCEPT;
    return acl->reach.earliest > acl->type->row->earliest ? acl->reach.earliest
                                                          : acl->type->row->earliest;
}

bool acl_is_slow(const struct acl *acl)
{
    return acl->reach.slow ||
           (acl->type != NULL && (acl->type->row->flags & BT_SLOW) != 0 && !acl->no_dns);
}

bool acl_is_fresh(const struct acl *acl)
{
    if (acl->reach.depth > 0)
        return acl->reach.fresh;
    return acl->type != NULL && (acl->type->row->flags & BT_FRESH) != 0;
}

bool acl_is_login(const struct acl *acl)
{
    return acl->login || acl->login_among;
}

bool acl_is_all(const struct acl *acl)
{
    return acl->how == HOW_ALL;
}

unsigned acl_depth(const struct acl *acl)
{
    return acl->reach.depth;
}

unsigned acl_cost(const struct acl *acl)
{
    if (acl->reach.depth > 0)
        return acl->reach.cost;
    return acl->type == NULL ? 0 : acl->type->row->cost;
}

struct acl_form acl_form(const struct acl *acl)
{
    switch (acl->how) {
    case HOW_ALL:
        return (struct acl_form){ACL_ALWAYS, NULL, 0};
    case HOW_SET:
        return (struct acl_form){ACL_TOGETHER, acl->kind, acl->index};
    case HOW_ONE:
        return (struct acl_form){ACL_ALONE, NULL, 0};
    case HOW_NEVER:
    case HOW_BAD:
        break;
    }
    return (struct acl_form){ACL_NEVER, NULL, 0};
}

size_t acl_kind_size(const struct acl_kind *kind)
{
    return kind->n;
}

bool bt_acl_has(const char *type, bt_str word)
{
    const struct acls *acls = acl_self.conf;

    for (size_t i = 0; i < acls->n; i++) {
        const struct acl *acl = acls->acl[i];
        if (!bt_str_eq(acl->type_at.text, str_from(type)))
            continue;
        for (const struct acl_values *line = acl->values; line != NULL; line = line->next)
            for (size_t k = 0; k < line->args.n; k++)
                if (bt_str_eq(line->args.word[k].text, word))
                    return true;
    }
    return false;
}
