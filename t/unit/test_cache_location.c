/* test_cache_location.c - references resolved, and what an unsafe request makes stale.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "cache_kit.h"

#include "cache/location.c"

static const struct {
    const char *base, *reference, *expected; /* NULL: none */
} of_references[] = {
    /* RFC 3986 5.4.1, as far as it is about http */
    {"/b/c/d;p?q", "g", "http://a:80/b/c/g"},
    {"/b/c/d;p?q", "./g", "http://a:80/b/c/g"},
    {"/b/c/d;p?q", "g/", "http://a:80/b/c/g/"},
    {"/b/c/d;p?q", "/g", "http://a:80/g"},
    {"/b/c/d;p?q", "//g", "http://g:80/"},
    {"/b/c/d;p?q", "?y", "http://a:80/b/c/d;p?y"},
    {"/b/c/d;p?q", "g?y", "http://a:80/b/c/g?y"},
    {"/b/c/d;p?q", "#s", "http://a:80/b/c/d;p?q"},
    {"/b/c/d;p?q", "g#s", "http://a:80/b/c/g"},
    {"/b/c/d;p?q", "g?y#s", "http://a:80/b/c/g?y"},
    {"/b/c/d;p?q", ";x", "http://a:80/b/c/;x"},
    {"/b/c/d;p?q", "g;x?y#s", "http://a:80/b/c/g;x?y"},
    {"/b/c/d;p?q", ".", "http://a:80/b/c/"},
    {"/b/c/d;p?q", "./", "http://a:80/b/c/"},
    {"/b/c/d;p?q", "..", "http://a:80/b/"},
    {"/b/c/d;p?q", "../", "http://a:80/b/"},
    {"/b/c/d;p?q", "../g", "http://a:80/b/g"},
    {"/b/c/d;p?q", "../..", "http://a:80/"},
    {"/b/c/d;p?q", "../../", "http://a:80/"},
    {"/b/c/d;p?q", "../../g", "http://a:80/g"},
    /* 5.4.2 */
    {"/b/c/d;p?q", "../../../g", "http://a:80/g"},
    {"/b/c/d;p?q", "../../../../g", "http://a:80/g"},
    {"/b/c/d;p?q", "/./g", "http://a:80/g"},
    {"/b/c/d;p?q", "/../g", "http://a:80/g"},
    {"/b/c/d;p?q", "g.", "http://a:80/b/c/g."},
    {"/b/c/d;p?q", ".g", "http://a:80/b/c/.g"},
    {"/b/c/d;p?q", "g..", "http://a:80/b/c/g.."},
    {"/b/c/d;p?q", "..g", "http://a:80/b/c/..g"},
    {"/b/c/d;p?q", "./../g", "http://a:80/b/g"},
    {"/b/c/d;p?q", "./g/.", "http://a:80/b/c/g/"},
    {"/b/c/d;p?q", "g/./h", "http://a:80/b/c/g/h"},
    {"/b/c/d;p?q", "g/../h", "http://a:80/b/c/h"},
    {"/b/c/d;p?q", "g;x=1/./y", "http://a:80/b/c/g;x=1/y"},
    {"/b/c/d;p?q", "g;x=1/../y", "http://a:80/b/c/y"},
    {"/b/c/d;p?q", "g?y/./x", "http://a:80/b/c/g?y/./x"},
    {"/b/c/d;p?q", "g?y/../x", "http://a:80/b/c/g?y/../x"},
    {"/b/c/d;p?q", "g#s/../x", "http://a:80/b/c/g"},
    {"/b/c/d;p?q", "http:g", NULL},
    {"/b/c/d;p?q", "g:h", NULL},
    /* whole ones */
    {"/x", "http://Host.Example/y?z", "http://host.example:80/y?z"},
    {"/x", "HTTPS://h/y", "https://h:443/y"},
    {"/x", "https://h:8443", "https://h:8443/"},
    {"/x", "https://h?q", "https://h:443/?q"},
    {"/x", "http://h:/y", "http://h:80/y"},
    {"/x", "http://h./y", "http://h:80/y"},
    {"/x", "http://u:p@h/y", "http://h:80/y"},
    {"/x", "http://[::1]:81/y", "http://::1:81/y"},
    {"/x", "http://[::1]/", "http://::1:80/"},
    {"/x", "http://h/a/../b", "http://h:80/b"},
    {"/x", "//a/y", "http://a:80/y"},
    {"/x", "//a:81?q", "http://a:81/?q"},
    {"/p?a/b", "c", "http://a:80/c"},
    {"/p?a", "?", "http://a:80/p?"},
    {"/", "./a:b", "http://a:80/a:b"},
    {"/x", "/a//b///c", "http://a:80/a//b///c"},
    {"/x", "/a//../b", "http://a:80/a/b"},
    {"/x", "/..", "http://a:80/"},
    {"/x", "/.", "http://a:80/"},
    {"/x", "/a/%2e%2e/b", "http://a:80/a/%2e%2e/b"},
    /* broken ones */
    {"/x", "", NULL},
    {"/x", "ftp://a/y", NULL},
    {"/x", "javascript:alert(1)", NULL},
    {"/x", "http://", NULL},
    {"/x", "http:///y", NULL},
    {"/x", "http://:80/y", NULL},
    {"/x", "http://./y", NULL},
    {"/x", "http://h:0/y", NULL},
    {"/x", "http://h:65536/y", NULL},
    {"/x", "http://h:99999999999/y", NULL},
    {"/x", "http://h:8x/y", NULL},
    {"/x", "http://[::1/y", NULL},
    {"/x", "http://[::1]x/y", NULL},
    {"/x", "http://h/a b", NULL},
    {"/x", "/a\\b", NULL},
    {"/x", "/a\tb", NULL},
    {"/x", "/\xc3\xbc", NULL},
    {"/x", "//", NULL},
};

static void resolving(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(of_references); i++) {
        struct location base = {BT_STR("http"), BT_STR("a"), 80, str_from(of_references[i].base)};
        struct location out;
        bool good = location_resolve(kit_arena(), &base, str_from(of_references[i].reference),
                                     &out);

        if (good != (of_references[i].expected != NULL))
            fail_msg("«%s» is %sresolved", of_references[i].reference, good ? "" : "not ");
        if (!good)
            continue;
        assert_str(bt_str_printf(kit_arena(), "%.*s://%.*s:%u%.*s", BT_STR_ARGS(out.scheme),
                                 BT_STR_ARGS(out.host), out.port, BT_STR_ARGS(out.path)),
                   of_references[i].expected);
    }
}

/* RFC 9111 4.4 */
static void invalidating(void **state)
{
    static const struct {
        const char *method;
        bool unsafe;
    } rows[] = {
        {"POST", true},   {"PUT", true},      {"DELETE", true}, {"PATCH", true}, {"M-SEARCH", true},
        {"FOO", true},    {"get", true},      {"GET", false},   {"HEAD", false}, {"OPTIONS", false},
        {"TRACE", false}, {"CONNECT", false}, {"PURGE", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        bt_str method = str_from(rows[i].method);

        for (int status = 100; status < 600; status++)
            if (location_invalidates(method, status) !=
                (rows[i].unsafe && status >= 200 && status < 400))
                fail_msg("%s, %d", rows[i].method, status);
    }
}

static void others(void **state)
{
    static const struct {
        const char *reply, *paths;
    } rows[] = {
        {"A: b", ""},
        {"Location: /l\nContent-Location: /c", "/l /c"},
        {"Location: l\nContent-Location: c?x", "/d/l /d/c?x"},
        {"Location: /l\nContent-Location: /l", "/l"},
        {"Location: /d/own\nContent-Location: /c", "/c"},
        {"Location: http://a/l", "/l"},
        {"Location: http://A:80/l", "/l"},
        {"Location: http://b/l\nContent-Location: /c", "/c"},
        {"Location: https://a/l", ""},
        {"Location: http://a:81/l", ""},
        {"Location: //evil/l", ""},
        {"Location:\nContent-Location: ?y", "/d/own?y"},
        {"Location: own#part", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct location own = {BT_STR("http"), BT_STR("a"), 80, BT_STR("/d/own")}, out[2];
        struct fields reply = KIT(rows[i].reply);
        unsigned n = location_others(kit_arena(), &own, &reply, out);
        bt_str all = BT_STR("");

        for (unsigned k = 0; k < n; k++)
            all = bt_str_printf(kit_arena(), "%.*s%s%.*s", BT_STR_ARGS(all), k > 0 ? " " : "",
                                BT_STR_ARGS(out[k].path));
        assert_str(all, rows[i].paths);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(resolving),
    cmocka_unit_test(invalidating),
    cmocka_unit_test(others),
};
UNIT_MAIN(tests)
