/* test_cache_vary.c - which fields select a response, and the key that they make of a request.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "cache_kit.h"

#include "cache/vary.c"

static void names(void **state)
{
    static const struct {
        const char *reply;
        enum vary_is is;
        const char *text;
    } rows[] = {
        {"X: y", VARY_NONE, ""},
        {"Vary:", VARY_NONE, ""},
        {"Vary: , ,", VARY_NONE, ""},
        {"Vary: Foo", VARY_FIELDS, "foo"},
        {"vary: foo", VARY_FIELDS, "foo"},
        {"Vary: Foo, Bar", VARY_FIELDS, "bar,foo"},
        {"Vary: Bar,Foo", VARY_FIELDS, "bar,foo"},
        {"Vary: Foo\nVary: Bar, Baz", VARY_FIELDS, "bar,baz,foo"},
        {"Vary: Foo, foo, FOO, Bar, bar", VARY_FIELDS, "bar,foo"},
        {"Vary: ab, a, abc, A-B", VARY_FIELDS, "a,a-b,ab,abc"},
        {"Vary: b, a, c, ab, aa, ac, a", VARY_FIELDS, "a,aa,ab,ac,b,c"},
        {"Vary: Accept-Encoding,, \tAccept-Language ,", VARY_FIELDS,
         "accept-encoding,accept-language"},
        {"Vary: *", VARY_ANY, NULL},
        {"Vary: *, *", VARY_ANY, NULL},
        {"Vary: *\nVary: *", VARY_ANY, NULL},
        {"Vary: , *", VARY_ANY, NULL},
        {"Vary:\nVary: *", VARY_ANY, NULL},
        {"Vary: *, Foo", VARY_ANY, NULL},
        {"Vary: Foo, *", VARY_ANY, NULL},
        {"Vary: Foo, x-forwarded-for", VARY_ANY, NULL},
        {"Vary: Foo\nVary: Bar\nVary: *", VARY_ANY, NULL},
        {"Vary: Foo Bar", VARY_ANY, NULL},
        {"Vary: Foo; Bar", VARY_ANY, NULL},
        {"Vary: \"Foo\"", VARY_ANY, NULL},
        {"Vary: \"Foo, *", VARY_ANY, NULL},
        {"Vary: F\xc3\xb6", VARY_ANY, NULL},
        {"Vary: **", VARY_FIELDS, "**"}, /* a token like others */
        {"Vary: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", VARY_FIELDS, "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"},
        {"Vary: p,o,n,m,l,k,j,i,h,g,f,e,d,c,b,a,a,b", VARY_FIELDS,
         "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"},
        {"Vary: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", VARY_ANY, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields reply = KIT(rows[i].reply);
        struct vary v, back;
        bt_str text;

        if (vary_read(&v, &reply) != rows[i].is)
            fail_msg("«%s» is not %d", rows[i].reply, rows[i].is);
        if (rows[i].text == NULL)
            continue;
        text = vary_text(kit_arena(), &v);
        assert_str(text, rows[i].text);
        assert_int_equal(vary_parse(&back, text), rows[i].is);
        assert_str(vary_text(kit_arena(), &back), rows[i].text);
    }
}

static void long_names(void **state)
{
    static char text[2100];
    const char *reply = text;
    struct fields f = KIT(reply);
    struct vary v;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "Vary: ", 6);
    assert_int_equal(vary_read(&v, &f), VARY_ANY);
    text[6 + VARY_BYTES] = '\0';
    assert_int_equal(vary_read(&v, &f), VARY_ANY);
    text[6 + VARY_BYTES - 1] = '\0';
    assert_int_equal(vary_read(&v, &f), VARY_FIELDS);
}

static void keys(void **state)
{
    static const struct {
        const char *vary, *request, *key;
    } rows[] = {
        {"Foo", "Foo: 1", "foo=1\n"},
        {"Foo", "FOO: 1\nOther: 2", "foo=1\n"},
        {"Foo", "", "foo\n"},
        {"Foo", "Foo:", "foo=\n"},
        {"Foo, Bar", "Foo: 1\nBar: abc", "bar=abc\nfoo=1\n"},
        {"Foo, Bar", "Bar: abc", "bar=abc\nfoo\n"},
        /* several lines, blanks around commas, empty members (RFC 9111 4.1) */
        {"Foo", "Foo: 1, 2", "foo=1,2\n"},
        {"Foo", "Foo: 1,2", "foo=1,2\n"},
        {"Foo", "Foo:  1 ,\t2 ", "foo=1,2\n"},
        {"Foo", "Foo: 1\nFoo: 2", "foo=1,2\n"},
        {"Foo", "Foo: 1,,2,", "foo=1,2\n"},
        {"Foo", "Foo:\nFoo: 2", "foo=2\n"},
        {"Foo", "Foo: 2, 1", "foo=2,1\n"},
        {"Foo", "Foo: A b", "foo=A b\n"},
        {"Foo", "Foo: \"a, b\" , c", "foo=\"a, b\",c\n"},
        {"Foo", "Foo: a\tb", "foo=a b\n"},
        /* encodings: case, blanks, order */
        {"Accept-Encoding", "Accept-Encoding: gzip, br", "accept-encoding=br,gzip\n"},
        {"Accept-Encoding", "Accept-Encoding: br,GZIP", "accept-encoding=br,gzip\n"},
        {"Accept-Encoding", "Accept-Encoding: gzip ; q=1.0, br;Q=0.5",
         "accept-encoding=br;q=0.5,gzip;q=1.0\n"},
        {"Accept-Encoding", "Accept-Encoding: zstd\nAccept-Encoding: gzip, br, deflate",
         "accept-encoding=br,deflate,gzip,zstd\n"},
        {"Accept-Encoding", "Accept-Encoding: gzip, gz, g, gzipx, gzip",
         "accept-encoding=g,gz,gzip,gzip,gzipx\n"},
        {"Accept-Encoding", "Accept-Encoding: c, b, a, d, b", "accept-encoding=a,b,b,c,d\n"},
        {"Accept-Encoding", "Accept-Encoding:", "accept-encoding=\n"},
        {"Accept-Encoding", "", "accept-encoding\n"},
        /* languages: case and blanks, but the order stays */
        {"Accept-Language", "Accept-Language: eN ,  De", "accept-language=en,de\n"},
        {"Accept-Language", "Accept-Language: de, en; q=0.5", "accept-language=de,en;q=0.5\n"},
        /* no lists */
        {"User-Agent", "User-Agent: X (KHTML, like  Gecko)", "user-agent=X (KHTML, like  Gecko)\n"},
        {"Cookie", "Cookie: a=1, b", "cookie=a=1, b\n"},
        {"Cookie", "Cookie: a\nCookie: b", "cookie=a,b\n"},
        {"Origin", "Origin: http://A", "origin=http://A\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fields request = KIT(rows[i].request);
        struct vary v;

        assert_int_equal(vary_parse(&v, str_from(rows[i].vary)), VARY_FIELDS);
        assert_str(vary_key(kit_arena(), &v, &request), rows[i].key);
    }
}

static bt_str nasty_get(void *of, bt_str name, size_t n)
{
    (void)of;
    (void)name;
    return n == 0 ? BT_STR("1\nbar=2") : BT_STR_NONE;
}

/* Nobody makes a key of one field look like that of two. */
static void no_line_ends(void **state)
{
    struct fields request = {nasty_get, NULL, NULL};
    struct vary v;

    (void)state;
    assert_int_equal(vary_parse(&v, BT_STR("foo")), VARY_FIELDS);
    assert_str(vary_key(kit_arena(), &v, &request), "foo=1 bar=2\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names),
    cmocka_unit_test(long_names),
    cmocka_unit_test(keys),
    cmocka_unit_test(no_line_ends),
};
UNIT_MAIN(tests)
