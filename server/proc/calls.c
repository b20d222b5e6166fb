/* calls.c - commands of bobtailctl that modules answer: from the master to a worker, and back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"
#include "bt_module.h"
#include "plug/generation.h"
#include "plug/registry.h"
#include "proc/chores.h"

enum {
    WORDS = 64,
    ANSWER_MAX = 128 * 1024 /* what a socket takes at once: nobody waits for a slow reader */
};

struct bt_call {
    int fd;
    FILE *out; /* writes to `text` */
    char *text;
    size_t len;
    bt_str word[WORDS];
    char line[CALLS_TEXT];
};

static const struct bt_command *find(bt_str name)
{
    const struct bt_module *const *module;
    size_t n = registry_modules(generation_current->registry, &module);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < module[i]->commands.n; k++)
            if (bt_str_eq(name, str_from(module[i]->commands.row[k].name)))
                return &module[i]->commands.row[k];
    return NULL;
}

bool calls_known(bt_str name)
{
    return generation_current != NULL && find(name) != NULL;
}

/* ---- the line ---- */

static bool send_parts(int socket, struct iovec *part, size_t n, int fd)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof fd)];
    } control = {0};
    struct msghdr message = {.msg_iov = part,
                             .msg_iovlen = n,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

bool calls_pass(int socket, bt_str text, int fd)
{
    struct iovec part = {(void *)(uintptr_t)text.at, text.len};

    return send_parts(socket, &part, 1, fd);
}

bool calls_send(int line, struct worker_word word, int fd, bt_str text)
{
    struct iovec part[] = {{&word, sizeof word}, {(void *)(uintptr_t)text.at, text.len}};

    return send_parts(line, part, 2, fd);
}

static int descriptor_of(struct msghdr *message)
{
    struct cmsghdr *rights = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (rights != NULL && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    return fd;
}

ssize_t calls_hear(int line, struct worker_word *word)
{
    char text[CALLS_TEXT];
    struct iovec part[] = {{word, sizeof *word}, {text, sizeof text}};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = part,
                             .msg_iovlen = 2,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    ssize_t n = recvmsg(line, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int fd = n > 0 ? descriptor_of(&message) : -1;

    if (n < (ssize_t)sizeof *word)
        return n;
    if (word->what == WORKER_CALL && fd >= 0)
        calls_run(fd, (bt_str){text, (size_t)n - sizeof *word});
    else if (word->what == WORKER_CHORE && fd >= 0)
        chores_run(fd, (bt_str){text, (size_t)n - sizeof *word});
    return (ssize_t)sizeof *word;
}

/* ---- answering ---- */

static struct bt_call *call_new(int fd)
{
    struct bt_call *call = calloc(1, sizeof *call);

    CHECK(call != NULL);
    call->fd = fd;
    call->out = open_memstream(&call->text, &call->len);
    CHECK(call->out != NULL);
    return call;
}

void calls_run(int fd, bt_str text)
{
    struct bt_call *call = call_new(fd);
    const struct bt_command *command;
    bt_str rest;
    size_t n = 0;

    if (text.len > sizeof call->line - 1)
        text.len = sizeof call->line - 1;
    memcpy(call->line, text.at, text.len);
    rest = (bt_str){call->line, text.len};
    while (n < WORDS && str_word(&rest, &call->word[n]))
        n++;
    for (size_t i = 0; i < n; i++)
        call->line[(size_t)(call->word[i].at - call->line) + call->word[i].len] = '\0';
    command = n > 0 ? find(call->word[0]) : NULL;
    if (command == NULL)
        bt_call_done(call, "the worker does not know that command");
    else
        command->run(call, call->word + 1, n - 1);
}

void bt_call_print(struct bt_call *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (ftell(call->out) < ANSWER_MAX)
        vfprintf(call->out, format, args);
    va_end(args);
}

static void send_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

void bt_call_done(struct bt_call *call, const char *why)
{
    char first[256];
    int n = why == NULL ? snprintf(first, sizeof first, "ok\n")
                        : snprintf(first, sizeof first, "error: %.200s\n", why);

    fclose(call->out);
    send_all(call->fd, first, (size_t)n);
    send_all(call->fd, call->text, call->len);
    close(call->fd);
    free(call->text);
    free(call);
}
