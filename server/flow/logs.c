/* logs.c - access logs: directives, choice by ACLs, batches of lines.
 *
 * A place (module and what it opens) has one buffer, whatever number of access_log lines name it,
 * so that its lines keep their order and it is rotated once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#define BT_LOG_TAG "logs"
#include "flow/logs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"
#include "base/suggest.h"
#include "bt_log.h"
#include "conf/complain.h"
#include "flow/fields.h"
#include "flow/tail.h"
#include "flow/txn.h"
#include "net/loop.h"
#include "plug/acl.h"
#include "plug/format.h"
#include "plug/generation.h"
#include "plug/registry.h"
#include "plug/rules.h"
#include "stat/counts.h"

enum {
    BUFFER_BYTES = 64 * 1024, /* a batch is written when so much has come together */
    LINE_BYTES = 16 * 1024,   /* room for the line that goes beyond; a longer one is cut */
    DELAY_MS = 50
};

/* Where lines go. */
struct place {
    struct place *next;
    const struct bt_log_writer *writer;
    struct bt_word at; /* what stands after the colon */
    void *log;         /* the writer's */
    struct bt_log_options options;
    char *buf; /* of the worker; NULL in the master */
    size_t len, full;
    unsigned lines; /* in buf */
};

/* One access_log line. */
struct access_log {
    struct place *place; /* NULL: none */
    struct format *format;
    const struct bt_acls *acls;
    const struct bt_acls *also; /* the ACL where Squid's old form has its format */
    bt_str format_name;
    const struct bt_line *line;
};

struct named_format {
    bt_str name;
    struct format *format; /* NULL: it was refused */
};

struct logs_conf {
    int64_t rotate;
    bool strip_query, mime_hdrs, emulate_httpd;
    bool masked; /* client_netmask is not all ones */
    uint32_t mask;
    struct access_log *log;
    size_t n, room;
    struct named_format *format;
    size_t n_formats, formats_room;
    struct place *places;
};

/* The options of an access_log line. */
struct line_options {
    bt_str logformat;
    int64_t on_error; /* die|drop */
    int64_t rotate;
    bt_size buffer_size;
};

static struct bt_self self;
#define logs ((struct logs_conf *)self.conf)
static int64_t owner_uid = -1, owner_gid = -1;
static struct timeout_class delays;
static struct timeout delay;

/* ---- formats by name ---- */

static const struct named_format *format_named(struct logs_conf *c, bt_str name)
{
    for (size_t i = 0; i < c->n_formats; i++)
        if (bt_str_eq(c->format[i].name, name))
            return &c->format[i];
    return NULL;
}

static bool format_known(struct logs_conf *c, bt_str name)
{
    return format_preset(name).at != NULL || format_named(c, name) != NULL;
}

/* Grows an array of the configuration by one. */
static void *array_grow(struct bt_arena *arena, void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return array;
    size_t was = *room;
    *room = was == 0 ? 8 : was * 2;
    return arena_more(arena, array, was * size, *room * size);
}

static bool set_logformat(void *c_, const struct bt_line *line, struct bt_error *err)
{
    struct logs_conf *c = c_;
    const struct bt_word *name = &line->args.word[0], *text = &line->args.word[1];
    struct format *format;

    if (format_preset(name->text).at != NULL)
        bt_caution(err, name, "'%.*s' is a built-in format and stays as it is; take another name",
                   BT_STR_ARGS(name->text));
    else if (format_named(c, name->text) != NULL)
        bt_caution(err, name, "format '%.*s' is defined above, and that one stands",
                   BT_STR_ARGS(name->text));
    format = format_compile(generation_current->registry, text, text->text, line->arena, err);
    c->format = array_grow(line->arena, c->format, c->n_formats, &c->formats_room,
                           sizeof *c->format);
    c->format[c->n_formats++] = (struct named_format){name->text, format};
    return format != NULL;
}

/* ---- access_log ---- */

/* What stands before and after the first colon, when that looks like MODULE:PLACE. */
static bool split_place(const struct bt_word *word, bt_str *module, struct bt_word *place)
{
    bt_str rest;

    *place = *word;
    if (str_eq_literal(word->text, "syslog")) { /* of Squid 2 */
        *module = word->text;
        place->text = BT_STR("");
        return true;
    }
    if (!str_split(word->text, ':', module, &rest) || module->len == 0 ||
        !str_is(module->at[0], STR_ALPHA) || str_find_char(*module, '/') >= 0) {
        *module = BT_STR("stdio");
        return false;
    }
    place->text = rest;
    place->column += (uint32_t)module->len + 1;
    return true;
}

static struct place *place_get(struct logs_conf *c, const struct bt_word *word,
                               const struct line_options *options, struct bt_arena *arena,
                               struct bt_error *err)
{
    const struct bt_log_writer *writer;
    struct bt_word at;
    struct place **link;
    bt_str module;

    split_place(word, &module, &at);
    writer = registry_log_writer(generation_current->registry, module, NULL);
    if (writer == NULL) {
        registry_unknown(generation_current->registry, ROW_LOG_WRITER, module, word, err);
        return NULL;
    }
    if (at.text.len == 0 && !str_eq_literal(module, "syslog")) {
        bt_complain(err, word, "a place should follow the colon, as in stdio:/var/log/access.log");
        return NULL;
    }
    for (link = &c->places; *link != NULL; link = &(*link)->next)
        if ((*link)->writer == writer && bt_str_eq((*link)->at.text, at.text))
            return *link;
    *link = bt_alloc(arena, sizeof **link);
    (*link)->writer = writer;
    (*link)->at = at;
    (*link)->options = (struct bt_log_options){.rotate = options->rotate,
                                               .buffer_size = options->buffer_size,
                                               .die_on_error = options->on_error == 0};
    return *link;
}

/* The second word of Squid's old form: a format, else it is the first of the ACLs. */
static bool take_second(struct logs_conf *c, struct access_log *log, const struct bt_line *line,
                        struct bt_error *err)
{
    const struct bt_word *word = &line->args.word[1];
    bt_str name = word->text;

    if (log->place != NULL && format_known(c, name)) {
        log->format_name = name;
        return true;
    }
    if (str_starts(name, BT_STR("!")))
        name = str_skip(name, 1);
    if (acl_find(acl_self.conf, name, word, err) == NULL)
        return bt_complain(err, word,
                           "'%.*s' is neither a log format nor an ACL that is defined above this "
                           "line",
                           BT_STR_ARGS(name));
    log->also = rules_acls(acl_self.conf, (struct bt_args){word, 1}, line->row, true, err);
    return true;
}

static bool set_access_log(void *c_, const struct bt_line *line, struct bt_error *err)
{
    struct logs_conf *c = c_;
    const struct line_options *options = line->options;
    const struct bt_word *word = &line->args.word[0];
    struct access_log log = {.acls = line->acls, .line = line, .format_name = options->logformat};

    if (!str_eq_literal(word->text, "none")) {
        log.place = place_get(c, word, options, line->arena, err);
        if (log.place == NULL)
            return false;
    }
    if (line->args.n > 1 && !take_second(c, &log, line, err))
        return false;
    c->log = array_grow(line->arena, c->log, c->n, &c->room, sizeof *c->log);
    c->log[c->n++] = log;
    return true;
}

/* useragent_log and referer_log, of the time before formats: PLACE. */
static bool set_preset_log(void *c_, const struct bt_line *line, struct bt_error *err)
{
    static const struct line_options plain = {.on_error = 1, .rotate = -1};
    struct logs_conf *c = c_;
    struct access_log log = {.line = line};

    if (str_eq_literal(line->args.word[0].text, "none"))
        return true;
    log.format_name = str_from(line->row->name[0] == 'u' ? "useragent" : "referrer");
    log.place = place_get(c, &line->args.word[0], &plain, line->arena, err);
    if (log.place == NULL)
        return false;
    c->log = array_grow(line->arena, c->log, c->n, &c->room, sizeof *c->log);
    c->log[c->n++] = log;
    return true;
}

static bool set_netmask(void *c_, const struct bt_line *line, struct bt_error *err)
{
    const struct bt_word *word = &line->args.word[0];
    struct logs_conf *c = c_;
    struct in_addr mask;
    uint32_t bits;

    if (inet_pton(AF_INET, bt_str_copy(line->arena, word->text).at, &mask) != 1)
        return bt_complain(err, word, "a mask of IPv4 should stand here, such as 255.255.255.0");
    bits = ntohl(mask.s_addr);
    if ((~bits & (~bits + 1)) != 0)
        bt_caution(err, word, "this mask has holes; 255.255.255.0 keeps the first 24 bits");
    c->mask = bits;
    c->masked = bits != UINT32_MAX;
    return true;
}

/* ---- setup: formats are found, places opened ---- */

static bool mime_preset(bt_str name)
{
    return str_eq_literal(name, "squid") || str_eq_literal(name, "common") ||
           str_eq_literal(name, "combined");
}

static bool resolve_format(struct logs_conf *c, struct access_log *log, struct bt_arena *arena,
                           struct bt_error *err)
{
    bt_str name = log->format_name.at != NULL ? log->format_name
                  : c->emulate_httpd          ? BT_STR("common")
                                              : BT_STR("squid");
    bt_str text = format_preset(name);

    if (text.at != NULL) {
        if (c->mime_hdrs && mime_preset(name))
            text = bt_str_printf(arena, "%.*s [%%[>h] [%%[<h]", BT_STR_ARGS(text));
        log->format = format_compile(generation_current->registry, NULL, text, arena, err);
        return log->format != NULL;
    }
    const struct named_format *named = format_named(c, name);

    if (named == NULL) {
        struct suggest near;

        suggest_init(&near, name);
        for (size_t i = 0; i < c->n_formats; i++)
            suggest_try(&near, bt_str_copy(arena, c->format[i].name).at);
        return bt_complain(err, &log->line->name, "there is no logformat '%.*s'%s%s%s",
                           BT_STR_ARGS(name), near.best != NULL ? "; did you mean '" : "",
                           near.best != NULL ? near.best : "", near.best != NULL ? "'?" : "");
    }
    log->format = named->format; /* NULL: it was complained of where it stands */
    return true;
}

static bool setup(void *c_, struct bt_arena *arena, struct bt_error *err)
{
    struct logs_conf *c = c_;
    bool fine = tail_make(err);

    for (size_t i = 0; i < c->n; i++) {
        struct access_log *log = &c->log[i];

        if (log->place == NULL)
            continue;
        fine &= resolve_format(c, log, arena, err);
        if (log->format != NULL && format_asks(log->format, BT_STR("origin.local_addr")))
            fields_need_local = true;
        if (log->format != NULL && format_asks(log->format, BT_STR("origin.local_port")))
            fields_need_local = true;
    }
    /* A start that is refused leaves no files behind. */
    for (struct place *p = c->places; p != NULL && !complain_any(err); p = p->next) {
        p->options.uid = owner_uid; /* proc's setup came before ours */
        p->options.gid = owner_gid;
        p->log = p->writer->open(&p->at, &p->options, arena, err);
        fine &= p->log != NULL;
    }
    return fine;
}

void logs_owner(unsigned uid, unsigned gid)
{
    owner_uid = uid;
    owner_gid = gid;
}

/* ---- writing ---- */

static unsigned lost; /* of the lines under way, see bt_log_lost() */

void bt_log_lost(unsigned lines)
{
    lost += lines;
    count_by(log_lost, lines);
    bt_log_limited(
        NULL, BT_ERROR, 60,
        "access-log lines (%u now) were not taken by their receiver, and are lost; log.lost "
        "counts them all",
        lines);
}

static void place_flush(struct place *p)
{
    if (p->len == 0)
        return;
    lost = 0;
    if (p->writer->write(p->log, p->buf, p->len)) {
        count_by(log_lines, p->lines - (lost < p->lines ? lost : p->lines));
    } else {
        count_by(log_lost, p->lines);
        bt_log_limited(NULL, BT_ERROR, 60,
                       "%s:%s cannot take lines (%s), and they are lost; make room there",
                       p->writer->name, p->at.text.at, strerror(errno));
        if (p->options.die_on_error) {
            bt_log(NULL, BT_ERROR, "%s:%s says on-error=die: this process ends", p->writer->name,
                   p->at.text.at);
            _exit(EXIT_FAILURE);
        }
    }
    p->len = 0;
    p->lines = 0;
}

void logs_flush(void)
{
    if (logs == NULL)
        return;
    timeout_clear(&delay);
    for (struct place *p = logs->places; p != NULL; p = p->next)
        place_flush(p);
}

static void delay_over(struct timeout *t)
{
    (void)t;
    logs_flush();
}

static void log_line(const struct access_log *log, struct bt_txn *txn)
{
    struct place *p = log->place;

    p->len += format_render_line(log->format, txn, p->buf + p->len,
                                 p->full + LINE_BYTES - 1 - p->len);
    p->buf[p->len++] = '\n';
    p->lines++;
    if (p->len >= p->full)
        place_flush(p);
    else if (!timeout_is_set(&delay))
        timeout_set(&delays, &delay);
}

static bool log_wants(const struct access_log *log, struct bt_txn *txn)
{
    return (log->also == NULL || bt_acls_match(log->also, txn) == BT_YES) &&
           (log->acls == NULL || bt_acls_match(log->acls, txn) == BT_YES);
}

void logs_write(struct bt_txn *txn)
{
    if (logs->masked)
        fields_mask = logs->mask;
    tail_note(txn);
    fields_mask = UINT32_MAX;
    for (size_t i = 0; i < logs->n; i++) {
        const struct access_log *log = &logs->log[i];

        if (!log_wants(log, txn))
            continue;
        if (log->place == NULL)
            return; /* none: the lines below are not for this one */
        if (logs->masked)
            fields_mask = logs->mask;
        log_line(log, txn);
        fields_mask = UINT32_MAX;
    }
}

static bool start(void *c_)
{
    struct logs_conf *c = c_;

    timeout_class_init(&delays, (bt_duration){DELAY_MS}, delay_over);
    for (struct place *p = c->places; p != NULL; p = p->next) {
        int64_t full = p->options.buffer_size.bytes;

        p->full = full <= 0 ? BUFFER_BYTES : full > 1 << 20 ? 1 << 20 : (size_t)full;
        p->buf = malloc(p->full + LINE_BYTES);
        CHECK(p->buf != NULL);
    }
    return true;
}

static void stop(void *c_)
{
    struct logs_conf *c = c_;

    logs_flush();
    timeout_class_fini(&delays);
    for (struct place *p = c->places; p != NULL; p = p->next) {
        if (p->writer->close != NULL)
            p->writer->close(p->log);
        free(p->buf);
        p->buf = NULL;
    }
}

/* ---- rotation ---- */

static void rotate_all(bool in_master)
{
    if (logs == NULL)
        return;
    for (struct place *p = logs->places; p != NULL; p = p->next) {
        int64_t keep = p->options.rotate >= 0 ? p->options.rotate : logs->rotate;

        if (p->writer->rotate != NULL)
            p->writer->rotate(p->log, (int)keep, in_master);
    }
}

int logs_keep(void)
{
    return logs != NULL ? (int)logs->rotate : 0;
}

void logs_reopen(void)
{
    rotate_all(false);
}

void logs_rotate(void)
{
    rotate_all(true);
}

/* ---- what fields ask ---- */

bt_str logs_url(struct bt_txn *txn)
{
    bt_str url = fields_url(txn);
    ptrdiff_t query = logs != NULL && logs->strip_query ? str_find_char(url, '?') : -1;

    return query < 0 ? url : str_slice(url, 0, (size_t)query + 1);
}

/* ---- rows ---- */

static const struct bt_option options[] = {
    {"logformat", "word", NULL, "The name of a logformat line, or a built-in format.",
     offsetof(struct line_options, logformat), BT_BUILT},
    {"on-error", "die|drop", "drop",
     "When lines cannot be written: drop them and count them, or end the process.",
     offsetof(struct line_options, on_error), BT_BUILT},
    {"rotate", "int(-1..1000)", "-1", "How many old files are kept; -1: as logfile_rotate says.",
     offsetof(struct line_options, rotate), BT_BUILT},
    {"buffer-size", "size", "0 bytes",
     "How many bytes of lines come together before they are written; 0: 64 KB.",
     offsetof(struct line_options, buffer_size), BT_BUILT},
};

static const struct bt_directive directives[] = {
    {.name = "access_log",
     .args = "word options [word] fastacls",
     .doc = "Writes a line about each request whose ACLs all match to MODULE:PLACE, at most 50 ms "
            "later; `none` ends the list for those it matches. Without any such line nothing is "
            "logged.",
     .set = set_access_log,
     .options = BT_ROWS(options),
     .option_size = sizeof(struct line_options),
     .phase = BT_AT_FINISH},
    {.name = "cache_access_log", .same_as = "access_log"},
    {.name = "useragent_log",
     .args = "word",
     .doc = "The same as access_log PLACE useragent, of Squid 2.",
     .set = set_preset_log},
    {.name = "referer_log",
     .args = "word",
     .doc = "The same as access_log PLACE referrer, of Squid 2.",
     .set = set_preset_log},
    {.name = "referrer_log", .same_as = "referer_log"},
    {.name = "client_netmask",
     .args = "word",
     .doc =
         "Which bits of a client's address logs show, as 255.255.255.0; of IPv6 they then show the "
         "first 48.",
     .set = set_netmask},
    BT_SET(struct logs_conf, emulate_httpd, "emulate_httpd_log", "off",
           "Makes common the format of access_log lines that name none, as in Squid 2."),
    {.name = "logformat",
     .args = "word text",
     .doc = "Names a format for access_log; of two lines with one name the first stands.",
     .set = set_logformat},
    {.name = "logfile_rotate",
     .args = "int(0..1000)",
     .preset = "10",
     .doc = "How many old log files are kept; 0 only opens the files anew, for logrotate.",
     .offset = offsetof(struct logs_conf, rotate),
     .flags = BT_LIVE},
    BT_SET_LIVE(struct logs_conf, strip_query, "strip_query_terms", "on",
                "Cuts the URL of %ru in logs behind its question mark, where secrets may stand."),
    BT_SET(struct logs_conf, mime_hdrs, "log_mime_hdrs", "off",
           "Appends both header blocks to lines in the formats squid, common and combined."),
    {.name = "buffered_logs",
     .args = "on|off",
     .doc = "Whether lines may wait for others.",
     .status = BT_IGNORED,
     .note = "lines always leave in batches, at most 50 ms after the first of them"},
};

const struct bt_module logs_module = {
    .abi_major = BT_ABI_MAJOR,
    .abi_minor = BT_ABI_MINOR,
    .size = sizeof(struct bt_module),
    .name = "logs",
    .doc = "Access logs: which request is written where, and how.",
    .self = &self,
    .conf_size = sizeof(struct logs_conf),
    .directives = BT_ROWS(directives),
    .setup = setup,
    .start = start,
    .stop = stop,
};
