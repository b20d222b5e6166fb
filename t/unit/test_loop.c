/* test_loop.c - deferred calls, timeouts, descriptors and signals of the event loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include <signal.h>

static char trace[64];

static void note(char c)
{
    size_t len = strlen(trace);

    if (len < sizeof trace - 1) {
        trace[len] = c;
        trace[len + 1] = '\0';
    }
}

/* ---- deferred ---- */

static struct deferred one, two;

static void say_one(struct deferred *d)
{
    assert_ptr_equal(d, &one);
    note('1');
}

static void say_two(struct deferred *d)
{
    (void)d;
    note('2');
}

static void one_again(struct deferred *d)
{
    note('a');
    if (strlen(trace) < 5)
        loop_defer(d, one_again);
    else
        loop_break();
}

static void deferred_calls_run_in_order_and_once(void **state)
{
    (void)state;
    trace[0] = '\0';
    loop_defer(&two, say_two);
    loop_defer(&one, say_one);
    loop_defer(&two, say_two);
    assert_true(deferred_is_set(&two));
    turn_for(1);
    assert_string_equal(trace, "21");
    assert_false(deferred_is_set(&two));
}

static void a_cancelled_call_does_not_run(void **state)
{
    (void)state;
    trace[0] = '\0';
    loop_defer(&one, say_one);
    loop_defer(&two, say_two);
    deferred_cancel(&one);
    deferred_cancel(&one);
    turn_for(1);
    assert_string_equal(trace, "2");
}

static void cancel_two(struct deferred *d)
{
    (void)d;
    note('c');
    deferred_cancel(&two);
}

static void a_deferred_call_may_cancel_the_next(void **state)
{
    (void)state;
    trace[0] = '\0';
    loop_defer(&one, cancel_two);
    loop_defer(&two, say_two);
    turn_for(1);
    assert_string_equal(trace, "c");
}

static bool stop;

static void count_turns(struct watch *w, unsigned what)
{
    (void)w;
    (void)what;
    note('w');
}

static void deferring_for_ever_does_not_starve_descriptors(void **state)
{
    struct watch w = {.set = false};
    int pipes[2];

    (void)state;
    trace[0] = '\0';
    assert_int_equal(pipe(pipes), 0);
    say(pipes[1], "x");
    loop_watch(&w, pipes[0], WATCH_READ, count_turns, NULL);
    loop_defer(&one, one_again);
    loop_run();
    /* One wait between two calls. The end comes with the third call: it breaks the loop. */
    assert_string_equal(trace, "awawa");
    loop_unwatch(&w);
    close(pipes[0]);
    close(pipes[1]);
}

/* ---- timeouts ---- */

struct item {
    char name;
    struct timeout timeout;
};
static struct timeout_class cls;
static struct item a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'};

static void expired(struct timeout *t)
{
    assert_false(timeout_is_set(t));
    note(LIST_OF(t, struct item, timeout)->name);
}

static void shift(int64_t ms)
{
    clock_shift(ms);
    clock_refresh();
    loop_clock_moved();
    turn_for(1);
}

static void timeouts_expire_in_order_when_the_clock_moves(void **state)
{
    (void)state;
    trace[0] = '\0';
    timeout_class_init(&cls, (bt_duration){10000}, expired);
    timeout_set(&cls, &a.timeout);
    shift(3000);
    timeout_set(&cls, &b.timeout);
    shift(3000);
    timeout_set(&cls, &c.timeout);
    assert_ptr_equal(timeout_first(&cls), &a.timeout);
    shift(3000);
    assert_string_equal(trace, "");
    shift(1500);
    assert_string_equal(trace, "a");
    shift(60000);
    assert_string_equal(trace, "abc");
    assert_null(timeout_first(&cls));
}

static void a_refreshed_timeout_goes_to_the_end(void **state)
{
    (void)state;
    trace[0] = '\0';
    timeout_class_init(&cls, (bt_duration){10000}, expired);
    timeout_set(&cls, &a.timeout);
    timeout_set(&cls, &b.timeout);
    shift(9000);
    timeout_set(&cls, &a.timeout);
    assert_ptr_equal(timeout_first(&cls), &b.timeout);
    shift(1500);
    assert_string_equal(trace, "b");
    timeout_clear(&a.timeout);
    timeout_clear(&a.timeout);
    assert_false(timeout_is_set(&a.timeout));
    shift(60000);
    assert_string_equal(trace, "b");
}

static void spans_of_their_own_are_kept_in_order(void **state)
{
    (void)state;
    trace[0] = '\0';
    timeout_class_init(&cls, (bt_duration){10000}, expired);
    timeout_set(&cls, &a.timeout);
    timeout_set_after(&cls, &b.timeout, (bt_duration){5000});
    timeout_set_after(&cls, &c.timeout, (bt_duration){7000});
    shift(60000);
    assert_string_equal(trace, "bca");
}

static void no_limit_is_never_set(void **state)
{
    (void)state;
    timeout_class_init(&cls, (bt_duration){-1}, expired);
    timeout_set(&cls, &a.timeout);
    assert_false(timeout_is_set(&a.timeout));
}

static void set_again(struct timeout *t)
{
    note('s');
    timeout_set(&cls, t);
}

static void an_expired_timeout_may_set_itself_again(void **state)
{
    (void)state;
    trace[0] = '\0';
    timeout_class_init(&cls, (bt_duration){0}, set_again);
    timeout_set(&cls, &a.timeout);
    /* Nothing runs for ever: each look finds it once. */
    shift(1);
    assert_true(strlen(trace) >= 1);
    timeout_clear(&a.timeout);
}

static void clear_others(struct timeout *t)
{
    note(LIST_OF(t, struct item, timeout)->name);
    timeout_clear(&b.timeout);
}

static void an_expired_timeout_may_clear_others(void **state)
{
    (void)state;
    trace[0] = '\0';
    timeout_class_init(&cls, (bt_duration){1000}, clear_others);
    timeout_set(&cls, &a.timeout);
    timeout_set(&cls, &b.timeout);
    timeout_set(&cls, &c.timeout);
    shift(2000);
    assert_string_equal(trace, "ac");
}

static void stop_now(struct timeout *t)
{
    (void)t;
    stop = true;
}

static void timeouts_expire_by_themselves(void **state)
{
    int64_t began;

    (void)state;
    stop = false;
    clock_refresh();
    timeout_class_init(&cls, (bt_duration){20}, stop_now);
    began = clock_us();
    timeout_set(&cls, &a.timeout);
    wait_for(stop);
    assert_in_range(clock_us() - began, 20000, 2000000);
}

static void refreshing_leaves_the_timer_alone(void **state)
{
    int64_t armed;

    (void)state;
    timeout_class_init(&cls, (bt_duration){10000}, expired);
    timeout_set(&cls, &a.timeout);
    armed = cls.armed;
    assert_true(armed != 0);
    clock_shift(10);
    clock_refresh();
    timeout_set(&cls, &a.timeout);
    assert_true(cls.armed == armed);
    timeout_clear(&a.timeout);
    timeout_set(&cls, &a.timeout);
    assert_true(cls.armed == armed);
    timeout_clear(&a.timeout);
}

/* ---- descriptors and signals ---- */

static void read_and_stop(struct watch *w, unsigned what)
{
    char byte;

    assert_int_equal(what, WATCH_READ);
    assert_int_equal(read(w->fd, &byte, 1), 1);
    note(byte);
    loop_unwatch(w);
    loop_unwatch(w);
    *(bool *)w->arg = true;
}

static void a_descriptor_is_watched_until_it_is_not(void **state)
{
    struct watch w = {.set = false};
    int pipes[2];

    (void)state;
    trace[0] = '\0';
    stop = false;
    assert_int_equal(pipe(pipes), 0);
    loop_watch(&w, pipes[0], WATCH_READ, read_and_stop, &stop);
    say(pipes[1], "xy");
    wait_for(stop);
    turn_for(1);
    assert_string_equal(trace, "x");
    close(pipes[0]);
    close(pipes[1]);
}

static void on_signal(int signo)
{
    assert_int_equal(signo, SIGUSR1);
    stop = true;
}

static void signals_come_from_the_loop(void **state)
{
    (void)state;
    stop = false;
    loop_on_signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    assert_false(stop);
    wait_for(stop);
}

static void no_pipe_signal_kills(void **state)
{
    int pipes[2];

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    close(pipes[0]);
    assert_int_equal(write(pipes[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        looped(deferred_calls_run_in_order_and_once),
        looped(a_cancelled_call_does_not_run),
        looped(a_deferred_call_may_cancel_the_next),
        looped(deferring_for_ever_does_not_starve_descriptors),
        looped(timeouts_expire_in_order_when_the_clock_moves),
        looped(a_refreshed_timeout_goes_to_the_end),
        looped(spans_of_their_own_are_kept_in_order),
        looped(no_limit_is_never_set),
        looped(an_expired_timeout_may_set_itself_again),
        looped(an_expired_timeout_may_clear_others),
        looped(timeouts_expire_by_themselves),
        looped(refreshing_leaves_the_timer_alone),
        looped(a_descriptor_is_watched_until_it_is_not),
        looped(signals_come_from_the_loop),
        looped(no_pipe_signal_kills),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
