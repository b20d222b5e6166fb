/* test_acl_regex.c - patterns over URL, path, host and headers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "acl/acl_regex.c"

#include "type_fake.h"

static enum bt_match url(const char *patterns, const char *text)
{
    struct bt_txn txn = {.url = str_from(text)};
    return asked("url_regex", patterns, &txn);
}

static void urls(void **state)
{
    (void)state;
    assert_int_equal(url("^http://ads", "http://ads.example.com/"), BT_YES);
    assert_int_equal(url("^http://ads", "http://www.example.com/http://ads"), BT_NO);
    assert_int_equal(url("nothing /b$", "http://a/b"), BT_YES); /* one of several */
    assert_int_equal(url("/Mixed$", "http://a/mixed"), BT_NO);
    assert_int_equal(url("-i /Mixed$", "http://a/mixed"), BT_YES);
    assert_int_equal(url("-i /First$ +i /Second$", "http://a/second"), BT_NO);
    assert_int_equal(url("-i /First$ +i /Second$", "http://a/FIRST"), BT_YES);
    assert_int_equal(url("+i /First$ -i /second$", "http://a/SECOND"), BT_YES);
    assert_int_equal(url(":443$", "www.example.com:443"), BT_YES); /* CONNECT */
}

/* One level of escapes is undone, when all of them are good. */
static void escapes(void **state)
{
    (void)state;
    assert_int_equal(url("/ads$", "http://a/%61ds"), BT_YES);
    assert_int_equal(url("/sp.ace$", "http://a/sp%20ace"), BT_YES);
    assert_int_equal(url("/per%25cent$", "http://a/per%2525cent"), BT_YES);
    assert_int_equal(url("/100%$", "http://a/100%25"), BT_YES);
    assert_int_equal(url("/ads%4$", "http://a/%61ds%4"), BT_NO);
    assert_int_equal(url("/%61ds%4$", "http://a/%61ds%4"), BT_YES);
    assert_int_equal(url("/%61ds%zz$", "http://a/%61ds%zz"), BT_YES);
}

static void paths(void **state)
{
    struct bt_txn txn = {.path = BT_STR("/a%2Fb?c=d")};

    (void)state;
    assert_int_equal(asked("urlpath_regex", "^/a/b\\?c=d$", &txn), BT_YES);
    assert_int_equal(asked("urlpath_regex", "^/b", &txn), BT_NO);
    txn.path = BT_STR_NONE; /* CONNECT */
    assert_int_equal(asked("urlpath_regex", "^", &txn), BT_NO);
}

static void hosts(void **state)
{
    struct bt_txn txn = {.name = BT_STR("cdn-1.example.net"), .reversed = BT_NO};

    (void)state;
    assert_int_equal(asked("dstdom_regex", "(^|\\.)cdn[.-]", &txn), BT_YES);
    assert_int_equal(asked("dstdom_regex", "-i ^CDN", &txn), BT_YES);
    assert_int_equal(asked("dstdom_regex", "-n -i ^CDN", &txn), BT_YES);
    assert_int_equal(asked("dstdom_regex", "^none$", &txn), BT_NO);
    txn.name = BT_STR("192.0.2.1");
    txn.host_is_addr = true;
    assert_int_equal(asked("dstdom_regex", "^192\\.", &txn), BT_YES);
    assert_int_equal(asked("dstdom_regex", "^none$", &txn), BT_YES);
    assert_int_equal(asked("dstdom_regex", "-n ^none$", &txn), BT_NO);
    txn.reversed = BT_WAIT;
    assert_int_equal(asked("dstdom_regex", "^www", &txn), BT_WAIT);
    txn.reversed = BT_YES;
    txn.reverse = BT_STR("www.example.com");
    assert_int_equal(asked("dstdom_regex", "^www", &txn), BT_YES);
}

static void headers(void **state)
{
    static const char *const header[] = {"User-Agent",   "Tool/1.2",      "Referer", "http://x/",
                                         "X-Key",        "beta",          "x-key",   "gamma",
                                         "Content-Type", "text/csv; q=1", NULL};
    struct bt_txn txn = {.header = header};

    (void)state;
    assert_int_equal(asked("browser", "^Tool/[0-9]+\\.[0-9]+$", &txn), BT_YES);
    assert_int_equal(asked("browser", "^tool", &txn), BT_NO);
    assert_int_equal(asked("referer_regex", "-i ^HTTP://x", &txn), BT_YES);
    assert_int_equal(asked("req_mime_type", "^text/(csv|xml)", &txn), BT_YES);
    assert_int_equal(asked("rep_mime_type", "^video", &txn), BT_NO);
    assert_int_equal(asked("req_header", "X-KEY ^(alpha|beta)$", &txn), BT_YES);
    assert_int_equal(asked("req_header", "X-Key ^gamma$", &txn), BT_YES); /* the second field */
    assert_int_equal(asked("req_header", "X-Key -i ^GAMMA$", &txn), BT_YES);
    assert_int_equal(asked("rep_header", "X-Key ^$", &txn), BT_NO);
    assert_int_equal(asked("req_header", "X-None .", &txn), BT_NO);
}

/* A pattern that would hold the worker: it cannot be told, unless another one matches. The back
 * reference keeps it from the automaton, which would not mind. */
static void exploding(void **state)
{
    char text[4000];
    struct bt_txn txn = {.url = {text, sizeof text}};

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 2, "!b", 2);
    assert_int_equal(asked("url_regex", "^((a|aa)*)\\1(a|aa)*b$", &txn), BT_BROKEN);
    assert_int_equal(asked("url_regex", "^((a|aa)*)\\1(a|aa)*b$ !b$", &txn), BT_YES);
    refused("url_regex", "fine (ad", 6, "(ad");
}

/* All ACLs of a type at once; flags end with their line; headers are told apart by name. */
static void together(void **state)
{
    static const char *const header[] = {"X-Key", "beta", "X-Other", "gamma", NULL};
    struct bt_txn txn = {.url = BT_STR("http://ads.example.com/A"), .header = header};

    (void)state;
    assert_string_equal(
        matches(compiled_of("url_regex", "ads", "-i ADS", "ADS", "x", "A$ z"), &txn), "1 2 4 5");
    struct compiled keys = compiled_of("req_header", "X-Key ^b", "x-key ^g", "X-Other ^g",
                                       "X-None .");
    assert_string_equal(matches(keys, &txn), "1 3");

    struct bt_acl_values lines = values_of(1, "-i nothing ADS");
    struct bt_args line[] = {{lines.args.word, 2}, {lines.args.word + 2, 1}};
    lines.line = line;
    lines.lines = 2;
    struct compiled made = {type_of("url_regex"), 1, NULL};
    made.what = made.type->compile_all(&lines, 1, arena, &err);
    assert_string_equal(matches(made, &txn), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, conf_new, conf_free)
    const struct CMUnitTest tests[] = {TEST(urls),    TEST(escapes),   TEST(paths),   TEST(hosts),
                                       TEST(headers), TEST(exploding), TEST(together)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
