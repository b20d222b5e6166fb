/* test_ram_moments.c - the RAM store when one process is stopped, or ends, between any two looks at what is shared.
 *
 * Each moment of each operation is met by each other operation, and again by its end; and after that the
 * dice say who goes on, for how long, and who is killed. No byte that is found may be wrong, and in the
 * end all is accounted for. MOMENTS_SECONDS makes it longer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "ram_moments.h"

enum { SEGMENTS = 14, BUCKETS = 3, KEYS = 40 };

/* ---- what they do ---- */

static void put_small(void)
{
    put(hot(), 900, true);
}
static void put_grown(void)
{
    put(hot(), 9000, false);
}
static void put_large(void)
{
    put(hot(), 22000, true);
}

static void remove_it(void)
{
    char at[32];

    (void)store->remove(kit_key(at, hot()));
}

static void renew_it(void)
{
    struct store_ref ref;
    char at[32], head[40];

    if (store->find(kit_key(at, hot()), &ref, NULL, NULL) != STORE_HIT)
        return;
    (void)store->renew(&ref, ref.meta, kit_head(head, hot(), kit_dice(1000000)));
    check(&ref, hot());
    store->release(&ref);
}

static void find_it(void)
{
    struct store_ref ref, also;
    char at[32];

    if (store->find(kit_key(at, hot()), &ref, NULL, NULL) != STORE_HIT)
        return;
    check(&ref, hot());
    store->hold(&ref, &also);
    store->release(&ref);
    moment();
    check(&also, hot());
    store->release(&also);
}

/* All segments are used again, once and a half. */
static void press(void)
{
    for (uint32_t i = 0; i < SEGMENTS * 5 / 2; i++)
        put(100 + kit_dice(KEYS), i % 4 == 0 ? 14000 : 3500, true);
}

static void put_others(void)
{
    for (uint32_t i = 0; i < 8; i++)
        put(100 + kit_dice(KEYS), i % 4 == 0 ? 14000 : 3500, i % 3 != 0);
}

static bool visit(void *arg, const struct store_ref *ref)
{
    (void)arg;
    if (!kit_body_right(ref, -1, -1))
        fault("a wrong body on a walk");
    return kit_dice(8) == 0;
}

static void walk(void)
{
    uint64_t place = 0;

    do
        store->walk(&place, visit, NULL);
    while (place != 0);
}

static void read_grown(const struct flight *flight)
{
    struct store_ref ref;

    if (!flight_ref(flight, &ref))
        return;
    moment();
    if (!kit_head_right(&ref, hot()) || !kit_body_right(&ref, hot(), ref.length))
        fault("a growing body is wrong");
    store->release(&ref);
}

static void lead(struct flight *flight)
{
    uint8_t *body = members[now].body;
    size_t length = kit_body_make(body, hot(), 300 + kit_dice(LARGE - 300)), at = 0;
    char name[32], head[40];
    struct store_meta meta = {.stored = 1000 + hot()};
    struct store_writer *w = store->begin(kit_key(name, hot()), &meta, kit_head(head, hot(), 0),
                                          kit_dice(2) ? (int64_t)length : -1);
    if (w == NULL)
        return;
    flight_growing(flight, w);
    while (at < length) {
        size_t part = length - at < 9000 ? length - at : 9000;
        bt_str piece = {(char *)body + at, part};
        if (!store->write(w, &piece, 1) || kit_dice(30) == 0) {
            flight_failed(flight);
            store->cancel(w);
            return;
        }
        at += part;
        flight_grown(flight);
        read_grown(flight);
    }
    if (kit_dice(8) == 0) { /* for those who wait, and for nobody else */
        flight_whole(flight, false);
        store->cancel(w);
        return;
    }
    flight_whole(flight, store->commit(w));
}

static void fly(void)
{
    struct flight *flight = &members[now].flight;
    char at[32];

    switch (flight_join(flight, kit_key(at, hot()), nothing, NULL)) {
    case FLIGHT_LEAD:
        lead(flight);
        break;
    case FLIGHT_FOLLOW:
        for (int i = 0; i < 10 && flight_state(flight) != FLIGHT_FAILED; i++) {
            kit_look();
            read_grown(flight);
            moment();
        }
        break;
    case FLIGHT_ALONE:
        break;
    }
    flight_leave(flight);
    kit_look();
}

/* And comes again. */
static void go_and_come(void)
{
    ram_release(&members[now].held);
    ram_stop();
    (void)kit_start(kit_member);
}

static void count_again(void)
{
    struct ram_sums sums;
    uint64_t was = ram.zone->recount;

    atomic_compare_exchange_strong(&ram.zone->recount, &was,
                                   ((was >> 32) + 1) << 32 | ram.segments);
    for (int i = 0; i < 3; i++)
        ram_sums(&sums);
}

static const struct {
    const char *name;
    void (*op)(void);
} ops[] = {{"put small", put_small},
           {"put growing", put_grown},
           {"put large", put_large},
           {"remove", remove_it},
           {"renew", renew_it},
           {"find", find_it},
           {"put others", put_others},
           {"press", press},
           {"walk", walk},
           {"fly", fly},
           {"leave", go_and_come},
           {"count again", count_again}};
enum { OPS = sizeof ops / sizeof *ops };

/* ---- the scene ---- */

static char *saved;
static size_t saved_size;
static struct ram saved_ram[MEMBERS + 1];

static void (*const put_kind[])(void) = {put_small, put_grown, put_large};

/* A small zone that is full, with a few members who have begun to write. */
static void scene(enum ram_policy policy, uint32_t filled)
{
    scene_make(policy, SEGMENTS, BUCKETS);
    now = 0;
    members[0].left = NEVER;
    be(0);
    put_kind[filled % 3]();
    for (uint32_t i = 0; i < filled; i++)
        put(100 + kit_dice(KEYS), i % 4 == 0 ? 14000 : 3500, true);
    put_kind[filled % 3]();
    been(0);
    now = -1;
    for (int i = 0; i <= MEMBERS; i++)
        saved_ram[i] = members[i].ram;
    saved_size = (size_t)(ram.data + SEGMENTS * ram.segment_size - kit_zone.memory);
    free(saved);
    saved = malloc(saved_size);
    memcpy(saved, kit_zone.memory, saved_size);
}

static void again(void)
{
    memcpy(kit_zone.memory, saved, saved_size);
    memset(kit_zone.memory + kit_zone.size, 0, BT_MEMBERS_MAX);
    memset(writers, 0, sizeof writers);
    memset(kit_counts, 0, sizeof kit_counts);
    wrong = NULL;
    for (int i = 0; i <= MEMBERS; i++) {
        struct member *member = &members[i];
        member->ram = saved_ram[i];
        member->linked = 0;
        memset(member->nodes, 0, ram.flight_entries * sizeof *nodes);
        member->runs = false;
        member->life = LIVES;
        member->held.store = NULL;
    }
}

/* ---- each moment of one, met by the whole of another ---- */

enum how { STOPPED, KILLED, STOPPED_TWICE };

static bool one_moment(int a, int b, int32_t at, enum how how)
{
    bool stopped;

    again();
    kit_seed = (uint64_t)(at + 1) * 0x9e3779b97f4a7c15;
    set_to(0, ops[a].op);
    set_to(1, ops[b].op);
    stopped = go_on(0, at);
    go_on(1, how == STOPPED_TWICE ? (int32_t)kit_dice(800) : NEVER);
    if (how == STOPPED_TWICE && kit_dice(2)) { /* and a third one needs all the room */
        set_to(2, press);
        go_on(2, NEVER);
    }
    if (how == KILLED && stopped) {
        die(0);
        bury(2, 0);
    }
    go_on(0, NEVER);
    go_on(1, NEVER);
    the_end();
    return stopped;
}

static double seconds_of(double otherwise)
{
    const char *given = getenv("MOMENTS_SECONDS");

    return given == NULL ? otherwise : atof(given);
}

static double clock_now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static const char *where[2];
static int64_t when;

static int tell_where(void **state)
{
    (void)state;
    if (where[0] != NULL)
        printf("# at %s / %s, %ld\n", where[0], where[1], (long)when);
    where[0] = NULL;
    return 0;
}

/* All pairs, each moment of the first; when there is no time for that, some of them. */
static void all_moments(enum how how, double seconds)
{
    double began = clock_now(), each = seconds / (OPS * OPS);
    uint64_t met = 0, all = 0;

    for (int a = 0; a < OPS; a++)
        for (int b = 0; b < OPS; b++) {
            double until = began + each * (a * OPS + b + 1);
            int32_t at = 0, step = 1;
            scene(b % 4 == 3 ? RAM_LRU : RAM_S3FIFO, 30 + (uint32_t)(a + b));
            where[0] = ops[a].name;
            where[1] = ops[b].name;
            for (bool more = true; more; at += step, met++) {
                when = at;
                more = one_moment(a, b, at, how);
                if (met % 16 == 0 && clock_now() > until)
                    step = 1 + (int32_t)kit_dice((uint32_t)at / 4 + 30);
            }
            all += (uint64_t)at;
        }
    where[0] = NULL;
    printf("# %lu of %lu moments\n", (unsigned long)met, (unsigned long)all);
}

static void stopped(void **state)
{
    (void)state;
    all_moments(STOPPED, seconds_of(2));
}

static void stopped_twice(void **state)
{
    (void)state;
    all_moments(STOPPED_TWICE, seconds_of(1));
}

static void killed(void **state)
{
    (void)state;
    all_moments(KILLED, seconds_of(2));
}

/* ---- as the dice will ---- */

static void bury_one(void)
{
    for (int k = 0; k < MEMBERS; k++)
        if (members[k].life == DEAD && k != now) {
            members[k].life = DYING;
            members[k].burier = now;
            ram_bury((unsigned)k);
            members[k].life = BURIED;
            return;
        }
}

static void hold_any(struct member *self)
{
    uint32_t key = kit_dice(2) ? kit_dice(5) : 100 + kit_dice(KEYS);
    char at[32];

    if (self->held.store != NULL && kit_dice(3) == 0) {
        check(&self->held, self->held_key);
        ram_release(&self->held);
    }
    if (self->held.store == NULL && kit_dice(2) &&
        store->find(kit_key(at, key), &self->held, NULL, NULL) == STORE_HIT)
        self->held_key = key;
}

static void any_op(void)
{
    struct member *self = &members[now];

    bury_one();
    for (uint32_t n = 1 + kit_dice(6); n > 0; n--) {
        self->key = kit_dice(5);
        kit_look();
        ops[kit_dice(OPS)].op();
        hold_any(self);
    }
}

/* One presses while the others meet at one fetch. */
static void any_flight(void)
{
    if (now == MEMBERS - 1)
        press();
    else
        fly();
}

static uint64_t one_round(void (*op)(void))
{
    uint32_t burst = 1u << kit_dice(14), kill = 20 + kit_dice(300);
    uint64_t kills = 0;

    for (uint32_t t = 0; t < 400; t++) {
        int i = (int)kit_dice(MEMBERS);
        if (members[i].life == BURIED)
            come_again(i);
        if (members[i].life != LIVES)
            continue;
        if (!members[i].runs)
            set_to(i, op);
        go_on(i, (int32_t)kit_dice(kit_dice(4) ? 8 : burst));
        if (kit_dice(kill) == 0) {
            die(i);
            kills++;
        }
        int dead = (int)kit_dice(MEMBERS);
        if (op == any_flight && members[dead].life == DEAD)
            bury(MEMBERS, dead);
    }
    for (int i = 0; i < MEMBERS; i++)
        if (members[i].life != LIVES)
            bury(MEMBERS, i);
    for (int i = 0; i < MEMBERS; i++)
        go_on(i, NEVER);
    return kills;
}

static void with_dice(void (*op)(void), const char *name, double seconds)
{
    double until = clock_now() + seconds;
    uint64_t kills = 0, rounds = 0;

    do {
        if (rounds % 16 == 0)
            scene(rounds % 32 == 0 ? RAM_S3FIFO : RAM_LRU, 30 + (uint32_t)rounds % 40);
        again();
        kit_seed = ++rounds * 0x9e3779b97f4a7c15;
        where[0] = where[1] = name;
        when = (int64_t)rounds;
        kills += one_round(op);
        the_end();
    } while (clock_now() < until);
    where[0] = NULL;
    printf("# %lu rounds, %lu kills\n", (unsigned long)rounds, (unsigned long)kills);
}

static void as_it_comes(void **state)
{
    (void)state;
    with_dice(any_op, "dice", seconds_of(2));
}

static void flights_meet(void **state)
{
    (void)state;
    with_dice(any_flight, "flights", seconds_of(1));
}

/* ---- who follows asks for the state while who leads comes to the end ---- */

enum { HALF = 5000, TOTAL = 9000 };
static struct store_writer *led;

static void add(size_t from, size_t to)
{
    bt_str piece = {(char *)members[now].body + from, to - from};

    if (!store->write(led, &piece, 1))
        fault("not taken");
}

static void lead_half(void)
{
    struct flight *flight = &members[now].flight;
    struct store_meta meta = {.stored = 1000 + hot()};
    char name[32], head[40];

    kit_body_make(members[now].body, hot(), TOTAL);
    if (flight_join(flight, kit_key(name, hot()), nothing, NULL) != FLIGHT_LEAD)
        fault("does not lead");
    led = store->begin(kit_key(name, hot()), &meta, kit_head(head, hot(), 0), -1);
    flight_growing(flight, led);
    add(0, HALF);
    flight_grown(flight);
}

static void lead_rest(void)
{
    add(HALF, TOTAL);
    flight_grown(&members[now].flight);
    flight_whole(&members[now].flight, store->commit(led));
    flight_leave(&members[now].flight);
}

static void follow_it(void)
{
    char name[32];

    if (flight_join(&members[now].flight, kit_key(name, hot()), nothing, NULL) != FLIGHT_FOLLOW)
        fault("does not follow");
}

static void ask(void)
{
    int64_t written, length;
    enum flight_state state = flight_progress(&members[now].flight, &written, &length);

    if (state == FLIGHT_WHOLE && (written != TOTAL || length != TOTAL))
        fault("a part passes for the whole");
    else if (state != FLIGHT_WHOLE && state != FLIGHT_GROWING)
        fault("neither growing nor whole");
}

static void leave_it(void)
{
    flight_leave(&members[now].flight);
}

static bool go(int i, void (*op)(void), int32_t accesses)
{
    set_to(i, op);
    return go_on(i, accesses);
}

static void asked_at_the_end(void **state)
{
    bool stopped = true;

    (void)state;
    for (int32_t at = 0; stopped; at++) {
        scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
        go(0, lead_half, NEVER);
        go(1, follow_it, NEVER);
        stopped = go(1, ask, at);
        go(0, lead_rest, NEVER);
        go_on(1, NEVER);
        go(1, leave_it, NEVER);
        the_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(stopped, tell_where),
        cmocka_unit_test_teardown(stopped_twice, tell_where),
        cmocka_unit_test_teardown(killed, tell_where),
        cmocka_unit_test_teardown(as_it_comes, tell_where),
        cmocka_unit_test_teardown(flights_meet, tell_where),
        cmocka_unit_test(asked_at_the_end),
    };

    setvbuf(stdout, NULL, _IOLBF, 0); /* who waits for us sees that we are at work */
    kit_pattern_make();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
