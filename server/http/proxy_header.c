/* proxy_header.c - the PROXY protocol: what a load balancer says of a client before the first byte.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/proxy_header.h"

#include <string.h>

#include "base/addr.h"
#include "base/str.h"

enum {
    LINE_MAX_BYTES = 107, /* of version 1, with its CR LF */
    FIXED = 16,           /* of version 2, before addresses */
    V4_BYTES = 12,        /* two addresses, two ports */
    V6_BYTES = 36,
    UNIX_BYTES = 216,
    TLV_HEAD = 3,
    TLV_CRC = 3,
    CRC_BYTES = 4
};
enum { COMMAND_LOCAL = 0x20, COMMAND_PROXY = 0x21 };
enum { FAMILY_NONE, FAMILY_V4, FAMILY_V6, FAMILY_UNIX };
enum { KIND_STREAM = 1 };

static const char word[6] = "PROXY ";
static const char signature[12] = "\r\n\r\n\0\r\nQUIT\n";

static enum proxy_header_result bad(struct proxy_header *out, const char *why)
{
    out->why = why;
    return PROXY_HEADER_BAD;
}

static unsigned number16(const char *at)
{
    return (unsigned)(uint8_t)at[0] << 8 | (uint8_t)at[1];
}

/* ---- version 1 ---- */

static bool line_addr(bt_str text, bt_str port, bool v6, union proxy_addr *out)
{
    struct sockaddr_storage addr;
    uint64_t number;

    if (text.len == 0 || text.at[0] == '[' || (str_find_char(text, ':') >= 0) != v6 ||
        port.len > 5 || (port.len > 1 && port.at[0] == '0') || !str_uint(port, 65535, &number) ||
        !addr_parse_sockaddr(text, (unsigned)number, &addr))
        return false;
    addr_unmap(&addr);
    memcpy(out, &addr, sizeof *out);
    return true;
}

static enum proxy_header_result line_parse(bt_str line, struct proxy_header *out)
{
    bt_str part[4], family, rest = line;
    bool v6;

    (void)!str_cut(&rest, ' ', &family);
    if (str_eq_literal(family, "UNKNOWN")) /* whatever follows means nothing */
        return PROXY_HEADER_WHOLE;
    v6 = str_eq_literal(family, "TCP6");
    if (!v6 && !str_eq_literal(family, "TCP4"))
        return bad(out, "neither TCP4, TCP6 nor UNKNOWN");
    for (int i = 0; i < 4; i++)
        if (!str_cut(&rest, ' ', &part[i]))
            return bad(out, "an address or a port is missing");
    if (rest.at != NULL || !line_addr(part[0], part[2], v6, &out->src) ||
        !line_addr(part[1], part[3], v6, &out->dst))
        return bad(out, "malformed addresses");
    out->known = true;
    return PROXY_HEADER_WHOLE;
}

static enum proxy_header_result parse_1(const char *at, size_t len, struct proxy_header *out)
{
    size_t seen = len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES;
    const char *end = memchr(at, '\n', seen);

    out->version = 1;
    if (end == NULL)
        return seen < LINE_MAX_BYTES ? PROXY_HEADER_MORE : bad(out, "a line without end");
    if (end[-1] != '\r')
        return bad(out, "a line that does not end in CR LF");
    out->len = (size_t)(end + 1 - at);
    return line_parse(str_span(at + sizeof word, end - 1), out);
}

/* ---- version 2 ---- */

/* CRC-32C, bit by bit: it is asked for once a connection, if ever. */
static uint32_t crc_add(uint32_t crc, uint8_t byte)
{
    crc ^= byte;
    for (int i = 0; i < 8; i++)
        crc = crc >> 1 ^ ((crc & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
    return crc;
}

/* Of the whole header, in which the sum itself counts as zero. */
static bool crc_holds(const char *at, size_t len, bt_str sum)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++)
        crc = crc_add(crc, at + i >= sum.at && at + i < sum.at + sum.len ? 0 : (uint8_t)at[i]);
    crc = ~crc;
    return number16(sum.at) == crc >> 16 && number16(sum.at + 2) == (crc & 0xffff);
}

bool proxy_header_tlv(bt_str tlvs, size_t n, unsigned *type, bt_str *value)
{
    while (tlvs.len >= TLV_HEAD) {
        size_t len = number16(tlvs.at + 1);
        if (tlvs.len - TLV_HEAD < len)
            return false;
        if (n-- == 0) {
            *type = (uint8_t)tlvs.at[0];
            *value = str_slice(tlvs, TLV_HEAD, TLV_HEAD + len);
            return true;
        }
        tlvs = str_skip(tlvs, TLV_HEAD + len);
    }
    return false;
}

static enum proxy_header_result tlvs_check(const char *at, struct proxy_header *out)
{
    size_t used = 0;
    unsigned type;
    bt_str value;

    for (size_t left = out->tlvs.len; left > 0; left = out->tlvs.len - used) {
        bt_str rest = str_skip(out->tlvs, used);
        if (!proxy_header_tlv(rest, 0, &type, &value))
            return bad(out, "a value longer than the header");
        used += TLV_HEAD + value.len;
        if (type == TLV_CRC && (value.len != CRC_BYTES || !crc_holds(at, out->len, value)))
            return bad(out, "its checksum is wrong");
    }
    return PROXY_HEADER_WHOLE;
}

/* Network order: address, address, port, port. */
static void take_v4(const char *at, struct proxy_header *out)
{
    out->src.v4.sin_family = out->dst.v4.sin_family = AF_INET;
    memcpy(&out->src.v4.sin_addr, at, 4);
    memcpy(&out->dst.v4.sin_addr, at + 4, 4);
    memcpy(&out->src.v4.sin_port, at + 8, 2);
    memcpy(&out->dst.v4.sin_port, at + 10, 2);
}

static void take_v6(const char *at, union proxy_addr *out, const char *port)
{
    struct sockaddr_storage addr;
    uint8_t bytes[16];

    memcpy(bytes, at, sizeof bytes);
    addr_to_sockaddr(bytes, number16(port), &addr);
    memcpy(out, &addr, sizeof *out);
}

static enum proxy_header_result addrs_take(const char *at, size_t len, struct proxy_header *out)
{
    unsigned family = (uint8_t)at[13] >> 4, kind = (uint8_t)at[13] & 15;
    static const size_t bytes[] = {0, V4_BYTES, V6_BYTES, UNIX_BYTES};
    const char *addrs = at + FIXED;

    if (family > FAMILY_UNIX || kind > 2)
        return bad(out, "an unknown family");
    if (len < bytes[family])
        return bad(out, "too short for its addresses");
    out->tlvs = (bt_str){addrs + bytes[family], len - bytes[family]};
    if (out->local || kind != KIND_STREAM)
        return tlvs_check(at, out);
    if (family == FAMILY_V4) {
        take_v4(addrs, out);
    } else if (family == FAMILY_V6) {
        take_v6(addrs, &out->src, addrs + 32);
        take_v6(addrs + 16, &out->dst, addrs + 34);
    }
    out->known = family == FAMILY_V4 || family == FAMILY_V6;
    return tlvs_check(at, out);
}

static enum proxy_header_result parse_2(const char *at, size_t len, struct proxy_header *out)
{
    size_t more;

    out->version = 2;
    if (len > sizeof signature) {
        uint8_t command = (uint8_t)at[12];
        if (command != COMMAND_LOCAL && command != COMMAND_PROXY)
            return bad(out, "an unknown version or command");
        out->local = command == COMMAND_LOCAL;
    }
    if (len < FIXED)
        return PROXY_HEADER_MORE;
    more = number16(at + 14);
    if (more > PROXY_HEADER_MAX - FIXED)
        return bad(out, "it is too long");
    if (len - FIXED < more)
        return PROXY_HEADER_MORE;
    out->len = FIXED + more;
    return addrs_take(at, more, out);
}

/* ---- for others ---- */

enum proxy_header_result proxy_header_parse(const char *at, size_t len, struct proxy_header *out)
{
    memset(out, 0, sizeof *out);
    if (len == 0)
        return PROXY_HEADER_MORE;
    if (memcmp(at, word, len < sizeof word ? len : sizeof word) == 0)
        return len < sizeof word ? PROXY_HEADER_MORE : parse_1(at, len, out);
    if (memcmp(at, signature, len < sizeof signature ? len : sizeof signature) == 0)
        return len < sizeof signature ? PROXY_HEADER_MORE : parse_2(at, len, out);
    return bad(out, "there is none");
}

size_t proxy_header_write(char out[PROXY_HEADER_ROOM], const struct sockaddr *src,
                          const struct sockaddr *dst)
{
    union proxy_addr from, to;
    bool known = src != NULL && dst != NULL && src->sa_family == dst->sa_family;
    bool v4 = known && src->sa_family == AF_INET, v6 = known && src->sa_family == AF_INET6;
    size_t more = v4 ? V4_BYTES : v6 ? V6_BYTES : 0;

    memset(out, 0, PROXY_HEADER_ROOM);
    memcpy(out, signature, sizeof signature);
    out[12] = v4 || v6 ? COMMAND_PROXY : COMMAND_LOCAL;
    out[13] = (char)(v4 ? FAMILY_V4 << 4 | KIND_STREAM : v6 ? FAMILY_V6 << 4 | KIND_STREAM : 0);
    out[15] = (char)more;
    if (more == 0)
        return FIXED;
    memcpy(&from, src, addr_len(src));
    memcpy(&to, dst, addr_len(dst));
    if (v4) {
        memcpy(out + FIXED, &from.v4.sin_addr, 4);
        memcpy(out + FIXED + 4, &to.v4.sin_addr, 4);
        memcpy(out + FIXED + 8, &from.v4.sin_port, 2);
        memcpy(out + FIXED + 10, &to.v4.sin_port, 2);
    } else {
        memcpy(out + FIXED, &from.v6.sin6_addr, 16);
        memcpy(out + FIXED + 16, &to.v6.sin6_addr, 16);
        memcpy(out + FIXED + 32, &from.v6.sin6_port, 2);
        memcpy(out + FIXED + 34, &to.v6.sin6_port, 2);
    }
    return FIXED + more;
}
