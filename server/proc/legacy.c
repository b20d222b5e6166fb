/* legacy.c - gathers what this image of the master leaves to the next, and takes what was left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/legacy.h"

#include <string.h>
#include <unistd.h>

#include "proc/reload.h"
#include "stat/member.h"

static void hand_zone(void *arg, const struct zone_paper *zone)
{
    struct handover *h = arg;

    h->zone[h->n_zones++] = *zone;
}

static void hand_shared(struct handover *h, struct bt_arena *arena)
{
    h->zone = bt_alloc(arena, zone_count() * sizeof *h->zone);
    zone_each(hand_zone, h);
    h->wake = bt_alloc(arena, BT_MEMBERS_MAX * sizeof *h->wake);
    for (unsigned i = 0; i < BT_MEMBERS_MAX; i++)
        if (member_fd(i) >= 0)
            h->wake[h->n_wakes++] = (struct handover_wake){i, member_fd(i)};
}

void legacy_take(const struct handover *left)
{
    for (size_t i = 0; i < left->n_zones; i++)
        if (left->zone[i].name[0] != '\0')
            zone_left(&left->zone[i]);
        else
            close(left->zone[i].fd);
    for (size_t i = 0; i < left->n_wakes; i++)
        member_left(left->wake[i].member, left->wake[i].fd);
}

static void hand_sockets(struct handover *h, const struct start *start)
{
    size_t sockets = start->left.n_sockets;

    for (size_t i = 0; i < start->sockets.n; i++)
        sockets += start->sockets.port[i].n;
    h->socket = bt_alloc(start->arena, sockets * sizeof *h->socket);
    for (size_t p = 0; p < start->sockets.n; p++)
        for (size_t i = 0; i < start->sockets.port[p].n; i++) {
            struct handover_socket *socket = &h->socket[h->n_sockets++];
            strcpy(socket->key, start->sockets.port[p].key);
            socket->fd = start->sockets.port[p].fd[i];
        }
    for (size_t i = 0; i < start->left.n_sockets; i++) /* those that a failed start did not use */
        if (start->left.socket[i].fd >= 0)
            h->socket[h->n_sockets++] = start->left.socket[i];
}

static void hand_crews(struct handover *h, const struct crew *newest, struct bt_arena *arena)
{
    size_t crews = 0, workers = 0;

    for (const struct crew *crew = newest; crew != NULL; crew = crew->older) {
        crews++;
        workers += crew->n;
    }
    h->crew = bt_alloc(arena, crews * sizeof *h->crew);
    h->worker = bt_alloc(arena, workers * sizeof *h->worker);
    for (const struct crew *crew = newest; crew != NULL; crew = crew->older) {
        h->crew[h->n_crews++] = (struct handover_crew){crew->generation, crew->segment.fd};
        for (unsigned i = 0; i < crew->n; i++) {
            const struct hand *hand = &crew->hand[i];
            if (hand->pid != 0)
                h->worker[h->n_workers++] = (struct handover_worker){
                    crew->generation, hand->row, hand->pid, hand->line.fd, hand->accepting};
        }
    }
}

struct handover legacy_now(const struct start *start, const struct crew *newest, bool served)
{
    struct handover h = {.control = -1, .pidfile = start->pidfile.fd, .waiting = -1};

    hand_sockets(&h, start);
    hand_crews(&h, newest, start->arena);
    hand_shared(&h, start->arena);
    h.generation = newest->generation;
    h.started = newest->segment.head->started;
    h.shift_ms = newest->segment.head->clock_shift_ms;
    h.ready = served;
    h.reload = reload_last;
    strcpy(h.pidfile_path, start->pidfile.path);
    if (start->log_path != NULL && strlen(start->log_path) < sizeof h.log_path)
        strcpy(h.log_path, start->log_path);
    if (start->admin.path[0] != '\0') {
        h.control = start->admin.listener.fd;
        strcpy(h.control_path, start->admin.path);
    }
    return h;
}
