/* handover.c - writes and reads what one image of the master leaves to the next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bt.h"

#define VARIABLE "BOBTAIL_HANDOVER"
#define FIRST_LINE "bobtail handover 1\n"

/* ---- descriptors ---- */

static void keep_one(int fd, bool keep)
{
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
}

static void keep_all(const struct handover *h, bool keep)
{
    keep_one(h->control, keep);
    keep_one(h->pidfile, keep);
    keep_one(h->waiting, keep);
    for (size_t i = 0; i < h->n_silent; i++)
        keep_one(h->silent[i], keep);
    for (size_t i = 0; i < h->n_sockets; i++)
        keep_one(h->socket[i].fd, keep);
    for (size_t i = 0; i < h->n_crews; i++)
        keep_one(h->crew[i].segment, keep);
    for (size_t i = 0; i < h->n_workers; i++)
        keep_one(h->worker[i].line, keep);
    for (size_t i = 0; i < h->n_zones; i++)
        keep_one(h->zone[i].fd, keep);
    for (size_t i = 0; i < h->n_wakes; i++)
        keep_one(h->wake[i].fd, keep);
}

/* ---- writing ---- */

/* On one line: ends of lines are RS there. */
static void write_reload(FILE *out, const struct reload_outcome *reload)
{
    if (reload->begun_ms == 0)
        return;
    fprintf(out, "reload %lld %lld %d ", (long long)reload->when, (long long)reload->begun_ms,
            reload->good);
    for (const char *at = reload->text; *at != '\0'; at++)
        fputc(*at == '\n' ? 036 : *at, out);
    fputc('\n', out);
}

static bool write_text(FILE *out, const struct handover *h)
{
    fputs(FIRST_LINE, out);
    fprintf(out, "generation %u\nstarted %lld\nshift %lld\nready %d\n", h->generation,
            (long long)h->started, (long long)h->shift_ms, h->ready);
    /* Paths last in their line, since they may hold blanks. */
    if (h->log_path[0] != '\0')
        fprintf(out, "log %s\n", h->log_path);
    if (h->control >= 0)
        fprintf(out, "control %d %s\n", h->control, h->control_path);
    if (h->pidfile >= 0)
        fprintf(out, "pidfile %d %s\n", h->pidfile, h->pidfile_path);
    if (h->waiting >= 0)
        fprintf(out, "waiting %d\n", h->waiting);
    for (size_t i = 0; i < h->n_silent; i++)
        fprintf(out, "silent %d\n", h->silent[i]);
    for (size_t i = 0; i < h->n_sockets; i++)
        fprintf(out, "socket %d %s\n", h->socket[i].fd, h->socket[i].key);
    for (size_t i = 0; i < h->n_crews; i++)
        fprintf(out, "crew %u %d\n", h->crew[i].generation, h->crew[i].segment);
    for (size_t i = 0; i < h->n_workers; i++)
        fprintf(out, "worker %u %u %ld %d %d\n", h->worker[i].generation, h->worker[i].row,
                (long)h->worker[i].pid, h->worker[i].line, h->worker[i].accepting);
    for (size_t i = 0; i < h->n_zones; i++)
        fprintf(out, "zone %d %d %llu %llu %s\n", h->zone[i].fd, ZONE_VERSION,
                (unsigned long long)h->zone[i].size, (unsigned long long)h->zone[i].layout,
                h->zone[i].name);
    for (size_t i = 0; i < h->n_wakes; i++)
        fprintf(out, "wake %d %u\n", h->wake[i].fd, h->wake[i].member);
    write_reload(out, &h->reload);
    return fflush(out) == 0;
}

int handover_write(const struct handover *h, bool keep)
{
    char number[16];
    int fd = memfd_create("bobtail-handover", 0);
    FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");
    bool good = out != NULL && write_text(out, h);

    if (out != NULL)
        fclose(out);
    snprintf(number, sizeof number, "%d", fd);
    if (!good || setenv(VARIABLE, number, 1) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (keep)
        keep_all(h, true);
    return fd;
}

void handover_undo(const struct handover *h, int memfd)
{
    keep_all(h, false);
    unsetenv(VARIABLE);
    close(memfd);
}

/* ---- reading ---- */

static void read_socket(struct handover *h, const char *line)
{
    struct handover_socket *socket = &h->socket[h->n_sockets];
    int at = 0;

    if (sscanf(line, "socket %d %n", &socket->fd, &at) == 1 && at > 0 &&
        strlen(line + at) < sizeof socket->key) {
        strcpy(socket->key, line + at);
        h->n_sockets++;
    }
}

static void read_crew(struct handover *h, const char *line)
{
    struct handover_crew *crew = &h->crew[h->n_crews];

    if (sscanf(line, "crew %u %d", &crew->generation, &crew->segment) == 2)
        h->n_crews++;
}

static void read_worker(struct handover *h, const char *line)
{
    struct handover_worker *worker = &h->worker[h->n_workers];
    long pid;
    int accepting;

    if (sscanf(line, "worker %u %u %ld %d %d", &worker->generation, &worker->row, &pid,
               &worker->line, &accepting) != 5)
        return;
    worker->pid = (pid_t)pid;
    worker->accepting = accepting != 0;
    h->n_workers++;
}

/* Of another version: its descriptor is closed, by whoever gets it under no name. */
static void read_zone(struct handover *h, const char *line)
{
    struct zone_paper *zone = &h->zone[h->n_zones];
    unsigned long long size, layout;
    int version, at = 0;

    if (sscanf(line, "zone %d %d %llu %llu %n", &zone->fd, &version, &size, &layout, &at) != 4 ||
        at == 0 || strlen(line + at) >= sizeof zone->name)
        return;
    if (version == ZONE_VERSION)
        strcpy(zone->name, line + at);
    zone->size = size;
    zone->layout = layout;
    h->n_zones++;
}

static void read_wake(struct handover *h, const char *line)
{
    struct handover_wake *wake = &h->wake[h->n_wakes];

    if (sscanf(line, "wake %d %u", &wake->fd, &wake->member) == 2)
        h->n_wakes++;
}

static void read_path(const char *line, const char *format, int *fd, char *path)
{
    int at = 0;

    if (sscanf(line, format, fd, &at) == 1 && at > 0 && strlen(line + at) < HANDOVER_PATH)
        strcpy(path, line + at);
}

static void read_reload(struct reload_outcome *reload, const char *line)
{
    long long when, begun;
    int good, at = 0;

    if (sscanf(line, "reload %lld %lld %d%n", &when, &begun, &good, &at) != 3 || line[at] != ' ')
        return;
    *reload = (struct reload_outcome){.when = when, .begun_ms = begun, .good = good != 0};
    snprintf(reload->text, sizeof reload->text, "%s", line + at + 1);
    for (char *c = reload->text; *c != '\0'; c++)
        if (*c == 036)
            *c = '\n';
}

static void read_line(struct handover *h, const char *line)
{
    long long number;
    int flag;

    if (strncmp(line, "socket ", 7) == 0)
        read_socket(h, line);
    else if (strncmp(line, "crew ", 5) == 0)
        read_crew(h, line);
    else if (strncmp(line, "worker ", 7) == 0)
        read_worker(h, line);
    else if (strncmp(line, "zone ", 5) == 0)
        read_zone(h, line);
    else if (strncmp(line, "wake ", 5) == 0)
        read_wake(h, line);
    else if (strncmp(line, "log ", 4) == 0 && strlen(line + 4) < sizeof h->log_path)
        strcpy(h->log_path, line + 4);
    else if (strncmp(line, "control ", 8) == 0)
        read_path(line, "control %d %n", &h->control, h->control_path);
    else if (strncmp(line, "pidfile ", 8) == 0)
        read_path(line, "pidfile %d %n", &h->pidfile, h->pidfile_path);
    else if (strncmp(line, "reload ", 7) == 0)
        read_reload(&h->reload, line);
    else if (sscanf(line, "waiting %d", &flag) == 1)
        h->waiting = flag;
    else if (sscanf(line, "silent %d", &flag) == 1 && h->n_silent < HANDOVER_SILENT)
        h->silent[h->n_silent++] = flag;
    else if (sscanf(line, "ready %d", &flag) == 1)
        h->ready = flag != 0;
    else if (sscanf(line, "generation %lld", &number) == 1)
        h->generation = (unsigned)number;
    else if (sscanf(line, "started %lld", &number) == 1)
        h->started = number;
    else if (sscanf(line, "shift %lld", &number) == 1)
        h->shift_ms = number;
}

/* The whole memfd, ended by NUL; NULL: it is not one of ours. */
static char *read_text(int fd, struct bt_arena *arena)
{
    off_t size = lseek(fd, 0, SEEK_END);

    if (size <= (off_t)strlen(FIRST_LINE) || size > (1 << 24))
        return NULL;
    char *text = bt_alloc_raw(arena, (size_t)size + 1);
    if (pread(fd, text, (size_t)size, 0) != size)
        return NULL;
    text[size] = '\0';
    return strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) == 0 ? text : NULL;
}

enum handover_found handover_read(struct handover *h, struct bt_arena *arena, bool look)
{
    const char *number = getenv(VARIABLE);
    size_t lines = 0;

    *h = (struct handover){.control = -1, .pidfile = -1, .waiting = -1};
    if (number == NULL)
        return HANDOVER_NONE;
    int fd = atoi(number);
    char *text = read_text(fd, arena);
    unsetenv(VARIABLE);
    if (text == NULL) {
        bt_log(NULL, BT_ERROR,
               VARIABLE " is set, but nothing that this version understands was handed over; "
                        "stop the server and start it again");
        return HANDOVER_BROKEN;
    }
    close(fd);
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    h->socket = bt_alloc(arena, lines * sizeof *h->socket);
    h->crew = bt_alloc(arena, lines * sizeof *h->crew);
    h->worker = bt_alloc(arena, lines * sizeof *h->worker);
    h->zone = bt_alloc(arena, lines * sizeof *h->zone);
    h->wake = bt_alloc(arena, lines * sizeof *h->wake);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        read_line(h, line);
    }
    if (!look)
        keep_all(h, false);
    return HANDOVER_FOUND;
}
