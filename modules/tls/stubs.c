/* stubs.c - what is not written yet; each function goes as its file comes, and this file with the last.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

const struct tls_error *tls_judged;
X509 *tls_judged_cert;

struct tls_peer *tls_peer_hold(struct tls_peer *peer)
{
    return peer;
}
void tls_peer_release(struct tls_peer *peer)
{
    (void)peer;
}
bool serve_setup(struct bt_arena *arena, struct bt_error *err)
{
    (void)arena;
    (void)err;
    return true;
}
bool serve_start(void)
{
    return true;
}
struct bt_tls_side *serve_accept(unsigned port, int fd)
{
    (void)port;
    (void)fd;
    return NULL;
}
struct bt_tls_side *serve_bump(struct bt_txn *txn, int fd, bt_str early)
{
    (void)txn;
    (void)fd;
    (void)early;
    return NULL;
}
bool origin_setup(struct bt_arena *arena, struct bt_error *err)
{
    (void)arena;
    (void)err;
    return true;
}
bool origin_start(void)
{
    return true;
}
struct bt_tls_side *origin_connect(struct bt_txn *txn, int fd, bt_str host)
{
    (void)txn;
    (void)fd;
    (void)host;
    return NULL;
}
bt_str origin_key(struct bt_txn *txn, bt_str host)
{
    (void)txn;
    return host;
}
bool origin_untrusted(const struct bt_tls_side *side)
{
    return side->refused;
}
bool leaf_setup(struct bt_arena *arena, struct bt_error *err)
{
    (void)arena;
    (void)err;
    return true;
}
bool leaf_start(void)
{
    return true;
}
enum bt_tls_state leaf_forge(struct bt_txn *txn, bt_str host, struct bt_tls_side *origin)
{
    (void)txn;
    (void)host;
    (void)origin;
    return BT_TLS_FAILED;
}
void leaf_release(struct tls_leaf *leaf)
{
    (void)leaf;
}
bool bump_any(void)
{
    return false;
}
enum bt_bump bump_decide(struct bt_txn *txn, int step)
{
    (void)txn;
    (void)step;
    return BT_BUMP_SPLICE;
}
enum bt_tls_hello bump_hello(struct bt_txn *txn, bt_str bytes)
{
    (void)txn;
    (void)bytes;
    return BT_HELLO_NONE;
}
bt_str bump_name(struct bt_txn *txn)
{
    (void)txn;
    return BT_STR_NONE;
}
enum bt_tls_state bump_unsupported(struct bt_txn *txn)
{
    (void)txn;
    return BT_TLS_FAILED;
}
enum bt_tls_state server_peek(struct bt_txn *txn, bt_str bytes)
{
    (void)txn;
    (void)bytes;
    return BT_TLS_FAILED;
}
