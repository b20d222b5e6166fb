/* loop.h - the event loop of a worker: turns, deferred calls, signals, descriptors, timeouts.
 *
 * One loop a process, made after the fork, used by one thread; so there is no object to hand
 * around. The clock is refreshed at the head of every callback that the loop makes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "bt_types.h"
#include "base/list.h"

/* After the fork, before anything else of this floor. Ignores SIGPIPE. false: logged why. */
BT_MUST bool loop_init(void);
/* After everything that watches was stopped. */
void loop_fini(void);
/* Turn until loop_break(). */
void loop_run(void);
/* loop_run() returns after the callback under way, and what it deferred. */
void loop_break(void);
/* Turn until `done` or for `ms`; false: the time ran out. For tests, and for ends of a process. */
bool loop_run_until(const bool *done, int64_t ms);
/* The clock was shifted (clock_shift()): look at all timeouts again, in this turn. */
void loop_clock_moved(void);
/* For this floor only. */
struct event_base *loop_base(void);

/* ---- deferred calls: run before the loop waits again, in the order in which they were asked ---- */

/* Stands in the caller's object; zero bytes are «not asked for». */
struct deferred {
    struct list_link link;
    void (*run)(struct deferred *);
};
/* Asked twice, it runs once. What is deferred from a deferred call runs in the next turn, so that
 * nobody starves the descriptors. */
void loop_defer(struct deferred *, void (*run)(struct deferred *));
void deferred_cancel(struct deferred *);
static inline bool deferred_is_set(const struct deferred *d)
{
    return list_linked(&d->link);
}

/* ---- signals; called from the loop, not from the handler, so anything may be done ---- */

void loop_on_signal(int signo, void (*run)(int signo));

/* ---- descriptors that are not streams: control socket, pipes, sockets of libraries ---- */

enum { WATCH_READ = 1, WATCH_WRITE = 2 };
struct watch {
    struct event event;
    int fd;
    bool set;
    void (*ready)(struct watch *, unsigned what); /* WATCH_ bits */
    void *arg;
};
/* Level-triggered, until loop_unwatch(). Zero bytes or an unwatched struct come in. */
void loop_watch(struct watch *, int fd, unsigned what, void (*ready)(struct watch *, unsigned what),
                void *arg);
/* Before close(fd). Safe inside its own callback, on zero bytes, and twice. */
void loop_unwatch(struct watch *);

/* ---- timeouts: one list a class, in order of expiry; one timer of libevent a list ---- */

struct timeout_class;
struct timeout { /* zero bytes: not set */
    struct list_link link;
    int64_t due; /* clock_us() */
    struct timeout_class *cls;
};
struct timeout_class {
    struct list list; /* the first expires first */
    int64_t after;    /* microseconds */
    void (*expired)(struct timeout *);
    int64_t armed; /* when the timer will look, clock_us(); 0: it is not armed */
    struct event timer;
    struct list_link link; /* all classes of the loop */
};

/* Every timeout of the class expires `after` it was set; < 0: never. `expired` finds the timeout
 * no longer set and may free it, set it again, or set and clear others. */
void timeout_class_init(struct timeout_class *, bt_duration after,
                        void (*expired)(struct timeout *));
/* Another length, while nothing of the class is set. */
void timeout_class_after(struct timeout_class *, bt_duration after);
void timeout_class_fini(struct timeout_class *);
/* Set, or set anew: a move to the tail; the timer is touched only when it is not armed. */
void timeout_set(struct timeout_class *, struct timeout *);
/* The same with a span of its own; costs a walk past those that are due later. */
void timeout_set_after(struct timeout_class *, struct timeout *, bt_duration after);
void timeout_clear(struct timeout *);
static inline bool timeout_is_set(const struct timeout *t)
{
    return list_linked(&t->link);
}
/* The one that is due first; NULL: none is set. */
static inline struct timeout *timeout_first(const struct timeout_class *cls)
{
    return LIST_FIRST(&cls->list, struct timeout, link);
}

#endif
