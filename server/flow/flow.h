/* flow.h - what the processes (floor 8) ask of the exchanges (floor 7), and nothing else.
 *
 * The master reads the ports and opens them; a worker starts the flow on the descriptors that it
 * inherits, and drains it at the end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include <sys/socket.h>

#include "bt_module.h"

/* The server's own rows for everything that concerns exchanges, as a module writes them. */
extern const struct bt_module flow_module;
/* Every other name of the squid.conf language: warned about, or refused. */
extern const struct bt_module known_module;

/* What kind of clients come to a port. */
enum port_mode {
    PORT_FORWARD,   /* they are told of the proxy */
    PORT_INTERCEPT, /* the firewall redirects them here by NAT (SO_ORIGINAL_DST) */
    PORT_TPROXY,    /* the kernel hands them over as they are (IP_TRANSPARENT) */
    PORT_ACCEL      /* they take the proxy for the site itself */
};

/* A port with accel: how the URL of a request is made. */
struct port_site {
    bt_str defaultsite; /* NONE: Host must be there */
    bool vhost;         /* Host counts */
    int vport;          /* that all URLs have; 0: as Host has it */
    bt_str scheme;
    bool act_as_origin, ignore_cc, allow_direct;
};

/* One address of one http_port or admin_port line, to be bound by the master. */
struct flow_port {
    bt_str name;                              /* name= of the line, or ADDR:PORT as configured */
    struct sockaddr_storage addr;             /* port 0: the kernel chooses */
    const struct bt_word *at;                 /* the word of the line, for complaints */
    bool admin;                               /* admin_port: after all the others; a socket of
                                               * this machine when its family is AF_UNIX */
    bool dual;                                /* "http_port 3128": [::] that takes IPv4 too */
    bool keepalive;                           /* tcpkeepalive */
    int keep_idle, keep_interval, keep_count; /* seconds; 0: the kernel's */
    bool no_connection_auth;                  /* connection-auth=off */
    bool proxied;                             /* require-proxy-header */
    bool no_pmtu;                             /* disable-pmtu-discovery */
    enum port_mode mode;
    const struct port_site *site;  /* of a port with accel; NULL: it has none */
    const struct bt_tls_port *tls; /* what its line says about TLS */
};
/* All ports, in order of the file; valid after setup. */
size_t flow_ports(const struct flow_port **ports);

/* Whether connections to origins come from addresses of clients (tproxy). */
bool flow_spoofs(void);

/* Master, before the fork: memory that the workers share. false: there is none (errno). */
BT_MUST bool flow_share(unsigned workers);
/* Worker, after loop_init(): make lists, resolver, pools. false: logged why. */
BT_MUST bool flow_start(void);
/* Worker: begin to accept on fd for port number `port`; may be called for several of one port. */
void flow_listen(size_t port, int fd);
/* Worker: stop accepting, close what is idle, finish what is under way, then call over(). `patient`:
 * idle clients get a moment to send one more request, so that none meets a closing connection. */
void flow_drain(void (*over)(void), bool patient);
/* Worker: cut what is still under way (shutdown_lifetime is over, or a second signal). */
void flow_cut(void);
/* Worker: write out what logs hold; with `reopen`, after the master has renamed the files. */
void flow_flush_logs(bool reopen);
/* Master: rename log files, keeping as many old ones as configured. */
void flow_rotate_logs(void);
/* Worker: close idle origin connections (tests count descriptors). */
void flow_close_idle(void);
/* Worker, after the loop, when nothing is under way: give back what flow_start() made. */
void flow_stop(void);

#endif
