/* metric.h - the counters as OpenMetrics: what a scrape calls them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STAT_METRIC_H
#define STAT_METRIC_H

#include <stdio.h>

#include "stat/counter.h"

enum { METRIC_NAME = 96, METRIC_LABELS = 128 };
/* Family and labels ("" for none) of a counter. */
struct metric_name {
    char family[METRIC_NAME]; /* with unit, without _total: "bobtail_client_bytes" */
    char labels[METRIC_LABELS];
    const char *doc;  /* of the family; NULL: the counter's own */
    const char *unit; /* in which it is told; NULL: none that has a name */
    double scale;     /* a value times this is in that unit */
};
void metric_name(const char *counter, const char *unit, struct metric_name *out);

/* Gathers counters in their order; then prints them, families together. The end is the caller's. */
struct metrics;
struct metrics *metrics_new(void);
void metrics_add(void *metrics, const struct counter_value *);
void metrics_print(struct metrics *, FILE *);
void metrics_free(struct metrics *);

#endif
