/* manager_info.c - the pages of Squid's cache manager that programs read: info, counters, averages.
 *
 * Names, order and units are Squid's, since exporters look for them; what has no counterpart here is
 * 0. Averages are of the samples: over the last 5 or 60 minutes, or since the start.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "page.h"

/* One of a kind for all: they are large, and there is one thread. */
static struct sample now, ago, ago60;

static int64_t kb(int64_t bytes)
{
    return bytes / 1024;
}

static double part(int64_t some, int64_t all)
{
    return all > 0 ? 100.0 * (double)some / (double)all : 0.0;
}

static int64_t grown(const struct sample *from, int what)
{
    return now.count[what] - from->count[what];
}

static int64_t cpu_us(const struct sample *sample)
{
    return sample->count[SAMPLE_cpu_user] + sample->count[SAMPLE_cpu_system];
}

/* "1796102639.555047 (Tue, 01 Dec 2026 05:23:59 GMT)" */
static void print_moment(FILE *out, const char *name, int64_t ms)
{
    char date[BT_DATE_LEN + 1];

    page_date(date, ms / 1000);
    fprintf(out, "%s = %" PRId64 ".%06d (%s)\n", name, ms / 1000, (int)(ms % 1000) * 1000, date);
}

/* ---- info ---- */

static void info_head(FILE *out, const struct bt_server *server)
{
    char started[BT_DATE_LEN + 1], current[BT_DATE_LEN + 1];

    page_date(started, server->started);
    page_date(current, bt_wall_ms() / 1000);
    fprintf(out,
            "Squid Object Cache: Version %s\nBuild Info: Bobtail\nService Name: bobtail\n"
            "Start Time:\t%s\nCurrent Time:\t%s\n",
            server->version, started, current);
}

static void info_connections(FILE *out, double minutes)
{
    static struct top_entry clients[1000];
    size_t n = tops_get(TOP_CLIENTS, clients, sizeof clients / sizeof *clients);
    int64_t requests = now.count[SAMPLE_requests], failed = now.count[SAMPLE_errors];

    fprintf(out,
            "Connection information for squid:\n\tNumber of clients accessing cache:\t%zu\n"
            "\tNumber of HTTP requests received:\t%" PRId64
            "\n\tNumber of ICP messages received:\t0\n\tNumber of ICP messages sent:\t0\n"
            "\tNumber of queued ICP replies:\t0\n\tNumber of HTCP messages received:\t0\n"
            "\tNumber of HTCP messages sent:\t0\n\tRequest failure ratio:\t%5.2f\n"
            "\tAverage HTTP requests per minute since start:\t%.1f\n"
            "\tAverage ICP messages per minute since start:\t0.0\n"
            "\tSelect loop called: 0 times, 0.000 ms avg\n",
            n, requests, requests > 0 ? (double)failed / (double)requests : 0.0,
            minutes > 0 ? (double)requests / minutes : 0.0);
}

static void info_cache(FILE *out)
{
    int64_t size = page_stat("cache.size"), used = page_stat("cache.used");
    int64_t objects = page_stat("cache.objects"), bodies = page_stat("cache.live");

    fprintf(out,
            "Cache information for squid:\n"
            "\tHits as %% of all requests:\t5min: %.1f%%, 60min: %.1f%%\n"
            "\tHits as %% of bytes sent:\t5min: %.1f%%, 60min: %.1f%%\n"
            "\tMemory hits as %% of hit requests:\t5min: %.1f%%, 60min: %.1f%%\n"
            "\tDisk hits as %% of hit requests:\t5min: %.1f%%, 60min: %.1f%%\n",
            part(grown(&ago, SAMPLE_hits), grown(&ago, SAMPLE_requests)),
            part(grown(&ago60, SAMPLE_hits), grown(&ago60, SAMPLE_requests)),
            part(grown(&ago, SAMPLE_hit_bytes_out), grown(&ago, SAMPLE_bytes_out)),
            part(grown(&ago60, SAMPLE_hit_bytes_out), grown(&ago60, SAMPLE_bytes_out)),
            part(grown(&ago, SAMPLE_mem_hits), grown(&ago, SAMPLE_hits)),
            part(grown(&ago60, SAMPLE_mem_hits), grown(&ago60, SAMPLE_hits)),
            part(grown(&ago, SAMPLE_disk_hits), grown(&ago, SAMPLE_hits)),
            part(grown(&ago60, SAMPLE_disk_hits), grown(&ago60, SAMPLE_hits)));
    fprintf(out,
            "\tStorage Swap size:\t0 KB\n\tStorage Swap capacity:\t %.1f%% used, %.1f%% free\n"
            "\tStorage Mem size:\t%" PRId64 " KB\n"
            "\tStorage Mem capacity:\t %.1f%% used, %.1f%% free\n"
            "\tMean Object Size:\t%.2f KB\n\tRequests given to unlinkd:\t0\n",
            0.0, 0.0, kb(used), part(used, size), size > 0 ? 100.0 - part(used, size) : 0.0,
            objects > 0 ? (double)bodies / 1024.0 / (double)objects : 0.0);
}

static void info_time(FILE *out, const char *title, int time)
{
    fprintf(out, "\t%-21s  %8.5f %8.5f\n", title,
            (double)samples_quantile(&ago, &now, time, 0.5) / 1e6,
            (double)samples_quantile(&ago60, &now, time, 0.5) / 1e6);
}

static void info_times(FILE *out)
{
    fputs("Median Service Times (seconds)  5 min    60 min:\n", out);
    info_time(out, "HTTP Requests (All):", TIME_all);
    info_time(out, "Cache Misses:", TIME_miss);
    info_time(out, "Cache Hits:", TIME_hit);
    info_time(out, "Near Hits:", TIME_near);
    info_time(out, "Not-Modified Replies:", TIME_unmodified);
    info_time(out, "DNS Lookups:", TIME_dns);
    fprintf(out, "\t%-21s  %8.5f %8.5f\n", "ICP Queries:", 0.0, 0.0);
}

static double cpu_share(const struct sample *from)
{
    double seconds = samples_seconds(from, &now);

    return seconds > 0 ? (double)(cpu_us(&now) - cpu_us(from)) / 1e4 / seconds : 0.0;
}

static void info_resources(FILE *out, double uptime)
{
    int64_t most = page_stat("worker.descriptors_max"), used = page_stat("worker.descriptors");
    double cpu = (double)cpu_us(&now) / 1e6;

    fprintf(out,
            "Resource usage for squid:\n\tUP Time:\t%.3f seconds\n\tCPU Time:\t%.3f seconds\n"
            "\tCPU Usage:\t%.2f%%\n\tCPU Usage, 5 minute avg:\t%.2f%%\n"
            "\tCPU Usage, 60 minute avg:\t%.2f%%\n\tMaximum Resident Size: %" PRId64 " KB\n"
            "\tPage faults with physical i/o: %" PRId64 "\n",
            uptime, cpu, uptime > 0 ? 100.0 * cpu / uptime : 0.0, cpu_share(&ago),
            cpu_share(&ago60), kb(page_stat("worker.resident_max")), now.count[SAMPLE_page_faults]);
    fprintf(out, "Memory accounted for:\n\tTotal accounted:       %6" PRId64 " KB\n",
            kb(page_stat("worker.resident")));
    fprintf(out,
            "File descriptor usage for squid:\n"
            "\tMaximum number of file descriptors:   %" PRId64 "\n"
            "\tLargest file desc currently in use:   %" PRId64 "\n"
            "\tNumber of file desc currently in use: %" PRId64 "\n"
            "\tFiles queued for open:                   0\n"
            "\tAvailable number of file descriptors: %" PRId64 "\n"
            "\tReserved number of file descriptors:   128\n"
            "\tStore Disk files open:                   0\n",
            most, used, used, most - used);
}

void manager_info(FILE *out)
{
    struct bt_server server;
    double uptime;
    int64_t objects = page_stat("cache.objects");

    bt_server_get(&server);
    samples_now(&now);
    samples_ago(5, &ago);
    samples_ago(60, &ago60);
    uptime = (double)bt_wall_ms() / 1000.0 - (double)server.started;
    info_head(out, &server);
    info_connections(out, uptime / 60.0);
    info_cache(out);
    info_times(out);
    info_resources(out, uptime);
    fprintf(out,
            "Internal Data Structures:\n\t%6" PRId64 " StoreEntries\n\t%6" PRId64
            " StoreEntries with MemObjects\n\t%6" PRId64
            " Hot Object Cache Items\n\t     0 on-disk objects\n",
            objects, objects, objects);
}

/* ---- counters and averages: the same names ---- */

struct line {
    const char *name;
    int what; /* enum of SAMPLE_COUNTS; -1: there is nothing of the kind */
    bool kilobytes;
};
#define NONE(name)                                                                                 \
    {                                                                                              \
        name, -1, false                                                                            \
    }
/* Errors of a kind are dials that failed; requests, connections opened and used again. */
enum { SERVER_REQUESTS = -2 };
static const struct line client_lines[] = {
    {"client_http.requests", SAMPLE_requests, false},
    {"client_http.hits", SAMPLE_hits, false},
    {"client_http.errors", SAMPLE_errors, false},
    {"client_http.kbytes_in", SAMPLE_bytes_in, true},
    {"client_http.kbytes_out", SAMPLE_bytes_out, true},
};
static const struct line hit_line[] = {{"client_http.hit_kbytes_out", SAMPLE_hit_bytes_out, true}};
static const struct line server_lines[] = {
    {"server.all.requests", SERVER_REQUESTS, false},
    {"server.all.errors", SAMPLE_origin_failed, false},
    {"server.all.kbytes_in", SAMPLE_origin_bytes_in, true},
    {"server.all.kbytes_out", SAMPLE_origin_bytes_out, true},
    {"server.http.requests", SERVER_REQUESTS, false},
    {"server.http.errors", SAMPLE_origin_failed, false},
    {"server.http.kbytes_in", SAMPLE_origin_bytes_in, true},
    {"server.http.kbytes_out", SAMPLE_origin_bytes_out, true},
    NONE("server.ftp.requests"),
    NONE("server.ftp.errors"),
    NONE("server.ftp.kbytes_in"),
    NONE("server.ftp.kbytes_out"),
    NONE("server.other.requests"),
    NONE("server.other.errors"),
    NONE("server.other.kbytes_in"),
    NONE("server.other.kbytes_out"),
    NONE("icp.pkts_sent"),
    NONE("icp.pkts_recv"),
    NONE("icp.queries_sent"),
    NONE("icp.replies_sent"),
    NONE("icp.queries_recv"),
    NONE("icp.replies_recv"),
    NONE("icp.query_timeouts"),
    NONE("icp.replies_queued"),
    NONE("icp.kbytes_sent"),
    NONE("icp.kbytes_recv"),
    NONE("icp.q_kbytes_sent"),
    NONE("icp.r_kbytes_sent"),
    NONE("icp.q_kbytes_recv"),
    NONE("icp.r_kbytes_recv"),
};
static const struct line only_counters[] = {
    NONE("icp.times_used"), NONE("cd.times_used"),   NONE("cd.msgs_sent"),   NONE("cd.msgs_recv"),
    NONE("cd.memory"),      NONE("cd.local_memory"), NONE("cd.kbytes_sent"), NONE("cd.kbytes_recv"),
};
static const struct line last_lines[] = {
    NONE("unlink.requests"),
    {"page_faults", SAMPLE_page_faults, false},
    NONE("select_loops"),
};
static const struct line swap_lines[] = {
    NONE("swap.outs"),
    NONE("swap.ins"),
    NONE("swap.files_cleaned"),
    {"aborted_requests", SAMPLE_aborted, false},
};
static const struct line validation_lines[] = {
    NONE("hit_validation.attempts"),
    NONE("hit_validation.refusals.due_to_locking"),
    NONE("hit_validation.refusals.due_to_zeroSize"),
    NONE("hit_validation.refusals.due_to_timeLimit"),
    NONE("hit_validation.failures"),
};
#define LINES(table) table, sizeof(table) / sizeof *(table)

static int64_t value_of(const struct line *line, const struct sample *sample)
{
    if (line->what == SERVER_REQUESTS)
        return sample->count[SAMPLE_origin_dials] + sample->count[SAMPLE_origin_reused];
    if (line->what < 0)
        return 0;
    return line->kilobytes ? kb(sample->count[line->what]) : sample->count[line->what];
}

static void print_totals(FILE *out, const struct line *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s = %" PRId64 "\n", line[i].name, value_of(&line[i], &now));
}

static void print_rates(FILE *out, const struct line *line, size_t n)
{
    double seconds = samples_seconds(&ago, &now);

    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s = %f/sec\n", line[i].name,
                seconds > 0
                    ? (double)(value_of(&line[i], &now) - value_of(&line[i], &ago)) / seconds
                    : 0.0);
}

void manager_counters(FILE *out)
{
    struct bt_server server;

    bt_server_get(&server);
    samples_now(&now);
    print_moment(out, "sample_time", now.wall_ms);
    print_totals(out, LINES(client_lines));
    print_totals(out, LINES(hit_line));
    print_totals(out, LINES(server_lines));
    print_totals(out, LINES(only_counters));
    print_totals(out, LINES(last_lines));
    fprintf(out, "cpu_time = %f\nwall_time = %f\n", (double)cpu_us(&now) / 1e6,
            (double)now.wall_ms / 1e3 - (double)server.started);
    print_totals(out, LINES(swap_lines));
    print_totals(out, LINES(validation_lines));
}

static void print_median(FILE *out, const char *name, int time)
{
    fprintf(out, "%s = %f seconds\n", name, (double)samples_quantile(&ago, &now, time, 0.5) / 1e6);
}

static void print_medians(FILE *out)
{
    print_median(out, "client_http.all_median_svc_time", TIME_all);
    print_median(out, "client_http.miss_median_svc_time", TIME_miss);
    print_median(out, "client_http.nm_median_svc_time", TIME_unmodified);
    print_median(out, "client_http.nh_median_svc_time", TIME_near);
    print_median(out, "client_http.hit_median_svc_time", TIME_hit);
}

void manager_average(FILE *out, unsigned minutes)
{
    double seconds;

    samples_now(&now);
    samples_ago(minutes, &ago);
    seconds = samples_seconds(&ago, &now);
    print_moment(out, "sample_start_time", ago.wall_ms);
    print_moment(out, "sample_end_time", now.wall_ms);
    print_rates(out, LINES(client_lines));
    print_medians(out);
    print_rates(out, LINES(server_lines));
    fputs("icp.query_median_svc_time = 0.000000 seconds\n"
          "icp.reply_median_svc_time = 0.000000 seconds\n",
          out);
    print_median(out, "dns.median_svc_time", TIME_dns);
    print_rates(out, LINES(last_lines));
    fputs("select_fds = 0.000000/sec\naverage_select_fd_period = 0.000000/fd\n"
          "median_select_fds = 0.000000\n",
          out);
    print_rates(out, LINES(swap_lines));
    fprintf(out, "cpu_time = %f seconds\nwall_time = %f seconds\ncpu_usage = %f%%\n",
            (double)(cpu_us(&now) - cpu_us(&ago)) / 1e6, seconds, cpu_share(&ago));
}

void manager_utilization(FILE *out)
{
    fputs("Cache Utilisation:\n\nLast 5 minutes:\n", out);
    manager_average(out, 5);
    fputs("\nLast hour:\n", out);
    manager_average(out, 60);
    fputs("\nTotals since cache startup:\n", out);
    manager_counters(out);
}
