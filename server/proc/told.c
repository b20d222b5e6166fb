/* told.c - what the control socket tells of the server as a whole, and asks of all workers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/told.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"
#include "bt_log.h"
#include "flow/survey.h"
#include "flow/tail.h"
#include "proc/calls.h"
#include "proc/chores.h"
#include "proc/reload.h"
#include "proc/start.h"
#include "stat/counter.h"
#include "stat/render.h"

/* The words are --json or nothing. */
static bool is_json(struct admin_call *call, const char *command, const bt_str *word, size_t n,
                    bool *json)
{
    *json = n == 1 && str_eq_literal(word[0], "--json");
    if (n == 0 || *json)
        return true;
    admin_failed(call, "%s takes --json and nothing else", command);
    return false;
}

/* ---- status ---- */

static void time_text(char out[40], int64_t when)
{
    struct tm tm;
    time_t seconds = (time_t)when;

    if (localtime_r(&seconds, &tm) == NULL || strftime(out, 40, "%Y-%m-%d %H:%M:%S %z", &tm) == 0)
        strcpy(out, "?");
}

struct status {
    const struct start *start;
    const struct segment_head *head;
    const char *stage;
    unsigned accepting, draining, missing;
    int64_t requests, connections, active;
};

static void status_worker(void *arg, const struct segment *segment, unsigned generation,
                          unsigned row)
{
    struct status *status = arg;
    const struct segment_worker *worker = segment_worker(segment, row);

    (void)generation;
    if (worker->pid == 0 || worker->state == SEGMENT_STARTING)
        status->missing++;
    else if (worker->state == SEGMENT_DRAINING)
        status->draining++;
    else
        status->accepting++;
}

static struct status status_now(const struct admin_owner *owner)
{
    const struct segment *segment = owner->segment();
    struct status status = {.head = segment->head};

    status.start = owner->start(&status.stage);
    owner->workers(status_worker, &status);
    if (!counter_sum(segment, "client.requests", &status.requests) ||
        !counter_sum(segment, "client.open", &status.connections) ||
        !counter_sum(segment, "client.active", &status.active))
        status.requests = status.connections = status.active = 0; /* of an older version */
    return status;
}

static const char *conf_of(const struct status *status)
{
    return status->start->options->conf;
}

static void status_text(FILE *out, const struct status *status)
{
    char when[40];
    const char *rest = reload_last.text;

    time_text(when, status->head->started);
    fprintf(out, "state          %s\nversion        %s\npid            %ld\nstarted        %s\n",
            status->stage, PACKAGE_VERSION, (long)getpid(), when);
    time_text(when, status->head->loaded);
    fprintf(out, "generation     %u, read %s\nconfiguration  %s\n", status->head->generation, when,
            conf_of(status));
    fprintf(out, "workers        %u accepting, %u draining, %u not running\n", status->accepting,
            status->draining, status->missing);
    fprintf(out,
            "clients        %" PRId64 " connections, %" PRId64 " exchanges under way, %" PRId64
            " requests so far\n",
            status->connections, status->active, status->requests);
    if (reload_last.when == 0) {
        fputs("last reload    none\n", out);
        return;
    }
    time_text(when, reload_last.when);
    fprintf(out, "last reload    %s, %s\n", reload_last.good ? "taken" : "refused", when);
    while (*rest != '\0') {
        int len = (int)strcspn(rest, "\n");
        if (len > 0)
            fprintf(out, "               %.*s\n", len, rest);
        rest += len + (rest[len] == '\n');
    }
}

static void status_json(FILE *out, const struct status *status)
{
    fputs("{\"state\": ", out);
    render_json_text(out, status->stage);
    fprintf(out,
            ", \"version\": \"%s\", \"pid\": %ld, \"started\": %" PRId64
            ", \"generation\": %u, \"loaded\": %" PRId64 ", \"configuration\": ",
            PACKAGE_VERSION, (long)getpid(), status->head->started, status->head->generation,
            status->head->loaded);
    render_json_text(out, conf_of(status));
    fprintf(out,
            ", \"workers\": {\"accepting\": %u, \"draining\": %u, \"missing\": %u}, "
            "\"connections\": %" PRId64 ", \"active\": %" PRId64 ", \"requests\": %" PRId64
            ", \"last_reload\": ",
            status->accepting, status->draining, status->missing, status->connections,
            status->active, status->requests);
    if (reload_last.when == 0) {
        fputs("null}\n", out);
        return;
    }
    fprintf(out, "{\"time\": %" PRId64 ", \"good\": %s, \"text\": ", reload_last.when,
            reload_last.good ? "true" : "false");
    render_json_text(out, reload_last.text);
    fputs("}}\n", out);
}

void told_status(struct admin_call *call, bt_str *word, size_t n)
{
    bool json;

    if (!is_json(call, "status", word, n, &json))
        return;
    struct status status = status_now(admin_owner_of(call));
    (json ? status_json : status_text)(admin_out(call), &status);
    admin_done(call);
}

/* ---- exchanges ---- */

/* All that workers wrote, ended by NUL, on the heap. */
static char *gathered_text(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)(size > 0 ? size : 0) + 1);

    CHECK(text != NULL);
    if (size > 0 && pread(fd, text, (size_t)size, 0) != size)
        text[0] = '\0';
    return text;
}

struct listed {
    char *column[SURVEY_COLUMNS];
    long long ms;
};
enum { ID, MS, CLIENT, USER, STEP, FROM, TO, METHOD, URL };

/* What is no whole line is of a worker that was ended in the middle. */
static bool listed_read(struct listed *listed, char *line)
{
    for (size_t i = 0; i < SURVEY_COLUMNS; i++) {
        listed->column[i] = strsep(&line, "\t");
        if (listed->column[i] == NULL)
            return false;
    }
    listed->ms = atoll(listed->column[MS]);
    return line != NULL && line[0] == '\0';
}

static int oldest_first(const void *a, const void *b)
{
    long long left = ((const struct listed *)a)->ms, right = ((const struct listed *)b)->ms;

    return (left < right) - (left > right);
}

/* On the heap. */
static struct listed *list_all(char *text, size_t *n)
{
    size_t lines = 0;

    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    struct listed *all = calloc(lines + 1, sizeof *all);
    CHECK(all != NULL);
    *n = 0;
    for (char *line; (line = strsep(&text, "\n")) != NULL && *n < lines;)
        if (listed_read(&all[*n], line))
            ++*n;
    qsort(all, *n, sizeof *all, oldest_first);
    return all;
}

static void top_text(struct admin_call *call, int gathered)
{
    size_t n;
    char *text = gathered_text(gathered);
    struct listed *all = list_all(text, &n);
    FILE *out = admin_out(call);

    fprintf(out, "%-12s %9s  %-15s %-10s %-8s %10s %12s  %s\n", "ID", "SECONDS", "CLIENT", "USER",
            "STEP", "RECEIVED", "SENT", "REQUEST");
    for (size_t i = 0; i < n; i++) {
        char **column = all[i].column;
        fprintf(out, "%-12s %5lld.%03lld  %-15s %-10s %-8s %10s %12s  %s %s\n", column[ID],
                all[i].ms / 1000, all[i].ms % 1000, column[CLIENT], column[USER], column[STEP],
                column[FROM], column[TO], column[METHOD], column[URL]);
    }
    free(all);
    free(text);
    admin_done(call);
}

static void json_or_null(FILE *out, const char *name, const char *text)
{
    fprintf(out, ", \"%s\": ", name);
    if (strcmp(text, "-") == 0)
        fputs("null", out);
    else
        render_json_text(out, text);
}

static void top_json(struct admin_call *call, int gathered)
{
    size_t n;
    char *text = gathered_text(gathered);
    struct listed *all = list_all(text, &n);
    FILE *out = admin_out(call);

    fputc('[', out);
    for (size_t i = 0; i < n; i++) {
        char **column = all[i].column;
        fprintf(out, "%s\n  {\"id\": \"%s\", \"ms\": %lld, \"received\": %s, \"sent\": %s",
                i > 0 ? "," : "", column[ID], all[i].ms, column[FROM], column[TO]);
        json_or_null(out, "client", column[CLIENT]);
        json_or_null(out, "user", column[USER]);
        json_or_null(out, "step", column[STEP]);
        json_or_null(out, "method", column[METHOD]);
        json_or_null(out, "url", column[URL]);
        fputc('}', out);
    }
    fputs(n > 0 ? "\n]\n" : "]\n", out);
    free(all);
    free(text);
    admin_done(call);
}

/* ---- of all workers ---- */

int admin_gather_file(void)
{
    int fd = memfd_create("bobtail-answers", MFD_CLOEXEC);

    if (fd >= 0)
        (void)fcntl(fd, F_SETFL,
                    O_APPEND); /* each line where the last one ended, whoever wrote it */
    return fd;
}

/* The master first, so that what is wrong is told, and workers to come are as the others. */
static void ask_all(struct admin_call *call, bt_str text, admin_tell *tell)
{
    char why[200];

    if (!chores_here(text, why, sizeof why)) {
        admin_failed(call, "%s", why);
        return;
    }
    admin_wait(call);
    admin_owner_of(call)->gather(call, text, tell);
}

void told_top(struct admin_call *call, bt_str *word, size_t n)
{
    bool json;

    if (is_json(call, "top", word, n, &json))
        ask_all(call, BT_STR("exchanges"), json ? top_json : top_text);
}

static void kill_told(struct admin_call *call, int gathered)
{
    char *text = gathered_text(gathered);
    bool found = text[0] != '\0';

    free(text);
    if (found)
        admin_done(call);
    else
        admin_failed(call, "there is no such exchange (any more); see: top");
}

static void value_told(struct admin_call *call, int gathered)
{
    (void)gathered;
    fputs("until the next reload, or the end\n", admin_out(call));
    admin_done(call);
}

/* `command` and the words behind it, as one line, cut to the buffer. */
static bt_str joined(char *buf, size_t cap, const char *command, const bt_str *word, size_t n)
{
    struct str_builder line;

    str_builder_init(&line, buf, cap);
    str_add(&line, str_from(command));
    for (size_t i = 0; i < n; i++) {
        str_add_char(&line, ' ');
        str_add(&line, word[i]);
    }
    return str_built(&line);
}

void told_kill(struct admin_call *call, bt_str *word, size_t n)
{
    char line[200];

    if (n != 1 || word[0].len > 100)
        admin_failed(call, "say: kill ID, one of those that top shows");
    else
        ask_all(call, joined(line, sizeof line, "kill", word, n), kill_told);
}

void told_set(struct admin_call *call, bt_str *word, size_t n)
{
    char line[CALLS_TEXT];

    if (n < 2)
        admin_failed(call, "say: set NAME VALUE; bobtail --explain NAME says whether it can be");
    else
        ask_all(call, joined(line, sizeof line, "set", word, n), value_told);
}

void told_log(struct admin_call *call, bt_str *word, size_t n)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    char line[200];
    int level = BT_DEBUG;

    if (n < 1 || n > 3 || !str_eq_literal(word[0], "level") || (n == 3 && word[2].len > 60)) {
        admin_failed(call, "say: log level [error|warn|info|debug [MODULE]]");
    } else if (n > 1) {
        ask_all(call, joined(line, sizeof line, "level", word + 1, n - 1), value_told);
    } else {
        while (level > BT_ERROR && !bt_log_on((enum bt_level)level))
            level--;
        fprintf(admin_out(call), "%s\n", levels[level]);
        admin_done(call);
    }
}

/* ---- tail ---- */

/* "ok" with the descriptor beside it; what is in there is the reader's business (stat/ring.h). */
void told_tail(struct admin_call *call, bt_str *word, size_t n)
{
    int fd = tail_fd();

    (void)word;
    if (n > 0)
        admin_failed(call, "nothing may follow this command");
    else if (fd < 0)
        admin_failed(call, "there is no memory to look at");
    else if (!calls_pass(admin_fd(call), BT_STR("ok\n"), fd))
        admin_failed(call, "the memory cannot be handed over: %s", strerror(errno));
    else
        admin_over(call);
}
