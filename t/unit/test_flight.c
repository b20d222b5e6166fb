/* test_flight.c - fetches under way: one leader, followers of the same and of other workers, deaths.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "ram_kit.h"

static const struct store *const store = &store_ram;
#define HEAD BT_STR("HTTP/1.1 200 OK\r\n\r\n")

/* One who joined, and how often it was told. */
struct one {
    struct flight flight;
    int told;
    bool leaves; /* when told */
    struct one *other;
};

static void told(void *arg)
{
    struct one *one = arg;

    one->told++;
    if (one->leaves) {
        flight_leave(&one->flight);
        if (one->other != NULL)
            flight_leave(&one->other->flight);
    }
}

static enum flight_role join(struct one *one, const char *key)
{
    *one = (struct one){.told = 0};
    return flight_join(&one->flight, (bt_str){key, strlen(key)}, told, one);
}

static void fresh(void)
{
    kit_drop();
    assert_true(kit_setup(8 << 20, RAM_S3FIFO));
    assert_true(kit_start(1));
}

static unsigned entries_in_use(void)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < ram.flight_entries; i++)
        n += word_state(entry_at(i)->word) != FREE;
    return n;
}

static void nobody_pins(void)
{
    for (uint32_t i = 0; i < ram.segments; i++)
        assert_int_equal(ram.row->pins[i], 0);
}

static struct store_writer *begin(const char *key, int64_t length)
{
    struct store_meta meta = {.status = 200};

    return store->begin((bt_str){key, strlen(key)}, &meta, HEAD, length);
}

static void add(struct store_writer *w, size_t n, char with)
{
    char *bytes = malloc(n);
    bt_str piece = {bytes, n};

    memset(bytes, with, n);
    assert_true(store->write(w, &piece, 1));
    free(bytes);
}

static bool reads(struct store_ref *ref, int64_t from, int64_t to, char what)
{
    bt_str piece[4];
    int n;

    while (from < to && (n = store->read(ref, from, piece, 4)) > 0)
        for (int i = 0; i < n; i++) {
            for (size_t k = 0; k < piece[i].len && from < to; k++, from++)
                if (piece[i].at[k] != what)
                    return false;
        }
    return from == to;
}

static void one_leads(void **state)
{
    struct one a, b, c, other;

    (void)state;
    fresh();
    assert_int_equal(join(&a, "k"), FLIGHT_LEAD);
    assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
    assert_int_equal(join(&c, "k"), FLIGHT_FOLLOW);
    assert_int_equal(join(&other, "l"), FLIGHT_LEAD);
    assert_int_equal(flight_state(&b.flight), FLIGHT_WAITING);
    assert_int_equal(flight_followers(&a.flight), 2);
    flight_leave(&c.flight);
    flight_leave(&c.flight);
    assert_int_equal(flight_followers(&a.flight), 1);
    flight_leave(&a.flight); /* without a word: it failed */
    assert_int_equal(flight_state(&b.flight), FLIGHT_FAILED);
    kit_look();
    assert_int_equal(b.told, 1);
    assert_int_equal(c.told, 0);
    assert_int_equal(join(&c, "k"), FLIGHT_LEAD); /* b has not left yet */
    flight_leave(&b.flight);
    assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
    flight_leave(&c.flight);
    flight_leave(&b.flight);
    flight_leave(&other.flight);
    assert_int_equal(entries_in_use(), 0);
    nobody_pins();
}

static void grows(void **state)
{
    struct one a, b, c;
    struct store_writer *w;
    struct store_ref ref, old;
    int64_t written, length;

    (void)state;
    fresh();
    for (int known = 0; known < 2; known++) {
        assert_int_equal(join(&a, "k"), FLIGHT_LEAD);
        assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
        assert_false(flight_ref(&b.flight, &ref));
        w = begin("k", known ? 200000 : -1);
        assert_non_null(w);
        flight_growing(&a.flight, w);
        assert_int_equal(flight_state(&b.flight), FLIGHT_GROWING);
        assert_int_equal(join(&c, "k"), FLIGHT_FOLLOW);
        kit_look();
        assert_int_equal(b.told, 1);
        assert_int_equal(c.told, 1); /* it came when something had been said */
        assert_true(flight_ref(&b.flight, &old));
        assert_int_equal(old.length, 0);
        assert_true(bt_str_eq(old.head, HEAD));
        add(w, 1000, 'x');
        flight_grown(&a.flight);
        kit_look();
        assert_int_equal(b.told, 2);
        flight_progress(&b.flight, &written, &length);
        assert_int_equal(written, 1000);
        assert_int_equal(length, known ? 200000 : -1);
        add(w, 199000, 'x');
        flight_grown(&a.flight);
        assert_true(flight_ref(&b.flight, &ref));
        assert_true(reads(&ref, 0, 200000, 'x'));
        store->release(&ref);
        store->release(&old);
        assert_true(store->commit(w));
        flight_whole(&a.flight, true);
        flight_leave(&a.flight);
        assert_int_equal(flight_state(&b.flight), FLIGHT_WHOLE);
        assert_true(flight_ref(&b.flight, &ref));
        assert_true(reads(&ref, 0, 200000, 'x'));
        store->release(&ref);
        assert_true(store->remove(BT_STR("k")));
        kit_look();
        assert_int_equal(b.told, 3);
        assert_int_equal(c.told, 3);
        assert_int_equal(flight_progress(&b.flight, &written, &length), FLIGHT_WHOLE);
        assert_int_equal(length, 200000);
        assert_true(flight_ref(&c.flight, &ref));
        flight_leave(&b.flight);
        flight_leave(&c.flight);
        kit_look();
        assert_true(reads(&ref, 0, 200000, 'x'));
        store->release(&ref);
        assert_int_equal(entries_in_use(), 0);
        nobody_pins();
    }
}

static void whole_but_not_kept(void **state)
{
    struct one a, b;
    struct store_writer *w;
    struct store_ref ref;

    (void)state;
    fresh();
    assert_int_equal(join(&a, "k"), FLIGHT_LEAD);
    assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
    w = begin("k", -1);
    flight_growing(&a.flight, w);
    add(w, 5000, 'y');
    flight_grown(&a.flight);
    flight_whole(&a.flight, false);
    store->cancel(w);
    flight_leave(&a.flight);
    w = begin("z", -1); /* must not be given those bytes */
    add(w, 9000, 'z');
    assert_true(store->commit(w));
    assert_true(flight_ref(&b.flight, &ref));
    assert_true(reads(&ref, 0, 5000, 'y'));
    store->release(&ref);
    flight_leave(&b.flight);
    kit_look();
    assert_int_equal(store->find(BT_STR("k"), &ref, NULL, NULL), STORE_MISS);
    assert_int_equal(entries_in_use(), 0);
    nobody_pins();
}

/* The leader said nothing of the last bytes, or of none: either all of them are read, or it failed. */
static void told_late(void **state)
{
    static const size_t sizes[] = {100, 3000, 20000, 300000};
    struct one a, b;
    struct store_writer *w;
    struct store_ref ref;

    (void)state;
    fresh();
    for (size_t i = 0; i < 8; i++) {
        size_t size = sizes[i / 2];
        assert_int_equal(join(&a, "k"), FLIGHT_LEAD);
        assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
        w = begin("k", i % 2 ? (int64_t)size : -1);
        flight_growing(&a.flight, w);
        add(w, size, 'l');
        assert_true(store->commit(w));
        flight_whole(&a.flight, true);
        if (flight_state(&b.flight) == FLIGHT_WHOLE) {
            assert_true(flight_ref(&b.flight, &ref));
            assert_int_equal(ref.length, size);
            assert_true(reads(&ref, 0, (int64_t)size, 'l'));
            store->release(&ref);
        } else {
            assert_int_equal(flight_state(&b.flight), FLIGHT_FAILED);
            assert_true(size > 4096 && i % 2 == 0);
        }
        flight_leave(&a.flight);
        flight_leave(&b.flight);
        kit_look();
        nobody_pins();
    }
    assert_int_equal(join(&a, "k"), FLIGHT_LEAD);
    assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
    w = begin("k", 100);
    flight_growing(&a.flight, w);
    add(w, 50, 'l');
    flight_grown(&a.flight);
    flight_whole(&a.flight, false); /* half of it is not whole */
    store->cancel(w);
    assert_int_equal(flight_state(&b.flight), FLIGHT_FAILED);
    flight_leave(&a.flight);
    flight_leave(&b.flight);
    nobody_pins();
}

static void private_for_a_while(void **state)
{
    struct one a, b, c;

    (void)state;
    fresh();
    assert_int_equal(join(&a, "k"), FLIGHT_LEAD);
    assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
    flight_private(&a.flight, 5000);
    assert_int_equal(flight_state(&b.flight), FLIGHT_PRIVATE);
    kit_look();
    assert_int_equal(b.told, 1);
    flight_leave(&b.flight);
    assert_int_equal(join(&b, "k"), FLIGHT_ALONE);
    flight_leave(&a.flight);
    assert_int_equal(join(&b, "k"), FLIGHT_ALONE);
    kit_ms += 5001;
    assert_int_equal(join(&b, "k"), FLIGHT_LEAD);
    assert_int_equal(join(&c, "k"), FLIGHT_FOLLOW);
    flight_leave(&b.flight);
    flight_leave(&c.flight);
    nobody_pins();
}

/* Those who are told may leave, and take others with them. */
static void leaving_when_told(void **state)
{
    struct one a, b[6];

    (void)state;
    fresh();
    assert_int_equal(join(&a, "k"), FLIGHT_LEAD);
    for (int i = 0; i < 6; i++)
        assert_int_equal(join(&b[i], "k"), FLIGHT_FOLLOW);
    for (int i = 0; i < 6; i += 2) {
        b[i].leaves = true;
        b[i].other = &b[i + 1 < 6 ? i + 1 : 0];
    }
    flight_failed(&a.flight);
    kit_look();
    flight_leave(&a.flight);
    assert_int_equal(b[0].told + b[1].told, 2 - (b[0].told == 0 || b[1].told == 0));
    assert_int_equal(entries_in_use(), 0);
}

static void full(void **state)
{
    static struct one many[4096];
    char key[16];
    int led = 0;

    (void)state;
    fresh();
    for (int i = 0; i < 4096; i++) {
        snprintf(key, sizeof key, "%d", i);
        led += join(&many[i], key) == FLIGHT_LEAD;
    }
    assert_true(led > (int)ram.flight_entries * 9 / 10);
    assert_int_equal(kit_counts[COUNT_flights_full], 4096 - led);
    for (int i = 0; i < 4096; i++)
        flight_leave(&many[i].flight);
    assert_int_equal(entries_in_use(), 0);
    /* Private ones make way. */
    for (int i = 0; i < 4096; i++) {
        snprintf(key, sizeof key, "%d", i);
        if (join(&many[i], key) == FLIGHT_LEAD)
            flight_private(&many[i].flight, 100000);
        flight_leave(&many[i].flight);
    }
    assert_int_equal(kit_counts[COUNT_flights_full], 4096 - led);
}

/* ---- other processes ---- */

static void in_child(unsigned member, void (*run)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (!kit_start(member))
            _exit(1);
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void lead_and_die(void)
{
    static struct one a;
    struct store_writer *w;

    if (join(&a, "k") != FLIGHT_LEAD)
        _exit(2);
    w = begin("k", -1);
    flight_growing(&a.flight, w);
    add(w, 3000, 'd');
    flight_grown(&a.flight);
}

static void follow_and_die(void)
{
    static struct one a;

    if (join(&a, "k") != FLIGHT_FOLLOW)
        _exit(2);
}

static void follow_whole(void)
{
    struct one a;
    struct store_ref ref;

    if (join(&a, "k") != FLIGHT_FOLLOW || !flight_ref(&a.flight, &ref) ||
        !reads(&ref, 0, 3000, 'w'))
        _exit(2);
    store->release(&ref);
    flight_leave(&a.flight);
    for (uint32_t i = 0; i < ram.segments; i++)
        if (ram.row->pins[i] != 0)
            _exit(3);
}

static void deaths(void **state)
{
    struct one b;
    struct store_ref ref;
    struct store_writer *w;

    (void)state;
    fresh();
    in_child(7, lead_and_die);
    assert_int_equal(join(&b, "k"), FLIGHT_FOLLOW);
    assert_true(flight_ref(&b.flight, &ref));
    kit_look();
    b.told = 0;
    ram_bury(7);
    assert_int_equal(kit_counts[COUNT_flights_lost], 1);
    ram_bury(7);
    kit_look();
    assert_int_equal(b.told, 1);
    assert_int_equal(flight_state(&b.flight), FLIGHT_FAILED);
    assert_true(reads(&ref, 0, 3000, 'd'));
    store->release(&ref);
    flight_leave(&b.flight);
    assert_int_equal(entries_in_use(), 0);
    assert_int_equal(join(&b, "k"), FLIGHT_LEAD);
    in_child(8, follow_and_die);
    assert_int_equal(flight_followers(&b.flight), 1);
    ram_bury(8);
    assert_int_equal(flight_followers(&b.flight), 0);
    w = begin("k", 3000);
    flight_growing(&b.flight, w);
    add(w, 3000, 'w');
    flight_grown(&b.flight);
    in_child(8, follow_whole);
    assert_true(store->commit(w));
    flight_whole(&b.flight, true);
    in_child(8, follow_whole);
    flight_leave(&b.flight);
    assert_int_equal(entries_in_use(), 0);
    nobody_pins();
}

/* ---- all at once: for a key there is one leader at a time ---- */

enum { RACERS = 4, ROUNDS = 3000, KEYS = 3 };
struct race {
    _Atomic int leaders[KEYS], led, clash, ready;
};

static void racer(struct race *race, unsigned member)
{
    static const char *const keys[KEYS] = {"x", "y", "z"};
    unsigned seed = member * 7919;

    race->ready++;
    while (race->ready < RACERS)
        sched_yield();
    for (int i = 0; i < ROUNDS; i++) {
        struct one one;
        unsigned key = (seed = seed * 1103515245 + 12345) / 65536 % KEYS;
        enum flight_role role = join(&one, keys[key]);
        if (role == FLIGHT_LEAD) {
            race->led++;
            if (++race->leaders[key] != 1)
                race->clash++;
            if (i % 8 == 0)
                sched_yield();
            race->leaders[key]--;
        } else if (role == FLIGHT_FOLLOW && i % 16 == 0) {
            for (int spin = 0; spin < 100 && one.told == 0; spin++) {
                kit_look();
                sched_yield();
            }
        }
        flight_leave(&one.flight);
    }
}

static void one_leader_at_a_time(void **state)
{
    struct race *race = mmap(NULL, sizeof *race, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                             -1, 0);
    pid_t pid[RACERS];
    int status;

    (void)state;
    fresh();
    for (unsigned i = 0; i < RACERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            if (!kit_start(10 + i))
                _exit(1);
            racer(race, 10 + i);
            _exit(0);
        }
    }
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_true(race->led > RACERS);
    assert_int_equal(race->clash, 0);
    assert_int_equal(entries_in_use(), 0);
    munmap(race, sizeof *race);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_leads),
        cmocka_unit_test(grows),
        cmocka_unit_test(whole_but_not_kept),
        cmocka_unit_test(told_late),
        cmocka_unit_test(private_for_a_while),
        cmocka_unit_test(leaving_when_told),
        cmocka_unit_test(full),
        cmocka_unit_test(deaths),
        cmocka_unit_test(one_leader_at_a_time),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
