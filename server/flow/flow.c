/* flow.c - the exchanges as the processes see them: start, listen, drain, cut.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "base/check.h"
#include "flow/bump.h"
#include "flow/core.h"
#include "flow/intercept.h"
#include "flow/limits.h"
#include "flow/logs.h"
#include "flow/own.h"
#include "flow/pace.h"
#include "flow/pinned.h"
#include "flow/session.h"
#include "flow/txn.h"
#include "net/dial.h"
#include "net/idle.h"
#include "net/listener.h"
#include "net/pipe.h"
#include "net/resolve.h"

/* A port may have several sockets here: after a reload with fewer workers, none is given up. */
static struct port_listener {
    struct listener listener; /* first, so that it leads here */
    size_t port;
    struct port_listener *next;
} * listeners;

static void accepted(struct listener *l, int fd, const struct sockaddr *peer, socklen_t len)
{
    session_open((uint16_t)((struct port_listener *)(void *)l)->port, fd, peer, len);
}

static bool flow_start_resolver(void)
{
    bt_str *servers = calloc(core->nameservers.n + 1, sizeof *servers);

    CHECK(servers != NULL);
    for (size_t i = 0; i < core->nameservers.n; i++)
        servers[i] = core->nameservers.word[i].text;
    struct resolve_opts opts = {
        .servers = servers,
        .n_servers = core->nameservers.n,
        .hosts_file = core->hosts_file,
        .append_domain = core->append_domain,
        .search = core->dns_defnames,
        .timeout = core->dns_timeout,
        .retransmit = core->dns_retransmit,
        .positive_ttl = core->dns_positive,
        .negative_ttl = core->dns_negative,
    };
    bool started = resolve_init(&opts);
    free(servers);
    return started;
}

bool flow_share(unsigned workers)
{
    return limits_share(workers) && intercept_share();
}

bool flow_start(void)
{
    session_start();
    upstream_start();
    tunnel_start();
    pace_start();
    limits_start();
    pinned_start();
    bump_start();
    idle_init(core->server_idle_timeout, 0, 0);
    idle_lifetime(core->pconn_lifetime);
    dial_gap((bt_duration){core->dial_gap});
    return flow_start_resolver();
}

void flow_listen(size_t port, int fd)
{
    struct port_listener *l = calloc(1, sizeof *l);

    CHECK(l != NULL);
    l->port = port;
    l->next = listeners;
    listeners = l;
    listener_start(&l->listener, fd, accepted);
    own_note(fd);
}

void flow_drain(void (*over)(void), bool patient)
{
    for (struct port_listener *l = listeners; l != NULL; l = l->next)
        listener_stop(&l->listener);
    idle_close_all();
    session_drain(over, patient);
}

void flow_cut(void)
{
    session_cut();
}

void flow_flush_logs(bool reopen)
{
    logs_flush();
    if (reopen)
        logs_reopen();
}

void flow_rotate_logs(void)
{
    logs_rotate();
}

void flow_close_idle(void)
{
    idle_close_all();
    pipe_close_spare();
}

void flow_stop(void)
{
    while (listeners != NULL) {
        struct port_listener *l = listeners;

        listeners = l->next;
        listener_stop(&l->listener);
        free(l);
    }
    flow_close_idle();
    resolve_fini();
}
