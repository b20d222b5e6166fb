/* mend.c - request heads that are written carelessly and yet have one meaning: made strict.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/mend.h"

#include <string.h>

#include "base/str.h"

bool mend_may_help(const struct mend *mend, enum head_fault fault)
{
    switch (fault) {
    case FAULT_LINE:
    case FAULT_LINE_END:
        return mend->relaxed;
    case FAULT_BINARY: /* a tab in the first line */
        return mend->relaxed || mend->blanks != MEND_DENY;
    default:
        return false;
    }
}

/* ---- the first line ---- */

/* Leaves out the line's end. */
static bt_str first_line(const char *buf, size_t len)
{
    const char *lf = memchr(buf, '\n', len);
    const char *end = lf == NULL ? buf + len : lf > buf && lf[-1] == '\r' ? lf - 1 : lf;

    return str_span(buf, end);
}

static bool is_version(bt_str word)
{
    return word.len == 8 &&
           (memcmp(word.at, "HTTP/1.1", 8) == 0 || memcmp(word.at, "HTTP/1.0", 8) == 0);
}

/* Exactly one blank between the parts, and none behind, unless that may be mended. */
static bool gap_fits(const struct mend *mend, bt_str gap)
{
    return mend->relaxed || (gap.len == 1 && gap.at[0] == ' ');
}

struct line {
    bt_str method, target, version; /* the target with all its blanks */
};

static size_t blanks_before(bt_str s, size_t at)
{
    size_t n = 0;

    while (n < at && str_is(s.at[at - n - 1], STR_BLANK))
        n++;
    return n;
}

static bool split(const struct mend *mend, bt_str text, struct line *out)
{
    size_t from = 0, to, gap, tail = blanks_before(text, text.len), end = text.len - tail;

    while (from < end && str_is(text.at[from], STR_TOKEN))
        from++;
    out->method = (bt_str){text.at, from};
    for (gap = from; gap < end && str_is(text.at[gap], STR_BLANK); gap++)
        continue;
    to = end;
    while (to > gap && !str_is(text.at[to - 1], STR_BLANK))
        to--;
    out->version = (bt_str){text.at + to, end - to};
    if (from == 0 || gap == from || to == gap || !is_version(out->version))
        return false;
    size_t second = blanks_before(text, to);
    out->target = (bt_str){text.at + gap, to - second - gap};
    return (tail == 0 || mend->relaxed) && gap_fits(mend, (bt_str){text.at + from, gap - from}) &&
           gap_fits(mend, (bt_str){text.at + to - second, second});
}

/* Where the path begins, behind "scheme://host"; the whole length when it has none. */
static size_t path_of(bt_str target)
{
    ptrdiff_t colon = str_find(target, BT_STR("://")), slash;

    if (target.len > 0 && target.at[0] == '/')
        return 0;
    if (colon < 0)
        return target.len;
    slash = str_find_char(str_skip(target, (size_t)colon + 3), '/');
    return slash < 0 ? target.len : (size_t)(colon + 3 + slash);
}

static bool target_may(const struct mend *mend, const struct line *line)
{
    bt_str rest = line->target, word;
    ptrdiff_t blank = str_find_class(rest, STR_BLANK);

    if (blank < 0)
        return true;
    if (mend->blanks == MEND_DENY || str_eq_literal(line->method, "CONNECT") ||
        (size_t)blank < path_of(rest))
        return false;
    while (str_word(&rest, &word))
        if (str_starts_nocase(word, BT_STR("HTTP/")))
            return false;
    return true;
}

static char *put(char *at, bt_str s)
{
    if (s.len > 0)
        memcpy(at, s.at, s.len);
    return at + s.len;
}

static char *put_target(const struct mend *mend, bt_str target, char *at)
{
    for (size_t i = 0; i < target.len; i++) {
        char c = target.at[i];
        if (!str_is(c, STR_BLANK))
            *at++ = c;
        else if (mend->blanks == MEND_CHOP)
            break;
        else if (mend->blanks != MEND_STRIP)
            at = put(at, c == ' ' ? BT_STR("%20") : BT_STR("%09"));
    }
    return at;
}

/* ---- the lines ---- */

/* Every line ends in a bare LF, there is no CR, and no body is spoken of. */
static bool is_bare(const char *buf, size_t len)
{
    bt_str rest = {buf, len}, line;

    if (memchr(buf, '\r', len) != NULL)
        return false;
    while (str_cut(&rest, '\n', &line))
        if (str_starts_nocase(line, BT_STR("Content-Length")) ||
            str_starts_nocase(line, BT_STR("Transfer-Encoding")))
            return false;
    return true;
}

/* All lines behind the first one; bare ones get their CR. */
static char *put_lines(bt_str lines, bool bare, char *at)
{
    bt_str line;

    if (!bare)
        return put(at, lines);
    while (str_cut(&lines, '\n', &line) && lines.at != NULL) {
        at = put(at, line);
        at = put(at, BT_STR("\r\n"));
    }
    return at;
}

size_t mend_request(const struct mend *mend, const char *buf, size_t len, char *out, bool *last)
{
    bt_str text = first_line(buf, len);
    bool bare = mend->relaxed && is_bare(buf, len);
    size_t skip = text.len + (bare ? 1 : 2);
    char *at = out;
    struct line line;

    *last = bare;
    if (skip > len || (!bare && text.at[text.len] != '\r') || !split(mend, text, &line) ||
        !target_may(mend, &line))
        return 0;
    at = put(at, line.method);
    *at++ = ' ';
    at = put_target(mend, line.target, at);
    *at++ = ' ';
    at = put(at, line.version);
    at = put(at, BT_STR("\r\n"));
    at = put_lines((bt_str){buf + skip, len - skip}, bare, at);
    return (size_t)(at - out);
}
