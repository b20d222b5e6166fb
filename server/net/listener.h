/* listener.h - ports: bound in the master, one socket a worker, accepted from in the worker.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include <sys/socket.h>

#include "net/loop.h"

/* ---- master ---- */

struct listener_opts {
    /* Nobody else may listen there: for the first socket of a port (the others of a port share it
     * by SO_REUSEPORT, with which a second server would not be noticed). */
    bool first;
    bool dual;   /* [::] takes IPv4 too; 0.0.0.0 is bound instead where there is no IPv6 */
    int backlog; /* 0: 4096; the kernel caps it by net.core.somaxconn */
    int defer;   /* seconds that a connection may wait in the kernel for its first byte; 0: not */
    bool transparent; /* takes connections to addresses of others (IP_TRANSPARENT) */
    bool no_pmtu;     /* packets may be broken up on their way */
    bool keepalive;
    int keep_idle, keep_interval, keep_count; /* seconds; 0: the kernel's */
};
struct listener_why {
    char text[192]; /* a sentence: what could not be had, and what to do */
};
/* A bound, listening, non-blocking socket that is closed by exec; accepted ones inherit TCP_NODELAY
 * and the keep-alive settings. -1: *why says it. Port 0: the kernel chooses; see listener_address()
 * and bind the others there. */
int listener_bind(const struct sockaddr *, socklen_t, const struct listener_opts *,
                  struct listener_why *why);
/* The same at a path of this machine (AF_UNIX), for the owner and the group given (-1: whoever we are)
 * alone. A socket that nobody listens on is replaced. */
int listener_bind_local(const struct sockaddr *, int64_t uid, int64_t gid,
                        struct listener_why *why);
/* One that somebody else bound: the same is made of it. false: it is no stream socket (errno). */
BT_MUST bool listener_take(int fd, const struct sockaddr *, const struct listener_opts *);
/* Where it really listens. */
BT_MUST bool listener_address(int fd, struct sockaddr_storage *out);

/* ---- worker ---- */

struct listener {
    struct watch watch;
    int fd; /* -1: stopped */
    unsigned batch, singles;
    struct timeout pause;
    /* A non-blocking socket, which is the callee's now, and the client's address as the kernel gave
     * it (addr_unmap() it on a dual port). Counting client.connections is the callee's too. */
    void (*accepted)(struct listener *, int fd, const struct sockaddr *, socklen_t);
    void *owner; /* may be set before listener_start() */
};
/* `fd` from listener_bind(), inherited. When descriptors run short it stops until there are more,
 * looking every 100 ms, counts client.accept_paused, and says so once in a while; so does it, with
 * client.accept_failed, when there are none. */
void listener_start(struct listener *, int fd,
                    void (*accepted)(struct listener *, int fd, const struct sockaddr *,
                                     socklen_t));
/* Stops and closes this process's descriptor. Connections queued in the kernel stay with the
 * master's. Safe inside accepted(), and twice; not before listener_start(). */
void listener_stop(struct listener *);

#endif
