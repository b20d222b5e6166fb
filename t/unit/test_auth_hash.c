/* test_auth_hash.c - MD5, SHA-1, SHA-256 by the examples of their RFCs, and at every length; base64.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "auth/hash.c"

static const char *digest(enum hash_kind kind, const char *text, size_t step)
{
    static char hex[HASH_HEX_MAX];
    uint8_t sum[HASH_MAX];
    struct hash hash;
    size_t len = strlen(text);

    hash_init(&hash, kind);
    for (size_t i = 0; i < len; i += step)
        hash_add(&hash, text + i, len - i < step ? len - i : step);
    hash_hex(sum, hash_end(&hash, sum), hex);
    return hex;
}

static void examples(void **state)
{
    static const char long_text[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    (void)state;
    assert_string_equal(digest(HASH_MD5, "", 1), "d41d8cd98f00b204e9800998ecf8427e");
    assert_string_equal(digest(HASH_MD5, "message digest", 3), "f96b697d7cb7938d525a2f31aaf161d0");
    assert_string_equal(digest(HASH_SHA1, "abc", 1), "a9993e364706816aba3e25717850c26c9cd0d89d");
    assert_string_equal(digest(HASH_SHA1, long_text, 5),
                        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    assert_string_equal(digest(HASH_SHA256, "abc", 1),
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(digest(HASH_SHA256, long_text, 7),
                        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void pieces_do_not_matter(void **state)
{
    char text[200], whole[HASH_HEX_MAX];

    (void)state;
    memset(text, 0, sizeof text);
    for (size_t n = 0; n < sizeof text - 1; n++) {
        for (int kind = HASH_MD5; kind <= HASH_SHA256; kind++) {
            strcpy(whole, digest((enum hash_kind)kind, text, sizeof text));
            assert_string_equal(digest((enum hash_kind)kind, text, 1), whole);
            assert_string_equal(digest((enum hash_kind)kind, text, 13), whole);
        }
        text[n] = (char)('a' + n % 26);
    }
}

static long decode(const char *text, size_t cap)
{
    static uint8_t out[64];

    return hash_base64_decode((bt_str){text, strlen(text)}, out, cap);
}

static void base64(void **state)
{
    uint8_t out[16];

    (void)state;
    assert_int_equal(hash_base64_decode(BT_STR("QWxhZGRpbjpv"), out, sizeof out), 9);
    assert_memory_equal(out, "Aladdin:o", 9);
    assert_int_equal(decode("QQ==", 8), 1);
    assert_int_equal(decode("QUI=", 8), 2);
    assert_int_equal(decode("QQ", 8), 1);
    assert_int_equal(decode("", 8), 0);
    assert_int_equal(decode("Q", 8), -1);
    assert_int_equal(decode("QQ===", 8), -1);
    assert_int_equal(decode("Q!==", 8), -1);
    assert_int_equal(decode("QQ==QQ==", 8), -1);
    assert_int_equal(decode("QUJD", 2), -1);
    assert_true(hash_same("abc", "abc", 3));
    assert_false(hash_same("abc", "abd", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(base64),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
