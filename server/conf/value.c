/* value.c - one value of a grammar: what a word must look like, and what it comes to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/value.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/check.h"
#include "base/regex.h"
#include "base/str.h"
#include "base/suggest.h"
#include "base/units.h"
#include "conf/complain.h"

static const struct {
    const char *name;
    enum value_kind kind;
    const char *means; /* in complaints */
} kinds[] = {
    {"int", VALUE_INT, "a number"},
    {"percent", VALUE_PERCENT, "a percentage"},
    {"size", VALUE_SIZE, "a size (number and bytes, KB, MB or GB)"},
    {"duration", VALUE_DURATION, "a time (number and seconds, minutes, hours, days...)"},
    {"port", VALUE_PORT, "a port (1-65535)"},
    {"word", VALUE_WORD, "a word"},
    {"path", VALUE_PATH, "the name of a file"},
    {"addr", VALUE_ADDR, "an IP address"},
    {"host", VALUE_HOST, "a host name or an IP address"},
    {"regex", VALUE_REGEX, "a regular expression"},
    {"pattern", VALUE_PATTERN, "a regular expression"},
    {"command", VALUE_COMMAND, "a program"},
    {"text", VALUE_TEXT, "text"},
    {"format", VALUE_FORMAT, "a log format"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- compiling ---- */

/* "64", "..", "1..": both ends may be missing. */
static bool range_compile(bt_str text, struct value_type *type)
{
    ptrdiff_t dots = str_find(text, BT_STR(".."));

    if (dots < 0)
        return false;
    bt_str from = str_slice(text, 0, (size_t)dots), to = str_skip(text, (size_t)dots + 2);
    if (from.len > 0 && !str_int(from, INT64_MIN, INT64_MAX, &type->min))
        return false;
    if (to.len > 0 && !str_int(to, INT64_MIN, INT64_MAX, &type->max))
        return false;
    return type->min <= type->max;
}

/* The kind that a word names; false: it is a literal. */
static bool kind_compile(bt_str word, struct value_type *type, const char **why)
{
    bt_str name = word, range = BT_STR_NONE;

    if (str_ends(word, BT_STR(")")))
        (void)str_split(str_slice(word, 0, word.len - 1), '(', &name, &range);
    for (size_t i = 0; i < KINDS; i++) {
        if (!bt_str_eq(name, str_from(kinds[i].name)))
            continue;
        type->kind = kinds[i].kind;
        if (range.at != NULL && (type->kind != VALUE_INT || !range_compile(range, type)))
            *why = "the range in parentheses is none";
        return true;
    }
    return false;
}

bool value_compile(struct bt_arena *arena, bt_str text, struct value_type *type, const char **why)
{
    const char **literals = bt_alloc(arena, (text.len + 2) * sizeof *literals);
    bt_str rest = text, word;
    bool typed = false;

    *why = NULL;
    *type = (struct value_type){.kind = VALUE_CHOICE, .min = INT64_MIN, .max = INT64_MAX};
    type->literals = literals;
    while (str_cut(&rest, '|', &word)) {
        struct value_type one = *type;
        if (word.len == 0) {
            *why = "a choice has an empty word";
            return false;
        }
        if (!kind_compile(word, &one, why)) {
            literals[type->n_literals++] = bt_str_copy(arena, word).at;
        } else if (typed) {
            *why = "there are two types in one choice";
            return false;
        } else {
            one.n_literals = type->n_literals;
            *type = one;
            typed = true;
        }
    }
    if (type->kind == VALUE_CHOICE && str_eq_literal(text, "on|off"))
        type->kind = VALUE_ON_OFF;
    return *why == NULL;
}

const char *value_name(const struct value_type *type, struct bt_arena *arena)
{
    struct str_builder text;
    const char *means = NULL;

    str_builder_arena(&text, arena, 64);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind == type->kind)
            means = kinds[i].means;
    bool low = type->min != INT64_MIN, high = type->max != INT64_MAX;
    if (means != NULL)
        str_add(&text, str_from(means));
    if (type->kind == VALUE_INT && low && high)
        str_add_format(&text, " from %lld to %lld", (long long)type->min, (long long)type->max);
    else if (type->kind == VALUE_INT && low)
        str_add_format(&text, " from %lld on", (long long)type->min);
    else if (type->kind == VALUE_INT && high)
        str_add_format(&text, " up to %lld", (long long)type->max);
    for (size_t i = 0; i < type->n_literals; i++) {
        bool last = i + 1 == type->n_literals;
        if (i > 0 || means != NULL)
            str_add(&text, last ? BT_STR(" or ") : BT_STR(", "));
        str_add(&text, str_from(type->literals[i]));
    }
    return str_built(&text).at;
}

bool value_has_unit(const struct value_type *type)
{
    return type->kind == VALUE_SIZE || type->kind == VALUE_DURATION;
}

bool value_is_unit(const struct value_type *type, bt_str word)
{
    return type->kind == VALUE_SIZE ? units_is_size_unit(word) : units_is_duration_unit(word);
}

/* ---- checking ---- */

/* Place of the word among the literals; -1: none of them. */
int value_place(const struct value_type *type, const struct bt_word *word)
{
    for (size_t i = 0; i < type->n_literals; i++)
        if (bt_str_eq(word->text, str_from(type->literals[i])))
            return (int)i;
    return -1;
}

static bool numeric_start(bt_str text)
{
    if (text.len > 1 && (text.at[0] == '-' || text.at[0] == '+'))
        return str_is(text.at[1], STR_DIGIT);
    return text.len > 0 && str_is(text.at[0], STR_DIGIT);
}

bool value_fits(const struct value_type *type, const struct bt_word *word)
{
    if (value_place(type, word) >= 0)
        return true;
    switch (type->kind) {
    case VALUE_ON_OFF:
    case VALUE_CHOICE:
        return false;
    case VALUE_INT:
    case VALUE_PERCENT:
    case VALUE_SIZE:
    case VALUE_DURATION:
    case VALUE_PORT:
        return numeric_start(word->text);
    case VALUE_ADDR:
        return numeric_start(word->text) || str_find_char(word->text, ':') >= 0;
    default:
        return true;
    }
}

static bool expected(const struct value_type *type, const struct value_of *of,
                     const struct bt_word *word, struct bt_error *err)
{
    return bt_complain(err, word, "%s expected, not %s", value_name(type, of->arena),
                       complain_word(err, word->text));
}

static void become(struct bt_word *word, const struct value_of *of, int64_t number)
{
    char digits[24];
    bt_str text = {digits, (size_t)(str_put_int(digits, number) - digits)};

    /* Most are canonical as written, and there may be many of them. */
    if (!bt_str_eq(word->text, text))
        word->text = bt_str_copy(of->arena, text);
}

static bool among(bt_str text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (bt_str_eq_nocase(text, str_from(*words)))
            return true;
    return false;
}

static bool on_off_check(struct bt_word *word, struct bt_error *err)
{
    static const char *const yes[] = {"on", "yes", "true", "1", "enabled", NULL};
    static const char *const no[] = {"off", "no", "false", "0", "disabled", NULL};
    bool on = str_eq_literal(word->text, "enable");

    if (str_eq_literal(word->text, "on") || str_eq_literal(word->text, "off"))
        return true;
    if (on || str_eq_literal(word->text, "disable")) {
        bt_caution(err, word, "%s is an old spelling: write %s", word->text.at, on ? "on" : "off");
        word->text = on ? BT_STR("on") : BT_STR("off");
        return true;
    }
    const char *meant = among(word->text, yes) ? "on" : among(word->text, no) ? "off" : NULL;
    if (meant != NULL)
        return bt_complain(err, word, "on or off expected, not %s; did you mean '%s'?",
                           complain_word(err, word->text), meant);
    return bt_complain(err, word, "on or off expected, not %s", complain_word(err, word->text));
}

static bool choice_check(const struct value_type *type, const struct value_of *of,
                         const struct bt_word *word, struct bt_error *err)
{
    static const char *const allow[] = {"permit", "accept", "pass", "yes", NULL};
    static const char *const deny[] = {"block", "reject", "refuse", "drop", "no", NULL};
    const char *near = suggest_from(word->text, type->literals);

    if (type->n_literals == 2 && strcmp(type->literals[0], "allow") == 0)
        near = among(word->text, allow) ? "allow" : among(word->text, deny) ? "deny" : near;
    if (near == NULL)
        return expected(type, of, word, err);
    return bt_complain(err, word, "%s expected, not %s; did you mean '%s'?",
                       value_name(type, of->arena), complain_word(err, word->text), near);
}

static bool int_check(const struct value_type *type, const struct value_of *of,
                      struct bt_word *word, struct bt_error *err)
{
    int64_t number;

    if (type->kind == VALUE_PERCENT) {
        if (units_percent(word->text, &number).fault != UNITS_FINE)
            return expected(type, of, word, err);
    } else {
        int64_t min = type->kind == VALUE_PORT ? 1 : type->min;
        int64_t max = type->kind == VALUE_PORT ? 65535 : type->max;
        if (!str_int(word->text, min, max, &number))
            return expected(type, of, word, err);
    }
    become(word, of, number);
    return true;
}

/* Size or duration out of one text, so that the rest need not know which. */
static struct units_result units_read(const struct value_type *type, const struct value_of *of,
                                      bt_str text, int64_t *out)
{
    struct units_result result;
    bt_duration duration = {0};
    bt_size size = {0};

    if (type->kind == VALUE_SIZE) {
        result = units_size(text, of->unit, &size);
        *out = size.bytes;
    } else {
        result = units_duration(text, of->unit, &duration);
        *out = duration.ms;
    }
    return result;
}

static bool unit_complain(const struct value_type *type, const struct value_of *of,
                          const struct bt_word *word, const struct bt_word *unit,
                          const struct units_result *result, struct bt_error *err)
{
    const struct bt_word *at = unit != NULL ? unit : word;
    const char *shown = complain_word(err, at->text);

    if (result->fault == UNITS_OVERFLOW)
        return bt_complain(err, word, "%s is too large", complain_word(err, word->text));
    if (result->fault != UNITS_BAD_UNIT)
        return expected(type, of, word, err);
    if (result->suggestion != NULL)
        return bt_complain(err, at, "unknown unit in %s; did you mean '%s'?", shown,
                           result->suggestion);
    return bt_complain(err, at, "unknown unit in %s; units are %s", shown,
                       type->kind == VALUE_SIZE
                           ? "bytes, KB, MB and GB"
                           : "milliseconds, seconds, minutes, hours, days, weeks and so on");
}

static bool unit_check(const struct value_type *type, const struct value_of *of,
                       struct bt_word *word, const struct bt_word *unit, struct bt_error *err)
{
    bt_str text = word->text;
    int64_t number = -1;

    if (str_eq_literal(text, "-1") && type->n_literals > 0) {
        become(word, of, -1); /* with a unit or without: no limit */
        return true;
    }
    if (!numeric_start(text) || text.at[0] == '-')
        return expected(type, of, word, err);
    if (unit != NULL)
        text = bt_str_printf(of->arena, "%s %s", text.at, unit->text.at);
    struct units_result result = units_read(type, of, text, &number);
    if (result.fault != UNITS_FINE)
        return unit_complain(type, of, word, unit, &result, err);
    if (!result.has_unit && number != 0 && !of->preset)
        bt_caution(err, word, "%s has no unit: it is taken as %s", complain_word(err, word->text),
                   of->unit != NULL           ? of->unit
                   : type->kind == VALUE_SIZE ? "bytes"
                                              : "seconds");
    become(word, of, number);
    return true;
}

/* Text of digits and dots can only be meant as an address. */
static bool host_fine(bt_str host)
{
    uint8_t addr[16];

    if (addr_parse(host, addr))
        return true;
    if (host.len == 0 || host.len > 255 || str_all(str_trim(host), STR_DIGIT))
        return false;
    bool letters = false;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.at[i];
        if (!str_is(c, STR_ALPHA | STR_DIGIT) && c != '.' && c != '-' && c != '_')
            return false;
        letters = letters || !(str_is(c, STR_DIGIT) || c == '.');
    }
    return letters;
}

/* Does it end in the middle of a bracket expression (POSIX 9.3.5)? */
static bool bracket_open(const char *at)
{
    for (; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        if (*at != '[')
            continue;
        at += at[1] == '^' ? 2 : 1;
        at += *at == ']';
        at = strchr(at, ']');
        if (at == NULL)
            return true;
    }
    return false;
}

bool value_cut(const struct value_type *type, const struct bt_word *word)
{
    return type->kind == VALUE_PATTERN && bracket_open(word->text.at);
}

static bool regex_check(const struct value_of *of, const struct bt_word *word, struct bt_error *err)
{
    struct regex_error why = {.offset = 0};

    if (regex_fine(word->text, of->nocase ? (unsigned)REGEX_NOCASE : 0u, &why))
        return true;
    return bt_complain(err, word, "%s is no regular expression: %s, at byte %zu%s",
                       complain_word(err, word->text), why.text, why.offset + 1,
                       bracket_open(word->text.at)
                           ? "; a blank ends the value: write [[:space:]] for it, or use a list "
                             "file"
                           : "");
}

static bool command_check(const struct bt_word *word, struct bt_error *err)
{
    struct stat about;
    const char *path = word->text.at;

    if (stat(path, &about) != 0)
        return bt_complain(err, word, "the program %s cannot be used: %s",
                           complain_word(err, word->text), strerror(errno));
    if (!S_ISREG(about.st_mode))
        return bt_complain(err, word, "the program %s is not a file",
                           complain_word(err, word->text));
    if (access(path, X_OK) != 0)
        return bt_complain(err, word, "the program %s cannot be run: %s",
                           complain_word(err, word->text), strerror(errno));
    return true;
}

bool value_check(const struct value_type *type, const struct value_of *of, struct bt_word *word,
                 const struct bt_word *unit, bool *used, struct bt_error *err)
{
    uint8_t addr[16];

    *used = false;
    if (type->kind == VALUE_ON_OFF)
        return on_off_check(word, err);
    if (value_place(type, word) >= 0) {
        if (type->kind > VALUE_CHOICE && type->kind < VALUE_WORD)
            become(word, of, -1);
        return true;
    }
    switch (type->kind) {
    case VALUE_CHOICE:
        return choice_check(type, of, word, err);
    case VALUE_INT:
    case VALUE_PERCENT:
    case VALUE_PORT:
        return int_check(type, of, word, err);
    case VALUE_SIZE:
    case VALUE_DURATION:
        *used = unit != NULL;
        return unit_check(type, of, word, unit, err);
    case VALUE_ADDR:
        return addr_parse(word->text, addr) || expected(type, of, word, err);
    case VALUE_HOST:
        return host_fine(word->text) || expected(type, of, word, err);
    case VALUE_REGEX:
    case VALUE_PATTERN:
        return regex_check(of, word, err);
    case VALUE_COMMAND:
        return command_check(word, err);
    default:
        return true;
    }
}

/* ---- storing ---- */

void value_store(const struct value_type *type, const struct bt_word *word, void *field)
{
    int64_t number = 0;

    switch (type->kind) {
    case VALUE_ON_OFF:
        *(bool *)field = str_eq_literal(word->text, "on");
        return;
    case VALUE_CHOICE:
        *(int64_t *)field = value_place(type, word);
        return;
    case VALUE_INT:
    case VALUE_PERCENT:
    case VALUE_PORT:
    case VALUE_SIZE:
    case VALUE_DURATION:
        break;
    default:
        *(bt_str *)field = word->text;
        return;
    }
    CHECK(str_int(word->text, INT64_MIN, INT64_MAX, &number));
    if (type->kind == VALUE_SIZE)
        *(bt_size *)field = (bt_size){number};
    else if (type->kind == VALUE_DURATION)
        *(bt_duration *)field = (bt_duration){number};
    else
        *(int64_t *)field = number;
}
