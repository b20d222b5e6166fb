/* known_cache.h - a piece of known.c: cache disks, and what caches tell each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#define NO_STORE_LOG "access logs tell what was kept (field cache.stored)"
#define NO_SURROGATE "Surrogate-Control is not looked at; see cache_targeted_fields"
#define NO_DISK "nothing is kept on disk yet"

{.name = "cache_dir",
 .args = "ufs|aufs|diskd|rock|coss|null [path] [int(1..)] [int(1..)] [int(1..)] options",
 .set = known_cache_dir,
 .options = BT_ROWS(cache_dir_options),
 .status = BT_IGNORED,
 .note = NO_DISK},
    {.name = "cache_replacement_policy",
     .args = "lru|heap [word]",
     .set = known_replacement_policy,
     .status = BT_IGNORED,
     .note = NO_DISK},
    KNOWN_BUT("memory_cache_shared", "on|off", "on", "all workers share one memory in any case"),
    KNOWN_BUT("memory_cache_mode", "always|disk|network", "always|network", NO_DISK),
    KNOWN("shared_transient_entries_limit", "int(0..)",
          "fetches under way that are shared are as many as cache_mem has room for"),
    ALIAS("collapsed_forwarding_shared_entries_limit", "shared_transient_entries_limit"),
    KNOWN("store_dir_select_algorithm", "least-load|round-robin", NO_DISK),
    KNOWN("max_open_disk_fds", "int(0..)", NO_DISK), KNOWN("cache_swap_low", "percent", NO_DISK),
    KNOWN("cache_swap_high", "percent", NO_DISK), KNOWN("cache_swap_state", "path", NO_DISK),
    ALIAS("cache_swap_log", "cache_swap_state"), KNOWN("diskd_program", "text", NO_DISK),
    KNOWN("unlinkd_program", "text", NO_DISK),
    KNOWN_UNIT("store_avg_object_size", "size", "bytes", NO_DISK),
    KNOWN("store_objects_per_bucket", "int(1..)", NO_DISK),
    KNOWN_UNIT("paranoid_hit_validation", "duration", "seconds", NO_DISK),
    KNOWN_BUT("cache_store_log", "word", "none", NO_STORE_LOG),
    KNOWN_BUT("vary_ignore_expire", "on|off", "off", "only servers of HTTP/1.0 needed that"),
    KNOWN("httpd_accel_surrogate_id", "word", NO_SURROGATE),
    KNOWN("http_accel_surrogate_remote", "on|off", NO_SURROGATE),

/* What other caches are asked and told. */
#define NO_ICP "no other cache is asked or answered"
    KNOWN_BUT("icp_port", "int(0..65535)", "0", NO_ICP), ALIAS("udp_port", "icp_port"),
    KNOWN_BUT("htcp_port", "int(0..65535)", "0", NO_ICP),
    KNOWN_RULES("icp_access", "allow|deny fastacls+", "deny *", BT_AT_REQUEST, NO_ICP),
    KNOWN_RULES("htcp_access", "allow|deny fastacls+", "deny *", BT_AT_REQUEST, NO_ICP),
    KNOWN_RULES("htcp_clr_access", "allow|deny fastacls+", "deny *", BT_AT_REQUEST, NO_ICP),
    KNOWN("log_icp_queries", "on|off", NO_ICP), KNOWN("udp_incoming_address", "host", NO_ICP),
    KNOWN("udp_outgoing_address", "host", NO_ICP), KNOWN("icp_hit_stale", "on|off", NO_ICP),
    KNOWN("icp_query_timeout", "int(0..)", NO_ICP),
    KNOWN("maximum_icp_query_timeout", "int(0..)", NO_ICP),
    KNOWN("minimum_icp_query_timeout", "int(0..)", NO_ICP),
    KNOWN("mcast_groups", "word...", NO_ICP), KNOWN("mcast_icp_query_timeout", "int(0..)", NO_ICP),
    KNOWN("mcast_miss_addr", "host", NO_ICP), KNOWN("mcast_miss_ttl", "int(0..255)", NO_ICP),
    KNOWN("mcast_miss_port", "port", NO_ICP), KNOWN("mcast_miss_encode_key", "word", NO_ICP),
    KNOWN_UNIT("background_ping_rate", "duration", "seconds", NO_ICP),
    KNOWN_BUT("digest_generation", "on|off", "off", NO_ICP),
    KNOWN("digest_bits_per_entry", "int(1..)", NO_ICP),
    KNOWN_UNIT("digest_rebuild_period", "duration", "seconds", NO_ICP),
    KNOWN_UNIT("digest_rewrite_period", "duration", "seconds", NO_ICP),
    KNOWN_UNIT("digest_swapout_chunk_size", "size", "bytes", NO_ICP),
    KNOWN("digest_rebuild_chunk_percentage", "percent", NO_ICP),
    KNOWN_BUT("netdb_filename", "word", "none", NO_ICP), KNOWN("netdb_low", "int(0..)", NO_ICP),
    KNOWN("netdb_high", "int(0..)", NO_ICP),
    KNOWN_UNIT("netdb_ping_period", "duration", "seconds", NO_ICP),
    KNOWN_BUT("query_icmp", "on|off", "off", NO_ICP),
    KNOWN_BUT("test_reachability", "on|off", "off", NO_ICP),
    KNOWN_BUT("pinger_enable", "on|off", "off", NO_ICP), KNOWN("pinger_program", "text", NO_ICP),
#undef NO_ICP
#undef NO_DISK
#undef NO_STORE_LOG
#undef NO_SURROGATE
