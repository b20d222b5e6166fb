/* file.c - a configuration file as lines of words: includes followed, conditions decided.
 *
 * A file is read whole, its lines are cut by the lexer, and the three kinds of lines that are not
 * directives are dealt with here: include, if/else/endif, and the switch to strict quoting. Each
 * of them ends with the file that it stands in, so that no file can change what the lines of
 * another one mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "conf/complain.h"
#include "conf/lexer.h"

enum {
    NESTED_MAX = 64, /* conditions within conditions */
    PIPE_PATIENCE_MS = 5000,
    FILE_BYTES_MAX = 256 << 20 /* nobody writes such a file; /dev/zero is one */
};

/* What all files of one configuration share. */
struct reading {
    struct file *out;
    const struct file_macros *macros;
    struct bt_arena *arena;
    struct bt_error *err;
    bool good;
    struct {
        dev_t device;
        ino_t inode;
    } open[FILE_DEPTH_MAX + 1]; /* the files under way, outermost first */
    size_t depth;
};

/* One `if` that is not closed. */
struct branch {
    struct bt_word at;
    bool outer; /* the lines around it are read */
    bool truth; /* what the expression says */
    bool in_else;
};

/* One file under way. */
struct place {
    struct reading *reading;
    struct lexer lexer;
    struct branch branch[NESTED_MAX];
    size_t nested;
};

static void read_text(struct reading *, const char *name, bt_str text, bool strict);

/* ---- bytes ---- */

/* A pipe is read as long as somebody writes to it; one that nobody opens would be waited for for
 * ever. */
static bool pipe_speaks(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int n = poll(&wait, 1, PIPE_PATIENCE_MS);

    if (n == 0)
        errno = ETIMEDOUT;
    return n > 0;
}

/* Everything from a descriptor, on the heap; NULL with errno. */
static char *slurp(int fd, bool is_pipe, size_t *len)
{
    size_t room = 64 << 10, n = 0;
    char *at = malloc(room);

    CHECK(at != NULL);
    while (true) {
        if (n == room) {
            room *= 2;
            at = realloc(at, room);
            CHECK(at != NULL);
        }
        ssize_t got = is_pipe && !pipe_speaks(fd) ? -1 : read(fd, at + n, room - n);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got >= 0 && n + (size_t)got > FILE_BYTES_MAX)
            errno = EFBIG;
        if (got < 0 || n + (size_t)got > FILE_BYTES_MAX) {
            int why = errno;
            free(at);
            errno = why;
            return NULL;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    *len = n;
    return at;
}

char *file_slurp(const char *path, size_t *len, struct stat *about)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        return NULL;
    char *text = NULL;
    int why;
    if (fstat(fd, about) == 0 && S_ISDIR(about->st_mode))
        errno = EISDIR;
    else if (S_ISBLK(about->st_mode) ||
             (S_ISCHR(about->st_mode) && !isatty(fd) && strcmp(path, "/dev/null") != 0))
        errno = ENODEV; /* it may have no end */
    else if (S_ISFIFO(about->st_mode) || fcntl(fd, F_SETFL, 0) == 0)
        text = slurp(fd, S_ISFIFO(about->st_mode), len);
    why = errno;
    close(fd);
    errno = why;
    return text;
}

const char *file_near(struct bt_arena *arena, const char *including, bt_str name)
{
    const char *plain = bt_str_copy(arena, name).at;
    const char *slash = including != NULL ? strrchr(including, '/') : NULL;

    if (name.len == 0 || name.at[0] == '/' || slash == NULL)
        return plain;
    return bt_str_printf(arena, "%.*s%s", (int)(slash - including + 1), including, plain).at;
}

/* ---- include ---- */

/* Read one file that a word names. */
static bool read_path(struct reading *reading, const char *path, const struct bt_word *at,
                      bool strict)
{
    struct stat about;
    size_t len;

    if (reading->depth > FILE_DEPTH_MAX)
        return bt_complain(reading->err, at, "includes are nested deeper than %d files",
                           FILE_DEPTH_MAX);
    char *text = file_slurp(path, &len, &about);
    if (text == NULL && errno == ETIMEDOUT)
        return bt_complain(reading->err, at,
                           "cannot read %s: it is a pipe, and nobody wrote to it, or ended, within "
                           "%d s; write the whole file into it and close it",
                           path, PIPE_PATIENCE_MS / 1000);
    if (text == NULL)
        return bt_complain(reading->err, at, "cannot read %s: %s", path, strerror(errno));
    for (size_t i = 0; i < reading->depth; i++)
        if (S_ISREG(about.st_mode) && reading->open[i].device == about.st_dev &&
            reading->open[i].inode == about.st_ino) {
            free(text);
            return bt_complain(reading->err, at, "%s includes itself", path);
        }
    reading->open[reading->depth].device = about.st_dev;
    reading->open[reading->depth].inode = about.st_ino;
    reading->depth++;
    read_text(reading, path, (bt_str){text, len}, strict);
    reading->depth--;
    free(text);
    return true;
}

/* How many files fit a pattern; they are read. 0: none. */
static size_t read_pattern(struct reading *reading, const char *pattern, const struct bt_word *at,
                           bool strict)
{
    glob_t found;
    size_t n = 0;

    if (glob(pattern, GLOB_NOESCAPE, NULL, &found) != 0)
        return 0;
    for (; n < found.gl_pathc; n++) {
        const char *path = bt_str_copy(reading->arena, str_from(found.gl_pathv[n])).at;
        if (!read_path(reading, path, at, strict))
            reading->good = false;
    }
    globfree(&found);
    return n;
}

static void include_word(struct place *place, const struct bt_word *word, bool strict)
{
    struct reading *reading = place->reading;
    const char *near = file_near(reading->arena, place->lexer.file, word->text);
    const char *plain = word->text.at;

    if (strpbrk(plain, "*?[") != NULL) {
        if (read_pattern(reading, near, word, strict) == 0 &&
            (strcmp(near, plain) == 0 || read_pattern(reading, plain, word, strict) == 0))
            bt_caution(reading->err, word, "no file fits %s; nothing is included", plain);
        return;
    }
    if (access(near, F_OK) != 0 && access(plain, F_OK) == 0)
        near = plain;
    if (!read_path(reading, near, word, strict))
        reading->good = false;
}

static void include_line(struct place *place, const struct file_line *line)
{
    struct bt_error *err = place->reading->err;

    if (line->n == 0)
        place->reading->good = bt_complain(err, &line->name,
                                           "include needs the name of a file, or a pattern");
    for (size_t i = 0; i < line->n; i++) {
        if (!lexer_word_fine(&line->word[i], line->how[i], err))
            place->reading->good = false;
        else
            include_word(place, &line->word[i], place->lexer.strict);
    }
}

/* ---- conditions ---- */

static bool place_reads(const struct place *place)
{
    if (place->nested == 0)
        return true;
    const struct branch *inner = &place->branch[place->nested - 1];
    return inner->outer && inner->truth != inner->in_else;
}

/* true, false, or NUMBER = NUMBER; false: it is none of them. */
static bool condition(bt_str text, bool *truth)
{
    bt_str left, right;
    int64_t a, b;

    text = str_trim(text);
    *truth = str_eq_literal(text, "true");
    if (*truth || str_eq_literal(text, "false"))
        return true;
    if (!str_split(text, '=', &left, &right) ||
        !str_int(str_trim(left), INT64_MIN, INT64_MAX, &a) ||
        !str_int(str_trim(right), INT64_MIN, INT64_MAX, &b))
        return false;
    *truth = a == b;
    return true;
}

/* The words of a line as one text, without its comment. */
static bt_str words_text(const struct file_line *line, struct bt_arena *arena)
{
    struct str_builder text;

    str_builder_arena(&text, arena, 64);
    for (size_t i = 0; i < line->n; i++) {
        if (i > 0)
            str_add_char(&text, ' ');
        str_add(&text, line->word[i].text);
    }
    return str_built(&text);
}

static void if_line(struct place *place, const struct file_line *line)
{
    struct reading *reading = place->reading;
    struct branch inner = {.at = line->name, .outer = place_reads(place)};

    if (inner.outer && !condition(words_text(line, reading->arena), &inner.truth)) {
        const struct bt_word *at = line->n > 0 ? &line->word[0] : &line->name;
        reading->good = bt_complain(reading->err, at,
                                    "a condition is true, false, or NUMBER = NUMBER; not this");
    }
    if (place->nested == NESTED_MAX) {
        /* Counted no further: the endif that is too many is complained of in its turn. */
        reading->good = bt_complain(reading->err, &line->name,
                                    "conditions are nested deeper than %d", NESTED_MAX);
        return;
    }
    place->branch[place->nested++] = inner;
}

static void else_line(struct place *place, const struct file_line *line)
{
    struct reading *reading = place->reading;

    if (place->nested == 0) {
        reading->good = bt_complain(reading->err, &line->name, "else without if");
        return;
    }
    struct branch *inner = &place->branch[place->nested - 1];
    if (inner->in_else)
        reading->good = bt_complain(reading->err, &line->name,
                                    "a second else for the if of line %u",
                                    (unsigned)inner->at.line);
    inner->in_else = true;
}

static void endif_line(struct place *place, const struct file_line *line)
{
    if (place->nested == 0)
        place->reading->good = bt_complain(place->reading->err, &line->name, "endif without if");
    else
        place->nested--;
}

/* Lines that decide which lines are read; true when it was one. */
static bool condition_line(struct place *place, const struct file_line *line)
{
    bt_str name = line->name.text;
    bool is_if = str_eq_literal(name, "if");
    bool is_else = str_eq_literal(name, "else");

    if (is_if)
        if_line(place, line);
    else if (is_else)
        else_line(place, line);
    else if (str_eq_literal(name, "endif"))
        endif_line(place, line);
    else
        return false;
    if (!is_if && line->n > 0)
        bt_caution(place->reading->err, &line->word[0], "surplus word %s is ignored%s",
                   complain_word(place->reading->err, line->word[0].text),
                   is_else && str_eq_literal(line->word[0].text, "if")
                       ? ": there is no else if; write an if between else and endif"
                       : "");
    place->lexer.skip = !place_reads(place);
    return true;
}

/* ---- lines ---- */

static void strict_line(struct place *place, const struct file_line *line)
{
    struct reading *reading = place->reading;

    if (line->n == 0)
        reading->good = bt_complain(reading->err, &line->name, "%s needs on or off",
                                    line->name.text.at);
    else if (str_eq_literal(line->word[0].text, "on"))
        place->lexer.strict = true;
    else if (str_eq_literal(line->word[0].text, "off"))
        place->lexer.strict = false;
    else
        reading->good = bt_complain(reading->err, &line->word[0], "on or off expected, not %s",
                                    complain_word(reading->err, line->word[0].text));
}

static void keep_line(struct reading *reading, const struct file_line *line)
{
    struct file *out = reading->out;

    if (out->n == out->room) {
        size_t room = out->room * 2 + 64;
        struct file_line *more = bt_alloc_raw(reading->arena, room * sizeof *more);
        if (out->n > 0)
            memcpy(more, out->line, out->n * sizeof *more);
        out->line = more;
        out->room = room;
    }
    out->line[out->n++] = *line;
}

static void read_lines(struct place *place)
{
    struct file_line line;

    while (lexer_next(&place->lexer, &line)) {
        if (condition_line(place, &line) || !place_reads(place))
            continue;
        if (str_eq_literal(line.name.text, "include"))
            include_line(place, &line);
        else if (str_eq_literal(line.name.text, "configuration_includes_quoted_values"))
            strict_line(place, &line);
        else
            keep_line(place->reading, &line);
    }
    while (place->nested > 0)
        place->reading->good = bt_complain(place->reading->err, &place->branch[--place->nested].at,
                                           "if without endif: the file ends before it is closed");
}

/* UTF-16 has a NUL in every other byte; one sentence serves better than one for each line. */
static bool is_wide(bt_str text)
{
    return text.len >= 2 &&
           (memcmp(text.at, "\xff\xfe", 2) == 0 || memcmp(text.at, "\xfe\xff", 2) == 0);
}

static void read_text(struct reading *reading, const char *name, bt_str text, bool strict)
{
    /* On the heap: sixteen of them may be open. */
    struct place *place = calloc(1, sizeof *place);
    struct bt_error *err = reading->err;
    size_t faults = err->faults;

    CHECK(place != NULL);
    place->reading = reading;
    if (is_wide(text)) {
        struct bt_word at = {.text = BT_STR(""), .file = name, .line = 1, .column = 1};
        reading->good = bt_complain(err, &at, "the file is UTF-16: save it as UTF-8");
    } else {
        lexer_init(&place->lexer, name, text, reading->arena, err);
        place->lexer.macros = reading->macros;
        place->lexer.strict = strict;
        read_lines(place);
        lexer_fini(&place->lexer);
    }
    free(place);
    if (err->faults != faults)
        reading->good = false;
}

/* ---- the outside ---- */

bool file_read(struct file *out, const char *path, const struct file_macros *macros,
               struct bt_arena *arena, struct bt_error *err)
{
    struct reading reading = {
        .out = out, .macros = macros, .arena = arena, .err = err, .good = true};
    const char *name = bt_str_copy(arena, str_from(path)).at;
    struct bt_word at = {.text = BT_STR(""), .file = name};

    *out = (struct file){.line = NULL};
    return read_path(&reading, name, &at, false) && reading.good;
}

bool file_read_text(struct file *out, const char *name, bt_str text, struct bt_arena *arena,
                    struct bt_error *err)
{
    struct reading reading = {.out = out, .arena = arena, .err = err, .good = true};

    *out = (struct file){.line = NULL};
    read_text(&reading, bt_str_copy(arena, str_from(name)).at, text, false);
    return reading.good;
}
