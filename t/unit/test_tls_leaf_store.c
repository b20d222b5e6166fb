/* test_tls_leaf_store.c - forged certificates in memory: of one worker, of all of them, and their keys.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf_kit.h"

/* What is ready is one worker's; what all share is found by the others, with the same key. */
static void by_another_worker(void **state)
{
    X509 *cert = origin_cert("a.example"), *first;
    struct tls_peer peer = peer_of(cert, 0, 0);
    struct tls_leaf *leaf;

    (void)state;
    setup();
    for (int rsa = 0; rsa < 2; rsa++) {
        conf.leaf_key = rsa;
        leaf = forged(&txns[0], "a.example", &peer);
        assert_good(leaf, "a.example");
        first = X509_dup(leaf->cert);
        ready_forget();
        leaf = forged(&txns[1], "a.example", &peer);
        assert_int_equal(txns[1].resumed, 0);
        assert_good(leaf, "a.example");
        assert_int_equal(X509_cmp(leaf->cert, first), 0);
        assert_int_equal(EVP_PKEY_get_base_id(leaf->key), rsa ? EVP_PKEY_RSA : EVP_PKEY_EC);
        X509_free(first);
    }
    assert_int_equal(COUNTED(leaf_shared), 2);
    assert_int_equal(COUNTED(leaf_forged), 2);
    X509_free(cert);
}

/* Two workers make the same one at the same time: both show the one that was there first. */
static void race(void **state)
{
    struct tls_leaf *first, *second;
    struct bt_work *slow;
    X509 *theirs;

    (void)state;
    setup();
    assert_int_equal(leaf_forge(&txns[0], BT_STR("a.example"), NULL), BT_TLS_WAIT);
    slow = works;
    works = NULL;
    slow->run(slow);
    jobs = NULL; /* the other worker has its own */
    first = forged(&txns[1], "a.example", NULL);
    theirs = X509_dup(first->cert);
    ready_forget();
    jobs = (struct job *)slow;
    slow->done(slow);
    assert_int_equal(leaf_forge(&txns[0], BT_STR("a.example"), NULL), BT_TLS_READY);
    second = txns[0].client.leaf;
    assert_int_equal(COUNTED(leaf_forged), 2);
    assert_int_equal(X509_cmp(second->cert, theirs), 0);
    assert_good(second, "a.example");
    X509_free(theirs);
}

/* ---- keys ---- */

static void rsa_for_some(void **state)
{
    struct tls_leaf *first, *second;

    (void)state;
    setup();
    first = forged(&txns[0], "a.example", NULL);
    assert_int_equal(EVP_PKEY_get_base_id(first->key), EVP_PKEY_EC);
    rsa_client = true;
    txns[1].client.hello = &txns[1].hello;
    second = forged(&txns[1], "a.example", NULL);
    assert_good(second, "a.example");
    assert_int_equal(EVP_PKEY_get_base_id(second->key), EVP_PKEY_RSA);
    assert_int_equal(EVP_PKEY_get_bits(second->key), 2048);
    assert_ptr_equal(forged(&txns[2], "a.example", NULL), first); /* nothing known of its hello */
}

/* Four workers want an RSA key that nobody has made yet, at once: it is the same one in the end. */
static void same_keys(void **state)
{
    uint8_t id[4][LEAF_KEYS][32];
    int fds[2];

    (void)state;
    setup();
    assert_null(ready[LEAF_RSA]);
    assert_int_equal(pipe(fds), 0);
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            for (int key = 0; key < LEAF_KEYS; key++) {
                unsigned char *der = NULL;
                int len = i2d_PUBKEY(leaf_key((enum leaf_key)key), &der);

                EVP_Digest(der, (size_t)len, id[0][key], NULL, EVP_sha256(), NULL);
            }
            _exit(write(fds[1], id[0], sizeof id[0]) == sizeof id[0] ? 0 : 1);
        }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(read(fds[0], id[i], sizeof id[i]), sizeof id[i]);
        assert_memory_equal(id[i], id[0], sizeof id[0]);
    }
    while (wait(NULL) > 0)
        continue;
    close(fds[0]);
    close(fds[1]);
    assert_memory_not_equal(id[0][LEAF_EC], id[0][LEAF_NOBODY], 32);
}

/* ---- stores ---- */

static void different_ids(void **state)
{
    X509 *cert = origin_cert("a.example"), *renewed = origin_cert("a.example");
    struct tls_peer peers[] = {peer_of(cert, 0, 0),
                               peer_of(renewed, 0, 0),
                               peer_of(cert, X509_V_ERR_CERT_HAS_EXPIRED, 0),
                               peer_of(cert, X509_V_ERR_CERT_HAS_EXPIRED, 1),
                               peer_of(cert, X509_V_ERR_CERT_REVOKED, 0),
                               peer_of(cert, X509_V_ERR_CERT_REVOKED, 1)};
    struct leaf_ca another = {.id = {1}};
    struct leaf_order rows[20], *o = rows;
    uint8_t ids[20][LEAF_ID];
    size_t n;

    (void)state;
    setup();
    /* both faults, each at either depth */
    peers[4].error[peers[4].errors++] = (struct tls_error){X509_V_ERR_CERT_HAS_EXPIRED, 1, true};
    peers[5].error[peers[5].errors++] = (struct tls_error){X509_V_ERR_CERT_HAS_EXPIRED, 0, true};
    for (size_t i = 0; i < COUNT(peers); i++)
        *o++ = (struct leaf_order){.ca = &cas[0], .origin = &peers[i]};
    *o++ = (struct leaf_order){.ca = &another, .origin = &peers[0]};
    *o++ = (struct leaf_order){.ca = &cas[0], .origin = &peers[0], .mode = FORGE_SELF};
    *o++ = (struct leaf_order){.ca = &cas[0], .origin = &peers[0], .mode = FORGE_UNTRUSTED};
    *o++ = (struct leaf_order){.ca = &cas[0], .origin = &peers[0], .valid_after = true};
    *o++ = (struct leaf_order){.ca = &cas[0], .origin = &peers[0], .valid_before = true};
    *o++ = (struct leaf_order){.ca = &cas[0], .origin = &peers[0], .rsa = true};
    *o++ = (struct leaf_order){.ca = &cas[0], .origin = &peers[0], .name = BT_STR("a.example")};
    *o++ = (struct leaf_order){.ca = &cas[0], .name = BT_STR("a.example")};
    *o++ = (struct leaf_order){.ca = &cas[0], .name = BT_STR("b.example")};
    n = (size_t)(o - rows);
    for (size_t i = 0; i < n; i++) {
        uint8_t again[LEAF_ID];

        assert_true(leaf_id(&rows[i], ids[i]) && leaf_id(&rows[i], again));
        assert_memory_equal(ids[i], again, LEAF_ID);
        for (size_t j = 0; j < i; j++)
            if (memcmp(ids[i], ids[j], LEAF_ID) == 0)
                fail_msg("orders %zu and %zu have one id", i, j);
    }
    /* what was made with other keys is no use */
    ((struct shared *)bt_zone_memory(keys_zone))->id[0]++;
    assert_true(leaf_id(&rows[0], ids[n]));
    assert_memory_not_equal(ids[n], ids[0], LEAF_ID);
    X509_free(cert);
    X509_free(renewed);
}

#if defined(__SANITIZE_ADDRESS__)
enum { MEASURED = false };
#else
enum { MEASURED = true };
#endif

/* Bytes a leaf, of so many, and what the store thinks of it. */
static void assert_cost(const char *format, const char *names, bool again)
{
    struct mallinfo2 before, after;
    char host[40];
    double real, counted;
    X509 *cert = kit_make(
        (struct kit_cert){.subject = "CN=x",
                          .key = kit_key(true, 2),
                          .ext = {names != NULL ? "subjectAltName" : NULL, names}});
    struct tls_peer peer = peer_of(cert, 0, 0);

    if (!again)
        ready_forget();
    before = mallinfo2();
    for (int i = 0; i < 20; i++) {
        struct tls_leaf *leaf;

        snprintf(host, sizeof host, format, i);
        peer.sha256[0]++;
        leaf = forged(&txns[1], host, names != NULL ? &peer : NULL);
        assert_non_null(leaf);
        X509_check_purpose(leaf->cert, -1, 0);
    }
    after = mallinfo2();
    real = (double)(after.uordblks - before.uordblks) / 20;
    counted = (double)s.bytes / (double)s.n;
    print_message("# a ready leaf takes %.0f bytes, and is counted as %.0f\n", real, counted);
    if (MEASURED) {
        assert_true(counted > 0.9 * real);
        assert_true(counted < 1.4 * real);
    }
    X509_free(cert);
}

static void counted_as_it_is(void **state)
{
    char names[4000] = "DNS:a.example";

    (void)state;
    setup();
    for (int i = 0; i < 100; i++)
        snprintf(names + strlen(names), 40, ",DNS:name-%d.a.example", i);
    assert_non_null(forged(&txns[1], "x", NULL)); /* what is made once */
    assert_cost("h%d.example", NULL, false);
    ready_forget();
    assert_cost("h%d.example", NULL, true);
    assert_int_equal(COUNTED(leaf_shared), 20);
    assert_cost("h%d.example", names, false);
}

/* What was used last stays, what was not goes. */
static void ready_is_bounded(void **state)
{
    struct tls_leaf *first;
    char host[40];

    (void)state;
    setup();
    first = forged(&txns[0], "first.example", NULL);
    for (int i = 0; i < 300; i++) {
        snprintf(host, sizeof host, "h%d.example", i);
        assert_non_null(forged(&txns[1], host, NULL));
        assert_true(s.bytes <= s.limit);
        assert_ptr_equal(leaf_store_find(s.youngest->id), txns[1].client.leaf);
        if (i % 5 == 0)
            assert_ptr_equal(forged(&txns[2], "first.example", NULL), first);
    }
    assert_int_equal(s.limit, 2 * (1 << 20) / 4);
    assert_in_range(leaf_store_count(), 50, 200);
    assert_int_equal(COUNTED(leaf_forged), 301);
    assert_int_equal(COUNTED(leaves), (int)leaf_store_count());
    /* the others can still be had */
    assert_non_null(forged(&txns[3], "h3.example", NULL));
    assert_int_equal(COUNTED(leaf_shared), 1);
    assert_int_equal(COUNTED(leaf_forged), 301);
}

static void name_alone_expires(void **state)
{
    struct tls_leaf *leaf;
    X509 *first;

    (void)state;
    setup();
    first = X509_dup(forged(&txns[0], "a.example", NULL)->cert);
    clock_shift(40 * INT64_C(86400000));
    assert_int_equal(X509_cmp(forged(&txns[1], "a.example", NULL)->cert, first), 0);
    clock_shift(20 * INT64_C(86400000)); /* the CA has 100 days */
    leaf = forged(&txns[2], "a.example", NULL);
    assert_int_not_equal(X509_cmp(leaf->cert, first), 0);
    assert_good(leaf, "a.example");
    ready_forget();
    assert_int_equal(X509_cmp(forged(&txns[3], "a.example", NULL)->cert, leaf->cert), 0);
    assert_int_equal(COUNTED(leaf_forged), 2);
    X509_free(first);
}

static void nothing_kept(void **state)
{
    struct tls_leaf *first;

    (void)state;
    port_rows[0].cert_memory.bytes = port_rows[1].cert_memory.bytes = 0;
    setup();
    first = forged(&txns[0], "a.example", NULL);
    assert_good(first, "a.example");
    assert_ptr_not_equal(forged(&txns[1], "a.example", NULL), first);
    assert_int_equal(COUNTED(leaf_forged), 2);
    /* another signature, so it has another number */
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(first->cert),
                                          X509_get0_serialNumber(txns[1].client.leaf->cert)),
                         0);
}

static const struct CMUnitTest tests[] = {
    TEST(by_another_worker), TEST(race),
    TEST(rsa_for_some),      TEST(same_keys),
    TEST(different_ids),     TEST(counted_as_it_is),
    TEST(ready_is_bounded),  TEST(name_alone_expires),
    TEST(nothing_kept),
};
UNIT_MAIN(tests)
