/* bt_pages.h - what is asked of this server itself, and what it knows about itself.
 *
 * The core takes a request of an admin_port, or for Squid's cache manager, and gives it to the one
 * module that has pages (struct bt_module, .pages). Such a page is made at once, in the loop of the
 * worker that was asked; all numbers are of all workers together, out of the shared segment, unless
 * something else is said.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_PAGES_H
#define BT_PAGES_H

#include <stdio.h>

#include "bt_module.h"
#include "bt_txn.h"

/* ---- being asked ---- */

struct bt_page_ask {
    bool manager;    /* for Squid's cache manager: `path` is the action ("info") */
    bt_str path;     /* else path and query */
    bt_str password; /* that stood behind the action's "@"; NONE: none */
};
struct bt_pages {
    /* GET or HEAD. BT_ANSWER: bt_answer() was called; anything else: there is no such page. */
    enum bt_verdict (*answer)(struct bt_txn *, const struct bt_page_ask *);
    /* Every exchange that is over and was not for the server itself, with the bytes of its answer;
     * NULL: nobody cares. */
    void (*over)(struct bt_txn *, int64_t bytes);
};

/* ---- counters ---- */

struct bt_stat {
    const char *name, *unit, *doc;
    enum bt_kind kind;
    int64_t value;         /* of a histogram: how many were observed */
    int64_t sum;           /* of a histogram: of what was observed */
    const int64_t *bucket; /* of a histogram: BT_HISTOGRAM_BUCKETS of them; else NULL */
};
/* The server's own first, then module by module. What the pointers point to stands during the call. */
BT_API void bt_stats_each(void (*each)(void *arg, const struct bt_stat *), void *arg);
/* One by name; `bucket` (may be NULL) gets a histogram's buckets. false: there is none. */
BT_API BT_MUST bool bt_stats_get(const char *name, struct bt_stat *out,
                                 int64_t bucket[BT_HISTOGRAM_BUCKETS]);
/* All of them, as `bobtailctl stats` prints them. */
enum bt_stats_form { BT_STATS_TEXT, BT_STATS_JSON, BT_STATS_OPENMETRICS };
BT_API void bt_stats_print(FILE *, enum bt_stats_form);
/* The smallest value that falls into a bucket. */
BT_API int64_t bt_stats_bucket_low(unsigned bucket);
/* The value that `share` (0 to 1) of what is in the buckets is at or below; 0: nothing is. */
BT_API int64_t bt_stats_quantile(const int64_t bucket[BT_HISTOGRAM_BUCKETS], double share);

/* ---- workers ---- */

struct bt_worker {
    int pid;           /* 0: there is no process at the moment */
    const char *state; /* "accepting" */
    int64_t since;     /* wall clock of its start, seconds */
    int64_t respawns;  /* times that it was started anew because it had died */
    int64_t busy_us;   /* processor time */
    int64_t requests, open;
};
/* Those of this generation are 1 to bt_workers(); the one that asks is bt_worker_self(). */
BT_API unsigned bt_workers(void);
BT_API unsigned bt_worker_self(void);
BT_API void bt_worker_get(unsigned worker, struct bt_worker *out);
/* What one worker has counted; of the master with 0. 0: no such counter. */
BT_API int64_t bt_worker_stat(unsigned worker, const char *name);

/* ---- the server ---- */

struct bt_server {
    const char *version; /* "1.0" */
    bt_str hostname;     /* visible_hostname */
    bt_str manager;      /* cache_mgr */
    int64_t started;     /* wall clock, seconds, of the first generation */
    int64_t loaded;      /* and of this configuration */
    unsigned generation;
    bool draining; /* this worker takes no more connections */
};
BT_API void bt_server_get(struct bt_server *out);

/* How many admin_port lines there are; from .setup on. */
BT_API size_t bt_admin_ports(void);

/* Each line of each list of rules, and how often it decided since the configuration was read. */
struct bt_rule {
    bt_str list;  /* "http_access" */
    bt_str place; /* "FILE:LINE"; empty: the default at its end */
    bt_str text;
    bool deny;
    uint64_t hits;
};
BT_API void bt_rules_each(struct bt_arena *, void (*each)(void *arg, const struct bt_rule *),
                          void *arg);
/* Each exchange of this worker that is under way and has a client. */
BT_API void bt_active_each(void (*each)(void *arg, struct bt_txn *), void *arg);

#endif
