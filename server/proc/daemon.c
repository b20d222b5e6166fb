/* daemon.c - two forks and a pipe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"

static bool is_daemon;
static int told = -1; /* where the process that was started waits */

bool daemon_is(void)
{
    return is_daemon;
}

static _Noreturn void wait_for_it(int from)
{
    char byte;
    ssize_t n;

    do
        n = read(from, &byte, 1);
    while (n < 0 && errno == EINTR);
    _exit(n == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
}

bool daemon_begin(void)
{
    int ends[2];

    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid > 0) {
        close(ends[1]);
        wait_for_it(ends[0]);
    }
    close(ends[0]);
    /* Of its own session, and not its leader, so that no terminal becomes its terminal. */
    setsid();
    pid = fork();
    if (pid < 0)
        return false;
    if (pid > 0)
        _exit(EXIT_SUCCESS);
    told = ends[1];
    is_daemon = true;
    return true;
}

void daemon_let_go(void)
{
    int null = is_daemon ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

    if (null < 0)
        return;
    log_also_stderr(false);
    for (int fd = 0; fd <= 2; fd++)
        if (fd != log_fd())
            dup2(null, fd);
    if (null > 2)
        close(null);
}

void daemon_done(void)
{
    if (told < 0)
        return;
    daemon_let_go();
    ssize_t n = write(told, "+", 1);
    (void)n; /* nobody waits any more: it is a daemon all the same */
    close(told);
    told = -1;
}

void daemon_leave(void)
{
    if (told >= 0)
        close(told);
    told = -1;
}
