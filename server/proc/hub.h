/* hub.h - what the master waits for: a few descriptors, by epoll and without libevent.
 *
 * A hub is itself a descriptor that can be waited for, by another hub or by the loop of the one
 * process of -N.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_HUB_H
#define PROC_HUB_H

#include <sys/epoll.h>

#include "bt_types.h"

struct hub {
    int fd;
};
struct hub_item {
    int fd;
    void (*ready)(struct hub_item *, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLHUP... */
};

BT_MUST bool hub_open(struct hub *);
void hub_close(struct hub *);
/* Level-triggered, until hub_remove(). The item must stay where it is. */
void hub_add(struct hub *, struct hub_item *, uint32_t events);
void hub_change(struct hub *, struct hub_item *, uint32_t events);
/* Before close(item->fd); safe inside its own ready(). */
void hub_remove(struct hub *, struct hub_item *);
/* Call ready() of one item, waiting `ms` for it at most (-1: for ever). */
void hub_turn(struct hub *, int ms);

#endif
