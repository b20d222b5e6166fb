/* frame.c - a head and pieces of a body, written in one system call.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/txn.h"
#include "net/buffer.h"
#include "net/stream.h"

enum { FRAME_ROOM = 16 * 1024 }; /* what we may add to a head: Via, X-Forwarded-For, framing */

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

struct writer frame_writer(struct bt_txn *txn, const struct head *received)
{
    size_t need = received->bytes + txn->answer_fields.len + txn->reply_fields.len +
                  txn->overlay_bytes + txn->url.text.len + FRAME_ROOM;

    if (need <= BUFFER_OUT)
        return writer_on(buffer_out(), BUFFER_OUT);
    return writer_on(bt_alloc_raw(txn->arena, need), need);
}
