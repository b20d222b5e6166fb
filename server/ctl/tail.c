/* tail.c - bobtailctl tail: the line of each exchange as it ends, out of the workers' ring.
 *
 * The server hands over the memory, and is not asked again: what is not wanted is dropped here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/str.h"
#include "ctl/ask.h"
#include "ctl/commands.h"
#include "ctl/watch.h"
#include "stat/ring.h"

enum { KEYS, LINE, JSON, TEXTS };                                 /* of a record, see flow/tail.h */
enum { CLIENT, USER, STATUS, METHOD, HOST, RESULT, TEXT, KINDS }; /* words of the keys, in order */
static const char *const kinds[KINDS] = {"client", "user",   "status", "method",
                                         "host",   "result", "text"};
enum { PAUSE_NS = 50 * 1000 * 1000, WANT_EVERY = 20 };

struct wanted {
    const char *of[KINDS]; /* NULL: any */
    uint64_t left;         /* lines to come; UINT64_MAX: no end */
    bool json;
};

/* ---- the words ---- */

static bool fits_status(const char *pattern)
{
    return strlen(pattern) == 3 && strspn(pattern, "0123456789xX") == 3;
}

static int read_words(struct wanted *wanted, char **word)
{
    wanted->left = UINT64_MAX;
    for (; *word != NULL; word++) {
        size_t kind = 0;
        if (strcmp(*word, "--json") == 0) {
            wanted->json = true;
            continue;
        }
        if (word[1] == NULL)
            return unable("tail: something must follow %s; try: bobtailctl help", *word);
        if (strcmp(*word, "--count") == 0) {
            if (!str_uint(str_from(*++word), INT64_MAX, &wanted->left) || wanted->left == 0)
                return unable("tail --count %s: a number of lines is expected", *word);
            continue;
        }
        while (kind < KINDS && strcmp(*word, kinds[kind]) != 0)
            kind++;
        if (kind == KINDS)
            return unable("tail: '%s' is none of client, user, status, method, host, result, text",
                          *word);
        wanted->of[kind] = *++word;
        if (kind == STATUS && !fits_status(*word))
            return unable("tail status %s: a status as 404 or 4xx is expected", *word);
    }
    return FINE;
}

/* ---- choosing ---- */

static bool is_host(bt_str host, bt_str wanted)
{
    if (!str_starts(wanted, BT_STR(".")))
        return bt_str_eq_nocase(host, wanted);
    return bt_str_eq_nocase(host, str_skip(wanted, 1)) || str_ends_nocase(host, wanted);
}

static bool is_status(bt_str status, const char *wanted)
{
    if (status.len != 3)
        return false;
    for (size_t i = 0; i < 3; i++)
        if (str_lower(wanted[i]) != 'x' && wanted[i] != status.at[i])
            return false;
    return true;
}

static bool holds(int kind, bt_str value, const char *wanted)
{
    if (wanted == NULL)
        return true;
    if (kind == STATUS)
        return is_status(value, wanted);
    if (kind == HOST)
        return is_host(value, str_from(wanted));
    return kind == METHOD || kind == RESULT ? bt_str_eq_nocase(value, str_from(wanted))
                                            : bt_str_eq(value, str_from(wanted));
}

static bool is_wanted(const struct wanted *wanted, const char *keys, const char *line)
{
    bt_str rest = str_from(keys), word;

    for (int kind = 0; kind < TEXT; kind++) {
        if (!str_word(&rest, &word))
            word = BT_STR("");
        if (!holds(kind, word, wanted->of[kind]))
            return false;
    }
    return wanted->of[TEXT] == NULL || strstr(line, wanted->of[TEXT]) != NULL;
}

/* ---- the memory ---- */

/* "ok" and a descriptor. false: a refusal, which is left to be read, or nobody there. */
static bool take_memory(int fd, int *memory)
{
    char text[16];
    struct iovec part = {text, sizeof text};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};

    if (recvmsg(fd, &message, MSG_PEEK | MSG_CMSG_CLOEXEC) <= 0)
        return false;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights == NULL || rights->cmsg_type != SCM_RIGHTS ||
        rights->cmsg_len != CMSG_LEN(sizeof *memory))
        return false;
    memcpy(memory, CMSG_DATA(rights), sizeof *memory);
    return true;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* All that has come; false: that was enough, or nobody reads it any more. */
static bool print_new(struct ring_reader *reader, struct wanted *wanted)
{
    static char texts[RING_RECORD_MAX];
    struct ring_record record;
    uint64_t missed = reader->missed;

    while (wanted->left > 0 && ring_next(reader, &record, texts)) {
        const char *text[TEXTS] = {texts, texts, texts};
        if (record.texts != TEXTS || record.len == 0 || texts[record.len - 1] != '\0')
            continue;
        for (int i = 1; i < TEXTS; i++)
            text[i] = text[i - 1] + strlen(text[i - 1]) + 1;
        if (!is_wanted(wanted, text[KEYS], text[LINE]))
            continue;
        puts(text[wanted->json ? JSON : LINE]);
        if (wanted->left != UINT64_MAX)
            wanted->left--;
    }
    if (reader->missed != missed)
        fputs("bobtailctl: lines came faster than they were read; some are missing\n", stderr);
    return fflush(stdout) == 0 && wanted->left > 0;
}

static int look(int memory, struct wanted *wanted)
{
    struct timespec pause = {0, PAUSE_NS};
    struct ring_reader reader;
    struct stat st;

    if (fstat(memory, &st) != 0)
        return unable("the memory cannot be looked at: %s", strerror(errno));
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    close(memory);
    if (at == MAP_FAILED || !ring_open(&reader, at, (size_t)st.st_size))
        return unable("the memory cannot be read: it is of another version");
    for (unsigned turn = 0;; turn++) {
        if (turn % WANT_EVERY == 0)
            ring_want(&reader, now_ms());
        if (!print_new(&reader, wanted))
            return FINE;
        nanosleep(&pause, NULL);
    }
}

int watch_tail(const char *path, char **word)
{
    char tail_word[] = "tail", *tail_words[] = {tail_word, NULL};
    struct wanted wanted = {.json = false};
    int fd = -1, memory = -1, status = read_words(&wanted, word + 1);

    if (status == FINE)
        status = ask_connect(path, &fd);
    if (status != FINE)
        return status;
    if (!ask_send(fd, tail_words)) {
        close(fd);
        return unable("the server has gone");
    }
    if (!take_memory(fd, &memory)) {
        status = ask_answer(fd, NULL, NULL);
        return status == FINE ? unable("the server handed nothing over") : status;
    }
    close(fd);
    return look(memory, &wanted);
}
