/* log.c - the diagnostics log.
 *
 * A line is put together on the stack and goes out by one write() to a descriptor opened for
 * appending, so that lines of several processes never mix. What cannot be written is dropped: the
 * log must not hold the server.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "log"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/str.h"

/* Of server files that did not define BT_LOG_TAG. */
extern __attribute__((visibility("hidden"))) const char bt_log_tag[];
const char bt_log_tag[] = "core";

size_t (*log_prefix_fn)(struct bt_txn *txn, char *buf, size_t cap);
void (*log_on_line)(enum bt_level);
void (*log_on_lost)(void);

enum { LINE_MAX_BYTES = 4096, TAGS = 16, TAG_BYTES = 24 };

static int sink = 2;
static char sink_path[1024]; /* "": not a file of ours */
static bool also_stderr;
static int system_log = -1;
static enum bt_level level_most = BT_INFO;
static char debug_tag[TAGS][TAG_BYTES];
static unsigned debug_tags;
static uint64_t held_back; /* by the limit whose line comes next */
static uint64_t lost;      /* lines, since the last one that could be written */
static int lost_why;
static bool torn; /* a part of the last one stands there, without its end */

/* ---- where it goes ---- */

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

static void sink_set(int fd, const char *path)
{
    if (sink > 2)
        close(sink);
    sink = fd;
    check_fd = fd < 0 ? 2 : fd;
    snprintf(sink_path, sizeof(sink_path), "%s", path);
}

bool log_open(const char *place)
{
    int fd;

    if (strncmp(place, "stdio:", 6) == 0)
        place += 6;
    else if (strncmp(place, "daemon:", 7) == 0)
        place += 7;
    if (strcmp(place, "none") == 0 || strcmp(place, "/dev/null") == 0) {
        sink_set(-1, "");
        return true;
    }
    /* By descriptor, since opening the name anew fails after the rights are dropped, and would
     * truncate nothing but the position of a shared file. */
    if (strcmp(place, "/dev/stdout") == 0 || strcmp(place, "/dev/stderr") == 0) {
        sink_set(strcmp(place, "/dev/stdout") == 0 ? 1 : 2, "");
        return true;
    }
    if (strlen(place) >= sizeof(sink_path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    fd = open_file(place);
    if (fd < 0)
        return false;
    sink_set(fd, place);
    return true;
}

bool log_reopen(void)
{
    int fd;

    if (sink_path[0] == '\0')
        return true;
    fd = open_file(sink_path);
    if (fd < 0)
        return false;
    /* Into the same number: children and libraries may hold it. */
    if (dup3(fd, sink, O_CLOEXEC) < 0) {
        close(fd);
        return false;
    }
    close(fd);
    return true;
}

bool log_rotate(int keep)
{
    char from[sizeof(sink_path) + 16], to[sizeof(sink_path) + 16];

    if (sink_path[0] == '\0')
        return true;
    for (int i = keep - 1; i > 0; i--) {
        snprintf(from, sizeof(from), "%s.%d", sink_path, i - 1);
        snprintf(to, sizeof(to), "%s.%d", sink_path, i);
        if (rename(from, to) != 0 && errno != ENOENT)
            return false;
    }
    if (keep > 0) {
        snprintf(to, sizeof(to), "%s.0", sink_path);
        if (rename(sink_path, to) != 0 && errno != ENOENT)
            return false;
    }
    return log_reopen();
}

bool log_chown(unsigned uid, unsigned gid)
{
    return sink_path[0] == '\0' || fchown(sink, uid, gid) == 0;
}

void log_close(void)
{
    sink_set(2, "");
}

int log_fd(void)
{
    return sink;
}

void log_also_stderr(bool on)
{
    also_stderr = on;
}

/* ---- how much of it ---- */

void log_level(enum bt_level level)
{
    level_most = level;
}

void log_debug_none(void)
{
    debug_tags = 0;
}

void log_debug_tag(const char *tag)
{
    if (tag == NULL || tag[0] == '\0' || debug_tags == TAGS)
        return;
    snprintf(debug_tag[debug_tags++], TAG_BYTES, "%s", tag);
}

static bool tag_wanted(const char *tag)
{
    for (unsigned i = 0; i < debug_tags; i++)
        if (strcmp(debug_tag[i], "all") == 0 || strcmp(debug_tag[i], tag) == 0)
            return true;
    return false;
}

bool bt_log_on(enum bt_level level)
{
    return level <= level_most || (level == BT_DEBUG && debug_tags > 0);
}

bool bt_log_may(struct bt_log_limit *limit, int seconds)
{
    int64_t now = clock_ms();

    if (now < limit->next_ms) {
        limit->held++;
        return false;
    }
    limit->next_ms = now + (int64_t)seconds * 1000;
    held_back = limit->held;
    limit->held = 0;
    return true;
}

/* ---- a line ---- */

static const char *level_word(enum bt_level level)
{
    switch (level) {
    case BT_ERROR:
        return "error: ";
    case BT_WARN:
        return "warning: ";
    case BT_INFO:
        return "";
    case BT_DEBUG:
        return "debug: ";
    }
    NEVER();
}

static size_t add_time(char *buf, size_t cap)
{
    static char text[24];
    static int64_t made_for = INT64_MIN;
    int64_t ms;

    clock_refresh(); /* a line is rare, and its time is what it is read for */
    ms = clock_wall_ms();
    if (ms / 1000 != made_for) {
        time_t now = (time_t)(ms / 1000);
        struct tm tm;

        localtime_r(&now, &tm);
        strftime(text, sizeof(text), "%Y/%m/%d %H:%M:%S", &tm);
        made_for = ms / 1000;
    }
    return (size_t)snprintf(buf, cap, "%s.%03d ", text, (int)(ms % 1000));
}

/* The same line without what could end it or command a terminal. */
static size_t escape(const char *from, size_t len, char *to, size_t cap)
{
    struct str_builder b;

    str_builder_init(&b, to, cap);
    for (size_t i = 0; i < len && !b.over; i++) {
        uint8_t c = (uint8_t)from[i];

        if (c == '\n')
            str_add_literal(&b, "\\n");
        else if (c == '\r')
            str_add_literal(&b, "\\r");
        else if ((c < 32 && c != '\t') || c == 127)
            str_add_format(&b, "\\x%02x", (unsigned)c);
        else
            str_add_char(&b, (char)c);
    }
    return b.len;
}

/* Where a full disk has cut a line, the next one begins anew. */
static bool sink_write(const char *line, size_t len)
{
    ssize_t n;

    if (torn && write(sink, "\n", 1) != 1)
        return false;
    torn = false;
    n = write(sink, line, len);
    if (n >= 0 && (size_t)n < len) {
        torn = n > 0;
        errno = ENOSPC; /* which is what a short write to a file means */
    }
    return n == (ssize_t)len;
}

/* It is said when lines can be written again; nobody would read it before. */
static void tell_lost(void)
{
    char line[256];
    size_t at = add_time(line, sizeof line);

    at += (size_t)snprintf(line + at, sizeof line - at,
                           BT_LOG_TAG "| warning: %llu lines could not be written here: %s\n",
                           (unsigned long long)lost, strerror(lost_why));
    if (sink_write(line, at))
        lost = 0;
}

static void line_write(const char *line, size_t len)
{
    if (sink >= 0 && lost > 0)
        tell_lost();
    if (sink >= 0 && !sink_write(line, len)) {
        lost_why = errno;
        lost++;
        if (log_on_lost != NULL)
            log_on_lost();
    }
    if (also_stderr && sink != 2)
        (void)!write(2, line, len);
}

bool log_syslog(const char *socket_path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", socket_path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        return false;
    if (system_log >= 0)
        close(system_log);
    system_log = fd;
    return true;
}

/* `text` is without the time, which the receiver puts there (RFC 3164 4.3.2). */
static void syslog_write(enum bt_level level, const char *text, size_t len)
{
    static const int severity[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
    char line[LINE_MAX_BYTES + 64];
    int n;

    if (system_log < 0)
        return;
    n = snprintf(line, sizeof(line), "<%d>bobtail[%d]: %.*s", LOG_DAEMON | severity[level],
                 (int)getpid(), (int)len, text);
    (void)!send(system_log, line, (size_t)n, MSG_NOSIGNAL);
}

void bt_log_tagged(struct bt_txn *txn, const char *tag, enum bt_level level, const char *format,
                   ...)
{
    char text[LINE_MAX_BYTES - 512], line[LINE_MAX_BYTES + 2];
    uint64_t held = held_back;
    int saved = errno;
    size_t len;
    va_list args;
    int made;

    held_back = 0;
    if (level > level_most && !(level == BT_DEBUG && tag_wanted(tag)))
        return;
    va_start(args, format);
    made = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (made < 0)
        return;
    len = (size_t)made < sizeof(text) ? (size_t)made : sizeof(text) - 1;
    while (len > 0 && text[len - 1] == '\n')
        len--; /* a slip of ours, not another line */

    size_t at = add_time(line, LINE_MAX_BYTES), after_time = at;
    if (log_prefix_fn != NULL)
        at += log_prefix_fn(txn, line + at, 200);
    at += (size_t)snprintf(line + at, 64, "%.40s| %s", tag, level_word(level));
    at += escape(text, len, line + at, LINE_MAX_BYTES - at - 64);
    if ((size_t)made >= sizeof(text))
        at += (size_t)snprintf(line + at, 8, "...");
    if (held > 0)
        at += (size_t)snprintf(line + at, 48, " (%llu more like this)", (unsigned long long)held);
    syslog_write(level, line + after_time, at - after_time);
    line[at++] = '\n';
    line_write(line, at);
    if (level <= BT_WARN && log_on_line != NULL)
        log_on_line(level);
    errno = saved;
}
