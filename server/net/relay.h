/* relay.h - two streams pumped into each other, until both sides are done.
 *
 * Back-pressure is kept (what one side does not take is not read from the other), so is a half
 * close. Holds at most one buffer a direction, and only while a side is slow. Bulk goes through pipes
 * (pipe.h): a direction takes one when its reads are full, one after the other, and gives it back when
 * nothing more comes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_RELAY_H
#define NET_RELAY_H

#include "net/pipe.h"

/* One direction. */
struct relay_way {
    struct pipe *pipe; /* NULL: nothing is on its way through one */
    uint8_t heat;      /* how much like bulk the last pieces looked */
    uint8_t vain;      /* words of bytes that could not be taken, one after the other */
    bool read_next;    /* the next piece is read, not spliced */
    bool copies;       /* it cannot be spliced */
};

enum relay_why {
    RELAY_ENDED,    /* both sides said that they are done, and everything is delivered */
    RELAY_A_FAILED, /* reset or the like, by side a */
    RELAY_B_FAILED,
    RELAY_IDLE, /* no byte for the time of the class */
};

struct relay {
    struct stream *side[2];  /* a, b: not owned */
    uint64_t bytes[2];       /* from a to b, from b to a */
    bool done[2];            /* side's end was read and passed on */
    struct relay_way way[2]; /* from a to b, from b to a */
    bool running;
    struct timeout_class *cls;
    struct timeout timeout;
    void (*was_ready[2])(struct stream *);
    void *was_owner[2];
    void (*over)(struct relay *, enum relay_why);
    /* NULL, or: so much may be moved from b to a now; 0: none, and relay_again() is called later. What
     * was moved is told. Set before relay_start(). */
    int64_t (*room)(struct relay *);
    void (*took)(struct relay *, int64_t n);
    void *owner;
};

/* A class for relays, of which each has one by the configuration. */
void relay_class_init(struct timeout_class *, bt_duration idle);
/* Takes ready and owner of both streams over; what was read before is written by the caller before
 * (it may be pending still). over() is called once, from the loop, unless relay_stop() comes first;
 * both streams then have their ready and owner back, and are open. Counts tunnel.bytes as they move; `bytes` for the
 * rest. cls may be NULL: no limit. */
void relay_start(struct relay *, struct stream *a, struct stream *b, struct timeout_class *cls,
                 void (*over)(struct relay *, enum relay_why));
/* There is room again. */
void relay_again(struct relay *);
/* Give both streams back without a word. Safe on zero bytes, and twice. */
void relay_stop(struct relay *);

#endif
