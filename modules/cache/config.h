/* config.h - what the configuration says about caching.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_CONFIG_H
#define CACHE_CONFIG_H

#include "fresh.h"

struct pattern_line;

/* A line of range_offset_limit. */
struct range_limit {
    struct range_limit *next;
    int64_t bytes; /* -1: without limit */
    const struct bt_acls *acls;
};

struct pattern_options {
    bool override_expire, override_lastmod, reload_into_ims, ignore_reload, ignore_no_store,
        ignore_private, refresh_ims, store_stale, ignored;
    bt_str gone;
    int64_t max_stale; /* minutes; -1: max_stale of all */
};

struct store_id_children {
    int64_t startup, idle, concurrency, queue, overload, reservation;
};

struct cache_conf {
    struct bt_rules *cache, *send_hit, *store_miss, *collapse, *store_id_access;
    bool denies_all; /* the first `cache` line is `deny all` */

    bt_size mem, object_max, memory_object_max, object_min;
    int64_t policy;  /* enum ram_policy */
    int64_t largest; /* body that is kept */
    struct fresh_settings fresh;
    bool collapsed, miss_revalidate, reload_into_ims, refresh_all_ims, offline, targeted,
        status_field;
    bt_duration max_stale, minimum_expiry, negative_ttl, alone;
    bt_size abort_min, abort_max;
    int64_t abort_pct, vary_max;
    struct range_limit *ranges;

    struct pattern_line *patterns;
    size_t n_patterns;
    struct fresh_rule *pattern; /* n_patterns of them, and one for what none of them matches */
    struct bt_regexes *regexes;
    uint64_t *bits; /* for config_pattern() */

    struct bt_args store_id_program;
    int64_t store_id_max;
    struct store_id_children store_id;
    bool store_id_bypass;
    bt_str store_id_extras_text;
    struct bt_format *store_id_extras;
    struct bt_helper *store_ids; /* NULL: URLs are keys */

    bool on;    /* there is a zone */
    bool purge; /* some ACL names the method PURGE */
};
#define CONF ((const struct cache_conf *)bt_self.conf)

/* .set of rows. */
typedef bool config_set(void *conf, const struct bt_line *, struct bt_error *);
config_set config_cache, config_range, config_policy, config_pattern_set, config_store_id_program,
    config_store_id_children;

BT_MUST bool config_setup(struct cache_conf *, struct bt_arena *, struct bt_error *);
/* The refresh_pattern for that key; never NULL. */
const struct fresh_rule *config_pattern(bt_str key);
/* range_offset_limit for this request; -1: none. */
int64_t config_range_limit(struct bt_txn *);

#endif
