/* tls.c - the module: its tables, and the life of it in master and workers.
 *
 * tls.h lists the files and what each is for. OpenSSL appears in this folder only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls.h"

#include <string.h>

#include "aia.h"
#include "config.h"
#include "counts.h"
#include "keylog.h"

struct tls_conf *tls_conf;

static void client_end(void *client_)
{
    struct tls_client *client = client_;

    tls_peer_release(client->peer);
    leaf_release(client->leaf);
    client->peer = NULL;
    client->leaf = NULL;
}

struct tls_client *tls_client(struct bt_txn *txn)
{
    struct tls_client *client = bt_conn_ctx(txn);

    if (client->arena == NULL) {
        client->arena = bt_conn_arena(txn);
        bt_defer(client->arena, client_end, client);
    }
    return client;
}

static const struct bt_tls calls = {
    .transport = &tls_transport,
    .accept = serve_accept,
    .bumps = bump_any,
    .decide = bump_decide,
    .hello = bump_hello,
    .name = bump_name,
    .peek = server_peek,
    .forge = bump_forge,
    .bump = serve_bump,
    .connect = origin_connect,
    .parent = origin_parent,
    .within = side_within,
    .own = origin_own,
    .shake = side_shake,
    .key = origin_key,
    .why = side_why,
    .covers = bump_covers,
    .proven = origin_proven,
};

static bool setup(void *conf, struct bt_arena *arena, struct bt_error *err)
{
    bool good;

    tls_conf = conf;
    good = keylog_setup(err);
    good &= serve_setup(arena, err);
    good &= origin_setup(arena, err);
    good &= leaf_setup(arena, err);
    return good;
}

static bool start(void *conf)
{
    (void)conf;
    return serve_start() && origin_start() && leaf_start();
}

static void stop(void *conf)
{
    (void)conf;
    aia_stop();
    leaf_stop();
}

static const struct bt_directive directives[] = {
#include "bump_rows.h"
#include "config_rows.h"
#include "leaf_rows.h"
};

static const struct bt_counter counters[] = {TLS_COUNTERS(BT_ROW_)};

BT_MODULE(tls, "TLS with clients and origins, looked into or not.",
          .conf_size = sizeof(struct tls_conf), .conn_size = sizeof(struct tls_client),
          .setup = setup, .start = start, .stop = stop, .directives = BT_ROWS(directives),
          .counters = BT_ROWS(counters), .fields = BT_ROWS(tls_fields),
          .acl_types = BT_ROWS(tls_acl_types), .by_default = true, .tls = &calls);
