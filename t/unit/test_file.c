/* test_file.c - includes, conditions, strict quoting: which lines are read, and what is wrong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf_kit.h"

static bool read_main(void)
{
    return file_read(&file, kit_path("main.conf"), NULL, arena, &err);
}

static void includes(void **state)
{
    (void)state;
    kit_folder_begin();
    assert_int_equal(mkdir(kit_path("d"), 0700), 0);
    kit_write("d/b.conf", "two\ninclude d/deep.inc\n");
    kit_write("d/a.conf", "one\n");
    kit_write("d/deep.inc", "never\n");
    kit_write("deep.inc", "unused\n");
    kit_write("main.conf", "first\ninclude d/*.conf \"plain.inc\"\nlast\n");
    kit_write("plain.inc", "three\n");
    /* d/b.conf includes d/deep.inc: seen from its own folder there is none, from here there is. */
    assert_int_equal(chdir(kit_folder), 0);
    assert_true(read_main());
    assert_int_equal(file.n, 6);
    assert_string_equal(kit_words(1), "one");
    assert_string_equal(kit_words(2), "two");
    assert_string_equal(kit_words(3), "never");
    assert_string_equal(kit_words(4), "three");
    assert_string_equal(kit_words(5), "last");
    assert_string_equal(file.line[1].name.file, kit_path("d/a.conf"));
    assert_true(kit_silent());
    assert_int_equal(chdir("/"), 0);
    assert_false(read_main());
    assert_true(kit_said(2, 9, true, "No such file"));
    kit_folder_end((const char *[]){"d/a.conf", "d/b.conf", "d/deep.inc", "d", "deep.inc",
                                    "main.conf", "plain.inc", NULL});
}

static void missing_includes(void **state)
{
    (void)state;
    kit_folder_begin();
    kit_write("main.conf",
              "include none.d/*.conf\nvia on\ninclude gone.conf\ninclude\ninclude .\n");
    assert_false(read_main());
    assert_true(kit_said(1, 9, false, "none.d/*.conf"));
    assert_true(kit_said(3, 9, true, "gone.conf"));
    assert_true(kit_said(4, 1, true, "needs the name"));
    assert_true(kit_said(5, 9, true, "Is a directory"));
    assert_int_equal(err.n, 4);
    assert_int_equal(file.n, 1); /* what could be read is there */
    kit_folder_end((const char *[]){"main.conf", NULL});
    assert_false(file_read(&file, kit_path("main.conf"), NULL, arena, &err));
    assert_true(kit_said(0, 0, true, "main.conf"));
}

static void circles(void **state)
{
    (void)state;
    char name[16], text[32];

    kit_folder_begin();
    kit_write("main.conf", "include self.conf\n");
    kit_write("self.conf", "include main.conf\nseen\n");
    assert_false(read_main());
    assert_true(kit_said(1, 9, true, "includes itself"));
    assert_string_equal(kit_words(0), "seen");
    /* Sixteen below the first are fine, a seventeenth is not. */
    for (int i = 0; i <= FILE_DEPTH_MAX; i++) {
        snprintf(name, sizeof name, "%d", i);
        snprintf(text, sizeof text, "include %d\nline%d\n", i + 1, i);
        kit_write(name, i < FILE_DEPTH_MAX ? text : "end\n");
    }
    err.n = 0;
    assert_true(file_read(&file, kit_path("0"), NULL, arena, &err));
    assert_int_equal(file.n, FILE_DEPTH_MAX + 1);
    kit_write("main.conf", "include 0\n");
    assert_false(read_main());
    assert_true(kit_said(1, 9, true, "deeper than 16"));
    for (int i = 0; i <= FILE_DEPTH_MAX; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_int_equal(unlink(kit_path(name)), 0);
    }
    kit_folder_end((const char *[]){"main.conf", "self.conf", NULL});
}

static void conditions(void **state)
{
    (void)state;
    assert_true(kit_read("if true\na\nelse\nb\nendif\nif false # c\nc\nelse\nd\nendif\n"
                         "if 2 = 2\ne\nendif\nif 1=2\nf\nendif\nif -1 = 1\ng\nelse\nh\nendif\n"));
    assert_int_equal(file.n, 4);
    assert_string_equal(kit_words(0), "a");
    assert_string_equal(kit_words(1), "d");
    assert_string_equal(kit_words(2), "e");
    assert_string_equal(kit_words(3), "h");
    assert_true(kit_silent());
}

static void nested_conditions(void **state)
{
    (void)state;
    unsetenv("BT_TEST_NONE");
    /* What is not read is not complained of either. */
    assert_true(
        kit_read("if false\nif nonsense\na\nelse\nb ${env:BT_TEST_NONE} \x01\nendif\n"
                 "include /no/such/file\nelse\nif true\nif false\nc\nendif\nd\nendif\nendif\n"));
    assert_int_equal(file.n, 1);
    assert_string_equal(kit_words(0), "d");
    assert_true(kit_silent());
}

static void unbalanced_conditions(void **state)
{
    (void)state;
    assert_false(kit_read("endif\nelse\nif true\nif true\nelse\nelse if\nendif\n  if maybe\n"));
    assert_true(kit_said(1, 1, true, "endif without if"));
    assert_true(kit_said(2, 1, true, "else without if"));
    assert_true(kit_said(6, 1, true, "second else for the if of line 4"));
    assert_true(kit_said(6, 6, false, "no else if"));
    assert_true(kit_said(8, 6, true, "NUMBER = NUMBER"));
    assert_true(kit_said(8, 3, true, "if without endif"));
    assert_true(kit_said(3, 1, true, "if without endif"));
    assert_int_equal(err.n, 7);
}

static void condition_ends_with_its_file(void **state)
{
    (void)state;
    kit_folder_begin();
    kit_write("main.conf", "include half.conf\nendif\nafter\n");
    kit_write("half.conf", "if true\n");
    assert_false(read_main());
    assert_true(kit_said(1, 1, true, "if without endif"));
    assert_true(kit_said(2, 1, true, "endif without if"));
    assert_string_equal(kit_words(0), "after");
    kit_folder_end((const char *[]){"main.conf", "half.conf", NULL});
}

static void strict_quoting_ends_with_its_file(void **state)
{
    (void)state;
    kit_folder_begin();
    kit_write("main.conf", "include s.conf\na\nconfiguration_includes_quoted_values on\n"
                           "b\ninclude n.conf\nconfiguration_includes_quoted_values off\nc\n"
                           "configuration_includes_quoted_values maybe\n"
                           "configuration_includes_quoted_values\n");
    kit_write("s.conf", "configuration_includes_quoted_values on\nd\n");
    kit_write("n.conf", "e\n");
    assert_false(read_main());
    assert_int_equal(file.n, 5);
    static const struct {
        const char *name;
        bool strict;
    } want[] = {{"d", true}, {"a", false}, {"b", true}, {"e", true}, {"c", false}};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(kit_words(i), want[i].name);
        assert_int_equal(file.line[i].strict, want[i].strict);
    }
    assert_true(kit_said(8, 38, true, "'maybe'"));
    assert_true(kit_said(9, 1, true, "on or off"));
    kit_folder_end((const char *[]){"main.conf", "s.conf", "n.conf", NULL});
}

static void macros_of_the_caller(void **state)
{
    (void)state;
    struct file_macros macros = {"proxy", "worker", 3};

    kit_folder_begin();
    kit_write("main.conf",
              "x ${service_name} ${process_name}\nif ${process_number} = 3\ny\nendif\n");
    assert_true(file_read(&file, kit_path("main.conf"), &macros, arena, &err));
    assert_string_equal(kit_words(0), "x|proxy|worker");
    assert_string_equal(kit_words(1), "y");
    kit_folder_end((const char *[]){"main.conf", NULL});
}

static const struct CMUnitTest tests[] = {
    KIT(includes),
    KIT(missing_includes),
    KIT(circles),
    KIT(conditions),
    KIT(nested_conditions),
    KIT(unbalanced_conditions),
    KIT(condition_ends_with_its_file),
    KIT(strict_quoting_ends_with_its_file),
    KIT(macros_of_the_caller),
};
UNIT_MAIN(tests)
