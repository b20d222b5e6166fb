/* lexer.h - the words of a line: blanks, comments, quotes, continued lines, macros.
 *
 * Rules, which are Squid's where it has any:
 *
 *   - Words are split at blanks and tabs. `#` begins a comment at the start of a word only.
 *   - A backslash as the very last byte joins the next line: its leading blanks are dropped and
 *     nothing is put between. Lines of comment and empty lines are skipped in between. A blank
 *     behind the backslash is a fault.
 *   - A word that begins with " or ' goes to the same mark, blanks included; \ takes the meaning
 *     from the next byte, and \n \r \t are control bytes. Behind the mark a blank must stand. Whether
 *     a quoted word is a value or names a list file is for the grammar to say.
 *   - ${service_name}, ${process_name}, ${process_number} and ${env:NAME} are put in, within the
 *     word: what is put in is never split, and never a comment or a quotation mark.
 *   - CR before LF and a byte order mark are dropped; other control bytes are refused; bytes from
 *     128 on pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_LEXER_H
#define CONF_LEXER_H

#include "conf/file.h"

struct lexer {
    bt_str rest;      /* not read yet */
    const char *file; /* for places */
    uint32_t line;    /* number of the last line read */
    bool strict;      /* quoting as under configuration_includes_quoted_values */
    bool skip;        /* in a branch that is not taken: macros stay, nothing is complained of */
    const struct file_macros *macros;
    struct bt_arena *arena;
    struct bt_error *err;
    struct lexer_buffer *buffer; /* scratch, kept from line to line */
};

/* `text` and `file` must outlive the lexer; words are copied into the arena. Starts at line 1. */
void lexer_init(struct lexer *, const char *file, bt_str text, struct bt_arena *,
                struct bt_error *);
void lexer_fini(struct lexer *);

/* The next line that has a word; false at the end. Faults are complained of, the rest of the line
 * is given all the same. */
BT_MUST bool lexer_next(struct lexer *, struct file_line *out);

/* The word itself is usable only if it is not FILE_UNCLOSED or FILE_GLUED; else this complains. */
BT_MUST bool lexer_word_fine(const struct bt_word *, enum file_how, struct bt_error *);

#endif
