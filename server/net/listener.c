/* listener.c - ports: bound in the master, accepted from in the worker.
 *
 * Level-triggered and not until EAGAIN: at low load there is one connection a wake, and the second
 * accept4() would only say so. Now and then more is tried, and the batch grows while more is waiting.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "listener"
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/log.h"
#include "net/descriptors.h"
#include "net/idle.h"
#include "stat/counts.h"

enum { BACKLOG = 4096, BATCH = 64, SINGLES = 8, PAUSE_MS = 100 };

/* ---- master ---- */

static const char *advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "another server listens there (ss -ltnp tells which); stop it or choose another port";
    case EACCES:
        return "not permitted; ports below 1024 need root or CAP_NET_BIND_SERVICE";
    case EPERM:
        return "not permitted; tproxy needs root or CAP_NET_ADMIN";
    case EADDRNOTAVAIL:
        return "no interface of this machine has that address";
    case EAFNOSUPPORT:
        return "this machine does not speak that family of addresses";
    case EMFILE:
    case ENFILE:
        return "no free descriptors; raise the limit (ulimit -n)";
    default:
        return strerror(error);
    }
}

static void settle(int fd, const struct sockaddr *addr, const struct listener_opts *opts)
{
    const int on = 1, only = !opts->dual;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (addr->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    /* What stands here is inherited by every accepted socket, and costs none of them a call. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (opts->keepalive)
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (opts->keep_idle > 0)
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &opts->keep_idle, sizeof opts->keep_idle);
    if (opts->keep_interval > 0)
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &opts->keep_interval, sizeof(int));
    if (opts->keep_count > 0)
        setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &opts->keep_count, sizeof opts->keep_count);
    if (opts->no_pmtu) {
        const int never = IP_PMTUDISC_DONT;
        setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &never, sizeof never);
        if (addr->sa_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &never, sizeof never);
    }
    if (opts->defer > 0)
        setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &opts->defer, sizeof opts->defer);
}

/* Of both families on a dual port. */
static bool be_transparent(int fd, const struct sockaddr *addr)
{
    const int on = 1;

    return setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof on) == 0 &&
           (addr->sa_family != AF_INET6 ||
            setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &on, sizeof on) == 0);
}

/* A bound socket; -1 with errno. */
static int bound(const struct sockaddr *addr, socklen_t len, const struct listener_opts *opts,
                 bool shared)
{
    const int on = 1;
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    settle(fd, addr, opts);
    if ((opts->transparent && !be_transparent(fd, addr)) ||
        (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0) ||
        bind(fd, addr, len) < 0) {
        int error = errno;

        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int bound_alone(const struct sockaddr *addr, socklen_t len, const struct listener_opts *opts)
{
    /* SO_REUSEPORT would let us in beside a second server of the same user. Without it bind()
     * refuses; so knock first. */
    if (opts->first && addr_port(addr) != 0) {
        int fd = bound(addr, len, opts, false);

        if (fd < 0)
            return -1;
        close(fd);
    }
    return bound(addr, len, opts, true);
}

int listener_bind(const struct sockaddr *addr, socklen_t len, const struct listener_opts *opts,
                  struct listener_why *why)
{
    char text[ADDR_PORT_TEXT];
    int fd = bound_alone(addr, len, opts);

    if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) && opts->dual &&
        addr->sa_family == AF_INET6 && addr_is_any(addr)) {
        struct sockaddr_in v4 = {.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)addr_port(addr))};

        fd = bound_alone((struct sockaddr *)&v4, sizeof v4, opts);
    }
    if (fd >= 0 && listen(fd, opts->backlog > 0 ? opts->backlog : BACKLOG) == 0)
        return fd;
    addr_print_with_port(addr, text);
    snprintf(why->text, sizeof why->text, "cannot listen on %s: %s", text, advice(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* true: the path is free, or was a socket that nobody listened on. */
static bool clear_place(const struct sockaddr_un *addr)
{
    struct stat is;

    if (lstat(addr->sun_path, &is) != 0)
        return true;
    if (!S_ISSOCK(is.st_mode)) {
        errno = EEXIST;
        return false;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool live = probe >= 0 && (connect(probe, (const struct sockaddr *)addr, sizeof *addr) == 0 ||
                               errno == EAGAIN);
    if (probe >= 0)
        close(probe);
    if (live)
        errno = EADDRINUSE;
    return !live && unlink(addr->sun_path) == 0;
}

int listener_bind_local(const struct sockaddr *where, int64_t uid, int64_t gid,
                        struct listener_why *why)
{
    const struct sockaddr_un *addr = (const struct sockaddr_un *)(const void *)where;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* Nobody else, from the first moment on. */
    mode_t mask = umask(0117);
    bool good = fd >= 0 && clear_place(addr) && bind(fd, where, sizeof *addr) == 0 &&
                (uid < 0 || chown(addr->sun_path, (uid_t)uid, (gid_t)gid) == 0) &&
                listen(fd, BACKLOG) == 0;
    int error = errno;

    umask(mask);
    if (good)
        return fd;
    snprintf(why->text, sizeof why->text, "cannot listen on %.120s: %s", addr->sun_path,
             error == EADDRINUSE ? "another server listens there"
             : error == EEXIST   ? "there is a file that is no socket"
                                 : strerror(error));
    if (fd >= 0)
        close(fd);
    return -1;
}

bool listener_take(int fd, const struct sockaddr *addr, const struct listener_opts *opts)
{
    const int on = 1;
    int type = 0;
    socklen_t len = sizeof type;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0)
        return false;
    if (type != SOCK_STREAM) {
        errno = EPROTOTYPE;
        return false;
    }
    settle(fd, addr, opts);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on); /* for those of the other workers */
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
           listen(fd, opts->backlog > 0 ? opts->backlog : BACKLOG) == 0;
}

bool listener_address(int fd, struct sockaddr_storage *out)
{
    socklen_t len = sizeof *out;

    memset(out, 0, sizeof *out);
    return getsockname(fd, (struct sockaddr *)out, &len) == 0;
}

/* ---- worker ---- */

static struct timeout_class pauses;

static void listener_ready(struct watch *w, unsigned what);

static void listener_pause(struct listener *l)
{
    loop_unwatch(&l->watch);
    timeout_set(&pauses, &l->pause);
}

/* Kept connections to origins are the first to go. */
static bool is_short(void)
{
    while (descriptors_short_now())
        if (!idle_make_room())
            return true;
    return false;
}

static void pause_over(struct timeout *t)
{
    struct listener *l = LIST_OF(t, struct listener, pause);

    if (is_short())
        timeout_set(&pauses, &l->pause);
    else
        loop_watch(&l->watch, l->fd, WATCH_READ, listener_ready, l);
}

static void accept_failed(struct listener *l, int error)
{
    count(accept_failed);
    bt_log_limited(NULL, BT_WARN, 30, "cannot accept connections for a moment: %s%s",
                   strerror(error),
                   error == EMFILE || error == ENFILE ? "; raise max_filedescriptors" : "");
    listener_pause(l);
}

/* Whoever comes now waits in the kernel until somebody leaves. */
static void accept_short(struct listener *l)
{
    count(accept_paused);
    bt_log_limited(NULL, BT_WARN, 30,
                   "no connections are accepted until some end: the descriptors left are for those "
                   "inside; raise max_filedescriptors");
    listener_pause(l);
}

/* Faults of the connection that came, not of us: it is gone, the next one may be well. */
static bool is_its_own(int error)
{
    return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM ||
           error == ENETDOWN || error == ENETUNREACH || error == EHOSTDOWN ||
           error == EHOSTUNREACH || error == ENOPROTOOPT || error == EOPNOTSUPP || error == ENONET;
}

static void listener_ready(struct watch *w, unsigned what)
{
    struct listener *l = w->arg;
    unsigned got = 0;

    (void)what;
    while (got < l->batch) {
        struct sockaddr_storage addr;
        socklen_t len = sizeof addr;

        if (descriptors_reached() && is_short()) {
            accept_short(l);
            return;
        }
        int fd = accept4(l->fd, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        got++;
        if (fd >= 0) {
            l->accepted(l, fd, (struct sockaddr *)&addr, len);
            if (l->fd < 0)
                return;
            if (descriptors_short(fd) && is_short()) {
                accept_short(l);
                return;
            }
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            l->batch = got > 1 ? got - 1 : 1;
            return;
        } else if (!is_its_own(errno)) {
            accept_failed(l, errno);
            return;
        }
    }
    if (l->batch == 1 && ++l->singles < SINGLES)
        return;
    l->singles = 0;
    if (l->batch < BATCH)
        l->batch *= 2;
}

void listener_start(struct listener *l, int fd,
                    void (*accepted)(struct listener *, int fd, const struct sockaddr *, socklen_t))
{
    void *owner = l->owner;

    if (!list_linked(&pauses.link))
        timeout_class_init(&pauses, (bt_duration){PAUSE_MS}, pause_over);
    memset(l, 0, sizeof *l);
    l->fd = fd;
    l->batch = 1;
    l->accepted = accepted;
    l->owner = owner;
    loop_watch(&l->watch, fd, WATCH_READ, listener_ready, l);
}

void listener_stop(struct listener *l)
{
    if (l->fd < 0)
        return;
    loop_unwatch(&l->watch);
    timeout_clear(&l->pause);
    close(l->fd);
    l->fd = -1;
}
