/* pipe.h - bytes from one socket to another without a copy in this process.
 *
 * splice(2) moves pages from a socket into a pipe and on into another socket; it pays for bulk, not
 * for small reads, where the pages are many and hold little. Who has bulk takes a pipe, and gives it
 * back as soon as nothing more comes: whoever is idle holds none. The worker has so many at most;
 * who gets none copies.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_PIPE_H
#define NET_PIPE_H

#include "net/stream.h"

enum {
    PIPES_MAX = 64,          /* in use at once, in a worker: 128 descriptors */
    PIPES_SPARE = 8,         /* kept while nobody needs them */
    PIPE_FILL = 1024 * 1024, /* what a pipe may hold; never more at a time */
    PIPE_LEAST = 256 * 1024  /* what it must hold to be worth it */
};

struct pipe {
    int in, out; /* written to, read from */
    size_t held; /* bytes within */
    struct pipe *next;
};

/* An empty one; NULL: there are too many, or no descriptors. */
struct pipe *pipe_take(void);
/* Back, and NULL; what it holds is lost. Safe on NULL. */
void pipe_give(struct pipe **);
/* Close those that nobody uses; the others when they are given back, as ever. */
void pipe_close_spare(void);

/* Can a stream be one end? Not with a transport, and not with bytes that it has yet to write. */
static inline bool pipe_fits(const struct stream *s)
{
    return s->via == NULL && s->pending == NULL;
}
/* From a stream into an empty pipe, at most `max` bytes: how many, or BT_IO_ as stream_read() says
 * it, or STREAM_UNABLE. AGAIN is no proof that nothing is there: urgent data stops a splice, not
 * a read. So read once before you wait. */
ssize_t pipe_fill(struct pipe *, struct stream *from, size_t max);
/* What is held, into a stream. What it does not take stays, and ready() tells when there is room.
 * false: the connection takes no more (`cut`), and what is held is lost. */
BT_MUST bool pipe_drain(struct pipe *, struct stream *to);

#endif
