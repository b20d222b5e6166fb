/* test_ram_evict.c - the RAM store when it is full: what goes, what stays, and that all is accounted for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "ram_kit.h"

static const struct store *const store = &store_ram;

static uint32_t seed = 1;
static uint32_t dice(uint32_t sides)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * sides >> 32);
}

static char pattern[1 << 20];

static void fresh(int64_t bytes, enum ram_policy policy)
{
    kit_drop();
    assert_true(kit_setup(bytes, policy));
    assert_true(kit_start(0));
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)(i * 2654435761u >> 13);
    seed = 1;
}

static bt_str key_of(char at[32], uint32_t n)
{
    return (bt_str){at, (size_t)snprintf(at, 32, "http://h/%u", n)};
}

/* The body of a key begins where its number says. */
static bool put(uint32_t n, size_t size, bool known)
{
    char at[32];
    struct store_meta meta = {.status = 200, .stored = n + 1};
    struct store_writer *w = store->begin(key_of(at, n), &meta, BT_STR("HEAD"),
                                          known ? (int64_t)size : -1);
    bt_str piece = {pattern + n % 4096, size};

    if (w == NULL)
        return false;
    if (store->write(w, &piece, 1))
        return store->commit(w);
    store->cancel(w);
    return false;
}

static bool right(const struct store_ref *ref, uint32_t n)
{
    bt_str piece[8];
    int64_t at = 0;
    int got;

    while ((got = store->read(ref, at, piece, 8)) > 0)
        for (int i = 0; i < got; i++) {
            if (memcmp(piece[i].at, pattern + n % 4096 + at, piece[i].len) != 0)
                return false;
            at += (int64_t)piece[i].len;
        }
    return at == ref->length;
}

/* Found, and its bytes are right. */
static bool get(uint32_t n)
{
    char at[32];
    struct store_ref ref;

    if (store->find(key_of(at, n), &ref, NULL, NULL) != STORE_HIT)
        return false;
    assert_true(right(&ref, n));
    store->release(&ref);
    return true;
}

static void assert_counted(void)
{
    (void)kit_assert_counted();
    for (uint32_t i = 0; i < ram.segments; i++)
        assert_int_equal(ram.row->pins[i], 0);
    assert_int_equal(kit_counts[COUNT_ram_corrupt], 0);
}

/* Ten times what fits, of all sizes: what is new is always taken, and much of what fits is there. */
static void far_beyond(int64_t bytes, uint32_t size_max, enum ram_policy policy)
{
    uint64_t sum = 0, refused = 0, puts = 0;
    struct ram_sums sums;

    fresh(bytes, policy);
    for (uint32_t n = 0; sum < (uint64_t)bytes * 10; n++, puts++) {
        uint32_t size = dice(10) == 0 ? dice(size_max) : 300 + dice(size_max / 20);
        sum += size;
        refused += !put(n, size, dice(2));
        if (n > 20)
            get(n - dice(20));
        if (dice(4) == 0)
            get(dice(n + 1));
    }
    assert_counted();
    ram_sums(&sums);
    assert_int_equal(refused, 0);
    assert_true(sums.live > bytes * 7 / 10);
    assert_true(sums.used <= bytes);
    assert_true(kit_counts[COUNT_ram_evicted] > 0);
}

static void fills(void **state)
{
    (void)state;
    far_beyond(1 << 20, 10000, RAM_S3FIFO);
    far_beyond(1 << 20, 100000, RAM_S3FIFO);
    far_beyond(8 << 20, 500000, RAM_S3FIFO);
    far_beyond(8 << 20, 20000, RAM_LRU);
    far_beyond(64 << 20, 1000000, RAM_S3FIFO);
    far_beyond(32 << 20, 1000000, RAM_LRU);
}

/* Of a thousand that are asked for again and again, how often was one gone, while five times as many are
 * asked for once? */
static uint32_t scanned(enum ram_policy policy)
{
    uint32_t lost = 0;

    fresh(16 << 20, policy);
    for (uint32_t n = 0; n < 50000; n++) {
        assert_true(put(100000 + n, 4000, true));
        uint32_t again = dice(1000);
        if (n % 5 == 0 && !get(again)) {
            lost++;
            assert_true(put(again, 4000, true));
        }
    }
    assert_counted();
    return lost;
}

static void scan(void **state)
{
    (void)state;
    assert_true(scanned(RAM_S3FIFO) * 2 < scanned(RAM_LRU));
}

static void ghosts(void **state)
{
    (void)state;
    fresh(8 << 20, RAM_S3FIFO);
    for (uint32_t n = 0; n < 3000; n++)
        assert_true(put(n, 4000, true));
    assert_false(get(700));
    assert_int_equal(kit_counts[COUNT_ram_ghosts], 0);
    uint32_t gone = 0;
    for (uint32_t n = 1200; n > 900; n--)
        if (!get(n)) {
            gone++;
            assert_true(put(n, 4000, true));
        }
    assert_true(gone > 0);
    assert_true(kit_counts[COUNT_ram_ghosts] > 0);
}

static bool known(uint32_t n)
{
    char at[32];

    return ram_ghost_take(ram_hash(key_of(at, n)));
}

/* What is asked for once pushes nobody's ghost out; what goes from the main queue leaves one, too. */
static void ghosts_outlive_a_scan(void **state)
{
    (void)state;
    fresh(16 << 20, RAM_S3FIFO);
    for (uint32_t n = 0; n < 1000; n++) {
        assert_true(put(n, 4000, true));
        assert_true(get(n));
    }
    for (uint32_t n = 10000; n < 20000; n++)
        assert_true(put(n, 4000, true));
    assert_true(get(1));
    assert_false(get(10000));
    assert_true(known(10000) && known(15000));
    assert_false(known(10000) || known(9999) || known(1));
    for (uint32_t n = 0; n < 12000; n++) { /* now each of these is used */
        assert_true(put(30000 + n, 4000, true));
        assert_true(get(30000 + n));
    }
    assert_false(get(30000));
    assert_true(known(38000)); /* not long ago */
    assert_false(known(30500));
}

/* Who reads keeps what it reads; there is no room without end for those who never stop. */
static void pinned(void **state)
{
    static struct store_ref refs[1000];
    uint32_t held = 0, refused = 0;
    char at[32];

    (void)state;
    fresh(8 << 20, RAM_S3FIFO);
    for (uint32_t n = 0; n < 1000; n++) {
        size_t size = n % 10 == 0 ? 60000 : 6000;
        if (!put(n, size, true)) {
            refused++;
            continue;
        }
        if (store->find(key_of(at, n), &refs[n], NULL, NULL) == STORE_HIT)
            held++;
    }
    assert_true(held > 300);
    assert_true(refused > 0);
    assert_true(kit_counts[COUNT_ram_refused] >= refused);
    for (uint32_t n = 0; n < 1000; n++)
        if (refs[n].store != NULL) {
            assert_true(right(&refs[n], n));
            store->release(&refs[n]);
        }
    for (uint32_t n = 2000; n < 3000; n++)
        assert_true(put(n, 6000, true));
    assert_counted();
}

/* Whoever has it pinned reads on while it is removed and its room is wanted by many. */
static void removed_while_read(void **state)
{
    struct store_ref ref, also;
    char at[32];

    (void)state;
    fresh(4 << 20, RAM_S3FIFO);
    assert_true(put(5, 500000, true));
    assert_int_equal(store->find(key_of(at, 5), &ref, NULL, NULL), STORE_HIT);
    store->hold(&ref, &also);
    store->release(&ref);
    assert_true(store->remove(key_of(at, 5)));
    for (uint32_t n = 100; n < 5000; n++)
        assert_true(put(n, 3000, true));
    assert_true(right(&also, 5));
    store->release(&also);
    assert_counted();
}

/* ---- keys that all fall into one place ---- */

static void crowded(void **state)
{
    uint32_t there = 0;

    (void)state;
    fresh(1 << 20, RAM_S3FIFO);
    uint32_t buckets = ram.buckets;
    ram.buckets = 1;
    for (uint32_t n = 0; n < 100; n++)
        assert_true(put(n, 100, true));
    for (uint32_t n = 0; n < 100; n++)
        there += get(n);
    assert_int_equal(there, BUCKET_SLOTS);
    assert_true(get(99));
    assert_int_equal(kit_counts[COUNT_ram_crowded], 100 - BUCKET_SLOTS);
    struct ram_sums sums;
    ram_sums(&sums);
    assert_int_equal(sums.records, BUCKET_SLOTS);
    ram.buckets = buckets;
}

/* ---- walking ---- */

struct walked {
    uint8_t seen[5000];
    uint32_t n;
};

static bool visit(void *arg, const struct store_ref *ref)
{
    struct walked *walked = arg;
    uint32_t n = (uint32_t)strtoul(ref->key.at + 9, NULL, 10);

    walked->seen[n]++;
    walked->n++;
    return n % 3 == 0;
}

static void walks(void **state)
{
    static struct walked walked;
    uint64_t place = 0;

    (void)state;
    fresh(64 << 20, RAM_S3FIFO);
    for (uint32_t n = 0; n < 5000; n++)
        assert_true(put(n, n % 700 == 0 ? 100000 : 500, true));
    do {
        store->walk(&place, visit, &walked);
    } while (place != 0);
    assert_int_equal(walked.n, 5000);
    for (uint32_t n = 0; n < 5000; n++) {
        assert_int_equal(walked.seen[n], 1);
        assert_int_equal(get(n), n % 3 != 0);
    }
    assert_counted();
}

/* ---- another generation, at another address ---- */

static void kept(void **state)
{
    (void)state;
    fresh(8 << 20, RAM_S3FIFO);
    for (uint32_t n = 0; n < 500; n++)
        assert_true(put(n, n % 50 == 0 ? 80000 : 3000, true));
    ram_stop();
    char *old = kit_zone.memory;
    kit_zone.memory = mremap(
        old, kit_zone.size, kit_zone.size, MREMAP_MAYMOVE | MREMAP_FIXED,
        mmap(NULL, kit_zone.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    assert_ptr_not_equal(kit_zone.memory, old);
    assert_true(kit_setup(8 << 20, RAM_S3FIFO));
    assert_true(kit_zone.kept);
    assert_true(kit_start(9));
    for (uint32_t n = 0; n < 500; n++)
        assert_true(get(n));
    for (uint32_t n = 500; n < 5000; n++)
        assert_true(put(n, 3000, true));
    assert_counted();
    munmap(kit_zone.memory, kit_zone.size);
    kit_zone.memory = NULL;
}

/* What was left half-written is nobody's, and its room comes back. */
static void buried(void **state)
{
    struct ram_sums sums;
    struct store_meta meta = {.status = 200};
    bt_str piece = {pattern, 100000};
    struct store_ref ref;
    char at[32];

    (void)state;
    fresh(4 << 20, RAM_S3FIFO);
    for (uint32_t n = 0; n < 300; n++)
        assert_true(put(n, 3000, true));
    struct store_writer *w = store->begin(BT_STR("lost"), &meta, BT_STR("HEAD"), -1);
    assert_true(store->write(w, &piece, 1));
    assert_int_equal(store->find(key_of(at, 7), &ref, NULL, NULL), STORE_HIT);
    ram_doing(true);
    free(w);
    ram.notes[place_segment(ref.at[0])].live += 77; /* as if it died before it counted */
    assert_true(kit_start(2));
    ram_bury(0);
    assert_true(ram_recount_left() > 0);
    while (ram_recount_left() > 0)
        ram_sums(&sums);
    assert_counted();
    for (uint32_t i = 0; i < ram.segments; i++)
        assert_false(ram_pinned(i));
    for (uint32_t n = 0; n < 300; n++)
        assert_true(get(n));
    for (uint32_t n = 1000; n < 6000; n++)
        assert_true(put(n, 3000, true));
    assert_counted();
}

/* Nonsense where a slot points to, of every kind, is a miss. */
static void nonsense(void **state)
{
    char at[32];
    struct store_ref ref;

    (void)state;
    fresh(8 << 20, RAM_S3FIFO);
    for (uint32_t n = 0; n < 2000; n++)
        assert_true(put(n, dice(50) == 0 ? 90000 : 500, true));
    for (uint32_t i = 0; i < ram.segments; i++)
        for (uint32_t k = 0; k < 400; k++)
            ram.data[i * ram.segment_size + dice(ram.segment_size)] = (char)dice(256);
    for (uint32_t n = 0; n < 2000; n++)
        if (store->find(key_of(at, n), &ref, NULL, NULL) == STORE_HIT) {
            bt_str piece[64];
            store->read(&ref, 0, piece, 64);
            store->release(&ref);
        }
    assert_true(kit_counts[COUNT_ram_corrupt] > 0);
    for (uint32_t n = 5000; n < 9000; n++)
        put(n, dice(50) == 0 ? 90000 : 500, true);
    for (uint32_t i = 0; i < ram.segments; i++)
        assert_int_equal(ram.row->pins[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills),    cmocka_unit_test(scan),
        cmocka_unit_test(ghosts),   cmocka_unit_test(ghosts_outlive_a_scan),
        cmocka_unit_test(pinned),   cmocka_unit_test(removed_while_read),
        cmocka_unit_test(crowded),  cmocka_unit_test(walks),
        cmocka_unit_test(kept),     cmocka_unit_test(buried),
        cmocka_unit_test(nonsense),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
