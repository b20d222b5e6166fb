/* test_rewrite_map.c - url_rewrite_map: each kind of line, which of several counts, what is no line,
 * and how long a look-up takes among 100,000.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "rewrite/map.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "conf/complain.h"

static struct bt_arena *arena;
static struct bt_error err;

static struct map *map_of(const char *text)
{
    char path[] = "/tmp/test_rewrite_mapXXXXXX";
    int fd = mkstemp(path);
    struct bt_word word = {.file = "test.conf", .line = 1, .column = 1};

    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    word.text = bt_str_copy(arena, str_from(path));
    struct map *map = map_read(&word, arena, &err);
    close(fd);
    unlink(path);
    return map;
}

/* "scheme://host[:port]/path", or "host:port" for CONNECT, as the server normalises them. */
static struct map_asked asked_of(const char *url)
{
    bt_str text = str_from(url), scheme = {"", 0}, rest = text, path = {"", 0}, port;
    ptrdiff_t at = str_find(text, BT_STR("://"));
    struct map_asked asked = {.url = text, .port = 80};

    if (at >= 0) {
        scheme = (bt_str){url, (size_t)at};
        rest = after(text, (size_t)at + 3);
        ptrdiff_t slash = str_find_char(rest, '/');
        path = after(rest, (size_t)slash);
        rest.len = (size_t)slash;
    }
    asked.scheme = scheme;
    asked.path = path;
    asked.host = rest;
    if (rest.at[0] != '[' && str_rsplit(rest, ':', &asked.host, &port))
        asked.port = (unsigned)atoi(port.at);
    else if (rest.at[0] == '[')
        asked.host = (bt_str){rest.at + 1, rest.len - 2};
    else if (str_eq_literal(scheme, "https"))
        asked.port = 443;
    return asked;
}

static const char *found(const struct map *map, const char *url)
{
    struct map_asked asked = asked_of(url);
    struct map_target to = {0};

    if (map_find(map, &asked, arena, &to) != BT_YES)
        return "-";
    return to.status == 0 ? bt_str_printf(arena, "%.*s", BT_STR_ARGS(to.url)).at
                          : bt_str_printf(arena, "%d %.*s", to.status, BT_STR_ARGS(to.url)).at;
}

static int setup(void **state)
{
    (void)state;
    arena = arena_new(64 * 1024);
    complain_init(&err, arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

static void kinds(void **state)
{
    (void)state;
    struct map *map = map_of("# a comment\n\n"
                             "http://One.Example.com/a?b=1   http://two.example.com/c\n"
                             "http://one.example.com:80  http://two.example.com/root # what\r\n"
                             "http://one.example.com/dir/*\thttps://two.example.com:8443/d/*\n"
                             "http://one.example.com/dir/deep/* http://deep.example.com/\n"
                             "http://keep.example.com/x https://kept.example.com\n"
                             "host.example.com  other.example.com:81\n"
                             "host.example.com:8080  http://third.example.com\n"
                             ".tree.example.org  302:https://wood.example.net\n"
                             ".b.tree.example.org  301:https://branch.example.net/at\n"
                             "[2001:db8::1]  v6.example.com\n"
                             "~ ^http://[^/]*ads  http://blocked.example.com/\n"
                             "~* TRACK  gone.example.com\n"
                             "~ ads  http://later.example.com/\n");

    assert_non_null(map);
    assert_int_equal(err.n, 0);
    assert_string_equal(found(map, "http://one.example.com/a?b=1"), "http://two.example.com/c");
    assert_string_equal(found(map, "http://one.example.com/a"), "-");
    assert_string_equal(found(map, "https://one.example.com/a?b=1"), "-");
    assert_string_equal(found(map, "http://one.example.com/"), "http://two.example.com/root");
    assert_string_equal(found(map, "http://one.example.com/dir/"),
                        "https://two.example.com:8443/d/");
    assert_string_equal(found(map, "http://one.example.com/dir/e/f?g=/h"),
                        "https://two.example.com:8443/d/e/f?g=/h");
    assert_string_equal(found(map, "http://one.example.com/dir"), "-");
    assert_string_equal(found(map, "http://one.example.com/dir/deep/x"),
                        "http://deep.example.com/");
    assert_string_equal(found(map, "http://keep.example.com/x"), "https://kept.example.com/x");
    assert_string_equal(found(map, "http://host.example.com/p?q"),
                        "http://other.example.com:81/p?q");
    assert_string_equal(found(map, "https://host.example.com:444/p"),
                        "https://other.example.com:81/p");
    assert_string_equal(found(map, "http://host.example.com:8080/p"), "http://third.example.com/p");
    assert_string_equal(found(map, "http://tree.example.org/p"), "302 https://wood.example.net/p");
    assert_string_equal(found(map, "http://a.tree.example.org/p"),
                        "302 https://wood.example.net/p");
    assert_string_equal(found(map, "http://a.b.tree.example.org/p"),
                        "301 https://branch.example.net/at");
    assert_string_equal(found(map, "http://btree.example.org/p"), "-");
    assert_string_equal(found(map, "http://[2001:db8::1]/p"), "http://v6.example.com/p");
    assert_string_equal(found(map, "http://my.ads.example.com/p"), "http://blocked.example.com/");
    assert_string_equal(found(map, "http://x.example.com/track/ads"),
                        "http://gone.example.com/track/ads");
    assert_string_equal(found(map, "http://x.example.com/ads"), "http://later.example.com/");
    assert_string_equal(found(map, "http://x.example.com/a?http://one.example.com/dir/b"), "-");
}

/* CONNECT has a host and a port, and stays one. */
static void connects(void **state)
{
    (void)state;
    struct map *map = map_of("a.example.com b.example.com\n"
                             "c.example.com https://d.example.com:8443\n"
                             "c.example.com:444 [::1]\n"
                             "http://e.example.com/ http://f.example.com/\n");

    assert_string_equal(found(map, "a.example.com:443"), "b.example.com:443");
    assert_string_equal(found(map, "c.example.com:443"), "d.example.com:8443");
    assert_string_equal(found(map, "c.example.com:444"), "[::1]:444");
    assert_string_equal(found(map, "e.example.com:443"), "-");
}

/* A part of the path ends before the query. */
static void queries(void **state)
{
    (void)state;
    struct map *map = map_of("http://a.example.com/x/* http://b.example.com/*\n"
                             "http://a.example.com/y/?u=/* http://c.example.com/*\n");

    assert_null(map); /* the second is no path */
    map = map_of("http://a.example.com/x/* http://b.example.com/*\n");
    assert_string_equal(found(map, "http://a.example.com/?x/"), "-");
    assert_string_equal(found(map, "http://a.example.com/x/?y/z"), "http://b.example.com/?y/z");
}

static void faults(void **state)
{
    static const char *const bad[] = {
        "http://a.example.com/\n",
        "http://a.example.com/x* http://b.example.com/\n",
        "a.example.com/x http://b/\n",
        "http://a.example.com/ http://b.example.com/*\n",
        "http://a.example.com/ b/c\n",
        "http://a.example.com/ 302:\n",
        "~ ( http://b/\n",
        "~\n",
        "~ a\n",
        "a b c\n",
        "http:///x http://b/\n",
        "http://u@a/ http://b/\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t had = err.n;
        assert_null(map_of(bad[i]));
        if (err.n != had + 1)
            fail_msg("%s: %zu complaints", bad[i], err.n - had);
    }
    assert_non_null(map_of("a b\na c\n")); /* a warning */
}

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static void many(void **state)
{
    enum { LINES = 100000, ASKED = 200000 };
    struct str_builder b;
    char url[200];
    size_t hits = 0, known = 0;

    (void)state;
    str_builder_arena(&b, arena, LINES * 100);
    for (int i = 0; i < LINES; i++)
        str_add_format(&b,
                       i % 4 == 0
                           ? "http://h%d.example.com/some/path/of%d.html http://n.example.com/%d\n"
                       : i % 4 == 1 ? "http://h%d.example.com/tree/%d/* http://n.example.com/%d/*\n"
                       : i % 4 == 2 ? "h%d.host%d.example.com n%d.example.com\n"
                                    : ".h%d.domain%d.example.com n%d.example.com\n",
                       i, i, i);
    str_add_char(&b, '\0');
    struct map *map = map_of(str_built(&b).at);
    assert_non_null(map);
    double began = now();
    for (int i = 0; i < ASKED; i++) {
        int k = (int)((unsigned)i * 2654435761u % LINES);
        (void)snprintf(url, sizeof url,
                       i % 3 ? "http://h%d.example.com/some/path/of/nothing/that/is/known%d.html"
                             : "http://h%d.example.com/tree/%d/x/y/z.html?a=b",
                       k, k);
        struct map_asked asked = {.url = str_from(url), .port = 80};
        asked.scheme = (bt_str){url, 4};
        asked.host = (bt_str){url + 7, (size_t)(strchr(url + 7, '/') - url - 7)};
        asked.path = after(asked.url, 7 + asked.host.len);
        const struct line *line = find_url(map, asked.url, 7);
        if (line == NULL)
            line = find_host(map, &asked);
        hits += line != NULL;
        known += i % 3 == 0 && k % 4 == 1;
    }
    double each = (now() - began) / ASKED;
    print_message("# %.3f us a look-up, its URL made, too; %zu found\n", each, hits);
    assert_int_equal(hits, known);
    assert_true(known > 1000);
#ifndef __SANITIZE_ADDRESS__
    if (each > 3.0) /* of 1; the machine may be busy */
        fail_msg("%.3f us a look-up", each);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(connects, setup, teardown),
        cmocka_unit_test_setup_teardown(queries, setup, teardown),
        cmocka_unit_test_setup_teardown(faults, setup, teardown),
        cmocka_unit_test_setup_teardown(many, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
