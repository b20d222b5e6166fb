/* counter.h - gives every table of counters its slots, and every process its row; sums and walks.
 *
 * In the master: counter_register() for each table (the server's own is registered by the first
 * call), then counter_make() once all are known, then in each child counter_use() with its row. At
 * any time before that, counting goes to spare memory, so that a row pointer is never NULL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_COUNTER_H
#define STAT_COUNTER_H

#include "stat/segment.h"

/* Master, before counter_make(). `table` must live on; *where is the row pointer of whoever counts
 * by it (bt_self.row) and is set here and by each counter_use(). */
void counter_register(const struct bt_counter *table, size_t n, _Atomic int64_t **where);

/* Master: a segment for all that is registered. Row 0 is in use then. false: no memory (errno). */
BT_MUST bool counter_make(struct segment *, unsigned workers);
/* From now on this process counts in that row. */
void counter_use(const struct segment *, unsigned row);

/* Forget all tables (tests). The segment stays whoever's it is. */
void counter_forget(void);

/* What counter_use() was told last. */
const struct segment *counter_segment(unsigned *row);

/* Sum of all rows at this moment. */
struct counter_value {
    const char *name, *unit, *doc;
    enum bt_kind kind;
    int64_t value;         /* count and gauge; histogram: how many were observed */
    int64_t sum;           /* histogram: of what was observed */
    const int64_t *bucket; /* histogram: BT_HISTOGRAM_BUCKETS of them; else NULL */
};
/* In order of the dictionary: the server's own first, then module by module. `value` and what it
 * points to stand only during the call. */
void counter_walk(const struct segment *,
                  void (*each)(void *arg, const struct counter_value *value), void *arg);
/* One by name, its buckets (of a histogram) in `bucket`. false: there is none. */
BT_MUST bool counter_get(const struct segment *, const char *name, struct counter_value *out,
                         int64_t bucket[BT_HISTOGRAM_BUCKETS]);
/* What one row says of a count or gauge; 0 when there is none of that name. */
int64_t counter_of_row(const struct segment *, unsigned row, const char *name);
/* One by name. false: there is none. *sum: value of a count or gauge, observations of a histogram. */
BT_MUST bool counter_sum(const struct segment *, const char *name, int64_t *sum);

/* Smallest value that falls into a bucket: the inverse of bt_bucket(). */
int64_t counter_bucket_low(unsigned bucket);
/* The value that `share` (0 to 1) of all observations are at or below, good to half a step; 0 when
 * nothing was observed. */
int64_t counter_quantile(const int64_t *bucket, double share);

#endif
