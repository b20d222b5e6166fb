/* reply.h - the answer of a helper: a word, pairs, the rest. Pure, since programs answer anything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NET_REPLY_H
#define NET_REPLY_H

#include "bt_helper.h"

enum { REPLY_PAIRS = 64 }; /* more are left in the text */

struct reply {
    struct bt_helper_reply said;
    struct bt_helper_pair pair[REPLY_PAIRS];
};

/* One line without its end and without a channel's number. The line is decoded in place; `out`
 * points into it. Whatever it holds, the outcome is one of the results but LOST. */
void reply_parse(struct reply *out, char *line, size_t len);

/* The channel in front of an answer: its number, and the line goes on after it. false: there is
 * none. */
BT_MUST bool reply_channel(char **line, size_t *len, uint64_t *channel);

#endif
