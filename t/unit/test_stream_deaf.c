/* test_stream_deaf.c - a stream whose owner does not want to read now: who is woken, and by what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include "net/stream.h"

static struct stream s;
static int peer;
static char seen[256];
static size_t n_seen;
static unsigned calls;
static bool saw, ended, failed;

static void open_pair(void (*ready)(struct stream *))
{
    int fd[2];

    tcp_pair(fd);
    stream_init(&s, fd[0], ready);
    peer = fd[1];
    n_seen = calls = 0;
    saw = ended = failed = false;
}

static void close_pair(void)
{
    stream_close(&s);
    if (peer >= 0)
        close(peer);
    peer = -1;
}

static void read_once(void)
{
    ssize_t n = stream_read(&s, seen + n_seen, sizeof seen - 1 - n_seen);

    if (n > 0)
        n_seen += (size_t)n;
    seen[n_seen] = '\0';
    ended |= n == BT_IO_EOF;
    failed |= n == BT_IO_ERROR;
}

static void waits(void)
{
    saw = false;
    wait_for(saw);
}

static void count_only(struct stream *from)
{
    (void)from;
    calls++;
    saw = true;
}

/* Watched, with bytes that nobody read, and told of no more. */
static void open_deaf(void)
{
    unsigned before;

    open_pair(count_only);
    stream_watch(&s);
    say(peer, "one ");
    waits();
    stream_deaf(&s);
    assert_true(s.deaf);
    turn_for(5); /* being watched anew may call */
    before = calls;
    say(peer, "two ");
    turn_for(5);
    say(peer, "three ");
    turn_for(5);
    assert_int_equal(calls, before);
}

static void a_deaf_one_hears_again_when_it_reads(void **state)
{
    unsigned before;

    (void)state;
    open_deaf();
    read_once();
    assert_string_equal(seen, "one two three ");
    assert_false(s.deaf);
    turn_for(5);
    before = calls;
    say(peer, "four");
    waits();
    assert_true(calls > before);
    read_once();
    assert_string_equal(seen, "one two three four");
    close_pair();
}

static void a_deaf_one_is_told_of_ends(void **state)
{
    (void)state;
    open_deaf();
    shutdown(peer, SHUT_WR);
    waits();
    read_once();
    assert_string_equal(seen, "one two three ");
    assert_false(ended);
    read_once();
    assert_true(ended);
    close_pair();
    open_deaf();
    slam(peer);
    peer = -1;
    waits();
    for (int i = 0; i < 2 && !failed; i++)
        read_once();
    assert_true(failed);
    close_pair();
}

static void a_deaf_one_is_told_of_room(void **state)
{
    static char part[64 * 1024];
    struct iovec iov = {part, sizeof part};

    (void)state;
    open_deaf();
    while (stream_pending(&s) == 0)
        assert_true(stream_write(&s, &iov, 1));
    saw = false;
    for (int i = 0; i < 1000 && stream_pending(&s) > 0; i++) {
        while (recv(peer, part, sizeof part, MSG_DONTWAIT) > 0)
            ;
        turn_for(1);
    }
    assert_true(saw);
    assert_int_equal(stream_pending(&s), 0);
    close_pair();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        looped(a_deaf_one_hears_again_when_it_reads),
        looped(a_deaf_one_is_told_of_ends),
        looped(a_deaf_one_is_told_of_room),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
