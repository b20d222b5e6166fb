/* config_rows.h - a piece of cache.c: the directives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#define RULES(its_field, its_name, its_args, since, text)                                          \
    {                                                                                              \
        .name = its_name, .args = its_args, .doc = text, .offset = offsetof(CONF_T, its_field),    \
        .phase = since                                                                             \
    }
#define SIZE(its_field, its_name, its_args, its_unit, its_preset, text)                            \
    {                                                                                              \
        .name = its_name, .args = its_args, .unit = its_unit, .preset = its_preset, .doc = text,   \
        .offset = offsetof(CONF_T, its_field)                                                      \
    }
#define TIME(its_field, its_name, its_preset, text)                                                \
    {                                                                                              \
        .name = its_name, .args = "duration", .unit = "seconds", .preset = its_preset,             \
        .doc = text, .offset = offsetof(CONF_T, its_field)                                         \
    }
#define ALIAS(its_name, meant)                                                                     \
    {                                                                                              \
        .name = its_name, .same_as = meant                                                         \
    }
#define CONF_T struct cache_conf

static const struct bt_option pattern_options[] = {
    {"override-expire", NULL, NULL, "MIN counts although the origin gave a shorter life.",
     offsetof(struct pattern_options, override_expire), BT_BUILT},
    {"override-lastmod", NULL, NULL, "MIN counts although it was modified recently.",
     offsetof(struct pattern_options, override_lastmod), BT_BUILT},
    {"reload-into-ims", NULL, NULL, "A reload becomes a conditional request.",
     offsetof(struct pattern_options, reload_into_ims), BT_BUILT},
    {"ignore-reload", NULL, NULL, "A reload is answered as if it were none.",
     offsetof(struct pattern_options, ignore_reload), BT_BUILT},
    {"ignore-no-store", NULL, NULL, "It is kept although the origin forbids it.",
     offsetof(struct pattern_options, ignore_no_store), BT_BUILT},
    {"ignore-private", NULL, NULL, "It is kept although it is meant for one user.",
     offsetof(struct pattern_options, ignore_private), BT_BUILT},
    {"ignore-no-cache", NULL, NULL, "Gone from the language; no effect.",
     offsetof(struct pattern_options, ignored), BT_OBSOLETE},
    {"ignore-auth", NULL, NULL, "Gone from the language; no effect.",
     offsetof(struct pattern_options, ignored), BT_OBSOLETE},
    {"ignore-must-revalidate", NULL, NULL, "Gone from the language; no effect.",
     offsetof(struct pattern_options, ignored), BT_OBSOLETE},
    {"negative-ttl", "word", NULL, "Of Squid 2.7; no effect.",
     offsetof(struct pattern_options, gone), BT_OBSOLETE},
    {"stale-while-revalidate", "word", NULL, "Of Squid 2.7; no effect.",
     offsetof(struct pattern_options, gone), BT_OBSOLETE},
    {"ignore-stale-while-revalidate", NULL, NULL, "Of Squid 2.7; no effect.",
     offsetof(struct pattern_options, ignored), BT_OBSOLETE},
    {"refresh-ims", NULL, NULL, "A conditional request by a client is asked of the origin.",
     offsetof(struct pattern_options, refresh_ims), BT_BUILT},
    {"store-stale", NULL, NULL, "It is kept although it is stale and cannot be validated.",
     offsetof(struct pattern_options, store_stale), BT_BUILT},
    {"max-stale", "int(-1..)", "-1",
     "Minutes that it may be served when stale and the origin fails; else "
     "max_stale.",
     offsetof(struct pattern_options, max_stale), BT_BUILT},
};

static const struct bt_option store_id_options[] = {
    {"startup", "int(0..)", "0", "Processes started with each worker.",
     offsetof(struct store_id_children, startup), BT_BUILT},
    {"idle", "int(0..)", "1", "Processes kept free beside those that are busy.",
     offsetof(struct store_id_children, idle), BT_BUILT},
    {"concurrency", "int(0..)", "0", "Questions that a process can have at once.",
     offsetof(struct store_id_children, concurrency), BT_BUILT},
    {"queue-size", "int(-1..)", "-1", "Questions that may wait; twice the children if not given.",
     offsetof(struct store_id_children, queue), BT_BUILT},
    {"on-persistent-overload", "die|ERR", "ERR",
     "Nothing ever dies of overload; see "
     "store_id_bypass.",
     offsetof(struct store_id_children, overload), BT_BUILT},
    {"reservation-timeout", "int(0..)", "60", "No effect: nobody holds a process.",
     offsetof(struct store_id_children, reservation), BT_BUILT},
};

static const struct bt_directive directives[] = {
    {.name = "cache",
     .args = "allow|deny acls+",
     .doc = "Which requests have to do with the cache: others are neither "
            "answered from it nor is "
            "their answer kept. Without a line, and when none matches, as in "
            "Squid: the opposite "
            "of the last line, allowed when there is none. A first line "
            "\"cache deny all\" turns "
            "the cache off: no memory is set aside.",
     .set = config_cache,
     .phase = BT_AT_LOOKUP},
    ALIAS("no_cache", "cache"),
    RULES(send_hit, "send_hit", "allow|deny fastacls+", BT_AT_LOOKUP,
          "Who may be answered from the cache; for others each request is a "
          "miss, whose answer is "
          "kept all the same."),
    RULES(store_miss, "store_miss", "allow|deny fastacls+", BT_AT_RESPONSE,
          "Which answers of origins may be kept."),
    SIZE(mem, "cache_mem", "size", "bytes", "256 MB",
         "Memory for what is kept, shared by all workers: a ceiling for "
         "everything that belongs "
         "to it, not for that of processes. It takes room as it fills. 0: no "
         "cache."),
    SIZE(memory_object_max, "maximum_object_size_in_memory", "size|none", "bytes", "4 MB",
         "Largest body that is kept; never more than an eighth of cache_mem."),
    SIZE(object_max, "maximum_object_size", "size|none", "bytes", "none",
         "Larger bodies are not kept anywhere; the smaller of this and "
         "maximum_object_size_in_memory counts."),
    SIZE(object_min, "minimum_object_size", "size", "bytes", "0", "Smaller bodies are not kept."),
    {.name = "memory_replacement_policy",
     .args = "lru|heap [word]",
     .doc = "What goes first when cache_mem is full. Without a line: S3-FIFO, "
            "which keeps what is "
            "asked for again and forgets soon what was asked for once. lru: "
            "what was used longest "
            "ago. heap with any kind: S3-FIFO.",
     .set = config_policy},
    BT_SET(CONF_T, collapsed, "collapsed_forwarding", "on",
           "Who asks for what is being fetched already waits for that and gets "
           "the same bytes as "
           "they come, in all workers; on unless said otherwise (Squid: off)."),
    RULES(collapse, "collapsed_forwarding_access", "allow|deny fastacls+", BT_AT_LOOKUP,
          "Which requests may wait for the fetch of another; all without a "
          "line."),
    TIME(max_stale, "max_stale", "1 week",
         "How long after its life an answer may still be served when the "
         "origin fails."),
    TIME(minimum_expiry, "minimum_expiry_time", "0 seconds",
         "An answer that cannot be validated, and will not be fresh for so "
         "long, is not kept. "
         "Without a line all are."),
    TIME(negative_ttl, "negative_ttl", "0 seconds",
         "How long an error is kept for which the origin gave no life. 0: not "
         "at all."),
    {.name = "range_offset_limit",
     .args = "size|none fastacls",
     .unit = "bytes",
     .doc = "A request for a part that begins so far into the body, at most, "
            "is made one for the "
            "whole, which is kept, and the client gets its part as soon as it "
            "is there. The first "
            "line whose ACLs all hold counts; none: always; without a line, "
            "and 0: never.",
     .set = config_range,
     .phase = BT_AT_LOOKUP},
    SIZE(abort_min, "quick_abort_min", "size|none", "KB", "16 KB",
         "A fetch whose client has left is finished when so much is missing, "
         "at most; -1: always."),
    SIZE(abort_max, "quick_abort_max", "size|none", "KB", "16 KB",
         "It is given up when more than this is missing."),
    BT_SET_AS(CONF_T, abort_pct, "int(-1..1000)", "quick_abort_pct", "95",
              "Between the two it is finished when so much of it is there. Who "
              "waits for the same "
              "fetch keeps it going in any case."),
    BT_SET(CONF_T, reload_into_ims, "reload_into_ims", "off",
           "A client's reload becomes a conditional request."),
    BT_SET(CONF_T, refresh_all_ims, "refresh_all_ims", "off",
           "A client's conditional request is asked of the origin although the "
           "copy is fresh."),
    BT_SET(CONF_T, offline, "offline_mode", "off",
           "What is there is served however old it is, without asking the "
           "origin."),
    BT_SET(CONF_T, miss_revalidate, "cache_miss_revalidate", "on",
           "off: a conditional request for what is not there is made one for "
           "the whole, so that it "
           "can be kept."),
    BT_SET(CONF_T, targeted, "cache_targeted_fields", "off",
           "on: CDN-Cache-Control, where an answer has it, counts instead of "
           "Cache-Control and "
           "Expires (RFC 9213). Off, since origins mean by it caches that they "
           "can purge: turn it "
           "on where this server stands before them as one."),
    BT_SET(CONF_T, status_field, "cache_status_field", "on",
           "Answers carry Cache-Status (RFC 9211): was it a hit, if not why, "
           "how long is it "
           "fresh."),
    BT_SET_AS(CONF_T, vary_max, "int(1..10000)", "cache_variants_max", "64",
              "How many variants (Vary) of one URL are kept; with one more all "
              "of them are "
              "forgotten."),
    TIME(alone, "cache_private_memory", "10 seconds",
         "For so long nobody waits for the fetch of another for a URL whose "
         "answer turned out to "
         "be for one client alone."),
    {.name = "refresh_pattern",
     .args = "[-i|+i] regex int(0..) percent int(0..) options",
     .doc = "For URLs (or store ids) that match, the first line counts: how "
            "long an answer is "
            "fresh for which the origin gave no life. MIN minutes in any case; "
            "then PERCENT of "
            "the time between its modification and its date; MAX minutes at "
            "most. Without a line "
            "that matches: 0 20% 4320.",
     .set = config_pattern_set,
     .options = BT_ROWS(pattern_options),
     .option_size = sizeof(struct pattern_options)},
    {.name = "store_id_program",
     .args = "word...",
     .doc = "A helper that says which URLs are the same to the cache: it "
            "answers OK "
            "store-id=\"...\" with the key to use, or ERR for the URL itself.",
     .set = config_store_id_program},
    ALIAS("storeurl_rewrite_program", "store_id_program"),
    {.name = "store_id_children",
     .args = "int(0..) options",
     .doc = "Processes of each worker, at most, and their options.",
     .preset = "20",
     .set = config_store_id_children,
     .options = BT_ROWS(store_id_options),
     .option_size = sizeof(struct store_id_children)},
    ALIAS("storeurl_rewrite_children", "store_id_children"),
    RULES(store_id_access, "store_id_access", "allow|deny acls+", BT_AT_LOOKUP,
          "Which requests the helper is asked about; all without a line."),
    ALIAS("storeurl_rewrite_access", "store_id_access"),
    BT_SET(CONF_T, store_id_bypass, "store_id_bypass", "on",
           "on: without an answer of the helper the URL is the key; off: then "
           "nothing is looked "
           "up or kept."),
    ALIAS("storeurl_rewrite_bypass", "store_id_bypass"),
    {.name = "store_id_extras",
     .args = "format",
     .doc = "What follows the URL in a question to the helper.",
     .preset = "\"%>a/%>A %un %>rm myip=%la myport=%lp\"",
     .offset = offsetof(CONF_T, store_id_extras_text)},
    ALIAS("storeurl_rewrite_extras", "store_id_extras"),
};

#undef RULES
#undef SIZE
#undef TIME
#undef ALIAS
#undef CONF_T
