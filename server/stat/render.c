/* render.c - the counters as text for people, as JSON, and as OpenMetrics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/render.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "stat/counter.h"
#include "stat/metric.h"

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
    struct metrics *metrics;
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

static void as_metric(void *arg, const struct counter_value *value)
{
    struct job *job = arg;

    if (wanted(job->filter, value))
        metrics_add(job->metrics, value);
}

void render_counters(FILE *out, const struct segment *segment, enum render_form form,
                     const struct render_filter *filter)
{
    static void (*const each[])(void *, const struct counter_value *) = {
        [RENDER_TEXT] = as_text, [RENDER_JSON] = as_json, [RENDER_OPENMETRICS] = as_metric};
    struct job job = {.out = out, .filter = filter};

    if (form == RENDER_JSON)
        fputc('{', out);
    if (form == RENDER_OPENMETRICS)
        job.metrics = metrics_new();
    counter_walk(segment, each[form], &job);
    if (form == RENDER_JSON)
        fputs(job.some ? "\n}\n" : "}\n", out);
    if (form != RENDER_OPENMETRICS)
        return;
    metrics_print(job.metrics, out);
    metrics_free(job.metrics);
    fputs("# EOF\n", out);
}
