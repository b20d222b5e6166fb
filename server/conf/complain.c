/* complain.c - gathers complaints about the configuration, so that all are printed at once.
 *
 * Whoever writes a configuration wants to know everything that is wrong with it, not the first
 * thing, and to see the place. So complaints are kept, sorted by place when the reading is over,
 * and printed with the line that they are about. The line is read again from its file: nobody has
 * to keep the text of configurations that are fine.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/complain.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"

enum {
    SHOWN_MAX = 160, /* bytes of a source line that are shown */
    WORD_MAX = 80,   /* bytes of a word that are quoted */
    TEXT_MAX = 1000  /* of a complaint; words may be any length */
};

void complain_init(struct bt_error *err, struct bt_arena *arena)
{
    *err = (struct bt_error){.arena = arena};
}

void complain_fini(struct bt_error *err)
{
    free(err->list);
    *err = (struct bt_error){.arena = err->arena};
}

void complain_at(struct bt_error *err, const struct bt_word *line)
{
    err->line = line;
}

bool complain_any(const struct bt_error *err)
{
    return err->faults > 0;
}

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\t') || (unsigned char)c == 127;
}

const char *complain_word(struct bt_error *err, bt_str word)
{
    struct str_builder text;

    if (err->secret)
        return "(hidden)";
    str_builder_arena(&text, err->arena, (word.len < WORD_MAX ? word.len : WORD_MAX) + 16);
    str_add_char(&text, '\'');
    for (size_t i = 0; i < word.len && i < WORD_MAX; i++)
        str_add_char(&text, is_control(word.at[i]) ? '?' : word.at[i]);
    str_add(&text, word.len > WORD_MAX ? BT_STR("...'") : BT_STR("'"));
    return str_built(&text).at;
}

/* Room for one more; NULL when there are enough already. A fault is never left out for warnings:
 * it takes the place of the last one. */
static struct complaint *place_for(struct bt_error *err, bool fault)
{
    if (err->n == COMPLAIN_KEPT) {
        err->dropped++;
        if (!fault)
            return NULL;
        for (size_t i = err->n; i-- > 0;)
            if (!err->list[i].fault)
                return &err->list[i];
        return NULL;
    }
    if (err->n == err->room) {
        size_t room = err->room == 0 ? 16 : err->room * 2;
        struct complaint *more = realloc(err->list, room * sizeof *more);
        CHECK(more != NULL);
        err->list = more;
        err->room = room;
    }
    return &err->list[err->n++];
}

/* Words of files that others write may stand in there, and it is printed on terminals. */
static void make_harmless(char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++)
        if (is_control(text[i]) && text[i] != '\n')
            text[i] = '?';
    if (len > TEXT_MAX)
        strcpy(text + TEXT_MAX - 3, "...");
}

static void add(struct bt_error *err, const struct bt_word *at, bool fault, const char *format,
                va_list values)
{
    bool spared = fault && at != NULL && err->spare != NULL && err->spare(err->spare_arg, at);

    fault &= !spared;
    if (at == NULL)
        at = err->line;
    if (fault)
        err->faults++;
    else
        err->warnings++;

    struct complaint *one = place_for(err, fault);
    if (one == NULL)
        return;
    char *text = NULL;
    CHECK(vasprintf(&text, format, values) >= 0);
    make_harmless(text);
    *one = (struct complaint){
        .fault = fault,
        .secret = err->secret,
        .text = bt_str_printf(err->arena, "%s%s", text, spared ? "; this line is left out" : "").at,
        .order = err->faults + err->warnings,
    };
    free(text);
    if (at != NULL) {
        one->file = at->file;
        one->line = at->line;
        one->column = at->column;
        one->width = (uint32_t)(at->text.len + (at->quoted ? 2 : 0));
    }
}

bool bt_complain(struct bt_error *err, const struct bt_word *at, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    add(err, at, true, format, values);
    va_end(values);
    return false;
}

void bt_caution(struct bt_error *err, const struct bt_word *at, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    add(err, at, false, format, values);
    va_end(values);
}

/* ---- sorting ---- */

static bool same_file(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Files in the order in which they were first complained of, so that the main file stands before
 * what it includes; `order` holds the first complaint of each file while sorting. */
static size_t file_rank(const struct bt_error *err, const char *file)
{
    for (size_t i = 0; i < err->n; i++)
        if (same_file(err->list[i].file, file))
            return i;
    return err->n;
}

struct ranked {
    struct complaint complaint;
    size_t rank;
};

static int by_place(const void *a_, const void *b_)
{
    const struct ranked *a = a_, *b = b_;
    const struct complaint *x = &a->complaint, *y = &b->complaint;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool same_complaint(const struct complaint *a, const struct complaint *b)
{
    return a->line == b->line && a->column == b->column && a->fault == b->fault &&
           same_file(a->file, b->file) && strcmp(a->text, b->text) == 0;
}

/* Among those of the same place, is there one that says the same? They are neighbours by now. */
static bool said_before(const struct bt_error *err, const struct complaint *one)
{
    for (size_t i = err->n; i-- > 0;) {
        const struct complaint *other = &err->list[i];
        if (other->line != one->line || other->column != one->column)
            return false;
        if (same_complaint(other, one))
            return true;
    }
    return false;
}

void complain_sort(struct bt_error *err)
{
    size_t n = err->n;
    if (n == 0)
        return;
    struct ranked *all = calloc(n, sizeof *all);
    CHECK(all != NULL);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct ranked){err->list[i], file_rank(err, err->list[i].file)};
    qsort(all, n, sizeof *all, by_place);
    err->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct complaint *one = &all[i].complaint;
        if (!said_before(err, one))
            err->list[err->n++] = *one;
        else if (one->fault)
            err->faults--;
        else
            err->warnings--;
    }
    free(all);
}

/* ---- printing ---- */

/* The file that lines are shown of: read forward only, since complaints are sorted. */
struct source {
    const char *name;
    FILE *in;
    uint32_t line; /* number of the line in `text` */
    char *text;
    size_t room;
};

static void source_close(struct source *source)
{
    if (source->in != NULL)
        fclose(source->in);
    source->in = NULL;
    source->line = 0;
}

static void source_open(struct source *source, const char *name)
{
    struct stat about;

    source_close(source);
    source->name = name;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    /* What cannot be read twice has no lines to show. */
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || (source->in = fdopen(fd, "r")) == NULL)
        close(fd);
}

/* The line without its end; false when there is none. */
static bool source_line(struct source *source, const struct complaint *one, bt_str *line)
{
    if (one->file == NULL || one->line == 0 || one->secret)
        return false;
    if (!same_file(source->name, one->file) || source->line > one->line)
        source_open(source, one->file);
    while (source->in != NULL && source->line < one->line) {
        if (getline(&source->text, &source->room, source->in) < 0) {
            source_close(source);
            return false;
        }
        source->line++;
    }
    if (source->in == NULL)
        return false;
    *line = (bt_str){source->text, strcspn(source->text, "\r\n")};
    /* A secret may stand in a line that nobody could read well enough to know that it is one. */
    return str_find_nocase(*line, BT_STR("passw")) < 0 &&
           str_find_nocase(*line, BT_STR("login=")) < 0;
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80; /* UTF-8: takes no column of its own */
}

static void print_source(FILE *out, bt_str line, const struct complaint *one)
{
    size_t at = one->column > 0 ? one->column - 1 : 0;
    size_t from = 0;

    if (at > line.len)
        at = line.len;
    if (at > SHOWN_MAX / 2)
        from = at - SHOWN_MAX / 2;
    while (from > 0 && from < at && continues(line.at[from]))
        from++;
    bt_str shown = str_slice(line, from, from + SHOWN_MAX);
    fputs(from > 0 ? "  ..." : "  ", out);
    for (size_t i = 0; i < shown.len; i++)
        fputc(is_control(shown.at[i]) ? '?' : shown.at[i], out);
    fputs(from + shown.len < line.len ? "...\n" : "\n", out);
    if (one->column == 0)
        return;
    fputs(from > 0 ? "     " : "  ", out);
    for (size_t i = 0; i < at - from; i++)
        if (!continues(shown.at[i]))
            fputc(shown.at[i] == '\t' ? '\t' : ' ', out);
    fputc('^', out);
    size_t end = at - from + one->width;
    for (size_t i = at - from + 1; i < end && i < shown.len; i++)
        if (!continues(shown.at[i]))
            fputc('~', out);
    fputc('\n', out);
}

static void print_place(FILE *out, const struct complaint *one)
{
    if (one->file == NULL)
        return;
    fputs(one->file, out);
    if (one->line > 0)
        fprintf(out, ":%u", (unsigned)one->line);
    if (one->line > 0 && one->column > 0)
        fprintf(out, ":%u", (unsigned)one->column);
    fputs(": ", out);
}

void complain_print(struct bt_error *err, FILE *out, bool show)
{
    struct source source = {.name = NULL};
    bt_str line;

    complain_sort(err);
    for (size_t i = 0; i < err->n; i++) {
        const struct complaint *one = &err->list[i];
        print_place(out, one);
        fprintf(out, "%s: %s\n", one->fault ? "error" : "warning", one->text);
        if (show && source_line(&source, one, &line))
            print_source(out, line, one);
    }
    if (err->dropped > 0)
        fprintf(out, "%zu more complaints are not shown\n", err->dropped);
    source_close(&source);
    free(source.text);
}
