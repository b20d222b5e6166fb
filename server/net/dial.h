/* dial.h - a connection to one of several addresses, by Happy Eyeballs (RFC 8305).
 *
 * Families alternate, beginning with that of the first address; the next address is tried 250 ms
 * after the one before, or at once when that failed. The first that stands wins.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <sys/socket.h>

#include "net/loop.h"
#include "net/marks.h"

enum dial_result { DIAL_DONE, DIAL_FAILED, DIAL_WAIT };
enum dial_why {
    DIAL_FINE,
    DIAL_REFUSED,     /* nobody listens */
    DIAL_UNREACHABLE, /* no route, host down, no such family here */
    DIAL_TIMEOUT,
    DIAL_NO_DESCRIPTORS, /* of ours; or no local port left */
    DIAL_DENIED,         /* our own system forbids it */
    DIAL_NO_ADDRESS,     /* none was given that could be tried */
    DIAL_OTHER
};
/* "connection refused" */
const char *dial_why_text(enum dial_why);

struct dial {
    /* The result. */
    int fd; /* non-blocking, TCP_NODELAY; the owner's; else -1 */
    const struct sockaddr
        *addr;         /* which it was; with a failure: the last that was tried, or NULL */
    int64_t took_us;   /* from the start to the result */
    enum dial_why why; /* of the last attempt that failed, or the one that says more */
    int error;         /* its errno, for logs */

    /* Set before dial_start(); NULL: the kernel chooses. An address of that family, its port 0. */
    const struct sockaddr *from_v4, *from_v6;
    struct marks marks;
    bool transparent; /* they are of another machine (IP_TRANSPARENT) */
    void *owner;

    /* dial.c's */
    void (*done)(struct dial *);
    const struct sockaddr *const *addrs;
    size_t n;
    size_t next_of[2]; /* cursor over addrs for the first address's family, and for the other */
    bool other_next, running;
    unsigned n_attempts;
    int64_t began_us;
    struct list attempts;
    struct timeout total, stagger;
};

/* The pause between attempts (happy_eyeballs_connect_timeout); 250 ms without this call. */
void dial_gap(bt_duration);
/* Worker's end: after all dials are over. */
void dial_fini(void);
/* `addrs` with their ports, both must live until the result. DONE: a connection that stands at once
 * (on this machine); FAILED: none could even be begun. WAIT: done() is called exactly once from the
 * loop, with fd >= 0 or `why`, unless dial_cancel() comes first. timeout < 0: the kernel's.
 * Counts origin.dials, origin.dial_failed, origin.connect_time. */
enum dial_result dial_start(struct dial *, const struct sockaddr *const *addrs, size_t n,
                            bt_duration timeout, void (*done)(struct dial *));
/* Safe on zero bytes, twice, after the result (whose fd it does not touch) and inside done(). */
void dial_cancel(struct dial *);

#endif
