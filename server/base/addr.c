/* addr.c - addresses, ports, prefixes and ranges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/addr.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "bt_sets.h"

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* ---- 16 bytes ---- */

bool addr_is_v4(const uint8_t addr[16])
{
    return memcmp(addr, mapped, sizeof(mapped)) == 0;
}

void addr_from_v4(const uint8_t v4[4], uint8_t out[16])
{
    memcpy(out, mapped, sizeof(mapped));
    memcpy(out + 12, v4, 4);
}

void addr_mask(uint8_t addr[16], unsigned bits)
{
    for (unsigned i = 0; i<16; i++, bits = bits> 8 ? bits - 8 : 0)
        if (bits < 8)
            addr[i] &= (uint8_t) ~(0xffu >> bits);
}

void addr_fill(uint8_t addr[16], unsigned bits)
{
    for (unsigned i = 0; i<16; i++, bits = bits> 8 ? bits - 8 : 0)
        if (bits < 8)
            addr[i] |= (uint8_t)(0xffu >> bits);
}

bool addr_next(uint8_t addr[16])
{
    for (int i = 15; i >= 0; i--)
        if (++addr[i] != 0)
            return true;
    memset(addr, 0xff, 16);
    return false;
}

bool addr_prev(uint8_t addr[16])
{
    for (int i = 15; i >= 0; i--)
        if (addr[i]-- != 0)
            return true;
    memset(addr, 0, 16);
    return false;
}

/* ---- from text ---- */

/* 4 or 16 bytes into out; the family, or 0. */
static int parse_plain(bt_str text, uint8_t out[16])
{
    char ended[ADDR_TEXT];

    if (text.len == 0 || text.len >= sizeof(ended) || memchr(text.at, 0, text.len) != NULL)
        return 0;
    memcpy(ended, text.at, text.len);
    ended[text.len] = '\0';
    if (str_find_char(text, ':') >= 0)
        return inet_pton(AF_INET6, ended, out) == 1 ? AF_INET6 : 0;
    return inet_pton(AF_INET, ended, out) == 1 ? AF_INET : 0;
}

bool addr_parse(bt_str text, uint8_t out[16])
{
    uint8_t raw[16];
    bool brackets = text.len > 2 && text.at[0] == '[' && text.at[text.len - 1] == ']';

    if (brackets)
        text = str_slice(text, 1, text.len - 1);
    switch (parse_plain(text, raw)) {
    case AF_INET:
        if (brackets)
            return false;
        addr_from_v4(raw, out);
        return true;
    case AF_INET6:
        memcpy(out, raw, 16);
        return true;
    default:
        return false;
    }
}

bool addr_parse_sockaddr(bt_str text, unsigned port, struct sockaddr_storage *out)
{
    uint8_t addr[16];

    if (!addr_parse(text, addr))
        return false;
    addr_to_sockaddr(addr, port, out);
    return true;
}

bool addr_parse_port(bt_str text, bool zero_too, unsigned *out)
{
    uint64_t port;

    if (!str_uint(text, 65535, &port) || (port == 0 && !zero_too))
        return false;
    *out = (unsigned)port;
    return true;
}

bool addr_parse_with_port(bt_str text, struct sockaddr_storage *out)
{
    bt_str host, digits;
    unsigned port;

    if (!str_rsplit(text, ':', &host, &digits) || !addr_parse_port(digits, true, &port))
        return false;
    if (str_find_char(host, ':') >= 0 && host.at[0] != '[')
        return false; /* an IPv6 address without brackets has no port */
    return addr_parse_sockaddr(host, port, out);
}

/* ---- ranges ---- */

/* The bits of a mask given as a length or as an address; of IPv4, 96 is added. */
static bool parse_mask(bt_str text, bool v4, unsigned *bits)
{
    uint8_t mask[16], want[16];
    uint64_t n;

    if (str_uint(text, v4 ? 32 : 128, &n)) {
        *bits = (unsigned)n + (v4 ? 96 : 0);
        return true;
    }
    if (!addr_parse(text, mask) || addr_is_v4(mask) != v4)
        return false;
    if (v4)
        memset(mask, 0xff, 12);
    for (*bits = 0; *bits < 128 && (mask[*bits / 8] & 0x80u >> *bits % 8) != 0; ++*bits)
        ;
    memset(want, 0xff, sizeof(want));
    addr_mask(want, *bits);
    return memcmp(mask, want, sizeof(mask)) == 0;
}

static bool parse_word_range(bt_str text, struct addr_range *out)
{
    memset(out->from, 0, 16);
    memset(out->to, 0xff, 16);
    if (str_eq_literal_nocase(text, "all"))
        return true;
    if (str_eq_literal_nocase(text, "ipv4")) {
        memcpy(out->from, mapped, sizeof(mapped));
        memcpy(out->to, mapped, sizeof(mapped));
        return true;
    }
    if (str_eq_literal_nocase(text, "ipv6")) {
        /* Squid's meaning: below 1000:: are loopback and the forms that hold IPv4. */
        out->from[0] = 0x10;
        return true;
    }
    return false;
}

enum addr_fault addr_parse_range(bt_str text, struct addr_range *out, bool *loose)
{
    bt_str addrs, mask, from, to;
    uint8_t was[16];
    unsigned bits = 128;
    bool has_mask, has_to;

    if (loose != NULL)
        *loose = false;
    if (parse_word_range(text, out))
        return ADDR_FINE;
    has_mask = str_split(text, '/', &addrs, &mask);
    has_to = str_split(addrs, '-', &from, &to);
    if (!addr_parse(from, out->from))
        return ADDR_BAD;
    memcpy(out->to, out->from, 16);
    if (has_to && !addr_parse(to, out->to))
        return ADDR_BAD;
    if (addr_is_v4(out->from) != addr_is_v4(out->to))
        return ADDR_MIXED;
    if (has_mask && !parse_mask(mask, addr_is_v4(out->from), &bits))
        return ADDR_BAD_MASK;
    memcpy(was, out->from, 16);
    addr_mask(out->from, bits);
    if (loose != NULL)
        *loose = memcmp(was, out->from, 16) != 0;
    addr_fill(out->to, bits);
    return memcmp(out->from, out->to, 16) > 0 ? ADDR_REVERSED : ADDR_FINE;
}

const char *bt_addr_range(bt_str text, uint8_t from[16], uint8_t to[16])
{
    struct addr_range range;
    enum addr_fault fault = addr_parse_range(text, &range, NULL);

    if (fault != ADDR_FINE)
        return addr_fault_text(fault);
    memcpy(from, range.from, 16);
    memcpy(to, range.to, 16);
    return NULL;
}

const char *addr_fault_text(enum addr_fault fault)
{
    switch (fault) {
    case ADDR_FINE:
        return "is fine";
    case ADDR_BAD:
        return "is not an IP address";
    case ADDR_BAD_MASK:
        return "has a mask that does not fit its address";
    case ADDR_REVERSED:
        return "is a range that ends before it begins";
    case ADDR_MIXED:
        return "is a range from IPv4 to IPv6";
    }
    NEVER();
}

/* ---- odd spellings ---- */

/* "10", "012", "0xa"; "0x" alone is 0, as URLs have it. */
static bool parse_odd_number(bt_str part, uint64_t *out)
{
    if (part.len >= 2 && part.at[0] == '0' && str_lower(part.at[1]) == 'x') {
        *out = 0;
        return part.len == 2 || str_uint_base(str_skip(part, 2), 16, UINT32_MAX, out);
    }
    if (part.len >= 2 && part.at[0] == '0')
        return str_uint_base(part, 8, UINT32_MAX, out);
    return str_uint(part, UINT32_MAX, out);
}

/* Whether a host ends in a number, and therefore is an address or nothing (WHATWG URL, 3.5). */
static bool ends_in_number(bt_str text)
{
    bt_str before, last;

    if (!str_rsplit(text, '.', &before, &last))
        last = text;
    if (last.len >= 2 && last.at[0] == '0' && str_lower(last.at[1]) == 'x')
        return str_all(str_skip(last, 2), STR_HEX);
    return last.len > 0 && str_all(last, STR_DIGIT);
}

bool addr_parse_odd(bt_str text, uint8_t out[16], bool *bad)
{
    bt_str rest, part;
    uint64_t n[4];
    uint32_t value;
    size_t parts = 0;
    bool fine = true;

    if (bad != NULL)
        *bad = false;
    if (addr_parse(text, out))
        return true;
    if (text.len > 1 && text.at[text.len - 1] == '.')
        text.len--;
    if (!ends_in_number(text))
        return false;
    if (bad != NULL)
        *bad = true;
    for (rest = text; fine && str_cut(&rest, '.', &part); parts++)
        fine = parts < 4 && parse_odd_number(part, &n[parts]);
    if (!fine)
        return false;
    /* All parts but the last are bytes; the last fills what they leave. */
    value = 0;
    for (size_t i = 0; i + 1 < parts; i++) {
        if (n[i] > 255)
            return false;
        value |= (uint32_t)n[i] << (24 - 8 * i);
    }
    if (n[parts - 1] >> (8 * (5 - parts)) != 0)
        return false;
    value |= (uint32_t)n[parts - 1];
    value = htonl(value);
    addr_from_v4((const uint8_t *)&value, out);
    if (bad != NULL)
        *bad = false;
    return true;
}

/* ---- to text ---- */

static char *print_v4(const uint8_t v4[4], char *at)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            *at++ = '.';
        at = str_put_uint(at, v4[i]);
    }
    *at = '\0';
    return at;
}

size_t addr_print(const uint8_t addr[16], char buf[ADDR_TEXT])
{
    if (addr_is_v4(addr))
        return (size_t)(print_v4(addr + 12, buf) - buf);
    CHECK(inet_ntop(AF_INET6, addr, buf, ADDR_TEXT) != NULL);
    return strlen(buf);
}

size_t addr_print_sockaddr(const struct sockaddr *addr, char buf[ADDR_TEXT])
{
    uint8_t bytes[16];

    if (!bt_addr_bytes(addr, bytes)) {
        memcpy(buf, "-", 2);
        return 1;
    }
    return addr_print(bytes, buf);
}

size_t addr_print_with_port(const struct sockaddr *addr, char buf[ADDR_PORT_TEXT])
{
    uint8_t bytes[16];
    char *at = buf;
    bool brackets;

    if (!bt_addr_bytes(addr, bytes)) {
        memcpy(buf, "-", 2);
        return 1;
    }
    brackets = !addr_is_v4(bytes);
    if (brackets)
        *at++ = '[';
    at += addr_print(bytes, at);
    if (brackets)
        *at++ = ']';
    *at++ = ':';
    at = str_put_uint(at, addr_port(addr));
    *at = '\0';
    return (size_t)(at - buf);
}

/* ---- sockaddr ---- */

static const struct sockaddr_in *as_v4(const struct sockaddr *addr)
{
    return (const struct sockaddr_in *)(const void *)addr;
}

static const struct sockaddr_in6 *as_v6(const struct sockaddr *addr)
{
    return (const struct sockaddr_in6 *)(const void *)addr;
}

bool bt_addr_bytes(const struct sockaddr *addr, uint8_t out[16])
{
    if (addr == NULL)
        return false;
    switch (addr->sa_family) {
    case AF_INET:
        addr_from_v4((const uint8_t *)&as_v4(addr)->sin_addr, out);
        return true;
    case AF_INET6:
        memcpy(out, &as_v6(addr)->sin6_addr, 16);
        return true;
    default:
        return false;
    }
}

unsigned addr_port(const struct sockaddr *addr)
{
    switch (addr->sa_family) {
    case AF_INET:
        return ntohs(as_v4(addr)->sin_port);
    case AF_INET6:
        return ntohs(as_v6(addr)->sin6_port);
    default:
        return 0;
    }
}

void addr_set_port(struct sockaddr *addr, unsigned port)
{
    CHECK(port <= 65535);
    if (addr->sa_family == AF_INET)
        ((struct sockaddr_in *)(void *)addr)->sin_port = htons((uint16_t)port);
    else if (addr->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)addr)->sin6_port = htons((uint16_t)port);
}

socklen_t addr_len(const struct sockaddr *addr)
{
    switch (addr->sa_family) {
    case AF_INET:
        return sizeof(struct sockaddr_in);
    case AF_INET6:
        return sizeof(struct sockaddr_in6);
    default:
        return sizeof(struct sockaddr_storage);
    }
}

bool addr_same(const struct sockaddr *a, const struct sockaddr *b, bool ports)
{
    uint8_t x[16], y[16];

    return bt_addr_bytes(a, x) && bt_addr_bytes(b, y) && memcmp(x, y, 16) == 0 &&
           (!ports || addr_port(a) == addr_port(b));
}

void addr_to_sockaddr(const uint8_t addr[16], unsigned port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (addr_is_v4(addr)) {
        struct sockaddr_in *in = (struct sockaddr_in *)(void *)out;

        in->sin_family = AF_INET;
        memcpy(&in->sin_addr, addr + 12, 4);
    } else {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)out;

        in6->sin6_family = AF_INET6;
        memcpy(&in6->sin6_addr, addr, 16);
    }
    addr_set_port((struct sockaddr *)out, port);
}

void addr_unmap(struct sockaddr_storage *addr)
{
    uint8_t bytes[16];

    if (addr->ss_family == AF_INET6 && bt_addr_bytes((const struct sockaddr *)addr, bytes) &&
        addr_is_v4(bytes))
        addr_to_sockaddr(bytes, addr_port((const struct sockaddr *)addr), addr);
}

bool addr_is_loopback(const struct sockaddr *addr)
{
    static const uint8_t one[16] = {[15] = 1};
    uint8_t bytes[16];

    return bt_addr_bytes(addr, bytes) &&
           (addr_is_v4(bytes) ? bytes[12] == 127 : memcmp(bytes, one, 16) == 0);
}

bool addr_is_any(const struct sockaddr *addr)
{
    static const uint8_t zero[16];
    uint8_t bytes[16];

    if (!bt_addr_bytes(addr, bytes))
        return false;
    return memcmp(addr_is_v4(bytes) ? bytes + 12 : bytes, zero, addr_is_v4(bytes) ? 4 : 16) == 0;
}
