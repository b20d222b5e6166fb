/* acl_net.c - ACL types about addresses and ports: src, dst, localip, port, localport, myportname.
 *
 *   acl office src 10.0.0.0/8 192.0.2.10-192.0.2.20 2001:db8::/32 gate.example.com
 *
 * Names among addresses are looked up once, at the start: who wants a list that follows the name
 * server writes dstdomain. `dst` judges the addresses that will be dialled, and no others, so that
 * what was allowed is what is connected to.
 *
 * All lists of a type are one set of ranges that knows for each piece which ACLs hold it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "acl_names.h"

/* ---- values: addresses ---- */

struct range {
    uint8_t from[16], to[16];
};

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool is(bt_str text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

static bool is_v4(const uint8_t addr[16])
{
    return memcmp(addr, mapped, sizeof mapped) == 0;
}

/* Nothing but digits and dots, or a colon somewhere: no host is called so. */
static bool looks_like_address(bt_str text)
{
    size_t digits = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == ':')
            return true;
        digits += text.at[i] == '.' || (text.at[i] >= '0' && text.at[i] <= '9');
    }
    return text.len > 0 && digits == text.len;
}

/* `*v6`: it was written as IPv6, which decides how its prefix is counted. */
static bool address_read(bt_str text, uint8_t out[16], bool *v6)
{
    char copy[INET6_ADDRSTRLEN];

    if (text.len > 2 && text.at[0] == '[' && text.at[text.len - 1] == ']')
        text = (bt_str){text.at + 1, text.len - 2};
    if (text.len == 0 || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    *v6 = strchr(copy, ':') != NULL;
    if (*v6)
        return inet_pton(AF_INET6, copy, out) == 1;
    memcpy(out, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, out + 12) == 1;
}

/* Bits that a mask leaves: 255.255.0.0 is 16; -1: it has holes. */
static int mask_bits(const uint8_t *mask, size_t bytes)
{
    int bits = 0;
    bool ended = false;

    for (size_t i = 0; i < bytes * 8; i++) {
        bool set = (mask[i / 8] >> (7 - i % 8) & 1) != 0;
        if (set && ended)
            return -1;
        ended = !set;
        bits += set;
    }
    return bits;
}

/* "24", "255.255.255.0" or "ffff:ffff::" to bits of 128; false after a complaint. */
static bool prefix_read(const struct bt_word *at, bt_str text, bool v6, unsigned *out,
                        struct bt_error *err)
{
    uint8_t mask[16];
    bool mask_v6;
    unsigned most = v6 ? 128 : 32;
    int bits = 0;

    if (text.len > 0 && text.len <= 3 && strspn(text.at, "0123456789") >= text.len) {
        for (size_t i = 0; i < text.len; i++)
            bits = bits * 10 + (text.at[i] - '0');
        if (bits > (int)most)
            return bt_complain(err, at, "prefix /%d of %s: %s has 0 to %u bits", bits, at->text.at,
                               v6 ? "IPv6" : "IPv4", most);
    } else {
        if (!address_read(text, mask, &mask_v6) || mask_v6 != v6)
            return bt_complain(err, at, "'%.*s' in %s is neither a prefix length nor a mask",
                               BT_STR_ARGS(text), at->text.at);
        bits = v6 ? mask_bits(mask, 16) : mask_bits(mask + 12, 4);
        if (bits < 0)
            return bt_complain(err, at, "mask %.*s has holes", BT_STR_ARGS(text));
    }
    *out = (unsigned)bits + (v6 ? 0 : 96);
    return true;
}

/* Clear the bits behind the first `bits`; true: some were set. */
static bool clear_below(uint8_t addr[16], unsigned bits)
{
    bool any = false;

    for (unsigned i = bits; i < 128; i++) {
        uint8_t bit = (uint8_t)(0x80u >> i % 8);
        any |= (addr[i / 8] & bit) != 0;
        addr[i / 8] = (uint8_t)(addr[i / 8] & ~bit);
    }
    return any;
}

static void fill_below(uint8_t addr[16], unsigned bits)
{
    for (unsigned i = bits; i < 128; i++)
        addr[i / 8] = (uint8_t)(addr[i / 8] | 0x80u >> i % 8);
}

static void print(const uint8_t addr[16], char out[INET6_ADDRSTRLEN])
{
    if (is_v4(addr))
        inet_ntop(AF_INET, addr + 12, out, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, addr, out, INET6_ADDRSTRLEN);
}

static bool bad_address(const struct bt_word *at, bt_str text, struct bt_error *err)
{
    if (text.len == at->text.len)
        return bt_complain(err, at, "'%s' is no address", at->text.at);
    return bt_complain(err, at, "'%.*s' in '%s' is no address", BT_STR_ARGS(text), at->text.at);
}

/* Addresses from `first` to `last` (the same for one), each widened by the mask. */
static bool range_read(const struct bt_word *at, bt_str first, bt_str last, bt_str prefix,
                       struct range *out, struct bt_error *err)
{
    bool v6, last_v6;
    unsigned bits = 128;

    if (!address_read(first, out->from, &v6))
        return bad_address(at, first, err);
    if (!address_read(last, out->to, &last_v6))
        return bad_address(at, last, err);
    if (is_v4(out->from) != is_v4(out->to))
        return bt_complain(err, at,
                           "range %s begins in one family of addresses and ends in the other",
                           at->text.at);
    if (memcmp(out->from, out->to, 16) > 0)
        return bt_complain(err, at, "range %s ends before it begins", at->text.at);
    if (prefix.at != NULL && !prefix_read(at, prefix, v6, &bits, err))
        return false;
    if (is_v4(out->from) && bits < 96)
        return bt_complain(
            err, at,
            "a prefix of an IPv4-mapped address has 96 to 128 bits; %s would hold all "
            "of IPv4",
            at->text.at);
    bool stray = clear_below(out->from, bits);
    if (first.at == last.at && stray) {
        char text[INET6_ADDRSTRLEN];
        print(out->from, text);
        bt_caution(err, at, "%s has bits behind its mask; it is taken as %s/%u", at->text.at, text,
                   v6 ? bits : bits - 96);
    }
    fill_below(out->to, bits);
    return true;
}

/* The words that stand for a whole family. */
static bool family_read(bt_str text, struct range *out)
{
    bool all = is(text, "all"), v6 = is(text, "ipv6");

    if (!all && !v6 && !is(text, "ipv4"))
        return false;
    memset(out->from, 0, 16);
    memset(out->to, 0xff, 16);
    if (!all && !v6) {
        memcpy(out->from, mapped, sizeof mapped);
        memcpy(out->to, mapped, sizeof mapped);
    }
    return true;
}

/* `ipv6` is all but the block where IPv4 is kept. */
static void add_ipv6(struct bt_ipset *set, uint32_t owner)
{
    struct range below, above;

    memset(below.from, 0, 16);
    memcpy(below.to, mapped, sizeof mapped);
    below.to[10] = 0xff, below.to[11] = 0xfe;
    memset(below.to + 12, 0xff, 4);
    memset(above.from, 0, 16);
    above.from[9] = 1;
    memset(above.to, 0xff, 16);
    bt_ipset_add(set, below.from, below.to, owner);
    bt_ipset_add(set, above.from, above.to, owner);
}

/* All addresses of a name, as they are now. */
static bool name_add(struct bt_ipset *set, const struct bt_word *at, uint32_t owner,
                     struct bt_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
    int failed = getaddrinfo(at->text.at, NULL, &hints, &list);
    uint8_t addr[16];

    if (failed != 0)
        return bt_complain(err, at,
                           "'%s' is neither an address nor a name that can be looked up now (%s)",
                           at->text.at, gai_strerror(failed));
    for (const struct addrinfo *item = list; item != NULL; item = item->ai_next)
        if (bt_addr_bytes(item->ai_addr, addr))
            bt_ipset_add(set, addr, addr, owner);
    freeaddrinfo(list);
    return true;
}

/* Split at the first `sep`; false: there is none, and *before is all. */
static bool split(bt_str text, char sep, bt_str *before, bt_str *after)
{
    const char *at = text.len == 0 ? NULL : memchr(text.at, sep, text.len);

    *before = text;
    *after = BT_STR_NONE;
    if (at == NULL)
        return false;
    *before = (bt_str){text.at, (size_t)(at - text.at)};
    *after = (bt_str){at + 1, text.len - before->len - 1};
    return true;
}

static bool value_add(struct bt_ipset *set, const struct bt_word *at, uint32_t owner,
                      struct bt_error *err)
{
    bt_str text, prefix, first, last;
    struct range range;

    if (is(at->text, "ipv6")) {
        add_ipv6(set, owner);
        return true;
    }
    if (!family_read(at->text, &range)) {
        bool masked = split(at->text, '/', &text, &prefix);
        bool ranged = split(text, '-', &first, &last) && looks_like_address(first);
        if (!ranged)
            first = last = text;
        if (!masked && !ranged && !looks_like_address(text))
            return name_add(set, at, owner, err);
        if (!range_read(at, first, last, prefix, &range, err))
            return false;
    }
    bt_ipset_add(set, range.from, range.to, owner);
    return true;
}

/* ---- src, dst, localip ---- */

struct addresses {
    struct bt_ipset *set;
    bool no_dns;
};

static struct addresses *addresses_make(const struct bt_acl_values *acl, size_t n, bool no_dns,
                                        struct bt_arena *arena, struct bt_error *err)
{
    struct addresses *all = bt_alloc(arena, sizeof *all);
    bool good = true;

    all->set = bt_ipset_new(arena);
    all->no_dns = no_dns;
    for (size_t i = 0; i < n; i++)
        for (size_t k = no_dns ? 1 : 0; k < acl[i].args.n; k++)
            good &= value_add(all->set, &acl[i].args.word[k], (uint32_t)i, err);
    bt_ipset_seal(all->set);
    return good ? all : NULL;
}

static void *addresses_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                               struct bt_error *err)
{
    return addresses_make(acl, n, false, arena, err);
}

/* ACLs with -n are compiled apart, and it stands first in each. */
static void *dst_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                         struct bt_error *err)
{
    bool no_dns = n > 0 && acl[0].args.n > 0 && is(acl[0].args.word[0].text, "-n");
    return addresses_make(acl, n, no_dns, arena, err);
}

static void look_up(const struct addresses *all, const struct sockaddr *sockaddr, uint64_t *bits)
{
    uint8_t addr[16];

    if (sockaddr != NULL && bt_addr_bytes(sockaddr, addr))
        bt_ipset_find(all->set, addr, bits);
}

static enum bt_match src_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    look_up(compiled, bt_client_addr(txn), bits);
    return BT_YES;
}

static enum bt_match localip_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    look_up(compiled, bt_local_addr(txn), bits);
    return BT_YES;
}

static enum bt_match dst_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct addresses *all = compiled;
    const struct sockaddr *const *addr = NULL;
    size_t n = 0;

    if (all->no_dns) {
        look_up(all, bt_host_addr(txn), bits);
        return BT_YES;
    }
    enum bt_match said = bt_destination(txn, &addr, &n);
    if (said == BT_WAIT || said == BT_BROKEN)
        return said;
    for (size_t i = 0; i < n && said == BT_YES; i++)
        look_up(all, addr[i], bits);
    return BT_YES;
}

/* ---- port, localport ---- */

/* Up to 64 ACLs: pieces of the range of all ports, each with the bits of who holds it. More of them
 * are rare, and kept as addresses 0.0.x.y. */
struct ports {
    size_t pieces;
    uint32_t *from; /* first port of each piece */
    uint64_t *bits;
    struct bt_ipset *set; /* NULL: there are pieces */
};
enum { PORTS = 65536, PORTS_FAST = 64 };

static bool port_read(bt_str text, unsigned *out)
{
    unsigned port = 0;

    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        port = port * 10 + (unsigned)(text.at[i] - '0');
    }
    *out = port;
    return port < PORTS;
}

static bool ports_read(const struct bt_word *at, unsigned *from, unsigned *to, struct bt_error *err)
{
    bt_str first, last;

    if (!split(at->text, '-', &first, &last))
        last = first;
    if (!port_read(first, from) || !port_read(last, to))
        return bt_complain(err, at, "'%s' is no port or range of ports (0-65535)", at->text.at);
    if (*from > *to)
        return bt_complain(err, at, "range of ports %s ends before it begins", at->text.at);
    return true;
}

static void set_add(struct bt_ipset *set, unsigned from, unsigned to, uint32_t owner)
{
    uint8_t low[16], high[16];

    memcpy(low, mapped, sizeof mapped);
    memcpy(high, mapped, sizeof mapped);
    low[12] = low[13] = high[12] = high[13] = 0;
    low[14] = (uint8_t)(from >> 8), low[15] = (uint8_t)from;
    high[14] = (uint8_t)(to >> 8), high[15] = (uint8_t)to;
    bt_ipset_add(set, low, high, owner);
}

/* `edge` counts, at each port, how many ranges begin there less how many have ended: summed up, it
 * says whether the ACL holds a port. */
static void edges_to_bits(const int *edge, uint32_t owner, uint64_t *bits)
{
    int depth = 0;

    for (unsigned port = 0; port < PORTS; port++) {
        depth += edge[port];
        if (depth > 0)
            bits[port] |= UINT64_C(1) << owner;
    }
}

static void pieces_make(struct ports *ports, const uint64_t *bits, struct bt_arena *arena)
{
    for (unsigned port = 0; port < PORTS; port++)
        ports->pieces += port == 0 || bits[port] != bits[port - 1];
    ports->from = bt_alloc(arena, ports->pieces * sizeof *ports->from);
    ports->bits = bt_alloc(arena, ports->pieces * sizeof *ports->bits);
    for (unsigned port = 0, piece = 0; port < PORTS; port++)
        if (port == 0 || bits[port] != bits[port - 1]) {
            ports->from[piece] = port;
            ports->bits[piece++] = bits[port];
        }
}

/* All values of one ACL, into `set` or as edges. */
static bool acl_ports(const struct bt_acl_values *acl, struct bt_ipset *set, int *edge,
                      uint32_t owner, struct bt_error *err)
{
    bool good = true;

    for (size_t k = 0; k < acl->args.n; k++) {
        unsigned from = 0, to = 0;
        if (!ports_read(&acl->args.word[k], &from, &to, err))
            good = false;
        else if (set != NULL)
            set_add(set, from, to, owner);
        else
            edge[from]++, edge[to + 1]--;
    }
    return good;
}

static void *few_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                         struct bt_error *err)
{
    struct ports *ports = bt_alloc(arena, sizeof *ports);
    uint64_t *bits = calloc(PORTS, sizeof *bits);
    int *edge = malloc((PORTS + 1) * sizeof *edge);
    bool good = true;

    if (bits == NULL || edge == NULL)
        abort();
    for (size_t i = 0; i < n; i++) {
        memset(edge, 0, (PORTS + 1) * sizeof *edge);
        good &= acl_ports(&acl[i], NULL, edge, (uint32_t)i, err);
        edges_to_bits(edge, (uint32_t)i, bits);
    }
    pieces_make(ports, bits, arena);
    free(edge);
    free(bits);
    return good ? ports : NULL;
}

static void *ports_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                           struct bt_error *err)
{
    bool good = true;

    if (n <= PORTS_FAST)
        return few_compile(acl, n, arena, err);
    struct ports *ports = bt_alloc(arena, sizeof *ports);
    ports->set = bt_ipset_new(arena);
    for (size_t i = 0; i < n; i++)
        good &= acl_ports(&acl[i], ports->set, NULL, (uint32_t)i, err);
    bt_ipset_seal(ports->set);
    return good ? ports : NULL;
}

static void ports_find(const struct ports *ports, unsigned port, uint64_t *bits)
{
    size_t low = 0, high = ports->pieces;

    if (ports->set != NULL) {
        uint8_t addr[16] = {[10] = 0xff, [11] = 0xff};
        addr[14] = (uint8_t)(port >> 8), addr[15] = (uint8_t)port;
        bt_ipset_find(ports->set, addr, bits);
        return;
    }
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (ports->from[middle] <= port)
            low = middle;
        else
            high = middle;
    }
    bits[0] |= ports->bits[low];
}

static enum bt_match port_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    unsigned port = bt_port(txn);

    if (port != 0)
        ports_find(compiled, port, bits);
    return BT_YES;
}

static enum bt_match localport_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    const struct sockaddr *addr = bt_local_addr(txn);

    if (addr != NULL && addr->sa_family == AF_INET)
        ports_find(compiled, ntohs(((const struct sockaddr_in *)(const void *)addr)->sin_port),
                   bits);
    else if (addr != NULL && addr->sa_family == AF_INET6)
        ports_find(compiled, ntohs(((const struct sockaddr_in6 *)(const void *)addr)->sin6_port),
                   bits);
    return BT_YES;
}

/* ---- myportname ---- */

static void *portname_compile(const struct bt_acl_values *acl, size_t n, struct bt_arena *arena,
                              struct bt_error *err)
{
    size_t rows = 0;

    (void)err;
    for (size_t i = 0; i < n; i++)
        rows += acl[i].args.n;
    struct acl_name_row *row = bt_alloc(arena, (rows + 1) * sizeof *row);
    rows = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < acl[i].args.n; k++)
            row[rows++] = (struct acl_name_row){acl[i].args.word[k].text, (uint32_t)i};
    return acl_names_new(arena, row, rows, n);
}

static enum bt_match portname_match(const void *compiled, struct bt_txn *txn, uint64_t *bits)
{
    acl_names_find(compiled, bt_port_name(txn), bits);
    return BT_YES;
}

/* ---- the module ---- */

static const struct bt_acl_type types[] = {
    {.name = "src",
     .args = "word...",
     .doc = "The client's address is one of these: IP, IP/BITS, IP/MASK, IP-IP, a name (looked up "
            "at the start), all, ipv4, ipv6.",
     .earliest = BT_AT_ACCEPT,
     .compile_all = addresses_compile,
     .match_all = src_match,
     .flags = BT_SETS | BT_ANEW_WORDLESS},
    {.name = "dst",
     .args = "word...",
     .doc = "One of the addresses of the URL's host, those that will be dialled, is one of these; "
            "-n looks at hosts that are addresses only.",
     .earliest = BT_AT_REQUEST,
     .flags = BT_SLOW | BT_NO_DNS | BT_SETS | BT_ANEW_WORDLESS,
     .compile_all = dst_compile,
     .match_all = dst_match,
     .cost = 3},
    {.name = "localip myip",
     .args = "word...",
     .doc = "The address that the client connected to is one of these.",
     .earliest = BT_AT_ACCEPT,
     .compile_all = addresses_compile,
     .match_all = localip_match,
     .flags = BT_SETS | BT_ANEW_WORDLESS},
    {.name = "port",
     .args = "word...",
     .doc = "The port of the URL is one of these, or within a range (1025-65535).",
     .earliest = BT_AT_REQUEST,
     .compile_all = ports_compile,
     .match_all = port_match,
     .flags = BT_ANEW_WORDLESS},
    {.name = "localport myport",
     .args = "word...",
     .doc = "The port that the client connected to is one of these, or within a range.",
     .earliest = BT_AT_ACCEPT,
     .compile_all = ports_compile,
     .match_all = localport_match,
     .flags = BT_ANEW_WORDLESS},
    {.name = "myportname",
     .args = "word...",
     .doc = "The name= of the port line that the client connected to is one of these.",
     .earliest = BT_AT_ACCEPT,
     .compile_all = portname_compile,
     .match_all = portname_match,
     .flags = BT_ANEW},
};

BT_MODULE(acl_net, "ACL types about addresses and ports of client, proxy and origin.",
          .acl_types = BT_ROWS(types));
