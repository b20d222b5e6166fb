/* policy.c - a script of module lua is checked, or tested, without a configuration.
 *
 * A configuration is made up around it, with the script's folder and the one above for lua_path. For
 * tests a server of one process is started by it, on a port that nobody knows, and the module is asked to run them, as by
 * bobtailctl; when it has answered the server ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/policy.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "bt_log.h"
#include "net/loop.h"
#include "proc/alone.h"
#include "proc/calls.h"
#include "proc/start.h"

static struct options own;
static bool good;

/* NULL: said why. */
static const char *configuration(const struct options *o)
{
    static char name[40];
    char script[PATH_MAX], folder[PATH_MAX];
    int fd = memfd_create("policy", MFD_CLOEXEC);

    if (realpath(o->word, script) == NULL || fd < 0) {
        fprintf(stderr, "bobtail: %s: %s\n", o->word, strerror(errno));
        return NULL;
    }
    if (strpbrk(script, " \t\"'#\\") != NULL) {
        fprintf(stderr, "bobtail: %s: there are blanks or quotes in its path\n", script);
        return NULL;
    }
    strcpy(folder, script);
    dprintf(fd,
            "http_port 127.0.0.1:0\npid_filename none\ncontrol_socket none\naccess_log none\n"
            "cache_log none\ncoredump_dir none\ncache_mem 0\nhttp_access allow all\n"
            "lua_path %s:%s/..\nlua_script %s\n",
            dirname(folder), folder, script);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return name;
}

int policy_check(const struct options *o)
{
    static struct start start;

    own = *o;
    own.conf = configuration(o);
    own.conf_given = true;
    if (own.conf == NULL)
        return EXIT_FAILURE;
    start_init(&start, &own);
    good = start_load(&start);
    complain_print(&start.err, stderr, false);
    complain_fini(&start.err);
    if (good)
        printf("%s: fine\n", o->word);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- tests ---- */

/* The answer of the module: a line "ok" or "error: why", then text. */
static void answer_ready(struct watch *watch, unsigned what)
{
    static struct str_builder text;
    char piece[4096];
    ssize_t n = read(watch->fd, piece, sizeof piece);

    (void)what;
    if (text.arena == NULL)
        str_builder_arena(&text, arena_new(64 * 1024), 4096);
    if (n > 0) {
        str_add(&text, (bt_str){piece, (size_t)n});
        return;
    }
    bt_str all = str_built(&text), first;
    str_split(all, '\n', &first, &all);
    good = str_eq_literal(first, "ok");
    fwrite(all.at, 1, all.len, stdout);
    if (!good)
        fprintf(stderr, "bobtail: %.*s\n", BT_STR_ARGS(str_skip(first, sizeof "error: " - 1)));
    loop_unwatch(watch);
    close(watch->fd);
    alone_stop();
}

static void ask(void)
{
    static struct watch watch;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fprintf(stderr, "bobtail: %s\n", strerror(errno));
        alone_stop();
        return;
    }
    loop_watch(&watch, pair[0], WATCH_READ, answer_ready, NULL);
    calls_run(pair[1], BT_STR("test-lua"));
}

int policy_test(const struct options *o)
{
    own = *o;
    own.conf = configuration(o);
    own.conf_given = own.test = own.alone = true;
    if (own.conf == NULL)
        return EXIT_FAILURE;
    alone_started = ask;
    bool passed = alone_run(&own) == EXIT_SUCCESS && good;
    fflush(NULL);
    _exit(passed ? EXIT_SUCCESS : EXIT_FAILURE); /* what the scripts made goes with the process */
}
