/* control.c - Cache-Control of a request or a response, and what may stand in for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "control.h"

#include <string.h>

#include "dictionary.h"

/* What a directive is and how a value of it is taken. */
enum kind {
    RESTRICTS, /* a word; a value is overlooked */
    PERMITS,   /* a word; with a value it is something else, which nobody knows */
    LISTS,     /* a word, or with names of fields */
    LIMITS,    /* a number; one that is none is 0 */
    DEMANDS,   /* a number; one that is none is overlooked */
    ALLOWS     /* a number, or without one any */
};

struct directive {
    bt_str name;
    enum kind kind;
    uint32_t bit;
    size_t number; /* offset in struct control; LISTS: the bit of the form with names */
};

#define NUMBER(field) offsetof(struct control, field)
static const struct directive directives[] = {
    {FIELDS_TEXT("max-age"), LIMITS, CONTROL_MAX_AGE, NUMBER(max_age)},
    {FIELDS_TEXT("s-maxage"), LIMITS, CONTROL_S_MAXAGE, NUMBER(s_maxage)},
    {FIELDS_TEXT("no-cache"), LISTS, CONTROL_NO_CACHE, CONTROL_NO_CACHE_FIELDS},
    {FIELDS_TEXT("no-store"), RESTRICTS, CONTROL_NO_STORE, 0},
    {FIELDS_TEXT("private"), LISTS, CONTROL_PRIVATE, CONTROL_PRIVATE_FIELDS},
    {FIELDS_TEXT("public"), PERMITS, CONTROL_PUBLIC, 0},
    {FIELDS_TEXT("must-revalidate"), RESTRICTS, CONTROL_MUST_REVALIDATE, 0},
    {FIELDS_TEXT("proxy-revalidate"), RESTRICTS, CONTROL_PROXY_REVALIDATE, 0},
    {FIELDS_TEXT("must-understand"), PERMITS, CONTROL_MUST_UNDERSTAND, 0},
    {FIELDS_TEXT("no-transform"), RESTRICTS, CONTROL_NO_TRANSFORM, 0},
    {FIELDS_TEXT("immutable"), PERMITS, CONTROL_IMMUTABLE, 0},
    {FIELDS_TEXT("stale-while-revalidate"), LIMITS, CONTROL_STALE_WHILE, NUMBER(stale_while)},
    {FIELDS_TEXT("stale-if-error"), LIMITS, CONTROL_STALE_ERROR, NUMBER(stale_error)},
    {FIELDS_TEXT("only-if-cached"), RESTRICTS, CONTROL_ONLY_IF_CACHED, 0},
    {FIELDS_TEXT("min-fresh"), DEMANDS, CONTROL_MIN_FRESH, NUMBER(min_fresh)},
    {FIELDS_TEXT("max-stale"), ALLOWS, CONTROL_MAX_STALE, NUMBER(max_stale)},
};

static const struct directive *directive_find(bt_str name)
{
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
        if (bt_str_eq_nocase(directives[i].name, name))
            return &directives[i];
    return NULL;
}

bool control_seconds(bt_str text, int64_t *out)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        n = n * 10 + (text.at[i] - '0');
        n = n < CONTROL_FOREVER ? n : CONTROL_FOREVER;
    }
    if (text.len > 0)
        *out = n;
    return text.len > 0;
}

static void number_set(struct control *c, const struct directive *d, int64_t n)
{
    if ((c->has & d->bit) == 0)
        memcpy((char *)c + d->number, &n, sizeof n);
    c->has |= d->bit;
}

/* Names of fields, all of them tokens? Then the list is kept; else the directive is taken as if it
 * had none, which restricts more. */
static void list_set(struct control *c, const struct directive *d, bt_str value)
{
    bt_str rest = value, member;
    bool good = value.len > 0 && value.at[0] != '\'' && c->lists < CONTROL_LISTS;
    unsigned names = 0;

    while (good && fields_member(&rest, &member)) {
        good = fields_is_token(member);
        names++;
    }
    if (!good || names == 0) {
        c->has |= d->bit;
        return;
    }
    c->has |= (uint32_t)d->number;
    c->list[c->lists++] = value;
}

/* `value` BT_STR_NONE: there is no "=". */
static void directive_set(struct control *c, const struct directive *d, bt_str value)
{
    int64_t n = 0;
    bool number = value.at != NULL && control_seconds(value, &n);

    switch (d->kind) {
    case RESTRICTS:
        c->has |= d->bit;
        break;
    case PERMITS:
        if (value.at == NULL)
            c->has |= d->bit;
        break;
    case LISTS:
        list_set(c, d, value);
        break;
    case LIMITS:
        number_set(c, d, number ? n : 0);
        break;
    case DEMANDS:
        if (number)
            number_set(c, d, n);
        break;
    case ALLOWS:
        if (number || value.at == NULL)
            number_set(c, d, number ? n : CONTROL_FOREVER);
        break;
    }
}

/* Without quotation marks; with an escape in it, or something behind it, it stays as it is, and is
 * no number and no list. */
static bt_str unquoted(bt_str value)
{
    bt_str inside = {value.at + 1, value.len - 2};

    if (value.len < 2 || value.at[0] != '"' || value.at[value.len - 1] != '"')
        return value;
    if (memchr(inside.at, '\\', inside.len) != NULL || memchr(inside.at, '"', inside.len) != NULL)
        return value;
    return inside;
}

/* "no-cache; no-store", "private no-cache": no list of directives, but plain enough. Those that
 * restrict are believed. */
static void words_add(struct control *c, bt_str text)
{
    size_t from = 0;

    for (size_t i = 0; i <= text.len; i++) {
        const struct directive *d;

        if (i < text.len && text.at[i] != ' ' && text.at[i] != ';' && text.at[i] != '\t')
            continue;
        d = directive_find((bt_str){text.at + from, i - from});
        if (d != NULL && (d->kind == RESTRICTS || d->kind == LISTS))
            directive_set(c, d, BT_STR_NONE);
        from = i + 1;
    }
}

static bool has_blank(bt_str s)
{
    return memchr(s.at, ' ', s.len) != NULL || memchr(s.at, ';', s.len) != NULL ||
           memchr(s.at, '\t', s.len) != NULL;
}

static void member_add(struct control *c, bt_str member)
{
    const char *equals = memchr(member.at, '=', member.len);
    bt_str name = member, value = BT_STR_NONE;
    const struct directive *d;

    if (equals != NULL) {
        name.len = (size_t)(equals - member.at);
        value = (bt_str){equals + 1, member.len - name.len - 1};
    }
    if (has_blank(member) && memchr(member.at, '"', member.len) == NULL)
        words_add(c, member);
    d = directive_find(fields_trim(name));
    if (d == NULL)
        return;
    /* Blanks around the "=" are an error: what stands there is no number. */
    if (equals != NULL && name.len > 0 && has_blank(name))
        value = BT_STR("?");
    directive_set(c, d, value.at != NULL ? unquoted(value) : value);
}

void control_add(struct control *c, bt_str line)
{
    bt_str member;

    c->has |= CONTROL_PRESENT;
    while (fields_member(&line, &member))
        member_add(c, member);
}

static void lines_add(struct control *c, const struct fields *f)
{
    bt_str line;

    *c = (struct control){.has = 0};
    for (size_t n = 0; (line = fields_get(f, BT_STR("Cache-Control"), n)).at != NULL; n++)
        control_add(c, line);
}

void control_request(struct control *c, const struct fields *f)
{
    bt_str line, member;

    lines_add(c, f);
    if ((c->has & CONTROL_PRESENT) != 0)
        return;
    for (size_t n = 0; (line = fields_get(f, BT_STR("Pragma"), n)).at != NULL; n++)
        while (fields_member(&line, &member))
            if (bt_str_eq_nocase(member, BT_STR("no-cache")))
                c->has |= CONTROL_NO_CACHE;
}

void control_response(struct control *c, const struct fields *f)
{
    lines_add(c, f);
}

/* ---- targeted fields ---- */

/* One member of the dictionary; false: a known directive with a value of a type that it cannot
 * have. Of a key that comes twice the last one counts there. */
static bool targeted_set(struct control *c, bt_str key, const struct dictionary_value *value)
{
    const struct directive *d = directive_find(key);

    if (d == NULL)
        return true;
    if (d->kind == LIMITS || d->kind == DEMANDS || d->kind == ALLOWS) {
        int64_t n = value->integer < CONTROL_FOREVER ? value->integer : CONTROL_FOREVER;

        c->has &= ~d->bit;
        number_set(c, d, n);
        return value->type == DICTIONARY_INTEGER && n >= 0;
    }
    c->has &= ~d->bit;
    if (d->kind == LISTS)
        c->has &= ~(uint32_t)d->number;
    if (value->type == DICTIONARY_TRUE)
        directive_set(c, d, BT_STR_NONE);
    else if (value->type == DICTIONARY_STRING && d->kind == LISTS)
        directive_set(c, d, value->text);
    else
        return value->type == DICTIONARY_FALSE;
    return true;
}

/* One line; -1: it makes the whole field invalid; else how many members it has. */
static int targeted_line(struct control *c, bt_str line)
{
    struct dictionary_value value;
    bt_str key;
    int members = 0, got;

    while ((got = dictionary_next(&line, &key, &value)) > 0) {
        if (!targeted_set(c, key, &value))
            return -1;
        members++;
    }
    return got < 0 ? -1 : members;
}

bool control_targeted(struct control *c, const struct fields *f, bt_str name)
{
    struct control found = {.has = CONTROL_PRESENT | CONTROL_TARGETED};
    bool any = false;
    bt_str line;

    for (size_t n = 0; (line = fields_get(f, name, n)).at != NULL; n++) {
        int members = targeted_line(&found, line);

        if (members < 0)
            return false;
        any |= members > 0;
    }
    if (any)
        *c = found;
    return any;
}

bool control_lists(const struct control *c, bt_str name)
{
    bt_str member;

    for (unsigned i = 0; i < c->lists; i++) {
        bt_str rest = c->list[i];

        while (fields_member(&rest, &member))
            if (bt_str_eq_nocase(member, name))
                return true;
    }
    return false;
}
