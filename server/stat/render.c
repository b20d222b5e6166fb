/* render.c - the counters as text for people, as JSON, and as OpenMetrics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/render.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "stat/counter.h"

static const char *const kind_names[] = {
    [BT_COUNT] = "count", [BT_GAUGE] = "gauge", [BT_HISTOGRAM] = "histogram"};

const char *render_kind(enum bt_kind kind)
{
    return kind_names[kind];
}

int render_kind_of(const char *name)
{
    for (int i = 0; i <= BT_HISTOGRAM; i++)
        if (strcmp(kind_names[i], name) == 0)
            return i;
    return -1;
}

void render_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at == 0x7f)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

struct job {
    FILE *out;
    const struct render_filter *filter;
    bool some; /* one was written */
};

static bool wanted(const struct render_filter *filter, const struct counter_value *value)
{
    if (filter == NULL)
        return true;
    if (filter->kind >= 0 && filter->kind != (int)value->kind)
        return false;
    if (filter->pattern == NULL)
        return true;
    if (strpbrk(filter->pattern, "*?[") != NULL)
        return fnmatch(filter->pattern, value->name, 0) == 0;
    return strstr(value->name, filter->pattern) != NULL;
}

static void as_text(void *arg, const struct counter_value *value)
{
    struct job *job = arg;

    if (!wanted(job->filter, value))
        return;
    fprintf(job->out, "%-26s %12" PRId64, value->name, value->value);
    if (value->kind == BT_HISTOGRAM)
        fprintf(job->out, " times, p50 %" PRId64 ", p90 %" PRId64 ", p99 %" PRId64,
                counter_quantile(value->bucket, 0.5), counter_quantile(value->bucket, 0.9),
                counter_quantile(value->bucket, 0.99));
    fprintf(job->out, " %s\n", value->unit);
}

static void as_json(void *arg, const struct counter_value *value)
{
    struct job *job = arg;

    if (!wanted(job->filter, value))
        return;
    fputs(job->some ? ",\n  " : "\n  ", job->out);
    job->some = true;
    render_json_text(job->out, value->name);
    if (value->kind != BT_HISTOGRAM) {
        fprintf(job->out, ": %" PRId64, value->value);
        return;
    }
    fprintf(job->out,
            ": {\"count\": %" PRId64 ", \"sum\": %" PRId64 ", \"p50\": %" PRId64
            ", \"p90\": %" PRId64 ", \"p99\": %" PRId64 "}",
            value->value, value->sum, counter_quantile(value->bucket, 0.5),
            counter_quantile(value->bucket, 0.9), counter_quantile(value->bucket, 0.99));
}

/* A name that OpenMetrics takes: letters, digits and underscores. */
static void metric_name(char *out, size_t cap, const struct counter_value *value, bool seconds)
{
    int len = snprintf(out, cap, "bobtail_%s%s", value->name, seconds ? "_seconds" : "");

    for (char *at = out; len > 0 && *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (*at >= '0' && *at <= '9')))
            *at = '_';
}

/* One `le` for each doubling: 30 lines tell enough, and they are the same for every histogram, so
 * that tools can add them up. A bound is exact: it is where a bucket ends. */
static void metric_buckets(FILE *out, const char *name, const struct counter_value *value,
                           double scale)
{
    int64_t below = 0;

    for (unsigned i = 0; i < BT_HISTOGRAM_BUCKETS; i++) {
        below += value->bucket[i];
        if (i >= 31 && i % 16 == 15 && i < BT_HISTOGRAM_BUCKETS - 1)
            fprintf(out, "%s_bucket{le=\"%.9g\"} %" PRId64 "\n", name,
                    (double)(counter_bucket_low(i + 1) - 1) * scale, below);
    }
    fprintf(out, "%s_bucket{le=\"+Inf\"} %" PRId64 "\n", name, value->value);
    fprintf(out, "%s_count %" PRId64 "\n%s_sum %.9g\n", name, value->value, name,
            (double)value->sum * scale);
}

static void as_metric(void *arg, const struct counter_value *value)
{
    static const char *const types[] = {
        [BT_COUNT] = "counter", [BT_GAUGE] = "gauge", [BT_HISTOGRAM] = "histogram"};
    struct job *job = arg;
    bool seconds = strcmp(value->unit, "microseconds") == 0;
    double scale = seconds ? 1e-6 : 1.0;
    char name[160];

    if (!wanted(job->filter, value))
        return;
    metric_name(name, sizeof name, value, seconds);
    fprintf(job->out, "# TYPE %s %s\n", name, types[value->kind]);
    if (seconds)
        fprintf(job->out, "# UNIT %s seconds\n", name);
    fprintf(job->out, "# HELP %s %s\n", name, value->doc);
    if (value->kind == BT_HISTOGRAM)
        metric_buckets(job->out, name, value, scale);
    else if (seconds)
        fprintf(job->out, "%s%s %.9g\n", name, value->kind == BT_COUNT ? "_total" : "",
                (double)value->value * scale);
    else
        fprintf(job->out, "%s%s %" PRId64 "\n", name, value->kind == BT_COUNT ? "_total" : "",
                value->value);
}

void render_counters(FILE *out, const struct segment *segment, enum render_form form,
                     const struct render_filter *filter)
{
    static void (*const each[])(void *, const struct counter_value *) = {
        [RENDER_TEXT] = as_text, [RENDER_JSON] = as_json, [RENDER_OPENMETRICS] = as_metric};
    struct job job = {.out = out, .filter = filter};

    if (form == RENDER_JSON)
        fputc('{', out);
    counter_walk(segment, each[form], &job);
    if (form == RENDER_JSON)
        fputs(job.some ? "\n}\n" : "}\n", out);
    if (form == RENDER_OPENMETRICS)
        fputs("# EOF\n", out);
}
