/* marks.h - what packets of a connection say to the network: class of service, and firewall mark.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_MARKS_H
#define NET_MARKS_H

#include "bt_types.h"

/* All zero: none, as sockets have it at first. */
struct marks {
    uint32_t mark; /* SO_MARK */
    uint32_t tos;  /* IP_TOS, IPV6_TCLASS: 0 to 255 */
};
static inline bool marks_same(struct marks a, struct marks b)
{
    return a.mark == b.mark && a.tos == b.tos;
}

/* Have a socket of that family send with these; `was`: what it has now. Counts marks.failed, and logs why;
 * the connection goes on. */
void marks_put(int fd, int family, struct marks was, struct marks now);

#endif
