/* state.c - what all workers know of a parent: is it up, how often was it asked, how many connections
 * are open.
 *
 * All of it stands in one zone. What is counted on every exchange has a row for each worker, so that
 * workers do not fight for memory; who is up is written when that changes. A worker that dies leaves its
 * connections counted, until another one takes them off.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "counts.h"
#include "peer.h"

enum {
    LAYOUT = 2,
    PROBE_FIRST_MS = 1000, /* after a parent has died; twice that later, up to dead_peer_timeout */
    HEALTH_BAD = 2         /* bad checks in a row that take a parent out */
};

/* One parent, for all. */
struct shared {
    _Atomic uint32_t failures; /* in a row */
    _Atomic uint32_t dead, unwell, bad_checks;
    _Atomic int32_t open;
    _Atomic uint32_t wanted; /* somebody would open one, and may not */
    _Atomic int32_t status;  /* of the last health check */
    _Atomic int64_t since_ms;
    _Atomic int64_t probe_ms,
        probe_wait_ms; /* when the next probe is due, how long to the one after */
    _Atomic int64_t health_ms;
    _Atomic int64_t rtt_us;
};

/* One parent, for one worker. */
struct row {
    _Atomic int64_t answered, silent, refused, opened, open;
};

struct head {
    _Atomic uint32_t changes;
};

static struct head *head;
static struct shared *shared;
static struct row *rows; /* of BT_MEMBERS_MAX members, peers->n each */

/* ---- memory ---- */

static uint64_t mixed(uint64_t hash, bt_str text)
{
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * UINT64_C(1099511628211);
    return (hash ^ 10) * UINT64_C(1099511628211);
}

/* Of the same parents in the same order: what was known of them goes on. */
static uint64_t layout(const struct peer_conf *conf)
{
    uint64_t hash = UINT64_C(14695981039346656037) + LAYOUT;

    for (unsigned i = 0; i < conf->n; i++) {
        hash = mixed(mixed(hash, conf->peer[i]->parent.name), conf->peer[i]->parent.host);
        hash ^= (uint64_t)conf->peer[i]->parent.port << 20;
        hash = mixed(hash, conf->peer[i]->health_url);
    }
    return hash;
}

static void bury(void *arg, unsigned member)
{
    struct row *row = &rows[(size_t)member * peers->n];

    (void)arg;
    for (unsigned i = 0; i < peers->n; i++) {
        int64_t left = atomic_exchange(&row[i].open, 0);
        atomic_fetch_sub(&shared[i].open, (int32_t)left);
    }
}

static struct row *row_of(const struct peer *peer)
{
    unsigned member = bt_member();

    return &rows[(size_t)(member < BT_MEMBERS_MAX ? member : 0) * peers->n + peer->number];
}

/* Only this worker writes to its row, but for the one that buries it. */
static void add(_Atomic int64_t *slot, int64_t by)
{
    atomic_store_explicit(slot, atomic_load_explicit(slot, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

/* ---- up and down ---- */

bool state_up(const struct peer *peer)
{
    const struct shared *s = &shared[peer->number];

    return atomic_load_explicit(&s->dead, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&s->unwell, memory_order_relaxed) == 0;
}

uint32_t state_changes(void)
{
    return atomic_load_explicit(&head->changes, memory_order_acquire);
}

/* A flag changes, for all. false: somebody else was faster. */
static bool change(struct shared *s, _Atomic uint32_t *flag, uint32_t to)
{
    uint32_t from = !to;

    if (!atomic_compare_exchange_strong(flag, &from, to))
        return false;
    atomic_store(&s->since_ms, bt_wall_ms());
    atomic_fetch_add(&head->changes, 1);
    return true;
}

static void die(const struct peer *peer, struct shared *s)
{
    atomic_store(&s->probe_wait_ms, PROBE_FIRST_MS);
    atomic_store(&s->probe_ms, bt_wall_ms() + PROBE_FIRST_MS);
    if (!change(s, &s->dead, 1))
        return;
    bt_count(died);
    bt_log(NULL, BT_WARN,
           "parent %.*s (%.*s:%u) does not answer and is left out; it is probed until it does",
           BT_STR_ARGS(peer->parent.name), BT_STR_ARGS(peer->parent.host), peer->parent.port);
}

void state_revive(const struct peer *peer)
{
    struct shared *s = &shared[peer->number];

    atomic_store(&s->failures, 0);
    if (!change(s, &s->dead, 0))
        return;
    bt_count(revived);
    bt_log(NULL, BT_INFO, "parent %.*s is back", BT_STR_ARGS(peer->parent.name));
}

void state_health(const struct peer *peer, bool good, int status)
{
    struct shared *s = &shared[peer->number];

    atomic_store(&s->status, status);
    if (good) {
        atomic_store(&s->bad_checks, 0);
        if (change(s, &s->unwell, 0))
            bt_log(NULL, BT_INFO, "parent %.*s is well again", BT_STR_ARGS(peer->parent.name));
        state_revive(peer);
        return;
    }
    bt_count(unwell);
    if (atomic_fetch_add(&s->bad_checks, 1) + 1 < HEALTH_BAD || !change(s, &s->unwell, 1))
        return;
    bt_log(NULL, BT_WARN, "parent %.*s is not well (%.*s: status %d) and is left out",
           BT_STR_ARGS(peer->parent.name), BT_STR_ARGS(peer->health_url), status);
}

/* ---- how exchanges went ---- */

static void answered(const struct peer *peer, struct shared *s, int64_t us)
{
    int64_t rtt = atomic_load_explicit(&s->rtt_us, memory_order_relaxed);

    add(&row_of(peer)->answered, 1);
    if (atomic_load_explicit(&s->failures, memory_order_relaxed) != 0)
        atomic_store(&s->failures, 0);
    if (atomic_load_explicit(&s->dead, memory_order_relaxed) != 0)
        state_revive(peer);
    if (us > 0 && peer->weighted)
        atomic_store_explicit(&s->rtt_us, rtt == 0 ? us : rtt + (us - rtt) / 8,
                              memory_order_relaxed);
}

void state_tell(const struct bt_parent *parent, enum bt_parent_event event, int64_t us)
{
    const struct peer *peer = (const struct peer *)parent;
    struct shared *s = &shared[peer->number];

    switch (event) {
    case BT_PARENT_ANSWERED:
        answered(peer, s, us);
        break;
    case BT_PARENT_REFUSED:
        add(&row_of(peer)->refused, 1);
        bt_count(refused);
        break;
    case BT_PARENT_SILENT:
        add(&row_of(peer)->silent, 1);
        bt_count(failed);
        if (atomic_fetch_add(&s->failures, 1) + 1 >= (uint32_t)peer->fail_limit &&
            atomic_load_explicit(&s->dead, memory_order_relaxed) == 0)
            die(peer, s);
        break;
    }
}

int64_t state_rtt_us(const struct peer *peer)
{
    return atomic_load_explicit(&shared[peer->number].rtt_us, memory_order_relaxed);
}

/* Whoever has one that only waits closes it, so that it is not always the same worker that may ask. */
static void ask_others(const struct peer *peer, struct shared *s)
{
    atomic_store(&s->wanted, 1);
    for (unsigned m = 0; m < BT_MEMBERS_MAX; m++)
        if (m != bt_member() && atomic_load(&rows[(size_t)m * peers->n + peer->number].open) > 0)
            bt_wake(m);
}

/* Another worker wants a connection that perhaps waits here. */
static void woken(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < peers->n; i++) {
        struct peer *peer = peers->peer[i];
        if (peer->idle > 0 && atomic_load_explicit(&shared[i].wanted, memory_order_relaxed) != 0 &&
            atomic_exchange(&shared[i].wanted, 0) != 0)
            (void)!bt_parent_idle_close(&peer->parent);
    }
}

static bool take(const struct peer *peer, struct shared *s)
{
    if (atomic_fetch_add(&s->open, 1) < peer->max_conn || peer->max_conn == 0)
        return true;
    atomic_fetch_sub(&s->open, 1);
    return false;
}

bool state_take(const struct bt_parent *parent)
{
    const struct peer *peer = (const struct peer *)parent;
    struct shared *s = &shared[peer->number];
    struct row *row = row_of(peer);

    /* One that waits here may be of no use to this request: it has a body, or is a CONNECT. */
    if (!take(peer, s) && !(bt_parent_idle_close(parent) && take(peer, s))) {
        ask_others(peer, s);
        bt_count(full);
        return false;
    }
    atomic_fetch_add(&row->open, 1);
    add(&row->opened, 1);
    return true;
}

void state_give(const struct bt_parent *parent)
{
    const struct peer *peer = (const struct peer *)parent;

    atomic_fetch_sub(&row_of(peer)->open, 1);
    atomic_fetch_sub(&shared[peer->number].open, 1);
}

/* ---- setup ---- */

bool state_setup(struct peer_conf *conf, struct bt_arena *arena, struct bt_error *err)
{
    size_t size = 64 + conf->n * sizeof(struct shared);
    struct bt_zone *zone;
    char *memory;

    (void)arena;
    zone = bt_zone_make("peer", size + (size_t)BT_MEMBERS_MAX * conf->n * sizeof(struct row),
                        layout(conf), 0, err);
    if (zone == NULL)
        return false;
    memory = bt_zone_memory(zone);
    head = (struct head *)(void *)memory;
    shared = (struct shared *)(void *)(memory + 64);
    rows = (struct row *)(void *)(memory + size);
    if (!bt_zone_kept(zone))
        atomic_store(&head->changes, 1);
    bt_on_death(bury, NULL);
    bt_on_wake(woken, NULL);
    return true;
}

/* ---- when ---- */

/* Is it that time, and nobody else has seen it? Then `next_ms` stands. */
static bool due(_Atomic int64_t *when, int64_t next_ms)
{
    int64_t was = atomic_load(when);

    return bt_wall_ms() >= was && atomic_compare_exchange_strong(when, &was, next_ms);
}

bool state_revival_due(const struct peer *peer)
{
    struct shared *s = &shared[peer->number];
    int64_t wait = atomic_load(&s->probe_wait_ms), most = peers->dead_timeout.ms;

    if (atomic_load_explicit(&s->dead, memory_order_relaxed) == 0)
        return false;
    wait = wait * 2 < most ? wait * 2 : most;
    if (!due(&s->probe_ms, bt_wall_ms() + wait))
        return false;
    atomic_store(&s->probe_wait_ms, wait);
    return true;
}

bool state_health_due(const struct peer *peer)
{
    return due(&shared[peer->number].health_ms, bt_wall_ms() + peer->health_interval.ms);
}

void state_report(const struct peer *peer, struct state_report *report)
{
    const struct shared *s = &shared[peer->number];

    *report = (struct state_report){.dead = atomic_load(&s->dead) != 0,
                                    .unwell = atomic_load(&s->unwell) != 0,
                                    .since_ms = atomic_load(&s->since_ms),
                                    .status = atomic_load(&s->status),
                                    .open = atomic_load(&s->open),
                                    .rtt_us = atomic_load(&s->rtt_us),
                                    .failures = atomic_load(&s->failures)};
    for (unsigned m = 0; m < BT_MEMBERS_MAX; m++) {
        const struct row *row = &rows[(size_t)m * peers->n + peer->number];
        report->answered += (uint64_t)atomic_load_explicit(&row->answered, memory_order_relaxed);
        report->silent += (uint64_t)atomic_load_explicit(&row->silent, memory_order_relaxed);
        report->refused += (uint64_t)atomic_load_explicit(&row->refused, memory_order_relaxed);
        report->opened += (uint64_t)atomic_load_explicit(&row->opened, memory_order_relaxed);
    }
}
