/* test_cache_fresh.c - what may be stored, for how long it is fresh, and whether it may be used.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "cache_kit.h"

#include "cache/control.c"
#include "cache/dictionary.c"
#include "cache/fresh.c"
#include "cache/vary.c"

#define NOW INT64_C(1783339200) /* Mon, 06 Jul 2026 12:00:00 GMT */
#define DATE "Date: Mon, 06 Jul 2026 12:00:00 GMT\n"
#define LM_DAY "Last-Modified: Sun, 05 Jul 2026 12:00:00 GMT\n"  /* a day before */
#define LM_YEAR "Last-Modified: Sun, 06 Jul 2025 12:00:00 GMT\n" /* 365 days before */
#define WEEK 604800

static const struct fresh_settings plain = {.max_stale = WEEK};
static char told[256];

/* "store max-age 60" or "no private", and flags and grace where they are asked for. */
static const char *tell(const struct fresh_verdict *v, bool whole)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } words[] = {{FRESH_MUST, "must"},
                 {FRESH_ASK, "ask"},
                 {FRESH_VALIDATOR, "validator"},
                 {FRESH_HEURISTIC, "guess"},
                 {FRESH_NEGATIVE, "negative"}};
    struct str_builder b;

    str_builder_init(&b, told, sizeof told);
    str_add_format(&b, "%s %s", v->store ? "store" : "no", v->why);
    if (v->store)
        str_add_format(&b, " %lld", (long long)(v->life.lifetime - v->life.corrected) / 1000);
    for (size_t i = 0; whole && i < COUNT(words); i++)
        if ((v->life.flags & words[i].bit) != 0)
            str_add_format(&b, " %s", words[i].name);
    if (whole)
        str_add_format(&b, " while=%u error=%u", v->life.stale_while, v->life.stale_error);
    return told;
}

struct deed {
    const char *method, *request, *reply;
    int status;
    const struct fresh_rule *rule;
    const struct fresh_settings *settings;
    bool targeted, post_is_get;
    int64_t delay; /* ms between request and response */
};

static void judge(const struct deed *d, struct fresh_verdict *v)
{
    struct fields request = KIT(d->request), reply = KIT(d->reply);
    struct control asked, said;
    struct fresh_exchange x = {
        .method = str_from(d->method != NULL ? d->method : "GET"),
        .status = d->status != 0 ? d->status : 200,
        .request = &request,
        .reply = &reply,
        .asked = &asked,
        .said = &said,
        .sent = NOW * 1000 + 300 - d->delay,
        .received = NOW * 1000 + 300,
        .rule = d->rule != NULL ? d->rule : &fresh_rule_preset,
        .settings = d->settings != NULL ? d->settings : &plain,
        .post_is_get = d->post_is_get,
    };

    control_request(&asked, &request);
    control_response(&said, &reply);
    if (d->targeted)
        control_targeted(&said, &reply, BT_STR("CDN-Cache-Control"));
    fresh_judge(&x, v);
}

struct row {
    const char *section;
    int status;
    const char *request, *reply, *expected;
};

static void check_rows(const struct row *rows, size_t n, const struct deed *like, bool whole)
{
    for (size_t i = 0; i < n; i++) {
        struct deed d = like != NULL ? *like : (struct deed){.method = NULL};
        struct fresh_verdict v;

        d.status = rows[i].status;
        d.request = rows[i].request;
        d.reply = rows[i].reply;
        judge(&d, &v);
        if (strcmp(tell(&v, whole), rows[i].expected) != 0)
            fail_msg("%s: %d «%s» «%s»: «%s», not «%s»", rows[i].section, rows[i].status,
                     rows[i].request, rows[i].reply, told, rows[i].expected);
    }
}

/* ---- RFC 9111 3: storing ---- */

static void storing(void **state)
{
    static const struct row rows[] = {
        {"3", 200, "", DATE "Cache-Control: max-age=60", "store max-age 60"},
        {"3", 200, "", DATE, "no stale, and no validator"},
        {"3", 200, "", DATE "ETag: \"a\"", "store refresh_pattern min 0"},
        {"3", 200, "", "Cache-Control: max-age=60", "store max-age 60"},
        /* no-store, private, the client */
        {"5.2.2.5", 200, "", DATE "Cache-Control: no-store", "no no-store"},
        {"5.2.2.5", 200, "", DATE "Cache-Control: max-age=60, no-store\n" LM_DAY, "no no-store"},
        {"5.2.2.5", 200, "", DATE "Cache-Control: no-store\nETag: \"a\"", "no no-store"},
        {"5.2.2.7", 200, "", DATE "Cache-Control: private, max-age=60", "no private"},
        {"5.2.2.7", 200, "", DATE "Cache-Control: private=\"x\", max-age=60", "store max-age 60"},
        {"5.2.1.5", 200, "Cache-Control: no-store", DATE "Cache-Control: max-age=60",
         "no no-store of the client"},
        {"5.2.1.4", 200, "Cache-Control: no-cache", DATE "Cache-Control: max-age=60",
         "store max-age 60"},
        {"5.4", 200, "", DATE "Pragma: no-cache\nCache-Control: max-age=60", "store max-age 60"},
        /* no-cache: kept when it can be validated */
        {"5.2.2.4", 200, "", DATE "Cache-Control: no-cache", "no no-cache, and no validator"},
        {"5.2.2.4", 200, "", DATE "Cache-Control: no-cache, max-age=60\nETag: \"a\"",
         "store max-age 60"},
        {"5.2.2.4", 200, "", DATE "Cache-Control: no-cache=\"x\", max-age=60", "store max-age 60"},
        /* 3.5 */
        {"3.5", 200, "Authorization: x", DATE "Cache-Control: max-age=60", "no Authorization"},
        {"3.5", 200, "Authorization: x", DATE LM_DAY, "no Authorization"},
        {"3.5", 200, "Authorization: x", DATE "Cache-Control: max-age=60, public",
         "store max-age 60"},
        {"3.5", 200, "Authorization: x", DATE "Cache-Control: s-maxage=60", "store s-maxage 60"},
        {"3.5", 200, "Authorization: x", DATE "Cache-Control: max-age=60, must-revalidate",
         "store max-age 60"},
        {"3.5", 200, "Authorization: x", DATE "Cache-Control: max-age=60, proxy-revalidate",
         "no Authorization"},
        {"3.5", 200, "Cookie: x", DATE "Cache-Control: max-age=60", "store max-age 60"},
        {"3", 200, "", DATE "Set-Cookie: a=b\nCache-Control: max-age=60", "store max-age 60"},
        {"3", 200, "", DATE "Set-Cookie: a=b\n" LM_DAY, "store Last-Modified 17280"},
        /* 4.1 */
        {"4.1", 200, "", DATE "Cache-Control: max-age=60\nVary: *", "no Vary"},
        {"4.1", 200, "", DATE "Cache-Control: max-age=60\nVary: Foo, *", "no Vary"},
        {"4.1", 200, "", DATE "Cache-Control: max-age=60\nVary:\nVary: *", "no Vary"},
        {"4.1", 200, "", DATE "Cache-Control: max-age=60\nVary: Foo", "store max-age 60"},
        /* statuses */
        {"3", 206, "", DATE "Cache-Control: max-age=60", "no status"},
        {"3", 304, "", DATE "Cache-Control: max-age=60", "no status"},
        {"3", 103, "", DATE "Cache-Control: max-age=60", "no status"},
        {"3", 101, "", DATE "Cache-Control: max-age=60", "no status"},
        {"3", 407, "", DATE "Cache-Control: max-age=60", "no status"},
        {"3", 412, "", DATE "Cache-Control: max-age=60", "no status"},
        {"3", 416, "", DATE "Cache-Control: max-age=60", "no status"},
        {"3", 600, "", DATE "Cache-Control: max-age=60", "no status"},
        {"6585", 428, "", DATE "Cache-Control: max-age=60", "no status"},
        {"6585", 429, "", DATE "Cache-Control: max-age=60", "no status"},
        {"6585", 431, "", DATE "Cache-Control: max-age=60", "no status"},
        {"6585", 511, "", DATE "Cache-Control: max-age=60", "no status"},
        /* 5.2.2.3 */
        {"5.2.2.3", 200, "", DATE "Cache-Control: no-store, must-understand, max-age=60",
         "store max-age 60"},
        {"5.2.2.3", 599, "", DATE "Cache-Control: no-store, must-understand, max-age=60",
         "no must-understand"},
        {"5.2.2.3", 299, "", DATE "Cache-Control: must-understand, max-age=60",
         "no must-understand"},
        {"5.2.2.3", 200, "", DATE "Cache-Control: must-understand, private, max-age=60",
         "no private"},
        /* a response that is of no use */
        {"3", 200, "", DATE "Cache-Control: max-age=0", "no stale, and no validator"},
        {"3", 200, "", DATE "Cache-Control: max-age=0\nETag: \"a\"", "store max-age 0"},
        {"3", 200, "", DATE "Cache-Control: max-age=60\nAge: 100", "no stale, and no validator"},
        {"3", 200, "", DATE "Cache-Control: max-age=60\nAge: 100\n" LM_DAY, "store max-age -40"},
        {"3", 200, "", DATE "Cache-Control: max-age=0\nLast-Modified: yesterday",
         "no stale, and no validator"},
        {"5861 3", 200, "", DATE "Cache-Control: max-age=0, stale-while-revalidate=9",
         "store max-age 0"},
        {"5861 4", 200, "", DATE "Cache-Control: max-age=0, stale-if-error=9", "store max-age 0"},
        {"5861 4", 200, "", DATE "Cache-Control: max-age=0, stale-if-error=9\nAge: 10",
         "no stale, and no validator"},
        {"5861 4", 200, "", DATE "Cache-Control: max-age=0, stale-if-error=9, must-revalidate",
         "no stale, and no validator"},
    };

    (void)state;
    check_rows(rows, COUNT(rows), NULL, false);
}

/* Every status, with a life of its own, and with a guess. */
static void statuses(void **state)
{
    static const int stored[] = {200, 203, 204, 299, 300, 301, 302, 303, 307, 308, 400, 402, 403,
                                 404, 405, 410, 414, 451, 499, 500, 501, 502, 503, 504, 599};
    static const int guessed[] = {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501};

    (void)state;
    for (int status = 100; status <= 600; status++) {
        struct deed d = {
            .request = "", .reply = DATE "Cache-Control: max-age=60", .status = status};
        struct fresh_verdict v;
        bool guess = false;

        judge(&d, &v);
        for (size_t i = 0; i < COUNT(stored); i++)
            assert_true(stored[i] != status || v.store);
        for (size_t i = 0; i < COUNT(guessed); i++)
            guess |= guessed[i] == status;
        d.reply = DATE LM_DAY;
        judge(&d, &v);
        if (v.store != guess)
            fail_msg("status %d is %sguessed", status, v.store ? "" : "not ");
        /* an entity tag does not make it storable */
        d.reply = DATE LM_DAY "ETag: \"a\"";
        judge(&d, &v);
        assert_int_equal(v.store, guess);
        /* but `public` does (RFC 9111 4.2.2) */
        d.reply = DATE LM_DAY "Cache-Control: public";
        judge(&d, &v);
        assert_int_equal(v.store, !never_stored(status));
    }
}

static void methods(void **state)
{
    static const struct {
        const char *method;
        bool same, stored;
    } rows[] = {
        {"GET", false, true},       {"HEAD", false, false},    {"POST", false, false},
        {"POST", true, true},       {"PUT", false, false},     {"DELETE", false, false},
        {"PATCH", false, false},    {"OPTIONS", false, false}, {"get", false, false},
        {"M-SEARCH", false, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct deed d = {.method = rows[i].method,
                         .request = "",
                         .reply = DATE "Cache-Control: max-age=60",
                         .post_is_get = rows[i].same};
        struct fresh_verdict v;

        judge(&d, &v);
        assert_int_equal(v.store, rows[i].stored);
        /* a guess is not enough for a POST (RFC 9110 9.3.3) */
        d.reply = DATE LM_DAY;
        judge(&d, &v);
        assert_int_equal(v.store, rows[i].stored && !rows[i].same);
    }
    assert_true(fresh_method(BT_STR("GET")) && fresh_method(BT_STR("HEAD")));
    assert_false(fresh_method(BT_STR("POST")) || fresh_method(BT_STR("")));
}

/* ---- RFC 9111 4.2: life and age ---- */

static const struct row of_lives[] = {
    {"4.2.1", 200, "", DATE "Cache-Control: s-maxage=10, max-age=60", "store s-maxage 10"},
    {"4.2.1", 200, "", DATE "Cache-Control: max-age=60, s-maxage=10", "store s-maxage 10"},
    {"4.2.1", 200, "", DATE "Cache-Control: max-age=1, s-maxage=3600", "store s-maxage 3600"},
    {"4.2.1", 200, "", DATE "Cache-Control: max-age=60\nExpires: Mon, 06 Jul 2026 11:00:00 GMT",
     "store max-age 60"},
    {"4.2.1", 200, "", DATE "Cache-Control: max-age=0\nExpires: Mon, 06 Jul 2026 13:00:00 GMT",
     "no stale, and no validator"},
    {"4.2.1", 200, "", DATE "Cache-Control: max-age=x\n" LM_YEAR, "store max-age 0"},
    {"4.2.1", 200, "", DATE "Cache-Control: max-age=99999999999", "store max-age 2147483648"},
    /* 5.3: Expires */
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 2026 13:00:00 GMT", "store Expires 3600"},
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 2026 12:00:00 GMT", "no stale, and no validator"},
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 2026 11:00:00 GMT", "no stale, and no validator"},
    {"5.3", 200, "", DATE "Expires: Monday, 06-Jul-26 13:00:00 GMT", "store Expires 3600"},
    {"5.3", 200, "", DATE "Expires: Mon Jul  6 13:00:00 2026", "store Expires 3600"},
    {"5.3", 200, "", DATE "Expires: MON, 06 JUL 2026 13:00:00 gMT", "store Expires 3600"},
    {"5.3", 200, "", DATE "Expires: Tue, 19 Jan 2038 14:14:08 GMT", "store Expires 364184048"},
    {"5.3", 200, "", DATE "Expires: Sun, 21 Nov 2286 04:46:39 GMT", "store Expires 2147483648"},
    {"5.3", 200, "", DATE "Expires: Fri, 31 Dec 9999 23:59:59 GMT", "store Expires 2147483648"},
    {"5.3", 200, "", DATE "Expires: 0", "no stale, and no validator"},
    {"5.3", 200, "", DATE "Expires: -1\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires:\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 2026 13:00:00 UTC\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 2026 13:00:00 AEST\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 26 13:00:00 GMT\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon 06 Jul 2026 13:00:00 GMT\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon, 06  Jul  2026 13:00:00 GMT\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon, 06-Jul-2026 13:00:00 GMT\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 2026 13.00.00 GMT\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "", DATE "Expires: Mon, 06 Jul 2026 3:00:00 GMT\n" LM_YEAR, "store Expires 0"},
    {"5.3", 200, "",
     DATE
     "Expires: Mon, 06 Jul 2026 13:00:00 GMT\nExpires: Mon, 06 Jul 2026 14:00:00 GMT\n" LM_YEAR,
     "store Expires 0"},
    {"5.3", 200, "",
     DATE "Expires: Mon, 06 Jul 2026 13:00:00 GMT\nExpires: Mon, 06 Jul 2026 13:00:00 GMT",
     "store Expires 3600"},
    {"5.3", 200, "", "Date: foo\nExpires: Mon, 06 Jul 2026 12:00:10 GMT", "store Expires 10"},
    {"5.3", 200, "", "Expires: Mon, 06 Jul 2026 12:06:40 GMT", "store Expires 400"},
    /* Date ahead of our clock: the life is what lies between the two */
    {"4.2.1", 200, "",
     "Date: Mon, 06 Jul 2026 12:06:40 GMT\nExpires: Mon, 06 Jul 2026 12:05:00 GMT",
     "no stale, and no validator"},
    {"4.2.3", 200, "",
     "Date: Mon, 06 Jul 2026 12:00:10 GMT\nExpires: Mon, 06 Jul 2026 12:00:20 GMT\nAge: 15",
     "no stale, and no validator"},
    {"4.2.3", 200, "",
     "Date: Mon, 06 Jul 2026 11:59:50 GMT\nExpires: Mon, 06 Jul 2026 12:00:10 GMT\nAge: 25",
     "no stale, and no validator"},
    /* 4.2.3: Age, and the age that Date shows */
    {"4.2.3", 200, "", DATE "Cache-Control: max-age=3600\nAge: 1000", "store max-age 2600"},
    {"4.2.3", 200, "", "Date: Mon, 06 Jul 2026 11:50:00 GMT\nCache-Control: max-age=3600",
     "store max-age 3000"},
    {"4.2.3", 200, "",
     "Date: Mon, 06 Jul 2026 11:50:00 GMT\nCache-Control: max-age=3600\nAge: 1000",
     "store max-age 2600"},
    {"4.2.3", 200, "", "Date: Mon, 06 Jul 2026 11:50:00 GMT\nCache-Control: max-age=3600\nAge: 10",
     "store max-age 3000"},
    {"4.2.3", 200, "", "Date: Mon, 06 Jul 2026 12:50:00 GMT\nCache-Control: max-age=3600",
     "store max-age 3600"},
    {"4.2.3", 200, "", "Date: Sat, 06 Jul 1940 12:50:00 GMT\nCache-Control: max-age=3600",
     "no stale, and no validator"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: abc", "store max-age 3600"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: -7200", "store max-age 3600"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 7200.0", "store max-age 3600"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge:", "store max-age 3600"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 2147483647",
     "no stale, and no validator"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 2147483648",
     "no stale, and no validator"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 99999999999999999999999",
     "no stale, and no validator"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 7200, 0",
     "no stale, and no validator"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 0, 7200", "store max-age 3600"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 7200\nAge: 0",
     "no stale, and no validator"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 0\nAge: 7200", "store max-age 3600"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 0, 0", "store max-age 3600"},
    {"5.1", 200, "", DATE "Cache-Control: max-age=3600\nAge: 7200, 7200",
     "no stale, and no validator"},
    /* 4.2.2: guesses by the preset pattern */
    {"4.2.2", 200, "", DATE LM_DAY, "store Last-Modified 17280"},
    {"4.2.2", 200, "", DATE LM_YEAR, "store Last-Modified 259200"},
    {"4.2.2", 404, "", DATE LM_DAY, "store Last-Modified 17280"},
    {"4.2.2", 200, "", LM_DAY, "store Last-Modified 17280"},
    {"4.2.2", 200, "", DATE "Last-Modified: Mon, 06 Jul 2026 12:00:00 GMT",
     "store refresh_pattern min 0"},
    {"4.2.2", 200, "", DATE "Last-Modified: Mon, 06 Jul 2026 13:00:00 GMT",
     "store refresh_pattern min 0"},
    {"4.2.2", 200, "", DATE "Last-Modified: foo", "no stale, and no validator"},
    {"4.2.2", 599, "", DATE LM_DAY, "no no life given"},
    {"4.2.2", 599, "", DATE LM_DAY "Cache-Control: public", "store Last-Modified 17280"},
    {"4.2.2", 302, "", DATE LM_DAY, "no no life given"},
    {"4.2.2", 302, "", DATE "Expires: Mon, 06 Jul 2026 13:00:00 GMT", "store Expires 3600"},
};

static void lives(void **state)
{
    struct deed late = {.request = "", .reply = DATE "Cache-Control: max-age=60", .delay = 5000};
    struct fresh_verdict v;

    (void)state;
    check_rows(of_lives, COUNT(of_lives), NULL, false);
    judge(&late, &v); /* the time on the way counts (4.2.3) */
    assert_int_equal(v.life.corrected, 5000);
    late.reply = DATE "Cache-Control: max-age=60\nAge: 7";
    judge(&late, &v);
    assert_int_equal(v.life.corrected, 12000);
    late.delay = -5000; /* the clock was set back meanwhile */
    judge(&late, &v);
    assert_int_equal(v.life.corrected, 7000);
}

static void targeted(void **state)
{
    static const struct row rows[] = {
        {"9213", 200, "", DATE "CDN-Cache-Control: max-age=60\nCache-Control: no-store",
         "store max-age, targeted 60"},
        {"9213", 200, "", DATE "CDN-Cache-Control: max-age=60\nCache-Control: max-age=1",
         "store max-age, targeted 60"},
        {"9213", 200, "",
         DATE "CDN-Cache-Control: max-age=60\nExpires: Mon, 06 Jul 2026 11:00:00 GMT",
         "store max-age, targeted 60"},
        {"9213", 200, "",
         DATE "CDN-Cache-Control: max-age=0\nExpires: Mon, 06 Jul 2026 13:00:00 GMT",
         "no stale, and no validator"},
        {"9213", 200, "", DATE "CDN-Cache-Control: foo\nExpires: Mon, 06 Jul 2026 13:00:00 GMT",
         "no stale, and no validator"},
        {"9213", 200, "", DATE "CDN-Cache-Control: private\nCache-Control: max-age=60",
         "no private"},
        {"9213", 200, "", DATE "CDN-Cache-Control: no-store\nCache-Control: max-age=60",
         "no no-store"},
        {"9213", 200, "", DATE "CDN-Cache-Control: no-cache\nCache-Control: max-age=60",
         "no no-cache, and no validator"},
        {"9213", 200, "", DATE "CDN-Cache-Control: max-age=60, &&&\nCache-Control: no-store",
         "no no-store"},
        {"9213", 200, "", DATE "CDN-Cache-Control: max-age=60\nAge: 100",
         "no stale, and no validator"},
    };
    static const struct row unheard[] = {
        {"9213", 200, "", DATE "CDN-Cache-Control: max-age=60\nCache-Control: no-store",
         "no no-store"},
        {"9213", 200, "", DATE "Surrogate-Control: no-store\nCache-Control: max-age=60",
         "store max-age 60"},
    };
    struct deed on = {.targeted = true};

    (void)state;
    check_rows(rows, COUNT(rows), &on, false);
    check_rows(unheard, COUNT(unheard), NULL, false);
}

/* ---- refresh_pattern and settings, as Squid has them ---- */

static void patterns(void **state)
{
    static const struct {
        struct fresh_rule rule; /* seconds */
        const char *reply, *expected;
    } rows[] = {
        /* min where nothing is known */
        {{300, 600, -1, 20, 0}, DATE, "store refresh_pattern min 300"},
        {{900, 600, -1, 20, 0}, DATE, "store refresh_pattern min 600"},
        {{300, 600, -1, 20, 0}, DATE "Cache-Control: max-age=10", "store max-age 10"},
        /* percent and max where there is a Last-Modified; min does not help then */
        {{0, 99999, -1, 10, 0}, DATE LM_DAY, "store Last-Modified 8640"},
        {{0, 180, -1, 20, 0}, DATE LM_DAY, "store Last-Modified 180"},
        {{600, 259200, -1, 0, 0}, DATE LM_DAY, "store Last-Modified 0"},
        {{0, 259200, -1, 200, 0}, DATE LM_DAY, "store Last-Modified 172800"},
        {{0, 259200, -1, 4294967295u, 0}, DATE LM_YEAR, "store Last-Modified 259200"},
        {{0, 0, -1, 0, 0}, DATE LM_DAY, "store Last-Modified 0"},
        {{0, 0, -1, 0, 0}, DATE "Cache-Control: max-age=9", "store max-age 9"},
        {{600, 259200, -1, 0, FRESH_OVERRIDE_LASTMOD}, DATE LM_DAY, "store override-lastmod 600"},
        {{600, 259200, -1, 50, FRESH_OVERRIDE_LASTMOD}, DATE LM_DAY, "store Last-Modified 43200"},
        {{600, 259200, -1, 0, FRESH_OVERRIDE_EXPIRE},
         DATE "Cache-Control: max-age=0",
         "store override-expire 600"},
        {{600, 259200, -1, 0, FRESH_OVERRIDE_EXPIRE},
         DATE "Expires: 0",
         "store override-expire 600"},
        {{600, 259200, -1, 0, FRESH_OVERRIDE_EXPIRE},
         DATE "Cache-Control: max-age=900",
         "store max-age 900"},
        {{600, 259200, -1, 0, FRESH_OVERRIDE_EXPIRE},
         DATE "Cache-Control: no-store",
         "no no-store"},
        {{600, 259200, -1, 0, FRESH_OVERRIDE_EXPIRE}, DATE LM_DAY, "store Last-Modified 0"},
        {{0, 259200, -1, 20, FRESH_IGNORE_NO_STORE},
         DATE "Cache-Control: no-store, max-age=300",
         "store max-age 300"},
        {{0, 259200, -1, 20, FRESH_IGNORE_NO_STORE},
         DATE "Cache-Control: private, max-age=300",
         "no private"},
        {{0, 259200, -1, 20, FRESH_IGNORE_PRIVATE},
         DATE "Cache-Control: private, max-age=300\nETag: \"v\"",
         "store max-age 300"},
        {{0, 259200, -1, 20, FRESH_IGNORE_PRIVATE},
         DATE "Cache-Control: private, max-age=300",
         "no no-cache, and no validator"},
        {{0, 259200, -1, 20, FRESH_IGNORE_PRIVATE},
         DATE "Cache-Control: no-store, max-age=300",
         "no no-store"},
        {{0, 259200, -1, 20, FRESH_STORE_STALE},
         DATE "Cache-Control: max-age=0",
         "store max-age 0"},
        {{0, 259200, -1, 20, FRESH_STORE_STALE}, DATE "Cache-Control: no-store", "no no-store"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct deed d = {.request = "", .reply = rows[i].reply, .rule = &rows[i].rule};
        struct fresh_verdict v;

        judge(&d, &v);
        if (strcmp(tell(&v, false), rows[i].expected) != 0)
            fail_msg("row %zu «%s»: «%s», not «%s»", i, rows[i].reply, told, rows[i].expected);
        assert_int_equal(v.life.flags & FRESH_OPTIONS, rows[i].rule.options);
    }
}

static void flags(void **state)
{
    static const struct row rows[] = {
        {"", 200, "", DATE "Cache-Control: max-age=60", "store max-age 60 while=0 error=604800"},
        {"", 200, "", DATE "Cache-Control: max-age=60\nETag: \"a\"",
         "store max-age 60 validator while=0 error=604800"},
        {"", 200, "", DATE LM_DAY,
         "store Last-Modified 17280 validator guess while=0 error=604800"},
        {"5861", 200, "",
         DATE "Cache-Control: max-age=60, stale-while-revalidate=5, stale-if-error=7",
         "store max-age 60 while=5 error=7"},
        {"5861", 200, "", DATE "Cache-Control: max-age=60, stale-if-error=9999999",
         "store max-age 60 while=0 error=604800"},
        {"5861", 200, "", DATE "Cache-Control: max-age=60, stale-if-error=x",
         "store max-age 60 while=0 error=0"},
        {"5.2.2.2", 200, "", DATE "Cache-Control: max-age=60, must-revalidate, stale-if-error=7",
         "store max-age 60 must while=0 error=0"},
        {"5.2.2.8", 200, "",
         DATE "Cache-Control: max-age=60, proxy-revalidate, stale-while-revalidate=5",
         "store max-age 60 must while=0 error=0"},
        {"5.2.2.10", 200, "", DATE "Cache-Control: s-maxage=60, stale-while-revalidate=5",
         "store s-maxage 60 must while=0 error=0"},
        {"5.2.2.4", 200, "", DATE "Cache-Control: max-age=60, no-cache\nETag: \"a\"",
         "store max-age 60 must ask validator while=0 error=0"},
    };
    static const struct fresh_settings endless = {.max_stale = -1};
    static const struct fresh_rule minute = {0, 259200, 60, 20, 0};
    struct deed d = {.request = "", .reply = DATE "Cache-Control: max-age=60"};
    struct fresh_verdict v;

    (void)state;
    check_rows(rows, COUNT(rows), NULL, true);
    d.settings = &endless;
    judge(&d, &v);
    assert_true(v.life.stale_error == CONTROL_FOREVER);
    d.rule = &minute; /* max-stale= of the pattern, before max_stale */
    judge(&d, &v);
    assert_int_equal(v.life.stale_error, 60);
}

static void settings(void **state)
{
    static const struct fresh_settings negative_ttl = {.max_stale = WEEK, .negative_ttl = 300};
    static const struct fresh_settings min_life = {.max_stale = WEEK, .min_life = 60};
    static const struct fresh_settings offline = {.max_stale = WEEK, .offline = true};
    static const struct row negatives[] = {
        {"", 404, "", DATE, "store negative_ttl 300 negative while=0 error=0"},
        {"", 500, "", DATE "Age: 1000", "store negative_ttl 300 negative while=0 error=0"},
        {"", 403, "", DATE LM_DAY, "store negative_ttl 300 validator negative while=0 error=0"},
        {"", 503, "", DATE, "store negative_ttl 300 negative while=0 error=0"},
        {"", 404, "", DATE "Cache-Control: no-store", "no no-store negative while=0 error=0"},
        {"", 404, "", DATE "Cache-Control: max-age=7", "store max-age 7 while=0 error=604800"},
        {"", 302, "", DATE, "no no life given while=0 error=604800"},
        {"", 599, "", DATE, "no no life given while=0 error=604800"},
    };
    static const struct row shorts[] = {
        {"", 200, "", DATE "Cache-Control: max-age=59", "no minimum_expiry_time, and no validator"},
        {"", 200, "", DATE "Cache-Control: max-age=60", "store max-age 60"},
        {"", 200, "", DATE "Cache-Control: max-age=9\nETag: \"a\"", "store max-age 9"},
        {"", 200, "", DATE "Cache-Control: max-age=9\n" LM_DAY, "store max-age 9"},
    };
    static const struct row stales[] = {
        {"", 200, "", DATE "Cache-Control: max-age=0", "store max-age 0"},
        {"", 200, "", DATE "Cache-Control: no-store", "no no-store"},
    };
    struct deed d = {.settings = &negative_ttl};

    (void)state;
    check_rows(negatives, COUNT(negatives), &d, true);
    d.settings = &min_life;
    check_rows(shorts, COUNT(shorts), &d, false);
    d.settings = &offline;
    check_rows(stales, COUNT(stales), &d, false);
}

/* ---- using ---- */

enum { MUST = FRESH_MUST, ASK = FRESH_ASK | FRESH_MUST };
static const struct {
    const char *section, *request;
    int64_t age, lifetime; /* seconds */
    uint32_t flags, stale_while;
    enum fresh_use expected;
    const char *why;
} of_uses[] = {
    {"4.2", "", 0, 60, 0, 0, FRESH_HIT, "fresh"},
    {"4.2", "", 59, 60, 0, 0, FRESH_HIT, "fresh"},
    {"4.2", "", 60, 60, 0, 0, FRESH_VALIDATE, "stale"},
    {"4.2", "", 61, 60, 0, 0, FRESH_VALIDATE, "stale"},
    {"4.2", "", 0, 0, 0, 0, FRESH_VALIDATE, "stale"},
    {"4.2", "", 0, 60, MUST, 0, FRESH_HIT, "fresh"},
    {"5.2.2.4", "", 0, 60, ASK, 0, FRESH_VALIDATE, "no-cache"},
    {"5.2.2.4", "Cache-Control: max-stale", 0, 60, ASK, 0, FRESH_VALIDATE, "no-cache"},
    /* a reload */
    {"5.2.1.4", "Cache-Control: no-cache", 0, 60, 0, 0, FRESH_RELOAD, "no-cache of the client"},
    {"5.4", "Pragma: no-cache", 0, 60, 0, 0, FRESH_RELOAD, "no-cache of the client"},
    {"squid", "Cache-Control: no-cache", 0, 60, FRESH_RELOAD_INTO_IMS, 0, FRESH_VALIDATE,
     "no-cache of the client"},
    {"squid", "Cache-Control: no-cache", 0, 60, FRESH_IGNORE_RELOAD, 0, FRESH_HIT, "fresh"},
    {"squid", "Pragma: no-cache", 0, 60, FRESH_IGNORE_RELOAD, 0, FRESH_HIT, "fresh"},
    {"squid", "Cache-Control: no-cache", 60, 60, FRESH_IGNORE_RELOAD, 0, FRESH_VALIDATE, "stale"},
    {"squid", "Cache-Control: max-age=0", 5, 60, FRESH_IGNORE_RELOAD, 0, FRESH_HIT, "fresh"},
    {"squid", "Cache-Control: max-age=1", 5, 60, FRESH_IGNORE_RELOAD, 0, FRESH_VALIDATE,
     "max-age of the client"},
    {"squid", "Cache-Control: no-cache", 0, 60, FRESH_NEGATIVE, 0, FRESH_RELOAD,
     "no-cache of the client"},
    /* what the client wants of its age */
    {"5.2.1.1", "Cache-Control: max-age=0", 0, 60, 0, 0, FRESH_VALIDATE, "max-age of the client"},
    {"5.2.1.1", "Cache-Control: max-age=50", 50, 60, 0, 0, FRESH_HIT, "fresh"},
    {"5.2.1.1", "Cache-Control: max-age=50", 51, 60, 0, 0, FRESH_VALIDATE, "max-age of the client"},
    {"5.2.1.1", "Cache-Control: max-age=x", 1, 60, 0, 0, FRESH_VALIDATE, "max-age of the client"},
    {"5.2.1.1", "Cache-Control: max-age=600", 61, 60, 0, 0, FRESH_VALIDATE, "stale"},
    {"5.2.1.3", "Cache-Control: min-fresh=20", 40, 60, 0, 0, FRESH_HIT, "fresh"},
    {"5.2.1.3", "Cache-Control: min-fresh=20", 41, 60, 0, 0, FRESH_VALIDATE,
     "min-fresh of the client"},
    {"5.2.1.3", "Cache-Control: min-fresh=99999999999999", 1, 60, 0, 0, FRESH_VALIDATE,
     "min-fresh of the client"},
    {"5.2.1.2", "Cache-Control: max-stale", 999, 60, 0, 0, FRESH_HIT_STALE,
     "max-stale of the client"},
    {"5.2.1.2", "Cache-Control: max-stale=30", 90, 60, 0, 0, FRESH_HIT_STALE,
     "max-stale of the client"},
    {"5.2.1.2", "Cache-Control: max-stale=30", 91, 60, 0, 0, FRESH_VALIDATE, "stale"},
    {"5.2.1.2", "Cache-Control: max-stale=30", 61, 60, MUST, 0, FRESH_VALIDATE, "stale"},
    {"5.2.1.2", "Cache-Control: max-stale", 61, 60, MUST, 0, FRESH_VALIDATE, "stale"},
    {"5.2.1.2", "Cache-Control: max-stale=x", 61, 60, 0, 0, FRESH_VALIDATE, "stale"},
    {"5.2.1.2", "Cache-Control: max-stale", WEEK + 61, 60, 0, 0, FRESH_VALIDATE, "stale"},
    {"5.2.1.2", "Cache-Control: max-stale, max-age=70", 71, 60, 0, 0, FRESH_VALIDATE,
     "max-age of the client"},
    {"5.2.1.5", "Cache-Control: no-store", 0, 60, 0, 0, FRESH_HIT, "fresh"},
    /* only-if-cached */
    {"5.2.1.7", "Cache-Control: only-if-cached", 0, 60, 0, 0, FRESH_HIT, "fresh"},
    {"5.2.1.7", "Cache-Control: only-if-cached", 60, 60, 0, 0, FRESH_UNAVAILABLE, "stale"},
    {"5.2.1.7", "Cache-Control: only-if-cached", 60, 60, 0, 9, FRESH_HIT_WHILE,
     "stale-while-revalidate"},
    {"5.2.1.7", "Cache-Control: only-if-cached, no-cache", 0, 60, 0, 0, FRESH_UNAVAILABLE,
     "no-cache of the client"},
    {"5.2.1.7", "Cache-Control: only-if-cached, max-stale", 99, 60, 0, 0, FRESH_HIT_STALE,
     "max-stale of the client"},
    /* RFC 5861 3 */
    {"5861 3", "", 59, 60, 0, 4, FRESH_HIT, "fresh"},
    {"5861 3", "", 60, 60, 0, 4, FRESH_HIT_WHILE, "stale-while-revalidate"},
    {"5861 3", "", 64, 60, 0, 4, FRESH_HIT_WHILE, "stale-while-revalidate"},
    {"5861 3", "", 65, 60, 0, 4, FRESH_VALIDATE, "stale"},
    {"5861 3", "", 61, 60, MUST, 4, FRESH_VALIDATE, "stale"},
    {"5861 3", "", 1, 60, ASK, 4, FRESH_VALIDATE, "no-cache"},
    {"5861 3", "Cache-Control: max-age=0", 61, 60, 0, 4, FRESH_VALIDATE, "max-age of the client"},
    {"5861 3", "Cache-Control: no-cache", 61, 60, 0, 4, FRESH_RELOAD, "no-cache of the client"},
    /* the clock went back: no age is less than the one it came with */
    {"4.2.3", "", -500, 60, 0, 0, FRESH_HIT, "fresh"},
};

static void using_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_uses); i++) {
        struct fields request = KIT(of_uses[i].request);
        struct control asked;
        struct fresh_life life = {.received = NOW * 1000,
                                  .lifetime = of_uses[i].lifetime * 1000,
                                  .flags = of_uses[i].flags,
                                  .stale_while = of_uses[i].stale_while};
        struct fresh_asking a = {&asked, &plain, (NOW + of_uses[i].age) * 1000, false};
        const char *why = NULL;
        enum fresh_use got;

        control_request(&asked, &request);
        got = fresh_use(&life, &a, &why);
        if (got != of_uses[i].expected || strcmp(why, of_uses[i].why) != 0)
            fail_msg("%s: «%s» at %lld of %lld: %d, %s; not %d, %s", of_uses[i].section,
                     of_uses[i].request, (long long)of_uses[i].age, (long long)of_uses[i].lifetime,
                     got, why, of_uses[i].expected, of_uses[i].why);
        assert_int_equal(fresh_use(&life, &a, NULL), got);
    }
}

static void modes(void **state)
{
    static const struct fresh_settings offline = {.max_stale = WEEK, .offline = true};
    static const struct fresh_settings into = {.max_stale = WEEK, .reload_into_ims = true};
    static const struct fresh_settings all = {.max_stale = WEEK, .refresh_all_ims = true};
    struct control none = {.has = 0}, reload_it = {.has = CONTROL_NO_CACHE};
    struct fresh_life life = {.received = NOW * 1000, .lifetime = 60000};
    struct fresh_asking a = {&none, &offline, NOW * 1000 + 90000, false};
    const char *why;

    (void)state;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_HIT_STALE);
    assert_string_equal(why, "offline_mode");
    life.flags = FRESH_ASK | FRESH_MUST;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_HIT_STALE);
    a.asked = &reload_it;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_RELOAD);
    life.flags = 0;
    a.now = NOW * 1000;
    a.settings = &into;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_VALIDATE);
    a.asked = &none;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_HIT);
    a.settings = &all;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_HIT);
    a.conditional = true;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_VALIDATE);
    assert_string_equal(why, "refresh-ims");
    a.settings = &plain;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_HIT);
    life.flags = FRESH_REFRESH_IMS;
    assert_int_equal(fresh_use(&life, &a, &why), FRESH_VALIDATE);
}

/* RFC 9111 4.2.4, RFC 5861 4. */
static void errors(void **state)
{
    static const struct {
        int status;
        int64_t age; /* seconds, of 60 */
        uint32_t flags, stale_error;
        int64_t asked; /* stale-if-error of the client; -1: none */
        bool expected;
    } rows[] = {
        {503, 61, 0, 100, -1, true},
        {500, 61, 0, 100, -1, true},
        {502, 61, 0, 100, -1, true},
        {504, 61, 0, 100, -1, true},
        {0, 61, 0, 100, -1, true},
        {0, 160, 0, 100, -1, true},
        {0, 161, 0, 100, -1, false},
        {503, 161, 0, 100, -1, false},
        {404, 61, 0, 100, -1, false},
        {410, 61, 0, 100, -1, false},
        {200, 61, 0, 100, -1, false},
        {304, 61, 0, 100, -1, false},
        {600, 61, 0, 100, -1, false},
        {503, 61, 0, 0, -1, false},
        {503, 60, 0, 0, -1, false},
        {503, 61, FRESH_MUST, 100, -1, false},
        {0, 61, FRESH_MUST, 100, -1, false},
        {0, 1, FRESH_MUST, 0, -1, true}, /* still fresh; the client wanted it validated */
        {0, 1, FRESH_ASK | FRESH_MUST, 0, -1, false},
        {0, 1, FRESH_NEGATIVE, 0, -1, true},
        {0, 61, FRESH_NEGATIVE, 100, -1, false},
        {503, 100, 0, 0, 60, true},
        {503, 161, 0, 100, 200, true},
        {503, 100, 0, 100, 1, true}, /* it asks for more, not for less */
        {503, 100, FRESH_MUST, 0, 60, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct control asked = {.has = rows[i].asked >= 0 ? CONTROL_STALE_ERROR : 0,
                                .stale_error = rows[i].asked};
        struct fresh_life life = {.received = NOW * 1000,
                                  .lifetime = 60000,
                                  .flags = rows[i].flags,
                                  .stale_error = rows[i].stale_error};
        struct fresh_asking a = {&asked, &plain, (NOW + rows[i].age) * 1000, false};

        if (fresh_on_error(&life, &a, rows[i].status) != rows[i].expected)
            fail_msg("row %zu: status %d at %lld", i, rows[i].status, (long long)rows[i].age);
    }
}

static void ages(void **state)
{
    struct fresh_life life = {.received = 10000, .corrected = 2500, .lifetime = 60000};

    (void)state;
    assert_int_equal(fresh_age(&life, 10000), 2500);
    assert_int_equal(fresh_age(&life, 9000), 2500);
    assert_int_equal(fresh_age(&life, 11000), 3500);
    assert_int_equal(fresh_age_seconds(&life, 11000), 3);
    assert_int_equal(fresh_age_seconds(&life, 11500), 4);
    assert_int_equal(fresh_left(&life, 10000), 57500);
    assert_int_equal(fresh_left(&life, 80000), -12500);
    life.corrected = CONTROL_FOREVER * 1000;
    assert_true(fresh_age_seconds(&life, 99999999) == CONTROL_FOREVER);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(storing), cmocka_unit_test(statuses), cmocka_unit_test(methods),
    cmocka_unit_test(lives),   cmocka_unit_test(targeted), cmocka_unit_test(patterns),
    cmocka_unit_test(flags),   cmocka_unit_test(settings), cmocka_unit_test(using_it),
    cmocka_unit_test(modes),   cmocka_unit_test(errors),   cmocka_unit_test(ages),
};
UNIT_MAIN(tests)
