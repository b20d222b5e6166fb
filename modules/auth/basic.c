/* basic.c - name and password (RFC 7617): by helper, or by a password file in a thread.
 *
 * What was good is remembered, for all workers, by a keyed hash of name, password and key_extras, so
 * that no memory holds passwords for longer than it takes to check them; with it, the notes. What was
 * bad is asked anew each time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "auth.h"

enum { CREDENTIALS_MAX = 4096 };

struct basic {
    bt_str user, password, extras;
};

/* ---- answers ---- */

/* The name, and behind it the notes. */
static void remember(const struct check *check, struct login *login, bt_str user,
                     const struct bt_helper_reply *reply)
{
    struct bt_arena *arena = bt_txn_arena(login->txn);

    if (check->scheme->credentials_ms <= 0)
        return;
    char *name = bt_alloc_raw(arena, notes_put(NULL, user));
    bt_str head = {name, notes_put(name, user)};
    bt_dict_put(auth->known, check->key, notes_packed(arena, head, reply),
                (bt_duration){check->scheme->credentials_ms});
}

static bool recall(struct login *login, bt_str key)
{
    bt_str known = bt_dict_copy(auth->known, key, bt_txn_arena(login->txn));
    bt_str user = notes_take(&known);

    if (user.len == 0)
        return false;
    notes_recall(login, known);
    login_good(login, user);
    return true;
}

static void each(struct check *check, struct login *login, const struct bt_helper_reply *reply)
{
    const struct basic *basic = login->data;
    bt_str user = bt_helper_value(reply, "user");

    notes_set(login, reply);
    if (reply->result != BT_HELPER_OK) {
        login_bad(login, bt_helper_value(reply, "message"));
        return;
    }
    if (user.len == 0)
        user = basic->user;
    remember(check, login, user, reply);
    login_good(login, user);
}

/* ---- a password file ---- */

struct job {
    struct bt_work work;
    struct scheme *scheme;
    enum passwd_said said;
    uint8_t key[HASH_MAX];
    char *password;
    char user[]; /* and behind its end the password */
};

static void job_run(struct bt_work *work)
{
    struct job *job = (struct job *)work;

    job->said = passwd_check(job->scheme->passwd, job->user, job->password);
}

static void job_done(struct bt_work *work)
{
    struct job *job = (struct job *)work;
    struct bt_helper_reply reply = {.result = job->said == PASSWD_GOOD    ? BT_HELPER_OK
                                              : job->said == PASSWD_WRONG ? BT_HELPER_ERR
                                                                          : BT_HELPER_BH};
    struct check *check = job->scheme->asking == NULL
                              ? NULL
                              : bt_lru_find(job->scheme->asking,
                                            (bt_str){(const char *)job->key, sizeof job->key});

    if (job->said == PASSWD_BROKEN)
        bt_log_limited(NULL, BT_WARN, 60, "%s cannot be read, so that nobody can log in",
                       job->scheme->file);
    if (check != NULL)
        check_done(check, &reply);
    explicit_bzero(job->password, strlen(job->password));
    free(job);
}

static void file_ask(struct check *check, const struct basic *basic)
{
    static const struct bt_helper_reply lost = {.result = BT_HELPER_LOST};
    struct job *job = calloc(1, sizeof *job + basic->user.len + basic->password.len + 2);

    if (job == NULL)
        abort();
    job->work.run = job_run;
    job->work.done = job_done;
    job->scheme = check->scheme;
    memcpy(job->key, check->key.at, sizeof job->key);
    memcpy(job->user, basic->user.at, basic->user.len);
    job->password = job->user + basic->user.len + 1;
    if (basic->password.len > 0)
        memcpy(job->password, basic->password.at, basic->password.len);
    if (bt_work_start(&job->work))
        return;
    free(job);
    check_done(check, &lost);
}

/* ---- credentials ---- */

static void ask(struct login *login, bt_str key)
{
    struct bt_arena *arena = bt_txn_arena(login->txn);
    struct scheme *scheme = login->scheme;
    const struct basic *basic = login->data;
    bool is_new;
    struct check *check = check_join(login, key, &is_new);

    if (!is_new)
        return;
    check->each = each;
    if (scheme->file != NULL) {
        file_ask(check, basic);
        return;
    }
    bt_str user = bt_helper_word(arena, basic->user, true);
    bt_str password = basic->password.len == 0 ? BT_STR("")
                                               : bt_helper_word(arena, basic->password, true);
    bt_helper_ask(scheme->pool, &check->ask,
                  bt_str_printf(arena, "%.*s %.*s%.*s", BT_STR_ARGS(user), BT_STR_ARGS(password),
                                BT_STR_ARGS(basic->extras)));
}

static bool split(struct login *login, bt_str text, struct basic *basic)
{
    const char *colon = text.len == 0 ? NULL : memchr(text.at, ':', text.len);
    struct bt_arena *arena = bt_txn_arena(login->txn);

    if (colon == NULL || colon == text.at || memchr(text.at, '\0', text.len) != NULL ||
        memchr(text.at, '\n', text.len) != NULL || memchr(text.at, '\r', text.len) != NULL)
        return false;
    basic->user = (bt_str){text.at, (size_t)(colon - text.at)};
    basic->password = (bt_str){colon + 1, text.len - basic->user.len - 1};
    if (basic->password.len == 0 && !login->scheme->blank_password)
        return false;
    if (login->scheme->utf8) {
        basic->user = auth_utf8(arena, basic->user);
        basic->password = auth_utf8(arena, basic->password);
    }
    if (!login->scheme->casesensitive)
        basic->user = auth_lower(arena, basic->user);
    return true;
}

void basic_login(struct login *login, bt_str credentials)
{
    struct bt_arena *arena = bt_txn_arena(login->txn);
    uint8_t *text = bt_alloc_raw(arena, CREDENTIALS_MAX), key[HASH_MAX];
    long len = hash_base64_decode(credentials, text, CREDENTIALS_MAX);
    struct basic *basic = bt_alloc(arena, sizeof *basic);

    login->data = basic;
    if (len <= 0 || !split(login, (bt_str){(const char *)text, (size_t)len}, basic)) {
        bt_count(malformed);
        login_bad(login, BT_STR_NONE);
        return;
    }
    bt_who_set(login->txn, BT_WHO_CLAIMED, basic->user);
    basic->extras = auth_extras(login->scheme, login->txn);
    auth_key(key, 'B', basic->user, basic->password, basic->extras);
    bt_str by = {(const char *)key, sizeof key};
    if (recall(login, by))
        bt_count(cached);
    else
        ask(login, by);
}
