/* options.c - reads the command line.
 *
 * One table has all options, and --help is printed out of it. Short ones may be bundled (-NCd1) and
 * have their value behind them or in the next word, as Squid's users write them. What Squid has and
 * what means nothing here is accepted in silence, so that start scripts need no change.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/options.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/suggest.h"

struct option {
    struct options_row row;
    bool (*take)(struct options *, const char *value);
};

static bool fail(const char *format, ...) BT_PRINTF(1, 2);
static bool fail(const char *format, ...)
{
    va_list args;

    fputs("bobtail: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\nTry: bobtail --help\n", stderr);
    return false;
}

static bool number(const char *text, uint64_t max, int *out)
{
    uint64_t n;

    if (!str_uint(str_from(text), max, &n))
        return false;
    *out = (int)n;
    return true;
}

static bool take_file(struct options *o, const char *value)
{
    o->conf = value;
    o->conf_given = true;
    return true;
}

static bool take_alone(struct options *o, const char *value)
{
    (void)value;
    return o->alone = true;
}

static bool take_foreground(struct options *o, const char *value)
{
    (void)value;
    return o->foreground = true;
}

static bool take_debug(struct options *o, const char *value)
{
    return number(value, 9, &o->debug) ||
           fail("-d %s: the level is a number from 0 (errors) to 9 (everything)", value);
}

static bool take_debug_all(struct options *o, const char *value)
{
    (void)value;
    o->debug = 9;
    return true;
}

static bool take_syslog(struct options *o, const char *value)
{
    (void)value;
    return o->syslog = true;
}

static bool take_port(struct options *o, const char *value)
{
    if (o->n_ports == OPTIONS_PORTS)
        return fail("-a may be given %d times at most", OPTIONS_PORTS);
    return number(value, 65535, &o->port[o->n_ports++]) ||
           fail("-a %s: a port is a number from 1 to 65535", value);
}

static bool take_service(struct options *o, const char *value)
{
    if (value[0] == '\0' || !str_all(str_from(value), STR_ALPHA | STR_DIGIT))
        return fail("-n %s: a service name is made of letters and digits", value);
    o->service = value;
    return true;
}

static const struct {
    const char *word;
    int signal;
    enum options_task task;
    const char *doc;
} commands[] = {
    {"parse", 0, TASK_PARSE, "check the configuration, start nothing"},
    {"check", 0, TASK_SIGNAL, "is a server running?"},
    {"reconfigure", SIGHUP, TASK_SIGNAL, "read the configuration again"},
    {"rotate", SIGUSR1, TASK_SIGNAL, "rotate the logs"},
    {"shutdown", SIGTERM, TASK_SIGNAL,
     "end when clients are done, at shutdown_lifetime at the latest"},
    {"interrupt", SIGINT, TASK_SIGNAL, "end at once"},
    {"kill", SIGKILL, TASK_SIGNAL, "end without any care"},
    {"debug", SIGUSR2, TASK_SIGNAL, "full diagnostics on, or off again"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static bool take_command(struct options *o, const char *value)
{
    size_t len = strlen(value), hits = 0, hit = 0;
    struct suggest near;

    suggest_init(&near, str_from(value));
    for (size_t i = 0; i < COMMANDS; i++) {
        suggest_try(&near, commands[i].word);
        if (len == 0 || strncmp(commands[i].word, value, len) != 0)
            continue;
        hits++;
        hit = i;
    }
    if (hits == 1) {
        o->task = commands[hit].task;
        o->signal = commands[hit].signal;
        o->word = commands[hit].word;
        return true;
    }
    fprintf(stderr, "bobtail: -k %s: %s", value,
            hits > 1 ? "that may mean several:" : "no such command");
    if (hits == 0 && near.best != NULL)
        fprintf(stderr, "; did you mean \"%s\"?", near.best);
    fputs(hits > 1 ? "" : near.best != NULL ? " There are:" : ". There are:", stderr);
    for (size_t i = 0; i < COMMANDS; i++)
        if (hits == 0 || strncmp(commands[i].word, value, len) == 0)
            fprintf(stderr, " %s", commands[i].word);
    fputc('\n', stderr);
    return false;
}

#define TASK(function, its_task)                                                                   \
    static bool function(struct options *o, const char *value)                                     \
    {                                                                                              \
        o->task = its_task;                                                                        \
        o->word = value;                                                                           \
        return true;                                                                               \
    }
TASK(take_version, TASK_VERSION)
TASK(take_help, TASK_HELP)
TASK(take_dirs, TASK_CACHE_DIRS)
TASK(take_modules, TASK_MODULES)
TASK(take_explain, TASK_EXPLAIN)
TASK(take_reference, TASK_REFERENCE)
TASK(take_make_index, TASK_MAKE_INDEX)
TASK(take_lua_check, TASK_LUA_CHECK)
TASK(take_lua_test, TASK_LUA_TEST)
TASK(take_manual, TASK_MANUAL)

static bool take_names(struct options *o, const char *value)
{
    (void)value;
    return o->form.names = true;
}

static bool take_status(struct options *o, const char *value)
{
    o->form.all_status = strcmp(value, "all") == 0;
    return o->form.all_status || fail("--status %s: the only word here is \"all\"", value);
}

static bool take_json(struct options *o, const char *value)
{
    (void)value;
    return o->form.json = true;
}

static bool take_ready(struct options *o, const char *value)
{
    return number(value, 65535, &o->ready_fd) ||
           fail("--ready-fd %s: the number of an open descriptor is expected", value);
}

static bool take_test(struct options *o, const char *value)
{
    (void)value;
    return o->test = true;
}

static bool take_check(struct options *o, const char *value)
{
    (void)value;
    return o->check = true;
}

static bool take_nothing(struct options *o, const char *value)
{
    (void)o;
    (void)value;
    return true;
}

static const struct option table[] = {
    {{'f', NULL, "FILE", "the configuration"}, take_file},
    {{'N', NULL, NULL, "one process, in the foreground"}, take_alone},
    {{0, "foreground", NULL, "in the foreground, with workers"}, take_foreground},
    {{'k', NULL, "COMMAND", "tell the running server of this configuration something:"},
     take_command},
    {{'a', NULL, "PORT", "listen on this port too"}, take_port},
    {{'d', NULL, "LEVEL", "diagnostics to standard error too, 0 (errors) to 9 (all)"}, take_debug},
    {{'X', NULL, NULL, "all diagnostics there are"}, take_debug_all},
    {{'s', NULL, NULL, "diagnostics to the system log, too"}, take_syslog},
    {{'n', NULL, "NAME", "the service's name: ${service_name} in the configuration"}, take_service},
    {{'z', NULL, NULL, "make missing cache folders"}, take_dirs},
    {{'v', "version", NULL, "version, and what this program was built with"}, take_version},
    {{'h', "help", NULL, "this text"}, take_help},
    {{0, "modules", NULL, "all modules, with state and reason"}, take_modules},
    {{0, "explain", "NAME", "what is known of a module, directive, ACL type, field or counter"},
     take_explain},
    {{0, "reference", "KIND",
      "the manual: directives, counters, fields, acl_types, phases, log_writers, lua"},
     take_reference},
    {{0, "lua-check", "FILE", "would this be taken as a lua_script?"}, take_lua_check},
    {{0, "lua-test", "FILE", "run the functions test_* of a script (see bobtail-lua)"},
     take_lua_test},
    {{0, "names", NULL, "with --reference: names alone"}, take_names},
    {{0, "status", "all", "with --reference: rows that do not work yet, too"}, take_status},
    {{0, "json", NULL, "with --reference, --modules: as JSON"}, take_json},
    {{0, "manual", "PAGE",
      "a manual page in mdoc: bobtail, bobtail.conf, bobtail-module, bobtail-lua"},
     take_manual},
    {{0, "make-index", "DIR", "print which module of a folder provides what"}, take_make_index},
    {{0, "ready-fd", "N", "write ports, control socket and \"ready\" to this descriptor"},
     take_ready},
    {{0, "test", NULL, "let tests move the clock (bobtailctl clock)"}, take_test},
    {{0, "check-start", NULL, NULL}, take_check},
    {{'C', NULL, NULL, NULL}, take_nothing},
    {{'D', NULL, NULL, NULL}, take_nothing},
    {{'F', NULL, NULL, NULL}, take_nothing},
    {{'R', NULL, NULL, NULL}, take_nothing},
    {{'S', NULL, NULL, NULL}, take_nothing},
    {{'V', NULL, NULL, NULL}, take_nothing},
    {{'Y', NULL, NULL, NULL}, take_nothing},
    {{'l', NULL, "FACILITY", NULL}, take_nothing},
    {{'u', NULL, "PORT", NULL}, take_nothing},
};
enum { OPTIONS = sizeof table / sizeof *table };

void options_help(void)
{
    puts("Usage: bobtail [options]\n\nA forward and caching proxy that reads squid.conf.\n");
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct options_row *option = &table[i].row;
        char left[40] = "", letter[4] = "";
        if (option->doc == NULL)
            continue;
        if (option->letter != 0)
            snprintf(letter, sizeof letter, "-%c", option->letter);
        snprintf(left, sizeof left, "%s%s%s%s%s%s", letter,
                 option->letter != 0 && option->name != NULL ? ", " : "",
                 option->name != NULL ? "--" : "", option->name != NULL ? option->name : "",
                 option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
        printf("  %-18s %s\n", left, option->doc);
        for (size_t c = 0; option->letter == 'k' && c < COMMANDS; c++)
            printf("  %-18s   %-12s %s\n", "", commands[c].word, commands[c].doc);
    }
    puts("\nWithout -f: " SYSCONFDIR "/bobtail.conf. The control tool is bobtailctl.");
}

static const struct option *by_letter(char letter)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].row.letter == letter)
            return &table[i];
    return NULL;
}

/* "--name" or "--name=value". *value is what stands behind the sign, NULL without one. */
static const struct option *by_name(const char *word, const char **value)
{
    bt_str name = str_from(word + 2), after;
    struct suggest near;

    str_split(name, '=', &name, &after);
    *value = after.at;
    suggest_init(&near, name);
    for (size_t i = 0; i < OPTIONS; i++) {
        if (table[i].row.name == NULL)
            continue;
        if (bt_str_eq(name, str_from(table[i].row.name)))
            return &table[i];
        if (table[i].row.doc != NULL)
            suggest_try(&near, table[i].row.name);
    }
    if (near.best != NULL)
        fail("--%.*s: no such option; did you mean --%s?", BT_STR_ARGS(name), near.best);
    else
        fail("--%.*s: no such option", BT_STR_ARGS(name));
    return NULL;
}

/* All options of "-NCd1"; *next is the word that may be the value of the last. */
static bool read_bundle(struct options *o, const char *word, char ***next)
{
    for (const char *at = word + 1; *at != '\0'; at++) {
        const struct option *option = by_letter(*at);
        if (option == NULL)
            return fail("-%c: no such option", *at);
        if (option->row.value == NULL) {
            if (!option->take(o, NULL))
                return false;
            continue;
        }
        const char *value = at[1] != '\0' ? at + 1 : **next != NULL ? *(*next)++ : NULL;
        if (value == NULL)
            return fail("-%c: its %s is missing", *at, option->row.value);
        return option->take(o, value);
    }
    return true;
}

static bool read_long(struct options *o, const char *word, char ***next)
{
    const char *value;
    const struct option *option = by_name(word, &value);

    if (option == NULL)
        return false;
    if (option->row.value == NULL && value != NULL)
        return fail("--%s takes no value", option->row.name);
    if (option->row.value != NULL && value == NULL && **next != NULL)
        value = *(*next)++;
    if (option->row.value != NULL && value == NULL)
        return fail("--%s: its %s is missing", option->row.name, option->row.value);
    return option->take(o, value);
}

bool options_read(struct options *o, int argc, char **argv)
{
    (void)argc;
    *o = (struct options){.conf = SYSCONFDIR "/bobtail.conf",
                          .debug = -1,
                          .ready_fd = -1,
                          .service = "bobtail",
                          .argv = argv};
    char **next = argv + 1;

    while (*next != NULL) {
        const char *word = *next++;
        bool good = word[0] == '-' && word[1] == '-' && word[2] != '\0' ? read_long(o, word, &next)
                    : word[0] == '-' && word[1] != '\0' && word[1] != '-'
                        ? read_bundle(o, word, &next)
                        : fail("\"%s\": no option; a configuration file is given as -f %s", word,
                               word);
        if (!good)
            return false;
    }
    return true;
}

void options_each(void (*each)(const struct options_row *))
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (table[i].row.doc != NULL)
            each(&table[i].row);
}

void options_each_command(void (*each)(const char *word, const char *doc))
{
    for (size_t i = 0; i < COMMANDS; i++)
        each(commands[i].word, commands[i].doc);
}
