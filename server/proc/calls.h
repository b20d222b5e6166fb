/* calls.h - commands of bobtailctl that modules answer (struct bt_command): a worker runs them.
 *
 * The master gives a worker the words and the connection of whoever asked, and forgets both.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_CALLS_H
#define PROC_CALLS_H

#include <sys/types.h>

#include "proc/worker.h"

enum { CALLS_TEXT = 4096 };

/* Has a module a command of that name? */
bool calls_known(bt_str name);
/* Master: a word (WORKER_CALL or WORKER_CHORE), and what is asked and the descriptor that the answer
 * goes to, down a worker's line. */
BT_MUST bool calls_send(int line, struct worker_word, int fd, bt_str text);
/* A text and a descriptor, in one message on a socket. */
BT_MUST bool calls_pass(int socket, bt_str text, int fd);
/* Worker: what comes on its line, as recv() of a word; what is a call or a chore is run. */
ssize_t calls_hear(int line, struct worker_word *word);
/* Here and now; `fd` is closed when it is answered. */
void calls_run(int fd, bt_str text);

#endif
