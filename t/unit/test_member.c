/* test_member.c - zones, locks and members: processes are forked, killed anywhere, and buried once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "conf/complain.h"
#include "stat/member.h"
#include "stat/zone.h"

static struct bt_arena *arena;
static struct bt_error err;

/* What the processes of a test tell each other; a zone like any other. */
struct board {
    struct bt_lock lock;
    _Atomic uint64_t a, b;                  /* equal, but for who holds the lock */
    _Atomic unsigned dirty;                 /* times that a lock was dirty */
    _Atomic unsigned buried;                /* members that were */
    _Atomic unsigned begun;                 /* times that it was begun */
    _Atomic unsigned owner[BT_MEMBERS_MAX]; /* pid */
    _Atomic unsigned woken;
    _Atomic bool stop, hold;
};
static struct board *board;

static int begin(void **state)
{
    (void)state;
    arena = arena_new(4096);
    complain_init(&err, arena);
    assert_true(member_make(8, &err));
    struct bt_zone *zone = bt_zone_make("board", sizeof *board, 1, 0, &err);
    assert_non_null(zone);
    board = bt_zone_memory(zone);
    bt_lock_init(&board->lock);
    return 0;
}

static int end(void **state)
{
    (void)state;
    member_forget();
    zone_forget();
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

static void nap(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

static pid_t child(void (*run)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
    run();
    _exit(0);
}

static int ended(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void kill_it(pid_t pid)
{
    kill(pid, SIGKILL);
    (void)ended(pid);
}

/* ---- zones ---- */

static void a_zone_is_empty_and_sparse(void **state)
{
    struct stat st;
    uint64_t size = UINT64_C(256) << 20;
    int fds = open("/dev/null", O_RDONLY);

    (void)state;
    close(fds);
    struct bt_zone *zone = bt_zone_make("large", size, 1, BT_ZONE_HUGE, &err);
    assert_non_null(zone);
    assert_false(bt_zone_kept(zone));
    assert_int_equal(bt_zone_size(zone), size);
    const char *at = bt_zone_memory(zone);
    assert_int_equal((uintptr_t)at % 4096, 0);
    assert_int_equal(at[0] | at[size - 1], 0);
    assert_int_equal(fstat(fds, &st), 0); /* the lowest free one was the zone's */
    assert_true((uint64_t)st.st_size == size && st.st_blocks < 16384);
}

static void more_than_the_machine_has_is_a_complaint(void **state)
{
    (void)state;
    assert_null(bt_zone_make("endless", UINT64_C(1) << 50, 1, 0, &err));
    assert_int_equal(err.n, 1);
    assert_non_null(
        strstr(err.list[0].text, "no shared memory of 1125899906842624 bytes for endless"));
}

static struct zone_paper given[8];
static size_t n_given;

static void give(void *arg, const struct zone_paper *paper)
{
    (void)arg;
    given[n_given] = *paper;
    given[n_given++].fd = dup(paper->fd); /* as an exec would leave it */
}

static void hand_over(void)
{
    n_given = 0;
    zone_settle();
    zone_each(give, NULL);
    assert_int_equal(zone_count(), n_given);
    zone_forget();
    for (size_t i = 0; i < n_given; i++)
        zone_left(&given[i]);
}

static void a_zone_is_kept_when_all_is_the_same(void **state)
{
    int lowest = -1;

    (void)state;
    strcpy(bt_zone_memory(bt_zone_make("same", 8192, 1, 0, &err)), "hello");
    strcpy(bt_zone_memory(bt_zone_make("larger", 8192, 1, 0, &err)), "hello");
    strcpy(bt_zone_memory(bt_zone_make("shaped", 8192, 1, 0, &err)), "hello");
    strcpy(bt_zone_memory(bt_zone_make("gone", 8192, 1, 0, &err)), "hello");
    hand_over();
    struct bt_zone *same = bt_zone_make("same", 8192, 1, 0, &err);
    struct bt_zone *larger = bt_zone_make("larger", 8193, 1, 0, &err);
    struct bt_zone *shaped = bt_zone_make("shaped", 8192, 2, 0, &err);
    assert_true(bt_zone_kept(same));
    assert_string_equal(bt_zone_memory(same), "hello");
    assert_false(bt_zone_kept(larger) || bt_zone_kept(shaped));
    assert_string_equal(bt_zone_memory(larger), "");
    assert_string_equal(bt_zone_memory(shaped), "");
    for (size_t i = 0; i < n_given; i++)
        if (strcmp(given[i].name, "gone") == 0)
            lowest = given[i].fd;
    assert_true(lowest >= 0 && fcntl(lowest, F_GETFD) >= 0);
    zone_settle();
    assert_true(fcntl(lowest, F_GETFD) < 0 && errno == EBADF);
    assert_int_equal(zone_count(), 3);
}

/* The configuration failed half way: the next image gets what we got. */
static void what_failed_hands_on_what_was_left_to_it(void **state)
{
    (void)state;
    strcpy(bt_zone_memory(bt_zone_make("same", 8192, 1, 0, &err)), "hello");
    strcpy(bt_zone_memory(bt_zone_make("changed", 8192, 1, 0, &err)), "hello");
    hand_over();
    (void)bt_zone_make("same", 8192, 1, 0, &err);
    (void)bt_zone_make("changed", 16384, 1, 0, &err);
    (void)bt_zone_make("new", 8192, 1, 0, &err);
    n_given = 0;
    zone_each(give, NULL);
    assert_int_equal(n_given, 4); /* with `members` and `board` */
    for (size_t i = 0; i < n_given; i++)
        assert_true(strcmp(given[i].name, "new") != 0 && given[i].size != 16384);
    for (size_t i = 0; i < n_given; i++)
        close(given[i].fd);
}

/* ---- locks ---- */

static void add_for_ever(void)
{
    for (;;) {
        if (bt_lock_take(&board->lock) == BT_LOCK_HELD_DIRTY) {
            board->dirty++;
            board->a = board->b = board->a < board->b ? board->a : board->b;
        }
        if (board->a != board->b)
            _exit(3);
        uint64_t n = board->a;
        board->a = n + 1;
        for (volatile int i = 0; i < 50; i++)
            ;
        board->b = n + 1;
        bt_lock_release(&board->lock);
    }
}

static void locks_survive_their_owners(void **state)
{
    pid_t pid[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        pid[i] = child(add_for_ever);
    for (int round = 0; round < 400; round++) {
        nap(300 + round % 7 * 100);
        kill_it(pid[round % 3]);
        pid[round % 3] = child(add_for_ever);
    }
    uint64_t before = board->a;
    nap(20000);
    assert_true(board->a > before);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waitpid(pid[i], NULL, WNOHANG), 0); /* none has seen a half-done thing */
        kill_it(pid[i]);
    }
    assert_true(board->dirty > 10);
}

static void take_and_die(void)
{
    (void)!bt_lock_take(&board->lock);
}

static void dirty_is_told_again_when_the_repairer_dies(void **state)
{
    (void)state;
    (void)ended(child(take_and_die)); /* even a clean exit, with a lock held, is a death */
    (void)ended(child(take_and_die));
    assert_int_equal(bt_lock_try(&board->lock), BT_LOCK_HELD_DIRTY);
    bt_lock_release(&board->lock);
    assert_int_equal(bt_lock_try(&board->lock), BT_LOCK_HELD);
    bt_lock_release(&board->lock);
}

static void try_it(void)
{
    _exit(bt_lock_try(&board->lock) == BT_LOCK_BUSY ? 0 : 1);
}

static void one_holds_it_at_a_time(void **state)
{
    (void)state;
    assert_int_equal(bt_lock_take(&board->lock), BT_LOCK_HELD);
    assert_int_equal(ended(child(try_it)), 0);
    bt_lock_release(&board->lock);
    assert_int_equal(WEXITSTATUS(ended(child(try_it))), 1);
}

/* ---- members ---- */

static void died(void *arg, unsigned member)
{
    (void)arg;
    board->begun++;
    while (board->hold)
        nap(1000);
    if (board->owner[member] != 0) {
        board->owner[member] = 0;
        board->buried++;
    }
}

static void be_a_member(void)
{
    if (!member_claim() || board->owner[bt_member()] != 0)
        _exit(4); /* its number is somebody's who was not buried */
    board->owner[bt_member()] = (unsigned)getpid();
    while (!board->stop) {
        member_tick();
        nap(500);
    }
    board->owner[bt_member()] = 0;
    member_give_back();
}

static bool soon(bool (*is)(void))
{
    for (int i = 0; i < 5000; i++) {
        if (is())
            return true;
        nap(1000);
    }
    return false;
}

static unsigned wanted;
static unsigned living(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < BT_MEMBERS_MAX; i++)
        n += board->owner[i] != 0;
    return n;
}
static bool as_many_live(void)
{
    return living() == wanted;
}
static bool as_many_are_buried(void)
{
    return board->buried == wanted;
}

static void each_dead_member_is_buried_once(void **state)
{
    enum { N = 5, ROUNDS = 200 };
    pid_t pid[N];

    (void)state;
    bt_on_death(died, NULL);
    for (int i = 0; i < N; i++)
        pid[i] = child(be_a_member);
    wanted = N;
    assert_true(soon(as_many_live));
    for (int round = 0; round < ROUNDS; round++) {
        kill_it(pid[round % N]);
        wanted = (unsigned)round + 1;
        assert_true(soon(as_many_are_buried));
        pid[round % N] = child(be_a_member);
        wanted = N;
        assert_true(soon(as_many_live));
    }
    assert_int_equal(board->begun, ROUNDS);
    board->stop = true;
    for (int i = 0; i < N; i++)
        assert_int_equal(ended(pid[i]), 0);
    for (unsigned i = N + 1; i < BT_MEMBERS_MAX; i++)
        assert_int_equal(board->owner[i], 0); /* numbers were used again */
    assert_int_equal(board->buried, ROUNDS);
}

/* Many die while others claim: nobody gets a number of one who is not buried (status 4). */
static void numbers_are_not_given_before_the_burial(void **state)
{
    enum { N = 6 };
    pid_t pid[N];

    (void)state;
    bt_on_death(died, NULL);
    for (int i = 0; i < N; i++)
        pid[i] = child(be_a_member);
    for (int round = 0; round < 300; round++) {
        int i = round % N;
        if (round % 11 != 0)
            nap(400);
        kill(pid[i], SIGKILL);
        int status = ended(pid[i]);
        assert_true(WIFSIGNALED(status));
        pid[i] = child(be_a_member);
    }
    wanted = N;
    assert_true(soon(as_many_live));
    board->stop = true;
    for (int i = 0; i < N; i++)
        assert_int_equal(ended(pid[i]), 0);
}

static bool burying(void)
{
    return board->begun >= wanted;
}

static void a_burial_is_done_again_when_the_survivor_dies(void **state)
{
    (void)state;
    bt_on_death(died, NULL);
    pid_t first = child(be_a_member);
    wanted = 1;
    assert_true(soon(as_many_live));
    board->hold = true;
    kill_it(first);
    pid_t second = child(be_a_member);
    assert_true(soon(burying));
    kill_it(second);
    board->hold = false;
    pid_t third = child(be_a_member);
    wanted = 2;
    assert_true(soon(as_many_are_buried));
    assert_int_equal(board->begun, 3); /* the first twice */
    board->stop = true;
    assert_int_equal(ended(third), 0);
}

static void exit_at_once(void)
{
    assert_int_equal(bt_member(), BT_NO_MEMBER);
}

static void a_forked_child_is_no_member_and_its_end_no_death(void **state)
{
    (void)state;
    bt_on_death(died, NULL);
    assert_int_equal(bt_member(), BT_NO_MEMBER);
    assert_true(member_claim());
    assert_int_equal(bt_member(), 0);
    assert_int_equal(ended(child(exit_at_once)), 0);
    pid_t other = child(be_a_member);
    wanted = 1;
    assert_true(soon(as_many_live));
    nap(20000);
    board->stop = true;
    assert_int_equal(ended(other), 0);
    assert_int_equal(board->begun, 0);
    assert_int_equal(board->owner[0], 0);
}

/* ---- waking ---- */

static void woken(void *arg)
{
    (void)arg;
    board->woken++;
}

static bool readable(void)
{
    struct pollfd p = {member_fd(0), POLLIN, 0};

    return poll(&p, 1, 0) == 1;
}

static void wakes_are_written_once_until_they_are_seen(void **state)
{
    uint64_t n = 0;

    (void)state;
    bt_on_wake(woken, NULL);
    assert_true(member_claim());
    bt_wake(BT_NO_MEMBER);
    bt_wake(200); /* no descriptor */
    assert_false(readable());
    for (int i = 0; i < 10; i++)
        bt_wake(0);
    assert_int_equal(read(member_fd(0), &n, sizeof n), sizeof n);
    assert_int_equal(n, 1);
    bt_wake(0);
    assert_false(readable());
    member_wake();
    assert_int_equal(board->woken, 1);
    bt_wake(0);
    assert_true(readable());
    member_wake();
    assert_false(readable());
    assert_int_equal(board->woken, 2);
}

static void a_wake_without_descriptor_is_seen_by_the_tick(void **state)
{
    (void)state;
    bt_on_wake(woken, NULL);
    for (unsigned i = 0; i < 8; i++) /* more than there are descriptors for */
        (void)child(be_a_member);
    wanted = 8;
    assert_true(soon(as_many_live));
    assert_true(member_claim());
    assert_int_equal(bt_member(), 8);
    bt_wake(8);
    assert_int_equal(board->woken, 0);
    member_tick();
    assert_int_equal(board->woken, 1);
    member_tick();
    assert_int_equal(board->woken, 1);
    board->stop = true;
    for (unsigned i = 0; i < 8; i++)
        assert_true(wait(NULL) > 0);
}

static void wake_for_ever(void)
{
    for (;;) {
        board->a++;
        bt_wake(0);
    }
}

/* What was written before a wake is seen after it, whenever it comes. */
static void no_wake_is_lost(void **state)
{
    uint64_t last = 0;

    (void)state;
    bt_on_wake(woken, NULL);
    assert_true(member_claim());
    pid_t pid = child(wake_for_ever);
    for (int i = 0; i < 20000; i++) {
        struct pollfd p = {member_fd(0), POLLIN, 0};
        assert_int_equal(poll(&p, 1, 2000), 1);
        member_wake();
    }
    kill_it(pid);
    member_wake();
    last = board->a;
    assert_true(last > 1000);
}

/* ---- handing over ---- */

static void members_and_their_descriptors_survive_a_reload(void **state)
{
    int fd = dup(member_fd(0));

    (void)state;
    bt_on_death(died, NULL);
    pid_t old = child(be_a_member);
    wanted = 1;
    assert_true(soon(as_many_live));
    hand_over();
    member_forget();
    member_left(0, fd);
    assert_true(member_make(2, &err));
    board = bt_zone_memory(bt_zone_make("board", sizeof *board, 1, 0, &err));
    zone_settle();
    bt_on_death(died, NULL);
    assert_true(member_claim());
    assert_int_equal(bt_member(), 1); /* the old one lives */
    assert_int_equal(member_fd(0), fd);
    assert_true(member_fd(1) >= 0 && member_fd(2) < 0);
    kill_it(old);
    member_tick();
    assert_int_equal(board->buried, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
        T(a_zone_is_empty_and_sparse),
        T(more_than_the_machine_has_is_a_complaint),
        T(a_zone_is_kept_when_all_is_the_same),
        T(what_failed_hands_on_what_was_left_to_it),
        T(locks_survive_their_owners),
        T(dirty_is_told_again_when_the_repairer_dies),
        T(one_holds_it_at_a_time),
        T(each_dead_member_is_buried_once),
        T(numbers_are_not_given_before_the_burial),
        T(a_burial_is_done_again_when_the_survivor_dies),
        T(a_forked_child_is_no_member_and_its_end_no_death),
        T(wakes_are_written_once_until_they_are_seen),
        T(a_wake_without_descriptor_is_seen_by_the_tick),
        T(no_wake_is_lost),
        T(members_and_their_descriptors_survive_a_reload),
    };
    log_level(BT_WARN); /* burials are told */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
