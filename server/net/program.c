/* program.c - start programs, hear what they grumble, see them end.
 *
 * posix_spawn() is vfork() and exec(): a worker does not wait for its memory to be copied. All
 * descriptors of ours close on exec; the range is closed all the same, since libraries open some.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "helper"
#include "net/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "bt_log.h"

extern char **environ;

/* ---- standard error ---- */

static void line_log(struct grumble *g)
{
    int64_t now = clock_ms() / 1000;

    if (g->len == 0)
        return;
    if (now != g->second) {
        if (g->lost > 0)
            bt_log(NULL, BT_WARN, "%s: (%u more lines)", g->name, g->lost);
        g->second = now;
        g->lines = g->lost = 0;
    }
    if (g->lines++ < GRUMBLE_LINES)
        bt_log(NULL, BT_WARN, "%s: %.*s", g->name, (int)g->len, g->line);
    else
        g->lost++;
    g->len = 0;
}

static void grumble_ready(struct watch *watch, unsigned what)
{
    struct grumble *g = watch->arg;
    char buf[4096];

    (void)what;
    ssize_t n = read(watch->fd, buf, sizeof buf);
    for (ssize_t i = 0; i < n; i++) {
        if (buf[i] == '\n' || g->len == sizeof g->line)
            line_log(g);
        if (buf[i] != '\n')
            g->line[g->len++] = (unsigned char)buf[i] < ' ' ? ' ' : buf[i];
    }
}

bool grumble_open(struct grumble *g, const char *name)
{
    *g = (struct grumble){.name = name, .fd = {-1, -1}};
    if (pipe2(g->fd, O_CLOEXEC) != 0)
        return false;
    fcntl(g->fd[0], F_SETFL, O_NONBLOCK); /* not the other end: programs do not expect that */
    loop_watch(&g->watch, g->fd[0], WATCH_READ, grumble_ready, g);
    return true;
}

void grumble_close(struct grumble *g)
{
    if (g->name == NULL || g->fd[0] < 0)
        return;
    line_log(g);
    loop_unwatch(&g->watch);
    close(g->fd[0]);
    close(g->fd[1]);
    g->fd[0] = g->fd[1] = -1;
}

/* ---- starting ---- */

static int spawn(char *const argv[], int io, int err_fd, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t all, none;
    int failed = 0;

    sigfillset(&all);
    sigemptyset(&none);
    failed |= posix_spawn_file_actions_init(&files);
    failed |= posix_spawnattr_init(&how);
    failed |= posix_spawn_file_actions_adddup2(&files, io, 0);
    failed |= posix_spawn_file_actions_adddup2(&files, io, 1);
    failed |= posix_spawn_file_actions_adddup2(&files, err_fd, 2);
    failed |= posix_spawn_file_actions_addclosefrom_np(&files, 3);
    failed |= posix_spawnattr_setsigdefault(&how, &all);
    failed |= posix_spawnattr_setsigmask(&how, &none);
    failed |= posix_spawnattr_setpgroup(&how, 0);
    failed |= posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                 POSIX_SPAWN_SETPGROUP);
    int error = failed != 0 ? ENOMEM : posix_spawn(pid, argv[0], &files, &how, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return error;
}

int program_start(char *const argv[], int err_fd, pid_t *pid)
{
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return -1;
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    int error = spawn(argv, fd[1], err_fd, pid);
    close(fd[1]);
    if (error == 0)
        return fd[0];
    close(fd[0]);
    errno = error;
    return -1;
}

/* ---- ending ---- */

enum { LOOK_MS = 100, LOOKS = 30 };

struct ending {
    struct timeout
        timeout; /* first, so that nothing looks lost to who searches memory at the end */
    pid_t pid;
    char name[64];
    bool asked;
    unsigned looks;
};

static struct timeout_class endings;
static size_t n_ending;

static bool ended(struct ending *e)
{
    int status = 0;
    pid_t got = waitpid(e->pid, &status, WNOHANG);

    if (got == 0)
        return false;
    if (got == e->pid && !e->asked && WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM)
        bt_log_limited(NULL, BT_WARN, 5, "%s: process %d was ended by signal %d", e->name,
                       (int)e->pid, WTERMSIG(status));
    else if (got == e->pid && !e->asked && WIFEXITED(status))
        bt_log_limited(NULL, BT_WARN, 5, "%s: process %d has ended by itself with status %d",
                       e->name, (int)e->pid, WEXITSTATUS(status));
    return true;
}

static void look(struct timeout *timeout)
{
    struct ending *e = LIST_OF(timeout, struct ending, timeout);

    if (ended(e)) {
        n_ending--;
        free(e);
        return;
    }
    if (++e->looks == LOOKS)
        kill(-e->pid, SIGKILL);
    else if (e->looks == 1)
        kill(-e->pid, SIGTERM);
    timeout_set(&endings, &e->timeout);
}

void program_end(pid_t pid, const char *name, bool asked)
{
    struct ending *e = calloc(1, sizeof *e);

    CHECK(e != NULL);
    if (!list_linked(&endings.link))
        timeout_class_init(&endings, (bt_duration){LOOK_MS}, look);
    e->pid = pid;
    e->asked = asked;
    strncpy(e->name, name, sizeof e->name - 1);
    n_ending++;
    if (asked)
        kill(-pid, SIGTERM);
    /* Its exit status is worth a moment when it left by itself. */
    timeout_set(&endings, &e->timeout);
}

size_t program_ending(void)
{
    return n_ending;
}
