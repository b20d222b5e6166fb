/* ram_evict.c - what goes when room is needed: S3-FIFO over segments, or a second chance for LRU.
 *
 * S3-FIFO (Yang et al., 2023): what is new stands in a small queue, a twentieth of all; what was used
 * there moves to the main queue, what was not goes, and its hash is remembered for a while (a ghost): if
 * it comes again it goes to the main queue directly. In the main queue whoever was used goes round once
 * more for each use, three at most. So things that are asked for once, a scan, pass through the small
 * queue alone. Unlike there, what goes from the main queue leaves a ghost, too, and ghosts grow old by
 * what arrives in the main queue, not by what goes: a scan does not push them out. LRU is one queue, where whoever was used since its last turn gets another one: that is
 * CLOCK, and orders what was used within a turn by nothing.
 *
 * A long record's extents are asked for at their places in the log, but it is its first one that
 * decides; the others follow it.
 *
 * Work is done ahead, with each append a little, for a reserve of free segments; only when there is
 * none is a segment freed at once, by dropping what is in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "ram.h"

enum {
    SMALL_SHARE = 20, /* a twentieth */
    LOOK_COST = 128,  /* bytes of work that looking at a record counts for */
    WORK_MAX = 128 * 1024,
    PIECES = 8 /* that a moved extent may become */
};

/* ---- ghosts: a table of hashes with the time of their entry, in units of arrivals ---- */

/* One has come to the end of the main queue, for the first time or once more. */
static void arrived(void)
{
    atomic_fetch_add_explicit(&ram.zone->arrivals, 1, memory_order_relaxed);
}

static uint64_t ghost_unit(void)
{
    return (uint64_t)ram.ghost_buckets * GHOST_WAYS / 16384 + 1;
}

static _Atomic uint32_t *ghost_bucket(uint64_t hash)
{
    uint64_t spread = (hash * 0xd6e8feb86659fd93) >> 32;

    return &ram.ghosts[((uint64_t)ram.ghost_buckets * spread >> 32) * GHOST_WAYS];
}

static uint32_t ghost_mark(uint64_t hash)
{
    return (uint32_t)(hash >> 8 & 0xfffe0000) | 0x10000;
}

static void ghost_add(uint64_t hash)
{
    _Atomic uint32_t *way = ghost_bucket(hash);
    uint64_t arrivals = atomic_load_explicit(&ram.zone->arrivals, memory_order_relaxed);
    uint32_t now = (uint32_t)(arrivals / ghost_unit()) & 0xffff;
    uint32_t oldest = 0, age = 0;

    for (uint32_t i = 0; i < GHOST_WAYS; i++) {
        uint32_t has = atomic_load_explicit(&way[i], memory_order_relaxed);
        uint32_t its = has == 0 ? UINT32_MAX : (now - has) & 0xffff;
        if (its >= age) {
            oldest = i;
            age = its;
        }
    }
    atomic_store_explicit(&way[oldest], ghost_mark(hash) | now, memory_order_relaxed);
}

bool ram_ghost_take(uint64_t hash)
{
    _Atomic uint32_t *way = ghost_bucket(hash);
    uint64_t now = atomic_load_explicit(&ram.zone->arrivals, memory_order_relaxed) / ghost_unit();
    uint64_t span = atomic_load_explicit(&ram.zone->ghost_span, memory_order_relaxed);

    for (uint32_t i = 0; i < GHOST_WAYS; i++) {
        uint32_t has = atomic_load_explicit(&way[i], memory_order_relaxed);
        if ((has & 0xffff0000) != ghost_mark(hash))
            continue;
        if ((((uint32_t)now - has) & 0xffff) * ghost_unit() > span)
            continue;
        atomic_store_explicit(&way[i], 0, memory_order_relaxed);
        arrived();
        ram_count(COUNT_ram_ghosts, 1);
        return true;
    }
    return false;
}

/* ---- one record ---- */

static bool worth_it(unsigned uses)
{
    return !ram.evict.drop && uses > 0;
}

/* Uses it has after its move. */
static int uses_left(unsigned uses)
{
    if (ram.policy == RAM_LRU || state_queue(ram.evict.word) == QUEUE_SMALL)
        return 0;
    return (int)uses - 1;
}

static void drop(uint64_t hash, const struct store_ref *ref)
{
    if (!ram_index_drop(hash, ref))
        return;
    ram_count(COUNT_ram_evicted, 1);
    if (ram.policy == RAM_S3FIFO)
        ghost_add(hash);
}

/* The record and what is in it, as it is, to the main queue. */
static bool move_record(uint64_t hash, const struct store_ref *ref, int uses)
{
    const struct record *from = ref_record(ref);
    uint32_t word = atomic_load_explicit(&from->word, memory_order_relaxed);
    uint32_t size = word_size(word);
    uint64_t place = ram_append(QUEUE_MAIN, size, false);
    bool done;

    if (place == 0)
        return false;
    struct record *to = place_at(place);
    memcpy((char *)to + sizeof to->word, (const char *)from + sizeof from->word,
           size - sizeof to->word);
    uint32_t had = word_size(atomic_load_explicit(&to->word, memory_order_relaxed));
    atomic_store_explicit(&to->word, record_word(word_kind(word), had), memory_order_release);
    done = ram_index_swap(hash, ref, place, uses);
    if (done && uses != RAM_USES_KEPT)
        arrived();
    if (done)
        ram_count(COUNT_ram_moved, 1);
    else
        ram_trim(place, 0);
    unpin(place_segment(place));
    return true; /* or somebody else has replaced or removed it */
}

/* A copy of the long record, with these extents instead of its nth one. */
static uint64_t long_copy(const struct store_ref *ref, uint32_t nth, const uint64_t *piece,
                          uint32_t pieces)
{
    const struct extents *old = record_extents(ref_record(ref));
    uint32_t n = (uint32_t)ref->at[1] + pieces - 1;
    uint64_t text = ref->key.len + ref->head.len;
    uint64_t size = sizeof(struct record) + sizeof *old + (uint64_t)n * WORD + text;
    uint64_t place = size > ram.segment_size / 2
                         ? 0
                         : ram_append(QUEUE_MAIN, round_up((uint32_t)size), false);

    if (place == 0)
        return 0;
    struct record *to = place_at(place);
    struct extents *extents = (struct extents *)(void *)(to + 1);
    to->meta = *ref->meta;
    atomic_store_explicit(&to->len, 0, memory_order_relaxed);
    extents->length = old->length;
    extents->max = n;
    for (uint32_t i = 0, k = 0; i < ref->at[1]; i++) {
        if (i != nth) {
            extents->at[k++] = old->at[i];
            continue;
        }
        for (uint32_t p = 0; p < pieces; p++)
            extents->at[k++] = piece[p];
    }
    atomic_store_explicit(&extents->n, n, memory_order_relaxed);
    memcpy(&extents->at[n], ref->key.at, text); /* the head follows the key */
    uint32_t had = word_size(atomic_load_explicit(&to->word, memory_order_relaxed));
    atomic_store_explicit(&to->word, record_word(RECORD_LONG, had), memory_order_release);
    return place;
}

/* The data of an extent, copied to the main queue in as many pieces as its segments want. How many; 0: there is
 * no room. All are pinned. */
static uint32_t copy_pieces(uint64_t at, uint64_t hash, uint64_t piece[PIECES])
{
    const struct extent *from = place_at(at & PLACE_MASK);
    const char *data = from->data;
    uint64_t left = at >> PLACE_BITS;
    uint32_t n = 0;

    while (left > 0 && n < PIECES) {
        uint32_t got, want = round_up((uint32_t)(left + sizeof *from));
        uint64_t place = n + 1 < PIECES ? ram_append_some(QUEUE_MAIN, want, &got, false)
                                        : ram_append(QUEUE_MAIN, got = want, false);
        if (place == 0)
            break;
        struct extent *to = place_at(place);
        uint64_t part = got - sizeof *to < left ? got - sizeof *to : left;
        to->hash = hash;
        to->spare = 0;
        memcpy(to->data, data, part);
        uint32_t had = word_size(atomic_load_explicit(&to->word, memory_order_relaxed));
        atomic_store_explicit(&to->word, record_word(RECORD_EXTENT, had), memory_order_release);
        piece[n++] = place | part << PLACE_BITS;
        data += part;
        left -= part;
    }
    if (left == 0)
        return n;
    while (n-- > 0) {
        ram_trim(piece[n] & PLACE_MASK, 0);
        unpin(place_segment(piece[n] & PLACE_MASK));
    }
    return 0;
}

static bool move_extent(uint64_t hash, const struct store_ref *ref, uint32_t nth, int uses)
{
    uint64_t piece[PIECES], at = record_extents(ref_record(ref))->at[nth], place;
    uint32_t n = copy_pieces(at, hash, piece);
    bool done = false;

    if (n == 0)
        return false;
    place = long_copy(ref, nth, piece, n);
    if (place != 0) {
        done = ram_index_swap(hash, ref, place, uses);
        if (done && uses != RAM_USES_KEPT)
            arrived();
        if (!done)
            ram_trim(place, 0);
        unpin(place_segment(place));
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!done)
            ram_trim(piece[i] & PLACE_MASK, 0);
        unpin(place_segment(piece[i] & PLACE_MASK));
    }
    return place != 0;
}

/* Bytes of work. */
static uint32_t evict_extent(uint64_t place)
{
    const struct extent *extent = ram_extent(place);
    struct store_ref ref;
    uint32_t nth, cost = LOOK_COST;

    /* Its record may get another head in this moment (renew): then look once more. */
    for (int tries = 0; tries < 256; tries++) {
        if (extent == NULL || !ram_index_owner(extent->hash, place, &ref, &nth))
            return cost;
        _Atomic uint64_t *slot = ram_index_slot(extent->hash, ref.at[0]);
        unsigned uses = slot == NULL ? 0 : slot_uses(*slot);
        bool keep = tries < 16 && (nth > 0 ? !ram.evict.drop : worth_it(uses));
        if (!keep ||
            !move_extent(extent->hash, &ref, nth, nth > 0 ? RAM_USES_KEPT : uses_left(uses)))
            drop(extent->hash, &ref);
        else
            cost += word_size(extent->word);
        ram_release(&ref);
    }
    return cost;
}

static uint32_t evict_record(uint64_t place)
{
    uint32_t word, cost = LOOK_COST;
    const struct record *record = ram_record_now(place, &word);
    struct store_ref ref;

    if (record == NULL)
        return cost;
    uint64_t hash = ram_hash(ram_key(record, word));
    _Atomic uint64_t *slot = ram_index_slot(hash, place);
    uint64_t value = slot == NULL ? 0 : atomic_load(slot);
    if ((value & PLACE_MASK) != place || !ram_pin_slot(slot, &value, BT_STR_NONE, &ref))
        return cost;
    if (ref.at[0] == place) {
        unsigned uses = slot_uses(value);
        bool follows = ref.at[1] > 0;
        bool keep = follows ? !ram.evict.drop : worth_it(uses);
        if (!keep || !move_record(hash, &ref, follows ? RAM_USES_KEPT : uses_left(uses)))
            drop(hash, &ref);
        else
            cost += word_size(record->word);
    }
    ram_release(&ref);
    return cost;
}

/* ---- one segment ---- */

static bool claim(uint32_t segment, enum segment_state from)
{
    uint64_t word = atomic_load(&ram.states[segment]), was = word;
    enum ram_queue queue = state_queue(word);

    if (state_of(word) != from ||
        !atomic_compare_exchange_strong(
            &ram.states[segment], &was,
            state_word(SEGMENT_CLAIMED, queue, ram.member, state_turn(word))))
        return false;
    atomic_thread_fence(memory_order_seq_cst);
    if (!ram_let_go(segment)) {
        atomic_store(&ram.states[segment], word);
        return false;
    }
    ram.evict.word = state_word(SEGMENT_EVICTING, queue, ram.member, state_turn(word));
    atomic_store(&ram.states[segment], ram.evict.word);
    return true;
}

static void release(uint32_t segment)
{
    ram_segment_reset(segment);
    atomic_store(&ram.states[segment], state_word(SEGMENT_FREE, 0, 0, 0));
    ram.free++;
}

/* Those that only waited for their readers. */
static bool release_closing(void)
{
    bool any = false;

    for (uint32_t i = 0; i < ram.segments; i++)
        if (state_of(atomic_load_explicit(&ram.states[i], memory_order_relaxed)) ==
                SEGMENT_CLOSING &&
            claim(i, SEGMENT_CLOSING)) {
            release(i);
            any = true;
        }
    return any;
}

static uint32_t choose(const struct ram_survey *survey)
{
    uint32_t small_max = ram.segments / SMALL_SHARE;
    enum ram_queue queue = survey->small > small_max ? QUEUE_SMALL : QUEUE_MAIN;

    if (survey->empty != NO_SEGMENT)
        return survey->empty;
    if (ram.policy == RAM_LRU && survey->small > 0) /* left by workers that had another policy */
        queue = QUEUE_SMALL;
    if (survey->oldest[queue] != NO_SEGMENT)
        return survey->oldest[queue];
    return survey->oldest[queue == QUEUE_SMALL ? QUEUE_MAIN : QUEUE_SMALL];
}

/* A look at all segments is not for one of them: those that come after it in its queue. Of a small zone
 * none, since shares of it would be cut too coarsely. */
static void choose_after(uint32_t chosen, enum ram_queue queue)
{
    struct evict_after *next = ram.evict.next;
    uint32_t n = 0, most = ram.segments / 128;

    if (most > EVICT_AHEAD)
        most = EVICT_AHEAD;
    for (uint32_t i = 0; i < ram.segments && most > 0; i++) {
        uint64_t word = atomic_load_explicit(&ram.states[i], memory_order_relaxed);
        uint32_t k;
        if (state_of(word) != SEGMENT_SEALED || state_queue(word) != queue || i == chosen ||
            (n == most && state_turn(word) >= state_turn(next[n - 1].word)))
            continue;
        n += n < most;
        for (k = n - 1; k > 0 && state_turn(next[k - 1].word) > state_turn(word); k--)
            next[k] = next[k - 1];
        next[k] = (struct evict_after){i, word};
    }
    ram.evict.after = 0;
    ram.evict.n_after = n;
}

static void evict_take(uint32_t segment, bool drop_all)
{
    ram.evict.segment = segment;
    ram.evict.at = WORD;
    ram.evict.torn = false;
    ram.evict.drop = drop_all;
}

/* The oldest ones are all read from, and there must be room: whichever is not. */
static bool evict_any(void)
{
    for (uint32_t n = 0, i = ram.hint; n < ram.segments; n++, i = i + 1 < ram.segments ? i + 1 : 0)
        if (claim(i, SEGMENT_SEALED)) {
            evict_take(i, true);
            return true;
        }
    return false;
}

/* One that was chosen before, if it still is what it was. */
static bool evict_next(bool at_once)
{
    while (ram.evict.after < ram.evict.n_after) {
        struct evict_after next = ram.evict.next[ram.evict.after++];
        if (atomic_load(&ram.states[next.segment]) == next.word &&
            claim(next.segment, SEGMENT_SEALED)) {
            evict_take(next.segment, at_once);
            return true;
        }
    }
    return false;
}

static bool evict_begin(bool at_once)
{
    uint64_t after[QUEUES] = {0, 0};
    struct ram_survey survey;

    if (evict_next(at_once))
        return true;
    for (int tries = 0; tries < 8; tries++) {
        ram_survey(&survey, after);
        if (tries == 0 && survey.closing > 0 && release_closing() && at_once)
            return false;
        atomic_store_explicit(&ram.zone->ghost_span, survey.main_records * 7 / 10,
                              memory_order_relaxed);
        uint32_t segment = choose(&survey);
        if (segment == NO_SEGMENT)
            return false;
        uint64_t word = atomic_load(&ram.states[segment]);
        if (claim(segment, SEGMENT_SEALED)) {
            evict_take(segment, at_once);
            if (segment != survey.empty)
                choose_after(segment, state_queue(word));
            return true;
        }
        /* Somebody reads from it, or has it already: the next one. */
        if (segment != survey.empty && state_turn(word) > after[state_queue(word)])
            after[state_queue(word)] = state_turn(word);
    }
    return at_once && evict_any();
}

/* true: it is free. */
static bool evict_end(void)
{
    uint32_t segment = ram.evict.segment;
    uint64_t word = ram.evict.word;

    ram.evict.segment = NO_SEGMENT;
    uint64_t live = atomic_load(&ram.notes[segment].live);
    if (ram.evict.torn || (live_records(live) > 0 && ram_recount_left() == 0))
        ram_index_sweep(segment);
    atomic_thread_fence(memory_order_seq_cst);
    if (ram_let_go(segment)) {
        release(segment);
        return true;
    }
    atomic_store(&ram.states[segment],
                 state_word(SEGMENT_CLOSING, state_queue(word), BT_MEMBERS_MAX, state_turn(word)));
    return false;
}

/* Bytes of work done; 0: it was the last record. */
static uint32_t evict_step(void)
{
    uint32_t at = ram.evict.at;
    uint64_t place = place_make(ram.evict.segment, at);
    const struct record *record = place_at(place);

    if (at + 2 * WORD >
        atomic_load_explicit(&ram.notes[ram.evict.segment].used, memory_order_acquire))
        return 0;
    uint32_t word = atomic_load_explicit(&record->word, memory_order_acquire);
    if (word_size(word) < 2 * WORD || word_size(word) > ram.segment_size - at) {
        ram.evict.torn = true;
        return 0;
    }
    ram.evict.at += word_size(word);
    if (word_kind(word) == RECORD_EXTENT)
        return evict_extent(place);
    return word_kind(word) == RECORD_DEAD ? 1 : evict_record(place);
}

bool ram_evict_now(void)
{
    for (int tries = 0; tries < 4; tries++) {
        if (ram.evict.segment == NO_SEGMENT && !evict_begin(true))
            return ram.free > 0;
        ram.evict.drop = true;
        while (evict_step() > 0)
            ;
        if (evict_end())
            return true;
    }
    return false;
}

/* The less is free, the more is done. */
void ram_evict_some(uint32_t bytes)
{
    static uint32_t pause;

    if (ram_recount_left() > 0)
        ram_recount_some(1);
    if (ram.evict.segment == NO_SEGMENT && (ram.free >= ram.reserve || pause > 0)) {
        pause -= pause > 0;
        return;
    }
    uint32_t lack = ram.free < ram.reserve ? (ram.reserve - ram.free) * 16 / ram.reserve : 0;
    int64_t budget = (int64_t)(bytes + LOOK_COST) * (2 + lack);
    int64_t most = (int64_t)bytes * 3 + WORK_MAX; /* so that no append takes long */
    if (budget > most)
        budget = most;
    while (budget > 0) {
        if (ram.evict.segment == NO_SEGMENT && (ram.free >= ram.reserve || !evict_begin(false))) {
            pause = ram.free < ram.reserve ? 64 : 0;
            return;
        }
        uint32_t done = evict_step();
        budget -= done;
        if (done == 0)
            evict_end();
    }
}

/* ---- counting again what is live ---- */

static bool nobody_between(void)
{
    uint32_t members = atomic_load_explicit(&ram.zone->members, memory_order_acquire);

    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < members; i++)
        if (atomic_load_explicit(&ram_row(i)->doing, memory_order_acquire) & 1)
            return false;
    return true;
}

struct tally {
    uint64_t records, words;
    int64_t bodies;
};

static void tally_record(struct tally *tally, uint64_t place, uint32_t word)
{
    struct store_ref ref;
    uint32_t nth;

    if (word_kind(word) == RECORD_EXTENT) {
        const struct extent *extent = place_at(place);
        if (!ram_index_owner(extent->hash, place, &ref, &nth))
            return;
        tally->words += word_size(word) / WORD;
        tally->bodies += (int64_t)(record_extents(ref_record(&ref))->at[nth] >> PLACE_BITS);
        ram_release(&ref);
        return;
    }
    const struct record *record = ram_record_now(place, &word);
    if (record == NULL || ram_index_slot(ram_hash(ram_key(record, word)), place) == NULL)
        return;
    tally->records++;
    tally->words += word_size(word) / WORD;
    tally->bodies += (int64_t)record_head_len(record);
    if (word_kind(word) == RECORD_PLAIN)
        tally->bodies += atomic_load_explicit(&record->len, memory_order_relaxed);
}

/* false: its owner has taken room back meanwhile, and what was read there was perhaps no record. */
static bool tally_segment(uint32_t segment, struct tally *tally)
{
    const _Atomic uint32_t *end = &ram.notes[segment].used;
    uint32_t used = atomic_load_explicit(end, memory_order_acquire), at = WORD;

    *tally = (struct tally){0};
    while (at + 2 * WORD <= used) {
        uint64_t place = place_make(segment, at);
        const struct record *record = place_at(place);
        uint32_t word = atomic_load_explicit(&record->word, memory_order_acquire);
        if (word_size(word) < 2 * WORD || word_size(word) > ram.segment_size - at)
            return false;
        tally_record(tally, place, word);
        at += word_size(word);
    }
    return at == used && atomic_load_explicit(end, memory_order_acquire) >= used;
}

/* Nobody may have changed it meanwhile, or be about to count a change. false: not now. */
static bool recount(uint32_t segment)
{
    struct segment_note *note = &ram.notes[segment];
    uint64_t word = ram_seal_other(segment, atomic_load(&ram.states[segment]));
    bool done = false;

    /* Who evicts it looks for pins only once more before it is free, perhaps before ours. It is
     * counted from nothing soon anyway. */
    if (state_of(word) == SEGMENT_FREE || state_of(word) == SEGMENT_EVICTING)
        return true;
    if (state_of(word) == SEGMENT_CLAIMED)
        return false;
    pin(segment);
    pin_fence();
    if (atomic_load(&ram.states[segment]) == word) {
        uint64_t was = atomic_load(&note->live);
        int64_t bodies = atomic_load(&note->bodies);
        struct tally tally;
        if (nobody_between() && tally_segment(segment, &tally)) {
            uint64_t now = live_make(live_changes(was) + 1, tally.records, tally.words);
            if (nobody_between() && atomic_compare_exchange_strong(&note->live, &was, now)) {
                atomic_fetch_add(&note->bodies, tally.bodies - bodies);
                done = true;
            }
        }
    }
    unpin(segment);
    return done;
}

void ram_recount_some(unsigned segments)
{
    while (segments-- > 0) {
        uint64_t due = atomic_load(&ram.zone->recount);
        uint32_t left = (uint32_t)due;
        if (left == 0 || left > ram.segments)
            return;
        if (recount(left - 1))
            atomic_compare_exchange_strong(&ram.zone->recount, &due, due - 1);
    }
}
