/* units.h - numbers, durations and sizes as people write them in a configuration.
 *
 * All of Squid's unit words, singular and plural, in any case. A number may have a fraction
 * ("1.5 hours"). Number and unit are one text here, with or without blanks between.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "bt_types.h"

enum units_fault {
    UNITS_FINE,
    UNITS_BAD_NUMBER, /* no number in front, a sign where none may be, or rubbish after it */
    UNITS_BAD_UNIT,   /* a word that is no unit; `suggestion` may name the one that was meant */
    UNITS_OVERFLOW    /* more than 63 bits of milliseconds or bytes */
};

struct units_result {
    enum units_fault fault;
    bool has_unit;          /* a unit stood in the text; without one `unit` of the call was taken */
    const char *suggestion; /* with BAD_UNIT: "seconds"; NULL: nothing is near */
};

/* "30 seconds", "1 minute", "500 milliseconds", "1 week"; `unit` stands when there is none (NULL:
 * "seconds"). "none" and "-1": ms = -1. Nanoseconds and microseconds are rounded up, so that a
 * little is never nothing. FINE or a fault; *out is written when FINE. */
struct units_result units_duration(bt_str text, const char *unit, bt_duration *out);
/* "4 MB", "4MB", "512 KB", "100 bytes"; KB is 1024. `unit` NULL: "bytes". "none" and "-1": -1. */
struct units_result units_size(bt_str text, const char *unit, bt_size *out);
/* "50" or "50%". */
struct units_result units_percent(bt_str text, int64_t *out);

/* Whether the word is a unit: a lexer that gets number and unit as two words asks this. */
bool units_is_duration_unit(bt_str word);
bool units_is_size_unit(bt_str word);

/* "1 hour", "90 seconds", "1500 milliseconds", "none": the largest unit that fits exactly. The text
 * ends in NUL and fits 40 bytes; its length back. */
size_t units_print_duration(bt_duration, char *buf, size_t cap);
size_t units_print_size(bt_size, char *buf, size_t cap);

/* The fault in words, for a complaint: "is not a number", ... */
const char *units_fault_text(enum units_fault);

#endif
