/* log.h - the diagnostics log: where it goes and how much of it; bt_log.h is its public half.
 *
 * One line is one write(): lines of several processes do not mix. Control bytes are escaped, so
 * that no input can forge a line. The file is opened before rights are dropped.
 *
 *   2026/11/30 19:13:59.123 w1 #12 127.0.0.1 module| warning: text
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "bt_log.h"

/* A path, "/dev/stdout" or "/dev/stderr" (with or without "stdio:" or "daemon:"), or "none". Until
 * the first call lines go to standard error. false: errno says why, and the old place stays. */
bool log_open(const char *place) BT_MUST;
/* Open the same file anew by its path (after a rename); nothing to do for devices. false: the old
 * one stays. */
bool log_reopen(void) BT_MUST;
/* Rename FILE to FILE.0, FILE.0 to FILE.1, ... keeping `keep`; then reopen. keep 0: reopen only. */
bool log_rotate(int keep) BT_MUST;
/* Give the file to a user (the master, before it drops its rights). */
bool log_chown(unsigned uid, unsigned gid) BT_MUST;
void log_close(void);
int log_fd(void);

/* Also to standard error, while a terminal is there (start-up and `-N -d`). */
void log_also_stderr(bool on);
/* Lines up to that level are written. At first BT_INFO. */
void log_level(enum bt_level);
/* Debug lines of that tag only, beside log_level(); "" or NULL: none, "all": all. Up to 16 tags. */
void log_debug_tag(const char *tag);
void log_debug_none(void);

/* -s: every line to the system's log too, a local datagram socket, as daemon.error and so on. Opened now,
 * before rights are dropped; what it cannot take at once is lost. false: errno says why. */
BT_MUST bool log_syslog(const char *socket_path);

/* Upper floors put worker, exchange and client in front: writes text that ends in a blank ("w1 #12
 * 127.0.0.1 ") into `buf`, and returns its length. `txn` may be NULL. */
extern size_t (*log_prefix_fn)(struct bt_txn *txn, char *buf, size_t cap);
/* Called for every line written of level error or warn (counters). */
extern void (*log_on_line)(enum bt_level);
/* Called for every line that its file did not take (a full disk); how many were lost is said in the
 * first line that it takes again. */
extern void (*log_on_lost)(void);

#endif
