/* test_grammar.c - every word of the little language of .args, with what fits and what does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf_kit.h"

#include "conf/grammar.h"

static struct grammar *grammar;
static struct grammar_line out;

/* Does `x WORDS` fit? */
static bool fits_of(const char *args, const char *words, struct grammar_of of)
{
    const char *why = NULL;

    err.n = err.faults = err.warnings = 0;
    of.arena = arena;
    grammar = grammar_compile(arena, args, &why);
    if (grammar == NULL)
        fail_msg("%s: %s", args, why);
    assert_true(kit_read(bt_str_printf(arena, "x %s", words).at));
    return grammar_line(grammar, &of, &file.line[0], &out, &err);
}

static bool fits(const char *args, const char *words)
{
    return fits_of(args, words, (struct grammar_of){.unit = NULL});
}

/* The values that came out, between strokes; ACL names behind a slash. */
static const char *values(void)
{
    struct str_builder text;

    str_builder_arena(&text, arena, 64);
    for (size_t i = 0; i < out.args.n; i++) {
        if (i > 0)
            str_add_char(&text, '|');
        str_add(&text, out.args.word[i].text);
    }
    for (size_t i = 0; i < out.acls.n; i++) {
        str_add_char(&text, '/');
        str_add(&text, out.acls.word[i].text);
    }
    return str_built(&text).at;
}

/* The words fit without a word said, and come to `want`. */
#define FINE(args, words, want)                                                                    \
    do {                                                                                           \
        assert_true(fits(args, words));                                                            \
        assert_true(kit_silent());                                                                 \
        assert_string_equal(values(), want);                                                       \
    } while (0)
/* They do not, and that is said of this column. */
#define WRONG(args, words, column, text)                                                           \
    do {                                                                                           \
        assert_false(fits(args, words));                                                           \
        assert_true(kit_said(1, column, true, text));                                              \
    } while (0)
#define WARNS(args, words, column, text)                                                           \
    do {                                                                                           \
        assert_true(fits(args, words));                                                            \
        assert_true(kit_said(1, column, false, text));                                             \
    } while (0)

static void compiling(void **state)
{
    (void)state;
    static const char *const none[] = {"[word",      "word]",     "[]",      "a||b",
                                       "int(5..1)",  "int(a..)",  "size(1)", "int|size",
                                       "options...", "int(1-64)", NULL};
    const char *why = NULL;

    for (size_t i = 0; none[i] != NULL; i++) {
        why = NULL;
        if (grammar_compile(arena, none[i], &why) != NULL)
            fail_msg("«%s» is a grammar", none[i]);
        assert_non_null(why);
    }
    assert_non_null(grammar_compile(arena, NULL, &why));
    assert_non_null(grammar_compile(arena, "", &why));
}

static void on_off(void **state)
{
    (void)state;
    bool field = false;

    FINE("on|off", "on", "on");
    grammar_store(grammar, &out, &field);
    assert_true(field);
    FINE("on|off", "off", "off");
    grammar_store(grammar, &out, &field);
    assert_false(field);
    WARNS("on|off", "enable", 3, "write on");
    assert_string_equal(values(), "on");
    WARNS("on|off", "disable", 3, "write off");
    assert_string_equal(values(), "off");
    WRONG("on|off", "yes", 3, "did you mean 'on'?");
    WRONG("on|off", "0", 3, "did you mean 'off'?");
    WRONG("on|off", "Off", 3, "did you mean 'off'?");
    WRONG("on|off", "maybe", 3, "on or off expected, not 'maybe'");
    WRONG("on|off", "", 1, "on or off is missing");
}

static void choices(void **state)
{
    (void)state;
    int64_t field = -1;

    FINE("on|off|warn", "warn", "warn");
    assert_int_equal(out.action, 2);
    grammar_store(grammar, &out, &field);
    assert_int_equal(field, 2);
    WRONG("allow|deny acls+", "permit lan", 3, "did you mean 'allow'?");
    WRONG("allow|deny acls+", "alow lan", 3, "did you mean 'allow'?");
    WRONG("allow|deny acls+", "reject lan", 3, "did you mean 'deny'?");
    WRONG("lru|heap", "fifo", 3, "lru or heap expected, not 'fifo'");
}

static void numbers(void **state)
{
    (void)state;
    int64_t field = -1;

    FINE("int", "-12", "-12");
    FINE("int(1..64)", "64", "64");
    grammar_store(grammar, &out, &field);
    assert_int_equal(field, 64);
    FINE("int(0..)", "0", "0");
    FINE("int(..9)", "-5", "-5");
    WRONG("int(1..64)", "65", 3, "a number from 1 to 64");
    WRONG("int(0..)", "-1", 3, "from 0 on");
    WRONG("int", "12x", 3, "'12x'");
    WRONG("int", "99999999999999999999", 3, "a number");
    FINE("percent", "20%", "20");
    FINE("percent", "95", "95");
    WRONG("percent", "x%", 3, "a percentage");
    FINE("port", "65535", "65535");
    WRONG("port", "0", 3, "1-65535");
    WRONG("port", "65536", 3, "1-65535");
    FINE("int(1..)|auto", "auto", "-1");
    FINE("int(1..)|auto", "4", "4");
    WRONG("int(1..)|auto", "x", 3, "or auto");
}

static void sizes(void **state)
{
    (void)state;
    struct grammar_of kb = {.unit = "KB"};
    bt_size field = {7};

    FINE("size", "4 MB", "4194304");
    grammar_store(grammar, &out, &field);
    assert_int_equal(field.bytes, 4194304);
    FINE("size", "4MB", "4194304");
    FINE("size", "10 bytes", "10");
    FINE("size", "0", "0");
    FINE("size|none", "none", "-1");
    FINE("size|none", "-1 KB", "-1");
    FINE("size fastacls", "10 KB lan !web", "10240/lan/!web");
    assert_true(fits_of("size", "16", kb));
    assert_string_equal(values(), "16384");
    assert_true(kit_said(1, 3, false, "taken as KB"));
    WRONG("size", "10 XB", 6, "'XB'");
    WRONG("size", "10XB", 3, "'10XB'");
    WRONG("size", "-1", 3, "a size");
    WRONG("size", "none", 3, "a size");
    WRONG("size", "99999999999 GB", 3, "too large");
}

static void durations(void **state)
{
    (void)state;
    bt_duration field = {7};

    FINE("duration", "30 seconds", "30000");
    grammar_store(grammar, &out, &field);
    assert_int_equal(field.ms, 30000);
    FINE("duration", "1.5 minutes", "90000");
    FINE("duration", "2minutes", "120000");
    FINE("duration", "500 milliseconds", "500");
    WARNS("duration", "5", 3, "taken as seconds");
    WRONG("duration", "30 secs", 6, "did you mean 'seconds'");
    WRONG("duration", "x", 3, "a time");
    WARNS("duration word", "30 x", 3, "taken as seconds");
    assert_string_equal(values(), "30000|x");
}

static void texts(void **state)
{
    (void)state;
    bt_str field = BT_STR_NONE;

    FINE("word", "\"a b\"", "a b");
    grammar_store(grammar, &out, &field);
    assert_str(field, "a b");
    FINE("path", "/no/such/file", "/no/such/file");
    FINE("text", "a  \"b\" # c", "a  \"b\" # c");
    FINE("word text", "a 'b c", "a|'b c");
    WRONG("word word", "a 'b c", 5, "not closed");
    WRONG("word", "\"a\"b", 3, "blank is missing");
    WRONG("word text", "a", 1, "text is missing; it takes: word text");
}

static void addresses(void **state)
{
    (void)state;
    FINE("addr", "2001:db8::1", "2001:db8::1");
    WRONG("addr", "127.0.0.256", 3, "an IP address expected");
    WRONG("addr", "example.com", 3, "an IP address expected");
    FINE("host", "www.example.com", "www.example.com");
    FINE("host", "192.0.2.1", "192.0.2.1");
    WRONG("host", "192.0.2.300", 3, "host name");
    WRONG("host", "a/b", 3, "host name");
}

static void patterns(void **state)
{
    (void)state;
    FINE("regex...", "^a b$", "^a|b$");
    WRONG("regex", "(ad|banner", 3, "'(ad|banner'");
    WRONG("regex...", "/two[ ]words", 3, "[[:space:]]");
    WRONG("regex", "ads{2,1}", 3, "{2,1}");
    FINE("[-i] regex int", "-i ^ftp: 4", "-i|^ftp:|4");
    FINE("[-i] regex int", "^ftp: 4", "^ftp:|4");
    assert_true(fits_of("regex...", "-i a +i b", (struct grammar_of){.folds = true}));
    assert_string_equal(values(), "-i|a|+i|b");
    assert_true(fits_of("word...", "\"-i\" a", (struct grammar_of){.folds = true}));
}

static void commands(void **state)
{
    (void)state;
    FINE("command", "/bin/sh -c \"a b\" x=y", "/bin/sh|-c|a b|x=y");
    WRONG("command", "/no/such/program x", 3, "'/no/such/program'");
    WRONG("command", "/", 3, "not a file");
    WRONG("command", "/etc/passwd", 3, "cannot be run");
    WRONG("command", "/bin/sh 'x", 11, "not closed");
    FINE("none|command", "none", "none");
}

static bool no_format(void *ctx, const struct bt_word *at, bt_str text, struct bt_error *error)
{
    if (str_find(text, BT_STR("%bad")) < 0)
        return true;
    ++*(int *)ctx;
    return bt_complain(error, at, "a bad format");
}

static void formats(void **state)
{
    (void)state;
    int asked = 0;
    struct grammar_of of = {.format = no_format, .ctx = &asked};

    FINE("word format", "f %ts \"%rm\" # x", "f|%ts \"%rm\" # x");
    FINE("word format", "f \"%ts %rm\"", "f|%ts %rm");
    FINE("word format fastacls", "f \"%ts %rm\" lan", "f|%ts %rm/lan");
    assert_false(fits_of("word format", "f %ts %bad", of));
    assert_true(kit_said(1, 5, true, "a bad format"));
    assert_false(fits_of("word format acls", "f %bad lan", of));
    assert_int_equal(asked, 2);
}

static void missing_and_surplus(void **state)
{
    (void)state;
    FINE("word [int [size]] [on|off]", "a 1 2KB on", "a|1|2048|on");
    FINE("word [int [size]] [on|off]", "a on", "a|on");
    FINE("word [int [size]] [on|off]", "a", "a");
    WRONG("host parent|sibling int", "h parent", 1, "a number is missing; it takes: host parent");
    WARNS("word", "a b c", 5, "surplus word 'b'");
    assert_int_equal(err.n, 1);
    assert_string_equal(values(), "a");
    WARNS("", "a", 3, "takes: nothing");
    WRONG("word", "a \"b", 5, "not closed");
    FINE("word...", "a b c", "a|b|c");
    WRONG("word...", "", 1, "a word is missing");
    FINE("[word...]", "", "");
    WRONG("int...", "1 x 3 y", 5, "'x'");
    assert_true(kit_said(1, 9, true, "'y'"));
    FINE("any", "a \"b c", "a|b c");
}

static void acl_names(void **state)
{
    (void)state;
    FINE("allow|deny acls+", "deny !Safe_ports lan", "deny/!Safe_ports/lan");
    assert_true(out.has_acls && out.may_wait);
    assert_int_equal(out.action, BT_DENY);
    assert_true(grammar_is_rules(grammar));
    WRONG("allow|deny acls+", "allow", 1, "all stands for everybody");
    FINE("word fastacls", "a", "a");
    assert_true(out.has_acls && !out.may_wait);
    FINE("fastacls+", "a", "/a");
    assert_true(grammar_is_rules(grammar));
    FINE("acls", "", "");
    assert_false(grammar_is_scalar(grammar));
}

struct opts {
    int64_t n;
    bt_str name, keep;
    bt_duration ttl;
    bool flag, auth;
};
static const struct bt_option rows[] = {
    {"n", "int(0..9)", "4", "N.", offsetof(struct opts, n), BT_BUILT},
    {"name", "word", NULL, "Name.", offsetof(struct opts, name), BT_BUILT},
    {"ttl", "duration", "1 minute", "TTL.", offsetof(struct opts, ttl), BT_BUILT},
    {"no-query", NULL, NULL, "Flag.", offsetof(struct opts, flag), BT_BUILT},
    {"keep", "[word]", NULL, "Keep.", offsetof(struct opts, keep), BT_BUILT},
    {"auth", "[on|off]", NULL, "Auth.", offsetof(struct opts, auth), BT_BUILT},
    {"tuning", "int", NULL, "Tuning.", 0, BT_IGNORED},
    {"gone", NULL, NULL, "Gone.", 0, BT_OBSOLETE},
    {"danger", NULL, NULL, "Danger.", 0, BT_UNBUILT},
};

static bool fits_options(const char *args, const char *words)
{
    return fits_of(args, words,
                   (struct grammar_of){.option = rows,
                                       .options = sizeof rows / sizeof *rows,
                                       .option_size = sizeof(struct opts)});
}

static void options(void **state)
{
    (void)state;
    assert_true(fits_options("word options acls", "a name=x=y lan n=9 no-query keep auth=off web"));
    assert_true(kit_silent());
    assert_string_equal(values(), "a/lan/web");
    const struct opts *got = out.options;
    assert_int_equal(got->n, 9);
    assert_str(got->name, "x=y");
    assert_int_equal(got->ttl.ms, 60000);
    assert_true(got->flag && !got->auth);
    assert_str(got->keep, "");
    assert_true(fits_options("word [options]", "a auth keep=z"));
    got = out.options;
    assert_int_equal(got->n, 4);
    assert_true(got->auth && !got->flag);
    assert_null(got->name.at);
    assert_str(got->keep, "z");
}

static void wrong_options(void **state)
{
    (void)state;
    assert_false(fits_options("word options", "a no-qurey n=x nme=1 name n=12"));
    assert_true(kit_said(1, 5, true, "did you mean 'no-query'?"));
    assert_true(kit_said(1, 16, true, "'x'"));
    assert_true(kit_said(1, 18, true, "did you mean 'name'?"));
    assert_true(kit_said(1, 24, true, "name needs a value"));
    assert_true(kit_said(1, 31, true, "from 0 to 9"));
    assert_false(fits_options("word options", "a no-query=1 zzz"));
    assert_true(kit_said(1, 5, true, "takes no value"));
    assert_true(kit_said(1, 16, true, "no option 'zzz'"));
    assert_false(fits_options("word [first|second] options", "a frist"));
    assert_true(kit_said(1, 5, true, "did you mean 'first'?"));
}

static void options_that_are_not_built(void **state)
{
    (void)state;
    assert_false(fits_options("word options", "a tuning=1 gone danger"));
    assert_true(kit_said(1, 5, false, "known and ignored"));
    assert_true(kit_said(1, 14, false, "obsolete"));
    assert_true(kit_said(1, 19, true, "not built yet"));
    assert_true(fits_of("word options", "a tuning=1 danger",
                        (struct grammar_of){.option = rows, .options = 9, .quiet = true}));
    assert_true(kit_silent());
}

/* A program's words are its own, whatever they look like. */
static void options_end_at_text(void **state)
{
    (void)state;
    assert_true(fits_options("word options command", "a n=1 /bin/sh n=2 dc=x"));
    assert_string_equal(values(), "a|/bin/sh|n=2|dc=x");
    assert_int_equal(((struct opts *)out.options)->n, 1);
    assert_true(fits_options("options word", "b=c n=3"));
    assert_string_equal(values(), "b=c");
    assert_int_equal(((struct opts *)out.options)->n, 3);
}

static void list_files(void **state)
{
    (void)state;
    struct grammar_of lists = {.flags = BT_LISTFILE};

    kit_folder_begin();
    kit_write("list", "one \r\n# c\n  two words # x\n\n\tt#ree\n-i");
    kit_write("empty", "# nothing\n");
    kit_write_bytes("binary", "a\0b", 3);
    const char *line =
        bt_str_printf(arena, "a \"%s\" z \"%s\"", kit_path("list"), kit_path("empty")).at;
    assert_true(fits_of("word word...", line, lists));
    assert_true(kit_silent());
    assert_string_equal(values(), "a|one|two words|t#ree|-i|z");
    kit_place(&out.args.word[2], 3, 3);
    assert_string_equal(out.args.word[2].file, kit_path("list"));
    /* Without the flag, and where only one word stands, quotes are quotes. */
    assert_true(fits("word word...", "a \"b\""));
    assert_string_equal(values(), "a|b");
    assert_true(fits_of("word", "\"b\"", lists));
    assert_string_equal(values(), "b");
    assert_false(fits_of("word...", "a \"/no/such/list\" b", lists));
    assert_true(kit_said(1, 5, true, "/no/such/list"));
    assert_string_equal(values(), "a|b");
    assert_false(fits_of("word...", bt_str_printf(arena, "\"%s\"", kit_path("binary")).at, lists));
    assert_true(kit_said(1, 3, true, "not a text file"));
    kit_write("list", "1\n2\nx\n4\n");
    assert_false(fits_of("int...", bt_str_printf(arena, "\"%s\"", kit_path("list")).at, lists));
    assert_true(kit_said(3, 1, true, "'x'"));
    kit_folder_end((const char *[]){"list", "empty", "binary", NULL});
}

static void strict_lists(void **state)
{
    (void)state;
    struct grammar_of of = {.flags = BT_LISTFILE, .arena = arena};
    const char *why = NULL;

    kit_folder_begin();
    kit_write("list", "one\n");
    grammar = grammar_compile(arena, "word word...", &why);
    assert_true(kit_read(bt_str_printf(arena,
                                       "configuration_includes_quoted_values on\n"
                                       "x a \"b c\" parameters(\"%s\")\ny parameters(\"z\") a\n",
                                       kit_path("list"))
                             .at));
    assert_true(grammar_line(grammar, &of, &file.line[0], &out, &err));
    assert_string_equal(values(), "a|b c|one");
    assert_false(grammar_line(grammar, &of, &file.line[1], &out, &err));
    assert_true(kit_said(3, 3, true, "no list file"));
    kit_folder_end((const char *[]){"list", NULL});
}

static void words_without_a_line(void **state)
{
    (void)state;
    struct grammar_of of = {.flags = 0, .arena = arena};
    const char *why = NULL;

    grammar = grammar_compile(arena, "int text", &why);
    assert_true(kit_read("acl a t 1 b  c\n"));
    struct bt_args rest = {file.line[0].word + 2, file.line[0].n - 2};
    assert_true(grammar_words(grammar, &of, &file.line[0].word[1], rest, &out, &err));
    assert_string_equal(values(), "1|b c");
    rest.n = 0;
    assert_false(grammar_words(grammar, &of, &file.line[0].word[1], rest, &out, &err));
    assert_true(kit_said(1, 7, true, "t: a number is missing"));
}

static const struct CMUnitTest tests[] = {
    KIT(compiling),
    KIT(on_off),
    KIT(choices),
    KIT(numbers),
    KIT(sizes),
    KIT(durations),
    KIT(texts),
    KIT(addresses),
    KIT(patterns),
    KIT(commands),
    KIT(formats),
    KIT(missing_and_surplus),
    KIT(acl_names),
    KIT(options),
    KIT(wrong_options),
    KIT(list_files),
    KIT(strict_lists),
    KIT(options_that_are_not_built),
    KIT(options_end_at_text),
    KIT(words_without_a_line),
};
UNIT_MAIN(tests)
