/* test_stream.c - edges, short reads, ends, back-pressure, resets and lingering of streams.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "sockets.h"

#include <sys/ioctl.h>

#include "net/buffer.h"
#include "net/stream.h"

/* A stream, the other end of its socket, and what was seen. */
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
    seen[0] = '\0';
    saw = ended = failed = false;
}

static void close_pair(void)
{
    stream_close(&s);
    stream_close(&s);
    if (peer >= 0)
        close(peer);
    peer = -1;
}

/* Reads as an owner does: once, with room for more than ever comes. */
static void read_once(struct stream *from)
{
    ssize_t n = stream_read(from, seen + n_seen, sizeof seen - 1 - n_seen);

    if (n > 0) {
        n_seen += (size_t)n;
        seen[n_seen] = '\0';
    } else if (n == BT_IO_EOF) {
        ended = true;
    } else if (n == BT_IO_ERROR) {
        failed = true;
    }
}

static void on_ready(struct stream *from)
{
    calls++;
    read_once(from);
    saw = true;
}

static void waits(void)
{
    saw = false;
    wait_for(saw);
}

/* ---- reading ---- */

static void a_short_read_clears_readable(void **state)
{
    (void)state;
    open_pair(on_ready);
    say(peer, "hello");
    assert_true(s.readable);
    read_once(&s);
    assert_string_equal(seen, "hello");
    assert_false(s.readable);
    assert_false(s.watched);
    read_once(&s);
    assert_false(ended || failed);
    close_pair();
}

static void what_came_before_watching_is_told(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_AGAIN);
    say(peer, "early");
    stream_watch(&s);
    stream_watch(&s);
    waits();
    assert_string_equal(seen, "early");
    say(peer, " late");
    waits();
    assert_string_equal(seen, "early late");
    close_pair();
}

static void an_event_that_tells_nothing_calls_nobody(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_AGAIN);
    stream_watch(&s); /* epoll reports at once that it is writable, which we knew */
    turn_for(5);
    assert_int_equal(calls, 0);
    close_pair();
}

static void bytes_and_end_in_one_event_are_both_seen(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_AGAIN);
    stream_watch(&s);
    turn_for(1);
    say(peer, "last words");
    shutdown(peer, SHUT_WR);
    waits();
    assert_string_equal(seen, "last words");
    /* The short read may not hide the end: there is no second edge for it. */
    assert_true(s.readable);
    read_once(&s);
    assert_true(ended && s.eof);
    assert_false(s.readable);
    close_pair();
}

static void bytes_and_end_before_watching_are_both_seen(void **state)
{
    (void)state;
    open_pair(on_ready);
    say(peer, "last words");
    shutdown(peer, SHUT_WR);
    read_once(&s); /* short: «drained», and nobody has told of the end */
    assert_string_equal(seen, "last words");
    assert_false(s.readable || ended);
    stream_watch(&s);
    waits();
    assert_true(ended);
    close_pair();
}

static void shut_then_read(struct stream *from)
{
    calls++;
    if (calls == 1)
        shutdown(peer, SHUT_WR); /* after the event was taken, before the read */
    read_once(from);
    saw = true;
}

static void an_end_between_event_and_read_is_seen(void **state)
{
    char byte;

    (void)state;
    open_pair(shut_then_read);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_AGAIN);
    stream_watch(&s);
    turn_for(1);
    say(peer, "x");
    waits();
    assert_string_equal(seen, "x");
    if (!ended)
        waits();
    assert_true(ended);
    close_pair();
}

static void an_end_right_after_the_read_is_seen(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_AGAIN);
    stream_watch(&s);
    turn_for(1);
    say(peer, "x");
    waits();
    assert_false(s.readable);
    shutdown(peer, SHUT_WR);
    waits();
    assert_true(ended);
    close_pair();
}

static void a_full_buffer_leaves_readable_set(void **state)
{
    char four[4];

    (void)state;
    open_pair(on_ready);
    say(peer, "12345678");
    assert_int_equal(stream_read(&s, four, 4), 4);
    assert_true(s.readable);
    assert_int_equal(stream_read(&s, four, 4), 4);
    assert_true(s.readable); /* perhaps more */
    assert_int_equal(stream_read(&s, four, 4), BT_IO_AGAIN);
    assert_false(s.readable);
    close_pair();
}

static void a_reset_is_an_error(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_AGAIN);
    stream_watch(&s);
    turn_for(1);
    slam(peer);
    peer = -1;
    waits();
    assert_true(failed && s.failed && s.cut);
    assert_int_equal(s.error, ECONNRESET);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_ERROR);
    assert_false(stream_put(&s, "x", 1));
    close_pair();
}

static void bytes_and_reset_in_one_event_are_both_seen(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_AGAIN);
    stream_watch(&s);
    turn_for(1);
    say(peer, "last words");
    slam(peer);
    peer = -1;
    waits();
    assert_string_equal(seen, "last words");
    assert_false(s.readable);
    read_once(&s); /* wants more, so reads again before he waits */
    assert_true(failed);
    close_pair();
}

static void an_answer_makes_sure(void **state)
{
    (void)state;
    open_pair(on_ready);
    say(peer, "question");
    read_once(&s);
    assert_true(s.unsure);
    assert_true(stream_put(&s, "answer", 6));
    assert_false(s.unsure); /* it was not reset, so the next read needs no call */
    say(peer, "x");
    usleep(1000);
    assert_int_equal(stream_read(&s, seen, 1), BT_IO_AGAIN);
    close_pair();
}

static void note_gone(struct stream *from)
{
    ended = stream_gone(from);
    saw = true;
}

static void who_left_is_noticed_without_reading(void **state)
{
    (void)state;
    open_pair(note_gone);
    assert_false(stream_gone(&s));
    assert_false(s.readable); /* the guess was checked */
    stream_watch(&s);
    turn_for(1);
    say(peer, "next request");
    waits();
    assert_false(ended);
    assert_true(s.readable);
    shutdown(peer, SHUT_WR);
    waits();
    assert_true(ended);
    read_once(&s); /* it is still there */
    assert_string_equal(seen, "next request");
    close_pair();

    open_pair(note_gone);
    stream_watch(&s);
    turn_for(1);
    slam(peer);
    peer = -1;
    waits();
    assert_true(ended && s.failed);
    close_pair();
}

static void read_part(struct stream *from)
{
    calls++;
    if (from->readable) {
        char two[2];
        ssize_t n = stream_read(from, two, sizeof two);

        if (n > 0) {
            memcpy(seen + n_seen, two, (size_t)n);
            n_seen += (size_t)n;
            seen[n_seen] = '\0';
            stream_again(from);
        }
    }
    saw = n_seen == 5;
}

static void again_calls_without_an_edge(void **state)
{
    (void)state;
    open_pair(read_part);
    stream_watch(&s);
    say(peer, "12345");
    wait_for(saw);
    assert_string_equal(seen, "12345");
    assert_true(calls >= 3);
    close_pair();
}

/* ---- writing ---- */

static char *big;
enum { BIG = 8 * 1024 * 1024 };

static void big_make(void)
{
    big = malloc(BIG);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 2654435761u >> 13);
}

/* The peer takes up to `most` bytes of the big text; checks each. */
static size_t peer_takes(size_t from, size_t most)
{
    static char part[256 * 1024];
    size_t got = 0;

    while (got < most) {
        size_t want = most - got < sizeof part ? most - got : sizeof part;
        ssize_t n = recv(peer, part, want, MSG_DONTWAIT);

        if (n <= 0)
            break;
        assert_memory_equal(part, big + from + got, (size_t)n);
        got += (size_t)n;
    }
    return got;
}

static void drained(struct stream *from)
{
    calls++;
    saw = stream_pending(from) == 0;
}

static void what_the_kernel_does_not_take_is_kept_and_sent(void **state)
{
    struct iovec iov[3];
    size_t got = 0;

    (void)state;
    big_make();
    open_pair(drained);
    iov[0] = (struct iovec){big, 10};
    iov[1] = (struct iovec){big + 10, 0};
    iov[2] = (struct iovec){big + 10, BIG - 10};
    assert_true(stream_write(&s, iov, 3));
    assert_true(stream_pending(&s) > 0 && stream_pending(&s) < BIG);
    assert_true(s.watched);
    assert_ptr_equal(iov[0].iov_base, big);
    stream_shutdown(&s); /* after what is pending */
    for (int i = 0; i < 10000 && !saw; i++) {
        got += peer_takes(got, BIG);
        turn_for(1);
    }
    assert_true(saw);
    assert_int_equal(calls, 1);
    assert_true(s.writable);
    for (int i = 0; i < 1000 && got < BIG; i++) {
        got += peer_takes(got, BIG);
        usleep(100);
    }
    assert_int_equal(got, BIG);
    assert_int_equal(recv(peer, big, 1, 0), 0);
    close_pair();
    free(big);
}

static void writing_on_top_of_pending_keeps_the_order(void **state)
{
    size_t got = 0, sent = 0;

    (void)state;
    big_make();
    open_pair(drained);
    while (sent < BIG) {
        size_t n = BIG - sent < 100000 ? BIG - sent : 100000;

        assert_true(stream_put(&s, big + sent, n));
        sent += n;
        got += peer_takes(got, 1000);
    }
    for (int i = 0; i < 10000 && got < BIG; i++) {
        turn_for(1);
        got += peer_takes(got, BIG);
    }
    assert_int_equal(got, BIG);
    assert_int_equal(stream_pending(&s), 0);
    close_pair();
    free(big);
}

static void what_was_said_before_a_reset_can_be_read(void **state)
{
    (void)state;
    big_make();
    open_pair(on_ready);
    say(peer, "413 too large");
    usleep(1000);
    slam(peer); /* bytes of ours may be unread: a reset */
    peer = -1;
    usleep(1000);
    assert_false(stream_put(&s, big, 1000));
    assert_true(s.cut);
    assert_false(s.failed);
    read_once(&s);
    assert_string_equal(seen, "413 too large");
    close_pair();
    free(big);
}

static void a_reset_while_pending_is_told(void **state)
{
    (void)state;
    big_make();
    open_pair(on_ready);
    assert_true(stream_put(&s, big, BIG));
    assert_true(stream_pending(&s) > 0);
    slam(peer);
    peer = -1;
    waits();
    assert_true(s.cut);
    assert_int_equal(stream_pending(&s), 0);
    close_pair();
    free(big);
}

static void half_close_leaves_the_other_half(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    assert_true(stream_put(&s, "bye", 3));
    stream_shutdown(&s);
    stream_shutdown(&s);
    assert_int_equal(recv(peer, &byte, 1, 0), 1);
    assert_int_equal(recv(peer, seen, 2, MSG_WAITALL), 2);
    assert_int_equal(recv(peer, &byte, 1, 0), 0);
    say(peer, "still here");
    stream_watch(&s);
    waits();
    assert_string_equal(seen, "still here");
    close_pair();
}

/* ---- closing ---- */

static struct stream other;

static void close_both(struct stream *from)
{
    (void)from;
    calls++;
    stream_close(&s);
    stream_close(&other);
    saw = true;
}

static void closes_both(bool from_deferred)
{
    int fd[2];

    open_pair(close_both);
    tcp_pair(fd);
    stream_init(&other, fd[0], close_both);
    stream_watch(&s);
    stream_watch(&other);
    turn_for(1);
    say(peer, "x"); /* both events stand in one turn; the first callback closes both */
    say(fd[1], "y");
    if (from_deferred)
        stream_again(&other);
    waits();
    turn_for(5);
    assert_int_equal(calls, 1);
    assert_int_equal(s.fd, -1);
    close(fd[1]);
    close_pair();
}

static void streams_may_be_closed_from_any_callback(void **state)
{
    (void)state;
    closes_both(false);
    closes_both(true);
}

/* ---- lingering ---- */

static void an_answer_survives_what_is_still_being_sent(void **state)
{
    static char chunk[64 * 1024], answer[64];
    size_t sent = 0, got = 0;
    ssize_t n;

    (void)state;
    open_pair(on_ready);
    fcntl(peer, F_SETFL, O_NONBLOCK);
    while ((n = send(peer, chunk, sizeof chunk, MSG_NOSIGNAL)) > 0)
        sent += (size_t)n;
    assert_true(stream_put(&s, "403 no", 6));
    stream_close_lingering(&s);
    assert_int_equal(s.fd, -1);
    assert_int_equal(stream_lingering(), 1);
    for (int i = 0; i < 50 && sent < 1000 * 1000; i++) { /* goes on after the answer was given */
        n = send(peer, chunk, sizeof chunk, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        turn_for(1);
    }
    for (int i = 0; i < 1000 && got < 6; i++) {
        n = recv(peer, answer + got, sizeof answer - got, 0);
        assert_true(n != 0);
        if (n < 0)
            assert_int_equal(errno, EAGAIN); /* above all, no ECONNRESET */
        got += n > 0 ? (size_t)n : 0;
        turn_for(1);
    }
    assert_memory_equal(answer, "403 no", 6);
    close(peer);
    peer = -1;
    for (int i = 0; i < 1000 && stream_lingering() > 0; i++)
        turn_for(1);
    assert_int_equal(stream_lingering(), 0);
    close_pair();
}

static void lingering_ends_by_time_and_by_bytes(void **state)
{
    static char chunk[64 * 1024];

    (void)state;
    open_pair(on_ready);
    stream_close_lingering(&s);
    assert_int_equal(stream_lingering(), 1);
    turn_for(5);
    clock_shift(2500);
    clock_refresh();
    loop_clock_moved();
    turn_for(5);
    assert_int_equal(stream_lingering(), 0);
    close(peer);

    open_pair(on_ready);
    stream_close_lingering(&s);
    fcntl(peer, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 1000 && stream_lingering() > 0; i++) {
        (void)!send(peer, chunk, sizeof chunk, MSG_NOSIGNAL);
        turn_for(1);
    }
    assert_int_equal(stream_lingering(), 0);
    close_pair();
}

static void lingering_delivers_what_is_pending(void **state)
{
    size_t got = 0;
    char byte;

    (void)state;
    big_make();
    open_pair(on_ready);
    assert_true(stream_put(&s, big, BIG));
    assert_true(stream_pending(&s) > 0);
    shutdown(peer, SHUT_WR);
    stream_close_lingering(&s);
    for (int i = 0; i < 10000 && got < BIG; i++) {
        turn_for(1);
        got += peer_takes(got, BIG);
    }
    assert_int_equal(got, BIG);
    assert_int_equal(recv(peer, &byte, 1, 0), 0);
    turn_for(1);
    assert_int_equal(stream_lingering(), 0);
    close_pair();
    free(big);
}

static void a_side_that_is_done_needs_no_lingering(void **state)
{
    char byte;

    (void)state;
    open_pair(on_ready);
    shutdown(peer, SHUT_WR);
    assert_int_equal(stream_read(&s, &byte, 1), BT_IO_EOF);
    stream_close_lingering(&s);
    assert_int_equal(stream_lingering(), 0);
    close_pair();

    open_pair(on_ready);
    stream_close_lingering(&s);
    stream_cut_lingering();
    assert_int_equal(stream_lingering(), 0);
    close_pair();
}

/* ---- transports ---- */

/* Takes everything off the socket at once and gives it out in pieces of at most three bytes, upside
 * down in case; writes five bytes at a time. */
struct pieces {
    char held[256];
    size_t at, end;
    bool closed, shut;
};

static ssize_t pieces_read(void *state, void *buf, size_t cap)
{
    struct pieces *p = state;
    size_t n;

    if (p->at == p->end) {
        ssize_t got = recv(s.fd, p->held, sizeof p->held, 0);

        if (got <= 0)
            return got == 0 ? BT_IO_EOF : errno == EAGAIN ? BT_IO_AGAIN : BT_IO_ERROR;
        p->at = 0;
        p->end = (size_t)got;
    }
    n = p->end - p->at < 3 ? p->end - p->at : 3;
    if (n > cap)
        n = cap;
    for (size_t i = 0; i < n; i++)
        ((char *)buf)[i] = (char)(p->held[p->at + i] ^ 0x20);
    p->at += n;
    return (ssize_t)n;
}

static ssize_t pieces_write(void *state, const struct iovec *iov, int n)
{
    (void)state;
    (void)n;
    return send(s.fd, iov->iov_base, iov->iov_len < 5 ? iov->iov_len : 5, MSG_NOSIGNAL);
}

static bool pieces_holds(void *state)
{
    const struct pieces *p = state;

    return p->at < p->end;
}

static void pieces_shutdown(void *state)
{
    ((struct pieces *)state)->shut = true;
}

static void pieces_close(void *state)
{
    ((struct pieces *)state)->closed = true;
}

static const struct bt_transport pieces_via = {"pieces",     pieces_read,     pieces_write,
                                               pieces_holds, pieces_shutdown, pieces_close};

static void a_transport_that_holds_bytes_is_read_without_an_edge(void **state)
{
    struct pieces p = {.at = 0};
    char got[32];

    (void)state;
    open_pair(on_ready);
    stream_via(&s, &pieces_via, &p);
    stream_watch(&s);
    say(peer, "abcdefgh");
    for (int i = 0; i < 1000 && n_seen < 8; i++)
        turn_for(1);
    assert_string_equal(seen, "ABCDEFGH");
    assert_true(stream_put(&s, "0123456789abc", 13));
    assert_int_equal(stream_pending(&s), 0);
    assert_int_equal(recv(peer, got, 13, MSG_WAITALL), 13);
    assert_memory_equal(got, "0123456789abc", 13);
    stream_shutdown(&s);
    assert_true(p.shut);
    assert_int_equal(recv(peer, got, 1, 0), 0);
    say(peer, "x");
    shutdown(peer, SHUT_WR);
    for (int i = 0; i < 1000 && !ended; i++)
        turn_for(1);
    assert_string_equal(seen, "ABCDEFGHX");
    assert_true(ended);
    close_pair();
    assert_true(p.closed);
}

static void sizes_are_as_promised(void **state)
{
    (void)state;
    assert_true(sizeof(struct stream) <= 200);
    assert_true(sizeof(struct timeout) <= 40);
    assert_ptr_equal(buffer_in(), buffer_in());
    assert_true(buffer_out() != buffer_in());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        looped(a_short_read_clears_readable),
        looped(what_came_before_watching_is_told),
        looped(an_event_that_tells_nothing_calls_nobody),
        looped(bytes_and_end_in_one_event_are_both_seen),
        looped(bytes_and_end_before_watching_are_both_seen),
        looped(an_end_between_event_and_read_is_seen),
        looped(an_end_right_after_the_read_is_seen),
        looped(a_full_buffer_leaves_readable_set),
        looped(a_reset_is_an_error),
        looped(bytes_and_reset_in_one_event_are_both_seen),
        looped(an_answer_makes_sure),
        looped(who_left_is_noticed_without_reading),
        looped(again_calls_without_an_edge),
        looped(what_the_kernel_does_not_take_is_kept_and_sent),
        looped(writing_on_top_of_pending_keeps_the_order),
        looped(what_was_said_before_a_reset_can_be_read),
        looped(a_reset_while_pending_is_told),
        looped(half_close_leaves_the_other_half),
        looped(streams_may_be_closed_from_any_callback),
        looped(an_answer_survives_what_is_still_being_sent),
        looped(lingering_ends_by_time_and_by_bytes),
        looped(lingering_delivers_what_is_pending),
        looped(a_side_that_is_done_needs_no_lingering),
        looped(a_transport_that_holds_bytes_is_read_without_an_edge),
        looped(sizes_are_as_promised),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
