/* crew.c - forks workers, talks to them, and notes how they end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "bt.h"
#include "stat/counts.h"

enum {
    PAUSE_MAX_S = 30,
    CALM_MS = 30 * 1000 /* a worker that lived so long did not die of how it was started */
};

int64_t crew_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct crew *crew_new(const struct segment *segment, unsigned generation, unsigned n)
{
    struct crew *crew = calloc(1, sizeof *crew);

    CHECK(crew != NULL);
    crew->segment = *segment;
    crew->generation = generation;
    crew->n = n;
    crew->hand = calloc(n, sizeof *crew->hand);
    CHECK(crew->hand != NULL);
    for (unsigned i = 0; i < n; i++)
        crew->hand[i] = (struct hand){.line.fd = -1, .crew = crew, .row = i + 1};
    return crew;
}

void crew_free(struct crew *crew)
{
    segment_close(&crew->segment);
    free(crew->hand);
    free(crew);
}

static struct segment_worker *row_of(const struct hand *hand)
{
    return segment_worker(&hand->crew->segment, hand->row);
}

/* ---- the line ---- */

/* hub_item.ready has no place for an argument: the one who listens is the same for all. */
static void (*listener)(struct hand *, const struct worker_word *);

static void line_ready(struct hub_item *item, uint32_t events)
{
    struct hand *hand = (struct hand *)(void *)item; /* its first member */
    struct worker_word word;

    (void)events;
    if (recv(item->fd, &word, sizeof word, MSG_DONTWAIT) != (ssize_t)sizeof word) {
        /* Closed: SIGCHLD will say how it ended. */
        hub_remove(hand->crew->hub, item);
        return;
    }
    if (word.what == WORKER_ACCEPTING) {
        hand->accepting = true;
        if (!hand->leaving)
            atomic_store(&row_of(hand)->state, SEGMENT_ACCEPTING);
    } else if (word.what == WORKER_DONE) {
        if ((int32_t)(word.stamp - hand->done) > 0) /* WORKER_DEBUG's is no stamp */
            hand->done = word.stamp;
    }
    listener(hand, &word);
}

static void tell(struct hand *hand, enum worker_what what, uint32_t stamp)
{
    struct worker_word word = {what, stamp};

    if (hand->pid != 0 && hand->line.fd >= 0)
        (void)!send(hand->line.fd, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (what == WORKER_DRAIN || what == WORKER_STOP || what == WORKER_CUT) {
        hand->leaving = true;
        if (hand->pid != 0)
            atomic_store(&row_of(hand)->state, SEGMENT_DRAINING);
    }
}

void crew_tell(struct crew *crew, enum worker_what what, uint32_t stamp)
{
    if (what == WORKER_DRAIN || what == WORKER_STOP || what == WORKER_CUT)
        crew->leaving = true;
    for (unsigned i = 0; i < crew->n; i++)
        tell(&crew->hand[i], what, stamp);
}

void crew_kill(struct crew *crew, int signo)
{
    for (unsigned i = 0; i < crew->n; i++)
        if (crew->hand[i].pid != 0)
            kill(crew->hand[i].pid, signo);
}

/* ---- beginning ---- */

void crew_adopt(struct hand *hand, const struct crew_birth *birth, pid_t pid, int line,
                bool accepting)
{
    listener = birth->said;
    hand->crew->hub = birth->hub;
    hand->line = (struct hub_item){line, line_ready};
    hand->pid = pid;
    hand->accepting = accepting;
    /* Sent away by an earlier image: its end is no surprise. */
    hand->leaving = accepting && atomic_load(&row_of(hand)->state) == SEGMENT_DRAINING;
    hand->born_ms = crew_now_ms();
    hand->due_ms = INT64_MAX;
    hand->done = birth->stamp;
    hub_add(birth->hub, &hand->line, EPOLLIN);
}

static bool not_now(struct hand *hand, const char *what)
{
    hand->pause_s = hand->pause_s == 0 ? 1 : hand->pause_s;
    hand->due_ms = crew_now_ms() + hand->pause_s * 1000;
    bt_log(NULL, BT_ERROR,
           "worker %u cannot be started: %s: %s; tried again in %u s; give the system more room",
           hand->row, what, strerror(errno), hand->pause_s);
    return false;
}

bool crew_start(struct hand *hand, const struct crew_birth *birth)
{
    int line[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0)
        return not_now(hand, "socketpair");
    fflush(NULL); /* or the child would write it again */
    pid_t pid = fork();
    if (pid < 0) {
        int why = errno;
        close(line[0]);
        close(line[1]);
        errno = why;
        return not_now(hand, "fork");
    }
    if (pid == 0) {
        struct worker_birth worker = birth->worker;
        close(line[0]);
        worker.row = hand->row;
        worker.line = line[1];
        birth->leave();
        worker_run(&worker);
    }
    close(line[1]);
    crew_adopt(hand, birth, pid, line[0], false);
    struct segment_worker *row = row_of(hand);
    atomic_store(&row->pid, pid);
    atomic_store(&row->since, (int64_t)time(NULL));
    atomic_store(&row->state, SEGMENT_STARTING);
    if (hand->again) {
        atomic_fetch_add(&row->respawns, 1);
        count(respawns);
    }
    hand->again = false;
    return true;
}

void crew_leave(struct crew *newest, const struct hand *but)
{
    for (struct crew *crew = newest; crew != NULL; crew = crew->older)
        for (unsigned i = 0; i < crew->n; i++)
            if (crew->hand[i].line.fd >= 0 && &crew->hand[i] != but)
                close(crew->hand[i].line.fd);
}

/* ---- ending ---- */

static bool is_panic(int status)
{
    if (WIFSIGNALED(status)) {
        int signo = WTERMSIG(status);
        return signo == SIGABRT || signo == SIGSEGV || signo == SIGBUS || signo == SIGILL ||
               signo == SIGFPE || signo == SIGSYS;
    }
    /* Neither of our own two: a sanitizer's, or that of a library that called exit(). */
    return WEXITSTATUS(status) != WORKER_FINE && WEXITSTATUS(status) != WORKER_UNABLE;
}

static void how_it_ended(char *buf, size_t cap, int status)
{
    if (WIFSIGNALED(status))
        snprintf(buf, cap, "was ended by signal %d (%s)%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", and left a core" : "");
    else if (WEXITSTATUS(status) == WORKER_UNABLE)
        snprintf(buf, cap, "could not start (see above)");
    else
        snprintf(buf, cap, "ended with status %d", WEXITSTATUS(status));
}

/* Once at once; one that dies soon again waits 1, 2, 4 ... 30 s, but is never given up. */
static void plan_next(struct hand *hand)
{
    int64_t now = crew_now_ms();

    if (now - hand->born_ms >= CALM_MS || hand->tries == 0) {
        hand->tries = 1;
        hand->pause_s = 0;
    } else {
        hand->pause_s = hand->pause_s == 0 ? 1 : 2 * hand->pause_s;
        if (hand->pause_s > PAUSE_MAX_S)
            hand->pause_s = PAUSE_MAX_S;
    }
    hand->due_ms = now + hand->pause_s * 1000;
}

void crew_ended(struct hub *hub, struct hand *hand, int status)
{
    struct crew *crew = hand->crew;
    bool wanted = !crew->leaving && !hand->leaving;
    struct segment_worker *row = row_of(hand);
    char how[120];
    pid_t pid = hand->pid;

    hub_remove(hub, &hand->line);
    close(hand->line.fd);
    hand->line.fd = -1;
    hand->pid = 0;
    hand->accepting = hand->leaving = false;
    hand->due_ms = INT64_MAX;
    segment_clear_gauges(&crew->segment, hand->row);
    atomic_store(&row->pid, 0);
    atomic_store(&row->state, SEGMENT_ABSENT);
    if (is_panic(status))
        count(panics);
    how_it_ended(how, sizeof how, status);
    if (!wanted) {
        if (status != 0)
            bt_log(NULL, BT_WARN, "worker %u (%ld) %s while it was leaving", hand->row, (long)pid,
                   how);
        return;
    }
    hand->again = true;
    plan_next(hand);
    if (hand->pause_s == 0)
        bt_log(NULL, BT_WARN, "worker %u (%ld) %s; another one is started", hand->row, (long)pid,
               how);
    else
        bt_log(NULL, BT_WARN,
               "worker %u (%ld) %s, and soon after it was started; the next one "
               "comes in %u s",
               hand->row, (long)pid, how, hand->pause_s);
}

struct hand *crew_find(struct crew *newest, pid_t pid)
{
    for (struct crew *crew = newest; crew != NULL; crew = crew->older)
        for (unsigned i = 0; i < crew->n; i++)
            if (crew->hand[i].pid == pid)
                return &crew->hand[i];
    return NULL;
}

bool crew_all_accepting(const struct crew *crew)
{
    for (unsigned i = 0; i < crew->n; i++)
        if (!crew->hand[i].accepting)
            return false;
    return true;
}

bool crew_empty(const struct crew *crew)
{
    for (unsigned i = 0; i < crew->n; i++)
        if (crew->hand[i].pid != 0)
            return false;
    return true;
}

bool crew_all_did(const struct crew *newest, uint32_t stamp)
{
    for (const struct crew *crew = newest; crew != NULL; crew = crew->older)
        for (unsigned i = 0; i < crew->n; i++)
            if (crew->hand[i].pid != 0 && (int32_t)(crew->hand[i].done - stamp) < 0)
                return false;
    return true;
}
