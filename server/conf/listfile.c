/* listfile.c - files whose lines are values: acl NAME TYPE "FILE".
 *
 * A list may have a million lines, so its text is kept once: words point into it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf/listfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/str.h"
#include "conf/complain.h"
#include "conf/file.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The value in a line, which a NUL may be put behind. */
static bt_str value_of(char *line, size_t len)
{
    char *at = line, *end = line + len;

    while (at < end && is_blank(*at))
        at++;
    for (char *hash = at; hash < end; hash++)
        if (*hash == '#' && (hash == at || is_blank(hash[-1])))
            end = hash;
    while (end > at && is_blank(end[-1]))
        end--;
    return str_span(at, end);
}

/* Into `word`, when there is room; the number of values. */
static size_t cut(char *text, size_t len, const char *file, struct bt_word *word)
{
    char *end = text + len;
    uint32_t line = 0;
    size_t n = 0;

    for (char *at = text, *next; at < end; at = next) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        next = newline != NULL ? newline + 1 : end;
        line++;
        bt_str value = value_of(at, (size_t)((newline != NULL ? newline : end) - at));
        if (value.len == 0)
            continue;
        if (word != NULL) {
            word[n] = (struct bt_word){.text = value,
                                       .file = file,
                                       .line = line,
                                       .column = (uint32_t)(value.at - at) + 1,
                                       .listed = true};
        }
        n++;
    }
    /* Only now, since the byte behind a value is the end of its line. */
    for (size_t i = 0; word != NULL && i < n; i++)
        text[(size_t)(word[i].text.at - text) + word[i].text.len] = '\0';
    return n;
}

const char *listfile_path(const struct bt_word *at, struct bt_arena *arena)
{
    const char *path = file_near(arena, at->file, at->text);

    return access(path, F_OK) != 0 && access(at->text.at, F_OK) == 0 ? at->text.at : path;
}

int listfile_open(const char *path, struct stat *about)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        return -1;
    int why = fstat(fd, about) != 0 ? errno : 0;
    if (why == 0 && S_ISREG(about->st_mode))
        return fd;
    close(fd);
    errno = why;
    return -1;
}

char *listfile_slurp(int fd, size_t *len)
{
    struct stat about;
    size_t n = 0,
           room = fstat(fd, &about) == 0 && about.st_size > 0 ? (size_t)about.st_size + 1 : 4096;
    char *text = malloc(room);

    CHECK(text != NULL);
    for (;;) {
        if (n == room) { /* it has grown meanwhile */
            room *= 2;
            text = realloc(text, room);
            CHECK(text != NULL);
        }
        ssize_t got = pread(fd, text + n, room - n, (off_t)n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int why = errno;
            free(text);
            errno = why;
            return NULL;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    *len = n;
    return text;
}

const char *listfile_cut(const char *text, size_t len, const char *path, struct bt_arena *arena,
                         struct bt_word **words, size_t *n)
{
    bool wide = len >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);

    if (wide || (len > 0 && memchr(text, '\0', len) != NULL))
        return "it is not a text file: save it as UTF-8";
    size_t mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    char *copy = bt_alloc_raw(arena, len - mark + 1);
    memcpy(copy, text + mark, len - mark);
    copy[len - mark] = '\0';
    *n = cut(copy, len - mark, path, NULL);
    *words = reallocarray(NULL, *n + 1, sizeof **words);
    CHECK(*words != NULL);
    (void)cut(copy, len - mark, path, *words);
    return NULL;
}

bool listfile_read(const struct bt_word *at, struct bt_arena *arena, struct bt_word **words,
                   size_t *n, struct bt_error *err)
{
    struct stat about;
    size_t len = 0;
    const char *path = listfile_path(at, arena);
    char *text = file_slurp(path, &len, &about);

    if (text == NULL)
        return bt_complain(err, at,
                           "cannot read the list file %s: %s (an empty list in its place could "
                           "open what it closes)",
                           complain_word(err, at->text), strerror(errno));
    const char *why = listfile_cut(text, len, path, arena, words, n);
    free(text);
    return why == NULL || bt_complain(err, at, "the list file %s cannot be read: %s",
                                      complain_word(err, at->text), why);
}
