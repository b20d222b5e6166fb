/* stream.c - one connection: bytes in, bytes out, and word when either is possible again.
 *
 * Why a short read may stand for «drained»: the event is edge-triggered, and every byte, FIN or RST
 * that arrives after an event was fetched makes an edge of its own. What arrives before the event is
 * added is reported by adding it. What a short read misses is only an end that was fetched together
 * with the bytes, for there is no second edge. Of a FIN EV_CLOSED tells, and `fin` keeps `readable`
 * set until the end itself was read. A RST behind bytes libevent shows like any bytes: therefore
 * `unsure`. An owner who got all that he wanted goes on, and his next write tells, as it always
 * would. One who wants more reads again before he waits, and that read, the only one that costs a
 * call for nothing, asks the kernel. (A byte of urgent data hides what follows it from one read, too.)
 *
 * Likewise a short write: the kernel has marked the socket, and tells when there is room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "stream"
#include "net/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/buffer.h"

struct stream_pending {
    size_t at, end, cap; /* bytes[at..end) are to be written */
    char bytes[];
};

static void stream_cut(struct stream *s, int error)
{
    s->cut = true;
    s->error = (uint16_t)error;
    free(s->pending);
    s->pending = NULL;
}

static void stream_fail(struct stream *s, int error)
{
    stream_cut(s, error);
    s->failed = true;
    s->readable = s->unsure = false;
}

/* ---- in ---- */

static void stream_hear(struct stream *s);

static ssize_t read_via(struct stream *s, void *buf, size_t cap)
{
    ssize_t n = s->via->read(s->via_state, buf, cap);

    if (n > 0) {
        s->readable = s->fin || s->via->holds_bytes(s->via_state);
        s->unsure = !s->readable;
        if (s->readable) /* no edge will tell, so that an owner who waits must be called */
            stream_again(s);
    } else if (n == BT_IO_AGAIN) {
        s->readable = s->unsure = false;
    } else if (n == BT_IO_EOF) {
        s->eof = true;
        s->readable = s->unsure = false;
    } else {
        stream_fail(s, errno);
        n = BT_IO_ERROR;
    }
    return n;
}

ssize_t stream_read(struct stream *s, void *buf, size_t cap)
{
    ssize_t n;

    CHECK(cap > 0); /* or an empty read would look like the end */
    if (!s->readable && !s->unsure)
        return s->failed ? BT_IO_ERROR : s->eof ? BT_IO_EOF : BT_IO_AGAIN;
    if (s->via != NULL)
        return read_via(s, buf, cap);
    if (s->deaf)
        stream_hear(s);
    do
        n = recv(s->fd, buf, cap, 0);
    while (n < 0 && errno == EINTR);
    s->readable = n == (ssize_t)cap || (n > 0 && s->fin);
    s->unsure = n > 0 && !s->readable;
    if (n > 0)
        return n;
    if (n == 0) {
        s->eof = true;
        return BT_IO_EOF;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return BT_IO_AGAIN;
    stream_fail(s, errno);
    return BT_IO_ERROR;
}

/* A short one says nothing: the pipe may have been full. So `readable` stands until AGAIN. */
ssize_t stream_splice_in(struct stream *s, int pipe, size_t cap)
{
    ssize_t n;

    if (s->via != NULL)
        return STREAM_UNABLE;
    if (!s->readable && !s->unsure)
        return s->failed ? BT_IO_ERROR : s->eof ? BT_IO_EOF : BT_IO_AGAIN;
    if (s->deaf)
        stream_hear(s);
    do
        n = splice(s->fd, NULL, pipe, NULL, cap, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return n;
    if (n < 0 && (errno == EINVAL || errno == ENOSYS || errno == ENOMEM))
        return STREAM_UNABLE;
    s->readable = s->unsure = false;
    if (n == 0) {
        s->eof = true;
        return BT_IO_EOF;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        s->unsure = true;
        return BT_IO_AGAIN;
    }
    stream_fail(s, errno);
    return BT_IO_ERROR;
}

bool stream_gone(struct stream *s)
{
    char byte;
    ssize_t n;

    if (s->eof || s->failed || s->fin || s->cut)
        return true;
    if (!s->readable || s->via != NULL)
        return false;
    n = recv(s->fd, &byte, 1, MSG_PEEK);
    if (n > 0)
        return false;
    s->readable = s->unsure = false;
    if (n == 0)
        s->eof = true;
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        stream_fail(s, errno);
    return s->eof || s->failed;
}

/* ---- out ---- */

static ssize_t write_once(struct stream *s, const struct iovec *iov, int n, int flags)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
    ssize_t did;

    if (s->via != NULL) {
        did = s->via->write(s->via_state, iov, n);
        if (did > 0)
            s->unsure = false; /* until now it was not reset */
        return did;
    }
    do
        did = n == 1 ? send(s->fd, iov->iov_base, iov->iov_len, flags)
                     : sendmsg(s->fd, &msg, flags);
    while (did < 0 && errno == EINTR);
    if (did < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? BT_IO_AGAIN : BT_IO_ERROR;
    s->unsure = false; /* until now it was not reset */
    return did;
}

static void shut_now(struct stream *s)
{
    if (s->shut_sent)
        return;
    s->shut_sent = true;
    if (s->via != NULL)
        s->via->shutdown(s->via_state);
    shutdown(s->fd, SHUT_WR);
}

/* Write what is pending. true: nothing is pending any more, for better or worse. */
static bool flush(struct stream *s)
{
    struct stream_pending *p;

    while ((p = s->pending) != NULL) {
        struct iovec iov = {p->bytes + p->at, p->end - p->at};
        ssize_t n = write_once(s, &iov, 1, MSG_NOSIGNAL);

        if (n == BT_IO_AGAIN) {
            s->writable = false;
            return false;
        }
        if (n < 0) {
            stream_cut(s, errno);
            s->readable = !s->eof && !s->failed; /* the owner shall see what it said last */
            return true;
        }
        p->at += (size_t)n;
        if (p->at == p->end) {
            s->pending = NULL;
            free(p);
        } else if (s->via == NULL) {
            s->writable = false;
            return false;
        }
    }
    s->writable = true;
    if (s->shut)
        shut_now(s);
    return true;
}

/* Keep what stands behind the first `skip` bytes of the iov. */
static void keep(struct stream *s, const struct iovec *iov, int n, size_t skip)
{
    struct stream_pending *p = s->pending;
    size_t total = 0;

    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    total -= skip;
    if (p == NULL || p->cap - p->end < total) {
        size_t held = p == NULL ? 0 : p->end - p->at;
        size_t cap = held + total + held / 2; /* an owner who goes on all the same */
        struct stream_pending *more = malloc(sizeof *more + cap);

        CHECK(more != NULL);
        if (held > 0)
            memcpy(more->bytes, p->bytes + p->at, held);
        more->at = 0;
        more->end = held;
        more->cap = cap;
        free(p);
        s->pending = p = more;
    }
    for (int i = 0; i < n; i++) {
        size_t len = iov[i].iov_len, pass = skip < len ? skip : len;

        if (len > pass)
            memcpy(p->bytes + p->end, (const char *)iov[i].iov_base + pass, len - pass);
        p->end += len - pass;
        skip -= pass;
    }
}

static bool stream_send(struct stream *s, const struct iovec *iov, int n, int flags)
{
    size_t total = 0, did = 0;

    CHECK(s->fd >= 0 && !s->shut);
    if (s->cut)
        return false;
    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    if (total == 0)
        return true;
    if (s->pending == NULL) {
        ssize_t got = write_once(s, iov, n, MSG_NOSIGNAL | flags);

        if (got == (ssize_t)total)
            return true;
        if (got < 0 && got != BT_IO_AGAIN) {
            stream_cut(s, errno);
            return false;
        }
        did = got > 0 ? (size_t)got : 0;
    }
    keep(s, iov, n, did);
    s->writable = false;
    stream_watch(s);
    if (s->via != NULL && did > 0) /* a transport may take one record at a time */
        flush(s);
    return !s->cut;
}

ssize_t stream_splice_out(struct stream *s, int pipe, size_t n)
{
    ssize_t did;

    CHECK(s->fd >= 0 && !s->shut && s->pending == NULL && s->via == NULL);
    if (s->cut)
        return BT_IO_ERROR;
    do
        did = splice(pipe, NULL, s->fd, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (did < 0 && errno == EINTR);
    if (did > 0) {
        s->unsure = false; /* until now it was not reset */
        return did;
    }
    if (did < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        s->writable = false;
        stream_watch(s);
        return BT_IO_AGAIN;
    }
    stream_cut(s, did == 0 ? EIO : errno);
    return BT_IO_ERROR;
}

bool stream_write(struct stream *s, const struct iovec *iov, int n)
{
    return stream_send(s, iov, n, 0);
}

bool stream_write_more(struct stream *s, const struct iovec *iov, int n)
{
    return stream_send(s, iov, n, MSG_MORE);
}

ssize_t stream_offer(struct stream *s, const struct iovec *iov, int n)
{
    size_t total = 0;
    ssize_t did;

    CHECK(s->fd >= 0 && !s->shut && s->pending == NULL && s->via == NULL);
    if (s->cut)
        return BT_IO_ERROR;
    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    did = total > 0 ? write_once(s, iov, n, MSG_NOSIGNAL) : 0;
    if (did < 0 && did != BT_IO_AGAIN) {
        stream_cut(s, errno);
        return BT_IO_ERROR;
    }
    if (did < 0)
        did = 0;
    if ((size_t)did < total) {
        s->writable = false;
        stream_watch(s);
    }
    return did;
}

bool stream_put(struct stream *s, const void *bytes, size_t n)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, n};

    return stream_send(s, &iov, 1, 0);
}

size_t stream_pending(const struct stream *s)
{
    return s->pending == NULL ? 0 : s->pending->end - s->pending->at;
}

void stream_shutdown(struct stream *s)
{
    if (s->fd < 0 || s->shut)
        return;
    s->shut = true;
    if (s->pending == NULL)
        shut_now(s);
}

/* ---- word from the loop ---- */

static void stream_event(evutil_socket_t fd, short what, void *arg)
{
    struct stream *s = arg;
    bool news = false;

    (void)fd;
    clock_refresh();
    if (s->via !=
        NULL) /* a transport may have to read in order to write, and the other way round */
        what |= EV_READ | EV_WRITE;
    if (s->deaf && (what & EV_WRITE)) /* a reset looks like this, too */
        what |= EV_READ;
    if (what & EV_CLOSED)
        s->fin = true;
    if ((what & (EV_READ | EV_CLOSED)) != 0 && !s->eof && !s->failed)
        s->readable = news = true;
    if ((what & EV_WRITE) != 0 && !s->writable)
        news |= flush(s);
    if (news)
        s->ready(s);
}

static void watch_for(struct stream *s, short what)
{
    short bits = (short)(what | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST);

    event_assign(&s->event, loop_base(), s->fd, bits, stream_event, s);
    s->watched = true; /* failed or not: once is enough */
    s->deaf = (what & EV_READ) == 0;
    if (event_add(&s->event, NULL) == 0)
        return;
    bt_log_limited(NULL, BT_ERROR, 30,
                   "cannot watch a connection; more memory or a higher "
                   "fs.epoll.max_user_watches is needed");
    stream_fail(s, ENOMEM);
    stream_again(s);
}

void stream_watch_add(struct stream *s)
{
    watch_for(s, EV_READ);
}

void stream_deaf(struct stream *s)
{
    if (!s->watched || s->deaf || s->via != NULL || s->fin || s->failed)
        return;
    event_del(&s->event);
    watch_for(s, 0);
}

/* Adding tells of what is there, so that nothing is missed. */
static void stream_hear(struct stream *s)
{
    event_del(&s->event);
    watch_for(s, EV_READ);
}

static void again_run(struct deferred *d)
{
    struct stream *s = LIST_OF(d, struct stream, again);

    s->ready(s);
}

void stream_again(struct stream *s)
{
    loop_defer(&s->again, again_run);
}

/* ---- beginning and end ---- */

void stream_init(struct stream *s, int fd, void (*ready)(struct stream *))
{
    /* The event is filled in when it is added. */
    memset((char *)s + offsetof(struct stream, fd), 0, sizeof *s - offsetof(struct stream, fd));
    s->fd = fd;
    s->ready = ready;
    s->readable = s->writable = true;
}

void stream_via(struct stream *s, const struct bt_transport *via, void *state)
{
    if (s->deaf)
        stream_hear(s);
    s->via = via;
    s->via_state = state;
    s->readable = !s->eof && !s->failed;
}

static void stream_unwatch(struct stream *s)
{
    if (s->watched)
        event_del(&s->event);
    s->watched = s->deaf = false;
    deferred_cancel(&s->again);
}

void stream_close(struct stream *s)
{
    if (s->fd < 0)
        return;
    stream_unwatch(s);
    free(s->pending);
    s->pending = NULL;
    if (s->via != NULL)
        s->via->close(s->via_state);
    s->via = NULL;
    close(s->fd);
    s->fd = -1;
    s->readable = s->writable = false;
}

/* ---- lingering ---- */

enum { LINGER_BYTES = 1024 * 1024, LINGER_MS = 2000, LINGER_READS = 4 };

struct leaver {
    struct stream stream; /* first */
    struct timeout timeout;
    struct list_link link;
    size_t left; /* bytes that it may still send */
};

static struct timeout_class linger_class;
static struct list lingers;
static size_t n_lingers;

static void linger_end(struct leaver *l)
{
    stream_close(&l->stream);
    timeout_clear(&l->timeout);
    list_remove(&l->link);
    n_lingers--;
    free(l);
}

static void linger_expired(struct timeout *t)
{
    linger_end(LIST_OF(t, struct leaver, timeout));
}

static void linger_ready(struct stream *s)
{
    struct leaver *l = LIST_OF(s, struct leaver, stream);

    for (int i = 0; i < LINGER_READS && !s->cut; i++) {
        ssize_t n = stream_read(s, buffer_in(), BUFFER_IN);

        if (n == BT_IO_AGAIN)
            return;
        if (n == BT_IO_EOF && stream_pending(s) > 0)
            return; /* it does not send, but it may still read */
        if (n < 0 || (size_t)n >= l->left) {
            linger_end(l);
            return;
        }
        l->left -= (size_t)n;
    }
    if (s->cut)
        linger_end(l);
    else
        stream_again(s);
}

static struct leaver *linger_take(struct stream *s)
{
    struct leaver *l = calloc(1, sizeof *l);

    CHECK(l != NULL);
    if (!list_linked(&linger_class.link)) {
        timeout_class_init(&linger_class, (bt_duration){LINGER_MS}, linger_expired);
        list_init(&lingers);
    }
    stream_unwatch(s);
    l->stream = *s;
    list_link_init(&l->stream.again.link);
    l->stream.ready = linger_ready;
    l->left = LINGER_BYTES;
    s->fd = -1;
    s->pending = NULL;
    s->via = NULL;
    s->readable = s->writable = false;
    list_add_tail(&lingers, &l->link);
    n_lingers++;
    timeout_set(&linger_class, &l->timeout);
    return l;
}

void stream_close_lingering(struct stream *s)
{
    struct leaver *l;

    if (s->fd < 0)
        return;
    if (s->cut || s->failed || (s->eof && s->pending == NULL)) {
        stream_close(s); /* nothing can be lost by it */
        return;
    }
    l = linger_take(s);
    stream_shutdown(&l->stream);
    stream_watch(&l->stream);
    linger_ready(&l->stream);
}

size_t stream_lingering(void)
{
    return n_lingers;
}

void stream_cut_lingering(void)
{
    while (n_lingers > 0)
        linger_end(LIST_FIRST(&lingers, struct leaver, link));
}
