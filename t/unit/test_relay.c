/* test_relay.c - two streams pumped into each other: half closes, back-pressure, resets, silence.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include "net/buffer.h"
#include "net/relay.h"

static struct stream a, b;
static int at_a, at_b; /* the other ends */
static struct relay r;
static struct timeout_class cls;
static bool over;
static enum relay_why why;

static void on_over(struct relay *relay, enum relay_why reason)
{
    assert_ptr_equal(relay, &r);
    assert_false(over);
    over = true;
    why = reason;
}

static void nobody(struct stream *s)
{
    (void)s;
    fail_msg("the owner is not asked while the relay runs");
}

static int setup(void **state)
{
    int fd[2];

    if (loop_setup(state) != 0)
        return -1;
    tcp_pair(fd);
    stream_init(&a, fd[0], nobody);
    at_a = fd[1];
    tcp_pair(fd);
    stream_init(&b, fd[0], nobody);
    at_b = fd[1];
    memset(&r, 0, sizeof r);
    over = false;
    relay_class_init(&cls, (bt_duration){60000});
    a.owner = &at_a;
    return 0;
}

static int teardown(void **state)
{
    relay_stop(&r);
    stream_close(&a);
    stream_close(&b);
    if (at_a >= 0)
        close(at_a);
    if (at_b >= 0)
        close(at_b);
    return loop_teardown(state);
}
#define relayed(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static void start(void)
{
    relay_start(&r, &a, &b, &cls, on_over);
}

/* What arrives at `fd` within a moment. */
static const char *heard(int fd)
{
    static char text[64];
    size_t len = 0;

    for (int i = 0; i < 100; i++) {
        ssize_t n = recv(fd, text + len, sizeof text - 1 - len, MSG_DONTWAIT);

        if (n > 0)
            len += (size_t)n;
        else if (len > 0)
            break;
        turn_for(1);
    }
    text[len] = '\0';
    return text;
}

static bool ended(int fd)
{
    char byte;

    for (int i = 0; i < 100; i++) {
        ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

        if (n >= 0)
            return n == 0;
        turn_for(1);
    }
    return false;
}

static void bytes_go_both_ways(void **state)
{
    (void)state;
    say(at_a, "before");
    start();
    assert_string_equal(heard(at_b), "before");
    say(at_b, "hello a");
    assert_string_equal(heard(at_a), "hello a");
    say(at_a, "hello b");
    assert_string_equal(heard(at_b), "hello b");
    assert_int_equal(r.bytes[0], 13);
    assert_int_equal(r.bytes[1], 7);
    assert_false(over);
}

static void a_half_close_is_passed_on(void **state)
{
    (void)state;
    start();
    say(at_a, "question");
    shutdown(at_a, SHUT_WR);
    assert_string_equal(heard(at_b), "question");
    assert_true(ended(at_b));
    assert_false(over);
    say(at_b, "answer");
    assert_string_equal(heard(at_a), "answer");
    shutdown(at_b, SHUT_WR);
    wait_for(over);
    assert_int_equal(why, RELAY_ENDED);
    assert_true(ended(at_a));
    assert_true(a.ready == nobody && a.owner == &at_a && b.ready == nobody);
    assert_true(a.fd >= 0 && b.fd >= 0);
}

static void a_slow_reader_slows_the_writer(void **state)
{
    static char chunk[64 * 1024], part[64 * 1024];
    uint64_t sent = 0, got = 0;
    uint8_t mark = 0, check = 0;
    int stuck = 0;

    (void)state;
    start();
    fcntl(at_a, F_SETFL, O_NONBLOCK);
    while (stuck < 20 && sent < 64u * 1024 * 1024) { /* until nothing moves any more */
        ssize_t n;

        for (size_t i = 0; i < sizeof chunk; i++)
            chunk[i] = (char)(uint8_t)(mark + i);
        n = send(at_a, chunk, sizeof chunk, MSG_NOSIGNAL);
        stuck = n > 0 ? 0 : stuck + 1;
        if (n > 0) {
            sent += (uint64_t)n;
            mark = (uint8_t)(mark + (size_t)n);
        }
        turn_for(1);
        assert_true(stream_pending(&b) <= BUFFER_IN);
    }
    assert_non_null(r.way[0].pipe); /* it looked like bulk */
    assert_true(r.way[0].pipe->held > 0);
    assert_int_equal(stream_pending(&b), 0);
    assert_true(sent > r.bytes[0]);
    assert_true(a.deaf); /* what more it says wakes nobody */
    shutdown(at_a, SHUT_WR);
    for (int i = 0; i < 20000 && got < sent; i++) {
        ssize_t n = recv(at_b, part, sizeof part, MSG_DONTWAIT);

        for (ssize_t j = 0; j < n; j++)
            if ((uint8_t)part[j] != check++)
                fail_msg("byte %zu differs", (size_t)got + (size_t)j);
        got += n > 0 ? (uint64_t)n : 0;
        if (n <= 0)
            turn_for(1);
    }
    assert_int_equal(got, sent);
    assert_true(ended(at_b));
    assert_int_equal(stream_pending(&b), 0);
    assert_null(b.pending);
    assert_null(r.way[0].pipe);
    assert_false(a.deaf);
}

static void a_pipe_goes_with_what_it_holds(void **state)
{
    static char chunk[64 * 1024];
    int stuck = 0;

    (void)state;
    start();
    fcntl(at_a, F_SETFL, O_NONBLOCK);
    while (stuck < 20) {
        stuck = send(at_a, chunk, sizeof chunk, MSG_NOSIGNAL) > 0 ? 0 : stuck + 1;
        turn_for(1);
    }
    assert_non_null(r.way[0].pipe);
    slam(at_b);
    at_b = -1;
    wait_for(over);
    assert_int_equal(why, RELAY_B_FAILED);
    assert_null(r.way[0].pipe);
}

static void several_buffers_at_once_pass(void **state)
{
    size_t want = (size_t)BUFFER_IN * 20, got = 0;
    char *text = calloc(1, want);

    (void)state;
    setsockopt(at_a, SOL_SOCKET, SO_SNDBUF, &(int){4 << 20}, sizeof(int));
    fcntl(at_a, F_SETFL, O_NONBLOCK);
    start();
    for (size_t sent = 0; got < want;) {
        ssize_t n = sent < want ? send(at_a, text + sent, want - sent, MSG_NOSIGNAL) : 0;

        sent += n > 0 ? (size_t)n : 0;
        turn_for(1);
        while ((n = recv(at_b, text, want, MSG_DONTWAIT)) > 0)
            got += (size_t)n;
    }
    assert_int_equal(r.bytes[0], want);
    free(text);
}

static void without_pipes_it_copies(void **state)
{
    struct pipe *all[PIPES_MAX];

    for (int i = 0; i < PIPES_MAX; i++)
        assert_non_null(all[i] = pipe_take());
    assert_null(pipe_take());
    several_buffers_at_once_pass(state);
    for (int i = 0; i < PIPES_MAX; i++)
        pipe_give(&all[i]);
    pipe_close_spare();
}

static void urgent_bytes_hide_nothing(void **state)
{
    size_t want = (size_t)BUFFER_IN * 8, got = 0;
    char *text = calloc(1, want);

    (void)state;
    setsockopt(at_a, SOL_SOCKET, SO_SNDBUF, &(int){4 << 20}, sizeof(int));
    fcntl(at_a, F_SETFL, O_NONBLOCK);
    start();
    for (size_t sent = 0; sent < want;) {
        ssize_t n = send(at_a, text + sent, want - sent < 100000 ? want - sent : 100000,
                         MSG_NOSIGNAL);

        sent += n > 0 ? (size_t)n : 0;
        (void)!send(at_a, "!", 1, MSG_OOB | MSG_NOSIGNAL); /* goes beside the bytes */
        turn_for(1);
        while ((n = recv(at_b, text, want, MSG_DONTWAIT)) > 0)
            got += (size_t)n;
    }
    shutdown(at_a, SHUT_WR);
    for (int i = 0; i < 1000 && !r.done[0]; i++) {
        turn_for(1);
        for (ssize_t n; (n = recv(at_b, text, want, MSG_DONTWAIT)) > 0;)
            got += (size_t)n;
    }
    assert_true(r.done[0]);
    for (ssize_t n; (n = recv(at_b, text, want, MSG_DONTWAIT)) > 0;)
        got += (size_t)n;
    assert_true(got >= want && got < want + 100);
    free(text);
}

static void silence_ends_it(void **state)
{
    (void)state;
    start();
    turn_for(2);
    clock_shift(40000);
    clock_refresh();
    loop_clock_moved();
    say(at_a, "x");
    assert_string_equal(heard(at_b), "x");
    clock_shift(40000);
    clock_refresh();
    loop_clock_moved();
    turn_for(2);
    assert_false(over);
    clock_shift(30000);
    clock_refresh();
    loop_clock_moved();
    wait_for(over);
    assert_int_equal(why, RELAY_IDLE);
}

static void a_reset_ends_it(void **state)
{
    (void)state;
    start();
    turn_for(2);
    slam(at_b);
    at_b = -1;
    wait_for(over);
    assert_int_equal(why, RELAY_B_FAILED);
}

static void the_last_words_before_a_reset_are_delivered(void **state)
{
    char text[8];

    (void)state;
    start();
    turn_for(2);
    say(at_a, "bye");
    slam(at_a);
    at_a = -1;
    wait_for(over);
    assert_int_equal(why, RELAY_A_FAILED);
    assert_int_equal(recv(at_b, text, sizeof text, 0), 3);
    assert_memory_equal(text, "bye", 3);
}

static void a_stopped_relay_says_nothing(void **state)
{
    (void)state;
    start();
    relay_stop(&r);
    relay_stop(&r);
    turn_for(2);
    assert_false(over);
    assert_true(a.ready == nobody && a.owner == &at_a);
    assert_false(timeout_is_set(&r.timeout));
    a.ready = b.ready = NULL;
}

static void both_may_be_over_before_it_starts(void **state)
{
    (void)state;
    shutdown(at_a, SHUT_WR);
    shutdown(at_b, SHUT_WR);
    start();
    assert_false(over); /* from the loop only */
    wait_for(over);
    assert_int_equal(why, RELAY_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        relayed(bytes_go_both_ways),
        relayed(a_half_close_is_passed_on),
        relayed(a_slow_reader_slows_the_writer),
        relayed(silence_ends_it),
        relayed(a_reset_ends_it),
        relayed(the_last_words_before_a_reset_are_delivered),
        relayed(a_stopped_relay_says_nothing),
        relayed(both_may_be_over_before_it_starts),
        relayed(several_buffers_at_once_pass),
        relayed(a_pipe_goes_with_what_it_holds),
        relayed(without_pipes_it_copies),
        relayed(urgent_bytes_hide_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
