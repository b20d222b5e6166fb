/* test_segment.c - the shared segment: layout, a reader from outside, damaged ones, generations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat/counter.h"
#include "stat/counts.h"

static const struct bt_counter sample[] = {
    {"sample.things", BT_COUNT, "things", "Things that came."},
    {"sample.open", BT_GAUGE, "things", "Things that are open."},
    {"sample.time", BT_HISTOGRAM, "microseconds", "How long things took."},
    {"sample.last", BT_COUNT, "things", "The one behind the histogram."},
};
static _Atomic int64_t *sample_row;

static int clean(void **state)
{
    (void)state;
    counter_forget();
    sample_row = NULL;
    return 0;
}

static struct segment made(unsigned workers)
{
    struct segment segment;

    counter_register(sample, 4, &sample_row);
    assert_true(counter_make(&segment, workers));
    return segment;
}

static void counting_before_there_is_a_segment_goes_to_spare_memory(void **state)
{
    (void)state;
    count(requests);
    counter_register(sample, 4, &sample_row);
    assert_non_null(sample_row);
    bt_slot_add(&sample_row[0], 1);
    bt_slot_add(&sample_row[3 + BT_HISTOGRAM_SLOTS - 1], 1);
    count(requests);
}

static void a_table_is_registered_once(void **state)
{
    struct segment segment;

    (void)state;
    counter_register(sample, 4, &sample_row);
    counter_register(sample, 4, &sample_row);
    assert_true(counter_make(&segment, 1));
    assert_int_equal(segment.head->slots, COUNT_end_ + 3 + BT_HISTOGRAM_SLOTS);
    segment_close(&segment);
}

static void rows_are_apart_and_on_their_own_pages(void **state)
{
    struct segment segment = made(3);

    (void)state;
    for (unsigned row = 1; row <= 3; row++) {
        uintptr_t at = (uintptr_t)segment_worker(&segment, row);
        assert_int_equal(at % 4096, 0);
        assert_true((uintptr_t)segment_worker(&segment, row - 1) + sizeof(struct segment_worker) +
                        segment.head->slots * 8u <=
                    at);
    }
    /* The last slot of the last row is inside. */
    counter_use(&segment, 3);
    bt_slot_add(&sample_row[2 + BT_HISTOGRAM_SLOTS], 5);
    int64_t sum;
    assert_true(counter_sum(&segment, "sample.last", &sum));
    assert_int_equal(sum, 5);
    assert_true((char *)&sample_row[2 + BT_HISTOGRAM_SLOTS] <
                (char *)segment.head + segment.head->size);
    segment_close(&segment);
}

static void children_count_and_the_master_sums(void **state)
{
    struct segment segment = made(2);

    (void)state;
    for (unsigned row = 1; row <= 2; row++) {
        pid_t pid = fork();
        if (pid == 0) {
            counter_use(&segment, row);
            for (unsigned i = 0; i < 1000 * row; i++)
                bt_slot_add(&sample_row[0], 1);
            count_by(client_bytes_in, 7);
            bt_observe_at(&sample_row[2], 100);
            _exit(0);
        }
        int status = -1;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    bt_slot_add(&sample_row[0], 1); /* the master counts in row 0 */
    int64_t sum;
    assert_true(counter_sum(&segment, "sample.things", &sum));
    assert_int_equal(sum, 3001);
    assert_true(counter_sum(&segment, "client.bytes_in", &sum));
    assert_int_equal(sum, 14);
    assert_true(counter_sum(&segment, "sample.time", &sum));
    assert_int_equal(sum, 2);
    assert_false(counter_sum(&segment, "sample.none", &sum));
    segment_close(&segment);
}

/* As a program that knows nothing but segment.h's layout does. */
static void a_reader_needs_no_list_of_its_own(void **state)
{
    struct segment segment = made(1);
    char path[64];

    (void)state;
    counter_use(&segment, 1);
    bt_slot_add(&sample_row[0], 42);
    snprintf(path, sizeof path, "/proc/self/fd/%d", segment.fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const char *why = NULL;
    struct segment other;
    assert_true(segment_attach(&other, fd, false, &why));
    assert_null(why);
    bool found = false;
    for (unsigned i = 0; i < other.head->entries; i++) {
        const struct segment_entry *entry = segment_entry(&other, i);
        if (strcmp(segment_text(&other, entry->name), "sample.things") != 0)
            continue;
        found = true;
        assert_int_equal(entry->kind, BT_COUNT);
        assert_string_equal(segment_text(&other, entry->unit), "things");
        assert_string_equal(segment_text(&other, entry->doc), "Things that came.");
        assert_int_equal(segment_row(&other, 1)[entry->slot], 42);
    }
    assert_true(found);
    segment_close(&other);
    segment_close(&segment);
}

static void it_cannot_shrink_under_a_reader(void **state)
{
    struct segment segment = made(1);

    (void)state;
    assert_int_equal(ftruncate(segment.fd, 0), -1);
    segment_close(&segment);
}

static void a_dead_workers_gauges_are_cleared_and_nothing_else(void **state)
{
    struct segment segment = made(2);
    int64_t sum;

    (void)state;
    for (unsigned row = 1; row <= 2; row++) {
        counter_use(&segment, row);
        bt_slot_add(&sample_row[0], 10);
        bt_slot_add(&sample_row[1], 3);
        bt_observe_at(&sample_row[2], 9);
    }
    segment_clear_gauges(&segment, 1);
    assert_true(counter_sum(&segment, "sample.open", &sum));
    assert_int_equal(sum, 3);
    assert_true(counter_sum(&segment, "sample.things", &sum));
    assert_int_equal(sum, 20);
    assert_true(counter_sum(&segment, "sample.time", &sum));
    assert_int_equal(sum, 2);
    segment_close(&segment);
}

static void a_new_generation_takes_over_by_name(void **state)
{
    /* The same names in another order, one gone, one of another kind. */
    static const struct bt_counter later[] = {
        {"sample.new", BT_COUNT, "things", "New."},
        {"sample.time", BT_HISTOGRAM, "microseconds", "How long things took."},
        {"sample.open", BT_COUNT, "things", "Was a gauge."},
        {"sample.things", BT_COUNT, "things", "Things that came."},
    };
    struct segment old = made(2);
    _Atomic int64_t *old_slots = NULL;
    int64_t sum;

    (void)state;
    counter_use(&old, 1);
    bt_slot_add(&sample_row[0], 5);
    bt_slot_add(&sample_row[1], 5);
    counter_use(&old, 2);
    bt_slot_add(&sample_row[0], 6);
    bt_observe_at(&sample_row[2], 100);
    old_slots = sample_row;

    counter_forget();
    _Atomic int64_t *row = NULL;
    struct segment next;
    counter_register(later, 4, &row);
    assert_true(counter_make(&next, 1));
    segment_take_over(&next, &old);
    assert_true(counter_sum(&next, "sample.things", &sum));
    assert_int_equal(sum, 11);
    assert_true(counter_sum(&next, "sample.open", &sum));
    assert_int_equal(sum, 0);
    assert_true(counter_sum(&next, "sample.time", &sum));
    assert_int_equal(sum, 1);

    /* The old one drains, and still counts; what was taken is in no sum of its own. */
    bt_slot_add(&old_slots[0], 4);
    segment_take_over(&next, &old);
    segment_take_over(&next, &old);
    assert_true(counter_sum(&next, "sample.things", &sum));
    assert_int_equal(sum, 15);
    assert_true(counter_sum(&old, "sample.things", &sum));
    assert_int_equal(sum, 15);
    segment_close(&old);
    segment_close(&next);
}

/* Writes a damaged copy of a segment and attaches it. */
static const char *fault_of(const struct segment *good, size_t at, uint64_t value, size_t width)
{
    const char *why = NULL;
    struct segment segment;
    int fd = memfd_create("damaged", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, good->head, good->size), (ssize_t)good->size);
    assert_int_equal(pwrite(fd, &value, width, (off_t)at), (ssize_t)width);
    if (segment_attach(&segment, fd, false, &why)) {
        segment_close(&segment);
        return NULL;
    }
    close(fd);
    return why;
}

#define DAMAGE(field, value)                                                                       \
    fault_of(&good, offsetof(struct segment_head, field), (value), sizeof good.head->field)

static void a_damaged_one_is_refused(void **state)
{
    struct segment good = made(2);
    size_t entry = good.head->dictionary;

    (void)state;
    assert_null(DAMAGE(generation, 7)); /* the copy itself is fine */
    assert_string_equal(DAMAGE(magic, 0), "it is not a statistics segment");
    assert_string_equal(DAMAGE(layout, 99), "its layout is of another version");
    assert_non_null(DAMAGE(workers, 3));
    assert_non_null(DAMAGE(workers, UINT32_MAX));
    assert_non_null(DAMAGE(slots, good.head->slots * 100));
    assert_non_null(DAMAGE(entries, UINT32_MAX));
    assert_non_null(DAMAGE(dictionary, 8));
    assert_non_null(DAMAGE(text, UINT64_MAX));
    assert_non_null(DAMAGE(rows, UINT64_MAX - 7));
    assert_non_null(DAMAGE(rows, good.head->rows + 4));
    assert_non_null(DAMAGE(row_size, UINT64_MAX / 2));
    assert_non_null(DAMAGE(row_size, 64));
    assert_non_null(DAMAGE(size, good.size + 1));
    assert_non_null(fault_of(&good, entry + offsetof(struct segment_entry, name), UINT32_MAX, 4));
    assert_non_null(fault_of(&good, entry + offsetof(struct segment_entry, kind), 3, 4));
    assert_non_null(fault_of(&good, entry + offsetof(struct segment_entry, slot), UINT32_MAX, 4));
    assert_non_null(fault_of(&good, entry + offsetof(struct segment_entry, slots), 2, 4));
    assert_non_null(fault_of(&good, good.head->rows - 1, 'x', 1));

    const char *why = NULL;
    struct segment segment;
    int fd = memfd_create("short", MFD_CLOEXEC);
    assert_false(segment_attach(&segment, fd, false, &why));
    assert_string_equal(why, "it is too short to be a statistics segment");
    close(fd);
    segment_close(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(counting_before_there_is_a_segment_goes_to_spare_memory, clean),
        cmocka_unit_test_teardown(a_table_is_registered_once, clean),
        cmocka_unit_test_teardown(rows_are_apart_and_on_their_own_pages, clean),
        cmocka_unit_test_teardown(children_count_and_the_master_sums, clean),
        cmocka_unit_test_teardown(a_reader_needs_no_list_of_its_own, clean),
        cmocka_unit_test_teardown(it_cannot_shrink_under_a_reader, clean),
        cmocka_unit_test_teardown(a_dead_workers_gauges_are_cleared_and_nothing_else, clean),
        cmocka_unit_test_teardown(a_new_generation_takes_over_by_name, clean),
        cmocka_unit_test_teardown(a_damaged_one_is_refused, clean),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
