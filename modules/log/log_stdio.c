/* log_stdio.c - log writers stdio and daemon: lines to a file, to standard output or error.
 *
 * Files are opened for appending and a batch is one write(), which the kernel keeps whole, so that
 * lines of several workers never mix. A pipe keeps only PIPE_BUF bytes whole: there a batch goes in
 * pieces that end with a line. Nothing here waits: what a full pipe does not take is lost.
 *
 * Squid's daemon is a program of its own that takes lines over a pipe; here the worker writes
 * itself, and the name means the same as stdio.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bt.h"

struct log {
    const char *path; /* NULL: standard output or error */
    int fd;
    bool pipe;
    bool torn;        /* the last line stands there without its end */
    bool old;         /* it could not be opened anew: lines go to what it was, until it can be */
    int64_t again_ms; /* when that is tried next */
    int64_t uid, gid;
};

enum { AGAIN_MS = 10 * 1000 };

#define COUNTERS(X)                                                                                 \
    X(reopen_failed, "log_stdio.reopen_failed", BT_COUNT, "times",                                  \
      "Log files that could not be opened anew after a rotation, so that lines went on to the old " \
      "ones.")
BT_COUNTERS(COUNTERS);

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
}

/* A description of our own, so that our not waiting is not forced on others who have it. Where the
 * system does not let us have one (a socket), the given one must do. So must it for a file, which
 * nobody waits for: others write where its position is, and must not overwrite our lines. */
static int open_standard(int fd)
{
    char name[32];
    struct stat is;
    int own;

    if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode))
        return fcntl(fd, F_DUPFD_CLOEXEC, 3);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    own = open(name, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void look(struct log *log)
{
    struct stat is;

    log->pipe = fstat(log->fd, &is) == 0 && !S_ISREG(is.st_mode);
}

static bool own(const struct log *log, int fd)
{
    return log->uid < 0 || geteuid() != 0 || fchown(fd, (uid_t)log->uid, (gid_t)log->gid) == 0;
}

static void log_gone(void *what)
{
    struct log *log = what;

    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}

static void *log_open(const struct bt_word *place, const struct bt_log_options *options,
                      struct bt_arena *arena, struct bt_error *err)
{
    struct log *log = bt_alloc(arena, sizeof *log);
    const char *path = place->text.at;

    *log = (struct log){.fd = -1, .uid = options->uid, .gid = options->gid};
    if (place->text.len == 0) {
        bt_complain(err, place,
                    "a file name should follow the colon, as in stdio:/var/log/access.log");
        return NULL;
    }
    if (strcmp(path, "/dev/stdout") == 0) {
        log->fd = open_standard(1);
    } else if (strcmp(path, "/dev/stderr") == 0) {
        log->fd = open_standard(2);
    } else {
        log->path = path;
        log->fd = open_file(path);
    }
    if (log->fd < 0) {
        bt_complain(err, place, "%s cannot be opened for appending: %s", path, strerror(errno));
        return NULL;
    }
    if (log->path != NULL && !own(log, log->fd))
        bt_caution(err, place, "%s cannot be given to the user of the workers: %s", path,
                   strerror(errno));
    look(log);
    bt_defer(arena, log_gone, log);
    return log;
}

/* true: all of it is there. */
static bool write_whole(struct log *log, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write(log->fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
        log->torn = len > 0 && at[-1] != '\n';
    }
    return true;
}

/* The longest piece of whole lines that a pipe takes whole, or one line that is longer. */
static size_t piece_len(const char *at, size_t len)
{
    const char *end;

    if (len <= PIPE_BUF)
        return len;
    end = memrchr(at, '\n', PIPE_BUF);
    if (end == NULL)
        end = memchr(at, '\n', len);
    return end == NULL ? len : (size_t)(end + 1 - at);
}

/* In a worker, after a rotation that failed: the folder may be there again. */
static void try_again(struct log *log)
{
    int fd;

    if (bt_wall_ms() < log->again_ms)
        return;
    log->again_ms = bt_wall_ms() + AGAIN_MS;
    fd = open_file(log->path);
    if (fd < 0)
        return;
    if (dup3(fd, log->fd, O_CLOEXEC) >= 0) {
        log->old = log->torn = false;
        bt_log(NULL, BT_INFO, "%s is open anew", log->path);
        look(log);
    }
    close(fd);
}

static bool log_write(void *what, const char *lines, size_t len)
{
    struct log *log = what;

    if (log->old)
        try_again(log);
    if (log->torn && write(log->fd, "\n", 1) == 1)
        log->torn = false;
    if (!log->pipe)
        return write_whole(log, lines, len);
    while (len > 0) {
        size_t piece = piece_len(lines, len);

        if (!write_whole(log, lines, piece))
            return false;
        lines += piece;
        len -= piece;
    }
    return true;
}

/* access.log becomes access.log.0, that one access.log.1, and so on. */
static void rename_all(const char *path, int keep)
{
    char from[PATH_MAX], to[PATH_MAX];

    for (int i = keep - 1; i >= 0; i--) {
        snprintf(to, sizeof to, "%s.%d", path, i);
        if (i == 0)
            snprintf(from, sizeof from, "%s", path);
        else
            snprintf(from, sizeof from, "%s.%d", path, i - 1);
        if (rename(from, to) != 0 && errno != ENOENT)
            bt_log(NULL, BT_ERROR, "%s cannot be renamed to %s: %s; make the folder writable", from,
                   to, strerror(errno));
    }
}

/* The new file gets the owner of the old one, so that workers may open it. */
static void log_rotate(void *what, int keep, bool in_master)
{
    struct log *log = what;
    struct stat was;
    int fd;

    if (log->path == NULL || (log->pipe && in_master))
        return;
    if (in_master && keep > 0)
        rename_all(log->path, keep);
    fd = open_file(log->path);
    if (fd < 0) {
        bt_log(
            NULL, BT_ERROR,
            "%s cannot be opened: %s; lines go on to the old file, and it is tried again every 10 "
            "s; make its folder writable",
            log->path, strerror(errno));
        log->old = true;
        log->again_ms = bt_wall_ms() + AGAIN_MS;
        if (!in_master)
            bt_count(reopen_failed);
        return;
    }
    log->old = false;
    if (in_master && geteuid() == 0 && fstat(log->fd, &was) == 0 &&
        fchown(fd, was.st_uid, was.st_gid) != 0)
        bt_log(NULL, BT_WARN, "%s cannot be given to its old owner: %s", log->path,
               strerror(errno));
    if (dup3(fd, log->fd, O_CLOEXEC) < 0)
        bt_log(NULL, BT_ERROR, "%s cannot be put into use: %s; lines go on to the old file",
               log->path, strerror(errno));
    close(fd);
    log->torn = false;
    look(log);
}

static const struct bt_log_writer writers[] = {
    {.name = "stdio",
     .place = "PATH",
     .doc = "Lines to a file, which is made when missing; /dev/stdout and /dev/stderr work, too.",
     .open = log_open,
     .write = log_write,
     .rotate = log_rotate},
    {.name = "daemon",
     .place = "PATH",
     .doc = "The same as stdio: no program stands between.",
     .open = log_open,
     .write = log_write,
     .rotate = log_rotate},
};

BT_MODULE(log_stdio, "Access logs in files and on standard output.",
          .counters = BT_ROWS(bt_counters), .log_writers = BT_ROWS(writers));
