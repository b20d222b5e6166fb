/* reread.c - list files of ACLs read again while clients are served.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/reread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "bt.h"
#include "plug/acl.h"
#include "plug/lists.h"
#include "stat/counts.h"

enum {
    NICE = 10,
    LINES_LOGGED = 100,
    SECONDS_MAX = 600 /* names in lists of addresses are looked up, and a file may lie far away */
};

static struct {
    const struct reread_owner *owner;
    struct hub hub;
    struct hub_item pipe, timer, outer;
    pid_t child; /* 0: none */
    FILE *said;
    char *text;
    size_t len;
    bool settling; /* workers have been told */
    uint32_t stamp;
    struct lists_result result;
    struct admin_call *call; /* NULL: nobody waits for an answer */
} r = {.pipe = {.fd = -1}, .timer = {.fd = -1}, .hub = {.fd = -1}};

static struct acls *acls(void)
{
    return acl_self.conf;
}

/* ---- the child ---- */

/* What clients hold must not be held here as well: they would not see it closed. */
static void let_go(int out)
{
    DIR *dir = opendir("/proc/self/fd");

    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd > 2 && fd != out && fd != dirfd(dir) && !lists_has(acls(), fd))
            close(fd);
    }
    if (dir != NULL)
        closedir(dir);
}

static _Noreturn void be_the_child(int out)
{
    static const int heard[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t none;

    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
        signal(heard[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGALRM, SIG_DFL);
    alarm(SECONDS_MAX);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    let_go(out);
    FILE *to = fdopen(out, "w");
    CHECK(to != NULL);
    struct lists_result result = lists_read_anew(acls(), to);
    fprintf(to, "= %d %u %lu %lu\n", result.taken, result.missing, result.bad, result.values);
    fflush(to);
    _exit(EXIT_SUCCESS);
}

/* ---- the end of it ---- */

static void log_lines(const char *text)
{
    unsigned n = 0;

    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        int len = (int)(end - line < 1000 ? end - line : 1000);
        bool warning = memmem(line, (size_t)len, ": warning: ", 11) != NULL;
        bool error = memmem(line, (size_t)len, ": error: ", 9) != NULL;
        if (++n > LINES_LOGGED) {
            bt_log(NULL, BT_WARN, "lists: more was said; bobtailctl reload-lists shows it");
            return;
        }
        bt_log(NULL, warning ? BT_WARN : error ? BT_ERROR : BT_INFO, "lists: %.*s", len, line);
    }
}

static void not_whole(struct admin_call *call)
{
    char bad[48] = "", missing[64] = "";

    if (r.result.bad > 0)
        snprintf(bad, sizeof bad, "%lu line%s left out", r.result.bad,
                 r.result.bad == 1 ? " was" : "s were");
    if (r.result.missing > 0)
        snprintf(missing, sizeof missing, "%u file%s could not be read", r.result.missing,
                 r.result.missing == 1 ? "" : "s");
    admin_failed(call, "%s%s%s; all else is in use", bad,
                 bad[0] != '\0' && missing[0] != '\0' ? ", " : "", missing);
}

static void answer(const char *why)
{
    struct admin_call *call = r.call;

    r.call = NULL;
    if (call == NULL)
        return;
    if (r.text != NULL)
        fputs(r.text, admin_out(call));
    if (why != NULL)
        admin_failed(call, "%s", why);
    else if (r.result.missing > 0 || r.result.bad > 0)
        not_whole(call);
    else
        admin_done(call);
}

static void over(const char *why)
{
    answer(why);
    free(r.text);
    r.text = NULL;
    r.settling = false;
}

static void failed(const char *why)
{
    char text[300];

    snprintf(text, sizeof text, "the lists were not taken%s%s; the old ones stay in use",
             *why != '\0' ? ": " : "", why);
    lists_taken(acls(), false);
    count(list_failures);
    bt_log(NULL, BT_ERROR, "lists: %s; mend that, and read them again", text);
    over(text);
}

/* The last line is for us. */
static bool result_take(void)
{
    char *line = r.text != NULL && r.len > 1 ? memrchr(r.text, '\n', r.len - 1) : NULL;
    int taken;

    line = line != NULL ? line + 1 : r.text;
    if (line == NULL || sscanf(line, "= %d %u %lu %lu", &taken, &r.result.missing, &r.result.bad,
                               &r.result.values) != 4)
        return false;
    r.result.taken = taken != 0;
    *line = '\0';
    return true;
}

static void child_ended(void)
{
    hub_remove(&r.hub, &r.pipe);
    close(r.pipe.fd);
    r.pipe.fd = -1;
    (void)waitpid(r.child, NULL, 0); /* the master may have met it already */
    r.child = 0;
    fclose(r.said);
    bool whole = result_take();
    if (r.text != NULL)
        log_lines(r.text);
    if (!whole || !r.result.taken) {
        failed(whole || (r.text != NULL && *r.text != '\0')
                   ? ""
                   : "the process that read them ended too early");
        return;
    }
    lists_taken(acls(), true);
    lists_follow(acls());
    count(list_reloads);
    count_by(list_missing, r.result.missing);
    count_by(list_bad, (int64_t)r.result.bad);
    count_by(list_values, (int64_t)r.result.values);
    r.stamp = r.owner->tell();
    r.settling = true;
    reread_look();
}

void reread_look(void)
{
    if (!r.settling || r.child != 0 || !r.owner->is_done(r.stamp))
        return;
    lists_settled(acls());
    over(NULL);
}

static void pipe_ready(struct hub_item *item, uint32_t events)
{
    char buf[4096];
    ssize_t n;

    (void)events;
    while ((n = read(item->fd, buf, sizeof buf)) > 0)
        fwrite(buf, 1, (size_t)n, r.said);
    if (n == 0)
        child_ended();
}

/* ---- the beginning ---- */

static const char *start(void)
{
    int ends[2];
    const char *why = lists_prepare(acls());

    if (why != NULL)
        return why;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return strerror(errno);
    fflush(NULL); /* or the child would write it again */
    pid_t pid = fork();
    if (pid == 0) {
        (void)fcntl(ends[1], F_SETFL, 0); /* it may wait for us */
        be_the_child(ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return "no process can be made";
    }
    r.result = (struct lists_result){.taken = false};
    r.child = pid;
    r.text = NULL;
    r.said = open_memstream(&r.text, &r.len);
    CHECK(r.said != NULL);
    r.pipe = (struct hub_item){ends[0], pipe_ready};
    hub_add(&r.hub, &r.pipe, EPOLLIN);
    return NULL;
}

/* `call` may be NULL. */
static void begin(struct admin_call *call)
{
    if (!lists_any(acls())) {
        if (call != NULL)
            admin_failed(call, "no ACL has a list file that can be read again");
        return;
    }
    if (r.child != 0 || r.settling) {
        if (call != NULL)
            admin_failed(call, "the lists are being read already; ask again");
        return;
    }
    r.call = call;
    const char *why = start();
    if (why != NULL)
        failed(why);
}

static void timer_ready(struct hub_item *item, uint32_t events)
{
    uint64_t ticks;

    (void)events;
    if (read(item->fd, &ticks, sizeof ticks) == (ssize_t)sizeof ticks && r.child == 0 &&
        !r.settling && lists_changed(acls()))
        begin(NULL);
}

static void outer_ready(struct hub_item *item, uint32_t events)
{
    (void)item;
    (void)events;
    reread_turn();
}

void reread_ask(struct admin_call *call, const char *why_not)
{
    if (why_not != NULL)
        admin_failed(call, "%s", why_not);
    else
        begin(call);
}

int reread_open(const struct reread_owner *owner, struct hub *hub)
{
    static const struct itimerspec each_second = {{1, 0}, {1, 0}};

    if (!lists_any(acls()))
        return -1;
    r.owner = owner;
    if (!hub_open(&r.hub))
        return -1;
    if (acls()->watch) {
        r.timer = (struct hub_item){timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                                    timer_ready};
        CHECK(r.timer.fd >= 0 && timerfd_settime(r.timer.fd, 0, &each_second, NULL) == 0);
        hub_add(&r.hub, &r.timer, EPOLLIN);
    }
    r.outer = (struct hub_item){r.hub.fd, outer_ready};
    if (hub != NULL)
        hub_add(hub, &r.outer, EPOLLIN);
    return r.hub.fd;
}

void reread_turn(void)
{
    hub_turn(&r.hub, 0);
}

void reread_abandon(const char *why)
{
    if (r.child == 0)
        return;
    kill(r.child, SIGKILL);
    (void)waitpid(r.child, NULL, 0);
    r.child = 0;
    hub_remove(&r.hub, &r.pipe);
    close(r.pipe.fd);
    r.pipe.fd = -1;
    fclose(r.said);
    lists_taken(acls(), false);
    over(why);
}

void reread_leave(void)
{
    if (acls() != NULL)
        lists_leave(acls());
    if (r.hub.fd >= 0)
        close(r.hub.fd);
    if (r.timer.fd >= 0)
        close(r.timer.fd);
    if (r.pipe.fd >= 0)
        close(r.pipe.fd);
    r.hub.fd = r.timer.fd = r.pipe.fd = -1;
}
