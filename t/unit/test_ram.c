/* test_ram.c - the RAM store in one process: each operation, and sizes at their edges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "ram_kit.h"

static const struct store *const store = &store_ram;

static bt_str text(const char *s)
{
    return (bt_str){s, strlen(s)};
}

/* Bytes that tell where they belong. */
static void fill(char *to, size_t n, uint64_t seed, size_t from)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = (seed * 0x9e3779b97f4a7c15 + (from + i) / 8 + 1) * 0xd6e8feb86659fd93;
        to[i] = (char)(x >> ((from + i) % 8 * 8));
    }
}

static struct store_meta meta_of(uint16_t status)
{
    return (struct store_meta){.stored = 5, .expires = 7, .status = status, .own = {9, 9, 9}};
}

/* Write it in pieces of that size. */
static struct store_writer *write_some(const char *key, int64_t length, size_t n, uint64_t seed,
                                       size_t piece)
{
    struct store_meta meta = meta_of(200);
    struct store_writer *w = store->begin(text(key), &meta, text("HTTP/1.1 200 OK\r\n\r\n"),
                                          length);
    char *body = malloc(n + 1);

    fill(body, n, seed, 0);
    for (size_t at = 0; w != NULL && at < n; at += piece) {
        size_t part = n - at < piece ? n - at : piece;
        bt_str two[2] = {{body + at, part / 2}, {body + at + part / 2, part - part / 2}};
        if (!store->write(w, two, 2)) {
            store->cancel(w);
            w = NULL;
        }
    }
    free(body);
    return w;
}

static bool put(const char *key, int64_t length, size_t n, uint64_t seed)
{
    struct store_writer *w = write_some(key, length, n, seed, 5000);

    return w != NULL && store->commit(w);
}

static bool find(const char *key, struct store_ref *ref)
{
    return store->find(text(key), ref, NULL, NULL) == STORE_HIT;
}

static bool body_is(const struct store_ref *ref, size_t n, uint64_t seed)
{
    char *want = malloc(n + 1);
    size_t at = 0;
    bool same = ref->length == (int64_t)n;
    bt_str piece[3];
    int got;

    fill(want, n, seed, 0);
    while (same && (got = store->read(ref, (int64_t)at, piece, 3)) > 0)
        for (int i = 0; same && i < got; i++) {
            same = at + piece[i].len <= n && memcmp(piece[i].at, want + at, piece[i].len) == 0;
            at += piece[i].len;
        }
    free(want);
    return same && at == n;
}

static bool holds(const char *key, size_t n, uint64_t seed)
{
    struct store_ref ref;
    bool same;

    if (!find(key, &ref))
        return false;
    same = body_is(&ref, n, seed) && bt_str_eq(ref.key, text(key)) &&
           bt_str_eq(ref.head, BT_STR("HTTP/1.1 200 OK\r\n\r\n")) && ref.meta->status == 200;
    store->release(&ref);
    return same;
}

static struct ram_sums sums(void)
{
    struct ram_sums sum;

    ram_sums(&sum);
    return sum;
}

static void fresh(int64_t bytes, enum ram_policy policy)
{
    kit_drop();
    assert_true(kit_setup(bytes, policy));
    assert_true(kit_start(3));
}

static void nobody_pins(void)
{
    for (uint32_t i = 0; i < ram.segments; i++)
        assert_int_equal(ram.row->pins[i], 0);
}

static void sizes(void **state)
{
    static const size_t size[] = {0,     1,     7,     8,      9,      4000,   8191,   8192,
                                  16384, 16385, 65000, 131072, 131073, 262144, 500000, 1000000};
    char key[64];

    (void)state;
    fresh(64 << 20, RAM_S3FIFO);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        snprintf(key, sizeof key, "http://example.org/%zu", i);
        assert_true(put(key, (int64_t)size[i], size[i], i));
        assert_true(holds(key, size[i], i));
        snprintf(key, sizeof key, "http://example.org/unknown/%zu", i);
        assert_true(put(key, -1, size[i], i));
        assert_true(holds(key, size[i], i));
    }
    assert_int_equal(sums().records, 32);
    (void)kit_assert_counted();
    nobody_pins();
    assert_int_equal(kit_counts[COUNT_ram_corrupt], 0);
}

static void replaced_and_removed(void **state)
{
    struct store_ref old;

    (void)state;
    fresh(4 << 20, RAM_S3FIFO);
    assert_false(find("a", &old));
    assert_true(put("a", 1000, 1000, 1));
    assert_true(find("a", &old));
    assert_true(put("a", 300000, 300000, 2));
    assert_true(holds("a", 300000, 2));
    assert_true(body_is(&old, 1000, 1));
    store->release(&old);
    assert_int_equal(sums().records, 1);
    assert_true(store->remove(text("a")));
    assert_false(store->remove(text("a")));
    assert_false(find("a", &old));
    assert_int_equal(sums().records, 0);
    assert_int_equal(sums().live, 0);
    assert_int_equal(sums().bodies, 0);
    nobody_pins();
}

static void lies(void **state)
{
    struct store_ref ref;
    struct store_writer *w;

    (void)state;
    fresh(4 << 20, RAM_S3FIFO);
    assert_false(put("short", 100, 99, 1));
    assert_null(write_some("long", 100, 101, 1, 5000));
    assert_false(find("short", &ref));
    w = write_some("gone", -1, 100000, 1, 5000);
    assert_non_null(w);
    assert_false(find("gone", &ref));
    store->cancel(w);
    assert_false(find("gone", &ref));
    assert_null(write_some("huge", 1 << 30, 0, 1, 1));
    assert_int_equal(sums().live, 0);
    nobody_pins();
}

static void growing(void **state)
{
    struct store_writer *w;
    struct store_ref early, late;
    char *more = malloc(400000);
    bt_str piece = {more, 400000};

    (void)state;
    fresh(16 << 20, RAM_S3FIFO);
    w = write_some("g", -1, 3000, 4, 100);
    assert_true(store->peek(w, &early));
    assert_true(body_is(&early, 3000, 4));
    fill(more, 400000, 4, 3000);
    assert_true(store->write(w, &piece, 1));
    assert_true(body_is(&early, 3000, 4));
    assert_true(store->peek(w, &late));
    assert_true(body_is(&late, 403000, 4));
    assert_true(store->commit(w));
    assert_true(holds("g", 403000, 4));
    assert_true(put("other", -1, 9000, 5)); /* takes room that was given back, if there is */
    assert_true(body_is(&early, 3000, 4));
    store->release(&early);
    assert_true(body_is(&late, 403000, 4));
    store->release(&late);
    nobody_pins();
    (void)kit_assert_counted();
    free(more);
}

static void renewed(void **state)
{
    struct store_ref ref, old;
    struct store_meta meta = meta_of(203);

    (void)state;
    fresh(16 << 20, RAM_S3FIFO);
    for (size_t n = 100; n < 2000000; n *= 20) {
        assert_true(put("r", (int64_t)n, n, n));
        assert_true(find("r", &ref));
        assert_true(store->renew(&ref, &meta, BT_STR("HTTP/1.1 203 New\r\n\r\n")));
        assert_false(store->renew(&ref, &meta, BT_STR("HTTP/1.1 203 Newer\r\n\r\n")));
        old = ref;
        assert_true(body_is(&old, n, n));
        assert_true(find("r", &ref));
        assert_true(bt_str_eq(ref.head, BT_STR("HTTP/1.1 203 New\r\n\r\n")));
        assert_int_equal(ref.meta->status, 203);
        assert_true(body_is(&ref, n, n));
        store->release(&ref);
        store->release(&old);
        assert_int_equal(sums().records, 1);
        (void)kit_assert_counted();
    }
    assert_true(store->remove(text("r")));
    assert_int_equal(sums().live, 0);
    nobody_pins();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),   cmocka_unit_test(replaced_and_removed),
        cmocka_unit_test(lies),    cmocka_unit_test(growing),
        cmocka_unit_test(renewed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
