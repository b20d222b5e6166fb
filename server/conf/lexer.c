/* lexer.c - the words of a line: blanks, comments, quotes, continued lines, macros.
 *
 * Two passes over each line. join() puts the physical lines together that backslashes join, and
 * notes where each piece came from; it must know what is a comment, so a small state machine
 * follows along. split() then cuts the words, puts macros in, and asks those notes for places.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/lexer.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "conf/complain.h"

/* From `offset` of the joined line on, bytes stand at this place of the file. */
struct piece {
    size_t offset;
    uint32_t line, column;
};

struct growing {
    char *at;
    size_t len, room;
};

struct lexer_buffer {
    struct growing raw;  /* the joined line, as written */
    struct growing text; /* all after the name, macros put in */
    struct growing word; /* the word that is being cut */
    struct piece *piece;
    size_t pieces, pieces_room;
    size_t near; /* piece of the last place asked for: places are asked in order */
    struct bt_word *words;
    uint8_t *how;
    uint32_t *start;
    size_t n, room;
};

/* ---- scratch memory ---- */

static void *grown(void *at, size_t n, size_t size)
{
    void *more = reallocarray(at, n, size);

    CHECK(more != NULL);
    return more;
}

static void put(struct growing *text, const char *at, size_t n)
{
    if (text->at == NULL || text->room - text->len < n) {
        text->room = (text->len + n) * 2 + 64;
        text->at = grown(text->at, text->room, 1);
    }
    if (n > 0)
        memcpy(text->at + text->len, at, n);
    text->len += n;
}

static void put_piece(struct lexer_buffer *buffer, uint32_t line, size_t column)
{
    if (buffer->pieces == buffer->pieces_room) {
        buffer->pieces_room = buffer->pieces_room * 2 + 8;
        buffer->piece = grown(buffer->piece, buffer->pieces_room, sizeof *buffer->piece);
    }
    buffer->piece[buffer->pieces++] = (struct piece){buffer->raw.len, line, (uint32_t)column};
}

static void put_word(struct lexer_buffer *buffer, const struct bt_word *word, enum file_how how,
                     size_t start)
{
    if (buffer->n == buffer->room) {
        buffer->room = buffer->room * 2 + 16;
        buffer->words = grown(buffer->words, buffer->room, sizeof *buffer->words);
        buffer->how = grown(buffer->how, buffer->room, sizeof *buffer->how);
        buffer->start = grown(buffer->start, buffer->room, sizeof *buffer->start);
    }
    buffer->words[buffer->n] = *word;
    buffer->how[buffer->n] = (uint8_t)how;
    buffer->start[buffer->n] = (uint32_t)start;
    buffer->n++;
}

/* ---- places ---- */

/* A word without text that stands at `offset` of the joined line. */
static struct bt_word place(struct lexer *lexer, size_t offset)
{
    struct lexer_buffer *buffer = lexer->buffer;
    size_t i = buffer->near;

    if (i >= buffer->pieces || buffer->piece[i].offset > offset)
        i = 0;
    while (i + 1 < buffer->pieces && buffer->piece[i + 1].offset <= offset)
        i++;
    buffer->near = i;
    const struct piece *piece = &buffer->piece[i];
    return (struct bt_word){
        .text = BT_STR(""),
        .file = lexer->file,
        .line = piece->line,
        .column = piece->column + (uint32_t)(offset - piece->offset),
    };
}

static void complain_about(struct lexer *lexer, const struct bt_word *at, const char *what)
{
    if (!lexer->skip)
        (void)bt_complain(lexer->err, at, "%s", what);
}

static void caution_about(struct lexer *lexer, const struct bt_word *at, const char *what)
{
    if (!lexer->skip)
        bt_caution(lexer->err, at, "%s", what);
}

/* ---- joining lines ---- */

/* Where in its words a line is, followed byte by byte. */
struct state {
    bool in_word, in_comment, escaped;
    char quote; /* the mark that ends the word; 0: none */
};

static void state_step(struct state *state, char c)
{
    bool blank = c == ' ' || c == '\t';

    if (state->in_comment)
        return;
    if (state->quote != 0) {
        if (!state->escaped && c == state->quote)
            state->quote = 0;
        state->escaped = !state->escaped && c == '\\';
    } else if (blank) {
        state->in_word = false;
    } else if (!state->in_word) {
        state->in_word = true;
        state->in_comment = c == '#';
        state->quote = c == '"' || c == '\'' ? c : '\0';
    }
}

/* The next physical line without its end; false when there is none. */
static bool physical_line(struct lexer *lexer, bt_str *line)
{
    if (lexer->rest.len == 0)
        return false;
    const char *end = memchr(lexer->rest.at, '\n', lexer->rest.len);
    size_t len = end != NULL ? (size_t)(end - lexer->rest.at) : lexer->rest.len;

    *line = (bt_str){lexer->rest.at, len};
    lexer->rest = str_skip(lexer->rest, end != NULL ? len + 1 : len);
    lexer->line++;
    if (line->len > 0 && line->at[line->len - 1] == '\r')
        line->len--;
    return true;
}

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || (unsigned char)c == 127;
}

/* Complain of the first byte of [from, to) in raw that has no business in text. A NUL is refused
 * in comments, too: the file is not text, and what else it says is not what an editor shows. */
static void check_bytes(struct lexer *lexer, size_t from, size_t comment)
{
    const struct growing *raw = &lexer->buffer->raw;

    for (size_t i = from; i < raw->len; i++) {
        if (!is_control(raw->at[i]) || (i >= comment && raw->at[i] != '\0'))
            continue;
        struct bt_word at = place(lexer, i);
        if (!lexer->skip)
            (void)bt_complain(lexer->err, &at,
                              raw->at[i] == '\0'
                                  ? "byte %u: this is not a text file; save it as UTF-8"
                                  : "control byte %u: delete it, or write a blank",
                              (unsigned)(unsigned char)raw->at[i]);
        return;
    }
}

/* A line without words: empty, or all of it comment. Those neither end nor are a part of a line
 * that backslashes join, even in the middle of a word. */
static bool join_nothing(struct lexer *lexer, bt_str body, bool first)
{
    struct bt_word at = {.text = BT_STR(""), .file = lexer->file, .line = lexer->line};

    if (body.len == 0 && !first)
        caution_about(lexer, &at,
                      "this empty line does not end the line above, which ends in a backslash: "
                      "delete the backslash, or this line");
    if (body.len > 0 && memchr(body.at, '\0', body.len) != NULL)
        complain_about(lexer, &at, "byte 0: this is not a text file; save it as UTF-8");
    return !first;
}

/* Take the backslash off the end; true when there is one. *stray: blanks stand behind it. */
static bool cut_backslash(bt_str *body, bool *stray)
{
    size_t len = body->len;

    while (len > 0 && (body->at[len - 1] == ' ' || body->at[len - 1] == '\t'))
        len--;
    if (len == 0 || body->at[len - 1] != '\\')
        return false;
    *stray = len < body->len;
    body->len = len - 1;
    return true;
}

/* Append a physical line to the joined one; true when the next one belongs to it as well. */
static bool join_line(struct lexer *lexer, bt_str line, bool first, struct state *state)
{
    struct lexer_buffer *buffer = lexer->buffer;
    bt_str body = line;
    bool stray = false;

    while (body.len > 0 && (body.at[0] == ' ' || body.at[0] == '\t'))
        body = str_skip(body, 1);
    if (body.len == 0 || body.at[0] == '#')
        return join_nothing(lexer, body, first);

    size_t from = buffer->raw.len, comment = state->in_comment ? from : SIZE_MAX;
    put_piece(buffer, lexer->line, (size_t)(body.at - line.at) + 1);
    bool joins = cut_backslash(&body, &stray);
    for (size_t i = 0; i < body.len; i++) {
        state_step(state, body.at[i]);
        if (state->in_comment && comment == SIZE_MAX)
            comment = from + i;
    }
    put(&buffer->raw, body.at, body.len);
    check_bytes(lexer, from, comment);
    if (!joins || (stray && state->in_comment))
        return false;
    if (stray) {
        struct bt_word at = place(lexer, buffer->raw.len);
        complain_about(lexer, &at,
                       "a backslash \\ joins lines only as the very last byte: delete the blanks "
                       "behind it");
    } else if (state->in_comment && comment != from) {
        struct bt_word at = place(lexer, comment);
        caution_about(lexer, &at,
                      "the backslash at the end of this comment makes the next line a part of it: "
                      "delete the backslash");
    }
    return true;
}

/* The next logical line into buffer->raw; false at the end of the text. */
static bool join(struct lexer *lexer)
{
    struct lexer_buffer *buffer = lexer->buffer;
    bt_str line;

    while (true) {
        struct state state = {.in_word = false};
        bool first = true, more = true;

        buffer->raw.len = buffer->pieces = buffer->near = 0;
        while (more) {
            if (!physical_line(lexer, &line)) {
                if (first)
                    return false;
                struct bt_word at = place(lexer, buffer->raw.len);
                caution_about(lexer, &at,
                              "the file ends in a backslash: its last line may be lost");
                break;
            }
            more = join_line(lexer, line, first, &state);
            first = false;
        }
        if (buffer->raw.len > 0)
            return true;
    }
}

/* ---- macros ---- */

/* Look up a name; false: it is not ours, and stays as written. */
static bool macro_value(struct lexer *lexer, bt_str name, const struct bt_word *at, bt_str *value)
{
    static const char *const names[] = {"service_name", "process_name", "process_number", NULL};
    static const struct file_macros otherwise = {"bobtail", "bobtail", 1};
    const struct file_macros *macros = lexer->macros != NULL ? lexer->macros : &otherwise;

    if (str_starts(name, BT_STR("env:"))) {
        bt_str variable = bt_str_copy(lexer->arena, str_skip(name, 4));
        *value = str_from(getenv(variable.at));
        if (value->at == NULL) {
            (void)bt_complain(lexer->err, at,
                              "the environment has no %s: set it for the server (Environment= in "
                              "the unit file), or write the value here",
                              complain_word(lexer->err, variable));
            *value = BT_STR("");
        }
        for (size_t i = 0; i < value->len; i++)
            if (is_control(value->at[i]))
                return bt_complain(lexer->err, at, "%s of the environment holds control byte %u",
                                   complain_word(lexer->err, variable),
                                   (unsigned)(unsigned char)value->at[i]);
        return true;
    }
    if (str_eq_literal(name, "service_name")) {
        *value = str_from(macros->service_name);
    } else if (str_eq_literal(name, "process_name")) {
        *value = str_from(macros->process_name);
    } else if (str_eq_literal(name, "process_number")) {
        *value = bt_str_printf(lexer->arena, "%u", macros->process_number);
        bt_caution(lexer->err, at,
                   "${process_number} is %u for all workers: they share one configuration",
                   macros->process_number);
    } else {
        const char *near = suggest_from(name, names);
        if (near != NULL)
            bt_caution(lexer->err, at, "unknown macro %s stays as it is; did you mean '%s'?",
                       complain_word(lexer->err, name), near);
        return false;
    }
    return true;
}

/* Into the word, and into the text of the line, which keeps quotation marks and backslashes. */
static void put_both(struct lexer_buffer *buffer, const char *at, size_t n)
{
    put(&buffer->word, at, n);
    put(&buffer->text, at, n);
}

/* Put what stands at raw[*i] into the word: a macro's value, or the byte. */
static void put_expanded(struct lexer *lexer, size_t *i, size_t end)
{
    struct lexer_buffer *buffer = lexer->buffer;
    const char *at = buffer->raw.at + *i;
    size_t left = end - *i;
    bt_str value;

    if (!lexer->skip && left > 3 && at[0] == '$' && at[1] == '{') {
        const char *close = memchr(at, '}', left);
        struct bt_word here = place(lexer, *i);
        if (close != NULL && macro_value(lexer, str_span(at + 2, close), &here, &value)) {
            put_both(buffer, value.at, value.len);
            *i += (size_t)(close - at) + 1;
            return;
        }
    }
    put_both(buffer, at, 1);
    (*i)++;
}

/* ---- cutting words ---- */

static bool blank_at(const struct growing *raw, size_t i)
{
    return i >= raw->len || raw->at[i] == ' ' || raw->at[i] == '\t';
}

/* From the opening mark on; *i ends behind the word. */
static enum file_how cut_quoted(struct lexer *lexer, size_t *i)
{
    struct lexer_buffer *buffer = lexer->buffer;
    const struct growing *raw = &buffer->raw;
    char quote = raw->at[*i];

    put(&buffer->text, raw->at + (*i)++, 1);
    while (*i < raw->len && raw->at[*i] != quote) {
        if (raw->at[*i] != '\\' || *i + 1 >= raw->len) {
            put_expanded(lexer, i, raw->len);
            continue;
        }
        char c = raw->at[*i + 1];
        char meant = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
        put(&buffer->word, &meant, 1);
        put(&buffer->text, raw->at + *i, 2);
        *i += 2;
    }
    if (*i >= raw->len)
        return FILE_UNCLOSED;
    put(&buffer->text, raw->at + (*i)++, 1);
    return blank_at(raw, *i) ? FILE_QUOTED : FILE_GLUED;
}

static void cut_plain(struct lexer *lexer, size_t *i)
{
    const struct growing *raw = &lexer->buffer->raw;

    while (!blank_at(raw, *i))
        put_expanded(lexer, i, raw->len);
}

/* parameters("NAME") of strict quoting. false: something else. */
static bool cut_parameters(struct lexer *lexer, size_t *i)
{
    static const char opening[] = "parameters(";
    struct lexer_buffer *buffer = lexer->buffer;
    const struct growing *raw = &buffer->raw;
    size_t at = *i, n = sizeof opening - 1;

    if (!lexer->strict || raw->len - at <= n || memcmp(raw->at + at, opening, n) != 0)
        return false;
    at += n;
    while (at < raw->len && blank_at(raw, at))
        at++;
    if (at >= raw->len || (raw->at[at] != '"' && raw->at[at] != '\''))
        return false;
    put(&buffer->text, opening, n);
    if (cut_quoted(lexer, &at) == FILE_UNCLOSED)
        return false;
    while (at < raw->len && blank_at(raw, at))
        at++;
    if (at >= raw->len || raw->at[at] != ')' || !blank_at(raw, at + 1))
        return false;
    put(&buffer->text, ")", 1);
    *i = at + 1;
    return true;
}

/* A word that begins at raw[*i]: its text is in buffer->word. */
static enum file_how cut_word(struct lexer *lexer, size_t *i)
{
    struct lexer_buffer *buffer = lexer->buffer;
    size_t from = *i, start = buffer->text.len;
    enum file_how how = FILE_PLAIN;

    buffer->word.len = 0;
    if (cut_parameters(lexer, i))
        return FILE_PARAMETERS;
    buffer->word.len = 0;
    buffer->text.len = start;
    if (buffer->raw.at[from] == '"' || buffer->raw.at[from] == '\'') {
        how = cut_quoted(lexer, i);
        if (how != FILE_GLUED)
            return how;
        /* Not quoted after all: a plain word, which rows that take the rest of a line as text can
         * use. For the others there is lexer_word_fine(). */
        buffer->word.len = 0;
        buffer->text.len = start;
        *i = from;
    }
    cut_plain(lexer, i);
    return how;
}

/* Cut buffer->raw into words. */
static void split(struct lexer *lexer)
{
    struct lexer_buffer *buffer = lexer->buffer;
    const struct growing *raw = &buffer->raw;
    size_t i = 0;

    buffer->n = buffer->text.len = 0;
    while (i < raw->len) {
        size_t from = i;
        while (i < raw->len && blank_at(raw, i))
            i++;
        if (buffer->n > 1)
            put(&buffer->text, raw->at + from, i - from);
        if (i >= raw->len)
            break;
        if (raw->at[i] == '#') {
            /* No word, but a part of texts, in which `#` is a byte like others. */
            if (buffer->n > 1)
                put(&buffer->text, raw->at + i, raw->len - i);
            break;
        }
        struct bt_word word = place(lexer, i);
        size_t start = buffer->text.len;
        enum file_how how = cut_word(lexer, &i);
        word.text = bt_str_copy(lexer->arena, (bt_str){buffer->word.at, buffer->word.len});
        word.quoted = how == FILE_QUOTED;
        if (buffer->n == 0)
            buffer->text.len = start = 0;
        put_word(buffer, &word, how, start);
    }
}

/* ---- the outside ---- */

void lexer_init(struct lexer *lexer, const char *file, bt_str text, struct bt_arena *arena,
                struct bt_error *err)
{
    *lexer = (struct lexer){.rest = text, .file = file, .arena = arena, .err = err};
    lexer->buffer = calloc(1, sizeof *lexer->buffer);
    CHECK(lexer->buffer != NULL);
    put(&lexer->buffer->word, "", 0);
    if (str_starts(text, BT_STR("\xef\xbb\xbf")))
        lexer->rest = str_skip(text, 3);
}

void lexer_fini(struct lexer *lexer)
{
    struct lexer_buffer *buffer = lexer->buffer;

    free(buffer->raw.at);
    free(buffer->text.at);
    free(buffer->word.at);
    free(buffer->piece);
    free(buffer->words);
    free(buffer->how);
    free(buffer->start);
    free(buffer);
    lexer->buffer = NULL;
}

static void *kept(struct bt_arena *arena, const void *at, size_t n)
{
    void *copy = bt_alloc_raw(arena, n > 0 ? n : 1);

    if (n > 0)
        memcpy(copy, at, n);
    return copy;
}

bool lexer_next(struct lexer *lexer, struct file_line *out)
{
    struct lexer_buffer *buffer = lexer->buffer;

    do {
        if (!join(lexer))
            return false;
        split(lexer);
    } while (buffer->n == 0);

    size_t n = buffer->n - 1, len = buffer->text.len;
    while (len > 0 && (buffer->text.at[len - 1] == ' ' || buffer->text.at[len - 1] == '\t'))
        len--;
    /* A macro that is empty stands behind the last byte. */
    for (size_t i = 1; i <= n; i++)
        if (buffer->start[i] > len)
            buffer->start[i] = (uint32_t)len;
    *out = (struct file_line){
        .name = buffer->words[0],
        .word = kept(lexer->arena, buffer->words + 1, n * sizeof *buffer->words),
        .how = kept(lexer->arena, buffer->how + 1, n),
        .start = kept(lexer->arena, buffer->start + 1, n * sizeof *buffer->start),
        .n = n,
        .text = len > 0 ? bt_str_copy(lexer->arena, (bt_str){buffer->text.at, len}) : BT_STR(""),
        .strict = lexer->strict,
    };
    return true;
}

bool lexer_word_fine(const struct bt_word *word, enum file_how how, struct bt_error *err)
{
    if (how == FILE_UNCLOSED)
        return bt_complain(err, word, "the quotation mark before %s is not closed on this line",
                           complain_word(err, word->text));
    if (how == FILE_GLUED)
        return bt_complain(err, word, "a blank is missing behind the closing quotation mark in %s",
                           complain_word(err, word->text));
    return true;
}
