/* format.c - format strings: compiled into steps, and rendered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "plug/format.h"

#include <string.h>

#include "base/str.h"
#include "bt_format.h"
#include "plug/field.h"
#include "plug/generation.h"
#include "plug/registry.h"

enum encoding {
    AS_IS,
    AS_C,       /* " */
    AS_LOG,     /* [ */
    AS_URL,     /* # */
    AS_SHELL,   /* / */
    AS_RAW,     /* ' */
    AS_PERCENT, /* of headers and URLs, when none was asked for: as URL, but % stays */
    AS_SD,      /* ]: in the structured data of RFC 5424 */
    AS_JSON,    /* j: a value of JSON, with its quotes */
    ENCODINGS
};

struct step {
    const struct bt_field *field; /* NULL: literal text */
    bt_str text;                  /* the text, or the argument */
    uint32_t width, most;         /* most 0: no limit */
    enum encoding as;
    bool zero, left;
};
struct format {
    struct step *step;
    size_t n;
    enum bt_phase earliest;
};

/* ---- what Squid knows ---- */

static const struct {
    const char *name, *text;
} presets[] = {
    {"squid", "%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt"},
    {"common", "%>a - %[un [%tl] \"%rm %ru HTTP/%rv\" %>Hs %<st %Ss:%Sh"},
    {"combined", "%>a - %[un [%tl] \"%rm %ru HTTP/%rv\" %>Hs %<st \"%{Referer}>h\" "
                 "\"%{User-Agent}>h\" %Ss:%Sh"},
    {"referrer", "%ts.%03tu %>a %{Referer}>h %ru"},
    {"useragent", "%>a [%tl] \"%{User-Agent}>h\""},
    {"icap_squid", "%ts.%03tu %6icap::tr %>A %icap::to/%03icap::Hs %icap::<st %icap::rm "
                   "%icap::ru %un -/%icap::<A -"},
    /* Ours. */
    {"json",
     "{\"time\":%jts.%03tu,\"request\":%jsn,\"client\":%j>a,\"client_port\":%j>p,\"user\":%jun,"
     "\"method\":%jrm,\"url\":%jru,\"version\":%jrv,\"status\":%j>Hs,\"type\":%jmt,"
     "\"request_bytes\":%j>st,\"reply_bytes\":%j<st,\"result\":%jSs,\"hierarchy\":%jSh,"
     "\"server\":%j<a,\"took_ms\":%jtr,\"dns_ms\":%jdt,\"wait_ms\":%j<pt,\"server_ms\":%j<tt,"
     "\"error\":%jerr_code,\"detail\":%jerr_detail,\"rule\":%jrule,\"agent\":%j{User-Agent}>h,"
     "\"referer\":%j{Referer}>h,\"tls\":%jssl::>negotiated_version,\"sni\":%jssl::>sni,"
     "\"bump\":%jssl::bump_mode,\"server_tls\":%jssl::<negotiated_version}"},
    {"logfmt",
     "time=%ts.%03tu request=%jsn client=%j>a user=%jun method=%jrm url=%jru version=%jrv "
     "status=%j>Hs type=%jmt request_bytes=%j>st reply_bytes=%j<st result=%jSs hierarchy=%jSh "
     "server=%j<a took_ms=%jtr dns_ms=%jdt wait_ms=%j<pt error=%jerr_code rule=%jrule "
     "agent=%j{User-Agent}>h"},
    {"rfc5424", /* of local0.info; 32473 is the number that is kept for examples */
     "<134>1 %{%Y-%m-%dT%H:%M:%S}tg.%03tuZ - bobtail - access [access@32473 request=\"%]sn\" "
     "client=\"%]>a\" user=\"%]un\" method=\"%]rm\" url=\"%]ru\" status=\"%]>Hs\" "
     "bytes=\"%]<st\" result=\"%]Ss\" hierarchy=\"%]Sh\" server=\"%]<a\" took_ms=\"%]tr\" "
     "type=\"%]mt\" error=\"%]err_code\" rule=\"%]rule\"] %[rm %[ru %>Hs"},
};

/* Codes whose values come from outside, and which Squid encodes unless told otherwise. */
static const char *const percent[] = {">h",         "<h",
                                      ">ha",        ">ru",
                                      "<ru",        ">rp",
                                      "<rp",        "rp",
                                      "note",       "adapt::<last_h",
                                      "ssl::<cert", "proxy_protocol::>h",
                                      NULL};

/* Codes of the language that nothing here answers yet: always "-", with a warning. A module that
 * has one of them in its table is found first. */
static const char *const later[] = {"adapt::<last_h",
                                    "adapt::all_trs",
                                    "adapt::sum_trs",
                                    "icap::tt",
                                    "proxy_protocol::>h",
                                    ">handshake",
                                    "ssl::bump_mode",
                                    "ssl::>sni",
                                    "ssl::>cert_subject",
                                    "ssl::>cert_issuer",
                                    "ssl::<cert_subject",
                                    "ssl::<cert_issuer",
                                    "ssl::<cert",
                                    "ssl::<cert_errors",
                                    "ssl::>negotiated_version",
                                    "ssl::<negotiated_version",
                                    "ssl::>negotiated_cipher",
                                    "ssl::<negotiated_cipher",
                                    "ssl::>received_hello_version",
                                    "ssl::<received_hello_version",
                                    "ssl::>received_supported_version",
                                    "ssl::<received_supported_version",
                                    "transport::>connection_id",
                                    "icap::<A",
                                    "icap::<a",
                                    "icap::<service_name",
                                    "icap::ru",
                                    "icap::rm",
                                    "icap::>st",
                                    "icap::<st",
                                    "icap::<bs",
                                    "icap::tr",
                                    "icap::tio",
                                    "icap::to",
                                    "icap::Hs",
                                    "icap::>h",
                                    "icap::<h",
                                    "us",
                                    "busy_time",
                                    NULL};

bt_str format_preset(bt_str name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (bt_str_eq(name, str_from(presets[i].name)))
            return str_from(presets[i].text);
    return BT_STR_NONE;
}

static bool listed(const char *const *list, bt_str code)
{
    if (str_starts(code, BT_STR("http::")))
        code = str_skip(code, 6);
    for (; *list != NULL; list++)
        if (bt_str_eq(code, str_from(*list)))
            return true;
    return false;
}

/* ---- compiling ---- */

struct compiler {
    struct registry *registry;
    const struct bt_word *word; /* where the text stands; NULL: nowhere */
    bt_str text;
    size_t at;
    struct bt_arena *arena;
    struct bt_error *err;
    struct step *step;
    size_t n;
    struct str_builder literal;
    bool in_quotes, in_brackets;
};

/* The word for a complaint about `len` bytes at `from`. */
static struct bt_word spot(const struct compiler *c, size_t from, size_t len)
{
    struct bt_word spot = {0};

    if (c->word != NULL) {
        const char *inside = c->word->text.at;

        spot = *c->word;
        /* A copy has lost its place within the word: then the word itself must do. */
        if (c->text.at >= inside && c->text.at + c->text.len <= inside + c->word->text.len)
            spot.column += (uint32_t)((size_t)(c->text.at - inside) + from + c->word->quoted);
    }
    spot.text = str_slice(c->text, from, from + len);
    return spot;
}

static char peek(const struct compiler *c)
{
    return c->at < c->text.len ? c->text.at[c->at] : '\0';
}

static void end_literal(struct compiler *c)
{
    if (c->literal.len == 0)
        return;
    c->step[c->n++] = (struct step){.text = bt_str_copy(c->arena, str_built(&c->literal))};
    c->literal.len = 0;
}

static void take_encoding(struct compiler *c, struct step *step)
{
    static const char sign[] = "\"[#/']j";
    static const enum encoding means[] = {AS_C, AS_LOG, AS_URL, AS_SHELL, AS_RAW, AS_SD, AS_JSON};
    const char *found = c->at < c->text.len ? strchr(sign, c->text.at[c->at]) : NULL;

    if (found != NULL && *found != '\0') {
        step->as = means[found - sign];
        c->at++;
    } else {
        step->as = c->in_quotes ? AS_C : c->in_brackets ? AS_LOG : AS_IS;
    }
}

static bool take_number(struct compiler *c, uint32_t *out)
{
    size_t from = c->at;
    uint64_t n = 0;

    while (str_is(peek(c), STR_DIGIT))
        c->at++;
    if (c->at > from && !str_uint(str_slice(c->text, from, c->at), 65535, &n)) {
        struct bt_word word = spot(c, from, c->at - from);
        return bt_complain(c->err, c->word != NULL ? &word : NULL,
                           "a width is at most 65535 in a log format");
    }
    *out = (uint32_t)n;
    return true;
}

static bool take_width(struct compiler *c, struct step *step)
{
    if (peek(c) == '-') {
        step->left = true;
        c->at++;
    }
    if (peek(c) == '0') {
        step->zero = true;
        c->at++;
    }
    if (!take_number(c, &step->width))
        return false;
    if (peek(c) != '.')
        return true;
    c->at++;
    return take_number(c, &step->most);
}

/* {arg}, if there is one. */
static bool take_arg(struct compiler *c, bt_str *arg)
{
    ptrdiff_t len;

    if (peek(c) != '{')
        return true;
    len = str_find_char(str_skip(c->text, c->at), '}');
    if (len < 0) {
        struct bt_word word = spot(c, c->at, 1);
        return bt_complain(c->err, c->word != NULL ? &word : NULL,
                           "'{' is never closed in this log format; write '}' behind the argument");
    }
    *arg = str_slice(c->text, c->at + 1, c->at + (size_t)len);
    c->at += (size_t)len + 1;
    return true;
}

/* %byte{10} */
static bool take_byte(struct compiler *c, size_t from, bt_str arg)
{
    uint64_t byte;

    if (!take_arg(c, &arg))
        return false;
    if (!str_uint(arg, 255, &byte) || byte == 0) {
        struct bt_word word = spot(c, from, c->at - from);
        return bt_complain(c->err, c->word != NULL ? &word : NULL,
                           "'byte' wants a number from 1 to 255, as in %%byte{9}");
    }
    str_add_char(&c->literal, (char)byte);
    return true;
}

static bool nothing_get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    (void)out;
    return false;
}

static const struct bt_field nothing = {.name = "nothing", .get = nothing_get};

static bool unknown(struct compiler *c, size_t from, size_t len)
{
    struct bt_word word = spot(c, from, len);
    const struct bt_word *at = c->word != NULL ? &word : NULL;

    if (len == 0)
        return bt_complain(c->err, at,
                           "a code should follow '%%' in this log format; a percent sign is %%%%");
    return registry_unknown(c->registry, str_find_char(word.text, '.') >= 0 ? ROW_FIELD : ROW_CODE,
                            word.text, at, c->err);
}

/* The length of the longest code of later[] that the text begins with. */
static size_t later_len(bt_str text)
{
    size_t longest = 0, skip = str_starts(text, BT_STR("http::")) ? 6 : 0;

    text = str_skip(text, skip);
    for (const char *const *code = later; *code != NULL; code++)
        if (str_starts(text, str_from(*code)) && strlen(*code) > longest)
            longest = strlen(*code);
    return longest == 0 ? 0 : longest + skip;
}

/* tls:: is another word for ssl::, and would else be %tl with text behind it. */
static bt_str as_ssl(struct compiler *c, bt_str text)
{
    char *copy;

    if (!str_starts(text, BT_STR("tls::")))
        return text;
    copy = bt_alloc_raw(c->arena, text.len);
    memcpy(copy, text.at, text.len);
    memcpy(copy, "ssl::", 5);
    return (bt_str){copy, text.len};
}

static bool find_field(struct compiler *c, struct step *step)
{
    bt_str rest = as_ssl(c, str_skip(c->text, c->at)), code;
    size_t len, missing = later_len(rest);

    step->field = field_by_code(c->registry, rest, &len);
    if (missing > 0 && (step->field == NULL || missing > len)) {
        struct bt_word word = spot(c, c->at, missing);

        bt_caution(c->err, c->word != NULL ? &word : NULL,
                   "'%.*s' is always '-' here: no module provides it", BT_STR_ARGS(word.text));
        step->field = &nothing;
        len = missing;
    }
    if (step->field == NULL)
        return unknown(c, c->at, len);
    code = str_slice(rest, 0, len);
    if (step->as == AS_IS && listed(percent, code))
        step->as = AS_PERCENT;
    c->at += len;
    return true;
}

/* One %..., whose sign is taken. */
static bool take_code(struct compiler *c)
{
    struct step step = {0};
    bt_str arg = BT_STR_NONE;
    size_t from;

    if (peek(c) == '%') {
        str_add_char(&c->literal, '%');
        c->at++;
        return true;
    }
    take_encoding(c, &step);
    if (!take_width(c, &step) || !take_arg(c, &arg))
        return false;
    from = c->at;
    if (str_starts(str_skip(c->text, from), arg.at != NULL ? BT_STR("byte") : BT_STR("byte{"))) {
        c->at += 4;
        return take_byte(c, from, arg);
    }
    if (!find_field(c, &step))
        return false;
    if (arg.at == NULL && !take_arg(c, &arg))
        return false;
    step.text = bt_str_copy(c->arena, arg);
    end_literal(c);
    c->step[c->n++] = step;
    return true;
}

static void take_literal(struct compiler *c)
{
    char sign = c->text.at[c->at++];

    if (sign == '"')
        c->in_quotes = !c->in_quotes;
    else if (sign == '[')
        c->in_brackets = true;
    else if (sign == ']')
        c->in_brackets = false;
    str_add_char(&c->literal, sign);
}

struct format *format_compile(struct registry *registry, const struct bt_word *at, bt_str text,
                              struct bt_arena *arena, struct bt_error *err)
{
    struct compiler c = {
        .registry = registry, .word = at, .text = text, .arena = arena, .err = err};
    struct format *format = bt_alloc(arena, sizeof *format);
    bool fine = true;

    /* Each step needs at least a byte of the text. */
    c.step = bt_alloc_raw(arena, (text.len + 1) * sizeof *c.step);
    str_builder_arena(&c.literal, arena, text.len + 1);
    while (c.at < text.len) {
        if (text.at[c.at] != '%') {
            take_literal(&c);
            continue;
        }
        c.at++;
        fine &= take_code(&c); /* what is wrong with the next one is told as well */
    }
    end_literal(&c);
    if (!fine)
        return NULL;
    format->step = c.step;
    format->n = c.n;
    for (size_t i = 0; i < c.n; i++)
        if (c.step[i].field != NULL && c.step[i].field->earliest > format->earliest)
            format->earliest = c.step[i].field->earliest;
    return format;
}

bool format_asks(const struct format *format, bt_str field)
{
    for (size_t i = 0; i < format->n; i++)
        if (format->step[i].field != NULL &&
            bt_str_eq(str_from(format->step[i].field->name), field))
            return true;
    return false;
}

enum bt_phase format_earliest(const struct format *format)
{
    return format->earliest;
}

/* ---- encodings: what each byte becomes ----
 *
 * A class a byte, one table: bit i says that encoding i changes it. */

static uint16_t changes[256];

static bool is_url_unsafe(int c)
{
    return c <= 32 || c >= 127 || strchr("<>\"#%{}|\\^~[]`'", c) != NULL;
}

__attribute__((constructor)) static void changes_make(void)
{
    for (int c = 0; c < 256; c++) {
        unsigned bits = 0;

        if (c == '\n' || c == '\r')
            bits = (1u << ENCODINGS) - 1;
        if (c == '"' || c == '\\')
            bits |= 1u << AS_C | 1u << AS_SHELL | 1u << AS_SD | 1u << AS_JSON;
        if (c < 32 || c > 126)
            bits |= 1u << AS_SD;
        if (c < 32 || c > 127)
            bits |= 1u << AS_JSON;
        if (c == ']')
            bits |= 1u << AS_SD;
        if (c == '\t')
            bits |= 1u << AS_C;
        if (c < 32 || c > 126 || c == '%' || c == '[' || c == ']' || c == '\\')
            bits |= 1u << AS_LOG;
        if (is_url_unsafe(c))
            bits |= 1u << AS_URL | (c == '%' ? 0 : 1u << AS_PERCENT);
        if (c == 0)
            bits |= 1u << AS_IS | 1u << AS_RAW;
        changes[c] = (uint16_t)bits;
    }
}

/* At most 3 bytes for one. */
enum { WIDEST = 3 };

static char *put_percent(char *at, uint8_t c, const char *digits)
{
    *at++ = '%';
    *at++ = digits[c >> 4];
    *at++ = digits[c & 15];
    return at;
}

static char *put_changed(char *at, uint8_t c, enum encoding as)
{
    if (as == AS_URL || as == AS_PERCENT)
        return put_percent(at, c, "0123456789ABCDEF");
    if (as == AS_SD && c != '"' && c != '\\' && c != ']')
        return put_percent(at, c, "0123456789abcdef");
    if (c == '\n' || c == '\r' || (c == '\t' && as == AS_C)) {
        *at++ = '\\';
        *at++ = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
        return at;
    }
    if (c == '\\' || (c == '"' && as != AS_LOG) || as == AS_SD) {
        *at++ = '\\';
        *at++ = (char)c;
        return at;
    }
    return put_percent(at, c, "0123456789abcdef");
}

/* Any byte below 32 in it? */
static inline bool has_control(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);

    return ((word - 32 * ones) & ~word & 128 * ones) != 0;
}

/* As much of the text as fits. */
static char *put_encoded(char *at, const char *end, bt_str text, enum encoding as)
{
    unsigned bit = 1u << as;
    const char *from = text.at, *last = text.at + text.len;

    /* Raw text is most of a line, and only control bytes matter in it. */
    while ((as == AS_IS || as == AS_RAW) && last - from >= 8 && end - at >= 8) {
        uint64_t word;

        memcpy(&word, from, 8);
        if (has_control(word))
            break;
        memcpy(at, &word, 8);
        from += 8;
        at += 8;
    }
    while (from < last) {
        const char *plain = from;

        while (from < last && (changes[(uint8_t)*from] & bit) == 0)
            from++;
        size_t n = (size_t)(from - plain);
        if (n > (size_t)(end - at))
            n = (size_t)(end - at);
        if (n > 0)
            memcpy(at, plain, n);
        at += n;
        if (from == last || end - at < WIDEST)
            break;
        at = put_changed(at, (uint8_t)*from++, as);
    }
    return at;
}

/* ---- values of JSON ----
 *
 * Whole or not at all, so that each line that has room for its frame parses. Bytes that are no UTF-8
 * become the character of that number, so that none is lost and none is invalid. */

/* The bytes of a character of UTF-8 that begins there, which no reader takes for the end of a line;
 * 0: there is none. */
static size_t utf8_len(const char *from, const char *last)
{
    const uint8_t *c = (const uint8_t *)from;
    size_t left = (size_t)(last - from);

    if (c[0] >= 0xc2 && c[0] < 0xe0 && left >= 2 && (c[1] & 0xc0) == 0x80)
        return c[0] == 0xc2 && c[1] < 0xa0 ? 0 : 2;
    if ((c[0] & 0xf0) == 0xe0 && left >= 3 && (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80) {
        bool longer = c[0] == 0xe0 && c[1] < 0xa0, half = c[0] == 0xed && c[1] >= 0xa0;
        bool ends = c[0] == 0xe2 && c[1] == 0x80 && (c[2] == 0xa8 || c[2] == 0xa9);

        return longer || half || ends ? 0 : 3;
    }
    if (c[0] >= 0xf0 && c[0] < 0xf5 && left >= 4 && (c[1] & 0xc0) == 0x80 &&
        (c[2] & 0xc0) == 0x80 && (c[3] & 0xc0) == 0x80)
        return (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90) ? 0 : 4;
    return 0;
}

static char *put_json_char(char *at, uint8_t c)
{
    static const char digits[] = "0123456789abcdef";

    *at++ = '\\';
    if (c == '"' || c == '\\') {
        *at++ = (char)c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
        *at++ = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
    } else {
        memcpy(at, "u00", 3);
        at[3] = digits[c >> 4];
        at[4] = digits[c & 15];
        at += 5;
    }
    return at;
}

enum { JSON_WIDEST = 6 };

/* Any byte in it that JSON, or a look at it, must not let pass? */
static inline bool has_special(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t quote = word ^ ('"' * ones), back = word ^ ('\\' * ones);

    return (((word - 32 * ones) | (quote - ones) | (back - ones) | word) & 128 * ones) != 0;
}

static char *put_json_text(char *at, const char *end, bt_str text)
{
    const char *from = text.at, *last = text.at + text.len;

    if (end - at < 2)
        return at;
    *at++ = '"';
    while (from < last && end - at > JSON_WIDEST) {
        const char *plain = from, *stop = from + (end - at - JSON_WIDEST);
        uint64_t word;
        size_t n;

        if (stop > last)
            stop = last;
        for (; stop - from >= 8; from += 8) {
            memcpy(&word, from, 8);
            if (has_special(word))
                break;
        }
        while (from < stop && (changes[(uint8_t)*from] & 1u << AS_JSON) == 0)
            from++;
        n = (size_t)(from - plain);
        memcpy(at, plain, n);
        at += n;
        if (from == stop)
            continue;
        n = utf8_len(from, last);
        if (n == 0) {
            at = put_json_char(at, (uint8_t)*from++);
        } else {
            memcpy(at, from, n);
            at += n;
            from += n;
        }
    }
    *at++ = '"';
    return at;
}

/* Longer texts are cut, see format_render_line(). */
static size_t text_most = SIZE_MAX;

static char *put_json(char *at, const char *end, const struct bt_value *value, bool there)
{
    char buf[FIELD_TEXT];
    bt_str text;

    if (there && value->kind == BT_INT) {
        if (end - at >= FIELD_TEXT)
            return str_put_int(at, value->num);
        text = field_text(value, buf);
    } else {
        text = there ? field_text(value, buf) : BT_STR_NONE;
        if (text.len > 0)
            return put_json_text(at, end,
                                 text.len > text_most ? str_slice(text, 0, text_most) : text);
        text = BT_STR("null");
    }
    if (text.len > (size_t)(end - at))
        text.len = (size_t)(end - at);
    memcpy(at, text.at, text.len);
    return at + text.len;
}

static char *put_text(char *at, const char *end, bt_str text, enum encoding as)
{
    bool quotes = as == AS_SHELL && str_find_char(text, ' ') >= 0;

    if (text.len > text_most)
        text.len = text_most;
    if (quotes && end - at >= 2) {
        *at++ = '"';
        at = put_encoded(at, end - 1, text, as);
        *at++ = '"';
        return at;
    }
    return put_encoded(at, end, text, as);
}

/* ---- rendering ---- */

/* What was put at from..at is cut and padded as the step wants it. */
static char *fit(const struct step *step, char *from, char *at, const char *end)
{
    size_t len = (size_t)(at - from), room = (size_t)(end - from), pad;

    if (step->most > 0 && len > step->most)
        len = step->most;
    if (len >= step->width)
        return from + len;
    pad = step->width - len;
    if (pad > room - len)
        pad = room - len;
    if (step->left) {
        memset(from + len, ' ', pad);
    } else {
        memmove(from + pad, from, len);
        memset(from, ' ', pad);
    }
    return from + len + pad;
}

/* Only numbers are filled with zeros. */
static char *put_number(const struct step *step, char *at, const char *end, int64_t number)
{
    char digits[21];
    size_t len;

    if (!step->zero && end - at >= (ptrdiff_t)sizeof digits)
        return str_put_int(at, number);
    len = (size_t)(str_put_int(digits, number) - digits);
    size_t zeros = step->zero && step->width > len ? step->width - len : 0;

    if (len + zeros > (size_t)(end - at))
        return at;
    memset(at, '0', zeros);
    memcpy(at + zeros, digits, len);
    return at + zeros + len;
}

static char *put_field(const struct step *step, struct bt_txn *txn, char *at, const char *end)
{
    struct bt_value value = {0};
    char buf[FIELD_TEXT], *from = at;
    bt_str text;
    bool there = step->field->get(txn, step->text, &value);

    if (step->as == AS_JSON)
        return put_json(at, end, &value, there);
    if (!there) {
        *at++ = '-'; /* never padded, as Squid has it */
        return at;
    }
    if (value.kind == BT_INT) {
        at = put_number(step, at, end, value.num);
    } else {
        text = field_text(&value, buf);
        if (text.len == 0) {
            *at++ = '-';
            return at;
        }
        at = put_text(at, end, text, step->as);
    }
    return step->width == 0 && step->most == 0 ? at : fit(step, from, at, end);
}

size_t format_render(const struct format *format, struct bt_txn *txn, char *buf, size_t cap)
{
    const char *end = buf + cap;
    char *at = buf;

    for (size_t i = 0; i < format->n && at < end; i++) {
        const struct step *step = &format->step[i];

        if (step->field != NULL) {
            at = put_field(step, txn, at, end);
        } else {
            size_t n = step->text.len < (size_t)(end - at) ? step->text.len : (size_t)(end - at);

            memcpy(at, step->text.at, n);
            at += n;
        }
    }
    return (size_t)(at - buf);
}

size_t format_render_line(const struct format *format, struct bt_txn *txn, char *buf, size_t cap)
{
    size_t len = format_render(format, txn, buf, cap);

    for (text_most = 4096; len == cap && text_most >= 16; text_most /= 4)
        len = format_render(format, txn, buf, cap);
    text_most = SIZE_MAX;
    return len;
}

/* ---- for modules (bt_format.h): the same, with the registry of this process ---- */

struct bt_format *bt_format_new(struct bt_arena *arena, const struct bt_word *at, bt_str text,
                                struct bt_error *err)
{
    return (struct bt_format *)format_compile(generation_current->registry, at, text, arena, err);
}

enum bt_phase bt_format_earliest(const struct bt_format *format)
{
    return format_earliest((const struct format *)format);
}

size_t bt_format_render(const struct bt_format *format, struct bt_txn *txn, char *buf, size_t cap)
{
    return format_render((const struct format *)format, txn, buf, cap);
}
