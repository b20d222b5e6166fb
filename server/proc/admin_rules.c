/* admin_rules.c - the control socket about rules.
 *
 * An explanation is made by a child of whoever has the configuration: it asks ACLs of all modules
 * outside of a worker, where they were never meant to be asked, so it may hang or fall over without
 * harm. It looks up names by the system's resolver, since there is no loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "proc/admin_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/str.h"
#include "flow/core.h"
#include "flow/sketch.h"
#include "plug/acl.h"
#include "plug/rules.h"
#include "stat/render.h"

enum { EXPLAIN_SECONDS = 10 };

/* ---- rules ---- */

struct listing {
    FILE *out;
    struct bt_arena *arena;
    bt_str list; /* that is being told */
    bool json, some;
};

static const char *action_name(int action)
{
    return action == BT_ALLOW ? "allow" : "deny";
}

static void told_json(struct listing *to, const struct rules_told *told)
{
    fprintf(to->out, "%s\n  {\"list\": ", to->some ? "," : "");
    render_json_text(to->out, bt_str_copy(to->arena, told->list).at);
    if (told->line != NULL) {
        fputs(", \"file\": ", to->out);
        render_json_text(to->out, told->line->name.file);
        fprintf(to->out, ", \"line\": %u, \"text\": ", (unsigned)told->line->name.line);
        render_json_text(to->out, rules_line_text(told->line, to->arena).at);
    } else {
        fprintf(to->out, ", \"file\": null, \"line\": null, \"text\": \"(default) %s\"",
                action_name(told->action));
    }
    if (told->counted)
        fprintf(to->out, ", \"hits\": %" PRIu64 ", \"never_matched\": %s}", told->hits,
                told->hits == 0 ? "true" : "false");
    else
        fputs(", \"hits\": null, \"never_matched\": null}", to->out);
}

static void told_text(struct listing *to, const struct rules_told *told)
{
    if (told->line != NULL)
        fprintf(to->out, "%12" PRIu64 "  %s:%u  %s", told->hits, told->line->name.file,
                (unsigned)told->line->name.line, rules_line_text(told->line, to->arena).at);
    else
        fprintf(to->out, "%12" PRIu64 "  the default of %.*s: %s", told->hits,
                BT_STR_ARGS(told->list), action_name(told->action));
    fputs(!told->counted                         ? "  (not counted)\n"
          : told->hits > 0 || told->line == NULL ? "\n"
                                                 : "  (never matched)\n",
          to->out);
}

static void tell(void *arg, const struct rules_told *told)
{
    struct listing *to = arg;

    (to->json ? told_json : told_text)(to, told);
    to->some = true;
}

void admin_rules_print(FILE *out, bool json)
{
    struct bt_arena *arena = arena_new(16 * 1024);
    struct listing listing = {.out = out, .arena = arena, .json = json};

    if (json)
        fputc('[', out);
    rules_each(acl_self.conf, tell, &listing);
    if (json)
        fputs(listing.some ? "\n]\n" : "]\n", out);
    arena_free(arena);
}

/* ---- explain: the words ---- */

static bool wrong(struct admin_explain *explain, const char *format, ...) BT_PRINTF(2, 3);
static bool wrong(struct admin_explain *explain, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(explain->why, sizeof explain->why, format, args);
    va_end(args);
    return false;
}

static bool is_keyword(bt_str word)
{
    return str_eq_literal(word, "from") || str_eq_literal(word, "user") ||
           str_eq_literal(word, "header");
}

/* NAME: VALUE, all words up to the next of ours; the number of words. */
static size_t take_header(struct str_builder *fields, const bt_str *word, size_t n)
{
    size_t taken = 0;

    for (; taken < n && (taken == 0 || !is_keyword(word[taken])); taken++) {
        if (taken > 0)
            str_add_char(fields, ' ');
        str_add(fields, word[taken]);
    }
    str_add_literal(fields, "\r\n");
    return taken;
}

static bool read_words(struct sketch *sketch, const bt_str *word, size_t n, struct bt_arena *arena,
                       struct admin_explain *explain)
{
    struct str_builder fields;

    if (n < 2)
        return wrong(explain, "say: explain METHOD URL [from ADDR] [user NAME] "
                              "[header NAME: VALUE]...");
    *sketch = (struct sketch){.method = word[0], .url = word[1], .user = BT_STR_NONE};
    str_builder_arena(&fields, arena, 256);
    for (size_t i = 2; i < n; i++) {
        if (!is_keyword(word[i]))
            return wrong(explain, "'%.*s' is not from, user or header",
                         (int)(word[i].len < 40 ? word[i].len : 40), word[i].at);
        if (i + 1 == n)
            return wrong(explain, "something must follow %s", word[i].at);
        if (str_eq_literal(word[i], "from")) {
            if (!addr_parse_sockaddr(word[++i], 40000, &sketch->from))
                return wrong(explain, "'%.40s' is not an address", word[i].at);
        } else if (str_eq_literal(word[i], "user")) {
            sketch->user = word[++i];
        } else {
            if (str_find_char(word[i + 1], ':') < 1)
                return wrong(explain, "'%.40s' is not NAME: and a value", word[i + 1].at);
            i += take_header(&fields, word + i + 1, n - i - 1);
        }
    }
    sketch->fields = str_built(&fields);
    return true;
}

/* ---- explain: the answer ---- */

static void print_step(void *arg, const struct rules_step *step)
{
    static const char *const holds[] = {[BT_NO] = "does not hold",
                                        [BT_YES] = "holds, and decides",
                                        [BT_WAIT] = "would decide, if what is unknown is so",
                                        [BT_BROKEN] = "cannot be told, so it denies"};
    static const char *const says[] = {[RULES_NO] = "no",
                                       [RULES_YES] = "yes",
                                       [RULES_UNKNOWN] = "unknown",
                                       [RULES_BROKEN] = "cannot be told",
                                       [RULES_UNASKED] = "not asked"};
    struct bt_arena *arena = arena_new(4096);
    FILE *out = arg;

    fprintf(out, "%s:%u: %s\n", step->line->name.file, (unsigned)step->line->name.line,
            rules_line_text(step->line, arena).at);
    for (size_t i = 0; i < step->n; i++)
        fprintf(out, "    %.*s: %s%s\n", BT_STR_ARGS(step->term[i].name), says[step->term[i].said],
                step->term[i].negated ? " (negated)" : "");
    fprintf(out, "    %s\n", holds[step->holds]);
    fflush(out); /* what is asked next may be the end of this process */
    arena_free(arena);
}

struct told_json {
    FILE *out;
    bool some;
};

static void print_step_json(void *arg, const struct rules_step *step)
{
    static const char *const holds[] = {
        [BT_NO] = "no", [BT_YES] = "yes", [BT_WAIT] = "unknown", [BT_BROKEN] = "broken"};
    static const char *const says[] = {[RULES_NO] = "no",
                                       [RULES_YES] = "yes",
                                       [RULES_UNKNOWN] = "unknown",
                                       [RULES_BROKEN] = "broken",
                                       [RULES_UNASKED] = "unasked"};
    struct told_json *to = arg;
    struct bt_arena *arena = arena_new(4096);
    FILE *out = to->out;

    fprintf(out, "%s\n  {\"file\": ", to->some ? "," : "");
    render_json_text(out, step->line->name.file);
    fprintf(out, ", \"line\": %u, \"text\": ", (unsigned)step->line->name.line);
    render_json_text(out, rules_line_text(step->line, arena).at);
    fprintf(out, ", \"holds\": \"%s\", \"acls\": [", holds[step->holds]);
    for (size_t i = 0; i < step->n; i++) {
        fputs(i > 0 ? ", {\"name\": " : "{\"name\": ", out);
        render_json_text(out, bt_str_copy(arena, step->term[i].name).at);
        fprintf(out, ", \"negated\": %s, \"says\": \"%s\"}",
                step->term[i].negated ? "true" : "false", says[step->term[i].said]);
    }
    fputs("]}", out);
    to->some = true;
    arena_free(arena);
}

static void explain_json(FILE *out, struct bt_txn *txn)
{
    struct told_json to = {out, false};

    fputs("ok\n{\"steps\": [", out);
    struct bt_ruling ruling = rules_explain(core->http_access, txn, sketch_askable, print_step_json,
                                            &to);
    fprintf(out, "],\n \"allowed\": %s, \"depends\": %s, \"file\": ",
            ruling.match != BT_NO && ruling.action == BT_ALLOW ? "true" : "false",
            ruling.match == BT_WAIT ? "true" : "false");
    if (ruling.line != NULL) {
        render_json_text(out, ruling.line->name.file);
        fprintf(out, ", \"line\": %u}\n", (unsigned)ruling.line->name.line);
    } else {
        fputs("null, \"line\": null}\n", out);
    }
}

static void print_ruling(FILE *out, const struct bt_ruling *ruling)
{
    const char *what = ruling->action == BT_ALLOW ? "allowed" : "denied";

    if (ruling->match == BT_WAIT)
        fputs("it depends: on what is unknown above; if none of that holds, ", out);
    else if (ruling->match == BT_NO)
        what = "no rule says anything: denied";
    fputs(what, out);
    if (ruling->line != NULL)
        fprintf(out, " by %s:%u\n", ruling->line->name.file, (unsigned)ruling->line->name.line);
    else if (ruling->match == BT_NO)
        fputs("\n", out);
    else
        fputs(" by default, which is the opposite of the last line\n", out);
}

static void explain_now(FILE *out, const struct sketch *sketch, bool json)
{
    const char *why = "";
    char from[ADDR_TEXT];
    struct bt_txn *txn = sketch_new(sketch, &why);

    if (txn == NULL) {
        fprintf(out, "error: %s\n", why);
        return;
    }
    if (json) {
        explain_json(out, txn);
        return;
    }
    addr_print_sockaddr(bt_client_addr(txn), from);
    fprintf(out, "ok\n%.*s %.*s from %s%s%.*s\n", BT_STR_ARGS(bt_method(txn)),
            BT_STR_ARGS(bt_url(txn)), from, sketch->user.at != NULL ? " user " : "",
            BT_STR_ARGS(sketch->user));
    fflush(out);
    struct bt_ruling ruling = rules_explain(core->http_access, txn, sketch_askable, print_step,
                                            out);
    print_ruling(out, &ruling);
}

bool admin_explain(int fd, const bt_str *word, size_t n, struct admin_explain *explain)
{
    struct bt_arena *arena = arena_new(4096);
    struct sketch sketch;
    sigset_t none;

    bool json = n > 0 && str_eq_literal(word[n - 1], "--json");
    if (!read_words(&sketch, word, n - json, arena, explain)) {
        arena_free(arena);
        return false;
    }
    fflush(NULL); /* or the child would write it again */
    pid_t pid = fork();
    if (pid == 0) {
        sigemptyset(&none);
        signal(SIGALRM, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        alarm(EXPLAIN_SECONDS);
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        FILE *out = fdopen(fd, "w");
        if (out != NULL) {
            explain_now(out, &sketch, json);
            fflush(out);
        }
        _exit(0);
    }
    arena_free(arena);
    return pid > 0 || wrong(explain, "no process can be made: %s", strerror(errno));
}
