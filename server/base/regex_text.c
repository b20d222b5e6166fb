/* regex_text.c - POSIX extended patterns, read by their own rules and written anew for the matchers.
 *
 * The languages differ in more than they share, so a pattern is read here by the rules of POSIX (and
 * of the GNU library, which Squid's users know), and what stands in the result was put there by us:
 * it uses nothing but what PCRE2 and Hyperscan understand alike. Only whether there is a match is the
 * same as in POSIX, not which of several: the first alternative is taken, not the longest; no user
 * of ours asks for more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/regex_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/str.h"

enum {
    NESTING = 200,  /* PCRE2 itself stops at 250 */
    REPEATS = 32767 /* RE_DUP_MAX */
};

struct translation {
    bt_str in;
    size_t at;
    struct str_builder out;
    size_t open[NESTING]; /* where in `out` each open group begins */
    unsigned depth, groups;
    unsigned group[NESTING]; /* its number */
    bool closed[10];
    bool has_atom;                /* something stands before that can be repeated */
    char repeat;                  /* how it is repeated so far: 0, '*', '+', '?', '{' */
    size_t atom;                  /* where in `out` it begins */
    bool atom_is_run;             /* it is the last byte of the run */
    bool atom_repeats;            /* there is an unbounded repetition in it */
    bool group_repeats[NESTING];  /* in each open group, so far */
    struct str_builder run, best; /* literal text of this alternative */
    struct regex_text *to;        /* alternatives that are over have put theirs there */
    bool bare;                    /* one of them has none */
    struct regex_error *err;
};

static bool fault(struct translation *t, size_t at, const char *text)
{
    t->err->offset = at;
    snprintf(t->err->text, sizeof(t->err->text), "%s", text);
    return false;
}

static bool more(const struct translation *t)
{
    return t->at < t->in.len;
}

static void run_end(struct translation *t)
{
    if (t->run.len > t->best.len) {
        t->best.len = 0;
        str_add(&t->best, str_built(&t->run));
    }
    t->run.len = 0;
    t->atom_is_run = false;
}

/* The end of an alternative of the whole pattern. */
static void branch_end(struct translation *t)
{
    run_end(t);
    t->bare |= t->best.len == 0;
    if (t->to->n_literals < REGEX_LITERALS)
        t->to->literal[t->to->n_literals++] = str_slice(str_built(&t->best), 0, t->best.len);
    else
        t->bare = true;
    /* The next one's goes behind it. */
    char *at = t->best.at + t->best.len + 1;
    str_builder_init(&t->best, at, t->best.cap - t->best.len - 1);
}

static void no_atom(struct translation *t)
{
    t->has_atom = false;
    t->repeat = 0;
}

/* What follows in `out` can be repeated as one. */
static void atom_begin(struct translation *t)
{
    t->atom_repeats = false;
    t->has_atom = true;
    t->repeat = 0;
    t->atom = t->out.len;
    t->atom_is_run = false;
}

static void add_plain(struct str_builder *out, char c)
{
    if (!str_is(c, STR_ALPHA | STR_DIGIT) && (uint8_t)c < 128) {
        if ((uint8_t)c < 32 || c == 127) {
            str_add_format(out, "\\x%02x", (unsigned)(uint8_t)c);
            return;
        }
        str_add_char(out, '\\');
    }
    str_add_char(out, c);
}

static void literal(struct translation *t, char c)
{
    atom_begin(t);
    add_plain(&t->out, c);
    if (t->depth == 0) {
        str_add_char(&t->run, c);
        t->atom_is_run = true;
    }
}

/* ---- [...] ---- */

static const char *const class_names[] = {"alpha", "digit",  "alnum", "upper", "lower",
                                          "space", "blank",  "punct", "print", "graph",
                                          "cntrl", "xdigit", NULL};

/* [:alpha:], [.x.] and [=x=] at `at`. A single character gives its value, a class -1. */
static bool bracket_name(struct translation *t, int *single)
{
    char kind = t->in.at[t->at + 1];
    char end[2] = {kind, ']'};
    size_t from = t->at + 2;
    ptrdiff_t len = str_find(str_skip(t->in, from), (bt_str){end, 2});
    bt_str name;

    if (len < 0)
        return fault(t, t->at, "unmatched [");
    name = str_slice(t->in, from, from + (size_t)len);
    if (kind == ':') {
        bool known = false;

        for (const char *const *at = class_names; *at != NULL; at++)
            known |= bt_str_eq(name, str_from(*at));
        if (!known)
            return fault(t, t->at, "unknown character class");
        str_add_format(&t->out, "[:%.*s:]", BT_STR_ARGS(name));
        *single = -1;
    } else {
        if (name.len != 1)
            return fault(t, t->at, "unknown collating element");
        *single = (uint8_t)name.at[0];
    }
    t->at = from + (size_t)len + 2;
    return true;
}

/* One end of a range, or one member. */
static bool bracket_member(struct translation *t, int *single)
{
    bool named = t->in.at[t->at] == '[' && t->at + 1 < t->in.len &&
                 (t->in.at[t->at + 1] == ':' || t->in.at[t->at + 1] == '.' ||
                  t->in.at[t->at + 1] == '=');

    if (named)
        return bracket_name(t, single);
    *single = (uint8_t)t->in.at[t->at++];
    return true;
}

static bool bracket(struct translation *t)
{
    size_t from = t->at++;
    bool first = true;

    run_end(t);
    t->to->plain = false;
    atom_begin(t);
    str_add_char(&t->out, '[');
    if (more(t) && t->in.at[t->at] == '^') {
        str_add_char(&t->out, '^');
        t->at++;
    }
    for (;; first = false) {
        int low, high;

        if (!more(t))
            return fault(t, from, "unmatched [");
        if (t->in.at[t->at] == ']' && !first)
            break;
        if (!bracket_member(t, &low))
            return false;
        if (low < 0)
            continue;
        add_plain(&t->out, (char)low);
        if (t->at + 1 >= t->in.len || t->in.at[t->at] != '-' || t->in.at[t->at + 1] == ']')
            continue;
        t->at++;
        if (!bracket_member(t, &high))
            return false;
        if (high < low)
            return fault(t, from, "a range in [ ] ends before it begins");
        str_add_char(&t->out, '-');
        add_plain(&t->out, (char)high);
    }
    t->at++;
    str_add_char(&t->out, ']');
    return true;
}

/* ---- repetition ---- */

/* The text so far of the atom becomes a group, so that one more repetition can follow. */
static void atom_wrap(struct translation *t)
{
    static const char open[] = "(?:";
    size_t len = t->out.len - t->atom;

    str_add_literal(&t->out, "   )");
    memmove(t->out.at + t->atom + 3, t->out.at + t->atom, len);
    memcpy(t->out.at + t->atom, open, 3);
}

static void run_repeated(struct translation *t, bool maybe_none, bool endless)
{
    t->to->plain = false;
    if (endless) {
        t->to->nests |= t->atom_repeats;
        t->atom_repeats = true;
        for (unsigned i = 0; i < t->depth; i++)
            t->group_repeats[i] = true;
    }
    /* «a+» holds an a, but not when «?» or the like follows. */
    bool again = more(t) && memchr("*+?{", t->in.at[t->at], 4) != NULL;

    if (t->atom_is_run && (maybe_none || again))
        t->run.len--;
    run_end(t);
}

static bool repeat_char(struct translation *t, char c)
{
    if (!t->has_atom) {
        if (c != '*')
            return fault(t, t->at, "nothing stands before it that could be repeated");
        t->at++;
        literal(t, c);
        return true;
    }
    t->at++;
    run_repeated(t, c != '+', c != '?');
    if (t->repeat == 0 || t->repeat == '{') {
        if (t->repeat == '{')
            atom_wrap(t);
        str_add_char(&t->out, c);
        t->repeat = c;
    } else if (t->repeat != c) {
        /* In PCRE2 a+? and a++ have other meanings; here they are (a+)? and (a+)+. */
        t->out.at[t->out.len - 1] = t->repeat = '*';
    }
    return true;
}

static bool take_count(struct translation *t, int *n)
{
    *n = -1;
    for (; more(t) && str_is(t->in.at[t->at], STR_DIGIT); t->at++) {
        *n = (*n < 0 ? 0 : *n * 10) + (t->in.at[t->at] - '0');
        if (*n > REPEATS)
            return fault(t, t->at, "more than 32767 repetitions");
    }
    return true;
}

static bool interval(struct translation *t)
{
    size_t from = t->at;
    int low, high;
    bool comma;

    if (!t->has_atom)
        return fault(t, from, "nothing stands before it that could be repeated");
    t->at++;
    if (!take_count(t, &low))
        return false;
    comma = more(t) && t->in.at[t->at] == ',';
    high = low;
    if (comma) {
        t->at++;
        if (!take_count(t, &high))
            return false;
        low = low < 0 ? 0 : low;
    }
    if (!more(t))
        return fault(t, from, "unmatched {");
    if (t->in.at[t->at] != '}' || low < 0 || (high >= 0 && high < low))
        return fault(t, from, "what stands in { } is not a count");
    t->at++;
    run_repeated(t, low == 0, high < 0);
    if (t->repeat != 0)
        atom_wrap(t);
    t->repeat = '{';
    if (high < 0)
        str_add_format(&t->out, "{%d,}", low);
    else
        str_add_format(&t->out, "{%d,%d}", low, high);
    return true;
}

/* ---- groups, escapes ---- */

static bool group_open(struct translation *t)
{
    if (t->at + 1 < t->in.len && t->in.at[t->at + 1] == '?')
        return fault(t, t->at, "(? is not POSIX ERE");
    if (t->depth == NESTING)
        return fault(t, t->at, "groups are nested too deeply");
    run_end(t);
    t->to->plain = false;
    t->open[t->depth] = t->out.len;
    t->group_repeats[t->depth] = false;
    t->group[t->depth++] = ++t->groups;
    str_add_char(&t->out, '(');
    no_atom(t);
    t->at++;
    return true;
}

static bool group_close(struct translation *t)
{
    size_t begin;

    if (t->depth == 0) {
        literal(t, ')'); /* POSIX: unmatched, it is itself */
    } else {
        begin = t->open[--t->depth];
        str_add_char(&t->out, ')');
        if (t->group[t->depth] < 10)
            t->closed[t->group[t->depth]] = true;
        atom_begin(t);
        t->atom = begin;
        t->atom_repeats = t->group_repeats[t->depth];
    }
    t->at++;
    return true;
}

static void assertion(struct translation *t, const char *text)
{
    run_end(t);
    t->to->plain = false;
    str_add(&t->out, str_from(text));
    no_atom(t);
}

static bool escape(struct translation *t)
{
    char c;

    if (t->at + 1 == t->in.len)
        return fault(t, t->at, "trailing backslash");
    c = t->in.at[t->at + 1];
    if (c >= '1' && c <= '9' && !t->closed[c - '0'])
        return fault(t, t->at, "back reference to a group that does not stand before it");
    t->at += 2;
    switch (c) {
    case '<':
        assertion(t, "\\b(?=\\w)");
        break;
    case '>':
        assertion(t, "\\b(?<=\\w)");
        break;
    case '`':
        assertion(t, "\\A");
        break;
    case '\'':
        assertion(t, "\\z");
        break;
    case 'b':
    case 'B':
        assertion(t, c == 'b' ? "\\b" : "\\B");
        break;
    case 'w':
    case 'W':
    case 's':
    case 'S':
        run_end(t);
        t->to->plain = false;
        atom_begin(t);
        str_add_char(&t->out, '\\');
        str_add_char(&t->out, c);
        break;
    default:
        if (c >= '1' && c <= '9') {
            run_end(t);
            t->to->plain = false;
            t->to->back_references = true;
            atom_begin(t);
            str_add_format(&t->out, "\\g{%c}", c);
        } else {
            literal(t, c); /* \d is a d, as in the C library */
        }
    }
    return true;
}

static bool translate_one(struct translation *t)
{
    char c = t->in.at[t->at];

    switch (c) {
    case '\\':
        return escape(t);
    case '[':
        return bracket(t);
    case '(':
        return group_open(t);
    case ')':
        return group_close(t);
    case '*':
    case '+':
    case '?':
        return repeat_char(t, c);
    case '{':
        return interval(t);
    case '|':
        assertion(t, "|");
        if (t->depth == 0)
            branch_end(t);
        break;
    case '^':
    case '$':
        assertion(t, c == '^' ? "^" : "\\z");
        break;
    case '.':
        run_end(t);
        t->to->plain = false;
        atom_begin(t);
        str_add_char(&t->out, '.');
        break;
    default:
        literal(t, c);
    }
    t->at++;
    return true;
}

static bool translate(struct translation *t)
{
    while (more(t))
        if (!translate_one(t))
            return false;
    if (t->depth > 0)
        return fault(t, t->in.len, "unmatched (");
    branch_end(t);
    if (t->bare)
        t->to->n_literals = 0;
    t->to->plain &= t->to->n_literals == 1;
    CHECK(!t->out.over && !t->run.over && !t->best.over);
    return true;
}

bool regex_text_init(struct regex_text *to, bt_str pattern, unsigned flags, struct regex_error *err)
{
    /* The longest that a byte can become: «\<» 9 for 2, a repetition 5 or 14 for 1 to 3. */
    size_t room = pattern.len * 16 + 64, small = pattern.len + 2;
    struct translation *t = calloc(1, sizeof(*t));
    bool good;

    CHECK(pattern.len < SIZE_MAX / 32 && t != NULL);
    *to = (struct regex_text){.plain = true, .memory = calloc(1, room + 2 * small)};
    CHECK(to->memory != NULL);
    *err = (struct regex_error){0};
    t->in = pattern;
    t->err = err;
    t->to = to;
    str_builder_init(&t->out, to->memory, room);
    str_builder_init(&t->run, to->memory + room, small);
    str_builder_init(&t->best, to->memory + room + small, small);
    good = translate(t);
    if (good) {
        to->text = str_built(&t->out);
        if ((flags & REGEX_NOCASE) != 0)
            str_lower_in_place(to->memory + room + small, small);
    } else {
        regex_text_fini(to);
    }
    free(t);
    return good;
}

void regex_text_fini(struct regex_text *text)
{
    free(text->memory);
    text->memory = NULL;
}
