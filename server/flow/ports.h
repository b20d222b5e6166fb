/* ports.h - http_port lines: what they may say, and the addresses that they mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_PORTS_H
#define FLOW_PORTS_H

#include "bt_tls.h"
#include "flow/core.h"

struct ports_options {
    bt_str name, tcpkeepalive, defaultsite, vport, protocol;
    bool intercept, transparent, tproxy, accel, proxy_header;
    bool vhost, no_vhost, ignore_cc, allow_direct, act_as_origin;
    bool ignored, connection_auth, no_connection_auth, ipv4;
    int64_t pmtu; /* off|always|transparent */
    struct bt_tls_port tls;
    bt_str generate, default_ca;
    int64_t version;
};
enum { PORTS_OPTIONS = 43 };
extern const struct bt_option ports_options[PORTS_OPTIONS];

bool ports_set(void *conf, const struct bt_line *line, struct bt_error *err);
bool ports_set_admin(void *conf, const struct bt_line *line, struct bt_error *err);
bool ports_setup(struct core_conf *conf, struct bt_arena *arena, struct bt_error *err);

#endif
