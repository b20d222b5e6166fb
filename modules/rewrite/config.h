/* config.h - what the configuration says of rewriting.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef REWRITE_CONFIG_H
#define REWRITE_CONFIG_H

#include "bt.h"
#include "map.h"

struct children {
    int64_t startup, idle, concurrency, queue, overload, reservation;
};
enum on_timeout { TIMEOUT_FAIL, TIMEOUT_BYPASS, TIMEOUT_RETRY, TIMEOUT_RESPONSE };

struct rewrite_conf {
    struct bt_args program;
    int64_t most;
    struct children children;
    struct bt_rules *access;
    bool bypass, host_header;
    bt_str extras_text;
    bt_duration timeout; /* 0: of the pool's own */
    enum on_timeout on_timeout;
    bt_str response;
    const struct bt_word *map_path;

    struct bt_format *extras;
    struct bt_helper *pool; /* NULL: no program */
    struct map *map;        /* NULL: no file */
};
#define CONF ((const struct rewrite_conf *)bt_self.conf)

typedef bool config_set(void *conf, const struct bt_line *, struct bt_error *);
config_set config_program, config_children, config_timeout, config_map;
bool config_setup(void *conf, struct bt_arena *, struct bt_error *);

#endif
