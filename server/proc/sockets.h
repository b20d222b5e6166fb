/* sockets.h - the listening sockets of the server: bound here, kept by the master, used by workers.
 *
 * Each port has as many sockets as there are workers, so that the kernel spreads connections without
 * a lock. The master keeps all of them open: a connection that waits in a dead worker's queue is
 * served by its successor, and one that waits during a reload by the next generation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_SOCKETS_H
#define PROC_SOCKETS_H

#include "flow/flow.h"
#include "proc/handover.h"

/* An address with its port, or unix:PATH. */
enum { SOCKETS_TEXT = 120 };
void sockets_print(const struct sockaddr_storage *, char text[SOCKETS_TEXT]);

struct sockets_port {
    char key[HANDOVER_KEY];
    struct sockaddr_storage where; /* it really listens */
    int *fd;
    size_t n; /* at least one a worker; more when there were more workers before */
};
struct sockets {
    struct sockets_port *port; /* as flow_ports() has them */
    size_t n;
};

/* All ports: those that `left` (may be NULL) has are taken over, the others are bound. Every port
 * that cannot be had is complained about. false: there was one. */
BT_MUST bool sockets_open(struct sockets *, struct handover *left, unsigned workers,
                          struct bt_arena *, struct bt_error *);
/* At the first start: sockets that systemd (or the like) listens on for us, by LISTEN_FDS, for the ports
 * of their name (FileDescriptorName=, name=) or their address. As if an earlier image had left them. */
void sockets_activated(struct handover *left, struct bt_arena *);
/* Would sockets_open() have it all? Tries ports that are not ours yet, and lets go of them. */
BT_MUST bool sockets_try(const struct handover *left, struct bt_arena *, struct bt_error *);
/* The server stops: new connections are refused from now on, as soon as workers close theirs. */
void sockets_close(struct sockets *);
/* Close what was left and is not used any more. */
void sockets_close_left(struct handover *left);

/* Which worker of `workers` (0 the first) has socket `nth` of a port. */
static inline bool sockets_is_of(size_t nth, unsigned worker, unsigned workers)
{
    return nth % workers == worker;
}

#endif
