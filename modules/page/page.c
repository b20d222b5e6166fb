/* page.c - the pages of this server: metrics, health, status and the cache manager of Squid.
 *
 *   admin_port    /metrics /status /healthz /readyz, and / for people
 *   proxy ports   /squid-internal-mgr/ACTION, where http_access lets it pass
 *
 * Here are the rows, the choice of a page, and what each worker looks at once a second.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "page.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"

BT_COUNTERS(COUNTERS);

enum { SECOND_US = 1000000 };
enum { TOPS_ON, TOPS_OFF, TOPS_AUTO }; /* in the order of its words */

#define TEXT_FIELDS "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"
#define JSON_FIELDS "Content-Type: application/json\r\nCache-Control: no-store\r\n"
#define METRICS_FIELDS                                                                             \
    "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"                 \
    "Cache-Control: no-store\r\n"
/* Nothing but what is in the page itself, and what it asks of the port that it came from. */
#define HTML_FIELDS                                                                                \
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n"                        \
    "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n" \
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src "          \
    "'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'\r\n"

/* ---- text ---- */

void page_begin(struct page_out *out)
{
    out->file = open_memstream(&out->text, &out->len);
    if (out->file == NULL)
        abort(); /* no memory: as bt_alloc() would */
}

void page_end(struct page_out *out, struct bt_txn *txn, int status, bt_str fields)
{
    fclose(out->file);
    bt_answer(txn, status, fields, (bt_str){out->text, out->len});
    free(out->text);
}

int64_t page_stat(const char *name)
{
    struct bt_stat stat;

    return bt_stats_get(name, &stat, NULL) ? stat.value : 0;
}

void page_json_text(FILE *out, bt_str text)
{
    fputc('"', out);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f) /* whatever its encoding was, the page is ASCII */
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

void page_json_key(FILE *out, bool *some, const char *key)
{
    fprintf(out, "%s\"%s\": ", *some ? ", " : "", key);
    *some = true;
}

void page_date(char out[BT_DATE_LEN + 1], int64_t seconds)
{
    bt_date_print(out, seconds);
    out[BT_DATE_LEN] = '\0';
}

/* ---- the pages of an admin_port ---- */

static void page_health(struct page_out *out)
{
    fputs("ok\n", out->file);
}

static int page_ready(struct page_out *out)
{
    struct bt_server server;

    bt_server_get(&server);
    fputs(server.draining ? "draining\n" : "ready\n", out->file);
    return server.draining ? 503 : 200;
}

static bool is(bt_str path, const char *page)
{
    return path.len == strlen(page) && memcmp(path.at, page, path.len) == 0;
}

static enum bt_verdict page_of_port(struct bt_txn *txn, bt_str path)
{
    const char *query = memchr(path.at, '?', path.len);
    bt_str fields = BT_STR(TEXT_FIELDS);
    struct page_out out;
    int status = 200;

    if (query != NULL)
        path.len = (size_t)(query - path.at);
    if (is(path, "/")) {
        bt_answer(txn, 200, BT_STR(HTML_FIELDS), dashboard_text());
        return BT_ANSWER;
    }
    page_begin(&out);
    if (is(path, "/metrics")) {
        metrics_print(out.file);
        fields = BT_STR(METRICS_FIELDS);
    } else if (is(path, "/status")) {
        status_print(out.file, bt_txn_arena(txn));
        fields = BT_STR(JSON_FIELDS);
    } else if (is(path, "/stats")) {
        bt_stats_print(out.file, BT_STATS_TEXT);
    } else if (is(path, "/healthz")) {
        page_health(&out);
    } else if (is(path, "/readyz")) {
        status = page_ready(&out);
    } else {
        status = 404;
        fputs("This port has /, /metrics, /status, /stats, /healthz, /readyz and "
              "/squid-internal-mgr/menu.\n",
              out.file);
    }
    page_end(&out, txn, status, fields);
    return BT_ANSWER;
}

static enum bt_verdict answer(struct bt_txn *txn, const struct bt_page_ask *ask)
{
    enum bt_verdict verdict;

    bt_count(pages);
    if (!ask->manager)
        return page_of_port(txn, ask->path);
    verdict = manager_answer(txn, ask);
    if (verdict == BT_REFUSE) {
        bt_count(refused);
        return BT_ANSWER;
    }
    return verdict;
}

static void over(struct bt_txn *txn, int64_t bytes)
{
    if (page_settings->counts_tops)
        tops_count(txn, bytes);
}

/* ---- each second ---- */

static struct bt_timer *timer;
static int64_t due_us, looked_us, used_us;

/* A clock that tests do not move. */
static int64_t steady_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static int64_t us_of(const struct timeval *tv)
{
    return tv->tv_sec * INT64_C(1000000) + tv->tv_usec;
}

static void gauge(unsigned slot, int64_t value)
{
    bt_add(slot, value - atomic_load_explicit(&bt_self.row[slot], memory_order_relaxed));
}

/* Newer kernels tell it as the size of the folder; with older ones the lowest number that is free is
 * near enough. */
static int64_t descriptors(void)
{
    struct stat is;
    int fd;

    if (stat("/proc/self/fd", &is) == 0 && is.st_size > 0)
        return is.st_size;
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd;
}

static int64_t resident(void)
{
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    long pages = 0;

    if (fd >= 0)
        close(fd);
    if (n > 0) {
        text[n] = '\0';
        if (sscanf(text, "%*d %ld", &pages) != 1)
            pages = 0;
    }
    return pages * sysconf(_SC_PAGESIZE);
}

/* A predecessor's time, in the same row, was counted by it. */
static void look_at_time(void)
{
    static int64_t told_user, told_system, told_faults;
    struct rusage use;

    if (getrusage(RUSAGE_SELF, &use) != 0)
        return;
    bt_count_by(cpu_user, us_of(&use.ru_utime) - told_user);
    bt_count_by(cpu_system, us_of(&use.ru_stime) - told_system);
    bt_count_by(page_faults, use.ru_majflt - told_faults);
    told_user = us_of(&use.ru_utime);
    told_system = us_of(&use.ru_stime);
    told_faults = use.ru_majflt;
    gauge(N_rss_max, use.ru_maxrss * INT64_C(1024));
    int64_t now = steady_us(), used = told_user + told_system;
    if (looked_us != 0 && now > looked_us)
        gauge(N_busy, (used - used_us) * 1000 / (now - looked_us));
    looked_us = now;
    used_us = used;
}

static void look(void)
{
    struct rlimit limit;

    look_at_time();
    gauge(N_rss, resident());
    gauge(N_descriptors, descriptors());
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        gauge(N_descriptors_max, (int64_t)limit.rlim_cur);
    samples_tick();
}

static void second(void *arg)
{
    int64_t late = steady_us() - due_us;

    bt_observe(lag, late > 0 ? late : 0);
    look();
    due_us = steady_us() + SECOND_US;
    timer = bt_timer_start((bt_duration){1000}, second, arg);
}

/* ---- rows ---- */

static bool set_password(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct page_conf *conf = conf_;
    struct page_password **at = &conf->passwords;

    for (size_t i = 1; i < line->args.n; i++)
        if (!manager_known(line->args.word[i].text))
            bt_caution(err, &line->args.word[i], "the cache manager has no page of that name");
    while (*at != NULL)
        at = &(*at)->next;
    *at = bt_alloc(line->arena, sizeof **at);
    **at = (struct page_password){.word = line->args.word[0].text,
                                  .actions = {line->args.word + 1, line->args.n - 1}};
    return true;
}

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct page_conf *conf = conf_;

    if (!samples_make(err))
        return false;
    conf->counts_tops = conf->tops == TOPS_ON || (conf->tops == TOPS_AUTO && bt_admin_ports() > 0);
    if (conf->counts_tops && !tops_make(arena))
        return bt_complain(err, NULL, "there is no memory for top domains; page_tops off");
    return true;
}

static bool start(void *conf)
{
    (void)conf;
    look();
    due_us = steady_us() + SECOND_US;
    timer = bt_timer_start((bt_duration){1000}, second, NULL);
    return true;
}

static void stop(void *conf)
{
    (void)conf;
    bt_timer_cancel(timer);
    timer = NULL;
    look_at_time();
}

static const struct bt_directive directives[] = {
    {.name = "cachemgr_passwd",
     .args = "word word...",
     .doc =
         "The password that pages of the cache manager want (none: they want none; disable: they "
         "are off), and their names, or all; the first line that names a page stands. Without "
         "one, config and what changes something is off.",
     .set = set_password,
     .flags = BT_SECRET},
    BT_SET_AS(struct page_conf, tops, "on|off|auto", "page_tops", "auto",
              "Counts the most frequent domains and clients, for the pages of admin_port and for "
              "client_list of the cache manager: on, off, or where there is an admin_port. Each "
              "worker remembers 256 of each."),
};

static const struct bt_pages pages_row = {.answer = answer, .over = over};

BT_MODULE(page, "Pages about this server: metrics, health, status, and Squid's cache manager.",
          .conf_size = sizeof(struct page_conf), .directives = BT_ROWS(directives),
          .counters = BT_ROWS(bt_counters), .setup = setup, .start = start, .stop = stop,
          .by_default = true, .pages = &pages_row);
