/* test_tls_hello.c - hellos of real clients, and of none: verdicts, contents, fingerprints.
 *
 * The hellos lie in t/fuzz/corpus/hello. Those of openssl, curl and python were recorded; chrome and
 * ja3-* are made so that they have the fingerprints which those who invented JA3 and JA4 publish. The
 * other fingerprints are of a second implementation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "unit.h"

#include "tls/hash.c"
#include "tls/hello.c"
#include "tls/ja.c"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static struct bt_arena *arena;
static struct hello_reader reader;
static uint8_t raw[20000];

static size_t load(const char *name)
{
    char path[4096];
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, "%s/t/fuzz/corpus/hello/%s", SRCDIR, name);
    file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    n = fread(raw, 1, sizeof raw, file);
    fclose(file);
    return n;
}

static enum hello_verdict feed(size_t n)
{
    if (arena == NULL)
        arena = arena_new(4096);
    arena_reset(arena);
    hello_init(&reader, arena);
    return hello_feed(&reader, raw, n);
}

/* ---- a hello that is written here ---- */

static size_t made;

static void put(const char *bytes, size_t n)
{
    memcpy(raw + made, bytes, n);
    made += n;
}
#define PUT(literal) put(literal, sizeof(literal) - 1)

static void put_number(size_t number, int size)
{
    while (size-- > 0)
        raw[made++] = (uint8_t)(number >> 8 * size);
}

static void lengths(void)
{
    size_t n = made - 5;

    raw[3] = (uint8_t)(n >> 8), raw[4] = (uint8_t)n;
    raw[6] = 0, raw[7] = (uint8_t)((n - 4) >> 8), raw[8] = (uint8_t)(n - 4);
}

/* Up to the compression methods. */
static void start(void)
{
    made = 0;
    PUT("\x16\x03\x01\0\0\x01\0\0\0\x03\x03");
    for (int i = 0; i < 32; i++)
        PUT("r");
    PUT("\0\0\x02\x13\x01\x01\0");
}

static enum hello_verdict with(const char *extensions, size_t n)
{
    start();
    put_number(n, 2);
    put(extensions, n);
    lengths();
    return feed(made);
}
#define WITH(literal) with(literal, sizeof(literal) - 1)

static enum hello_verdict with_name(const char *name, size_t n)
{
    start();
    put_number(n + 9, 2);
    put_number(0, 2);
    put_number(n + 5, 2);
    put_number(n + 3, 2);
    PUT("\0");
    put_number(n, 2);
    put(name, n);
    lengths();
    return feed(made);
}

/* ---- tests ---- */

static bt_str or_empty(bt_str s)
{
    return s.at == NULL ? BT_STR("") : s;
}

static const struct {
    const char *file;
    enum hello_verdict verdict;
    enum hello_name name;
    const char *sni, *alpn;
    uint16_t best;
    bool ecdsa;
} of_clients[] = {
    {"openssl", HELLO_WHOLE, HELLO_NAME_HOST, "www.example.com", "", 0x0304, true},
    {"openssl-12", HELLO_WHOLE, HELLO_NAME_HOST, "www.example.com", "h2 http/1.1 ", 0x0303, true},
    {"openssl-noname", HELLO_WHOLE, HELLO_NAME_NONE, "", "", 0x0304, true},
    {"openssl-rsa", HELLO_WHOLE, HELLO_NAME_HOST, "a.test", "", 0x0303, false},
    {"curl", HELLO_WHOLE, HELLO_NAME_HOST, "www.example.com", "h2 http/1.1 ", 0x0304, true},
    {"curl-h1", HELLO_WHOLE, HELLO_NAME_NONE, "", "http/1.1 ", 0x0304, true},
    {"python", HELLO_WHOLE, HELLO_NAME_HOST, "www.example.com", "h2 http/1.1 ", 0x0304, true},
    {"python-12", HELLO_WHOLE, HELLO_NAME_HOST, "a_b.example.org", "h2 http/1.1 ", 0x0303, true},
    {"pieces", HELLO_WHOLE, HELLO_NAME_HOST, "www.example.com", "h2 http/1.1 ", 0x0304, true},
    {"chrome", HELLO_WHOLE, HELLO_NAME_HOST, "www.example.com", "h2 http/1.1 ", 0x0304, true},
    {"ja3-with", HELLO_WHOLE, HELLO_NAME_HOST, "x.example", "", 0x0301, false},
    {"ja3-without", HELLO_WHOLE, HELLO_NAME_NONE, "", "", 0x0301, false},
    {"resume", HELLO_WHOLE, HELLO_NAME_HOST, "r.example", "", 0x0304, false},
    {"sni-nul", HELLO_WHOLE, HELLO_NAME_ODD, "", "", 0x0303, false},
    {"sni-address", HELLO_WHOLE, HELLO_NAME_ADDRESS, "127.1", "", 0x0303, false},
    {"twice", HELLO_BAD, HELLO_NAME_NONE, "", "", 0, false},
    {"http", HELLO_NOT_TLS, HELLO_NAME_NONE, "", "", 0, false},
    {"sslv2", HELLO_NOT_TLS, HELLO_NAME_NONE, "", "", 0, false},
};

static void clients(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_clients); i++) {
        const struct hello *hello = &reader.hello;
        enum hello_verdict verdict = feed(load(of_clients[i].file));
        char alpn[64] = "";
        bt_str protocol;
        size_t at = 0;

        if (verdict != of_clients[i].verdict)
            fail_msg("%s: verdict %d (%s)", of_clients[i].file, verdict, reader.why);
        if (verdict != HELLO_WHOLE)
            continue;
        if (hello->name != of_clients[i].name)
            fail_msg("%s: name %d", of_clients[i].file, hello->name);
        assert_str(or_empty(hello->sni), of_clients[i].sni);
        while (hello_alpn(hello, &at, &protocol))
            strncat(strncat(alpn, protocol.at, protocol.len), " ", 2);
        assert_string_equal(alpn, of_clients[i].alpn);
        if (hello->best_version != of_clients[i].best ||
            hello_takes_ecdsa(hello) != of_clients[i].ecdsa)
            fail_msg("%s: version %x, ECDSA %d", of_clients[i].file, hello->best_version,
                     hello_takes_ecdsa(hello));
    }
}

static void contents(void **state)
{
    const struct hello *hello = &reader.hello;

    (void)state;
    assert_int_equal(feed(load("resume")), HELLO_WHOLE);
    assert_true(hello->has_ticket && hello->has_psk && hello->has_ech && hello->has_early_data);
    assert_int_equal(hello->session_id.len, 0);
    assert_int_equal(feed(load("chrome")), HELLO_WHOLE);
    assert_false(hello->has_ticket || hello->has_psk || hello->has_ech || hello->has_early_data);
    assert_true(hello->wants_ocsp && hello->has_ems && hello->has_extensions);
    assert_int_equal(hello->session_id.len, 32);
    assert_int_equal(hello->ciphers.n, 16);
    assert_true(hello_list_has(hello->groups, 29) && !hello_list_has(hello->groups, 30));
    assert_true(hello_list_has(hello->signatures, 0x0601));
    assert_true(hello_list_has(hello->versions, 0x4a4a));
    assert_int_equal(feed(load("ja3-without")), HELLO_WHOLE);
    assert_false(hello->has_extensions);
}

/* Every shorter piece is MORE, byte by byte or at once, and what follows does not matter. */
static void prefixes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_clients); i++) {
        size_t n = load(of_clients[i].file), end;
        struct hello_reader bytes;
        enum hello_verdict whole = feed(n);

        end = reader.used;
        if (whole == HELLO_WHOLE)
            assert_int_equal(end, n);
        hello_init(&bytes, arena);
        for (size_t k = 1; k <= end; k++)
            assert_int_equal(hello_feed(&bytes, raw + k - 1, 1), k < end ? HELLO_MORE : whole);
        assert_int_equal(bytes.used, end);
        assert_true(bytes.why == reader.why);
        assert_int_equal(hello_feed(&bytes, "more", 4), whole);
        assert_int_equal(bytes.used, end);
        for (size_t k = 0; k < end; k++)
            assert_int_equal(feed(k), HELLO_MORE);
    }
}

static const struct {
    const char *file, *ja3, *ja4;
} of_prints[] = {
    {"chrome", "cd08e31494f9531f560d64c695473da9", "t13d1516h2_8daaf6152771_e5627efa2ab1"},
    {"ja3-with", "ada70206e40642a3e4461f35503241d5", "t10d120300_d94e65cdb899_33a13ba74d1c"},
    {"ja3-without", "de350869b8c85de67a350c8d186f11e6", "t10i110000_3609b414f052_000000000000"},
    {"openssl", "a3afc2c46ba4a7d7fbe1cfb7a3031c2f", "t13d311000_e8f1e7e78f70_1f22a2ca17c4"},
    {"openssl-12", "0353bcd6b2d4de22c7f73a34e62efe05", "t12d2809h2_d943125447b4_0f0eab847d69"},
    {"openssl-noname", "c216e752cae6f8755fd27f561d031636", "t13i310900_e8f1e7e78f70_1f22a2ca17c4"},
    {"openssl-rsa", "ba3aa493141bab7df77f35cea3d5f624", "t12d210700_f7ecb975bfdc_aa75fc1598bc"},
    {"curl", "0149f47eabf9a20d0893e2a44e5a6323", "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6"},
    {"curl-h1", "78f0dc5ac5b19daf131a133cfdee9691", "t13i3111h1_e8f1e7e78f70_b26ce05bbdd6"},
    {"python", "304734bb1c086c3453b387400cf83f11", "t13d1812h2_85036bcba153_d41ae481755e"},
    {"python-12", "104774240db569f8f87b1a28206b25e5", "t12d1508h2_d68b136fe8d9_e7e480e5a997"},
    {"resume", "4e7f49d993b42517c7e809fd5ad93ef3", "t13d020600_777cda164f4b_4fdc22ff99e6"},
};

static void prints(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_prints); i++) {
        assert_int_equal(feed(load(of_prints[i].file)), HELLO_WHOLE);
        assert_str(ja3_hash(&reader.hello, arena, hash_md5), of_prints[i].ja3);
        assert_str(ja4_text(&reader.hello, arena, hash_sha256), of_prints[i].ja4);
    }
    assert_int_equal(feed(load("ja3-with")), HELLO_WHOLE);
    assert_str(ja3_text(&reader.hello, arena), "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,"
                                               "0-10-11,23-24-25,0");
    /* neither letters nor digits: the digits of the bytes */
    assert_int_equal(WITH("\0\x10\0\x05\0\x03\x02\xab\xcd"), HELLO_WHOLE);
    assert_memory_equal(ja4_text(&reader.hello, arena, hash_sha256).at, "t12i0101ad_", 11);
}

static const struct {
    const char *name;
    size_t len;
    enum hello_name is;
    const char *sni;
} of_names[] = {
#define NAME(literal, is, sni)                                                                     \
    {                                                                                              \
        literal, sizeof(literal) - 1, is, sni                                                      \
    }
    NAME("example.org", HELLO_NAME_HOST, "example.org"),
    NAME("EXAMPLE.Org.", HELLO_NAME_HOST, "example.org"),
    NAME("localhost", HELLO_NAME_HOST, "localhost"),
    NAME("1.2.3.4.example", HELLO_NAME_HOST, "1.2.3.4.example"),
    NAME("xn--mnchen-3ya.de", HELLO_NAME_HOST, "xn--mnchen-3ya.de"),
    NAME("1.2.3.4", HELLO_NAME_ADDRESS, "1.2.3.4"),
    NAME("0X7F.1", HELLO_NAME_ADDRESS, "0x7f.1"),
    NAME("a.0x7f", HELLO_NAME_ADDRESS, "a.0x7f"),
    NAME("2130706433", HELLO_NAME_ADDRESS, "2130706433"),
    NAME("2001:DB8::1", HELLO_NAME_ADDRESS, "2001:db8::1"),
    NAME("::ffff:1.2.3.4", HELLO_NAME_ADDRESS, "::ffff:1.2.3.4"),
    NAME("[::1]", HELLO_NAME_ODD, ""),
    NAME(".", HELLO_NAME_ODD, ""),
    NAME("..", HELLO_NAME_ODD, ""),
    NAME("a..b", HELLO_NAME_ODD, ""),
    NAME(".a", HELLO_NAME_ODD, ""),
    NAME("a..", HELLO_NAME_ODD, ""),
    NAME("a b", HELLO_NAME_ODD, ""),
    NAME("a/b", HELLO_NAME_ODD, ""),
    NAME("*.example", HELLO_NAME_ODD, ""),
    NAME("a\0b", HELLO_NAME_ODD, ""),
    NAME("m\xfcnchen.de", HELLO_NAME_ODD, ""),
    NAME("a.b:443", HELLO_NAME_ODD, ""),
};

static void names(void **state)
{
    char label[300];

    (void)state;
    for (size_t i = 0; i < COUNT(of_names); i++) {
        assert_int_equal(with_name(of_names[i].name, of_names[i].len), HELLO_WHOLE);
        if (reader.hello.name != of_names[i].is)
            fail_msg("%s: %d", of_names[i].name, reader.hello.name);
        assert_str(or_empty(reader.hello.sni), of_names[i].sni);
        assert_int_equal(reader.hello.sni_raw.len, of_names[i].len);
    }
    memset(label, 'a', sizeof label);
    assert_int_equal(with_name(label, 63), HELLO_WHOLE);
    assert_int_equal(reader.hello.name, HELLO_NAME_HOST);
    assert_int_equal(with_name(label, 64), HELLO_WHOLE);
    assert_int_equal(reader.hello.name, HELLO_NAME_ODD);
    for (size_t i = 1; i < sizeof label; i += 2)
        label[i] = '.';
    assert_int_equal(with_name(label, 253), HELLO_WHOLE);
    assert_int_equal(reader.hello.name, HELLO_NAME_HOST);
    assert_int_equal(with_name(label, 255), HELLO_WHOLE);
    assert_int_equal(reader.hello.name, HELLO_NAME_ODD);
}

static const struct {
    const char *extensions;
    size_t len;
    const char *why; /* NULL: it passes */
} of_extensions[] = {
#define EXT(literal, why)                                                                          \
    {                                                                                              \
        literal, sizeof(literal) - 1, why                                                          \
    }
    EXT("", NULL),
    EXT("\x12\x34\0\0", NULL),
    EXT("\x12\x34\0", "an extension is cut off"),
    EXT("\x12\x34\0\x01", "an extension is cut off"),
    EXT("\x12\x34\0\0\x12\x34\0\0", "an extension stands twice"),
    EXT("\0\x29\0\0\0\x2a\0\0", "pre_shared_key is not the last extension"),
    EXT("\0\0\0\0", "malformed server_name"),
    EXT("\0\0\0\x02\0\0", "malformed server_name"),
    EXT("\0\0\0\x05\0\x03\0\0\0", "malformed server_name"),
    EXT("\0\0\0\x06\0\x03\0\0\0x", "malformed server_name"),
    EXT("\0\0\0\x0a\0\x08\0\0\x01"
        "a\0\0\x01"
        "b",
        "two server names"),
    EXT("\0\0\0\x0a\0\x08\x01\0\x01"
        "a\0\0\x01"
        "b",
        NULL),
    EXT("\0\x10\0\x02\0\0", "malformed application_layer_protocol_negotiation"),
    EXT("\0\x10\0\x03\0\x01\0", "malformed application_layer_protocol_negotiation"),
    EXT("\0\x10\0\x04\0\x02\x02h", "malformed application_layer_protocol_negotiation"),
    EXT("\0\x2b\0\x01\0", "malformed supported_versions"),
    EXT("\0\x2b\0\x02\x01\x03", "malformed supported_versions"),
    EXT("\0\x2b\0\x03\x02\x7f\x1c", "no known version is offered"),
    EXT("\0\x0a\0\x03\0\x01\0", "malformed supported_groups"),
    EXT("\0\x0d\0\x02\0\0", "malformed signature_algorithms"),
    EXT("\0\x0b\0\x01\0", "malformed ec_point_formats"),
};

static void odd_extensions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_extensions); i++) {
        const char *why = of_extensions[i].why;
        enum hello_verdict verdict = with(of_extensions[i].extensions, of_extensions[i].len);

        if (verdict != (why == NULL ? HELLO_WHOLE : HELLO_BAD))
            fail_msg("row %zu: verdict %d, %s", i, verdict, reader.why);
        if (why != NULL)
            assert_string_equal(reader.why, why);
    }
}

static void sizes(void **state)
{
    (void)state;
    /* as large as may be, in records as large as may be; and one byte more */
    for (size_t more = 0; more < 2; more++) {
        size_t body = HELLO_MAX + more, first = 16384, left = body + 4;

        start();
        put_number(body - (made - 9) - 2, 2);
        PUT("\x12\x34");
        put_number(body - (made - 9) - 2, 2);
        memset(raw + made, 0, 5 + left - made);
        raw[3] = (uint8_t)(first >> 8), raw[4] = (uint8_t)first;
        raw[6] = 0, raw[7] = (uint8_t)(body >> 8), raw[8] = (uint8_t)body;
        made = 5 + left;
        memmove(raw + 5 + first + 5, raw + 5 + first, left - first);
        memcpy(raw + 5 + first, "\x16\x03\x01\0", 4);
        raw[5 + first + 4] = (uint8_t)(left - first);
        assert_int_equal(feed(made + 5), more ? HELLO_TOO_BIG : HELLO_WHOLE);
        assert_int_equal(reader.used, more ? 9 : made + 5);
    }
}

static const struct {
    const char *bytes;
    size_t len;
    enum hello_verdict verdict;
    const char *why;
} of_records[] = {
#define RECORD(literal, verdict, why)                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1, verdict, why                                                 \
    }
    RECORD("\0", HELLO_NOT_TLS, "no TLS"),
    RECORD("SSH-2.0-x", HELLO_NOT_TLS, "plain text"),
    RECORD("\x80\x2e\x01", HELLO_NOT_TLS, "SSLv2, or no TLS at all"),
    RECORD("\x16\x02", HELLO_NOT_TLS, "a record of no known version"),
    RECORD("\x16\x03\x01\0\0", HELLO_BAD, "an empty record"),
    RECORD("\x16\x03\x01\x40\x01", HELLO_BAD, "a record that is too long"),
    RECORD("\x16\x03\x01\x40\0\x02", HELLO_BAD, "another message in place of the hello"),
    RECORD("\x16\x03\x01\0\x05\x01\0\0\0", HELLO_BAD, "something behind the hello in its record"),
    RECORD("\x16\x03\x01\0\x04\x01\0\0\0", HELLO_BAD, "the hello is cut off"),
    RECORD("\x16\x03\x01\0\x04\x01\0\0\x02\x16\x03\x01\0\x03", HELLO_BAD,
           "something behind the hello in its record"),
    RECORD("\x16\x03\x01\0\x04\x01\0\0\x02\x15", HELLO_BAD, "another record within the hello"),
    RECORD("\x16\x03\x01\0\x04\x01\0\0\x02\x16\x02", HELLO_BAD, "a record of no known version"),
    RECORD("\x16\x03\x01\0\x04\x01\0\x40\x01", HELLO_TOO_BIG, "a hello that is too long"),
    RECORD("\x16\x03\x01\0\x04\x01\xff\xff\xff", HELLO_TOO_BIG, "a hello that is too long"),
};

static void records(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_records); i++) {
        memcpy(raw, of_records[i].bytes, of_records[i].len);
        if (feed(of_records[i].len) != of_records[i].verdict)
            fail_msg("row %zu: verdict %d, %s", i, reader.verdict, reader.why);
        assert_string_equal(reader.why, of_records[i].why);
    }
}

static void bodies(void **state)
{
    /* where, what, and why not */
    static const struct {
        size_t at;
        uint8_t byte;
        const char *why;
    } rows[] = {
        {9, 2, "an unknown version"},
        {43, 33, "the session id is longer than 32 bytes"},
        {45, 1, "malformed cipher suites"},
        {45, 0, "malformed cipher suites"},
        {48, 0, "malformed compression methods"},
        {49, 1, "malformed compression methods"},
        {51, 1, "the length of the extensions does not fit"},
        {51, 9, "the length of the extensions does not fit"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(WITH("\x12\x34\0\x24"
                              "123456789012345678901234567890123456"),
                         HELLO_WHOLE);
        raw[rows[i].at] = rows[i].byte;
        assert_int_equal(feed(made), HELLO_BAD);
        assert_string_equal(reader.why, rows[i].why);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(clients), cmocka_unit_test(contents), cmocka_unit_test(prefixes),
    cmocka_unit_test(prints),  cmocka_unit_test(names),    cmocka_unit_test(odd_extensions),
    cmocka_unit_test(sizes),   cmocka_unit_test(records),  cmocka_unit_test(bodies),
};
UNIT_MAIN(tests)
