/* auth.c - auth_param lines, the login of an exchange, challenges, and brute force slowed down.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct bt_counter counters[] = {COUNTERS(BT_ROW_)};

static const char *const scheme_names[] = {"Basic", "Digest", "Negotiate", "NTLM"};

/* ---- auth_param ---- */

enum param_of { OF_BASIC = 1, OF_DIGEST = 2, OF_NEGOTIATE = 4, OF_NTLM = 8, OF_ALL = 15 };

struct param {
    const char *name;
    struct bt_grammar grammar;
    unsigned of;
    bool (*set)(struct scheme *, const struct bt_fit *, const struct bt_line *, struct bt_error *);
};
#define SETTER(name)                                                                               \
    static bool name(struct scheme *scheme, const struct bt_fit *fit, const struct bt_line *line,  \
                     struct bt_error *err)
#define UNUSED (void)line, (void)err

static bool is_on(const struct bt_fit *fit)
{
    return bt_str_eq(fit->args.word[0].text, BT_STR("on"));
}

static int64_t number(const struct bt_fit *fit)
{
    return strtoll(fit->args.word[0].text.at, NULL, 10);
}

/* In process: the helper that nearly everybody has, given nothing but a file. */
static bool is_ncsa(const struct bt_args *words)
{
    const char *path = words->word[0].text.at, *base = strrchr(path, '/');

    return words->n == 2 && strcmp(base == NULL ? path : base + 1, "basic_ncsa_auth") == 0;
}

static bool file_set(struct scheme *scheme, const struct bt_word *at, struct bt_error *err)
{
    struct stat about;
    int fd = open(at->text.at, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return bt_complain(err, at, "the password file %s cannot be read: %s", at->text.at,
                           strerror(errno));
    bool plain = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    close(fd);
    scheme->file = at->text.at;
    return plain || bt_complain(err, at, "the password file %s is not a file", at->text.at);
}

SETTER(set_program)
{
    static const struct bt_grammar command = {.args = "command"};
    struct bt_args words = {line->args.word + 2, line->args.n - 2};
    struct bt_fit checked;

    (void)fit;
    if (scheme->program.n > 0)
        bt_caution(err, &line->args.word[1], "the last of several programs for %s stands",
                   scheme->name);
    scheme->program = words;
    scheme->file = NULL;
    if (scheme->kind == SCHEME_BASIC && is_ncsa(&words))
        return file_set(scheme, &words.word[1], err);
    return bt_fit(&command, words, &line->name, line->arena, err, &checked);
}

SETTER(set_children)
{
    UNUSED;
    scheme->max = number(fit);
    scheme->children = *(const struct children *)fit->options;
    return true;
}

SETTER(set_realm)
{
    bt_str text = line->text; /* as written, with its quotes */

    (void)fit, (void)err;
    for (int words = 0; words < 2; words++) {
        while (text.len > 0 && text.at[0] != ' ' && text.at[0] != '\t')
            text = (bt_str){text.at + 1, text.len - 1};
        while (text.len > 0 && (text.at[0] == ' ' || text.at[0] == '\t'))
            text = (bt_str){text.at + 1, text.len - 1};
    }
    if (text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"')
        text = (bt_str){text.at + 1, text.len - 2};
    scheme->realm = text;
    return true;
}

SETTER(set_extras)
{
    scheme->extras = bt_format_new(line->arena, &fit->args.word[0], fit->args.word[0].text, err);
    return scheme->extras != NULL;
}

#define SET_BOOL(field)                                                                            \
    SETTER(set_##field)                                                                            \
    {                                                                                              \
        UNUSED;                                                                                    \
        scheme->field = is_on(fit);                                                                \
        return true;                                                                               \
    }
SET_BOOL(utf8)
SET_BOOL(casesensitive)
SET_BOOL(blank_password)
SET_BOOL(keep_alive)
SET_BOOL(strict)
SET_BOOL(check_count)
#define SET_NUMBER(field)                                                                          \
    SETTER(set_##field)                                                                            \
    {                                                                                              \
        UNUSED;                                                                                    \
        scheme->field = number(fit);                                                               \
        return true;                                                                               \
    }
SET_NUMBER(concurrency)
SET_NUMBER(credentials_ms)
SET_NUMBER(nonce_ms)
SET_NUMBER(nonce_uses)

SETTER(set_algorithm)
{
    UNUSED;
    scheme->sha256 = bt_str_eq(fit->args.word[0].text, BT_STR("SHA-256"));
    return true;
}

SETTER(set_nothing)
{
    UNUSED;
    (void)scheme, (void)fit;
    return true;
}

static const struct bt_option children_rows[] = {
    {"startup", "int(0..)", "0", "Processes started with each worker.",
     offsetof(struct children, startup), BT_BUILT},
    {"idle", "int(0..)", "1", "Processes kept free beside those that are busy.",
     offsetof(struct children, idle), BT_BUILT},
    {"concurrency", "int(0..)", "0", "Questions that a process can have at once.",
     offsetof(struct children, concurrency), BT_BUILT},
    {"queue-size", "int(-1..)", "-1", "Questions that may wait; twice the children if not given.",
     offsetof(struct children, queue), BT_BUILT},
    {"on-persistent-overload", "die|ERR", "ERR", "Overload refuses; nothing ever dies of it.",
     offsetof(struct children, overload), BT_BUILT},
    {"reservation-timeout", "int(0..)", "60", "Seconds that an idle dialogue may hold a process.",
     offsetof(struct children, reservation), BT_BUILT},
};
#define CHILDREN                                                                                   \
    {                                                                                              \
        .args = "int(0..) options", .option = children_rows,                                       \
        .options = sizeof children_rows / sizeof *children_rows,                                   \
        .option_size = sizeof(struct children)                                                     \
    }
#define WORDS(text)                                                                                \
    {                                                                                              \
        .args = text, .unit = "seconds"                                                            \
    }

static const struct param params[] = {
    {"program", WORDS("word [word...]"), OF_ALL, set_program},
    {"children", CHILDREN, OF_ALL, set_children},
    {"realm", WORDS("text"), OF_ALL, set_realm},
    {"key_extras", WORDS("word"), OF_ALL, set_extras},
    {"keep_alive", WORDS("on|off"), OF_ALL, set_keep_alive},
    {"utf8", WORDS("on|off"), OF_ALL, set_utf8},
    {"concurrency", WORDS("int(0..)"), OF_ALL, set_concurrency},
    {"credentialsttl", WORDS("duration"), OF_BASIC, set_credentials_ms},
    {"casesensitive", WORDS("on|off"), OF_BASIC, set_casesensitive},
    {"blankpassword", WORDS("on|off"), OF_BASIC, set_blank_password},
    {"algorithm", WORDS("word"), OF_DIGEST, set_algorithm},
    {"nonce_garbage_interval", WORDS("duration"), OF_DIGEST, set_nothing},
    {"nonce_max_duration", WORDS("duration"), OF_DIGEST, set_nonce_ms},
    {"nonce_max_count", WORDS("int(1..)"), OF_DIGEST, set_nonce_uses},
    {"nonce_strictness", WORDS("on|off"), OF_DIGEST, set_strict},
    {"check_nonce_count", WORDS("on|off"), OF_DIGEST, set_check_count},
    {"post_workaround", WORDS("on|off"), OF_DIGEST, set_nothing},
    {"max_challenge_reuses", WORDS("int(0..)"), OF_NTLM, set_nothing},
    {"max_challenge_lifetime", WORDS("duration"), OF_NTLM, set_nothing},
    {"use_ntlm_negotiate", WORDS("on|off"), OF_NTLM, set_nothing},
};
enum { PARAMS = sizeof params / sizeof *params };

static struct scheme *scheme_of(struct auth_conf *conf, const struct bt_word *name)
{
    for (unsigned i = 0; i < SCHEMES; i++)
        if (bt_str_eq_nocase(name->text, (bt_str){scheme_names[i], strlen(scheme_names[i])})) {
            struct scheme *scheme = &conf->scheme[i];
            if (scheme->order == 0)
                *scheme = (struct scheme){
                    .kind = (enum scheme_kind)i,
                    .name = scheme_names[i],
                    .order = ++conf->orders,
                    .at = *name,
                    .max = i == SCHEME_BASIC ? 5 : 20,
                    .children = {.idle = 1, .queue = -1, .reservation = 60},
                    .concurrency = -1,
                    .realm = BT_STR("Bobtail proxy-caching web server"),
                    .keep_alive = true,
                    .credentials_ms = 2 * 3600 * 1000,
                    .nonce_ms = 30 * 60 * 1000,
                    .nonce_uses = 50,
                    .check_count = true,
                };
            return scheme;
        }
    return NULL;
}

static bool auth_param_set(void *conf, const struct bt_line *line, struct bt_error *err)
{
    const struct bt_word *param = &line->args.word[1];
    struct scheme *scheme = scheme_of(conf, &line->args.word[0]);
    const char *names[PARAMS + 1];
    struct bt_args words = {line->args.word + 2, line->args.n - 2};
    size_t n = 0;

    for (size_t i = 0; i < PARAMS; i++) {
        const struct param *row = &params[i];
        struct bt_fit fit;
        if ((row->of & 1u << scheme->kind) == 0)
            continue;
        names[n++] = row->name;
        if (bt_str_eq(param->text, (bt_str){row->name, strlen(row->name)}))
            return bt_fit(&row->grammar, words, param, line->arena, err, &fit) &&
                   row->set(scheme, &fit, line, err);
    }
    names[n] = NULL;
    const char *near = bt_nearest(param->text, names);
    if (bt_str_eq(param->text, BT_STR("credentialsttl"))) { /* written for all schemes by some */
        bt_caution(err, param, "%s has no parameter '%s': it is ignored",
                   line->args.word[0].text.at, param->text.at);
        return true;
    }
    return bt_complain(err, param, "%s has no parameter '%s'%s%s%s", line->args.word[0].text.at,
                       param->text.at, near != NULL ? "; did you mean '" : "",
                       near != NULL ? near : "", near != NULL ? "'?" : "");
}

bool scheme_offered(const struct scheme *scheme)
{
    return scheme->order != 0 && scheme->program.n > 0;
}

bool auth_offered(void)
{
    for (unsigned i = 0; i < SCHEMES; i++)
        if (scheme_offered(&auth->scheme[i]))
            return true;
    return false;
}

/* ---- setup, start, stop ---- */

static void pool_make(struct scheme *scheme, struct bt_arena *arena)
{
    static const char *const names[] = {"auth_basic", "auth_digest", "auth_negotiate", "auth_ntlm"};
    const struct children *c = &scheme->children;
    bool dialogue = scheme->kind == SCHEME_NEGOTIATE || scheme->kind == SCHEME_NTLM;
    struct bt_helper_options options = {
        .name = names[scheme->kind],
        .command = scheme->program,
        .children = scheme->max,
        .startup = c->startup,
        .idle = c->idle,
        .concurrency = dialogue                   ? 0
                       : scheme->concurrency >= 0 ? scheme->concurrency
                                                  : c->concurrency,
        .queue = c->queue,
        .reserved = {c->reservation == 0 ? -1 : c->reservation * 1000},
    };

    scheme->pool = bt_helper_new(arena, &options);
}

/* With the configuration, since the thread that reads it is not waited for. */
static void file_gone(void *scheme)
{
    passwd_free(((struct scheme *)scheme)->passwd);
}

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct auth_conf *conf = conf_;

    if (!shared_make(err))
        return false;
    for (unsigned i = 0; i < SCHEMES; i++) {
        struct scheme *scheme = &conf->scheme[i];
        if (scheme->order != 0 && scheme->program.n == 0)
            bt_caution(err, &scheme->at, "%s is not offered: auth_param %s program is missing",
                       scheme->name, scheme->at.text.at);
        else if (scheme->order != 0 && scheme->file == NULL)
            pool_make(scheme, arena);
        else if (scheme->file != NULL)
            bt_defer(arena, file_gone, scheme);
    }
    return true;
}

static bool start(void *conf_)
{
    struct auth_conf *conf = conf_;

    for (unsigned i = 0; i < SCHEMES; i++) {
        struct scheme *scheme = &conf->scheme[i];
        if (!scheme_offered(scheme))
            continue;
        scheme->asking = bt_lru_new(0);
        if (scheme->pool != NULL)
            bt_helper_start(scheme->pool);
        if (scheme->file != NULL) {
            scheme->passwd = passwd_new(scheme->file);
            if (access(scheme->file, R_OK) != 0)
                bt_log(NULL, BT_WARN,
                       "%s cannot be read by the user that workers run as, so that "
                       "nobody can log in; let its group read it",
                       scheme->file);
            if (!bt_work_open())
                return false;
        }
    }
    return true;
}

static void stop(void *conf_)
{
    struct auth_conf *conf = conf_;

    for (unsigned i = 0; i < SCHEMES; i++) {
        struct scheme *scheme = &conf->scheme[i];
        if (scheme->pool != NULL)
            bt_helper_stop(scheme->pool);
        bt_lru_free(scheme->asking);
        scheme->asking = NULL;
    }
}

/* ---- brute force ---- */

enum { FORGET_MS = 60 * 1000 };

/* Of an address, in all workers together; forgotten a minute after the last. */
struct failure {
    unsigned n;
};

static enum bt_dict_done failure_add(void *arg, struct bt_dict_entry *entry)
{
    struct failure *failure = entry->at;

    if (!entry->there || entry->len != sizeof *failure)
        *failure = (struct failure){0};
    failure->n++;
    entry->len = sizeof *failure;
    entry->left_ms = FORGET_MS;
    *(unsigned *)arg = failure->n;
    return BT_DICT_STORE;
}

/* How long the refusal is held back: nothing for the first three from an address within a minute,
 * then a quarter of a second, doubled each time, up to five seconds. */
static int64_t failure_note(struct bt_txn *txn)
{
    enum { FREE = 3, FIRST_MS = 250, MOST_MS = 5000 };
    uint8_t addr[16];
    unsigned n = 0;

    if (!bt_addr_bytes(bt_client_addr(txn), addr))
        return 0;
    bt_dict_update(auth->failures, (bt_str){(const char *)addr, sizeof addr}, failure_add, &n);
    if (n <= FREE)
        return 0;
    unsigned beyond = n - FREE - 1;
    int64_t ms = beyond > 8 ? MOST_MS : (int64_t)FIRST_MS << beyond;
    return ms < MOST_MS ? ms : MOST_MS;
}

/* ---- the login of an exchange ---- */

static unsigned held; /* refusals held back now; each costs a connection */

static void login_leave(void *what)
{
    struct login *login = what;

    if (login->timer != NULL) {
        bt_timer_cancel(login->timer);
        login->timer = NULL;
        held--;
    }
    if (login->waits_at == NULL)
        return;
    *login->waits_at = login->next;
    if (login->next != NULL)
        login->next->waits_at = login->waits_at;
    login->waits_at = NULL;
}

static void settle(struct login *login, enum login_state state)
{
    bool waited = login->state == LOGIN_WAITS;

    login->state = state;
    if (waited)
        bt_resume(login->txn);
}

void login_good(struct login *login, bt_str user)
{
    bt_who_set(login->txn, BT_WHO_LOGIN, user);
    users_seen(login->txn, user);
    settle(login, LOGIN_GOOD);
}

static void held_over(void *arg)
{
    struct login *login = arg;

    login->timer = NULL;
    held--;
    settle(login, LOGIN_BAD);
}

void login_bad(struct login *login, bt_str message)
{
    enum { HELD_MAX = 500 };
    int64_t ms = failure_note(login->txn);

    bt_count(bad);
    if (message.len > 0)
        bt_who_set(login->txn, BT_WHO_MESSAGE, message);
    if (ms == 0 || held >= HELD_MAX) {
        settle(login, LOGIN_BAD);
        return;
    }
    bt_count(slowed);
    held++;
    login->state = LOGIN_WAITS;
    login->timer = bt_timer_start((bt_duration){ms}, held_over, login);
}

void login_not_yet(struct login *login)
{
    settle(login, LOGIN_BAD);
}

/* "Basic eGV4" into its two words. */
static bool credentials_split(bt_str value, bt_str *name, bt_str *rest)
{
    const char *blank = value.len == 0 ? NULL : memchr(value.at, ' ', value.len);
    size_t len = blank == NULL ? value.len : (size_t)(blank - value.at);

    *name = (bt_str){value.at, len};
    while (len < value.len && value.at[len] == ' ')
        len++;
    *rest = (bt_str){value.at + len, value.len - len};
    return name->len > 0;
}

static void login_begin(struct login *login)
{
    bt_str value = bt_req_header(login->txn,
                                 bt_as_origin(login->txn) ? BT_STR("Authorization")
                                                          : BT_STR("Proxy-Authorization"),
                                 0),
           name, rest;

    login->state = LOGIN_BAD;
    if (value.at == NULL) {
        if (!negotiate_again(login))
            login->state = LOGIN_BAD;
        return;
    }
    if (!credentials_split(value, &name, &rest))
        return;
    for (unsigned i = 0; i < SCHEMES; i++) {
        struct scheme *scheme = &auth->scheme[i];
        if (!scheme_offered(scheme) ||
            !bt_str_eq_nocase(name, (bt_str){scheme->name, strlen(scheme->name)}))
            continue;
        bt_count(checks);
        login->scheme = scheme;
        login->state = LOGIN_NEW;
        if (i == SCHEME_BASIC)
            basic_login(login, rest);
        else if (i == SCHEME_DIGEST)
            digest_login(login, rest);
        else
            negotiate_login(login, rest);
        return;
    }
}

static enum bt_match ask(struct bt_txn *txn)
{
    struct login *login = bt_txn_ctx(txn);

    if (login->txn == NULL) {
        login->txn = txn;
        bt_defer(bt_txn_arena(txn), login_leave, login);
        login_begin(login);
    }
    return login->state == LOGIN_GOOD ? BT_YES : login->state == LOGIN_WAITS ? BT_WAIT : BT_NO;
}

/* ---- checks ---- */

struct check *check_join(struct login *login, bt_str key, bool *is_new)
{
    struct scheme *scheme = login->scheme;
    struct check *check = bt_lru_find(scheme->asking, key);

    *is_new = check == NULL;
    if (check == NULL) {
        check = bt_lru_add(scheme->asking, key, sizeof *check + key.len);
        memcpy(check + 1, key.at, key.len);
        check->key = (bt_str){(const char *)(check + 1), key.len};
        check->scheme = scheme;
        check->ask.done = check_answered;
    }
    login->state = LOGIN_WAITS;
    login->next = check->waiters;
    login->waits_at = &check->waiters;
    if (check->waiters != NULL)
        check->waiters->waits_at = &login->next;
    check->waiters = login;
    return check;
}

void check_done(struct check *check, const struct bt_helper_reply *reply)
{
    struct login *login;

    if (reply->result == BT_HELPER_OK)
        bt_count(good);
    else if (reply->result != BT_HELPER_ERR && reply->result != BT_HELPER_TT)
        bt_count(broken);
    while ((login = check->waiters) != NULL) {
        check->waiters = login->next;
        if (login->next != NULL)
            login->next->waits_at = &check->waiters;
        login->waits_at = NULL;
        check->each(check, login, reply);
    }
    bt_lru_drop(check->scheme->asking, check->key);
}

void check_answered(struct bt_helper_ask *ask_, const struct bt_helper_reply *reply)
{
    check_done((struct check *)ask_, reply);
}

/* ---- challenges ---- */

bt_str auth_quoted(struct bt_arena *arena, bt_str text)
{
    char *copy = bt_alloc_raw(arena, 2 * text.len + 3), *to = copy;

    *to++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '"' || text.at[i] == '\\')
            *to++ = '\\';
        *to++ = text.at[i];
    }
    *to++ = '"';
    *to = '\0';
    return (bt_str){copy, (size_t)(to - copy)};
}

bt_str auth_challenge_field(struct bt_txn *txn)
{
    return bt_as_origin(txn) ? BT_STR("WWW-Authenticate") : BT_STR("Proxy-Authenticate");
}

static bt_str challenge_of(const struct scheme *scheme, struct bt_txn *txn)
{
    struct bt_arena *arena = bt_txn_arena(txn);
    const struct login *login = bt_txn_ctx(txn);
    bt_str realm = auth_quoted(arena, scheme->realm), field = auth_challenge_field(txn);

    if (scheme->kind == SCHEME_BASIC)
        return bt_str_printf(arena, "%.*s: Basic realm=%.*s%s\r\n", BT_STR_ARGS(field),
                             BT_STR_ARGS(realm), scheme->utf8 ? ", charset=\"UTF-8\"" : "");
    if (scheme->kind == SCHEME_DIGEST) {
        bt_str rest = digest_challenge(scheme, txn, login->scheme == scheme && login->stale);
        return bt_str_printf(arena, "%.*s: Digest realm=%.*s, %.*s\r\n", BT_STR_ARGS(field),
                             BT_STR_ARGS(realm), BT_STR_ARGS(rest));
    }
    if (login->scheme == scheme && login->token.len > 0)
        return bt_str_printf(arena, "%.*s: %s %.*s\r\n", BT_STR_ARGS(field), scheme->name,
                             BT_STR_ARGS(login->token));
    /* Who has logged in, and may not: the last word stands in for it. */
    if (login->scheme == scheme && login->told)
        return BT_STR("");
    return bt_str_printf(arena, "%.*s: %s\r\n", BT_STR_ARGS(field), scheme->name);
}

/* keep_alive off: for clients that take a challenge of this scheme in the middle of a connection for
 * a failure. Not within a dialogue, which has but one connection. */
static void keep_or_not(const struct scheme *scheme, const struct login *login, struct bt_txn *txn)
{
    bool dialogue = scheme->kind == SCHEME_NEGOTIATE || scheme->kind == SCHEME_NTLM;

    if (dialogue && !scheme->keep_alive && login->scheme == NULL)
        bt_last(txn);
}

/* In order of first appearance; within a dialogue, its next word alone. */
static bt_str challenge(struct bt_txn *txn)
{
    struct bt_arena *arena = bt_txn_arena(txn);
    const struct login *login = bt_txn_ctx(txn);
    bt_str all = BT_STR("");

    bt_count(challenges);
    if (login->scheme != NULL && login->token.len > 0)
        return challenge_of(login->scheme, txn);
    for (unsigned order = 1; order <= auth->orders; order++)
        for (unsigned i = 0; i < SCHEMES; i++) {
            const struct scheme *scheme = &auth->scheme[i];
            if (scheme->order != order || !scheme_offered(scheme))
                continue;
            keep_or_not(scheme, login, txn);
            bt_str one = challenge_of(scheme, txn);
            all = bt_str_printf(arena, "%.*s%.*s", BT_STR_ARGS(all), BT_STR_ARGS(one));
        }
    return all;
}

/* ---- text ---- */

bt_str auth_extras(const struct scheme *scheme, struct bt_txn *txn)
{
    enum { EXTRAS_MAX = 4096 };
    static char buf[EXTRAS_MAX];

    if (scheme->extras == NULL)
        return BT_STR("");
    size_t n = bt_format_render(scheme->extras, txn, buf, sizeof buf);
    return bt_str_printf(bt_txn_arena(txn), " %.*s", (int)n, buf);
}

static bool is_utf8(bt_str text)
{
    unsigned more = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (more > 0) {
            if ((c & 0xc0) != 0x80)
                return false;
            more--;
        } else if (c >= 0x80) {
            if (c < 0xc2 || c > 0xf4)
                return false;
            more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        }
    }
    return more == 0;
}

bt_str auth_utf8(struct bt_arena *arena, bt_str text)
{
    if (is_utf8(text))
        return text;
    char *copy = bt_alloc_raw(arena, 2 * text.len + 1), *to = copy;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c >= 0x80) {
            *to++ = (char)(0xc0 | c >> 6);
            *to++ = (char)(0x80 | (c & 0x3f));
        } else {
            *to++ = (char)c;
        }
    }
    return (bt_str){copy, (size_t)(to - copy)};
}

bt_str auth_lower(struct bt_arena *arena, bt_str text)
{
    bt_str copy = bt_str_copy(arena, text);
    char *at = (char *)(uintptr_t)copy.at;

    for (size_t i = 0; i < copy.len; i++)
        if (at[i] >= 'A' && at[i] <= 'Z')
            at[i] = (char)(at[i] + 'a' - 'A');
    return copy;
}

/* ---- the module ---- */

static const struct bt_login logins = {auth_offered, ask, challenge};

static const struct bt_directive directives[] = {
    {.name = "auth_param",
     .args = "basic|digest|negotiate|ntlm word [word...]",
     .doc =
         "How clients log in: auth_param SCHEME PARAMETER VALUE. `program` with "
         "basic_ncsa_auth FILE reads the password file itself, without the helper. Helpers are of "
         "each worker, what is remembered of logins of all together.",
     .set = auth_param_set},
    {.name = "authenticate_ip_ttl",
     .args = "duration",
     .preset = "1 second",
     .doc = "How long max_user_ip remembers the address of a user's request.",
     .offset = offsetof(struct auth_conf, ip_ttl),
     .unit = "seconds"},
};

extern const struct bt_module bt_module;
struct bt_self bt_self;
const char bt_log_tag[] = "auth";
BT_API const struct bt_module bt_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "auth",
    .doc = "Logins: Basic, Digest, Negotiate and NTLM, by helpers or a password file.",
    .self = &bt_self,
    .conf_size = sizeof(struct auth_conf),
    .txn_size = sizeof(struct login),
    .conn_size = sizeof(void *),
    .directives = BT_ROWS(directives),
    .counters = BT_ROWS(counters),
    .acl_types = {users_types, 3},
    .setup = setup,
    .start = start,
    .stop = stop,
    .login = &logins,
};
