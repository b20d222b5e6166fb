/* commands.c - the commands of bobtailctl, one row each: for help, completion and the manual.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/suggest.h"

const struct command commands[] = {
    {"status", "[--json]", "how the server is, who serves, and what became of the last reload"},
    {"stats", "[--json|--openmetrics] [--kind gauge|count|histogram] [PATTERN]",
     "counters; PATTERN is a part of a name, or a glob"},
    {"workers", "[--json]", "the processes that serve, and what each does"},
    {"top", "[--json|--once]",
     "exchanges under way, the oldest first; on a terminal anew each second, until Ctrl-C"},
    {"kill", "ID", "end one of those that top shows, at once"},
    {"tail",
     "[--json] [--count N] [client ADDR] [user NAME] [status 4xx] [method NAME] [host .DOMAIN] "
     "[result TCP_DENIED] [text TEXT]",
     "the line of each exchange that ends, whatever is logged and where; of those alone that all "
     "conditions hold for"},
    {"rules", "[--json]", "every access rule, and how often it decided since it was read"},
    {"explain", "METHOD URL [from ADDR] [user NAME] [header NAME: VALUE]... [--json]",
     "walk http_access in words for a request that nobody sends"},
    {"config", "[--json] [all] [NAME]",
     "the lines that are in force, without secrets; all: what stands without a line, too"},
    {"set", "NAME VALUE",
     "another value for a directive, until the next reload; bobtail --explain NAME says which can"},
    {"log", "level [error|warn|info|debug] [MODULE]",
     "how much is told in cache_log; with MODULE debug lines of that one alone"},
    {"cache", "[URL]", "what the cache holds; or what it knows of a URL, and until when"},
    {"peers", "[NAME]", "parents: which are up, what they did, connections that are open to them"},
    {"purge", "URL|prefix URL|regex PATTERN", "drop what the cache holds of it"},
    {"reload", "", "read the configuration again; returns when it serves, or was refused"},
    {"reload-lists", "",
     "read the list files of ACLs again; status 1 when a file or a line could not be read"},
    {"reload-lua", "", "load the scripts of lua_script again; when that fails the old ones stay"},
    {"rotate", "", "rotate the logs"},
    {"ca", "init|show|export [FILE]",
     "the authority of ssl-bump: make one, look at it, give its certificate to clients; \"ca help\" "
     "tells more. Needs no server"},
    {"drain", "",
     "take no new connections, and end when clients are done, however long that takes; returns "
     "when it has ended"},
    {"stop", "",
     "end when clients are done, at shutdown_lifetime at the latest; returns when it has ended"},
    {"idle", "close", "close connections to origins that wait for a request"},
    {"clock", "+SECONDS", "move the clock of a server that was started with --test"},
    {"segment", "", "where the counters can be mapped by other programs"},
    {"version", "", "version of the running server"},
    {"completion", "bash|zsh|fish", "print what makes that shell complete these words"},
    {"help", "", "this text"},
};
const size_t commands_n = sizeof commands / sizeof *commands;

const struct command *commands_find(const char *word)
{
    for (size_t i = 0; i < commands_n; i++)
        if (strcmp(commands[i].word, word) == 0)
            return &commands[i];
    return NULL;
}

const char *commands_near(const char *word)
{
    struct suggest near;

    suggest_init(&near, str_from(word));
    for (size_t i = 0; i < commands_n; i++)
        suggest_try(&near, commands[i].word);
    return near.best;
}

static const char places[] = SYSCONFDIR "/bobtail.conf, if it names one, else " LOCALSTATEDIR
                                        "/run/bobtail/control";

int commands_help(void)
{
    printf("Usage: bobtailctl [-s SOCKET | -f FILE] [--progress] COMMAND\n\n"
           "  -s SOCKET   the server's control_socket\n"
           "  -f FILE     its configuration, which says where that is\n"
           "  --progress  tell each second what is waited for, also where that is no terminal\n"
           "Without -s and -f: %s.\n\n",
           places);
    for (size_t i = 0; i < commands_n; i++) {
        printf("  %s%s%s\n", commands[i].word, commands[i].more[0] != '\0' ? " " : "",
               commands[i].more);
        printf("             %s\n", commands[i].doc);
    }
    puts("\n--json behind any other gives {\"good\": ..., \"text\": ...}.");
    puts("\nExit status: 0 it is done, 1 the server refused or failed, 2 no server was asked.");
    return FINE;
}

/* ---- the manual ---- */

/* What roff would take for a request, or for an escape. */
static void roff(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text != '\0'; text++)
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == ' ' && text[-1] == '.') /* a sentence a line */
            putchar('\n');
        else
            putchar(*text);
}

static void argument(const char *more)
{
    if (more[0] == '\0')
        return;
    fputs(" Ar ", stdout);
    /* One word for mdoc: nothing of it is a macro's name. */
    putchar('"');
    for (; *more != '\0'; more++)
        if (*more == '-')
            fputs("\\-", stdout);
        else
            putchar(*more);
    putchar('"');
}

int commands_manual(void)
{
    puts(".\\\" Printed by bobtailctl out of its rows: do not edit.\n"
         ".Dd December 1, 2026\n.Dt BOBTAILCTL 8\n.Os\n.Sh NAME\n.Nm bobtailctl\n"
         ".Nd control a running Bobtail proxy\n.Sh SYNOPSIS\n.Nm bobtailctl\n"
         ".Op Fl s Ar socket | Fl f Ar file\n.Op Fl \\-progress\n.Ar command ...\n.Sh DESCRIPTION\n"
         ".Nm\nasks a running\n.Xr bobtail 8\nby its control socket, which its owner alone can "
         "use, and prints the answer.\nIts options are:\n.Bl -tag -width Ds\n"
         ".It Fl s Ar socket\nThe control_socket of the server.\n.It Fl f Ar file\nIts "
         "configuration, which says where that is.\n.It Fl \\-progress\nTell each second what is "
         "waited for, also where standard error is no terminal.\n.El\n.Pp\nWithout\n.Fl s\nand\n"
         ".Fl f :");
    roff(places);
    puts(".\n.Pp\nThe commands are:\n.Bl -tag -width Ds");
    for (size_t i = 0; i < commands_n; i++) {
        printf(".It Cm ");
        roff(commands[i].word);
        argument(commands[i].more);
        putchar('\n');
        roff(commands[i].doc);
        puts(".");
    }
    puts(
        ".El\n.Pp\n.Cm \\-\\-json\nbehind a command that has no such option gives its answer as an object "
        "with the members good and text.");
    puts(".Sh EXIT STATUS\n.Bl -tag -width Ds\n.It 0\nIt is done.\n.It 1\nThe server refused, "
         "or failed; why is on standard error.\n.It 2\nNo server was asked: the command line is "
         "wrong, or none listens there.\n.El\n.Sh SEE ALSO\n.Xr bobtail.conf 5 ,\n.Xr bobtail 8");
    return FINE;
}

/* ---- completion ---- */

/* Words of `more` that are to be written so, behind each other, each behind a blank. */
static void literals(const struct command *command)
{
    bt_str rest = str_from(command->more);
    size_t at = 0;

    while (at < rest.len) {
        size_t from = at;
        while (at < rest.len && !(rest.at[at] == ' ' || strchr("|[]", rest.at[at]) != NULL))
            at++;
        bt_str word = str_slice(rest, from, at);
        bool lower = word.len > 1;
        for (size_t i = 0; i < word.len; i++)
            lower &= (word.at[i] >= 'a' && word.at[i] <= 'z') || word.at[i] == '-';
        if (lower)
            printf(" %.*s", BT_STR_ARGS(word));
        at++;
    }
}

static void all_words(void)
{
    for (size_t i = 0; i < commands_n; i++)
        printf("%s%s", i > 0 ? " " : "", commands[i].word);
}

static void for_bash(void)
{
    fputs("# bash completion for bobtailctl: source it, or put it where bash looks for such.\n"
          "_bobtailctl()\n{\n    local word=${COMP_WORDS[COMP_CWORD]} i command= words=\n"
          "    case ${COMP_WORDS[COMP_CWORD-1]} in\n"
          "    -s|-f) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n    esac\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${COMP_WORDS[i]} in\n"
          "        -s|-f) i=$((i + 1)) ;;\n        -*) ;;\n"
          "        *) command=${COMP_WORDS[i]}; break ;;\n        esac\n    done\n"
          "    case $command in\n    '') words='-s -f --progress ",
          stdout);
    all_words();
    puts("' ;;");
    for (size_t i = 0; i < commands_n; i++) {
        if (commands[i].more[0] == '\0')
            continue;
        printf("    %s) words='", commands[i].word);
        literals(&commands[i]);
        puts("' ;;");
    }
    puts("    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
         "complete -o default -F _bobtailctl bobtailctl");
}

static void quoted(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (*text == ':' || *text == '[' || *text == ']')
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void for_zsh(void)
{
    puts("#compdef bobtailctl\n# zsh completion for bobtailctl: a file _bobtailctl in $fpath.\n"
         "_bobtailctl()\n{\n    local -a commands\n    local context state state_descr line\n"
         "    typeset -A opt_args\n    commands=(");
    for (size_t i = 0; i < commands_n; i++) {
        printf("        '%s:", commands[i].word);
        quoted(commands[i].doc);
        puts("'");
    }
    puts("    )\n    _arguments -C '-s[control socket]:socket:_files' "
         "'-f[configuration]:file:_files' '--progress[tell what is waited for]' \\\n"
         "        '1:command:->command' '*:word:->word'\n    case $state in\n"
         "    command) _describe command commands ;;\n    word)\n        case $line[1] in");
    for (size_t i = 0; i < commands_n; i++) {
        if (commands[i].more[0] == '\0')
            continue;
        printf("        %s) compadd --", commands[i].word);
        literals(&commands[i]);
        puts("; _files ;;");
    }
    puts("        esac ;;\n    esac\n}\ncompdef _bobtailctl bobtailctl");
}

static void for_fish(void)
{
    puts("# fish completion for bobtailctl: a file bobtailctl.fish in its folder of completions.\n"
         "complete -c bobtailctl -s s -r -d 'control socket'\n"
         "complete -c bobtailctl -s f -r -d configuration\n"
         "complete -c bobtailctl -l progress -d 'tell what is waited for'");
    for (size_t i = 0; i < commands_n; i++) {
        printf("complete -c bobtailctl -n __fish_use_subcommand -a %s -d '", commands[i].word);
        for (const char *at = commands[i].doc; *at != '\0'; at++)
            fputs(*at == '\'' ? "\\'" : (char[]){*at, '\0'}, stdout);
        puts("'");
        if (commands[i].more[0] == '\0')
            continue;
        printf("complete -c bobtailctl -n '__fish_seen_subcommand_from %s' -a '", commands[i].word);
        literals(&commands[i]);
        puts("'");
    }
}

int commands_complete(char **word)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", for_bash}, {"zsh", for_zsh}, {"fish", for_fish}};

    for (size_t i = 0; word[0] != NULL && i < sizeof shells / sizeof *shells; i++)
        if (strcmp(word[0], shells[i].name) == 0 && word[1] == NULL) {
            shells[i].print();
            return FINE;
        }
    fputs("bobtailctl: say: completion bash|zsh|fish\n", stderr);
    return UNABLE;
}
