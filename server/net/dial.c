/* dial.c - a connection to one of several addresses, by Happy Eyeballs (RFC 8305).
 *
 * On this machine (and in the next container) a connection stands before connect() has returned,
 * though it still says EINPROGRESS; a second connect() tells. That is one cheap call, and saves an
 * attempt's memory, two epoll_ctl() and a turn of the loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "dial"
#include "net/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/idle.h"
#include "stat/counts.h"

enum {
    GAP_MS = 250,
    AT_ONCE = 8, /* attempts of one dial under way */
    CLASSES = 8  /* of different lengths; there are two or three directives for it */
};

struct attempt {
    struct watch watch;
    struct list_link link;
    struct dial *dial;
    const struct sockaddr *addr;
};

static bt_duration gap = {GAP_MS};
static struct timeout_class staggers, totals[CLASSES];

const char *dial_why_text(enum dial_why why)
{
    static const char *const text[] = {
        [DIAL_FINE] = "connected",
        [DIAL_REFUSED] = "connection refused",
        [DIAL_UNREACHABLE] = "host or network unreachable",
        [DIAL_TIMEOUT] = "connection timed out",
        [DIAL_NO_DESCRIPTORS] = "no free descriptors or local ports",
        [DIAL_DENIED] = "not permitted by this system",
        [DIAL_NO_ADDRESS] = "no address to connect to",
        [DIAL_OTHER] = "connection failed",
    };

    return text[why];
}

static enum dial_why why_of(int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ECONNRESET:
        return DIAL_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
    case EAFNOSUPPORT:
        return DIAL_UNREACHABLE;
    case ETIMEDOUT:
        return DIAL_TIMEOUT;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL: /* all local ports are taken */
    case EADDRINUSE:
        return DIAL_NO_DESCRIPTORS;
    case EACCES:
    case EPERM:
        return DIAL_DENIED;
    default:
        return DIAL_OTHER;
    }
}

/* ---- one attempt ---- */

static void attempt_free(struct attempt *a, bool close_it)
{
    loop_unwatch(&a->watch);
    if (close_it)
        close(a->watch.fd);
    list_remove(&a->link);
    a->dial->n_attempts--;
    free(a);
}

/* The last failure is told; but that a family does not exist here says less than that a host refused. */
static void failed(struct dial *d, int error, const struct sockaddr *addr)
{
    enum dial_why why = why_of(error);

    count(origin_dial_failed);
    if (why == DIAL_UNREACHABLE && (d->why == DIAL_REFUSED || d->why == DIAL_TIMEOUT))
        return;
    d->error = error;
    d->why = why;
    d->addr = addr;
}

/* 0: it stands; EINPROGRESS; or what is wrong. */
static int begin(const struct dial *d, int fd, const struct sockaddr *addr)
{
    const struct sockaddr *from = addr->sa_family == AF_INET ? d->from_v4 : d->from_v6;
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!marks_same(d->marks, (struct marks){0}))
        marks_put(fd, addr->sa_family, (struct marks){0}, d->marks);
    if (from != NULL) {
        /* The port is chosen by connect(), so that the same one serves for many destinations. */
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        if (d->transparent)
            setsockopt(fd, from->sa_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6,
                       from->sa_family == AF_INET ? IP_TRANSPARENT : IPV6_TRANSPARENT, &on,
                       sizeof on);
        if (bind(fd, from, addr_len(from)) < 0) {
            int error = errno;
            char text[ADDR_TEXT];
            addr_print_sockaddr(from, text);
            bt_log_limited(
                NULL, BT_WARN, 60, "cannot connect from %s: %s; %s", text, strerror(error),
                d->transparent ? "to connect from clients' addresses needs CAP_NET_RAW (start as "
                                 "root), or spoof_client_ip deny all"
                               : "tcp_outgoing_address wants an address of this machine");
            return error;
        }
    }
    if (connect(fd, addr, addr_len(addr)) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (connect(fd, addr, addr_len(addr)) == 0 || errno == EISCONN)
        return 0;
    return errno == EALREADY ? EINPROGRESS : errno;
}

static void attempt_ready(struct watch *w, unsigned what);

static void attempt_new(struct dial *d, int fd, const struct sockaddr *addr)
{
    struct attempt *a = calloc(1, sizeof *a);

    CHECK(a != NULL);
    a->dial = d;
    a->addr = addr;
    list_add_tail(&d->attempts, &a->link);
    d->n_attempts++;
    loop_watch(&a->watch, fd, WATCH_WRITE, attempt_ready, a);
}

/* ---- the next address ---- */

/* The next one of the first address's family, or of the other; NULL: there is none left. */
static const struct sockaddr *next_of(struct dial *d, bool other)
{
    for (size_t i = d->next_of[other]; i < d->n; i++)
        if ((d->addrs[i]->sa_family != d->addrs[0]->sa_family) == other) {
            d->next_of[other] = i + 1;
            return d->addrs[i];
        }
    d->next_of[other] = d->n;
    return NULL;
}

static const struct sockaddr *next_address(struct dial *d)
{
    const struct sockaddr *addr = next_of(d, d->other_next);

    if (addr == NULL)
        addr = next_of(d, !d->other_next);
    else
        d->other_next = !d->other_next;
    return addr;
}

static bool more_addresses(const struct dial *d)
{
    return d->next_of[0] < d->n || d->next_of[1] < d->n;
}

/* Idle connections give theirs up when there is none. */
static int descriptor(int family)
{
    int fd;

    do
        fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    while (fd < 0 && (errno == EMFILE || errno == ENFILE) && idle_make_room());
    return fd;
}

/* Begin with one more address. DONE: it stands at once. WAIT: it is under way, and the one after it
 * waits for the gap. FAILED: there was none that could be begun. */
static enum dial_result advance(struct dial *d)
{
    const struct sockaddr *addr;

    timeout_clear(&d->stagger);
    while ((addr = next_address(d)) != NULL) {
        int fd = descriptor(addr->sa_family);
        int error;

        count(origin_dials);
        error = fd < 0 ? errno : begin(d, fd, addr);
        if (error == 0) {
            d->fd = fd;
            d->addr = addr;
            return DIAL_DONE;
        }
        if (error == EINPROGRESS) {
            attempt_new(d, fd, addr);
            if (d->n_attempts < AT_ONCE && more_addresses(d))
                timeout_set_after(&staggers, &d->stagger, gap);
            return DIAL_WAIT;
        }
        if (fd >= 0)
            close(fd);
        failed(d, error, addr);
    }
    return DIAL_FAILED;
}

/* ---- the end ---- */

/* All attempts and timeouts of the dial are gone; fd and why are as they are. */
static void settle(struct dial *d)
{
    while (!list_empty(&d->attempts))
        attempt_free(LIST_FIRST(&d->attempts, struct attempt, link), true);
    timeout_clear(&d->total);
    timeout_clear(&d->stagger);
    d->running = false;
    clock_refresh(); /* it may have stood within this callback */
    d->took_us = clock_us() - d->began_us;
    if (d->fd >= 0) {
        d->why = DIAL_FINE;
        d->error = 0;
        count_observe(connect_time, d->took_us);
    }
}

static void finish(struct dial *d)
{
    settle(d);
    d->done(d);
}

/* An attempt is over without a connection: on with the next, or the end. */
static void go_on(struct dial *d)
{
    enum dial_result got = advance(d);

    if (got == DIAL_DONE || (got == DIAL_FAILED && d->n_attempts == 0))
        finish(d);
}

static void attempt_ready(struct watch *w, unsigned what)
{
    struct attempt *a = w->arg;
    struct dial *d = a->dial;
    int error = 0;
    socklen_t len = sizeof error;

    (void)what;
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error == 0) {
        d->fd = w->fd;
        d->addr = a->addr;
        attempt_free(a, false);
        finish(d);
        return;
    }
    failed(d, error, a->addr);
    attempt_free(a, true);
    go_on(d);
}

static void stagger_expired(struct timeout *t)
{
    go_on(LIST_OF(t, struct dial, stagger));
}

static void total_expired(struct timeout *t)
{
    struct dial *d = LIST_OF(t, struct dial, total);

    LIST_EACH(&d->attempts, struct attempt, link, a)
        failed(d, ETIMEDOUT, a->addr);
    finish(d);
}

/* A class of that length. The last one takes every other length, at the cost of a walk. */
static struct timeout_class *total_class(bt_duration after)
{
    unsigned i = 0;

    while (i < CLASSES - 1 && list_linked(&totals[i].link) && totals[i].after != after.ms * 1000)
        i++;
    if (!list_linked(&totals[i].link))
        timeout_class_init(&totals[i], after, total_expired);
    return &totals[i];
}

/* ---- for others ---- */

void dial_gap(bt_duration new_gap)
{
    gap = new_gap;
}

void dial_fini(void)
{
    timeout_class_fini(&staggers);
    for (unsigned i = 0; i < CLASSES; i++)
        timeout_class_fini(&totals[i]);
}

enum dial_result dial_start(struct dial *d, const struct sockaddr *const *addrs, size_t n,
                            bt_duration timeout, void (*done)(struct dial *))
{
    enum dial_result got;

    if (!list_linked(&staggers.link))
        timeout_class_init(&staggers, gap, stagger_expired);
    d->fd = -1;
    d->addr = NULL;
    d->why = DIAL_NO_ADDRESS;
    d->error = 0;
    d->done = done;
    d->addrs = addrs;
    d->n = n;
    d->next_of[0] = d->next_of[1] = 0;
    d->other_next = false;
    d->running = true;
    d->n_attempts = 0;
    d->began_us = clock_us();
    list_init(&d->attempts);
    list_link_init(&d->total.link);
    list_link_init(&d->stagger.link);
    got = advance(d);
    if (got != DIAL_WAIT)
        settle(d);
    else if (timeout.ms >= 0)
        timeout_set_after(total_class(timeout), &d->total, timeout);
    return got;
}

void dial_cancel(struct dial *d)
{
    if (!d->running)
        return;
    d->fd = -1;
    settle(d);
}
