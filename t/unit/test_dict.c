/* test_dict.c - dictionaries: against a plain model, full, out of time, and with owners killed inside.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "conf/complain.h"
#include "stat/dict.h"
#include "stat/zone.h"

static struct bt_arena *arena;
static struct bt_error err;
static const bt_duration ever = {-1};

static int begin(void **state)
{
    (void)state;
    clock_refresh();
    arena = arena_new(4096);
    complain_init(&err, arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    dict_forget();
    zone_forget();
    complain_fini(&err);
    arena_free(arena);
    return 0;
}

static struct bt_dict *made(uint64_t bytes)
{
    struct bt_dict *dict = bt_dict_make("test", bytes, &err);

    assert_non_null(dict);
    return dict;
}

static bt_str text(const char *s)
{
    return (bt_str){s, strlen(s)};
}

static void later(int64_t ms)
{
    clock_shift(ms);
}

static struct bt_dict_state state_of(struct bt_dict *dict)
{
    struct bt_dict_state state;

    bt_dict_state(dict, &state);
    return state;
}

#define assert_value(dict, key, literal) assert_str(bt_dict_copy(dict, text(key), arena), literal)
#define assert_no_value(dict, key) assert_null(bt_dict_copy(dict, text(key), arena).at)

static void what_is_put_is_got(void **state)
{
    struct bt_dict *dict = made(0);
    char small[3];
    size_t len = 0;

    (void)state;
    assert_no_value(dict, "a");
    assert_true(bt_dict_put(dict, text("a"), text("one"), ever));
    assert_true(bt_dict_put(dict, text(""), text(""), ever));
    assert_value(dict, "a", "one");
    assert_value(dict, "", "");
    assert_true(bt_dict_put(dict, text("a"), text("another"), ever));
    assert_value(dict, "a", "another");
    assert_true(bt_dict_get(dict, text("a"), small, sizeof small, &len));
    assert_int_equal(len, 7);
    assert_memory_equal(small, "ano", 3);
    assert_false(bt_dict_get(dict, text("b"), small, sizeof small, &len));
    assert_int_equal(state_of(dict).entries, 2);
    assert_true(bt_dict_remove(dict, text("a")));
    assert_false(bt_dict_remove(dict, text("a")));
    assert_no_value(dict, "a");
    assert_int_equal(state_of(dict).entries, 1);
    assert_int_equal(state_of(dict).bytes, 128);
}

static void add_puts_only_what_is_missing(void **state)
{
    struct bt_dict *dict = made(0);

    (void)state;
    assert_true(bt_dict_add(dict, text("a"), text("one"), (bt_duration){1000}));
    assert_false(bt_dict_add(dict, text("a"), text("two"), ever));
    assert_value(dict, "a", "one");
    later(1000);
    assert_true(bt_dict_add(dict, text("a"), text("two"), ever));
    assert_value(dict, "a", "two");
}

static void time_ends_entries(void **state)
{
    struct bt_dict *dict = made(0);

    (void)state;
    assert_true(bt_dict_put(dict, text("a"), text("one"), (bt_duration){100 * 1000}));
    assert_true(bt_dict_put(dict, text("b"), text("two"), (bt_duration){0}));
    assert_no_value(dict, "b");
    later(60 * 1000);
    assert_value(dict, "a", "one");
    assert_true(bt_dict_expire(dict, text("a"), (bt_duration){200 * 1000}));
    assert_false(bt_dict_expire(dict, text("b"), ever));
    later(150 * 1000);
    assert_value(dict, "a", "one");
    later(50 * 1000);
    assert_no_value(dict, "a");
    assert_int_equal(state_of(dict).entries, 0);
    assert_int_equal(state_of(dict).bytes, 0);
}

static void numbers_are_counted(void **state)
{
    struct bt_dict *dict = made(0);

    (void)state;
    assert_int_equal(bt_dict_incr(dict, text("n"), 2, (bt_duration){100 * 1000}, 40), 42);
    later(60 * 1000);
    assert_int_equal(bt_dict_incr(dict, text("n"), -50, (bt_duration){100 * 1000}, 40), -8);
    later(40 * 1000); /* its life is that of the first one */
    assert_int_equal(bt_dict_incr(dict, text("n"), 1, ever, 0), 1);
    assert_int_equal(bt_dict_incr(dict, text("n"), INT64_MAX, ever, 0), INT64_MAX);
    assert_int_equal(bt_dict_incr(dict, text("n"), 1, ever, 0), INT64_MAX);
    assert_true(bt_dict_put(dict, text("n"), text("text"), ever));
    assert_int_equal(bt_dict_incr(dict, text("n"), 1, ever, 0), 1);
}

static void a_prefix_is_removed(void **state)
{
    struct bt_dict *dict = made(4 << 20);
    char key[300];

    (void)state;
    memset(key, 'k', sizeof key);
    for (int i = 0; i < 300; i++) {
        snprintf(key, sizeof key, "user/%d/%d", i % 3, i);
        assert_true(bt_dict_put(dict, text(key), text("x"), ever));
    }
    assert_int_equal(bt_dict_remove_prefix(dict, text("user/1/")), 100);
    assert_no_value(dict, "user/1/1");
    assert_value(dict, "user/2/2", "x");
    assert_int_equal(bt_dict_remove_prefix(dict, text("user/4")), 0);
    assert_int_equal(bt_dict_remove_prefix(dict, text("")), 200);
    assert_int_equal(state_of(dict).bytes, 0);
}

static enum bt_dict_done append(void *arg, struct bt_dict_entry *entry)
{
    const char *more = arg;

    assert_int_equal(entry->there, entry->len > 0);
    if (strcmp(more, "-") == 0)
        return BT_DICT_REMOVE;
    if (strcmp(more, "?") == 0) {
        memset(entry->at, 'x', entry->len);
        return BT_DICT_LEAVE;
    }
    assert_true(entry->len + strlen(more) <= entry->cap);
    memcpy((char *)entry->at + entry->len, more, strlen(more));
    entry->len += strlen(more);
    if (!entry->there)
        entry->left_ms = 100 * 1000;
    return BT_DICT_STORE;
}

static void a_value_is_changed_under_the_lock(void **state)
{
    struct bt_dict *dict = made(0);

    (void)state;
    bt_dict_update(dict, text("a"), append, (void *)(uintptr_t) "one");
    bt_dict_update(dict, text("a"), append, (void *)(uintptr_t) "?");
    later(50 * 1000);
    for (int i = 0; i < 100; i++)
        bt_dict_update(dict, text("a"), append, (void *)(uintptr_t) " more");
    bt_str all = bt_dict_copy(dict, text("a"), arena);
    assert_int_equal(all.len, 503);
    assert_memory_equal(all.at, "one more more", 13);
    later(40 * 1000); /* and not so near the end that a slow machine reaches it */
    assert_non_null(bt_dict_copy(dict, text("a"), arena).at);
    later(10 * 1000);
    assert_no_value(dict, "a");
    bt_dict_update(dict, text("a"), append, (void *)(uintptr_t) "-");
    bt_dict_update(dict, text("a"), append, (void *)(uintptr_t) "new");
    bt_dict_update(dict, text("a"), append, (void *)(uintptr_t) "-");
    assert_int_equal(state_of(dict).entries, 0);
}

static void what_is_too_long_is_refused(void **state)
{
    struct bt_dict *dict = made(64 * 1024);
    size_t max = bt_dict_max(dict);
    char *long_one = calloc(1, max + 1);

    (void)state;
    assert_true(max > 3000 && max < 64 * 1024 / 16);
    assert_true(bt_dict_put(dict, text("k"), (bt_str){long_one, max - 1}, ever));
    assert_int_equal(bt_dict_copy(dict, text("k"), arena).len, max - 1);
    assert_false(bt_dict_put(dict, text("k"), (bt_str){long_one, max}, ever));
    assert_no_value(dict, "k");
    assert_false(bt_dict_add(dict, (bt_str){long_one, max + 1}, text(""), ever));
    assert_int_equal(bt_dict_incr(dict, (bt_str){long_one, max}, 1, ever, 1), 2);
    assert_int_equal(state_of(dict).entries, 0);
    free(long_one);
}

static void the_least_recently_used_goes(void **state)
{
    struct bt_dict *dict = made(64 * 1024);

    (void)state;
    bt_dict_limit(dict, 3);
    for (const char *k = "abc"; *k != '\0'; k++)
        assert_true(bt_dict_put(dict, (bt_str){k, 1}, text("x"), ever));
    assert_value(dict, "a", "x");
    assert_true(bt_dict_put(dict, text("d"), text("x"), ever));
    assert_no_value(dict, "b");
    assert_value(dict, "a", "x");
    assert_true(bt_dict_put(dict, text("a"), text("y"), ever)); /* needs no room */
    assert_value(dict, "c", "x");
    assert_int_equal(state_of(dict).evicted, 1);
    bt_dict_limit(dict, 0);
    for (int i = 0; i < 5000; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        assert_true(bt_dict_put(dict, text(key), text("x"), ever));
        assert_value(dict, "a", "y");
    }
    struct bt_dict_state full = state_of(dict);
    assert_int_equal(full.bytes, full.room);
    assert_true(full.room > 60000 && full.evicted > 4000);
    assert_no_value(dict, "4000");
    assert_value(dict, "4999", "x");
}

static void a_large_one_makes_room_for_itself(void **state)
{
    struct bt_dict *dict = made(64 * 1024);
    char *large = calloc(1, bt_dict_max(dict));
    size_t len = bt_dict_max(dict) - 1;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        assert_true(bt_dict_put(dict, text(key), text("x"), ever));
    }
    for (const char *k = "abcdefghijklmnopqrstuvwxyz"; *k != '\0'; k++)
        assert_true(bt_dict_put(dict, (bt_str){k, 1}, (bt_str){large, len}, ever));
    assert_int_equal(bt_dict_copy(dict, text("z"), arena).len, len);
    assert_no_value(dict, "1999");
    assert_true(state_of(dict).bytes <= state_of(dict).room);
    free(large);
}

/* ---- against a model that forgets nothing ---- */

enum { KEYS = 200, LENGTHS = 700 };
static struct model {
    bool there;
    size_t len;
    unsigned char fill;
    int64_t until_ms;
} model[KEYS];

static uint64_t seed = 88172645463325252u;
static unsigned dice(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed % below);
}

/* Keys of several lengths, some longer than a chunk. */
static bt_str key_of(unsigned k, char *buf)
{
    size_t len = 4 + k * 7 % 300;

    memset(buf, 'k', len);
    memcpy(buf, &k, sizeof k);
    return (bt_str){buf, len};
}

static void check_one(struct bt_dict *dict, unsigned k)
{
    static char value[LENGTHS];
    struct model *m = &model[k];
    char buf[400];
    size_t len = 0;
    bool there = bt_dict_get(dict, key_of(k, buf), value, sizeof value, &len);

    if (m->there && m->until_ms >= 0 && clock_ms() >= m->until_ms)
        m->there = false;
    assert_int_equal(there, m->there);
    if (!there)
        return;
    assert_int_equal(len, m->len);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)value[i] != m->fill)
            fail_msg("byte %zu of key %u is not what was put", i, k);
}

static void it_does_what_a_plain_table_does(void **state)
{
    struct bt_dict *dict = made(2 << 20);
    static char value[LENGTHS];
    char buf[400];

    (void)state;
    memset(model, 0, sizeof model);
    for (int step = 0; step < 200000; step++) {
        unsigned k = dice(KEYS);
        struct model *m = &model[k];
        check_one(dict, k);
        switch (dice(4)) {
        case 0:
        case 1:
            m->len = dice(LENGTHS);
            m->fill = (unsigned char)dice(256);
            m->there = true;
            int64_t ttl = dice(3) == 0 ? -1 : (int64_t)dice(2000);
            m->until_ms = ttl < 0 ? -1 : clock_ms() + ttl;
            memset(value, m->fill, m->len);
            assert_true(
                bt_dict_put(dict, key_of(k, buf), (bt_str){value, m->len}, (bt_duration){ttl}));
            break;
        case 2:
            assert_int_equal(bt_dict_remove(dict, key_of(k, buf)), m->there);
            m->there = false;
            break;
        default:
            if (dice(20) == 0)
                later(dice(100));
        }
    }
    uint64_t n = 0;
    for (unsigned k = 0; k < KEYS; k++) {
        check_one(dict, k);
        n += model[k].there;
    }
    assert_int_equal(state_of(dict).entries, n);
    assert_int_equal(state_of(dict).evicted, 0);
    assert_int_equal(bt_dict_remove_prefix(dict, text("")), n);
    assert_int_equal(state_of(dict).bytes, 0);
}

/* ---- several processes, some of them killed ---- */

static struct bt_dict *shared;

/* Each value is its key's number, many times over: one that is mixed up is seen. */
static void work(void)
{
    static char value[LENGTHS];
    uint64_t n;

    seed ^= (uint64_t)getpid() << 20;
    for (;;) {
        unsigned k = dice(KEYS);
        char buf[400];
        bt_str key = key_of(k, buf);
        size_t len = 0;
        if (bt_dict_get(shared, key, value, sizeof value, &len))
            for (size_t i = 0; i < len; i++)
                if ((unsigned char)value[i] != (unsigned char)k)
                    _exit(3);
        len = dice(LENGTHS);
        memset(value, (int)k, len);
        if (dice(4) == 0)
            (void)bt_dict_remove(shared, key);
        else
            (void)bt_dict_put(shared, key, (bt_str){value, len}, ever);
        n = (uint64_t)bt_dict_incr(shared, text("count"), 1, ever, 0);
        if ((int64_t)n <= 0)
            _exit(4);
    }
}

static pid_t worker(void)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    _exit(0);
}

static void owners_are_killed_and_nothing_is_mixed_up(void **state)
{
    enum { N = 3, ROUNDS = 600 };
    pid_t pid[N];
    int status;

    (void)state;
    shared = made(96 * 1024); /* so small that it is always full */
    for (int i = 0; i < N; i++)
        pid[i] = worker();
    for (int round = 0; round < ROUNDS; round++) {
        struct timespec nap = {0, 100000 + (long)dice(400000)};
        nanosleep(&nap, NULL);
        kill(pid[round % N], SIGKILL);
        assert_int_equal(waitpid(pid[round % N], &status, 0), pid[round % N]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        pid[round % N] = worker();
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(waitpid(pid[i], &status, WNOHANG), 0);
        kill(pid[i], SIGKILL);
        (void)waitpid(pid[i], &status, 0);
    }
    struct bt_dict_state now = state_of(shared);
    assert_true(now.emptied > 10 && now.evicted > 1000);
    assert_true(bt_dict_put(shared, text("after"), text("all"), ever));
    assert_value(shared, "after", "all");
    (void)bt_dict_remove_prefix(shared, text(""));
    assert_int_equal(state_of(shared).bytes, 0);
}

static void each_count_counts_once(void **state)
{
    enum { N = 4, TIMES = 20000 };

    (void)state;
    shared = made(1 << 20);
    for (int i = 0; i < N; i++) {
        fflush(NULL);
        if (fork() == 0) {
            for (int t = 0; t < TIMES; t++)
                (void)bt_dict_incr(shared, text("n"), 1, ever, 0);
            _exit(0);
        }
    }
    for (int i = 0; i < N; i++)
        assert_true(wait(NULL) > 0);
    assert_int_equal(bt_dict_incr(shared, text("n"), 0, ever, 0), N * TIMES);
}

static struct zone_paper paper;
static void give(void *arg, const struct zone_paper *one)
{
    (void)arg;
    paper = *one;
    paper.fd = dup(one->fd);
}

static void it_survives_a_reload(void **state)
{
    struct bt_dict *dict = made(1 << 20);

    (void)state;
    assert_true(bt_dict_put(dict, text("a"), text("one"), ever));
    zone_settle();
    zone_each(give, NULL);
    dict_forget();
    zone_forget();
    zone_left(&paper);
    dict = made(1 << 20);
    assert_value(dict, "a", "one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
        T(what_is_put_is_got),
        T(add_puts_only_what_is_missing),
        T(time_ends_entries),
        T(numbers_are_counted),
        T(a_prefix_is_removed),
        T(a_value_is_changed_under_the_lock),
        T(what_is_too_long_is_refused),
        T(the_least_recently_used_goes),
        T(a_large_one_makes_room_for_itself),
        T(it_does_what_a_plain_table_does),
        T(owners_are_killed_and_nothing_is_mixed_up),
        T(each_count_counts_once),
        T(it_survives_a_reload),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
