/* acl_time.c - the ACL type time: days of the week and hours, as the clock on the wall shows them.
 *
 *   acl office time MTWHF 08:00-18:00
 *   acl lunch time 12:00-13:00
 *
 * SMTWHFA are Sunday to Saturday, D is Monday to Friday; without days every day is meant, without
 * hours the whole day. The last minute counts: 18:00 belongs to 08:00-18:00.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <time.h>

#include "bt.h"

/* One line. */
struct hours {
    unsigned days; /* bit 0: Sunday */
    int from, to;  /* minutes of the day, both included */
};
enum { EVERY_DAY = 0x7f, WORK_DAYS = 0x3e, DAY_ENDS = 24 * 60 };

static bool digits2(const char *at, size_t len, int *out)
{
    if (len < 1 || len > 2)
        return false;
    *out = 0;
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        *out = *out * 10 + (at[i] - '0');
    }
    return true;
}

/* "09:30" in minutes; -1: it is no such thing. */
static int hour_read(bt_str text)
{
    const char *colon = text.len == 0 ? NULL : memchr(text.at, ':', text.len);
    int hour, minute;

    if (colon == NULL || !digits2(text.at, (size_t)(colon - text.at), &hour) ||
        text.at + text.len - colon != 3 || !digits2(colon + 1, 2, &minute) || minute > 59 ||
        hour * 60 + minute > DAY_ENDS)
        return -1;
    return hour * 60 + minute;
}

static bool hours_read(const struct bt_word *at, struct hours *out, struct bt_error *err)
{
    const char *dash = memchr(at->text.at, '-', at->text.len);

    if (dash != NULL) {
        bt_str from = {at->text.at, (size_t)(dash - at->text.at)};
        bt_str to = {dash + 1, at->text.len - from.len - 1};
        out->from = hour_read(from);
        out->to = hour_read(to);
        if (out->from >= 0 && out->to >= 0 && out->from >= out->to)
            return bt_complain(err, at,
                               "hours %s end before they begin; for a time over midnight write two "
                               "lines: %.*s-24:00 and 00:00-%.*s",
                               at->text.at, BT_STR_ARGS(from), BT_STR_ARGS(to));
    }
    if (dash == NULL || out->from < 0 || out->to < 0)
        return bt_complain(err, at, "'%s' are no hours; write them as 09:00-17:30", at->text.at);
    return true;
}

static bool days_read(const struct bt_word *at, struct hours *out, struct bt_error *err)
{
    static const char letters[] = "SMTWHFA";

    for (size_t i = 0; i < at->text.len; i++) {
        char c = at->text.at[i];
        const char *found = strchr(letters, c);
        if (c == 'D')
            out->days |= WORK_DAYS;
        else if (c != '\0' && found != NULL)
            out->days |= 1u << (found - letters);
        else
            return bt_complain(err, at,
                               "'%c' in '%s' is no day: S M T W H F A are Sunday to Saturday, D is "
                               "Monday to Friday",
                               c, at->text.at);
    }
    return true;
}

static void *time_compile(struct bt_args args, struct bt_arena *arena, struct bt_error *err)
{
    struct hours *line = bt_alloc(arena, sizeof *line);
    bool good = true, hours = false;

    line->to = DAY_ENDS;
    for (size_t i = 0; i < args.n; i++) {
        const struct bt_word *at = &args.word[i];
        if (memchr(at->text.at, ':', at->text.len) == NULL) {
            good &= days_read(at, line, err);
        } else if (hours) {
            good = bt_complain(err, at,
                               "one line has one pair of hours; write %s on a line of its "
                               "own",
                               at->text.at);
        } else {
            good &= hours_read(at, line, err);
            hours = true;
        }
    }
    if (line->days == 0)
        line->days = EVERY_DAY;
    return good ? line : NULL;
}

/* The wall's day and minute; the calendar is asked once a minute. */
static void now_read(int *day, int *minute)
{
    static int64_t known_minute = -1;
    static struct tm known;
    int64_t now = bt_wall_ms() / 60000;

    if (now != known_minute) {
        time_t seconds = (time_t)(now * 60);
        localtime_r(&seconds, &known);
        known_minute = now;
    }
    *day = known.tm_wday;
    *minute = known.tm_hour * 60 + known.tm_min;
}

static enum bt_match time_match(const void *compiled, struct bt_txn *txn)
{
    const struct hours *line = compiled;
    int day, minute;

    (void)txn;
    now_read(&day, &minute);
    return (line->days >> day & 1) != 0 && minute >= line->from && minute <= line->to ? BT_YES
                                                                                      : BT_NO;
}

static const struct bt_acl_type types[] = {
    {.name = "time",
     .args = "word...",
     .doc = "It is one of these days (SMTWHFA, D for Monday to Friday) and within these hours "
            "(09:00-17:30).",
     .earliest = BT_AT_ACCEPT,
     .compile = time_compile,
     .match = time_match,
     .flags = BT_ANEW_WORDLESS},
};

BT_MODULE(acl_time, "The ACL type time: days and hours.", .acl_types = BT_ROWS(types));
