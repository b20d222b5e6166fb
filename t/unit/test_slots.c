/* test_slots.c - memory of modules: none until asked for, zeroed, the same each time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "plug/slots.h"

static const struct bt_module plain = {.name = "plain"};
static const struct bt_module both = {.name = "both", .txn_size = 100, .conn_size = 24};
static const struct bt_module txn_only = {.name = "txn", .txn_size = 8};
static const struct bt_module *const modules[] = {&plain, &both, &txn_only};

static struct bt_arena *arena;

static int make(void **state)
{
    (void)state;
    arena = arena_new(4096);
    slots_init(modules, 3, arena);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void test_none(void **state)
{
    struct slots slots = {NULL};

    (void)state;
    assert_null(slots_get(&slots, SLOTS_TXN, 0, arena));
    assert_null(slots_get(&slots, SLOTS_CONN, 2, arena));
    assert_null(slots.block);
}

static void test_zeroed_and_kept(void **state)
{
    struct slots slots = {NULL};
    static const char zero[100];
    char *block = slots_get(&slots, SLOTS_TXN, 1, arena);

    (void)state;
    assert_non_null(block);
    assert_memory_equal(block, zero, sizeof zero);
    memset(block, 'x', 100);
    char *other = slots_get(&slots, SLOTS_TXN, 2, arena);
    assert_non_null(other);
    assert_ptr_not_equal(other, block);
    assert_memory_equal(other, zero, 8);
    assert_ptr_equal(slots_get(&slots, SLOTS_TXN, 1, arena), block);
    assert_int_equal(block[99], 'x');
}

/* Two exchanges share nothing, and a connection's memory is not an exchange's. */
static void test_owners(void **state)
{
    struct slots a = {NULL}, b = {NULL}, conn = {NULL};
    char *of_a = slots_get(&a, SLOTS_TXN, 1, arena);
    char *of_b = slots_get(&b, SLOTS_TXN, 1, arena);
    char *of_conn = slots_get(&conn, SLOTS_CONN, 1, arena);

    (void)state;
    assert_ptr_not_equal(of_a, of_b);
    assert_ptr_not_equal(of_a, of_conn);
}

/* The whole price of an exchange that no module asks anything of. */
static void test_price(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct slots), sizeof(void *));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_zeroed_and_kept),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_price),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("slots", tests, make, drop);
}
