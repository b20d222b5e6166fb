/* watch.c - what goes on beside exchanges: is a parent back, is it well, connections in advance.
 *
 * Each worker looks once a second; what all workers need but once (probes and health checks) is done by
 * whoever sees first that it is time. Connections in advance are each worker's own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "counts.h"
#include "peer.h"

enum { LOOK_MS = 1000, PROBE_MOST_MS = 10 * 1000 };

static struct bt_timer *timer;
static bool stopped;

static struct peer *peer_of(struct bt_probe *probe)
{
    return (struct peer *)(uintptr_t)probe->parent; /* it is a struct peer of ours */
}

/* ---- back? ---- */

static void revival_over(struct bt_probe *probe)
{
    if (probe->reached)
        state_revive(peer_of(probe));
}

static void probe(struct peer *peer, struct bt_probe *probe)
{
    int64_t limit = peer->parent.connect_timeout.ms;

    probe->parent = &peer->parent;
    probe->limit.ms = limit > 0 && limit < PROBE_MOST_MS ? limit : PROBE_MOST_MS;
    (void)!bt_probe_start(probe);
}

static void look_dead(struct peer *peer)
{
    if (peer->health_url.len > 0 || peer->revival.txn != NULL || !state_revival_due(peer))
        return;
    bt_count(probes);
    peer->revival.done = revival_over;
    probe(peer, &peer->revival);
}

/* ---- well? ---- */

static void health_over(struct bt_probe *probe)
{
    state_health(peer_of(probe), probe->status >= 200 && probe->status < 400, probe->status);
}

static void look_health(struct peer *peer)
{
    if (peer->health_url.len == 0 || peer->health.txn != NULL || !state_health_due(peer))
        return;
    bt_count(checks);
    peer->health.done = health_over;
    peer->health.url = peer->health_url;
    probe(peer, &peer->health);
}

/* ---- ready? ---- */

static void look_standby(struct peer *peer);

static void advance_over(struct bt_probe *probe)
{
    if (probe->reached)
        look_standby(peer_of(probe)); /* the next one */
}

static void look_standby(struct peer *peer)
{
    if (stopped || peer->advance.txn != NULL || (int64_t)peer->idle >= peer->standby ||
        !state_up(peer))
        return;
    bt_count(advance);
    peer->advance.done = advance_over;
    probe(peer, &peer->advance);
}

/* ---- once a second ---- */

static void look(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < peers->n; i++) {
        if (peers->peer[i]->type != PEER_PARENT)
            continue;
        look_dead(peers->peer[i]);
        look_health(peers->peer[i]);
        look_standby(peers->peer[i]);
    }
    timer = bt_timer_start((bt_duration){LOOK_MS}, look, NULL);
}

void watch_start(void)
{
    stopped = false;
    timer = bt_timer_start((bt_duration){1}, look, NULL);
}

void watch_stop(void)
{
    stopped = true;
    bt_timer_cancel(timer);
    timer = NULL;
}
