/* test_registry.c - rows by name; clashes, take-overs, unsound rows, names that come by supply.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "conf/complain.h"
#include "plug/registry.h"

static struct bt_arena *arena;
static struct bt_error err;
static struct registry *registry;

static int fresh(void **state)
{
    (void)state;
    arena = arena_new(16384);
    complain_init(&err, arena);
    registry = registry_new(arena);
    return 0;
}

static int over(void **state)
{
    (void)state;
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

/* Somebody has complained in these words. */
static bool said(const char *words)
{
    for (size_t i = 0; i < err.n; i++)
        if (strstr(err.list[i].text, words) != NULL)
            return true;
    for (size_t i = 0; i < err.n; i++)
        print_message("said: %s\n", err.list[i].text);
    return false;
}

static bool get(struct bt_txn *txn, bt_str arg, struct bt_value *out)
{
    (void)txn;
    (void)arg;
    (void)out;
    return false;
}
static enum bt_match match(const void *compiled, struct bt_txn *txn)
{
    (void)compiled;
    (void)txn;
    return BT_NO;
}
static void *log_open_(const struct bt_word *place, const struct bt_log_options *options,
                       struct bt_arena *in, struct bt_error *to)
{
    (void)place;
    (void)options;
    (void)in;
    (void)to;
    return NULL;
}
static bool log_write(void *log, const char *lines, size_t len)
{
    (void)log;
    (void)lines;
    (void)len;
    return true;
}

struct conf {
    bool shout;
    bt_str database;
    bt_size room;
};
static struct bt_self geo_self, known_self, other_self;
static const struct bt_directive geo_directives[] = {
    BT_SET_AS(struct conf, database, "path", "geo_database", "none", "The database."),
    BT_SET(struct conf, shout, "geo_shout", "off", "Whether to shout."),
    {.name = "geo_db", .same_as = "geo_database"},
};
static const struct bt_counter geo_counters[] = {
    {"geo.lookups", BT_COUNT, "lookups", "Addresses looked up."}};
static const struct bt_field geo_fields[] = {
    {"geo.country", ">gc geo", "The country.", BT_AT_ACCEPT, get}};
static const struct bt_acl_type geo_acl_types[] = {
    {.name = "country land", .args = "word...", .doc = "The country.", .match = match}};
static const struct bt_log_writer geo_writers[] = {
    {.name = "map", .place = "FILE", .doc = "A map.", .open = log_open_, .write = log_write}};
static const struct bt_module geo = {
    .name = "geo",
    .doc = "Countries.",
    .self = &geo_self,
    .conf_size = sizeof(struct conf),
    .directives = BT_ROWS(geo_directives),
    .counters = BT_ROWS(geo_counters),
    .fields = BT_ROWS(geo_fields),
    .acl_types = BT_ROWS(geo_acl_types),
    .log_writers = BT_ROWS(geo_writers),
};

static const struct bt_directive known_directives[] = {
    {.name = "geo_database", .args = "any", .status = BT_UNBUILT, .doc = "Not yet."},
    {.name = "geo_base", .same_as = "geo_database"},
    {.name = "pinger_enable", .args = "any", .status = BT_IGNORED, .doc = "Not here."},
};
static const struct bt_acl_type known_acl_types[] = {
    {.name = "country", .args = "word...", .status = BT_UNBUILT, .doc = "Not yet."}};
static const struct bt_module known = {
    .name = "known",
    .doc = "Names.",
    .self = &known_self,
    .directives = BT_ROWS(known_directives),
    .acl_types = BT_ROWS(known_acl_types),
};

static void test_look_ups(void **state)
{
    const struct bt_module *owner;

    (void)state;
    assert_true(registry_add(registry, &geo, "/m/geo.so", &err));
    assert_ptr_equal(registry_directive(registry, BT_STR("geo_shout"), &owner), &geo_directives[1]);
    assert_ptr_equal(owner, &geo);
    assert_ptr_equal(registry_directive(registry, BT_STR("geo_db"), NULL), &geo_directives[0]);
    assert_ptr_equal(registry_find(registry, ROW_DIRECTIVE, BT_STR("geo_db"))->row,
                     &geo_directives[2]);
    assert_ptr_equal(registry_field(registry, BT_STR("geo.country"), NULL), &geo_fields[0]);
    assert_ptr_equal(registry_code(registry, BT_STR(">gc"), NULL), &geo_fields[0]);
    assert_ptr_equal(registry_code(registry, BT_STR("geo"), NULL), &geo_fields[0]);
    assert_ptr_equal(registry_acl_type(registry, BT_STR("land"), NULL), &geo_acl_types[0]);
    assert_ptr_equal(registry_log_writer(registry, BT_STR("map"), NULL), &geo_writers[0]);
    assert_ptr_equal(registry_counter(registry, BT_STR("geo.lookups"), NULL), &geo_counters[0]);
    assert_null(registry_directive(registry, BT_STR("geo_shou"), &owner));
    assert_null(owner);
    assert_null(registry_code(registry, BT_STR(">g"), NULL));
    assert_int_equal(err.n, 0);
}

static void test_modules(void **state)
{
    const struct bt_module *const *modules;

    (void)state;
    assert_true(registry_add(registry, &known, NULL, &err));
    assert_true(registry_add(registry, &geo, "/m/geo.so", &err));
    assert_true(registry_add(registry, &geo, "/m/geo.so", &err)); /* again: nothing happens */
    assert_int_equal(registry_modules(registry, &modules), 2);
    assert_ptr_equal(modules[1], &geo);
    assert_ptr_equal(registry_module(registry, BT_STR("geo")), &geo);
    assert_string_equal(registry_file(registry, &geo), "/m/geo.so");
    assert_null(registry_file(registry, &known));
}

static void test_server_counters(void **state)
{
    static const struct bt_counter mine[] = {
        {"client.requests", BT_COUNT, "requests", "Not mine to count."}};
    static const struct bt_module thief = {
        .name = "thief", .doc = "Takes.", .self = &other_self, .counters = BT_ROWS(mine)};

    (void)state;
    assert_non_null(registry_counter(registry, BT_STR("client.requests"), NULL));
    assert_false(registry_add(registry, &thief, NULL, &err));
    assert_true(said("modules server and thief both provide the counter 'client.requests'"));
}

static void test_clashes(void **state)
{
    static const struct bt_acl_type types[] = {
        {.name = "place land", .args = "word...", .doc = "A place.", .match = match}};
    static const struct bt_module other = {
        .name = "other", .doc = "Places.", .self = &other_self, .acl_types = BT_ROWS(types)};
    static const struct bt_module same = {.name = "geo", .doc = "Again.", .self = &other_self};

    (void)state;
    assert_true(registry_add(registry, &geo, "/m/geo.so", &err));
    assert_false(registry_add(registry, &other, "/m/other.so", &err));
    assert_true(said("modules geo and other both provide the ACL type 'land'"));
    assert_false(registry_add(registry, &same, "/n/geo.so", &err));
    assert_true(said("two modules are named geo: /m/geo.so and /n/geo.so"));
}

/* A name that was only known goes to whoever makes it work, in whatever order the two come. */
static void test_take_over(void **state)
{
    (void)state;
    assert_true(registry_add(registry, &known, NULL, &err));
    assert_int_equal(registry_directive(registry, BT_STR("geo_database"), NULL)->status,
                     BT_UNBUILT);
    assert_true(registry_add(registry, &geo, "/m/geo.so", &err));
    assert_ptr_equal(registry_directive(registry, BT_STR("geo_database"), NULL),
                     &geo_directives[0]);
    assert_ptr_equal(registry_directive(registry, BT_STR("geo_base"), NULL), &geo_directives[0]);
    assert_ptr_equal(registry_acl_type(registry, BT_STR("country"), NULL), &geo_acl_types[0]);
    assert_int_equal(err.n, 0);
}

static void test_take_over_backwards(void **state)
{
    (void)state;
    assert_true(registry_add(registry, &geo, NULL, &err));
    assert_true(registry_add(registry, &known, NULL, &err));
    assert_ptr_equal(registry_directive(registry, BT_STR("geo_database"), NULL),
                     &geo_directives[0]);
    assert_int_equal(err.n, 0);
}

/* ---- rows that are not sound; each is one complaint that names module and row ---- */

#define UNSOUND(member, type, ...)                                                                 \
    static const type member##_rows_[] = {__VA_ARGS__};                                            \
    static const struct bt_module unsound = {.name = "unsound",                                    \
                                             .doc = "Has a mistake.",                              \
                                             .self = &other_self,                                  \
                                             .conf_size = sizeof(struct conf),                     \
                                             .member = BT_ROWS(member##_rows_)};                   \
    assert_false(registry_add(registry, &unsound, "/m/unsound.so", &err))

static void test_no_doc(void **state)
{
    (void)state;
    UNSOUND(directives, struct bt_directive, BT_SET(struct conf, shout, "u_shout", "off", NULL),
            BT_SET(struct conf, room, "u_room", "1 MB", ""));
    assert_true(said("module unsound: directive 'u_shout' has no doc"));
    assert_true(said("module unsound: directive 'u_room' has no doc"));
}

static void test_bad_grammar(void **state)
{
    (void)state;
    UNSOUND(directives, struct bt_directive,
            BT_SET_AS(struct conf, database, "wrod", "u_base", NULL, "A word."));
    assert_true(said("module unsound: directive 'u_base' has the grammar \"wrod\""));
}

static void test_bad_place(void **state)
{
    (void)state;
    UNSOUND(directives, struct bt_directive,
            {.name = "u_far", .args = "word", .doc = "Far.", .offset = sizeof(struct conf)},
            {.name = "u_odd", .args = "int", .doc = "Odd.", .offset = 1},
            {.name = "u_list", .args = "word...", .doc = "Many."});
    assert_true(said("directive 'u_far' fills bytes"));
    assert_true(said("directive 'u_odd' fills a field at byte 1"));
    assert_true(said("directive 'u_list' has the grammar \"word...\", which is not one value"));
}

static void test_bad_alias(void **state)
{
    (void)state;
    UNSOUND(directives, struct bt_directive, {.name = "u_a", .same_as = "u_a"});
    assert_true(said("directive 'u_a' is an alias of nothing"));
}

static void test_bad_counter(void **state)
{
    (void)state;
    UNSOUND(counters, struct bt_counter, {"lookups", BT_COUNT, "lookups", "No group."},
            {"u.time", BT_HISTOGRAM, NULL, "No unit."});
    assert_true(said("counter 'lookups' has no dot"));
    assert_true(said("counter 'u.time' has no unit"));
}

static void test_bad_field(void **state)
{
    (void)state;
    UNSOUND(fields, struct bt_field, {"u.a", NULL, "No get.", BT_AT_ACCEPT, NULL},
            {"u.b", NULL, "No phase.", (enum bt_phase)99, get});
    assert_true(said("field 'u.a' has no .get"));
    assert_true(said("field 'u.b' belongs to phase 99"));
}

static void test_bad_acl_type(void **state)
{
    (void)state;
    UNSOUND(acl_types, struct bt_acl_type, {.name = "u_type", .args = "word...", .doc = "Idle."});
    assert_true(said("ACL type 'u_type' needs either .match or .match_all"));
}

static void test_bad_hook(void **state)
{
    (void)state;
    UNSOUND(hooks, struct bt_hook, {BT_AT_REQUEST, "Nothing to call.", NULL});
    assert_true(said("has no .run"));
}

static void test_twice(void **state)
{
    (void)state;
    UNSOUND(directives, struct bt_directive, BT_SET(struct conf, shout, "u_s", "off", "One."),
            BT_SET(struct conf, shout, "u_s", "on", "Two."));
    assert_true(said("module unsound has the directive 'u_s' twice"));
}

/* ---- supply ---- */

static size_t supplied;
static const char *reason;

static bool supply(void *ctx, enum registry_kind kind, bt_str name)
{
    (void)ctx;
    if (kind != ROW_DIRECTIVE || !bt_str_eq(name, BT_STR("geo_database")) || reason != NULL)
        return false;
    supplied++;
    return registry_add(registry, &geo, "/m/geo.so", &err);
}
static const char *why_not(void *ctx, enum registry_kind kind, bt_str name)
{
    (void)ctx;
    return kind == ROW_DIRECTIVE && bt_str_eq(name, BT_STR("geo_database")) ? reason : NULL;
}
static void names(void *ctx, enum registry_kind kind, void (*each)(void *to, const char *name),
                  void *to)
{
    (void)ctx;
    if (kind == ROW_DIRECTIVE)
        each(to, "geo_database");
}

static void test_supply(void **state)
{
    static const struct registry_supplier supplier = {supply, why_not, names, NULL};

    (void)state;
    supplied = 0;
    reason = NULL;
    assert_true(registry_add(registry, &known, NULL, &err));
    registry_supplier(registry, &supplier);
    assert_null(registry_directive(registry, BT_STR("nothing"), NULL));
    /* The name is known, but who makes it work is better. */
    assert_ptr_equal(registry_directive(registry, BT_STR("geo_database"), NULL),
                     &geo_directives[0]);
    assert_ptr_equal(registry_directive(registry, BT_STR("geo_database"), NULL),
                     &geo_directives[0]);
    assert_int_equal(supplied, 1);
}

static void test_unknown(void **state)
{
    static const struct registry_supplier supplier = {supply, why_not, names, NULL};
    const struct bt_word at = {.text = BT_STR("geo_databse"), .file = "f", .line = 3, .column = 1};

    (void)state;
    reason = "module geo is switched off at f:1";
    registry_supplier(registry, &supplier);
    assert_string_equal(registry_nearest(registry, ROW_DIRECTIVE, at.text), "geo_database");
    assert_false(registry_unknown(registry, ROW_DIRECTIVE, at.text, &at, &err));
    assert_true(said("unknown directive 'geo_databse'; did you mean 'geo_database'?"));
    assert_false(registry_unknown(registry, ROW_DIRECTIVE, BT_STR("geo_database"), &at, &err));
    assert_true(said("module geo is switched off at f:1"));
    registry_supplier(registry, NULL);
    assert_false(registry_unknown(registry, ROW_ACL_TYPE, BT_STR("zzz"), &at, &err));
    assert_true(said("unknown ACL type 'zzz'"));
    assert_int_equal(err.list[0].line, 3);
}

static void test_sorted(void **state)
{
    const struct registry_row *rows;

    (void)state;
    assert_true(registry_add(registry, &known, NULL, &err));
    assert_true(registry_add(registry, &geo, NULL, &err));
    assert_int_equal(registry_rows(registry, ROW_DIRECTIVE, arena, &rows), 5);
    for (size_t i = 1; i < 5; i++)
        assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
    assert_int_equal(registry_rows(registry, ROW_ACL_TYPE, arena, &rows), 2);
    assert_ptr_equal(rows[0].module, &geo);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, fresh, over)
int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_look_ups),     EACH(test_modules),     EACH(test_server_counters),
        EACH(test_clashes),      EACH(test_take_over),   EACH(test_take_over_backwards),
        EACH(test_no_doc),       EACH(test_bad_grammar), EACH(test_bad_place),
        EACH(test_bad_alias),    EACH(test_bad_counter), EACH(test_bad_field),
        EACH(test_bad_acl_type), EACH(test_bad_hook),    EACH(test_twice),
        EACH(test_supply),       EACH(test_unknown),     EACH(test_sorted),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
