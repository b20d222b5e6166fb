/* buffer.c - buffers that the whole worker shares.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/buffer.h"

static char in[BUFFER_IN], out[BUFFER_OUT];

char *buffer_in(void)
{
    return in;
}

char *buffer_out(void)
{
    return out;
}
