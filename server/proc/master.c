/* master.c - watches the workers, and does what signals and bobtailctl say.
 *
 * Generations: the newest crew is ours; older ones drain, and what they still count is taken over.
 * A reload ends this image by exec (reload.c), so there is no code that forgets a configuration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/master.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "bt.h"
#include "flow/flow.h"
#include "proc/calls.h"
#include "proc/crew.h"
#include "proc/chores.h"
#include "proc/daemon.h"
#include "proc/errand.h"
#include "proc/legacy.h"
#include "proc/notify.h"
#include "proc/reload.h"
#include "proc/reread.h"
#include "proc/settings.h"
#include "proc/start.h"
#include "stat/counter.h"
#include "stat/member.h"

enum {
    STOPPERS = 16,
    GRACE_MS = 3000, /* a worker that overstays its own limit by that much is killed */
    CUT_GRACE_MS = 2000,
    QUIET_MS = 500,     /* for so long an exec waits until bobtailctl has its answers */
    LIFETIME_MS = 30000 /* without a configuration of our own */
};

static struct {
    struct start start;
    struct hub hub;
    struct hub_item signals, control;
    struct crew *crew; /* newest first */
    struct crew_birth birth;
    bool ready;      /* the newest crew has served */
    bool has_served; /* some image of this server has */
    bool loud;       /* -k debug */
    enum { RUNNING, DRAINING, STOPPING, CUTTING, KILLED } stage;
    int64_t deadline_ms; /* when the next stage comes by itself */
    int status;
    uint32_t stamp;              /* of the newest word to workers */
    struct admin_call *reloader; /* waits for a reload */
    struct admin_call *stopper[STOPPERS];
    int64_t become_ms; /* when the next image is begun at the latest; INT64_MAX: none is */
    bool reload_again; /* asked for while one was being tried */
    bool coming;       /* this image is what a reload made, and has not served yet */
} m = {.deadline_ms = INT64_MAX, .become_ms = INT64_MAX};

/* ---- errands: words that all workers must have dealt with ---- */

static bool errand_is_done(uint32_t stamp)
{
    return crew_all_did(m.crew, stamp);
}

static void errands_look(void)
{
    errand_look(m.crew);
    reread_look();
}

/* `call` may be NULL. */
static void tell_all(enum worker_what what, struct admin_call *call)
{
    m.stamp++;
    for (struct crew *crew = m.crew; crew != NULL; crew = crew->older)
        crew_tell(crew, what, m.stamp);
    m.birth.stamp = m.stamp;
    if (call != NULL)
        errand_begin(call, m.stamp, -1, NULL);
    errands_look();
}

/* A chore for every worker that serves; their answers come together in a file. */
static void owner_gather(struct admin_call *call, bt_str text, admin_tell *tell)
{
    int file = admin_gather_file();

    if (file < 0) {
        admin_failed(call, "no memory for the answers: %s", strerror(errno));
        return;
    }
    m.stamp++;
    for (struct crew *crew = m.crew; crew != NULL; crew = crew->older)
        for (unsigned i = 0; i < crew->n; i++)
            if (crew->hand[i].pid != 0 &&
                !calls_send(crew->hand[i].line.fd, (struct worker_word){WORKER_CHORE, m.stamp},
                            file, text))
                crew->hand[i].done = m.stamp; /* its queue is full: it is not waited for */
    m.birth.stamp = m.stamp;
    errand_begin(call, m.stamp, file, tell);
    errands_look();
}

/* ---- stopping ---- */

static void end_begins(void)
{
    notify_stopping();
    reload_abandon();
    reread_abandon("the server is stopping");
    m.become_ms = INT64_MAX;
    sockets_close(&m.start.sockets);
    sockets_close_left(&m.start.left);
}

/* End when all is done, however long that takes. */
static void drain(void)
{
    if (m.stage != RUNNING)
        return;
    m.stage = DRAINING;
    tell_all(WORKER_DRAIN, NULL);
    end_begins();
}

static void stop(int status)
{
    int64_t lifetime = m.start.generation != NULL ? settings->shutdown_lifetime.ms : LIFETIME_MS;

    if (m.stage >= STOPPING)
        return;
    m.stage = STOPPING;
    m.status = status;
    m.deadline_ms = lifetime < 0 ? INT64_MAX : crew_now_ms() + lifetime + GRACE_MS;
    tell_all(WORKER_STOP, NULL);
    end_begins();
}

static void cut(int status)
{
    if (m.stage >= CUTTING)
        return;
    stop(status);
    m.stage = CUTTING;
    m.deadline_ms = crew_now_ms() + CUT_GRACE_MS;
    tell_all(WORKER_CUT, NULL);
}

static void kill_all(void)
{
    m.stage = KILLED;
    m.deadline_ms = INT64_MAX;
    for (struct crew *crew = m.crew; crew != NULL; crew = crew->older)
        crew_kill(crew, SIGKILL);
}

static void next_stage(void)
{
    if (m.stage == STOPPING) {
        bt_log(NULL, BT_INFO, "not all workers ended in time; they are cut");
        cut(m.status);
    } else if (m.stage == CUTTING) {
        bt_log(NULL, BT_WARN, "not all workers ended when they were cut; they are killed");
        kill_all();
    }
}

/* ---- logs and diagnostics ---- */

static void rotate(struct admin_call *call)
{
    int keep = m.start.generation == NULL ? 0 : settings_log_keep();

    if (!log_rotate(keep))
        bt_log(NULL, BT_ERROR, "cache_log cannot be rotated: %s; make its folder writable",
               strerror(errno));
    if (m.start.generation != NULL) {
        if (settings->privs.drop)
            (void)!log_chown(settings->privs.uid, settings->privs.gid);
        flow_rotate_logs();
    }
    bt_log(NULL, BT_INFO, "logs are rotated");
    tell_all(WORKER_LOGS, call);
}

static void toggle_debug(void)
{
    m.loud = !m.loud;
    m.birth.worker.loud = m.loud;
    if (m.start.generation != NULL)
        settings_apply_debug(m.start.options->debug, m.loud);
    bt_log(NULL, BT_INFO, "full diagnostics are %s", m.loud ? "on" : "off");
    for (struct crew *crew = m.crew; crew != NULL; crew = crew->older)
        crew_tell(crew, WORKER_DEBUG, m.loud);
}

/* ---- reload ---- */

static void say_ready(void)
{
    char text[120];

    snprintf(text, sizeof text, "Generation %u serves with %u worker%s%s", m.crew->generation,
             m.crew->n, m.crew->n == 1 ? "" : "s",
             reload_last.when != 0 && !reload_last.good ? "; the last reload was refused" : "");
    notify_ready(text);
}

static void reload_failed(const char *text)
{
    struct admin_call *call = m.reloader;

    m.reloader = NULL;
    reload_went(false, text, crew_now_ms());
    if (m.stage == RUNNING)
        say_ready();
    if (call == NULL)
        return;
    fputs(text, admin_out(call));
    admin_failed(call, "the new configuration was not taken; the old one goes on");
}

/* `call` may be NULL. */
static void reload(struct admin_call *call)
{
    if (m.stage != RUNNING) {
        if (call != NULL)
            admin_failed(call, "the server is stopping");
        return;
    }
    if (reload_is_trying() || m.become_ms != INT64_MAX) {
        m.reload_again |= call == NULL;
        if (call != NULL)
            admin_failed(call, "another reload is under way; ask again");
        return;
    }
    if (m.reloader != NULL)
        reload_failed("its workers never stood\n"); /* this one may do better */
    m.reloader = call;
    reload_asked(crew_now_ms());
    notify_reloading();
    reread_abandon("a reload has begun, which reads them as well");
    bt_log(NULL, BT_INFO, "reload: the configuration is read");
    struct handover h = legacy_now(&m.start, m.crew, m.has_served);
    if (!reload_try(&m.hub, &h))
        reload_failed("no process could be started\n");
}

static void take_over_sums(void)
{
    for (struct crew *crew = m.crew->older; crew != NULL; crew = crew->older)
        segment_take_over(&m.crew->segment, &crew->segment);
}

static void become_the_next(void)
{
    struct admin *admin = &m.start.admin;
    struct handover h = legacy_now(&m.start, m.crew, m.has_served);

    m.become_ms = INT64_MAX;
    if (m.reloader != NULL)
        h.waiting = admin_give(m.reloader);
    m.reloader = NULL;
    while (h.n_silent < HANDOVER_SILENT && (h.silent[h.n_silent] = admin_give_silent(admin)) >= 0)
        h.n_silent++;
    take_over_sums();
    reload_exec(&h);
    for (size_t i = 0; i < h.n_silent; i++)
        admin_take_silent(admin, h.silent[i]);
    if (h.waiting >= 0)
        m.reloader = admin_take(admin, h.waiting);
    reload_failed("the program cannot be run\n");
}

static void trial_failed(int status, char *text)
{
    if (!WIFEXITED(status))
        bt_log(NULL, BT_ERROR, "reload: the process that read it was ended by signal %d; report it",
               WTERMSIG(status));
    reload_failed(text);
    reload_log(text); /* takes it to pieces */
    bt_log(NULL, BT_ERROR,
           "reload: the configuration was not taken; the old one goes on; correct what is said "
           "above and reload again");
}

static void trial_ended(int status, char *text)
{
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;

    if (!good)
        trial_failed(status, text);
    else
        reload_promising(text);
    free(text);
    if (m.reload_again) {
        /* The file may have changed since it was read. */
        struct admin_call *call = m.reloader;
        m.reload_again = false;
        m.reloader = NULL;
        reload(call);
    } else if (good) {
        m.become_ms = crew_now_ms() + QUIET_MS;
    }
}

/* ---- workers ---- */

static void leave(void)
{
    close(m.hub.fd);
    close(m.signals.fd);
    crew_leave(m.crew, NULL);
    admin_leave(&m.start.admin);
    pidfile_close(&m.start.pidfile);
    reload_leave();
    reread_leave();
    notify_leave();
    daemon_leave();
    sockets_close_left(&m.start.left);
    zone_leave();
    for (struct crew *crew = m.crew->older; crew != NULL; crew = crew->older)
        segment_close(&crew->segment);
    if (!m.has_served && m.start.options->ready_fd >= 0)
        close(m.start.options->ready_fd);
}

static void all_serve(void)
{
    m.ready = true;
    if (!m.has_served)
        start_ready(&m.start);
    m.has_served = true;
    bt_log(NULL, BT_INFO, "generation %u serves with %u worker%s", m.crew->generation, m.crew->n,
           m.crew->n == 1 ? "" : "s");
    for (struct crew *crew = m.crew->older; crew != NULL; crew = crew->older)
        if (!crew->leaving)
            crew_tell(crew, WORKER_DRAIN, ++m.stamp);
    /* Ports that are no longer configured: their last users have been told to close them. */
    sockets_close_left(&m.start.left);
    m.birth.stamp = m.stamp;
    if (m.start.resumed) /* also when a worker could not start at first */
        reload_went(true, reload_last.text, crew_now_ms());
    m.coming = false;
    say_ready();
    if (m.reloader != NULL) {
        struct admin_call *call = m.reloader;
        m.reloader = NULL;
        fputs(reload_last.text, admin_out(call)); /* warnings */
        admin_done(call);
    }
}

static void worker_said(struct hand *hand, const struct worker_word *word)
{
    if (word->what == WORKER_ACCEPTING && hand->crew == m.crew && !m.ready && m.stage == RUNNING &&
        m.start.generation != NULL && crew_all_accepting(m.crew))
        all_serve();
    errands_look();
}

static void worker_ended(struct hand *hand, int status)
{
    struct crew *crew = hand->crew;

    crew_ended(&m.hub, hand, status);
    if (crew == m.crew && !m.ready && m.stage == RUNNING) {
        if (!m.has_served) {
            bt_log(NULL, BT_ERROR,
                   "the server does not start, since a worker could not; what is "
                   "said above tells what to do");
            cut(EXIT_FAILURE);
        } else if (m.coming) {
            m.coming = false;
            reload_failed("a worker of the new generation could not start; see cache_log\n");
        }
    }
    errands_look();
}

static void reap(void)
{
    pid_t pid;
    int status;
    char *text;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct hand *hand = crew_find(m.crew, pid);
        if (hand != NULL)
            worker_ended(hand, status);
        else if (reload_ended(&m.hub, pid, &text))
            trial_ended(status, text);
    }
}

/* Crews that have drained: their last counts are taken over, and they are forgotten. */
static void drop_empty_crews(void)
{
    for (struct crew **at = &m.crew->older; *at != NULL;) {
        struct crew *crew = *at;
        if (!crew_empty(crew)) {
            at = &crew->older;
            continue;
        }
        take_over_sums();
        bt_log(NULL, BT_INFO, "generation %u has left", crew->generation);
        *at = crew->older;
        crew_free(crew);
    }
}

static void start_due(void)
{
    int64_t now = crew_now_ms();

    if (m.stage != RUNNING || m.crew->leaving)
        return;
    for (unsigned i = 0; i < m.crew->n; i++) {
        struct hand *hand = &m.crew->hand[i];
        if (hand->pid == 0 && hand->due_ms <= now)
            (void)!crew_start(hand, &m.birth); /* what went wrong is logged, and tried again */
    }
}

/* Milliseconds until something is due; -1: nothing is. */
static int until_due(void)
{
    int64_t due = m.deadline_ms < m.become_ms ? m.deadline_ms : m.become_ms;
    int64_t now = crew_now_ms();

    if (notify_due_ms() < due)
        due = notify_due_ms();

    for (unsigned i = 0; m.stage == RUNNING && i < m.crew->n; i++)
        if (m.crew->hand[i].pid == 0 && !m.crew->leaving && m.crew->hand[i].due_ms < due)
            due = m.crew->hand[i].due_ms;
    if (due == INT64_MAX)
        return -1;
    return due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}

/* ---- what bobtailctl asks ---- */

static const struct segment *owner_segment(void)
{
    take_over_sums();
    return &m.crew->segment;
}

static void owner_workers(void (*each)(void *, const struct segment *, unsigned, unsigned),
                          void *arg)
{
    for (const struct crew *crew = m.crew; crew != NULL; crew = crew->older)
        for (unsigned i = 0; i < crew->n; i++)
            if (crew == m.crew || crew->hand[i].pid != 0)
                each(arg, &crew->segment, crew->generation, crew->hand[i].row);
}

static void move_clock(struct admin_call *call, int64_t seconds)
{
    if (!m.start.options->test) {
        admin_failed(call, "the clock can be moved only in a server started with --test");
        return;
    }
    clock_shift(seconds * 1000);
    for (struct crew *crew = m.crew; crew != NULL; crew = crew->older)
        crew->segment.head->clock_shift_ms = clock_shifted();
    tell_all(WORKER_CLOCK, call);
}

static uint32_t lists_tell(void)
{
    tell_all(WORKER_LISTS, NULL);
    return m.stamp;
}

static const struct reread_owner lists_owner = {lists_tell, errand_is_done};

static void owner_act(struct admin_call *call, enum admin_act what, int64_t number)
{
    switch (what) {
    case ADMIN_RELOAD:
        reload(call);
        return;
    case ADMIN_ROTATE:
        rotate(call);
        return;
    case ADMIN_IDLE_CLOSE:
        tell_all(WORKER_IDLE, call);
        return;
    case ADMIN_CLOCK:
        move_clock(call, number);
        return;
    case ADMIN_LISTS:
        reread_ask(call, m.stage != RUNNING || m.start.generation == NULL ? "the server is stopping"
                         : reload_is_trying() || m.become_ms != INT64_MAX
                             ? "a reload is under way, which reads the lists as well"
                             : NULL);
        return;
    case ADMIN_STOP:
    case ADMIN_DRAIN:
        break;
    }
    for (unsigned i = 0; i < STOPPERS; i++)
        if (m.stopper[i] == NULL) {
            m.stopper[i] = call;
            if (what == ADMIN_DRAIN)
                drain();
            else
                stop(EXIT_SUCCESS);
            return;
        }
    admin_failed(call, "the server is stopping");
}

static bool owner_call(int fd, bt_str text)
{
    for (unsigned i = 0; i < m.crew->n; i++)
        if (m.crew->hand[i].accepting && !m.crew->hand[i].leaving &&
            calls_send(m.crew->hand[i].line.fd, (struct worker_word){WORKER_CALL, 0}, fd, text))
            return true;
    return false;
}

static const struct start *owner_start(const char **stage)
{
    static const char *const stages[] = {"serving", "draining", "stopping", "cutting", "cutting"};

    *stage = m.stage == RUNNING && !m.ready ? "starting" : stages[m.stage];
    return &m.start;
}

static const struct admin_owner owner = {owner_segment, owner_workers, owner_act,
                                         owner_call,    owner_gather,  owner_start};

static void control_ready(struct hub_item *item, uint32_t events)
{
    (void)item;
    (void)events;
    admin_turn(&m.start.admin);
}

/* ---- signals ---- */

static void signals_ready(struct hub_item *item, uint32_t events)
{
    struct signalfd_siginfo info;

    (void)events;
    if (read(item->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    switch ((int)info.ssi_signo) {
    case SIGCHLD:
        reap();
        break;
    case SIGTERM:
        bt_log(NULL, BT_INFO, "told to stop");
        if (m.stage < STOPPING)
            stop(EXIT_SUCCESS);
        else if (m.stage == STOPPING)
            cut(EXIT_SUCCESS);
        else
            kill_all();
        break;
    case SIGINT:
        bt_log(NULL, BT_INFO, "told to stop at once");
        if (m.stage < CUTTING)
            cut(EXIT_SUCCESS);
        else
            kill_all();
        break;
    case SIGHUP:
        reload(NULL);
        break;
    case SIGUSR1:
        rotate(NULL);
        break;
    case SIGUSR2:
        toggle_debug();
        break;
    }
}

/* Blocked from the first moment on, so that none is lost while we start or exec. */
static void signals_block(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGUSR2);
    sigprocmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- a life ---- */

static void wait_for(const sigset_t *set)
{
    bool good = hub_open(&m.hub);

    CHECK(good);
    m.signals = (struct hub_item){signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK), signals_ready};
    CHECK(m.signals.fd >= 0);
    hub_add(&m.hub, &m.signals, EPOLLIN);
}

/* Crews of earlier images, oldest first, so that the list is newest first. */
static void adopt_crews(void)
{
    const struct handover *left = &m.start.left;

    for (size_t c = left->n_crews; c-- > 0;) {
        struct segment segment;
        const char *why;
        if (!segment_attach(&segment, left->crew[c].segment, true, &why)) {
            bt_log(NULL, BT_WARN,
                   "the counters of generation %u cannot be taken over: %s; they begin anew",
                   left->crew[c].generation, why);
            continue;
        }
        struct crew *crew = crew_new(&segment, left->crew[c].generation, segment.head->workers);
        for (size_t w = 0; w < left->n_workers; w++) {
            const struct handover_worker *worker = &left->worker[w];
            if (worker->generation == crew->generation && worker->row >= 1 &&
                worker->row <= crew->n)
                crew_adopt(&crew->hand[worker->row - 1], &m.birth, worker->pid, worker->line,
                           worker->accepting);
        }
        crew->older = m.crew;
        m.crew = crew;
    }
    if (left->shift_ms != 0)
        clock_shift(left->shift_ms - clock_shifted());
}

static void make_crew(void)
{
    struct start *start = &m.start;
    struct crew *crew = crew_new(&start->segment, start->segment.head->generation, start->workers);

    crew->older = m.crew;
    m.crew = crew;
    m.birth.worker = (struct worker_birth){.workers = start->workers,
                                           .segment = &crew->segment,
                                           .sockets = &start->sockets,
                                           .privs = &settings->privs,
                                           .debug = start->options->debug};
    take_over_sums();
}

static void turn_until_all_left(void)
{
    for (;;) {
        start_due();
        drop_empty_crews();
        if (m.stage != RUNNING && m.crew->older == NULL && crew_empty(m.crew))
            return;
        if (m.become_ms <= crew_now_ms() ||
            (m.become_ms != INT64_MAX && admin_is_quiet(&m.start.admin, m.reloader)))
            become_the_next();
        if (notify_due_ms() <= crew_now_ms())
            notify_alive(crew_now_ms());
        hub_turn(&m.hub, until_due());
        if (crew_now_ms() >= m.deadline_ms)
            next_stage();
    }
}

static void end(void)
{
    bt_log(NULL, BT_INFO, "the server has stopped");
    for (unsigned i = 0; i < STOPPERS; i++)
        if (m.stopper[i] != NULL)
            admin_done(m.stopper[i]);
    admin_close(&m.start.admin);
    pidfile_release(&m.start.pidfile);
    start_free(&m.start);
}

/* A new image that cannot serve has nowhere to go back to, but old workers do serve: it looks after
 * them, until a better configuration comes. */
static bool limp(void)
{
    struct start *start = &m.start;

    if (m.crew == NULL)
        return false;
    bt_log(NULL, BT_ERROR,
           "reload: the configuration was good a moment ago, and is not any more; generation %u "
           "goes on, without being started anew; correct what is said above and reload again",
           m.crew->generation);
    counter_use(&m.crew->segment, 0);
    start->generation = NULL;
    m.crew->leaving = true;
    m.ready = true;
    if (start->left.pidfile >= 0 && start->pidfile.fd < 0) {
        start->pidfile.fd = start->left.pidfile;
        strcpy(start->pidfile.path, start->left.pidfile_path);
    }
    if (start->left.control >= 0 && start->admin.path[0] == '\0')
        (void)!admin_adopt(&start->admin, start->left.control_path, start->left.control, &owner);
    return true;
}

static bool begin(const struct options *options, const sigset_t *set)
{
    struct start *start = &m.start;
    bool resumed = start->resumed;

    if (!start_load(start) || !start_bind(start)) {
        start_tell(start);
        return resumed && limp();
    }
    start_tell(start);
    if (!resumed && !options->foreground && !daemon_begin()) {
        fprintf(stderr, "bobtail: no process can be made: %s\n", strerror(errno));
        return false;
    }
    if (!resumed)
        wait_for(set); /* only now: what epoll knows of signals belongs to one process */
    if (!start_files(start, &owner))
        return resumed && limp();
    return true;
}

int master_run(const struct options *options)
{
    sigset_t set;

    signals_block(&set);
    reload_begin(options->argv);
    notify_begin();
    start_init(&m.start, options);
    switch (handover_read(&m.start.left, m.start.arena, false)) {
    case HANDOVER_BROKEN:
        return EXIT_FAILURE;
    case HANDOVER_FOUND:
        m.start.resumed = m.coming = true;
        m.has_served = m.start.left.ready;
        legacy_take(&m.start.left);
        reload_last = m.start.left.reload;
        /* Until the new configuration names its own: what is wrong with it must be told, too. */
        if (m.start.left.log_path[0] != '\0' && log_open(m.start.left.log_path))
            m.start.log_path = m.start.left.log_path;
        break;
    case HANDOVER_NONE:
        break;
    }
    if (m.start.resumed)
        wait_for(&set);
    /* Words of this image and of earlier ones must not be mixed up in what workers answer. */
    m.stamp = m.birth.stamp = m.start.left.generation << 16;
    m.birth.hub = &m.hub;
    m.birth.said = worker_said;
    m.birth.leave = leave;
    adopt_crews();
    if (!begin(options, &set))
        return EXIT_FAILURE;
    if (m.start.generation != NULL)
        make_crew();
    if (m.start.admin.path[0] != '\0') {
        m.control = (struct hub_item){m.start.admin.hub.fd, control_ready};
        hub_add(&m.hub, &m.control, EPOLLIN);
        if (m.start.left.waiting >= 0)
            m.reloader = admin_take(&m.start.admin, m.start.left.waiting);
        for (size_t i = 0; i < m.start.left.n_silent; i++)
            admin_take_silent(&m.start.admin, m.start.left.silent[i]);
    }
    if (m.start.generation != NULL)
        (void)reread_open(&lists_owner, &m.hub);
    else
        reload_failed("the configuration changed while it was read; see cache_log\n");
    reap();
    turn_until_all_left();
    end();
    return m.status;
}
