/* date.c - HTTP dates to seconds since 1970 and back (RFC 9110 5.6.7).
 *
 * Every form is read against a pattern of fixed length, so that nothing is looked at that is not
 * there. The name of the weekday must be one, but need not be the right one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/date.h"

#include <string.h>

#include "base/str.h"
#include "bt_clock.h"

static const char days[7][10] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                 "Thursday", "Friday", "Saturday"};
static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct civil {
    int64_t year;
    int month, day, hour, minute, second; /* month and day from 1 */
};

/* ---- the calendar ---- */

/* Days since 1970-01-01. Years begin in March here, so that the leap day is the last one. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void civil_from_days(int64_t n, struct civil *out)
{
    int64_t z = n + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day = z - era * 146097;
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int64_t of_year = day - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;

    out->day = (int)(of_year - (153 * month + 2) / 5 + 1);
    out->month = (int)(month < 10 ? month + 3 : month - 9);
    out->year = year + era * 400 + (out->month <= 2);
}

static int days_of_month(int64_t year, int month)
{
    static const int lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month == 2 && leap ? 29 : lengths[month - 1];
}

/* ---- from text ---- */

/* Match text with a pattern of the same length: a digit of the day, hour, minute, second or year
 * for D H N S Y, a letter of the month for m, a digit or a blank for d; other bytes stand for
 * themselves. The numbers go to *out. */
static bool match(const char *text, const char *pattern, struct civil *out)
{
    const char *month = NULL;

    for (size_t i = 0; pattern[i] != '\0'; i++) {
        char c = text[i], p = pattern[i];
        int digit = str_is(c, STR_DIGIT) ? c - '0' : -1;

        if (p == 'm') {
            month = month != NULL ? month : text + i;
            continue;
        }
        if (p == 'd' && c == ' ')
            digit = 0;
        if (strchr("DdHNSY", p) == NULL) {
            if (c != p)
                return false;
            continue;
        }
        if (digit < 0)
            return false;
        if (p == 'Y')
            out->year = out->year * 10 + digit;
        else if (p == 'H')
            out->hour = out->hour * 10 + digit;
        else if (p == 'N')
            out->minute = out->minute * 10 + digit;
        else if (p == 'S')
            out->second = out->second * 10 + digit;
        else
            out->day = out->day * 10 + digit;
    }
    for (int i = 0; i < 12; i++)
        if (memcmp(month, months[i], 3) == 0)
            out->month = i + 1;
    return true;
}

/* Bytes of the weekday at the front: 3, or those of the long name; 0: none. */
static size_t weekday_len(bt_str text, bool in_full)
{
    for (unsigned i = 0; i < 7; i++) {
        size_t len = in_full ? strlen(days[i]) : 3;

        if (text.len > len && memcmp(text.at, days[i], len) == 0 &&
            !str_is(text.at[len], STR_ALPHA))
            return len;
    }
    return 0;
}

/* Two digits of a year: in this century, unless that is more than 50 years ahead. */
static int64_t full_year(int64_t year, int64_t now)
{
    struct civil today;

    civil_from_days(now / 86400, &today);
    year += today.year - today.year % 100;
    if (year > today.year + 50)
        year -= 100;
    return year;
}

static bool civil_valid(const struct civil *c)
{
    return c->month != 0 && c->day >= 1 && c->day <= days_of_month(c->year, c->month) &&
           c->hour <= 23 && c->minute <= 59 && c->second <= 60;
}

static bool civil_parse(bt_str text, int64_t now, struct civil *out)
{
    size_t len = weekday_len(text, false);

    if (text.len == DATE_LEN && len == 3)
        return match(text.at + 3, ", DD mmm YYYY HH:NN:SS GMT", out);
    if (text.len == 24 && len == 3)
        return match(text.at + 3, " mmm dD HH:NN:SS YYYY", out);
    len = weekday_len(text, true);
    if (len == 0 || text.len - len != 24 || !match(text.at + len, ", DD-mmm-YY HH:NN:SS GMT", out))
        return false;
    out->year = full_year(out->year, now);
    return true;
}

bool date_parse(bt_str text, int64_t now, int64_t *seconds)
{
    struct civil c = {0};

    if (!civil_parse(text, now, &c) || !civil_valid(&c))
        return false;
    *seconds = days_from_civil(c.year, c.month, c.day) * 86400 + c.hour * 3600 + c.minute * 60 +
               c.second;
    return true;
}

/* ---- to text ---- */

static void put_digits(char *at, int64_t n, int digits)
{
    while (digits-- > 0) {
        at[digits] = (char)('0' + n % 10);
        n /= 10;
    }
}

void date_print(char out[DATE_LEN], int64_t seconds)
{
    const int64_t first = -62167219200, last = 253402300799; /* of the years 0 and 9999 */
    int64_t clamped = seconds < first ? first : seconds > last ? last : seconds;
    int64_t day = (clamped >= 0 ? clamped : clamped - 86399) / 86400;
    int64_t rest = clamped - day * 86400;
    struct civil c;

    civil_from_days(day, &c);
    memcpy(out, "Day, 00 Mon 0000 00:00:00 GMT", DATE_LEN);
    memcpy(out, days[((day + 4) % 7 + 7) % 7], 3);
    put_digits(out + 5, c.day, 2);
    memcpy(out + 8, months[c.month - 1], 3);
    put_digits(out + 12, c.year, 4);
    put_digits(out + 17, rest / 3600, 2);
    put_digits(out + 20, rest / 60 % 60, 2);
    put_digits(out + 23, rest % 60, 2);
}

/* ---- for modules ---- */

/* Every letter in the case that it has in a proper date: upper at the start of a word and in GMT. */
static size_t recase(char *out, bt_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool starts = i == 0 || !str_is(text.at[i - 1], STR_ALPHA);

        out[i] = str_lower(text.at[i]);
        if (starts && str_is(out[i], STR_ALPHA))
            out[i] = (char)(out[i] - 'a' + 'A');
    }
    if (text.len > 4 && memcmp(out + text.len - 4, " Gmt", 4) == 0)
        memcpy(out + text.len - 4, " GMT", 4);
    return text.len;
}

bool bt_date_parse(bt_str text, int64_t now, int64_t *seconds)
{
    enum { LONGEST = 33 }; /* "Wednesday, 09-Nov-94 08:49:37 GMT" */
    char buf[LONGEST];

    if (text.len > LONGEST)
        return false;
    return date_parse((bt_str){buf, recase(buf, text)}, now, seconds);
}

void bt_date_print(char out[BT_DATE_LEN], int64_t seconds)
{
    date_print(out, seconds);
}
