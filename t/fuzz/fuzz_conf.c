/* fuzz_conf.c - configurations and grammars of arguments, whatever they look like.
 *
 * Input that begins with `?` is a grammar, up to the first newline, and lines for it; other input is
 * a configuration, bound to rows of every grammar word. It can reach two small files by `include`
 * and as lists: there is no `/` left in it, and next to no environment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

#include "base/arena.h"
#include "base/suggest.h"
#include "conf/bind.h"
#include "conf/complain.h"
#include "conf/grammar.h"

static char folder[64] = "/tmp/bobtail-fuzz-XXXXXX";
static char name[80]; /* of the configuration; relative names are looked for beside it */

static void folder_end(void)
{
    char path[80];

    for (const char *file = "ab"; *file != '\0'; file++) {
        snprintf(path, sizeof path, "%s/%c", folder, *file);
        (void)!unlink(path);
    }
    (void)!rmdir(folder);
}

static void folder_write(const char *file, const char *text)
{
    char path[80];

    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *out = fopen(path, "w");
    MUST(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
}

static void folder_begin(void)
{
    MUST(clearenv() == 0 && setenv("X", "a value", 1) == 0);
    MUST(mkdtemp(folder) != NULL);
    snprintf(name, sizeof name, "%s/fuzz.conf", folder);
    folder_write("a", "set b c\ninclude b\nlist \"b\"\n");
    folder_write("b", "set one # two\nif 1 = 1\nset two \\\n three\nendif\n");
    atexit(folder_end);
}

/* ---- rows ---- */

struct conf {
    bool on;
    int64_t number, choice;
    bt_size size;
    bt_duration duration;
    bt_str text;
    struct bt_rules *rules;
};

static size_t seen; /* so that words are read to their ends */

static void look(const struct bt_word *word)
{
    MUST(word->text.at != NULL && word->text.at[word->text.len] == '\0');
    seen += strlen(word->text.at) + word->line + word->column;
}

static bool set(void *conf, const struct bt_line *line, struct bt_error *err)
{
    (void)conf;
    for (size_t i = 0; i < line->args.n; i++)
        look(&line->args.word[i]);
    MUST(line->text.at != NULL);
    return seen % 5 != 0 || bt_complain(err, NULL, "set of %s", line->name.text.at);
}

struct opts {
    bool flag, on;
    int64_t number;
    bt_str text;
};
static const struct bt_option options[] = {
    {"flag", NULL, NULL, "", offsetof(struct opts, flag), BT_BUILT},
    {"n", "int(0..9)", "3", "", offsetof(struct opts, number), BT_BUILT},
    {"on", "[on|off]", NULL, "", offsetof(struct opts, on), BT_BUILT},
    {"text", "[word]", NULL, "", offsetof(struct opts, text), BT_BUILT},
    {"tuning", "int", NULL, "", 0, BT_IGNORED},
    {"danger", "regex", NULL, "", 0, BT_UNBUILT},
};

#define SCALAR(its_name, grammar, field)                                                           \
    {                                                                                              \
        .name = its_name, .args = grammar, .offset = offsetof(struct conf, field)                  \
    }
static const struct bt_directive rows[] = {
    SCALAR("via", "on|off", on),
    SCALAR("int", "int(-5..500)|auto", number),
    SCALAR("percent", "[percent]", number),
    SCALAR("port", "port", number),
    SCALAR("kind", "a|b|c", choice),
    SCALAR("size", "size|none", size),
    SCALAR("time", "duration", duration),
    SCALAR("addr", "addr", text),
    SCALAR("host", "host", text),
    SCALAR("regex", "regex", text),
    SCALAR("text", "text", text),
    SCALAR("rules", "allow|deny acls+", rules),
    {.name = "set", .args = "word [word...]", .set = set, .preset = "a b"},
    {.name = "list", .args = "[-i] word...", .set = set, .flags = BT_LISTFILE},
    {.name = "options",
     .args = "word [in duration] options fastacls",
     .set = set,
     .options = BT_ROWS(options),
     .option_size = sizeof(struct opts)},
    {.name = "command",
     .args = "word options command",
     .set = set,
     .options = BT_ROWS(options),
     .option_size = sizeof(struct opts)},
    {.name = "format", .args = "word format", .set = set},
    {.name = "add", .args = "word format fastacls", .set = set},
    {.name = "secret", .args = "int", .set = set, .flags = BT_SECRET},
    {.name = "any", .args = "any", .status = BT_OBSOLETE},
    {.name = "tuning", .args = "size [size [size]]", .status = BT_IGNORED, .preset = "0*|1"},
    {.name = "danger",
     .args = "int allow|deny fastacls+",
     .status = BT_UNBUILT,
     .preset = "* deny"},
    {.name = "alias", .same_as = "via"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool find(void *ctx, bt_str wanted, struct bind_target *out)
{
    for (size_t i = 0; i < ROWS; i++)
        if (bt_str_eq(wanted, str_from(rows[i].name))) {
            *out = (struct bind_target){&rows[i], ctx, "fuzz"};
            return true;
        }
    return false;
}

static const char *nearest(void *ctx, bt_str wanted)
{
    struct suggest near;

    (void)ctx;
    suggest_init(&near, wanted);
    for (size_t i = 0; i < ROWS; i++)
        suggest_try(&near, rows[i].name);
    return near.best;
}

static const struct bt_acls *acls(void *ctx, struct bt_args names, const struct bt_directive *row,
                                  bool may_wait, struct bt_error *err)
{
    (void)ctx, (void)row, (void)may_wait;
    for (size_t i = 0; i < names.n; i++) {
        look(&names.word[i]);
        if (names.word[i].text.len > 20)
            (void)bt_complain(err, &names.word[i], "no such ACL");
    }
    return NULL;
}

static void rule(void *ctx, struct bt_rules **list, const struct bt_line *line, int action,
                 const struct bt_directive *row)
{
    (void)ctx, (void)list, (void)row;
    MUST(line->name.text.len > 0 && action >= 0 && action < 3);
}

/* ---- the two kinds of input ---- */

static void check_lines(const struct file *file)
{
    for (size_t i = 0; i < file->n; i++) {
        const struct file_line *line = &file->line[i];
        look(&line->name);
        MUST(line->text.at != NULL && line->text.at[line->text.len] == '\0');
        for (size_t k = 0; k < line->n; k++) {
            look(&line->word[k]);
            MUST(line->start[k] <= line->text.len &&
                 (k == 0 || line->start[k - 1] <= line->start[k]));
            MUST(line->word[k].quoted == (line->how[k] == FILE_QUOTED));
        }
    }
}

static void configuration(bt_str text, struct bt_arena *arena, struct bt_error *err)
{
    struct bind_hooks hooks = {
        bt_alloc(arena, sizeof(struct conf)), find, nearest, acls, rule, NULL};
    struct file file;

    MUST(bind_presets(rows, ROWS, hooks.ctx, arena, err));
    bool good = file_read_text(&file, name, text, arena, err);
    MUST(good == (err->faults == 0));
    check_lines(&file);
    good &= bind_lines(&file, &hooks, arena, err);
    good &= bind_silent(&file, rows, ROWS, hooks.ctx, &hooks, arena, err);
    MUST(good == (err->faults == 0));
}

static void language(bt_str text, struct bt_arena *arena, struct bt_error *err)
{
    struct grammar_of of = {.option = options,
                            .options = sizeof options / sizeof *options,
                            .option_size = sizeof(struct opts),
                            .flags = BT_LISTFILE,
                            .folds = true,
                            .arena = arena};
    struct grammar_line out;
    struct file file;
    bt_str args, rest;
    const char *why = NULL;

    (void)str_split(text, '\n', &args, &rest);
    if (memchr(args.at, '\0', args.len) != NULL)
        return;
    struct grammar *grammar = grammar_compile(arena, bt_str_copy(arena, args).at, &why);
    MUST((grammar == NULL) == (why != NULL));
    if (grammar == NULL || rest.at == NULL)
        return;
    (void)!file_read_text(&file, name, rest, arena, err);
    for (size_t i = 0; i < file.n; i++) {
        size_t faults = err->faults;
        bool good = grammar_line(grammar, &of, &file.line[i], &out, err);
        MUST(good == (err->faults == faults));
        for (size_t k = 0; k < out.args.n; k++)
            look(&out.args.word[k]);
        (void)!grammar_words(grammar, &of, &file.line[i].name, out.args, &out, err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    struct bt_error err;

    if (nowhere == NULL) {
        folder_begin();
        nowhere = fopen("/dev/null", "w");
        MUST(nowhere != NULL);
    }
    if (size > 20000)
        return 0;
    struct bt_arena *arena = arena_new(4096);
    complain_init(&err, arena);
    char *text = malloc(size + 1);
    MUST(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '/')
            text[i] = ':';
    if (size > 0 && text[0] == '?')
        language((bt_str){text + 1, size - 1}, arena, &err);
    else
        configuration((bt_str){text, size}, arena, &err);
    complain_print(&err, nowhere, true);
    complain_fini(&err);
    arena_free(arena);
    free(text);
    return 0;
}
