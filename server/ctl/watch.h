/* watch.h - commands that look on: top, tail, and what is waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_WATCH_H
#define CTL_WATCH_H

/* Each is given the server's socket and its words, and returns the exit status. */
int watch_top(const char *path, char **word);
int watch_tail(const char *path, char **word);

/* For ask_answer(): what the server is at; `arg` is its socket. */
void watch_waiting(void *path, unsigned seconds);

#endif
