/* privs.h - who the workers are, and how much they may open.
 *
 * The master stays what it was started as, so that it can bind and open again at a reload; it
 * carries no traffic. A worker (and the one process of -N) gives its rights up for good.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_PRIVS_H
#define PROC_PRIVS_H

#include <sys/types.h>

#include "bt_module.h"

struct privs {
    bool drop; /* started as root, and somebody else is to run */
    uid_t uid;
    gid_t gid;
    bool lone_group; /* cache_effective_group is given: no other groups */
    bool raw;        /* CAP_NET_RAW stays: connections from clients' addresses (tproxy) */
    const char *user;
    const char *coredump_dir; /* NULL: none */
};

/* From cache_effective_user and cache_effective_group (NONE: not given). An ordinary user has
 * nothing to drop, whatever is configured. false: complained about. */
BT_MUST bool privs_resolve(struct privs *, bt_str user, bt_str group, struct bt_arena *,
                           struct bt_error *);
/* In the process that carries traffic: groups, user, no new privileges, where a core goes. false:
 * logged why; the process must not go on. */
BT_MUST bool privs_drop(const struct privs *);

/* Room for `wanted` descriptors (max_filedescriptors); 0: as many as the hard limit has, up to
 * 65536. A limit that cannot be had is logged. */
void privs_descriptors(int64_t wanted);

#endif
