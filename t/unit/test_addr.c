/* test_addr.c - addresses, ports, prefixes, ranges, and the odd spellings of hosts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/addr.h"
#include "bt_sets.h"
#include "unit.h"

static const char *shown(const uint8_t addr[16])
{
    static char buf[ADDR_TEXT];

    size_t len = addr_print(addr, buf);

    assert_int_equal(len, strlen(buf));
    return buf;
}

static void parses_and_prints(void **state)
{
    static const char *const fine[][2] = {
        {"192.0.2.1", "192.0.2.1"},
        {"0.0.0.0", "0.0.0.0"},
        {"255.255.255.255", "255.255.255.255"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"2001:DB8:0:0::1", "2001:db8::1"},
        {"[::1]", "::1"},
        {"::", "::"},
    };
    static const char *const bad[] = {
        "",    "1.2.3",      "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "[1.2.3.4]",
        ":::", "fe80::1%lo", "[::1",      "g::",       "1.2.3.-4", "12345::"};
    uint8_t addr[16];

    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
        assert_true(addr_parse(str_from(fine[i][0]), addr));
        assert_string_equal(shown(addr), fine[i][1]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (addr_parse(str_from(bad[i]), addr))
            fail_msg("%s was taken for %s", bad[i], shown(addr));
    assert_false(addr_parse(BT_STR("1.2.3.4\0x"), addr));
}

static void odd_spellings(void **state)
{
    static const char *const odd[][2] = {
        {"2130706433", "127.0.0.1"},
        {"0x7f000001", "127.0.0.1"},
        {"0177.0.0.1", "127.0.0.1"},
        {"127.1", "127.0.0.1"},
        {"127.0.1", "127.0.0.1"},
        {"0x7F.1", "127.0.0.1"},
        {"017700000001", "127.0.0.1"},
        {"0", "0.0.0.0"},
        {"1.2.3.4.", "1.2.3.4"},
        {"192.0x00A80001", "192.168.0.1"},
        {"4294967295", "255.255.255.255"},
        {"1.65535", "1.0.255.255"},
        {"0x", "0.0.0.0"},
        {"::1", "::1"},
        {"10.16777215", "10.255.255.255"},
    };
    static const char *const bad[] = {"4294967296", "256.1.1.1",   "1.2.3.256", "1.2.3.4.5",
                                      "08",         "1.2.3.08",    "1..2",      "127.16777216",
                                      "a.b.0x1",    "0x100000000", "1.256.3",   ".1"};
    static const char *const names[] = {"example.com", "1.2.3.4x",  "0x7g", "localhost", "a1", "",
                                        ".",           "127.0.0.x", "1e3"};
    uint8_t addr[16];
    bool broken;

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        if (!addr_parse_odd(str_from(odd[i][0]), addr, &broken))
            fail_msg("%s is no address", odd[i][0]);
        assert_false(broken);
        assert_string_equal(shown(addr), odd[i][1]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (addr_parse_odd(str_from(bad[i]), addr, &broken) || !broken)
            fail_msg("%s is not found bad", bad[i]);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (addr_parse_odd(str_from(names[i]), addr, &broken) || broken)
            fail_msg("%s is not a name", names[i]);
}

static void ranges(void **state)
{
    static const char *const fine[][3] = {
        {"10.0.0.0/8", "10.0.0.0", "10.255.255.255"},
        {"10.0.0.0/255.0.0.0", "10.0.0.0", "10.255.255.255"},
        {"10.1.2.3", "10.1.2.3", "10.1.2.3"},
        {"10.1.2.3-10.1.2.9", "10.1.2.3", "10.1.2.9"},
        {"10.1.2.0-10.1.9.0/24", "10.1.2.0", "10.1.9.255"},
        {"0.0.0.0/0", "0.0.0.0", "255.255.255.255"},
        {"192.168.1.77/32", "192.168.1.77", "192.168.1.77"},
        {"2001:db8::/32", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"fe80::/ffc0::", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"all", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"ipv4", "0.0.0.0", "255.255.255.255"},
        {"IPv6", "1000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    };
    static const struct {
        const char *text;
        enum addr_fault fault;
    } bad[] = {{"", ADDR_BAD},
               {"10.0.0", ADDR_BAD},
               {"host", ADDR_BAD},
               {"10.0.0.0/33", ADDR_BAD_MASK},
               {"10.0.0.0/", ADDR_BAD_MASK},
               {"10.0.0.0/255.0.255.0", ADDR_BAD_MASK},
               {"10.0.0.0/ff00::", ADDR_BAD_MASK},
               {"::/129", ADDR_BAD_MASK},
               {"10.0.0.9-10.0.0.1", ADDR_REVERSED},
               {"10.0.0.9-::1", ADDR_MIXED},
               {"10.0.0.9-", ADDR_BAD}};
    struct addr_range range;
    bool loose;

    (void)state;
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
        assert_int_equal(addr_parse_range(str_from(fine[i][0]), &range, &loose), ADDR_FINE);
        assert_string_equal(shown(range.from), fine[i][1]);
        assert_string_equal(shown(range.to), fine[i][2]);
        assert_false(loose);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(addr_parse_range(str_from(bad[i].text), &range, NULL), bad[i].fault);
    assert_int_equal(addr_parse_range(BT_STR("10.1.2.3/8"), &range, &loose), ADDR_FINE);
    assert_true(loose);
    assert_string_equal(shown(range.from), "10.0.0.0");
}

static void steps(void **state)
{
    uint8_t addr[16];

    (void)state;
    assert_true(addr_parse(BT_STR("10.0.0.255"), addr));
    assert_true(addr_next(addr));
    assert_string_equal(shown(addr), "10.0.1.0");
    assert_true(addr_prev(addr));
    assert_string_equal(shown(addr), "10.0.0.255");
    memset(addr, 0xff, 16);
    assert_false(addr_next(addr));
    memset(addr, 0, 16);
    assert_false(addr_prev(addr));
    assert_string_equal(shown(addr), "::");
}

static void socket_addresses(void **state)
{
    struct sockaddr_storage a, b;
    struct sockaddr *sa = (struct sockaddr *)&a, *sb = (struct sockaddr *)&b;
    char buf[ADDR_PORT_TEXT];
    unsigned port;

    (void)state;
    assert_true(addr_parse_with_port(BT_STR("192.0.2.1:3128"), &a));
    assert_int_equal(a.ss_family, AF_INET);
    assert_int_equal(addr_port(sa), 3128);
    addr_print_with_port(sa, buf);
    assert_string_equal(buf, "192.0.2.1:3128");
    assert_true(addr_parse_with_port(BT_STR("[2001:db8::1]:0"), &b));
    addr_set_port(sb, 65535);
    addr_print_with_port(sb, buf);
    assert_string_equal(buf, "[2001:db8::1]:65535");
    assert_int_equal(addr_print_sockaddr(sb, buf), 11);
    assert_string_equal(buf, "2001:db8::1");
    assert_false(addr_parse_with_port(BT_STR("::1:80"), &b));
    assert_false(addr_parse_with_port(BT_STR("1.2.3.4:65536"), &b));
    assert_false(addr_parse_with_port(BT_STR("1.2.3.4"), &b));
    assert_false(addr_parse_port(BT_STR("0"), false, &port));
    assert_true(addr_parse_port(BT_STR("0"), true, &port));

    /* What accept() gives on a socket for both families. */
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&b;
    memset(&b, 0, sizeof(b));
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(3128);
    assert_true(addr_parse(BT_STR("192.0.2.1"), in6->sin6_addr.s6_addr));
    assert_true(addr_same(sa, sb, true));
    addr_unmap(&b);
    assert_int_equal(b.ss_family, AF_INET);
    assert_int_equal(addr_len(sb), sizeof(struct sockaddr_in));
    assert_true(addr_same(sa, sb, true));
    addr_set_port(sb, 1);
    assert_false(addr_same(sa, sb, true));
    assert_true(addr_same(sa, sb, false));
    assert_false(addr_is_loopback(sa));
    assert_true(addr_parse_sockaddr(BT_STR("127.9.9.9"), 1, &a) && addr_is_loopback(sa));
    assert_true(addr_parse_sockaddr(BT_STR("::1"), 1, &a) && addr_is_loopback(sa));
    assert_true(addr_parse_sockaddr(BT_STR("::"), 1, &a) && addr_is_any(sa));
    assert_true(addr_parse_sockaddr(BT_STR("0.0.0.0"), 1, &a) && addr_is_any(sa));
    a.ss_family = AF_UNIX;
    assert_int_equal(addr_print_sockaddr(sa, buf), 1);
    assert_string_equal(buf, "-");
    uint8_t bytes[16];
    assert_false(bt_addr_bytes(sa, bytes));
    assert_false(bt_addr_bytes(NULL, bytes));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parses_and_prints), cmocka_unit_test(odd_spellings), cmocka_unit_test(ranges),
    cmocka_unit_test(steps), cmocka_unit_test(socket_addresses)};
UNIT_MAIN(tests)
