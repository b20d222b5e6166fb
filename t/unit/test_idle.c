/* test_idle.c - origin connections: kept, taken again, closed when they end, speak or grow old.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include "net/idle.h"
#include "stat/counts.h"

enum { PAIRS = 8 };
static int peer[PAIRS];
static unsigned n_pairs;

static int64_t counted(int slot)
{
    return atomic_load(&count_row[slot]);
}

static int setup(void **state)
{
    n_pairs = 0;
    if (loop_setup(state) != 0)
        return -1;
    idle_init((bt_duration){60000}, 3, 5);
    return 0;
}

static int teardown(void **state)
{
    idle_fini();
    for (unsigned i = 0; i < n_pairs; i++)
        close(peer[i]);
    /* Whatever a test did, nothing may be left. */
    return loop_teardown(state) + (counted(COUNT_origin_open) != 0) +
           (counted(COUNT_origin_idle) != 0);
}
#define pooled(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static struct sockaddr_in addr_a, addr_b, addr_c;
#define A ((struct sockaddr *)&addr_a)
#define B ((struct sockaddr *)&addr_b)
#define C ((struct sockaddr *)&addr_c)

static struct origin *take(const struct sockaddr *addr)
{
    return idle_take(&(struct idle_which){.addr = addr});
}

static struct origin *fresh_keyed(const struct sockaddr *addr, bt_str key)
{
    struct idle_which which = {.addr = addr, .key = key};
    int fd[2];

    tcp_pair(fd);
    peer[n_pairs++] = fd[1];
    return origin_new(fd[0], &which);
}

static struct origin *fresh(const struct sockaddr *addr)
{
    return fresh_keyed(addr, BT_STR_NONE);
}

static bool woken;

static void on_ready(struct stream *s)
{
    (void)s;
    woken = true;
}

static void a_key_is_part_of_what_is_asked_for(void **state)
{
    struct idle_which one = {.addr = A, .key = BT_STR("one")};
    struct origin *o = fresh_keyed(A, BT_STR("one"));

    (void)state;
    idle_put(o);
    assert_null(take(A));
    assert_null(idle_take(&(struct idle_which){.addr = A, .key = BT_STR("on")}));
    assert_ptr_equal(idle_take(&one), o);
    idle_put(o);
    idle_put(fresh(A));
    assert_ptr_equal(idle_take(&one), o);
    origin_rekey(o, BT_STR("two"));
    origin_rekey(o, BT_STR("two"));
    idle_put(o);
    assert_null(idle_take(&one));
    assert_ptr_equal(idle_take(&(struct idle_which){.addr = A, .key = BT_STR("two")}), o);
    origin_close(o);
    origin_close(take(A));
}

static void the_last_used_is_taken_first(void **state)
{
    struct origin *one = fresh(A), *two = fresh(A);
    int64_t reused = counted(COUNT_origin_reused);

    (void)state;
    assert_null(take(A));
    assert_int_equal(counted(COUNT_origin_open), 2);
    idle_put(one);
    idle_put(two);
    assert_int_equal(counted(COUNT_origin_open), 0);
    assert_int_equal(counted(COUNT_origin_idle), 2);
    assert_ptr_equal(take(A), two);
    assert_ptr_equal(take(A), one);
    assert_null(take(A));
    assert_int_equal(counted(COUNT_origin_reused), reused + 2);
    idle_put(one);
    assert_ptr_equal(take(A), one);
    origin_close(one);
    origin_close(two);
}

static void peers_are_told_apart_by_address_and_port(void **state)
{
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = addr_a.sin_port};
    struct origin *o = fresh(A);

    (void)state;
    idle_put(o);
    assert_null(take(B)); /* another port */
    assert_null(take(C)); /* another address */
    mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
    memcpy(&mapped.sin6_addr.s6_addr[12], &addr_a.sin_addr, 4);
    assert_ptr_equal(take((struct sockaddr *)&mapped), o);
    origin_close(o);
}

static void a_kept_connection_still_works(void **state)
{
    struct origin *o = fresh(A);
    char text[8];

    (void)state;
    idle_put(o);
    turn_for(2);
    o = take(A);
    assert_null(o->owner);
    o->stream.ready = on_ready;
    assert_true(stream_put(&o->stream, "GET", 3));
    assert_int_equal(read(peer[0], text, 3), 3);
    say(peer[0], "200");
    woken = false;
    stream_watch(&o->stream);
    wait_for(woken);
    assert_int_equal(stream_read(&o->stream, text, sizeof text), 3);
    idle_put(o);
    assert_ptr_equal(take(A), o);
    origin_close(o);
}

static void one_that_ends_is_closed(void **state)
{
    int64_t surplus = counted(COUNT_origin_surplus);
    char byte;

    (void)state;
    idle_put(fresh(A));
    turn_for(2);
    shutdown(peer[0], SHUT_WR);
    turn_for(10);
    assert_null(take(A));
    assert_int_equal(counted(COUNT_origin_idle), 0);
    assert_int_equal(read(peer[0], &byte, 1), 0);
    assert_int_equal(counted(COUNT_origin_surplus), surplus);
}

static void one_that_speaks_unasked_is_closed(void **state)
{
    int64_t surplus = counted(COUNT_origin_surplus);

    (void)state;
    idle_put(fresh(A));
    turn_for(2);
    say(peer[0], "HTTP/1.1 200 OK\r\n");
    turn_for(10);
    assert_null(take(A));
    assert_int_equal(counted(COUNT_origin_surplus), surplus + 1);
}

static void one_that_spoke_or_ended_is_not_kept(void **state)
{
    struct origin *o = fresh(A);
    int64_t surplus = counted(COUNT_origin_surplus);

    (void)state;
    say(peer[0], "more than was asked");
    o->stream.readable = true; /* as after a read that filled its buffer */
    idle_put(o);
    assert_null(take(A));
    assert_int_equal(counted(COUNT_origin_surplus), surplus + 1);
    o = fresh(A);
    shutdown(peer[1], SHUT_WR);
    o->stream.readable = true;
    idle_put(o);
    assert_null(take(A));
    o = fresh(A);
    stream_shutdown(&o->stream);
    idle_put(o);
    assert_null(take(A));
}

static void an_old_one_is_closed(void **state)
{
    struct origin *o;

    (void)state;
    idle_put(fresh(A));
    clock_shift(40000);
    clock_refresh();
    loop_clock_moved();
    turn_for(2);
    o = take(A); /* in time; and its time begins anew */
    assert_non_null(o);
    idle_put(o);
    clock_shift(40000);
    clock_refresh();
    loop_clock_moved();
    turn_for(2);
    assert_int_equal(counted(COUNT_origin_idle), 1);
    clock_shift(30000);
    clock_refresh();
    loop_clock_moved();
    turn_for(2);
    assert_int_equal(counted(COUNT_origin_idle), 0);
    assert_null(take(A));
}

static void a_peer_may_keep_so_many(void **state)
{
    struct origin *o[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        o[i] = fresh(A);
    for (int i = 0; i < 4; i++)
        idle_put(o[i]);
    assert_int_equal(counted(COUNT_origin_idle), 3);
    assert_ptr_equal(take(A), o[3]); /* the oldest has made room */
    assert_ptr_equal(take(A), o[2]);
    assert_ptr_equal(take(A), o[1]);
    assert_null(take(A));
    for (int i = 1; i < 4; i++)
        origin_close(o[i]);
}

static void all_together_may_keep_so_many(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        idle_put(fresh(A));
    for (int i = 0; i < 3; i++)
        idle_put(fresh(B));
    assert_int_equal(counted(COUNT_origin_idle), 5);
    for (int i = 0; i < 2; i++)
        origin_close(take(A));
    assert_null(take(A)); /* the one idle longest, of whichever peer */
    idle_close_all();
    assert_int_equal(counted(COUNT_origin_idle), 0);
    assert_null(take(B));
}

static void no_time_means_none_is_kept(void **state)
{
    (void)state;
    idle_fini();
    idle_init((bt_duration){0}, 0, 0);
    idle_put(fresh(A));
    assert_int_equal(counted(COUNT_origin_idle), 0);
    idle_fini();
    idle_init((bt_duration){-1}, 0, 0);
    idle_put(fresh(A));
    assert_int_equal(counted(COUNT_origin_idle), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pooled(the_last_used_is_taken_first),
        pooled(a_key_is_part_of_what_is_asked_for),
        pooled(peers_are_told_apart_by_address_and_port),
        pooled(a_kept_connection_still_works),
        pooled(one_that_ends_is_closed),
        pooled(one_that_speaks_unasked_is_closed),
        pooled(one_that_spoke_or_ended_is_not_kept),
        pooled(an_old_one_is_closed),
        pooled(a_peer_may_keep_so_many),
        pooled(all_together_may_keep_so_many),
        pooled(no_time_means_none_is_kept),
    };

    addr_a = loopback(80);
    addr_b = loopback(81);
    addr_c = loopback(80);
    addr_c.sin_addr.s_addr = htonl(0x7f000003);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
