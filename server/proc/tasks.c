/* tasks.c - what the program does when it is not to serve.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/tasks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "conf/file.h"
#include "plug/index.h"
#include "plug/load.h"
#include "plug/rules.h"
#include "proc/manpage.h"
#include "proc/policy.h"
#include "proc/settings.h"
#include "proc/start.h"
#include "proc/version.h"

/* Of the one task that a process has. */
static struct start start;

/* ---- -k parse, and the child of a reload ---- */

static int parse(const struct options *o)
{
    start_init(&start, o);
    rules_lint_wanted = true;
    bool good = start_load(&start);
    complain_print(&start.err, stderr, true);
    complain_fini(&start.err);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int tasks_check_start(const struct options *o)
{
    start_init(&start, o);
    bool good = handover_read(&start.left, start.arena, true) != HANDOVER_BROKEN &&
                start_try(&start);
    complain_print(&start.err, stderr, false);
    complain_fini(&start.err);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- -k COMMAND ---- */

/* pid_filename as the file says it. The file may be full of faults: a server that runs by what it
 * was must be stopped all the same. NULL: it says none. */
static const char *pid_file_of(void)
{
    struct file file = {NULL, 0, 0};
    const char *path = SETTINGS_PID_FILE;

    struct file_macros macros = {start.options->service, "bobtail", 1};

    (void)!file_read(&file, start.options->conf, &macros, start.arena, &start.err);
    for (size_t i = 0; i < file.n; i++)
        if (str_eq_literal(file.line[i].name.text, "pid_filename") && file.line[i].n > 0)
            path = file.line[i].word[0].text.at;
    return strcmp(path, "none") == 0 ? NULL : path;
}

static int no_server(const char *format, const char *path, const char *detail)
{
    fputs("bobtail: no running server: ", stderr);
    fprintf(stderr, format, path, detail);
    fputc('\n', stderr);
    return EXIT_FAILURE;
}

/* The server reads the file itself, and says in its log what it thinks; nobody looks there who is
 * told that all is well. */
static int judge_reload(const struct options *o)
{
    complain_fini(&start.err);
    arena_free(start.arena);
    start_init(&start, o);
    bool good = start_load(&start);
    if (!good) {
        complain_print(&start.err, stderr, true);
        fprintf(stderr, "bobtail: the server is told to read %s, and will go on with the old one\n",
                o->conf);
    }
    complain_fini(&start.err);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int send_signal(const struct options *o)
{
    pid_t pid;

    start_init(&start, o);
    const char *path = pid_file_of();
    if (complain_any(&start.err) && start.err.n > 0 && start.err.list[0].line == 0) {
        complain_print(&start.err, stderr, false); /* the file itself cannot be read */
        return EXIT_FAILURE;
    }
    if (path == NULL) {
        fprintf(stderr,
                "bobtail: %s has \"pid_filename none\", so -k %s cannot find the server; send the "
                "signal yourself, or use bobtailctl\n",
                o->conf, o->word);
        return EXIT_FAILURE;
    }
    switch (pidfile_look(path, &pid)) {
    case PIDFILE_MISSING:
        return no_server("there is no pid file %s (pid_filename)%s", path, "");
    case PIDFILE_UNREADABLE:
        return no_server("%s cannot be read: %s", path, strerror(errno));
    case PIDFILE_STALE:
        return no_server("%s was left behind by one that ended without removing it%s", path,
                         "; the next start replaces it");
    case PIDFILE_LIVE:
        break;
    }
    if (kill(pid, o->signal) == 0)
        return o->signal == SIGHUP ? judge_reload(o) : EXIT_SUCCESS;
    fprintf(stderr, "bobtail: process %ld, named by %s, cannot be signalled: %s%s\n", (long)pid,
            path, strerror(errno), errno == EPERM ? "; do it as the user that started it" : "");
    return EXIT_FAILURE;
}

/* ---- the manual ---- */

static int manual(const struct options *o)
{
    bool good = true;

    start_init(&start, o);
    struct generation *all = generation_load_all(start_modules, start_n_modules, &start.err);
    complain_print(&start.err, stderr, false);
    if (complain_any(&start.err) || all == NULL)
        return EXIT_FAILURE;
    if (o->task == TASK_MODULES)
        reference_modules(all, &o->form, stdout);
    else if (o->task == TASK_MANUAL)
        good = manpage_print(all, o->word, stdout);
    else if (o->task == TASK_EXPLAIN)
        good = reference_explain(all, o->word, stdout);
    else
        good = reference_print(all, o->word, &o->form, stdout);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --modules tells of a configuration, when there is one: why each is loaded, or not. */
static int modules(const struct options *o)
{
    if (!o->conf_given)
        return manual(o);
    start_init(&start, o);
    struct generation *found = generation_look(o->conf, start_modules, start_n_modules, &start.err);
    complain_print(&start.err, stderr, true);
    reference_modules(found, &o->form, stdout);
    return complain_any(&start.err) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int version(void)
{
    struct bt_arena *arena = arena_new(4096);
    const char *const *names;

    version_print(stdout);
    printf("modules found in %s:", load_folder());
    size_t n = load_list(load_folder(), arena, &names);
    for (size_t i = 0; i < n; i++)
        printf(" %s", names[i]);
    puts(n == 0 ? " none" : "");
    arena_free(arena);
    return EXIT_SUCCESS;
}

static int cache_dirs(const struct options *o)
{
    int status = parse(o);

    if (status == EXIT_SUCCESS)
        puts("bobtail: this version has no cache on disk, so there are no folders to make");
    return status;
}

int tasks_run(const struct options *o)
{
    switch (o->task) {
    case TASK_PARSE:
        return parse(o);
    case TASK_SIGNAL:
        return send_signal(o);
    case TASK_CACHE_DIRS:
        return cache_dirs(o);
    case TASK_VERSION:
        return version();
    case TASK_HELP:
        options_help();
        return EXIT_SUCCESS;
    case TASK_MODULES:
        return modules(o);
    case TASK_EXPLAIN:
    case TASK_REFERENCE:
    case TASK_MANUAL:
        return manual(o);
    case TASK_MAKE_INDEX:
        return index_print(o->word, stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
    case TASK_LUA_CHECK:
        return policy_check(o);
    case TASK_LUA_TEST:
        return policy_test(o);
    case TASK_RUN:
        break;
    }
    return EXIT_FAILURE;
}
