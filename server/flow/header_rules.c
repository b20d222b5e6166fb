/* header_rules.c - what the configuration lets through, takes out and adds of headers that go out.
 *
 * Which lines speak of a header is settled when the configuration was read: each known header has
 * its place in a table, and only names that the server does not know are looked up as text.
 *
 * The order of things is Squid's: access and replacement meet all that would be sent, what the proxy
 * has put there included; then comes what is added, and no rule is applied to that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/header_rules.h"

#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "bt.h"
#include "plug/acl.h"

enum {
    VALUE_MAX = 8192, /* bytes of an added value; what codes make beyond that is cut off */
    OWN_LINES = 8     /* Via and their like, at most, beside those that can be counted */
};

/* What becomes of a header. */
struct header_rule {
    struct bt_rules *access; /* NULL: it passes */
    bt_str replace;          /* what stands in its place where it is denied; NONE: nothing */
    const struct bt_word *replace_at;
};

struct addition {
    struct addition *next;
    bt_str name, value;
    struct bt_format *format; /* NULL: the value as it stands */
    const struct bt_acls *acls;
};

struct header_rules {
    const struct header_rule *by_id[HEADER_COUNT]; /* OTHER: names that are nowhere else */
    struct table by_name;                          /* of names that the server does not know */
    struct addition *additions;
    size_t longest; /* replacement */
    /* While the configuration is read. */
    struct header_rule *own[HEADER_COUNT], *all;
    struct table own_by_name;
    struct addition **last;
};

struct headers_conf {
    struct header_rules *side[2];
};

static struct bt_self self;
const struct header_rules *header_rules[2];

/* ---- lines ---- */

static const char *const side_word[] = {"request", "reply"};

static enum header_side side_of(const struct bt_line *line)
{
    return str_starts(str_from(line->row->name), BT_STR("reply")) ? HEADER_REPLY : HEADER_REQUEST;
}

static struct header_rules *rules_for(struct headers_conf *conf, const struct bt_line *line)
{
    struct header_rules **rules = &conf->side[side_of(line)];

    if (*rules == NULL) {
        *rules = bt_alloc(line->arena, sizeof **rules);
        table_init(&(*rules)->by_name, line->arena, true);
        table_init(&(*rules)->own_by_name, line->arena, true);
        (*rules)->last = &(*rules)->additions;
    }
    return *rules;
}

static bool is_name(const struct bt_word *word, struct bt_error *err)
{
    for (size_t i = 0; i < word->text.len; i++)
        if (!str_is(word->text.at[i], STR_TOKEN))
            return bt_complain(err, word, "'%s' cannot be the name of a header", word->text.at);
    return true;
}

/* A line end would begin a header of its own. */
static bool is_value(const struct bt_word *word, struct bt_error *err)
{
    for (size_t i = 0; i < word->text.len; i++) {
        unsigned char c = (unsigned char)word->text.at[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return bt_complain(err, word, "the value of a header cannot hold control characters");
    }
    return true;
}

/* Headers that are written anew for each connection, whatever came. */
static bool is_ours(enum header_side side, enum header_id id)
{
    switch (id) {
    case HEADER_CONNECTION:
    case HEADER_CONTENT_LENGTH:
    case HEADER_KEEP_ALIVE:
    case HEADER_PROXY_CONNECTION:
    case HEADER_TE:
    case HEADER_TRAILER:
    case HEADER_TRANSFER_ENCODING:
    case HEADER_UPGRADE:
        return true;
    case HEADER_HOST:
        return side == HEADER_REQUEST;
    default:
        return false;
    }
}

static bool is_settable(const struct bt_line *line, struct bt_error *err)
{
    const struct bt_word *name = &line->args.word[0];
    enum header_id id = header_find(name->text);

    if (!is_name(name, err))
        return false;
    if (!is_ours(side_of(line), id))
        return true;
    return bt_complain(err, name,
                       id == HEADER_HOST
                           ? "%s cannot be set: it says the host of the URL that the access rules "
                             "have judged"
                           : "%s cannot be set: it belongs to the connection or says where a body "
                             "ends, and the proxy writes it for each message",
                       name->text.at);
}

/* The rule of that name; made when there is none. */
static struct header_rule *rule_for(struct header_rules *rules, const struct bt_line *line)
{
    bt_str name = line->args.word[0].text;
    enum header_id id = header_find(name);
    struct header_rule **place = &rules->own[id], *rule;

    if (bt_str_eq_nocase(name, BT_STR("All"))) {
        place = &rules->all;
    } else if (id == HEADER_OTHER && !bt_str_eq_nocase(name, BT_STR("Other"))) {
        rule = table_find(&rules->own_by_name, name);
        if (rule == NULL) {
            rule = bt_alloc(line->arena, sizeof *rule);
            (void)table_put(&rules->own_by_name, name, rule);
        }
        return rule;
    }
    if (*place == NULL)
        *place = bt_alloc(line->arena, sizeof **place);
    return *place;
}

static bool set_access(void *conf, const struct bt_line *line, struct bt_error *err)
{
    const struct bt_word *name = &line->args.word[0];
    bool allow = str_eq_literal(line->args.word[1].text, "allow");
    enum header_id id = header_find(name->text);
    struct header_rules *rules;

    if (!is_name(name, err))
        return false;
    if (!allow && is_ours(side_of(line), id) &&
        (id == HEADER_HOST || (header_flags(id) & HEADER_FRAMING) != 0))
        bt_caution(err, name, "%s is always sent where it is due, so denying it changes nothing",
                   name->text.at);
    rules = rules_for(conf, line);
    bt_rules_add(&rule_for(rules, line)->access, line, allow ? BT_ALLOW : BT_DENY);
    return true;
}

static bool set_replace(void *conf, const struct bt_line *line, struct bt_error *err)
{
    const struct bt_word *text = &line->args.word[1];
    struct header_rules *rules;
    struct header_rule *rule;

    if (!is_settable(line, err) || !is_value(text, err))
        return false;
    rules = rules_for(conf, line);
    rule = rule_for(rules, line);
    rule->replace = text->text;
    rule->replace_at = &line->args.word[0];
    if (rules->longest < text->text.len)
        rules->longest = text->text.len;
    return true;
}

/* In quotes the text is a format, as in Squid; else it is taken as it stands. */
static bool addition_value(struct addition *add, const struct bt_line *line, struct bt_error *err)
{
    const struct bt_word *text = &line->args.word[1];

    add->value = text->text.len > 0 ? text->text : BT_STR("-");
    if (!text->quoted) {
        if (str_find_char(text->text, '%') >= 0)
            bt_caution(err, text, "%% begins a code only in quotes: \"%s\"", text->text.at);
        return true;
    }
    if (str_find_char(text->text, '%') < 0)
        return true;
    add->format = bt_format_new(line->arena, text, text->text, err);
    if (add->format == NULL)
        return false;
    if (bt_format_earliest(add->format) > line->row->phase)
        bt_caution(err, text, "some of this is not known yet when the %s leaves, and will be -",
                   side_word[side_of(line)]);
    return true;
}

static bool set_add(void *conf, const struct bt_line *line, struct bt_error *err)
{
    struct addition *add = bt_alloc(line->arena, sizeof *add);
    struct header_rules *rules;

    if (!is_settable(line, err) || !is_value(&line->args.word[1], err) ||
        !addition_value(add, line, err))
        return false;
    add->name = line->args.word[0].text;
    add->acls = line->acls;
    rules = rules_for(conf, line);
    *rules->last = add;
    rules->last = &add->next;
    return true;
}

/* ---- setup: who speaks of which name ---- */

/* Known here, and for Squid one of the uncommon ones that `Other` means... */
static bool is_uncommon(enum header_id id)
{
    switch (id) {
    case HEADER_OTHER:
    case HEADER_ALT_SVC:
    case HEADER_IF_UNMODIFIED_SINCE:
    case HEADER_X_FORWARDED_HOST:
    case HEADER_X_FORWARDED_PROTO:
    case HEADER_X_REQUEST_ID:
        return true;
    default:
        return false;
    }
}

/* ... and the other way round. */
static const char *const common[] = {"Alternate-Protocol",
                                     "Authentication-Info",
                                     "Content-Base",
                                     "Content-MD5",
                                     "Cookie2",
                                     "Front-End-Https",
                                     "HTTP2-Settings",
                                     "Key",
                                     "Mime-Version",
                                     "Negotiate",
                                     "Proxy-support",
                                     "Public",
                                     "Request-Range",
                                     "Set-Cookie2",
                                     "Title",
                                     "Translate",
                                     "Unless-Modified-Since",
                                     "Surrogate-Capability",
                                     "X-Accelerator-Vary",
                                     "X-Cache-Lookup",
                                     "X-Next-Services",
                                     "X-Request-URI",
                                     "X-Squid-Error"};

/* Does a line of access speak of it? One that is only replaced is as good as not named. */
static const struct header_rule *named(const struct header_rule *rule, struct bt_error *err)
{
    if (rule == NULL || rule->access != NULL)
        return rule;
    bt_caution(err, rule->replace_at,
               "only what is denied is replaced, and no line of *_header_access names %s",
               rule->replace_at->text.at);
    return NULL;
}

static void settle(struct header_rules *rules, struct bt_error *err)
{
    static struct header_rule free_pass;
    const struct header_rule *rule, *other, *all = named(rules->all, err);
    bt_str name;

    other = named(rules->own[HEADER_OTHER], err);
    if (other == NULL)
        other = all;
    for (unsigned id = 0; id < HEADER_COUNT; id++) {
        rule = id != HEADER_OTHER ? named(rules->own[id], err) : NULL;
        if (rule == NULL)
            rule = is_uncommon((enum header_id)id) ? other : all;
        rules->by_id[id] = rule;
    }
    for (size_t i = 0; other != all && i < sizeof common / sizeof *common; i++)
        (void)table_put(&rules->by_name, str_from(common[i]),
                        all != NULL ? (void *)(uintptr_t)all : &free_pass);
    for (uint32_t i = 0; (rule = table_walk(&rules->own_by_name, &i, &name)) != NULL;)
        if (named(rule, err) != NULL)
            (void)table_put(&rules->by_name, name, (void *)(uintptr_t)rule);
}

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct headers_conf *conf = conf_;

    (void)arena;
    for (int i = 0; i < 2; i++)
        if (conf->side[i] != NULL)
            settle(conf->side[i], err);
    return true;
}

static bool start(void *conf_)
{
    struct headers_conf *conf = conf_;

    header_rules[HEADER_REQUEST] = conf->side[HEADER_REQUEST];
    header_rules[HEADER_REPLY] = conf->side[HEADER_REPLY];
    return true;
}

static void stop(void *conf)
{
    (void)conf;
    header_rules[HEADER_REQUEST] = header_rules[HEADER_REPLY] = NULL;
}

/* ---- heads ---- */

/* What is sent of it goes to *value; false: nothing. */
static bool passes(const struct header_pass *pass, enum header_id id, bt_str name, bt_str *value)
{
    const struct header_rule *rule = pass->rules->by_id[id];
    struct bt_ruling ruling;

    if (id == HEADER_OTHER && pass->rules->by_name.n > 0) {
        const struct header_rule *special = table_find(&pass->rules->by_name, name);
        if (special != NULL)
            rule = special;
    }
    if (rule == NULL || rule->access == NULL)
        return true;
    ruling = bt_rules_run(rule->access, pass->txn);
    if (ruling.match == BT_YES && ruling.action == BT_ALLOW)
        return true;
    *value = rule->replace;
    return rule->replace.at != NULL;
}

bool header_rules_pass(const struct header_pass *pass, enum header_id id, bt_str value)
{
    bt_str sent = value;

    return pass == NULL || (passes(pass, id, header_name(id), &sent) && sent.at == value.at);
}

/* Each Set-Cookie stands for itself (RFC 9110 5.3): ACLs about them are asked of each alone, so that
 * the one that is denied takes no other with it. */
static bool cookie_passes(const struct header_pass *pass, struct head_field *field, bt_str *value)
{
    struct acl_memo **memo = acl_memo_place(pass->txn), *said = *memo;
    struct head *rep = &pass->txn->rep;
    bool good;

    for (unsigned i = 0; i < rep->n; i++)
        if (rep->field[i].id == HEADER_SET_COOKIE && &rep->field[i] != field)
            rep->field[i].id = HEADER_COUNT; /* is nobody's */
    *memo = NULL;
    good = passes(pass, HEADER_SET_COOKIE, field->name, value);
    *memo = said;
    for (unsigned i = 0; i < rep->n; i++)
        if (rep->field[i].id == HEADER_COUNT)
            rep->field[i].id = HEADER_SET_COOKIE;
    return good;
}

void header_rules_fields(const struct header_pass *pass, struct writer *w, const struct head *head)
{
    const struct header_rule *rule = pass->rules->by_id[HEADER_SET_COOKIE];
    bool cookies = rule != NULL && rule->access != NULL && head == &pass->txn->rep &&
                   head_find(head, BT_STR("Set-Cookie"), 1).at != NULL;

    for (unsigned i = 0; i < head->n; i++) {
        struct head_field *field = &head->field[i];
        bt_str value = field->value;
        if (!field->drop && (cookies && field->id == HEADER_SET_COOKIE
                                 ? cookie_passes(pass, field, &value)
                                 : passes(pass, field->id, field->name, &value)))
            writer_field(w, field->name, value);
    }
}

void header_rules_lines(const struct header_pass *pass, struct writer *w, char *from)
{
    bt_str rest = {from, (size_t)(w->at - from)}, line, name, value;

    if (w->over || rest.len == 0)
        return;
    rest = bt_str_copy(pass->txn->arena, rest);
    w->at = from;
    while (rest.len > 0) {
        str_split(rest, '\n', &line, &rest);
        str_split(line, ':', &name, &value);
        value = str_trim_space(value);
        if (passes(pass, header_find(name), name, &value))
            writer_field(w, name, value);
    }
}

/* No encoding of formats lets a line end pass; that none gets out must not hang on that alone. */
static void tidy(char *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)at[i] < ' ' && at[i] != '\t') || at[i] == 0x7f)
            at[i] = ' ';
}

static bt_str render(const struct addition *add, struct bt_txn *txn)
{
    static char text[VALUE_MAX];
    size_t len;

    if (add->format == NULL)
        return add->value;
    len = bt_format_render(add->format, txn, text, sizeof text);
    tidy(text, len);
    return len > 0 ? (bt_str){text, len} : BT_STR("-");
}

static bt_str additions(const struct header_rules *rules, struct bt_txn *txn)
{
    struct str_builder b;

    if (rules->additions == NULL)
        return BT_STR_NONE;
    str_builder_arena(&b, txn->arena, 128);
    for (const struct addition *add = rules->additions; add != NULL; add = add->next) {
        if (add->acls != NULL && bt_acls_match(add->acls, txn) != BT_YES)
            continue;
        str_add(&b, add->name);
        str_add_literal(&b, ": ");
        str_add(&b, render(add, txn));
        str_add_literal(&b, "\r\n");
    }
    return str_built(&b);
}

static size_t lines_in(bt_str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.at[i] == '\n';
    return n;
}

struct header_pass *header_rules_begin(const struct header_rules *rules, struct bt_txn *txn,
                                       const struct head *head)
{
    struct header_pass *pass = bt_alloc(txn->arena, sizeof *pass);

    *pass = (struct header_pass){.rules = rules, .txn = txn, .added = additions(rules, txn)};
    pass->room = pass->added.len;
    if (rules->longest > 0)
        pass->room += rules->longest *
                      (head->n + lines_in(txn->answer_fields) + lines_in(txn->reply_fields) +
                       txn->overlay_bytes / sizeof ": \r\n" + OWN_LINES);
    return pass;
}

/* ---- rows ---- */

#define ACCESS(its_name, since, text)                                                              \
    {                                                                                              \
        .name = its_name, .args = "word allow|deny fastacls+", .doc = text, .set = set_access,     \
        .phase = since                                                                             \
    }
#define REPLACE(its_name, text)                                                                    \
    {                                                                                              \
        .name = its_name, .args = "word text", .doc = text, .set = set_replace                     \
    }
#define ADD(its_name, since, text)                                                                 \
    {                                                                                              \
        .name = its_name, .args = "word word fastacls", .doc = text, .set = set_add,               \
        .phase = since                                                                             \
    }

static const struct bt_directive directives[] = {
    ACCESS(
        "request_header_access", BT_AT_UPSTREAM,
        "Which headers of requests reach origins. The lines that name a header decide about it, "
        "as in http_access; those for Other when none does and it is an uncommon one; else those "
        "for All. What the proxy adds (Via, X-Forwarded-For) is asked about, too; Host and what "
        "says where a body ends is not, and always sent. ACLs and logs see what the client sent."),
    ACCESS(
        "reply_header_access", BT_AT_RESPONSE,
        "The same for answers to clients: those of origins, of the cache and of the proxy itself, "
        "but not the answer that opens a tunnel for CONNECT."),
    REPLACE(
        "request_header_replace",
        "Puts the rest of the line, quotation marks included, in place of the value of a header "
        "that request_header_access denies; one that is not there is not added."),
    {.name = "header_replace", .same_as = "request_header_replace"},
    REPLACE("reply_header_replace", "The same for what reply_header_access denies."),
    ADD("request_header_add", BT_AT_UPSTREAM,
        "Adds a header, name and value, to requests whose ACLs all match, whatever else stands there "
        "under that name. In quotes the value may hold codes of logformat, which cannot bring a line "
        "end; it is cut behind 8 KB, and an empty one becomes -."),
    ADD("reply_header_add", BT_AT_RESPONSE,
        "The same for answers to clients, but not for the one that opens a tunnel for CONNECT."),
};

const struct bt_module header_rules_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "headers",
    .doc = "Headers that are taken out, replaced and added on the way.",
    .self = &self,
    .conf_size = sizeof(struct headers_conf),
    .directives = BT_ROWS(directives),
    .setup = setup,
    .start = start,
    .stop = stop,
};
