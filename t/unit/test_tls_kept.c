/* test_tls_kept.c - sessions with origins that are kept: which come back, how often, and what makes room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls_kit.h"

#include <openssl/ssl.h>

#include "tls/kept.c"

static int64_t now_ms = KIT_NOW * 1000;
int64_t bt_wall_ms(void)
{
    return now_ms;
}

static int held;
struct tls_peer *tls_peer_hold(struct tls_peer *peer)
{
    peer->uses++;
    held++;
    return peer;
}
void tls_peer_release(struct tls_peer *peer)
{
    if (peer == NULL)
        return;
    peer->uses--;
    held--;
}

static struct tls_peer *peers[8];
static unsigned n_peers;

static struct tls_peer *peer_new(uint8_t print, int from, int to)
{
    struct tls_peer *peer = calloc(1, sizeof *peer);

    peers[n_peers++] = peer;
    peer->sha256[0] = print;
    peer->cert = kit_make((struct kit_cert){
        .subject = "CN=a.test", .key = kit_key(false, 0), .from = from, .to = to});
    return peer;
}

static SSL_SESSION *session_new(int version, uint8_t id)
{
    SSL_SESSION *session = SSL_SESSION_new();

    assert_int_equal(SSL_SESSION_set_protocol_version(session, version), 1);
    assert_int_equal(SSL_SESSION_set1_id(session, &id, 1), 1);
    SSL_SESSION_set_time(session, KIT_NOW);
    SSL_SESSION_set_timeout(session, 300);
    return session;
}

/* Its id; 0: there is none. */
static int get(const char *key)
{
    SSL_SESSION *session;
    struct tls_peer *peer;
    unsigned len;
    int id;

    if (!kept_get(key, &session, &peer))
        return 0;
    id = SSL_SESSION_get_id(session, &len)[0];
    SSL_SESSION_free(session);
    tls_peer_release(peer);
    return id;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned k = 0; k < PLACES; k++)
            empty(&table[i][k]);
    assert_int_equal(held, 0);
    while (n_peers > 0) {
        X509_free(peers[--n_peers]->cert);
        free(peers[n_peers]);
    }
    now_ms = KIT_NOW * 1000;
    return 0;
}

static void test_one_use(void **state)
{
    struct tls_peer *peer = peer_new(1, -9, 9);

    (void)state;
    assert_int_equal(get("a:443"), 0);
    for (uint8_t id = 1; id <= 6; id++)
        assert_true(kept_put("a:443", session_new(TLS1_3_VERSION, id), peer));
    assert_int_equal(get("b:443"), 0);
    for (int id = 6; id >= 3; id--) /* the first ones made room */
        assert_int_equal(get("a:443"), id);
    assert_int_equal(get("a:443"), 0);
    assert_int_equal(get("a:443"), 0);
}

static void test_many_uses(void **state)
{
    struct tls_peer *peer = peer_new(1, -9, 9);

    (void)state;
    assert_true(kept_put("a:443", session_new(TLS1_2_VERSION, 1), peer));
    assert_int_equal(get("a:443"), 1);
    assert_int_equal(get("a:443"), 1);
    assert_true(kept_put("a:443", session_new(TLS1_2_VERSION, 2), peer));
    assert_int_equal(get("a:443"), 2);
    assert_int_equal(get("a:443"), 2);
}

static void test_ends(void **state)
{
    struct tls_peer *peer = peer_new(1, -9, 1), *faulty = peer_new(2, -9, 1);

    (void)state;
    faulty->errors = 1; /* its time is judged by the rules, each time */
    assert_true(kept_put("a:443", session_new(TLS1_2_VERSION, 1), peer));
    assert_true(kept_put("b:443", session_new(TLS1_2_VERSION, 2), peer));
    assert_true(kept_put("c:443", session_new(TLS1_2_VERSION, 3), faulty));
    now_ms += 299 * 1000;
    assert_int_equal(get("a:443"), 1);
    now_ms += 2 * 1000;
    assert_int_equal(get("a:443"), 0);
    now_ms = (KIT_NOW + 2 * KIT_DAY) * 1000;
    SSL_SESSION_set_timeout(find(set_of("b:443"), "b:443")->session[0], 1000000);
    SSL_SESSION_set_timeout(find(set_of("c:443"), "c:443")->session[0], 1000000);
    assert_int_equal(get("b:443"), 0); /* the certificate has expired */
    assert_int_equal(get("c:443"), 3);
}

static void test_another_certificate(void **state)
{
    struct tls_peer *old = peer_new(1, -9, 9), *new = peer_new(2, -9, 9);

    (void)state;
    assert_true(kept_put("a:443", session_new(TLS1_3_VERSION, 1), old));
    assert_true(kept_put("a:443", session_new(TLS1_3_VERSION, 2), new));
    assert_int_equal(old->uses, 0);
    assert_int_equal(get("a:443"), 2);
    assert_int_equal(get("a:443"), 0);
}

static void test_room(void **state)
{
    struct tls_peer *peer = peer_new(1, -9, 9);
    char key[32];
    int there = 0;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "host-%d.test:443", i);
        assert_true(kept_put(key, session_new(TLS1_2_VERSION, 7), peer));
        assert_true(kept_put("used.test:443", session_new(TLS1_2_VERSION, 8), peer));
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "host-%d.test:443", i);
        there += get(key) == 7;
    }
    assert_in_range(there, SETS * PLACES - 2, SETS * PLACES);
    assert_int_equal(get("used.test:443"), 8);
}

#define KEPT(test) cmocka_unit_test_teardown(test, end)
static const struct CMUnitTest tests[] = {
    KEPT(test_one_use), KEPT(test_many_uses), KEPT(test_ends), KEPT(test_another_certificate),
    KEPT(test_room),
};
UNIT_MAIN(tests)
