/* ram_segment.c - segments of the zone: who has them, appending to them, and room given back.
 *
 * A process appends to segments of its own, so it needs no lock for that. Still each append pins the
 * segment first and looks at its state again, since a segment of a process that left without a word
 * is sealed by others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/mman.h>

#include "ram.h"

bool ram_pinned(uint32_t segment)
{
    uint32_t members = atomic_load_explicit(&ram.zone->members, memory_order_acquire);

    for (uint32_t i = 0; i < members; i++)
        if (atomic_load_explicit(&ram_row(i)->pins[segment], memory_order_acquire) != 0)
            return true;
    return false;
}

/* Rows are looked at one after the other, and a follower of a flight may take a pin over from its leader: it
 * has its own before the leader's goes. Whoever looks twice meets one of the two. */
bool ram_let_go(uint32_t segment)
{
    return !ram_pinned(segment) && !ram_pinned(segment);
}

/* Of a new zone; then by one who has it in state EVICTING, when nothing points to it and nobody has it
 * pinned. Never by one who only opens it: it may have been sealed and opened by others since. */
void ram_segment_reset(uint32_t segment)
{
    struct segment_note *note = &ram.notes[segment];

    atomic_store_explicit(&note->used, WORD, memory_order_relaxed);
    atomic_store_explicit(&note->live, 0, memory_order_relaxed);
    atomic_store_explicit(&note->bodies, 0, memory_order_relaxed);
    atomic_store_explicit(&note->oldest, 0, memory_order_relaxed);
}

static void survey_sealed(struct ram_survey *survey, uint32_t i, uint64_t word,
                          const uint64_t after[QUEUES])
{
    enum ram_queue queue = state_queue(word);
    uint32_t *oldest = &survey->oldest[queue];
    uint64_t live = atomic_load_explicit(&ram.notes[i].live, memory_order_relaxed);

    if (queue == QUEUE_MAIN)
        survey->main_records += live_records(live);
    if (state_turn(word) <= after[queue])
        return;
    if (live_words(live) == 0 && survey->empty == NO_SEGMENT && !ram_pinned(i))
        survey->empty = i;
    if (*oldest == NO_SEGMENT || state_turn(word) < state_turn(ram.states[*oldest]))
        *oldest = i;
}

/* In a segment that another one appends to, room may be given back and used again while one walks along
 * it. That one goes on in another segment. Its state then, which was `word` when it was looked at. */
uint64_t ram_seal_other(uint32_t segment, uint64_t word)
{
    uint64_t sealed = state_word(SEGMENT_SEALED, state_queue(word), BT_MEMBERS_MAX,
                                 state_turn(word));

    if (state_of(word) != SEGMENT_OPEN || state_owner(word) == ram.member)
        return word;
    return atomic_compare_exchange_strong(&ram.states[segment], &word, sealed) ? sealed : word;
}

/* Its owner has appended nothing to it while all the zone was written once: it left, or it may open
 * another one. (Its turn may be later than `turns`, which was read before.) */
static void survey_open(uint32_t i, uint64_t word, uint64_t turns)
{
    if (turns > state_turn(word) + ram.segments)
        (void)ram_seal_other(i, word);
}

/* Reads a word a segment: a microsecond for a thousand. */
void ram_survey(struct ram_survey *survey, const uint64_t after[QUEUES])
{
    uint64_t turns = atomic_load_explicit(&ram.zone->turns, memory_order_relaxed);

    *survey = (struct ram_survey){.oldest = {NO_SEGMENT, NO_SEGMENT}, .empty = NO_SEGMENT};
    for (uint32_t i = 0; i < ram.segments; i++) {
        uint64_t word = atomic_load_explicit(&ram.states[i], memory_order_acquire);
        if (state_of(word) == SEGMENT_FREE) {
            survey->free++;
            continue;
        }
        if (state_of(word) == SEGMENT_CLOSING) {
            survey->closing++;
            continue;
        }
        if (state_of(word) == SEGMENT_OPEN)
            survey_open(i, word, turns);
        else if (state_queue(word) == QUEUE_SMALL)
            survey->small++;
        else
            survey->main++;
        if (state_of(word) == SEGMENT_SEALED)
            survey_sealed(survey, i, word, after);
    }
    ram.free = survey->free;
}

void ram_seal(enum ram_queue queue)
{
    struct open_segment *open = &ram.open[queue];

    if (open->segment != NO_SEGMENT) {
        uint64_t word = open->word;
        atomic_compare_exchange_strong(
            &ram.states[open->segment], &word,
            state_word(SEGMENT_SEALED, queue, BT_MEMBERS_MAX, state_turn(word)));
    }
    *open = (struct open_segment){.segment = NO_SEGMENT};
}

/* Memory that was never touched, 256 KiB at a time: pages that come one by one cost two microseconds
 * each, and so twice as much. */
static void populate(uint32_t segment, uint32_t until)
{
    enum { STEP = 256 * 1024 };
    _Atomic uint32_t *populated = &ram.notes[segment].populated;
    uint32_t has = atomic_load_explicit(populated, memory_order_relaxed);

    while (has < until) {
        uint32_t step = ram.segment_size - has < STEP ? ram.segment_size - has : STEP;
#ifdef MADV_POPULATE_WRITE
        (void)madvise(ram.data + (size_t)segment * ram.segment_size + has, step,
                      MADV_POPULATE_WRITE);
#endif
        has += step;
    }
    atomic_store_explicit(populated, has, memory_order_relaxed);
}

static bool open_free(enum ram_queue queue)
{
    for (uint32_t n = 0; n < ram.segments; n++) {
        uint32_t i = ram.hint;
        ram.hint = i + 1 < ram.segments ? i + 1 : 0;
        uint64_t word = atomic_load_explicit(&ram.states[i], memory_order_relaxed);
        if (state_of(word) != SEGMENT_FREE)
            continue;
        uint64_t turn = atomic_fetch_add(&ram.zone->turns, 1) + 1;
        uint64_t mine = state_word(SEGMENT_OPEN, queue, ram.member, turn);
        if (!atomic_compare_exchange_strong(&ram.states[i], &word, mine))
            continue;
        ram.open[queue] = (struct open_segment){.segment = i, .word = mine};
        return true;
    }
    return false;
}

static bool open_another(enum ram_queue queue, bool may_evict)
{
    static const uint64_t any[QUEUES];
    static unsigned opened;
    struct ram_survey survey;

    ram_seal(queue);
    while (!open_free(queue))
        if (!may_evict || !ram_evict_now())
            return false;
    /* What little room there is eviction asks for itself, and where there is much nobody need know. */
    ram.free -= ram.free > 0;
    if (ram.free >= ram.reserve && (ram.free < 4 * ram.reserve || ++opened % 8 == 0))
        ram_survey(&survey, any);
    return true;
}

/* Pinned, and ours still. */
static bool open_pin(struct open_segment *open)
{
    if (open->segment == NO_SEGMENT)
        return false;
    pin(open->segment);
    pin_fence();
    if (atomic_load_explicit(&ram.states[open->segment], memory_order_acquire) == open->word)
        return true;
    unpin(open->segment);
    *open = (struct open_segment){.segment = NO_SEGMENT};
    return false;
}

static void header_put(uint32_t segment, uint32_t at, uint32_t size)
{
    struct record *record = place_at(place_make(segment, at));

    atomic_store_explicit(&record->word, record_word(RECORD_DEAD, size), memory_order_release);
}

/* Whoever walks meets either the hole or what was made of it, since the rest has its header first. */
static uint64_t hole_take(struct open_segment *open, uint32_t size)
{
    for (size_t i = 0; i < sizeof open->hole / sizeof *open->hole; i++) {
        uint32_t at = open->hole[i].at, left = open->hole[i].size - size;
        if (open->hole[i].size < size)
            continue;
        if (left >= RAM_PIECE) {
            header_put(open->segment, at + size, left);
            header_put(open->segment, at, size);
            open->hole[i].at = at + size;
            open->hole[i].size = left;
        } else {
            header_put(open->segment, at, open->hole[i].size);
            open->hole[i].size = 0;
        }
        return place_make(open->segment, at);
    }
    return 0;
}

static void hole_give(struct open_segment *open, uint32_t at, uint32_t size)
{
    size_t least = 0;

    for (size_t i = 1; i < sizeof open->hole / sizeof *open->hole; i++)
        if (open->hole[i].size < open->hole[least].size)
            least = i;
    if (open->hole[least].size >= size)
        return;
    open->hole[least].at = at;
    open->hole[least].size = size;
}

static uint32_t room_left(const struct open_segment *open)
{
    return ram.segment_size -
           atomic_load_explicit(&ram.notes[open->segment].used, memory_order_relaxed);
}

static uint64_t append_end(struct open_segment *open, uint32_t size)
{
    struct segment_note *note = &ram.notes[open->segment];
    uint32_t at = atomic_load_explicit(&note->used, memory_order_relaxed);

    if (at + size > atomic_load_explicit(&note->populated, memory_order_relaxed))
        populate(open->segment, at + size);
    header_put(open->segment, at, size);
    atomic_store_explicit(&note->used, at + size, memory_order_release);
    return place_make(open->segment, at);
}

uint64_t ram_append(enum ram_queue queue, uint32_t size, bool may_evict)
{
    struct open_segment *open = &ram.open[queue];
    uint64_t place;

    if (size > ram.segment_size - WORD)
        return 0;
    if (may_evict)
        ram_evict_some(size);
    if (open_pin(open)) {
        place = hole_take(open, size);
        if (place != 0)
            return place;
        if (room_left(open) >= size)
            return append_end(open, size);
        unpin(open->segment);
    }
    if (!open_another(queue, may_evict) || !open_pin(open))
        return 0;
    return append_end(open, size);
}

uint64_t ram_append_some(enum ram_queue queue, uint32_t want, uint32_t *got, bool may_evict)
{
    struct open_segment *open = &ram.open[queue];
    uint32_t room = open->segment == NO_SEGMENT ? 0 : room_left(open);
    uint32_t least = ram.segment_size / 16;

    if (room < want && room >= least && want > ram.segment_size / 8)
        want = room;
    *got = want;
    return ram_append(queue, want, may_evict);
}

/* Of an open segment, the end is simply taken back: whoever walks there meanwhile may read what is
 * no record, but nothing is live that no slot points to. */
static void give_back(struct open_segment *open, uint32_t at, uint32_t size)
{
    _Atomic uint32_t *used = &ram.notes[open->segment].used;

    if (at + size == atomic_load_explicit(used, memory_order_relaxed))
        atomic_store_explicit(used, at, memory_order_release);
    else
        hole_give(open, at, size);
}

void ram_trim(uint64_t place, uint32_t size)
{
    struct record *record = place_at(place);
    uint32_t word = atomic_load_explicit(&record->word, memory_order_relaxed);
    uint32_t segment = place_segment(place), at = place_offset(place), old = word_size(word);

    size = round_up(size);
    if (size >= old || old - size < RAM_PIECE)
        return;
    if (size == 0) {
        header_put(segment, at, old);
    } else {
        header_put(segment, at + size, old - size);
        atomic_store_explicit(&record->word, record_word(word_kind(word), size),
                              memory_order_release);
    }
    for (int queue = 0; queue < QUEUES; queue++) /* ours still, and not of an earlier turn */
        if (ram.open[queue].segment == segment &&
            atomic_load_explicit(&ram.states[segment], memory_order_acquire) ==
                ram.open[queue].word)
            give_back(&ram.open[queue], at + size, old - size);
}
