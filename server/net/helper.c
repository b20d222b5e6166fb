/* helper.c - pools of helpers: processes, slots, the queue.
 *
 * Nothing here calls back while it is being asked: whatever is answered at once (a full queue, a
 * program that is down) goes through the loop. Nothing is freed while it may be on the stack: a
 * process that has to go is marked, taken out of its pool, and freed from the loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "helper"
#include "net/helper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/str.h"
#include "bt_log.h"
#include "net/program.h"
#include "net/reply.h"
#include "net/stream.h"
#include "stat/counter.h"

#define COUNTERS(X)                                                                                \
    X(requests, "requests", BT_COUNT, "questions", "Questions asked of the helper.")               \
    X(queue, "queue", BT_GAUGE, "questions", "Questions that wait for a free process.")            \
    X(processes, "processes", BT_GAUGE, "processes", "Processes of the helper that run.")          \
    X(starts, "starts", BT_COUNT, "processes", "Processes of the helper that were started.")       \
    X(restarts, "restarts", BT_COUNT, "processes", "Processes of the helper that died.")           \
    X(overload, "overload", BT_COUNT, "questions", "Not asked: the queue was full.")               \
    X(down, "down", BT_COUNT, "questions", "Not asked: the program does not run.")                 \
    X(timeouts, "timeouts", BT_COUNT, "questions", "Not answered in time.")                        \
    X(lost, "lost", BT_COUNT, "questions", "Given up after the death of several processes.")       \
    X(garbage, "garbage", BT_COUNT, "processes", "Ended for answers that nobody asked for.")       \
    X(time, "time", BT_HISTOGRAM, "microseconds", "From the question to its answer.")
enum { COUNTERS(BT_ID_) N_end_ };
static const struct bt_counter rows[] = {COUNTERS(BT_ROW_)};
#define tally(pool, id) bt_slot_add(&(pool)->row[N_##id], 1)
#define tally_by(pool, id, by) bt_slot_add(&(pool)->row[N_##id], (by))

struct proc;

struct bt_helper_job {
    struct list_link link; /* in the queue, or among those that are to be told LOST */
    struct bt_helper *pool;
    struct bt_helper_ask *ask; /* NULL: given up */
    struct bt_helper_seat_state *seat;
    struct proc *proc; /* NULL: it waits */
    struct timeout timeout;
    int64_t asked_us, sent_us;
    unsigned tries;
    bool queued, late;
    size_t len;
    char line[];
};

/* A process that belongs to one asker. */
struct bt_helper_seat_state {
    struct bt_helper *pool;
    struct proc *proc; /* NULL: none yet, or it is gone */
    bool lost;         /* what was said is forgotten */
    struct timeout timeout;
};

struct slot {
    struct bt_helper_job *job; /* NULL: free, or stale */
    bool stale;                /* an answer will come that nobody wants any more */
};

struct proc {
    struct deferred gone;  /* first: at the end of all this is the only way to it */
    struct list_link link; /* of the pool */
    struct bt_helper *pool;
    struct stream stream;
    struct bt_helper_seat_state *seat;
    pid_t pid;
    int64_t heard_us; /* when it spoke last, or began */
    bool dead;
    char *in;
    size_t have, room, looked;
    unsigned busy; /* slots that are taken */
    struct slot slot[];
};

struct bt_helper {
    struct bt_helper_options o;
    char **argv;
    _Atomic int64_t *row;
    const char *label;
    unsigned slots; /* of a process */
    bool running;
    struct list procs, queue, told;
    size_t n_procs, n_queue;
    struct grumble grumble;
    struct timeout_class asking, seated, starting;
    struct timeout start_again;
    struct deferred tell;
    unsigned deaths;  /* in a row, without an answer in between */
    int64_t start_us; /* not before */
};

static void dispatch(struct bt_helper *);
static void proc_ready(struct stream *);

/* ---- jobs ---- */

static void job_free(struct bt_helper_job *job)
{
    list_remove(&job->link);
    timeout_clear(&job->timeout);
    if (job->ask != NULL)
        job->ask->job = NULL;
    free(job);
}

/* Answer it and forget it. */
static void job_done(struct bt_helper_job *job, const struct bt_helper_reply *reply)
{
    struct bt_helper_ask *ask = job->ask;

    if (reply->result != BT_HELPER_LOST)
        bt_observe_at(&job->pool->row[N_time], clock_us() - job->asked_us);
    job_free(job);
    if (ask != NULL)
        ask->done(ask, reply);
}

static void tell_lost(struct deferred *deferred)
{
    struct bt_helper_reply lost = {.result = BT_HELPER_LOST, .text = {"", 0}};
    struct bt_helper *pool = LIST_OF(deferred, struct bt_helper, tell);
    struct bt_helper_job *job;

    while ((job = LIST_FIRST(&pool->told, struct bt_helper_job, link)) != NULL) {
        lost.late = job->late;
        job_done(job, &lost);
    }
    dispatch(pool);
}

static void queue_leave(struct bt_helper_job *job)
{
    job->queued = false;
    job->pool->n_queue--;
    tally_by(job->pool, queue, -1);
    list_remove(&job->link);
}

/* It will not be answered; it is in no slot and no queue. */
static void job_lose(struct bt_helper_job *job)
{
    timeout_clear(&job->timeout);
    job->proc = NULL;
    list_add_tail(&job->pool->told, &job->link);
    loop_defer(&job->pool->tell, tell_lost);
}

static void queue_enter(struct bt_helper_job *job, bool in_front)
{
    if (in_front)
        list_add_head(&job->pool->queue, &job->link);
    else
        list_add_tail(&job->pool->queue, &job->link);
    job->queued = true;
    job->pool->n_queue++;
    tally(job->pool, queue);
}

/* ---- processes ---- */

static void proc_free(struct deferred *deferred)
{
    struct proc *proc = LIST_OF(deferred, struct proc, gone);
    struct bt_helper *pool = proc->pool;

    free(proc->in);
    free(proc);
    dispatch(pool);
}

/* Its questions go to others, those of a seat and those that were tried often enough are lost. */
static void proc_orphan(struct proc *proc)
{
    for (unsigned i = 0; i < proc->pool->slots; i++) {
        struct bt_helper_job *job = proc->slot[i].job;
        if (job == NULL)
            continue;
        proc->slot[i].job = NULL;
        job->proc = NULL;
        if (job->ask == NULL) {
            job_free(job);
        } else if (job->seat != NULL || job->tries >= HELPER_TRIES || !proc->pool->running) {
            tally(proc->pool, lost);
            job_lose(job);
        } else {
            queue_enter(job, true);
        }
    }
}

static void proc_end(struct proc *proc, bool asked)
{
    struct bt_helper *pool = proc->pool;

    if (proc->dead)
        return;
    proc->dead = true;
    list_remove(&proc->link);
    pool->n_procs--;
    tally_by(pool, processes, -1);
    stream_close(&proc->stream);
    program_end(proc->pid, pool->label, asked);
    if (proc->seat != NULL) {
        proc->seat->proc = NULL;
        proc->seat->lost = true;
        proc->seat = NULL;
    }
    proc_orphan(proc);
    loop_defer(&proc->gone, proc_free);
}

/* When the next process may be started, after one that died. */
static void back_off(struct bt_helper *pool)
{
    unsigned beyond = pool->deaths > HELPER_PATIENCE ? pool->deaths - HELPER_PATIENCE : 0;
    int64_t seconds = beyond == 0 ? 0 : beyond > 5 ? HELPER_BACKOFF_MAX_S : 1 << (beyond - 1);

    if (seconds > HELPER_BACKOFF_MAX_S)
        seconds = HELPER_BACKOFF_MAX_S;
    pool->start_us = clock_us() + seconds * 1000000;
    if (seconds == 0)
        return;
    if (beyond == 1)
        bt_log(NULL, BT_WARN,
               "%s: the program ends as soon as it is started, and is started less often from now "
               "on; run it by hand: %s",
               pool->label, pool->argv[0]);
    timeout_set_after(&pool->starting, &pool->start_again, (bt_duration){seconds * 1000});
}

static void proc_died(struct proc *proc, bool by_us)
{
    struct bt_helper *pool = proc->pool;

    tally(pool, restarts);
    pool->deaths++;
    proc_end(proc, by_us);
    back_off(pool);
}

static void proc_bad(struct proc *proc, const char *why)
{
    tally(proc->pool, garbage);
    bt_log_limited(NULL, BT_WARN, 5, "%s: process %d %s, so it is ended", proc->pool->label,
                   (int)proc->pid, why);
    proc_died(proc, true);
}

static bool proc_new(struct bt_helper *pool)
{
    pid_t pid;
    int fd = program_start(pool->argv, pool->grumble.fd[1], &pid);

    if (fd < 0) {
        bt_log_limited(NULL, BT_WARN, 30, "%s: %s cannot be started: %s", pool->label,
                       pool->argv[0], strerror(errno));
        pool->deaths += HELPER_PATIENCE + 1;
        back_off(pool);
        return false;
    }
    struct proc *proc = calloc(1, sizeof *proc + pool->slots * sizeof *proc->slot);
    CHECK(proc != NULL);
    proc->pool = pool;
    proc->pid = pid;
    proc->heard_us = clock_us();
    stream_init(&proc->stream, fd, proc_ready);
    stream_watch(&proc->stream);
    list_add_tail(&pool->procs, &proc->link);
    pool->n_procs++;
    tally(pool, starts);
    tally(pool, processes);
    return true;
}

static bool may_start(const struct bt_helper *pool)
{
    return pool->running && (int64_t)pool->n_procs < pool->o.children &&
           clock_us() >= pool->start_us;
}

static void start_again(struct timeout *timeout)
{
    struct bt_helper *pool = LIST_OF(timeout, struct bt_helper, start_again);

    if (pool->n_procs == 0 && may_start(pool))
        (void)proc_new(pool); /* see whether it stays, before somebody needs it */
    dispatch(pool);
}

/* ---- answers ---- */

static void slot_clear(struct proc *proc, struct slot *slot)
{
    *slot = (struct slot){NULL, false};
    proc->busy--;
}

/* One line without its end. */
static void answer(struct proc *proc, char *line, size_t len)
{
    struct bt_helper *pool = proc->pool;
    uint64_t channel = 0;
    static struct reply reply;

    if (pool->o.concurrency > 0 && !reply_channel(&line, &len, &channel)) {
        proc_bad(proc, "answers without the number of a channel");
        return;
    }
    struct slot *slot = channel < pool->slots ? &proc->slot[channel] : NULL;
    if (slot == NULL || (slot->job == NULL && !slot->stale)) {
        proc_bad(proc, "answers what nobody asked");
        return;
    }
    struct bt_helper_job *job = slot->job;
    slot_clear(proc, slot);
    pool->deaths = 0;
    if (job == NULL)
        return;
    reply_parse(&reply, line, len);
    job_done(job, &reply.said);
}

/* Whole lines of what was read; false: the process is gone. */
static bool answers(struct proc *proc)
{
    char end = proc->pool->o.end, *at = proc->in, *lf;
    size_t left = proc->have, skip = proc->looked;

    while (!proc->dead && (lf = memchr(at + skip, end, left - skip)) != NULL) {
        size_t len = (size_t)(lf - at);
        proc->heard_us = clock_us();
        answer(proc, at, len);
        at += len + 1;
        left -= len + 1;
        skip = 0;
    }
    if (proc->dead)
        return false;
    if (left > HELPER_ANSWER_MAX) {
        proc_bad(proc, "gives an answer of more than 1 MB");
        return false;
    }
    if (left > 0 && proc->busy == 0) {
        proc_bad(proc, "speaks without being asked");
        return false;
    }
    if (at != proc->in)
        memmove(proc->in, at, left);
    proc->have = proc->looked = left;
    return true;
}

static void proc_ready(struct stream *stream)
{
    enum { STEP = 4096 };
    struct proc *proc = LIST_OF(stream, struct proc, stream);
    struct bt_helper *pool = proc->pool;

    for (;;) {
        if (proc->room - proc->have < STEP) {
            proc->room = proc->room == 0 ? 2 * STEP : 2 * proc->room;
            proc->in = realloc(proc->in, proc->room);
            CHECK(proc->in != NULL);
        }
        ssize_t n = stream_read(stream, proc->in + proc->have, proc->room - proc->have);
        if (n == BT_IO_AGAIN)
            break;
        if (n < 0) {
            proc_died(proc, false);
            return;
        }
        proc->have += (size_t)n;
        if (!answers(proc))
            return;
    }
    if (stream->cut)
        proc_died(proc, false);
    else
        dispatch(pool);
}

/* ---- questions ---- */

static void job_send(struct proc *proc, struct bt_helper_job *job)
{
    struct bt_helper *pool = proc->pool;
    char number[24];
    struct iovec iov[3];
    unsigned channel = 0;

    while (proc->slot[channel].job != NULL || proc->slot[channel].stale)
        channel++;
    CHECK(channel < pool->slots);
    iov[0] = (struct iovec){number, pool->o.concurrency > 0
                                        ? (size_t)snprintf(number, sizeof number, "%u ", channel)
                                        : 0};
    iov[1] = (struct iovec){job->line, job->len};
    iov[2] = (struct iovec){&pool->o.end, 1};
    proc->slot[channel].job = job;
    proc->busy++;
    job->proc = proc;
    job->tries++;
    job->sent_us = clock_us();
    if (!stream_write(&proc->stream, iov, 3))
        stream_again(&proc->stream); /* what it said before it died may be read */
}

/* The least busy process with a free slot; NULL: none. */
static struct proc *proc_pick(struct bt_helper *pool, const struct bt_helper_job *job)
{
    struct proc *best = NULL;

    if (job->seat != NULL && job->seat->proc != NULL)
        return job->seat->proc;
    LIST_EACH(&pool->procs, struct proc, link, proc)
        if (proc->seat == NULL && proc->busy < pool->slots && !proc->stream.cut &&
            (best == NULL || proc->busy < best->busy))
            best = proc;
    return best;
}

static void spare_start(struct bt_helper *pool)
{
    int64_t spare = 0;

    LIST_EACH(&pool->procs, struct proc, link, proc)
        spare += proc->seat == NULL && proc->busy < pool->slots;
    while (spare < pool->o.idle && pool->n_procs > 0 && may_start(pool) && proc_new(pool))
        spare++;
}

static void queue_lose(struct bt_helper *pool)
{
    LIST_EACH(&pool->queue, struct bt_helper_job, link, job) {
        queue_leave(job);
        tally(pool, down);
        job_lose(job);
    }
}

/* As many questions as there are processes for. */
static void dispatch(struct bt_helper *pool)
{
    struct bt_helper_job *job;

    if (!pool->running)
        return;
    while ((job = LIST_FIRST(&pool->queue, struct bt_helper_job, link)) != NULL) {
        struct proc *proc = proc_pick(pool, job);
        if (proc == NULL) {
            if (may_start(pool) && proc_new(pool))
                continue;
            if (pool->n_procs == 0)
                queue_lose(pool);
            break;
        }
        queue_leave(job);
        if (job->seat != NULL && job->seat->proc == NULL) {
            job->seat->proc = proc;
            proc->seat = job->seat;
        }
        job_send(proc, job);
    }
    spare_start(pool);
}

/* Nobody waits for it any more; its slot stays taken until the answer comes. */
static void job_abandon(struct bt_helper_job *job)
{
    struct proc *proc = job->proc;

    if (proc == NULL) {
        if (job->queued)
            queue_leave(job);
        return;
    }
    for (unsigned i = 0; i < proc->pool->slots; i++)
        if (proc->slot[i].job == job)
            proc->slot[i] = (struct slot){NULL, true};
    job->proc = NULL;
}

static void job_expired(struct timeout *timeout)
{
    struct bt_helper_job *job = LIST_OF(timeout, struct bt_helper_job, timeout);
    struct bt_helper *pool = job->pool;
    struct proc *proc = job->proc;

    tally(pool, timeouts);
    bt_log_limited(NULL, BT_WARN, 30, "%s: no answer within %" PRId64 " ms", pool->label,
                   pool->o.timeout.ms);
    if (proc == NULL) {
        queue_leave(job);
    } else {
        bool hung = proc->heard_us <= job->sent_us;
        job_abandon(job);
        if (hung)
            proc_died(proc, true);
    }
    job->late = true;
    job_lose(job);
}

static struct bt_helper_job *job_new(struct bt_helper *pool, struct bt_helper_ask *ask, bt_str line)
{
    struct bt_helper_job *job = calloc(1, sizeof *job + line.len + 1);

    CHECK(job != NULL && ask->job == NULL);
    job->pool = pool;
    job->ask = ask;
    job->asked_us = clock_us();
    job->len = line.len;
    for (size_t i = 0; i < line.len; i++) /* a line end inside would be two questions */
        job->line[i] = line.at[i] == pool->o.end ? ' ' : line.at[i];
    ask->job = job;
    tally(pool, requests);
    return job;
}

static void job_start(struct bt_helper_job *job)
{
    struct bt_helper *pool = job->pool;

    if (!pool->running || (pool->n_procs == 0 && !may_start(pool))) {
        tally(pool, down);
        job_lose(job);
        return;
    }
    queue_enter(job, job->seat != NULL && job->seat->proc != NULL);
    timeout_set(&pool->asking, &job->timeout);
    dispatch(pool);
    if (job->queued && (int64_t)pool->n_queue > pool->o.queue) {
        tally(pool, overload);
        bt_log_limited(NULL, BT_WARN, 60,
                       "%s: overloaded: %zu questions wait for %zu processes, more are not asked; "
                       "raise the number of children",
                       pool->label, pool->n_queue - 1, pool->n_procs);
        queue_leave(job);
        job_lose(job);
    }
}

void bt_helper_ask(struct bt_helper *pool, struct bt_helper_ask *ask, bt_str line)
{
    job_start(job_new(pool, ask, line));
}

void bt_helper_cancel(struct bt_helper_ask *ask)
{
    struct bt_helper_job *job = ask->job;

    if (job == NULL)
        return;
    job->ask = NULL;
    ask->job = NULL;
    job_abandon(job);
    job_free(job);
}

/* ---- seats ---- */

static void seat_expired(struct timeout *timeout)
{
    struct bt_helper_seat_state *seat = LIST_OF(timeout, struct bt_helper_seat_state, timeout);
    struct bt_helper *pool = seat->pool;

    seat->lost = true;
    if (seat->proc == NULL)
        return;
    if (seat->proc->busy > 0) {
        timeout_set(&pool->seated, &seat->timeout); /* the question has a limit of its own */
        seat->lost = false;
        return;
    }
    seat->proc->seat = NULL;
    seat->proc = NULL;
    dispatch(pool);
}

void bt_helper_ask_seated(struct bt_helper *pool, struct bt_helper_seat *at,
                          struct bt_helper_ask *ask, bt_str line)
{
    struct bt_helper_job *job = job_new(pool, ask, line);

    if (at->state == NULL) {
        at->state = calloc(1, sizeof *at->state);
        CHECK(at->state != NULL);
        at->state->pool = pool;
    }
    job->seat = at->state;
    if (at->state->lost) {
        tally(pool, lost);
        job_lose(job);
        return;
    }
    timeout_set(&pool->seated, &at->state->timeout);
    job_start(job);
}

void bt_helper_leave(struct bt_helper_seat *at)
{
    struct bt_helper_seat_state *seat = at->state;

    if (seat == NULL)
        return;
    at->state = NULL;
    timeout_clear(&seat->timeout);
    struct proc *proc = seat->proc;
    struct bt_helper *pool = seat->pool;
    free(seat);
    if (proc == NULL)
        return;
    proc->seat = NULL;
    if (proc->busy > 0) /* an answer to a dialogue that nobody will go on with */
        proc_end(proc, true);
    dispatch(pool);
}

/* ---- pools ---- */

/* A name for each row: helper.POOL.requests. */
static void counters_make(struct bt_helper *pool, struct bt_arena *arena)
{
    size_t n = sizeof rows / sizeof *rows;
    struct bt_counter *mine = bt_alloc(arena, n * sizeof *mine);

    memcpy(mine, rows, sizeof rows);
    for (size_t i = 0; i < n; i++)
        mine[i].name = bt_str_printf(arena, "helper.%s.%s", pool->o.name, rows[i].name).at;
    counter_register(mine, n, &pool->row);
}

static bool any;

bool helper_any(void)
{
    return any;
}

struct bt_helper *bt_helper_new(struct bt_arena *arena, const struct bt_helper_options *options)
{
    struct bt_helper *pool = bt_alloc(arena, sizeof *pool);
    struct bt_helper_options *o = &pool->o;

    any = true;
    *o = *options;
    o->children = o->children > 0 ? o->children : 1;
    o->concurrency = o->concurrency > 0 ? o->concurrency : 0;
    o->queue = o->queue >= 0 ? o->queue : 2 * o->children;
    o->end = o->end != 0 ? o->end : '\n';
    if (o->timeout.ms == 0)
        o->timeout.ms = 60 * 1000;
    if (o->reserved.ms == 0)
        o->reserved.ms = 60 * 1000;
    o->name = bt_str_copy(arena, str_from(options->name)).at;
    pool->label = o->name;
    pool->slots = o->concurrency > 0 ? (unsigned)o->concurrency : 1;
    pool->argv = bt_alloc(arena, (o->command.n + 1) * sizeof *pool->argv);
    for (size_t i = 0; i < o->command.n; i++)
        pool->argv[i] = (char *)(uintptr_t)bt_str_copy(arena, o->command.word[i].text).at;
    list_init(&pool->procs);
    list_init(&pool->queue);
    list_init(&pool->told);
    counters_make(pool, arena);
    return pool;
}

void bt_helper_start(struct bt_helper *pool)
{
    timeout_class_init(&pool->asking, pool->o.timeout, job_expired);
    timeout_class_init(&pool->seated, pool->o.reserved, seat_expired);
    timeout_class_init(&pool->starting, (bt_duration){1000}, start_again);
    if (!grumble_open(&pool->grumble, pool->label))
        bt_log(NULL, BT_WARN, "%s: no pipe for its standard error: %s", pool->label,
               strerror(errno));
    pool->running = true;
    while ((int64_t)pool->n_procs < pool->o.startup && may_start(pool) && proc_new(pool))
        continue;
}

void bt_helper_stop(struct bt_helper *pool)
{
    if (!pool->running)
        return;
    pool->running = false;
    LIST_EACH(&pool->procs, struct proc, link, proc)
        proc_end(proc, true);
    LIST_EACH(&pool->queue, struct bt_helper_job, link, job) {
        queue_leave(job);
        job_free(job);
    }
    LIST_EACH(&pool->told, struct bt_helper_job, link, lost)
        job_free(lost);
    deferred_cancel(&pool->tell);
    timeout_clear(&pool->start_again);
    timeout_class_fini(&pool->asking);
    timeout_class_fini(&pool->seated);
    timeout_class_fini(&pool->starting);
    grumble_close(&pool->grumble);
}

struct helper_state helper_state(const struct bt_helper *pool)
{
    struct helper_state state = {.processes = (unsigned)pool->n_procs,
                                 .waiting = (unsigned)pool->n_queue};

    LIST_EACH(&pool->procs, struct proc, link, proc)
        state.busy += proc->busy;
    state.down = pool->running && pool->n_procs == 0 && !may_start(pool);
    return state;
}
