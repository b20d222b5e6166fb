/* test_dial.c - Happy Eyeballs: at once, refused, into the void, the next address, limits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include <sys/resource.h>

#include "net/dial.h"
#include "stat/counts.h"

static struct dial d;
static bool over;

static void done(struct dial *dial)
{
    assert_ptr_equal(dial, &d);
    assert_false(over);
    over = true;
}

static int64_t counted(int slot)
{
    return atomic_load(&count_row[slot]);
}

static int teardown(void **state)
{
    dial_fini();
    return loop_teardown(state);
}
#define dialled(test) cmocka_unit_test_setup_teardown(test, loop_setup, teardown)

/* Addresses: the i-th is 127.0.0.1 with that port, or ::1 when `v6`. */
static struct sockaddr_storage store[8];
static const struct sockaddr *list[8];

static void put(size_t i, unsigned port, bool v6)
{
    struct sockaddr_in v4 = loopback(port);
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    if (v6)
        memcpy(&store[i], &a6, sizeof a6);
    else
        memcpy(&store[i], &v4, sizeof v4);
    list[i] = (struct sockaddr *)&store[i];
}

/* A port where nobody listens: bound, and kept so that nobody else gets it. */
static int closed_port(unsigned *port)
{
    struct sockaddr_in addr = loopback(0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    *port = port_of(fd);
    return fd;
}

/* A port that does not answer: a listener whose queue is full drops what comes. */
struct hole {
    int listener, guest[4];
    unsigned port;
};
static void hole_open(struct hole *hole)
{
    struct sockaddr_in addr;

    hole->listener = listen_any(0);
    hole->port = port_of(hole->listener);
    addr = loopback(hole->port);
    for (int i = 0; i < 4; i++) {
        hole->guest[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(hole->guest[i], (struct sockaddr *)&addr, sizeof addr);
    }
}
static void hole_close(struct hole *hole)
{
    close(hole->listener);
    for (int i = 0; i < 4; i++)
        close(hole->guest[i]);
}

static enum dial_result start(size_t n, int64_t timeout_ms)
{
    over = false;
    memset(&d, 0, sizeof d);
    return dial_start(&d, list, n, (bt_duration){timeout_ms}, done);
}

/* As an owner sees it: a result, now or later. */
static void dial_all(size_t n)
{
    if (start(n, 60000) == DIAL_WAIT)
        wait_for(over);
}

static void later(int64_t ms)
{
    clock_shift(ms);
    clock_refresh();
    loop_clock_moved();
}

static void hang_up(void)
{
    assert_true(d.fd >= 0);
    close(d.fd);
    d.fd = -1;
}

static void on_this_machine_it_stands_at_once(void **state)
{
    int lfd = listen_any(8), on = 0;
    socklen_t len = sizeof on;
    int64_t dials = counted(COUNT_origin_dials), failed = counted(COUNT_origin_dial_failed);

    (void)state;
    put(0, port_of(lfd), false);
    assert_int_equal(start(1, 60000), DIAL_DONE);
    assert_ptr_equal(d.addr, list[0]);
    assert_int_equal(d.why, DIAL_FINE);
    assert_true(fcntl(d.fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(d.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(getsockopt(d.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    assert_true(on != 0);
    assert_int_equal(counted(COUNT_origin_dials), dials + 1);
    assert_int_equal(counted(COUNT_origin_dial_failed), failed);
    dial_cancel(&d); /* does not touch what was handed over */
    assert_int_equal(write(d.fd, "x", 1), 1);
    hang_up();
    assert_false(over);
    close(lfd);
}

static void refused_is_told(void **state)
{
    unsigned port;
    int fd = closed_port(&port);
    int64_t failed = counted(COUNT_origin_dial_failed);

    (void)state;
    put(0, port, false);
    dial_all(1);
    assert_int_equal(d.fd, -1);
    assert_int_equal(d.why, DIAL_REFUSED);
    assert_int_equal(d.error, ECONNREFUSED);
    assert_ptr_equal(d.addr, list[0]);
    assert_int_equal(counted(COUNT_origin_dial_failed), failed + 1);
    close(fd);
}

static void after_a_failure_the_next_is_tried_at_once(void **state)
{
    int lfd = listen_any(8), fd;
    unsigned port;
    int64_t began;

    (void)state;
    fd = closed_port(&port);
    put(0, port, false);
    put(1, port, false);
    put(2, port_of(lfd), false);
    clock_refresh();
    began = clock_us();
    dial_all(3);
    clock_refresh();
    assert_ptr_equal(d.addr, list[2]);
    assert_true(clock_us() - began < 200000);
    hang_up();
    close(fd);
    close(lfd);
}

static void a_refusal_says_more_than_a_missing_route(void **state)
{
    unsigned port;
    int fd = closed_port(&port);
    struct sockaddr_in6 nowhere = {.sin6_family = AF_INET6, .sin6_port = htons(80)};

    (void)state;
    put(0, port, false);
    nowhere.sin6_addr.s6_addr[0] =
        0x01; /* 100::/64 is for throwing away; mostly there is no route */
    memcpy(&store[1], &nowhere, sizeof nowhere);
    list[1] = (struct sockaddr *)&store[1];
    if (start(2, 60000) == DIAL_WAIT) {
        turn_for(20);
        later(61000);
        wait_for(over);
    }
    assert_true(d.why == DIAL_REFUSED || d.why == DIAL_TIMEOUT);
    close(fd);
}

static void a_silent_address_is_overtaken_after_the_gap(void **state)
{
    struct hole hole;
    int lfd = listen_any(8);

    (void)state;
    hole_open(&hole);
    put(0, hole.port, false);
    put(1, port_of(lfd), false);
    assert_int_equal(start(2, 60000), DIAL_WAIT);
    turn_for(50);
    assert_false(over);
    later(260);
    wait_for(over);
    assert_ptr_equal(d.addr, list[1]);
    assert_true(d.took_us >= 250000);
    hang_up();
    hole_close(&hole);
    close(lfd);
}

static void families_alternate(void **state)
{
    struct hole hole;
    int lfd = listen_any(8), lfd6 = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 addr = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool have_v6 = lfd6 >= 0 && bind(lfd6, (struct sockaddr *)&addr, sizeof addr) == 0 &&
                   listen(lfd6, 8) == 0;
    socklen_t len = sizeof addr;

    (void)state;
    hole_open(&hole);
    put(0, hole.port, false);
    put(1, port_of(lfd), false);
    if (have_v6)
        getsockname(lfd6, (struct sockaddr *)&addr, &len);
    put(2, have_v6 ? ntohs(addr.sin6_port) : 9, true);
    assert_int_equal(start(3, 60000), DIAL_WAIT);
    later(260);
    wait_for(over);
    assert_ptr_equal(d.addr, list[have_v6 ? 2 : 1]);
    hang_up();
    hole_close(&hole);
    close(lfd);
    if (lfd6 >= 0)
        close(lfd6);
}

static void a_cancelled_dial_says_nothing(void **state)
{
    struct hole hole;

    (void)state;
    hole_open(&hole);
    put(0, hole.port, false);
    put(1, hole.port, false);
    assert_int_equal(start(2, 60000), DIAL_WAIT);
    later(260);
    turn_for(10);
    assert_false(over);
    assert_int_equal(d.n_attempts, 2);
    dial_cancel(&d);
    dial_cancel(&d);
    later(100000);
    turn_for(5);
    assert_false(over);
    assert_int_equal(d.fd, -1);
    hole_close(&hole);
}

static void it_ends_by_time(void **state)
{
    struct hole hole;

    (void)state;
    hole_open(&hole);
    put(0, hole.port, false);
    assert_int_equal(start(1, 60000), DIAL_WAIT);
    later(59000);
    turn_for(5);
    assert_false(over);
    later(2000);
    wait_for(over);
    assert_int_equal(d.why, DIAL_TIMEOUT);
    assert_int_equal(d.fd, -1);
    hole_close(&hole);
}

static void different_times_are_kept_apart(void **state)
{
    struct hole hole;
    struct dial quick = {.fd = -1};

    (void)state;
    hole_open(&hole);
    put(0, hole.port, false);
    for (int i = 1; i < 20; i++) { /* more lengths than there are classes */
        over = false;
        memset(&d, 0, sizeof d);
        assert_int_equal(dial_start(&quick, list, 1, (bt_duration){i * 1000 + 500}, done),
                         DIAL_WAIT);
        assert_int_equal(start(1, i * 1000), DIAL_WAIT);
        later(i * 1000 + 100);
        wait_for(over);
        assert_int_equal(d.why, DIAL_TIMEOUT);
        dial_cancel(&quick);
    }
    hole_close(&hole);
}

static void the_source_address_is_ours_to_choose(void **state)
{
    int lfd = listen_any(8), fd;
    struct sockaddr_in from = {.sin_family = AF_INET}, seen;
    socklen_t len = sizeof seen;

    (void)state;
    from.sin_addr.s_addr = htonl(0x7f000002);
    put(0, port_of(lfd), false);
    memset(&d, 0, sizeof d);
    d.from_v4 = (struct sockaddr *)&from;
    over = false;
    if (dial_start(&d, list, 1, (bt_duration){5000}, done) == DIAL_WAIT)
        wait_for(over);
    fd = accept(lfd, (struct sockaddr *)&seen, &len);
    assert_int_equal(seen.sin_addr.s_addr, htonl(0x7f000002));
    close(fd);
    hang_up();
    close(lfd);
}

static void out_of_descriptors_is_told(void **state)
{
    struct rlimit was, none;

    (void)state;
    put(0, 9, false);
    getrlimit(RLIMIT_NOFILE, &was);
    none = was;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(start(1, 1000), DIAL_FAILED);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(d.why, DIAL_NO_DESCRIPTORS);
    assert_int_equal(start(0, 1000), DIAL_FAILED);
    assert_int_equal(d.why, DIAL_NO_ADDRESS);
    assert_string_equal(dial_why_text(d.why), "no address to connect to");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        dialled(on_this_machine_it_stands_at_once),
        dialled(refused_is_told),
        dialled(after_a_failure_the_next_is_tried_at_once),
        dialled(a_refusal_says_more_than_a_missing_route),
        dialled(a_silent_address_is_overtaken_after_the_gap),
        dialled(families_alternate),
        dialled(a_cancelled_dial_says_nothing),
        dialled(it_ends_by_time),
        dialled(different_times_are_kept_apart),
        dialled(the_source_address_is_ours_to_choose),
        dialled(out_of_descriptors_is_told),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
