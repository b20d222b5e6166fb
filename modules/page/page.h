/* page.h - the parts of the module page, and what they know of each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stdio.h>

#include "bt.h"

/* ---- the configuration ---- */

struct page_password {
    struct page_password *next;
    bt_str word; /* "none": none is wanted; "disable": there is no such page */
    struct bt_args actions;
};
struct page_conf {
    struct page_password *passwords;
    int64_t tops;     /* page_tops: on|off|auto */
    bool counts_tops; /* it means on */
};

/* ---- tops.c: the most frequent of many, in bounded memory ---- */

enum top { TOP_DOMAINS, TOP_CLIENTS, TOP_END };
enum { TOP_KEY = 64 };
struct top_entry {
    char key[TOP_KEY]; /* a domain, or an address in words; ends in NUL */
    size_t len;        /* while it is counted */
    int64_t requests;  /* at most `over` too many */
    int64_t over;
    int64_t bytes, hits, denied;
};
/* Master. false: there is no memory (errno). */
BT_MUST bool tops_make(struct bt_arena *);
/* Worker: one exchange more, whose answer had so many bytes. */
void tops_count(struct bt_txn *, int64_t bytes);
/* The `max` most frequent ones of all workers, the first first; how many there are. */
size_t tops_get(enum top, struct top_entry *out, size_t max);

/* ---- samples.c: what the counters were, once a minute for an hour ---- */

/* Counters that are remembered. */
#define SAMPLE_COUNTS(X)                                                                           \
    X(requests, "client.requests")                                                                 \
    X(hits, "client.hits")                                                                         \
    X(errors, "client.errors")                                                                     \
    X(denied, "client.denied")                                                                     \
    X(bytes_in, "client.bytes_in")                                                                 \
    X(bytes_out, "client.bytes_out")                                                               \
    X(hit_bytes_out, "client.hit_bytes_out")                                                       \
    X(aborted, "client.aborted")                                                                   \
    X(origin_dials, "origin.dials")                                                                \
    X(origin_reused, "origin.reused")                                                              \
    X(origin_failed, "origin.dial_failed")                                                         \
    X(origin_bytes_in, "origin.bytes_in")                                                          \
    X(origin_bytes_out, "origin.bytes_out")                                                        \
    X(tunnel_bytes, "tunnel.bytes")                                                                \
    X(mem_hits, "result.tcp_mem_hit")                                                              \
    X(disk_hits, "result.tcp_hit")                                                                 \
    X(page_faults, "worker.page_faults")                                                           \
    X(cpu_user, "worker.cpu_user")                                                                 \
    X(cpu_system, "worker.cpu_system")
#define SAMPLE_TIMES(X)                                                                            \
    X(all, "client.request_time")                                                                  \
    X(hit, "client.hit_time")                                                                      \
    X(miss, "client.miss_time")                                                                    \
    X(near, "client.near_time")                                                                    \
    X(unmodified, "client.unmodified_time")                                                        \
    X(connect, "origin.connect_time")                                                              \
    X(dns, "dns.time")
#define SAMPLE_ID_(id, name) SAMPLE_##id,
enum { SAMPLE_COUNTS(SAMPLE_ID_) SAMPLE_COUNTS_END };
#define SAMPLE_TIME_ID_(id, name) TIME_##id,
enum { SAMPLE_TIMES(SAMPLE_TIME_ID_) SAMPLE_TIMES_END };

struct sample {
    int64_t wall_ms; /* when; 0: never */
    int64_t count[SAMPLE_COUNTS_END];
    int64_t bucket[SAMPLE_TIMES_END][BT_HISTOGRAM_BUCKETS];
};
enum { SAMPLES = 62 };

BT_MUST bool samples_make(struct bt_error *);
/* Worker, each second: one is taken when it is time, by one of all workers. */
void samples_tick(void);
/* Now, or `minutes` ago (or the oldest, when there is none so old). */
void samples_now(struct sample *out);
void samples_ago(unsigned minutes, struct sample *out);
/* What was between the two: of the value that `share` of a time's observations are at or below, in
 * microseconds. */
int64_t samples_quantile(const struct sample *from, const struct sample *to, int time,
                         double share);
/* How many there were. */
int64_t samples_observed(const struct sample *from, const struct sample *to, int time);
double samples_seconds(const struct sample *from, const struct sample *to);
/* The i-th of what is there, the oldest first; false: there are not so many. */
BT_MUST bool samples_nth(unsigned i, struct sample *out);

/* ---- pages ---- */

void metrics_print(FILE *);                   /* metrics.c */
void status_print(FILE *, struct bt_arena *); /* status.c */
bt_str dashboard_text(void);                  /* dashboard.c */
bool manager_known(bt_str action);
enum bt_verdict manager_answer(struct bt_txn *, const struct bt_page_ask *); /* manager.c */
void manager_info(FILE *);                                                   /* manager_info.c */
void manager_counters(FILE *);
void manager_average(FILE *, unsigned minutes);
void manager_utilization(FILE *);

/* Text that was written to `out`, into the exchange's memory, as the body of an answer. */
struct page_out {
    FILE *file;
    char *text;
    size_t len;
};
void page_begin(struct page_out *);
void page_end(struct page_out *, struct bt_txn *, int status, bt_str fields);

#define page_settings ((const struct page_conf *)bt_self.conf)

int64_t page_stat(const char *name); /* 0: there is no such counter */
void page_json_text(FILE *, bt_str); /* in quotation marks */
void page_json_key(FILE *, bool *some, const char *key);
/* "Tue, 01 Dec 2026 05:24:03 GMT" */
void page_date(char out[BT_DATE_LEN + 1], int64_t seconds);

#endif
