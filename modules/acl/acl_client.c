/* acl_client.c - ACL types about the client's machine: maxconn, arp, eui64.
 *
 *   acl greedy maxconn 20
 *   acl desk arp 00:11:22:aa:bb:cc
 *   acl phone eui64 02:11:22:ff:fe:aa:bb:cc 00:11:22:aa:bb:cc
 *
 * Hardware addresses are those of the kernel's table of neighbours, which knows clients of this
 * network only. It is read anew when it is older than five seconds, or older than one and does not
 * know a client.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bt.h"

/* ---- maxconn ---- */

static void *maxconn_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    int64_t *most = bt_alloc(arena, sizeof *most);

    (void)err;
    for (size_t i = 0; i < args.word[0].text.len && *most < INT32_MAX; i++)
        *most = *most * 10 + (args.word[0].text.at[i] - '0');
    bt_client_connections_want();
    return most;
}

static enum bt_match maxconn_match(const void *compiled, struct bt_txn *txn)
{
    const int64_t *most = compiled;

    return bt_client_connections(txn) > *most ? BT_YES : BT_NO;
}

/* ---- the table of neighbours ---- */

struct neighbour {
    uint8_t addr[16];
    unsigned interface; /* 0 but for link-local addresses, which each network has */
    uint8_t hardware[8], len;
};
enum { NEIGHBOURS_MAX = 256 * 1024, OLD_MS = 5000, MISS_MS = 1000 };

static struct {
    struct neighbour *row; /* sorted */
    size_t n, room;
    int64_t read_ms;
} table;

static int neighbour_compare(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;
    int order = memcmp(x->addr, y->addr, sizeof x->addr);

    return order != 0 ? order : x->interface < y->interface ? -1 : x->interface > y->interface;
}

static bool link_local(const uint8_t addr[16])
{
    return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

/* One row of the kernel's. */
static void neighbour_add(const struct nlmsghdr *message)
{
    const struct ndmsg *nd = NLMSG_DATA(message);
    const char *at = (const char *)(nd + 1), *end = (const char *)message + message->nlmsg_len;
    struct neighbour one = {.len = 0};
    bool has_addr = false;

    if (message->nlmsg_type != RTM_NEWNEIGH || at > end ||
        (nd->ndm_state & (NUD_INCOMPLETE | NUD_FAILED | NUD_NOARP)) != 0)
        return;
    while ((size_t)(end - at) >= sizeof(struct rtattr)) {
        const struct rtattr *attr = (const struct rtattr *)(const void *)at;
        const uint8_t *data = RTA_DATA(attr);
        if (attr->rta_len < sizeof *attr || attr->rta_len > (size_t)(end - at))
            return;
        size_t size = RTA_PAYLOAD(attr), whole = RTA_ALIGN(attr->rta_len);
        if (attr->rta_type == NDA_DST && (size == 4 || size == 16)) {
            memset(one.addr, 0, sizeof one.addr);
            one.addr[10] = one.addr[11] = size == 4 ? 0xff : 0;
            memcpy(one.addr + 16 - size, data, size);
            has_addr = true;
        } else if (attr->rta_type == NDA_LLADDR && (size == 6 || size == 8)) {
            memcpy(one.hardware, data, size);
            one.len = (uint8_t)size;
        }
        at += whole < (size_t)(end - at) ? whole : (size_t)(end - at);
    }
    if (!has_addr || one.len == 0 || table.n == NEIGHBOURS_MAX)
        return;
    if (link_local(one.addr))
        one.interface = (unsigned)nd->ndm_ifindex;
    if (table.n == table.room) {
        table.room = table.room == 0 ? 64 : table.room * 2;
        table.row = realloc(table.row, table.room * sizeof *table.row);
        if (table.row == NULL)
            abort();
    }
    table.row[table.n++] = one;
}

/* A part of the kernel's answer; false: that was the last. */
static bool neighbours_take(const void *bytes, size_t size)
{
    const struct nlmsghdr *message = bytes;
    unsigned len = (unsigned)size;

    for (; NLMSG_OK(message, len); message = NLMSG_NEXT(message, len)) {
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
            return false;
        neighbour_add(message);
    }
    return true;
}

static void neighbours_read(void)
{
    static union {
        struct nlmsghdr align;
        char bytes[32 * 1024];
    } part;
    struct {
        struct nlmsghdr head;
        struct ndmsg nd;
    } ask = {.head = {.nlmsg_len = sizeof ask,
                      .nlmsg_type = RTM_GETNEIGH,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    ssize_t got;

    table.read_ms = bt_wall_ms();
    table.n = 0;
    if (fd < 0 || send(fd, &ask, sizeof ask, 0) != (ssize_t)sizeof ask)
        bt_log_limited(
            NULL, BT_WARN, 60,
            "the kernel's table of neighbours cannot be read; arp and eui64 do not match");
    else
        /* The kernel makes each part when it is read: there is nothing to wait for. */
        while ((got = recv(fd, part.bytes, sizeof part, MSG_DONTWAIT)) > 0)
            if (!neighbours_take(part.bytes, (size_t)got))
                break;
    if (fd >= 0)
        close(fd);
    if (table.n > 0)
        qsort(table.row, table.n, sizeof *table.row, neighbour_compare);
}

static const struct neighbour *neighbour_find(const struct sockaddr *client)
{
    struct neighbour key = {.len = 0}, *found = NULL;
    int64_t age = bt_wall_ms() - table.read_ms;

    if (!bt_addr_bytes(client, key.addr))
        return NULL;
    if (link_local(key.addr))
        key.interface = ((const struct sockaddr_in6 *)(const void *)client)->sin6_scope_id;
    if (table.read_ms == 0 || age < 0 || age > OLD_MS)
        neighbours_read();
    for (;;) {
        if (table.n > 0)
            found = bsearch(&key, table.row, table.n, sizeof key, neighbour_compare);
        age = bt_wall_ms() - table.read_ms;
        if (found != NULL || (age >= 0 && age < MISS_MS))
            return found;
        neighbours_read();
    }
}

/* ---- arp, eui64 ---- */

struct hardware {
    size_t n;
    struct {
        uint8_t at[8], len;
    } one[];
};

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Up to eight hexadecimal pairs between colons; 0: it is none. */
static unsigned hardware_read(bt_str text, uint8_t out[8])
{
    unsigned n = 0, digits = 0, value = 0;

    for (size_t i = 0; i <= text.len; i++) {
        if (i == text.len || text.at[i] == ':') {
            if (digits == 0 || n == 8)
                return 0;
            out[n++] = (uint8_t)value;
            digits = value = 0;
        } else if (digits == 2 || hex(text.at[i]) < 0) {
            return 0;
        } else {
            value = value * 16 + (unsigned)hex(text.at[i]);
            digits++;
        }
    }
    return n;
}

static void *hardware_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err,
                              bool eui64)
{
    struct hardware *all = bt_alloc(arena, sizeof *all + args.n * sizeof *all->one);
    bool good = true;

    for (size_t i = 0; i < args.n; i++) {
        unsigned len = hardware_read(args.word[i].text, all->one[i].at);
        if (len == 0)
            good = bt_complain(err, &args.word[i],
                               "'%s' is no hardware address (00:11:22:aa:bb:cc)",
                               args.word[i].text.at);
        else if (len != 6 && !(eui64 && len == 8))
            good = bt_complain(err, &args.word[i],
                               "'%s' is no hardware address: it has %u parts, not 6%s",
                               args.word[i].text.at, len, eui64 ? " or 8" : "");
        all->one[i].len = (uint8_t)len;
        all->n++;
    }
    return good ? all : NULL;
}

static void *arp_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    return hardware_compile(args, arena, err, false);
}

static void *eui64_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    return hardware_compile(args, arena, err, true);
}

static bool holds(const struct hardware *all, const uint8_t *at, size_t len)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->one[i].len == len && memcmp(all->one[i].at, at, len) == 0)
            return true;
    return false;
}

static enum bt_match arp_match(const void *compiled, struct bt_txn *txn)
{
    const struct neighbour *client = neighbour_find(bt_client_addr(txn));

    return client != NULL && holds(compiled, client->hardware, client->len) ? BT_YES : BT_NO;
}

/* The lower half of an address that was made of a hardware address (RFC 4291, appendix A): as it
 * stands there, with the bit turned back that is turned over there, and the six bytes that it was
 * made of. */
static bool holds_identifier(const struct hardware *all, const uint8_t addr[16])
{
    uint8_t id[8], six[6];

    if (addr[11] != 0xff || addr[12] != 0xfe || (addr[0] == 0 && addr[1] == 0))
        return false;
    memcpy(id, addr + 8, sizeof id);
    if (holds(all, id, 8))
        return true;
    id[0] ^= 2;
    memcpy(six, id, 3);
    memcpy(six + 3, id + 5, 3);
    return holds(all, id, 8) || holds(all, six, 6);
}

static enum bt_match eui64_match(const void *compiled, struct bt_txn *txn)
{
    const struct neighbour *client;
    uint8_t addr[16];

    if (bt_addr_bytes(bt_client_addr(txn), addr) && holds_identifier(compiled, addr))
        return BT_YES;
    client = neighbour_find(bt_client_addr(txn));
    return client != NULL && holds(compiled, client->hardware, client->len) ? BT_YES : BT_NO;
}

/* ---- the module ---- */

static const struct bt_acl_type types[] = {
    {.name = "maxconn",
     .args = "int(0..)",
     .doc = "The client's address has more than so many connections open, in all workers together.",
     .earliest = BT_AT_ACCEPT,
     .flags = BT_FRESH,
     .compile = maxconn_compile,
     .match = maxconn_match},
    {.name = "arp",
     .args = "word...",
     .doc = "The client, on a network of this machine, has one of these hardware addresses.",
     .earliest = BT_AT_ACCEPT,
     .compile = arp_compile,
     .match = arp_match,
     .flags = BT_ANEW_WORDLESS,
     .cost = 1},
    {.name = "eui64",
     .args = "word...",
     .doc =
         "The client's IPv6 address is made of one of these hardware addresses (6 or 8 bytes), or "
         "its machine, on a network of ours, has one of them.",
     .earliest = BT_AT_ACCEPT,
     .compile = eui64_compile,
     .match = eui64_match,
     .flags = BT_ANEW_WORDLESS,
     .cost = 1},
};

BT_MODULE(acl_client, "ACL types about the client's machine: connections, hardware address.",
          .acl_types = BT_ROWS(types));
