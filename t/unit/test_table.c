/* test_table.c - tables keyed by text, lists, suggestions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "base/list.h"
#include "base/suggest.h"
#include "base/table.h"
#include "unit.h"

enum { N = 2000 };

/* Against a plain array: put, replace, remove and find in a long pseudo-random walk. */
static void walk(struct bt_arena *arena)
{
    static char name[N][24];
    static int value[N];
    static bool there[N];
    struct table table;
    uint32_t state = 7, n = 0;

    memset(there, 0, sizeof(there));
    table_init(&table, arena, false);
    for (int i = 0; i < N; i++)
        snprintf(name[i], sizeof(name[i]), "name-%d", i);
    for (int step = 0; step < 60000; step++) {
        state = state * 1664525u + 1013904223u;
        int i = (int)(state >> 8) % N;
        bt_str key = str_from(name[i]);

        if (state >> 31 != 0) {
            assert_ptr_equal(table_put(&table, key, &value[i]), there[i] ? &value[i] : NULL);
            n += !there[i];
            there[i] = true;
        } else {
            assert_ptr_equal(table_remove(&table, key), there[i] ? &value[i] : NULL);
            n -= there[i];
            there[i] = false;
        }
        assert_int_equal(table.n, n);
        int other = (int)(state >> 4) % N;
        assert_ptr_equal(table_find(&table, str_from(name[other])),
                         there[other] ? &value[other] : NULL);
    }
    uint32_t seen = 0, at = 0;
    bt_str key;
    for (int *v; (v = table_walk(&table, &at, &key)) != NULL; seen++) {
        assert_true(there[v - value]);
        assert_str(key, name[v - value]);
    }
    assert_int_equal(seen, n);
    table_fini(&table);
}

static void on_heap_and_arena(void **state)
{
    struct bt_arena *arena = arena_new(65536);

    (void)state;
    walk(NULL);
    walk(arena);
    arena_free(arena);
}

static void ignores_case(void **state)
{
    struct table table;
    int a, b;

    (void)state;
    table_init(&table, NULL, true);
    assert_null(table_find(&table, BT_STR("x")));
    assert_null(table_put(&table, BT_STR("Content-Length"), &a));
    assert_ptr_equal(table_find(&table, BT_STR("content-LENGTH")), &a);
    assert_ptr_equal(table_put(&table, BT_STR("CONTENT-length"), &b), &a);
    assert_null(table_find(&table, BT_STR("content-lengt")));
    assert_int_equal(table.n, 1);
    table_fini(&table);
    for (int c = 0; c < 256; c++) {
        char text[9] = "abcdefgh", lower[9] = "abcdefgh";

        text[3] = (char)c;
        lower[3] = str_lower((char)c);
        assert_true(table_hash_nocase((bt_str){text, 8}) == table_hash((bt_str){lower, 8}));
        assert_true(table_hash_nocase((bt_str){text, 5}) == table_hash((bt_str){lower, 5}));
    }
}

struct item {
    int n;
    struct list_link link;
};

static void lists(void **state)
{
    struct list list;
    struct item item[5] = {{0}};
    char seen[8] = "";
    size_t at = 0;

    (void)state;
    list_init(&list);
    assert_true(list_empty(&list));
    assert_null(list_first(&list));
    list_remove(&item[0].link); /* zero bytes: in no list */
    for (int i = 0; i < 5; i++) {
        item[i].n = i;
        assert_false(list_linked(&item[i].link));
        list_add_tail(&list, &item[i].link);
    }
    LIST_EACH(&list, struct item, link, it) {
        seen[at++] = (char)('0' + it->n);
        if (it->n % 2 == 0)
            list_remove(&it->link);
    }
    assert_string_equal(seen, "01234");
    assert_false(list_linked(&item[0].link));
    list_remove(&item[0].link);
    list_move_tail(&list, &item[1].link);
    assert_ptr_equal(LIST_FIRST(&list, struct item, link), &item[3]);
    assert_ptr_equal(LIST_LAST(&list, struct item, link), &item[1]);
    LIST_EACH(&list, struct item, link, it)
        if (it->n == 3)
            break;
    list_add_head(&list, &item[0].link);
    assert_ptr_equal(LIST_FIRST(&list, struct item, link), &item[0]);
}

static void suggests(void **state)
{
    static const char *const names[] = {"http_access", "http_port", "cache_mem",
                                        "allow",       "deny",      NULL};
    (void)state;
    assert_string_equal(suggest_from(BT_STR("htpp_access"), names), "http_access");
    assert_string_equal(suggest_from(BT_STR("HTTP_PROT"), names), "http_port");
    assert_string_equal(suggest_from(BT_STR("alow"), names), "allow");
    assert_null(suggest_from(BT_STR("xyzzy"), names));
    assert_null(suggest_from(BT_STR("al"), names));
    assert_int_equal(suggest_distance(BT_STR("abcd"), BT_STR("acbd"), 3), 1);
    assert_int_equal(suggest_distance(BT_STR("abc"), BT_STR("ABC"), 3), 0);
    assert_int_equal(suggest_distance(BT_STR("kitten"), BT_STR("sitting"), 5), 3);
    assert_int_equal(suggest_distance(BT_STR("kitten"), BT_STR("sitting"), 2), 3);
    assert_int_equal(suggest_distance(BT_STR(""), BT_STR("ab"), 2), 2);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(on_heap_and_arena),
                                          cmocka_unit_test(ignores_case), cmocka_unit_test(lists),
                                          cmocka_unit_test(suggests)};
UNIT_MAIN(tests)
