/* pages.c - the error pages: their names and statuses, their files, and the answer made of one.
 *
 * Files are read in the master before it drops its rights, and compiled there (template.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/pages.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/suggest.h"
#include "conf/complain.h"
#include "conf/file.h"
#include "flow/deny.h"
#include "flow/template.h"
#include "flow/txn.h"
#include "http/status.h"
#include "stat/counts.h"

#ifndef DATADIR
#define DATADIR "/usr/local/share/bobtail"
#endif

struct page {
    bt_str name;
    bt_str title; /* NONE: the page is one by itself, and has its title somewhere in its text */
    const struct template *text;
    bool ours;
};

/* ---- names ---- */

/* All names that Squid has pages for, and the status that each stands for. */
static const struct name {
    const char *name;
    int status;
} names[] = {
    {"ERR_ACCESS_DENIED", 403},
    {"ERR_ACL_TIME_QUOTA_EXCEEDED", 403},
    {"ERR_AGENT_CONFIGURE", 200},
    {"ERR_AGENT_WPAD", 200},
    {"ERR_CACHE_ACCESS_DENIED", 407},
    {"ERR_CACHE_MGR_ACCESS_DENIED", 401},
    {"ERR_CANNOT_FORWARD", 503},
    {"ERR_CONFLICT_HOST", 409},
    {"ERR_CONNECT_FAIL", 503},
    {"ERR_DIR_LISTING", 200},
    {"ERR_DNS_FAIL", 503},
    {"ERR_ESI", 500},
    {"ERR_FORWARDING_DENIED", 403},
    {"ERR_FTP_DISABLED", 501},
    {"ERR_FTP_FAILURE", 502},
    {"ERR_FTP_FORBIDDEN", 403},
    {"ERR_FTP_NOT_FOUND", 404},
    {"ERR_FTP_PUT_CREATED", 201},
    {"ERR_FTP_PUT_ERROR", 502},
    {"ERR_FTP_PUT_MODIFIED", 200},
    {"ERR_FTP_UNAVAILABLE", 503},
    {"ERR_GATEWAY_FAILURE", 502},
    {"ERR_ICAP_FAILURE", 500},
    {"ERR_INVALID_REQ", 400},
    {"ERR_INVALID_RESP", 502},
    {"ERR_INVALID_URL", 400},
    {"ERR_LIFETIME_EXP", 408},
    {"ERR_NO_RELAY", 503},
    {"ERR_ONLY_IF_CACHED_MISS", 504},
    {"ERR_PRECONDITION_FAILED", 412},
    {"ERR_PROTOCOL_UNKNOWN", 400},
    {"ERR_READ_ERROR", 502},
    {"ERR_READ_TIMEOUT", 504},
    {"ERR_REQUEST_PARSE_TIMEOUT", 408},
    {"ERR_SECURE_CONNECT_FAIL", 503},
    {"ERR_SHUTTING_DOWN", 503},
    {"ERR_SOCKET_FAILURE", 500},
    {"ERR_TOO_BIG", 413},
    {"ERR_TOO_MANY_REQUESTS", 429},
    {"ERR_UNSUP_HTTPVERSION", 505},
    {"ERR_UNSUP_REQ", 501},
    {"ERR_URN_RESOLVE", 404},
    {"ERR_WRITE_ERROR", 502},
    {"ERR_ZERO_SIZE_OBJECT", 502},
};
enum { NAMES = sizeof names / sizeof *names };

/* For a name without a file, and for a server whose folder of pages is gone. */
static const char unknown_text[] = "Title: The request could not be answered\n";
static const char plain_base[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>@Page{title}</title>"
    "</head>\n<body><h1>@Page{title}</h1>\n@Page{body}\n<p>Asked for: <code>%U</code></p>\n"
    "<p>Reason: %D.</p>\n%L\n<p>If this is not what you expect, ask <code>%w</code> and say "
    "<code>%c</code>.</p>\n<hr><p>%T, %h (%s)</p></body></html>\n";

int pages_status(bt_str name)
{
    for (size_t i = 0; i < NAMES; i++)
        if (bt_str_eq(name, str_from(names[i].name)))
            return names[i].status;
    return 403;
}

bool pages_known(bt_str name, const char **near)
{
    struct suggest suggest;

    suggest_init(&suggest, name);
    for (size_t i = 0; i < NAMES; i++) {
        if (bt_str_eq(name, str_from(names[i].name)))
            return true;
        suggest_try(&suggest, names[i].name);
    }
    suggest_try(&suggest, "TCP_RESET");
    *near = suggest.best;
    return false;
}

bool pages_loaded(bt_str name)
{
    return table_find(&pages->by_name, name) != NULL;
}

bt_str pages_name(const char *page)
{
    bt_str name = str_from(page), status, rest;

    return str_split(name, ':', &status, &rest) && str_all(status, STR_DIGIT) ? rest : name;
}

/* ---- files ---- */

/* Of the pages that come with the server: etc/error beside the program in a build tree. */
static const char *own_folder(void)
{
    static char folder[PATH_MAX];
    static const char tail[] = "/etc/error";
    ssize_t len = readlink("/proc/self/exe", folder, sizeof folder - sizeof tail);

    while (len > 0 && folder[len - 1] != '/')
        len--;
    if (len > 0) {
        memcpy(folder + len - 1, tail, sizeof tail);
        if (access(folder, X_OK) == 0)
            return folder;
    }
    strcpy(folder, DATADIR "/error");
    return folder;
}

enum reading { READ_IT, NOT_THERE, CANNOT };

/* The file NAME of a folder. Complains at `at` when it is there and cannot be used. */
static enum reading page_read(const char *folder, bt_str name, const struct bt_word *at,
                              struct template_text *out, struct bt_arena *arena,
                              struct bt_error *err)
{
    struct stat about;
    size_t len;
    bt_str path = bt_str_printf(arena, "%s/%.*s", folder, BT_STR_ARGS(name));
    char *text = file_slurp(path.at, &len, &about);

    if (text == NULL && (errno == ENOENT || errno == ENOTDIR))
        return NOT_THERE;
    if (text == NULL) {
        bt_complain(err, at, "the page %s cannot be read: %s", path.at, strerror(errno));
        return CANNOT;
    }
    *out = (struct template_text){bt_str_copy(arena, (bt_str){text, len}), path.at, 1, 1};
    free(text);
    if (len <= PAGES_MAX)
        return READ_IT;
    bt_complain(err, at, "the page %s is larger than 64 KB", path.at);
    return CANNOT;
}

/* `Title: ...` on the first line: what follows is only the middle of a page. */
static bool page_split(const struct template_text *whole, struct template_page *out)
{
    static const bt_str mark = {"Title:", 6};
    bt_str line, rest = whole->text;

    if (!str_starts(rest, mark) || !str_cut(&rest, '\n', &line))
        return false;
    out->title = *whole;
    out->title.text = str_trim_space(str_skip(line, mark.len));
    out->title.column = (uint32_t)(out->title.text.at - whole->text.at) + 1;
    out->body = *whole;
    out->body.text = rest.at != NULL ? rest : BT_STR("");
    out->body.line = 2;
    return true;
}

/* What a page's middle is set into: BASE of its folder, of ours, or the built-in one. */
static struct template_text base_text(const char *folder, const struct bt_word *at,
                                      struct bt_arena *arena, struct bt_error *err)
{
    struct template_text base;

    if (folder != NULL && page_read(folder, BT_STR("BASE"), at, &base, arena, err) == READ_IT)
        return base;
    if (page_read(own_folder(), BT_STR("BASE"), at, &base, arena, err) == READ_IT)
        return base;
    return (struct template_text){str_from(plain_base), NULL, 0, 0};
}

static struct page *page_make(bt_str name, const struct template_text *text, const char *folder,
                              const struct bt_word *at, struct bt_arena *arena,
                              struct bt_error *err)
{
    struct page *page = bt_alloc(arena, sizeof *page);
    struct template_page parts;
    struct template_text base;

    page->name = name;
    page->ours = folder == NULL;
    if (page_split(text, &parts)) {
        base = base_text(folder, at, arena, err);
        page->title = parts.title.text;
        page->text = template_compile(TEMPLATE_PAGE, &base, &parts, arena, err);
    } else {
        page->text = template_compile(TEMPLATE_PAGE, text, NULL, arena, err);
    }
    return page->text != NULL ? page : NULL;
}

/* The page of that name from error_directory, else from our folder; *found: there is one. */
static bool page_load(struct pages_conf *conf, bt_str name, bool *found, struct bt_arena *arena,
                      struct bt_error *err)
{
    struct template_text text;
    enum reading reading = NOT_THERE;
    const char *folder = conf->folder.at;
    struct page *page;

    *found = table_find(&conf->by_name, name) != NULL;
    if (*found)
        return true;
    if (folder != NULL)
        reading = page_read(folder, name, &conf->at, &text, arena, err);
    if (reading == NOT_THERE) {
        folder = NULL;
        reading = page_read(own_folder(), name, NULL, &text, arena, err);
    }
    if (reading == NOT_THERE)
        return true;
    *found = true;
    if (reading == CANNOT)
        return false;
    page = page_make(name, &text, folder, &conf->at, arena, err);
    if (page != NULL)
        table_put(&conf->by_name, page->name, page);
    return page != NULL;
}

bool pages_want(struct pages_conf *conf, const struct bt_word *at, bt_str name,
                struct bt_arena *arena, struct bt_error *err)
{
    const char *near = NULL;
    bool found, good = page_load(conf, name, &found, arena, err);

    if (found || pages_known(name, &near))
        return good;
    if (near != NULL)
        bt_caution(err, at, "there is no page %s; did you mean '%s'?", complain_word(err, name),
                   near);
    else
        bt_caution(err, at, "there is no page %s in %s", complain_word(err, name),
                   conf->folder.at != NULL ? conf->folder.at : own_folder());
    return good;
}

/* ---- setup ---- */

static bool folder_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct pages_conf *conf = conf_;

    (void)err;
    conf->at = line->args.word[0];
    conf->folder = conf->at.text;
    return true;
}

static bool stylesheet_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct pages_conf *conf = conf_;

    (void)err;
    conf->stylesheet_word = line->args.word[0];
    conf->stylesheet_at = conf->stylesheet_word.text;
    return true;
}

static bool language_set(void *conf_, const struct bt_line *line, struct bt_error *err)
{
    struct pages_conf *conf = conf_;

    (void)err;
    conf->language_word = line->args.word[0];
    conf->language = conf->language_word.text;
    return true;
}

/* Squid goes on without it, and so do we. */
static void stylesheet_load(struct pages_conf *conf, struct bt_arena *arena, struct bt_error *err)
{
    struct template_text text;
    struct stat about;
    size_t len;
    char *given = NULL;

    if (conf->stylesheet_at.len > 0) {
        given = file_slurp(conf->stylesheet_at.at, &len, &about);
        if (given == NULL)
            bt_caution(err, &conf->stylesheet_word, "the stylesheet cannot be read: %s",
                       strerror(errno));
        else if (len > PAGES_MAX / 2)
            bt_caution(err, &conf->stylesheet_word, "the stylesheet is larger than 32 KB");
        else
            conf->stylesheet = bt_str_copy(arena, (bt_str){given, len});
        free(given);
    }
    if (conf->stylesheet.at == NULL &&
        page_read(own_folder(), BT_STR("errorpage.css"), NULL, &text, arena, err) == READ_IT)
        conf->stylesheet = text.text;
}

/* A page of each name, so that an error has never to read a file. */
static bool setup(void *conf_, struct bt_arena *arena, struct bt_error *err)
{
    struct pages_conf *conf = conf_;
    struct template_text unknown = {str_from(unknown_text), NULL, 0, 0};
    bool good = true, found;
    size_t there = 0;

    table_init(&conf->by_name, arena, false);
    if (conf->folder.at != NULL && access(conf->folder.at, R_OK | X_OK) != 0)
        return bt_complain(err, &conf->at, "%s: %s", conf->folder.at, strerror(errno));
    if (conf->folder.at == NULL && conf->language.at != NULL &&
        !str_starts_nocase(conf->language, BT_STR("en")))
        bt_caution(err, &conf->language_word,
                   "the pages that come with the server are in English; name a folder of others "
                   "with error_directory");
    stylesheet_load(conf, arena, err);
    for (size_t i = 0; i < NAMES; i++) {
        good &= page_load(conf, str_from(names[i].name), &found, arena, err);
        there += found;
    }
    if (there == 0)
        bt_caution(err, NULL, "there are no error pages in %s: plain ones will do", own_folder());
    conf->unknown = page_make(BT_STR("ERR_UNKNOWN"), &unknown, NULL, NULL, arena, err);
    return deny_setup(conf, arena, err) && good && conf->unknown != NULL;
}

/* ---- answers ---- */

/* How much the client wants `type` ("application"/"json"): 0-1000, and how exactly it said so. */
struct wish {
    int64_t q;
    int exact; /* 0: not named; 1: by * / *; 2: by type / *; 3: by its name */
};

/* "q=0.25" among the parameters, in thousandths. */
static int64_t wish_q(bt_str params)
{
    bt_str param, name, value, whole, part;
    uint64_t n = 0, thousandths = 0, scale = 100;

    while (str_cut(&params, ';', &param)) {
        if (!str_split(str_trim(param), '=', &name, &value) || !str_eq_literal_nocase(name, "q"))
            continue;
        str_split(value, '.', &whole, &part);
        if (!str_uint(whole, 1, &n))
            return 1000;
        for (size_t i = 0; i < part.len && str_is(part.at[i], STR_DIGIT); i++, scale /= 10)
            thousandths += (uint64_t)(part.at[i] - '0') * scale;
        return n == 1 ? 1000 : (int64_t)thousandths;
    }
    return 1000;
}

static void wish_look(struct wish *wish, bt_str range, bt_str type, bt_str subtype, int64_t q)
{
    bt_str major, minor;
    int exact = 0;

    str_split(range, '/', &major, &minor);
    if (str_eq_literal(major, "*") && str_eq_literal(minor, "*"))
        exact = 1;
    else if (bt_str_eq_nocase(major, type) && str_eq_literal(minor, "*"))
        exact = 2;
    else if (bt_str_eq_nocase(major, type) && bt_str_eq_nocase(minor, subtype))
        exact = 3;
    if (exact > wish->exact || (exact == wish->exact && exact != 0 && q > wish->q))
        *wish = (struct wish){q, exact};
}

/* Does Accept prefer JSON to HTML? Who names neither gets HTML. */
static bool wants_json(const struct bt_txn *txn)
{
    struct wish html = {0, 0}, json = {0, 0}, problem = {0, 0};
    bt_str rest, member, range, params;

    for (size_t i = 0; (rest = head_find(&txn->req, BT_STR("Accept"), i)).at != NULL; i++)
        while (head_list_next(&rest, &member)) {
            str_split(member, ';', &range, &params);
            int64_t q = wish_q(params);
            range = str_trim(range);
            wish_look(&html, range, BT_STR("text"), BT_STR("html"), q);
            wish_look(&json, range, BT_STR("application"), BT_STR("json"), q);
            wish_look(&problem, range, BT_STR("application"), BT_STR("problem+json"), q);
        }
    if (problem.exact == 3 && (json.exact < 3 || problem.q > json.q))
        json = problem;
    if (json.exact < 3 || json.q == 0)
        return false;
    return json.q > html.q || (json.q == html.q && html.exact < 3);
}

static void add_json(struct str_builder *out, const char *name, bt_str value)
{
    str_add_format(out, ",\"%s\":\"", name);
    for (size_t i = 0; i < value.len; i++) {
        char c = value.at[i];
        if (c == '"' || c == '\\')
            str_add_char(out, '\\');
        if ((uint8_t)c < 32)
            str_add_format(out, "\\u%04x", (unsigned)(uint8_t)c);
        else
            str_add_char(out, c);
    }
    str_add_char(out, '"');
}

/* RFC 9457. Nothing of the request is in it. */
static void json_render(struct bt_txn *txn, const struct page *page, struct str_builder *out)
{
    bt_str reason = status_reason(txn->deny_status);
    const char *title = page->title.at != NULL ? page->title.at : "";
    struct str_builder detail;

    str_builder_arena(&detail, txn->arena, 256);
    str_add(&detail, (bt_str){title, page->title.len});
    if (txn->deny_detail != NULL)
        str_add_format(&detail, "%s%s", detail.len > 0 ? ": " : "", txn->deny_detail);
    str_add_format(out, "{\"type\":\"about:blank\",\"status\":%d", txn->deny_status);
    add_json(out, "title", reason.len > 0 ? reason : BT_STR("Error"));
    if (detail.len > 0)
        add_json(out, "detail", str_built(&detail));
    add_json(out, "error", pages_name(txn->deny_page));
    if (pages->show_rule && txn->rule != NULL) {
        const struct bt_word *at = &txn->rule->name;
        add_json(out, "rule", bt_str_printf(txn->arena, "%s:%u", at->file, (unsigned)at->line));
    }
    str_add_literal(out, "}\n");
}

struct pages_answer pages_answer(struct bt_txn *txn)
{
    static char buf[PAGES_MAX];
    struct str_builder out;
    const struct page *page = table_find(&pages->by_name, pages_name(txn->deny_page));
    struct pages_answer answer = {.type = BT_STR("text/html;charset=utf-8")};

    if (page == NULL)
        page = pages->unknown;
    str_builder_init(&out, buf, sizeof buf);
    answer.language = page->ours ? BT_STR("en") : pages->language;
    if (wants_json(txn)) {
        count(pages_json);
        answer.type = BT_STR("application/problem+json");
        json_render(txn, page, &out);
    } else {
        count(pages_html);
        template_render(page->text, txn, &out);
    }
    answer.body = str_built(&out);
    return answer;
}

/* ---- rows ---- */

#define CONF struct pages_conf
static const struct bt_directive directives[] = {
    {.name = "error_directory",
     .args = "path",
     .doc = "A folder of error pages; a page that is missing there is the server's own. See "
            "etc/error/README for what may stand in a page.",
     .set = folder_set},
    BT_SET_AS(CONF, html_text, "text", "err_html_text", NULL,
              "HTML for all error pages, at %L: whom to call, where to read more."),
    {.name = "err_page_stylesheet",
     .args = "path",
     .doc = "A stylesheet (CSS) that error pages hold at %l, instead of the server's own.",
     .set = stylesheet_set},
    {.name = "error_default_language",
     .args = "word",
     .doc = "The language of the pages in error_directory, for Content-Language; the server's own "
            "pages are in English.",
     .set = language_set},
    BT_SET(
        CONF, show_rule, "error_show_rule", "off",
        "Tell clients which line (FILE:LINE) decided: in the header X-Bobtail-Rule, and in JSON when "
        "they are refused."),
    {.name = "deny_info",
     .args = "word word...",
     .doc = "What a client gets whom a rule refused whose last ACL is one of these: an error page "
            "([STATUS:]NAME), another place ([3xx:]URL with % codes), or nothing but a reset "
            "connection (TCP_RESET).",
     .set = deny_set},
};

static struct bt_self self;
const struct bt_module pages_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "pages",
    .doc = "Error pages, and what refused clients get.",
    .self = &self,
    .conf_size = sizeof(struct pages_conf),
    .directives = BT_ROWS(directives),
    .setup = setup,
};
