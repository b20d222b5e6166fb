/* test_lexer.c - words, quotes, comments, continued lines, macros, and where each word stands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf_kit.h"

#include "conf/lexer.h"

static void words_and_places(void **state)
{
    (void)state;
    assert_true(kit_read("\n  acl\tSafe  port 80   # http\n#all comment\nvia on\n"));
    assert_int_equal(file.n, 2);
    assert_string_equal(kit_words(0), "acl|Safe|port|80");
    kit_place(&file.line[0].name, 2, 3);
    kit_place(&file.line[0].word[0], 2, 7);
    kit_place(&file.line[0].word[1], 2, 13);
    kit_place(&file.line[0].word[2], 2, 18);
    kit_place(&file.line[1].word[0], 4, 5);
    assert_string_equal(file.line[0].name.file, "test.conf");
    assert_true(kit_silent());
}

static void comments(void **state)
{
    (void)state;
    assert_true(kit_read("a b#c #d e\nf #\n g # h \\ \n i\n"));
    assert_string_equal(kit_words(0), "a|b#c");
    assert_string_equal(kit_words(1), "f");
    assert_string_equal(kit_words(2), "g");
    assert_string_equal(kit_words(3), "i");
    assert_true(kit_silent());
}

static void no_end_of_line(void **state)
{
    (void)state;
    assert_true(kit_read("\xef\xbb\xbfvia on\r\nx\r\n\r\ny z"));
    assert_int_equal(file.n, 3);
    assert_string_equal(kit_words(0), "via|on");
    assert_string_equal(kit_words(1), "x");
    assert_string_equal(kit_words(2), "y|z");
    assert_true(kit_silent());
}

static void joined_lines(void **state)
{
    (void)state;
    assert_true(
        kit_read("acl a dst\\\n  domain \\\n\tx.com \\\r\n# comment\n  y.com # end\nvia on"));
    assert_int_equal(file.n, 2);
    assert_string_equal(kit_words(0), "acl|a|dstdomain|x.com|y.com");
    kit_place(&file.line[0].word[1], 1, 7); /* a glued word begins where it begins */
    kit_place(&file.line[0].word[2], 3, 2);
    kit_place(&file.line[0].word[3], 5, 3);
    kit_place(&file.line[1].name, 6, 1);
    assert_true(kit_silent());
}

static void comment_in_a_glued_word(void **state)
{
    (void)state;
    assert_true(kit_read("acl a src 10.0\\\n#10.0.0.0/8\n  .0.1\n"));
    assert_string_equal(kit_words(0), "acl|a|src|10.0.0.1");
}

static void stray_backslashes(void **state)
{
    (void)state;
    assert_false(kit_read("acl more dstdomain a.example.com \\ \n  b.example.com\nvia on\n"));
    assert_true(kit_said(1, 34, true, "very last"));
    assert_int_equal(err.n, 1);
    assert_string_equal(kit_words(0), "acl|more|dstdomain|a.example.com|b.example.com");
    assert_string_equal(kit_words(1), "via|on");
}

static void joined_by_mistake(void **state)
{
    (void)state;
    assert_true(kit_read("acl a port 80 \\\n\nhttp_access deny a\nx # y \\\nz\nlast \\"));
    assert_string_equal(kit_words(0), "acl|a|port|80|http_access|deny|a");
    assert_true(kit_said(2, 0, false, "empty line"));
    assert_string_equal(kit_words(1), "x");
    assert_true(kit_said(4, 3, false, "part of it"));
    assert_string_equal(kit_words(2), "last");
    assert_true(kit_said(6, 6, false, "ends in a backslash"));
    assert_int_equal(file.n, 3);
}

static void quotes(void **state)
{
    (void)state;
    assert_true(kit_read("x \"a b\" 'c # d' \"e\\\"f\\\\\\tg\" \"\" it's \"#\"\n"));
    assert_string_equal(kit_words(0), "x|a b|c # d|e\"f\\\tg||it's|#");
    assert_true(file.line[0].word[0].quoted);
    assert_false(file.line[0].word[4].quoted);
    kit_place(&file.line[0].word[1], 1, 9);
    assert_str(file.line[0].text, "\"a b\" 'c # d' \"e\\\"f\\\\\\tg\" \"\" it's \"#\"");
}

static void bad_quotes(void **state)
{
    (void)state;
    /* Whether they are faults is for the row to say: a text may hold them. */
    assert_true(kit_read("x \"a b\ny \"a\"b c\n"));
    assert_int_equal(file.line[0].how[0], FILE_UNCLOSED);
    assert_int_equal(file.line[1].how[0], FILE_GLUED);
    assert_int_equal(file.line[1].n, 2);
    assert_false(lexer_word_fine(&file.line[0].word[0], FILE_UNCLOSED, &err));
    assert_true(kit_said(1, 3, true, "not closed"));
    assert_false(lexer_word_fine(&file.line[1].word[0], FILE_GLUED, &err));
    assert_true(kit_said(2, 3, true, "blank is missing"));
    assert_str(file.line[1].text, "\"a\"b c");
}

static void control_bytes(void **state)
{
    (void)state;
    assert_false(kit_read("via o\x01n\nx \xc3\xa4 # \x02 fine\ny\x7f\n"));
    assert_true(kit_said(1, 6, true, "control byte 1"));
    assert_true(kit_said(3, 2, true, "control byte 127"));
    assert_int_equal(err.n, 2);
    assert_string_equal(kit_words(1), "x|\xc3\xa4");
}

static void no_text_at_all(void **state)
{
    (void)state;
    assert_false(file_read_text(&file, "test.conf", BT_STR("# a\0b\nvia\0 on\n"), arena, &err));
    assert_true(kit_said(1, 0, true, "UTF-8"));
    assert_true(kit_said(2, 4, true, "UTF-8"));
    assert_false(file_read_text(&file, "wide.conf", BT_STR("\xff\xfev\0i\0a\0\n\0"), arena, &err));
    assert_true(kit_said(1, 1, true, "UTF-16"));
    assert_int_equal(err.n, 3);
}

static void long_lines(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct str_builder text;

    str_builder_arena(&text, arena, 1024);
    str_add_literal(&text, "acl many port");
    for (unsigned i = 0; i < N; i++)
        str_add_format(&text, i % 7 == 0 ? " \\\n %u" : " %u", i);
    assert_true(kit_read(str_built(&text).at));
    assert_int_equal(file.n, 1);
    assert_int_equal(file.line[0].n, N + 2);
    assert_str(file.line[0].word[N + 1].text, "19999");
    assert_int_equal(file.line[0].word[N + 1].line, (N - 1) / 7 + 2);
}

static void macros(void **state)
{
    (void)state;
    setenv("BT_TEST_VALUE", "two words #x \"", 1);
    unsetenv("BT_TEST_NONE");
    assert_false(
        kit_read("a ${service_name}.${process_name} ${env:BT_TEST_VALUE}z # ${env:BT_TEST_NONE}\n"
                 "b ${env:BT_TEST_NONE}\nc ${proces_name} ${other} $x ${ \n"));
    assert_string_equal(kit_words(0), "a|bobtail.bobtail|two words #x \"z");
    assert_str(file.line[0].text, "bobtail.bobtail two words #x \"z # ${env:BT_TEST_NONE}");
    assert_true(kit_said(2, 3, true, "no 'BT_TEST_NONE'"));
    assert_string_equal(kit_words(2), "c|${proces_name}|${other}|$x|${");
    assert_true(kit_said(3, 3, false, "did you mean 'process_name'"));
    assert_int_equal(err.n, 2);
}

static void macro_of_process_number(void **state)
{
    (void)state;
    assert_true(kit_read("log /x.${process_number}\n"));
    assert_string_equal(kit_words(0), "log|/x.1");
    assert_true(kit_said(1, 8, false, "share one configuration"));
    setenv("BT_TEST_VALUE", "a\nb", 1);
    assert_false(kit_read("x ${env:BT_TEST_VALUE}\n"));
    assert_true(kit_said(1, 3, true, "control byte 10"));
}

static void strict(void **state)
{
    (void)state;
    assert_true(
        kit_read("configuration_includes_quoted_values on\n"
                 "acl a x parameters(\"/etc/list\") parameters( 'b' ) parameters(c) \"d\"\n"));
    assert_string_equal(kit_words(0), "acl|a|x|/etc/list|b|parameters(c)|d");
    assert_int_equal(file.line[0].how[2], FILE_PARAMETERS);
    assert_int_equal(file.line[0].how[3], FILE_PARAMETERS);
    assert_int_equal(file.line[0].how[4], FILE_PLAIN);
    assert_int_equal(file.line[0].how[5], FILE_QUOTED);
    assert_true(file.line[0].strict);
}

static const struct CMUnitTest tests[] = {
    KIT(words_and_places),
    KIT(comments),
    KIT(no_end_of_line),
    KIT(joined_lines),
    KIT(comment_in_a_glued_word),
    KIT(stray_backslashes),
    KIT(joined_by_mistake),
    KIT(quotes),
    KIT(bad_quotes),
    KIT(control_bytes),
    KIT(no_text_at_all),
    KIT(long_lines),
    KIT(macros),
    KIT(macro_of_process_number),
    KIT(strict),
};
UNIT_MAIN(tests)
