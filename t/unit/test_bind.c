/* test_bind.c - lines that name rows: fields, presets, aliases, lists, and names that do not work.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "conf_kit.h"

#include "base/suggest.h"
#include "conf/bind.h"
#include "flow/flow.h"

struct conf {
    bool via;
    int64_t tries;
    bt_duration timeout;
    bt_size size;
    bt_str host;
    int64_t kind;
    struct bt_rules *access;
    unsigned kept; /* calls of keep() */
    const struct bt_line *last;
    bt_str quiet;
};
static struct conf conf;

static bool keep(void *conf_, const struct bt_line *line, struct bt_error *error)
{
    struct conf *to = conf_;

    to->kept++;
    to->last = line;
    for (size_t i = 0; i < line->args.n; i++)
        if (str_eq_literal(line->args.word[i].text, "bad"))
            return bt_complain(error, &line->args.word[i], "keep does not like it");
    return true;
}

static bool keep_quiet(void *conf_, const struct bt_line *line, struct bt_error *error)
{
    struct conf *to = conf_;

    (void)error;
    to->kept++;
    to->quiet = line->args.word[0].text;
    return true;
}

struct opts {
    bt_str name;
};
static const struct bt_option options[] = {
    {"name", "word", NULL, "Name.", offsetof(struct opts, name), BT_BUILT},
};
static const struct bt_directive rows[] = {
    BT_SET(struct conf, via, "via", "on", "Via."),
    BT_SET_AS(struct conf, tries, "int(1..9)", "tries", "3", "Tries."),
    {.name = "timeout",
     .args = "duration",
     .unit = "minute",
     .preset = "2",
     .offset = offsetof(struct conf, timeout)},
    BT_SET(struct conf, size, "size", NULL, "Size."),
    BT_SET(struct conf, host, "host", NULL, "Host."),
    BT_SET_AS(struct conf, kind, "a|b|c", "kind", "b", "Kind."),
    {.name = "access", .args = "allow|deny acls+", .offset = offsetof(struct conf, access)},
    {.name = "keep",
     .args = "word options [word] fastacls",
     .set = keep,
     .options = BT_ROWS(options),
     .option_size = sizeof(struct opts)},
    {.name = "quiet", .args = "word", .preset = "preset", .set = keep_quiet},
    {.name = "log", .args = "word format", .set = keep},
    {.name = "secret", .args = "int", .set = keep, .flags = BT_SECRET},
    {.name = "old_via", .same_as = "via"},
    {.name = "older_via", .same_as = "old_via"},
    {.name = "circle", .same_as = "circle"},
    {.name = "tuning", .args = "on|off", .status = BT_IGNORED, .note = "why not"},
    {.name = "calm", .args = "int", .status = BT_IGNORED, .preset = "0"},
    {.name = "danger",
     .args = "allow|deny acls+",
     .status = BT_UNBUILT,
     .preset = "deny *|x",
     .note = "it would leak"},
    {.name = "gone", .args = "any", .status = BT_OBSOLETE, .note = "write via"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool find(void *ctx, bt_str name, struct bind_target *out)
{
    (void)ctx;
    for (size_t i = 0; i < ROWS; i++)
        if (bt_str_eq(name, str_from(rows[i].name))) {
            *out = (struct bind_target){&rows[i], &conf, "test"};
            return true;
        }
    return false;
}

static const char *nearest(void *ctx, bt_str name)
{
    struct suggest near;

    (void)ctx;
    suggest_init(&near, name);
    for (size_t i = 0; i < ROWS; i++)
        suggest_try(&near, rows[i].name);
    return near.best;
}

static bool asked_to_wait;
static size_t asked_acls;

static const struct bt_acls *acls(void *ctx, struct bt_args names, const struct bt_directive *row,
                                  bool may_wait, struct bt_error *error)
{
    (void)row;
    asked_to_wait = may_wait;
    asked_acls = names.n;
    for (size_t i = 0; i < names.n; i++)
        if (str_eq_literal(names.word[i].text, "nobody")) {
            (void)bt_complain(error, &names.word[i], "no such ACL");
            return NULL;
        }
    return names.n > 0 ? ctx : NULL;
}

static int actions[8];
static size_t n_actions;

static void rule(void *ctx, struct bt_rules **list, const struct bt_line *line, int action,
                 const struct bt_directive *row)
{
    assert_ptr_equal(list, &conf.access);
    assert_ptr_equal(line->acls, ctx);
    assert_string_equal(row->name, "access");
    actions[n_actions++] = action;
}

static bool format(void *ctx, const struct bt_word *at, bt_str text, struct bt_error *error)
{
    (void)ctx;
    return str_find(text, BT_STR("%bad")) < 0 || bt_complain(error, at, "a bad format");
}

static int some_acls;
static const struct bind_hooks hooks = {&some_acls, find, nearest, acls, rule, format};

static bool bound(const char *text)
{
    memset(&conf, 0, sizeof conf);
    n_actions = err.n = 0;
    assert_true(bind_presets(rows, ROWS, &conf, arena, &err));
    assert_true(kit_silent());
    assert_true(kit_read(text));
    bool good = bind_lines(&file, &hooks, arena, &err);
    return bind_silent(&file, rows, ROWS, &conf, &hooks, arena, &err) && good;
}

static void presets(void **state)
{
    (void)state;
    assert_true(bound("quiet loud\n"));
    assert_true(kit_silent());
    assert_true(conf.via);
    assert_int_equal(conf.tries, 3);
    assert_int_equal(conf.timeout.ms, 120000);
    assert_int_equal(conf.size.bytes, 0);
    assert_null(conf.host.at);
    assert_int_equal(conf.kind, 1);
    assert_int_equal(conf.kept, 1); /* the line; no preset beside it */
    assert_str(conf.quiet, "loud");
    assert_true(bound(""));
    assert_int_equal(conf.kept, 1); /* the preset */
    assert_str(conf.quiet, "preset");
}

static void bad_presets(void **state)
{
    (void)state;
    static const struct bt_directive bad[] = {
        BT_SET(struct conf, via, "via", "maybe", "Via."),
        {.name = "many", .args = "word word", .preset = "a b"},
        {.name = "none", .args = "[", .preset = "a"},
    };

    assert_false(bind_presets(bad, 3, &conf, arena, &err));
    assert_int_equal(err.faults, 5);
    assert_string_equal(err.list[1].text, "the preset of via does not fit");
}

static void fields(void **state)
{
    (void)state;
    assert_true(bound("via off\ntries 9\ntimeout 5 seconds\nsize 2 KB\nhost h.example\nkind c\n"));
    assert_false(conf.via);
    assert_int_equal(conf.tries, 9);
    assert_int_equal(conf.timeout.ms, 5000);
    assert_int_equal(conf.size.bytes, 2048);
    assert_str(conf.host, "h.example");
    assert_int_equal(conf.kind, 2);
    assert_true(bound("tries 4\ntries 5\nolder_via off\nold_via off\n"));
    assert_int_equal(conf.tries, 5); /* the last one stands */
    assert_false(conf.via);
    assert_true(kit_silent());
}

static void set_is_given_the_line(void **state)
{
    (void)state;
    assert_true(bound("keep one name=n  \"t wo\" # c\n"));
    const struct bt_line *line = conf.last;
    assert_int_equal(line->args.n, 2);
    assert_str(line->args.word[1].text, "t wo");
    assert_str(line->name.text, "keep");
    assert_str(((const struct opts *)line->options)->name, "n");
    assert_str(line->text, "one name=n  \"t wo\" # c");
    assert_ptr_equal(line->arena, arena);
    assert_null(line->acls);
    assert_false(asked_to_wait);
    assert_false(bound("keep bad\n"));
    assert_true(kit_said(1, 6, true, "does not like it"));
}

static void rules(void **state)
{
    (void)state;
    assert_true(bound("access allow a !b\naccess deny all\n"));
    assert_int_equal(n_actions, 2);
    assert_int_equal(actions[0], BT_ALLOW);
    assert_int_equal(actions[1], BT_DENY);
    assert_true(asked_to_wait);
    assert_false(bound("access allow\naccess permit nobody\naccess deny a nobody\n"));
    assert_true(kit_said(1, 1, true, "needs the name of an ACL"));
    assert_true(kit_said(2, 8, true, "allow"));
    assert_true(kit_said(2, 15, true, "no such ACL")); /* both faults of a line */
    assert_true(kit_said(3, 15, true, "no such ACL"));
    assert_int_equal(n_actions, 0);
}

static void unknown_names(void **state)
{
    (void)state;
    assert_false(bound("http_acess x\ntriez 1\nVIA on\ncircle on\n"));
    assert_true(kit_said(1, 1, true, "unknown directive 'http_acess'"));
    assert_true(kit_said(2, 1, true, "did you mean 'tries'?"));
    assert_true(kit_said(3, 1, true, "lower case; write via"));
    assert_true(kit_said(4, 1, true, "nobody has"));
    assert_int_equal(err.n, 4);
}

static void names_that_do_not_work(void **state)
{
    (void)state;
    assert_true(bound("tuning on\ntuning off\ngone a \"b\ngone\ncalm 0\n"));
    assert_true(kit_said(1, 1, false, "tuning is known and ignored: why not"));
    assert_true(kit_said(3, 1, false, "gone is obsolete and ignored: write via"));
    assert_int_equal(err.n, 2); /* once a name */
    assert_false(bound("tuning maybe\ncalm 1\ncalm 2\n"));
    assert_true(kit_said(1, 8, true, "on or off"));
    assert_true(kit_said(2, 1, false, "calm is known"));
}

static void unbuilt_names(void **state)
{
    (void)state;
    assert_true(bound("danger deny a b\n"));
    assert_true(kit_silent()); /* what happens anyway */
    assert_int_equal(asked_acls, 2);
    assert_false(bound("danger deny nobody\n"));
    assert_true(kit_said(1, 13, true, "no such ACL"));
    err.n = 0;
    assert_false(bound("danger allow a\ndanger allow b\ndanger alow c\n"));
    assert_true(kit_said(1, 1, true, "danger is not built yet"));
    assert_true(kit_said(1, 1, true, "it would leak"));
    assert_true(kit_said(3, 8, true, "did you mean 'allow'?"));
}

static void formats(void **state)
{
    (void)state;
    assert_true(bound("log f %ts %rm\n"));
    assert_str(conf.last->args.word[1].text, "%ts %rm");
    assert_false(bound("log f %bad\n"));
    assert_true(kit_said(1, 7, true, "a bad format"));
}

static void secrets(void **state)
{
    (void)state;
    assert_false(bound("secret hunter2\nvia hunter2\n"));
    assert_true(kit_said(1, 8, true, "(hidden)"));
    assert_true(err.list[0].secret);
    assert_true(kit_said(2, 5, true, "'hunter2'"));
    assert_false(err.list[1].secret);
}

/* ---- every name of Squid's language ---- */

static void known_rows_compile(void **state)
{
    (void)state;
    for (size_t i = 0; i < known_module.directives.n; i++) {
        const struct bt_directive *row = &known_module.directives.row[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(row->name, known_module.directives.row[k].name) == 0)
                fail_msg("%s is there twice", row->name);
        if (row->same_as != NULL)
            continue;
        if (row->status != BT_BUILT && row->note == NULL)
            fail_msg("%s does not say why", row->name);
        if (row->status == BT_OBSOLETE)
            assert_string_equal(row->args, "any");
        else if (row->status != BT_BUILT)
            assert_string_not_equal(row->args, "any");
    }
    assert_true(known_module.directives.n > 100); /* they become fewer as they are built */
}

static bool find_known(void *ctx, bt_str name, struct bind_target *out)
{
    for (size_t i = 0; i < known_module.directives.n; i++)
        if (bt_str_eq(name, str_from(known_module.directives.row[i].name))) {
            *out = (struct bind_target){&known_module.directives.row[i], ctx, "known"};
            return true;
        }
    return false;
}

/* Each name once, with words that nobody means: complaints are welcome, a crash is not. */
static void known_rows_take_anything(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",     "a",  "1 2 3 4 5 6 7", "allow all", "= == a= =b", "\"",
        "none", "-1", "basic program", "%x"};
    struct bind_hooks all = {.ctx = NULL, .find = find_known};

    all.ctx = bt_alloc(arena, known_module.conf_size);
    for (size_t i = 0; i < known_module.directives.n; i++)
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
            const char *name = known_module.directives.row[i].name;
            (void)!kit_read(bt_str_printf(arena, "%s %s\n", name, lines[k]).at);
            (void)!bind_lines(&file, &all, arena, &err);
        }
    assert_true(err.faults > 1000);
}

static const struct CMUnitTest tests[] = {
    KIT(presets),
    KIT(bad_presets),
    KIT(fields),
    KIT(rules),
    KIT(unknown_names),
    KIT(names_that_do_not_work),
    KIT(unbuilt_names),
    KIT(formats),
    KIT(secrets),
    KIT(set_is_given_the_line),
    KIT(known_rows_compile),
    KIT(known_rows_take_anything),
};
UNIT_MAIN(tests)
