/* regex_text.h - a POSIX extended pattern as text for PCRE2 and Hyperscan, and what it must hold.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_REGEX_TEXT_H
#define BASE_REGEX_TEXT_H

#include "base/regex.h"

enum { REGEX_LITERALS = 64 };

struct regex_text {
    bt_str text; /* ended by NUL; to be read with DOTALL */
    /* One of these is in every text that matches (in lower case when NOCASE): one for each
     * alternative. None: nothing is certain. Each is ended by NUL. */
    bt_str literal[REGEX_LITERALS];
    size_t n_literals;
    bool plain;           /* the pattern is its one literal and nothing else */
    bool back_references; /* beyond what an automaton can do */
    bool nests;           /* a repetition stands within a repetition: it may explode */
    char *memory;
};

/* false with *err filled: not POSIX. Else regex_text_fini() it. */
BT_MUST bool regex_text_init(struct regex_text *, bt_str pattern, unsigned flags,
                             struct regex_error *err);
void regex_text_fini(struct regex_text *);

#endif
