/* manpage.c - manual pages out of the rows, in mdoc(7).
 *
 * Text of rows is plain: what roff would take for a request, or for an escape, is escaped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/manpage.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "plug/phase.h"
#include "plug/registry.h"
#include "proc/options.h"
#include "stat/counts.h"

static FILE *out;
static const struct generation *all;

/* ---- roff ---- */

/* Within a line. */
static void text(const char *at)
{
    for (; *at != '\0'; at++)
        if (*at == '\\')
            fputs("\\e", out);
        else if (*at == '-')
            fputs("\\-", out);
        else if (*at == '"')
            fputs("\\(dq", out);
        else if (*at == '\n')
            fputc(' ', out);
        else
            fputc(*at, out);
}

/* One argument of a macro: nothing in it is a macro's name, or a delimiter. */
static void argument(const char *at)
{
    fputs(" \"", out);
    if (*at != '\0' && strchr(".,:;()[]?!|", *at) != NULL)
        fputs("\\&", out);
    text(at);
    fputc('"', out);
}

/* Does a sentence end here, and another one begin? */
static bool is_end(const char *at)
{
    return strchr(".:?!", *at) != NULL && at[1] == ' ' && at[2] >= 'A' && at[2] <= 'Z';
}

/* Lines of their own, one a sentence. */
static void line(const char *at)
{
    char one[2] = "";

    if (at == NULL || *at == '\0')
        return;
    if (*at == '.' || *at == '\'' || *at == ' ')
        fputs("\\&", out);
    for (; *at != '\0'; at++) {
        one[0] = *at;
        text(one);
        if (is_end(at)) {
            fputc('\n', out);
            at++;
        }
    }
    fputc('\n', out);
}

/* What is mdoc already. */
static void mdoc(const char *lines)
{
    for (; *lines != '\0'; lines++) {
        fputc(*lines, out);
        if (is_end(lines)) {
            fputc('\n', out);
            lines++;
        }
    }
}

static void head(const char *title, const char *section, const char *name, const char *what)
{
    fprintf(out,
            ".\\\" Printed by bobtail out of its rows: do not edit.\n.Dd December 1, 2026\n"
            ".Dt %s %s\n.Os\n.Sh NAME\n.Nm %s\n.Nd %s\n",
            title, section, name, what);
}

static void item(const char *macro, const char *name, const char *more)
{
    fprintf(out, ".It %s", macro);
    argument(name);
    if (more != NULL && *more != '\0') {
        fputs(" Ar", out);
        argument(more);
    }
    fputc('\n', out);
}

static void remark(const char *what, const char *value)
{
    if (value == NULL || *value == '\0')
        return;
    mdoc(".br\n");
    fprintf(out, "%s: ", what);
    text(value);
    fputc('\n', out);
}

/* ---- directives ---- */

static bool is_taken_over(const struct bt_module *module, const struct bt_directive *row)
{
    const struct registry_row *found = registry_find(all->registry, ROW_DIRECTIVE,
                                                     str_from(row->name));

    return found != NULL && found->module != module;
}

static void aliases(const struct bt_directive *row)
{
    bool some = false;

    for (size_t m = 0; m < all->n_modules; m++)
        for (size_t i = 0; i < all->modules[m]->directives.n; i++) {
            const struct bt_directive *other = &all->modules[m]->directives.row[i];
            if (other->same_as == NULL || strcmp(other->same_as, row->name) != 0)
                continue;
            fputs(some ? ", " : ".br\nAlso called: ", out);
            text(other->name);
            some = true;
        }
    if (some)
        fputc('\n', out);
}

static void options_of(const struct bt_directive *row)
{
    bool some = false;

    for (size_t i = 0; i < row->options.n; i++) {
        const struct bt_option *option = &row->options.row[i];
        if (option->status != BT_BUILT)
            continue;
        if (!some)
            mdoc(".Bl -tag -width Ds\n");
        some = true;
        fputs(".It Cm", out);
        argument(option->name);
        if (option->args != NULL) {
            fputs(" Ns Li = Ns Ar", out);
            argument(option->args);
        }
        fputc('\n', out);
        line(option->doc);
        remark("Default", option->preset);
    }
    if (some)
        mdoc(".El\n");
}

static void directive(const struct bt_directive *row)
{
    item("Ic", row->name, row->args);
    line(row->doc);
    remark("Default", row->preset);
    if ((row->flags & BT_LISTFILE) != 0)
        mdoc(".br\nA word in quotes names a file whose lines are the values.\n");
    if ((row->flags & BT_LIVE) != 0)
        mdoc(".br\n.Xr bobtailctl 8\n.Cm set\nchanges it while the server runs.\n");
    aliases(row);
    options_of(row);
}

static void directives_of(const struct bt_module *module)
{
    bool some = false;

    for (size_t i = 0; i < module->directives.n; i++) {
        const struct bt_directive *row = &module->directives.row[i];
        if (row->status != BT_BUILT || row->same_as != NULL || is_taken_over(module, row))
            continue;
        if (!some) {
            fputs(".Ss Module ", out);
            line(module->name);
            line(module->doc);
            mdoc(".Bl -tag -width Ds\n");
        }
        some = true;
        directive(row);
    }
    if (some)
        mdoc(".El\n");
}

/* Names of the language that do nothing here, or are refused. */
static void names_of_status(enum bt_status status, const char *what)
{
    struct bt_arena *arena = arena_new(16 * 1024);
    const struct registry_row *rows;
    size_t n = registry_rows(all->registry, ROW_DIRECTIVE, arena, &rows);
    bool some = false;

    for (size_t i = 0; i < n; i++) {
        const struct bt_directive *row = rows[i].row;
        if (row->status != status || row->same_as != NULL)
            continue;
        if (!some)
            fprintf(out, "%s:\n", what);
        else
            fputs(",\n", out);
        some = true;
        text(row->name);
    }
    if (some)
        fputs(".\n", out);
    if (some && status != BT_UNBUILT)
        mdoc(".Pp\n");
    arena_free(arena);
}

/* ---- other rows ---- */

static void acl_types(void)
{
    struct bt_arena *arena = arena_new(16 * 1024);
    const struct registry_row *rows;
    size_t n = registry_rows(all->registry, ROW_ACL_TYPE, arena, &rows);

    mdoc(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < n; i++) {
        const struct bt_acl_type *row = rows[i].row;
        if (row->status != BT_BUILT)
            continue;
        item("Ic", rows[i].name, row->args);
        line(row->doc);
        remark("Known from phase", phase_name(row->earliest));
        if ((row->flags & BT_SLOW) != 0)
            mdoc(".br\nIt may wait, so lists that cannot do not take it.\n");
    }
    mdoc(".El\n");
    arena_free(arena);
}

static void fields(void)
{
    mdoc(".Bl -tag -width Ds\n");
    for (size_t m = 0; m < all->n_modules; m++)
        for (size_t i = 0; i < all->modules[m]->fields.n; i++) {
            const struct bt_field *row = &all->modules[m]->fields.row[i];
            item("Ic", row->name, NULL);
            line(row->doc);
            remark("Codes", row->codes);
        }
    mdoc(".El\n");
}

static void log_writers(void)
{
    mdoc(".Bl -tag -width Ds\n");
    for (size_t m = 0; m < all->n_modules; m++)
        for (size_t i = 0; i < all->modules[m]->log_writers.n; i++) {
            const struct bt_log_writer *row = &all->modules[m]->log_writers.row[i];
            item("Ic", row->name, row->place);
            line(row->doc);
        }
    mdoc(".El\n");
}

static void counters_of(const struct bt_counter *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        item("Ic", row[i].name, row[i].unit);
        line(row[i].doc);
    }
}

static void counters(void)
{
    struct bt_arena *arena = arena_new(16 * 1024);
    const struct registry_row *rows;
    size_t n = registry_rows(all->registry, ROW_COUNTER, arena, &rows);

    mdoc(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < n; i++)
        counters_of(rows[i].row, 1);
    mdoc(".El\n");
    arena_free(arena);
}

static void phases(void)
{
#define PHASE_DOC_(name, doc) {#name, doc},
    static const struct {
        const char *name, *doc;
    } rows[] = {BT_PHASES(PHASE_DOC_)};

    mdoc(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        item("Ic", rows[i].name, NULL);
        line(rows[i].doc);
    }
    mdoc(".El\n");
}

static void modules(void)
{
    mdoc(".Bl -tag -width Ds\n");
    for (size_t m = 0; m < all->n_modules; m++) {
        const struct bt_module *module = all->modules[m];
        const struct generation_module *found = generation_find(all, str_from(module->name));
        if (found == NULL || found->path == NULL)
            continue;
        item("Ic", module->name, NULL);
        line(module->doc);
        if (module->by_default)
            mdoc(".br\nThere by itself; module NAME off forbids it.\n");
        for (size_t i = 0; i < module->commands.n; i++)
            remark("Command of bobtailctl", module->commands.row[i].name);
    }
    mdoc(".El\n");
}

static void one_command(const char *word, const char *doc)
{
    item("Cm", word, NULL);
    line(doc);
}

static void one_option(const struct options_row *row)
{
    char flag[2] = {row->letter, '\0'}, word[40] = "-";

    fputs(".It", out);
    if (row->letter != '\0') {
        fputs(" Fl", out);
        argument(flag);
    }
    if (row->name != NULL) {
        snprintf(word + 1, sizeof word - 1, "%s", row->name);
        fputs(row->letter != '\0' ? " , Fl" : " Fl", out);
        argument(word);
    }
    if (row->value != NULL) {
        fputs(" Ar", out);
        argument(row->value);
    }
    fputc('\n', out);
    line(row->doc);
}

/* ---- pages ---- */

static void page_server(void)
{
    head("BOBTAIL", "8", "bobtail", "forward and caching HTTP proxy");
    mdoc(
        ".Sh SYNOPSIS\n.Nm bobtail\n.Op Ar options\n.Sh DESCRIPTION\n.Nm bobtail\nis a proxy for HTTP "
        "that reads the configuration language of Squid, see\n.Xr bobtail.conf 5 .\nOne process, "
        "the master, reads the configuration, opens ports and logs, and watches; workers, one a "
        "core, carry the traffic with the rights of another user.\nIt is controlled by\n"
        ".Xr bobtailctl 8 .\n.Pp\nThe options are:\n.Bl -tag -width Ds\n");
    options_each(one_option);
    mdoc(".El\n.Pp\nThe words of\n.Fl k\nare:\n.Bl -tag -width Ds\n");
    options_each_command(one_command);
    mdoc(
        ".El\n"
        ".Sh SIGNALS\nTo the master; workers need none.\n.Bl -tag -width Ds\n"
        ".It Dv SIGHUP\nRead the configuration again. A child tries it; when it has faults they are "
        "logged, and all goes on as it was. Else the master runs its program anew, with ports, "
        "memory and counters handed over, and the old workers finish what they carry. So a new "
        "program is taken over as well.\n"
        ".It Dv SIGUSR1\nRotate the logs: rename them, as many as logfile_rotate says, and open "
        "them anew.\n"
        ".It Dv SIGUSR2\nFull diagnostics on, and off again.\n"
        ".It Dv SIGTERM\nStop: take no new connections, finish what is under way, and end at "
        "shutdown_lifetime at the latest. Once more: end at once.\n"
        ".It Dv SIGINT\nEnd at once.\n.El\n"
        ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
        ".It Ev NOTIFY_SOCKET , WATCHDOG_USEC , WATCHDOG_PID\nAs of sd_notify(3): whom to tell that "
        "it serves, reloads, stops and lives.\n"
        ".It Ev LISTEN_FDS , LISTEN_PID , LISTEN_FDNAMES\nAs of sd_listen_fds(3): sockets that are "
        "open already, for the ports of that name or address.\n"
        ".It Ev BOBTAIL_MODULES\nThe folder of modules, instead of the one that was built in.\n"
        ".El\n"
        ".Sh FILES\n.Bl -tag -width Ds\n.It Pa " SYSCONFDIR "/bobtail.conf\nThe configuration.\n"
        ".It Pa " MODULEDIR "\nModules, see\n.Xr bobtail-module 7 .\n"
        ".It Pa " LOCALSTATEDIR "/run/bobtail/control\nThe socket of\n.Xr bobtailctl 8 .\n"
        ".It Pa " LOCALSTATEDIR "/log/bobtail/cache.log\nDiagnostics.\n.El\n"
        ".Sh EXIT STATUS\n.Ex -std bobtail\n"
        ".Sh COUNTERS\nWhat\n.Nm bobtailctl\n.Cm stats\ntells, and whoever else reads the shared "
        "segment:\n");
    counters();
    mdoc(".Sh SEE ALSO\n.Xr bobtail.conf 5 ,\n.Xr bobtail-lua 7 ,\n.Xr bobtail-module 7 ,\n"
         ".Xr bobtailctl 8\n");
}

static void page_conf(void)
{
    head("BOBTAIL.CONF", "5", "bobtail.conf", "configuration of the Bobtail proxy");
    mdoc(
        ".Sh DESCRIPTION\nThe language is that of squid.conf, and so are the defaults: an existing "
        "one can be used. A line is a name and its words; a line that begins with a blank, or "
        "follows a backslash at the end of a line, goes on with the one before; # begins a comment. "
        "Words in quotes name files where that is said below, and are text elsewhere. The lines "
        ".Ic include Ar FILE ,\n.Ic if Ar CONDITION ,\n.Ic else\nand\n.Ic endif\nare obeyed before "
        "the others are read.\n.Pp\n.Dl bobtail -k parse -f FILE\n.Pp\ntells all faults of a file at "
        "once.\n.Pp\nIn what follows\n.Ar a|b\nis a choice,\n.Ar [x]\nmay be missing,\n.Ar x...\n"
        "may be repeated, and\n.Ar acls\nare names of ACLs, which all must hold; ! before one "
        "negates it.\n.Sh DIRECTIVES\n");
    for (size_t m = 0; m < all->n_modules; m++)
        directives_of(all->modules[m]);
    mdoc(".Sh NAMES THAT DO NOTHING\n");
    names_of_status(BT_IGNORED, "Known and ignored, with a warning");
    names_of_status(BT_OBSOLETE, "Gone from the language, with a warning");
    names_of_status(BT_UNBUILT, "Refused, since going on without them would be unsafe");
    mdoc(".Sh ACL TYPES\nThe second word of a line\n.Ic acl Ar NAME TYPE VALUE... :\n");
    acl_types();
    mdoc(".Sh FIELDS\nNamed values of an exchange, and the codes by which formats of logs ask for "
         "them; a name may stand in place of a code.\n");
    fields();
    mdoc(".Sh LOG WRITERS\nWhat stands before the colon in the place of an\n.Ic access_log :\n");
    log_writers();
    mdoc(".Sh SEE ALSO\n.Xr bobtail-module 7 ,\n.Xr bobtail 8 ,\n.Xr bobtailctl 8\n");
}

static void page_module(void)
{
    head("BOBTAIL-MODULE", "7", "bobtail-module", "modules of the Bobtail proxy");
    mdoc(".Sh DESCRIPTION\nA module is a shared object in\n.Pa " MODULEDIR "\nwith one symbol, a "
         "constant table of what it adds: directives, counters, fields, ACL types, log writers, "
         "hooks. It is loaded when the configuration uses something of it, or by the line\n"
         ".Ic module Ar NAME Cm on ;\n.Ic module Ar NAME Cm off\nforbids it.\n"
         ".Ic module Ar PATH Cm on\nloads one from elsewhere.\n.Pp\n.Dl bobtail --modules -f FILE\n"
         ".Pp\ntells which are loaded, and why. The header\n.In bt.h\nand modules/README in the "
         "sources say how to write one.\n.Sh MODULES\n");
    modules();
    mdoc(".Sh PHASES\nAn exchange meets them in this order; hooks are run, and lists of rules "
         "asked, in one of them.\n");
    phases();
    mdoc(".Sh SEE ALSO\n.Xr bobtail.conf 5 ,\n.Xr bobtail-lua 7 ,\n.Xr bobtail 8\n");
}

/* Lines as they are. */
static void literal(const char *lines)
{
    bt_str rest = str_from(lines), one;
    struct bt_arena *arena = arena_new(1024);

    mdoc(".Bd -literal -offset indent\n");
    while (str_split(rest, '\n', &one, &rest) || one.len > 0) {
        if (one.len > 0 && strchr(".'", one.at[0]) != NULL)
            fputs("\\&", out);
        text(bt_str_copy(arena, one).at);
        fputc('\n', out);
    }
    mdoc(".Ed\n");
    arena_free(arena);
}

/* The rows of a module's own manual. */
static void manual_of(const struct bt_module *module)
{
    const char *section = NULL;
    struct bt_manual_row row;

    for (size_t i = 0; module->manual != NULL && module->manual(i, &row); i++) {
        if (row.section != section) {
            if (section != NULL)
                mdoc(".El\n");
            mdoc(".Ss");
            argument(row.section);
            mdoc("\n.Bl -tag -width Ds\n");
        }
        section = row.section;
        mdoc(".It Li");
        argument(row.usage);
        fputc('\n', out);
        line(row.doc);
        line(row.where);
        if (row.example != NULL)
            literal(row.example);
    }
    if (section != NULL)
        mdoc(".El\n");
}

static void page_lua(void)
{
    const struct bt_module *lua = registry_module(all->registry, BT_STR("lua"));

    head("BOBTAIL-LUA", "7", "bobtail-lua", "policies of the Bobtail proxy in Lua");
    mdoc(
        ".Sh DESCRIPTION\nThe module lua runs functions of a script for each exchange: they look at it, "
        "let it pass, refuse it, answer it, or change it.\nWhat a script may do is limited in "
        "time, memory and reach; one that fails refuses, unless on-error says otherwise.\n");
    if (lua == NULL) {
        mdoc("This version was built without it.\n");
        return;
    }
    line(lua->doc);
    mdoc(".Sh DIRECTIVES\n");
    directives_of(lua);
    mdoc(".Sh HOOKS AND FUNCTIONS\n");
    manual_of(lua);
    mdoc(".Sh COUNTERS\n.Bl -tag -width Ds\n");
    counters_of(lua->counters.row, lua->counters.n);
    mdoc(".El\n.Sh SEE ALSO\n.Xr bobtail.conf 5 ,\n.Xr bobtail-module 7 ,\n.Xr bobtail 8\n");
}

bool manpage_print(const struct generation *gen, const char *page, FILE *to)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } pages[] = {{"bobtail", page_server},
                 {"bobtail.conf", page_conf},
                 {"bobtail-module", page_module},
                 {"bobtail-lua", page_lua}};

    out = to;
    all = gen;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(page, pages[i].name) == 0) {
            pages[i].print();
            return true;
        }
    fprintf(stderr, "bobtail: there is no manual page %s; there are:", page);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        fprintf(stderr, " %s", pages[i].name);
    fputc('\n', stderr);
    return false;
}
