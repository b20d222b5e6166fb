/* complain.h - gathers complaints about the configuration, so that all are printed at once.
 *
 * A struct bt_error lives on the stack of whoever reads a configuration. The first fault does not
 * end the reading: every function that complains returns false, and its caller goes on with the
 * next line. bt_complain() and bt_caution() of the API are here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_COMPLAIN_H
#define CONF_COMPLAIN_H

#include <stdio.h>

#include "bt_module.h"

struct complaint {
    const char *file; /* NULL: of no file (the command line, a default) */
    uint32_t line;    /* 0: the file as a whole */
    uint32_t column;
    uint32_t width; /* bytes of the word, for the underline; 0: not known */
    bool fault;     /* else a warning */
    bool secret;    /* the source line must not be shown */
    const char *text;
    size_t order; /* as they came, so that sorting is stable */
};

/* So many are kept and printed; the others are only counted. */
enum { COMPLAIN_KEPT = 200 };

struct bt_error {
    struct bt_arena *arena; /* texts live here; the list itself is on the heap */
    struct complaint *list;
    size_t n, room;
    size_t faults, warnings;    /* doubles counted until complain_sort() */
    size_t dropped;             /* beyond COMPLAIN_KEPT */
    const struct bt_word *line; /* where complaints without a place point to; may be NULL */
    bool secret;                /* complaints now made do not show their source line */
    /* NULL, or: a fault of a word of which this says true is a warning, since the word is going to be
     * left out. */
    bool (*spare)(void *arg, const struct bt_word *at);
    void *spare_arg;
};

/* The arena must outlive the struct, and the words' file names the arena. */
void complain_init(struct bt_error *, struct bt_arena *);
void complain_fini(struct bt_error *);

/* From now on complaints with `at` NULL point here (the name of the line that is read). */
void complain_at(struct bt_error *, const struct bt_word *line);

/* Any faults so far? */
bool complain_any(const struct bt_error *);

/* A word as it may be quoted in a complaint: 'word', cut when long; (hidden) while `secret`. */
const char *complain_word(struct bt_error *, bt_str word);

/* Order by file (as first met), line and column; drop doubles (same place, same text). */
void complain_sort(struct bt_error *);

/* Sort, then print all: `FILE:LINE:COL: error: text`, and with `show` the line itself with a caret
 * under the word, when the file can still be read. */
void complain_print(struct bt_error *, FILE *out, bool show);

#endif
