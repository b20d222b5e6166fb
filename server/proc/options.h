/* options.h - the command line: Squid's, and what is ours.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_OPTIONS_H
#define PROC_OPTIONS_H

#include "bt_types.h"
#include "plug/reference.h"

enum options_task {
    TASK_RUN,
    TASK_PARSE,      /* -k parse */
    TASK_SIGNAL,     /* -k anything else */
    TASK_CACHE_DIRS, /* -z */
    TASK_VERSION,    /* -v */
    TASK_HELP,
    TASK_MODULES,
    TASK_EXPLAIN,
    TASK_REFERENCE,
    TASK_MAKE_INDEX,
    TASK_LUA_CHECK,
    TASK_LUA_TEST,
    TASK_MANUAL
};

enum { OPTIONS_PORTS = 16 };

struct options {
    enum options_task task;
    const char *conf; /* the file as given, or the default */
    bool conf_given;
    bool alone;      /* -N: one process */
    bool foreground; /* --foreground: do not become a daemon */
    bool test;       /* --test: tests may move the clock */
    bool check;      /* a master's child: say whether the file could be started (reload.h) */
    bool syslog;     /* -s */
    int debug;       /* -d LEVEL, -X; -1: not given */
    int ready_fd;    /* --ready-fd N; -1: none */
    int port[OPTIONS_PORTS]; /* -a PORT */
    size_t n_ports;
    const char *service; /* -n NAME */
    const char *word;    /* of --explain, --reference, --make-index, --lua-...; of -k */
    int signal;          /* -k */
    struct reference_form form;
    char **argv;
};

/* false: it is no command line that we know; said on standard error, with advice. */
BT_MUST bool options_read(struct options *, int argc, char **argv);
/* --help */
void options_help(void);

/* An option as people see it. */
struct options_row {
    char letter;       /* 0: none */
    const char *name;  /* without "--"; NULL: none */
    const char *value; /* what its value is called; NULL: it has none */
    const char *doc;   /* NULL: accepted, not shown */
};
void options_each(void (*each)(const struct options_row *));
/* The words of -k. */
void options_each_command(void (*each)(const char *word, const char *doc));

#endif
