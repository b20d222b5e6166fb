/* test_url.c - request targets: forms, normal spelling, addresses, and what is refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/url.h"

#include <arpa/inet.h>

#include "base/addr.h"
#include "base/arena.h"
#include "unit.h"

static struct bt_arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(4096);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* Parse from a block of its own, so that a sanitizer sees a byte too far. */
static enum head_fault parse(enum method method, bt_str target, struct url *out)
{
    char *copy = bt_alloc_raw(arena, target.len + 1);

    memcpy(copy + 1, target.at, target.len);
    memset(out, 0xa5, sizeof *out);
    return url_parse(arena, method, (bt_str){copy + 1, target.len}, out);
}

struct row {
    const char *target;
    const char *text, *scheme, *host, *authority, *path;
    unsigned port;
    const char *addr; /* NULL: a name */
};

static void check_row(enum method method, const struct row *row)
{
    struct url url, again;
    enum head_fault fault = parse(method, str_from(row->target), &url);

    if (fault != FAULT_NONE)
        fail_msg("«%s»: %s", row->target, head_fault_name(fault));
    assert_str(url.text, row->text);
    assert_str(url.scheme, row->scheme);
    assert_str(url.host, row->host);
    assert_str(url.authority, row->authority);
    assert_str(url.path, row->path);
    assert_int_equal(url.port, row->port);
    assert_int_equal(url.host_is_addr, row->addr != NULL);
    if (row->addr != NULL) {
        char text[ADDR_TEXT];

        assert_int_equal(addr_print_sockaddr(&url.addr.any, text), strlen(row->addr));
        assert_string_equal(text, row->addr);
        assert_int_equal(addr_port(&url.addr.any), row->port);
    }
    /* The normal form of the normal form is itself. */
    assert_int_equal(parse(method, url.text, &again), FAULT_NONE);
    assert_true(bt_str_eq(again.text, url.text));
    assert_true(bt_str_eq(again.host, url.host));
    assert_int_equal(again.port, url.port);
}

static const struct row good_targets[] = {
    {"http://a.example/x?y", "http://a.example/x?y", "http", "a.example", "a.example", "/x?y", 80,
     NULL},
    {"http://a:8080/", "http://a:8080/", "http", "a", "a:8080", "/", 8080, NULL},
    {"http://127.0.0.1:29000/b200", "http://127.0.0.1:29000/b200", "http", "127.0.0.1",
     "127.0.0.1:29000", "/b200", 29000, "127.0.0.1"},
    /* made normal */
    {"HTTP://A.Example", "http://a.example/", "http", "a.example", "a.example", "/", 80, NULL},
    {"http://a?x", "http://a/?x", "http", "a", "a", "/?x", 80, NULL},
    {"http://a.:80/", "http://a/", "http", "a", "a", "/", 80, NULL},
    {"http://a:/", "http://a/", "http", "a", "a", "/", 80, NULL},
    {"http://a:00080/", "http://a/", "http", "a", "a", "/", 80, NULL},
    {"http://a:081/", "http://a:81/", "http", "a", "a:81", "/", 81, NULL},
    {"https://a:443/", "https://a/", "https", "a", "a", "/", 443, NULL},
    {"https://a:80/", "https://a:80/", "https", "a", "a:80", "/", 80, NULL},
    {"ftp://a/f", "ftp://a/f", "ftp", "a", "a", "/f", 21, NULL},
    {"coap+tcp://a/f", "coap+tcp://a/f", "coap+tcp", "a", "a", "/f", 0, NULL},
    {"http://u:p@a/", "http://a/", "http", "a", "a", "/", 80, NULL},
    {"http://u%4F@a/!", "http://a/!", "http", "a", "a", "/!", 80, NULL},
    {"http://@a/", "http://a/", "http", "a", "a", "/", 80, NULL},
    {"http://u%40:p;x@a:81/y@z", "http://a:81/y@z", "http", "a", "a:81", "/y@z", 81, NULL},
    {"http://a_b.c-d.3com/", "http://a_b.c-d.3com/", "http", "a_b.c-d.3com", "a_b.c-d.3com", "/",
     80, NULL},
    {"http://a//../%2f/./?a=http://b/", "http://a//../%2f/./?a=http://b/", "http", "a", "a",
     "//../%2f/./?a=http://b/", 80, NULL},
    {"http://a/\xc3\xa4|{}", "http://a/\xc3\xa4|{}", "http", "a", "a", "/\xc3\xa4|{}", 80, NULL},
    /* one address has one spelling */
    {"http://2130706433/", "http://127.0.0.1/", "http", "127.0.0.1", "127.0.0.1", "/", 80,
     "127.0.0.1"},
    {"http://0x7f000001/", "http://127.0.0.1/", "http", "127.0.0.1", "127.0.0.1", "/", 80,
     "127.0.0.1"},
    {"http://0X7F.1/", "http://127.0.0.1/", "http", "127.0.0.1", "127.0.0.1", "/", 80, "127.0.0.1"},
    {"http://0177.0.0.1:81/", "http://127.0.0.1:81/", "http", "127.0.0.1", "127.0.0.1:81", "/", 81,
     "127.0.0.1"},
    {"http://127.1/", "http://127.0.0.1/", "http", "127.0.0.1", "127.0.0.1", "/", 80, "127.0.0.1"},
    {"http://127.0.0.1./", "http://127.0.0.1/", "http", "127.0.0.1", "127.0.0.1", "/", 80,
     "127.0.0.1"},
    {"http://0/", "http://0.0.0.0/", "http", "0.0.0.0", "0.0.0.0", "/", 80, "0.0.0.0"},
    {"http://[::1]/", "http://[::1]/", "http", "::1", "[::1]", "/", 80, "::1"},
    {"http://[::1]:81/", "http://[::1]:81/", "http", "::1", "[::1]:81", "/", 81, "::1"},
    {"http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/", "http", "2001:db8::1", "[2001:db8::1]",
     "/", 80, "2001:db8::1"},
    {"http://[::FFFF:10.0.0.1]/", "http://10.0.0.1/", "http", "10.0.0.1", "10.0.0.1", "/", 80,
     "10.0.0.1"},
    {"http://[::ffff:a00:1]:81", "http://10.0.0.1:81/", "http", "10.0.0.1", "10.0.0.1:81", "/", 81,
     "10.0.0.1"},
};

static void absolute(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_targets / sizeof *good_targets; i++)
        check_row(METHOD_GET, &good_targets[i]);
}

static void connect_form(void **state)
{
    static const struct row rows[] = {
        {"a.example:443", "a.example:443", "", "a.example", "a.example:443", "", 443, NULL},
        {"A.Example.:0443", "a.example:443", "", "a.example", "a.example:443", "", 443, NULL},
        {"127.0.0.1:1", "127.0.0.1:1", "", "127.0.0.1", "127.0.0.1:1", "", 1, "127.0.0.1"},
        {"127.1:65535", "127.0.0.1:65535", "", "127.0.0.1", "127.0.0.1:65535", "", 65535,
         "127.0.0.1"},
        {"[::1]:443", "[::1]:443", "", "::1", "[::1]:443", "", 443, "::1"},
        {"[0::1]:443", "[::1]:443", "", "::1", "[::1]:443", "", 443, "::1"},
        {"[::ffff:1.2.3.4]:443", "1.2.3.4:443", "", "1.2.3.4", "1.2.3.4:443", "", 443, "1.2.3.4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(METHOD_CONNECT, &rows[i]);
}

static void other_forms(void **state)
{
    struct url url;

    (void)state;
    assert_int_equal(parse(METHOD_GET, BT_STR("/x?y"), &url), FAULT_NONE);
    assert_int_equal(url.form, URL_ORIGIN);
    assert_str(url.path, "/x?y");
    assert_str(url.text, "/x?y");
    assert_str(url.host, "");
    assert_int_equal(url.port, 0);
    assert_false(url.host_is_addr);
    assert_int_equal(parse(METHOD_GET, BT_STR("//a/x"), &url), FAULT_NONE);
    assert_int_equal(url.form, URL_ORIGIN); /* a path that looks like an authority */
    assert_int_equal(parse(METHOD_OPTIONS, BT_STR("*"), &url), FAULT_NONE);
    assert_int_equal(url.form, URL_ASTERISK);
    assert_str(url.path, "*");
    assert_int_equal(parse(METHOD_OPTIONS, BT_STR("http://a:81"), &url), FAULT_NONE);
    assert_str(url.path, "*");
    assert_str(url.text, "http://a:81/");
    assert_int_equal(parse(METHOD_OPTIONS, BT_STR("http://a/"), &url), FAULT_NONE);
    assert_str(url.path, "/");
    assert_int_equal(parse(METHOD_OPTIONS, BT_STR("http://a?"), &url), FAULT_NONE);
    assert_str(url.path, "/?");
}

static void user_information(void **state)
{
    struct url url;

    (void)state;
    assert_int_equal(parse(METHOD_GET, BT_STR("http://me:secret@a/"), &url), FAULT_NONE);
    assert_str(url.userinfo, "me:secret");
    assert_int_equal(str_find(url.text, BT_STR("secret")), -1);
    assert_int_equal(parse(METHOD_GET, BT_STR("http://a/me@b"), &url), FAULT_NONE);
    assert_null(url.userinfo.at);
}

/* What is as it should be costs no memory. */
static void slices(void **state)
{
    bt_str target = BT_STR("http://www.example.com:8080/x");
    size_t used = arena->used;
    char *next = arena->next;
    struct url url;

    (void)state;
    assert_int_equal(url_parse(arena, METHOD_GET, target, &url), FAULT_NONE);
    assert_ptr_equal(url.text.at, target.at);
    assert_ptr_equal(url.host.at, target.at + 7);
    assert_int_equal(arena->used, used);
    assert_int_equal(url_parse(arena, METHOD_GET, BT_STR("http://[2001:db8::1]:1/"), &url),
                     FAULT_NONE);
    assert_int_equal(url_parse(arena, METHOD_CONNECT, BT_STR("[::1]:443"), &url), FAULT_NONE);
    assert_int_equal(url_parse(arena, METHOD_GET, BT_STR("http://10.2.3.255/"), &url), FAULT_NONE);
    assert_ptr_equal(arena->next, next);
    /* Without an arena the fault is still told, and nothing points to a dead stack. */
    assert_int_equal(url_parse(NULL, METHOD_GET, BT_STR("http://A/"), &url), FAULT_NONE);
    assert_int_equal(url.host.len + url.text.len + url.authority.len, 0);
    assert_int_equal(url_parse(NULL, METHOD_GET, BT_STR("http://A/#"), &url), FAULT_FRAGMENT);
}

#define ROW(method, fault, text)                                                                   \
    {                                                                                              \
        METHOD_##method, FAULT_##fault, text, sizeof(text) - 1                                     \
    }

static const struct {
    enum method method;
    enum head_fault fault;
    const char *text;
    size_t len;
} bad_targets[] = {
    ROW(GET, TARGET, ""),
    ROW(GET, TARGET, "a"),
    ROW(GET, TARGET, "a:80"),
    ROW(GET, TARGET, "a/b"),
    ROW(GET, TARGET, "http:/a/"),
    ROW(GET, TARGET, "http:a"),
    ROW(GET, TARGET, "http//a/"),
    ROW(GET, TARGET, "://a/"),
    ROW(GET, TARGET, "1http://a/"),
    ROW(GET, TARGET, "ht_tp://a/"),
    ROW(GET, TARGET, "urn:isbn:1"),
    ROW(GET, TARGET, "?x"),
    ROW(GET, TARGET, "**"),
    ROW(GET, TARGET_FORM, "*"),
    ROW(GET, TARGET_BYTE, "/a b"),
    ROW(GET, TARGET_BYTE, "/a\tb"),
    ROW(GET, TARGET_BYTE, "/a\r\nX: y"),
    ROW(GET, TARGET_BYTE, "/\0"),
    ROW(GET, TARGET_BYTE, "/\x7f"),
    ROW(GET, TARGET_BYTE, "http://a/ "),
    ROW(GET, TARGET_BYTE, "http://a/12345678\x01"),
    ROW(GET, TARGET_HOST, "http://a b/"),
    ROW(GET, TARGET_HOST, "http://a\0b/"),
    ROW(GET, TARGET_HOST, "http:///x"),
    ROW(GET, TARGET_HOST, "http://"),
    ROW(GET, TARGET_HOST, "http://:80/"),
    ROW(GET, TARGET_HOST, "http://u@/"),
    ROW(GET, TARGET_HOST, "http://./"),
    ROW(GET, TARGET_HOST, "http://../"),
    ROW(GET, TARGET_HOST, "http://.a/"),
    ROW(GET, TARGET_HOST, "http://a../"),
    ROW(GET, TARGET_HOST, "http://a..b/"),
    ROW(GET, TARGET_HOST, "http://a%2eb/"),
    ROW(GET, TARGET_HOST, "http://%61/"),
    ROW(GET, TARGET_HOST, "http://a,b/"),
    ROW(GET, TARGET_HOST, "http://a\\b/"),
    ROW(GET, TARGET_HOST, "http://\xc3\xa4/"),
    ROW(GET, TARGET_HOST, "http://a!/"),
    ROW(GET, TARGET_HOST, "http://[::1/"),
    ROW(GET, TARGET_HOST, "http://[]/"),
    ROW(GET, TARGET_HOST, "http://[[::1]]/"),
    ROW(GET, TARGET_HOST, "http://[::1]x/"),
    ROW(GET, TARGET_HOST, "http://[1.2.3.4]/"),
    ROW(GET, TARGET_HOST, "http://[v1.a:b]/"),
    ROW(GET, TARGET_HOST, "http://[fe80::1%25eth0]/"),
    ROW(GET, TARGET_HOST, "http://[::g]/"),
    ROW(GET, TARGET_HOST, "http://::1/"),
    ROW(GET, TARGET_HOST, "http://4294967296/"),
    ROW(GET, TARGET_HOST, "http://256.0.0.1/"),
    ROW(GET, TARGET_HOST, "http://1.2.3.4.5/"),
    ROW(GET, TARGET_HOST, "http://0x1ffffffff/"),
    ROW(GET, TARGET_PORT, "http://a:0/"),
    ROW(GET, TARGET_PORT, "http://a:65536/"),
    ROW(GET, TARGET_PORT, "http://a:000080/"),
    ROW(GET, TARGET_PORT, "http://a:8o/"),
    ROW(GET, TARGET_PORT, "http://a:+80/"),
    ROW(GET, TARGET_PORT, "http://a:80:80/"),
    ROW(GET, TARGET_HOST, "http://u@v@a/"),
    ROW(GET, TARGET_USER, "http://u%4@a/"),
    ROW(GET, TARGET_USER, "http://u%zz@a/"),
    ROW(GET, TARGET_USER, "http://u%z4@a/"),
    ROW(GET, TARGET_USER, "http://u%4z@a/"),
    ROW(GET, TARGET_USER, "http://good.example\\@evil.example/"),
    ROW(GET, TARGET_USER, "http://u\0@a/"),
    ROW(GET, TARGET_USER, "http://u v@a/"),
    ROW(GET, FRAGMENT, "/a#b"),
    ROW(GET, FRAGMENT, "http://a/#"),
    ROW(GET, FRAGMENT, "http://a#b"),
    ROW(CONNECT, TARGET, ""),
    ROW(CONNECT, TARGET_FORM, "/"),
    ROW(CONNECT, TARGET_FORM, "http://a:80/"),
    ROW(CONNECT, TARGET_FORM, "a:443/"),
    ROW(CONNECT, TARGET_PORT, "a"),
    ROW(CONNECT, TARGET_PORT, "a:"),
    ROW(CONNECT, TARGET_PORT, "a:0"),
    ROW(CONNECT, TARGET_PORT, "a:65536"),
    ROW(CONNECT, TARGET_PORT, "a:443?"),
    ROW(CONNECT, TARGET_PORT, "a:443#"),
    ROW(CONNECT, TARGET_USER, "u@a:443"),
    ROW(CONNECT, TARGET_HOST, "*"),
    ROW(CONNECT, TARGET_HOST, ":443"),
    ROW(CONNECT, TARGET_HOST, "::1:443"),
    ROW(CONNECT, TARGET_HOST, "[fe80::1%eth0]:443"),
};

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_targets / sizeof *bad_targets; i++) {
        struct url url;
        enum head_fault fault = parse(bad_targets[i].method,
                                      (bt_str){bad_targets[i].text, bad_targets[i].len}, &url);

        if (fault != bad_targets[i].fault)
            fail_msg("row %zu «%s»: %s", i, bad_targets[i].text, head_fault_name(fault));
    }
}

static void lengths(void **state)
{
    static char text[HEAD_TARGET_MAX + 2];
    struct url url;

    (void)state;
    memset(text, 'a', sizeof text);
    text[0] = '/';
    assert_int_equal(url_parse(arena, METHOD_GET, (bt_str){text, HEAD_TARGET_MAX}, &url),
                     FAULT_NONE);
    assert_int_equal(url_parse(arena, METHOD_GET, (bt_str){text, HEAD_TARGET_MAX + 1}, &url),
                     FAULT_TARGET_LONG);
    memcpy(text, "http://", 7);
    text[7 + 253] = '/';
    assert_int_equal(url_parse(arena, METHOD_GET, (bt_str){text, 300}, &url), FAULT_NONE);
    text[7 + 253] = 'a';
    text[7 + 254] = '/';
    assert_int_equal(url_parse(arena, METHOD_GET, (bt_str){text, 300}, &url), FAULT_TARGET_HOST);
}

static void completed(void **state)
{
    struct url url;

    (void)state;
    assert_int_equal(url_parse(arena, METHOD_GET, BT_STR("/x?y"), &url), FAULT_NONE);
    assert_int_equal(url_complete(arena, BT_STR("http"), BT_STR("A.example:8080"), &url),
                     FAULT_NONE);
    assert_int_equal(url.form, URL_ORIGIN);
    assert_str(url.text, "http://a.example:8080/x?y");
    assert_str(url.host, "a.example");
    assert_str(url.authority, "a.example:8080");
    assert_str(url.path, "/x?y");
    assert_str(url.scheme, "http");
    assert_int_equal(url.port, 8080);
    assert_int_equal(url_parse(arena, METHOD_OPTIONS, BT_STR("*"), &url), FAULT_NONE);
    assert_int_equal(url_complete(arena, BT_STR("https"), BT_STR("[::1]:443"), &url), FAULT_NONE);
    assert_str(url.text, "https://[::1]/");
    assert_str(url.path, "*");
    assert_int_equal(url.port, 443);
    assert_true(url.host_is_addr);
    assert_int_equal(url_complete(arena, BT_STR("http"), BT_STR(""), &url), FAULT_HOST_BAD);
    assert_int_equal(url_complete(arena, BT_STR("http"), BT_STR("a b"), &url), FAULT_HOST_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absolute),    cmocka_unit_test(connect_form),
        cmocka_unit_test(other_forms), cmocka_unit_test(user_information),
        cmocka_unit_test(slices),      cmocka_unit_test(refused),
        cmocka_unit_test(lengths),     cmocka_unit_test(completed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
