/* negotiate.c - Negotiate (RFC 4559) and NTLM: a dialogue of several words, bound to a connection.
 *
 * A helper process is reserved for the connection from its first word until the dialogue has come to
 * an end. A connection that is logged in stays so: requests on it that bring no credentials, or the
 * same ones again, are of the same user.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "auth.h"

enum { TOKEN_MAX = 64 * 1024 };

/* Of one client connection; on the heap, since an answer may come when the connection is gone. */
struct dialogue {
    struct bt_helper_ask ask;
    struct bt_helper_seat seat;
    struct scheme *scheme;
    struct login *login;     /* that waits; NULL: none */
    bool under_way;          /* the helper has asked for another word */
    uint8_t token[HASH_MAX]; /* of the last word of the client */
    char *user;              /* logged in as; NULL: not yet */
    bt_str notes;            /* of that, packed; on the heap */
};
struct conn {
    struct dialogue *dialogue;
};

static void reset(struct dialogue *d)
{
    bt_helper_cancel(&d->ask);
    bt_helper_leave(&d->seat);
    free(d->user);
    free((void *)(uintptr_t)d->notes.at);
    d->user = NULL;
    d->notes = BT_STR_NONE;
    d->under_way = false;
}

static void connection_gone(void *what)
{
    struct dialogue *d = what;

    reset(d);
    free(d);
}

static void exchange_gone(void *what)
{
    struct dialogue *d = what;

    if (d->login != NULL && d->login->data == d) {
        d->login = NULL;
        bt_helper_cancel(&d->ask); /* the dialogue cannot go on */
        bt_helper_leave(&d->seat);
        d->under_way = false;
    }
}

/* The client may want to know whom it talks to (RFC 4559 4.2, which has it for origins alone: the last
 * word comes with the answer, whatever that is). NTLM has none. */
static void last_word(struct login *login, bt_str token)
{
    if (login->scheme->kind != SCHEME_NEGOTIATE || token.len == 0)
        return;
    login->told = true;
    bt_reply_add(login->txn, auth_challenge_field(login->txn),
                 bt_str_printf(bt_txn_arena(login->txn), "Negotiate %.*s", BT_STR_ARGS(token)));
}

static void notes_keep(struct dialogue *d, struct login *login, const struct bt_helper_reply *reply)
{
    bt_str packed = notes_packed(bt_txn_arena(login->txn), BT_STR(""), reply);
    char *copy = malloc(packed.len + 1);

    if (copy == NULL)
        abort();
    memcpy(copy, packed.at, packed.len);
    d->notes = (bt_str){copy, packed.len};
}

static void again(struct login *login, const struct dialogue *d)
{
    notes_recall(login, d->notes);
    login_good(login, (bt_str){d->user, strlen(d->user)});
}

static void answered(struct bt_helper_ask *ask, const struct bt_helper_reply *reply)
{
    struct dialogue *d = (struct dialogue *)ask;
    struct login *login = d->login;
    bt_str user = bt_helper_value(reply, "user"), token = bt_helper_value(reply, "token");

    d->login = NULL;
    d->under_way = reply->result == BT_HELPER_TT && token.len > 0;
    if (!d->under_way)
        bt_helper_leave(&d->seat);
    notes_set(login, reply);
    if (d->under_way) {
        login->token = bt_str_copy(bt_txn_arena(login->txn), token);
        login_not_yet(login);
    } else if (reply->result == BT_HELPER_OK && user.len > 0) {
        bt_count(good);
        d->user = strndup(user.at, user.len);
        notes_keep(d, login, reply);
        last_word(login, token);
        login_good(login, user);
    } else {
        if (reply->result != BT_HELPER_ERR)
            bt_count(broken);
        login_bad(login, bt_helper_value(reply, "message"));
    }
}

static bool is_token(bt_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] >= 127)
            return false;
    return text.len > 0 && text.len <= TOKEN_MAX;
}

static struct dialogue *dialogue_of(struct bt_txn *txn)
{
    struct conn *conn = bt_conn_ctx(txn);

    if (conn->dialogue == NULL) {
        conn->dialogue = calloc(1, sizeof *conn->dialogue);
        if (conn->dialogue == NULL)
            abort();
        conn->dialogue->ask.done = answered;
        bt_defer(bt_conn_arena(txn), connection_gone, conn->dialogue);
    }
    return conn->dialogue;
}

bool negotiate_again(struct login *login)
{
    if (!scheme_offered(&auth->scheme[SCHEME_NEGOTIATE]) &&
        !scheme_offered(&auth->scheme[SCHEME_NTLM]))
        return false;
    struct conn *conn = bt_conn_ctx(login->txn);
    if (conn->dialogue == NULL || conn->dialogue->user == NULL)
        return false;
    again(login, conn->dialogue);
    return true;
}

void negotiate_login(struct login *login, bt_str credentials)
{
    struct bt_arena *arena = bt_txn_arena(login->txn);
    struct dialogue *d;
    uint8_t sum[HASH_MAX];
    struct hash hash;

    if (!is_token(credentials)) {
        bt_count(malformed);
        login_not_yet(login); /* an empty word begins a dialogue: the challenge answers it */
        return;
    }
    d = dialogue_of(login->txn);
    hash_init(&hash, HASH_SHA256);
    hash_add_str(&hash, credentials);
    hash_end(&hash, sum);
    if (d->user != NULL && d->scheme == login->scheme && memcmp(sum, d->token, sizeof sum) == 0) {
        bt_count(cached);
        again(login, d);
        return;
    }
    if (d->scheme != login->scheme || !d->under_way)
        reset(d);
    memcpy(d->token, sum, sizeof sum);
    const char *word = d->under_way ? "KK" : "YR";
    d->scheme = login->scheme;
    d->login = login;
    login->data = d;
    login->state = LOGIN_WAITS;
    bt_defer(arena, exchange_gone, d);
    bt_helper_ask_seated(login->scheme->pool, &d->seat, &d->ask,
                         bt_str_printf(arena, "%s %.*s%.*s", word, BT_STR_ARGS(credentials),
                                       BT_STR_ARGS(auth_extras(login->scheme, login->txn))));
}
