/* bobtailctl.c - the control tool: one command to a running server, its answer to standard output.
 *
 * The server does the work (proc/admin.h has the words); here is where its socket is. Beside this:
 * commands.c (the rows), ask.c (the line that is sent, and its answer), top.c, tail.c. The exit status
 * is 0 when the first line of the answer is "ok", 1 when the server says "error", 2 when there is no
 * server to ask or the command line is wrong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "conf/complain.h"
#include "conf/file.h"
#include "ctl/ask.h"
#include "ctl/commands.h"
#include "ctl/watch.h"

/* The last control_socket line of a configuration, whatever else it says; NULL: it has none. */
static const char *socket_of(const char *conf, struct bt_arena *arena, bool *readable)
{
    struct bt_error err;
    struct file file = {NULL, 0, 0};
    const char *path = NULL;

    complain_init(&err, arena);
    *readable = file_read(&file, conf, NULL, arena, &err) || file.n > 0;
    for (size_t i = 0; i < file.n; i++)
        if (str_eq_literal(file.line[i].name.text, "control_socket") && file.line[i].n > 0)
            path = file.line[i].word[0].text.at;
    complain_fini(&err);
    return path;
}

/* `ca` is another program, which lies beside this one: it needs OpenSSL, and no server. */
static int run_ca(char **word)
{
    static const char name[] = "bobtail-ca";
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof name);
    char *slash;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    strcpy(slash != NULL ? slash + 1 : path, name);
    execv(path, word);
    if (errno == ENOENT)
        return unable("%s is not there; was this built without OpenSSL?", path);
    return unable("%s: %s", path, strerror(errno));
}

/* What takes long: it is told what is waited for. */
static bool takes_long(const char *word)
{
    static const char *const words[] = {"reload", "reload-lists", "rotate", "drain", "stop", NULL};

    for (size_t i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* --json behind a command that answers with text alone, taken off: its answer is put into JSON here. */
static bool take_json(char **word)
{
    const struct command *command = commands_find(word[0]);
    size_t n = 1;

    while (word[n] != NULL)
        n++;
    if (strcmp(word[n - 1], "--json") != 0 || strstr(command->more, "--json") != NULL)
        return false;
    word[n - 1] = NULL;
    return true;
}

/* Answered here, so that a slip needs no server to be told. */
static int no_command(const char *word)
{
    const char *near = commands_near(word);

    if (near != NULL)
        return unable("no command \"%s\"; did you mean \"%s\"?", word, near);
    return unable("no command \"%s\"; there are: bobtailctl help", word);
}

static int ask(const char *path, char **word, bool progress)
{
    if (commands_find(word[0]) == NULL) {
        int its = -1;
        return ask_whether(path, word, &its) ? ask_answer(its, NULL, NULL) : no_command(word[0]);
    }
    bool json = take_json(word);
    int fd = -1;

    if (strcmp(word[0], "tail") == 0)
        return watch_tail(path, word);
    if (strcmp(word[0], "top") == 0)
        return watch_top(path, word);
    int status = ask_connect(path, &fd);
    if (status != FINE)
        return status;
    if (!ask_send(fd, word)) {
        close(fd);
        return unable("the command cannot be sent: too long, or the server has gone");
    }
    if (json)
        return ask_answer_json(fd);
    progress = takes_long(word[0]) && (progress || isatty(STDERR_FILENO));
    return ask_answer(fd, progress ? watch_waiting : NULL, (void *)(uintptr_t)path);
}

/* Needs no server. false: it is not such a command. */
static bool run_here(char **word, int *status)
{
    if (strcmp(word[0], "help") == 0)
        *status = commands_help();
    else if (strcmp(word[0], "completion") == 0)
        *status = commands_complete(word + 1);
    else if (strcmp(word[0], "manual") == 0) /* for `make` */
        *status = commands_manual();
    else if (strcmp(word[0], "ca") == 0)
        *status = run_ca(word);
    else
        return false;
    return true;
}

/* Where the server's socket is; NULL: said why not. */
static const char *find_socket(const char *conf, struct bt_arena *arena)
{
    bool readable = true;
    const char *path = socket_of(conf != NULL ? conf : SYSCONFDIR "/bobtail.conf", arena,
                                 &readable);

    if (path == NULL && conf != NULL && !readable) {
        unable("%s cannot be read", conf);
        return NULL;
    }
    return path != NULL ? path : LOCALSTATEDIR "/run/bobtail/control";
}

int main(int argc, char **argv)
{
    static const struct option words[] = {
        {"help", no_argument, NULL, 'h'}, {"progress", no_argument, NULL, 'p'}, {NULL, 0, NULL, 0}};
    const char *path = NULL, *conf = NULL;
    bool progress = false;
    int option, status;

    /* "+": what follows the command is the server's to understand. */
    while ((option = getopt_long(argc, argv, "+s:f:h", words, NULL)) != -1)
        switch (option) {
        case 's':
            path = optarg;
            break;
        case 'f':
            conf = optarg;
            break;
        case 'p':
            progress = true;
            break;
        case 'h':
            return commands_help();
        default:
            return unable("try: bobtailctl help");
        }
    char **word = argv + optind;
    if (word[0] == NULL)
        return unable("a command is missing; try: bobtailctl help");
    if (run_here(word, &status))
        return status;

    struct bt_arena *arena = arena_new(16 * 1024);
    if (path == NULL)
        path = find_socket(conf, arena);
    status = path == NULL ? UNABLE : ask(path, word, progress);
    arena_free(arena);
    return status;
}
