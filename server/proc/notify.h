/* notify.h - tells systemd (or whoever made $NOTIFY_SOCKET) how the server is: sd_notify(3).
 *
 * One datagram a message, without libsystemd. Without that variable nothing is done.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_NOTIFY_H
#define PROC_NOTIFY_H

#include "bt_types.h"

/* The master, at start: whom to tell, and how often it wants to hear that we live. */
void notify_begin(void);
/* Serving, `text` for people. Also the end of a reload, however it went. */
void notify_ready(const char *text);
void notify_reloading(void);
void notify_stopping(void);
/* How often notify_alive() is to be called, in milliseconds; -1: never. */
int64_t notify_every_ms(void);
/* When notify_alive() is due by crew_now_ms(); INT64_MAX: never. */
int64_t notify_due_ms(void);
void notify_alive(int64_t now_ms);
/* In a child: its programs are not to speak for us. */
void notify_leave(void);

#endif
