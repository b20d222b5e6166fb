/* leaf.c - an exchange asks for a certificate in an origin's place, and gets one that was made before,
 * or waits until it is made beside the loop.
 *
 * Those who ask for the same one while it is being made wait for that. An exchange that waits is told
 * by bt_resume(), asks again and gets the answer; one that ends meanwhile leaves the line. What was
 * made is kept in any case.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "counts.h"

enum { NAME_MAX_LEN = 253 };

/* By number of port; .trusted.cert NULL: that one does not bump. */
static struct leaf_ca *cas;
static size_t ports;

/* ---- leaves ---- */

struct tls_leaf *leaf_hold(struct tls_leaf *leaf)
{
    leaf->uses++;
    return leaf;
}

void leaf_release(struct tls_leaf *leaf)
{
    if (leaf == NULL || --leaf->uses > 0)
        return;
    X509_free(leaf->cert);
    free(leaf);
}

/* Takes `cert` over, frees it when there is no memory (NULL). Keys and chains stay as long as the
 * process. */
static struct tls_leaf *leaf_new(X509 *cert, EVP_PKEY *key, STACK_OF(X509) * chain)
{
    struct tls_leaf *leaf = cert != NULL && key != NULL ? malloc(sizeof *leaf) : NULL;

    if (leaf != NULL)
        *leaf = (struct tls_leaf){.uses = 1, .cert = cert, .key = key, .chain = chain};
    else
        X509_free(cert);
    return leaf;
}

static struct tls_leaf *leaf_of(const struct leaf_order *order, X509 *cert)
{
    STACK_OF(X509) *chain = order->mode == FORGE_SELF
                                ? NULL
                                : order->ca->chain[order->mode == FORGE_UNTRUSTED];

    return leaf_new(cert, leaf_key(order->rsa ? LEAF_RSA : LEAF_EC), chain);
}

/* Out of what all workers know. Its key, which OpenSSL has made an object of its own, gives way to the
 * one that all leaves have, and takes half of the memory with it. */
static struct tls_leaf *from_shared(const struct leaf_order *order, const uint8_t id[LEAF_ID])
{
    X509 *cert = leaf_store_shared(id);
    EVP_PKEY *key = leaf_key(order->rsa ? LEAF_RSA : LEAF_EC);

    if (cert == NULL || key == NULL || X509_set_pubkey(cert, key) != 1) {
        X509_free(cert);
        return NULL;
    }
    return leaf_of(order, cert);
}

/* Seconds since 1970; INT64_MAX for what cannot be told. */
static int64_t seconds(const ASN1_TIME *date)
{
    struct tm tm;

    return ASN1_TIME_to_tm(date, &tm) == 1 ? (int64_t)timegm(&tm) : INT64_MAX;
}

/* How long it is kept. A copy is as good as the origin's; what was made for a name alone must be made
 * anew before it expires. */
static int64_t until_of(const struct leaf_order *order, const X509 *cert)
{
    int64_t end = seconds(X509_get0_notAfter(cert)), now = bt_wall_ms();

    if (order->origin != NULL || end == INT64_MAX)
        return INT64_MAX;
    return now + (end * 1000 - now) / 2;
}

/* ---- being made ---- */

struct job {
    struct bt_work work;
    struct job *next;
    uint8_t id[LEAF_ID];
    struct leaf_order order; /* its name in .name */
    char name[NAME_MAX_LEN];
    int64_t now_s, began_us;
    struct leaf_ask *asks;
    /* what comes of it */
    enum forge_verdict verdict;
    X509 *cert;
    unsigned char *der;
    int len;
};

/* An exchange that asked; in its arena. */
struct leaf_ask {
    struct bt_txn *txn;
    struct tls_client *client;
    struct job *job; /* NULL: it has ended */
    struct leaf_ask *next;
    struct tls_leaf *leaf; /* that came of it; NULL: none */
    enum forge_verdict verdict;
};

static struct job *jobs; /* all that are under way; few */

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* In the thread. */
static void job_run(struct bt_work *work)
{
    struct job *job = (struct job *)work;
    const struct leaf_order *order = &job->order;
    const struct leaf_ca *ca = order->ca;
    struct forge_order forge = {
        .ca = order->mode == FORGE_UNTRUSTED ? &ca->untrusted : &ca->trusted,
        .key = leaf_key(order->rsa ? LEAF_RSA : LEAF_EC),
        .hash = leaf_hash(),
        .mode = order->mode,
        .origin = order->origin != NULL ? order->origin->cert : NULL,
        .name = order->name,
        .valid_after = order->valid_after,
        .valid_before = order->valid_before,
        .error = leaf_errors(order->origin),
        .now = job->now_s,
    };

    job->verdict = forge.key != NULL ? forge_leaf(&forge, &job->cert) : FORGE_FAILED;
    if (job->verdict != FORGE_DONE)
        return;
    job->len = i2d_X509(job->cert, &job->der);
    /* Finds out what OpenSSL wants to know of it at the handshake, and keeps it. */
    X509_check_purpose(job->cert, -1, 0);
    ERR_clear_error();
}

static void refused(const struct job *job)
{
    switch (job->verdict) {
    case FORGE_TOO_BIG:
        bt_count(leaf_too_big);
        break;
    case FORGE_MALFORMED:
        bt_count(leaf_malformed);
        break;
    case FORGE_NAMELESS:
        bt_count(leaf_nameless);
        break;
    default:
        bt_count(leaf_failed);
    }
    bt_log_limited(NULL, job->verdict == FORGE_FAILED ? BT_ERROR : BT_WARN, 60,
                   "a bumped host got no certificate%s%.*s: %s",
                   job->order.name.len > 0 ? " for " : "", BT_STR_ARGS(job->order.name),
                   forge_says(job->verdict));
}

/* The leaf that all who asked get; NULL: none. */
static struct tls_leaf *job_leaf(struct job *job)
{
    struct tls_leaf *leaf = NULL;
    int64_t until_ms;

    if (job->verdict != FORGE_DONE) {
        refused(job);
        return NULL;
    }
    bt_count(leaf_forged);
    bt_observe(leaf_time, now_us() - job->began_us);
    until_ms = until_of(&job->order, job->cert);
    /* Another worker was faster: all show the same one. */
    if (job->len > 0 &&
        !leaf_store_share(job->id, (bt_str){(const char *)job->der, (size_t)job->len}, until_ms))
        leaf = from_shared(&job->order, job->id);
    if (leaf != NULL)
        X509_free(job->cert);
    else
        leaf = leaf_of(&job->order, job->cert);
    if (leaf != NULL)
        leaf_store_keep(job->id, leaf, until_ms);
    return leaf;
}

static void job_done(struct bt_work *work)
{
    struct job *job = (struct job *)work, **at = &jobs;
    struct tls_leaf *leaf = job_leaf(job);

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    for (struct leaf_ask *ask; (ask = job->asks) != NULL;) {
        job->asks = ask->next;
        ask->job = NULL;
        ask->leaf = leaf != NULL ? leaf_hold(leaf) : NULL;
        ask->verdict = job->verdict;
        bt_resume(ask->txn);
    }
    leaf_release(leaf);
    tls_peer_release(job->order.origin);
    OPENSSL_free(job->der);
    free(job);
}

static struct job *job_find(const uint8_t id[LEAF_ID])
{
    struct job *job = jobs;

    while (job != NULL && memcmp(job->id, id, LEAF_ID) != 0)
        job = job->next;
    return job;
}

/* NULL: no memory. */
static struct job *job_new(const struct leaf_order *order, const uint8_t id[LEAF_ID])
{
    struct job *job = calloc(1, sizeof *job);

    if (job == NULL)
        return NULL;
    job->work = (struct bt_work){.run = job_run, .done = job_done};
    memcpy(job->id, id, LEAF_ID);
    job->order = *order;
    memcpy(job->name, order->name.at, order->name.len);
    job->order.name.at = job->name;
    if (order->origin != NULL)
        tls_peer_hold(order->origin);
    job->now_s = bt_wall_ms() / 1000;
    job->began_us = now_us();
    job->next = jobs;
    jobs = job;
    return job;
}

/* ---- asking ---- */

static void ask_end(void *ask_)
{
    struct leaf_ask *ask = ask_, **at;

    if (ask->job != NULL) {
        at = &ask->job->asks;
        while (*at != ask)
            at = &(*at)->next;
        *at = ask->next;
        ask->job = NULL;
    }
    leaf_release(ask->leaf);
    ask->leaf = NULL;
    if (ask->client->ask == ask)
        ask->client->ask = NULL;
}

/* Takes the leaf over. */
static enum bt_tls_state show(struct tls_client *client, struct tls_leaf *leaf, bool fake)
{
    leaf_release(client->leaf);
    client->leaf = leaf;
    client->fake = fake;
    return BT_TLS_READY;
}

/* There is none, and the origin's side says why, if there is one. */
static enum bt_tls_state failed(struct bt_tls_side *origin, enum forge_verdict verdict)
{
    if (origin != NULL)
        origin->why = forge_says(verdict);
    return BT_TLS_FAILED;
}

/* That exchange, or another one of the connection, asks again. */
static enum bt_tls_state answered(struct tls_client *client, struct bt_tls_side *origin, bool fake)
{
    struct leaf_ask *ask = client->ask;
    struct tls_leaf *leaf = ask->leaf;

    if (ask->job != NULL)
        return BT_TLS_WAIT;
    ask->leaf = NULL;
    client->ask = NULL;
    return leaf != NULL ? show(client, leaf, fake) : failed(origin, ask->verdict);
}

/* false: no memory. */
BT_MUST static bool ask_for(struct bt_txn *txn, const struct leaf_order *order,
                            const uint8_t id[LEAF_ID])
{
    struct tls_client *client = tls_client(txn);
    struct bt_arena *arena = bt_txn_arena(txn);
    struct job *job = job_find(id);
    bool first = job == NULL;
    struct leaf_ask *ask;

    if (first)
        job = job_new(order, id);
    if (job == NULL)
        return false;
    ask = bt_alloc(arena, sizeof *ask);
    *ask = (struct leaf_ask){.txn = txn, .client = client, .job = job, .next = job->asks};
    job->asks = ask;
    client->ask = ask;
    bt_defer(arena, ask_end, ask);
    if (!first) {
        bt_count(leaf_joined);
    } else if (!bt_work_start(&job->work)) {
        bt_count(leaf_in_loop);
        job_run(&job->work);
        job_done(&job->work);
    }
    return true;
}

/* One that some worker has made; NULL: none. */
static struct tls_leaf *made_before(const struct leaf_order *order, const uint8_t id[LEAF_ID])
{
    struct tls_leaf *leaf = leaf_store_find(id);

    if (leaf != NULL) {
        bt_count(leaf_ready);
        return leaf_hold(leaf);
    }
    leaf = from_shared(order, id);
    if (leaf != NULL) {
        bt_count(leaf_shared);
        leaf_store_keep(id, leaf, until_of(order, leaf->cert));
    }
    return leaf;
}

enum bt_tls_state leaf_forge(struct bt_txn *txn, bt_str host, struct bt_tls_side *origin)
{
    struct tls_client *client = tls_client(txn);
    struct tls_peer *peer = origin != NULL ? origin->peer : NULL;
    unsigned port = bt_tls_port(txn);
    struct leaf_order order = {.ca = port < ports ? &cas[port] : NULL};
    bool fake = peer == NULL || peer->cert == NULL;
    struct tls_leaf *leaf;
    uint8_t id[LEAF_ID];

    if (client->ask != NULL)
        return answered(client, origin, fake);
    if (order.ca == NULL || order.ca->trusted.cert == NULL) {
        bt_count(leaf_failed);
        bt_log_limited(txn, BT_ERROR, 60, "the port has no CA to make certificates with");
        return failed(origin, FORGE_FAILED);
    }
    if (order.ca->own != NULL)
        return show(client, leaf_hold(order.ca->own), fake);
    leaf_policy(txn, host, peer, &order);
    if (order.name.len > NAME_MAX_LEN || !leaf_id(&order, id)) {
        bt_count(leaf_malformed);
        return failed(origin, FORGE_MALFORMED);
    }
    leaf = made_before(&order, id);
    if (leaf != NULL)
        return show(client, leaf, fake);
    return ask_for(txn, &order, id) ? answered(client, origin, fake) : failed(origin, FORGE_FAILED);
}

/* ---- at the start ---- */

static bool chain_add(STACK_OF(X509) * chain, X509 *cert)
{
    return chain != NULL && X509_up_ref(cert) == 1 && sk_X509_push(chain, cert) > 0;
}

static bool ca_make(struct leaf_ca *ca, const struct pem *pem)
{
    unsigned len = sizeof ca->id;
    bool good;

    ca->trusted = (struct forge_ca){pem->cert, pem->key};
    ca->untrusted.key = leaf_key(LEAF_NOBODY);
    ca->chain[0] = sk_X509_new_null();
    ca->chain[1] = sk_X509_new_null();
    good = X509_digest(pem->cert, EVP_sha256(), ca->id, &len) == 1 &&
           forge_untrusted(pem->cert, ca->untrusted.key, &ca->untrusted.cert) &&
           chain_add(ca->chain[0], pem->cert) && chain_add(ca->chain[1], ca->untrusted.cert);
    for (int i = 0; good && i < sk_X509_num(pem->chain); i++)
        good = chain_add(ca->chain[0], sk_X509_value(pem->chain, i));
    return good;
}

static bool ca_setup(struct leaf_ca *ca, const struct bt_tls_port *port, const struct pem *pem,
                     struct bt_error *err)
{
    int64_t left = seconds(X509_get0_notAfter(pem->cert)) - bt_wall_ms() / 1000;

    if (!port->generate) {
        X509_up_ref(pem->cert);
        ca->own = leaf_new(pem->cert, pem->key, pem->chain);
        ca->trusted.cert = pem->cert;
        return ca->own != NULL || bt_complain(err, port->at, "out of memory");
    }
    if (left < LEAF_WARN_S)
        bt_caution(err, port->at,
                   "the CA expires in %d days; make a new one (bobtailctl ca init) and install it "
                   "on clients in time",
                   (int)(left / LEAF_DAY_S));
    return ca_make(ca, pem) ||
           bt_complain(err, port->at,
                       "OpenSSL can make no second CA, that nobody trusts, of this "
                       "one");
}

/* With the configuration. */
static void cas_free(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < ports; i++) {
        leaf_release(cas[i].own);
        sk_X509_pop_free(cas[i].chain[0], X509_free);
        sk_X509_pop_free(cas[i].chain[1], X509_free);
        X509_free(cas[i].untrusted.cert);
    }
    cas = NULL;
    ports = 0;
}

bool leaf_setup(struct bt_arena *arena, struct bt_error *err)
{
    const struct bt_tls_port *port;
    bool good, any = false;
    uint64_t bytes = 0;

    ports = bt_tls_ports(&port);
    cas = bt_alloc(arena, (ports > 0 ? ports : 1) * sizeof *cas);
    bt_defer(arena, cas_free, NULL);
    for (size_t i = 0; i < ports; i++)
        if (port[i].bump && serve_ca((unsigned)i) != NULL) {
            any = true;
            bytes += port[i].cert_memory.bytes > 0 ? (uint64_t)port[i].cert_memory.bytes : 0;
        }
    if (!any)
        return true;
    good = leaf_keys_setup(err);
    for (size_t i = 0; good && i < ports; i++)
        if (port[i].bump && serve_ca((unsigned)i) != NULL)
            good = ca_setup(&cas[i], &port[i], serve_ca((unsigned)i), err);
    return good && leaf_store_setup(bytes, err) && leaf_gauges_setup(err);
}

int64_t leaf_ca_expires(void)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < ports; i++)
        if (cas[i].chain[0] != NULL) {
            int64_t end = seconds(X509_get0_notAfter(cas[i].trusted.cert));

            first = end < first ? end : first;
        }
    return first;
}

bool leaf_start(void)
{
    if (leaf_ca_expires() == INT64_MAX)
        return true;
    leaf_gauges_start();
    return bt_work_open();
}

void leaf_stop(void)
{
    leaf_gauges_stop();
}
