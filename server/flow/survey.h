/* survey.h - exchanges under way, for `bobtailctl top` and `kill`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLOW_SURVEY_H
#define FLOW_SURVEY_H

#include <stdio.h>

#include "bt_types.h"

enum { SURVEY_TEXT = 1024, SURVEY_COLUMNS = 9 };

struct survey_who {
    unsigned generation, worker;
};
/* Worker: a line for each exchange, of columns that end in a tab: its number (GENERATION.WORKER.N),
 * milliseconds since it began, client, user, step, bytes from and to the client, method, URL. */
void survey_tell(FILE *, const struct survey_who *);
/* Worker, in its loop: end that one now, without a word to anybody. false: there is none. */
BT_MUST bool survey_kill(uint64_t number);

#endif
