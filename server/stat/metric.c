/* metric.c - the counters as OpenMetrics: what a scrape calls them.
 *
 * A counter is called what it is called everywhere, with bobtail_ in front, "_" for "." and its unit
 * at the end. Counters that are parts of one thing become one family with labels, by the rules below;
 * so does what is called otherwise where others have a usual name for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/metric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct rule {
    const char *counter; /* with at most one "*" */
    const char *family;  /* "%": what the "*" stands for */
    const char *labels;  /* likewise; NULL: none */
    const char *doc;     /* of the family; NULL: the counter's own */
};
/* The first that fits. */
static const struct rule rules[] = {
    {"client.bytes_in", "client_bytes", "direction=\"in\"", "Bytes from and to clients."},
    {"client.bytes_out", "client_bytes", "direction=\"out\"", "Bytes from and to clients."},
    {"client.active", "active_requests", NULL, NULL},
    {"client.hit_time", "request_duration", "result=\"hit\"",
     "From a request's first byte to end."},
    {"client.miss_time", "request_duration", "result=\"miss\"", NULL},
    {"client.near_time", "request_duration", "result=\"revalidated\"", NULL},
    {"client.unmodified_time", "request_duration", "result=\"not_modified\"", NULL},
    {"client.tunnel_time", "request_duration", "result=\"tunnel\"", NULL},
    {"client.*_timeouts", "timeouts", "kind=\"request_%\"", "Clients and origins too slow."},
    {"origin.timeouts", "timeouts", "kind=\"upstream\"", NULL},
    {"result.*", "client_results", "result=\"%\"", "Exchanges, by Squid's word for how they went."},
    {"method.*", "client_methods", "method=\"%\"", "Requests, by their method."},
    {"status.*", "client_responses", "code=\"%\"", "Answers to clients, by their status."},
    {"response.*", "client_response_classes", "code_class=\"%\"",
     "Answers to clients, by the class of their status."},
    {"access.allowed", "access_decisions", "list=\"http_access\",verdict=\"allow\"",
     "What lists of rules decided about requests and answers."},
    {"access.denied", "access_decisions", "list=\"http_access\",verdict=\"deny\"", NULL},
    {"access.adapted_denied", "access_decisions", "list=\"adapted_http_access\",verdict=\"deny\"",
     NULL},
    {"access.miss_denied", "access_decisions", "list=\"miss_access\",verdict=\"deny\"", NULL},
    {"access.reply_denied", "access_decisions", "list=\"http_reply_access\",verdict=\"deny\"",
     NULL},
    {"access.own_port", "egress_blocked", "reason=\"own_port\"", NULL},
    {"parse.mended", "parse_mended", NULL, NULL},
    {"parse.*", "parse_errors", "reason=\"%\"", "Request heads refused, by what was wrong."},
    {"tunnel.opened", "tunnels", NULL, NULL},
    {"tunnel.open", "tunnels_active", NULL, NULL},
    {"origin.open", "upstream_connections", "state=\"active\"", "Origin connections."},
    {"origin.idle", "upstream_connections", "state=\"idle\"", NULL},
    {"origin.bytes_in", "upstream_bytes", "direction=\"in\"", "Bytes from and to origins."},
    {"origin.bytes_out", "upstream_bytes", "direction=\"out\"", NULL},
    {"origin.reused", "upstream_pool_reuse", NULL, NULL},
    {"origin.*", "upstream_%", NULL, NULL},
    {"dns.time", "dns_query_duration", NULL, NULL},
    {"cache.size", "cache_capacity", NULL, NULL},
    {"cache.purged", "cache_purges", NULL, NULL},
    {"tls.client_handshakes", "tls_handshakes", "side=\"client\",result=\"ok\"",
     "Handshakes with clients and origins."},
    {"tls.client_failed", "tls_handshakes", "side=\"client\",result=\"failed\"", NULL},
    {"tls.origin_handshakes", "tls_handshakes", "side=\"origin\",result=\"ok\"", NULL},
    {"tls.origin_failed", "tls_handshakes", "side=\"origin\",result=\"failed\"", NULL},
    {"tls.client_resumed", "tls_resumptions", "side=\"client\"", "Handshakes that were short."},
    {"tls.origin_resumed", "tls_resumptions", "side=\"origin\"", NULL},
    {"tls.client_handshake_time", "tls_handshake_duration", "side=\"client\"",
     "From a handshake's begin to its end."},
    {"tls.origin_handshake_time", "tls_handshake_duration", "side=\"origin\"", NULL},
    {"tls.bump_*", "tls_bump_decisions", "action=\"%\"", "What was done with CONNECT requests."},
    {"tls.errors_*", "tls_verify_errors", "error=\"%\"", "What was wrong with certificates."},
    {"tls.leaves_forged", "tls_certificates_generated", NULL, NULL},
    {"tls.leaf_time", "tls_certificate_generate", NULL, NULL},
    {"config.reloads", "config_reloads", "result=\"ok\"", "Reloads of the configuration."},
    {"config.reload_failures", "config_reloads", "result=\"failed\"", NULL},
    {"lua.*.calls", "lua_calls", "hook=\"%\"", "Calls of functions of scripts."},
    {"lua.*.errors", "lua_errors", "hook=\"%\"", "Calls of scripts that failed."},
    {"lua.*.limits", "lua_budget_exceeded", "hook=\"%\"", "Calls that met a limit."},
    {"lua.*.time", "lua_cpu", "hook=\"%\"", "Time that scripts took, without waiting."},
    {"lua.*.waits", "lua_waits", "hook=\"%\"", "Times that scripts waited for something."},
    {"log.lines", "log_records", NULL, NULL},
    {"log.lost", "log_dropped", NULL, NULL},
    {"worker.lag", "worker_loop_lag", NULL, NULL},
};

/* What the "*" stands for, or NULL: it does not fit. An empty text is in `star` then. */
static bool fits(const char *pattern, const char *name, char star[METRIC_NAME])
{
    const char *at = strchr(pattern, '*');
    size_t len = strlen(name), before, after;

    star[0] = '\0';
    if (at == NULL)
        return strcmp(pattern, name) == 0;
    before = (size_t)(at - pattern);
    after = strlen(at + 1);
    if (len < before + after || strncmp(name, pattern, before) != 0 ||
        strcmp(name + len - after, at + 1) != 0)
        return false;
    snprintf(star, METRIC_NAME, "%.*s", (int)(len - before - after), name + before);
    return true;
}

/* `text` with `star` for its "%", at the end of `out`. */
static void append(char *out, size_t cap, const char *text, const char *star)
{
    size_t len = strlen(out);

    for (; *text != '\0' && len < cap - 1; text++) {
        if (*text == '%')
            len += (size_t)snprintf(out + len, cap - len, "%s", star);
        else
            out[len++] = *text;
        if (len > cap - 1)
            len = cap - 1;
        out[len] = '\0';
    }
}

static bool ends(const char *text, const char *end)
{
    size_t len = strlen(text), its = strlen(end);

    return len >= its && strcmp(text + len - its, end) == 0;
}

/* helper.NAME.WHAT: pools of helpers have names. */
static bool helper_name(const char *counter, struct metric_name *out)
{
    const char *what = strrchr(counter, '.');

    if (strncmp(counter, "helper.", 7) != 0 || what == counter + 6)
        return false;
    append(out->family, METRIC_NAME, "helper_", "");
    append(out->family, METRIC_NAME, strcmp(what, ".time") == 0 ? "duration" : what + 1, "");
    snprintf(out->labels, METRIC_LABELS, "helper=\"%.*s\"", (int)(what - counter - 7), counter + 7);
    return true;
}

static void rule_name(const char *counter, struct metric_name *out)
{
    char star[METRIC_NAME];

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!fits(rules[i].counter, counter, star))
            continue;
        append(out->family, METRIC_NAME, rules[i].family, star);
        append(out->labels, METRIC_LABELS, rules[i].labels != NULL ? rules[i].labels : "", star);
        out->doc = rules[i].doc;
        return;
    }
    append(out->family, METRIC_NAME, counter, "");
}

/* The unit stands at the end of a name, and times are told in seconds. */
static void unit_name(const char *unit, struct metric_name *out)
{
    if (strcmp(unit, "microseconds") == 0) {
        if (ends(out->family, "_time"))
            strcpy(out->family + strlen(out->family) - 4, "duration");
        out->scale = 1e-6;
        out->unit = "seconds";
    } else if (strcmp(unit, "seconds") == 0 || strcmp(unit, "bytes") == 0) {
        out->unit = unit;
    }
    if (out->unit == NULL || ends(out->family, out->unit))
        return;
    if (strstr(out->family, out->unit) != NULL) {
        out->unit = NULL; /* "bytes" stands in the middle of it, which tells people enough */
        return;
    }
    append(out->family, METRIC_NAME, "_", "");
    append(out->family, METRIC_NAME, out->unit, "");
}

void metric_name(const char *counter, const char *unit, struct metric_name *out)
{
    *out = (struct metric_name){.family = "bobtail_", .scale = 1.0};
    if (!helper_name(counter, out))
        rule_name(counter, out);
    unit_name(unit, out);
    for (char *at = out->family; *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (*at >= '0' && *at <= '9')))
            *at = '_';
}

/* ---- an exposition ---- */

struct metric {
    struct metric_name name;
    struct counter_value value;
    int64_t *bucket;
    bool done;
};
struct metrics {
    struct metric *at;
    size_t n, room;
};

struct metrics *metrics_new(void)
{
    struct metrics *m = calloc(1, sizeof *m);

    CHECK(m != NULL);
    return m;
}

void metrics_free(struct metrics *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->at[i].bucket);
    free(m->at);
    free(m);
}

void metrics_add(void *metrics, const struct counter_value *value)
{
    struct metrics *m = metrics;

    if (m->n == m->room) {
        m->room = m->room == 0 ? 256 : 2 * m->room;
        m->at = realloc(m->at, m->room * sizeof *m->at);
        CHECK(m->at != NULL);
    }
    struct metric *one = &m->at[m->n++];
    *one = (struct metric){.value = *value};
    metric_name(value->name, value->unit, &one->name);
    if (value->kind != BT_HISTOGRAM)
        return;
    one->bucket = malloc(BT_HISTOGRAM_BUCKETS * sizeof *one->bucket);
    CHECK(one->bucket != NULL);
    memcpy(one->bucket, value->bucket, BT_HISTOGRAM_BUCKETS * sizeof *one->bucket);
}

static void print_sample(FILE *out, const struct metric *one, const char *suffix, const char *more)
{
    bool some = one->name.labels[0] != '\0', also = more[0] != '\0';

    fprintf(out, "%s%s%s%s%s%s%s ", one->name.family, suffix, some || also ? "{" : "",
            one->name.labels, some && also ? "," : "", more, some || also ? "}" : "");
}

/* One `le` for each doubling: 30 lines tell enough, and they are the same for every histogram, so
 * that tools can add them up. A bound is exact: it is where a bucket ends. */
static void print_buckets(FILE *out, const struct metric *one)
{
    int64_t below = 0;
    char le[48];

    for (unsigned i = 0; i < BT_HISTOGRAM_BUCKETS; i++) {
        below += one->bucket[i];
        if (i < 31 || i % 16 != 15 || i == BT_HISTOGRAM_BUCKETS - 1)
            continue;
        snprintf(le, sizeof le, "le=\"%.9g\"",
                 (double)(counter_bucket_low(i + 1) - 1) * one->name.scale);
        print_sample(out, one, "_bucket", le);
        fprintf(out, "%" PRId64 "\n", below);
    }
    print_sample(out, one, "_bucket", "le=\"+Inf\"");
    fprintf(out, "%" PRId64 "\n", one->value.value);
    print_sample(out, one, "_count", "");
    fprintf(out, "%" PRId64 "\n", one->value.value);
    print_sample(out, one, "_sum", "");
    fprintf(out, "%.9g\n", (double)one->value.sum * one->name.scale);
}

static void print_one(FILE *out, struct metric *one)
{
    one->done = true;
    if (one->value.kind == BT_HISTOGRAM) {
        print_buckets(out, one);
        return;
    }
    print_sample(out, one, one->value.kind == BT_COUNT ? "_total" : "", "");
    if (one->name.scale < 1.0)
        fprintf(out, "%.9g\n", (double)one->value.value * one->name.scale);
    else
        fprintf(out, "%" PRId64 "\n", one->value.value);
}

static void print_family(FILE *out, const struct metric *one)
{
    static const char *const types[] = {
        [BT_COUNT] = "counter", [BT_GAUGE] = "gauge", [BT_HISTOGRAM] = "histogram"};

    fprintf(out, "# TYPE %s %s\n", one->name.family, types[one->value.kind]);
    if (one->name.unit != NULL)
        fprintf(out, "# UNIT %s %s\n", one->name.family, one->name.unit);
    fprintf(out, "# HELP %s %s\n", one->name.family,
            one->name.doc != NULL ? one->name.doc : one->value.doc);
}

void metrics_print(struct metrics *m, FILE *out)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->at[i].done)
            continue;
        print_family(out, &m->at[i]);
        print_one(out, &m->at[i]);
        for (size_t k = i + 1; k < m->n && m->at[i].name.labels[0] != '\0'; k++)
            if (strcmp(m->at[k].name.family, m->at[i].name.family) == 0)
                print_one(out, &m->at[k]);
    }
}
