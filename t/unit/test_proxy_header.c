/* test_proxy_header.c - the PROXY protocol: what is read, what is refused, what is written.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/proxy_header.h"

#include "base/addr.h"
#include "unit.h"

static struct proxy_header header;

static enum proxy_header_result parse(const char *bytes, size_t len)
{
    return proxy_header_parse(bytes, len, &header);
}

#define PARSE(literal) parse(literal, sizeof literal - 1)
#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V4 "\xc0\x00\x02\x07\x7f\x00\x00\x01\x30\x39\x0c\x38" /* 192.0.2.7:12345 127.0.0.1:3128 */

static const char *text(const union proxy_addr *addr)
{
    static char buf[ADDR_PORT_TEXT];

    addr_print_with_port(&addr->any, buf);
    return buf;
}

static void line_good(void **state)
{
    (void)state;
    assert_int_equal(PARSE("PROXY TCP4 192.0.2.33 127.0.0.1 56001 80\r\nGET"), PROXY_HEADER_WHOLE);
    assert_int_equal(header.version, 1);
    assert_int_equal(header.len, sizeof "PROXY TCP4 192.0.2.33 127.0.0.1 56001 80\r\n" - 1);
    assert_true(header.known && !header.local);
    assert_string_equal(text(&header.src), "192.0.2.33:56001");
    assert_string_equal(text(&header.dst), "127.0.0.1:80");
    assert_int_equal(PARSE("PROXY TCP6 2001:db8::1 ::1 1 0\r\n"), PROXY_HEADER_WHOLE);
    assert_string_equal(text(&header.src), "[2001:db8::1]:1");
    assert_int_equal(PARSE("PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n"), PROXY_HEADER_WHOLE);
    assert_string_equal(text(&header.src), "192.0.2.1:1");
    assert_int_equal(PARSE("PROXY UNKNOWN\r\n"), PROXY_HEADER_WHOLE);
    assert_false(header.known);
    assert_int_equal(PARSE("PROXY UNKNOWN ff:: 1 2 3 4\r\n"), PROXY_HEADER_WHOLE);
    assert_false(header.known);
}

/* Each beginning of a good one may become one. */
static void cut(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        assert_int_equal(parse(bytes, i), PROXY_HEADER_MORE);
    assert_int_equal(parse(bytes, len), PROXY_HEADER_WHOLE);
}
#define CUT(literal) cut(literal, sizeof literal - 1)

static void cut_anywhere(void **state)
{
    (void)state;
    CUT("PROXY TCP4 192.0.2.33 127.0.0.1 56001 80\r\n");
    CUT(SIGNATURE "\x21\x11\0\x0c" V4);
    CUT(SIGNATURE "\x20\0\0\0");
}

static void line_bad(void **state)
{
    static const char *const lines[] = {
        "GET / HTTP/1.1\r\n",
        "PROXX",
        "proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n",
        "PROXY TCP4 192.0.2.1  192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 -2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.256 1 2\r\n",
        "PROXY TCP4 2001:db8::1 192.0.2.2 1 2\r\n",
        "PROXY TCP6 192.0.2.1 2001:db8::1 1 2\r\n",
        "PROXY TCP6 [2001:db8::1] 2001:db8::1 1 2\r\n",
        "PROXY TCP4 localhost 192.0.2.2 1 2\r\n",
        "PROXY \r\n",
    };
    char line[200] = "PROXY UNKNOWN ";

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (parse(lines[i], strlen(lines[i])) != PROXY_HEADER_BAD)
            fail_msg("taken: %s", lines[i]);
    memset(line + 14, 'x', sizeof line - 14);
    assert_int_equal(parse(line, 106), PROXY_HEADER_MORE);
    assert_int_equal(parse(line, 107), PROXY_HEADER_BAD);
    memcpy(line + 105, "\r\n", 2);
    assert_int_equal(parse(line, 107), PROXY_HEADER_WHOLE);
}

static void binary_good(void **state)
{
    unsigned type;
    bt_str value;

    (void)state;
    assert_int_equal(PARSE(SIGNATURE "\x21\x11\0\x18" V4 "\xe0\0\6hello!\4\0\0GET"),
                     PROXY_HEADER_WHOLE);
    assert_int_equal(header.version, 2);
    assert_int_equal(header.len, 40);
    assert_string_equal(text(&header.src), "192.0.2.7:12345");
    assert_string_equal(text(&header.dst), "127.0.0.1:3128");
    assert_true(proxy_header_tlv(header.tlvs, 0, &type, &value));
    assert_int_equal(type, 224);
    assert_str(value, "hello!");
    assert_true(proxy_header_tlv(header.tlvs, 1, &type, &value));
    assert_int_equal(type, 4);
    assert_int_equal(value.len, 0);
    assert_false(proxy_header_tlv(header.tlvs, 2, &type, &value));
    /* What it asks for itself, of whatever family. */
    assert_int_equal(PARSE(SIGNATURE "\x20\x11\0\x0c" V4), PROXY_HEADER_WHOLE);
    assert_true(header.local && !header.known);
    assert_int_equal(PARSE(SIGNATURE "\x21\x12\0\x0c" V4), PROXY_HEADER_WHOLE);
    assert_false(header.known);
    assert_int_equal(PARSE(SIGNATURE "\x21\0\0\0"), PROXY_HEADER_WHOLE);
    assert_false(header.known);
}

static void binary_bad(void **state)
{
    (void)state;
    assert_int_equal(PARSE(SIGNATURE "\x11"), PROXY_HEADER_BAD); /* version 1 */
    assert_int_equal(PARSE(SIGNATURE "\x22"), PROXY_HEADER_BAD); /* a command to come */
    assert_int_equal(PARSE(SIGNATURE "\x21\x41\0\x0c" V4), PROXY_HEADER_BAD);
    assert_int_equal(PARSE(SIGNATURE "\x21\x13\0\x0c" V4), PROXY_HEADER_BAD);
    assert_int_equal(PARSE(SIGNATURE "\x21\x11\0\x0b" V4), PROXY_HEADER_BAD);
    assert_int_equal(PARSE(SIGNATURE "\x21\x21\0\x0c" V4), PROXY_HEADER_BAD);
    assert_int_equal(PARSE(SIGNATURE "\x21\x11\0\x0e" V4 "\xe0\0"), PROXY_HEADER_BAD);
    assert_int_equal(PARSE(SIGNATURE "\x21\x11\0\x10" V4 "\xe0\0\2x"), PROXY_HEADER_BAD);
    /* 64 KB of values: nobody waits for their end. */
    assert_int_equal(PARSE(SIGNATURE "\x21\x11\xff\xff"), PROXY_HEADER_BAD);
    assert_int_equal(PARSE(SIGNATURE "\x21\x11\x3f\xf1"), PROXY_HEADER_BAD);
    assert_int_equal(PARSE(SIGNATURE "\x21\x11\x3f\xf0"), PROXY_HEADER_MORE);
}

/* The sum of a header, worked out another way: by a table of nibbles. */
static uint32_t sum_of(const char *bytes, size_t len)
{
    uint32_t table[16], crc = UINT32_MAX;

    for (uint32_t i = 0; i < 16; i++) {
        uint32_t c = i;
        for (int k = 0; k < 4; k++)
            c = (c & 1) != 0 ? c >> 1 ^ UINT32_C(0x82f63b78) : c >> 1;
        table[i] = c;
    }
    for (size_t i = 0; i < len; i++) {
        crc ^= (uint8_t)bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static void checksum(void **state)
{
    char bytes[] = SIGNATURE "\x21\x11\0\x13" V4 "\3\0\4\0\0\0\0";
    size_t len = sizeof bytes - 1;
    uint32_t sum = sum_of(bytes, len);

    (void)state;
    assert_int_equal(sum_of("123456789", 9), 0xe3069283);
    assert_int_equal(parse(bytes, len), PROXY_HEADER_BAD);
    for (int i = 0; i < 4; i++)
        bytes[len - 1 - (size_t)i] = (char)(sum >> 8 * i);
    assert_int_equal(parse(bytes, len), PROXY_HEADER_WHOLE);
    bytes[20] ^= 1;
    assert_int_equal(parse(bytes, len), PROXY_HEADER_BAD);
}

static void writing(void **state)
{
    char out[PROXY_HEADER_ROOM];
    struct sockaddr_storage src, dst, other;
    size_t len;

    (void)state;
    assert_true(addr_parse_sockaddr(BT_STR("192.0.2.7"), 12345, &src));
    assert_true(addr_parse_sockaddr(BT_STR("127.0.0.1"), 3128, &dst));
    assert_true(addr_parse_sockaddr(BT_STR("2001:db8::1"), 1, &other));
    len = proxy_header_write(out, (struct sockaddr *)&src, (struct sockaddr *)&dst);
    assert_int_equal(len, 28);
    assert_memory_equal(out, SIGNATURE "\x21\x11\0\x0c" V4, 28);
    len = proxy_header_write(out, (struct sockaddr *)&other, (struct sockaddr *)&other);
    assert_int_equal(len, 52);
    assert_int_equal(parse(out, len), PROXY_HEADER_WHOLE);
    assert_string_equal(text(&header.src), "[2001:db8::1]:1");
    assert_string_equal(text(&header.dst), "[2001:db8::1]:1");
    len = proxy_header_write(out, (struct sockaddr *)&src, (struct sockaddr *)&other);
    assert_int_equal(parse(out, len), PROXY_HEADER_WHOLE);
    assert_true(header.local);
    assert_int_equal(proxy_header_write(out, NULL, NULL), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_good),   cmocka_unit_test(cut_anywhere), cmocka_unit_test(line_bad),
        cmocka_unit_test(binary_good), cmocka_unit_test(binary_bad),   cmocka_unit_test(checksum),
        cmocka_unit_test(writing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
