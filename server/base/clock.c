/* clock.c - now, read once a loop turn.
 *
 * The wall clock is asked once a second only; between, it is the monotonic clock plus a base. A
 * step of the wall clock is therefore seen within a second, and never by a duration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <time.h>

int64_t clock_now_us;
int64_t clock_wall_base_us;

static int64_t shifted_us;
static int64_t next_sync_us = INT64_MIN;

static int64_t read_us(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now); /* cannot fail for these two clocks */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

__attribute__((constructor)) void clock_refresh(void)
{
    int64_t real_us = read_us(CLOCK_MONOTONIC);

    if (real_us >= next_sync_us) {
        clock_wall_base_us = read_us(CLOCK_REALTIME) - real_us;
        next_sync_us = real_us + 1000000;
    }
    clock_now_us = real_us + shifted_us;
}

void clock_shift(int64_t ms)
{
    shifted_us += ms * 1000;
    clock_refresh();
}

int64_t clock_shifted(void)
{
    return shifted_us / 1000;
}
