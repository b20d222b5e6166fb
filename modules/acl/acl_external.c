/* acl_external.c - access decided by programs: external_acl_type, and the ACL types around it.
 *
 *   external_acl_type plan ttl=60 children-max=5 %SRC %DST /usr/local/bin/plan
 *   acl gold external plan gold
 *
 * The words of FORMAT, and what the ACL says, are one line to the helper. Its answer is remembered
 * by the whole line, by all workers together, and exchanges of one worker that ask the same at the
 * same time wait for one answer, unless nothing may be remembered (ttl=0 negative_ttl=0). What the
 * answer says beside OK and ERR becomes notes of the exchange.
 *
 * A helper that cannot say (BH, overload, timeout, death, an unknown word) makes the ACL one that
 * cannot be told, so that the list denies: Squid ignores the ACL then, which may allow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <time.h>

#include "acl_answers.h"
#include "bt.h"

#define COUNTERS(X)                                                                                \
    X(questions, "external.questions", BT_COUNT, "questions", "External ACLs asked of a helper.")  \
    X(cached, "external.cached", BT_COUNT, "questions", "External ACLs answered from memory.")     \
    X(shared, "external.shared", BT_COUNT, "questions", "Waited for an answer under way.")         \
    X(refreshed, "external.refreshed", BT_COUNT, "questions", "Asked ahead of time (grace).")      \
    X(broken, "external.broken", BT_COUNT, "questions", "Questions that no helper could answer.")
BT_COUNTERS(COUNTERS);

enum { LINE_MAX_ = 64 * 1024, ANSWER_PAIRS = 64 };

/* ---- external_acl_type ---- */

enum token_kind { TOKEN_FORMAT, TOKEN_DATA, TOKEN_ACL };
struct token {
    enum token_kind kind;
    struct bt_format *format;
    bool percent; /* encode the per cent sign, too: the value is no URL */
};

struct options {
    int64_t ttl, negative_ttl, grace, cache;
    int64_t children, children_max, startup, idle, concurrency, queue, overload, protocol;
    int64_t timeout;
    bool ipv4, ipv6;
};

struct external {
    struct external *next;
    const struct bt_word *name;
    const struct options *options;
    int64_t ttl_ms, negative_ttl_ms;
    struct token *token;
    size_t n;
    bool login;    /* somebody has to be logged in */
    bool has_data; /* %DATA stands in FORMAT */
    enum bt_phase earliest;
    struct bt_helper *pool;
    struct bt_dict *answers; /* by line, in all workers; NULL: nothing is remembered */
    /* worker */
    struct bt_lru *asking; /* struct pending by line */
    uint64_t number;
};

struct conf {
    struct external *first;
};

static bt_str text_of(const char *literal)
{
    return (bt_str){literal, strlen(literal)};
}

static const struct old_token {
    const char *name, *code;
    bool url, login;
} old_tokens[] = {
    {"%SRC", "%'>a", false, false},        {"%SRCPORT", "%'>p", false, false},
    {"%DST", "%'>rd", false, false},       {"%PORT", "%'>rP", false, false},
    {"%PROTO", "%'>rs", false, false},     {"%METHOD", "%'>rm", false, false},
    {"%PATH", "%'>rp", true, false},       {"%URI", "%'>ru", true, false},
    {"%LOGIN", "%'ul", false, true},       {"%MYADDR", "%'la", false, false},
    {"%MYPORT", "%'lp", false, false},     {"%TAG", "%'et", false, false},
    {"%EXT_USER", "%'ue", false, false},   {"%EXT_LOG", "%'ea", false, false},
    {"%SRCEUI48", "%'>eui", false, false}, {"%SRCEUI64", "%'>eui", false, false},
    {"%ul", "%'ul", false, true},          {"%credentials", "%'ul", false, true},
};

/* %>{Header} and %{Header} of old, as the format language has it now. */
static bt_str header_token(bt_str word, struct bt_arena *arena)
{
    size_t at = 1;
    bool reply = word.len > 1 && word.at[1] == '<';

    if (word.len > 1 && (word.at[1] == '>' || reply))
        at++;
    if (word.len < at + 3 || word.at[at] != '{' || word.at[word.len - 1] != '}')
        return BT_STR_NONE;
    bt_str name = {word.at + at, word.len - at};
    return bt_str_printf(arena, "%%'%.*s%sh", BT_STR_ARGS(name), reply ? "<" : ">");
}

static bool ends_in(bt_str text, const char *end)
{
    size_t n = strlen(end);

    return text.len >= n && memcmp(text.at + text.len - n, end, n) == 0;
}

/* One word of FORMAT. */
static bool token_add(struct external *type, const struct bt_word *at, struct bt_arena *arena,
                      struct bt_error *err)
{
    struct token *token = &type->token[type->n++];
    bt_str text = at->text, header;

    token->percent = true;
    if (bt_str_eq(text, BT_STR("%DATA"))) {
        token->kind = TOKEN_DATA;
        type->has_data = true;
        return true;
    }
    if (bt_str_eq(text, BT_STR("%ACL"))) {
        token->kind = TOKEN_ACL;
        return true;
    }
    for (size_t i = 0; i < sizeof old_tokens / sizeof *old_tokens; i++)
        if (bt_str_eq(text, text_of(old_tokens[i].name))) {
            type->login |= old_tokens[i].login;
            token->percent = !old_tokens[i].url;
            token->format = bt_format_new(arena, NULL, text_of(old_tokens[i].code), err);
            return token->format != NULL;
        }
    header = header_token(text, arena);
    if (header.at != NULL) {
        token->format = bt_format_new(arena, at, header, err);
    } else if (text.len > 2 && text.at[0] == '%' &&
               strchr("\"[#/'%-0123456789", text.at[1]) == NULL &&
               memchr(text.at + 1, '%', text.len - 1) == NULL) {
        /* One code without an encoding of its own: it gets ours. */
        token->percent = !ends_in(text, "ru") && !ends_in(text, "rp");
        text = bt_str_printf(arena, "%%'%.*s", (int)text.len - 1, text.at + 1);
        token->format = bt_format_new(arena, at, text, err);
    } else {
        token->percent = false;
        token->format = bt_format_new(arena, at, text, err);
    }
    return token->format != NULL;
}

static const struct bt_option option_rows[] = {
    {"ttl", "int(-1..)", "3600", "Seconds that an OK is remembered.", offsetof(struct options, ttl),
     BT_BUILT},
    {"negative_ttl", "int(-1..)", "-1", "Seconds that an ERR is remembered; -1: as ttl.",
     offsetof(struct options, negative_ttl), BT_BUILT},
    {"grace", "percent", "0", "Ask again, without waiting, when so much of ttl is left.",
     offsetof(struct options, grace), BT_BUILT},
    {"cache", "int(0..)", "262144", "Answers remembered, by all workers together.",
     offsetof(struct options, cache), BT_BUILT},
    {"children", "int(0..)", "0", "The old name of children-max.",
     offsetof(struct options, children), BT_BUILT},
    {"children-max", "int(0..)", "5", "Processes of each worker, at most.",
     offsetof(struct options, children_max), BT_BUILT},
    {"children-startup", "int(0..)", "0", "Processes started with each worker.",
     offsetof(struct options, startup), BT_BUILT},
    {"children-idle", "int(0..)", "1", "Processes kept free beside those that are busy.",
     offsetof(struct options, idle), BT_BUILT},
    {"concurrency", "int(0..)", "0", "Questions that a process can have at once, by channels.",
     offsetof(struct options, concurrency), BT_BUILT},
    {"queue-size", "int(-1..)", "-1", "Questions that may wait; twice children-max if not given.",
     offsetof(struct options, queue), BT_BUILT},
    {"on-persistent-overload", "die|ERR", "ERR", "Overload refuses; nothing ever dies of it.",
     offsetof(struct options, overload), BT_BUILT},
    {"protocol", "2.5|3.0", "3.0", "2.5: values in quotes instead of percent-encoded.",
     offsetof(struct options, protocol), BT_BUILT},
    {"timeout", "int(1..)", "60", "Seconds that an answer may take.",
     offsetof(struct options, timeout), BT_BUILT},
    {"ipv4", NULL, NULL, "No effect: helpers are spoken to over a local socket.",
     offsetof(struct options, ipv4), BT_BUILT},
    {"ipv6", NULL, NULL, "No effect, as ipv4.", offsetof(struct options, ipv6), BT_BUILT},
};

static const struct external *type_find(const struct conf *conf, bt_str name)
{
    for (const struct external *type = conf->first; type != NULL; type = type->next)
        if (bt_str_eq(type->name->text, name))
            return type;
    return NULL;
}

static bool is_format(const struct bt_word *word)
{
    return word->quoted || (word->text.len > 0 && word->text.at[0] == '%');
}

/* A name of counters: what is no letter or digit becomes a _. */
static const char *pool_name(bt_str name, struct bt_arena *arena)
{
    bt_str copy = bt_str_printf(arena, "external_%.*s", BT_STR_ARGS(name));

    for (char *at = (char *)(uintptr_t)copy.at; *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (*at >= '0' && *at <= '9')))
            *at = '_';
    return copy.at;
}

static void pool_make(struct external *type, struct bt_args command, struct bt_arena *arena)
{
    const struct options *o = type->options;
    struct bt_helper_options pool = {
        .name = pool_name(type->name->text, arena),
        .command = command,
        .children = o->children > 0 ? o->children : o->children_max,
        .startup = o->startup,
        .idle = o->idle,
        .concurrency = o->concurrency,
        .queue = o->queue,
        .timeout = {o->timeout * 1000},
    };

    type->pool = bt_helper_new(arena, &pool);
    type->ttl_ms = (o->ttl < 0 ? 3600 : o->ttl) * 1000;
    type->negative_ttl_ms = o->negative_ttl < 0 ? type->ttl_ms : o->negative_ttl * 1000;
}

/* Words from number *i on as long as they are of FORMAT. */
static bool format_take(struct external *type, const struct bt_line *line, size_t *i,
                        struct bt_error *err)
{
    const struct bt_word *word = line->args.word;
    size_t from = *i;
    bool good = true;

    type->token = bt_alloc(line->arena, line->args.n * sizeof *type->token);
    for (; *i < line->args.n && is_format(&word[*i]); (*i)++)
        good &= token_add(type, &word[*i], line->arena, err);
    for (size_t t = 0; t < type->n; t++)
        if (type->token[t].format != NULL &&
            bt_format_earliest(type->token[t].format) > type->earliest)
            type->earliest = bt_format_earliest(type->token[t].format);
    if (*i == from)
        return bt_complain(err, from < line->args.n ? &word[from] : &line->name,
                           "%s needs a format (%%SRC, %%>a ...) before the program",
                           line->name.text.at);
    return good;
}

static bool external_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    static const struct bt_grammar option_words = {.args = "options",
                                                   .option = option_rows,
                                                   .options = sizeof option_rows /
                                                              sizeof *option_rows,
                                                   .option_size = sizeof(struct options)};
    static const struct bt_grammar program_words = {.args = "command"};
    struct conf *conf = conf_;
    const struct bt_word *word = line->args.word;
    struct external *type = bt_alloc(line->arena, sizeof *type);
    struct bt_fit options, program;
    size_t i = 1;

    type->name = &word[0];
    if (type_find(conf, word[0].text) != NULL)
        return bt_complain(err, &word[0], "there is an external_acl_type %s already",
                           word[0].text.at);
    while (i < line->args.n && !is_format(&word[i]) && word[i].text.at[0] != '/')
        i++;
    bool good = bt_fit(&option_words, (struct bt_args){word + 1, i - 1}, &line->name, line->arena,
                       err, &options);
    type->options = options.options;
    good &= format_take(type, line, &i, err);
    if (i == line->args.n)
        return bt_complain(err, &line->name, "%s: the program is missing", line->name.text.at);
    struct bt_args command = {word + i, line->args.n - i};
    good &= bt_fit(&program_words, command, &line->name, line->arena, err, &program);
    if (good)
        pool_make(type, command, line->arena);
    struct external **at = &conf->first;
    while (*at != NULL)
        at = &(*at)->next;
    *at = type;
    return good;
}

/* ---- answers ---- */

struct acl {
    const struct external *type;
    struct external *mine; /* the same, to be changed by the worker */
    bt_str name;
    struct bt_args data;
};

/* An exchange that waits, or has waited, for the answer about one ACL. */
struct wait {
    struct wait *next; /* of the exchange */
    const struct acl *acl;
    struct bt_txn *txn;
    const struct answer *answer;    /* in the exchange's arena; NULL: not there yet */
    struct wait *next_waiter, **at; /* of the question; at NULL: not in its list */
};

/* A question under way. */
struct pending {
    struct bt_helper_ask ask;
    struct external *type;
    struct wait *waiters;
    bt_str line, key;
    bool keep; /* the answer may be remembered */
};

struct waits {
    struct wait *first;
};

/* What was said about the exchange. */
static enum bt_match answer_apply(const struct answer *answer, struct bt_txn *txn)
{
    static const struct {
        const char *key;
        enum bt_who who;
    } known[] = {
        {"user", BT_WHO_EXTERNAL}, {"password", BT_WHO_PASSWORD}, {"message", BT_WHO_MESSAGE},
        {"tag", BT_WHO_TAG},       {"log", BT_WHO_LOG},
    };

    for (size_t i = 0; i < answer->n; i++) {
        const struct bt_helper_pair *pair = &answer->pair[i];
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (bt_str_eq(pair->key, text_of(known[k].key)) &&
                (known[k].who != BT_WHO_TAG || bt_who(txn, BT_WHO_TAG).len == 0))
                bt_who_set(txn, known[k].who, pair->value);
        bt_note_set(txn, BT_NOTE_EXCHANGE, pair->key, pair->value);
        if (bt_str_eq(pair->key, BT_STR("clt_conn_tag")))
            bt_note_set(txn, BT_NOTE_CLIENT, pair->key, pair->value);
    }
    return answer->match;
}

/* ---- asking ---- */

static void wait_leave(void *what)
{
    struct wait *wait = what;

    if (wait->at == NULL)
        return;
    *wait->at = wait->next_waiter;
    if (wait->next_waiter != NULL)
        wait->next_waiter->at = wait->at;
    wait->at = NULL;
}

static void remember(struct pending *pending, enum bt_match match,
                     const struct bt_helper_reply *reply)
{
    const struct external *type = pending->type;
    struct answer_times times = {match == BT_YES ? type->ttl_ms : type->negative_ttl_ms,
                                 type->options->grace};

    if (times.ttl_ms > 0 && type->answers != NULL && match != BT_BROKEN && pending->keep)
        answer_remember(type->answers, pending->line, match, reply, &times);
}

static void answered(struct bt_helper_ask *ask, const struct bt_helper_reply *reply)
{
    struct pending *pending = (struct pending *)ask;
    enum bt_match match = reply->result == BT_HELPER_OK    ? BT_YES
                          : reply->result == BT_HELPER_ERR ? BT_NO
                                                           : BT_BROKEN;
    struct wait *wait;

    if (match == BT_BROKEN)
        bt_count(broken);
    if (reply->result == BT_HELPER_BH || reply->result == BT_HELPER_TEXT)
        bt_log_limited(NULL, BT_WARN, 60, "external_acl_type %s: a helper could not answer: %.*s",
                       pending->type->name->text.at,
                       BT_STR_ARGS(bt_helper_value(reply, "message").len > 0
                                       ? bt_helper_value(reply, "message")
                                       : reply->text));
    remember(pending, match, reply);
    while ((wait = pending->waiters) != NULL) {
        wait_leave(wait);
        wait->answer = answer_copy(bt_txn_arena(wait->txn), match, reply);
        bt_resume(wait->txn);
    }
    bt_lru_drop(pending->type->asking, pending->key);
}

/* Ask, or find who asks the same. */
static struct pending *question(struct external *type, bt_str line, struct bt_arena *arena)
{
    bool share = type->ttl_ms > 0 || type->negative_ttl_ms > 0;
    bt_str key = line;
    struct pending *pending = share ? bt_lru_find(type->asking, line) : NULL;

    if (pending != NULL) {
        bt_count(shared);
        return pending;
    }
    if (!share)
        key = bt_str_printf(arena, "%llu %.*s", (unsigned long long)++type->number,
                            BT_STR_ARGS(line));
    pending = bt_lru_add(type->asking, key, sizeof *pending + key.len);
    char *copy = (char *)(pending + 1);
    memcpy(copy, key.at, key.len);
    pending->key = (bt_str){copy, key.len};
    pending->line = (bt_str){copy + (key.len - line.len), line.len};
    pending->type = type;
    pending->keep = share;
    pending->ask.done = answered;
    bt_count(questions);
    bt_helper_ask(type->pool, &pending->ask, pending->line);
    return pending;
}

/* ---- the line ---- */

struct line {
    char *at;
    size_t len, cap;
};

static void line_add(struct line *line, bt_str text)
{
    if (line->len > 0 && line->len < line->cap)
        line->at[line->len++] = ' ';
    size_t n = text.len < line->cap - line->len ? text.len : line->cap - line->len;
    if (n > 0)
        memcpy(line->at + line->len, text.at, n);
    line->len += n;
}

/* As protocol=2.5 had it: in quotes, where there is something to quote. */
static bt_str quoted(struct bt_arena *arena, bt_str text)
{
    char *copy = bt_alloc_raw(arena, 2 * text.len + 3), *to = copy;
    bool needed = false;

    *to++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        needed |= strchr(" \t\"\\\r\n", c) != NULL;
        if (c == '"' || c == '\\' || c == '\r' || c == '\n')
            *to++ = '\\';
        *to++ = c == '\r' ? 'r' : c == '\n' ? 'n' : c;
    }
    *to++ = '"';
    return needed ? (bt_str){copy, (size_t)(to - copy)} : text.len > 0 ? text : BT_STR("-");
}

static bt_str word_of(const struct external *type, struct bt_arena *arena, bt_str text,
                      bool percent)
{
    return type->options->protocol == 0 ? quoted(arena, text)
                                        : bt_helper_word(arena, text, percent);
}

static void data_add(struct line *line, const struct acl *acl, struct bt_arena *arena)
{
    if (acl->data.n == 0)
        line_add(line, BT_STR("-"));
    for (size_t i = 0; i < acl->data.n; i++)
        line_add(line, word_of(acl->type, arena, acl->data.word[i].text, true));
}

static bt_str line_make(const struct acl *acl, struct bt_txn *txn)
{
    enum { VALUE = 16 * 1024 };
    static char value[VALUE], room[LINE_MAX_];
    struct line line = {room, 0, sizeof room};
    struct bt_arena *arena = bt_txn_arena(txn);
    const struct external *type = acl->type;

    for (size_t i = 0; i < type->n; i++) {
        const struct token *token = &type->token[i];
        if (token->kind == TOKEN_DATA) {
            data_add(&line, acl, arena);
        } else if (token->kind == TOKEN_ACL) {
            line_add(&line, word_of(type, arena, acl->name, true));
        } else {
            size_t n = bt_format_render(token->format, txn, value, sizeof value);
            line_add(&line, word_of(type, arena, (bt_str){value, n}, token->percent));
        }
    }
    /* Without data, Squid says nothing of it unless asked. */
    if (!type->has_data && acl->data.n > 0)
        data_add(&line, acl, arena);
    else if (!type->has_data)
        line_add(&line, BT_STR("-"));
    return bt_str_copy(arena, (bt_str){line.at, line.len});
}

/* ---- the ACL type `external` ---- */

static void *external_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct conf *conf = bt_self.conf;
    const struct external *type = type_find(conf, args.word[0].text);
    struct acl *acl;

    if (type == NULL) {
        const char *names[64] = {NULL};
        size_t n = 0;
        for (type = conf->first; type != NULL && n < 63; type = type->next)
            names[n++] = type->name->text.at;
        const char *near = bt_nearest(args.word[0].text, names);
        bt_complain(err, &args.word[0], "there is no external_acl_type %s%s%s%s",
                    args.word[0].text.at, near != NULL ? "; did you mean '" : "",
                    near != NULL ? near : "", near != NULL ? "'?" : "");
        return NULL;
    }
    if (type->earliest > BT_AT_REQUEST) {
        bt_complain(err, &args.word[0],
                    "external_acl_type %s asks for what is known only with the response",
                    type->name->text.at);
        return NULL;
    }
    if (type->login)
        bt_acl_asks_login();
    acl = bt_alloc(arena, sizeof *acl);
    acl->type = type;
    acl->mine = (struct external *)(uintptr_t)type;
    acl->name = bt_acl_name();
    acl->data = (struct bt_args){args.word + 1, args.n - 1};
    return acl;
}

/* Ahead of time, by one worker alone: the others are told to wait for its answer, but not for ever. */
static void refresh(struct external *type, bt_str line, const struct stored *head,
                    struct bt_arena *arena)
{
    enum { PATIENCE_MS = 5000 };
    int64_t now = bt_wall_ms(), again_ms = now + PATIENCE_MS;

    if (now < head->again_ms || bt_lru_find(type->asking, line) != NULL)
        return;
    bt_count(refreshed);
    bt_dict_update(type->answers, line, answer_again_later, &again_ms);
    (void)question(type, line, arena);
}

static enum bt_match cached_ask(const struct acl *acl, struct bt_txn *txn, bt_str line, bool *found)
{
    struct external *type = acl->mine;
    struct stored head;
    const struct answer *answer = type->answers == NULL ? NULL
                                                        : answer_recall(type->answers, line,
                                                                        bt_txn_arena(txn), &head);

    *found = answer != NULL;
    if (!*found)
        return BT_NO;
    bt_count(cached);
    enum bt_match said = answer_apply(answer, txn);
    refresh(type, line, &head, bt_txn_arena(txn));
    return said;
}

static enum bt_match external_match(const void *compiled, struct bt_txn *txn)
{
    const struct acl *acl = compiled;
    struct waits *waits = bt_txn_ctx(txn);
    struct wait *wait = waits->first;
    bool found;

    while (wait != NULL && wait->acl != acl)
        wait = wait->next;
    if (wait != NULL)
        return wait->answer == NULL ? BT_WAIT : answer_apply(wait->answer, txn);
    if (acl->type->login) {
        enum bt_match said = bt_login(txn);
        if (said != BT_YES)
            return said == BT_WAIT ? BT_WAIT : BT_BROKEN;
    }
    bt_str line = line_make(acl, txn);
    enum bt_match said = cached_ask(acl, txn, line, &found);
    if (found || !bt_may_wait())
        return found ? said : BT_WAIT;
    struct pending *pending = question(acl->mine, line, bt_txn_arena(txn));
    wait = bt_alloc(bt_txn_arena(txn), sizeof *wait);
    *wait = (struct wait){waits->first, acl, txn, NULL, pending->waiters, &pending->waiters};
    if (pending->waiters != NULL)
        pending->waiters->at = &wait->next_waiter;
    pending->waiters = wait;
    waits->first = wait;
    bt_defer(bt_txn_arena(txn), wait_leave, wait);
    return BT_WAIT;
}

/* ---- what external ACLs have said ---- */

struct words {
    struct bt_args args;
    bool any; /* REQUIRED */
};

/* -i and +i stand before the words they speak of. */
static void *words_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct words *words = bt_alloc(arena, sizeof *words);

    (void)err;
    words->args = args;
    for (size_t i = 0; i < args.n; i++)
        words->any |= bt_str_eq(args.word[i].text, BT_STR("REQUIRED"));
    return words;
}

static bool words_have(const struct words *words, bt_str text)
{
    bool nocase = false;

    for (size_t i = 0; i < words->args.n; i++) {
        const struct bt_word *word = &words->args.word[i];
        if (!word->quoted && bt_str_eq(word->text, BT_STR("-i")))
            nocase = true;
        else if (!word->quoted && bt_str_eq(word->text, BT_STR("+i")))
            nocase = false;
        else if (nocase ? bt_str_eq_nocase(word->text, text) : bt_str_eq(word->text, text))
            return true;
    }
    return words->any && text.len > 0;
}

static enum bt_match ext_user_match(const void *compiled, struct bt_txn *txn)
{
    bt_str user = bt_who(txn, BT_WHO_EXTERNAL);

    return user.len > 0 && words_have(compiled, user) ? BT_YES : BT_NO;
}

static enum bt_match tag_match(const void *compiled, struct bt_txn *txn)
{
    bt_str tag = bt_who(txn, BT_WHO_TAG);

    return tag.len > 0 && words_have(compiled, tag) ? BT_YES : BT_NO;
}

struct regexes {
    size_t n;
    struct bt_regex *regex[];
};

static void *ext_regex_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct regexes *all = bt_alloc(arena, sizeof *all + args.n * sizeof *all->regex);
    bool nocase = false, good = true;

    for (size_t i = 0; i < args.n; i++) {
        const struct bt_word *word = &args.word[i];
        const char *why;
        size_t offset;
        if (!word->quoted && bt_str_eq(word->text, BT_STR("-i"))) {
            nocase = true;
        } else if (!word->quoted && bt_str_eq(word->text, BT_STR("+i"))) {
            nocase = false;
        } else {
            all->regex[all->n] = bt_regex_new(arena, word->text, nocase, &why, &offset);
            if (all->regex[all->n] == NULL)
                good = bt_complain(err, word, "%s", why);
            else
                all->n++;
        }
    }
    return good ? all : NULL;
}

static enum bt_match ext_regex_match(const void *compiled, struct bt_txn *txn)
{
    const struct regexes *all = compiled;
    bt_str user = bt_who(txn, BT_WHO_EXTERNAL);

    for (size_t i = 0; i < all->n && user.len > 0; i++) {
        enum bt_match said = bt_regex_match(all->regex[i], user);
        if (said != BT_NO)
            return said;
    }
    return BT_NO;
}

/* ---- the module ---- */

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    const struct conf *conf = conf_;
    struct timespec now; /* a name that no other generation has: a reload forgets, as in Squid */
    unsigned number = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    for (struct external *type = conf->first; type != NULL; type = type->next) {
        int64_t cache = type->options->cache;
        if (cache == 0 || (type->ttl_ms <= 0 && type->negative_ttl_ms <= 0))
            continue;
        bt_str name = bt_str_printf(arena, "acl_external-%u-%lld", number++,
                                    (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
        type->answers = bt_dict_make(name.at, answers_memory(cache), err);
        if (type->answers == NULL)
            return false;
        bt_dict_limit(type->answers, (uint64_t)cache);
    }
    return true;
}

static bool start(void *conf_)
{
    const struct conf *conf = conf_;

    for (struct external *type = conf->first; type != NULL; type = type->next) {
        type->asking = bt_lru_new(0);
        bt_helper_start(type->pool);
    }
    return true;
}

static void stop(void *conf_)
{
    const struct conf *conf = conf_;

    for (struct external *type = conf->first; type != NULL; type = type->next) {
        bt_helper_stop(type->pool);
        bt_lru_free(type->asking);
    }
}

static const struct bt_directive directives[] = {
    {.name = "external_acl_type",
     .args = "word word word...",
     .doc = "Names a helper program that decides: external_acl_type NAME [options] FORMAT... "
            "PROGRAM [arguments]. Options: ttl=, negative_ttl=, grace=, cache=, children-max=, "
            "children-startup=, children-idle=, concurrency=, queue-size=, timeout=, protocol=. "
            "Processes are of each worker, remembered answers of all together.",
     .set = external_set},
};

static const struct bt_acl_type types[] = {
    {.name = "external",
     .args = "word [word...]",
     .doc = "A helper of external_acl_type says so; further words are told to it.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_SLOW,
     .compile = external_compile,
     .match = external_match,
     .cost = 3},
    {.name = "ext_user",
     .args = "word...",
     .doc = "The user that an external ACL named is one of these; REQUIRED: it named one.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_FRESH | BT_FOLDS | BT_ANEW,
     .compile = words_compile,
     .match = ext_user_match},
    {.name = "ext_user_regex",
     .args = "regex...",
     .doc = "The name of the user that an external ACL named matches.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_FRESH | BT_FOLDS | BT_ANEW,
     .compile = ext_regex_compile,
     .match = ext_regex_match,
     .cost = 2},
    {.name = "tag",
     .args = "word...",
     .doc = "An external ACL has set this tag.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_FRESH | BT_ANEW,
     .compile = words_compile,
     .match = tag_match},
};

BT_MODULE(acl_external, "Access decided by helper programs: external_acl_type and its ACL types.",
          .conf_size = sizeof(struct conf), .txn_size = sizeof(struct waits),
          .directives = BT_ROWS(directives), .counters = BT_ROWS(bt_counters),
          .acl_types = BT_ROWS(types), .setup = setup, .start = start, .stop = stop);
