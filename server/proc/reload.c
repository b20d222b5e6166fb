/* reload.c - a child that tries, and an exec.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "proc"
#include "proc/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "bt.h"
#include "stat/counts.h"

static char program[4096];
static char **words; /* of the command line, and place for one more and the end */
static size_t n_words;

static struct {
    pid_t pid; /* 0: none */
    struct hub_item pipe;
    struct hub *hub;
    FILE *said;
    char *text;
    size_t len;
} trial = {.pipe = {.fd = -1}};

void reload_begin(char **argv)
{
    static const char deleted[] = " (deleted)";

    /* By its name and not by /proc/self/exe later on, since an upgrade replaces the file. */
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    char *end = strstr(program, deleted);
    if (end != NULL && end[sizeof deleted - 1] == '\0')
        *end = '\0';
    while (argv[n_words] != NULL)
        n_words++;
    words = calloc(n_words + 2, sizeof *words);
    CHECK(words != NULL);
    memcpy(words, argv, n_words * sizeof *words);
}

/* ---- how it went ---- */

struct reload_outcome reload_last;
static int64_t asked_ms;

void reload_asked(int64_t now_ms)
{
    asked_ms = now_ms;
}

void reload_promising(const char *text)
{
    reload_last.begun_ms = asked_ms;
    snprintf(reload_last.text, sizeof reload_last.text, "%s", text);
}

void reload_went(bool good, const char *text, int64_t now_ms)
{
    /* After an exec the one who asked was asked before. */
    int64_t begun = asked_ms != 0 ? asked_ms : reload_last.begun_ms;

    asked_ms = 0;
    if (text != reload_last.text)
        snprintf(reload_last.text, sizeof reload_last.text, "%s", text);
    reload_last.when = (int64_t)time(NULL);
    reload_last.begun_ms = begun;
    reload_last.good = good;
    if (good)
        count(reloads);
    else
        count(reload_failures);
    count_observe(reload_time, (now_ms - begun) * 1000);
}

static void run_program(void)
{
    execv(program, words);
    /* Moved away: the running one is still there. */
    execv("/proc/self/exe", words);
}

static void take_what_is_said(void)
{
    char buf[4096];
    ssize_t n;

    while ((n = read(trial.pipe.fd, buf, sizeof buf)) > 0)
        fwrite(buf, 1, (size_t)n, trial.said);
    if (n == 0)
        hub_remove(trial.hub, &trial.pipe);
}

static void pipe_ready(struct hub_item *item, uint32_t events)
{
    (void)item;
    (void)events;
    take_what_is_said();
}

static _Noreturn void be_the_child(int out)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(out, 1);
    dup2(out, 2);
    words[n_words] = (char *)(uintptr_t) "--check-start";
    run_program();
    fprintf(stderr, "%s: error: the program cannot be run: %s\n", program, strerror(errno));
    _exit(EXIT_FAILURE);
}

bool reload_try(struct hub *hub, const struct handover *handover)
{
    int ends[2] = {-1, -1};
    int memfd = handover_write(handover, false);

    if (memfd < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        goto failed;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        goto failed;
    if (pid == 0) {
        (void)fcntl(ends[1], F_SETFL, 0); /* it may wait for us */
        be_the_child(ends[1]);
    }
    handover_undo(handover, memfd);
    close(ends[1]);
    trial.pid = pid;
    trial.hub = hub;
    trial.said = open_memstream(&trial.text, &trial.len);
    CHECK(trial.said != NULL);
    trial.pipe = (struct hub_item){ends[0], pipe_ready};
    hub_add(hub, &trial.pipe, EPOLLIN);
    return true;
failed:
    bt_log(NULL, BT_ERROR, "reload: no child can be started: %s; give the system more room",
           strerror(errno));
    if (memfd >= 0)
        handover_undo(handover, memfd);
    if (ends[0] >= 0) {
        close(ends[0]);
        close(ends[1]);
    }
    return false;
}

static void trial_over(void)
{
    hub_remove(trial.hub, &trial.pipe);
    close(trial.pipe.fd);
    trial.pipe.fd = -1;
    trial.pid = 0;
    fclose(trial.said);
}

bool reload_ended(struct hub *hub, pid_t pid, char **text)
{
    (void)hub;
    if (pid != trial.pid || pid == 0)
        return false;
    take_what_is_said();
    trial_over();
    *text = trial.text;
    return true;
}

/* "FILE:1:2: warning: ..." or "warning: ..."; the words may stand in the text as well. */
static bool is_warning(const char *line)
{
    const char *warning = strstr(line, "warning: "), *error = strstr(line, "error: ");

    return warning != NULL && (error == NULL || warning < error);
}

void reload_log(char *text)
{
    char *rest = text;

    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0] != '\0')
            bt_log(NULL, is_warning(line) ? BT_WARN : BT_ERROR, "reload: %s", line);
}

bool reload_is_trying(void)
{
    return trial.pid != 0;
}

void reload_abandon(void)
{
    if (trial.pid == 0)
        return;
    kill(trial.pid, SIGKILL);
    waitpid(trial.pid, NULL, 0);
    trial_over();
    free(trial.text);
}

void reload_leave(void)
{
    if (trial.pipe.fd >= 0)
        close(trial.pipe.fd);
}

void reload_exec(const struct handover *handover)
{
    int memfd = handover_write(handover, true);

    if (memfd < 0) {
        bt_log(NULL, BT_ERROR, "reload: nothing can be handed over: %s; give the system more room",
               strerror(errno));
        return;
    }
    fflush(NULL);
    words[n_words] = NULL;
    run_program();
    bt_log(NULL, BT_ERROR, "reload: %s cannot be run: %s; put the program back, and reload again",
           program, strerror(errno));
    handover_undo(handover, memfd);
}
