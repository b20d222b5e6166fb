/* top.c - bobtailctl top on a terminal, and what the server is at while it is waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ask.h"
#include "ctl/commands.h"
#include "ctl/watch.h"

/* The line of a status that begins so, without that; its length, or -1. */
static int line_of(const char *status, const char *name, const char **line)
{
    const char *at = status == NULL ? NULL : strstr(status, name);

    if (at == NULL || (at > status && at[-1] != '\n'))
        return -1;
    at += strlen(name);
    *line = at + strspn(at, " ");
    return (int)strcspn(*line, "\n");
}

void watch_waiting(void *path, unsigned seconds)
{
    char status_word[] = "status", *status_words[] = {status_word, NULL};
    char *status = ask_text(path, status_words);
    const char *workers = "", *clients = "";
    int n_workers = line_of(status, "workers", &workers);
    int n_clients = line_of(status, "clients", &clients);

    if (n_workers < 0 || n_clients < 0)
        fprintf(stderr, "bobtailctl: waiting (%u s)\n", seconds);
    else
        fprintf(stderr, "bobtailctl: waiting (%u s): workers: %.*s; clients: %.*s\n", seconds,
                n_workers, workers, n_clients, clients);
    free(status);
}

/* At most so many lines of it, none wider than the screen. */
static void show(const char *text, const struct winsize *size, unsigned *left)
{
    while (text != NULL && *text != '\0' && *left > 0) {
        size_t len = strcspn(text, "\n");
        printf("%.*s\n", (int)(len < size->ws_col ? len : size->ws_col), text);
        text += len + (text[len] == '\n');
        --*left;
    }
}

int watch_top(const char *path, char **word)
{
    char status_word[] = "status", *status_words[] = {status_word, NULL};
    char top_word[] = "top", *top_words[] = {top_word, NULL};
    bool once = word[1] != NULL && strcmp(word[1], "--once") == 0;
    int fd = -1, status;

    if (once || word[1] != NULL || !isatty(STDOUT_FILENO)) {
        status = ask_connect(path, &fd);
        if (status != FINE)
            return status;
        if (!ask_send(fd, once && word[2] == NULL ? top_words : word)) {
            close(fd);
            return unable("the server has gone");
        }
        return ask_answer(fd, NULL, NULL);
    }
    for (;;) {
        struct winsize size = {.ws_row = 24, .ws_col = 80};
        struct timespec second = {1, 0};
        char *head = ask_text(path, status_words), *table = ask_text(path, top_words);

        if (table == NULL) {
            free(head);
            return unable("the server does not answer any more");
        }
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        unsigned left = size.ws_row > 2 ? size.ws_row - 2u : 1, lines = 7;
        fputs("\033[H\033[2J", stdout);
        show(head, &size, &lines);
        left = left > 7 - lines ? left - (7 - lines) : 1;
        putchar('\n');
        show(table, &size, &left);
        fflush(stdout);
        free(head);
        free(table);
        nanosleep(&second, NULL);
    }
}
