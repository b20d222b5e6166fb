/* core.h - the settings of everything that concerns exchanges.
 *
 * Filled from the rows in core.c; read-only after setup. One configuration a process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_CORE_H
#define FLOW_CORE_H

#include "flow/flow.h"

struct core_conf {
    /* ports */
    struct flow_port *ports;
    size_t n_ports, cap_ports; /* those of admin_port lines at the end */
    size_t n_admin;
    bool ports_tried; /* there was a line, good or bad */
    /* who we are */
    bt_str visible_hostname, unique_hostname, cache_mgr;
    bool suppress_version;
    /* policy */
    struct bt_rules *http_access;
    struct bt_rules *adapted_access, *miss_access, *reply_access; /* NULL: all may pass */
    bool access_audit;
    struct bt_rules *follow; /* follow_x_forwarded_for; NULL: nobody is believed */
    bool acl_indirect, log_indirect;
    struct bt_rules *unsupported; /* on_unsupported_protocol */
    struct bt_rules *spoof;       /* spoof_client_ip; NULL: all */
    bool tproxy_indirect, host_strict, dst_passthru;
    struct bt_rules *proxied;        /* proxy_protocol_access; NULL: nobody is believed */
    struct upgrade_rules *upgrades;  /* http_upgrade_request_protocols */
    struct bt_rules *reply_body_max; /* first match; its line's word 0 is the size */
    struct outgoing *outgoing;       /* tcp_outgoing_address; NULL: the kernel chooses */
    int64_t client_ip_max;           /* -1: no limit */
    /* headers */
    bool via;
    int64_t
        forwarded_for; /* enum forwarded_for of http/hop.h, in the order of its words in core.c */
    bt_size request_header_max, reply_header_max;
    bt_size request_body_max; /* <= 0: no limit */
    bt_size read_ahead_gap;
    int64_t uri_whitespace; /* enum mend_blanks of http/mend.h, in the order of its words */
    int64_t relaxed;        /* enum relaxed */
    /* names */
    struct bt_args nameservers;
    bt_str hosts_file, append_domain;
    bool dns_defnames;
    bt_duration dns_timeout, dns_retransmit, dns_positive, dns_negative;
    /* time limits */
    bt_duration connect_timeout, read_timeout, write_timeout;
    bt_duration request_timeout, request_start_timeout;
    bt_duration client_idle_timeout, server_idle_timeout, client_lifetime;
    bt_duration forward_timeout, pconn_lifetime;
    int64_t dial_gap; /* happy_eyeballs_connect_timeout, ms */
    int64_t forward_max_tries;
    bool retry_on_error;
    bool client_persistent, server_persistent, half_closed, v4_first;
    /* worked out by setup */
    bt_str via_text;    /* "host (bobtail/1.0)": what follows the version in Via */
    bt_str server_text; /* value of Server in our own answers */
};

/* on_unsupported_protocol, in the order of its words. */
enum unsupported { UNSUPPORTED_TUNNEL, UNSUPPORTED_RESPOND };

/* relaxed_header_parser, in the order of its words. */
enum relaxed { RELAXED_ON, RELAXED_OFF, RELAXED_WARN };

/* The server's part of the configuration; stands from the loading of the file on. */
#define core ((const struct core_conf *)flow_module.self->conf)

#endif
