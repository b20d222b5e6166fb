/* start.c - from a command line to a server that could serve.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/start.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "bt.h"
#include "flow/fields.h"
#include "flow/flow.h"
#include "flow/header_rules.h"
#include "flow/logs.h"
#include "flow/marks.h"
#include "flow/notes.h"
#include "flow/pages.h"
#include "flow/tail.h"
#include "plug/acl.h"
#include "proc/daemon.h"
#include "proc/settings.h"
#include "proc/version.h"
#include "stat/counter.h"
#include "stat/member.h"
#include "stat/zone.h"

/* In order of their setups: ours first, since umask stands before a log is opened. */
const struct bt_module *const start_modules[] = {
    &proc_module,  &flow_module, &fields_module, &logs_module,         &pages_module, &acl_module,
    &notes_module, &plug_module, &known_module,  &header_rules_module, &marks_module};
const size_t start_n_modules = sizeof start_modules / sizeof *start_modules;

void start_init(struct start *start, const struct options *options)
{
    *start = (struct start){.options = options,
                            .arena = arena_new(64 * 1024),
                            .left = {.control = -1, .pidfile = -1, .waiting = -1},
                            .segment = {.fd = -1},
                            .pidfile = {.fd = -1}};
    complain_init(&start->err, start->arena);
    generation_service = options->service;
}

/* ---- the configuration ---- */

/* -a PORT adds a line: the file is read by way of one that includes it and has that line. */
static const char *with_ports(struct start *start)
{
    const struct options *o = start->options;
    char absolute[4096];
    int fd = memfd_create("command line", MFD_CLOEXEC);

    if (fd < 0 || realpath(o->conf, absolute) == NULL)
        return o->conf;
    dprintf(fd, "include %s\n", absolute);
    for (size_t i = 0; i < o->n_ports; i++)
        dprintf(fd, "http_port %d\n", o->port[i]);
    return bt_str_printf(start->arena, "/proc/self/fd/%d", fd).at;
}

static bool missing_default(struct start *start)
{
    static const char squids[] = "/etc/squid/squid.conf";
    const char *conf = start->options->conf;
    bool there = access(squids, R_OK) == 0;

    return bt_complain(&start->err, NULL, "%s: %s; name a configuration with -f FILE%s%s%s", conf,
                       strerror(errno), there ? " (this machine's Squid has one: -f " : "",
                       there ? squids : "", there ? ")" : "");
}

bool start_load(struct start *start)
{
    const struct options *o = start->options;

    if (!o->conf_given && access(o->conf, R_OK) != 0)
        return missing_default(start);
    start->generation = generation_load(o->n_ports > 0 ? with_ports(start) : o->conf, start_modules,
                                        start_n_modules, &start->err);
    if (start->generation == NULL)
        return false;
    start->workers = o->alone ? 1 : settings_workers();
    /* Those of two generations have numbers at a time. */
    if (start->workers > BT_MEMBERS_MAX / 2) {
        bt_caution(&start->err, NULL, "%u workers are more than there can be; there will be %d",
                   start->workers, BT_MEMBERS_MAX / 2);
        start->workers = BT_MEMBERS_MAX / 2;
    }
    return true;
}

/* ---- what others may have, or not grant ---- */

/* Said before the ports are tried, so that a second start does not blame them. */
static bool is_only_one(struct start *start)
{
    bool given;
    pid_t pid;
    const char *path = settings_pid_file(&given);

    if (path == NULL || pidfile_look(path, &pid) != PIDFILE_LIVE)
        return true;
    return bt_complain(&start->err, NULL,
                       "a server is running already: %s names process %ld; stop it, or give this "
                       "one another pid_filename",
                       path, (long)pid);
}

static bool ready_fd_is_open(struct start *start)
{
    int fd = start->options->ready_fd;

    /* After a reload the number may be anything: it was closed when the server was ready. */
    if (fd < 0 || start->resumed || fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
        return true;
    return bt_complain(&start->err, NULL, "--ready-fd %d: no such descriptor is open", fd);
}

static bool open_log(struct start *start)
{
    bool given;
    const char *path = settings_cache_log(!start->options->alone && !start->options->foreground,
                                          &given);

    if (start->options->syslog && !log_syslog("/dev/log"))
        bt_caution(&start->err, NULL, "-s: /dev/log: %s; is a system log running?",
                   strerror(errno));
    if (path == NULL)
        log_close(); /* an earlier image's */
    if (path == NULL || log_open(path)) {
        start->log_path = path;
        if (settings->privs.drop && !log_chown(settings->privs.uid, settings->privs.gid))
            bt_log(NULL, BT_WARN, "cache_log %s cannot be given to user %s: %s", path,
                   settings->privs.user, strerror(errno));
        return true;
    }
    const char *why = strerror(errno);
    if (given)
        return bt_complain(&start->err, NULL,
                           "cache_log %s cannot be opened: %s; make its folder writable, or name "
                           "another file, /dev/stderr or none",
                           path, why);
    bt_caution(&start->err, NULL,
               "%s cannot be opened: %s; diagnostics go to standard error; name another place with "
               "cache_log",
               path, why);
    return true;
}

bool start_bind(struct start *start)
{
    if (!ready_fd_is_open(start))
        return false;
    /* First, since its ports would be blamed otherwise, and since its log is not ours to write to. */
    if (!start->resumed && !is_only_one(start))
        return false;
    privs_descriptors(settings->max_filedescriptors);
    if (!start->resumed)
        sockets_activated(&start->left, start->arena);
    bool good = sockets_open(&start->sockets, &start->left, start->workers, start->arena,
                             &start->err);
    settings_apply_debug(start->options->debug, false);
    log_also_stderr(start->options->debug >= 0);
    return open_log(start) && good;
}

/* Could a file be made there? Only looked at, since it belongs to a server that is not there yet. */
static bool try_place(struct start *start, const char *name, const char *path, bool given)
{
    char folder[4096];

    if (path == NULL || !given || strlen(path) >= sizeof folder)
        return true;
    strcpy(folder, path);
    return access(dirname(folder), W_OK | X_OK) == 0 ||
           bt_complain(&start->err, NULL,
                       "%s %s cannot be made: %s; make its folder writable, or name another file, "
                       "or none",
                       name, path, strerror(errno));
}

static bool try_files(struct start *start)
{
    bool pid_given, control_given;
    const char *pid = settings_pid_file(&pid_given);
    const char *control = settings_control(&control_given);

    bool good = try_place(start, "pid_filename", pid, pid_given);

    return try_place(start, "control_socket", control, control_given) && good;
}

bool start_try(struct start *start)
{
    /* The log last, and only if all else is fine: a try leaves no file behind. */
    if (!start_load(start))
        return false;
    bool good = sockets_try(&start->left, start->arena, &start->err);
    good &= try_files(start);
    return good && open_log(start);
}

/* ---- telling ---- */

void start_tell(struct start *start)
{
    struct bt_error *err = &start->err;

    complain_print(err, stderr, true);
    fflush(stderr);
    for (size_t i = 0; log_fd() > 2 && i < err->n; i++) {
        const struct complaint *c = &err->list[i];
        if (c->file != NULL)
            bt_log(NULL, c->fault ? BT_ERROR : BT_WARN, "%s:%u:%u: %s", c->file, c->line, c->column,
                   c->text);
        else
            bt_log(NULL, c->fault ? BT_ERROR : BT_WARN, "%s", c->text);
    }
    /* What comes later is told by itself. */
    complain_fini(err);
    complain_init(err, start->arena);
}

/* ---- files of a running server ---- */

static bool take_pidfile(struct start *start)
{
    bool given;
    pid_t holder = 0;
    const char *path = settings_pid_file(&given);

    if (start->left.pidfile >= 0 && path != NULL && strcmp(path, start->left.pidfile_path) == 0) {
        start->pidfile.fd = start->left.pidfile;
        strcpy(start->pidfile.path, path);
        return true;
    }
    if (start->left.pidfile >= 0) {
        struct pidfile old = {.fd = start->left.pidfile};
        strcpy(old.path, start->left.pidfile_path);
        pidfile_release(&old);
    }
    if (path == NULL)
        return true;
    if (!given && geteuid() == 0) { /* nobody else makes them below a prefix */
        (void)mkdir(LOCALSTATEDIR "/run", 0755);
        (void)mkdir(LOCALSTATEDIR "/run/bobtail", 0755);
    }
    switch (pidfile_take(&start->pidfile, path, &holder)) {
    case PIDFILE_FINE:
        return true;
    case PIDFILE_TAKEN:
        return bt_complain(&start->err, NULL,
                           "a server is running already: %s names process %ld; stop it, or give "
                           "this one another pid_filename",
                           path, (long)holder);
    case PIDFILE_FAILED:
        break;
    }
    const char *why = strerror(errno);
    if (given)
        return bt_complain(&start->err, NULL,
                           "pid_filename %s cannot be written: %s; make its folder writable, or "
                           "name another file, or none",
                           path, why);
    bt_log(NULL, BT_INFO,
           "no pid file: %s cannot be written: %s; -k will not find this server; name another "
           "place with pid_filename",
           path, why);
    return true;
}

static bool open_control(struct start *start, const struct admin_owner *owner)
{
    bool given;
    struct admin_why why;
    const char *path = settings_control(&given);

    if (start->left.control >= 0 && path != NULL && strcmp(path, start->left.control_path) == 0)
        return admin_adopt(&start->admin, path, start->left.control, owner) ||
               bt_complain(&start->err, NULL, "control socket %s was lost: %s", path,
                           strerror(errno));
    if (start->left.control >= 0) {
        close(start->left.control);
        unlink(start->left.control_path);
    }
    if (path == NULL || admin_open(&start->admin, path, !given, owner, &why))
        return true;
    if (given)
        return bt_complain(&start->err, NULL, "%s", why.text);
    bt_log(NULL, BT_WARN, "%s; bobtailctl will not find this server", why.text);
    return true;
}

/* Places for two generations of workers, and for two more that died and are not buried yet. The one
 * process of -N hands nothing over. */
static bool make_members(struct start *start)
{
    bool alone = start->options->alone;

    if (!member_make(alone ? 1 : 2 * start->workers + 2, &start->err))
        return false;
    zone_settle();
    if (!alone)
        return true;
    tail_keep();
    zone_leave();
    return true;
}

static bool make_segment(struct start *start)
{
    if (!flow_share(start->workers))
        return bt_complain(
            &start->err, NULL,
            "no shared memory for client_ip_max_connections: %s; give the system more "
            "room",
            strerror(errno));
    if (!counter_make(&start->segment, start->workers))
        return bt_complain(&start->err, NULL,
                           "no shared memory for the counters: %s; give the system more room",
                           strerror(errno));
    struct segment_head *head = start->segment.head;
    if (start->resumed) {
        head->generation = start->left.generation + 1;
        head->started = start->left.started;
        head->clock_shift_ms = start->left.shift_ms;
    }
    return true;
}

bool start_files(struct start *start, const struct admin_owner *owner)
{
    bool good = make_segment(start);

    good &= make_members(start);
    good &= take_pidfile(start);
    if (good)
        good = open_control(start, owner);
    if (!good && !start->resumed)
        start_undo(start);
    start_tell(start);
    return good;
}

void start_undo(struct start *start)
{
    admin_close(&start->admin);
    pidfile_release(&start->pidfile);
}

void start_free(struct start *start)
{
    complain_fini(&start->err);
    if (start->generation != NULL)
        generation_free(start->generation);
    else
        arena_free(start->arena);
    arena_trim();
}

void start_ready(struct start *start)
{
    const struct flow_port *ports;
    size_t n = flow_ports(&ports);
    int fd = start->options->ready_fd;

    for (size_t i = 0; i < n; i++) {
        char addr[SOCKETS_TEXT];
        sockets_print(&start->sockets.port[i].where, addr);
        bt_log(NULL, BT_INFO, "accepting on %s (%.*s)", addr, BT_STR_ARGS(ports[i].name));
        if (fd >= 0)
            dprintf(fd, "port %.*s %s\n", BT_STR_ARGS(ports[i].name), addr);
    }
    if (fd >= 0) {
        if (start->admin.path[0] != '\0')
            dprintf(fd, "control %s\n", start->admin.path);
        dprintf(fd, "ready\n");
        close(fd);
    }
    daemon_done();
}
