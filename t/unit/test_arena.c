/* test_arena.c - arenas: alignment, growth, limits, deferred calls, recycling.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "unit.h"

static void aligned_and_apart(void **state)
{
    struct bt_arena *arena = arena_new(4096);
    char *last = NULL;

    (void)state;
    for (size_t n = 0; n < 3000; n++) {
        char *at = bt_alloc_raw(arena, n % 97);

        assert_int_equal((uintptr_t)at % ARENA_ALIGN, 0);
        memset(at, (int)(n & 0x7f), n % 97);
        if (last != NULL && n % 97 > 1)
            assert_int_equal(last[0], (n - 1) & 0x7f);
        last = n % 97 > 0 ? at : NULL;
    }
    arena_free(arena);
}

static void zeroed(void **state)
{
    struct bt_arena *arena = arena_new(1024);
    char zero[500] = {0};

    (void)state;
    memset(bt_alloc_raw(arena, 500), 0xff, 500);
    arena_reset(arena);
    assert_memory_equal(bt_alloc(arena, 500), zero, 500);
    arena_free(arena);
}

static void big_blocks_leave_room(void **state)
{
    struct bt_arena *arena = arena_new(4096);
    char *a = bt_alloc_raw(arena, 16), *b;

    (void)state;
    bt_alloc_raw(arena, 4096); /* exactly a chunk: the first goes on being filled */
    b = bt_alloc_raw(arena, 16);
    assert_ptr_equal(b, a + 16);
    memset(bt_alloc_raw(arena, 1000000), 1, 1000000);
    arena_free(arena);
}

static void limit(void **state)
{
    struct bt_arena *arena = arena_new(4096);

    (void)state;
    assert_false(arena_over(arena));
    arena_limit(arena, 10000);
    bt_alloc_raw(arena, 3000);
    assert_false(arena_over(arena));
    bt_alloc_raw(arena, 8000);
    assert_true(arena_over(arena));
    arena_reset(arena);
    assert_false(arena_over(arena));
    arena_limit(arena, 1);
    assert_true(arena_over(arena));
    arena_free(arena);
}

static char order[8];
static void note(void *what)
{
    strcat(order, what);
}
static struct bt_arena *nested;
static void note_and_defer(void *what)
{
    note(what);
    bt_defer(nested, note, "d");
}

static void deferred(void **state)
{
    (void)state;
    order[0] = '\0';
    nested = arena_new(1024);
    bt_defer(nested, note, "a");
    bt_defer(nested, note_and_defer, "b");
    bt_defer(nested, note, "c");
    arena_reset(nested);
    assert_string_equal(order, "cbda");
    bt_defer(nested, note, "e");
    arena_free(nested);
    assert_string_equal(order, "cbdae");
    arena_free(NULL);
}

static void text(void **state)
{
    struct bt_arena *arena = arena_new(1024);
    char filler[600];
    bt_str s = bt_str_copy(arena, BT_STR("abc"));

    (void)state;
    assert_string_equal(s.at, "abc");
    assert_null(bt_str_copy(arena, BT_STR_NONE).at);
    assert_non_null(bt_str_copy(arena, BT_STR("")).at);
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    s = bt_str_printf(arena, "%s%d", filler, 7);
    assert_int_equal(s.len, 600);
    assert_int_equal(s.at[599], '7');
    assert_int_equal(s.at[600], 0);
    assert_str(bt_str_printf(arena, "%d", 42), "42");
    arena_free(arena);
}

static void grows_in_place(void **state)
{
    struct bt_arena *arena = arena_new(4096);
    char *at = bt_alloc_raw(arena, 10);

    (void)state;
    memcpy(at, "0123456789", 10);
    assert_ptr_equal(arena_more(arena, at, 10, 1000), at);
    char *moved = arena_more(arena, at, 1000, 9000);
    assert_ptr_not_equal(moved, at);
    assert_memory_equal(moved, "0123456789", 10);
    bt_alloc_raw(arena, 1);
    arena_free(arena);
}

static void recycles(void **state)
{
    struct bt_arena *first = arena_new(4096), *again;

    (void)state;
    arena_free(first);
    again = arena_new(4096);
    if (ARENA_RECYCLES)
        assert_ptr_equal(again, first);
    arena_free(again);
    arena_trim();
}

static char *heap_of(size_t n, char c)
{
    char *at = malloc(n);

    assert_non_null(at);
    memset(at, c, n);
    return at;
}

static void keeps_blocks(void **state)
{
    struct bt_arena *arena = arena_new(4096);
    static const size_t sizes[] = {1, 100, 4096, 4097, 100000, 300000};

    (void)state;
    for (unsigned large = 0; large < 2; large++) {
        char *kept[6];
        for (size_t i = 0; i < 6; i++)
            kept[i] = arena_keep(arena, heap_of(sizes[i] + 77, (char)('a' + i)), sizes[i]);
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(kept[i][0], 'a' + i);
            assert_int_equal(kept[i][sizes[i] - 1], 'a' + i);
        }
        arena_use_large_pages(arena);
    }
    arena_free(arena);
    assert_int_equal(arena_large_bytes(), 0);
}

static void large_blocks_stand_together(void **state)
{
    struct bt_arena *arena = arena_new(4096);
    char *at[3];

    (void)state;
    arena_use_large_pages(arena);
    for (size_t i = 0; i < 3; i++)
        at[i] = memset(bt_alloc_raw(arena, 200000), 'x', 200000);
    char *alone = memset(bt_alloc_raw(arena, 3000000), 'y', 3000000);
    assert_int_equal((uintptr_t)alone % ARENA_ALIGN, 0);
    assert_int_equal(at[2][199999], 'x');
    if (ARENA_RECYCLES) {
        assert_int_equal(at[2] - at[0], 400000);
        assert_int_equal(arena_large_bytes(), 6 << 20);
    }
    arena_reset(arena);
    assert_int_equal(arena_large_bytes(), 0);
    memset(bt_alloc_raw(arena, 200000), 'z', 200000);
    arena_free(arena);
    assert_int_equal(arena_large_bytes(), 0);
}

static jmp_buf was_full;
static void is_full(void)
{
    longjmp(was_full, 1);
}

static char adopters[8];
static void adopted(void *what)
{
    strcat(adopters, what);
}

static void in_given_memory(void **state)
{
    static _Alignas(16) char memory[8192];
    struct bt_arena *arena = arena_in(memory, sizeof memory, is_full);

    (void)state;
    assert_true(arena_is_shared(arena));
    char *kept = arena_keep(arena, heap_of(5000, 'k'), 4999);
    assert_true(kept > memory && kept + 4999 <= memory + sizeof memory);
    assert_int_equal(kept[4998], 'k');
    arena_on_adopt(arena, adopted, (char[]){"a"});
    arena_on_adopt(arena, adopted, (char[]){"b"});
    arena_on_adopt(arena, adopted, (char[]){"c"});
    arena_adopt(arena);
    assert_string_equal(adopters, "abc");
    bt_str text = bt_str_copy(arena, BT_STR("text"));
    assert_true(text.at > kept && text.at < memory + sizeof memory);
    if (setjmp(was_full) == 0) {
        for (;;)
            memset(bt_alloc_raw(arena, 100), 'x', 100);
    }
    assert_string_equal(text.at, "text");
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(aligned_and_apart),
                                          cmocka_unit_test(zeroed),
                                          cmocka_unit_test(big_blocks_leave_room),
                                          cmocka_unit_test(limit),
                                          cmocka_unit_test(deferred),
                                          cmocka_unit_test(text),
                                          cmocka_unit_test(grows_in_place),
                                          cmocka_unit_test(recycles),
                                          cmocka_unit_test(keeps_blocks),
                                          cmocka_unit_test(large_blocks_stand_together),
                                          cmocka_unit_test(in_given_memory)};
UNIT_MAIN(tests)
