/* fuzz_cache.c - the pure parts of the cache: what holds for every message, right or wrong.
 *
 * An input is up to three texts, separated by lines that are empty: fields of a request, fields of a
 * response, and any text. Invariants rather than results: what comes out can be read again, lies
 * within what went in, has no line ends of its own, and never permits more than the rules allow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "fuzz.h"

#include "../../modules/cache/conditional.c"
#include "../../modules/cache/control.c"
#include "../../modules/cache/dictionary.c"
#include "../../modules/cache/fields.c"
#include "../../modules/cache/fresh.c"
#include "../../modules/cache/headtext.c"
#include "../../modules/cache/location.c"
#include "../../modules/cache/ranges.c"
#include "../../modules/cache/vary.c"

enum { FIELDS_MAX = 64, KB = 1024 };
static const int64_t now_ms = INT64_C(1783339200123);
static struct bt_arena *arena;

/* ---- messages ---- */

struct message {
    bt_str name[FIELDS_MAX], value[FIELDS_MAX];
    size_t n;
};

static bt_str message_get(void *of, bt_str name, size_t n)
{
    const struct message *m = of;

    for (size_t i = 0; i < m->n; i++)
        if (bt_str_eq_nocase(m->name[i], name) && n-- == 0)
            return m->value[i];
    return BT_STR_NONE;
}

static bool message_at(void *of, size_t i, bt_str *name, bt_str *value)
{
    const struct message *m = of;

    if (i >= m->n)
        return false;
    *name = m->name[i];
    *value = m->value[i];
    return true;
}

/* A value as the parser lets it through: no control bytes but tabs. */
static bool passes(bt_str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (((uint8_t)value.at[i] < ' ' && value.at[i] != '\t') || value.at[i] == 0x7f)
            return false;
    return true;
}

/* Lines up to an empty one, or to the end. */
static struct fields message_read(struct message *m, bt_str *rest)
{
    bt_str line;

    m->n = 0;
    while (str_cut(rest, '\n', &line) && line.len > 0) {
        bt_str name, value;

        if (m->n == FIELDS_MAX || !str_split(line, ':', &name, &value))
            continue;
        if (!fields_is_token(name) || !passes(value))
            continue;
        m->name[m->n] = name;
        m->value[m->n++] = str_trim(value);
    }
    return (struct fields){message_get, message_at, m};
}

/* ---- what must hold ---- */

static void check_list(bt_str text)
{
    bt_str rest = text, member;
    size_t bytes = 0;

    while (fields_member(&rest, &member)) {
        MUST(member.len > 0 && fuzz_within(member, text.at, text.at + text.len));
        MUST(bt_str_eq(member, fields_trim(member)));
        bytes += member.len;
    }
    MUST(bytes <= text.len);
}

static void check_control(const struct control *c)
{
    const int64_t n[] = {c->max_age,   c->s_maxage,    c->min_fresh,
                         c->max_stale, c->stale_while, c->stale_error};

    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        MUST(n[i] >= 0 && n[i] <= CONTROL_FOREVER);
    MUST(c->lists <= CONTROL_LISTS);
    MUST((c->lists > 0) == ((c->has & (CONTROL_NO_CACHE_FIELDS | CONTROL_PRIVATE_FIELDS)) != 0) ||
         (c->has & CONTROL_TARGETED) != 0);
    MUST(!control_lists(c, BT_STR("")));
}

static bt_str joined(bt_str a, bt_str b)
{
    char *to = bt_alloc_raw(arena, a.len + b.len);

    memcpy(to, a.at, a.len);
    memcpy(to + a.len, b.at, b.len);
    return (bt_str){to, a.len + b.len};
}

/* One line more never takes a restriction away, and no member hides those behind it. */
static void check_restricts(const struct control *c, bt_str text)
{
    struct control more = *c, plain = {.has = 0};

    control_add(&more, text);
    MUST((more.has & c->has) == c->has);
    control_add(&more, BT_STR("no-store, NO-CACHE, private"));
    MUST((more.has & CONTROL_NO_STORE) != 0 && (more.has & CONTROL_NO_CACHE) != 0);
    MUST((more.has & CONTROL_PRIVATE) != 0);
    check_control(&more);
    control_add(&plain, joined(text, BT_STR(",no-store")));
    MUST((plain.has & CONTROL_NO_STORE) != 0);
}

static bt_str check_vary(const struct fields *request, const struct fields *reply)
{
    struct vary v, back;
    bt_str text, key;
    size_t lines = 0;

    if (vary_read(&v, reply) != VARY_FIELDS)
        return BT_STR_NONE;
    text = vary_text(arena, &v);
    MUST(vary_parse(&back, text) == VARY_FIELDS && back.n == v.n);
    MUST(bt_str_eq(vary_text(arena, &back), text));
    for (unsigned i = 0; i + 1 < v.n; i++)
        MUST(str_compare_nocase(v.name[i], v.name[i + 1]) < 0);
    key = vary_key(arena, &v, request);
    MUST(bt_str_eq(key, vary_key(arena, &back, request)));
    for (size_t i = 0; i < key.len; i++) {
        MUST((uint8_t)key.at[i] >= ' ' || key.at[i] == '\n');
        lines += key.at[i] == '\n';
    }
    MUST(lines == v.n);
    return text;
}

static void check_head(bt_str head, int status)
{
    struct headtext h;
    bt_str name, value;
    size_t place = 0, bytes = 0;

    MUST(headtext_open(&h, head));
    MUST(status == 0 || h.status == status);
    while (headtext_next(&h, &place, &name, &value)) {
        MUST(fields_is_token(name) && !headtext_hop(name));
        MUST(!bt_str_eq_nocase(name, BT_STR("Age")));
        bytes += name.len + value.len + 4;
    }
    MUST(bytes == h.fields.len && place == h.fields.len);
}

static bt_str check_store(const struct fields *reply, const struct control *said, bool drop)
{
    struct headtext_store s = {200, BT_STR("OK"), reply, said, now_ms, drop};
    bt_str head = headtext_store(arena, &s);
    struct headtext h;

    check_head(head, 200);
    MUST(headtext_open(&h, head));
    MUST(headtext_get(&h, BT_STR("Date"), 0).at != NULL || control_lists(said, BT_STR("Date")));
    MUST(!drop || headtext_get(&h, BT_STR("Set-Cookie"), 0).at == NULL);
    check_head(condition_head_304(arena, head), 304);
    check_head(ranges_head_416(arena, head, 1000), 416);
    s.status = 304;
    check_head(validation_merge(arena, head, &s), 200);
    return head;
}

static void check_life(const struct fresh_exchange *x, const struct fresh_asking *a)
{
    const uint32_t reply_forbids = CONTROL_NO_STORE | CONTROL_PRIVATE;
    struct fresh_verdict v;
    enum fresh_use use_now, use_later;
    struct fresh_asking later = *a;
    struct vary vary;

    fresh_judge(x, &v);
    MUST(v.why != NULL && v.life.lifetime >= 0 && v.life.corrected >= 0);
    MUST(v.life.lifetime <= 2 * CONTROL_FOREVER * 1000);
    if (v.store) {
        MUST((x->said->has & reply_forbids) == 0 || (x->said->has & CONTROL_MUST_UNDERSTAND) != 0);
        MUST((x->said->has & CONTROL_PRIVATE) == 0);
        MUST((x->asked->has & CONTROL_NO_STORE) == 0);
        MUST(vary_read(&vary, x->reply) != VARY_ANY);
    }
    use_now = fresh_use(&v.life, a, NULL);
    later.now += 1000;
    use_later = fresh_use(&v.life, &later, NULL);
    /* Nothing becomes better by waiting. */
    MUST(use_now == FRESH_HIT || use_later != FRESH_HIT);
    if ((v.life.flags & FRESH_MUST) != 0) {
        MUST(use_now != FRESH_HIT_STALE && use_now != FRESH_HIT_WHILE);
        MUST(fresh_left(&v.life, a->now) > 0 || !fresh_on_error(&v.life, a, 503));
    }
    if ((v.life.flags & FRESH_ASK) != 0)
        MUST(use_now >= FRESH_VALIDATE && !fresh_on_error(&v.life, a, 0));
    if (use_now == FRESH_HIT)
        MUST(fresh_left(&v.life, a->now) > 0);
    MUST(fresh_age_seconds(&v.life, a->now) <= CONTROL_FOREVER);
}

static void check_ranges(bt_str value, bt_str head, uint64_t seed)
{
    int64_t length = (int64_t)fuzz_random(&seed, 2000), sent = 0;
    struct ranges_body body;
    struct ranges r;

    if (ranges_read(&r, value, length) != RANGES_SOME)
        return;
    MUST(r.n >= 1 && r.n <= RANGES_MAX);
    for (unsigned i = 0; i < r.n; i++) {
        MUST(r.at[i].from >= 0 && r.at[i].len > 0 && r.at[i].from + r.at[i].len <= length);
        for (unsigned k = 0; k < i; k++)
            MUST(!touch(&r.at[i], &r.at[k]));
        sent += r.at[i].len;
    }
    MUST(sent <= length);
    ranges_answer(arena, head, &r, seed, &body);
    check_head(body.head, 206);
    for (unsigned i = 0; i < r.n; i++)
        sent += (int64_t)body.before[i].len;
    MUST(body.length == sent + (int64_t)body.after.len);
}

static void check_location(bt_str reference)
{
    struct location base = {BT_STR("http"), BT_STR("a.example"), 80, BT_STR("/b/c/d?q")}, out, same;

    if (!location_resolve(arena, &base, reference, &out))
        return;
    MUST(out.path.len > 0 && out.path.at[0] == '/' && out.host.len > 0);
    MUST(out.port >= 1 && out.port <= 65535);
    MUST(memchr(out.path.at, '#', out.path.len) == NULL);
    for (size_t i = 0; i < out.path.len; i++)
        MUST(out.path.at[i] > ' ' && out.path.at[i] <= '~');
    /* once resolved, it stays as it is (a path that begins with "//" would be another host) */
    if (out.path.len > 1 && out.path.at[1] == '/')
        return;
    MUST(location_resolve(arena, &out, out.path, &same) && location_same(&out, &same));
}

static void check_tags(bt_str a, bt_str b)
{
    MUST(etag_weak(a, a) || a.len == 0 || bt_str_eq(a, BT_STR("W/")));
    MUST(!etag_strong(a, b) || etag_weak(a, b));
    MUST(etag_weak(a, b) == etag_weak(b, a) && etag_strong(a, b) == etag_strong(b, a));
    MUST(!etag_valid(a) || etag_weak(a, a));
}

static void check_conditions(const struct fields *request, const struct fields *reply)
{
    struct validators v;

    validators_read(&v, reply, now_ms);
    MUST((v.last_modified.at != NULL) == (v.modified != -1) || v.last_modified.at != NULL);
    if (condition_check(request, &v, 200) == CONDITION_NOT_MODIFIED)
        MUST(condition_asked(request));
    MUST(condition_check(request, &v, 404) == CONDITION_NONE);
    (void)condition_if_range(request, &v);
    /* a HEAD that says another length is about something else */
    if (fields_has(reply, BT_STR("Content-Length")) &&
        fields_get(reply, BT_STR("Content-Length"), 0).len > 0)
        MUST(!validation_head_agrees(&v, 7, reply) || !validation_head_agrees(&v, 8, reply));
    /* a response validates itself */
    MUST(validation_holds(&v, reply, now_ms));
}

static void check_dictionary(bt_str text)
{
    struct dictionary_value value;
    bt_str rest = text, key;
    size_t left = rest.len + 1;

    while (dictionary_next(&rest, &key, &value) > 0) {
        MUST(key.len > 0 && fuzz_within(key, text.at, text.at + text.len));
        MUST(fuzz_within(value.text, text.at, text.at + text.len));
        MUST(rest.len < left);
        left = rest.len;
    }
}

static void check_text(bt_str text, bt_str head, uint64_t seed)
{
    struct headtext h;
    bt_str name, value, rest = text, first = text, second = BT_STR("");
    size_t place = 0;
    int64_t n;

    check_list(text);
    check_dictionary(text);
    check_location(text);
    check_ranges(text, head, seed);
    if (str_cut(&rest, '\n', &first) && rest.at != NULL)
        second = rest;
    check_tags(first, second);
    if (headtext_open(&h, text))
        while (headtext_next(&h, &place, &name, &value))
            MUST(fuzz_within(name, text.at, text.at + text.len) &&
                 fuzz_within(value, text.at, text.at + text.len));
    if (fields_date(text, now_ms, &n))
        MUST(text.len >= 24 && text.len <= 33);
    check_list(cache_status_text(arena, text, &(struct cache_status){.fwd = "stale"}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fresh_settings settings = {.max_stale = 604800};
    bt_str rest = {(const char *)data, size};
    struct message asked_lines, said_lines;
    struct fields request, reply;
    struct control asked, said;
    uint64_t seed = fuzz_seed(data, size);
    bt_str head;

    if (arena == NULL)
        arena = arena_new(16 * KB);
    request = message_read(&asked_lines, &rest);
    reply = message_read(&said_lines, &rest);
    if (rest.at == NULL)
        rest = BT_STR("");
    control_request(&asked, &request);
    control_response(&said, &reply);
    check_control(&asked);
    check_control(&said);
    check_restricts(&said, rest);
    if (control_targeted(&said, &reply, BT_STR("CDN-Cache-Control")))
        check_control(&said);
    check_vary(&request, &reply);
    head = check_store(&reply, &said, seed % 2 == 0);
    check_conditions(&request, &reply);
    {
        struct fresh_exchange x = {BT_STR("GET"),
                                   200 + (int)(seed % 3) * 99,
                                   &request,
                                   &reply,
                                   &asked,
                                   &said,
                                   now_ms - (int64_t)(seed % 5000),
                                   now_ms,
                                   &fresh_rule_preset,
                                   &settings,
                                   false,
                                   false};
        struct fresh_asking a = {&asked, &settings, now_ms + (int64_t)(seed % 100000),
                                 condition_asked(&request)};

        check_life(&x, &a);
    }
    check_text(rest, head, seed);
    arena_reset(arena);
    return 0;
}
