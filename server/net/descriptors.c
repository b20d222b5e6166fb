/* descriptors.c - how many descriptors there are, and which of them are not for clients.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

enum { KEEP = 128 };

static int kept_from; /* 0: nobody has asked yet */
static bool reached;

static int learn(void)
{
    struct rlimit limit;
    rlim_t keep;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX)
        return INT_MAX;
    keep = limit.rlim_cur / 4 < KEEP ? limit.rlim_cur / 4 : KEEP;
    return (int)(limit.rlim_cur - keep);
}

bool descriptors_short(int fd)
{
    if (__builtin_expect(kept_from == 0, 0))
        kept_from = learn();
    if (__builtin_expect(fd >= kept_from, 0))
        reached = true;
    return fd >= kept_from;
}

bool descriptors_reached(void)
{
    return reached;
}

bool descriptors_short_now(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

    if (fd >= 0)
        close(fd);
    return fd < 0 || descriptors_short(fd);
}
