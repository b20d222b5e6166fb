/* bt_types.h - the small values that everything else is written in.
 *
 * Text is a slice that nobody frees: it lives as long as the arena or the buffer that it points
 * into. Units are types, so that seconds cannot be compared with milliseconds by mistake.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_TYPES_H
#define BT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function or an object that the server exports to modules. All else is hidden. */
#define BT_API __attribute__((visibility("default")))
/* The caller must look at the result. */
#define BT_MUST __attribute__((warn_unused_result))
/* printf-like: the format is argument F, the first value argument V. */
#define BT_PRINTF(F, V) __attribute__((format(printf, F, V)))

/* Borrowed text: not ended by NUL unless somebody says so, may hold any byte. */
typedef struct {
    const char *at;
    size_t len;
} bt_str;

#define BT_STR(literal) ((bt_str){"" literal, sizeof(literal) - 1})
#define BT_STR_NONE ((bt_str){NULL, 0}) /* absent; an empty text has a non-NULL `at` */
/* For printf: `printf("%.*s", BT_STR_ARGS(name))`. */
#define BT_STR_ARGS(s) (int)(s).len, (s).at

typedef struct {
    int64_t ms; /* milliseconds; -1: without limit, where a directive allows that */
} bt_duration;

typedef struct {
    int64_t bytes; /* -1: without limit, where a directive allows that */
} bt_size;

/* One word of the configuration, and where it stands, so that every complaint can point at it.
 * `text` ends in NUL (not counted). `file` lives as long as the configuration. */
struct bt_word {
    bt_str text;
    const char *file;
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1 */
    bool quoted;     /* stood in quotation marks, which are taken off */
    bool is_list; /* names a list file whose lines are to stand in its place (the server's own) */
    bool listed;  /* a line of a list file */
};

struct bt_args {
    const struct bt_word *word;
    size_t n;
};

/* What a match says. BROKEN: it cannot be told (step limit, lost helper); policy then denies. */
enum bt_match {
    BT_NO,
    BT_YES,
    BT_WAIT, /* not known yet; bt_resume() will be called, and the question asked again */
    BT_BROKEN
};

#endif
