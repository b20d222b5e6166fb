/* worker.c - the life of a process that carries traffic.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "bt.h"
#include "flow/flow.h"
#include "flow/txn.h"
#include "net/later.h"
#include "net/loop.h"
#include "plug/acl.h"
#include "plug/generation.h"
#include "plug/lists.h"
#include "proc/calls.h"
#include "proc/chores.h"
#include "proc/daemon.h"
#include "proc/sandbox.h"
#include "proc/settings.h"
#include "stat/counter.h"
#include "stat/member.h"

static struct {
    const struct worker_birth *birth;
    struct watch line;
    struct timeout_class lifetime; /* until what is left is cut */
    struct timeout_class last;     /* until what cannot even be cut is left behind */
    struct timeout_class second;   /* until we look who has died */
    struct timeout lifetime_is, last_is, second_is;
    struct watch wake; /* other members wake us */
    enum { CARRYING, DRAINING, STOPPING, CUTTING } stage;
    bool left_behind; /* something would not even close */
} self;

/* How long connections may take to close once they are cut; then the process ends with them. */
enum { CUT_MS = 1000, SECOND_MS = 1000 };

/* What stands before a line of the diagnostics log: "w1 #12 192.0.2.1 ". */
static size_t log_prefix(struct bt_txn *txn, char *buf, size_t cap)
{
    char addr[ADDR_TEXT];
    int n;

    if (txn == NULL) {
        n = snprintf(buf, cap, "w%u ", self.birth->row);
    } else {
        addr_print_sockaddr(bt_client_addr(txn), addr);
        n = snprintf(buf, cap, "w%u #%llu %s ", self.birth->row, (unsigned long long)txn->number,
                     addr);
    }
    return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

/* ---- ending ---- */

static void over(void)
{
    loop_break();
}

static void cut(void)
{
    if (self.stage == CUTTING)
        return;
    self.stage = CUTTING;
    timeout_set(&self.last, &self.last_is);
    flow_cut();
}

static void lifetime_expired(struct timeout *t)
{
    (void)t;
    bt_log(NULL, BT_INFO, "shutdown_lifetime is over; what is still under way is cut");
    cut();
}

static void last_expired(struct timeout *t)
{
    (void)t;
    self.left_behind = true;
    loop_break();
}

static void drain(bool patient)
{
    if (self.stage != CARRYING)
        return;
    self.stage = DRAINING;
    flow_drain(over, patient);
}

static void stop(void)
{
    drain(false);
    if (self.stage != DRAINING)
        return;
    self.stage = STOPPING;
    if (settings->shutdown_lifetime.ms == 0) {
        cut();
        return;
    }
    timeout_class_after(&self.lifetime, settings->shutdown_lifetime);
    timeout_set(&self.lifetime, &self.lifetime_is);
}

static void on_term(int signo)
{
    (void)signo;
    stop();
}

/* ---- the line to the master ---- */

static void say(enum worker_what what, uint32_t stamp)
{
    struct worker_word word = {what, stamp};

    if (self.birth->line >= 0)
        (void)!send(self.birth->line, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void clock_follow(void)
{
    int64_t wanted = self.birth->segment->head->clock_shift_ms;

    if (wanted != clock_shifted())
        clock_shift(wanted - clock_shifted());
}

static void logs_follow(void)
{
    if (self.birth->line >= 0 && !log_reopen())
        bt_log(NULL, BT_WARN,
               "the new cache_log cannot be opened by this user, so lines go on to the old one; "
               "let the user write to its folder");
    flow_flush_logs(true);
}

void worker_obey(enum worker_what what, uint32_t stamp)
{
    switch (what) {
    case WORKER_DRAIN:
        drain(true);
        break;
    case WORKER_STOP:
        stop();
        break;
    case WORKER_CUT:
        drain(false);
        cut();
        break;
    case WORKER_LOGS:
        logs_follow();
        break;
    case WORKER_CLOCK:
        clock_follow();
        loop_clock_moved();
        break;
    case WORKER_IDLE:
        flow_close_idle();
        break;
    case WORKER_DEBUG:
        settings_apply_debug(self.birth->debug, stamp != 0);
        break;
    case WORKER_CALL: /* is being answered */
    case WORKER_CHORE:
        break;
    case WORKER_LISTS:
        lists_follow(acl_self.conf);
        break;
    case WORKER_ACCEPTING:
    case WORKER_DONE:
        NEVER();
    }
}

static void line_ready(struct watch *watch, unsigned what)
{
    struct worker_word word;

    (void)what;
    ssize_t n = calls_hear(watch->fd, &word);
    if (n == (ssize_t)sizeof word) {
        worker_obey((enum worker_what)word.what, word.stamp);
        say(WORKER_DONE, word.stamp);
        return;
    }
    if (n < 0)
        return;
    bt_log(NULL, BT_WARN, "the master is gone; this worker finishes its work and leaves");
    loop_unwatch(watch);
    stop();
}

/* ---- other members ---- */

static void wake_ready(struct watch *watch, unsigned what)
{
    (void)watch;
    (void)what;
    member_wake();
}

static void second_expired(struct timeout *t)
{
    timeout_set(&self.second, t);
    member_tick();
}

/* With the modules started, so that those who died when nobody lived can be buried. */
static void membership_begin(void)
{
    int fd = member_fd(bt_member());

    if (fd >= 0)
        loop_watch(&self.wake, fd, WATCH_READ, wake_ready, NULL);
    timeout_class_init(&self.second, (bt_duration){SECOND_MS}, second_expired);
    timeout_set(&self.second, &self.second_is);
    member_tick();
}

static void membership_end(void)
{
    loop_unwatch(&self.wake);
    timeout_class_fini(&self.second);
    member_give_back();
}

/* ---- beginning ---- */

/* The master's signals are not ours: it hears them for all of us. */
static void signals_begin(void)
{
    static const int ignored[] = {SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE};
    sigset_t none;

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void listen_on_mine(void)
{
    const struct worker_birth *birth = self.birth;

    for (size_t p = 0; p < birth->sockets->n; p++) {
        struct sockets_port *port = &birth->sockets->port[p];
        for (size_t i = 0; i < port->n; i++)
            if (sockets_is_of(i, birth->row - 1, birth->workers))
                flow_listen(p, port->fd[i]);
            else
                close(port->fd[i]);
    }
}

bool worker_open(const struct worker_birth *birth)
{
    self.birth = birth;
    check_worker = birth->row;
    chores_begin(birth);
    log_prefix_fn = log_prefix;
    counter_use(birth->segment, birth->row);
    clock_follow();
    if (!loop_init() || !privs_drop(birth->privs))
        return false;
    /* The one process of -N removes the files of the master at its end, and renames logs. */
    enum sandbox wish = (enum sandbox)settings->sandbox;
    if (!sandbox_enter(wish == SANDBOX_AUTO && birth->line < 0 ? SANDBOX_OFF : wish,
                       generation_current))
        return false;
    timeout_class_init(&self.lifetime, settings->shutdown_lifetime, lifetime_expired);
    timeout_class_init(&self.last, (bt_duration){CUT_MS}, last_expired);
    if (!member_claim()) {
        bt_log(NULL, BT_ERROR,
               "too many workers live, of this generation and of older ones that have not left "
               "yet; end those");
        return false;
    }
    if (!generation_start(generation_current) || !flow_start())
        return false;
    membership_begin();
    listen_on_mine();
    return true;
}

bool worker_close(void)
{
    flow_flush_logs(false);
    generation_stop(generation_current);
    if (self.left_behind || later_busy())
        return false;
    flow_stop();
    membership_end();
    return true;
}

_Noreturn void worker_run(const struct worker_birth *birth)
{
    signals_begin();
    if (!worker_open(birth))
        exit(WORKER_UNABLE);
    loop_on_signal(SIGTERM, on_term);
    loop_watch(&self.line, birth->line, WATCH_READ, line_ready, NULL);
    daemon_let_go();
    say(WORKER_ACCEPTING, 0);
    loop_run();
    if (worker_close()) {
        generation_free(generation_current);
        arena_trim();
    }
    exit(WORKER_FINE);
}
