/* bobtailctl.c - the control tool: one command to a running server, its answer to standard output.
 *
 * The server does the work (proc/admin.h has the words); here are only the socket's place, the line
 * that is sent, and the exit status: 0 when the first line of the answer is "ok", 1 when the server
 * says "error", 2 when there is no server to ask or the command line is wrong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/suggest.h"
#include "conf/complain.h"
#include "conf/file.h"

enum { FINE = 0, REFUSED = 1, UNABLE = 2 };

static const struct {
    const char *word, *more, *doc;
} commands[] = {
    {"stats", "[--json|--openmetrics] [--kind gauge|count|histogram] [PATTERN]",
     "counters; PATTERN is a part of a name, or a glob"},
    {"workers", "[--json]", "the processes that serve, and what each does"},
    {"rules", "[--json]", "every access rule, and how often it decided since it was read"},
    {"explain", "METHOD URL [from ADDR] [user NAME] [header NAME: VALUE]...",
     "walk http_access in words for a request that nobody sends"},
    {"cache", "[URL]", "what the cache holds; or what it knows of a URL, and until when"},
    {"purge", "URL|prefix URL|regex PATTERN", "drop what the cache holds of it"},
    {"reload", "", "read the configuration again; returns when it serves, or was refused"},
    {"reload-lists", "",
     "read the list files of ACLs again; status 1 when a file or a line could not be read"},
    {"rotate", "", "rotate the logs"},
    {"ca", "init|show|export [FILE]",
     "the authority of ssl-bump: make one, look at it, give its certificate to clients; \"ca help\" "
     "tells more. Needs no server"},
    {"stop", "", "end when clients are done; returns when it has ended"},
    {"idle", "close", "close connections to origins that wait for a request"},
    {"clock", "+SECONDS", "move the clock of a server that was started with --test"},
    {"segment", "", "where the counters can be mapped by other programs"},
    {"version", "", "version of the running server"},
    {"help", "", "this text"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static int unable(const char *format, ...) BT_PRINTF(1, 2);
static int unable(const char *format, ...)
{
    va_list args;

    fputs("bobtailctl: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return UNABLE;
}

static int help(void)
{
    puts("Usage: bobtailctl [-s SOCKET | -f FILE] COMMAND\n\n"
         "  -s SOCKET  the server's control_socket\n"
         "  -f FILE    its configuration, which says where that is\n"
         "Without either: " SYSCONFDIR "/bobtail.conf, if it names one, else " LOCALSTATEDIR
         "/run/bobtail/control.\n");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %s%s%s\n", commands[i].word, commands[i].more[0] != '\0' ? " " : "",
               commands[i].more);
        printf("             %s\n", commands[i].doc);
    }
    return FINE;
}

/* Answered here, so that a slip needs no server to be told. */
static bool is_command(const char *word)
{
    struct suggest near;

    suggest_init(&near, str_from(word));
    for (size_t i = 0; i < COMMANDS; i++) {
        suggest_try(&near, commands[i].word);
        if (strcmp(commands[i].word, word) == 0)
            return true;
    }
    if (near.best != NULL)
        unable("no command \"%s\"; did you mean \"%s\"?", word, near.best);
    else
        unable("no command \"%s\"; there are: bobtailctl help", word);
    return false;
}

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

/* 0 and a connection, else the exit status. */
static int open_socket(const char *path, int *out)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    if (strcmp(path, "none") == 0)
        return unable("the configuration has \"control_socket none\"; there is nothing to ask");
    if (strlen(path) >= sizeof addr.sun_path)
        return unable("%s: the path is too long for a socket", path);
    strcpy(addr.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return unable("no socket can be made: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)&addr, sizeof addr) == 0) {
        *out = fd;
        return 0;
    }
    int why = errno;
    close(fd);
    if (why == ENOENT || why == ECONNREFUSED)
        return unable("no server listens on %s; is it running, and is that its control_socket? "
                      "(-s SOCKET, -f FILE)",
                      path);
    return unable("%s: %s%s", path, strerror(why),
                  why == EACCES || why == EPERM ? "; ask as the user that started the server" : "");
}

static bool send_words(int fd, char **word)
{
    char line[4096] = "";
    size_t len = 0;

    for (; *word != NULL; word++) {
        int n = snprintf(line + len, sizeof line - len, "%s%s", len > 0 ? " " : "", *word);
        if (n < 0 || (size_t)n >= sizeof line - len - 1)
            return false;
        len += (size_t)n;
    }
    line[len++] = '\n';
    return send(fd, line, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* The first line tells how it went; the rest is for whoever asked, and of a refusal for stderr. */
static int show_answer(int fd)
{
    FILE *in = fdopen(fd, "r");
    char *line = NULL;
    size_t room = 0;

    if (in == NULL)
        return unable("no memory");
    if (getline(&line, &room, in) < 0) {
        fclose(in);
        free(line);
        return unable("the server closed the connection without an answer");
    }
    bool good = strcmp(line, "ok\n") == 0;
    FILE *out = good ? stdout : stderr;
    if (!good)
        fprintf(stderr, "bobtailctl: %s", strncmp(line, "error: ", 7) == 0 ? line + 7 : line);
    while (getline(&line, &room, in) >= 0)
        fputs(line, out);
    free(line);
    fclose(in);
    return good ? FINE : REFUSED;
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

int main(int argc, char **argv)
{
    static const struct option words[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    const char *path = NULL, *conf = NULL;
    int option, fd = -1, status;
    bool readable = true;

    /* "+": what follows the command is the server's to understand. */
    while ((option = getopt_long(argc, argv, "+s:f:h", words, NULL)) != -1)
        switch (option) {
        case 's':
            path = optarg;
            break;
        case 'f':
            conf = optarg;
            break;
        case 'h':
            return help();
        default:
            return unable("try: bobtailctl help");
        }
    if (argv[optind] == NULL)
        return unable("a command is missing; try: bobtailctl help");
    if (!is_command(argv[optind]))
        return UNABLE;
    if (strcmp(argv[optind], "help") == 0)
        return help();
    if (strcmp(argv[optind], "ca") == 0)
        return run_ca(argv + optind);

    struct bt_arena *arena = arena_new(16 * 1024);
    if (path == NULL)
        path = socket_of(conf != NULL ? conf : SYSCONFDIR "/bobtail.conf", arena, &readable);
    if (path == NULL && conf != NULL && !readable)
        status = unable("%s cannot be read", conf);
    else
        status = open_socket(path != NULL ? path : LOCALSTATEDIR "/run/bobtail/control", &fd);
    if (status == 0) {
        if (send_words(fd, argv + optind)) {
            status = show_answer(fd);
        } else {
            status = unable("the command cannot be sent: too long, or the server has gone");
            close(fd);
        }
    }
    arena_free(arena);
    return status;
}
