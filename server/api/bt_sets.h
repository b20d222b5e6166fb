/* bt_sets.h - sets of addresses and of domains, sized for a million entries.
 *
 * A set maps each entry to small integers (the numbers of the ACLs that hold it), so that one
 * look-up answers for every ACL of a type. Built in the master (add, then seal), then read-only
 * and shared by the workers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_SETS_H
#define BT_SETS_H

#include "bt_mem.h"
#include "bt_module.h"

struct sockaddr;

/* Bits, one an ACL of a type. bit i is word[i / 64] >> (i % 64). */
#define BT_BITS_WORDS(n) (((n) + 63) / 64)
static inline void bt_bit_set(uint64_t *bits, size_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline bool bt_bit_get(const uint64_t *bits, size_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

/* ---- addresses: IPv4 is kept as IPv4-mapped IPv6, so that both spellings are one ---- */

struct bt_ipset;
BT_API struct bt_ipset *bt_ipset_new(struct bt_arena *);
/* Add all addresses from..to (16 bytes each, network order, from <= to) for `owner`. */
BT_API void bt_ipset_add(struct bt_ipset *, const uint8_t from[16], const uint8_t to[16],
                         uint32_t owner);
BT_API void bt_ipset_seal(struct bt_ipset *);
/* Set the bits of all owners that hold the address; false when nobody does. */
BT_API bool bt_ipset_find(const struct bt_ipset *, const uint8_t addr[16], uint64_t *bits);
/* 16 bytes of a socket address (IPv4 as mapped); false for other families. */
BT_API BT_MUST bool bt_addr_bytes(const struct sockaddr *, uint8_t out[16]);

/* "10.0.0.0/8", "10.1.2.3-10.1.2.9", "2001:db8::/32", a lone address, "all", "ipv4", "ipv6". NULL: `from`
 * and `to` stand; else what is wrong with it, a phrase. */
BT_API BT_MUST const char *bt_addr_range(bt_str text, uint8_t from[16], uint8_t to[16]);

/* ---- domains: `.example.com` holds itself and all below, `example.com` itself alone ---- */

struct bt_domains;
BT_API struct bt_domains *bt_domains_new(struct bt_arena *);
/* Case does not matter, a trailing dot is dropped. Returns the entry already there that covers it
 * (a wider or the same one of this owner), else BT_STR_NONE; it is added in any case. */
BT_API bt_str bt_domains_add(struct bt_domains *, bt_str name, uint32_t owner);
BT_API void bt_domains_seal(struct bt_domains *);
/* `name` in lower case, without trailing dot. */
BT_API bool bt_domains_find(const struct bt_domains *, bt_str name, uint64_t *bits);

/* ---- list files, read again while clients are served, as those of ACLs ---- */

struct bt_list;
/* From .setup. The lines of the file that `path` names are compiled by the row, as if they were the values
 * of one ACL of it: it needs .name, .args, .compile_all and, in .flags, BT_ANEW or BT_ANEW_WORDLESS. They
 * are again when acl_list_watch or bobtailctl reload-lists says so. Lives as long as the
 * configuration. NULL: complained. */
BT_API struct bt_list *bt_list_open(const struct bt_acl_type *row, const struct bt_word *path,
                                    struct bt_error *);
/* What compile_all has made of it; may be another one in the next turn of the loop. */
BT_API const void *bt_list_compiled(const struct bt_list *);

#endif
