/* relay.c - two streams pumped into each other, until both sides are done.
 *
 * A side that was reset may have said something before: that is delivered first, and only then is
 * the relay over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/relay.h"

#include <string.h>

#include "net/buffer.h"
#include "stat/counts.h"

enum {
    TURN = 8 * BUFFER_IN,  /* bytes in one go, so that one fast pair does not hold up the others */
    SMALL = BUFFER_IN / 4, /* a piece of less is no bulk */
    HOT = 2,               /* from this heat on: splice. Two full reads, one after the other */
    HOTTEST = 4,           /* three small pieces cool it */
    VAIN = 2               /* words for nothing, and none is wanted until there is room */
};

/* One buffer through this process. */
static ssize_t copy(struct relay_way *way, struct stream *in, struct stream *out, size_t room)
{
    ssize_t n = stream_read(in, buffer_in(), room < BUFFER_IN ? room : BUFFER_IN);

    way->read_next = false;
    if (n <= 0)
        return n;
    if (n < SMALL)
        way->heat = 0;
    else if (n == BUFFER_IN && way->heat < HOTTEST)
        way->heat++;
    (void)!stream_put(out, buffer_in(), (size_t)n); /* `cut` tells */
    return n;
}

/* One pipe. */
static ssize_t splice_through(struct relay_way *way, struct stream *in, struct stream *out,
                              size_t room)
{
    ssize_t n = pipe_fill(way->pipe, in, room < PIPE_FILL ? room : PIPE_FILL);

    if (n == STREAM_UNABLE)
        way->copies = true;
    if (n == STREAM_UNABLE || n == BT_IO_AGAIN)
        way->read_next = true;
    if (n <= 0)
        return n;
    way->heat = n < SMALL ? (uint8_t)(way->heat - 1) : HOTTEST;
    (void)!pipe_drain(way->pipe, out); /* `cut` tells */
    return n;
}

/* Does the next piece go through a pipe? */
static bool spliced(struct relay_way *way, const struct stream *in, const struct stream *out)
{
    if (way->copies || way->read_next || way->heat < HOT || in->via != NULL || !pipe_fits(out))
        return false;
    if (way->pipe == NULL)
        way->pipe = pipe_take();
    return way->pipe != NULL;
}

/* Is something of this direction still on its way to `out`? */
static bool held(const struct relay_way *way, const struct stream *out)
{
    return stream_pending(out) > 0 || (way->pipe != NULL && way->pipe->held > 0);
}

static size_t room_for(struct relay *r, int from)
{
    return from == 1 && r->room != NULL ? (size_t)r->room(r) : SIZE_MAX;
}

/* Move what side `from` says to the other, until one of them would block. All bytes of a relay pass
 * here and nowhere else. true: something was moved. */
static bool move(struct relay *r, int from)
{
    struct stream *in = r->side[from], *out = r->side[!from];
    struct relay_way *way = &r->way[from];
    uint64_t was = r->bytes[from];

    if (way->pipe != NULL)
        (void)!pipe_drain(way->pipe, out);
    while (!r->done[from] && !out->cut && !held(way, out)) {
        size_t room = room_for(r, from);
        ssize_t n;

        if (room == 0)
            break;
        if (r->bytes[from] - was >= TURN) {
            stream_again(in);
            break;
        }
        n = spliced(way, in, out) ? splice_through(way, in, out, room) : copy(way, in, out, room);
        if (n > 0) {
            r->bytes[from] += (uint64_t)n;
            if (from == 1 && r->took != NULL)
                r->took(r, n);
            continue;
        }
        if (way->read_next)
            continue;
        if (n == BT_IO_EOF) {
            r->done[from] = true;
            stream_shutdown(out);
        }
        break;
    }
    if (way->pipe != NULL && (way->pipe->held == 0 || out->cut))
        pipe_give(&way->pipe);
    count_by(tunnel_bytes, (int64_t)(r->bytes[from] - was));
    return r->bytes[from] != was;
}

static void finish(struct relay *r, enum relay_why why)
{
    relay_stop(r);
    r->over(r, why);
}

/* It takes no more, and nothing that it said before is still on its way; or the other does not take
 * that either. */
static bool lost(const struct relay *r, int side)
{
    const struct stream *s = r->side[side], *other = r->side[!side];

    return s->cut && (other->cut || (!s->readable && !s->unsure && !held(&r->way[side], other)));
}

/* While one side is slow, each packet of the other would wake this process for nothing. */
static void hear_less(struct relay_way *way, struct stream *in)
{
    if (++way->vain < VAIN)
        return;
    way->vain = 0;
    stream_deaf(in);
}

static void relay_ready(struct stream *s)
{
    struct relay *r = s->owner;
    int from = s == r->side[1];
    bool stuck = s->readable && held(&r->way[from], r->side[!from]);
    bool moved = move(r, 0);

    moved |= move(r, 1);
    if (moved)
        r->way[from].vain = 0;
    else if (stuck)
        hear_less(&r->way[from], s);
    if (moved && r->cls != NULL)
        timeout_set(r->cls, &r->timeout);
    if (lost(r, 0))
        finish(r, RELAY_A_FAILED);
    else if (lost(r, 1))
        finish(r, RELAY_B_FAILED);
    else if (r->done[0] && r->done[1] && stream_pending(r->side[0]) == 0 &&
             stream_pending(r->side[1]) == 0) /* a pipe holds nothing once its end was read */
        finish(r, RELAY_ENDED);
}

static void relay_expired(struct timeout *t)
{
    finish(LIST_OF(t, struct relay, timeout), RELAY_IDLE);
}

void relay_class_init(struct timeout_class *cls, bt_duration idle)
{
    timeout_class_init(cls, idle, relay_expired);
}

void relay_start(struct relay *r, struct stream *a, struct stream *b, struct timeout_class *cls,
                 void (*over)(struct relay *, enum relay_why))
{
    struct stream *side[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        r->side[i] = side[i];
        r->bytes[i] = 0;
        r->done[i] = false;
        r->way[i] = (struct relay_way){0};
        r->was_ready[i] = side[i]->ready;
        r->was_owner[i] = side[i]->owner;
        side[i]->ready = relay_ready;
        side[i]->owner = r;
        stream_watch(side[i]);
    }
    r->cls = cls;
    r->over = over;
    r->running = true;
    if (cls != NULL)
        timeout_set(cls, &r->timeout);
    stream_again(a); /* bytes may be there already, and over() must not be called from here */
}

void relay_stop(struct relay *r)
{
    if (!r->running)
        return;
    r->running = false;
    timeout_clear(&r->timeout);
    for (int i = 0; i < 2; i++) {
        r->side[i]->ready = r->was_ready[i];
        r->side[i]->owner = r->was_owner[i];
        deferred_cancel(&r->side[i]->again);
        pipe_give(&r->way[i].pipe);
    }
}

void relay_again(struct relay *r)
{
    if (r->running)
        stream_again(r->side[1]);
}
