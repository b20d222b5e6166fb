/* test_listener.c - ports: bound once or shared, what accepted sockets inherit, want of descriptors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include <stdio.h>
#include <sys/resource.h>

#include "base/addr.h"
#include "net/listener.h"
#include "stat/counts.h"

static struct listener l;
static int got[64];
static unsigned n_got, stop_at;
static bool saw;

static void accepted(struct listener *listener, int fd, const struct sockaddr *from, socklen_t len)
{
    assert_ptr_equal(listener, &l);
    assert_ptr_equal(listener->owner, &saw);
    assert_int_equal(len, sizeof(struct sockaddr_in));
    assert_true(addr_is_loopback(from));
    assert_true(n_got < 64);
    got[n_got++] = fd;
    saw = true;
    if (n_got == stop_at)
        listener_stop(listener);
}

static int bind_or_fail(unsigned port, const struct listener_opts *opts)
{
    struct sockaddr_in addr = loopback(port);
    struct listener_why why;
    int fd = listener_bind((struct sockaddr *)&addr, sizeof addr, opts, &why);

    if (fd < 0)
        fail_msg("%s", why.text);
    return fd;
}

static void open_listener(void)
{
    struct listener_opts opts = {.first = true};

    n_got = stop_at = 0;
    saw = false;
    l.owner = &saw;
    listener_start(&l, bind_or_fail(0, &opts), accepted);
}

static int guest(unsigned port)
{
    struct sockaddr_in addr = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

static void close_all(const int *fd, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        close(fd[i]);
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;

    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static void many_are_accepted_and_well_set_up(void **state)
{
    int guests[40];

    (void)state;
    open_listener();
    for (unsigned i = 0; i < 40; i++)
        guests[i] = guest(port_of(l.fd));
    for (int i = 0; i < 1000 && n_got < 40; i++)
        turn_for(1);
    assert_int_equal(n_got, 40);
    assert_true(option(got[0], IPPROTO_TCP, TCP_NODELAY) != 0);
    assert_true(fcntl(got[0], F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(got[0], F_GETFD) & FD_CLOEXEC);
    close_all(guests, 40);
    close_all(got, n_got);
    listener_stop(&l);
    listener_stop(&l);
    assert_int_equal(l.fd, -1);
}

static void keepalive_is_inherited(void **state)
{
    struct listener_opts opts = {
        .first = true, .keepalive = true, .keep_idle = 77, .keep_interval = 7, .keep_count = 3};
    int fd, other;

    (void)state;
    n_got = stop_at = 0;
    l.owner = &saw;
    saw = false;
    listener_start(&l, bind_or_fail(0, &opts), accepted);
    other = guest(port_of(l.fd));
    wait_for(saw);
    fd = got[0];
    assert_true(option(fd, SOL_SOCKET, SO_KEEPALIVE) != 0);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 77);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 7);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    close(fd);
    close(other);
    listener_stop(&l);
}

static void a_port_is_shared_by_workers_but_not_by_servers(void **state)
{
    struct listener_opts first = {.first = true}, more = {.first = false};
    int one = bind_or_fail(0, &first), two = bind_or_fail(port_of(one), &more);
    struct sockaddr_in addr = loopback(port_of(one));
    struct sockaddr_storage where;
    struct listener_why why = {.text = ""};
    char expected[64];

    (void)state;
    assert_int_equal(port_of(one), port_of(two));
    assert_true(listener_address(two, &where));
    assert_true(addr_same((struct sockaddr *)&where, (struct sockaddr *)&addr, true));
    assert_int_equal(listener_bind((struct sockaddr *)&addr, sizeof addr, &first, &why), -1);
    snprintf(expected, sizeof expected, "cannot listen on 127.0.0.1:%u: another server",
             port_of(one));
    assert_memory_equal(why.text, expected, strlen(expected));
    close(one);
    close(two);
    close(bind_or_fail(addr_port((struct sockaddr *)&addr), &first));
}

static void addresses_that_cannot_be_are_explained(void **state)
{
    struct sockaddr_in addr = loopback(0);
    struct listener_opts opts = {.first = true};
    struct listener_why why;

    (void)state;
    addr.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1 is nobody's */
    assert_int_equal(listener_bind((struct sockaddr *)&addr, sizeof addr, &opts, &why), -1);
    assert_non_null(strstr(why.text, "192.0.2.1"));
    assert_non_null(strstr(why.text, "no interface"));
}

static void dual_takes_ipv4(void **state)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    struct listener_opts opts = {.first = true, .dual = true};
    struct listener_why why;
    struct sockaddr_storage where;
    int fd = listener_bind((struct sockaddr *)&any, sizeof any, &opts, &why), in, out;

    (void)state;
    assert_true(fd >= 0); /* with or without IPv6 on this machine */
    assert_true(listener_address(fd, &where));
    out = guest(addr_port((struct sockaddr *)&where));
    fcntl(fd, F_SETFL, 0);
    in = accept(fd, NULL, NULL);
    assert_true(in >= 0);
    close(in);
    close(out);
    close(fd);
}

static void it_may_stop_within_accepted(void **state)
{
    int guests[4];

    (void)state;
    open_listener();
    stop_at = 1;
    for (unsigned i = 0; i < 4; i++)
        guests[i] = guest(port_of(l.fd));
    wait_for(saw);
    turn_for(5);
    assert_int_equal(n_got, 1);
    close_all(guests, 4);
    close_all(got, n_got);
}

static void without_descriptors_it_pauses(void **state)
{
    struct rlimit was, none;
    int64_t failed = atomic_load(&count_row[COUNT_accept_failed]);
    int guests[2];

    (void)state;
    open_listener();
    guests[0] = guest(port_of(l.fd));
    getrlimit(RLIMIT_NOFILE, &was);
    none = was;
    none.rlim_cur = 3; /* open ones stay open */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 1000 && atomic_load(&count_row[COUNT_accept_failed]) == failed; i++)
        turn_for(1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(n_got, 0);
    assert_true(timeout_is_set(&l.pause)); /* one try and a pause, not a storm */
    assert_int_equal(atomic_load(&count_row[COUNT_accept_failed]), failed + 1);
    guests[1] = guest(port_of(l.fd)); /* valgrind loses the first */
    clock_shift(110);
    clock_refresh();
    loop_clock_moved();
    wait_for(saw);
    close_all(got, n_got);
    close_all(guests, 2);
    listener_stop(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        looped(many_are_accepted_and_well_set_up),
        looped(keepalive_is_inherited),
        looped(a_port_is_shared_by_workers_but_not_by_servers),
        looped(addresses_that_cannot_be_are_explained),
        looped(dual_takes_ipv4),
        looped(it_may_stop_within_accepted),
        looped(without_descriptors_it_pauses),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
