/* addr.h - addresses, ports, prefixes and ranges: to and from text, and compared.
 *
 * An address without port is 16 bytes in network order, IPv4 as IPv4-mapped IPv6; with a port it
 * is a sockaddr of the family that it was written in (addr_unmap() what accept() gives on [::]).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_ADDR_H
#define BASE_ADDR_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "bt_types.h"

struct addr_range {
    uint8_t from[16], to[16]; /* from <= to */
};

enum {
    ADDR_TEXT = 46,     /* "ffff:...:255.255.255.255" and its NUL */
    ADDR_PORT_TEXT = 56 /* "[...]:65535" and its NUL */
};

/* ---- from text ---- */

/* Exactly as written by sane people: "192.0.2.1", "2001:db8::1", "[2001:db8::1]",
 * "::ffff:192.0.2.1" (becomes IPv4 in the sockaddr form). No zone index, no leading zeros. */
bool addr_parse(bt_str text, uint8_t out[16]) BT_MUST;
bool addr_parse_sockaddr(bt_str text, unsigned port, struct sockaddr_storage *out) BT_MUST;
/* "192.0.2.1:80", "[2001:db8::1]:80". */
bool addr_parse_with_port(bt_str text, struct sockaddr_storage *out) BT_MUST;
/* "80": 1-65535 (0 too when zero_too). */
bool addr_parse_port(bt_str text, bool zero_too, unsigned *out) BT_MUST;

enum addr_fault {
    ADDR_FINE,
    ADDR_BAD,      /* no address */
    ADDR_BAD_MASK, /* prefix length or mask wrong for the family, or a mask with holes */
    ADDR_REVERSED, /* a range whose end is before its beginning */
    ADDR_MIXED     /* a range from one family to the other */
};
/* "10.0.0.0/8", "10.0.0.0/255.0.0.0", "10.1.2.3-10.1.2.9", "2001:db8::/32", "10.1.2.0-10.1.9.0/24"
 * (Squid: every /24 from the one to the other), a lone address, "all" (both families), "ipv4",
 * "ipv6". Bits below the mask are cleared; *loose (may be NULL) says that some were set. */
enum addr_fault addr_parse_range(bt_str text, struct addr_range *out, bool *loose);
const char *addr_fault_text(enum addr_fault);

/* A host in any spelling that inet_aton() takes, beside addr_parse()'s: "2130706433", "0x7f000001",
 * "0177.0.0.1", "127.1". For URLs: what a client may mean by it, a rule must see. false: a name (or
 * a number too large to be an address, which is then no host at all: *bad). `bad` may be NULL. */
bool addr_parse_odd(bt_str text, uint8_t out[16], bool *bad) BT_MUST;

/* ---- to text; both end in NUL and return the length; no brackets without a port ---- */

size_t addr_print(const uint8_t addr[16], char buf[ADDR_TEXT]);
size_t addr_print_sockaddr(const struct sockaddr *, char buf[ADDR_TEXT]);
size_t addr_print_with_port(const struct sockaddr *, char buf[ADDR_PORT_TEXT]);

/* ---- 16 bytes ---- */

bool addr_is_v4(const uint8_t addr[16]); /* IPv4-mapped */
void addr_from_v4(const uint8_t v4[4], uint8_t out[16]);
/* Zero the bits below `bits` (0-128; IPv4: 96 + its prefix); set them. */
void addr_mask(uint8_t addr[16], unsigned bits);
void addr_fill(uint8_t addr[16], unsigned bits);
/* As numbers: the next one up (false at the very end), the one below (false at 0). */
bool addr_next(uint8_t addr[16]);
bool addr_prev(uint8_t addr[16]);

/* ---- sockaddr ---- */

unsigned addr_port(const struct sockaddr *); /* 0 for other families */
void addr_set_port(struct sockaddr *, unsigned port);
socklen_t addr_len(const struct sockaddr *);
/* Family, address and, with `ports`, the port are the same. A mapped IPv4 equals its IPv4. */
bool addr_same(const struct sockaddr *a, const struct sockaddr *b, bool ports);
void addr_to_sockaddr(const uint8_t addr[16], unsigned port, struct sockaddr_storage *out);
/* A mapped IPv4 becomes plain IPv4, in place; others stay. */
void addr_unmap(struct sockaddr_storage *);
bool addr_is_loopback(const struct sockaddr *);
bool addr_is_any(const struct sockaddr *);

#endif
