/* later.c - timers of modules, and one thread a worker for what would hold up its loop.
 *
 * The thread is started with the first work. It takes one at a time off a list under a lock and puts
 * it on another; an eventfd tells the loop. A worker that ends does not wait for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "later"
#include "bt_later.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "bt_log.h"
#include "net/later.h"
#include "net/loop.h"

/* ---- timers ---- */

struct bt_timer {
    struct timeout timeout;
    void (*run)(void *);
    void *arg;
};

static struct timeout_class timers;

static void timer_expired(struct timeout *timeout)
{
    struct bt_timer timer = *LIST_OF(timeout, struct bt_timer, timeout);

    free(LIST_OF(timeout, struct bt_timer, timeout));
    timer.run(timer.arg);
}

struct bt_timer *bt_timer_start(bt_duration after, void (*run)(void *arg), void *arg)
{
    struct bt_timer *timer = calloc(1, sizeof *timer);

    CHECK(timer != NULL);
    if (!list_linked(&timers.link))
        timeout_class_init(&timers, (bt_duration){1000}, timer_expired);
    timer->run = run;
    timer->arg = arg;
    timeout_set_after(&timers, &timer->timeout, after);
    return timer;
}

void bt_timer_cancel(struct bt_timer *timer)
{
    if (timer == NULL)
        return;
    timeout_clear(&timer->timeout);
    free(timer);
}

/* ---- work ---- */

enum { WORK_MAX = 1000 };

struct works {
    struct bt_work *first, **last;
};
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct works todo, done;
    unsigned n;
    bool running;
    int fd;
    struct watch watch;
} w = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void works_add(struct works *list, struct bt_work *work)
{
    work->next = NULL;
    if (list->first == NULL)
        list->last = &list->first;
    *list->last = work;
    list->last = &work->next;
}

static void *work_thread(void *arg)
{
    const uint64_t one = 1;

    (void)arg;
    pthread_mutex_lock(&w.lock);
    for (;;) {
        struct bt_work *work = w.todo.first;
        if (work == NULL) {
            pthread_cond_wait(&w.more, &w.lock);
            continue;
        }
        w.todo.first = work->next;
        pthread_mutex_unlock(&w.lock);
        work->run(work);
        pthread_mutex_lock(&w.lock);
        works_add(&w.done, work);
        (void)!write(w.fd, &one, sizeof one);
    }
    return NULL;
}

static void work_ready(struct watch *watch, unsigned what)
{
    uint64_t n;

    (void)what;
    (void)!read(watch->fd, &n, sizeof n);
    pthread_mutex_lock(&w.lock);
    struct bt_work *work = w.done.first;
    w.done.first = NULL;
    pthread_mutex_unlock(&w.lock);
    while (work != NULL) {
        struct bt_work *next = work->next;
        w.n--;
        work->done(work);
        work = next;
    }
}

/* Signals are for the loop; faults are not to be held back. */
static bool thread_start(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    pthread_t thread;
    sigset_t all, was;

    w.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w.fd < 0)
        return false;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    int failed = pthread_create(&thread, NULL, work_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (failed != 0) {
        close(w.fd);
        errno = failed;
        return false;
    }
    pthread_detach(thread);
    loop_watch(&w.watch, w.fd, WATCH_READ, work_ready, NULL);
    w.running = true;
    return true;
}

bool bt_work_open(void)
{
    if (w.running || thread_start())
        return true;
    bt_log_limited(NULL, BT_WARN, 60, "no thread for work beside the loop: %s", strerror(errno));
    return false;
}

bool bt_work_start(struct bt_work *work)
{
    if (!bt_work_open())
        return false;
    if (w.n >= WORK_MAX)
        return false;
    w.n++;
    pthread_mutex_lock(&w.lock);
    works_add(&w.todo, work);
    pthread_cond_signal(&w.more);
    pthread_mutex_unlock(&w.lock);
    return true;
}

bool later_busy(void)
{
    return w.n > 0;
}
