/* sockets.c - binds the ports, or takes them over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/sockets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "bt.h"
#include "net/listener.h"

/* A port is the same port after a reload when all that the kernel knows of it is the same. */
static void key_of(char key[HANDOVER_KEY], const struct flow_port *port)
{
    char addr[ADDR_PORT_TEXT];

    addr_print_with_port((const struct sockaddr *)&port->addr, addr);
    snprintf(key, HANDOVER_KEY, "%s%s keepalive=%d,%d,%d,%d", addr, port->dual ? " dual" : "",
             port->keepalive, port->keep_idle, port->keep_interval, port->keep_count);
}

static size_t left_of(const struct handover *left, const char *key)
{
    size_t n = 0;

    for (size_t i = 0; left != NULL && i < left->n_sockets; i++)
        n += left->socket[i].fd >= 0 && strcmp(left->socket[i].key, key) == 0;
    return n;
}

/* Is that number ours already, if for another address? Then there is no stranger to look for. */
static bool number_is_ours(const struct handover *left, unsigned number)
{
    char end[16];

    snprintf(end, sizeof end, ":%u ", number);
    for (size_t i = 0; left != NULL && i < left->n_sockets; i++)
        if (strstr(left->socket[i].key, end) != NULL)
            return true;
    return false;
}

static int bind_one(const struct flow_port *port, const struct sockaddr *where, bool first,
                    struct bt_error *err)
{
    struct listener_opts opts = {.first = first,
                                 .dual = port->dual,
                                 .keepalive = port->keepalive,
                                 .keep_idle = port->keep_idle,
                                 .keep_interval = port->keep_interval,
                                 .keep_count = port->keep_count};
    struct listener_why why = {""};
    int fd = listener_bind(where, addr_len(where), &opts, &why);

    if (fd < 0)
        bt_complain(err, port->at, "%s", why.text);
    return fd;
}

/* Sockets that were left, then new ones until each worker has one. */
static bool open_port(struct sockets_port *out, const struct flow_port *port, struct handover *left,
                      unsigned workers, struct bt_error *err)
{
    for (size_t i = 0; left != NULL && i < left->n_sockets; i++) {
        if (left->socket[i].fd < 0 || strcmp(left->socket[i].key, out->key) != 0)
            continue;
        out->fd[out->n++] = left->socket[i].fd;
        left->socket[i].fd = -1;
    }
    out->where = port->addr;
    while (out->n < workers || out->n == 0) {
        bool first = out->n == 0;
        if (!first && !listener_address(out->fd[0], &out->where))
            return bt_complain(err, port->at, "the port was lost: %s", strerror(errno));
        bool alone = first &&
                     !number_is_ours(left, addr_port((const struct sockaddr *)&port->addr));
        int fd = bind_one(port, (const struct sockaddr *)&out->where, alone, err);
        if (fd < 0)
            return false;
        out->fd[out->n++] = fd;
    }
    return listener_address(out->fd[0], &out->where) ||
           bt_complain(err, port->at, "the port was lost: %s", strerror(errno));
}

bool sockets_open(struct sockets *sockets, struct handover *left, unsigned workers,
                  struct bt_arena *arena, struct bt_error *err)
{
    const struct flow_port *ports;
    bool good = true;

    sockets->n = flow_ports(&ports);
    sockets->port = bt_alloc(arena, sockets->n * sizeof *sockets->port);
    for (size_t i = 0; i < sockets->n; i++) {
        struct sockets_port *out = &sockets->port[i];
        key_of(out->key, &ports[i]);
        out->fd = bt_alloc(arena, (workers + left_of(left, out->key)) * sizeof *out->fd);
        good &= open_port(out, &ports[i], left, workers, err);
    }
    return good;
}

bool sockets_try(const struct handover *left, struct bt_arena *arena, struct bt_error *err)
{
    const struct flow_port *ports;
    size_t n = flow_ports(&ports), opened = 0;
    int *fd = bt_alloc(arena, n * sizeof *fd);
    bool good = true;

    for (size_t i = 0; i < n; i++) {
        char key[HANDOVER_KEY];
        key_of(key, &ports[i]);
        /* One that is ours must not even be tried: a connection could land in the new socket. */
        if (left_of(left, key) > 0)
            continue;
        const struct sockaddr *addr = (const struct sockaddr *)&ports[i].addr;
        fd[opened] = bind_one(&ports[i], addr, !number_is_ours(left, addr_port(addr)), err);
        if (fd[opened] >= 0)
            opened++;
        else
            good = false;
    }
    while (opened > 0)
        close(fd[--opened]);
    return good;
}

void sockets_close(struct sockets *sockets)
{
    for (size_t p = 0; p < sockets->n; p++)
        for (size_t i = 0; i < sockets->port[p].n; i++)
            close(sockets->port[p].fd[i]);
    sockets->n = 0;
}

void sockets_close_left(struct handover *left)
{
    for (size_t i = 0; i < left->n_sockets; i++) {
        if (left->socket[i].fd >= 0)
            close(left->socket[i].fd);
        left->socket[i].fd = -1;
    }
}
