/* settings.h - what the configuration says about processes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_SETTINGS_H
#define PROC_SETTINGS_H

#include "proc/privs.h"

/* The rows of this floor, as a module writes them. */
extern const struct bt_module proc_module;

enum {
    SETTINGS_WORKERS_AUTO = -1,
};

struct proc_conf {
    int64_t workers;                     /* SETTINGS_WORKERS_AUTO: one a core that we may use */
    bt_str pid_filename, control_socket; /* NONE: not given; "none": there is to be none */
    bt_str cache_log, coredump_dir;
    bt_str user, group;
    int64_t sandbox; /* enum sandbox */
    bt_duration shutdown_lifetime;
    int64_t max_filedescriptors; /* 0: not given */
    bt_str umask;
    /* debug_options */
    bool debug_given;
    int64_t debug_level;  /* of ALL */
    int64_t debug_rotate; /* old cache logs kept; -1: as logfile_rotate */
    struct bt_args debug;
    /* worked out by setup */
    struct privs privs;
};

/* Stands from the loading of the file on. */
#define settings ((const struct proc_conf *)proc_module.self->conf)

/* Levels and tags of debug_options, -d and -X. `loud`: everything (-k debug). */
void settings_apply_debug(int level_of_options, bool loud);

/* How many old cache logs are kept. */
int settings_log_keep(void);

/* How many workers there are to be. */
unsigned settings_workers(void);

#define SETTINGS_PID_FILE LOCALSTATEDIR "/run/bobtail/bobtail.pid"
/* The file to use, or NULL for none; *given: it stands in the configuration, so that not having it
 * is a fault. */
const char *settings_pid_file(bool *given);
const char *settings_control(bool *given);
/* NULL: standard error. */
const char *settings_cache_log(bool daemon, bool *given);

#endif
