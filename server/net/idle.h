/* idle.h - connections to origins, and those among them that wait for their next request.
 *
 * By address and port, last used first. While one waits here it is watched: an end or a stray byte
 * closes it. The gauges origin.open (in use) and origin.idle, origin.reused and origin.surplus are
 * counted here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_IDLE_H
#define NET_IDLE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "net/marks.h"
#include "net/stream.h"

/* All connections to one address and port, from one address of ours and with one key; lives as long as
 * one of them does. */
struct idle_peer {
    struct idle_peer *next; /* in its bucket */
    struct list idle;       /* of struct origin, last used first */
    unsigned n_idle, n;     /* of them waiting; all */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } addr, from; /* `from`: family 0 when the kernel chose */
    struct marks marks;
    size_t key_len;
    char key[]; /* what else they have in common: with whom they speak TLS, and how */
};

/* Which connections an exchange may use. */
struct idle_which {
    const struct sockaddr *addr;
    const struct sockaddr *from; /* NULL: the kernel chose */
    bt_str key;                  /* empty: without TLS */
    struct marks marks;
};

struct origin {
    struct stream stream; /* first, so that (struct origin *)stream works; its ready: the owner's */
    struct timeout timeout;    /* the owner's while in use */
    struct list_link link;     /* among the idle ones of its peer; the owner's while in use */
    struct idle_peer *peer;    /* peer->addr is where it leads */
    uint32_t requests;         /* sent on it, counted by its owner */
    void *owner;               /* the owner's; NULL while idle */
    int64_t born_us;           /* clock_us() */
    void (*closed)(void *arg); /* told when it is closed, in use or idle; NULL: nobody is */
    void *closed_arg;
    unsigned *idle_of; /* counts it while it is idle; NULL: nothing does */
};

/* How long one may wait (server_idle_pconn_timeout), how many for one address (0: 256), and for all
 * together (0: 65536; the one idle longest makes room). */
void idle_init(bt_duration timeout, unsigned max_per_peer, unsigned max_total);
void idle_fini(void);
/* How old a connection may get and still wait (pconn_lifetime); 0, and without this call: any age. */
void idle_lifetime(bt_duration);

/* A new connection, in use, of that kind. The stream has no ready() yet: set stream.ready before it is watched.
 * Nothing is read from it before that, since origins do not speak first. */
struct origin *origin_new(int fd, const struct idle_which *);
/* One that is in use has another key from now on: more is known of it than when it was dialled. */
void origin_rekey(struct origin *, bt_str key);
/* Closes and frees, in use or idle. */
void origin_close(struct origin *);

/* The one of that kind that waits least long, now in use, with stream.ready NULL, owner
 * NULL; NULL: none waits. Counts origin.reused. */
struct origin *idle_take(const struct idle_which *);
/* Back from use: nothing pending, whole response read; the timeout and the link must be unset. A
 * connection that has ended, or says something already, is closed instead. */
void idle_put(struct origin *);
void idle_close_all(void);
/* Close the one that waits longest, for its descriptor. false: none waits. Counts origin.evicted. */
BT_MUST bool idle_make_room(void);
/* The same among those that are counted there (idle_of); it is not counted as evicted. */
BT_MUST bool idle_close_of(const unsigned *idle_of);

#endif
