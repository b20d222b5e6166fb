/* test_complain.c - complaints: sorted by place, each once, printed with their line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf_kit.h"

static struct bt_word at(const char *name, uint32_t line, uint32_t column, const char *text)
{
    return (struct bt_word){.text = str_from(text), .file = name, .line = line, .column = column};
}

static const char *printed(bool show)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    complain_print(&err, out, show);
    fclose(out);
    const char *copy = bt_str_copy(arena, str_from(text)).at;
    free(text);
    return copy;
}

static void counts(void **state)
{
    (void)state;
    struct bt_word word = at("a", 1, 1, "x");

    assert_false(complain_any(&err));
    bt_caution(&err, &word, "careful");
    assert_false(complain_any(&err));
    assert_false(bt_complain(&err, &word, "wrong: %s", "x"));
    assert_true(complain_any(&err));
    assert_int_equal(err.faults, 1);
    assert_int_equal(err.warnings, 1);
    assert_string_equal(err.list[1].text, "wrong: x");
}

static void sorted_and_once(void **state)
{
    (void)state;
    struct bt_word last = at("b", 1, 1, "x"), late = at("a", 9, 1, "x"), first = at("a", 2, 7, "x"),
                   before = at("a", 2, 3, "x");

    (void)bt_complain(&err, &late, "late");
    (void)bt_complain(&err, &last, "last");
    (void)bt_complain(&err, &first, "first");
    bt_caution(&err, &first, "first");
    (void)bt_complain(&err, &first, "second");
    (void)bt_complain(&err, &first, "first");
    bt_caution(&err, &before, "before");
    (void)bt_complain(&err, NULL, "nowhere");
    assert_string_equal(printed(false), "a:2:3: warning: before\n"
                                        "a:2:7: error: first\n"
                                        "a:2:7: warning: first\n"
                                        "a:2:7: error: second\n"
                                        "a:9:1: error: late\n"
                                        "b:1:1: error: last\n"
                                        "error: nowhere\n");
    assert_int_equal(err.faults, 5);
    assert_int_equal(err.warnings, 2);
}

static void without_a_place(void **state)
{
    (void)state;
    struct bt_word line = at("a", 4, 2, "via");

    complain_at(&err, &line);
    (void)bt_complain(&err, NULL, "of this line");
    complain_at(&err, NULL);
    (void)bt_complain(&err, NULL, "of none");
    assert_string_equal(printed(true), "a:4:2: error: of this line\nerror: of none\n");
}

static void with_the_line(void **state)
{
    (void)state;
    static const char name[] = "x.conf";

    kit_folder_begin();
    assert_int_equal(chdir(kit_folder), 0);
    kit_write(name, "one\n\t\xc3\xa4 word  \"quoted one\" x\r\nlogin=me:pw\n");
    struct bt_word word = at(name, 2, 5, "word"), quoted = at(name, 2, 11, "quoted one"),
                   beyond = at(name, 2, 99, "z"), secret = at(name, 3, 1, "login=me:pw"),
                   gone = at(name, 7, 1, "x"), hidden = at(name, 1, 1, "one");
    quoted.quoted = true;
    (void)bt_complain(&err, &word, "w");
    (void)bt_complain(&err, &quoted, "q");
    (void)bt_complain(&err, &beyond, "b");
    (void)bt_complain(&err, &secret, "s");
    (void)bt_complain(&err, &gone, "g");
    err.secret = true;
    (void)bt_complain(&err, &hidden, "h");
    static const char want[] = "x.conf:1:1: error: h\n"
                               "x.conf:2:5: error: w\n"
                               "  \t\xc3\xa4 word  \"quoted one\" x\n"
                               "  \t  ^~~~\n"
                               "x.conf:2:11: error: q\n"
                               "  \t\xc3\xa4 word  \"quoted one\" x\n"
                               "  \t        ^~~~~~~~~~~~\n"
                               "x.conf:2:99: error: b\n"
                               "  \t\xc3\xa4 word  \"quoted one\" x\n"
                               "  \t                      ^\n"
                               "x.conf:3:1: error: s\n"
                               "x.conf:7:1: error: g\n";
    assert_string_equal(printed(true), want);
    assert_int_equal(chdir("/"), 0);
    kit_folder_end((const char *[]){"x.conf", NULL});
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    char text[1001];

    memset(text, 'y', 1000);
    text[500] = 'X';
    text[1000] = '\0';
    kit_folder_begin();
    const char *name = kit_write("long.conf", text);
    struct bt_word word = at(name, 1, 501, "X");
    (void)bt_complain(&err, &word, "here");
    const char *got = printed(true);
    const char *source = strchr(got, '\n') + 1, *mark = strchr(source, '\n') + 1;
    assert_true(strncmp(source, "  ...yyy", 8) == 0);
    assert_true(strlen(got) < 500);
    assert_int_equal(source[strchr(mark, '^') - mark], 'X');
    kit_folder_end((const char *[]){"long.conf", NULL});
}

static void words_in_complaints(void **state)
{
    (void)state;
    char text[200];

    memset(text, 'x', sizeof text);
    assert_string_equal(complain_word(&err, BT_STR("a\nb\x7f")), "'a?b?'");
    assert_int_equal(strlen(complain_word(&err, (bt_str){text, sizeof text})), 80 + 5);
    err.secret = true;
    assert_string_equal(complain_word(&err, BT_STR("hunter2")), "(hidden)");
}

static void harmless_on_terminals(void **state)
{
    (void)state;
    char word[5000];

    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    bt_caution(&err, NULL, "\033]0;title\a is there\tonce");
    (void)bt_complain(&err, NULL, "%s", word);
    assert_string_equal(err.list[0].text, "?]0;title? is there\tonce");
    assert_int_equal(strlen(err.list[1].text), 1000);
    assert_string_equal(err.list[1].text + 996, "x...");
}

static void too_many(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * COMPLAIN_KEPT; i++) {
        struct bt_word word = at("a", i + 1, 1, "x");
        bt_caution(&err, &word, "careful");
    }
    struct bt_word word = at("a", 7777, 1, "x");
    (void)bt_complain(&err, &word, "a fault is not lost among warnings");
    assert_int_equal(err.n, COMPLAIN_KEPT);
    assert_int_equal(err.faults, 1);
    const char *got = printed(false);
    assert_non_null(strstr(got, "a:7777:1: error:"));
    assert_non_null(strstr(got, "401 more complaints"));
}

static const struct CMUnitTest tests[] = {
    KIT(counts),
    KIT(sorted_and_once),
    KIT(without_a_place),
    KIT(too_many),
    KIT(harmless_on_terminals),
    KIT(with_the_line),
    KIT(long_lines_are_cut),
    KIT(words_in_complaints),
};
UNIT_MAIN(tests)
