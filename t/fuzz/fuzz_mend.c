/* fuzz_mend.c - careless request heads: what is mended is strict, and says nothing else than before.
 *
 * The first byte is a digit: what may be mended (odd: relaxed; its half: the word of uri_whitespace).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include "http/mend.h"

enum { FIELDS = 64, SETTINGS = 10, ROOM = 70000 };
static const char MARK = '\x5a';

struct careless {
    struct mend mend;
    const char *buf; /* one head */
    size_t len;
    bool whole; /* as every caller gives it; else it must do no harm, and no more */
};

static struct careless careless_of(const uint8_t *data, size_t size)
{
    unsigned setting = (uint8_t)(data[0] - '0') % SETTINGS;
    struct careless c = {{setting % 2 != 0, (enum mend_blanks)(setting / 2)}, NULL, 0, true};
    size_t scanned = 0;

    c.buf = (const char *)data + 1;
    c.len = head_end(c.buf, size - 1, &scanned);
    if (c.len == 0) {
        c.len = size - 1;
        c.whole = false;
    }
    return c;
}

static bt_str line_of(bt_str head)
{
    bt_str line;

    (void)!str_cut(&head, '\n', &line);
    return str_ends(line, BT_STR("\r")) ? str_slice(line, 0, line.len - 1) : line;
}

/* The lines behind the first one, with the ends that they should have, behind a line that is good
 * whatever they say. For somebody to free. */
static char *lines_strict(const struct careless *c, bool bare, bool old, size_t *len)
{
    char *out = malloc(c->len * 2 + 64), *at = out;
    const char *lf = memchr(c->buf, '\n', c->len);

    MUST(out != NULL && lf != NULL);
    at += sprintf(at, "GET http://a/ HTTP/1.%d\r\n", old ? 0 : 1);
    for (const char *from = lf + 1; from < c->buf + c->len; from++) {
        if (bare && *from == '\n')
            *at++ = '\r';
        *at++ = *from;
    }
    *len = (size_t)(at - out);
    return out;
}

static bool has_control(bt_str line)
{
    for (size_t i = 0; i < line.len; i++)
        if ((uint8_t)line.at[i] < ' ' || line.at[i] == 0x7f)
            return true;
    return false;
}

/* Everything that stood behind the first line stands there still. */
static void check_fields(const struct careless *c, bt_str out, bool last)
{
    static struct head_field mended_fields[FIELDS], fields[FIELDS];
    struct head mended, plain;
    bt_str line = line_of(out);
    size_t len, first = line.len + 2, scanned = 0;
    char *lines = lines_strict(c, last, str_ends(line, BT_STR("HTTP/1.0")), &len);
    size_t plain_first = line_of((bt_str){lines, len}).len + 2;

    MUST(bt_str_eq(str_skip(out, first), str_skip((bt_str){lines, len}, plain_first)));
    enum head_fault fault = parse_request(&mended, out.at, out.len, mended_fields, FIELDS);
    enum head_fault of_lines = parse_request(&plain, lines, len, fields, FIELDS);
    if (fault == FAULT_NONE) {
        MUST(head_end(out.at, out.len, &scanned) == out.len);
        MUST(of_lines == FAULT_NONE || str_eq_literal(mended.method, "CONNECT"));
        MUST(!last || (mended.content_length < 0 && !mended.chunked));
    } else if (!has_control(line)) {
        /* The target may be none, and the fields are not ours; the line has its form. */
        MUST(fault != FAULT_LINE && fault != FAULT_NO_VERSION && fault != FAULT_VERSION);
        MUST(fault != FAULT_LINE_END || of_lines == FAULT_LINE_END);
    }
    free(lines);
}

static bt_str without_blanks(bt_str s, char *at)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        if (!str_is(s.at[i], STR_BLANK))
            at[n++] = s.at[i];
    return (bt_str){at, n};
}

/* The first line has one blank between its parts, and no byte has gone that was no blank. */
static void check_line(const struct careless *c, bt_str out)
{
    static char before[ROOM], after[3 * ROOM + 64];
    bt_str line = line_of(out), given = line_of((bt_str){c->buf, c->len});
    bt_str method, rest, target, version;

    MUST(str_split(line, ' ', &method, &rest) && str_split(rest, ' ', &target, &version));
    MUST(method.len > 0 && str_all(method, STR_TOKEN) && target.len > 0);
    MUST(str_eq_literal(version, "HTTP/1.1") || str_eq_literal(version, "HTTP/1.0"));
    MUST(str_find_class(target, STR_BLANK) < 0);
    MUST(str_starts(given, method) && str_ends(str_trim(given), version));
    bt_str was = without_blanks(given, before), is = without_blanks(line, after);
    if (c->mend.blanks == MEND_STRIP || c->mend.blanks == MEND_DENY)
        MUST(bt_str_eq(was, is));
    else if (c->mend.blanks == MEND_CHOP)
        MUST(str_starts(was, str_slice(is, 0, is.len - version.len)));
    else
        MUST(is.len >= was.len);
}

/* What was mended needs no mending, and that comes out as it went in. */
static void check_again(const struct mend *mend, bt_str out)
{
    char *again = malloc(MEND_ROOM(out.len));
    bool last = true;

    MUST(again != NULL);
    size_t len = mend_request(mend, out.at, out.len, again, &last);
    MUST(bt_str_eq((bt_str){again, len}, out) && !last);
    free(again);
}

static void check_strict(const struct careless *c, bt_str out)
{
    static struct head_field fields[FIELDS];
    struct head head;

    /* Of HTTP/1.2 it says that it cannot help. */
    if (out.len > 0 && parse_request(&head, c->buf, c->len, fields, FIELDS) == FAULT_NONE)
        MUST(bt_str_eq(out, (bt_str){c->buf, c->len}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > ROOM)
        return 0;
    struct careless c = careless_of(data, size);
    char *copy = malloc(c.len), *out = malloc(MEND_ROOM(c.len));
    bool last = false;

    MUST(copy != NULL && out != NULL);
    memcpy(copy, c.buf, c.len);
    memset(out, MARK, MEND_ROOM(c.len));
    size_t len = mend_request(&c.mend, c.buf, c.len, out, &last);
    MUST(memcmp(copy, c.buf, c.len) == 0 && len <= MEND_ROOM(c.len));
    for (size_t i = len; i < MEND_ROOM(c.len); i++)
        MUST(out[i] == MARK);
    if (c.whole)
        check_strict(&c, (bt_str){out, len});
    if (c.whole && len > 0) {
        MUST(!last || memchr(c.buf, '\r', c.len) == NULL);
        check_line(&c, (bt_str){out, len});
        check_fields(&c, (bt_str){out, len}, last);
        check_again(&c.mend, (bt_str){out, len});
    }
    free(out);
    free(copy);
    return 0;
}
