/* bt_module.h - the tables that a module is made of.
 *
 * A module is one shared object with one exported symbol, bt_module: a constant table of what it
 * adds. The server reads the table; a module registers nothing by calling. Each row is at once the
 * declaration, the manual entry and what the tests are held to. Top to bottom: the lines of a
 * configuration, rules, directives, counters, phases, fields, ACL types, log writers, hooks, the
 * module. modules/hello/hello.c is a complete sample.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BT_MODULE_H
#define BT_MODULE_H

#include <stdatomic.h>

#include "bt_mem.h"
#include "bt_types.h"

#define BT_ABI_MAJOR 2 /* a row changed its shape: modules built before are refused */
#define BT_ABI_MINOR 8 /* struct bt_module grew at its end: older modules still load */

struct bt_error; /* gathers complaints about the configuration */
struct bt_txn;   /* one exchange */
struct bt_rules; /* a compiled list of rules */
struct bt_acls;  /* the ACLs at the end of one line, compiled */
struct bt_tls;   /* bt_tls.h */
struct bt_route; /* bt_route.h */
struct bt_pages; /* bt_pages.h */

#define BT_ROWS(table)                                                                             \
    {                                                                                              \
        (table), sizeof(table) / sizeof *(table)                                                   \
    }

/* ---- complaints: all of a file are gathered and printed at once, with place and advice ---- */

/* A fault: the start is refused. `at` NULL: the line as a whole. Always returns false, so that
 * `return bt_complain(...)` ends a function. */
BT_API bool bt_complain(struct bt_error *, const struct bt_word *at, const char *format, ...)
    BT_PRINTF(3, 4);
/* A warning: the start goes on. */
BT_API void bt_caution(struct bt_error *, const struct bt_word *at, const char *format, ...)
    BT_PRINTF(3, 4);

/* Words that stand in a line against a grammar of their own, with options (may be NULL). `named` is
 * what complaints about a missing word point at. false: complaints were made. */
struct bt_grammar {
    const char *args, *unit;
    const struct bt_option *option;
    size_t options, option_size;
};
struct bt_fit {
    struct bt_args args;
    void *options;
};
BT_API BT_MUST bool bt_fit(const struct bt_grammar *, struct bt_args, const struct bt_word *named,
                           struct bt_arena *, struct bt_error *, struct bt_fit *out);
/* The one of `names` (NULL at the end) that was perhaps meant by a text that is none; or NULL. */
BT_API const char *bt_nearest(bt_str text, const char *const *names);

/* From within .compile of an ACL type: the name of the ACL. */
BT_API bt_str bt_acl_name(void);
/* From there, too: it is about who is logged in, so that a refusal by it is a challenge. */
BT_API void bt_acl_asks_login(void);
/* From .setup on: some ACL of that type, used or not, has this very word ("method", "PURGE"). */
BT_API bool bt_acl_has(const char *type, bt_str word);

/* ---- phases, in the order in which one exchange meets them ---- */

#define BT_PHASES(X)                                                                               \
    X(ACCEPT, "client connected; only its address is known")                                       \
    X(HELLO, "TLS ClientHello peeked at; nothing is decrypted")                                    \
    X(REQUEST, "request head complete, body unread")                                               \
    X(ADAPT, "http_access has allowed it; may be changed before adapted_http_access")              \
    X(LOOKUP, "allowed; may be answered from here")                                                \
    X(UPSTREAM, "not answered from here; about to choose and dial")                                \
    X(RESPONSE, "response head complete, body unread")                                             \
    X(FINISH, "exchange over; look, do not touch")
#define BT_PHASE_(name, doc) BT_AT_##name,
enum bt_phase { BT_PHASES(BT_PHASE_) BT_PHASE_END };

/* ---- directives ---- */

/* One line of the configuration that fits its row's .args. Lives as long as the configuration. */
struct bt_line {
    struct bt_word name; /* the directive's name, as written */
    struct bt_args args; /* its words, without options and ACL names; a list file is expanded;
                                    a size is one word of bytes, a duration one of milliseconds */
    void *options;       /* .option_size bytes: options given and presets of the others */
    const struct bt_acls *acls;     /* the ACLs at its end; NULL when none are given */
    bt_str text;                    /* all after the name, as written (for `text`) */
    struct bt_arena *arena;         /* the configuration's */
    const struct bt_directive *row; /* that it fits */
};

/* What a name means to this server. Every name of Squid's language is a row. */
enum bt_status {
    BT_BUILT,    /* works */
    BT_IGNORED,  /* tuning of a machinery that is not here: one warning, no effect */
    BT_OBSOLETE, /* gone from the language: one warning, no effect */
    BT_UNBUILT   /* silence would be unsafe: start is refused, saying so */
};

/* One `name=value` (or bare `name`) word of a line, filled into the line's options struct.
 *   { "rotate", "int", "-1", "How many old files are kept.", offsetof(struct opts, rotate) }   */
struct bt_option {
    const char *name;
    const char *args; /* grammar of the value, one word; "[word]": the value may be missing, and is
                         * then empty text; NULL: a bare flag that sets a bool */
    const char *preset; /* NULL: zero bytes */
    const char *doc;
    size_t offset;
    enum bt_status status;
};

/* The grammar of .args, word by word, separated by blanks:
 *
 *   on|off            bool; enable, disable, yes... are accepted or refused with advice
 *   a|b|c             int64_t, the place of the word in the choice (a literal | choice)
 *   int  int(1..64)   int64_t in the range given
 *   percent           int64_t, with or without the sign
 *   size              bt_size, "4 MB" or "4MB"; .unit stands when none is written
 *   duration          bt_duration, "30 seconds"; .unit likewise
 *   word              bt_str, any word
 *   path              bt_str, a file name
 *   addr              bt_str, checked to be an IPv4 or IPv6 address
 *   host              bt_str, an address or a name
 *   port              int64_t, 1-65535
 *   regex             bt_str, checked to compile
 *   command           bt_str, a program that exists and can be run; all that follows are its words
 *   text              bt_str, the rest of the line as written
 *   format            bt_str, the rest of the line or a quoted word, checked as a log format
 *   acls              zero or more ACL names, each with or without !; the list may wait
 *   acls+             at least one
 *   fastacls          as acls, but the list cannot wait: an ACL that may wait is refused before
 *                     http_access has been asked, and later says what is known (bt_may_wait()); what
 *                     is not makes an allow|deny line deny, and no other line hold
 *   options           name=value words of .options, anywhere from there on
 *   [x]               may be missing
 *   x...              one or more; [x...] zero or more; words in "quotes" name list files where
 *                     the row has BT_LISTFILE
 *
 * A row without .set fills the field at .offset from its one value (lines with several values, and
 * lists, need .set, except rules: `allow|deny acls+` fills a `struct bt_rules *`, line by line).
 * A scalar given twice: the last one stands.  */
struct bt_directive {
    const char *name;
    const char *args;
    const char *preset; /* stands when the file is silent; must fit .args; NULL: zero bytes. With a
                           status other than BUILT: what happens anyway ("off", "0|none",
                           "deny *"), so that a line saying so needs no warning and no refusal */
    const char *doc;    /* one sentence for the manual */
    size_t offset;      /* in the module's conf struct */
    /* Called for each line in order. May keep `line`. */
    bool (*set)(void *conf, const struct bt_line *line, struct bt_error *);
    struct {
        const struct bt_option *row;
        size_t n;
    } options;
    size_t option_size;
    const char *unit;    /* for size and duration: "KB", "second", ... */
    const char *same_as; /* an alias: the name of the row that is meant; other members are unused */
    enum bt_phase
        phase;      /* rules: when the list is asked; an ACL that needs a later one is refused */
    unsigned flags; /* BT_LISTFILE, BT_SECRET, BT_BY_ACTION, BT_LIVE */
    enum bt_status status;
    const char *note; /* with a status other than BUILT: what to do instead, or NULL */
};
#define BT_LISTFILE 1u /* words in quotes name files whose lines are the values */
#define BT_SECRET 2u   /* the value is masked wherever the configuration is printed */
/* One value, looked at whenever it is needed: `bobtailctl set` may change it while the server runs. */
#define BT_LIVE 8u
/* Rules that are asked by bt_rules_run_some(): a line that always holds does not hide those below. */
#define BT_BY_ACTION 4u

#define BT_GRAMMAR_(T, f)                                                                          \
    _Generic(((T *)0)->f, bool                                                                     \
             : "on|off", int64_t                                                                   \
             : "int", bt_duration                                                                  \
             : "duration", bt_size                                                                 \
             : "size", bt_str                                                                      \
             : "word")
/* A directive of one value: its C type is its grammar. */
#define BT_SET(T, field, its_name, otherwise, text)                                                \
    {                                                                                              \
        .name = its_name, .args = BT_GRAMMAR_(T, field), .preset = otherwise, .doc = text,         \
        .offset = offsetof(T, field)                                                               \
    }
/* The same with flags. */
#define BT_SET_LIVE(T, field, its_name, otherwise, text)                                           \
    {                                                                                              \
        .name = its_name, .args = BT_GRAMMAR_(T, field), .preset = otherwise, .doc = text,         \
        .offset = offsetof(T, field), .flags = BT_LIVE                                             \
    }
/* The same with a grammar word of its own for a field of that type (path, port, a|b|c, ...). */
#define BT_SET_AS(T, field, grammar, its_name, otherwise, text)                                    \
    {                                                                                              \
        .name = its_name, .args = grammar, .preset = otherwise, .doc = text,                       \
        .offset = offsetof(T, field)                                                               \
    }

/* ---- rules: lists of lines, the first whose ACLs all hold decides ---- */

#define BT_ALLOW 0 /* places in the choice allow|deny */
#define BT_DENY 1

struct bt_ruling {
    enum bt_match match; /* YES: action and line say which; NO: no line, and no default applies */
    int action;          /* place in the choice of action words; 0 for lists without */
    const struct bt_line *line; /* the line that decided; NULL: the default of the list did */
};

/* Ask a list. allow|deny lists end in the opposite of their last line; other lists in NO. BROKEN
 * comes with action BT_DENY. WAIT: return BT_PAUSE; the exchange is resumed and the same question
 * asked again, with what was answered remembered. NULL list: NO. */
BT_API struct bt_ruling bt_rules_run(const struct bt_rules *, struct bt_txn *);
/* The same as if there were only those lines whose action is in the set of bits. */
BT_API struct bt_ruling bt_rules_run_some(const struct bt_rules *, struct bt_txn *,
                                          uint32_t actions);
/* The ACLs of one line; NULL: YES. */
BT_API enum bt_match bt_acls_match(const struct bt_acls *, struct bt_txn *);
/* From a .set function: append this line to a list of the module's own (lists kept by name). */
BT_API void bt_rules_add(struct bt_rules **list, const struct bt_line *line, int action);

/* ---- counters: one row gives the C name, the shared slot and the manual entry ---- */

enum bt_kind {
    BT_COUNT,    /* only grows */
    BT_GAUGE,    /* goes up and down; a dead worker's is cleared */
    BT_HISTOGRAM /* log-linear, steps of about 6 %; see bt_observe() */
};
struct bt_counter {
    const char *name; /* "client.requests": group, dot, what; as tools print it */
    enum bt_kind kind;
    const char *unit; /* "requests", "bytes", "microseconds"; what one means */
    const char *doc;
};

/* From .setup: rows of a module's own whose number the configuration decides. They must live as long as
 * the configuration; *where is where this process counts by them, as bt_self.row for the others. */
BT_API void bt_counters_register(const struct bt_counter *, size_t n, _Atomic int64_t **where);

enum { BT_HISTOGRAM_BUCKETS = 512, BT_HISTOGRAM_SLOTS = BT_HISTOGRAM_BUCKETS + 1 };
#define BT_SLOTS_(kind) ((kind) == BT_HISTOGRAM ? BT_HISTOGRAM_SLOTS : 1)
#define BT_ID_(id, name, kind, unit, doc) N_##id, N_##id##_last_ = N_##id + BT_SLOTS_(kind) - 1,
#define BT_ROW_(id, name, kind, unit, doc) {name, kind, unit, doc},
/*   #define COUNTERS(X) X(lookups, "geo.lookups", BT_COUNT, "lookups", "Addresses looked up.")
 *   BT_COUNTERS(COUNTERS);    bt_count(lookups);                                               */
#define BT_COUNTERS(LIST)                                                                          \
    enum { LIST(BT_ID_) N_end_ };                                                                  \
    static const struct bt_counter bt_counters[] = {LIST(BT_ROW_)}

/* ---- fields: named values of an exchange, one registry for logs, rules, headers, pages, Lua ---- */

enum bt_value_kind { BT_TEXT, BT_INT, BT_ADDR };
struct bt_value {
    enum bt_value_kind kind;
    bt_str text;                 /* BT_TEXT; lives as long as the exchange */
    int64_t num;                 /* BT_INT: in the unit of the row */
    const struct sockaddr *addr; /* BT_ADDR: printed without its port */
};
struct bt_field {
    const char *name;  /* "client.addr" */
    const char *codes; /* Squid's logformat codes for it, separated by blanks: ">a"; or NULL */
    const char *doc;
    enum bt_phase earliest;
    /* false: there is none ("-" in logs). `arg` is the X of name[X] or {X}, else BT_STR_NONE. */
    bool (*get)(struct bt_txn *, bt_str arg, struct bt_value *out);
};

/* ---- ACL types ---- */

/* One `acl NAME TYPE values` (all its lines together), as a type with compile_all sees it. */
struct bt_acl_values {
    bt_str name;
    struct bt_args args; /* of all its lines, one after the other */
    const struct bt_args
        *line;    /* the same, line by line and without -n, for those to whom a line's */
    size_t lines; /* beginning means something: -i, the name of a header */
};
struct bt_acl_type {
    const char *name; /* also aliases, separated by blanks: "localip myip" */
    const char *args; /* grammar of the values, as of a directive: "word..." */
    const char *doc;
    enum bt_phase earliest; /* a list that asks sooner is a configuration error */
    unsigned flags;         /* BT_SLOW */
    /* Either one ACL at a time: each of its lines is compiled by itself, and it matches when one of
     * them does. compile NULL: match() is given the values, a struct bt_args *. */
    void *(*compile)(struct bt_args, struct bt_arena *, struct bt_error *);
    enum bt_match (*match)(const void *compiled, struct bt_txn *);
    /* Or all ACLs of the type in one look-up: set bit i for each acl[i] that matches. Returns YES
     * when the bits stand (whatever they are), WAIT (bits set so far are sure, the others are not
     * known yet) or BROKEN (likewise, and the others will never be known). NULL of compile_all
     * after a complaint. Both kinds are asked at most once an exchange and their answer is
     * remembered, unless BT_FRESH is set. */
    void *(*compile_all)(const struct bt_acl_values *acl, size_t n, struct bt_arena *,
                         struct bt_error *);
    enum bt_match (*match_all)(const void *compiled, struct bt_txn *, uint64_t *bits);
    enum bt_status status;
    unsigned
        cost; /* cheap first: 0 table, 1 one look-up, 2 patterns, 3 may wait; also for BT_SLOW */
};
#define BT_SLOW 1u   /* may answer WAIT: in lists that cannot wait, see bt_may_wait() */
#define BT_FRESH 2u  /* has a side effect or a changing answer: asked each time it is reached */
#define BT_FOLDS 4u  /* takes the flags -i and +i (args keep them as words) */
#define BT_NO_DNS 8u /* takes the flag -n: ACLs with it never wait; compiled apart, -n as word 0 */
#define BT_SETS 16u /* match_all sets bits by the sets of bt_sets.h and bt_regex.h alone, or none */
/* What compile makes lies in the arena and in sets made in it, and it writes to nothing else: list files
 * can be read again while clients are served, and it is called again, in another process. */
#define BT_ANEW 32u
/* Likewise, and nothing of the words is looked at once they are compiled: those of list files go. */
#define BT_ANEW_WORDLESS (BT_ANEW | 64u)

/* ---- access-log writers: `access_log NAME:PLACE` ---- */

struct bt_log_options {
    int64_t rotate;      /* old files kept; -1: as logfile_rotate */
    bt_size buffer_size; /* 0: the writer's own choice */
    bool die_on_error;   /* on-error=die */
    int64_t uid, gid;    /* whom a new file is to belong to; -1: whoever makes it */
};
struct bt_log_writer {
    const char *name;  /* "stdio" */
    const char *place; /* what stands after the colon, for the manual */
    const char *doc;
    /* Master, before rights are dropped. The result is given to all below; NULL after a complaint. */
    void *(*open)(const struct bt_word *place, const struct bt_log_options *, struct bt_arena *,
                  struct bt_error *);
    /* Worker: whole lines, each ended by LF. Must not block. false: they are lost (counted). */
    bool (*write)(void *log, const char *lines, size_t len);
    /* `keep` old files; master first (renames), then each worker (reopens). NULL: nothing to do. */
    void (*rotate)(void *log, int keep, bool in_master);
    void (*close)(void *log); /* worker, drained; NULL: nothing to do */
};

/* Worker: that many lines that write() had taken, or takes just now, are lost: they are counted, and
 * said once a minute. */
BT_API void bt_log_lost(unsigned lines);

/* ---- hooks ---- */

enum bt_verdict {
    BT_PASS,   /* nothing to say: the next hook */
    BT_SETTLE, /* this phase is decided: skip its other hooks */
    BT_ANSWER, /* bt_answer() has set a response: deliver it */
    BT_REFUSE, /* deny, by bt_deny()'s status or 403 */
    BT_PAUSE,  /* stop here until bt_resume(txn); the hook is then called again */
    BT_DROP    /* close without a word */
};
struct bt_hook {
    enum bt_phase phase;
    const char *doc;
    enum bt_verdict (*run)(struct bt_txn *);
};

/* ---- logins: of the one module that does them ---- */

struct bt_login {
    bool (*offered)(void); /* after all lines are read: is there any way to log in? */
    /* See bt_login() in bt_txn.h. */
    enum bt_match (*ask)(struct bt_txn *);
    /* Whole header lines, each ended by CRLF, for an answer that asks the client to log in. */
    bt_str (*challenge)(struct bt_txn *);
};

/* ---- commands: `bobtailctl NAME words` that a module answers ---- */

struct bt_call; /* a question that is not answered yet */
struct bt_command {
    const char *name;
    const char *args; /* what may follow, for people */
    const char *doc;
    /* In the loop of one worker; ends with bt_call_done(), at once or later. The words, which stand
     * until then, end in NUL. */
    void (*run)(struct bt_call *, const bt_str *word, size_t n);
};
/* More of the answer; what is beyond 128 KB is left out. */
BT_API void bt_call_print(struct bt_call *, const char *format, ...) BT_PRINTF(2, 3);
/* That was all; `why` not NULL: it failed. */
BT_API void bt_call_done(struct bt_call *, const char *why);

/* ---- a manual of things that are no rows of the server: functions of scripts ---- */

struct bt_manual_row {
    const char *section; /* a sentence; the same pointer for all of one section */
    const char *usage;   /* "bt.sleep(seconds)" */
    const char *doc;     /* sentences */
    const char *where;   /* where it may be used; NULL: everywhere */
    const char *example; /* NULL: none */
};

/* ---- the module ---- */

/* What the server tells a module about itself. */
struct bt_self {
    void *conf;           /* its filled conf struct: one configuration a process */
    _Atomic int64_t *row; /* this worker's counters; a spare page in the master */
    unsigned number;      /* its place in per-exchange tables */
};
extern struct bt_self bt_self __attribute__((visibility("hidden")));

#define bt_count(id) bt_add(N_##id, 1)
#define bt_count_by(id, by) bt_add(N_##id, (by))
static inline void bt_slot_add(_Atomic int64_t *slot, int64_t by)
{
    /* The worker is the only writer of its row, so no lock prefix is needed. */
    int64_t was = atomic_load_explicit(slot, memory_order_relaxed);
    atomic_store_explicit(slot, was + by, memory_order_relaxed);
}
static inline void bt_add(unsigned slot, int64_t by)
{
    bt_slot_add(&bt_self.row[slot], by);
}
/* Bucket of a value: 0-15 exact, then 16 steps for each doubling. */
static inline unsigned bt_bucket(int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    if (v < 16)
        return (unsigned)v;
    unsigned top = 63u - (unsigned)__builtin_clzll(v); /* 4.. */
    unsigned bucket = (top - 3) * 16 + (unsigned)(v >> (top - 4) & 15);
    return bucket < BT_HISTOGRAM_BUCKETS ? bucket : BT_HISTOGRAM_BUCKETS - 1;
}
/* A histogram's first slot is the sum of what was observed, then the buckets. */
#define bt_observe(id, value) bt_observe_at(&bt_self.row[N_##id], (value))
static inline void bt_observe_at(_Atomic int64_t *slot, int64_t value)
{
    bt_slot_add(slot, value);
    bt_slot_add(slot + 1 + bt_bucket(value), 1);
}

struct bt_module {
    uint16_t abi_major, abi_minor;
    uint32_t size; /* of this struct as the module saw it */
    const char *name, *doc;
    struct bt_self *self;
    /* Bytes that the server lays out: for the configuration (filled from the rows), and for each
     * exchange and connection (zeroed at first use, freed with it; what is not memory: bt_defer). */
    size_t conf_size, txn_size, conn_size;
    struct {
        const struct bt_directive *row;
        size_t n;
    } directives;
    struct {
        const struct bt_counter *row;
        size_t n;
    } counters;
    struct {
        const struct bt_field *row;
        size_t n;
    } fields;
    struct {
        const struct bt_acl_type *row;
        size_t n;
    } acl_types;
    struct {
        const struct bt_log_writer *row;
        size_t n;
    } log_writers;
    struct {
        const struct bt_hook *row;
        size_t n;
    } hooks;
    /* Master, once, when the whole file was read, before the fork: check, open, compile. */
    bool (*setup)(void *conf, struct bt_arena *, struct bt_error *);
    bool (*start)(
        void *conf); /* each worker, after the fork; false: the worker ends, having logged why */
    void (*stop)(void *conf);     /* each worker, drained */
    const struct bt_login *login; /* the one module that does logins; others NULL */
    struct {
        const struct bt_command *row;
        size_t n;
    } commands; /* since minor 2 */
    /* Loaded when no line of the configuration needs it, too, behind those that some line needs;
     * `module NAME off` forbids it. Since minor 3. */
    bool by_default;
    const struct bt_tls *tls; /* the one module that speaks TLS (bt_tls.h). Since minor 4 */
    /* Asked once, after all setups: bits (1 << phase) of the phases whose hooks are wanted; the others
     * cost nothing then. NULL: all. Since minor 5. */
    unsigned (*phases)(void);
    const struct bt_route *route; /* the one module that knows ways (bt_route.h). Since minor 6 */
    /* The one module that answers what is asked of this server itself (bt_pages.h). Since minor 7 */
    const struct bt_pages *pages;
    /* Entry number i of a manual of its own (`bobtail --reference NAME`, bobtail-NAME(7)); false: there
     * are not so many. May be called without any configuration. Since minor 8 */
    bool (*manual)(size_t i, struct bt_manual_row *);
};

#define BT_MODULE(its_name, its_doc, ...)                                                          \
    struct bt_self bt_self;                                                                        \
    const char bt_log_tag[] = #its_name;                                                           \
    extern BT_API const struct bt_module bt_module;                                                \
    const struct bt_module bt_module = {.abi_major = BT_ABI_MAJOR,                                 \
                                        .abi_minor = BT_ABI_MINOR,                                 \
                                        .size = sizeof(struct bt_module),                          \
                                        .name = #its_name,                                         \
                                        .doc = its_doc,                                            \
                                        .self = &bt_self,                                          \
                                        __VA_ARGS__}

#endif
