/* buffer.h - buffers that the whole worker shares, since only one callback runs at a time.
 *
 * What stands in one is gone when the callback that wrote it returns (or calls somebody who uses the
 * same one). Never cleared; pages that were never used cost nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_BUFFER_H
#define NET_BUFFER_H

enum {
    BUFFER_IN = 64 * 1024,
    BUFFER_OUT = 128 * 1024 /* a head of the largest size, and what we add to it */
};

/* To read into: BUFFER_IN bytes. */
char *buffer_in(void);
/* To build heads in: BUFFER_OUT bytes. */
char *buffer_out(void);

#endif
