/* sockets.c - binds the ports, or takes them over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/str.h"
#include "bt.h"
#include "net/listener.h"
#include "proc/settings.h"

/* The path, or NULL: it is a port of the network. */
static const char *path_of(const struct sockaddr_storage *where)
{
    const struct sockaddr_un *local = (const struct sockaddr_un *)(const void *)where;

    return where->ss_family == AF_UNIX ? local->sun_path : NULL;
}

void sockets_print(const struct sockaddr_storage *where, char text[SOCKETS_TEXT])
{
    char addr[ADDR_PORT_TEXT];

    if (path_of(where) != NULL) {
        snprintf(text, SOCKETS_TEXT, "unix:%s", path_of(where));
        return;
    }
    addr_print_with_port((const struct sockaddr *)where, addr);
    snprintf(text, SOCKETS_TEXT, "%s", addr);
}

/* A port is the same port after a reload when all that the kernel knows of it is the same. */
static void key_of(char key[HANDOVER_KEY], const struct flow_port *port)
{
    char addr[ADDR_PORT_TEXT];

    if (path_of(&port->addr) != NULL) {
        sockets_print(&port->addr, key);
        return;
    }
    addr_print_with_port((const struct sockaddr *)&port->addr, addr);
    snprintf(key, HANDOVER_KEY, "%s%s%s keepalive=%d,%d,%d,%d%s%s", addr, port->dual ? " dual" : "",
             port->admin ? " admin" : "", port->keepalive, port->keep_idle, port->keep_interval,
             port->keep_count, port->mode == PORT_TPROXY ? " transparent" : "",
             port->no_pmtu ? " pmtu" : "");
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

static struct listener_opts opts_of(const struct flow_port *port)
{
    return (struct listener_opts){.dual = port->dual,
                                  .transparent = port->mode == PORT_TPROXY,
                                  .no_pmtu = port->no_pmtu,
                                  .keepalive = port->keepalive,
                                  .keep_idle = port->keep_idle,
                                  .keep_interval = port->keep_interval,
                                  .keep_count = port->keep_count};
}

static int bind_one(const struct flow_port *port, const struct sockaddr *where, bool first,
                    struct bt_error *err)
{
    const struct privs *privs = &settings->privs;
    struct listener_opts opts = opts_of(port);
    struct listener_why why = {""};

    opts.first = first;
    int fd = where->sa_family == AF_UNIX
                 ? listener_bind_local(where, privs->drop ? (int64_t)privs->uid : -1,
                                       privs->drop ? (int64_t)privs->gid : -1, &why)
                 : listener_bind(where, addr_len(where), &opts, &why);

    if (fd < 0)
        bt_complain(err, port->at, "%s", why.text);
    return fd;
}

/* One more at the place of the first. A path has one socket alone; and when the first was made by
 * somebody else (systemd, for another user), the kernel lets nobody in beside it: workers share it. */
static int bind_another(const struct flow_port *port, const struct sockaddr *where, int first)
{
    struct listener_opts opts = opts_of(port);
    struct listener_why why;
    int fd = where->sa_family == AF_UNIX ? -1 : listener_bind(where, addr_len(where), &opts, &why);

    return fd >= 0 ? fd : fcntl(first, F_DUPFD_CLOEXEC, 0);
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
        const struct sockaddr *where = (const struct sockaddr *)&out->where;
        int fd = first ? bind_one(port, where, alone, err) : bind_another(port, where, out->fd[0]);
        if (fd < 0)
            return first ? false
                         : bt_complain(err, port->at,
                                       "no descriptor is free: %s; raise the limit "
                                       "(ulimit -n)",
                                       strerror(errno));
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

/* Binding would leave a file behind. */
static bool try_path(const struct flow_port *port, struct bt_error *err)
{
    char folder[sizeof(struct sockaddr_un)];

    snprintf(folder, sizeof folder, "%s", path_of(&port->addr));
    return access(dirname(folder), W_OK | X_OK) == 0 ||
           bt_complain(err, port->at, "cannot listen on %s: %s", path_of(&port->addr),
                       strerror(errno));
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
        if (path_of(&ports[i].addr) != NULL) {
            good &= try_path(&ports[i], err);
            continue;
        }
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
    for (size_t p = 0; p < sockets->n; p++) {
        if (path_of(&sockets->port[p].where) != NULL)
            (void)unlink(path_of(&sockets->port[p].where)); /* else the next start does it */
        for (size_t i = 0; i < sockets->port[p].n; i++)
            close(sockets->port[p].fd[i]);
    }
    sockets->n = 0;
}

void sockets_close_left(struct handover *left)
{
    for (size_t i = 0; i < left->n_sockets; i++) {
        if (left->socket[i].fd < 0)
            continue;
        if (strncmp(left->socket[i].key, "unix:", 5) == 0)
            (void)unlink(left->socket[i].key + 5);
        close(left->socket[i].fd);
        left->socket[i].fd = -1;
    }
}

/* ---- sockets of whoever started us ---- */

static const struct flow_port *port_for(int fd, bt_str name)
{
    const struct flow_port *ports;
    struct sockaddr_storage where;
    size_t n = flow_ports(&ports);

    for (size_t i = 0; i < n; i++)
        if (bt_str_eq(ports[i].name, name))
            return &ports[i];
    for (size_t i = 0; listener_address(fd, &where) && i < n; i++)
        if (addr_same((const struct sockaddr *)&ports[i].addr, (const struct sockaddr *)&where,
                      true))
            return &ports[i];
    return NULL;
}

static void activate_one(struct handover *left, int fd, bt_str name)
{
    const struct flow_port *port = port_for(fd, name);
    struct listener_opts opts;

    if (port == NULL) {
        bt_log(NULL, BT_WARN,
               "a socket named \"%.*s\" was handed over at the start, and there is no http_port of "
               "that name (name=) or address; it is closed",
               BT_STR_ARGS(name));
        close(fd);
        return;
    }
    opts = opts_of(port);
    if (!listener_take(fd, (const struct sockaddr *)&port->addr, &opts)) {
        bt_log(NULL, BT_WARN, "the socket that was handed over for port %.*s is none: %s",
               BT_STR_ARGS(port->name), strerror(errno));
        close(fd);
        return;
    }
    key_of(left->socket[left->n_sockets].key, port);
    left->socket[left->n_sockets++].fd = fd;
}

void sockets_activated(struct handover *left, struct bt_arena *arena)
{
    enum { FIRST = 3, MOST = 256 };
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS"),
               *all = getenv("LISTEN_FDNAMES");
    bt_str names = str_from(all), name;
    uint64_t whose, n = 0;

    if (pid != NULL && fds != NULL && str_uint(str_from(pid), INT32_MAX, &whose) &&
        (pid_t)whose == getpid() && str_uint(str_from(fds), MOST, &n) && n > 0)
        left->socket = bt_alloc(arena, n * sizeof *left->socket);
    else
        n = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!str_cut(&names, ':', &name))
            name = BT_STR("");
        activate_one(left, FIRST + (int)i, name);
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}
