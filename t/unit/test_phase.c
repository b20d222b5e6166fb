/* test_phase.c - hooks in order, verdicts, pausing and resuming, and what is no verdict.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "plug/phase.h"
#include "stat/counts.h"

static char walked[64];
static enum bt_verdict answers[3];

static enum bt_verdict walk(int i)
{
    size_t len = strlen(walked);
    walked[len] = (char)('a' + i);
    walked[len + 1] = '\0';
    return answers[i];
}
static enum bt_verdict hook_a(struct bt_txn *txn)
{
    (void)txn;
    return walk(0);
}
static enum bt_verdict hook_b(struct bt_txn *txn)
{
    (void)txn;
    return walk(1);
}
static enum bt_verdict hook_c(struct bt_txn *txn)
{
    (void)txn;
    return walk(2);
}

static const struct bt_hook rows_one[] = {
    {BT_AT_REQUEST, "", hook_a}, {BT_AT_FINISH, "", hook_a}, {BT_AT_REQUEST, "", hook_b}};
static const struct bt_hook rows_two[] = {{BT_AT_REQUEST, "", hook_c}, {BT_AT_FINISH, "", hook_c}};
static const struct bt_module one = {.name = "one", .hooks = BT_ROWS(rows_one)};
static const struct bt_module none = {.name = "none"};
static const struct bt_module two = {.name = "two", .hooks = BT_ROWS(rows_two)};

static struct bt_arena *arena;

static int fresh(void **state)
{
    static const struct bt_module *const modules[] = {&one, &none, &two};

    (void)state;
    arena = arena_new(4096);
    phase_init(modules, 3, arena);
    walked[0] = '\0';
    answers[0] = answers[1] = answers[2] = BT_PASS;
    return 0;
}

static int over(void **state)
{
    (void)state;
    phase_init(NULL, 0, arena);
    arena_free(arena);
    return 0;
}

static int64_t bad_verdicts(void)
{
    return atomic_load(&count_row[COUNT_bad_verdicts]);
}

static void test_order(void **state)
{
    unsigned next = 0;

    (void)state;
    assert_int_equal(phase_run(BT_AT_REQUEST, NULL, &next), BT_PASS);
    assert_string_equal(walked, "abc");
    assert_int_equal(next, 0);
}

static void test_empty_phase(void **state)
{
    unsigned next = 0;

    (void)state;
    assert_int_equal(phase_run(BT_AT_UPSTREAM, NULL, &next), BT_PASS);
    assert_string_equal(walked, "");
}

/* Each that decides is the last to be asked, and the next exchange begins at the first again. */
static void test_deciding(void **state)
{
    static const enum bt_verdict each[] = {BT_SETTLE, BT_ANSWER, BT_REFUSE, BT_DROP};

    (void)state;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        unsigned next = 0;
        walked[0] = '\0';
        answers[1] = each[i];
        assert_int_equal(phase_run(BT_AT_REQUEST, NULL, &next), each[i]);
        assert_string_equal(walked, "ab");
        assert_int_equal(next, 0);
    }
}

static void test_pause(void **state)
{
    unsigned next = 0;

    (void)state;
    answers[1] = BT_PAUSE;
    assert_int_equal(phase_run(BT_AT_REQUEST, NULL, &next), BT_PAUSE);
    assert_int_equal(phase_run(BT_AT_REQUEST, NULL, &next), BT_PAUSE);
    answers[1] = BT_PASS;
    assert_int_equal(phase_run(BT_AT_REQUEST, NULL, &next), BT_PASS);
    assert_string_equal(walked, "abbbc");
    assert_int_equal(next, 0);
}

static void test_stray(void **state)
{
    unsigned next = 0;
    int64_t before = bad_verdicts();

    (void)state;
    answers[0] = (enum bt_verdict)17;
    assert_int_equal(phase_run(BT_AT_REQUEST, NULL, &next), BT_REFUSE);
    answers[0] = (enum bt_verdict) - 1;
    assert_int_equal(phase_run(BT_AT_REQUEST, NULL, &next), BT_REFUSE);
    assert_string_equal(walked, "aa");
    assert_int_equal(bad_verdicts() - before, 2);
}

/* Nothing is left to decide: everybody may look, whatever the one before says. */
static void test_finish(void **state)
{
    unsigned next = 0;
    int64_t before = bad_verdicts();

    (void)state;
    answers[0] = BT_REFUSE;
    assert_int_equal(phase_run(BT_AT_FINISH, NULL, &next), BT_PASS);
    assert_string_equal(walked, "ac");
    assert_int_equal(bad_verdicts() - before, 1);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(phase_name(BT_AT_ACCEPT), "ACCEPT");
    assert_string_equal(phase_name(BT_AT_FINISH), "FINISH");
    assert_non_null(strstr(phase_doc(BT_AT_REQUEST), "head complete"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, fresh, over),
        cmocka_unit_test_setup_teardown(test_empty_phase, fresh, over),
        cmocka_unit_test_setup_teardown(test_deciding, fresh, over),
        cmocka_unit_test_setup_teardown(test_pause, fresh, over),
        cmocka_unit_test_setup_teardown(test_stray, fresh, over),
        cmocka_unit_test_setup_teardown(test_finish, fresh, over),
        cmocka_unit_test(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("phase", tests, NULL, NULL);
}
