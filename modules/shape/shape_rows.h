/* shape_rows.h - a piece of shape.c: the directives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#define CONF_T struct shape_conf

static const struct bt_option response_options[] = {
    {"individual-restore", "int(-1..)", "-1", "Bytes a second of each answer; -1: no limit.",
     offsetof(struct response_options, host_rate), BT_BUILT},
    {"individual-maximum", "int(-1..)", "-1", "Bytes that its bucket holds.",
     offsetof(struct response_options, host_most), BT_BUILT},
    {"aggregate-restore", "int(-1..)", "-1", "Bytes a second of all answers together.",
     offsetof(struct response_options, all_rate), BT_BUILT},
    {"aggregate-maximum", "int(-1..)", "-1", "Bytes that their bucket holds.",
     offsetof(struct response_options, all_most), BT_BUILT},
    {"initial-bucket-level", "int(0..100)", "50", "Per cent that a bucket holds at first.",
     offsetof(struct response_options, level), BT_BUILT},
};

static const struct bt_directive directives[] = {
    BT_SET_AS(CONF_T, n_pools, "int(0..4096)", "delay_pools", "0",
              "How many pools limit what is read from origins. The first one counts whose "
              "delay_access allows it; what the cache gives is not limited."),
    {.name = "delay_class",
     .args = "int(1..4096) int(1..5)",
     .doc = "What a pool has buckets for: 1 all of it; 2 all and each client; 3 also each network "
            "(24 bits of IPv4, 64 of IPv6); 4 also each user; 5 each tag of an external ACL.",
     .set = pools_class},
    {.name = "delay_parameters",
     .args = "int(1..4096) word...",
     .doc =
         "RESTORE/MAXIMUM for each kind of bucket of the pool's class, in this order: all, "
         "network, client, user; bytes a second, and bytes that a bucket holds. none or -1/-1: no "
         "limit.",
     .set = pools_parameters},
    {.name = "delay_access",
     .args = "int(1..4096) allow|deny fastacls+",
     .doc = "Which exchanges are in the pool; none without a line.",
     .set = pools_access,
     .phase = BT_AT_RESPONSE},
    BT_SET_AS(CONF_T, level, "percent", "delay_initial_bucket_level", "50",
              "Per cent that a bucket of delay_pools holds at first."),
    BT_SET(CONF_T, indirect, "delay_pool_uses_indirect_client", "on",
           "on: who stands behind a proxy (follow_x_forwarded_for) is the client of pools."),
    BT_SET_AS(CONF_T, n_client_pools, "int(0..4096)", "client_delay_pools", "0",
              "How many pools limit what clients get, from wherever; each client has a bucket of "
              "its own."),
    {.name = "client_delay_parameters",
     .args = "int(1..4096) int(-1..) int(-1..)",
     .doc = "Bytes a second of each client in the pool, and bytes that its bucket holds; -1: no "
            "limit.",
     .set = pools_client_parameters},
    {.name = "client_delay_access",
     .args = "int(1..4096) allow|deny fastacls+",
     .doc = "Which clients are in the pool; none without a line.",
     .set = pools_client_access,
     .phase = BT_AT_ACCEPT},
    BT_SET_AS(CONF_T, client_level, "percent", "client_delay_initial_bucket_level", "50",
              "Per cent that a bucket of client_delay_pools holds at first."),
    {.name = "response_delay_pool",
     .args = "word options",
     .doc = "A pool that limits what clients get, by answer.",
     .set = pools_response,
     .options = BT_ROWS(response_options),
     .option_size = sizeof(struct response_options)},
    {.name = "response_delay_pool_access",
     .args = "word allow|deny fastacls+",
     .doc =
         "Which answers are in the pool; none without a line. The first pool counts that allows.",
     .set = pools_response_access,
     .phase = BT_AT_RESPONSE},
    {.name = "request_rate_limit",
     .args = "word options fastacls",
     .doc = "How many requests may be made by each client (or network, user, or all): "
            "N/second, /minute, /hour or /day. Each line is a limit for the requests that its ACLs "
            "match. Too many are answered 429 with Retry-After, or wait.",
     .set = rate_set,
     .options = BT_ROWS(rate_options),
     .option_size = sizeof(struct rate_options),
     .phase = BT_AT_REQUEST},
};

#undef CONF_T
