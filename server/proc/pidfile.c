/* pidfile.c - takes, reads and removes the pid file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static pid_t pid_in(int fd)
{
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    long pid = n > 0 ? strtol(text, NULL, 10) : 0;

    return pid > 0 ? (pid_t)pid : 0;
}

/* Is `fd` still what the path names? Its last owner may have removed it before we got the lock. */
static bool same_file(int fd, const char *path)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
}

static bool is_file(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static bool write_pid(int fd)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    return ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)len, 0) == len;
}

enum pidfile_result pidfile_take(struct pidfile *file, const char *path, pid_t *holder)
{
    file->fd = -1;
    if (strlen(path) >= sizeof file->path) {
        errno = ENAMETOOLONG;
        return PIDFILE_FAILED;
    }
    for (int tries = 0; tries < 10; tries++) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
            return PIDFILE_FAILED;
        if (!is_file(fd)) { /* "pid_filename /dev/null" means none, and is not ours to remove */
            close(fd);
            return PIDFILE_FINE;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            enum pidfile_result result = errno == EWOULDBLOCK ? PIDFILE_TAKEN : PIDFILE_FAILED;
            *holder = pid_in(fd);
            close(fd);
            return result;
        }
        if (!same_file(fd, path)) {
            close(fd);
            continue;
        }
        if (!write_pid(fd)) {
            int why = errno;
            unlink(path);
            close(fd);
            errno = why;
            return PIDFILE_FAILED;
        }
        (void)fchmod(fd, 0644); /* whatever the umask: -k is for others to read it */
        strcpy(file->path, path);
        file->fd = fd;
        return PIDFILE_FINE;
    }
    errno = EBUSY;
    return PIDFILE_FAILED;
}

void pidfile_release(struct pidfile *file)
{
    if (file->fd < 0)
        return;
    /* One who has dropped its rights may not remove it, but it can still say that it is gone. */
    if (same_file(file->fd, file->path) && unlink(file->path) != 0 && ftruncate(file->fd, 0) != 0)
        fprintf(stderr, "bobtail: %s: cannot be removed: %s; remove it\n", file->path,
                strerror(errno));
    pidfile_close(file);
}

void pidfile_close(struct pidfile *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

enum pidfile_state pidfile_look(const char *path, pid_t *pid)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *pid = 0;
    if (fd < 0)
        return errno == ENOENT ? PIDFILE_MISSING : PIDFILE_UNREADABLE;
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    *pid = pid_in(fd);
    close(fd);
    return held && *pid > 0 ? PIDFILE_LIVE : PIDFILE_STALE;
}
