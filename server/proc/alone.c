/* alone.c - the server as one process.
 *
 * For debuggers, for small machines, and for those who start Squid so. What the master does with
 * signals and the control socket is done on the worker's loop. There is nobody who could start a new
 * generation while this one drains, so a reload is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/alone.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bt.h"
#include "flow/flow.h"
#include "net/loop.h"
#include "proc/calls.h"
#include "proc/chores.h"
#include "proc/crew.h"
#include "proc/notify.h"
#include "proc/reread.h"
#include "proc/settings.h"
#include "proc/start.h"
#include "proc/worker.h"

static struct {
    struct start start;
    struct worker_birth birth;
    struct watch control, lists;
    struct timeout_class alive; /* the watchdog's */
    struct timeout alive_is;
    bool stopping;
    bool draining; /* stopping, with all the time that it takes */
    bool loud;
    struct admin_call *stopper;
} a;

static const char no_reload[] =
    "one process (-N) cannot reload, since nobody would serve meanwhile; start it again, or run it "
    "without -N";

static void stop(enum worker_what how)
{
    a.stopping = true;
    notify_stopping();
    reread_abandon("the server is stopping");
    worker_obey(how, 0);
}

void (*alone_started)(void);

void alone_stop(void)
{
    stop(WORKER_CUT);
}

static void rotate(void)
{
    if (!log_rotate(settings_log_keep()))
        bt_log(NULL, BT_ERROR, "cache_log cannot be rotated: %s; make its folder writable",
               strerror(errno));
    flow_rotate_logs();
    worker_obey(WORKER_LOGS, 0);
    bt_log(NULL, BT_INFO, "logs are rotated");
}

static void on_signal(int signo)
{
    switch (signo) {
    case SIGTERM:
        bt_log(NULL, BT_INFO, "told to stop");
        stop(a.stopping && !a.draining ? WORKER_CUT : WORKER_STOP);
        a.draining = false;
        break;
    case SIGINT:
        bt_log(NULL, BT_INFO, "told to stop at once");
        stop(WORKER_CUT);
        break;
    case SIGHUP:
        bt_log(NULL, BT_WARN, "reload: %s", no_reload);
        break;
    case SIGUSR1:
        rotate();
        break;
    case SIGUSR2:
        a.loud = !a.loud;
        worker_obey(WORKER_DEBUG, a.loud);
        bt_log(NULL, BT_INFO, "full diagnostics are %s", a.loud ? "on" : "off");
        break;
    }
}

static const struct segment *owner_segment(void)
{
    return &a.start.segment;
}

static void owner_workers(void (*each)(void *, const struct segment *, unsigned, unsigned),
                          void *arg)
{
    each(arg, &a.start.segment, 1, 1);
}

static void owner_act(struct admin_call *call, enum admin_act what, int64_t number)
{
    switch (what) {
    case ADMIN_RELOAD:
        admin_failed(call, "%s", no_reload);
        return;
    case ADMIN_STOP:
    case ADMIN_DRAIN:
        if (a.stopper != NULL) {
            admin_failed(call, "the server is stopping");
            return;
        }
        a.stopper = call;
        a.draining = what == ADMIN_DRAIN;
        stop(a.draining ? WORKER_DRAIN : WORKER_STOP);
        return;
    case ADMIN_ROTATE:
        rotate();
        break;
    case ADMIN_LISTS:
        reread_ask(call, a.stopping ? "the server is stopping" : NULL);
        return;
    case ADMIN_IDLE_CLOSE:
        worker_obey(WORKER_IDLE, 0);
        break;
    case ADMIN_CLOCK:
        if (!a.start.options->test) {
            admin_failed(call, "the clock can be moved only in a server started with --test");
            return;
        }
        a.start.segment.head->clock_shift_ms += number * 1000;
        worker_obey(WORKER_CLOCK, 0);
        break;
    }
    admin_done(call);
}

static bool owner_call(int fd, bt_str text)
{
    int its = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (its >= 0)
        calls_run(its, text);
    return its >= 0;
}

static void owner_gather(struct admin_call *call, bt_str text, admin_tell *tell)
{
    int file = admin_gather_file(), its = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);

    if (its >= 0) {
        chores_run(its, text);
        tell(call, file);
    } else {
        admin_failed(call, "no memory for the answers: %s", strerror(errno));
    }
    if (file >= 0)
        close(file);
}

static const struct start *owner_start(const char **stage)
{
    *stage = a.draining ? "draining" : a.stopping ? "stopping" : "serving";
    return &a.start;
}

static const struct admin_owner owner = {owner_segment, owner_workers, owner_act,
                                         owner_call,    owner_gather,  owner_start};

/* ---- list files ---- */

static uint32_t lists_tell(void)
{
    worker_obey(WORKER_LISTS, 0);
    return 0;
}

static bool lists_done(uint32_t stamp)
{
    (void)stamp;
    return true;
}

static const struct reread_owner lists_owner = {lists_tell, lists_done};

static void lists_ready(struct watch *watch, unsigned what)
{
    (void)watch;
    (void)what;
    reread_turn();
}

static void control_ready(struct watch *watch, unsigned what)
{
    (void)watch;
    (void)what;
    admin_turn(&a.start.admin);
}

static void alive(struct timeout *t)
{
    notify_alive(crew_now_ms());
    timeout_set(&a.alive, t);
}

static bool serve(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    struct segment_worker *row = segment_worker(&a.start.segment, 1);

    a.birth = (struct worker_birth){.row = 1,
                                    .workers = 1,
                                    .line = -1,
                                    .segment = &a.start.segment,
                                    .sockets = &a.start.sockets,
                                    .privs = &settings->privs,
                                    .debug = a.start.options->debug};
    row->pid = (int32_t)getpid();
    row->since = (int64_t)time(NULL);
    if (!worker_open(&a.birth))
        return false;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        loop_on_signal(signals[i], on_signal);
    if (a.start.admin.path[0] != '\0')
        loop_watch(&a.control, a.start.admin.hub.fd, WATCH_READ, control_ready, NULL);
    int lists = reread_open(&lists_owner, NULL);
    if (lists >= 0)
        loop_watch(&a.lists, lists, WATCH_READ, lists_ready, NULL);
    row->state = SEGMENT_ACCEPTING;
    start_ready(&a.start);
    notify_ready("One process serves");
    timeout_class_init(&a.alive, (bt_duration){notify_every_ms()}, alive);
    alive(&a.alive_is);
    bt_log(NULL, BT_INFO, "one process serves (-N)");
    if (alone_started != NULL)
        alone_started();
    return true;
}

int alone_run(const struct options *options)
{
    struct start *start = &a.start;

    notify_begin();
    start_init(start, options);
    bool good = start_load(start) && start_bind(start);
    start_tell(start);
    if (!good || !start_files(start, &owner))
        return EXIT_FAILURE;
    if (!serve()) {
        start_undo(start);
        return EXIT_FAILURE;
    }
    loop_run();
    bool unused = worker_close();
    bt_log(NULL, BT_INFO, "the server has stopped");
    if (a.stopper != NULL)
        admin_done(a.stopper);
    loop_unwatch(&a.control);
    loop_unwatch(&a.lists);
    reread_leave();
    start_undo(start);
    if (unused)
        start_free(start);
    return EXIT_SUCCESS;
}
