/* rand.c - random bytes, and jitter.
 *
 * The fast generator is xoshiro256**; a forked process draws a new seed, so that workers do not
 * march in step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/rand.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

#include "base/check.h"

static uint64_t state[4];
static bool seeded;

void rand_bytes(void *out, size_t n)
{
    char *at = out;

    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        CHECK(got > 0 || errno == EINTR);
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
}

static void forget_seed(void)
{
    seeded = false;
}

static void seed(void)
{
    static bool watching;

    if (!watching)
        watching = pthread_atfork(NULL, NULL, forget_seed) == 0;
    rand_bytes(state, sizeof(state));
    state[0] |= 1; /* all zero is the one state that it never leaves */
    seeded = true;
}

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

uint64_t rand_u64(void)
{
    if (__builtin_expect(!seeded, 0))
        seed();
    uint64_t out = rotate(state[1] * 5, 7) * 9;
    uint64_t t = state[1] << 17;

    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotate(state[3], 45);
    return out;
}

uint64_t rand_below(uint64_t below)
{
    uint64_t uneven, n;

    CHECK(below > 0);
    uneven = (0 - below) % below; /* so many low values would come once too often */
    do
        n = rand_u64();
    while (n < uneven);
    return n % below;
}

int64_t rand_jitter(int64_t value, unsigned percent)
{
    int64_t span = value / 100 * percent + value % 100 * percent / 100;

    if (span <= 0)
        return value;
    return value - span + (int64_t)rand_below((uint64_t)span * 2 + 1);
}
