/* ask.h - one question to a running server, and its answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CTL_ASK_H
#define CTL_ASK_H

#include <stdbool.h>
#include <stdio.h>

#include "bt_types.h"

/* Says it on standard error, and returns UNABLE. */
int unable(const char *format, ...) BT_PRINTF(1, 2);

/* 0 and a connection, else the exit status, with the reason said. */
int ask_connect(const char *path, int *fd);
/* false: too long, or the server has gone. */
BT_MUST bool ask_send(int fd, char *const word[]);
/* The same for a word that is perhaps a module's. false: there is no server, or it knows no such command;
 * nothing is open, and nothing was said. */
BT_MUST bool ask_whether(const char *path, char *const word[], int *fd);
/* The answer, to standard output, or to standard error when it is a refusal; closes `fd`. With
 * `waiting` that is called each second until it comes. Returns the exit status. */
int ask_answer(int fd, void (*waiting)(void *arg, unsigned seconds), void *arg);
/* The same as one object of JSON, for answers that are text. */
int ask_answer_json(int fd);
/* The whole answer behind its first line, on the heap; NULL: refused, or nobody there. In silence. */
char *ask_text(const char *path, char *const word[]);

#endif
