/* addresses.h - the addresses of one name: made once, then only read, shared by count.
 *
 * An exchange holds on to the ones that its rules were asked about, whatever a name server says
 * meanwhile; that is why they are counted and not copied.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_ADDRESSES_H
#define NET_ADDRESSES_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "bt_types.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct addresses {
    unsigned refs;
    size_t n;
    bt_str name; /* ended by NUL; may be empty */
    const struct sockaddr *list[];
};

/* Copies all; one reference. */
struct addresses *addresses_new(const union address *from, size_t n, bt_str name);
/* First those of `a`, then those of `b`; either may be NULL. */
struct addresses *addresses_join(const struct addresses *a, const struct addresses *b);
struct addresses *addresses_ref(struct addresses *);
void addresses_unref(struct addresses *); /* NULL is fine */

/* To the widest kind; port 0. */
void address_from(union address *, const struct sockaddr *);

#endif
