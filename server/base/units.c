/* units.c - numbers, durations and sizes to and from text.
 *
 * Arithmetic is exact (128 bits): "0.1 seconds" is 100 ms, not nearly so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/units.h"

#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"

__extension__ typedef __int128 wide;

struct unit {
    const char *name, *plural;
    int64_t worth;     /* nanoseconds, bytes */
    const char *slang; /* what people write for it, between blanks; not accepted, but understood */
};

#define SECOND INT64_C(1000000000)
/* From large to small, as printing wants them. A month is 30 days and a year 365.2522 days, as
 * Squid has it. */
static const struct unit times[] = {
    {"decade", "decades", 315577900 * SECOND, ""},
    {"year", "years", 31557790 * SECOND, " y yr yrs a "},
    {"month", "months", 2592000 * SECOND, " mo mon mons mth "},
    {"fortnight", "fortnights", 1209600 * SECOND, ""},
    {"week", "weeks", 604800 * SECOND, " w wk wks "},
    {"day", "days", 86400 * SECOND, " d "},
    {"hour", "hours", 3600 * SECOND, " h hr hrs "},
    {"minute", "minutes", 60 * SECOND, " m min mins "},
    {"second", "seconds", SECOND, " s sec secs "},
    {"millisecond", "milliseconds", 1000000, " ms msec msecs milli millis "},
    {"microsecond", "microseconds", 1000, " us usec usecs micro micros "},
    {"nanosecond", "nanoseconds", 1, " ns nsec nsecs nano nanos "},
};
static const struct unit sizes[] = {
    {"GB", "GB", INT64_C(1) << 30, " g gib gbyte gigabyte gigabytes t tb tib "},
    {"MB", "MB", 1 << 20, " m mib mbyte megabyte megabytes "},
    {"KB", "KB", 1 << 10, " k kib kbyte kilobyte kilobytes "},
    {"byte", "bytes", 1, " b "},
};
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static const struct unit *unit_find(const struct unit *table, size_t n, bt_str word)
{
    for (size_t i = 0; i < n; i++)
        if (bt_str_eq_nocase(word, str_from(table[i].name)) ||
            bt_str_eq_nocase(word, str_from(table[i].plural)))
            return &table[i];
    return NULL;
}

static const char *unit_meant(const struct unit *table, size_t n, bt_str word)
{
    struct suggest near;
    char padded[24];
    struct str_builder b;

    str_builder_init(&b, padded, sizeof(padded));
    str_add_char(&b, ' ');
    str_add(&b, word);
    str_add_char(&b, ' ');
    for (size_t i = 0; i < n && !b.over; i++)
        if (str_find_nocase(str_from(table[i].slang), str_built(&b)) >= 0)
            return table[i].plural;
    suggest_init(&near, word);
    for (size_t i = 0; i < n; i++) {
        suggest_try(&near, table[i].name);
        suggest_try(&near, table[i].plural);
    }
    for (size_t i = 0; i < n; i++)
        if (near.best == table[i].name)
            return table[i].plural;
    return near.best;
}

/* "12", "1.5", ".5" off the front of *s; the number is *mantissa / *scale. */
static enum units_fault take_number(bt_str *s, wide *mantissa, int64_t *scale)
{
    size_t i = 0, digits = 0;
    bool point = false;

    *mantissa = 0;
    *scale = 1;
    for (; i < s->len; i++) {
        char c = s->at[i];

        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!str_is(c, STR_DIGIT))
            break;
        digits++;
        if (point && *scale >= 1000000000)
            continue; /* finer than a nanosecond's share */
        *mantissa = *mantissa * 10 + (c - '0');
        if (*mantissa > INT64_MAX)
            return UNITS_OVERFLOW;
        if (point)
            *scale *= 10;
    }
    if (digits == 0)
        return UNITS_BAD_NUMBER;
    *s = str_skip(*s, i);
    return UNITS_FINE;
}

struct measure {
    const struct unit *unit;
    size_t n;
    const char *preset;
    int64_t finest; /* the result counts these; rounded up */
};

static struct units_result measure(const struct measure *m, bt_str text, int64_t *out)
{
    struct units_result result = {.fault = UNITS_FINE};
    const struct unit *unit;
    wide mantissa, value, divisor;
    int64_t scale;

    text = str_trim(text);
    if (str_eq_literal_nocase(text, "none") || str_eq_literal(text, "-1")) {
        result.has_unit = true;
        *out = -1;
        return result;
    }
    result.fault = take_number(&text, &mantissa, &scale);
    if (result.fault != UNITS_FINE)
        return result;
    if (text.len > 0 && !str_is(text.at[0], STR_ALPHA | STR_BLANK)) {
        result.fault = UNITS_BAD_NUMBER;
        return result;
    }
    text = str_trim(text);
    result.has_unit = text.len > 0;
    unit = unit_find(m->unit, m->n, result.has_unit ? text : str_from(m->preset));
    if (unit == NULL) {
        CHECK(result.has_unit); /* else the preset is no unit: a row is wrong */
        result.fault = UNITS_BAD_UNIT;
        result.suggestion = unit_meant(m->unit, m->n, text);
        return result;
    }
    divisor = (wide)scale * m->finest;
    value = (mantissa * unit->worth + divisor - 1) / divisor;
    if (value > INT64_MAX)
        result.fault = UNITS_OVERFLOW;
    else
        *out = (int64_t)value;
    return result;
}

struct units_result units_duration(bt_str text, const char *unit, bt_duration *out)
{
    struct measure m = {times, COUNT(times), unit != NULL ? unit : "seconds", 1000000};

    return measure(&m, text, &out->ms);
}

struct units_result units_size(bt_str text, const char *unit, bt_size *out)
{
    struct measure m = {sizes, COUNT(sizes), unit != NULL ? unit : "bytes", 1};

    return measure(&m, text, &out->bytes);
}

struct units_result units_percent(bt_str text, int64_t *out)
{
    struct units_result result = {.fault = UNITS_FINE};

    text = str_trim(text);
    if (text.len > 0 && text.at[text.len - 1] == '%') {
        result.has_unit = true;
        text.len--;
    }
    if (!str_int(text, 0, INT64_MAX, out))
        result.fault = text.len > 0 && str_all(text, STR_DIGIT) ? UNITS_OVERFLOW : UNITS_BAD_NUMBER;
    return result;
}

bool units_is_duration_unit(bt_str word)
{
    return unit_find(times, COUNT(times), word) != NULL;
}

bool units_is_size_unit(bt_str word)
{
    return unit_find(sizes, COUNT(sizes), word) != NULL;
}

/* In the largest unit that leaves no rest; months, years and the like are not exact, so not used. */
static size_t print(const struct unit *from, const struct unit *to, wide worth, char *buf,
                    size_t cap)
{
    struct str_builder b;

    str_builder_init(&b, buf, cap);
    while (from < to - 1 && (worth == 0 || worth % from->worth != 0))
        from++;
    int64_t n = (int64_t)(worth / from->worth);
    str_add_int(&b, n);
    str_add_char(&b, ' ');
    str_add(&b, str_from(n == 1 ? from->name : from->plural));
    return b.len;
}

static size_t print_none(char *buf, size_t cap)
{
    struct str_builder b;

    str_builder_init(&b, buf, cap);
    str_add_literal(&b, "none");
    return b.len;
}

size_t units_print_duration(bt_duration duration, char *buf, size_t cap)
{
    if (duration.ms < 0)
        return print_none(buf, cap);
    if (duration.ms == 0)
        return print(times + 8, times + 9, 0, buf, cap);
    return print(times + 4, times + 10, (wide)duration.ms * 1000000, buf, cap);
}

size_t units_print_size(bt_size size, char *buf, size_t cap)
{
    if (size.bytes < 0)
        return print_none(buf, cap);
    return print(sizes, sizes + COUNT(sizes), size.bytes, buf, cap);
}

const char *units_fault_text(enum units_fault fault)
{
    switch (fault) {
    case UNITS_FINE:
        return "is fine";
    case UNITS_BAD_NUMBER:
        return "is not a number";
    case UNITS_BAD_UNIT:
        return "has an unknown unit";
    case UNITS_OVERFLOW:
        return "is too large";
    }
    NEVER();
}
