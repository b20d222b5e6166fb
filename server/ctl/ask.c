/* ask.c - one question to a running server, and its answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/commands.h"
#include "stat/render.h"

int unable(const char *format, ...)
{
    va_list args;

    fputs("bobtailctl: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return UNABLE;
}

/* -1: errno. */
static int open_socket(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(addr.sun_path, path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof addr) != 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

int ask_connect(const char *path, int *fd)
{
    if (strcmp(path, "none") == 0)
        return unable("the configuration has \"control_socket none\"; there is nothing to ask");
    if (strlen(path) >= sizeof(struct sockaddr_un){0}.sun_path)
        return unable("%s: the path is too long for a socket", path);
    *fd = open_socket(path);
    if (*fd >= 0)
        return FINE;
    if (errno == ENOENT || errno == ECONNREFUSED)
        return unable("no server listens on %s; is it running, and is that its control_socket? "
                      "(-s SOCKET, -f FILE)",
                      path);
    return unable("%s: %s%s", path, strerror(errno),
                  errno == EACCES || errno == EPERM ? "; ask as the user that started the server"
                                                    : "");
}

bool ask_send(int fd, char *const word[])
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

bool ask_whether(const char *path, char *const word[], int *fd)
{
    static const char no[] = "error: no command ";
    char said[sizeof no - 1] = "";

    if (strlen(path) >= sizeof(struct sockaddr_un){0}.sun_path)
        return false;
    *fd = open_socket(path);
    if (*fd < 0)
        return false;
    if (ask_send(*fd, word) && recv(*fd, said, sizeof said, MSG_PEEK | MSG_WAITALL) > 0 &&
        memcmp(said, no, sizeof said) != 0)
        return true;
    close(*fd);
    return false;
}

int ask_answer(int fd, void (*waiting)(void *arg, unsigned seconds), void *arg)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    unsigned seconds = 0;

    while (waiting != NULL && poll(&wait, 1, 1000) == 0)
        waiting(arg, ++seconds);
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
    /* The first line tells how it went; the rest is for whoever asked, and of a refusal for stderr. */
    while (getline(&line, &room, in) >= 0)
        fputs(line, out);
    free(line);
    fclose(in);
    return good ? FINE : REFUSED;
}

int ask_answer_json(int fd)
{
    char *text = NULL, *line = NULL;
    size_t len = 0, room = 0;
    FILE *in = fdopen(fd, "r"), *out = open_memstream(&text, &len);

    if (in == NULL || out == NULL || getline(&line, &room, in) < 0)
        return unable("the server closed the connection without an answer");
    bool good = strcmp(line, "ok\n") == 0;
    if (!good)
        fputs(strncmp(line, "error: ", 7) == 0 ? line + 7 : line, out);
    while (getline(&line, &room, in) >= 0)
        fputs(line, out);
    fclose(in);
    fclose(out);
    printf("{\"good\": %s, \"text\": ", good ? "true" : "false");
    render_json_text(stdout, text);
    puts("}");
    free(line);
    free(text);
    return good ? FINE : REFUSED;
}

char *ask_text(const char *path, char *const word[])
{
    char *text = NULL;
    size_t len = 0;
    int fd = open_socket(path);

    if (fd < 0)
        return NULL;
    FILE *in = fdopen(fd, "r"), *out = open_memstream(&text, &len);
    char buf[4096];
    size_t n;
    bool good = in != NULL && out != NULL && ask_send(fd, word) &&
                fgets(buf, sizeof buf, in) != NULL && strcmp(buf, "ok\n") == 0;

    while (good && (n = fread(buf, 1, sizeof buf, in)) > 0)
        fwrite(buf, 1, n, out);
    if (in != NULL)
        fclose(in);
    else
        close(fd);
    if (out != NULL)
        fclose(out);
    if (good)
        return text;
    free(text);
    return NULL;
}
