/* admin_rules.h - the control socket about rules: which decided how often, and what they would say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROC_ADMIN_RULES_H
#define PROC_ADMIN_RULES_H

#include <stdio.h>

#include "bt_types.h"

/* All lines of all lists. */
void admin_rules_print(FILE *out, bool json);

struct admin_explain {
    char why[160]; /* what is wrong with the words */
};
/* Words METHOD URL [from ADDR] [user NAME] [header NAME: VALUE]...: what http_access would say. Answers to
 * `fd` from a process of its own, in which a module may do as it likes, and returns at once. false:
 * *explain says what is wrong; nothing was answered. */
BT_MUST bool admin_explain(int fd, const bt_str *word, size_t n, struct admin_explain *);

#endif
