/* clock.h - now, read once a loop turn; and an offset by which tests move time.
 *
 * clock_us() is monotonic, clock_wall_ms() is derived from it, so that neither costs a call. Both
 * come from the vdso. The loop calls clock_refresh() at the head of each callback.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

extern int64_t clock_now_us;       /* monotonic, with the test offset */
extern int64_t clock_wall_base_us; /* wall - monotonic; put right once a second */

/* Read the clock. */
void clock_refresh(void);

/* Microseconds, monotonic, as of the last refresh. For durations. */
static inline int64_t clock_us(void)
{
    return clock_now_us;
}
/* Milliseconds, monotonic. */
static inline int64_t clock_ms(void)
{
    return clock_now_us / 1000;
}
/* Milliseconds, microseconds and seconds since 1970. For logs and dates. */
static inline int64_t clock_wall_us(void)
{
    return clock_now_us + clock_wall_base_us;
}
static inline int64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}
static inline int64_t clock_wall_s(void)
{
    return clock_wall_us() / 1000000;
}
/* When something happened on the wall, that happened at `us` of clock_us(). */
static inline int64_t clock_wall_us_at(int64_t us)
{
    return us + clock_wall_base_us;
}

/* Tests: move both clocks by that much from now on; shifts add up. */
void clock_shift(int64_t ms);
/* The sum of all shifts, in milliseconds: what a timer of the kernel does not know of. */
int64_t clock_shifted(void);

#endif
