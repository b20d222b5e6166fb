/* lines.h - the options of cache_peer: where their values go, and their rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PEER_LINES_H
#define PEER_LINES_H

#include "bt.h"

struct lines_options {
    bt_str name, login, carp_key, forceddomain, front_end_https, health_url, default_ca;
    bt_str cert, key, cipher, options, cafile, capath, crlfile, flags, domain;
    bool no_query, by_default, originserver, round_robin, weighted, carp, sourcehash, userhash;
    bool proxy_only, no_delay, tls, ssl, no_effect;
    int64_t weight, basetime, connect_timeout, fail_limit, max_conn, standby, connection_auth;
    int64_t health_interval, proxy_protocol, version, min_version;
};

enum { LINES_OPTIONS = 75 };
extern const struct bt_option lines_options[LINES_OPTIONS];

#endif
