/* leaf_kit.h - the stage for tests of forged certificates: exchanges, ACLs and the thread beside the loop
 * are played by this file; memory that workers share is the real one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAF_KIT_H
#define LEAF_KIT_H

#include "tls_kit.h"

#include <malloc.h>

#include "base/arena.h"
#include "base/clock.h"
#include "conf/complain.h"
#include "stat/dict.h"
#include "stat/zone.h"

#define bt_acls_match fake_acls_match
#define bt_tls_port fake_port
#define bt_tls_ports fake_ports
#define bt_txn_arena fake_arena
#define bt_resume fake_resume
#define bt_work_start fake_work_start
#define bt_work_open fake_work_open
enum bt_match fake_acls_match(const struct bt_acls *, struct bt_txn *);
#include "tls/forge.c"
#include "tls/leaf.c"
#include "tls/leaf_keys.c"
#include "tls/leaf_policy.c"
#include "tls/leaf_store.c"

/* ---- what the server is to the module ---- */

struct bt_self bt_self;
static _Atomic int64_t row[N_end_];
#define COUNTED(id) ((int)row[N_##id])

struct bt_txn {
    struct bt_arena *arena;
    struct tls_client client;
    struct hello hello;
    int resumed;
};
enum { TXNS = 12, PORTS = 3 };
static struct bt_txn txns[TXNS];
static struct bt_tls_port port_rows[PORTS];
static struct pem pems[PORTS];
static unsigned port_of_txns;
static struct tls_conf conf;
struct tls_conf *tls_conf = &conf;
const struct tls_error *tls_judged;
X509 *tls_judged_cert;
static struct bt_arena *arena;
static struct bt_error err;
static struct bt_work *works;
static bool works_full, rsa_client;

size_t fake_ports(const struct bt_tls_port **port)
{
    *port = port_rows;
    return PORTS;
}
unsigned fake_port(struct bt_txn *txn)
{
    (void)txn;
    return port_of_txns;
}
const struct pem *serve_ca(unsigned port)
{
    return pems[port].cert != NULL ? &pems[port] : NULL;
}
struct tls_client *tls_client(struct bt_txn *txn)
{
    return &txn->client;
}
struct bt_arena *fake_arena(struct bt_txn *txn)
{
    return txn->arena;
}
void fake_resume(struct bt_txn *txn)
{
    txn->resumed++;
}
bool fake_work_open(void)
{
    return true;
}
bool fake_work_start(struct bt_work *work)
{
    struct bt_work **at = &works;

    if (works_full)
        return false;
    while (*at != NULL)
        at = &(*at)->next;
    *at = work;
    return true;
}
bool leaf_gauges_setup(struct bt_error *e)
{
    (void)e;
    return true;
}
void leaf_gauges_start(void)
{
}
void leaf_gauges_stop(void)
{
}
bool hello_takes_ecdsa(const struct hello *hello)
{
    (void)hello;
    return !rsa_client;
}
/* An ACL is the code of a fault; 0: it always holds; 1: only where there is none. */
enum bt_match fake_acls_match(const struct bt_acls *acls, struct bt_txn *txn)
{
    int code = *(const int *)(const void *)acls;

    (void)txn;
    if (code == 1)
        return tls_judged == NULL ? BT_YES : BT_NO;
    return code == 0 || (tls_judged != NULL && tls_judged->code == code) ? BT_YES : BT_NO;
}
struct tls_peer *tls_peer_hold(struct tls_peer *peer)
{
    peer->uses++;
    return peer;
}
void tls_peer_release(struct tls_peer *peer)
{
    if (peer != NULL)
        peer->uses--;
}

/* ---- the stage ---- */

static X509 *ca;

static int begin(void **state)
{
    (void)state;
    clock_refresh();
    clock_shift(KIT_NOW * 1000 - bt_wall_ms());
    arena = arena_new(4096);
    complain_init(&err, arena);
    bt_self.row = row;
    memset(row, 0, sizeof row);
    conf = (struct tls_conf){.leaf_key = 0};
    if (ca == NULL)
        ca = kit_ca("CN=The CA", kit_key(false, 0));
    for (int i = 0; i < 2; i++) {
        port_rows[i] = (struct bt_tls_port){.bump = true, .generate = i == 0};
        port_rows[i].cert_memory.bytes = 1 << 20;
        pems[i] = (struct pem){ca, kit_key(false, 0), NULL, 0};
    }
    for (int i = 0; i < TXNS; i++)
        txns[i] = (struct bt_txn){.arena = arena_new(1024)};
    port_of_txns = 0;
    works_full = rsa_client = false;
    return 0;
}

static void ready_forget(void)
{
    while (s.oldest != NULL)
        drop(slot_at(s.oldest->id));
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < TXNS; i++) {
        arena_free(txns[i].arena);
        leaf_release(txns[i].client.leaf);
        assert_null(txns[i].client.ask);
    }
    assert_null(jobs);
    assert_null(works);
    if (s.limit > 0)
        ready_forget();
    free(s.bucket);
    memset(&s, 0, sizeof s);
    for (int i = 0; i < LEAF_KEYS; i++) {
        EVP_PKEY_free(ready[i]);
        ready[i] = NULL;
    }
    dict_forget();
    zone_forget();
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

static void setup(void)
{
    assert_true(leaf_setup(arena, &err));
    assert_true(leaf_start());
}

/* What waits is done, as the thread and the loop do it. */
static int work(void)
{
    int n = 0;

    for (struct bt_work *one; (one = works) != NULL; n++) {
        works = one->next;
        one->run(one);
        one->done(one);
    }
    return n;
}

static struct tls_peer peer_of(X509 *cert, int code, int depth)
{
    struct tls_peer peer = {.uses = 1, .cert = cert};
    unsigned len = sizeof peer.sha256;

    X509_digest(cert, EVP_sha256(), peer.sha256, &len);
    if (code != 0)
        peer.error[peer.errors++] = (struct tls_error){code, depth, true};
    return peer;
}

/* From asking to the end. NULL: refused. */
static struct tls_leaf *forged(struct bt_txn *txn, const char *host, struct tls_peer *peer)
{
    struct bt_tls_side side = {.peer = peer};
    bt_str name = {host, strlen(host)};
    enum bt_tls_state said = leaf_forge(txn, name, peer != NULL ? &side : NULL);

    if (said == BT_TLS_WAIT) {
        int before = txn->resumed;

        assert_int_equal(leaf_forge(txn, name, peer != NULL ? &side : NULL), BT_TLS_WAIT);
        work();
        assert_int_equal(txn->resumed, before + 1);
        said = leaf_forge(txn, name, peer != NULL ? &side : NULL);
    }
    assert_int_not_equal(said, BT_TLS_WAIT);
    assert_null(txn->client.ask);
    return said == BT_TLS_READY ? txn->client.leaf : NULL;
}

/* As a client that trusts the CA; the chain is what it is sent. */
static int verify(const struct tls_leaf *leaf, const char *host)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_VERIFY_PARAM *param;
    int said;

    X509_STORE_add_cert(store, ca);
    X509_STORE_CTX_init(context, store, leaf->cert, leaf->chain);
    X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
    param = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_time(param, (time_t)(bt_wall_ms() / 1000));
    X509_VERIFY_PARAM_set1_host(param, host, 0);
    X509_verify_cert(context);
    said = X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    assert_int_equal(X509_check_private_key(leaf->cert, leaf->key), 1);
    return said;
}
#define assert_good(leaf, host)                                                                    \
    do {                                                                                           \
        assert_non_null(leaf);                                                                     \
        assert_int_equal(verify(leaf, host), X509_V_OK);                                           \
    } while (0)

static X509 *origin_cert(const char *host)
{
    char names[300], subject[300];

    snprintf(names, sizeof names, "DNS:%s", host);
    snprintf(subject, sizeof subject, "O=Org/CN=%s", host);
    return kit_make((struct kit_cert){
        .subject = subject, .key = kit_key(true, 2), .ext = {"subjectAltName", names}});
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

#endif
