/* tescape.c - tries what one would who has broken into a worker: `bobtailctl escape WAY PATH`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bt.h"

extern char **environ;

/* 0 or the error. */
static int opened(int fd)
{
    int why = errno;

    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : why;
}

static int result(long n)
{
    return n < 0 ? errno : 0;
}

static int spawned(const char *path)
{
    char *words[] = {(char *)path, NULL};
    pid_t pid;
    int status, why = posix_spawn(&pid, path, NULL, NULL, words, environ);

    if (why == 0)
        waitpid(pid, &status, 0);
    return why;
}

static int in_child(long (*call)(void))
{
    int status;
    pid_t pid = fork();

    if (pid < 0)
        return errno;
    if (pid == 0)
        _exit(result(call()));
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

static long trace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}
static long spaces(void)
{
    return unshare(CLONE_NEWUSER);
}
static long spaces_by_clone(void)
{
    return syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0);
}
static long become_root(void)
{
    return setuid(0);
}
static long mounted(void)
{
    return mount("x", "/proc", "tmpfs", 0, NULL);
}

static void *thread(void *arg)
{
    return arg;
}

static int attempt(bt_str way, const char *path)
{
    pthread_t other;

    if (strcmp(way.at, "read") == 0)
        return opened(open(path, O_RDONLY | O_CLOEXEC));
    if (strcmp(way.at, "write") == 0)
        return opened(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (strcmp(way.at, "exec") == 0)
        return spawned(path);
    if (strcmp(way.at, "packet") == 0)
        return opened(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (strcmp(way.at, "inet") == 0)
        return opened(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (strcmp(way.at, "ptrace") == 0)
        return in_child(trace);
    if (strcmp(way.at, "unshare") == 0)
        return in_child(spaces);
    if (strcmp(way.at, "clone") == 0)
        return in_child(spaces_by_clone);
    if (strcmp(way.at, "setuid") == 0)
        return in_child(become_root);
    if (strcmp(way.at, "mount") == 0)
        return in_child(mounted);
    if (strcmp(way.at, "bpf") == 0)
        return result(syscall(SYS_bpf, 99, NULL, 0));
    if (strcmp(way.at, "thread") == 0) {
        int why = pthread_create(&other, NULL, thread, NULL);
        if (why == 0)
            pthread_join(other, NULL);
        return why;
    }
    return -1;
}

static void escape(struct bt_call *call, const bt_str *word, size_t n)
{
    int why = n > 0 ? attempt(word[0], n > 1 ? word[1].at : "") : -1;

    bt_call_print(call, "%s\n", why == 0 ? "done" : why < 0 ? "no such way" : strerrorname_np(why));
    bt_call_done(call, NULL);
}

static const struct bt_command commands[] = {{"escape", "", "Tries to get out.", escape}};

BT_MODULE(tescape, "Tries to get out of a worker.", .commands = BT_ROWS(commands));
