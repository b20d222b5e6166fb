/* settings.c - the rows about processes: workers, user, files, limits, diagnostics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/settings.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "bt.h"
#include "flow/flow.h"
#include "flow/logs.h"
#include "flow/marks.h"
#include "stat/segment.h"

#define CONF struct proc_conf

/* "ALL,1 28,3 acl_geoip,2 rotate=3" */
static bool debug_word(CONF *conf, const struct bt_word *word, struct bt_error *err)
{
    bt_str what, level;
    uint64_t n;

    if (str_starts(word->text, BT_STR("rotate="))) {
        if (!str_uint(str_skip(word->text, 7), 1000, &n))
            return bt_complain(err, word, "rotate= is how many old files are kept: a number");
        conf->debug_rotate = (int64_t)n;
        return true;
    }
    str_split(word->text, ',', &what, &level);
    if (!str_uint(level, 9, &n) || what.len == 0)
        bt_caution(err, word,
                   "\"%.*s\" is ignored: expected ALL,LEVEL or NAME,LEVEL with a level from 0 to 9",
                   BT_STR_ARGS(word->text));
    else if (str_eq_literal_nocase(what, "ALL"))
        conf->debug_level = (int64_t)n;
    else if (str_all(what, STR_DIGIT) && !str_eq_literal(what, "28"))
        bt_caution(err, word,
                   "section %.*s is one of Squid's and has no counterpart; only 28 (access rules) "
                   "has, and names of modules",
                   BT_STR_ARGS(what));
    return true;
}

static bool debug_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    CONF *conf = conf_;
    bool good = true;

    for (size_t i = 0; i < line->args.n; i++)
        good &= debug_word(conf, &line->args.word[i], err);
    conf->debug = line->args;
    conf->debug_given = true;
    return good;
}

static bool umask_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    CONF *conf = conf_;
    const struct bt_word *word = &line->args.word[0];
    uint64_t n;

    conf->umask = word->text;
    if (str_uint_base(word->text, 8, 0777, &n))
        return true;
    return bt_complain(err, word, "\"%.*s\" is no umask: an octal number like 027 is expected",
                       BT_STR_ARGS(word->text));
}

static const struct bt_directive directives[] = {
    {.name = "workers",
     .args = "int(0..1024)|auto",
     .preset = "auto",
     .offset = offsetof(CONF, workers),
     .doc =
         "How many processes carry traffic: a number, or auto for one a core that the server may "
         "use. Squid's default is 1; here it is auto. 0 means 1."},
    {.name = "pid_filename",
     .args = "path",
     .offset = offsetof(CONF, pid_filename),
     .doc =
         "File that holds the number of the master process, for -k; none: no such file. When the "
         "line is absent, $localstatedir/run/bobtail/bobtail.pid is used if it can be written."},
    {.name = "control_socket",
     .args = "path",
     .offset = offsetof(CONF, control_socket),
     .doc =
         "Socket that bobtailctl talks to; none: no such socket. When the line is absent and the "
         "server is started as root, $localstatedir/run/bobtail/control is used if it can be made."},
    {.name = "cache_effective_user",
     .args = "word",
     .offset = offsetof(CONF, user),
     .doc = "The user that the workers become when the server is started as root; \"proxy\" where "
            "there is one, else \"nobody\"."},
    {.name = "cache_effective_group",
     .args = "word",
     .offset = offsetof(CONF, group),
     .doc = "The one group that the workers have; when absent, the groups of their user."},
    {.name = "sandbox",
     .args = "on|off|auto",
     .preset = "auto",
     .offset = offsetof(CONF, sandbox),
     .doc =
         "Whether workers fence themselves in: files by landlock, system calls by seccomp, and no "
         "program is run, except where the configuration names helpers, which then can be run, "
         "and whose files are not fenced. A folder of logs that is made anew counts from the next reload on. auto: as far as the kernel has it, and not with -N; on: a "
         "worker does not start without it."},
    {.name = "coredump_dir",
     .args = "path",
     .offset = offsetof(CONF, coredump_dir),
     .doc = "Folder that a core of a worker goes to; none: the one the server was started in."},
    {.name = "shutdown_lifetime",
     .args = "duration",
     .unit = "second",
     .preset = "30 seconds",
     .offset = offsetof(CONF, shutdown_lifetime),
     .flags = BT_LIVE,
     .doc =
         "How long exchanges may go on when the server is told to stop; it ends as soon as there "
         "are none."},
    {.name = "cache_log",
     .args = "path",
     .offset = offsetof(CONF, cache_log),
     .doc =
         "Where diagnostics go: a file, /dev/stdout, /dev/stderr, or none. When the line is absent: "
         "standard error in the foreground, else $localstatedir/log/bobtail/cache.log."},
    {.name = "debug_options",
     .args = "word...",
     .set = debug_set,
     .doc =
         "How much is told in cache_log: ALL,LEVEL for everything (0 errors and warnings, 1 the "
         "life of the server, 2 and up all), 28,LEVEL for access rules, NAME,LEVEL for a module; "
         "rotate=N keeps N old files."},
    {.name = "max_filedescriptors",
     .args = "int(0..)",
     .preset = "0",
     .offset = offsetof(CONF, max_filedescriptors),
     .doc =
         "How many descriptors each process may have; 0: as many as the system grants, up to 65536."},
    {.name = "max_filedesc", .same_as = "max_filedescriptors"},
    {.name = "umask",
     .args = "word",
     .preset = "027",
     .set = umask_set,
     .doc = "Permissions that files made by the server do not get, in octal."},
};

static bool is_none(bt_str text)
{
    return str_eq_literal(text, "none");
}

static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    CONF *conf = conf_;
    uint64_t mask;

    /* Before anybody opens a log. */
    if (str_uint_base(conf->umask, 8, 0777, &mask))
        umask((mode_t)mask);
    if (!conf->debug_given) {
        conf->debug_level = 1;
        conf->debug_rotate = -1;
    }
    if (!privs_resolve(&conf->privs, conf->user, conf->group, arena, err))
        return false;
    conf->privs.raw = flow_spoofs() || marks_want_right();
    if (conf->privs.drop)
        logs_owner(conf->privs.uid, conf->privs.gid);
    if (conf->coredump_dir.at != NULL && !is_none(conf->coredump_dir))
        conf->privs.coredump_dir = conf->coredump_dir.at;
    return true;
}

static struct bt_self self;
const struct bt_module proc_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "proc",
    .doc = "Master and workers: who they are, where they write, how they end.",
    .self = &self,
    .conf_size = sizeof(CONF),
    .directives = BT_ROWS(directives),
    .setup = setup,
};

static enum bt_level level_of(int64_t squid)
{
    return squid <= 0 ? BT_WARN : squid == 1 ? BT_INFO : BT_DEBUG;
}

void settings_apply_debug(int level_of_options, bool loud)
{
    int64_t level = settings->debug_level;

    if (level_of_options > level)
        level = level_of_options;
    log_debug_none();
    for (size_t i = 0; i < settings->debug.n; i++) {
        bt_str what, its_level;
        uint64_t n;
        str_split(settings->debug.word[i].text, ',', &what, &its_level);
        if (!str_uint(its_level, 9, &n) || n < 2 || str_eq_literal_nocase(what, "ALL"))
            continue;
        char tag[64];
        struct str_builder name;
        str_builder_init(&name, tag, sizeof tag);
        str_add(&name, str_eq_literal(what, "28") ? BT_STR("rules") : what);
        log_debug_tag(str_built(&name).at);
    }
    log_level(loud ? BT_DEBUG : level_of(level));
}

unsigned settings_workers(void)
{
    int64_t n = settings->workers;
    cpu_set_t cores;

    if (n == SETTINGS_WORKERS_AUTO)
        n = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores)
                                                            : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > SEGMENT_WORKERS_MAX ? SEGMENT_WORKERS_MAX : (unsigned)n;
}

static const char *file_of(bt_str text, const char *otherwise, bool *given)
{
    *given = text.at != NULL;
    if (!*given)
        return otherwise;
    return is_none(text) ? NULL : text.at;
}

const char *settings_pid_file(bool *given)
{
    return file_of(settings->pid_filename, SETTINGS_PID_FILE, given);
}

const char *settings_control(bool *given)
{
    const char *usual = geteuid() == 0 ? LOCALSTATEDIR "/run/bobtail/control" : NULL;

    return file_of(settings->control_socket, usual, given);
}

int settings_log_keep(void)
{
    return settings->debug_rotate >= 0 ? (int)settings->debug_rotate : logs_keep();
}

const char *settings_cache_log(bool daemon, bool *given)
{
    *given = settings->cache_log.at != NULL;
    if (*given)
        return settings->cache_log.at;
    return daemon ? LOCALSTATEDIR "/log/bobtail/cache.log" : NULL;
}
