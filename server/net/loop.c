/* loop.c - the event loop of a worker, over libevent.
 *
 * libevent would run deferred calls as active events, but an event that activates itself is then
 * run again in the same pass, and descriptors starve. So deferred calls are a list of our own, and
 * libevent turns once at a time (EVLOOP_ONCE costs nothing over turning for ever).
 *
 * A connection's timeout is refreshed with every request and expires almost never. libevent's heap
 * would make a refresh cost log n; here it is a move to the tail of a list in which all wait equally
 * long, and one timer a list looks at the head now and then.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "loop"
#include "net/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

static struct event_base *base;
static struct list calls;   /* deferred, not yet run */
static struct list classes; /* of timeouts */
static bool stopping;

enum { SIGNALS = 32 };
static struct signal_row {
    struct event event;
    int signo;
    void (*run)(int signo);
} signals[SIGNALS];
static unsigned n_signals;

struct event_base *loop_base(void)
{
    return base;
}

/* ---- deferred calls ---- */

void loop_defer(struct deferred *d, void (*run)(struct deferred *))
{
    d->run = run;
    if (!list_linked(&d->link))
        list_add_tail(&calls, &d->link);
}

void deferred_cancel(struct deferred *d)
{
    list_remove(&d->link);
}

/* Those that stand in the list now; what they defer waits for the next turn. */
static void calls_run(void)
{
    struct list now;
    struct deferred *d;

    if (list_empty(&calls))
        return;
    now = calls;
    now.head.next->prev = now.head.prev->next = &now.head;
    list_init(&calls);
    while ((d = LIST_FIRST(&now, struct deferred, link)) != NULL) {
        list_remove(&d->link);
        d->run(d);
    }
}

/* ---- descriptors and signals ---- */

static void watch_event(evutil_socket_t fd, short what, void *arg)
{
    struct watch *w = arg;
    unsigned bits = (what & EV_READ ? WATCH_READ : 0u) | (what & EV_WRITE ? WATCH_WRITE : 0u);

    (void)fd;
    clock_refresh();
    w->ready(w, bits);
}

void loop_watch(struct watch *w, int fd, unsigned what,
                void (*ready)(struct watch *, unsigned what), void *arg)
{
    int bits = EV_PERSIST | (what & WATCH_READ ? EV_READ : 0) | (what & WATCH_WRITE ? EV_WRITE : 0);

    loop_unwatch(w);
    w->fd = fd;
    w->ready = ready;
    w->arg = arg;
    w->set = event_assign(&w->event, base, fd, (short)bits, watch_event, w) == 0 &&
             event_add(&w->event, NULL) == 0;
    if (!w->set)
        bt_log_limited(NULL, BT_ERROR, 30,
                       "cannot watch descriptor %d; more memory or a higher "
                       "fs.epoll.max_user_watches is needed",
                       fd);
}

void loop_unwatch(struct watch *w)
{
    if (w->set)
        event_del(&w->event);
    w->set = false;
}

static void signal_event(evutil_socket_t signo, short what, void *arg)
{
    struct signal_row *row = arg;

    (void)what;
    clock_refresh();
    row->run((int)signo);
}

void loop_on_signal(int signo, void (*run)(int signo))
{
    struct signal_row *row = NULL;

    for (unsigned i = 0; i < n_signals; i++)
        if (signals[i].signo == signo)
            row = &signals[i];
    if (row == NULL) {
        CHECK(n_signals < SIGNALS);
        row = &signals[n_signals++];
        row->signo = signo;
        evsignal_assign(&row->event, base, signo, signal_event, row);
        CHECK(evsignal_add(&row->event, NULL) == 0);
    }
    row->run = run;
}

/* ---- timeouts ---- */

/* Late by at most 0.4 % of the span and a tenth of a second, so that those due one shortly after
 * the other are found together. */
static int64_t class_slack(const struct timeout_class *cls)
{
    int64_t slack = cls->after / 256;

    return slack > 100000 ? 100000 : slack;
}

static void class_arm(struct timeout_class *cls, int64_t due)
{
    int64_t in = due + class_slack(cls) - clock_us();
    struct timeval tv;

    if (in < 0)
        in = 0;
    tv.tv_sec = (time_t)(in / 1000000);
    tv.tv_usec = (suseconds_t)(in % 1000000);
    evtimer_add(&cls->timer, &tv);
    cls->armed = due;
}

static void class_look(struct timeout_class *cls)
{
    int64_t now = clock_us();
    struct timeout *t;

    while ((t = timeout_first(cls)) != NULL && t->due <= now) {
        list_remove(&t->link);
        cls->expired(t);
    }
    cls->armed = 0;
    if ((t = timeout_first(cls)) != NULL)
        class_arm(cls, t->due);
}

static void class_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    clock_refresh();
    class_look(arg);
}

void timeout_class_after(struct timeout_class *cls, bt_duration after)
{
    cls->after = after.ms < 0 ? -1 : after.ms * 1000;
}

void timeout_class_init(struct timeout_class *cls, bt_duration after,
                        void (*expired)(struct timeout *))
{
    memset(cls, 0, sizeof *cls);
    list_init(&cls->list);
    timeout_class_after(cls, after);
    cls->expired = expired;
    evtimer_assign(&cls->timer, base, class_timer, cls);
    list_add_tail(&classes, &cls->link);
}

void timeout_class_fini(struct timeout_class *cls)
{
    if (!list_linked(&cls->link))
        return;
    LIST_EACH(&cls->list, struct timeout, link, t)
        list_remove(&t->link);
    evtimer_del(&cls->timer);
    list_remove(&cls->link);
}

static void timeout_put(struct timeout_class *cls, struct timeout *t, int64_t after)
{
    struct list_link *at = &cls->list.head;

    list_remove(&t->link);
    if (after < 0)
        return;
    t->cls = cls;
    /* Never due in the moment that sets it, or class_look() might not end. */
    t->due = clock_us() + (after > 0 ? after : 1);
    /* One span a class, so the tail is the place; unless a test moved the clock back. */
    while (at->prev != &cls->list.head && LIST_OF(at->prev, struct timeout, link)->due > t->due)
        at = at->prev;
    list_add_before(at, &t->link);
    if (cls->armed == 0 || t->due < cls->armed)
        class_arm(cls, t->due);
}

void timeout_set(struct timeout_class *cls, struct timeout *t)
{
    timeout_put(cls, t, cls->after);
}

void timeout_set_after(struct timeout_class *cls, struct timeout *t, bt_duration after)
{
    timeout_put(cls, t, after.ms < 0 ? -1 : after.ms * 1000);
}

void timeout_clear(struct timeout *t)
{
    list_remove(&t->link);
}

static void clock_moved(struct deferred *d)
{
    (void)d;
    LIST_EACH(&classes, struct timeout_class, link, cls)
        class_look(cls);
}

void loop_clock_moved(void)
{
    static struct deferred look; /* deferred, since timeouts may free whoever calls here */

    loop_defer(&look, clock_moved);
}

/* ---- the loop ---- */

static void libevent_says(int severity, const char *text)
{
    bt_log_limited(NULL, severity >= EVENT_LOG_ERR ? BT_ERROR : BT_WARN, 30, "libevent: %s", text);
}

static void libevent_dies(int code)
{
    (void)code;
    NEVER();
}

bool loop_init(void)
{
    struct event_config *config = event_config_new();

    list_init(&calls);
    list_init(&classes);
    n_signals = 0;
    event_set_log_callback(libevent_says);
    event_set_fatal_callback(libevent_dies);
    signal(SIGPIPE, SIG_IGN);
    if (config != NULL) {
        event_config_require_features(config, EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE);
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        base = event_base_new_with_config(config);
        event_config_free(config);
    }
    if (base == NULL)
        bt_log(NULL, BT_ERROR, "no event loop: %s; epoll is needed, and free descriptors",
               strerror(errno));
    clock_refresh();
    return base != NULL;
}

void loop_fini(void)
{
    if (base == NULL)
        return;
    for (unsigned i = 0; i < n_signals; i++)
        evsignal_del(&signals[i].event);
    n_signals = 0;
    while (!list_empty(&classes))
        timeout_class_fini(LIST_FIRST(&classes, struct timeout_class, link));
    event_base_free(base);
    base = NULL;
}

void loop_break(void)
{
    stopping = true;
    /* The turn ends early; what was active in it stays active for who runs the loop next. */
    event_base_loopbreak(base);
}

/* One wait, and all that it found. false: there is nothing to wait for, or no need to. */
static bool turn(const bool *done)
{
    int got;

    calls_run();
    if (*done)
        return false;
    got = event_base_loop(base, EVLOOP_ONCE | (list_empty(&calls) ? 0 : EVLOOP_NONBLOCK));
    CHECK(got >= 0); /* epoll itself failed */
    return got == 0 || !list_empty(&calls);
}

void loop_run(void)
{
    stopping = false;
    while (turn(&stopping))
        ;
    calls_run();
}

static void time_is_out(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    *(bool *)arg = true;
}

bool loop_run_until(const bool *done, int64_t ms)
{
    struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
    struct event timer;
    bool out = false;

    evtimer_assign(&timer, base, time_is_out, &out);
    evtimer_add(&timer, &tv);
    while (!*done && !out && turn(done))
        ;
    evtimer_del(&timer);
    return *done;
}
