/* frame.c - a head and pieces of a body, written in one system call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/txn.h"
#include "net/buffer.h"
#include "net/stream.h"

enum {
    FRAME_ROOM = 16 * 1024, /* what we may add to a head: Via, X-Forwarded-For, framing */
    FRAME_VIA = 64 * 1024   /* bytes of a body that are given to a transport in one go */
};

static struct iovec frame_iov(bt_str s)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)s.at, .iov_len = s.len};
}

bool frame_write(struct stream *stream, const struct framed *f, int64_t *bytes)
{
    char heads[SLICES_MAX][BODY_CHUNK_HEAD_MAX];
    struct iovec iov[SLICES_MAX * 3 + 2];
    int n = 0;

    if (f->head.len > 0)
        iov[n++] = frame_iov(f->head);
    for (int i = 0; i < f->n; i++) {
        if (f->chunked) {
            size_t len = body_chunk_head(heads[i], f->slice[i].len);
            iov[n++] = frame_iov((bt_str){heads[i], len});
        }
        iov[n++] = frame_iov(f->slice[i]);
        if (f->chunked)
            iov[n++] = frame_iov(BODY_CHUNK_END);
    }
    if (f->chunked && f->last)
        iov[n++] = frame_iov(BODY_LAST_CHUNK);
    if (n == 0)
        return true;
    for (int i = 0; i < n; i++)
        *bytes += (int64_t)iov[i].iov_len;
    return stream_write(stream, iov, n);
}

/* ---- what the network takes now ---- */

/* One write: `front` parts of head and framing, pieces of the body, `back` parts of framing. */
struct offering {
    struct iovec iov[SLICES_MAX + 4];
    int front, body, back;
    size_t before, sum, after; /* their bytes */
    bt_str own[SLICES_MAX];
    char chunk[BODY_CHUNK_HEAD_MAX];
};

static void offering_add(struct offering *o, int *n, size_t *bytes, bt_str part)
{
    o->iov[o->front + o->body + o->back] = frame_iov(part);
    ++*n;
    *bytes += part.len;
}

/* At most `room` bytes of the pieces. */
static void offering_trim(struct offering *o, struct framed *f, uint64_t room)
{
    size_t sum = 0;

    for (int i = 0; i < f->n; i++) {
        o->own[i] = f->slice[i];
        if (o->own[i].len > room - sum) {
            o->own[i].len = (size_t)(room - sum);
            f->n = o->own[i].len > 0 ? i + 1 : i;
            f->last = false;
        }
        sum += o->own[i].len;
    }
    f->slice = o->own;
    o->sum = sum;
}

static void offering_make(struct offering *o, struct framed *f, uint64_t *open, size_t most)
{
    uint64_t room = f->chunked && *open > 0 ? *open : SIZE_MAX;
    size_t sum = 0;

    o->front = o->body = o->back = 0;
    o->before = o->after = 0;
    offering_trim(o, f, room < most ? room : most);
    if (f->head.len > 0)
        offering_add(o, &o->front, &o->before, f->head);
    if (f->chunked && *open == 0 && o->sum > 0) {
        *open = o->sum;
        offering_add(o, &o->front, &o->before,
                     (bt_str){o->chunk, body_chunk_head(o->chunk, o->sum)});
    }
    for (int i = 0; i < f->n; i++)
        offering_add(o, &o->body, &sum, f->slice[i]);
    if (f->chunked && o->sum > 0 && *open == o->sum)
        offering_add(o, &o->back, &o->after, BODY_CHUNK_END);
    if (f->chunked && f->last)
        offering_add(o, &o->back, &o->after, BODY_LAST_CHUNK);
}

/* What the network did not take of bytes that nobody else has. */
static bool frame_keep(struct stream *stream, const struct iovec *iov, int n, size_t skip)
{
    struct iovec rest[4];
    int k = 0;

    for (int i = 0; i < n; i++) {
        size_t pass = skip < iov[i].iov_len ? skip : iov[i].iov_len;
        if (iov[i].iov_len > pass)
            rest[k++] = (struct iovec){(char *)iov[i].iov_base + pass, iov[i].iov_len - pass};
        skip -= pass;
    }
    return k == 0 || stream_write(stream, rest, k);
}

bool frame_offer(struct stream *stream, struct framed *f, struct frame_state *state)
{
    struct offering o;
    size_t did;
    bool whole;

    /* A transport wants the same bytes again where it did not take them: they are kept. */
    offering_make(&o, f, state->open, stream->via != NULL ? FRAME_VIA : SIZE_MAX);
    if (stream->via != NULL) {
        if (!stream_write(stream, o.iov, o.front + o.body + o.back))
            return false;
        did = o.before + o.sum + o.after;
    } else {
        ssize_t got = stream_offer(stream, o.iov, o.front + o.body + o.back);
        if (got < 0)
            return false;
        did = (size_t)got;
    }
    whole = did >= o.before + o.sum;
    state->full = !whole;
    state->taken = whole ? o.sum : did > o.before ? did - o.before : 0;
    *state->bytes += (int64_t)(o.before + state->taken + (whole ? o.after : 0));
    if (f->chunked)
        *state->open -= state->taken;
    if (whole)
        return frame_keep(stream, o.iov + o.front + o.body, o.back, did - o.before - o.sum);
    f->last = false;
    return frame_keep(stream, o.iov, o.front, did);
}

struct writer frame_writer(struct bt_txn *txn, const struct head *received, size_t more)
{
    size_t need = received->bytes + txn->answer_fields.len + txn->reply_fields.len +
                  txn->overlay_bytes + txn->url.text.len + FRAME_ROOM + more;

    if (need <= BUFFER_OUT)
        return writer_on(buffer_out(), BUFFER_OUT);
    return writer_on(bt_alloc_raw(txn->arena, need), need);
}
