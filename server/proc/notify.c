/* notify.c - tells systemd (or whoever made $NOTIFY_SOCKET) how the server is: sd_notify(3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

static int fd = -1;
static struct sockaddr_un addr = {.sun_family = AF_UNIX};
static socklen_t addr_len;
static int64_t every_ms, due_ms = INT64_MAX;

/* $WATCHDOG_PID is ours after an exec, too. */
static void watchdog_begin(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t wanted, whose;

    if (usec == NULL || !str_uint(str_from(usec), INT64_MAX, &wanted) || wanted == 0)
        return;
    if (pid != NULL && (!str_uint(str_from(pid), INT32_MAX, &whose) || (pid_t)whose != getpid()))
        return;
    every_ms = (int64_t)(wanted / 2000);
    if (every_ms == 0)
        every_ms = 1;
    due_ms = 0;
}

void notify_begin(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path == NULL ? 0 : strlen(path);

    if (len < 2 || len >= sizeof addr.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(addr.sun_path, path, len);
    if (path[0] == '@')
        addr.sun_path[0] = '\0';
    addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/'));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        watchdog_begin();
}

static void say(const char *format, ...) BT_PRINTF(1, 2);
static void say(const char *format, ...)
{
    char text[512];
    va_list args;

    if (fd < 0)
        return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        (void)!sendto(fd, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1, MSG_NOSIGNAL,
                      (const struct sockaddr *)&addr, addr_len);
}

void notify_ready(const char *text)
{
    say("READY=1\nMAINPID=%ld\nSTATUS=%.300s", (long)getpid(), text);
}

void notify_reloading(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    say("RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\nSTATUS=Reading the configuration",
        (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

void notify_stopping(void)
{
    say("STOPPING=1\nSTATUS=Finishing what is under way");
}

int64_t notify_every_ms(void)
{
    return every_ms > 0 ? every_ms : -1;
}

int64_t notify_due_ms(void)
{
    return due_ms;
}

void notify_alive(int64_t now_ms)
{
    if (every_ms == 0)
        return;
    due_ms = now_ms + every_ms;
    say("WATCHDOG=1");
}

void notify_leave(void)
{
    if (fd >= 0)
        close(fd);
    fd = -1;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}
