/* login.c - what a parent gets to log in with (login= of cache_peer).
 *
 * PASS and PASSTHRU send what the client sent, which the core does by itself (pass_login); here are the
 * names and passwords that we know.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bt_str base64(struct bt_arena *arena, bt_str plain)
{
    char *code = bt_alloc_raw(arena, (plain.len + 2) / 3 * 4 + 1), *at = code;

    for (size_t i = 0; i < plain.len; i += 3) {
        size_t left = plain.len - i;
        uint32_t bits = (uint32_t)(unsigned char)plain.at[i] << 16;
        bits |= left > 1 ? (uint32_t)(unsigned char)plain.at[i + 1] << 8 : 0;
        bits |= left > 2 ? (unsigned char)plain.at[i + 2] : 0;
        *at++ = digits[bits >> 18];
        *at++ = digits[bits >> 12 & 63];
        *at++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[bits & 63] : '=';
    }
    *at = '\0';
    return (bt_str){code, (size_t)(at - code)};
}

bt_str login_line(struct bt_arena *arena, bool origin, bt_str user_password)
{
    bt_str code = base64(arena, user_password);

    return bt_str_printf(arena, "%s: Basic %.*s\r\n",
                         origin ? "Authorization" : "Proxy-Authorization", BT_STR_ARGS(code));
}

static bt_str login_user(const struct peer *peer, struct bt_txn *txn)
{
    bt_str user = bt_who(txn, BT_WHO_EXTERNAL);

    if (user.len == 0)
        user = bt_who(txn, BT_WHO_LOGIN);
    if (user.len == 0)
        user = BT_STR("-");
    user = bt_str_printf(bt_txn_arena(txn), "%.*s%.*s", BT_STR_ARGS(user),
                         BT_STR_ARGS(peer->login_password));
    return login_line(bt_txn_arena(txn), peer->parent.origin, user);
}

/* Name and password that an external ACL gave. */
static bt_str login_external(const struct peer *peer, struct bt_txn *txn)
{
    bt_str user = bt_who(txn, BT_WHO_EXTERNAL), password = bt_who(txn, BT_WHO_PASSWORD), both;

    if (user.len == 0 || password.len == 0)
        return BT_STR_NONE;
    both = bt_str_printf(bt_txn_arena(txn), "%.*s:%.*s", BT_STR_ARGS(user), BT_STR_ARGS(password));
    return login_line(bt_txn_arena(txn), peer->parent.origin, both);
}

/* A login with us becomes one with the web server. */
static bt_str login_turned(const struct peer *peer, struct bt_txn *txn)
{
    bt_str given = bt_req_header(txn, BT_STR("Proxy-Authorization"), 0);

    if (!peer->parent.origin || given.at == NULL)
        return login_external(peer, txn);
    return bt_str_printf(bt_txn_arena(txn), "Authorization: %.*s\r\n", BT_STR_ARGS(given));
}

bt_str login_lines(const struct bt_parent *parent, struct bt_txn *txn)
{
    const struct peer *peer = (const struct peer *)parent;

    switch (peer->login) {
    case LOGIN_FIXED:
        return peer->login_line;
    case LOGIN_USER:
        return login_user(peer, txn);
    case LOGIN_PASS:
        return login_external(peer, txn);
    case LOGIN_PROXYPASS:
        return login_turned(peer, txn);
    case LOGIN_NONE:
    case LOGIN_PASSTHRU:
        break;
    }
    return BT_STR_NONE;
}
