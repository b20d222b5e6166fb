/* input.c - bytes received and not yet used.
 *
 * Reads go into a buffer that all connections of the worker share; only what an event could not use
 * up is moved to the heap, so that a connection owns a buffer exactly while it has to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "bt_transport.h"
#include "flow/txn.h"
#include "net/stream.h"

char shared_client[SHARED_BYTES];
char shared_origin[SHARED_BYTES];

enum { INPUT_STEP = 4096 };

/* Move what is unread to the heap, with at least `room` free bytes behind it. */
static void input_own(struct input *in, size_t room)
{
    size_t len = input_len(in);

    if (in->heap == NULL || in->cap < len + room) {
        size_t cap = (len + room + INPUT_STEP - 1) / INPUT_STEP * INPUT_STEP;
        char *heap = malloc(cap);
        CHECK(heap != NULL);
        if (len > 0)
            memcpy(heap, in->at, len);
        free(in->heap);
        in->heap = heap;
        in->cap = (uint32_t)cap;
    } else if (in->at != in->heap && len > 0) {
        memmove(in->heap, in->at, len);
    }
    in->at = in->heap;
    in->end = in->heap + len;
}

ssize_t input_read(struct input *in, struct stream *stream, char *shared, size_t limit)
{
    size_t len = input_len(in), room = limit < SHARED_BYTES ? limit : SHARED_BYTES;
    char *to = shared;

    if (len > 0) {
        if (len >= limit)
            return BT_IO_AGAIN; /* the caller knows its own limit and refuses */
        room = limit - len < SHARED_BYTES ? limit - len : SHARED_BYTES;
        if (room > INPUT_STEP)
            room = INPUT_STEP; /* grow with what comes, not with what might */
        input_own(in, room);
        to = in->heap + len;
    }
    ssize_t n = stream_read(stream, to, room);
    if (n > 0) {
        if (len == 0)
            in->at = shared;
        in->end = to + n;
    }
    return n;
}

void input_settle(struct input *in, const char *shared)
{
    if (in->at == in->end) {
        input_free(in);
        return;
    }
    if (in->at >= shared && in->at < shared + SHARED_BYTES)
        input_own(in, 0);
}

enum body_result input_slices(struct input *in, struct body *body, bt_str *slice, int max, int *n)
{
    enum body_result result = BODY_DATA;

    for (*n = 0; *n < max; (*n)++) {
        result = body_next(body, &in->at, in->end, &slice[*n]);
        if (result != BODY_DATA)
            break;
    }
    return *n > 0 && result == BODY_MORE ? BODY_DATA : result;
}

void input_free(struct input *in)
{
    free(in->heap);
    *in = (struct input){0};
}
