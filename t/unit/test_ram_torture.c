/* test_ram_torture.c - eight processes on one zone, and one of them is killed every few milliseconds.
 *
 * Each body says in its first bytes how all others must be. No wrong byte may ever be read, nobody may
 * be stuck, and in the end all that is in the zone is accounted for. TORTURE_SECONDS makes it longer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "ram_kit.h"

enum { WORKERS = 8, KEYS = 3000, FEW_KEYS = 300, HELD = 6, MEMBER_OF_PARENT = 20 };

static const struct store *const store = &store_ram;

static struct shared {
    _Atomic bool stop;
    _Atomic uint64_t ops[WORKERS], hits, puts, renewals, flights, counts[RAM_COUNTS];
} * shared;

static void counted(enum ram_count what, int64_t by)
{
    shared->counts[what] += (uint64_t)by;
}

static uint8_t body[KIT_BODY_MAX];

/* ---- what a worker does ---- */

static struct store_ref held[HELD];
static uint32_t held_key[HELD];

static void wrong(const char *what)
{
    fprintf(stderr, "# %s\n", what);
    _exit(3);
}

static void do_find(uint32_t key)
{
    struct store_ref ref;
    char at[32];

    if (store->find(kit_key(at, key), &ref, NULL, NULL) != STORE_HIT)
        return;
    shared->hits++;
    if (!bt_str_eq(ref.key, kit_key(at, key)) || !kit_head_right(&ref, key))
        wrong("a head of another");
    if (!kit_body_right(&ref, key, -1))
        wrong("a wrong body");
    uint32_t slot = kit_dice(HELD);
    if (kit_dice(4) == 0) {
        if (held[slot].store != NULL) {
            if (!kit_body_right(&held[slot], held_key[slot], -1))
                wrong("a body changed while it was read");
            store->release(&held[slot]);
        }
        store->hold(&ref, &held[slot]);
        held_key[slot] = key;
    }
    store->release(&ref);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void do_follow(const struct flight *flight, uint32_t key)
{
    struct store_ref ref;

    if (!flight_ref(flight, &ref))
        return;
    if (!kit_head_right(&ref, key) || !kit_body_right(&ref, key, ref.length))
        wrong("a growing body is wrong");
    store->release(&ref);
}

static void do_put(uint32_t key, struct flight *flight)
{
    size_t length = kit_body_make(body, key,
                                  kit_dice(8) == 0 ? kit_dice(KIT_BODY_MAX) : kit_dice(6000)),
           at = 0;
    char name[32], head[40];
    struct store_meta meta = {.stored = 1000 + key};
    struct store_writer *w = store->begin(kit_key(name, key), &meta, kit_head(head, key, 0),
                                          kit_dice(2) ? (int64_t)length : -1);

    if (w == NULL)
        return;
    if (flight != NULL)
        flight_growing(flight, w);
    while (at < length) {
        size_t part = kit_dice(30000) + 1;
        part = part < length - at ? part : length - at;
        bt_str piece = {(char *)body + at, part};
        if (!store->write(w, &piece, 1) || kit_dice(200) == 0) {
            store->cancel(w);
            return;
        }
        at += part;
        if (flight != NULL) {
            flight_grown(flight);
            do_follow(flight, key);
        }
    }
    shared->puts += store->commit(w);
    if (flight != NULL)
        flight_whole(flight, true);
}

static void do_flight(uint32_t key)
{
    static struct flight flight;
    char at[32];

    switch (flight_join(&flight, kit_key(at, key), nothing, NULL)) {
    case FLIGHT_LEAD:
        do_put(key, kit_dice(20) == 0 ? NULL : &flight);
        break;
    case FLIGHT_FOLLOW:
        shared->flights++;
        for (int i = 0; i < 20; i++) {
            kit_look();
            do_follow(&flight, key);
        }
        break;
    case FLIGHT_ALONE:
        break;
    }
    flight_leave(&flight);
}

static void do_renew(uint32_t key)
{
    struct store_ref ref;
    char at[32], head[40];

    if (store->find(kit_key(at, key), &ref, NULL, NULL) != STORE_HIT)
        return;
    bt_str text = kit_head(head, key, kit_dice(1000000));
    shared->renewals += store->renew(&ref, ref.meta, text);
    store->release(&ref);
}

static bool visit(void *arg, const struct store_ref *ref)
{
    (void)arg;
    if (!kit_body_right(ref, -1, -1))
        wrong("a wrong body on a walk");
    return kit_dice(200) == 0;
}

static void worker(unsigned member)
{
    uint64_t place = 0;
    char at[32];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    kit_seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15 + member;
    if (!kit_start(member))
        wrong("no start");
    while (!shared->stop) {
        uint32_t what = kit_dice(100), key = kit_dice(kit_dice(2) ? KEYS : KEYS / 10);
        kit_look();
        if (what < 50)
            do_find(key);
        else if (what < 75)
            do_put(key, NULL);
        else if (what < 85)
            do_flight(kit_dice(4));
        else if (what < 95)
            do_renew(key);
        else if (what < 99)
            store->remove(kit_key(at, key));
        else
            store->walk(&place, visit, NULL);
        shared->ops[member]++;
    }
    for (int i = 0; i < HELD; i++)
        store->release(&held[i]);
    for (int i = 0; i < 1000 && linked != 0; i++) { /* others still read what we led */
        kit_look();
        usleep(1000);
    }
    for (uint32_t i = 0; i < ram.segments; i++)
        if (ram.row->pins[i] != 0)
            wrong("a pin is left");
    ram_stop();
}

static pid_t hire(unsigned member)
{
    pid_t pid = fork();

    if (pid == 0) {
        worker(member);
        _exit(0);
    }
    return pid;
}

/* ---- the end: is all accounted for? ---- */

static bool anybody(void *arg, const struct store_ref *ref)
{
    (void)ref;
    ++*(uint64_t *)arg;
    return true;
}

static void account_all(void)
{
    struct ram_sums sums;
    uint64_t slots, walked = 0, place = 0;

    assert_true(kit_start(MEMBER_OF_PARENT));
    slots = kit_assert_left();
    do
        store->walk(&place, anybody, &walked);
    while (place != 0);
    assert_int_equal(walked, slots);
    ram_sums(&sums);
    assert_int_equal(sums.live, 0);
    assert_int_equal(sums.bodies, 0);
    uint64_t before = shared->puts;
    for (int i = 0; i < 20000; i++)
        do_put(kit_dice(KEYS), NULL);
    assert_true(shared->puts - before > 15000);
    assert_int_equal(shared->counts[COUNT_ram_corrupt], 0);
}

static void torture(int64_t bytes, enum ram_policy policy, double seconds)
{
    pid_t pid[WORKERS];
    uint64_t was[WORKERS] = {0};
    int kills = (int)(seconds * 1000 / 25), status;

    kit_drop();
    assert_true(kit_setup(bytes, policy));
    ram_counted = counted;
    memset(shared, 0, sizeof *shared);
    for (unsigned i = 0; i < WORKERS; i++)
        pid[i] = hire(i);
    for (int k = 0; k < kills; k++) {
        unsigned i = kit_dice(WORKERS);
        usleep(20000 + kit_dice(10000));
        kill(pid[i], SIGKILL);
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFSIGNALED(status));
        ram_bury(i);
        if (kit_dice(4) == 0)
            ram_bury(i); /* the first one died meanwhile */
        pid[i] = hire(i);
        if (k % 40 == 39) /* a second later all of them have done something */
            for (unsigned w = 0; w < WORKERS; w++) {
                assert_true(shared->ops[w] > was[w]);
                was[w] = shared->ops[w];
            }
    }
    shared->stop = true;
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    printf("# %ld bytes: %d kills, %lu hits, %lu puts, %lu renewals, %lu follows, %lu evicted, "
           "%lu moved\n",
           (long)bytes, kills, (unsigned long)shared->hits, (unsigned long)shared->puts,
           (unsigned long)shared->renewals, (unsigned long)shared->flights,
           (unsigned long)shared->counts[COUNT_ram_evicted],
           (unsigned long)shared->counts[COUNT_ram_moved]);
    assert_true(shared->hits > 1000 && shared->puts > 1000 && shared->renewals > 100);
    assert_true(shared->counts[COUNT_ram_evicted] > 100);
    account_all();
}

static double seconds_of(double otherwise)
{
    const char *given = getenv("TORTURE_SECONDS");

    return given == NULL ? otherwise : atof(given);
}

static void small_zone(void **state)
{
    (void)state;
    torture(4 << 20, RAM_S3FIFO, seconds_of(2));
}

static void larger_zone(void **state)
{
    (void)state;
    torture(16 << 20, RAM_S3FIFO, seconds_of(2));
}

static void with_lru(void **state)
{
    (void)state;
    torture(16 << 20, RAM_LRU, seconds_of(1));
}

/* ---- one worker, ended after each number of instructions ---- */

static void script(void)
{
    char at[32];

    kit_start(1);
    kit_seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15;
    raise(SIGSTOP);
    do_put(kit_dice(FEW_KEYS), NULL);
    do_renew(kit_dice(FEW_KEYS));
    store->remove(kit_key(at, kit_dice(FEW_KEYS)));
    do_flight(kit_dice(FEW_KEYS));
    do_find(kit_dice(FEW_KEYS));
    raise(SIGSTOP);
    _exit(0);
}

/* It stops by itself before the script and after it. */
static pid_t script_begin(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(4);
        script();
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return -1;
    return pid;
}

/* Until it has come to its end, at most. */
static void script_steps(pid_t pid, uint64_t steps)
{
    int status;

    for (uint64_t i = 0; i < steps; i++) {
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSTOPPED(status));
        if (WSTOPSIG(status) == SIGSTOP)
            return;
        assert_int_equal(WSTOPSIG(status), SIGTRAP);
    }
}

static void any_instruction(void **state)
{
    int64_t bytes = 1 << 20;
    time_t until = time(NULL) + (time_t)seconds_of(3);
    uint64_t kills = 0, place = 0;
    int status;

    (void)state;
    kit_drop();
    assert_true(kit_setup(bytes, RAM_S3FIFO));
    ram_counted = counted;
    memset(shared, 0, sizeof *shared);
    while (time(NULL) < until || kills < 5) {
        pid_t pid = script_begin();
        if (pid < 0)
            skip(); /* nobody may be traced here */
        script_steps(pid, 1 + kit_dice(kit_dice(4) ? 5000 : 40000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        ram_bury(1);
        kills++;
        assert_true(kit_start(MEMBER_OF_PARENT));
        for (int i = 0; i < 20; i++)
            do_put(kit_dice(FEW_KEYS), NULL);
        store->walk(&place, visit, NULL);
        kit_look();
        ram_stop();
        ram.row = ram_row(MEMBER_OF_PARENT);
        kit_assert_left();
    }
    printf("# %lu kills\n", (unsigned long)kills);
    assert_true(kills < 20 || shared->counts[COUNT_ram_evicted] > 0);
    assert_int_equal(shared->counts[COUNT_ram_corrupt], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_zone),
        cmocka_unit_test(larger_zone),
        cmocka_unit_test(with_lru),
        cmocka_unit_test(any_instruction),
    };

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IOLBF, 0); /* who waits for us sees that we are at work */
    kit_pattern_make();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
