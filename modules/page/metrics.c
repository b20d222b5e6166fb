/* metrics.c - /metrics: all counters, and what is told of each worker by itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "page.h"

/* A family with one sample a worker. */
struct series {
    const char *name, *type, *unit, *doc;
    double (*value)(unsigned worker, const struct bt_worker *);
};

static double is_up(unsigned worker, const struct bt_worker *is)
{
    (void)worker;
    return is->pid != 0 && strcmp(is->state, "accepting") == 0;
}

static double restarts(unsigned worker, const struct bt_worker *is)
{
    (void)worker;
    return (double)is->respawns;
}

static double requests(unsigned worker, const struct bt_worker *is)
{
    (void)worker;
    return (double)is->requests;
}

static double open_now(unsigned worker, const struct bt_worker *is)
{
    (void)worker;
    return (double)is->open;
}

static double busy(unsigned worker, const struct bt_worker *is)
{
    (void)is;
    return (double)bt_worker_stat(worker, "worker.busy") * 1e-3;
}

static double resident(unsigned worker, const struct bt_worker *is)
{
    (void)is;
    return (double)bt_worker_stat(worker, "worker.resident");
}

static double descriptors(unsigned worker, const struct bt_worker *is)
{
    (void)is;
    return (double)bt_worker_stat(worker, "worker.descriptors");
}

static const struct series series[] = {
    {"worker_up", "gauge", NULL, "1 while that worker takes connections.", is_up},
    {"worker_restarts", "counter", NULL, "Times that it was started anew because it had died.",
     restarts},
    {"worker_requests", "counter", NULL, "Request heads that it has received and understood.",
     requests},
    {"worker_connections", "gauge", NULL, "Client connections that it has open.", open_now},
    {"worker_busy_ratio", "gauge", "ratio", "Share of the last second that it was busy.", busy},
    {"resident_memory_bytes", "gauge", "bytes",
     "Memory of that worker that is resident, with what it shares with others.", resident},
    {"open_fds", "gauge", NULL, "Descriptors that it has open.", descriptors},
};

static void family(FILE *out, const char *name, const char *type, const char *doc)
{
    fprintf(out, "# TYPE bobtail_%s %s\n# HELP bobtail_%s %s\n", name, type, name, doc);
}

static void print_workers(FILE *out)
{
    for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
        const struct series *s = &series[i];

        fprintf(out, "# TYPE bobtail_%s %s\n", s->name, s->type);
        if (s->unit != NULL)
            fprintf(out, "# UNIT bobtail_%s %s\n", s->name, s->unit);
        fprintf(out, "# HELP bobtail_%s %s\n", s->name, s->doc);
        for (unsigned worker = 1; worker <= bt_workers(); worker++) {
            struct bt_worker is;
            bt_worker_get(worker, &is);
            fprintf(out, "bobtail_%s%s{worker=\"%u\"} %.9g\n", s->name,
                    strcmp(s->type, "counter") == 0 ? "_total" : "", worker, s->value(worker, &is));
        }
    }
    family(out, "cpu_seconds", "counter", "Processor time of each worker.");
    for (unsigned worker = 1; worker <= bt_workers(); worker++)
        fprintf(out,
                "bobtail_cpu_seconds_total{worker=\"%u\",mode=\"user\"} %.6f\n"
                "bobtail_cpu_seconds_total{worker=\"%u\",mode=\"system\"} %.6f\n",
                worker, (double)bt_worker_stat(worker, "worker.cpu_user") * 1e-6, worker,
                (double)bt_worker_stat(worker, "worker.cpu_system") * 1e-6);
}

static void print_server(FILE *out)
{
    struct bt_server server;

    bt_server_get(&server);
    fprintf(out,
            "# TYPE bobtail_build_info gauge\n# HELP bobtail_build_info Which server this is.\n"
            "bobtail_build_info{version=\"%s\",api=\"%d.%d\"} 1\n",
            server.version, BT_ABI_MAJOR, BT_ABI_MINOR);
    family(out, "start_time_seconds", "gauge", "When the server was started, seconds since 1970.");
    fprintf(out, "bobtail_start_time_seconds %" PRId64 "\n", server.started);
    family(out, "uptime_seconds", "gauge", "For how long it has been running.");
    fprintf(out, "bobtail_uptime_seconds %" PRId64 "\n", bt_wall_ms() / 1000 - server.started);
    family(out, "config_load_timestamp_seconds", "gauge",
           "When the configuration in use was read, seconds since 1970.");
    fprintf(out, "bobtail_config_load_timestamp_seconds %" PRId64 "\n", server.loaded);
    family(out, "config_generation", "gauge", "Which one it is: 1, and one more each reload.");
    fprintf(out, "bobtail_config_generation %u\n", server.generation);
    family(out, "workers", "gauge", "How many workers there are to be.");
    fprintf(out, "bobtail_workers %u\n", bt_workers());
}

/* ---- parents ---- */

static void print_peer_word(FILE *out, const char *name, bt_str peer, const char *more,
                            int64_t value)
{
    fprintf(out, "bobtail_peer_%s{peer=\"", name);
    for (size_t i = 0; i < peer.len; i++)
        fprintf(out, "%s%c", peer.at[i] == '"' || peer.at[i] == '\\' ? "\\" : "", peer.at[i]);
    fprintf(out, "\"%s} %" PRId64 "\n", more, value);
}

static void print_peers(FILE *out)
{
    struct bt_parent_report is;

    if (!bt_parent_report(0, &is))
        return;
    family(out, "peer_up", "gauge", "1 while that parent is asked.");
    for (size_t i = 0; bt_parent_report(i, &is); i++)
        print_peer_word(out, "up", is.parent->name, "", is.up);
    family(out, "peer_requests", "counter", "Requests that went to that parent, by how it went.");
    for (size_t i = 0; bt_parent_report(i, &is); i++) {
        print_peer_word(out, "requests_total", is.parent->name, ",result=\"answered\"",
                        is.answered);
        print_peer_word(out, "requests_total", is.parent->name, ",result=\"silent\"", is.silent);
        print_peer_word(out, "requests_total", is.parent->name, ",result=\"refused\"", is.refused);
    }
    family(out, "peer_connections", "gauge", "Connections to that parent that are open.");
    for (size_t i = 0; bt_parent_report(i, &is); i++)
        print_peer_word(out, "connections", is.parent->name, "", is.open);
}

void metrics_print(FILE *out)
{
    print_server(out);
    print_workers(out);
    print_peers(out);
    bt_stats_print(out, BT_STATS_OPENMETRICS); /* with the end */
}
