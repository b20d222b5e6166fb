/* about.c - bt_pages.h as far as the segment knows it: counters and workers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bt_pages.h"
#include "stat/counter.h"
#include "stat/render.h"

static const struct segment *segment_now(void)
{
    unsigned row;

    return counter_segment(&row);
}

static struct bt_stat stat_of(const struct counter_value *value)
{
    return (struct bt_stat){value->name,  value->unit, value->doc,   value->kind,
                            value->value, value->sum,  value->bucket};
}

struct walk {
    void (*each)(void *arg, const struct bt_stat *);
    void *arg;
};

static void walk_one(void *arg, const struct counter_value *value)
{
    struct walk *walk = arg;
    struct bt_stat stat = stat_of(value);

    walk->each(walk->arg, &stat);
}

void bt_stats_each(void (*each)(void *, const struct bt_stat *), void *arg)
{
    struct walk walk = {each, arg};

    counter_walk(segment_now(), walk_one, &walk);
}

bool bt_stats_get(const char *name, struct bt_stat *out, int64_t bucket[BT_HISTOGRAM_BUCKETS])
{
    int64_t own[BT_HISTOGRAM_BUCKETS];
    struct counter_value value;

    if (!counter_get(segment_now(), name, &value, bucket != NULL ? bucket : own))
        return false;
    *out = stat_of(&value);
    if (bucket == NULL)
        out->bucket = NULL;
    return true;
}

void bt_stats_print(FILE *out, enum bt_stats_form form)
{
    static const enum render_form forms[] = {[BT_STATS_TEXT] = RENDER_TEXT,
                                             [BT_STATS_JSON] = RENDER_JSON,
                                             [BT_STATS_OPENMETRICS] = RENDER_OPENMETRICS};

    render_counters(out, segment_now(), forms[form], NULL);
}

int64_t bt_stats_quantile(const int64_t bucket[BT_HISTOGRAM_BUCKETS], double share)
{
    return counter_quantile(bucket, share);
}

int64_t bt_stats_bucket_low(unsigned bucket)
{
    return counter_bucket_low(bucket);
}

unsigned bt_workers(void)
{
    return segment_now()->head->workers;
}

unsigned bt_worker_self(void)
{
    unsigned row;

    (void)counter_segment(&row);
    return row;
}

int64_t bt_worker_stat(unsigned worker, const char *name)
{
    return counter_of_row(segment_now(), worker, name);
}

void bt_worker_get(unsigned worker, struct bt_worker *out)
{
    static const char *const states[] = {[SEGMENT_ABSENT] = "absent",
                                         [SEGMENT_STARTING] = "starting",
                                         [SEGMENT_ACCEPTING] = "accepting",
                                         [SEGMENT_DRAINING] = "draining"};
    const struct segment_worker *is = segment_worker(segment_now(), worker);

    *out = (struct bt_worker){.pid = is->pid,
                              .state = states[is->state],
                              .since = is->since,
                              .respawns = is->respawns,
                              .busy_us = bt_worker_stat(worker, "worker.cpu_user") +
                                         bt_worker_stat(worker, "worker.cpu_system"),
                              .requests = bt_worker_stat(worker, "client.requests"),
                              .open = bt_worker_stat(worker, "client.open")};
}
