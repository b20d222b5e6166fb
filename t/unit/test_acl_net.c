/* test_acl_net.c - addresses and ports as ACLs: how values are written, what matches, what is wrong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl/acl_net.c"

#include "type_fake.h"

static const char *from(struct compiled made, const char *client)
{
    struct bt_txn txn = {.client = address(client, 40000)};
    return matches(made, &txn);
}

static void addresses(void **state)
{
    (void)state;
    struct compiled src = compiled_of(
        "src", "127.40.0.10-127.40.0.20", "127.40.64.0-127.40.67.0/24",
        "127.41.0.0/255.255.255.128", "127.43.0.1 127.43.0.3/32 127.43.1.0/30 127.43.0.5",
        "2001:db8::/32 fe80::1-fe80::ff ::1", "10.0.0.0/8 10.1.0.0/16",
        "fe80::/ffc0:: [2001:db8:1::1]", "0.0.0.1-0.255.255.255");
    assert_non_null(src.what);
    assert_int_equal(err.n, 0);
    assert_string_equal(from(src, "127.40.0.9"), "");
    assert_string_equal(from(src, "127.40.0.10"), "1");
    assert_string_equal(from(src, "127.40.0.20"), "1");
    assert_string_equal(from(src, "127.40.0.21"), "");
    assert_string_equal(from(src, "127.40.63.255"), "");
    assert_string_equal(from(src, "127.40.66.99"), "2");
    assert_string_equal(from(src, "127.40.67.255"), "2");
    assert_string_equal(from(src, "127.40.68.0"), "");
    assert_string_equal(from(src, "127.41.0.127"), "3");
    assert_string_equal(from(src, "127.41.0.128"), "");
    assert_string_equal(from(src, "127.43.0.1"), "4");
    assert_string_equal(from(src, "127.43.0.2"), "");
    assert_string_equal(from(src, "127.43.0.5"), "4");
    assert_string_equal(from(src, "127.43.1.3"), "4");
    assert_string_equal(from(src, "127.43.1.4"), "");
    assert_string_equal(from(src, "2001:db8:ffff::1"), "5");
    assert_string_equal(from(src, "2001:db8:1::1"), "5 7");
    assert_string_equal(from(src, "2001:db9::"), "");
    assert_string_equal(from(src, "fe80::ff"), "5 7");
    assert_string_equal(from(src, "fe80::100"), "7");
    assert_string_equal(from(src, "febf::"), "7");
    assert_string_equal(from(src, "fec0::"), "");
    assert_string_equal(from(src, "::1"), "5");
    assert_string_equal(from(src, "10.1.2.3"), "6");
    assert_string_equal(from(src, "0.0.0.0"), "");
    assert_string_equal(from(src, "0.1.2.3"), "8");
}

static void families(void **state)
{
    (void)state;
    struct compiled src = compiled_of("src", "all", "ipv4", "ipv6", "0.0.0.0/0", "::/0");
    assert_non_null(src.what);
    assert_int_equal(err.n, 0);
    assert_string_equal(from(src, "192.0.2.1"), "1 2 4 5");
    assert_string_equal(from(src, "255.255.255.255"), "1 2 4 5");
    assert_string_equal(from(src, "0.0.0.0"), "1 2 4 5");
    assert_string_equal(from(src, "::"), "1 3 5");
    assert_string_equal(from(src, "::fffe:ffff:ffff"), "1 3 5");
    assert_string_equal(from(src, "::1:0:0:0"), "1 3 5");
    assert_string_equal(from(src, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), "1 3 5");
}

/* A mapped prefix counts all 128 bits; bits behind a mask are dropped with a word. */
static void prefixes(void **state)
{
    (void)state;
    struct compiled src = compiled_of("src", "::ffff:127.12.0.0/112", "127.42.7.77/24",
                                      "::ffff:127.44.0.1", "10.1.2.3/0");
    assert_non_null(src.what);
    assert_int_equal(err.faults, 0);
    assert_int_equal(err.warnings, 2);
    assert_true(said(2, 1, false, "taken as 127.42.7.0/24"));
    assert_true(said(4, 1, false, "taken as 0.0.0.0/0"));
    assert_string_equal(from(src, "127.12.255.1"), "1 4");
    assert_string_equal(from(src, "127.13.0.0"), "4");
    assert_string_equal(from(src, "127.42.7.1"), "2 4");
    assert_string_equal(from(src, "127.44.0.1"), "3 4");
    assert_string_equal(from(src, "2001:db8::1"), "");
}

static void wrong_addresses(void **state)
{
    (void)state;
    refused("src", "127.12.0.0/33", 1, "/33");
    refused("src", "127.12.0.1 127.12.0.300", 12, "'127.12.0.300' is no address");
    refused("src", "127.46", 1, "is no address");
    refused("src", "127.12.0.9-127.12.0.1", 1, "ends before it begins");
    refused("src", "127.12.0.9-127.12.0.300", 1, "'127.12.0.300' in ");
    refused("src", "127.0.0.1-::2", 1, "ends in the other");
    refused("src", "2001:db8::/129", 1, "/129");
    refused("src", "2001:db8:::/32", 1, "is no address");
    refused("src", "10.0.0.0/255.0.255.0", 1, "has holes");
    refused("src", "10.0.0.0/", 1, "neither a prefix length nor a mask");
    refused("src", "10.0.0.0/8x", 1, "neither a prefix length nor a mask");
    refused("src", "::ffff:10.0.0.0/8", 1, "96 to 128");
    refused("dst", "example.com/24", 1, "is no address");
    refused("localip", "1.2.3.4.5", 1, "is no address");
    refused("src", "-n", 1, "-n"); /* only dst has the flag, and acl.c takes it off */
}

/* Names are looked up at the start; one that cannot be is an error, since nobody is in an empty ACL. */
static void host_names(void **state)
{
    (void)state;
    struct compiled src = compiled_of("src", "localhost");
    assert_non_null(src.what);
    assert_string_equal(from(src, "127.0.0.1"), "1");
    refused("src", "no-such-host.invalid", 1, "neither an address nor a name");
}

static void destinations(void **state)
{
    struct bt_txn txn = {.resolved = BT_YES, .dests = 2};

    (void)state;
    struct compiled dst = compiled_of("dst", "192.0.2.0/24", "2001:db8::/32", "198.51.100.1");
    txn.dest_at[0] = address("192.0.2.9", 80);
    txn.dest_at[1] = address("2001:db8::9", 80);
    txn.dest[0] = (struct sockaddr *)&txn.dest_at[0];
    txn.dest[1] = (struct sockaddr *)&txn.dest_at[1];
    assert_string_equal(matches(dst, &txn), "1 2"); /* any of its addresses */
    txn.resolved = BT_WAIT;
    assert_string_equal(matches(dst, &txn), "wait");
    txn.resolved = BT_BROKEN;
    assert_string_equal(matches(dst, &txn), "broken");
    txn.resolved = BT_NO; /* the name has no address */
    assert_string_equal(matches(dst, &txn), "");
    txn.resolutions = 0;
    dst = compiled_of("dst", "-n 192.0.2.0/24", "-n 198.51.100.0/24");
    txn.resolved = BT_YES;
    assert_string_equal(matches(dst, &txn), ""); /* a name */
    txn.host_is_addr = true;
    txn.host = address("198.51.100.7", 0);
    assert_string_equal(matches(dst, &txn), "2");
    assert_int_equal(txn.resolutions, 0);
    assert_int_equal(type_of("dst")->flags, BT_SLOW | BT_NO_DNS | BT_SETS | BT_ANEW_WORDLESS);
}

static void own_address(void **state)
{
    struct bt_txn txn = {.local = address("192.0.2.1", 3128)};

    (void)state;
    assert_string_equal(matches(compiled_of("localip", "192.0.2.1", "192.0.2.2"), &txn), "1");
    refused("localport", "3129-", 1, "no port or range");
    assert_string_equal(matches(compiled_of("localport", "3129", "3000-4000", "3128 1"), &txn),
                        "2 3");
    txn.local = address("::1", 3129);
    assert_string_equal(matches(compiled_of("localport", "3129", "3000-4000", "3128 1"), &txn),
                        "1 2");
}

static const char *to_port(struct compiled made, unsigned port)
{
    struct bt_txn txn = {.port = port};
    return matches(made, &txn);
}

static void ports(void **state)
{
    (void)state;
    struct compiled port = compiled_of("port", "80 21 443 1025-65535", "443", "8000-9000 8500-8600",
                                       "0-80");
    assert_int_equal(err.n, 0);
    assert_string_equal(to_port(port, 80), "1 4");
    assert_string_equal(to_port(port, 81), "");
    assert_string_equal(to_port(port, 1), "4");
    assert_string_equal(to_port(port, 0), "");
    assert_string_equal(to_port(port, 443), "1 2");
    assert_string_equal(to_port(port, 1024), "");
    assert_string_equal(to_port(port, 1025), "1");
    assert_string_equal(to_port(port, 8550), "1 3");
    assert_string_equal(to_port(port, 8700), "1 3");
    assert_string_equal(to_port(port, 9001), "1");
    assert_string_equal(to_port(port, 65535), "1");
    refused("port", "8000-7000", 1, "ends before it begins");
    refused("port", "80 70000", 4, "no port or range");
    refused("port", "http", 1, "no port or range");
    refused("port", "80,443", 1, "no port or range");
    refused("port", "80-", 1, "no port or range");
    refused("port", "-1", 1, "no port or range");
}

/* More than 64 ACLs have another structure inside; the answers are the same. */
static void many_ports(void **state)
{
    const char *text[100];

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        text[i] = bt_str_printf(arena, "%u-%u %u", 100 + i, 200 + i, 5000 + i).at;
    struct compiled few = compile_n("port", text, 64), many = compile_n("port", text, 100);
    for (unsigned port = 0; port < 6000; port += port < 400 ? 1 : 100) {
        uint64_t some[1] = {0}, all[2] = {0, 0};
        struct bt_txn txn = {.port = port};
        assert_int_equal(few.type->match_all(few.what, &txn, some), BT_YES);
        assert_int_equal(many.type->match_all(many.what, &txn, all), BT_YES);
        assert_int_equal(some[0], all[0]);
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(bt_bit_get(all, i), (port >= 100 + i && port <= 200 + i) ||
                                                     (port != 0 && port == 5000 + i));
    }
    text[70] = "9-8";
    assert_null(compile_n("port", text, 100).what);
}

static void port_names(void **state)
{
    struct bt_txn txn = {.port_name = BT_STR("guests")};

    (void)state;
    struct compiled name = compiled_of("myportname", "office guests", "office", "guests", "Guests");
    assert_string_equal(matches(name, &txn), "1 3");
    txn.port_name = BT_STR("office");
    assert_string_equal(matches(name, &txn), "1 2");
    txn.port_name = BT_STR("127.0.0.1:3128");
    assert_string_equal(matches(name, &txn), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {
        TEST(addresses),  TEST(families),     TEST(prefixes),    TEST(wrong_addresses),
        TEST(host_names), TEST(destinations), TEST(own_address), TEST(ports),
        TEST(many_ports), TEST(port_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
