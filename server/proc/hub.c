/* hub.c - a few descriptors, by epoll.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/hub.h"

#include <errno.h>
#include <unistd.h>

#include "base/check.h"

bool hub_open(struct hub *hub)
{
    hub->fd = epoll_create1(EPOLL_CLOEXEC);
    return hub->fd >= 0;
}

void hub_close(struct hub *hub)
{
    if (hub->fd >= 0)
        close(hub->fd);
    hub->fd = -1;
}

void hub_add(struct hub *hub, struct hub_item *item, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = item};

    CHECK(epoll_ctl(hub->fd, EPOLL_CTL_ADD, item->fd, &event) == 0);
}

void hub_change(struct hub *hub, struct hub_item *item, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = item};

    CHECK(epoll_ctl(hub->fd, EPOLL_CTL_MOD, item->fd, &event) == 0);
}

void hub_remove(struct hub *hub, struct hub_item *item)
{
    (void)epoll_ctl(hub->fd, EPOLL_CTL_DEL, item->fd, NULL);
}

void hub_turn(struct hub *hub, int ms)
{
    struct epoll_event event;

    /* One at a time, so that an item that is removed by another's call is never called. */
    int n = epoll_wait(hub->fd, &event, 1, ms);
    CHECK(n >= 0 || errno == EINTR);
    if (n == 1) {
        struct hub_item *item = event.data.ptr;
        item->ready(item, event.events);
    }
}
