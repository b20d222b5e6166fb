/* stream.h - one connection: bytes in, bytes out, and word when either is possible again.
 *
 * One persistent edge-triggered event serves both directions. It is added when the owner first has
 * to wait (stream_watch()), so a connection that is accepted, read, answered and closed at once
 * never meets epoll. The contract of edges, for the owner:
 *
 *   read until you have what you want, or until BT_IO_AGAIN: no second word comes of what is there
 *   already (stream_again() asks for one). A short read clears `readable`; so a request that came
 *   whole costs one recv(), and trying for the next one after it was answered costs none. Only who
 *   lacks something and reads again before he waits makes a second one, which he must: a reset may
 *   stand behind the bytes.
 *   write at any time; when stream_pending() is not 0, stop producing: ready() tells when all is out.
 *   before you return to the loop to wait: stream_watch(). It is cheap when done before.
 *
 * ready() is called for both directions; look at readable, pending, eof, failed, cut. The stream stands
 * in the owner's object (LIST_OF() leads back to it) and owns no buffer while nothing is pending.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <sys/types.h>
#include <sys/uio.h>

#include "bt_transport.h"
#include "net/loop.h"

struct stream_pending;

struct stream {
    struct event event;
    int fd;             /* -1: closed */
    bool readable : 1;  /* a read will give something; a guess until the first one */
    bool unsure : 1;    /* the last read was short: perhaps a reset stands behind it */
    bool writable : 1;  /* the last write was taken whole */
    bool eof : 1;       /* the other side is done, and all it sent was read */
    bool failed : 1;    /* reset, or the like: nothing more comes or goes */
    bool cut : 1;       /* it takes no more from us; what it said before may still be read */
    bool watched : 1;   /* the event is added */
    bool deaf : 1;      /* it does not tell of bytes */
    bool fin : 1;       /* the end was announced, but perhaps bytes stand before it */
    bool shut : 1;      /* our half is closed, or will be when `pending` is out */
    bool shut_sent : 1; /* it is closed */
    uint16_t error;     /* errno of what failed or was cut; 0: the transport's own reason */
    const struct bt_transport *via; /* NULL: the bare socket */
    void *via_state;
    void (*ready)(struct stream *);
    struct stream_pending *pending; /* bytes that the kernel did not take yet; NULL: none */
    void *owner;                    /* for whom LIST_OF() does not do: relay.c */
    struct deferred again;          /* ready() was asked for */
};

/* A connected, non-blocking socket. Taken to be readable and writable until it says otherwise. */
void stream_init(struct stream *, int fd, void (*ready)(struct stream *));
/* Put a transport in between, or take it out. The stream owns `state` from now on. */
void stream_via(struct stream *, const struct bt_transport *, void *state);

/* Bytes read, or BT_IO_AGAIN, BT_IO_EOF, BT_IO_ERROR. No call unless `readable` or `unsure`. */
ssize_t stream_read(struct stream *, void *buf, size_t cap);
/* Writes at once what is taken, and keeps a copy of the rest, after which stream_pending() > 0. The
 * iov is not changed. false: the connection takes no more (`cut`); some bytes may have gone. An
 * origin that answered before it closed may still be read. */
BT_MUST bool stream_write(struct stream *, const struct iovec *iov, int n);
/* The same, saying that more follows in this turn (MSG_MORE). */
BT_MUST bool stream_write_more(struct stream *, const struct iovec *iov, int n);
/* Writes at once what is taken and keeps nothing: how many bytes (perhaps 0; ready() tells when there
 * is room again), or BT_IO_ERROR (`cut`). Only while nothing is pending, and not with a transport. */
ssize_t stream_offer(struct stream *, const struct iovec *iov, int n);
/* One piece. */
BT_MUST bool stream_put(struct stream *, const void *bytes, size_t n);
/* Bytes moved into a pipe, by splice(2): as stream_read() says it, or STREAM_UNABLE: not of this
 * kind of connection, read instead. For pipe.c, which says what else there is to know. */
ssize_t stream_splice_in(struct stream *, int pipe, size_t cap);
enum { STREAM_UNABLE = -4 };
/* Bytes moved out of a pipe that holds `n`, or BT_IO_AGAIN (ready() tells), BT_IO_ERROR (`cut`). Only
 * while nothing is pending. */
ssize_t stream_splice_out(struct stream *, int pipe, size_t n);
/* Whether the other side has ended or was reset, without taking what it said before; for who is
 * called while he has nothing to read. At most one call (a peek), and only when `readable`. */
bool stream_gone(struct stream *);
/* Bytes accepted by stream_write() and not yet by the kernel. */
size_t stream_pending(const struct stream *);

/* Word by ready() from now on. Returns at once when that was done before. */
void stream_watch_add(struct stream *);
static inline void stream_watch(struct stream *s)
{
    if (!s->watched)
        stream_watch_add(s);
}
/* The owner will not read for a while: no word of more bytes until he does. Of ends, errors and room
 * as ever. Worth its system calls when words came for nothing. */
void stream_deaf(struct stream *);
/* Have ready() called from the loop soon, though nothing may have changed. */
void stream_again(struct stream *);

/* No more from our side, once what is pending is out. The other side may still send. */
void stream_shutdown(struct stream *);
/* At once; what is pending is lost. Safe inside ready(), and twice. */
void stream_close(struct stream *);
/* For an answer given while the other side still sends: a close would reset the connection, and the
 * answer might be lost with it. Flushes, shuts our half, throws away what comes (at most 1 MB, at
 * most 2 s), then closes; all that on its own: this stream is closed for its owner at once. */
void stream_close_lingering(struct stream *);
/* How many do that now; and end them all (a worker's end). */
size_t stream_lingering(void);
void stream_cut_lingering(void);

_Static_assert(sizeof(struct stream) <= 200, "an idle connection must stay small");

#endif
