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

enum {
    WORKERS = 8,
    KEYS = 3000,
    FEW_KEYS = 300,
    HELD = 6,
    BODY_MAX = 150000,
    MEMBER_OF_PARENT = 20
};

static const struct store *const store = &store_ram;

static struct shared {
    _Atomic bool stop;
    _Atomic uint64_t ops[WORKERS], hits, puts, renewals, flights, counts[RAM_COUNTS];
} * shared;

static uint64_t seed;
static uint32_t dice(uint32_t sides)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 32) * sides >> 32);
}

static void counted(enum ram_count what, int64_t by)
{
    shared->counts[what] += (uint64_t)by;
}

/* ---- bodies that tell whether they are right ---- */

struct stamp {
    uint64_t key, salt, length;
};
static uint8_t pattern[BODY_MAX + 65536];
static uint8_t body[BODY_MAX];

static size_t body_make(uint32_t key, size_t length)
{
    struct stamp stamp = {key, ((uint64_t)dice(UINT32_MAX) << 16) % 65536 + dice(65000), length};

    if (length < sizeof stamp)
        length = stamp.length = sizeof stamp;
    memcpy(body, pattern + stamp.salt, length);
    memcpy(body, &stamp, sizeof stamp);
    return length;
}

/* `to` bytes of it at least must be there; -1: all. */
static bool body_right(const struct store_ref *ref, int64_t key, int64_t to)
{
    struct stamp stamp;
    bt_str piece[5];
    int64_t at = 0, end = to < 0 ? ref->length : to;
    int n;

    if (end > ref->length)
        return false;
    if (end < (int64_t)sizeof stamp)
        return to >= 0;
    if (store->read(ref, 0, piece, 1) != 1 || piece[0].len < sizeof stamp)
        return false;
    memcpy(&stamp, piece[0].at, sizeof stamp);
    if ((key >= 0 && stamp.key != (uint64_t)key) || stamp.salt > 65536 ||
        (to < 0 && stamp.length != (uint64_t)ref->length))
        return false;
    at = sizeof stamp;
    while (at < end && (n = store->read(ref, at, piece, 5)) > 0)
        for (int i = 0; i < n; i++) {
            if (at + (int64_t)piece[i].len > ref->length ||
                memcmp(piece[i].at, pattern + stamp.salt + at, piece[i].len) != 0)
                return false;
            at += (int64_t)piece[i].len;
        }
    return at >= end;
}

/* A head names the key, and how often it was renewed. */
static bool head_right(const struct store_ref *ref, uint32_t key)
{
    char want[32];
    int n = snprintf(want, sizeof want, "HEAD %u ", key);

    return ref->head.len > (size_t)n && memcmp(ref->head.at, want, (size_t)n) == 0;
}

static bt_str key_of(char at[32], uint32_t n)
{
    return (bt_str){at, (size_t)snprintf(at, 32, "http://h/%u", n)};
}

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

    if (store->find(key_of(at, key), &ref, NULL, NULL) != STORE_HIT)
        return;
    shared->hits++;
    if (!bt_str_eq(ref.key, key_of(at, key)) || !head_right(&ref, key))
        wrong("a head of another");
    if (!body_right(&ref, key, -1))
        wrong("a wrong body");
    uint32_t slot = dice(HELD);
    if (dice(4) == 0) {
        if (held[slot].store != NULL) {
            if (!body_right(&held[slot], held_key[slot], -1))
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
    if (!head_right(&ref, key) || !body_right(&ref, key, ref.length))
        wrong("a growing body is wrong");
    store->release(&ref);
}

static void do_put(uint32_t key, struct flight *flight)
{
    size_t length = body_make(key, dice(8) == 0 ? dice(BODY_MAX) : dice(6000)), at = 0;
    char name[32], head[32];
    struct store_meta meta = {.stored = 1000 + key};
    bt_str head_text = {head, (size_t)snprintf(head, sizeof head, "HEAD %u 0\r\n", key)};
    struct store_writer *w = store->begin(key_of(name, key), &meta, head_text,
                                          dice(2) ? (int64_t)length : -1);

    if (w == NULL)
        return;
    if (flight != NULL)
        flight_growing(flight, w);
    while (at < length) {
        size_t part = dice(30000) + 1;
        part = part < length - at ? part : length - at;
        bt_str piece = {(char *)body + at, part};
        if (!store->write(w, &piece, 1) || dice(200) == 0) {
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

    switch (flight_join(&flight, key_of(at, key), nothing, NULL)) {
    case FLIGHT_LEAD:
        do_put(key, dice(20) == 0 ? NULL : &flight);
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

    if (store->find(key_of(at, key), &ref, NULL, NULL) != STORE_HIT)
        return;
    bt_str text = {head, (size_t)snprintf(head, sizeof head, "HEAD %u %u\r\n", key, dice(1000000))};
    shared->renewals += store->renew(&ref, ref.meta, text);
    store->release(&ref);
}

static bool visit(void *arg, const struct store_ref *ref)
{
    (void)arg;
    if (!body_right(ref, -1, -1))
        wrong("a wrong body on a walk");
    return dice(200) == 0;
}

static void worker(unsigned member)
{
    uint64_t place = 0;
    char at[32];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15 + member;
    if (!kit_start(member))
        wrong("no start");
    while (!shared->stop) {
        uint32_t what = dice(100), key = dice(dice(2) ? KEYS : KEYS / 10);
        kit_look();
        if (what < 50)
            do_find(key);
        else if (what < 75)
            do_put(key, NULL);
        else if (what < 85)
            do_flight(dice(4));
        else if (what < 95)
            do_renew(key);
        else if (what < 99)
            store->remove(key_of(at, key));
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

/* Nobody else is there. How many records? */
static uint64_t all_counted(int64_t bytes)
{
    struct ram_sums sums;
    struct tally all = {0};
    uint64_t slots = 0;

    for (int i = 0; i < 100000 && ram_recount_left() > 0; i++)
        ram_sums(&sums);
    assert_int_equal(ram_recount_left(), 0);
    ram_sums(&sums);
    for (uint32_t i = 0; i < ram.segments; i++) {
        enum segment_state its = state_of(ram.states[i]);
        assert_false(ram_pinned(i));
        assert_true(its != SEGMENT_OPEN && its != SEGMENT_EVICTING);
        if (its == SEGMENT_FREE)
            continue;
        struct tally one = tally_segment(i);
        all.records += one.records;
        all.words += one.words;
        all.bodies += one.bodies;
    }
    for (uint64_t i = 0; i < (uint64_t)ram.buckets * BUCKET_SLOTS; i++)
        slots += ram.index[i] != 0;
    assert_int_equal(sums.records, all.records);
    assert_int_equal(sums.records, slots);
    assert_int_equal(sums.live, all.words * WORD);
    assert_int_equal(sums.bodies, all.bodies);
    assert_true(sums.live <= sums.used && sums.used <= bytes);
    for (uint32_t i = 0; i < ram.flight_entries; i++)
        assert_int_equal(word_state(entry_at(i)->word), FREE);
    return slots;
}

static void account_all(int64_t bytes)
{
    struct ram_sums sums;
    uint64_t slots, walked = 0, place = 0;

    assert_true(kit_start(MEMBER_OF_PARENT));
    slots = all_counted(bytes);
    do
        store->walk(&place, anybody, &walked);
    while (place != 0);
    assert_int_equal(walked, slots);
    ram_sums(&sums);
    assert_int_equal(sums.live, 0);
    assert_int_equal(sums.bodies, 0);
    uint64_t before = shared->puts;
    for (int i = 0; i < 20000; i++)
        do_put(dice(KEYS), NULL);
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
        unsigned i = dice(WORKERS);
        usleep(20000 + dice(10000));
        kill(pid[i], SIGKILL);
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFSIGNALED(status));
        ram_bury(i);
        if (dice(4) == 0)
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
    account_all(bytes);
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
    seed = (uint64_t)getpid() * 0x9e3779b97f4a7c15;
    raise(SIGSTOP);
    do_put(dice(FEW_KEYS), NULL);
    do_renew(dice(FEW_KEYS));
    store->remove(key_of(at, dice(FEW_KEYS)));
    do_flight(dice(FEW_KEYS));
    do_find(dice(FEW_KEYS));
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
        script_steps(pid, 1 + dice(dice(4) ? 5000 : 40000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        ram_bury(1);
        kills++;
        assert_true(kit_start(MEMBER_OF_PARENT));
        for (int i = 0; i < 20; i++)
            do_put(dice(FEW_KEYS), NULL);
        store->walk(&place, visit, NULL);
        kit_look();
        ram_stop();
        ram.row = ram_row(MEMBER_OF_PARENT);
        all_counted(bytes);
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
    seed = 4711;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (uint8_t)dice(256);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
