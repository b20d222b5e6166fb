/* test_tls_pem.c - PEM files in every order, and the sentences for those that do not do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "tls_kit.h"

#include "tls/pem.c"

static struct pem pem;
static struct pem_says says;
static X509 *root, *middle, *near_, *leaf, *stranger;
static EVP_PKEY *root_key, *middle_key, *near_key, *leaf_key;

static void make(void)
{
    if (root != NULL)
        return;
    root_key = kit_key(true, 0);
    middle_key = kit_key(false, 0);
    near_key = kit_key(false, 1);
    leaf_key = kit_key(false, 2);
    root = kit_ca("CN=Root", root_key);
    middle = kit_make((struct kit_cert){.subject = "CN=Middle",
                                        .key = middle_key,
                                        .issuer = root,
                                        .issuer_key = root_key,
                                        .ext = {"basicConstraints", "CA:TRUE"}});
    near_ = kit_make((struct kit_cert){.subject = "CN=Near",
                                       .key = near_key,
                                       .issuer = middle,
                                       .issuer_key = middle_key,
                                       .ext = {"basicConstraints", "CA:TRUE"}});
    leaf = kit_make((struct kit_cert){
        .subject = "CN=leaf", .key = leaf_key, .issuer = near_, .issuer_key = near_key});
    stranger = kit_ca("CN=Stranger", kit_key(false, 3));
}

/* What stands in a file: one letter each.
 *   r m n l s  the certificates     k  the leaf's key        K  its key as EC PRIVATE KEY
 *   o  another key                  e E  it, encrypted (new and old way)
 *   p  parameters                   t  a line of text        x  half a certificate
 *   T  the leaf as TRUSTED CERTIFICATE
 *   z  a certificate of rubbish     d  a key that is neither RSA nor EC   R  the root's key */
static void put(BIO *out, char what)
{
    static const char rubbish[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const EVP_CIPHER *cipher = EVP_aes_128_cbc();
    char password[] = "secret";
    EVP_PKEY *odd;

    switch (what) {
    case 'r':
        PEM_write_bio_X509(out, root);
        break;
    case 'm':
        PEM_write_bio_X509(out, middle);
        break;
    case 'n':
        PEM_write_bio_X509(out, near_);
        break;
    case 'l':
        PEM_write_bio_X509(out, leaf);
        break;
    case 's':
        PEM_write_bio_X509(out, stranger);
        break;
    case 'T':
        PEM_write_bio_X509_AUX(out, leaf);
        break;
    case 'k':
        PEM_write_bio_PrivateKey(out, leaf_key, NULL, NULL, 0, NULL, NULL);
        break;
    case 'K':
        PEM_write_bio_PrivateKey_traditional(out, leaf_key, NULL, NULL, 0, NULL, NULL);
        break;
    case 'o':
        PEM_write_bio_PrivateKey(out, kit_key(false, 3), NULL, NULL, 0, NULL, NULL);
        break;
    case 'R':
        PEM_write_bio_PrivateKey_traditional(out, root_key, NULL, NULL, 0, NULL, NULL);
        break;
    case 'e':
        PEM_write_bio_PrivateKey(out, leaf_key, cipher, NULL, 0, NULL, password);
        break;
    case 'E':
        PEM_write_bio_PrivateKey_traditional(out, leaf_key, cipher, NULL, 0, NULL, password);
        break;
    case 'd':
        odd = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
        PEM_write_bio_PrivateKey(out, odd, NULL, NULL, 0, NULL, NULL);
        EVP_PKEY_free(odd);
        break;
    case 'p':
        BIO_puts(out, "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n"
                      "-----END EC PARAMETERS-----\n");
        break;
    case 't':
        BIO_puts(out, "subject=CN = leaf\n\n");
        break;
    case 'x':
        BIO_puts(out, "-----BEGIN CERTIFICATE-----\nMIIB\n");
        break;
    default:
        BIO_puts(out, rubbish);
    }
}

static const char *file_of(const char *name, const char *what)
{
    const char *path = kit_path(name);
    BIO *out = BIO_new_file(path, "wb");

    make();
    assert_non_null(out);
    for (; *what != '\0'; what++)
        put(out, *what);
    BIO_free(out);
    return path;
}

static bool load(const char *what, const char *key)
{
    pem_free(&pem);
    return pem_load(file_of("a.pem", what), key == NULL ? NULL : file_of("b.pem", key), &pem,
                    &says);
}

/* The chain as letters. */
static const char *chain(void)
{
    static char text[PEM_CERTS_MAX + 1];
    int n = sk_X509_num(pem.chain);

    for (int i = 0; i < n; i++) {
        X509 *cert = sk_X509_value(pem.chain, i);

        text[i] = X509_cmp(cert, near_) == 0      ? 'n'
                  : X509_cmp(cert, middle) == 0   ? 'm'
                  : X509_cmp(cert, root) == 0     ? 'r'
                  : X509_cmp(cert, stranger) == 0 ? 's'
                                                  : '?';
    }
    text[n] = '\0';
    return text;
}

static void orders(void **state)
{
    static const struct {
        const char *file, *key, *chain;
        int strangers;
    } rows[] = {
        {"kl", NULL, "", 0},       {"lk", NULL, "", 0},       {"lKtp", NULL, "", 0},
        {"klnmr", NULL, "nmr", 0}, {"rmnlk", NULL, "nmr", 0}, {"mkrln", NULL, "nmr", 0},
        {"nlkmts", NULL, "nm", 1}, {"slkr", NULL, "", 2},     {"lmk", NULL, "", 1},
        {"llnnkk", NULL, "n", 0},  {"tTk", NULL, "", 0},      {"lkK", NULL, "", 0},
        {"lnm", "k", "nm", 0},     {"mnl", "Kp", "nm", 0},    {"l", "kln", "n", 0},
        {"lo", "k", "", 0},        {"tlt", "tkt", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!load(rows[i].file, rows[i].key))
            fail_msg("%s: %s", rows[i].file, says.text);
        assert_int_equal(X509_cmp(pem.cert, leaf), 0);
        assert_int_equal(EVP_PKEY_eq(pem.key, leaf_key), 1);
        assert_string_equal(chain(), rows[i].chain);
        assert_int_equal(pem.strangers, rows[i].strangers);
        assert_int_equal(ERR_peek_error(), 0);
    }
    assert_true(load("lnmrR", NULL));
    assert_int_equal(X509_cmp(pem.cert, root), 0);
    assert_int_equal(EVP_PKEY_get_base_id(pem.key), EVP_PKEY_RSA);
    assert_int_equal(pem.strangers, 3);
}

static void refusals(void **state)
{
    static const struct {
        const char *file, *key, *says; /* behind "a.pem: ", or "b.pem: " when there is a key file */
    } rows[] = {
        {"", NULL, "there is neither a certificate nor a private key in it"},
        {"t", NULL, "there is neither a certificate nor a private key in it"},
        {"l", NULL, "there is no private key beside the certificate"},
        {"l", "l", "there is no private key"},
        {"k", NULL, "there is a private key, but no certificate"},
        {"lo", NULL, "the private key belongs to none of the 1 certificates"},
        {"nmk", NULL, "the private key belongs to none of the 2 certificates"},
        {"lko", NULL, "there are two private keys"},
        {"l", "ko", "there are two private keys"},
        {"le", NULL, "the private key is encrypted"},
        {"lE", NULL, "the private key is encrypted"},
        {"l", "e", "the private key is encrypted"},
        {"ld", NULL, "the private key is neither RSA nor EC"},
        {"zk", NULL, "certificate number 1 cannot be read"},
        {"lzk", NULL, "certificate number 2 cannot be read"},
        {"lkx", NULL, "behind 1 certificates stands a block that is no PEM"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char expected[600];

        if (load(rows[i].file, rows[i].key))
            fail_msg("%s passes", rows[i].file);
        snprintf(expected, sizeof expected, "%s: %s",
                 kit_path(rows[i].key != NULL ? "b.pem" : "a.pem"), rows[i].says);
        if (strncmp(says.text, expected, strlen(expected)) != 0)
            fail_msg("%s: %s", rows[i].file, says.text);
        assert_true(pem.cert == NULL && pem.key == NULL && pem.chain == NULL);
        assert_int_equal(ERR_peek_error(), 0);
    }
    assert_false(load("l", "o"));
    assert_non_null(strstr(says.text, "a.pem: the private key of "));
    assert_non_null(strstr(says.text, "b.pem belongs to none of the 1 certificates"));
    assert_false(pem_load("/nowhere/a.pem", NULL, &pem, &says));
    assert_string_equal(says.text, "/nowhere/a.pem: No such file or directory");
    assert_false(pem_load("/dev/zero", NULL, &pem, &says));
    assert_string_equal(says.text, "/dev/zero: it is no file, or longer than 1048576 bytes");
}

/* Two CAs that signed each other: the chain ends, whichever is the first. */
static void loops(void **state)
{
    X509 *a = kit_ca("CN=A", kit_key(false, 0)), *b = kit_ca("CN=B", kit_key(false, 1));
    X509 *of[3] = {
        kit_make((struct kit_cert){.subject = "CN=A",
                                   .key = kit_key(false, 0),
                                   .issuer = b,
                                   .issuer_key = kit_key(false, 1),
                                   .ext = {"basicConstraints", "CA:TRUE"}}),
        kit_make((struct kit_cert){.subject = "CN=B",
                                   .key = kit_key(false, 1),
                                   .issuer = a,
                                   .issuer_key = kit_key(false, 0),
                                   .ext = {"basicConstraints", "CA:TRUE"}}),
        kit_make((struct kit_cert){.subject = "CN=l",
                                   .key = kit_key(false, 2),
                                   .issuer = a,
                                   .issuer_key = kit_key(false, 0)}),
    };
    const char *path = kit_path("loop.pem");
    BIO *out = BIO_new_file(path, "wb");

    (void)state;
    for (int i = 0; i < 3; i++)
        PEM_write_bio_X509(out, of[i]);
    PEM_write_bio_PrivateKey(out, kit_key(false, 2), NULL, NULL, 0, NULL, NULL);
    BIO_free(out);
    pem_free(&pem);
    assert_true(pem_load(path, NULL, &pem, &says));
    assert_int_equal(sk_X509_num(pem.chain), 2);
    assert_int_equal(X509_cmp(sk_X509_value(pem.chain, 0), of[0]), 0);
    for (int i = 0; i < 3; i++)
        X509_free(of[i]);
    X509_free(a);
    X509_free(b);
}

/* Of two for one key, the one that lasts longer. */
static void renewed(void **state)
{
    const char *path = kit_path("renewed.pem");
    X509 *of[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        of[i] = kit_make((struct kit_cert){
            .subject = "CN=l", .key = kit_key(false, 2), .from = -i - 1, .to = 10 * i + 1});
    for (int first = 0; first < 2; first++) {
        BIO *out = BIO_new_file(path, "wb");

        PEM_write_bio_X509(out, of[first]);
        PEM_write_bio_X509(out, of[1 - first]);
        PEM_write_bio_PrivateKey(out, kit_key(false, 2), NULL, NULL, 0, NULL, NULL);
        BIO_free(out);
        pem_free(&pem);
        assert_true(pem_load(path, NULL, &pem, &says));
        assert_int_equal(X509_cmp(pem.cert, of[1]), 0);
    }
    X509_free(of[0]);
    X509_free(of[1]);
}

static void authorities(void **state)
{
    static const struct {
        struct kit_cert cert;
        const char *says; /* NULL: it may sign */
    } rows[] = {
        {{.ext = {"basicConstraints", "CA:TRUE"}}, NULL},
        {{.ext = {"basicConstraints", "CA:TRUE", "keyUsage", "keyCertSign"}}, NULL},
        {{.ext = {"basicConstraints", "CA:FALSE"}}, "this is no certificate of a CA"},
        {{.ext = {"basicConstraints", "CA:TRUE", "keyUsage", "digitalSignature"}},
         "this is no certificate of a CA"},
        {{.ext = {NULL}}, "this is no certificate of a CA"},
        {{.from = -3, .to = -1, .ext = {"basicConstraints", "CA:TRUE"}},
         "the CA expired at 2026-07-05 12:00 UTC"},
        {{.from = 1, .to = 3, .ext = {"basicConstraints", "CA:TRUE"}},
         "the CA is not valid before 2026-07-07 12:00 UTC"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct kit_cert want = rows[i].cert;
        struct pem of = {.key = kit_key(false, 0)};
        bool fine;

        want.subject = "CN=CA";
        want.key = of.key;
        of.cert = kit_make(want);
        fine = pem_is_ca(&of, "ca.pem", KIT_NOW, &says);
        if (fine != (rows[i].says == NULL))
            fail_msg("row %zu: %s", i, fine ? "passes" : says.text);
        if (!fine && (strncmp(says.text, "ca.pem: ", 8) != 0 ||
                      strncmp(says.text + 8, rows[i].says, strlen(rows[i].says)) != 0))
            fail_msg("row %zu: %s", i, says.text);
        X509_free(of.cert);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(orders),  cmocka_unit_test(refusals),    cmocka_unit_test(loops),
    cmocka_unit_test(renewed), cmocka_unit_test(authorities),
};
UNIT_MAIN(tests)
