/* test_format.c - format strings: parsing, encodings, widths, complaints, the price of a line.
 *
 * What each encoding makes of a text is what Squid made of it, byte for byte.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <netinet/in.h>
#include <time.h>

#include "base/arena.h"
#include "conf/complain.h"
#include "plug/field.h"
#include "plug/format.h"
#include "plug/registry.h"
#include "unit.h"

static bt_str value; /* of the field `text`, and of each header */
static bt_str seen_arg;

static bool get_text(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    seen_arg = arg;
    *out = (struct bt_value){.kind = BT_TEXT, .text = value};
    return value.at != NULL;
}

static bool get_url(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    *out = (struct bt_value){.kind = BT_TEXT,
                             .text = BT_STR("http://www.example.com/some/path/to/page.html?")};
    return true;
}

static bool get_status(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    *out = (struct bt_value){.kind = BT_INT, .num = 200};
    return true;
}

static bool get_method(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    *out = (struct bt_value){.kind = BT_TEXT, .text = BT_STR("GET")};
    return true;
}

static struct sockaddr_in client = {.sin_family = AF_INET};
static bool get_addr(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    *out = (struct bt_value){.kind = BT_ADDR, .addr = (struct sockaddr *)&client};
    return true;
}

static bool get_nothing(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    (void)out;
    return false;
}

#define ROW(its_name, its_codes, phase, its_get)                                                   \
    {                                                                                              \
        .name = its_name, .codes = its_codes, .doc = "A field.", .earliest = phase, .get = its_get \
    }
static const struct bt_field fields[] = {
    ROW("x.text", "un mt tl tr ts tu rv <st Ss Sh", BT_AT_REQUEST, get_text),
    ROW("x.url", "ru", BT_AT_REQUEST, get_url),
    ROW("x.header", ">h >ru", BT_AT_REQUEST, get_text),
    ROW("x.status", ">Hs", BT_AT_RESPONSE, get_status),
    ROW("x.method", "rm", BT_AT_REQUEST, get_method),
    ROW("x.addr", ">a <a", BT_AT_ACCEPT, get_addr),
    ROW("x.nothing", "ul", BT_AT_ACCEPT, get_nothing),
};
static struct bt_self self;
static const struct bt_module module = {
    .name = "x", .doc = "Fields.", .self = &self, .fields = BT_ROWS(fields)};

static struct bt_arena *arena;
static struct bt_error err;
static struct registry *registry;

static int begin(void **state)
{
    (void)state;
    arena = arena_new(65536);
    complain_init(&err, arena);
    registry = registry_new(arena);
    client.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    value = BT_STR("text");
    return registry_add(registry, &module, NULL, &err) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

static const char *rendered(const char *text)
{
    static char line[1000];
    struct format *format = format_compile(registry, NULL, str_from(text), arena, &err);

    if (format == NULL)
        fail_msg("%s: %s", text, err.list[err.n - 1].text);
    line[format_render(format, NULL, line, sizeof line - 1)] = '\0';
    return line;
}

static void syntax(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"100%% [x] \"y\" 'z' %rm", "100% [x] \"y\" 'z' GET"},
        {"a%rm%%b", "aGET%b"},
        {"%rm%>Hs%rm", "GET200GET"},
        {"{\"m\":\"%rm\",\"s\":%>Hs}", "{\"m\":\"GET\",\"s\":200}"},
        {"%http::rm %x.method %x.addr.", "GET GET 127.0.0.1."},
        {"%>a:%>Hs %>a_", "127.0.0.1:200 127.0.0.1_"},
        {"%rmx %rm2", "GETx GET2"},
        {"%byte{65}%{66}byte|%byte{9}", "AB|\t"},
        {"%ul %6ul %-6ul %06ul", "- - - -"},
        {"%>handshake %ssl::>sni", "- -"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(rendered(cases[i][0]), cases[i][1]);
}

static void arguments(void **state)
{
    (void)state;
    rendered("%{User-Agent}>h");
    assert_str(seen_arg, "User-Agent");
    rendered("%>h{X-Multi:;b}");
    assert_str(seen_arg, "X-Multi:;b");
    rendered("%-10.3{A}>h");
    assert_str(seen_arg, "A");
    rendered("%>h");
    assert_null(seen_arg.at);
    assert_string_equal(rendered("%{A}>h{b}"), "text{b}");
}

static void widths(void **state)
{
    static const char *const cases[][2] = {
        {"(%10rm)", "(       GET)"},   {"(%-10rm)", "(GET       )"}, {"(%2rm)", "(GET)"},
        {"(%.2rm)", "(GE)"},           {"(%6.2rm)", "(    GE)"},     {"(%-6.2rm)", "(GE    )"},
        {"(%010>Hs)", "(0000000200)"}, {"(%10>Hs)", "(       200)"}, {"(%-10>Hs)", "(200       )"},
        {"(%03>Hs)", "(200)"},         {"(%05rm)", "(  GET)"},       {"(%12>a)", "(   127.0.0.1)"},
        {"(%.2>Hs)", "(20)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(rendered(cases[i][0]), cases[i][1]);
    value = BT_STR("a \"b\" c");
    assert_string_equal(rendered("(%\"15{A}>h)"), "(      a \\\"b\\\" c)");
    assert_string_equal(rendered("(%[.5{A}>h)"), "(a \"b\")");
    assert_string_equal(rendered("(%\"-20{A}>h)"), "(a \\\"b\\\" c           )");
    assert_string_equal(rendered("(%#.4{A}>h)"), "(a%20)");
}

/* For each text: without, ", [, #, /, ' and between quotes; as a header and as plain text. */
static void encodings(void **state)
{
    static const char *const cases[][8] = {
        {"plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain"},
        {"q \" and \\", "q%20%22%20and%20%5C", "q \\\" and \\\\", "q \" and \\\\",
         "q%20%22%20and%20%5C", "\"q \\\" and \\\\\"", "q \" and \\", "q \" and \\"},
        {"tab\there", "tab%09here", "tab\\there", "tab%09here", "tab%09here", "tab\there",
         "tab\there", "tab\there"},
        {"[b] 100% %41", "%5Bb%5D%20100%%20%41", "[b] 100% %41", "%5bb%5d 100%25 %2541",
         "%5Bb%5D%20100%25%20%2541", "\"[b] 100% %41\"", "[b] 100% %41", "[b] 100% %41"},
        {"caf\xe9 \xff", "caf%E9%20%FF", "caf\xe9 \xff", "caf%e9 %ff", "caf%E9%20%FF",
         "\"caf\xe9 \xff\"", "caf\xe9 \xff", "caf\xe9 \xff"},
        {"it's `x`", "it%27s%20%60x%60", "it's `x`", "it's `x`", "it%27s%20%60x%60", "\"it's `x`\"",
         "it's `x`", "it's `x`"},
        {"del\x7f", "del%7F", "del\x7f", "del%7f", "del%7F", "del\x7f", "del\x7f", "del\x7f"},
        {"a|b^c{d}<e>~#", "a%7Cb%5Ec%7Bd%7D%3Ce%3E%7E%23", "a|b^c{d}<e>~#", "a|b^c{d}<e>~#",
         "a%7Cb%5Ec%7Bd%7D%3Ce%3E%7E%23", "a|b^c{d}<e>~#", "a|b^c{d}<e>~#", "a|b^c{d}<e>~#"},
        /* No encoding lets a line end pass. */
        {"a\r\nb", "a%0D%0Ab", "a\\r\\nb", "a\\r\\nb", "a%0D%0Ab", "a\\r\\nb", "a\\r\\nb",
         "a\\r\\nb"},
    };
    static const char *const formats[] = {"%>h", "%\">h", "%[>h", "%#>h", "%/>h", "%'>h", "%un"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        value = str_from(cases[i][0]);
        for (size_t j = 0; j < 7; j++)
            assert_string_equal(rendered(formats[j]), cases[i][j + 1]);
    }
    value = BT_STR("say \"[hi]\"");
    assert_string_equal(rendered("\"%>h\" %>h"), "\"say \\\"[hi]\\\"\" say%20%22%5Bhi%5D%22");
    assert_string_equal(rendered("[%>h] %un"), "[say \"%5bhi%5d\"] say \"[hi]\"");
    assert_string_equal(rendered("\"%\"un\",\"%un\""), "\"say \\\"[hi]\\\"\",\"say \\\"[hi]\\\"\"");
    value = BT_STR("");
    assert_string_equal(rendered("%>h %un %6un"), "- - -");
}

static void room(void **state)
{
    char line[12];

    (void)state;
    value = BT_STR("a\"b\"c");
    for (size_t cap = 0; cap < sizeof line; cap++) {
        struct format *format = format_compile(registry, NULL, BT_STR("%\"un%8rm%/un%010>Hs%-9rm"),
                                               arena, &err);
        memset(line, '#', sizeof line);
        size_t len = format_render(format, NULL, line, cap);
        assert_true(len <= cap);
        for (size_t i = cap; i < sizeof line; i++)
            assert_int_equal(line[i], '#');
    }
}

/* The last complaint about a text that stands in column 11 of a file, and its column. */
static const char *complaint(const char *text, uint32_t *column)
{
    struct bt_word word = {
        .text = bt_str_copy(arena, str_from(text)), .file = "test.conf", .line = 1, .column = 11};
    size_t before = err.n;

    assert_null(format_compile(registry, &word, word.text, arena, &err));
    assert_true(err.n > before);
    *column = err.list[before].column;
    return err.list[before].text;
}

static void complaints(void **state)
{
    uint32_t column;
    size_t warnings;

    (void)state;
    assert_non_null(strstr(complaint("%rm %xyzzy", &column), "xyzzy"));
    assert_int_equal(column, 16);
    assert_non_null(strstr(complaint("%Hss", &column), "Hss"));
    assert_non_null(strstr(complaint("%x.methud", &column), "x.method"));
    assert_non_null(strstr(complaint("a %{b>h", &column), "never closed"));
    assert_int_equal(column, 14);
    assert_non_null(strstr(complaint("a %", &column), "%%"));
    assert_non_null(strstr(complaint("a % b", &column), "%%"));
    assert_non_null(strstr(complaint("%byte{256}", &column), "1 to 255"));
    assert_non_null(strstr(complaint("%byte{0}", &column), "1 to 255"));
    assert_non_null(strstr(complaint("%99999rm", &column), "65535"));
    size_t before = err.n;
    complaint("%xyz %rm %abc", &column); /* both are told */
    assert_int_equal(err.n, before + 2);
    warnings = err.warnings;
    rendered("%ssl::bump_mode");
    assert_int_equal(err.warnings, warnings + 1);
}

static void knows_its_fields(void **state)
{
    struct format *format = format_compile(registry, NULL, BT_STR("%>a %rm"), arena, &err);

    (void)state;
    assert_int_equal(format_earliest(format), BT_AT_REQUEST);
    assert_true(format_asks(format, BT_STR("x.addr")));
    assert_false(format_asks(format, BT_STR("x.status")));
    format = format_compile(registry, NULL, BT_STR("%>a %>Hs %rm"), arena, &err);
    assert_int_equal(format_earliest(format), BT_AT_RESPONSE);
    bt_str arg;
    assert_ptr_equal(field_by_name(registry, BT_STR("x.header[Host]"), &arg), &fields[2]);
    assert_str(arg, "Host");
    assert_ptr_equal(field_by_name(registry, BT_STR("x.method"), &arg), &fields[4]);
    assert_null(arg.at);
    assert_null(field_by_name(registry, BT_STR("x.header[Host"), &arg));
    assert_null(field_by_name(registry, BT_STR("x.other"), &arg));
}

static void presets(void **state)
{
    static const char *const names[] = {"squid", "common", "combined", "referrer", "useragent"};
    char line[1000];
    struct timespec from, to;
    struct format *format;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(
            format_compile(registry, NULL, format_preset(str_from(names[i])), arena, &err));
    assert_null(format_preset(BT_STR("squids")).at);
    value = BT_STR("TCP_MISS");
    format = format_compile(registry, NULL, format_preset(BT_STR("squid")), arena, &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int i = 0; i < 200000; i++)
        assert_true(format_render(format, NULL, line, sizeof line) > 100);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    print_message("# squid preset: %.0f ns a line\n",
                  ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
                      200000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
static const struct CMUnitTest tests[] = {
    TEST(syntax), TEST(arguments),  TEST(widths),  TEST(encodings),
    TEST(room),   TEST(complaints), TEST(presets), TEST(knows_its_fields)};
UNIT_MAIN(tests)
