/* reload.h - a new configuration: tried in a child first, then begun by exec of this very program.
 *
 * The child is the same program with the same words, which does all that a start does short of
 * serving. What it prints comes back here. Only when it is content does the master exec itself; so
 * a new configuration is read by a process that has never read another, and a new program on disk
 * is begun by the same way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_RELOAD_H
#define PROC_RELOAD_H

#include "proc/handover.h"
#include "proc/hub.h"

/* At start, before anything else: where this program lies, while that is still known. */
void reload_begin(char **argv);

/* Start a child that tries the configuration. false: there is no process to be had; logged. */
BT_MUST bool reload_try(struct hub *, const struct handover *);
/* Is it the child that tries? Then it has ended: *text is what it said (to be freed). */
BT_MUST bool reload_ended(struct hub *, pid_t pid, char **text);
bool reload_is_trying(void);
/* Nobody waits for it any more. */
void reload_abandon(void);
/* What it said into the log. Takes the text to pieces. */
void reload_log(char *text);
/* In another child. */
void reload_leave(void);

/* The last one. Handed to the next image. */
extern struct reload_outcome reload_last;
/* One is asked for now; and how it went, which is counted. `text` is kept. */
void reload_asked(int64_t now_ms);
/* What was said of a configuration that is good, for the image that will serve it. */
void reload_promising(const char *text);
void reload_went(bool good, const char *text, int64_t now_ms);

/* Become the new image. Returns when that cannot be; logged. */
void reload_exec(const struct handover *);

#endif
