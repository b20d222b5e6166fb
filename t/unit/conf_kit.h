/* conf_kit.h - what the tests of the configuration language share: texts in, complaints out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CONF_KIT_H
#define CONF_KIT_H

#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "conf/complain.h"
#include "conf/file.h"

static struct bt_arena *arena;
static struct bt_error err;
static struct file file;

static int kit_begin(void **state)
{
    (void)state;
    arena = arena_new(4096);
    complain_init(&err, arena);
    file = (struct file){.line = NULL};
    return 0;
}

static int kit_end(void **state)
{
    (void)state;
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

#define KIT(test) cmocka_unit_test_setup_teardown(test, kit_begin, kit_end)

/* Lines of a file that is called test.conf. */
static inline bool kit_read(const char *text)
{
    return file_read_text(&file, "test.conf", str_from(text), arena, &err);
}

/* Was this said of this place? `text` is a part of it. */
static inline bool kit_said(uint32_t line, uint32_t column, bool fault, const char *text)
{
    for (size_t i = 0; i < err.n; i++) {
        const struct complaint *one = &err.list[i];
        if (one->line == line && one->column == column && one->fault == fault &&
            strstr(one->text, text) != NULL)
            return true;
    }
    for (size_t i = 0; i < err.n; i++)
        print_message("# said: %u:%u %s: %s\n", err.list[i].line, err.list[i].column,
                      err.list[i].fault ? "error" : "warning", err.list[i].text);
    return false;
}

/* Nothing was said since the last look, or the test is told what was. */
static inline bool kit_silent(void)
{
    for (size_t i = 0; i < err.n; i++)
        print_message("# said: %u:%u %s\n", err.list[i].line, err.list[i].column, err.list[i].text);
    return err.n == 0;
}

/* The words of a line, name first, between strokes: "acl|a|src|10.0.0.0/8". */
static inline const char *kit_words(size_t line)
{
    struct str_builder text;

    assert_true(line < file.n);
    str_builder_arena(&text, arena, 64);
    str_add(&text, file.line[line].name.text);
    for (size_t i = 0; i < file.line[line].n; i++) {
        str_add_char(&text, '|');
        str_add(&text, file.line[line].word[i].text);
    }
    return str_built(&text).at;
}

static inline void kit_place(const struct bt_word *word, uint32_t line, uint32_t column)
{
    assert_int_equal(word->line, line);
    assert_int_equal(word->column, column);
}

/* A folder of the test's own; its files are removed by kit_folder_end(). */
static char kit_folder[64];

static inline const char *kit_path(const char *name)
{
    return bt_str_printf(arena, "%s/%s", kit_folder, name).at;
}

static inline void kit_folder_begin(void)
{
    strcpy(kit_folder, "/tmp/bobtail-unit-XXXXXX");
    assert_non_null(mkdtemp(kit_folder));
}

static inline const char *kit_write_bytes(const char *name, const char *bytes, size_t n)
{
    const char *path = kit_path(name);
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
    return path;
}

static inline const char *kit_write(const char *name, const char *text)
{
    return kit_write_bytes(name, text, strlen(text));
}

static inline void kit_folder_end(const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *path = kit_path(*names);
        if (unlink(path) != 0)
            (void)!rmdir(path);
    }
    assert_int_equal(rmdir(kit_folder), 0);
}

#endif
