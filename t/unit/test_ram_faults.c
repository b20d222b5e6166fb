/* test_ram_faults.c - single moments at which one member of the RAM store once harmed another.
 *
 * Each of these was a fault; the whole field is searched by test_ram_moments.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "ram_moments.h"

enum { SEGMENTS = 20, BUCKETS = 40 };

/* ---- segments ---- */

static void put_seven(void)
{
    put(7, 900, true);
}
static void put_eight(void)
{
    put(8, 900, true);
}
static void put_nine(void)
{
    put(9, 900, true);
}

static bool has(uint32_t key)
{
    struct store_ref ref;
    char at[32];

    if (store->find(kit_key(at, key), &ref, NULL, NULL) != STORE_HIT)
        return false;
    check(&ref, key);
    assert_null(wrong);
    store->release(&ref);
    return true;
}

static uint32_t open_of(unsigned member)
{
    for (uint32_t i = 0; i < ram.segments; i++)
        if (state_of(ram.states[i]) == SEGMENT_OPEN && state_owner(ram.states[i]) == member)
            return i;
    return NO_SEGMENT;
}

/* Another one seals it, empties it and begins to write there, as may be when its owner sleeps for long. */
static void take_over(uint32_t segment)
{
    be(1);
    (void)ram_seal_other(segment, ram.states[segment]);
    if (claim(segment, SEGMENT_SEALED)) {
        evict_take(segment, true);
        while (evict_step() > 0)
            ;
        (void)evict_end();
    }
    ram.hint = segment;
    been(1);
}

/* It had been opened, and what its owner does next is late. */
static void an_owner_is_late(void **state)
{
    (void)state;
    for (int32_t at = 0, more = true; more; at++) {
        scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
        set_to(0, put_seven);
        more = go_on(0, at);
        uint32_t segment = open_of(0);
        if (segment == NO_SEGMENT)
            continue;
        take_over(segment);
        set_to(1, put_eight);
        go_on(1, NEVER);
        go_on(0, NEVER);
        set_to(1, put_nine);
        go_on(1, NEVER);
        be(2);
        assert_true(has(8) && has(9));
        the_end();
    }
}

/* A segment may be opened after a survey has read how many ever were. */
static void a_turn_is_later_than_the_survey(void **state)
{
    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    uint64_t word = state_word(SEGMENT_OPEN, QUEUE_SMALL, 3, 1000);
    be(0);
    ram.states[5] = word;
    survey_open(5, word, 999);
    assert_true(ram.states[5] == word);
    survey_open(5, word, 1000 + SEGMENTS);
    assert_true(ram.states[5] == word);
    survey_open(5, word, 1001 + SEGMENTS);
    assert_int_equal(state_of(ram.states[5]), SEGMENT_SEALED);
}

/* What we know of an open segment may be of an earlier turn of it; room is given back once. */
static void room_is_given_back_once(void **state)
{
    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    be(0);
    uint64_t place = ram_append(QUEUE_MAIN, 512, false);
    assert_true(place != 0);
    ram.open[QUEUE_SMALL] = ram.open[QUEUE_MAIN];
    ram.open[QUEUE_SMALL].word = state_word(SEGMENT_OPEN, QUEUE_SMALL, 0, 0);
    ram_trim(place, 0);
    uint64_t one = ram_append(QUEUE_MAIN, 512, false), two = ram_append(QUEUE_MAIN, 512, false);
    assert_true(one != 0 && two != 0 && one != two);
    been(0);

    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS); /* and not at all when it is no longer ours */
    be(0);
    place = ram_append(QUEUE_SMALL, 512, false);
    uint32_t segment = place_segment(place), used = ram.notes[segment].used;
    been(0);
    be(1);
    (void)ram_seal_other(segment, ram.states[segment]);
    been(1);
    be(0);
    ram_trim(place, 0);
    assert_int_equal(ram.notes[segment].used, used);
}

/* ---- pins ---- */

static uint32_t asked_for;
static bool answered, claimed;
static void ask_let_go(void)
{
    answered = ram_let_go(asked_for);
}

/* From the leader of a flight to one who follows, while somebody looks along the rows. */
static void a_pin_is_handed_over(void **state)
{
    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    asked_for = 4;
    for (int32_t at = 0, more = true; more; at++) {
        ram_row(3)->pins[4] = 1;
        set_to(0, ask_let_go);
        more = go_on(0, at);
        ram_row(1)->pins[4] = 1;
        ram_row(3)->pins[4] = 0;
        go_on(0, NEVER);
        assert_false(answered);
        ram_row(1)->pins[4] = 0;
        if (!more)
            assert_true(at > 2);
    }
    set_to(0, ask_let_go);
    go_on(0, NEVER);
    assert_true(answered);
}

/* ---- counting again ---- */

static void ask_recount(void)
{
    answered = recount(asked_for);
}
static void ask_claim(void)
{
    claimed = claim(asked_for, SEGMENT_SEALED);
}

static void fill(void)
{
    for (uint32_t key = 20; key < 40; key++)
        put(key, 900, true);
}

static void filled(void)
{
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    set_to(0, fill);
    go_on(0, NEVER);
    be(0);
    asked_for = ram.open[QUEUE_SMALL].segment;
    ram_seal(QUEUE_SMALL);
    been(0);
}

/* Who evicts it must not meet a pin of one who only counts. */
static void nobody_counts_what_is_evicted(void **state)
{
    (void)state;
    for (int32_t at = 0, more = true; more; at++) {
        filled();
        be(1);
        assert_true(claim(asked_for, SEGMENT_SEALED));
        been(1);
        set_to(0, ask_recount);
        more = go_on(0, at);
        assert_int_equal(ram_row(0)->pins[asked_for], 0);
        go_on(0, NEVER);
        assert_true(answered);
    }
}

/* Somebody had claimed it, and puts it back: it is counted all the same. */
static void what_was_claimed_is_counted(void **state)
{
    (void)state;
    for (int32_t at = 0, more = true; more; at++) {
        filled();
        ram_row(2)->pins[asked_for] = 1;
        ram.notes[asked_for].live += 77;
        set_to(1, ask_claim);
        more = go_on(1, at);
        set_to(0, ask_recount);
        go_on(0, NEVER);
        bool counted = answered;
        go_on(1, NEVER);
        assert_false(claimed);
        if (!counted) {
            set_to(0, ask_recount);
            go_on(0, NEVER);
            assert_true(answered);
        }
        ram_row(2)->pins[asked_for] = 0;
        the_end();
    }
}

static void ask_recount_one(void)
{
    ram_recount_some(1);
}

/* Another one dies between a count and its tick. */
static void a_count_is_of_one_death(void **state)
{
    (void)state;
    for (int32_t at = 0, more = true; more; at++) {
        filled();
        ram.zone->recount = UINT64_C(1) << 32 | (asked_for + 1);
        set_to(0, ask_recount_one);
        more = go_on(0, at);
        ram.notes[asked_for].live += 77; /* it died between a change and its count, */
        ram.zone->recount = UINT64_C(2) << 32 | (asked_for + 1);
        go_on(0, NEVER);
        the_end();
    }
}

static struct store_writer *begun;
static void begin_to_write(void)
{
    struct store_meta meta = {.stored = 1};
    char name[32], head[40];

    begun = store->begin(kit_key(name, 7), &meta, kit_head(head, 7, 0), 900);
}

/* Its owner takes back what it wrote, and writes something else, while somebody walks along. */
static void what_is_written_is_walked(void **state)
{
    static const uint32_t sizes[] = {30, 500, 2000};

    (void)state;
    for (int32_t at = 0, more = true; more; at++) {
        scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
        set_to(1, put_eight);
        go_on(1, NEVER);
        set_to(1, begin_to_write);
        go_on(1, NEVER);
        assert_non_null(begun);
        asked_for = open_of(1);
        set_to(0, ask_recount);
        more = go_on(0, at);
        bool walks = ram_row(0)->pins[asked_for] > 0 && at > 8;
        be(1);
        uint32_t used = ram.notes[asked_for].used;
        ram_cancel(begun);
        if (walks)
            assert_int_equal(ram.notes[asked_for].used, used);
        been(1);
        set_to(1, sizes[at % 3] == 30 ? put_nine : put_seven);
        go_on(1, NEVER);
        go_on(0, NEVER);
        be(2);
        assert_true(has(8));
        the_end();
    }
}

/* Somebody removes it before who has put it there has counted it. */
static void counts_may_come_late(void **state)
{
    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    be(0);
    account(3, -1, -10, -5);
    assert_int_equal(live_records(ram.notes[3].live), 0);
    assert_int_equal(live_words(ram.notes[3].live), 0);
    account(3, 2, 30, 8);
    assert_int_equal(live_records(ram.notes[3].live), 1);
    assert_int_equal(live_words(ram.notes[3].live), 20);
    account(3, -1, -20, -3);
    uint32_t most = (1u << SEGMENT_MAX_SHIFT) / WORD;
    account(3, 65535, (int64_t)most, 0);
    assert_int_equal(live_records(ram.notes[3].live), 65535);
    assert_int_equal(live_words(ram.notes[3].live), most);
    account(3, -65535, -(int64_t)most, 0);
    assert_int_equal(live_records(ram.notes[3].live), 0);
}

/* Room was taken back while somebody walked there. */
static void a_walk_ends_with_a_record(void **state)
{
    struct tally tally;

    (void)state;
    filled();
    be(0);
    assert_true(tally_segment(asked_for, &tally));
    assert_true(tally.records > 1);
    ram.notes[asked_for].used -= 2 * WORD;
    assert_false(tally_segment(asked_for, &tally));
}

/* What waits for its readers holds nothing that can be found. */
static void closing_counts_for_nothing(void **state)
{
    struct ram_sums sums;

    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    be(0);
    ram.states[3] = state_word(SEGMENT_CLOSING, QUEUE_SMALL, BT_MEMBERS_MAX, 1);
    account(3, 2, 30, 8);
    ram_sums(&sums);
    assert_int_equal(sums.records, 0);
    assert_int_equal(sums.live, 0);
    assert_int_equal(sums.bodies, 0);
    assert_int_equal(sums.used, ram.segment_size);
}

/* ---- flights ---- */

static bool said_whole;
static void lead_seven(void)
{
    struct store_meta meta = {.stored = 1007};
    struct flight *flight = &members[1].flight;
    char name[32], head[40];
    size_t length = kit_body_make(members[1].body, 7, 900);
    bt_str piece = {(char *)members[1].body, length};

    assert_int_equal(flight_join(flight, kit_key(name, 7), nothing, NULL), FLIGHT_LEAD);
    begun = store->begin(kit_key(name, 7), &meta, kit_head(head, 7, 0), (int64_t)length);
    flight_growing(flight, begun);
    if (!store->write(begun, &piece, 1))
        fault("no room");
    flight_grown(flight);
    if (said_whole)
        flight_whole(flight, store->commit(begun));
}

static void follow_seven(void)
{
    char name[32];

    if (flight_join(&members[2].flight, kit_key(name, 7), nothing, NULL) != FLIGHT_FOLLOW)
        fault("it follows nobody");
}

static void leave_seven(void)
{
    if (!said_whole) {
        flight_failed(&members[1].flight);
        store->cancel(begun);
    }
    flight_leave(&members[1].flight);
    kit_look();
}

static void bury_two(void)
{
    ram_bury(2);
}

/* The last one who followed has died, and the leader leaves just then. */
static void a_leader_leaves_the_dead(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++)
        for (int32_t at = 0, more = true; more; at++) {
            said_whole = whole;
            scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
            set_to(1, lead_seven);
            go_on(1, NEVER);
            set_to(2, follow_seven);
            go_on(2, NEVER);
            assert_null(wrong);
            die(2);
            set_to(0, bury_two);
            more = go_on(0, at);
            set_to(1, leave_seven);
            go_on(1, NEVER);
            go_on(0, NEVER);
            be(1);
            kit_look(); /* if anybody woke it */
            been(1);
            be(0);
            for (uint32_t i = 0; i < ram.flight_entries; i++)
                assert_int_equal(word_state(entry_at(i)->word), FREE);
            for (uint32_t i = 0; i < ram.segments; i++)
                assert_false(ram_pinned(i));
            members[2].life = BURIED;
            the_end();
        }
}

/* Nobody was told of its extents before it could be found, and so could be pushed out. */
static void what_nobody_was_told_of_is_not_shared(void **state)
{
    struct store_meta meta = {.stored = 1007};
    struct flight *flight = &members[1].flight;
    char name[32], head[40];

    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    be(1);
    size_t length = kit_body_make(members[1].body, 7, 29000);
    bt_str piece = {(char *)members[1].body, length};
    assert_int_equal(flight_join(flight, kit_key(name, 7), nothing, NULL), FLIGHT_LEAD);
    begun = store->begin(kit_key(name, 7), &meta, kit_head(head, 7, 0), (int64_t)length);
    flight_growing(flight, begun);
    assert_true(store->write(begun, &piece, 1));
    assert_true(store->commit(begun));
    been(1);
    be(0);
    now = 0;
    members[0].left = NEVER;
    assert_true(store->remove(kit_key(name, 7)));
    for (uint32_t key = 100; key < 400; key++)
        put(key, 3000, true);
    now = -1;
    been(0);
    be(1);
    flight_whole(flight, true);
    assert_int_equal(flight_state(flight), FLIGHT_FAILED);
    flight_leave(flight);
    been(1);
    the_end();
}

/* ---- heads ---- */

/* It was to be long, and nothing came. */
static void nothing_gets_another_head(void **state)
{
    static char long_head[3500];
    struct store_meta meta = {.stored = 1007};
    struct store_ref ref;
    char name[32];

    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    be(0);
    memset(long_head, 'h', sizeof long_head);
    begun = store->begin(kit_key(name, 7), &meta, (bt_str){long_head, sizeof long_head}, -1);
    assert_non_null(begun);
    assert_true(store->commit(begun));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store->find(kit_key(name, 7), &ref, NULL, NULL), STORE_HIT);
        assert_int_equal(ref.length, 0);
        assert_true(store->renew(&ref, ref.meta, BT_STR("another")));
        store->release(&ref);
    }
    assert_int_equal(store->find(kit_key(name, 7), &ref, NULL, NULL), STORE_HIT);
    assert_str(ref.head, "another");
    store->release(&ref);
    (void)kit_assert_counted();
}

/* ---- another policy, after a reload ---- */

static void what_was_small_does_not_stay(void **state)
{
    (void)state;
    scene_make(RAM_S3FIFO, SEGMENTS, BUCKETS);
    set_to(0, put_seven);
    go_on(0, NEVER);
    be(0);
    ram_stop();
    ram.policy = RAM_LRU;
    assert_true(kit_start(0));
    now = 0;
    members[0].left = NEVER;
    for (uint32_t key = 100; key < 1000; key++)
        put(key, 3000, true);
    now = -1;
    assert_false(has(7));
    for (uint32_t i = 0; i < ram.segments; i++)
        assert_true(state_of(ram.states[i]) == SEGMENT_FREE ||
                    state_queue(ram.states[i]) == QUEUE_MAIN);
    been(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_is_late),
        cmocka_unit_test(a_turn_is_later_than_the_survey),
        cmocka_unit_test(room_is_given_back_once),
        cmocka_unit_test(a_pin_is_handed_over),
        cmocka_unit_test(nobody_counts_what_is_evicted),
        cmocka_unit_test(what_was_claimed_is_counted),
        cmocka_unit_test(a_count_is_of_one_death),
        cmocka_unit_test(what_is_written_is_walked),
        cmocka_unit_test(counts_may_come_late),
        cmocka_unit_test(a_walk_ends_with_a_record),
        cmocka_unit_test(closing_counts_for_nothing),
        cmocka_unit_test(a_leader_leaves_the_dead),
        cmocka_unit_test(what_nobody_was_told_of_is_not_shared),
        cmocka_unit_test(nothing_gets_another_head),
        cmocka_unit_test(what_was_small_does_not_stay),
    };

    kit_pattern_make();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
