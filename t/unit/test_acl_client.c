/* test_acl_client.c - neighbours as the kernel tells of them; hardware addresses within IPv6 ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define bt_log_tag acl_client_tag /* base/log.c has one, too */
#include "acl/acl_client.c"

#include "base/clock.h"
#include "type_fake.h"

/* ---- messages as the kernel writes them ---- */

static union {
    struct nlmsghdr align;
    char bytes[4096];
} part;
static size_t used;

static void attr_add(struct nlmsghdr *message, unsigned short type, const void *data, size_t len)
{
    struct rtattr attr = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(len)};

    memcpy(part.bytes + used, &attr, sizeof attr);
    memcpy(part.bytes + used + RTA_LENGTH(0), data, len);
    used += RTA_SPACE(len);
    message->nlmsg_len = (unsigned)(part.bytes + used - (char *)message);
}

static void row_add(unsigned short state, int interface, const char *addr, const char *hardware)
{
    struct nlmsghdr *message = (struct nlmsghdr *)(void *)(part.bytes + used);
    struct ndmsg *nd = NLMSG_DATA(message);
    uint8_t bytes[16], low[8];
    unsigned len = hardware_read(str_from(hardware), low);
    struct sockaddr_storage full = address(addr, 0);

    assert_true(bt_addr_bytes((struct sockaddr *)&full, bytes));
    memset(message, 0, NLMSG_SPACE(sizeof *nd));
    message->nlmsg_type = RTM_NEWNEIGH;
    message->nlmsg_len = NLMSG_LENGTH(sizeof *nd);
    nd->ndm_state = state;
    nd->ndm_ifindex = interface;
    used += NLMSG_SPACE(sizeof *nd);
    if (full.ss_family == AF_INET)
        attr_add(message, NDA_DST, bytes + 12, 4);
    else
        attr_add(message, NDA_DST, bytes, 16);
    if (len > 0)
        attr_add(message, NDA_LLADDR, low, len);
}

/* The table as it is now, without asking the kernel. */
static void table_make(void)
{
    table.n = 0;
    clock_wall_base_us = 1000000000;
    table.read_ms = bt_wall_ms();
    assert_true(neighbours_take(part.bytes, used));
    if (table.n > 0)
        qsort(table.row, table.n, sizeof *table.row, neighbour_compare);
}

static enum bt_match from(const char *type, const char *values, const char *addr,
                          uint32_t interface)
{
    struct bt_txn txn = {.client = address(addr, 1234)};

    if (txn.client.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&txn.client)->sin6_scope_id = interface;
    return asked(type, values, &txn);
}

static void neighbours(void **state)
{
    (void)state;
    used = 0;
    row_add(NUD_REACHABLE, 2, "192.0.2.7", "00:11:22:aa:bb:cc");
    row_add(NUD_STALE, 2, "192.0.2.8", "00:11:22:aa:bb:dd");
    row_add(NUD_FAILED, 2, "192.0.2.9", "00:11:22:aa:bb:ee");
    row_add(NUD_REACHABLE, 2, "192.0.2.10", "");
    row_add(NUD_REACHABLE, 2, "2001:db8::7", "00:11:22:aa:bb:cc");
    row_add(NUD_REACHABLE, 2, "fe80::1", "00:00:00:00:00:02");
    row_add(NUD_REACHABLE, 3, "fe80::1", "00:00:00:00:00:03");
    table_make();
    assert_int_equal(table.n, 5);
    assert_int_equal(from("arp", "1:2:3:4:5:6 00:11:22:AA:bb:cc", "192.0.2.7", 0), BT_YES);
    assert_int_equal(from("arp", "0:11:22:aa:bb:cc", "::ffff:192.0.2.7", 0), BT_YES);
    assert_int_equal(from("arp", "00:11:22:aa:bb:cc", "192.0.2.8", 0), BT_NO);
    assert_int_equal(from("arp", "00:11:22:aa:bb:dd", "192.0.2.8", 0), BT_YES);
    assert_int_equal(from("arp", "00:11:22:aa:bb:ee", "192.0.2.9", 0), BT_NO);
    assert_int_equal(from("arp", "00:00:00:00:00:00", "192.0.2.10", 0), BT_NO);
    assert_int_equal(from("arp", "00:11:22:aa:bb:cc", "2001:db8::7", 5), BT_YES);
    assert_int_equal(from("arp", "0:0:0:0:0:2", "fe80::1", 2), BT_YES);
    assert_int_equal(from("arp", "0:0:0:0:0:2", "fe80::1", 3), BT_NO);
    assert_int_equal(from("eui64", "00:11:22:aa:bb:cc", "192.0.2.7", 0), BT_YES);
}

/* What is cut off, or says that it is longer than it is, is not read beyond its end. */
static void broken_parts(void **state)
{
    (void)state;
    used = 0;
    row_add(NUD_REACHABLE, 2, "192.0.2.7", "00:11:22:aa:bb:cc");
    for (size_t n = 0; n < used; n++) {
        char *copy = malloc(n + 1);
        table.n = 0;
        memcpy(copy, part.bytes, n);
        assert_true(neighbours_take(copy, n));
        assert_int_equal(table.n, 0);
        free(copy);
    }
    struct rtattr *attr = (struct rtattr *)(void *)(part.bytes + NLMSG_SPACE(sizeof(struct ndmsg)));
    attr->rta_len = 200;
    table.n = 0;
    assert_true(neighbours_take(part.bytes, used));
    attr->rta_len = 0;
    assert_true(neighbours_take(part.bytes, used));
    assert_int_equal(table.n, 0);
    part.align.nlmsg_type = NLMSG_DONE;
    assert_false(neighbours_take(part.bytes, used));
}

static void within_addresses(void **state)
{
    static const char made[] = "2001:db8::211:22ff:feaa:bbcc";

    (void)state;
    used = 0;
    table_make();
    assert_int_equal(from("eui64", "00:11:22:aa:bb:cc", made, 0), BT_YES);
    assert_int_equal(from("eui64", "00:11:22:ff:fe:aa:bb:cc", made, 0), BT_YES);
    assert_int_equal(from("eui64", "02:11:22:ff:fe:aa:bb:cc", made, 0), BT_YES);
    assert_int_equal(from("eui64", "00:11:22:aa:bb:cd", made, 0), BT_NO);
    assert_int_equal(from("eui64", "00:11:22:aa:bb:cc", "2001:db8::211:22aa:bbcc", 0), BT_NO);
    assert_int_equal(from("eui64", "00:00:00:00:00:00", "0.0.0.0", 0), BT_NO);
}

/* The kernel itself: whatever it says, it says so in time, and is not asked all the time. */
static void of_this_machine(void **state)
{
    (void)state;
    clock_wall_base_us = 5000000000;
    table.read_ms = 0;
    assert_int_equal(from("arp", "00:11:22:aa:bb:cc", "192.0.2.99", 0), BT_NO);
    assert_int_equal(table.read_ms, bt_wall_ms());
    int64_t was = table.read_ms;
    clock_wall_base_us += 900000;
    assert_int_equal(from("arp", "00:11:22:aa:bb:cc", "192.0.2.99", 0), BT_NO);
    assert_int_equal(table.read_ms, was);
    clock_wall_base_us += 200000;
    assert_int_equal(from("arp", "00:11:22:aa:bb:cc", "192.0.2.99", 0), BT_NO);
    assert_int_not_equal(table.read_ms, was);
}

static void crowds(void **state)
{
    struct bt_txn txn = {.connections = 3};

    (void)state;
    assert_int_equal(asked("maxconn", "2", &txn), BT_YES);
    assert_int_equal(asked("maxconn", "3", &txn), BT_NO);
    assert_true(connections_wanted);
    assert_int_equal(asked("maxconn", "99999999999999999999", &txn), BT_NO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(neighbours, conf_new, conf_free),
        cmocka_unit_test_setup_teardown(broken_parts, conf_new, conf_free),
        cmocka_unit_test_setup_teardown(within_addresses, conf_new, conf_free),
        cmocka_unit_test_setup_teardown(of_this_machine, conf_new, conf_free),
        cmocka_unit_test_setup_teardown(crowds, conf_new, conf_free),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
