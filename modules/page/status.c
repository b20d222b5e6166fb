/* status.c - /status: what a page or a program wants to know, as one JSON object.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

enum { TOP = 20, MINUTES_LATELY = 1 };

static void print_server(FILE *out)
{
    struct bt_server server;

    bt_server_get(&server);
    fprintf(out, "\"version\": \"%s\",\n\"hostname\": ", server.version);
    page_json_text(out, server.hostname);
    fprintf(out,
            ",\n\"time\": %.3f,\n\"started\": %" PRId64 ",\n\"loaded\": %" PRId64
            ",\n\"generation\": %u,\n\"draining\": %s,\n",
            (double)bt_wall_ms() / 1000.0, server.started, server.loaded, server.generation,
            server.draining ? "true" : "false");
}

static void print_workers(FILE *out)
{
    fputs("\"workers\": [", out);
    for (unsigned worker = 1; worker <= bt_workers(); worker++) {
        struct bt_worker is;
        bt_worker_get(worker, &is);
        fprintf(out,
                "%s\n  {\"worker\": %u, \"pid\": %d, \"state\": \"%s\", \"since\": %" PRId64
                ", \"restarts\": %" PRId64 ", \"requests\": %" PRId64 ", \"open\": %" PRId64
                ", \"busy\": %.3f, \"cpu_seconds\": %.3f, \"resident_bytes\": %" PRId64
                ", \"descriptors\": %" PRId64 "}",
                worker > 1 ? "," : "", worker, is.pid, is.state, is.since, is.respawns, is.requests,
                is.open, (double)bt_worker_stat(worker, "worker.busy") / 1000.0,
                (double)is.busy_us / 1e6, bt_worker_stat(worker, "worker.resident"),
                bt_worker_stat(worker, "worker.descriptors"));
    }
    fputs("],\n", out);
}

/* ---- lately, and the last hour ---- */

#define NAME_(id, name) #id,
static const char *const counts[] = {SAMPLE_COUNTS(NAME_)};
static const char *const times[] = {SAMPLE_TIMES(NAME_)};

static void print_lately(FILE *out)
{
    static struct sample from, to; /* large, and there is one thread */

    samples_ago(MINUTES_LATELY, &from);
    samples_now(&to);
    fprintf(out, "\"lately\": {\"seconds\": %.3f", samples_seconds(&from, &to));
    for (int i = 0; i < SAMPLE_COUNTS_END; i++)
        fprintf(out, ", \"%s\": %" PRId64, counts[i], to.count[i] - from.count[i]);
    fputs(", \"seconds_at\": {", out);
    for (int i = 0; i < SAMPLE_TIMES_END; i++)
        fprintf(out, "%s\"%s\": [%.6f, %.6f, %.6f, %" PRId64 "]", i > 0 ? ", " : "", times[i],
                (double)samples_quantile(&from, &to, i, 0.5) / 1e6,
                (double)samples_quantile(&from, &to, i, 0.9) / 1e6,
                (double)samples_quantile(&from, &to, i, 0.99) / 1e6,
                samples_observed(&from, &to, i));
    fputs("}},\n", out);
}

/* Each minute: when it began, how long it was, and what came. */
static void print_history(FILE *out)
{
    static struct sample one, before;

    fputs("\"history\": [", out);
    for (unsigned i = 0; samples_nth(i, &one); i++) {
        if (i > 0)
            fprintf(out,
                    "%s\n  {\"time\": %" PRId64 ", \"seconds\": %.3f, \"requests\": %" PRId64
                    ", \"hits\": %" PRId64 ", \"denied\": %" PRId64 ", \"errors\": %" PRId64
                    ", \"bytes_out\": %" PRId64 "}",
                    i > 1 ? "," : "", before.wall_ms / 1000, samples_seconds(&before, &one),
                    one.count[SAMPLE_requests] - before.count[SAMPLE_requests],
                    one.count[SAMPLE_hits] - before.count[SAMPLE_hits],
                    one.count[SAMPLE_denied] - before.count[SAMPLE_denied],
                    one.count[SAMPLE_errors] - before.count[SAMPLE_errors],
                    one.count[SAMPLE_bytes_out] - before.count[SAMPLE_bytes_out]);
        before = one;
    }
    fputs("],\n", out);
}

/* ---- tops ---- */

struct rules {
    struct bt_rule rule[TOP];
    size_t n;
};

/* Kept in order, the most frequent first. */
static void rule_take(void *arg, const struct bt_rule *rule)
{
    struct rules *rules = arg;
    size_t at = rules->n;

    if (rule->hits == 0)
        return;
    while (at > 0 && rules->rule[at - 1].hits < rule->hits)
        at--;
    if (at == TOP)
        return;
    if (rules->n < TOP)
        rules->n++;
    memmove(&rules->rule[at + 1], &rules->rule[at], (rules->n - 1 - at) * sizeof *rule);
    rules->rule[at] = *rule;
}

static void print_rules(FILE *out, struct bt_arena *arena)
{
    struct rules rules = {.n = 0};

    bt_rules_each(arena, rule_take, &rules);
    fputs("\"rules\": [", out);
    for (size_t i = 0; i < rules.n; i++) {
        const struct bt_rule *rule = &rules.rule[i];
        fprintf(out, "%s\n  {\"hits\": %" PRIu64 ", \"deny\": %s, \"place\": ", i > 0 ? "," : "",
                rule->hits, rule->deny ? "true" : "false");
        page_json_text(out, rule->place);
        fputs(", \"text\": ", out);
        page_json_text(out, rule->text);
        fputc('}', out);
    }
    fputs("],\n", out);
}

static void print_tops(FILE *out, enum top which, const char *name)
{
    struct top_entry top[TOP];
    size_t n = tops_get(which, top, TOP);

    fprintf(out, "\"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s\n  {\"name\": ", i > 0 ? "," : "");
        page_json_text(out, (bt_str){top[i].key, strlen(top[i].key)});
        fprintf(out,
                ", \"requests\": %" PRId64 ", \"over\": %" PRId64 ", \"bytes\": %" PRId64
                ", \"hits\": %" PRId64 ", \"denied\": %" PRId64 "}",
                top[i].requests, top[i].over, top[i].bytes, top[i].hits, top[i].denied);
    }
    fputs("],\n", out);
}

void status_print(FILE *out, struct bt_arena *arena)
{
    fputs("{\n", out);
    print_server(out);
    print_workers(out);
    print_lately(out);
    print_history(out);
    print_rules(out, arena);
    fprintf(out, "\"tops_counted\": %s,\n", page_settings->counts_tops ? "true" : "false");
    print_tops(out, TOP_DOMAINS, "domains");
    print_tops(out, TOP_CLIENTS, "clients");
    fputs("\"stats\": ", out);
    bt_stats_print(out, BT_STATS_JSON);
    fputs("}\n", out);
}
