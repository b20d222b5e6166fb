/* file.h - a configuration file as lines of words: includes followed, conditions decided.
 *
 * What comes out is what is to be read, in order: no comments, no `include`, no `if`. Each word
 * knows its file, line and column. Nothing is known here of what the names mean.
 *
 * Relative names in `include` are tried in the folder of the file that includes, when it is not
 * there, in the working directory, where Squid looks. A list file (below, grammar.h) likewise.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_FILE_H
#define CONF_FILE_H

#include <sys/stat.h>

#include "bt_module.h"

enum { FILE_DEPTH_MAX = 16 };

/* How a word was written; bt_word says only that it was quoted. */
enum file_how {
    FILE_PLAIN,
    FILE_QUOTED,
    FILE_UNCLOSED,  /* a quotation mark that is not closed: a fault, unless the row takes text */
    FILE_GLUED,     /* no blank behind the closing mark: likewise */
    FILE_PARAMETERS /* parameters("NAME"), strict quoting only: NAME is a list file */
};

struct file_line {
    struct bt_word name;        /* the first word */
    const struct bt_word *word; /* the others */
    const uint8_t *how;         /* enum file_how, one a word */
    const uint32_t *start;      /* where each word begins in `text` */
    size_t n;
    bt_str text;                    /* all after the name, blanks at both ends taken off */
    bool strict;                    /* under `configuration_includes_quoted_values on` */
    const struct bt_directive *row; /* filled by bind_lines(): what the name means; or NULL */
};

struct file {
    struct file_line *line;
    size_t n, room; /* the array is in the arena */
};

/* ${service_name}, ${process_name} and ${process_number}. */
struct file_macros {
    const char *service_name, *process_name;
    unsigned process_number;
};

/* Read a file and all that it includes. false: complaints were made; `out` has what could be read,
 * so that the rest can be checked as well. `macros` NULL: "bobtail", "bobtail", 1. */
BT_MUST bool file_read(struct file *out, const char *path, const struct file_macros *macros,
                       struct bt_arena *, struct bt_error *);

/* The same from memory; `name` stands in complaints. For presets, -k and tests. */
BT_MUST bool file_read_text(struct file *out, const char *name, bt_str text, struct bt_arena *,
                            struct bt_error *);

/* For list files, too. The whole of a file on the heap, to be freed; NULL with errno. */
char *file_slurp(const char *path, size_t *len, struct stat *about);
/* A relative name, seen from the folder of the file `including`; others as they are. */
const char *file_near(struct bt_arena *, const char *including, bt_str name);

#endif
