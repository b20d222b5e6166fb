/* template.c - text with % codes: the codes, compiling, filling in.
 *
 * A template becomes a list of literals and codes, so that an error costs a walk over it. Differing
 * from Squid, %R never shows header fields, %W is always empty (mail links with the whole request in
 * them gave passwords away), and what goes into a URL is not quoted for HTML first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/template.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "flow/core.h"
#include "flow/pages.h"
#include "flow/txn.h"
#include "http/date.h"
#include "plug/field.h"
#include "plug/format.h"
#include "plug/generation.h"

/* A value longer than that is cut in a page: a page is for reading. */
enum { VALUE_MAX = 2048, FORMAT_MAX = 4096 };

struct code {
    char letter;
    const char *field; /* the value of that field; or: */
    void (*get)(struct bt_txn *, struct str_builder *out);
    const char *missing; /* what a page says when there is none; a URL says nothing */
    bool raw;            /* is HTML, and stands in a page as it is */
    bool page_only;      /* is empty in a URL */
};

struct template_step {
    bt_str literal;
    const struct code *code;
    struct format *format; /* of @Squid{} */
};

struct template
{
    enum template_for what;
    size_t n, room;
    struct template_step *step;
};

    /* ---- values ---- */

#define VALUE(name) static void value_##name(struct bt_txn *txn, struct str_builder *out)

VALUE(nothing)
{
    (void)txn;
    (void)out;
}

VALUE(percent)
{
    (void)txn;
    str_add_char(out, '%');
}

VALUE(name)
{
    if (txn->deny_page != NULL)
        str_add(out, pages_name(txn->deny_page));
}

VALUE(detail)
{
    if (txn->deny_detail != NULL)
        str_add(out, str_from(txn->deny_detail));
}

VALUE(seconds)
{
    str_add_int(out, txn->time.start == 0 ? 0 : (clock_us() - txn->time.start) / 1000000);
}

VALUE(errno)
{
    str_add_int(out, txn->dial_errno);
}

VALUE(system)
{
    if (txn->dial_errno != 0)
        str_add_format(out, "(%d) %s", txn->dial_errno, strerror(txn->dial_errno));
}

VALUE(brief)
{
    if (txn->dial_errno != 0)
        str_add_format(out, "errno=%d", txn->dial_errno);
}

VALUE(dns)
{
    if (txn->deny_page != NULL && txn->deny_detail != NULL &&
        bt_str_eq(pages_name(txn->deny_page), BT_STR("ERR_DNS_FAIL")))
        str_add(out, str_from(txn->deny_detail));
}

VALUE(proxy)
{
    (void)txn;
    str_add(out, core->visible_hostname);
}

VALUE(software)
{
    (void)txn;
    str_add(out, core->server_text);
}

VALUE(manager)
{
    (void)txn;
    str_add(out, core->cache_mgr);
}

VALUE(html_text)
{
    (void)txn;
    str_add(out, pages->html_text);
}

VALUE(stylesheet)
{
    (void)txn;
    str_add(out, pages->stylesheet);
}

VALUE(date)
{
    char date[DATE_LEN];

    (void)txn;
    date_print(date, clock_wall_s());
    str_add(out, (bt_str){date, DATE_LEN});
}

VALUE(signature)
{
    str_add_literal(out, "Generated ");
    value_date(txn, out);
    str_add_literal(out, " by ");
    value_proxy(txn, out);
    str_add_literal(out, " (");
    value_software(txn, out);
    str_add_literal(out, ")");
}

/* What could not be read as a URL may still hold a password: nothing up to its last @ is shown. */
static bt_str shown_url(const struct bt_txn *txn)
{
    bt_str target = txn->req.target;
    ptrdiff_t at;

    if (txn->url.text.len > 0)
        return txn->url.text;
    at = str_rfind_char(target, '@');
    return at < 0 ? target : str_skip(target, (size_t)at + 1);
}

VALUE(url)
{
    str_add(out, shown_url(txn));
}

/* For people who read over somebody's shoulder: the query may be secret. */
VALUE(url_bare)
{
    bt_str url = shown_url(txn);
    ptrdiff_t query = str_find_char(url, '?');

    if (txn->req.method_id == METHOD_CONNECT && txn->url.port == 443)
        str_add_format(out, "https://%.*s/*", BT_STR_ARGS(txn->url.host));
    else
        str_add(out, query >= 0 ? str_slice(url, 0, (size_t)query + 1) : url);
}

VALUE(request_line)
{
    if (txn->req.method.len == 0)
        return;
    str_add(out, txn->req.method);
    str_add_char(out, ' ');
    str_add(out, txn->url.path.len > 0 ? txn->url.path : shown_url(txn));
    str_add_format(out, " HTTP/1.%u", (unsigned)txn->req.minor);
}

VALUE(path)
{
    if (str_starts(txn->url.path, BT_STR("/")))
        str_add(out, txn->url.path);
}

/* ---- the codes ---- */

/* clang-format off */
static const struct code page_codes[] = {
    {.letter = 'a', .field = "user.name", .missing = "-"},
    {.letter = 'A', .field = "local.addr", .missing = "-"},
    {.letter = 'b', .field = "local.port", .missing = "-"},
    {.letter = 'B', .get = value_nothing},
    {.letter = 'c', .get = value_name, .page_only = true},
    {.letter = 'd', .get = value_seconds},
    {.letter = 'D', .get = value_detail, .missing = "no more is known"},
    {.letter = 'e', .get = value_errno},
    {.letter = 'E', .get = value_system, .missing = "[No Error]"},
    {.letter = 'f', .get = value_nothing, .missing = "nothing", .page_only = true},
    {.letter = 'F', .get = value_nothing, .missing = "nothing", .page_only = true},
    {.letter = 'g', .get = value_nothing, .page_only = true},
    {.letter = 'h', .get = value_proxy},
    {.letter = 'H', .field = "req.host", .missing = "[unknown host]"},
    {.letter = 'i', .field = "client.addr", .missing = "-"},
    {.letter = 'I', .field = "origin.addr", .missing = "[unknown]"},
    {.letter = 'l', .get = value_stylesheet, .raw = true, .page_only = true},
    {.letter = 'L', .get = value_html_text, .raw = true, .page_only = true},
    {.letter = 'm', .field = "auth.message", .missing = "[not available]", .page_only = true},
    {.letter = 'M', .field = "req.method", .missing = "[unknown method]"},
    {.letter = 'o', .field = "external.message"},
    {.letter = 'O', .field = "external.message", .raw = true},
    {.letter = 'p', .field = "req.port", .missing = "[unknown port]"},
    {.letter = 'P', .field = "req.scheme", .missing = "[unknown protocol]"},
    {.letter = 'R', .get = value_request_line, .missing = "[no request]"},
    {.letter = 's', .get = value_software},
    {.letter = 'S', .get = value_signature},
    {.letter = 't', .field = "time.local", .missing = "-"},
    {.letter = 'T', .get = value_date},
    {.letter = 'U', .get = value_url_bare, .missing = "[no URL]"},
    {.letter = 'u', .get = value_url, .missing = "[no URL]"},
    {.letter = 'w', .get = value_manager, .missing = "[unknown]"},
    {.letter = 'W', .get = value_nothing},
    {.letter = 'x', .get = value_brief, .missing = "[Unknown Error Code]"},
    {.letter = 'z', .get = value_dns, .missing = "[unknown]", .page_only = true},
    {.letter = 'Z', .get = value_nothing, .page_only = true},
    {.letter = '%', .get = value_percent, .raw = true},
};
/* Where a URL means another thing. */
static const struct code url_codes[] = {
    {.letter = 'R', .get = value_path},
    {.letter = 's', .get = value_url},
    {.letter = 'S', .get = value_software},
};
/* clang-format on */

static const struct code *code_find(enum template_for what, char letter)
{
    if (what == TEMPLATE_URL)
        for (size_t i = 0; i < sizeof url_codes / sizeof *url_codes; i++)
            if (url_codes[i].letter == letter)
                return &url_codes[i];
    for (size_t i = 0; i < sizeof page_codes / sizeof *page_codes; i++)
        if (page_codes[i].letter == letter)
            return &page_codes[i];
    return NULL;
}

/* ---- compiling ---- */

struct compiler {
    const struct template_text *from;
    const struct template_page *page;
    const char *literal; /* from here on nothing was added yet */
    struct bt_arena *arena;
    struct bt_error *err;
    struct template *out;
    bool faulty;
};

static void step_add(struct compiler *c, struct template_step step)
{
    struct template *out = c->out;

    if (out->n == out->room) {
        size_t room = out->room * 2 + 16, size = sizeof *out->step;
        out->step = out->step == NULL
                        ? bt_alloc_raw(c->arena, room * size)
                        : arena_more(c->arena, out->step, out->room * size, room * size);
        out->room = room;
    }
    out->step[out->n++] = step;
}

/* What stood before `at` is text. */
static void literal_end(struct compiler *c, const char *at)
{
    if (at > c->literal)
        step_add(c, (struct template_step){.literal = str_span(c->literal, at)});
}

/* `len` bytes at `at` of the text, as a word to complain about. */
static struct bt_word place_of(const struct compiler *c, const char *at, size_t len)
{
    const struct template_text *from = c->from;
    struct bt_word word = {
        .text = {at, len}, .file = from->file, .line = from->line, .column = from->column};

    for (const char *p = from->text.at; p < at; p++) {
        word.column++;
        if (*p == '\n') {
            word.line++;
            word.column = 1;
        }
    }
    return word;
}

/* Behind the end of "{...}" that begins at `at`; NULL: it does not end. */
static const char *braces_end(const char *at, const char *end)
{
    unsigned depth = 0;

    for (; at < end; at++) {
        if (*at == '{')
            depth++;
        else if (*at == '}' && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* @Squid{...}, a log format: behind it. */
static const char *format_add(struct compiler *c, const char *at, const char *end)
{
    const char *from = at + strlen("@Squid"), *to = braces_end(from, end);
    struct bt_word word = place_of(c, at, strlen("@Squid{"));
    struct template_step step = {.literal = BT_STR_NONE};

    if (to == NULL) {
        c->faulty |= !bt_complain(c->err, &word, "the closing } of @Squid{ is missing");
        return NULL;
    }
    literal_end(c, at);
    word = place_of(c, from + 1, (size_t)(to - from) - 2);
    step.format = format_compile(generation_current->registry, &word, word.text, c->arena, c->err);
    if (step.format == NULL)
        c->faulty = true;
    else
        step_add(c, step);
    return to;
}

static const char *code_add(struct compiler *c, const char *at, const char *end)
{
    const struct code *code;

    if (end - at < 2)
        return NULL;
    if ((code = code_find(c->out->what, at[1])) != NULL) {
        literal_end(c, at);
        step_add(c, (struct template_step){.code = code});
        return at + 2;
    }
    if (str_is(at[1], STR_ALPHA)) {
        struct bt_word word = place_of(c, at, 2);
        bt_caution(c->err, &word, "%%%c is no code and stands as it is; write %%%% for a %%",
                   at[1]);
    }
    return NULL;
}

static void text_compile(struct compiler *, const struct template_text *, bool whole);

static const char *part_add(struct compiler *c, const char *at, const struct template_text *part,
                            size_t len)
{
    literal_end(c, at);
    text_compile(c, part, false);
    return at + len;
}

/* What stands at `at`, a % or an @: behind it, or NULL when it is nothing special. */
static const char *special_add(struct compiler *c, const char *at, const char *end)
{
    static const bt_str title = {"@Page{title}", 12}, body = {"@Page{body}", 11};
    bt_str rest = str_span(at, end);

    if (*at == '%')
        return code_add(c, at, end);
    if (c->out->what != TEMPLATE_PAGE)
        return NULL;
    if (str_starts(rest, BT_STR("@Squid{")))
        return format_add(c, at, end);
    if (c->page != NULL && str_starts(rest, title))
        return part_add(c, at, &c->page->title, title.len);
    if (c->page != NULL && str_starts(rest, body))
        return part_add(c, at, &c->page->body, body.len);
    return NULL;
}

static void text_compile(struct compiler *c, const struct template_text *text, bool whole)
{
    struct compiler was = *c;
    const char *at = text->text.at, *end = at + text->text.len;

    c->from = text;
    c->literal = at;
    if (!whole)
        c->page = NULL; /* a part has no parts */
    while (at < end) {
        const char *next = *at == '%' || *at == '@' ? special_add(c, at, end) : NULL;
        at = next != NULL ? next : at + 1;
        if (next != NULL)
            c->literal = next;
    }
    literal_end(c, end);
    c->from = was.from;
    c->page = was.page;
    c->literal = was.literal;
}

const struct template *template_compile(enum template_for what, const struct template_text *text,
                                        const struct template_page *page, struct bt_arena *arena,
                                        struct bt_error *err)
{
    struct compiler c = {.page = page, .arena = arena, .err = err};

    c.out = bt_alloc(arena, sizeof *c.out);
    c.out->what = what;
    text_compile(&c, text, true);
    return c.faulty ? NULL : c.out;
}

/* ---- filling in ---- */

static void add_html(struct str_builder *out, bt_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '<')
            str_add_literal(out, "&lt;");
        else if (c == '>')
            str_add_literal(out, "&gt;");
        else if (c == '&')
            str_add_literal(out, "&amp;");
        else if (c == '"')
            str_add_literal(out, "&quot;");
        else if (c == '\'')
            str_add_literal(out, "&#39;");
        else if (((uint8_t)c < 32 && c != '\n' && c != '\t') || c == 127)
            str_add_char(out, ' ');
        else
            str_add_char(out, c);
    }
}

/* RFC 3986 2.3: all but the unreserved. `raw`: only what no URL may hold. */
static void add_url(struct str_builder *out, bt_str text, bool raw)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool stays = str_is(c, STR_ALPHA | STR_DIGIT) || c == '-' || c == '.' || c == '_' ||
                     c == '~';
        if (raw)
            stays = c > 32 && c < 127 && strchr("\"<>\\^`{|}", c) == NULL;
        if (stays)
            str_add_char(out, c);
        else
            str_add_format(out, "%%%02X", (unsigned)(uint8_t)c);
    }
}

static void field_add(const char *name, struct bt_txn *txn, struct str_builder *out)
{
    struct bt_value value;
    char buf[FIELD_TEXT];

    if (bt_field_get(txn, str_from(name), BT_STR_NONE, &value))
        str_add(out, field_text(&value, buf));
}

static void code_page(const struct code *code, struct bt_txn *txn, struct str_builder *out)
{
    struct str_builder value;
    bt_str text;

    str_builder_arena(&value, txn->arena, 64);
    if (code->field != NULL)
        field_add(code->field, txn, &value);
    else
        code->get(txn, &value);
    text = str_built(&value);
    if (text.len == 0)
        text = code->missing != NULL ? str_from(code->missing) : BT_STR("");
    if (code->raw) {
        str_add(out, text);
        return;
    }
    add_html(out, str_slice(text, 0, VALUE_MAX));
    if (text.len > VALUE_MAX)
        str_add_literal(out, "...");
}

static void code_url(const struct code *code, struct bt_txn *txn, struct str_builder *out)
{
    struct str_builder value;

    if (code->page_only)
        return;
    str_builder_arena(&value, txn->arena, 64);
    if (code->field != NULL)
        field_add(code->field, txn, &value);
    else
        code->get(txn, &value);
    if (code->letter == '%')
        str_add_literal(out, "%25");
    else
        add_url(out, str_built(&value), code->letter == 'R' || code->letter == 'O');
}

static void format_page(const struct format *format, struct bt_txn *txn, struct str_builder *out)
{
    char buf[FORMAT_MAX];

    add_html(out, (bt_str){buf, format_render(format, txn, buf, sizeof buf)});
}

void template_render(const struct template *t, struct bt_txn *txn, struct str_builder *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct template_step *step = &t->step[i];
        if (step->format != NULL)
            format_page(step->format, txn, out);
        else if (step->code == NULL)
            str_add(out, step->literal);
        else if (t->what == TEMPLATE_URL)
            code_url(step->code, txn, out);
        else
            code_page(step->code, txn, out);
    }
}
