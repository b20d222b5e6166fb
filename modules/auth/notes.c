/* notes.c - what a helper said of a user beside its verdict: notes of each exchange of that login.
 *
 * A group that a helper names decides for all requests of a user, not for the one that made it ask.
 * So pairs are remembered with the login, packed: length and bytes of each text, one after the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "auth.h"

/* What stands for a password is for nobody else. */
static bool is_secret(bt_str key)
{
    return bt_str_eq(key, BT_STR("ha1")) || bt_str_eq(key, BT_STR("token")) ||
           bt_str_eq(key, BT_STR("password"));
}

void notes_set(struct login *login, const struct bt_helper_reply *reply)
{
    for (size_t i = 0; i < reply->n; i++)
        if (!is_secret(reply->pair[i].key))
            bt_note_set(login->txn, BT_NOTE_EXCHANGE, reply->pair[i].key, reply->pair[i].value);
}

size_t notes_put(char *at, bt_str text)
{
    uint32_t len = (uint32_t)text.len;

    if (at != NULL) {
        memcpy(at, &len, sizeof len);
        if (len > 0)
            memcpy(at + sizeof len, text.at, len);
    }
    return sizeof len + len;
}

/* To `at`, when there is room; the number of bytes. */
static size_t put_all(char *at, const struct bt_helper_reply *reply)
{
    size_t n = 0;

    for (size_t i = 0; i < reply->n; i++) {
        if (is_secret(reply->pair[i].key))
            continue;
        n += notes_put(at == NULL ? NULL : at + n, reply->pair[i].key);
        n += notes_put(at == NULL ? NULL : at + n, reply->pair[i].value);
    }
    return n;
}

bt_str notes_packed(struct bt_arena *arena, bt_str head, const struct bt_helper_reply *reply)
{
    size_t n = head.len + put_all(NULL, reply);
    char *at = bt_alloc_raw(arena, n + 1);

    if (head.len > 0)
        memcpy(at, head.at, head.len);
    (void)put_all(at + head.len, reply);
    return (bt_str){at, n};
}

bt_str notes_take(bt_str *packed)
{
    uint32_t len;

    if (packed->len < sizeof len)
        return BT_STR_NONE;
    memcpy(&len, packed->at, sizeof len);
    if (len > packed->len - sizeof len)
        return BT_STR_NONE;
    bt_str text = {packed->at + sizeof len, len};
    *packed = (bt_str){text.at + len, packed->len - sizeof len - len};
    return text;
}

void notes_recall(struct login *login, bt_str packed)
{
    for (;;) {
        bt_str key = notes_take(&packed), value = notes_take(&packed);
        if (value.at == NULL)
            return;
        bt_note_set(login->txn, BT_NOTE_EXCHANGE, key, value);
    }
}
