/* pipe.c - bytes from one socket to another without a copy in this process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "stat/counts.h"

static struct pipe *spare;
static unsigned n_spare, n_used;

static void pipe_close(struct pipe *p)
{
    close(p->in);
    close(p->out);
    free(p);
}

/* A new pipe of a size that pays: each slot holds a page or less, so that the usual 16 are a small
 * read. Beyond fs.pipe-user-pages-soft the kernel gives two slots: not worth it. */
static struct pipe *pipe_open(void)
{
    struct pipe *p;
    int fd[2];

    if (pipe2(fd, O_NONBLOCK | O_CLOEXEC) != 0)
        return NULL;
    if (fcntl(fd[1], F_SETPIPE_SZ, PIPE_FILL) < 0 && fcntl(fd[1], F_SETPIPE_SZ, PIPE_LEAST) < 0) {
        close(fd[0]);
        close(fd[1]);
        return NULL;
    }
    p = malloc(sizeof *p);
    CHECK(p != NULL);
    *p = (struct pipe){.in = fd[1], .out = fd[0]};
    return p;
}

struct pipe *pipe_take(void)
{
    struct pipe *p = spare;

    if (n_used >= PIPES_MAX)
        return NULL;
    if (p != NULL) {
        spare = p->next;
        n_spare--;
    } else if ((p = pipe_open()) == NULL) {
        return NULL;
    }
    n_used++;
    count(pipes);
    return p;
}

void pipe_give(struct pipe **pipe)
{
    struct pipe *p = *pipe;

    if (p == NULL)
        return;
    *pipe = NULL;
    n_used--;
    count_by(pipes, -1);
    if (p->held > 0 || n_spare >= PIPES_SPARE) {
        pipe_close(p);
        return;
    }
    p->next = spare;
    spare = p;
    n_spare++;
}

void pipe_close_spare(void)
{
    while (spare != NULL) {
        struct pipe *p = spare;

        spare = p->next;
        pipe_close(p);
    }
    n_spare = 0;
}

ssize_t pipe_fill(struct pipe *p, struct stream *from, size_t max)
{
    ssize_t n = stream_splice_in(from, p->in, max < PIPE_FILL ? max : PIPE_FILL);

    CHECK(p->held == 0);
    if (n > 0) {
        p->held = (size_t)n;
        count_by(spliced, n);
    }
    return n;
}

bool pipe_drain(struct pipe *p, struct stream *to)
{
    while (p->held > 0 && to->writable) {
        ssize_t n = stream_splice_out(to, p->out, p->held);

        if (n == BT_IO_AGAIN)
            break;
        if (n < 0)
            return false;
        p->held -= (size_t)n;
    }
    return !to->cut;
}
