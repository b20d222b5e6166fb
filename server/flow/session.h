/* session.h - one client connection, from accept to close; its exchanges come one after the other.
 *
 * A session that waits for a request owns no buffer and no exchange: this struct is all that an
 * idle client costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_SESSION_H
#define FLOW_SESSION_H

#include <netinet/in.h>

#include "base/list.h"
#include "flow/txn.h"
#include "net/stream.h"

union session_addr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct session {
    struct stream stream;
    struct list_link all;   /* in sessions, for draining */
    struct timeout timeout; /* of the client's side; one class at a time */
    struct bt_txn *txn;     /* the exchange under way; NULL: none */
    struct input in;
    struct bt_arena *arena; /* memory of modules for the connection; NULL until one asks */
    struct slots slots;
    int64_t first_us;               /* when the first byte of the head under way came; 0: not yet */
    union session_addr peer, local; /* local: family 0 until somebody asks */
    int64_t born_us;                /* when it was accepted */
    struct pinned *pinned;          /* an origin connection of this client alone; NULL: none */
    struct proxied *proxied;        /* what its PROXY header said; NULL: it had none */
    struct inside *inside;          /* it is within a CONNECT that was bumped; NULL: it is not */
    struct marks marks;             /* of packets to the client */
    uint32_t crowd;                 /* limits.c: where its address is counted; 0: it is not */
    uint16_t port;                  /* number in flow_ports() */
    bool running, again;            /* its driver is on the stack; somebody wants another look */
    bool dead;                      /* closed; freed when its driver has left the stack */
    bool skipped;                   /* the CRLF before a head was looked for */
    bool served;                    /* at least one request was answered */
    bool admin;                     /* it came in on an admin_port: counted and logged nowhere */
    bool greeting;                  /* a PROXY header has to come first: proxied.c */
    bool believed;                  /* it may send one */
    bool redirected;                /* by the firewall: `local` is where the client went */
    bool ghost;                     /* there is no connection, stream.fd is -1: ghost.c, fetch.c */
    uint32_t scanned;               /* see head_end() */
};

/* A connection was accepted for that port. Takes fd. */
void session_open(uint16_t port, int fd, const struct sockaddr *peer, socklen_t len);
/* The exchange of the session is over and freed. */
enum session_fate {
    SESSION_KEEP,
    SESSION_CLOSE,
    SESSION_LINGER /* the client may still be sending: a plain close could cost it the answer */
};
void session_next(struct session *, enum session_fate);
/* Close at once; frees the session (or has its driver do it). Its exchange must be gone already. */
void session_close(struct session *);
/* Look at it again, from anywhere. */
void session_run(struct session *);
/* Be told when the client leaves, or sends, while the exchange waits for somebody else. */
void session_watch(struct session *);

/* The same, a little later: most exchanges need none of it. */
void session_notice(struct session *);
/* The exchange under way goes on without this client. */
void session_let_go(struct session *, enum session_fate);
/* A session without a connection, for an exchange that has this one's client no more; of NULL: that
 * never had one. */
struct session *session_ghost(struct session *of);
/* One whose client is a module at the other end of that socket. Takes fd. */
struct session *session_own(int fd);

const struct sockaddr *session_local(struct session *);
/* Is it too old to be kept for another request (pconn_lifetime)? */
bool session_aged(const struct session *);

/* Classes of timeouts of the client's side; made by session_start(). */
extern struct timeout_class session_writing; /* write_timeout */
void session_start(void);
void session_drain(void (*over)(void), bool patient);
void session_cut(void);
/* Every session of this worker, also those that are idle. `each` must end none. */
void session_each(void (*each)(void *arg, struct session *), void *arg);
bool session_draining(void);

#endif
