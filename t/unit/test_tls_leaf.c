/* test_tls_leaf.c - who gets which forged certificate, made how often.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "leaf_kit.h"

static void first_and_again(void **state)
{
    X509 *cert = origin_cert("a.example");
    struct tls_peer peer = peer_of(cert, 0, 0);
    struct tls_leaf *leaf, *alone;

    (void)state;
    setup();
    leaf = forged(&txns[0], "www.a.example", &peer);
    assert_good(leaf, "a.example");
    assert_int_equal(sk_X509_num(leaf->chain), 1);
    assert_false(txns[0].client.fake);
    assert_int_equal(verify(leaf, "www.a.example"), X509_V_ERR_HOSTNAME_MISMATCH);
    assert_ptr_equal(forged(&txns[1], "other.example", &peer), leaf);
    assert_int_equal(txns[1].resumed, 0);
    alone = forged(&txns[2], "b.example", NULL);
    assert_good(alone, "b.example");
    assert_true(txns[2].client.fake);
    assert_ptr_not_equal(forged(&txns[3], "c.example", NULL), alone);
    assert_int_equal(COUNTED(leaf_forged), 3);
    assert_int_equal(COUNTED(leaf_ready), 1);
    assert_int_equal(COUNTED(leaves), 3);
    assert_int_equal(COUNTED(leaf_bytes), (int)s.bytes);
    assert_int_equal(peer.uses, 1);
    /* again in one connection: the old one is let go */
    assert_ptr_equal(forged(&txns[0], "b.example", NULL), alone);
    X509_free(cert);
}

/* Ten ask at once, one leaves in between: one certificate is made. */
static void at_once(void **state)
{
    (void)state;
    setup();
    for (int i = 0; i < 10; i++)
        assert_int_equal(leaf_forge(&txns[i], BT_STR("a.example"), NULL), BT_TLS_WAIT);
    arena_reset(txns[4].arena);
    assert_null(txns[4].client.ask);
    assert_int_equal(work(), 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(txns[i].resumed, i != 4);
        if (i == 4)
            continue;
        assert_int_equal(leaf_forge(&txns[i], BT_STR("a.example"), NULL), BT_TLS_READY);
        assert_ptr_equal(txns[i].client.leaf, txns[0].client.leaf);
    }
    assert_int_equal(COUNTED(leaf_joined), 9);
    assert_int_equal(COUNTED(leaf_forged), 1);
    /* all leave: it is kept all the same; some leave after they were told */
    assert_int_equal(leaf_forge(&txns[4], BT_STR("b.example"), NULL), BT_TLS_WAIT);
    assert_int_equal(leaf_forge(&txns[10], BT_STR("c.example"), NULL), BT_TLS_WAIT);
    arena_reset(txns[4].arena);
    assert_int_equal(work(), 2);
    arena_reset(txns[10].arena);
    assert_int_equal(leaf_forge(&txns[4], BT_STR("b.example"), NULL), BT_TLS_READY);
    assert_int_equal(leaf_forge(&txns[10], BT_STR("c.example"), NULL), BT_TLS_READY);
}

static void as_it_deserves(void **state)
{
    static const struct {
        int code, depth, verified;
        enum forge_mode mode;
    } rows[] = {
        {0, 0, X509_V_OK, FORGE_TRUSTED},
        {VERIFY_WRONG_HOST, 0, X509_V_OK, FORGE_TRUSTED},
        {X509_V_ERR_HOSTNAME_MISMATCH, 0, X509_V_OK, FORGE_TRUSTED},
        {X509_V_ERR_CERT_HAS_EXPIRED, 0, X509_V_OK, FORGE_TRUSTED},
        {X509_V_ERR_CERT_NOT_YET_VALID, 0, X509_V_OK, FORGE_TRUSTED},
        {X509_V_ERR_CERT_HAS_EXPIRED, 1, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, FORGE_UNTRUSTED},
        {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, 0, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
         FORGE_SELF},
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, 0, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
         FORGE_UNTRUSTED},
        {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, 1, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
         FORGE_UNTRUSTED},
        {X509_V_ERR_CERT_REVOKED, 0, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, FORGE_UNTRUSTED},
        {X509_V_ERR_CERT_SIGNATURE_FAILURE, 0, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
         FORGE_UNTRUSTED},
        {X509_V_ERR_EE_KEY_TOO_SMALL, 0, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, FORGE_UNTRUSTED},
    };
    X509 *cert = origin_cert("a.example");

    (void)state;
    setup();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tls_peer peer = peer_of(cert, rows[i].code, rows[i].depth);
        struct tls_leaf *leaf = forged(&txns[0], "a.example", &peer);

        assert_non_null(leaf);
        if (verify(leaf, "a.example") != rows[i].verified)
            fail_msg("%d at %d", rows[i].code, rows[i].depth);
        assert_int_equal(leaf->chain == NULL, rows[i].mode == FORGE_SELF);
        if (leaf->chain != NULL)
            assert_int_equal(X509_check_issued(sk_X509_value(leaf->chain, 0), leaf->cert),
                             X509_V_OK);
        /* no two of them are the same */
        assert_int_equal(COUNTED(leaf_forged), (int)i + 1);
    }
    X509_free(cert);
}

/* What is one fault of several stays one. */
static void several_faults(void **state)
{
    X509 *cert = kit_make((struct kit_cert){
        .subject = "CN=a.example", .key = kit_key(true, 2), .from = -9, .to = -5});
    struct tls_peer peer = peer_of(cert, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, 0);
    struct tls_leaf *leaf;

    (void)state;
    setup();
    peer.error[peer.errors++] = (struct tls_error){X509_V_ERR_CERT_HAS_EXPIRED, 0, true};
    leaf = forged(&txns[0], "a.example", &peer);
    assert_int_equal(X509_self_signed(leaf->cert, 1), 1);
    assert_int_equal(ASN1_TIME_compare(X509_get0_notAfter(leaf->cert), X509_get0_notAfter(cert)),
                     0);
    peer.error[peer.errors++] = (struct tls_error){X509_V_ERR_CERT_REVOKED, 0, true};
    leaf = forged(&txns[1], "a.example", &peer);
    assert_int_equal(X509_self_signed(leaf->cert, 1), 0);
    assert_int_equal(X509_NAME_cmp(X509_get_issuer_name(leaf->cert),
                                   X509_get_subject_name(cas[0].untrusted.cert)),
                     0);
    X509_free(cert);
}

/* ---- what the configuration says ---- */

static bool line(bool (*set)(void *, const struct bt_line *, struct bt_error *), const char *word,
                 int acl)
{
    struct bt_word *words = bt_alloc(arena, sizeof *words);
    struct bt_line *made_line = bt_alloc(arena, sizeof *made_line);
    int *acls = bt_alloc(arena, sizeof *acls);

    *acls = acl;
    words->text = bt_str_copy(arena, (bt_str){word, strlen(word)});
    words->file = "x.conf";
    *made_line = (struct bt_line){
        .name = *words, .args = {words, 1}, .acls = (const void *)acls, .arena = arena};
    return set(&conf, made_line, &err);
}

static void sign_lines(void **state)
{
    X509 *cert = origin_cert("a.example");
    struct tls_peer self = peer_of(cert, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, 0);
    struct tls_peer expired = peer_of(cert, X509_V_ERR_CERT_HAS_EXPIRED, 0);
    struct tls_peer good = peer_of(cert, 0, 0);
    struct tls_peer revoked = peer_of(cert, X509_V_ERR_CERT_REVOKED, 0);

    (void)state;
    assert_true(line(leaf_set_sign, "signTrusted", X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT));
    assert_true(line(leaf_set_sign, "signUntrusted", X509_V_ERR_CERT_HAS_EXPIRED));
    assert_true(line(leaf_set_sign, "signUntrusted", X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT));
    assert_true(line(leaf_set_sign, "signSelf", 1));
    setup();
    assert_int_equal(verify(forged(&txns[0], "a.example", &self), "a.example"), X509_V_OK);
    assert_int_equal(verify(forged(&txns[1], "a.example", &expired), "a.example"),
                     X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
    assert_int_equal(verify(forged(&txns[2], "a.example", &good), "a.example"),
                     X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
    assert_int_equal(verify(forged(&txns[3], "a.example", &revoked), "a.example"),
                     X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN); /* no line: as it deserves */
    /* a line that holds for the second fault only */
    revoked.error[revoked.errors++] = (struct tls_error){X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, 0,
                                                         true};
    assert_int_equal(verify(forged(&txns[4], "a.example", &revoked), "a.example"), X509_V_OK);
    /* without an origin lists are not asked */
    assert_int_equal(verify(forged(&txns[5], "a.example", NULL), "a.example"), X509_V_OK);
    assert_null(tls_judged);
    assert_null(tls_judged_cert);
    X509_free(cert);
}

static void adapt_lines(void **state)
{
    X509 *cert = kit_make((struct kit_cert){
        .subject = "O=Org/CN=old.example", .key = kit_key(true, 2), .from = -20, .to = -10});
    struct tls_peer peer = peer_of(cert, X509_V_ERR_CERT_HAS_EXPIRED, 0);
    struct tls_leaf *leaf;

    (void)state;
    assert_true(line(leaf_set_adapt, "setValidAfter", X509_V_ERR_CERT_HAS_EXPIRED));
    assert_true(line(leaf_set_adapt, "setValidBefore", X509_V_ERR_CERT_NOT_YET_VALID));
    assert_true(line(leaf_set_adapt, "setCommonName{fixed.example}", X509_V_ERR_CERT_REVOKED));
    assert_true(line(leaf_set_adapt, "setCommonName", VERIFY_WRONG_HOST));
    assert_true(line(leaf_set_adapt, "setCommonName{never.example}", VERIFY_WRONG_HOST));
    setup();
    leaf = forged(&txns[0], "new.example", &peer);
    assert_good(leaf, "old.example");
    assert_int_equal(ASN1_TIME_compare(X509_get0_notAfter(leaf->cert), X509_get0_notAfter(ca)), 0);
    assert_int_equal(ASN1_TIME_compare(X509_get0_notBefore(leaf->cert), X509_get0_notBefore(cert)),
                     0);
    peer.error[peer.errors++] = (struct tls_error){VERIFY_WRONG_HOST, 0, true};
    leaf = forged(&txns[1], "new.example", &peer);
    assert_good(leaf, "new.example");
    assert_int_equal(verify(leaf, "old.example"), X509_V_ERR_HOSTNAME_MISMATCH);
    peer.error[peer.errors++] = (struct tls_error){X509_V_ERR_CERT_NOT_YET_VALID, 0, true};
    leaf = forged(&txns[2], "new.example", &peer);
    assert_int_equal(ASN1_TIME_compare(X509_get0_notBefore(leaf->cert), X509_get0_notBefore(ca)),
                     0);
    peer.error[1].code = X509_V_ERR_CERT_REVOKED;
    leaf = forged(&txns[3], "new.example", &peer);
    assert_int_equal(X509_check_host(leaf->cert, "fixed.example", 0, 0, NULL), 1);
    X509_free(cert);
}

static void lines_mistaken(void **state)
{
    static const char *const rows[] = {"setValidAfter{x}",   "setCommonName{}",
                                       "setCommonName{a b}", "setCommonName{a.example",
                                       "setCommonNames",     "",
                                       "setCommonName{*}",   "setcommonname{a..b}"};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_false(line(leaf_set_adapt, rows[i], 0));
    assert_false(line(leaf_set_sign, "signNever", 0));
    assert_true(line(leaf_set_adapt, "setcommonname{192.0.2.1}", 0));
    assert_true(line(leaf_set_sign, "SIGNSELF", 0));
    conf.sign_hash = 2;
    setup();
    assert_int_equal(X509_get_signature_nid(forged(&txns[0], "a.example", NULL)->cert),
                     NID_ecdsa_with_SHA512);
}

/* ---- what does not work ---- */

static void in_the_loop(void **state)
{
    (void)state;
    setup();
    works_full = true;
    assert_int_equal(leaf_forge(&txns[0], BT_STR("a.example"), NULL), BT_TLS_READY);
    assert_good(txns[0].client.leaf, "a.example");
    assert_int_equal(COUNTED(leaf_in_loop), 1);
}

static void no_certificate(void **state)
{
    X509 *cert = origin_cert("a.example");
    X509 *nameless = kit_make((struct kit_cert){.subject = "", .key = kit_key(true, 2)});
    struct tls_peer peer = peer_of(cert, 0, 0), nobody = peer_of(nameless, 0, 0);

    (void)state;
    setup();
    ASN1_STRING_set(X509_getm_notAfter(cert), "next year", -1);
    assert_null(forged(&txns[0], "a.example", &peer));
    assert_int_equal(COUNTED(leaf_malformed), 1);
    assert_null(txns[0].client.leaf);
    assert_null(forged(&txns[0], "a.example", &nobody));
    assert_int_equal(COUNTED(leaf_nameless), 1);
    assert_null(forged(&txns[0], "a b", NULL));
    assert_null(forged(&txns[0], "", NULL));
    assert_int_equal(COUNTED(leaf_malformed) + COUNTED(leaf_nameless), 4);
    /* the same connection may get one for the host alone */
    assert_good(forged(&txns[0], "a.example", NULL), "a.example");
    port_of_txns = 2;
    assert_null(forged(&txns[1], "a.example", NULL));
    port_of_txns = 7;
    assert_null(forged(&txns[1], "a.example", NULL));
    assert_int_equal(COUNTED(leaf_failed), 2);
    assert_int_equal(COUNTED(leaf_forged), 1);
    X509_free(cert);
    X509_free(nameless);
}

/* generate-host-certificates=off: the port's own for all. */
static void not_forged(void **state)
{
    (void)state;
    setup();
    port_of_txns = 1;
    assert_ptr_equal(forged(&txns[0], "a.example", NULL)->cert, ca);
    assert_ptr_equal(forged(&txns[1], "b.example", NULL), txns[0].client.leaf);
    assert_int_equal(COUNTED(leaf_forged), 0);
}

static void near_its_end(void **state)
{
    X509 *old = kit_make((struct kit_cert){.subject = "CN=Old CA",
                                           .key = kit_key(false, 3),
                                           .from = -100,
                                           .to = 20,
                                           .ext = {"basicConstraints", "critical,CA:TRUE"}});

    (void)state;
    pems[1] = (struct pem){old, kit_key(false, 3), NULL, 0};
    port_rows[1].generate = true;
    assert_true(leaf_setup(arena, &err));
    assert_int_equal(leaf_ca_expires(), KIT_NOW + 20 * KIT_DAY);
    assert_int_equal(err.warnings, 1);
    X509_free(old);
}

static const struct CMUnitTest tests[] = {
    TEST(first_and_again), TEST(at_once),     TEST(as_it_deserves), TEST(several_faults),
    TEST(sign_lines),      TEST(adapt_lines), TEST(lines_mistaken), TEST(in_the_loop),
    TEST(no_certificate),  TEST(not_forged),  TEST(near_its_end),
};
UNIT_MAIN(tests)
