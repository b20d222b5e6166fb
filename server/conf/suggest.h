/* suggest.h - "did you mean ...?": the nearest of a list of words.
 *
 *   struct suggest near;
 *   suggest_init(&near, word);
 *   for each candidate: suggest_offer(&near, candidate);
 *   const char *best = suggest_get(&near);    NULL: nothing is near enough
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_SUGGEST_H
#define CONF_SUGGEST_H

#include "bt_types.h"

struct suggest {
    bt_str word;
    const char *best; /* as offered; must live as long as the struct */
    unsigned distance;
};

void suggest_init(struct suggest *, bt_str word);
/* Upper and lower case count as equal, swapped neighbours as one mistake. */
void suggest_offer(struct suggest *, const char *candidate);
const char *suggest_get(const struct suggest *);

#endif
