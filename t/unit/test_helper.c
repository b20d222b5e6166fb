/* test_helper.c - pools of helpers: order, channels, queues, death, hanging, floods, crash loops.
 *
 * The helpers are lines of shell.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/str.h"
#include "net/helper.h"
#include "net/program.h"
#include "stat/counter.h"

enum { ASKS = 64 };
struct asked {
    struct bt_helper_ask ask;
    bool done;
    enum bt_helper_result result;
    char value[64];
};
static struct asked asked[ASKS];
static unsigned n_done;
static bool all_done;
static unsigned wanted;
static struct bt_arena *arena;
static struct bt_helper *pool;
static struct segment segment;

static void done(struct bt_helper_ask *ask, const struct bt_helper_reply *reply)
{
    struct asked *a = (struct asked *)ask;
    bt_str v = bt_helper_value(reply, "v");

    assert_false(a->done);
    assert_null(ask->job);
    a->done = true;
    a->result = reply->result;
    snprintf(a->value, sizeof a->value, "%.*s", (int)v.len, v.len > 0 ? v.at : "");
    all_done = ++n_done == wanted;
}

static void ask(unsigned i, const char *line)
{
    asked[i].ask.done = done;
    bt_helper_ask(pool, &asked[i].ask, str_from(line));
}

static void wait_all(unsigned n)
{
    wanted = n;
    all_done = n_done == n;
    wait_for(all_done);
}

static int64_t counted(const char *name)
{
    int64_t sum = -1;
    char whole[64];

    snprintf(whole, sizeof whole, "helper.test.%s", name);
    assert_true(counter_sum(&segment, whole, &sum));
    return sum;
}

static void open_pool(const char *script, struct bt_helper_options options)
{
    static struct bt_word words[3];

    memset(asked, 0, sizeof asked);
    n_done = 0;
    clock_refresh();
    assert_true(loop_init());
    arena = arena_new(4096);
    words[0].text = BT_STR("/bin/sh");
    words[1].text = BT_STR("-c");
    words[2].text = str_from(script);
    options.name = "test";
    options.command = (struct bt_args){words, 3};
    if (options.queue == 0)
        options.queue = -1;
    pool = bt_helper_new(arena, &options);
    assert_true(counter_make(&segment, 1));
    counter_use(&segment, 1);
    bt_helper_start(pool);
}

static void close_pool(void)
{
    bool gone = false;

    bt_helper_stop(pool);
    for (int i = 0; i < 100 && !gone; i++) {
        turn_for(50);
        gone = program_ending() == 0;
    }
    assert_true(gone);
    assert_int_equal(counted("queue"), 0);
    assert_int_equal(counted("processes"), 0);
    loop_fini();
    segment_close(&segment);
    counter_forget();
    arena_free(arena);
}

#define ECHO "while read -r a b; do echo \"OK v=$a\"; done"
#define ECHO_N "while read -r n a b; do echo \"$n OK v=$a\"; done"

static void one_after_the_other(void **state)
{
    (void)state;
    open_pool(ECHO, (struct bt_helper_options){.children = 1, .queue = 100});
    for (unsigned i = 0; i < 20; i++) {
        char line[16];
        snprintf(line, sizeof line, "q%u x", i);
        ask(i, line);
    }
    assert_int_equal(n_done, 0); /* never from within */
    wait_all(20);
    for (unsigned i = 0; i < 20; i++) {
        char line[16];
        snprintf(line, sizeof line, "q%u", i);
        assert_int_equal(asked[i].result, BT_HELPER_OK);
        assert_string_equal(asked[i].value, line);
    }
    assert_int_equal(helper_state(pool).processes, 1);
    assert_int_equal(counted("requests"), 20);
    assert_int_equal(counted("time"), 20);
    close_pool();
}

static void channels_in_any_order(void **state)
{
    /* two questions are read, and answered the other way round */
    static const char script[] = "while read -r n a && read -r m b; do echo \"$m OK v=$b\"; "
                                 "echo \"$n OK v=$a\"; done";

    (void)state;
    open_pool(script, (struct bt_helper_options){.children = 1, .concurrency = 4});
    ask(0, "zero");
    ask(1, "one");
    ask(2, "two");
    ask(3, "three");
    wait_all(4);
    assert_string_equal(asked[0].value, "zero");
    assert_string_equal(asked[1].value, "one");
    assert_string_equal(asked[2].value, "two");
    assert_string_equal(asked[3].value, "three");
    assert_int_equal(helper_state(pool).busy, 0);
    close_pool();
}

static void channels_are_slots(void **state)
{
    static const char script[] = "while read -r n a; do echo \"$n OK v=$n\"; done";

    (void)state;
    open_pool(script, (struct bt_helper_options){.children = 1, .concurrency = 3});
    for (unsigned i = 0; i < 9; i += 3) {
        for (unsigned k = 0; k < 3; k++)
            ask(i + k, "x");
        wait_all(i + 3);
    }
    for (unsigned i = 0; i < 9; i++)
        assert_true(asked[i].value[0] >= '0' && asked[i].value[0] <= '2' &&
                    asked[i].value[1] == '\0');
    close_pool();
}

static void more_processes_when_busy(void **state)
{
    (void)state;
    open_pool("while read -r a; do sleep 0.1; echo \"OK v=$$\"; done",
              (struct bt_helper_options){.children = 3, .startup = 1, .idle = 1});
    assert_int_equal(helper_state(pool).processes, 1);
    ask(0, "a");
    assert_int_equal(helper_state(pool).processes, 2); /* a spare one */
    ask(1, "b");
    ask(2, "c");
    assert_int_equal(helper_state(pool).processes, 3);
    ask(3, "d");
    assert_int_equal(helper_state(pool).waiting, 1);
    wait_all(4);
    assert_string_not_equal(asked[0].value, asked[1].value);
    assert_int_equal(helper_state(pool).processes, 3);
    close_pool();
}

static void a_full_queue_sheds(void **state)
{
    (void)state;
    open_pool("while read -r a; do sleep 0.1; echo OK; done",
              (struct bt_helper_options){.children = 1, .queue = 2});
    for (unsigned i = 0; i < 6; i++)
        ask(i, "x");
    wait_all(6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(asked[i].result, i < 3 ? BT_HELPER_OK : BT_HELPER_LOST);
    assert_int_equal(counted("overload"), 3);
    close_pool();
}

static void a_death_is_tried_again(void **state)
{
    (void)state;
    /* dies at its first question, as long as the file is there */
    char dir[] = "/tmp/bt-helper-XXXXXX", script[256];
    assert_non_null(mkdtemp(dir));
    snprintf(script, sizeof script,
             "read -r a; mkdir %s/1 2>/dev/null && exit 3; mkdir %s/2 2>/dev/null && exit 3; "
             "echo \"OK v=$a\"; " ECHO,
             dir, dir);
    open_pool(script, (struct bt_helper_options){.children = 1});
    ask(0, "again");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_OK);
    assert_string_equal(asked[0].value, "again");
    assert_int_equal(counted("restarts"), 2);
    assert_int_equal(counted("starts"), 3);
    close_pool();
    snprintf(script, sizeof script, "rm -rf %s", dir);
    assert_int_equal(system(script), 0);
}

static void three_deaths_are_enough(void **state)
{
    (void)state;
    open_pool("read -r a; exit 1", (struct bt_helper_options){.children = 1});
    ask(0, "x");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_LOST);
    assert_int_equal(counted("lost"), 1);
    assert_int_equal(counted("starts"), 3);
    close_pool();
}

static void a_crash_loop_backs_off(void **state)
{
    (void)state;
    open_pool("exit 1", (struct bt_helper_options){.children = 2, .startup = 2});
    for (unsigned i = 0; i < 20; i++) {
        ask(i, "x");
        wait_all(i + 1);
        assert_int_equal(asked[i].result, BT_HELPER_LOST);
    }
    assert_true(helper_state(pool).down);
    assert_true(counted("starts") <= 8);
    assert_true(counted("down") >= 10);
    int64_t before = counted("starts");
    clock_shift(31 * 1000);
    loop_clock_moved();
    turn_for(200);
    assert_true(counted("starts") > before); /* tried again by itself */
    close_pool();
}

static void a_program_that_is_not_there(void **state)
{
    (void)state;
    open_pool("", (struct bt_helper_options){.children = 2});
    bt_helper_stop(pool);
    loop_fini();
    struct bt_word word = {.text = BT_STR("/nowhere/helper")};
    assert_true(loop_init());
    counter_forget();
    pool = bt_helper_new(arena,
                         &(struct bt_helper_options){
                             .name = "test", .command = {&word, 1}, .children = 2, .startup = 1});
    assert_true(counter_make(&segment, 1));
    counter_use(&segment, 1);
    bt_helper_start(pool);
    ask(0, "x");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_LOST);
    assert_true(helper_state(pool).down);
    close_pool();
}

static void a_hanging_one_is_ended(void **state)
{
    (void)state;
    open_pool("read -r a; test \"$a\" = hang && exec sleep 100; echo OK v=$a; " ECHO,
              (struct bt_helper_options){.children = 1, .timeout = {200}});
    ask(0, "hang");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_LOST);
    assert_int_equal(counted("timeouts"), 1);
    assert_int_equal(helper_state(pool).processes, 0);
    ask(1, "fine");
    wait_all(2);
    assert_int_equal(asked[1].result, BT_HELPER_OK);
    close_pool();
}

static void a_late_answer_is_nobodys(void **state)
{
    /* the first channel is answered late, the others at once */
    static const char script[] = "read -r n a; while read -r m b; do echo \"$m OK v=$b\"; "
                                 "test \"$b\" = free && echo \"$n OK v=late\"; done";

    (void)state;
    open_pool(script,
              (struct bt_helper_options){.children = 1, .concurrency = 2, .timeout = {300}});
    ask(0, "slow");
    ask(1, "quick");
    wait_all(2);
    assert_int_equal(asked[0].result, BT_HELPER_LOST);
    assert_int_equal(asked[1].result, BT_HELPER_OK);
    assert_int_equal(helper_state(pool).processes, 1); /* it answers others */
    ask(2, "free");
    wait_all(3);
    turn_for(50);
    ask(3, "x");
    ask(4, "y");
    wait_all(5);
    assert_string_equal(asked[3].value, "x");
    assert_string_equal(asked[4].value, "y");
    assert_int_equal(counted("garbage"), 0);
    close_pool();
}

static void unasked_output_ends_it(void **state)
{
    (void)state;
    open_pool("echo hello; cat >/dev/null",
              (struct bt_helper_options){.children = 1, .startup = 1});
    turn_for(200);
    assert_int_equal(counted("garbage"), 1);
    assert_int_equal(helper_state(pool).processes, 0);
    close_pool();
}

static void two_answers_to_one_question(void **state)
{
    (void)state;
    open_pool("while read -r a; do echo \"OK v=$a\"; echo \"OK v=extra\"; done",
              (struct bt_helper_options){.children = 1});
    for (unsigned i = 0; i < 4; i++) {
        ask(i, "mine");
        wait_all(i + 1);
        assert_true(asked[i].result == BT_HELPER_LOST ||
                    (asked[i].result == BT_HELPER_OK && strcmp(asked[i].value, "mine") == 0));
        turn_for(50);
    }
    assert_true(counted("garbage") >= 1);
    close_pool();
}

static void wrong_channels_end_it(void **state)
{
    (void)state;
    open_pool("while read -r n a; do echo \"7 OK\"; done",
              (struct bt_helper_options){.children = 1, .concurrency = 8});
    ask(0, "x");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_LOST);
    assert_int_equal(counted("garbage"), 3);
    close_pool();
    open_pool("while read -r n a; do echo OK; done",
              (struct bt_helper_options){.children = 1, .concurrency = 8});
    ask(0, "x");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_LOST);
    close_pool();
}

static void a_flood_is_bounded(void **state)
{
    (void)state;
    open_pool("read -r a; exec cat /dev/zero", (struct bt_helper_options){.children = 1});
    ask(0, "x");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_LOST);
    assert_int_equal(counted("garbage"), 3);
    close_pool();
}

static void a_long_answer_is_taken_whole(void **state)
{
    (void)state;
    open_pool("read -r a; printf 'OK v=x y='; head -c 900000 /dev/zero | tr '\\0' a; echo; " ECHO,
              (struct bt_helper_options){.children = 1});
    ask(0, "x");
    wait_all(1);
    assert_int_equal(asked[0].result, BT_HELPER_OK);
    assert_string_equal(asked[0].value, "x");
    close_pool();
}

static void long_questions(void **state)
{
    static char line[300 * 1024];

    (void)state;
    memset(line, 'a', sizeof line - 1);
    open_pool("while read -r a; do echo \"OK v=${#a}\"; done",
              (struct bt_helper_options){.children = 1});
    ask(0, line);
    wait_all(1);
    assert_string_equal(asked[0].value, "307199");
    ask(1, "two\nlines");
    wait_all(2);
    assert_string_equal(asked[1].value, "9");
    close_pool();
}

static void given_up_questions(void **state)
{
    (void)state;
    open_pool("while read -r a; do sleep 0.1; echo \"OK v=$a\"; done",
              (struct bt_helper_options){.children = 1});
    ask(0, "first");
    ask(1, "waits");
    ask(2, "third");
    bt_helper_cancel(&asked[0].ask); /* on its way */
    bt_helper_cancel(&asked[1].ask); /* in the queue */
    bt_helper_cancel(&asked[1].ask);
    wait_all(1);
    assert_true(asked[2].done && !asked[0].done && !asked[1].done);
    assert_string_equal(asked[2].value, "third");
    close_pool();
}

static void another_end_of_messages(void **state)
{
    (void)state;
    open_pool("printf '' ; dd bs=1 count=10 2>/dev/null | tr 'a\\1' 'b\\1'; cat >/dev/null",
              (struct bt_helper_options){.children = 1, .end = 1});
    ask(0, "OK v=\"a\n\"");
    wait_all(1);
    assert_string_equal(asked[0].value, "b\n");
    close_pool();
}

static void seats(void **state)
{
    struct bt_helper_seat seat[2] = {{NULL}, {NULL}};

    (void)state;
    open_pool("while read -r a; do c=\"$c$a\"; echo \"OK v=$c\"; done",
              (struct bt_helper_options){.children = 2});
    asked[0].ask.done = asked[1].ask.done = asked[2].ask.done = asked[3].ask.done = done;
    bt_helper_ask_seated(pool, &seat[0], &asked[0].ask, BT_STR("a"));
    bt_helper_ask_seated(pool, &seat[1], &asked[1].ask, BT_STR("x"));
    wait_all(2);
    bt_helper_ask_seated(pool, &seat[0], &asked[2].ask, BT_STR("b"));
    bt_helper_ask_seated(pool, &seat[1], &asked[3].ask, BT_STR("y"));
    wait_all(4);
    assert_string_equal(asked[2].value, "ab");
    assert_string_equal(asked[3].value, "xy");
    ask(4, "c"); /* all are taken */
    turn_for(50);
    assert_false(asked[4].done);
    bt_helper_leave(&seat[0]);
    wait_all(5);
    assert_string_equal(asked[4].value, "abc");
    bt_helper_leave(&seat[1]);
    bt_helper_leave(&seat[1]);
    close_pool();
}

static void a_seat_whose_process_died(void **state)
{
    struct bt_helper_seat seat = {NULL};

    (void)state;
    open_pool("read -r a; echo OK; read -r b; exit 1", (struct bt_helper_options){.children = 1});
    asked[0].ask.done = asked[1].ask.done = asked[2].ask.done = done;
    bt_helper_ask_seated(pool, &seat, &asked[0].ask, BT_STR("a"));
    wait_all(1);
    bt_helper_ask_seated(pool, &seat, &asked[1].ask, BT_STR("b"));
    wait_all(2);
    assert_int_equal(asked[1].result, BT_HELPER_LOST);
    bt_helper_ask_seated(pool, &seat, &asked[2].ask, BT_STR("c"));
    wait_all(3);
    assert_int_equal(asked[2].result, BT_HELPER_LOST);
    bt_helper_leave(&seat);
    close_pool();
}

static void an_idle_seat_is_taken_back(void **state)
{
    struct bt_helper_seat seat = {NULL};

    (void)state;
    open_pool(ECHO, (struct bt_helper_options){.children = 1, .reserved = {100}});
    asked[0].ask.done = asked[2].ask.done = done;
    bt_helper_ask_seated(pool, &seat, &asked[0].ask, BT_STR("a"));
    wait_all(1);
    ask(1, "b");
    wait_all(2);
    assert_string_equal(asked[1].value, "b");
    bt_helper_ask_seated(pool, &seat, &asked[2].ask, BT_STR("c"));
    wait_all(3);
    assert_int_equal(asked[2].result, BT_HELPER_LOST);
    bt_helper_leave(&seat);
    close_pool();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(channels_in_any_order),
        cmocka_unit_test(channels_are_slots),
        cmocka_unit_test(more_processes_when_busy),
        cmocka_unit_test(a_full_queue_sheds),
        cmocka_unit_test(a_death_is_tried_again),
        cmocka_unit_test(three_deaths_are_enough),
        cmocka_unit_test(a_crash_loop_backs_off),
        cmocka_unit_test(a_program_that_is_not_there),
        cmocka_unit_test(a_hanging_one_is_ended),
        cmocka_unit_test(a_late_answer_is_nobodys),
        cmocka_unit_test(unasked_output_ends_it),
        cmocka_unit_test(two_answers_to_one_question),
        cmocka_unit_test(wrong_channels_end_it),
        cmocka_unit_test(a_flood_is_bounded),
        cmocka_unit_test(a_long_answer_is_taken_whole),
        cmocka_unit_test(long_questions),
        cmocka_unit_test(given_up_questions),
        cmocka_unit_test(another_end_of_messages),
        cmocka_unit_test(seats),
        cmocka_unit_test(a_seat_whose_process_died),
        cmocka_unit_test(an_idle_seat_is_taken_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
