/* bt_transport.h - a byte stream over something else than the bare socket (TLS).
 *
 * A stream without a transport reads and writes its descriptor. With one, it calls these instead;
 * nothing above the stream can tell the difference. All are non-blocking.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_TRANSPORT_H
#define BT_TRANSPORT_H

#include <sys/types.h>

#include "bt_types.h"

struct iovec;

enum {
    BT_IO_AGAIN = -1, /* nothing now; readiness of the descriptor will tell */
    BT_IO_EOF = -2,   /* read: the other side said that it is done */
    BT_IO_ERROR = -3  /* over; errno or the transport's own text says why */
};

struct bt_transport {
    const char *name;
    ssize_t (*read)(void *state, void *buf, size_t cap);           /* bytes, or BT_IO_ */
    ssize_t (*write)(void *state, const struct iovec *iov, int n); /* bytes, or BT_IO_ */
    /* There may be more to read of which no edge will tell: bytes decoded and not read yet, or left in
     * the socket since the last read did not take all that was there. */
    bool (*holds_bytes)(void *state);
    void (*shutdown)(void *state); /* no more writes */
    void (*close)(void *state);    /* frees the state; the stream closes the descriptor */
};

#endif
